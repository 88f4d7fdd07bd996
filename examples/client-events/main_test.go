package main

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

type plan struct {
	Steps []string `json:"steps"`
}

// open serves an agent whose tool's result is the state.
func open() (*server.Handler, error) {
	create := functool.MustNew(functool.Config{Name: "create_plan"},
		func(_ context.Context, p plan) (plan, error) { return p, nil })
	reword := functool.MustNew(functool.Config{Name: "reword"},
		func(_ context.Context, in struct {
			Text string `json:"text"`
		}) (jsondoc.Patch, error) {
			return jsondoc.Patch{{Op: "replace", Path: "/steps/0", Value: jsondoc.String(in.Text)}}, nil
		})
	planner := scripted.NewAgent(scripted.AgentConfig{Config: agent.Config{Name: "planner", Tools: []tool.Tool{create, reword}}})
	return server.New(planner, &server.Options{State: state.Config{
		Schema: state.SchemaFor[plan](),
		Rules:  []state.Rule{state.MapResultAsStateSnapshot("create_plan"), state.MapResultAsStateDelta("reword")},
	}})
}

// The events arrive as they were sent, and applied they are the session's state.
func TestShow(t *testing.T) {
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		remote := client.NewAgent(exampletest.URL, &client.AgentConfig{
			Options: client.Options{HTTPClient: &http.Client{Transport: s.Transport}},
		})
		session, st := new(agent.Session), jsondoc.Object()
		var out bytes.Buffer
		for _, text := range []string{`call create_plan {"steps": ["pack", "go"]}`, `call reword {"text": "pack light"}`} {
			var err error
			if st, err = show(t.Context(), remote, session, st, text, &out); err != nil {
				t.Fatal(err)
			}
		}
		const want = `snapshot: {"steps":[]}
snapshot: {"steps":["pack","go"]}
snapshot: {"steps":["pack","go"]}
changes:  [{"op":"replace","path":"/steps/0","value":"pack light"}]
`
		if out.String() != want {
			t.Errorf("%s\nwant\n%s", out.String(), want)
		}
		kept, err := client.SessionState(session)
		if err != nil || !jsondoc.Equal(kept, st) {
			t.Errorf("the session has %s (%v), the events have made %s", kept, err, st)
		}
	})
}
