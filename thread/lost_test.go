package thread_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/tool"
)

// S6: a client edits what only a prediction has shown it, and that prediction is
// gone when the edit comes. It does not become state, and the client is told.
// What was never edited is not worth a word.
func TestS6LostEditIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		posted   string
		explicit bool
		conflict string
	}{
		"edited":              {`{"document":"mine"}`, false, `{"paths":["/document"],"policy":"reject"}`},
		"edited, explicit":    {`{"document":"mine"}`, true, `{"paths":["/document"],"policy":"reject"}`},
		"unchanged":           {`{"document":"half"}`, false, ""},
		"unchanged, explicit": {`{"document":"half"}`, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSetup(t, document, thread.Options{})
				defer s.close()
				th := s.open("t")
				defer th.Close()
				m := agenttest.New(agenttest.Turn(
					agenttest.Contents(&message.FunctionCallDelta{CallID: "c1", Name: "write", Arguments: `{"document":"half`}), agenttest.Hang()))
				r, err := s.start(th, m.Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}}), input("r1", user("u1", "go")))
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				at := position(th)
				for p := range r.Events(t.Context()) {
					if p.Seq == at.Seq {
						break
					}
				}
				r.Leave()
				r.Wait()
				in := input("r2", user("u1", "go"), user("u2", "again"))
				in.State = jsondoc.MustParse(c.posted)
				if c.explicit {
					withBase(in, at)
				}
				events := s.run(th, talks(1).Agent(agent.Config{}), in)
				conflict := ""
				for _, e := range events {
					if custom, ok := e.(*agui.Custom); ok && custom.Name == "lockstep.conflict" {
						conflict += custom.Value.String()
					}
				}
				if conflict != c.conflict {
					t.Errorf("told %q, want %q", conflict, c.conflict)
				}
				if doc, _, _ := th.Doc(); doc.State.String() != `{}` {
					t.Errorf("the state is %s", doc.State)
				}
			})
		})
	}
}

// S6: an edit of a list that is being predicted anew is refused as a PATCH and
// told as a posted state; one of the whole list is an edit like any other.
func TestS6EditOfAPredictedList(t *testing.T) {
	cfg := state.Config{
		Initial: jsondoc.MustParse(`{"steps":["boil"]}`),
		Predict: map[string]state.Prediction{"steps": {Tool: "plan", Argument: "steps"}},
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, cfg, thread.Options{})
		defer s.close()
		th := s.open("t")
		defer th.Close()
		m := agenttest.New(agenttest.Turn(
			agenttest.Contents(&message.FunctionCallDelta{CallID: "c1", Name: "plan", Arguments: `{"steps":["chop","fr`}), agenttest.Wait(time.Minute),
			agenttest.Contents(&message.FunctionCallDelta{CallID: "c1", Name: "plan", Arguments: `y"]}`})), agenttest.Turn(agenttest.Text("Done.")))
		r, err := s.start(th, m.Agent(agent.Config{Tools: []tool.Tool{toolOf("plan", func(context.Context) (any, error) { return "ok", nil })}}), input("r1", user("u1", "go")))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		edit := func(patch string) error {
			p, err := jsondoc.ParsePatch([]byte(patch))
			if err != nil {
				t.Fatal(err)
			}
			_, err = th.Edit(t.Context(), thread.Edit{Patch: p})
			return err
		}
		refused, ok := edit(`[{"op":"replace","path":"/steps/0","value":"slice"}]`).(*thread.RefusedError)
		if !ok || len(refused.Conflicts) != 1 || !refused.Conflicts[0].Predicted || refused.Conflicts[0].Path != "/steps/0" {
			t.Errorf("an item: %+v", refused)
		}
		if err := edit(`[{"op":"replace","path":"/steps","value":"later"}]`); err != nil {
			t.Errorf("the list: %v", err)
		}
		if doc, _, _ := th.Doc(); doc.View.String() != `{"steps":"later"}` {
			t.Errorf("the view is %s", doc.View)
		}
		events := s.events(r)
		r.Wait()
		if doc, _, _ := th.Doc(); doc.State.String() != `{"steps":"later"}` {
			t.Errorf("the state is %s: the person's edit stays", doc.State)
		}
		told := ""
		for _, e := range events {
			if custom, ok := e.(*agui.Custom); ok && custom.Name == "lockstep.conflict" {
				told += custom.Value.String()
			}
		}
		if told != `{"paths":["/steps"],"policy":"client"}` {
			t.Errorf("told %q", told)
		}
	})
}

