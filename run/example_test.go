package run_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/run"
	"github.com/lockstep-go/lockstep/state"
)

// What an agent says becomes events. Whoever drives the run appends each batch to
// a log and says so with Ack; here the log is a printer.
func ExampleNew() {
	model, err := state.NewModel(state.Config{})
	if err != nil {
		log.Fatal(err)
	}
	none := state.Doc{State: jsondoc.Object(), View: jsondoc.Object()}
	r := run.New(run.Options{
		Input:   &agui.RunAgentInput{ThreadID: "t", RunID: "r"},
		Session: model.NewSession(none),
		NewID:   func(prefix string) string { return prefix + "1" },
	})
	appended := func(b run.Batch) {
		for _, e := range b.Before {
			fmt.Println(string(agui.AppendEvent(nil, e, agui.V1)))
		}
		for _, e := range b.Step.Events {
			fmt.Println(string(agui.AppendEvent(nil, e.Event, agui.V1)))
		}
		r.Session().Ack()
		for _, e := range b.After {
			fmt.Println(string(agui.AppendEvent(nil, e, agui.V1)))
		}
	}
	now := time.Now()
	said := &message.TextContent{Text: "Hello."}
	for batch := range r.Content(now, &agent.ResponseUpdate{Contents: message.Contents{said}}, said) {
		appended(batch)
	}
	appended(r.Finish(now, nil)) // closes what is open
	fmt.Println(string(agui.AppendEvent(nil, r.Terminal(nil), agui.V1)))
	// Output:
	// {"type":"TEXT_MESSAGE_START","messageId":"msg1","role":"assistant"}
	// {"type":"TEXT_MESSAGE_CONTENT","messageId":"msg1","delta":"Hello."}
	// {"type":"TEXT_MESSAGE_END","messageId":"msg1"}
	// {"type":"RUN_FINISHED","threadId":"t","runId":"r"}
}

// Tools and middlewares see what the client posted.
func ExampleInputFromContext() {
	ctx := run.ContextWithInput(context.Background(), &agui.RunAgentInput{
		ThreadID: "t", Context: []agui.Context{{Description: "the page", Value: "/kitchen"}},
	})
	if in, ok := run.InputFromContext(ctx); ok {
		fmt.Println(in.ThreadID, in.Context[0].Value)
	}
	// Output: t /kitchen
}
