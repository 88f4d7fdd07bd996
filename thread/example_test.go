package thread_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
)

// A thread without any HTTP: it is opened, run, edited and read.
func ExampleNew() {
	ctx := context.Background()
	threads := thread.New(memory.New(), nil)
	defer threads.Close(ctx)
	model, err := state.NewModel(state.Config{Initial: jsondoc.MustParse(`{"mood":"good"}`)})
	if err != nil {
		log.Fatal(err)
	}
	t, err := threads.Open(ctx, thread.Key{Agent: "greeter", ID: "t1"}, model)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()

	greeter := agenttest.New(agenttest.Turn(agenttest.Text("Hello.")))
	run, err := t.Run(ctx, thread.Request{
		Agent: greeter.Run,
		Input: &agui.RunAgentInput{ThreadID: "t1", RunID: "r1", Messages: []agui.Message{{ID: "m", Role: agui.RoleUser, Content: agui.Text("Hi")}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for entry, err := range run.Events(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if entry.Event != nil {
			fmt.Println(entry.Event.EventType())
		}
	}
	run.Leave()

	edited, err := t.Edit(ctx, thread.Edit{Merge: jsondoc.MustParse(`{"mood":"better"}`)})
	if err != nil {
		log.Fatal(err)
	}
	doc, revision, _ := t.Doc()
	fmt.Println(doc.State, revision, edited.Revision)
	for _, m := range t.Messages() {
		fmt.Println(m.Role, m.Content.Text())
	}
	// Output:
	// RUN_STARTED
	// STATE_SNAPSHOT
	// TEXT_MESSAGE_START
	// TEXT_MESSAGE_CONTENT
	// TEXT_MESSAGE_END
	// RUN_FINISHED
	// {"mood":"better"} 2 2
	// user Hi
	// assistant Hello.
}

// Somebody who looks on from a position gets what comes after it, and an edit on
// what is out of date says who was faster.
func ExampleThread_Edit() {
	ctx := context.Background()
	threads := thread.New(memory.New(), nil)
	defer threads.Close(ctx)
	model, err := state.NewModel(state.Config{})
	if err != nil {
		log.Fatal(err)
	}
	t, err := threads.Open(ctx, thread.Key{Agent: "notes", ID: "t1"}, model)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()

	first, err := t.Edit(ctx, thread.Edit{Merge: jsondoc.MustParse(`{"title":"Draft"}`)})
	if err != nil {
		log.Fatal(err)
	}
	seen := first.Position.String() // what Ann and Bob have on their screens
	replace := func(title string) jsondoc.Patch {
		return jsondoc.Patch{{Op: "replace", Path: "/title", Value: jsondoc.String(title)}}
	}
	if _, err := t.Edit(ctx, thread.Edit{Patch: replace("Ann's"), Base: seen}); err != nil {
		log.Fatal(err)
	}
	_, err = t.Edit(ctx, thread.Edit{Patch: replace("Bob's"), Base: seen})
	var refused *thread.RefusedError
	if errors.As(err, &refused) {
		fmt.Println("refused at", refused.Conflicts[0].Path, "of", refused.View)
	}

	for entry, err := range t.Follow(ctx, first.Position) {
		if err != nil {
			log.Fatal(err)
		}
		if entry.Event == nil {
			continue // some entries are not for viewers
		}
		fmt.Println(entry.Author, entry.Event.EventType())
		if entry.Event.EventType() == agui.TypeRunFinished {
			break // else it waits for what comes next
		}
	}
	// Output:
	// refused at /title of {"title":"Ann's"}
	// user RUN_STARTED
	// user STATE_SNAPSHOT
	// user RUN_FINISHED
}
