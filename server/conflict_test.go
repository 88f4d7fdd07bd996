package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// cook is an agent that rewrites a recipe: the first half of its arguments, then
// it waits for the test, then the second.
func cook(policy state.ConflictPolicy, first, second string) (a *agent.Agent, cfg state.Config, goOn chan struct{}) {
	goOn = make(chan struct{})
	update := functool.MustNew(functool.Config{Name: "update", Schema: jsondoc.MustParse(`{"type":"object"}`)},
		func(context.Context, map[string]any) (string, error) { return "Updated.", nil })
	m := agenttest.New(
		agenttest.Turn(begin("c1", "update", first), waitFor(goOn), begin("c1", "update", second), agenttest.Finish(agent.FinishReasonToolCalls)),
		agenttest.Turn(agenttest.Text("Done.")))
	return m.Agent(agent.Config{Tools: []tool.Tool{update}}), state.Config{
		Initial:  jsondoc.MustParse(`{"recipe":{"title":"Soup","serves":2,"steps":["boil"]}}`),
		Predict:  map[string]state.Prediction{"recipe": {Tool: "update", Argument: "recipe"}, "draft": {Tool: "update", Argument: "draft"}},
		Conflict: policy,
	}, goOn
}

// waitFor is a model that goes on when the test says so.
func waitFor(goOn <-chan struct{}) agenttest.Step {
	return agenttest.Do(func(ctx context.Context) error {
		select {
		case <-goOn:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// stream is a run whose events are read as they come.
type stream struct {
	t      *testing.T
	lines  *bufio.Reader
	close  func()
	order  agui.Sequence
	view   *agui.Reducer
	events []agui.Event
}

func newStream(t *testing.T, url, body string) *stream {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("the run did not start: %s", res.Status)
	}
	s := &stream{t: t, lines: bufio.NewReader(res.Body), close: func() { res.Body.Close() }, view: agui.NewReducer(nil, jsondoc.Value{})}
	t.Cleanup(s.close)
	return s
}

// until reads on until an event is the one that is looked for, or the end.
func (s *stream) until(is func(agui.Event) bool) {
	s.t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return
		}
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok {
			continue
		}
		e, err := agui.DecodeEvent([]byte(data), nil)
		if err != nil {
			s.t.Fatal(err)
		}
		if err := s.order.Check(e); err != nil {
			s.t.Fatalf("W1: %v", err)
		}
		if err := s.view.Apply(e); err != nil {
			s.t.Fatalf("W2: %v", err)
		}
		if s.events = append(s.events, e); is != nil && is(e) {
			return
		}
	}
}

// conflicts are the lockstep.conflict events of a stream.
func (s *stream) conflicts() string {
	var out []string
	for _, e := range s.events {
		if c, ok := e.(*agui.Custom); ok && c.Name == "lockstep.conflict" {
			out = append(out, c.Value.String())
		}
	}
	return strings.Join(out, " ")
}

// S6: an agent rewrites the whole recipe while a user edits its title. Where only
// the user changes it, both survive; where both do, the policy decides, and
// lockstep.conflict says so.
func TestS6EditWhileTheAgentWrites(t *testing.T) {
	const (
		keeps   = `{"recipe":{"title":"Soup","serves":`
		changes = `{"recipe":{"title":"Goulash","serves":`
		rest    = `4,"steps":["chop","boil"]}}`
		told    = `{"paths":["/recipe/title"],"policy":"%s"}`
	)
	for name, c := range map[string]struct {
		policy      state.ConflictPolicy
		first       string
		want        string
		conflict    string
		toolFailed  bool
		whileItRuns string // the title behind the edit, above the prediction
	}{
		"both survive, client": {state.ClientWins, keeps, `{"recipe":{"title":"Mine","serves":4,"steps":["chop","boil"]}}`, "", false, "Mine"},
		"both survive, server": {state.AgentWins, keeps, `{"recipe":{"title":"Mine","serves":4,"steps":["chop","boil"]}}`, "", false, "Mine"},
		"both survive, reject": {state.RejectResult, keeps, `{"recipe":{"title":"Mine","serves":4,"steps":["chop","boil"]}}`, "", false, "Mine"},
		"client":               {state.ClientWins, changes, `{"recipe":{"title":"Mine","serves":4,"steps":["chop","boil"]}}`, fmt.Sprintf(told, "client"), false, "Mine"},
		"server":               {state.AgentWins, changes, `{"recipe":{"title":"Goulash","serves":4,"steps":["chop","boil"]}}`, fmt.Sprintf(told, "server"), false, "Mine"},
		"reject":               {state.RejectResult, changes, `{"recipe":{"title":"Mine","serves":2,"steps":["boil"]}}`, fmt.Sprintf(told, "reject"), true, "Mine"},
	} {
		t.Run(name, func(t *testing.T) {
			a, cfg, goOn := cook(c.policy, c.first, rest)
			srv := listen(t, a, &server.Options{State: cfg}, nil)
			url := srv.URL + "/threads/t"
			run := newStream(t, srv.URL, body)
			run.until(func(agui.Event) bool {
				v, ok := run.view.State().At("/recipe/steps")
				return !ok && v.IsAbsent() && len(run.events) > 3 // the prediction has replaced the recipe
			})
			shown := hydrated(t, url)
			status, got := patch(t, url, quoted(shown.Position), `[{"op":"replace","path":"/recipe/title","value":"Mine"}]`)
			if status != http.StatusOK || got.Merged {
				t.Fatalf("%d %+v", status, got)
			}
			run.until(func(e agui.Event) bool {
				title, _ := run.view.State().At("/recipe/title")
				return title.Str() == "Mine"
			})
			edit := run.events[len(run.events)-1].(*agui.StateDelta)
			if by, _ := edit.Metadata.At("/lockstep/by"); by.Str() != "user" {
				t.Errorf("the edit's mark is %s", edit.Metadata)
			}
			if at, _ := edit.Metadata.At("/lockstep/position"); at.Str() != got.Position {
				t.Errorf("the edit is at %s, the answer says %s", at, got.Position)
			}
			close(goOn)
			run.until(func(e agui.Event) bool {
				// Later frames of the prediction leave the edited place alone.
				if _, is := e.(*agui.ToolCallEnd); is {
					return true
				}
				title, _ := run.view.State().At("/recipe/title")
				if title.Str() != c.whileItRuns {
					t.Errorf("while it is written the title is %s", title)
				}
				return false
			})
			run.until(nil)
			if !jsondoc.Equal(run.view.State(), jsondoc.MustParse(c.want)) {
				t.Errorf("the client has %s, want %s", run.view.State(), c.want)
			}
			wantState(t, url, c.want)
			if run.conflicts() != c.conflict {
				t.Errorf("conflicts %q, want %q", run.conflicts(), c.conflict)
			}
			for _, e := range run.events {
				if r, ok := e.(*agui.ToolCallResult); ok && strings.HasPrefix(r.Content.Text(), "Error: ") != c.toolFailed {
					t.Errorf("the tool's result is %q", r.Content.Text())
				}
			}
		})
	}
}

// S6: a PATCH made on what was there before the agent committed something else
// in the same place.
func TestS6EditAfterTheAgentWrote(t *testing.T) {
	for name, c := range map[string]struct {
		policy   state.ConflictPolicy
		status   int
		title    string
		conflict string
	}{
		"client": {state.ClientWins, 200, "Mine", `{"paths":["/recipe/title"],"policy":"client"}`},
		"server": {state.AgentWins, 200, "Goulash", `{"paths":["/recipe/title"],"policy":"server"}`},
		"reject": {state.RejectResult, 409, "Goulash", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, cfg, goOn := cook(c.policy, `{"recipe":{"title":"Goulash","serves":`, `4,"steps":["chop","boil"]}}`)
			close(goOn)
			srv := listen(t, a, &server.Options{State: cfg}, nil)
			url := srv.URL + "/threads/t"
			_, base := patch(t, url, "", `{"mood":"hungry"}`)
			newStream(t, srv.URL, body).until(nil)
			before := hydrated(t, url)
			const edit = `[{"op":"replace","path":"/recipe/title","value":"Mine"},{"op":"add","path":"/mood","value":"fed"}]`
			status, got := patch(t, url, quoted(base.Position), edit)
			if status != c.status {
				t.Fatalf("%d %+v", status, got)
			}
			mood := "fed"
			if status == http.StatusConflict {
				mood = "hungry" // nothing of it
				if len(got.Conflicts) != 1 || got.Conflicts[0].Path != "/recipe/title" || got.Conflicts[0].Predicted {
					t.Errorf("conflicts %+v", got.Conflicts)
				}
			} else if !got.Merged {
				t.Error("not merged")
			}
			wantState(t, url, fmt.Sprintf(`{"recipe":{"title":%q,"serves":4,"steps":["chop","boil"]},"mood":%q}`, c.title, mood))
			events, _ := frames(t, t.Context(), url+"/events?protocolVersion=1.0&live=false&after="+before.Position, nil, nil)
			said := &stream{events: events}
			if said.conflicts() != c.conflict {
				t.Errorf("conflicts %q, want %q", said.conflicts(), c.conflict)
			}
		})
	}
}

