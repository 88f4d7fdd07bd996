// Command client-follow shows a program that looks on: it follows a thread live,
// whoever works on it, and changes its state as a Go type, also in the middle of
// a run. Connections that break are taken up again.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
)

// Note is the state.
type Note struct {
	Title    string `json:"title"`
	Document string `json:"document"`
}

// look follows a thread until a run has written a document, and gives it a title
// as soon as there is anything to read.
func look(ctx context.Context, thread *client.Thread, out io.Writer) error {
	note := client.StateOf[Note](thread)
	var shown Note
	for update, err := range thread.Follow(ctx) {
		if err != nil {
			return err
		}
		now, err := note.Get()
		if err != nil {
			return err
		}
		switch update.Event.(type) {
		case *agui.StateSnapshot, *agui.StateDelta:
			if now != shown {
				fmt.Fprintf(out, "%q: %s\n", now.Title, now.Document)
			}
			shown = now
			if now.Title == "" && now.Document != "" {
				if _, err := note.Update(ctx, func(n *Note) error { n.Title = "Untitled"; return nil }); err != nil {
					return err
				}
			}
		case *agui.RunFinished:
			if now.Document != "" {
				return nil
			}
		}
	}
	return nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: client-follow THREAD    (lockstep chat's :thread shows its id)")
	}
	thread := client.New("http://127.0.0.1:8080/", nil).Thread(os.Args[1]) // such as together
	if err := look(context.Background(), thread, os.Stdout); err != nil {
		log.Fatal(err)
	}
}
