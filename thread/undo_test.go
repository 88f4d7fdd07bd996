package thread_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
	"github.com/lockstep-go/lockstep/tool"
)

// changer is an agent that makes the patches, a call each, and says that it has.
func changer(patches ...string) *agent.Agent {
	var turns []agenttest.Script
	for i := range patches {
		turns = append(turns, agenttest.Turn(agenttest.Call(fmt.Sprint("c", i), "change", `{"n":`+fmt.Sprint(i)+`}`)))
	}
	next := 0
	change := toolOf("change", func(context.Context) (any, error) {
		p, err := jsondoc.ParsePatch([]byte(patches[next]))
		next++
		return state.Result{Text: "changed", Delta: p}, err
	})
	return agenttest.New(append(turns, agenttest.Turn(agenttest.Text("Done.")))...).Agent(agent.Config{Tools: []tool.Tool{change}})
}

// Undo: what it takes back and what it leaves. A step is a run of an agent's
// ("agent [patch] [patch]"), an edit of a user's ("user [patch]"), a post with
// edited state ("post STATE"), an undo, with the places it lists ("undo /a /b"),
// or one that is refused ("undone").
func TestUndo(t *testing.T) {
	const (
		seven  = `agent [{"op":"replace","path":"/a","value":7},{"op":"replace","path":"/b","value":7}]`
		eight  = `agent [{"op":"replace","path":"/a","value":8}]`
		listed = `agent [{"op":"add","path":"/list/1","value":{"id":"new","n":9}},{"op":"replace","path":"/list/0/n","value":9}]`
	)
	for name, c := range map[string]struct {
		steps []string
		want  string
	}{
		"everything":                     {[]string{seven, "undo"}, `{"a":1,"b":1,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"keeps a later edit":             {[]string{seven, `user [{"op":"replace","path":"/b","value":3}]`, "undo /b"}, `{"a":1,"b":3,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"keeps an edit of another place": {[]string{seven, `user [{"op":"add","path":"/c","value":3}]`, "undo"}, `{"a":1,"b":1,"c":3,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"keeps a posted edit":            {[]string{seven, `post {"a":7,"b":5,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`, "undo /b"}, `{"a":1,"b":5,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"a removal stays":                {[]string{seven, `user [{"op":"remove","path":"/b"}]`, "undo /b"}, `{"a":1,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"what the agent removed":         {[]string{`agent [{"op":"remove","path":"/b"}]`, "undo"}, `{"a":1,"b":1,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"again goes further back":        {[]string{seven, eight, "undo", "undo"}, `{"a":1,"b":1,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"one step back":                  {[]string{seven, eight, "undo"}, `{"a":7,"b":7,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"nothing is left":                {[]string{seven, eight, "undo", "undo", "undone", "undone"}, `{"a":1,"b":1,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"edits are never taken back":     {[]string{`user [{"op":"replace","path":"/a","value":3}]`, "undone"}, `{"a":3,"b":1,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"an edit in between":             {[]string{seven, `user [{"op":"replace","path":"/a","value":3}]`, eight, "undo", "undo /a"}, `{"a":3,"b":1,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"undos are never taken back":     {[]string{seven, "undo", eight, "undo", "undone"}, `{"a":1,"b":1,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"a run that changed nothing":     {[]string{seven, "agent", "agent", "undo"}, `{"a":1,"b":1,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"several changes of a run":       {[]string{`agent [{"op":"replace","path":"/a","value":7}] [{"op":"replace","path":"/a","value":8}] [{"op":"replace","path":"/b","value":8}]`, "undo"}, `{"a":1,"b":1,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"several, one edited since":      {[]string{`agent [{"op":"replace","path":"/a","value":7}] [{"op":"replace","path":"/a","value":8}] [{"op":"replace","path":"/b","value":8}]`, `user [{"op":"replace","path":"/a","value":3}]`, "undo /a"}, `{"a":3,"b":1,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"all of it was edited since":     {[]string{eight, `user [{"op":"replace","path":"/a","value":3}]`, "undo /a", "undone"}, `{"a":3,"b":1,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"items of a list":                {[]string{listed, `user [{"op":"add","path":"/list/0","value":{"id":"mine"}},{"op":"replace","path":"/list/3/n","value":5}]`, "undo"}, `{"a":1,"b":1,"list":[{"id":"mine"},{"id":"x","n":1},{"id":"y","n":5}]}`},
		"the same value set by a user":   {[]string{eight, `user [{"op":"replace","path":"/a","value":3}]`, `user [{"op":"replace","path":"/a","value":8}]`, "undo"}, `{"a":1,"b":1,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
		"a post beside the agent's work": {[]string{`post+agent {"a":1,"b":4,"list":[{"id":"x","n":1},{"id":"y","n":2}]} [{"op":"replace","path":"/a","value":7}]`, "undo"}, `{"a":1,"b":4,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`},
	} {
		for _, again := range []bool{false, true} { // the log is read anew before each undo
			t.Run(fmt.Sprintf("%s, %v", name, again), func(t *testing.T) {
				store := memory.New()
				s := newSetupOn(t, store, keeps, thread.Options{})
				th := s.open("t")
				defer func() { th.Close(); s.close() }()
				if _, err := th.Edit(t.Context(), thread.Edit{Merge: jsondoc.MustParse(`{"a":1,"b":1,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`)}); err != nil {
					t.Fatal(err)
				}
				for i, step := range c.steps {
					what, rest, _ := strings.Cut(step, " ")
					in := input(fmt.Sprint("r", i), user(fmt.Sprint("u", i), "go on"))
					var patches []string
					if at := strings.Index(rest, "[{\"op\""); at >= 0 {
						patches = strings.SplitAfter(rest[at:], "}] ")
					}
					if strings.HasPrefix(what, "undo") && again {
						th.Close()
						closeThreads(t, s.threads)
						s.threads = thread.New(store, &thread.Options{Metrics: &s.metrics})
						th = s.open("t")
					}
					before := position(th)
					switch what {
					case "agent":
						s.run(th, changer(patches...), in)
					case "post", "post+agent":
						doc, _, _ := strings.Cut(rest, " [{")
						in.State = jsondoc.MustParse(doc)
						s.run(th, changer(patches...), withBase(in, before))
					case "user":
						p, err := jsondoc.ParsePatch([]byte(rest))
						if err != nil {
							t.Fatal(err)
						}
						if _, err := th.Edit(t.Context(), thread.Edit{Patch: p}); err != nil {
							t.Fatal(err)
						}
					case "undone":
						var refused *thread.RefusedError
						if _, err := th.Undo(t.Context()); !errors.As(err, &refused) || refused.Position != before {
							t.Fatalf("step %d: error %v, want RefusedError", i, err)
						}
						if position(th) != before {
							t.Error("a refused undo is in the log")
						}
					case "undo":
						done, err := th.Undo(t.Context())
						if err != nil {
							t.Fatalf("step %d: %v", i, err)
						}
						var paths []string
						for _, c := range done.Conflicts {
							paths = append(paths, string(c.Path))
						}
						if got := strings.Join(paths, " "); got != rest {
							t.Errorf("step %d: conflicts %q, want %q", i, got, rest)
						}
						_, revision, at := th.Doc()
						if done.Position != at || done.Revision != revision {
							t.Errorf("step %d: the answer says %v at %d, the thread %v at %d", i, done.Position, done.Revision, at, revision)
						}
						if got := follow(t, th, before); types(got) != "RUN_STARTED STATE_SNAPSHOT RUN_FINISHED" || got[0].(*agui.RunStarted).RunID != fmt.Sprint("edit-", before.Seq+1) {
							t.Errorf("step %d: the undo is %s", i, types(got))
						}
					}
				}
				doc, _, _ := th.Doc()
				if !jsondoc.Equal(doc.State, jsondoc.MustParse(c.want)) || !jsondoc.Equal(doc.View, doc.State) {
					t.Errorf("the state is %s, the view %s, want %s", doc.State, doc.View, c.want)
				}
			})
		}
	}
}

// follow reads what is behind a position, up to the end as it is.
func follow(t *testing.T, th *thread.Thread, after thread.Position) []agui.Event {
	t.Helper()
	var out []agui.Event
	end := position(th)
	if after == end {
		return nil
	}
	for p, err := range th.Follow(t.Context(), after) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Event != nil {
			out = append(out, p.Event)
		}
		if p.Seq == end.Seq {
			break
		}
	}
	return out
}

// An undo waits for nobody: it is refused while a run is active and while a
// proposal of a client's tool is open.
func TestUndoRefused(t *testing.T) {
	s := newSetup(t, document, thread.Options{})
	defer s.close()
	th := s.open("t")
	defer th.Close()
	refused := func(why string) {
		t.Helper()
		var e *thread.RefusedError
		if _, err := th.Undo(t.Context()); !errors.As(err, &e) || !strings.Contains(e.Reason, why) || len(e.Conflicts) > 0 {
			t.Errorf("error %v, want one that says %q", err, why)
		}
	}
	refused("nothing")
	s.run(th, writesAtOnce("one"), input("r1", user("u1", "go")))
	hang := agenttest.New(agenttest.Turn(agenttest.Hang())).Agent(agent.Config{})
	r, err := s.start(th, hang, input("r2", user("u2", "go")))
	if err != nil {
		t.Fatal(err)
	}
	refused("run is active")
	r.Leave()
	r.Wait()
	ask := input("r3", user("u3", "go"))
	ask.Tools = []agui.Tool{{Name: "write"}}
	s.run(th, agenttest.New(agenttest.Turn(agenttest.Call("c9", "write", `{"document":"asked"}`))).Agent(agent.Config{}), ask)
	if doc, _, _ := th.Doc(); doc.View.String() != `{"document":"asked"}` {
		t.Fatalf("the proposal shows %s", doc.View)
	}
	refused("proposal")
	answer := input("r4", toolSays("t9", "c9", "yes"))
	answer.Tools = ask.Tools
	s.run(th, talks(1).Agent(agent.Config{}), answer)
	if doc, _, _ := th.Doc(); doc.State.String() != `{"document":"asked"}` {
		t.Fatalf("the answered proposal is %s", doc.State)
	}
	for _, want := range []string{`{"document":"one"}`, `{}`} { // what the model proposed is the agent's change
		if _, err := th.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
		if doc, _, _ := th.Doc(); doc.State.String() != want {
			t.Errorf("state %s, want %s", doc.State, want)
		}
	}
	refused("nothing")
}

func writesAtOnce(text string) *agent.Agent {
	return agenttest.New(agenttest.Turn(agenttest.Call("c1", "write", `{"document":"`+text+`"}`)), agenttest.Turn(agenttest.Text("Done."))).
		Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}})
}

// S9, S8: hidden members are taken back too, and are not told of; an undo that
// would break the schema is refused as a whole.
func TestUndoHidden(t *testing.T) {
	cfg := state.Config{
		Initial: jsondoc.MustParse(`{"a":1,"secrets":{"k":1}}`),
		Schema:  state.MustParseSchema(`{"type":"object","properties":{"a":{"type":"integer"}},"dependentRequired":{"flag":["b"]}}`),
		Access:  state.Access{"/secrets": state.ServerOnly},
	}
	s := newSetup(t, cfg, thread.Options{})
	defer s.close()
	th := s.open("t")
	defer th.Close()
	write := func(text string) *agent.Agent {
		set := toolOf("set", func(ctx context.Context) (any, error) {
			return "ok", state.From(ctx).Update(func(doc *map[string]any) {
				(*doc)["secrets"] = map[string]any{"k": text}
			})
		})
		return agenttest.New(agenttest.Turn(agenttest.Call("c", "set", `{}`)), agenttest.Turn(agenttest.Text("Done."))).Agent(agent.Config{Tools: []tool.Tool{set}})
	}
	s.run(th, write("two"), input("r1", user("u1", "go")))
	s.run(th, write("three"), input("r2", user("u2", "go")))
	if doc, _, _ := th.Doc(); doc.State.String() != `{"a":1,"secrets":{"k":"three"}}` {
		t.Fatalf("state %s", doc.State)
	}
	for _, want := range []string{`{"a":1,"secrets":{"k":"two"}}`, `{"a":1,"secrets":{"k":1}}`} {
		done, err := th.Undo(t.Context())
		if err != nil || len(done.Conflicts) > 0 {
			t.Fatalf("%v %+v", err, done)
		}
		if doc, _, _ := th.Doc(); doc.State.String() != want || doc.View.String() != `{"a":1}` {
			t.Errorf("state %s, view %s, want %s", doc.State, doc.View, want)
		}
	}

	s.run(th, changer(`[{"op":"add","path":"/b","value":1}]`), input("r3", user("u3", "go")))
	if _, err := th.Edit(t.Context(), thread.Edit{Merge: jsondoc.MustParse(`{"flag":true}`)}); err != nil {
		t.Fatal(err)
	}
	before := position(th)
	var broken *state.SchemaError
	if _, err := th.Undo(t.Context()); !errors.As(err, &broken) {
		t.Errorf("an undo that breaks the schema: %v", err)
	}
	if position(th) != before {
		t.Error("it is in the log")
	}
}
