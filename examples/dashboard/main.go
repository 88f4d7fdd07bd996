// Command dashboard shows numbers that change while an agent works: the agent is
// plain Go code that sends JSON Patches as DataContent.
package main

import (
	"context"
	"iter"
	"log"
	"net/http"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
)

// Dashboard is the shared state.
type Dashboard struct {
	Orders  int            `json:"orders"`
	Revenue int            `json:"revenue"`
	Regions map[string]int `json:"regions"`
}

var orders = []struct {
	region string
	amount int
}{{"north", 120}, {"south", 80}, {"north", 40}, {"east/west", 200}}

// count is the agent: it goes through the orders, as slowly as a database.
func count(ctx context.Context, _ []*message.Message, _ ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
	return func(yield func(*agent.ResponseUpdate, error) bool) {
		say := func(c message.Content) bool {
			return yield(&agent.ResponseUpdate{Contents: message.Contents{c}}, nil)
		}
		board := Dashboard{Regions: map[string]int{}}
		shown := jsondoc.MustFrom(board)
		if !say(&message.DataContent{MediaType: message.MediaTypeJSON, Data: shown.AppendJSON(nil)}) {
			return
		}
		for _, o := range orders {
			select {
			case <-time.After(300 * time.Millisecond):
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
			board.Orders++
			board.Revenue += o.amount
			board.Regions[o.region] += o.amount
			next := jsondoc.MustFrom(board)
			patch := jsondoc.Diff(shown, next, nil)
			if !say(&message.DataContent{MediaType: message.MediaTypeJSONPatch, Data: patch.AppendJSON(nil)}) {
				return
			}
			shown = next
		}
		say(&message.TextContent{Text: "All orders are counted."})
	}
}

func newHandler() (*server.Handler, error) {
	a := agent.New(agent.ProviderConfig{Run: count}, agent.Config{Name: "dashboard"})
	return server.New(a, &server.Options{State: state.Config{Access: state.Access{"/*": state.ReadOnly}}})
}

func main() {
	handler, err := newHandler()
	if err != nil {
		log.Fatal(err)
	}
	log.Println("say anything to http://127.0.0.1:8080/")
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
