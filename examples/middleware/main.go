// Command middleware shows agent code that emits state itself, as DataContent:
// here a middleware that looks at what the model says.
package main

import (
	"context"
	"encoding/json"
	"iter"
	"log"
	"net/http"
	"strings"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
)

// State is what the user interface shows beside the answer.
type State struct {
	Words int `json:"words"`
}

func newHandler(o scripted.Options) (*server.Handler, error) {
	stateSnapshotMiddleware := agent.MiddlewareFunc(func(next agent.RunFunc, ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			var state State
			for update, err := range next(ctx, messages, opts...) {
				if err != nil {
					yield(nil, err)
					return
				}
				if update != nil {
					state.Words += len(strings.Fields(update.String()))
				}
				if !yield(update, nil) {
					return
				}
			}
			data, err := json.Marshal(state)
			if err != nil {
				yield(nil, err)
				return
			}
			// The media type says what it is: application/json-patch+json would be a delta.
			content := &message.DataContent{MediaType: message.MediaTypeJSON, Data: data}
			yield(&agent.ResponseUpdate{Contents: message.Contents{content}}, nil)
		}
	})

	a := scripted.NewAgent(scripted.AgentConfig{
		Config: agent.Config{
			Name:        "middleware",
			Middlewares: []agent.Middleware{stateSnapshotMiddleware},
		},
		Options: o,
	})
	return server.New(a, nil)
}

func main() {
	handler, err := newHandler(scripted.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Println("say hello to http://127.0.0.1:8080/")
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
