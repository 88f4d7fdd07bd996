// Command client-agent shows an AG-UI endpoint as an agent of this program: a
// conversation with a session, and the state as the updates tell it. A program
// that talks to a thread rather than to an agent has it easier: examples/client.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
)

// talk sends each line to the agent and tracks the state by what it tells.
func talk(ctx context.Context, remote *agent.Agent, in io.Reader, out io.Writer) error {
	session, state := new(agent.Session), jsondoc.Object()
	const prompt = "\nUser (:q to quit, :state to show state): "
	lines := bufio.NewScanner(in)
	for fmt.Fprint(out, prompt); lines.Scan(); fmt.Fprint(out, prompt) {
		switch line := strings.TrimSpace(lines.Text()); strings.ToLower(line) {
		case "":
			continue
		case ":q", "quit":
			return nil
		case ":state":
		default:
			for update, err := range remote.RunText(ctx, line, agent.WithSession(session)) {
				if err != nil {
					return err
				}
				fmt.Fprint(out, update) // its text
				for _, content := range update.Contents {
					if data, ok := content.(*message.DataContent); ok {
						fmt.Fprintf(out, "\n[%s]\n", data.MediaType)
						if state, err = apply(state, data); err != nil {
							return err
						}
					}
				}
			}
		}
		fmt.Fprintf(out, "\nCurrent state: %s\n", state)
	}
	return lines.Err()
}

// apply applies what an update says about the state: a snapshot replaces it, a
// patch changes it. client.SessionState(session) has the same at a run's end.
func apply(state jsondoc.Value, data *message.DataContent) (jsondoc.Value, error) {
	if data.MediaType == message.MediaTypeJSON {
		return jsondoc.Parse(data.Data, nil)
	}
	patch, err := jsondoc.ParsePatch(data.Data)
	if err != nil {
		return state, err
	}
	return patch.Apply(state, nil)
}

func main() {
	remote := client.NewAgent("http://127.0.0.1:8080/", &client.AgentConfig{Config: agent.Config{
		Name:         "ClientAgent",
		Instructions: "You are a helpful assistant.",
	}})
	if err := talk(context.Background(), remote, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}