// S2, S6: a posted state that was made on what was there before the agent wrote.
// The agent's value stays where that is the policy; of two people the later does.
func TestS6PostedAfterTheAgentWrote(t *testing.T) {
	const told = `{"paths":["/recipe/title"],"policy":%q}`
	for name, c := range map[string]struct {
		policy   state.ConflictPolicy
		another  bool // person has changed the place too
		title    string
		conflict string
	}{
		"client":                 {state.ClientWins, false, "Mine", fmt.Sprintf(told, "client")},
		"server":                 {state.AgentWins, false, "Goulash", fmt.Sprintf(told, "server")},
		"reject":                 {state.RejectResult, false, "Mine", fmt.Sprintf(told, "client")},
		"server, another person": {state.AgentWins, true, "Mine", fmt.Sprintf(told, "client")},
	} {
		t.Run(name, func(t *testing.T) {
			a, cfg, goOn := cook(c.policy, `{"recipe":{"title":"Goulash","serves":`, `4,"steps":["chop","boil"]}}`)
			close(goOn)
			srv := listen(t, a, &server.Options{State: cfg}, nil)
			url := srv.URL + "/threads/t"
			_, base := patch(t, url, "", `{"mood":"hungry"}`)
			newStream(t, srv.URL, body).until(nil)
			if c.another {
				patch(t, url, "", `{"recipe":{"title":"Theirs"}}`)
			}
			again := newStream(t, srv.URL, fmt.Sprintf(`{"threadId":"t","runId":"r2","protocolVersion":"1.0","tools":[],"context":[],
				"messages":[{"id":"u2","role":"user","content":"go on"}],"forwardedProps":{"lockstep":{"base":%q}},
				"state":{"recipe":{"title":"Mine","serves":2,"steps":["boil"]},"mood":"fed"}}`, base.Position))
			again.until(nil)
			wantState(t, url, fmt.Sprintf(`{"recipe":{"title":%q,"serves":4,"steps":["chop","boil"]},"mood":"fed"}`, c.title))
			if said := again.conflicts(); said != c.conflict {
				t.Errorf("conflicts %q, want %q", said, c.conflict)
			}
		})
	}
}

