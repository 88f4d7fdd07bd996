// Command together shows several people and an agent on one document: what a
// person has edited meanwhile is merged with what the agent wrote.
package main

import (
	"context"
	"log"
	"net/http"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// State is the shared state. The agent writes the document, people write both.
type State struct {
	Title    string `json:"title"`
	Document string `json:"document"`
}

type arguments struct {
	Document string `json:"document" jsonschema:"the whole document, as Markdown"`
}

func newHandler(o scripted.Options) (*server.Handler, error) {
	write := functool.MustNew(functool.Config{Name: "write_document", Description: "Writes the whole document."},
		func(context.Context, arguments) (string, error) { return "Document written.", nil })
	writer := scripted.NewAgent(scripted.AgentConfig{Options: o, Config: agent.Config{Name: "together", Tools: []tool.Tool{write}}})
	return server.New(writer, &server.Options{State: state.Config{
		Schema:  state.SchemaFor[State](),
		Predict: map[string]state.Prediction{"document": {Tool: "write_document", Argument: "document"}},
		// Where both changed one place the person's edit stays, and a CUSTOM event
		// lockstep.conflict names the place. That is the default; the other
		// policies are AgentWins and RejectResult.
		Conflict: state.ClientWins,
	}})
}

func main() {
	handler, err := newHandler(scripted.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Println("open two chats with one --thread at http://127.0.0.1:8080/ and ask for a story")
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
