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

type document struct {
	Title    string `json:"title"`
	Document string `json:"document"`
}

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
		Schema:  state.SchemaFor[document](),
		Predict: map[string]state.Prediction{"document": {Tool: "write_document", Argument: "document"}},
	}})
}

// What was said, what came, and an edit that the server has taken over: it is in
// the snapshot of the next run.
func TestTalk(t *testing.T) {
	const input = `:state
call write_document {"document": "Once there was a dragon."}
:edit /title Atlantis
Hello
:state
:q
never read
`
	const output = `[State Snapshot] {"title":"","document":""}

User (:q to quit, :state to show state): Current state: {"title":"","document":""}

User (:q to quit, :state to show state): [State Snapshot] {"title":"","document":""}
[State Delta] [{"op":"replace","path":"/document","value":"Once there was a "}]
[State Delta] [{"op":"replace","path":"/document","value":"Once there was a dragon."}]
[State Snapshot] {"title":"","document":"Once there was a dragon."}
The tool write_document answered: Document written.
User (:q to quit, :state to show state): 
User (:q to quit, :state to show state): [State Snapshot] {"title":"Atlantis","document":"Once there was a dragon."}
Hello! I am a scripted model: I answer from fixed rules, without a key and without a network. What can I do for you?
User (:q to quit, :state to show state): Current state: {"title":"Atlantis","document":"Once there was a dragon."}

User (:q to quit, :state to show state): `
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		c := client.New(exampletest.URL, &client.Options{HTTPClient: &http.Client{Transport: s.Transport}})
		var out bytes.Buffer
		if err := talk(t.Context(), c, strings.NewReader(input), &out); err != nil {
			t.Fatal(err)
		}
		if out.String() != output {
			t.Errorf("the conversation is\n%s\nwant\n%s", out.String(), output)
		}
	})
}

// A server that is not there is an error, not a conversation.
func TestTalkToNobody(t *testing.T) {
	c := client.New("http://127.0.0.1:1/", nil)
	var out bytes.Buffer
	if err := talk(t.Context(), c, strings.NewReader("Hello\n"), &out); err == nil {
		t.Errorf("no error, and the conversation is%s", out.String())
	}
}