// S6: an edit of nothing but what the agent wrote since is answered with the agent's
// value, and viewers are told: a run or an idle thread, one event for the places.
func TestS6EditThatGivesWay(t *testing.T) {
	for name, running := range map[string]bool{"idle": false, "running": true} {
		t.Run(name, func(t *testing.T) {
			_, cfg, goOn := cook(state.AgentWins, "", "")
			update := functool.MustNew(functool.Config{Name: "update", Schema: jsondoc.MustParse(`{"type":"object"}`)},
				func(context.Context, map[string]any) (string, error) { return "Updated.", nil })
			m := agenttest.New(
				agenttest.Turn(begin("c1", "update", `{"recipe":{"title":"Goulash"}}`), agenttest.Finish(agent.FinishReasonToolCalls)),
				agenttest.Turn(waitFor(goOn), agenttest.Text("Done.")))
			srv := listen(t, m.Agent(agent.Config{Tools: []tool.Tool{update}}), &server.Options{State: cfg}, nil)
			url := srv.URL + "/threads/t"
			_, base := patch(t, url, "", `{"mood":"hungry"}`)
			run := newStream(t, srv.URL, body)
			if running {
				seen := false // the result, and then the state
				run.until(func(e agui.Event) bool {
					_, is := e.(*agui.ToolCallResult)
					_, snapshot := e.(*agui.StateSnapshot)
					seen = seen || is
					return seen && snapshot
				})
			} else {
				close(goOn)
				run.until(nil)
			}
			before := hydrated(t, url)
			status, got := patch(t, url, quoted(base.Position), `{"recipe":{"title":"Mine"}}`)
			if status != 200 || got.Merged || got.Position == before.Position {
				t.Errorf("%d %+v", status, got)
			}
			if running {
				close(goOn)
				run.until(nil)
			}
			wantState(t, url, `{"recipe":{"title":"Goulash"},"mood":"hungry"}`)
			events, _ := frames(t, t.Context(), url+"/events?protocolVersion=1.0&live=false&after="+before.Position, nil, nil)
			if said := (&stream{events: events}).conflicts(); said != `{"paths":["/recipe/title"],"policy":"server"}` {
				t.Errorf("conflicts %q", said)
			}
		})
	}
}