// S2: a client that was cut off, came back as a viewer and saw the run end holds
// what the run ended with. Its edit of one item of a list that was written
// meanwhile is an edit of that item.
func TestS2CutAndCameBack(t *testing.T) {
	for name, c := range map[string]struct {
		comesBack    bool
		posted, want string
	}{
		"unchanged":           {true, `{"steps":[{"t":"chop"},{"t":"fry"},{"t":"eat"}]}`, `{"steps":[{"t":"chop"},{"t":"fry"},{"t":"eat"}]}`},
		"an item":             {true, `{"steps":[{"t":"chop"},{"t":"bake"},{"t":"eat"}]}`, `{"steps":[{"t":"chop"},{"t":"bake"},{"t":"eat"}]}`},
		"one more":            {true, `{"steps":[{"t":"chop"},{"t":"fry"},{"t":"eat"},{"t":"wash up"}]}`, `{"steps":[{"t":"chop"},{"t":"fry"},{"t":"eat"},{"t":"wash up"}]}`},
		"one less":            {true, `{"steps":[{"t":"chop"},{"t":"eat"}]}`, `{"steps":[{"t":"chop"},{"t":"eat"}]}`},
		"away, unchanged":     {false, `{"steps":[{"t":"chop"}]}`, `{"steps":[{"t":"chop"},{"t":"fry"},{"t":"eat"}]}`},
		"away, an item":       {false, `{"steps":[{"t":"slice"}]}`, `{"steps":[{"t":"slice"},{"t":"fry"},{"t":"eat"}]}`},
		"away, another place": {false, `{"steps":[{"t":"chop"}],"mine":1}`, `{"steps":[{"t":"chop"},{"t":"fry"},{"t":"eat"}],"mine":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSetup(t, state.Config{
					Initial: jsondoc.MustParse(`{"steps":[{"t":"boil"}]}`),
					Predict: map[string]state.Prediction{"steps": {Tool: "plan", Argument: "steps"}},
				}, thread.Options{})
				defer s.close()
				th := s.open("t")
				defer th.Close()
				m := agenttest.New(agenttest.Turn(
					agenttest.Contents(&message.FunctionCallDelta{CallID: "c1", Name: "plan", Arguments: `{"steps":[{"t":"chop"},`}), agenttest.Wait(time.Minute),
					agenttest.Contents(&message.FunctionCallDelta{CallID: "c1", Name: "plan", Arguments: `{"t":"fry"},{"t":"eat"}]}`})), agenttest.Turn(agenttest.Text("Done.")))
				plan := toolOf("plan", func(context.Context) (any, error) { return "ok", nil })
				r, err := th.Run(t.Context(), thread.Request{
					Input: input("r1", user("u1", "go")), Agent: runOf(m.Agent(agent.Config{Tools: []tool.Tool{plan}})), Attach: true, Linger: -1,
				})
				if err != nil {
					t.Fatal(err)
				}
				client := agui.NewReducer(nil, jsondoc.Value{})
				var at thread.Position
				read := func(events func(func(*thread.Published, error) bool), until func(*thread.Published) bool) {
					for p, err := range events {
						if err != nil {
							t.Fatal(err)
						}
						if p.Event != nil {
							if err := client.Apply(p.Event); err != nil {
								t.Fatal(err)
							}
						}
						if at = p.Position(); until(p) {
							return
						}
					}
				}
				read(r.Events(t.Context()), func(p *thread.Published) bool { return client.State().String() == `{"steps":[{"t":"chop"}]}` })
				r.Leave()
				if c.comesBack {
					read(th.Follow(t.Context(), at), func(p *thread.Published) bool { _, ended := p.Event.(*agui.RunFinished); return ended })
				}
				r.Wait()
				in := input("r2", append(client.Messages(), user("u2", "again"))...)
				in.State = jsondoc.MustParse(c.posted)
				s.run(th, talks(1).Agent(agent.Config{}), in)
				if doc, _, _ := th.Doc(); doc.State.String() != c.want {
					t.Errorf("the state is %s, want %s", doc.State, c.want)
				}
			})
		})
	}
}
