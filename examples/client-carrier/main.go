// Command client-carrier shows how a program that runs an AG-UI endpoint as an
// agent sends state: a carrier beside what it asks. Ordinary JSON stays a
// document; only a carrier becomes state.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
)

// Dashboard is the state that this client holds.
type Dashboard struct {
	SelectedTab string `json:"selected_tab"`
}

// update asks for a change and sends the state along.
func update(ctx context.Context, remote *agent.Agent, out io.Writer) error {
	carrier, err := client.CarryState(Dashboard{SelectedTab: "sales"})
	if err != nil {
		return err
	}
	return run(ctx, remote, out, []*message.Message{
		message.NewText("Update the sales dashboard."),
		message.New(carrier), // or beside the text, in one message
	})
}

// older does it in the way of older programs: JSON in a system message. Deprecated.
func older(ctx context.Context, remote *agent.Agent, out io.Writer) error {
	state, err := jsondoc.From(Dashboard{SelectedTab: "costs"})
	if err != nil {
		return err
	}
	data, err := message.NewDataContent(state.AppendJSON(nil), message.MediaTypeJSON)
	if err != nil {
		return err
	}
	return run(ctx, remote, out, []*message.Message{
		{Role: message.RoleSystem, Contents: message.Contents{data}},
		message.NewText("Update the dashboard."),
	})
}

// run shows the state that comes back.
func run(ctx context.Context, remote *agent.Agent, out io.Writer, messages []*message.Message) error {
	for update, err := range remote.Run(ctx, messages, agent.WithSession(new(agent.Session))) {
		if err != nil {
			return err
		}
		for _, content := range update.Contents {
			if data, ok := content.(*message.DataContent); ok && data.MediaType == message.MediaTypeJSON {
				fmt.Fprintf(out, "state: %s\n", data.Data)
			}
		}
		fmt.Fprint(out, update)
	}
	fmt.Fprintln(out)
	return nil
}

func main() {
	ctx, remote := context.Background(), client.NewAgent("http://127.0.0.1:8080/", nil)
	if err := errors.Join(update(ctx, remote, os.Stdout), older(ctx, remote, os.Stdout)); err != nil {
		log.Fatal(err)
	}
}
