package main

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

type arguments struct {
	Document string `json:"document"`
}

// open serves an agent for the client to talk to.
func open() (*server.Handler, error) {
	write := functool.MustNew(functool.Config{Name: "write_document"},
		func(context.Context, arguments) (string, error) { return "Document written.", nil })
	writer := scripted.NewAgent(scripted.AgentConfig{
		Config:  agent.Config{Name: "writer", Tools: []tool.Tool{write}},
		Options: scripted.Options{Piece: 30},
	})
	return server.New(writer, &server.Options{State: state.Config{
		Schema:  state.SchemaFor[arguments](),
		Predict: map[string]state.Prediction{"document": {Tool: "write_document", Argument: "document"}},
	}})
}

// Snapshots and deltas reach the program, and what it makes of them is the state;
// the second message goes to the same conversation.
func TestTalk(t *testing.T) {
	const input = `:state

call write_document {"document": "Once there was a dragon."}
Hello
:q
never read
`
	const output = `
User (:q to quit, :state to show state): 
Current state: {}

User (:q to quit, :state to show state): 
User (:q to quit, :state to show state): 
[application/json]

[application/json-patch+json]

[application/json-patch+json]

[application/json]
The tool write_document answered: Document written.
Current state: {"document":"Once there was a dragon."}

User (:q to quit, :state to show state): 
[application/json]
Hello! I am a scripted model: I answer from fixed rules, without a key and without a network. What can I do for you?
Current state: {"document":"Once there was a dragon."}

User (:q to quit, :state to show state): `
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		remote := client.NewAgent(exampletest.URL, &client.AgentConfig{
			Options: client.Options{HTTPClient: &http.Client{Transport: s.Transport}},
		})
		var out bytes.Buffer
		if err := talk(t.Context(), remote, strings.NewReader(input), &out); err != nil {
			t.Fatal(err)
		}
		if out.String() != output {
			t.Errorf("the conversation is\n%s\nwant\n%s", out.String(), output)
		}
	})
}

// A server that is not there is an error, not a conversation.
func TestTalkToNobody(t *testing.T) {
	var out bytes.Buffer
	if err := talk(t.Context(), client.NewAgent("http://127.0.0.1:1/", nil), strings.NewReader("Hello\n"), &out); err == nil {
		t.Errorf("no error, and the conversation is%s", out.String())
	}
}
