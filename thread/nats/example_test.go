package nats_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/nats"
)

// Two processes on one NATS server have the same threads: what one changes, the
// other shows.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	broker, err := serve(dir, 0) // any NATS server with JetStream
	if err != nil {
		log.Fatal(err)
	}
	defer stop(broker)
	model, err := state.NewModel(state.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, key := context.Background(), thread.Key{Agent: "notes", ID: "t1"}
	// process opens the thread as a process of its own does.
	process := func(do func(*thread.Thread)) {
		store, err := nats.Open(ctx, broker.ClientURL(), nil)
		if err != nil {
			log.Fatal(err)
		}
		defer store.Close()
		threads := thread.New(store, nil)
		defer threads.Close(ctx) // before the store
		t, err := threads.Open(ctx, key, model)
		if err != nil {
			log.Fatal(err)
		}
		defer t.Close()
		do(t)
	}
	process(func(one *thread.Thread) {
		if _, err := one.Edit(ctx, thread.Edit{Merge: jsondoc.MustParse(`{"title":"Shared"}`)}); err != nil {
			log.Fatal(err)
		}
		process(func(other *thread.Thread) {
			doc, revision, _ := other.Doc()
			fmt.Println(doc.State, revision)
		})
	})
	// Output: {"title":"Shared"} 1
}
