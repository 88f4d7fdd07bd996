package thread_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/tool"
)

// conflicts are the values of a run's lockstep.conflict events.
func (p played) conflicts() []string {
	var out []string
	for _, e := range all[*agui.Custom](p) {
		if e.Name == "lockstep.conflict" {
			out = append(out, e.Value.String())
		}
	}
	return out
}

// edit changes the state by PATCH.
func (s *stage) edit(patch string) (thread.Edited, error) {
	s.t.Helper()
	p, err := jsondoc.ParsePatch([]byte(patch))
	if err != nil {
		s.t.Fatal(err)
	}
	th := s.thread()
	defer th.Close()
	return th.Edit(s.t.Context(), thread.Edit{Patch: p})
}

// S6: an edit of what is only proposed, in a posted state, waits with the
// proposal: it shows at once, is merged if the proposal is approved, and is told
// of if it is not. Beside it, an edit of what there is counts at once.
func TestS6PostedEditOfAProposal(t *testing.T) {
	const proposal = `{"recipe":{"title":"Soup","servings":2,"steps":["boil"]}}`
	for name, c := range map[string]struct {
		posted   string
		payload  string
		state    string // after
		conflict string
	}{
		"approved": {`{"kept":1,"recipe":{"title":"My soup","servings":2,"steps":["boil"]}}`, `{"approved":true}`,
			`{"kept":1,"recipe":{"title":"My soup","servings":2,"steps":["boil"]}}`, ""},
		"rejected": {`{"kept":1,"recipe":{"title":"My soup","servings":2,"steps":["boil"]}}`, `{"approved":false}`,
			`{"kept":1}`, `{"paths":["/recipe/title"],"policy":"reject"}`},
		"cancelled": {`{"kept":1,"recipe":{"title":"My soup","servings":3,"steps":["boil"]}}`, "",
			`{"kept":1}`, `{"paths":["/recipe/title","/recipe/servings"],"policy":"reject"}`},
		"approved with other arguments": {`{"kept":1,"recipe":{"title":"My soup","servings":2,"steps":["boil"]}}`,
			`{"approved":true,"editedArgs":{"recipe":{"title":"Soup","servings":4,"steps":["boil"]}}}`,
			`{"kept":1,"recipe":{"title":"My soup","servings":4,"steps":["boil"]}}`, ""},
		"with an edit beside it": {`{"kept":2,"recipe":{"title":"My soup","servings":2,"steps":["boil"]}}`, `{"approved":false}`,
			`{"kept":2}`, `{"paths":["/recipe/title"],"policy":"reject"}`},
		"an item": {`{"kept":1,"recipe":{"title":"Soup","servings":2,"steps":["boil","eat"]}}`, `{"approved":true}`,
			`{"kept":1,"recipe":{"title":"Soup","servings":2,"steps":["boil","eat"]}}`, ""},
		"only an edit beside it": {`{"kept":2,"recipe":{"title":"Soup","servings":2,"steps":["boil"]}}`, `{"approved":true}`,
			`{"kept":2,"recipe":{"title":"Soup","servings":2,"steps":["boil"]}}`, ""},
		"nothing changed": {`{"kept":1,"recipe":{"title":"Soup","servings":2,"steps":["boil"]}}`, `{"approved":false}`, `{"kept":1}`, ""},
	} {
		for how, before := range map[string]bool{"before the answer": true, "with the answer": false} {
			t.Run(name+", "+how, func(t *testing.T) {
				write := records("write", "recipe:object")
				cfg := asking()
				cfg.Initial = jsondoc.MustParse(`{"kept":1}`)
				cfg.Predict = map[string]state.Prediction{"recipe": {Tool: "write", Argument: "recipe"}}
				s := newStage(t, inMemory(), cfg, []tool.Tool{write}, agenttest.Turn(agenttest.Call("c1", "write", proposal)), says("Well."), says("Next."))
				s.say("write")
				s.shows(`{"kept":1}`, `{"kept":1,"recipe":{"title":"Soup","servings":2,"steps":["boil"]}}`)
				pending := s.pending
				posts := func(in *agui.RunAgentInput) { in.State = jsondoc.MustParse(c.posted) }
				if before {
					s.run(posts).wants(t, "interrupt")
					if _, view := s.state(); view != c.posted {
						t.Errorf("the view is %s, want %s", view, c.posted)
					}
					s.restart()
				}
				s.pending = pending
				done := s.run(func(in *agui.RunAgentInput) {
					in.Resume = s.entries(c.payload)
					if !before {
						posts(in)
					}
				})
				done.wants(t, "success")
				s.shows(c.state, c.state)
				if got := done.conflicts(); len(got) > 1 || len(got) == 1 && got[0] != c.conflict || len(got) == 0 && c.conflict != "" {
					t.Errorf("conflicts %v, want %s", got, c.conflict)
				}
				s.say("and now").wants(t, "success")
				s.shows(c.state, c.state)
			})
		}
	}
}

