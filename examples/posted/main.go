// Command posted shows how agent code reads what the client posted: a middleware
// checks the client's state and puts it before the model in its own words.
package main

import (
	"context"
	"fmt"
	"iter"
	"log"
	"net/http"
	"slices"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/run"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
)

// Page is what the client says about itself. It is untrusted.
type Page struct {
	Tab string `json:"selected_tab"`
}

// shown tells the model which tab the user looks at.
var shown = agent.MiddlewareFunc(func(next agent.RunFunc, ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
	var page Page
	posted := state.From(ctx).Posted() // the whole input: run.InputFromContext(ctx)
	if err := posted.Decode(&page); err == nil && slices.Contains([]string{"sales", "stock"}, page.Tab) {
		note := message.NewSystem(fmt.Sprintf("The user looks at the tab %q.", page.Tab))
		messages = append([]*message.Message{note}, messages...)
	}
	return next(ctx, messages, opts...)
})

// model stands for a model: it says what it was told by the application.
func model(ctx context.Context, messages []*message.Message, _ ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
	return func(yield func(*agent.ResponseUpdate, error) bool) {
		text := "Nobody told me what you look at."
		if messages[0].Role == message.RoleSystem {
			text = messages[0].String()
		}
		if in, ok := run.InputFromContext(ctx); ok {
			text += fmt.Sprintf(" Your client has %d tools.", len(in.Tools))
		}
		yield(&agent.ResponseUpdate{Contents: message.Contents{&message.TextContent{Text: text}}}, nil)
	}
}

func newHandler() (*server.Handler, error) {
	a := agent.New(agent.ProviderConfig{Run: model}, agent.Config{Name: "posted", Middlewares: []agent.Middleware{shown}})
	return server.New(a, nil)
}

func main() {
	handler, err := newHandler()
	if err != nil {
		log.Fatal(err)
	}
	log.Println(`try: lockstep chat --state '{"selected_tab": "sales"}' http://127.0.0.1:8080/`)
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
