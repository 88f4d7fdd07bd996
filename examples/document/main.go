// Command document serves an agent that writes a document while you watch.
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

// State is what agent and user interface share, and what the tool writes.
type State struct {
	Document string `json:"document" jsonschema:"the whole document, as Markdown"`
}

func main() {
	write := functool.MustNew(functool.Config{Name: "write_document_local", Description: "Writes the whole document."},
		func(context.Context, State) (string, error) { return "Document written.", nil })
	// The scripted model needs no key. For a real one: openaiprovider.NewAgent.
	writer := scripted.NewAgent(scripted.AgentConfig{Config: agent.Config{Name: "writer", Tools: []tool.Tool{write}}})
	handler, err := server.New(writer, &server.Options{State: state.Config{
		Schema:  state.SchemaFor[State](),
		Predict: map[string]state.Prediction{"document": {Tool: "write_document_local", Argument: "document"}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	log.Println("the writer is on http://127.0.0.1:8080/")
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
