// Command mapcall shows state that is made of a tool call instead of its result:
// the argument of write_document becomes the state before the tool has run.
package main

import (
	"context"
	"log"
	"net/http"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// State is the shared state, and what the tool is called with.
type State struct {
	Document string `json:"document" jsonschema:"the whole document, as Markdown"`
}

// written makes a snapshot of a call. Until the call's result it is shown and
// not committed: it vanishes if the tool fails.
func written(_ *state.Mapping, call state.ToolCall) ([]agui.Event, error) {
	document, ok := call.Arguments.Get("document")
	if !ok {
		return nil, nil
	}
	return []agui.Event{&agui.StateSnapshot{
		Snapshot: jsondoc.Object(jsondoc.Member{Name: "document", Value: document}),
	}}, nil
}

func newHandler(o scripted.Options) (*server.Handler, error) {
	write := functool.MustNew(functool.Config{Name: "write_document", Description: "Writes the whole document."},
		func(_ context.Context, in State) (string, error) {
			if in.Document == "" {
				return "", tool.Errorf("an empty document is not written")
			}
			return "Document written.", nil
		})
	writer := scripted.NewAgent(scripted.AgentConfig{Options: o, Config: agent.Config{Name: "mapcall", Tools: []tool.Tool{write}}})
	return server.New(writer, &server.Options{State: state.Config{
		Schema: state.SchemaFor[State](),
		Rules:  []state.Rule{state.MapCall("write_document", written)},
	}})
}

func main() {
	handler, err := newHandler(scripted.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Println("ask http://127.0.0.1:8080/ for a story")
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
