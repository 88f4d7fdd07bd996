package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/sqlite"
)

// Threads in a file: they are there again after a restart, and one process at a
// time has them.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "threads.db")
	model, err := state.NewModel(state.Config{})
	if err != nil {
		log.Fatal(err)
	}
	// process is what a process does with the thread, from its start to its end.
	process := func(do func(context.Context, *thread.Thread)) {
		ctx := context.Background()
		store, err := sqlite.Open(path, nil)
		if err != nil {
			log.Fatal(err)
		}
		defer store.Close()
		threads := thread.New(store, nil)
		defer threads.Close(ctx) // before the store
		t, err := threads.Open(ctx, thread.Key{Agent: "notes", ID: "t1"}, model)
		if err != nil {
			log.Fatal(err)
		}
		defer t.Close()
		do(ctx, t)
	}

	process(func(ctx context.Context, t *thread.Thread) {
		if _, err := t.Edit(ctx, thread.Edit{Merge: jsondoc.MustParse(`{"title":"Kept"}`)}); err != nil {
			log.Fatal(err)
		}
		_, err := sqlite.Open(path, nil)
		var held *sqlite.HeldError
		fmt.Println("held:", errors.As(err, &held))
	})
	process(func(_ context.Context, t *thread.Thread) {
		doc, revision, _ := t.Doc()
		fmt.Println(doc.State, revision)
	})
	// Output:
	// held: true
	// {"title":"Kept"} 1
}
