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

// talk opens a thread and sends each line of in to the agent.
func talk(ctx context.Context, c *client.Client, in io.Reader, out io.Writer) error {
	thread := c.Thread("")                              // a new one
	if err := show(ctx, thread, nil, out); err != nil { // asks nothing, gets the state
		return err
	}
	const prompt = "\nUser (:q to quit, :state to show state): "
	lines := bufio.NewScanner(in)
	for fmt.Fprint(out, prompt); lines.Scan(); fmt.Fprint(out, prompt) {
		switch word, rest, _ := strings.Cut(lines.Text(), " "); word {
		case "":
		case ":q":
			return nil
		case ":state":
			fmt.Fprintln(out, "Current state:", thread.State())
		case ":edit": // such as :edit /recipe/title Soup
			path, text, _ := strings.Cut(rest, " ")
			next, err := thread.State().SetAt(jsondoc.Pointer(path), jsondoc.String(text))
			if err != nil {
				fmt.Fprintln(out, err)
				continue
			}
			thread.SetState(next)
		default:
			if err := show(ctx, thread, &client.RunOptions{Text: lines.Text()}, out); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

func show(ctx context.Context, thread *client.Thread, o *client.RunOptions, out io.Writer) error {
	for event, err := range thread.Run(ctx, o) {
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
	return nil
}

func main() {
	agent := client.New("http://127.0.0.1:8080/", nil) // any example, such as recipe
	if err := talk(context.Background(), agent, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}
