package memory_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
)

// A store takes entries if and only if the writer knows where the log ends.
func ExampleNew() {
	ctx, key := context.Background(), thread.Key{Agent: "notes", ID: "t1"}
	store := memory.New()
	end := thread.Head{Epoch: "e"} // of a log that is not there yet
	entry := thread.Entry{Seq: 1, Author: "user", Event: &agui.Custom{Name: "example.note"}}
	if err := store.Append(ctx, key, end, []thread.Entry{entry}); err != nil {
		log.Fatal(err)
	}
	err := store.Append(ctx, key, end, []thread.Entry{entry}) // somebody was faster
	var conflict *thread.ConflictError
	fmt.Println(errors.As(err, &conflict), conflict.Head)
	for e, err := range store.Read(ctx, key, 0) {
		fmt.Println(e.Seq, e.Author, e.Event.EventType(), err)
	}
	// Output:
	// true e-1
	// 1 user CUSTOM <nil>
}
