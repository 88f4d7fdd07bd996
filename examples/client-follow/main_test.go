package main

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// open serves an agent that writes the document.
func open() (*server.Handler, error) {
	write := functool.MustNew(functool.Config{Name: "write_document"},
		func(context.Context, struct {
			Document string `json:"document"`
		}) (string, error) {
			return "Document written.", nil
		})
	writer := scripted.NewAgent(scripted.AgentConfig{
		Config:  agent.Config{Name: "writer", Tools: []tool.Tool{write}},
		Options: scripted.Options{Piece: 30},
	})
	return server.New(writer, &server.Options{State: state.Config{
		Schema:  state.SchemaFor[Note](),
		Predict: map[string]state.Prediction{"document": {Tool: "write_document", Argument: "document"}},
	}})
}

// Who follows sees the document grow and can give it a title meanwhile; the
// agent's result keeps it.
func TestLook(t *testing.T) {
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		c := client.New(exampletest.URL, &client.Options{HTTPClient: &http.Client{Transport: s.Transport}})
		var out bytes.Buffer
		looked := make(chan error, 1)
		go func() { looked <- look(t.Context(), c.Thread("shared"), &out) }()
		synctest.Wait()
		for _, err := range c.Thread("shared").Run(t.Context(), &client.RunOptions{Text: `call write_document {"document": "Once there was a dragon."}`}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := <-looked; err != nil {
			t.Fatal(err)
		}
		const want = `"": Once there was a 
"Untitled": Once there was a 
"Untitled": Once there was a dragon.
`
		if out.String() != want {
			t.Errorf("%s\nwant\n%s", out.String(), want)
		}
	})
}