// S6 with "*": all arguments are one member, and an edit of one of them waits in
// the same way.
func TestS6PostedEditOfAWholeProposal(t *testing.T) {
	write := records("write", "title:string", "content:string")
	cfg := asking()
	cfg.Initial = jsondoc.Object()
	cfg.Predict = map[string]state.Prediction{"document": {Tool: "write", Argument: "*"}}
	s := newStage(t, inMemory(), cfg, []tool.Tool{write}, agenttest.Turn(agenttest.Call("c1", "write", `{"title":"T","content":"C"}`)), says("Well."))
	s.say("write")
	s.shows(`{}`, `{"document":{"title":"T","content":"C"}}`)
	s.run(func(in *agui.RunAgentInput) {
		in.State = jsondoc.MustParse(`{"document":{"title":"Mine","content":"C"}}`)
		in.Resume = s.entries(`{"approved":true,"content":"D"}`)
	}).wants(t, "success")
	write.wantRan(t, `{"title":"T","content":"D"}`)
	s.shows(`{"document":{"title":"Mine","content":"D"}}`, `{"document":{"title":"Mine","content":"D"}}`)
}

// S6: PATCH beside a proposal. A place that only the proposal has is refused;
// any other is edited at once, shows above the proposal, and the run that says so
// repeats the question. Approved, the result is merged with it.
func TestS6EditBesideAProposal(t *testing.T) {
	for name, c := range map[string]struct {
		patch         string
		refused       string // the conflict's path
		state, view   string
		after, noless string // the state after a yes and after a no
	}{
		"another member": {`[{"op":"add","path":"/other","value":1}]`, "",
			`{"document":"old","other":1}`, `{"document":"new","recipe":{"a":1},"other":1}`,
			`{"document":"new","recipe":{"a":1},"other":1}`, `{"document":"old","other":1}`},
		"what is proposed only": {`[{"op":"replace","path":"/recipe/a","value":2}]`, "/recipe/a",
			`{"document":"old"}`, `{"document":"new","recipe":{"a":1}}`,
			`{"document":"new","recipe":{"a":1}}`, `{"document":"old"}`},
		"into what is proposed only": {`[{"op":"add","path":"/recipe/b","value":2}]`, "/recipe/b",
			`{"document":"old"}`, `{"document":"new","recipe":{"a":1}}`,
			`{"document":"new","recipe":{"a":1}}`, `{"document":"old"}`},
		"what is there": {`[{"op":"replace","path":"/document","value":"mine"}]`, "",
			`{"document":"mine"}`, `{"document":"mine","recipe":{"a":1}}`,
			`{"document":"mine","recipe":{"a":1}}`, `{"document":"mine"}`},
		"remove what is there": {`[{"op":"remove","path":"/document"}]`, "",
			`{}`, `{"recipe":{"a":1}}`,
			`{"recipe":{"a":1}}`, `{}`},
	} {
		for answer, payload := range map[string]string{"yes": `{"approved":true}`, "no": `{"approved":false}`} {
			t.Run(name+", "+answer, func(t *testing.T) {
				write := records("write", "document:string", "recipe:object")
				cfg := asking()
				cfg.Predict["recipe"] = state.Prediction{Tool: "write", Argument: "recipe"}
				s := newStage(t, inMemory(), cfg, []tool.Tool{write}, agenttest.Turn(agenttest.Call("c1", "write", `{"document":"new","recipe":{"a":1}}`)), says("Well."))
				s.say("write")
				th := s.thread()
				defer th.Close()
				_, _, at := th.Doc()
				pending := s.pending
				edited, err := s.edit(c.patch)
				var refused *thread.RefusedError
				if c.refused != "" {
					if !errors.As(err, &refused) || len(refused.Conflicts) != 1 || refused.Conflicts[0] != (thread.Conflict{Path: jsondoc.Pointer(c.refused), Predicted: true}) {
						t.Fatalf("%v %+v, want a refusal of %s", err, refused, c.refused)
					}
				} else if err != nil {
					t.Fatal(err)
				} else {
					seen := s.follow(th, at, edited.Position)
					if got := seen.types(); got != "RUN_STARTED STATE_SNAPSHOT RUN_FINISHED" {
						t.Error(got)
					}
					end := seen[len(seen)-1].(*agui.RunFinished)
					if end.Outcome == nil || len(end.Outcome.Interrupts) != 1 || end.Outcome.Interrupts[0].ID != pending[0].ID {
						t.Errorf("the edit's run ended with %+v", end.Outcome)
					}
				}
				if got, view := s.state(); got != c.state || !jsondoc.Equal(jsondoc.MustParse(view), jsondoc.MustParse(c.view)) {
					t.Errorf("state %s, view %s, want %s, %s", got, view, c.state, c.view)
				}
				s.reload()
				s.answer(payload).wants(t, "success")
				want := c.after
				if answer == "no" {
					want = c.noless
				}
				if got, view := s.state(); !jsondoc.Equal(jsondoc.MustParse(got), jsondoc.MustParse(want)) || view != got {
					t.Errorf("state %s, view %s, want %s", got, view, want)
				}
			})
		}
	}
}

