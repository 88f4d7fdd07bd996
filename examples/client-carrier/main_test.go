package main

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
)

// The state arrives, is put before the model, and comes back; the text beside it
// is what the model is asked.
func TestCarrier(t *testing.T) {
	model := agenttest.New(agenttest.Turn(agenttest.Text("Done.")), agenttest.Turn(agenttest.Text("Done, too.")))
	open := func() (*server.Handler, error) {
		return server.New(model.Agent(agent.Config{Name: "dashboard"}), &server.Options{State: state.Config{Schema: state.SchemaFor[Dashboard]()}})
	}
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		remote := client.NewAgent(exampletest.URL, &client.AgentConfig{
			Options: client.Options{HTTPClient: &http.Client{Transport: s.Transport}},
		})
		var out bytes.Buffer
		if err := update(t.Context(), remote, &out); err != nil {
			t.Fatal(err)
		}
		if err := older(t.Context(), remote, &out); err != nil {
			t.Fatal(err)
		}
		const want = `state: {"selected_tab":"sales"}
Done.
state: {"selected_tab":"costs"}
Done, too.
`
		if out.String() != want {
			t.Errorf("%s\nwant\n%s", out.String(), want)
		}
		for i, want := range []string{"Update the sales dashboard.", "Update the dashboard."} {
			messages := model.Prompts()[i].Messages
			if got := messages[len(messages)-1].String(); got != want {
				t.Errorf("the model was asked %q, want %q", got, want)
			}
		}
	})
}
