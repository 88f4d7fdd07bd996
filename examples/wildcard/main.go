// Command wildcard shows all arguments of a tool call as one member of the state.
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

// Document is what the tool is called with, and what the state's member holds.
type Document struct {
	Title    string         `json:"title"`
	Content  string         `json:"content" jsonschema:"Markdown"`
	Metadata map[string]any `json:"metadata"`
}

func newHandler(o scripted.Options) (*server.Handler, error) {
	create := functool.MustNew(functool.Config{Name: "create_document", Description: "Creates a document."},
		func(context.Context, Document) (string, error) { return "Document created.", nil })
	writer := scripted.NewAgent(scripted.AgentConfig{Options: o, Config: agent.Config{Name: "wildcard", Tools: []tool.Tool{create}}})
	return server.New(writer, &server.Options{State: state.Config{
		Predict: map[string]state.Prediction{"document": {Tool: "create_document", Argument: "*"}},
	}})
}

func main() {
	handler, err := newHandler(scripted.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Println("ask http://127.0.0.1:8080/ for a document about pirates")
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
