// Command client shows a Go program that talks to an agent and keeps its state:
// every event is applied before it is handed out, edits go back with the next run.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// talk sends each line of in to the agent.
func talk(ctx context.Context, c *client.Client, in io.Reader, out io.Writer) error {
	thread := c.Thread("") // a new one
	lines := bufio.NewScanner(in)
	for prompt(out); lines.Scan(); prompt(out) {
		text := strings.TrimSpace(lines.Text())
		path, value, edit := strings.Cut(strings.TrimPrefix(text, ":edit "), " ")
		switch {
		case text == "":
		case text == ":q" || text == "quit":
			return nil
		case text == ":state":
			fmt.Fprintln(out, "Current state:", thread.State())
		case strings.HasPrefix(text, ":edit ") && edit: // such as :edit /recipe/title Soup
			next, err := thread.State().SetAt(jsondoc.Pointer(path), jsondoc.String(value))
			if err != nil {
				fmt.Fprintln(out, err)
				continue
			}
			thread.SetState(next)
		default:
			for event, err := range thread.Run(ctx, &client.RunOptions{Text: text}) {
				if err != nil {
					return err
				}
				switch e := event.(type) {
				case *agui.TextMessageContent:
					fmt.Fprint(out, e.Delta)
				case *agui.StateSnapshot:
					fmt.Fprintln(out, "[State Snapshot]", e.Snapshot)
				case *agui.StateDelta:
					fmt.Fprintln(out, "[State Delta]", e.Delta)
				}
			}
			fmt.Fprintln(out)
		}
	}
	return lines.Err()
}

func prompt(out io.Writer) { fmt.Fprint(out, "\nUser (:q to quit, :state to show state): ") }

func main() {
	agent := client.New("http://127.0.0.1:8080/", nil) // any example, such as recipe
	if err := talk(context.Background(), agent, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}
