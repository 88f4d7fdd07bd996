package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
)

// POST P/threads/{id}/undo: what it answers, and what viewers get.
func TestUndoOverHTTP(t *testing.T) {
	a, cfg, goOn := cook(state.ClientWins, `{"recipe":{"title":"Goulash","serves":`, `4,"steps":["chop","boil"]}}`)
	srv := listen(t, a, &server.Options{State: cfg}, nil)
	url := srv.URL + "/threads/t"
	undo := func() (int, edited) {
		status, _, text := request(t, http.MethodPost, url+"/undo", "")
		return status, decode(t, text)
	}
	if status, got := undo(); status != http.StatusNotFound || len(got.Errors) != 1 {
		t.Errorf("an unknown thread: %d %+v", status, got)
	}
	s := newStream(t, srv.URL, body)
	s.until(is[*agui.StateDelta])
	if status, got := undo(); status != http.StatusConflict || got.Position == "" || len(got.Conflicts) != 0 || !strings.Contains(string(got.State), `"title"`) {
		t.Errorf("while a run is active: %d %+v", status, got)
	}
	close(goOn)
	s.until(nil)
	if status, _ := patch(t, url, "", `{"recipe":{"title":"Mine"}}`); status != http.StatusOK {
		t.Fatal(status)
	}
	before := hydrated(t, url)
	status, got := undo()
	if status != http.StatusOK || len(got.Conflicts) != 1 || got.Conflicts[0].Path != "/recipe/title" || got.Conflicts[0].Predicted || got.Revision != before.Revision+1 {
		t.Fatalf("%d %+v", status, got)
	}
	wantState(t, url, `{"recipe":{"title":"Mine","serves":2,"steps":["boil"]}}`)
	events, ids := frames(t, t.Context(), url+"/events?protocolVersion=1.0&live=false&after="+before.Position, nil, nil)
	if text := eventTypes(events); text != "RUN_STARTED STATE_SNAPSHOT RUN_FINISHED" || ids[2] != got.Position {
		t.Errorf("the undo is %s up to %s, the answer says %s", text, ids[len(ids)-1], got.Position)
	}
	if by, _ := events[1].(*agui.StateSnapshot).Metadata.At("/lockstep/by"); by.Str() != "user" {
		t.Errorf("its mark is %s", by)
	}
	if status, got := undo(); status != http.StatusConflict || got.Position != ids[2] || len(got.Conflicts) != 0 {
		t.Errorf("nothing is left: %d %+v", status, got)
	}
}

// An agent that was given no state configuration: a PATCH makes state all the
// same, also in the middle of a run, and every client can follow.
func TestPatchWithoutConfiguration(t *testing.T) {
	goOn := make(chan struct{})
	m := agenttest.New(agenttest.Turn(agenttest.Text("Wait"), waitFor(goOn), agenttest.Text(" for it.")))
	srv := listen(t, m.Agent(agent.Config{}), nil, nil)
	url := srv.URL + "/threads/t"
	s := newStream(t, srv.URL, body)
	s.until(is[*agui.TextMessageContent])
	for i, c := range []struct{ body, want string }{{`{"a":{"b":1}}`, "STATE_SNAPSHOT"}, {`[{"op":"replace","path":"/a/b","value":2}]`, "STATE_DELTA"}} {
		status, got := patch(t, url, "", c.body)
		if status != http.StatusOK || got.Revision != i+1 {
			t.Fatalf("%d %+v", status, got)
		}
		s.until(func(e agui.Event) bool { return strings.HasPrefix(string(e.EventType()), "STATE_") })
		if got := s.events[len(s.events)-1].EventType(); string(got) != c.want {
			t.Errorf("%s is %s, want %s", c.body, got, c.want)
		}
	}
	close(goOn)
	s.until(nil)
	if got := s.view.State().String(); got != `{"a":{"b":2}}` {
		t.Errorf("the client has %s", got)
	}
	wantState(t, url, `{"a":{"b":2}}`)
}