// follow reads what the log got between two positions, as an attached client
// does.
func (s *stage) follow(th *thread.Thread, after, upTo thread.Position) played {
	s.t.Helper()
	var seen played
	for p, err := range th.Follow(s.t.Context(), after) {
		if err != nil {
			s.t.Fatal(err)
		}
		if p.Event != nil {
			seen = append(seen, p.Event)
			s.see(p.Event)
		}
		if p.Seq >= upTo.Seq {
			break
		}
	}
	return seen
}

// S6: an edit that comes with an answer which is refused is not lost with it.
func TestS6EditWithARefusedAnswer(t *testing.T) {
	write := records("write", "document:string")
	s := newStage(t, inMemory(), asking(), []tool.Tool{write}, proposes("c1", "new"), says("Well."))
	s.say("write")
	pending := s.pending
	s.run(func(in *agui.RunAgentInput) {
		in.State = in.State.With("note", jsondoc.String("mine"))
		in.Resume = resumes("nope", `{"approved":true}`)
	}).wants(t, agui.CodeResumeNotFound)
	s.shows(`{"document":"old","note":"mine"}`, `{"document":"new","note":"mine"}`)
	s.pending = pending
	s.answer(`{"approved":true}`).wants(t, "success")
	s.shows(`{"document":"new","note":"mine"}`, `{"document":"new","note":"mine"}`)
}

// An undo is refused while a proposal is open, and takes back what was approved
// after, as the agent's.
func TestUndoBesideAProposal(t *testing.T) {
	write := records("write", "document:string")
	s := newStage(t, inMemory(), asking(), []tool.Tool{write}, proposes("c1", "one"), says("Well."), proposes("c2", "two"), says("Well."))
	s.say("write")
	s.answer(`{"approved":true}`)
	s.say("write")
	th := s.thread()
	defer th.Close()
	var refused *thread.RefusedError
	if _, err := th.Undo(t.Context()); !errors.As(err, &refused) {
		t.Errorf("an undo beside a proposal: %v", err)
	}
	s.shows(`{"document":"one"}`, `{"document":"two"}`)
	s.answer(`{"approved":true}`)
	for _, want := range []string{`{"document":"one"}`, `{"document":"old"}`} {
		if _, err := th.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, view := s.state(); got != want || view != want {
			t.Errorf("after the undo state %s, view %s, want %s", got, view, want)
		}
	}
	if _, err := th.Undo(t.Context()); !errors.As(err, &refused) {
		t.Errorf("nothing is left to undo: %v", err)
	}
}

// S3: what a call changed by itself before it was decided (a mapper's) waits with
// the proposal too, and so does what the tool writes when it runs at last.
func TestS3ChangesOfADecidedCall(t *testing.T) {
	type doc struct {
		N int `json:"n"`
	}
	for name, c := range map[string]struct {
		payload, want string
		fails         bool
	}{
		"approved": {`{"approved":true}`, `{"n":5,"mapped":true}`, false},
		"rejected": {`{"approved":false}`, `{"n":0}`, false},
		"fails":    {`{"approved":true}`, `{"n":0}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			count := records("count", "to:integer")
			count.do = func(ctx context.Context, _ string) (any, error) {
				if err := state.From(ctx).Update(func(d *doc) { d.N = 5 }); err != nil {
					return nil, err
				}
				if c.fails {
					return nil, errors.New("no")
				}
				return "ok", nil
			}
			cfg := state.Config{Initial: jsondoc.MustParse(`{"n":0}`), Rules: []state.Rule{
				state.MapCall("count", func(*state.Mapping, state.ToolCall) ([]agui.Event, error) {
					p, err := jsondoc.ParsePatch([]byte(`[{"op":"add","path":"/mapped","value":true}]`))
					return []agui.Event{&agui.StateDelta{Delta: p}}, err
				}),
			}}
			s := newStage(t, inMemory(), cfg, []tool.Tool{tool.ApprovalRequiredFunc(count)}, agenttest.Turn(agenttest.Call("c1", "count", `{"to":5}`)), says("Well."))
			s.say("count").wants(t, "interrupt")
			s.shows(`{"n":0}`, `{"n":0,"mapped":true}`)
			s.restart()
			s.answer(c.payload).wants(t, "success")
			s.shows(c.want, c.want)
		})
	}
}
