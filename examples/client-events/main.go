// Command client-events shows the state events themselves in a program that runs
// an AG-UI endpoint as an agent: they are the updates' raw representation.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
)

// show runs the agent once and returns the state that its events have made of
// the one before.
func show(ctx context.Context, remote *agent.Agent, session *agent.Session, state jsondoc.Value, text string, out io.Writer) (jsondoc.Value, error) {
	for update, err := range remote.RunMessage(ctx, message.NewText(text), agent.WithSession(session)) {
		if err != nil {
			return state, err
		}
		switch event := update.RawRepresentation.(type) {
		case *agui.StateSnapshot:
			state = event.Snapshot
			fmt.Fprintln(out, "snapshot:", state)
		case *agui.StateDelta:
			fmt.Fprintln(out, "changes: ", event.Delta)
			if state, err = event.Delta.Apply(state, nil); err != nil {
				return state, err
			}
		}
	}
	return state, nil
}

func main() {
	remote := client.NewAgent("http://127.0.0.1:8080/", nil) // any example, such as plan
	session, state := new(agent.Session), jsondoc.Object()
	for _, text := range os.Args[1:] {
		var err error
		if state, err = show(context.Background(), remote, session, state, text, os.Stdout); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("state:   ", state)
}