// S6: what nothing but a prediction has cannot be edited yet: 409, and the place
// is named. What the state has below a prediction can.
func TestS6PredictedPlaces(t *testing.T) {
	a, cfg, goOn := cook(state.ClientWins, `{"draft":{"idea":"x","list":["one"]},"recipe":{"title":"Goulash","steps":["chop"],"serves":`, `4}}`)
	srv := listen(t, a, &server.Options{State: cfg}, nil)
	url := srv.URL + "/threads/t"
	run := newStream(t, srv.URL, body)
	run.until(func(agui.Event) bool {
		_, ok := run.view.State().At("/recipe/steps/0")
		title, _ := run.view.State().At("/recipe/title")
		return ok && title.Str() == "Goulash"
	})
	shown := hydrated(t, url)
	for edit, path := range map[string]string{
		`[{"op":"replace","path":"/draft/idea","value":"y"}]`:           "/draft/idea",
		`[{"op":"remove","path":"/draft"}]`:                             "/draft",
		`[{"op":"add","path":"/draft/more","value":1}]`:                 "/draft/more",
		`[{"op":"add","path":"/draft/list/0","value":"zero"}]`:          "/draft/list/0",
		`[{"op":"replace","path":"/recipe/steps/0","value":"slice"}]`:   "/recipe/steps/0",
		`[{"op":"add","path":"/recipe/steps/-","value":"eat"}]`:         "/recipe/steps/1",
		`{"draft":{"idea":"y"},"recipe":{"title":"not even this one"}}`: "/draft/idea",
	} {
		status, got := patch(t, url, "", edit)
		if status != http.StatusConflict || len(got.Conflicts) != 1 || got.Conflicts[0].Path != path || !got.Conflicts[0].Predicted {
			t.Errorf("%s: %d %+v", edit, status, got)
		}
		if string(got.State) != string(shown.State) || got.Position != shown.Position {
			t.Errorf("%s: the answer shows %s at %s", edit, got.State, got.Position)
		}
	}
	var predicted struct{ Predicted []string }
	_, _, text := request(t, http.MethodGet, url, "")
	if err := json.Unmarshal([]byte(text), &predicted); err != nil || len(predicted.Predicted) == 0 {
		t.Errorf("%v: hydrate's predicted is %v", err, predicted.Predicted)
	}
	if status, got := patch(t, url, "", `{"recipe":{"title":"Mine"}}`); status != http.StatusOK {
		t.Errorf("%d %+v", status, got)
	}
	close(goOn)
	run.until(nil)
	// What was edited below the prediction stays, and once it is committed the
	// rest is the state's like any other.
	wantState(t, url, `{"recipe":{"title":"Mine","steps":["chop"],"serves":4},"draft":{"idea":"x","list":["one"]}}`)
	if status, got := patch(t, url, quoted(shown.Position), `[{"op":"replace","path":"/draft/idea","value":"y"},{"op":"replace","path":"/recipe/steps/0","value":"slice"}]`); status != http.StatusOK || !got.Merged {
		t.Errorf("made on the prediction, after it was committed: %d %+v", status, got)
	}
	wantState(t, url, `{"recipe":{"title":"Mine","steps":["slice"],"serves":4},"draft":{"idea":"y","list":["one"]}}`)
}
