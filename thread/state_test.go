package thread_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// play runs one turn of an agent on a new thread and returns its events.
func play(t *testing.T, cfg state.Config, posted string, tools []tool.Tool, turns ...agenttest.Script) ([]agui.Event, state.Doc, *agenttest.Model) {
	t.Helper()
	s := newSetup(t, cfg, thread.Options{})
	defer s.close()
	th := s.open("t")
	defer th.Close()
	m := agenttest.New(turns...)
	m.Chunk = 7
	in := input("r", user("u", "go"))
	if posted != "" {
		in.State = jsondoc.MustParse(posted)
	}
	r, err := s.start(th, m.Agent(agent.Config{Tools: tools, ToolLoop: &agent.ToolLoopConfig{MaxParallel: 1}}), in)
	if err != nil {
		t.Fatal(err)
	}
	events := s.events(r)
	r.Wait()
	doc, _, _ := th.Doc()
	if !jsondoc.Equal(doc.View, s.model.Visible(doc.State)) {
		t.Errorf("S3: after the run the view is %s, the state %s", doc.View, doc.State)
	}
	return events, doc, m
}

func contents(events []agui.Event) (results []string) {
	for _, e := range events {
		if r, ok := e.(*agui.ToolCallResult); ok {
			results = append(results, r.Content.Text())
		}
	}
	return results
}

func toolOf(name string, f func(ctx context.Context) (any, error)) tool.Tool {
	return functool.MustNew(functool.Config{Name: name, Schema: jsondoc.MustParse(`{"type":"object"}`)},
		func(ctx context.Context, _ map[string]any) (any, error) { return f(ctx) })
}

func one(name string) []agenttest.Script {
	return []agenttest.Script{
		agenttest.Turn(agenttest.Call("c1", name, `{"x":1}`)),
		agenttest.Turn(agenttest.Text("Done.")),
	}
}

var keeps = state.Config{Initial: jsondoc.Object()}

// When it commits: one line of the table in package state's documentation each.
func TestWhenItCommits(t *testing.T) {
	type counter struct {
		N int `json:"n"`
	}
	update := func(ctx context.Context) error {
		return state.From(ctx).Update(func(c *counter) { c.N++ })
	}
	errLater := errors.New("later")
	for name, c := range map[string]struct {
		tool  func(context.Context) (any, error)
		cfg   state.Config
		want  string
		state []string // state events of the run, the first snapshot excepted
	}{
		"Update, success": {func(ctx context.Context) (any, error) { return "ok", update(ctx) }, keeps, `{"n":2,"big":9007199254740993}`,
			[]string{"STATE_DELTA", "STATE_SNAPSHOT"}},
		"Update, failure": {func(ctx context.Context) (any, error) { return nil, errors.Join(update(ctx), errLater) }, keeps, `{"n":1,"big":9007199254740993}`,
			[]string{"STATE_DELTA", "STATE_SNAPSHOT"}},
		"Update that changes nothing": {func(ctx context.Context) (any, error) {
			return "ok", state.From(ctx).Update(func(*counter) {})
		}, keeps, `{"n":1,"big":9007199254740993}`, nil},
		"Progress, then failure": {func(ctx context.Context) (any, error) {
			return nil, errors.Join(state.Progress(ctx, func(c *counter) { c.N = 5 }), errLater)
		}, keeps, `{"n":5,"big":9007199254740993}`, []string{"STATE_DELTA"}},
		"Result State": {func(context.Context) (any, error) {
			return state.Result{Text: "T", State: map[string]any{"w": map[string]any{"t": 1}}}, nil
		}, keeps, `{"n":1,"big":9007199254740993,"w":{"t":1}}`, []string{"STATE_SNAPSHOT"}},
		"Result Delta": {func(context.Context) (any, error) {
			p, _ := jsondoc.ParsePatch([]byte(`[{"op":"remove","path":"/n"}]`))
			return &state.Result{Text: "T", Delta: p}, nil
		}, keeps, `{"big":9007199254740993}`, []string{"STATE_SNAPSHOT"}},
		"Result with failure": {func(context.Context) (any, error) {
			return state.Result{State: map[string]any{"n": 9}}, errLater
		}, keeps, `{"n":1,"big":9007199254740993}`, nil},
		"MapResultAsStateSnapshot": {func(context.Context) (any, error) { return map[string]any{"n": 7}, nil },
			state.Config{Rules: []state.Rule{state.MapResultAsStateSnapshot("t")}}, `{"n":7}`, []string{"STATE_SNAPSHOT"}},
		"MapResultAsStateMerge": {func(context.Context) (any, error) { return map[string]any{"n": 7}, nil },
			state.Config{Rules: []state.Rule{state.MapResultAsStateMerge("t")}}, `{"n":7,"big":9007199254740993}`, []string{"STATE_SNAPSHOT"}},
		"MapResultAsStateDelta": {func(context.Context) (any, error) {
			return json.RawMessage(`[{"op":"replace","path":"/n","value":null}]`), nil
		}, state.Config{Rules: []state.Rule{state.MapResultAsStateDelta("t")}}, `{"n":null,"big":9007199254740993}`, []string{"STATE_DELTA"}},
		"C10 a mapped result that is no JSON": {func(context.Context) (any, error) { return "Success: done.", nil },
			state.Config{Rules: []state.Rule{state.MapResultAsStateSnapshot("t")}, Initial: jsondoc.Object()}, `{"n":1,"big":9007199254740993}`, nil},
		"a mapped patch that does not apply": {func(context.Context) (any, error) {
			return json.RawMessage(`[{"op":"remove","path":"/none"}]`), nil
		}, state.Config{Rules: []state.Rule{state.MapResultAsStateDelta("t")}, Initial: jsondoc.Object()}, `{"n":1,"big":9007199254740993}`, nil},
		"MapCall, success": {func(context.Context) (any, error) { return "ok", nil },
			state.Config{Initial: jsondoc.Object(), Rules: []state.Rule{mapCall}}, `{"x":1}`, []string{"STATE_DELTA", "STATE_SNAPSHOT"}},
		"MapCall, failure": {func(context.Context) (any, error) { return nil, errLater },
			state.Config{Initial: jsondoc.Object(), Rules: []state.Rule{mapCall}}, `{"n":1,"big":9007199254740993}`, []string{"STATE_DELTA", "STATE_SNAPSHOT"}},
		"R1 a tool without state": {func(context.Context) (any, error) { return "ok", nil }, keeps, `{"n":1,"big":9007199254740993}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			events, doc, m := play(t, c.cfg, `{"n":1,"big":9007199254740993}`, []tool.Tool{toolOf("t", c.tool)}, one("t")...)
			if !jsondoc.Equal(doc.State, jsondoc.MustParse(c.want)) {
				t.Errorf("state %s, want %s", doc.State, c.want)
			}
			var got []string
			for _, e := range events[2:] {
				if strings.HasPrefix(string(e.EventType()), "STATE_") {
					got = append(got, string(e.EventType()))
				}
			}
			if !slices.Equal(got, c.state) {
				t.Errorf("state events %v, want %v", got, c.state)
			}
			if m.Remaining() != 0 {
				t.Errorf("the model was not asked again: %s", types(events))
			}
			if text := types(events); strings.Contains(text, "RUN_ERROR") {
				t.Error(text)
			}
		})
	}
}

var mapCall = state.MapCall("t", func(_ *state.Mapping, call state.ToolCall) ([]agui.Event, error) {
	x, _ := call.Arguments.Get("x")
	return []agui.Event{
		&agui.StateSnapshot{Snapshot: jsondoc.Object(jsondoc.Member{Name: "x", Value: x})},
		&agui.Custom{Name: "mapped", Value: x},
	}, nil
})

// The .NET order: call mappings behind TOOL_CALL_END, result mappings behind
// TOOL_CALL_RESULT; a mapper's values are the run's own.
func TestMapperOrder(t *testing.T) {
	result := state.MapResult("t", func(m *state.Mapping, r state.ToolResult) ([]agui.Event, error) {
		n, _ := m.Values["n"].(int)
		m.Values["n"] = n + 1
		return []agui.Event{&agui.Custom{Name: "result", Value: r.Value}, &agui.StateDelta{Delta: jsondoc.Patch{{Op: "add", Path: "/seen", Value: jsondoc.Int(int64(n))}}}}, nil
	})
	for range 2 { // the second run starts its values anew
		events, doc, _ := play(t, state.Config{Initial: jsondoc.Object(), Rules: []state.Rule{mapCall, result}}, `{}`,
			[]tool.Tool{toolOf("t", func(context.Context) (any, error) { return map[string]any{"r": 1}, nil })}, one("t")...)
		got := types(events[3:])
		const want = "TOOL_CALL_ARGS TOOL_CALL_END STATE_DELTA CUSTOM TOOL_CALL_RESULT STATE_SNAPSHOT CUSTOM TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED"
		if got != want {
			t.Errorf("events\n%s\nwant\n%s", got, want)
		}
		if doc.State.String() != `{"x":1,"seen":0}` {
			t.Errorf("state %s", doc.State)
		}
	}
}

// A mapper cannot send what is the run's own: that is a tool error, never a
// broken stream.
func TestMapperCannotBreakTheStream(t *testing.T) {
	rule := state.MapResult("t", func(*state.Mapping, state.ToolResult) ([]agui.Event, error) {
		return []agui.Event{&agui.RunFinished{ThreadID: "t", RunID: "r"}}, nil
	})
	events, _, m := play(t, state.Config{Initial: jsondoc.Object(), Rules: []state.Rule{rule}}, `{}`,
		[]tool.Tool{toolOf("t", func(context.Context) (any, error) { return "x", nil })}, one("t")...)
	if got := contents(events); len(got) != 1 || !strings.HasPrefix(got[0], "Error: ") {
		t.Errorf("result %v, want an error", got)
	}
	if !strings.Contains(m.Prompts()[1].Text(), "a mapper may send") {
		t.Error("the model does not read the reason")
	}
}

// The first state of a thread whose agent configures none: it is a snapshot, and
// no delta had to be mended (W2; newSetup's close checks the counter).
func TestFirstStateOfAll(t *testing.T) {
	type counter struct {
		N int `json:"n"`
	}
	patch, _ := jsondoc.ParsePatch([]byte(`[{"op":"add","path":"/n","value":1}]`))
	for name, f := range map[string]func(context.Context) (any, error){
		"Update": func(ctx context.Context) (any, error) {
			return "ok", state.From(ctx).Update(func(c *counter) { c.N++ })
		},
		"Progress": func(ctx context.Context) (any, error) { return "ok", state.Progress(ctx, func(c *counter) { c.N++ }) },
		"Delta":    func(context.Context) (any, error) { return state.Result{Text: "ok", Delta: patch}, nil },
		"State":    func(context.Context) (any, error) { return state.Result{Text: "ok", State: counter{1}}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			events, doc, _ := play(t, state.Config{}, "", []tool.Tool{toolOf("t", f)}, one("t")...)
			if doc.State.String() != `{"n":1}` {
				t.Errorf("state %s", doc.State)
			}
			for _, e := range events {
				if d, ok := e.(*agui.StateDelta); ok {
					t.Errorf("W2: a delta before any snapshot: %s", d.Delta)
				}
			}
		})
	}
}

// S8: what Update refuses the model reads, with place and reason.
func TestS8UpdateIsTold(t *testing.T) {
	cfg := state.Config{Schema: state.MustParseSchema(`{"type":"object","properties":{"n":{"type":"integer","maximum":1}}}`)}
	events, doc, _ := play(t, cfg, `{"n":1}`, []tool.Tool{toolOf("t", func(ctx context.Context) (any, error) {
		return "ok", state.From(ctx).Update(func(c *struct {
			N int `json:"n"`
		}) {
			c.N = 5
		})
	})}, one("t")...)
	if got := contents(events); !strings.Contains(got[0], "/n") {
		t.Errorf("result %q does not name the place", got[0])
	}
	if doc.State.String() != `{"n":1}` {
		t.Errorf("state %s", doc.State)
	}
}

// Scenario 47: the model reads Text, the user interface gets Display.
func TestDisplay(t *testing.T) {
	for _, c := range []struct {
		result      state.Result
		wire, model string
	}{
		{state.Result{Text: "T", Display: map[string]any{"card": 1}}, `{"card":1}`, "T"},
		{state.Result{Text: "T", Display: "as it is"}, "as it is", "T"},
		{state.Result{Display: map[string]any{"card": 1}}, `{"card":1}`, `{"card":1}`},
		{state.Result{Text: "T"}, "T", "T"},
	} {
		events, _, m := play(t, keeps, `{}`, []tool.Tool{toolOf("t", func(context.Context) (any, error) { return c.result, nil })}, one("t")...)
		if got := contents(events); got[0] != c.wire {
			t.Errorf("%+v: the wire has %q, want %q", c.result, got[0], c.wire)
		}
		prompt := m.Prompts()[1].Messages
		last := prompt[len(prompt)-1].Contents[0].(*message.FunctionResultContent)
		if last.Text() != c.model {
			t.Errorf("%+v: the model reads %q, want %q", c.result, last.Text(), c.model)
		}
		for _, e := range events {
			if text := string(agui.AppendEvent(nil, e, agui.V1)); strings.Contains(text, `"Display"`) || strings.Contains(text, `"Delta":`) {
				t.Errorf("the result's own members are on the wire: %s", text)
			}
		}
	}
}

// Scenarios 45, 46, 48, 49: results merge in order, at the top level; a plain
// result makes no snapshot; what is predicted and what is returned make one.
func TestResultsMerge(t *testing.T) {
	weather := toolOf("weather", func(context.Context) (any, error) {
		return state.Result{Text: "Sunny.", State: map[string]any{"weather": map[string]any{"t": 20}, "source": "primary"}}, nil
	})
	refine := toolOf("refine", func(context.Context) (any, error) {
		return state.Result{Text: "Better.", State: map[string]any{"source": "refined", "nested": map[string]any{"b": 2}}}, nil
	})
	draft := functool.MustNew(functool.Config{Name: "draft"}, func(context.Context, struct {
		Draft string `json:"draft"`
	}) (state.Result, error) {
		return state.Result{Text: "Drafted.", State: map[string]any{"weather": map[string]any{"t": 30}}}, nil
	})
	plain := toolOf("plain", func(context.Context) (any, error) { return "nothing", nil })
	cfg := state.Config{Initial: jsondoc.Object(), Predict: map[string]state.Prediction{"draft": {Tool: "draft", Argument: "draft"}}}
	for _, c := range []struct {
		calls     []agenttest.CallSpec
		want      string
		snapshots int // the initial one included
	}{
		{[]agenttest.CallSpec{{ID: "1", Name: "weather", Arguments: "{}"}, {ID: "2", Name: "refine", Arguments: "{}"}},
			`{"nested":{"b":2},"other":1,"weather":{"t":20},"source":"refined"}`, 3},
		{[]agenttest.CallSpec{{ID: "1", Name: "plain", Arguments: "{}"}}, `{"nested":{"a":1},"other":1}`, 1},
		{[]agenttest.CallSpec{{ID: "1", Name: "draft", Arguments: `{"draft":"text"}`}}, `{"nested":{"a":1},"other":1,"draft":"text","weather":{"t":30}}`, 2},
	} {
		events, doc, _ := play(t, cfg, `{"nested":{"a":1},"other":1}`, []tool.Tool{weather, refine, draft, plain},
			agenttest.Turn(agenttest.Calls(c.calls...)), agenttest.Turn(agenttest.Text("Done.")))
		if !jsondoc.Equal(doc.State, jsondoc.MustParse(c.want)) {
			t.Errorf("%v: state %s, want %s", c.calls, doc.State, c.want)
		}
		if n := strings.Count(types(events), "STATE_SNAPSHOT"); n != c.snapshots {
			t.Errorf("%v: %d snapshots, want %d: %s", c.calls, n, c.snapshots, types(events))
		}
	}
}

// S3, S5 of the field bugs: parallel tools neither lose nor reorder each other's
// changes.
func TestParallelUpdates(t *testing.T) {
	type list struct {
		Results []string `json:"results"`
	}
	s := newSetup(t, state.Config{Initial: jsondoc.MustParse(`{"results":[]}`)}, thread.Options{})
	defer s.close()
	th := s.open("t")
	defer th.Close()
	const n = 8
	var tools []tool.Tool
	var calls []agenttest.CallSpec
	for i := range n {
		name := fmt.Sprint("t", i)
		tools = append(tools, toolOf(name, func(ctx context.Context) (any, error) {
			if err := state.From(ctx).Update(func(l *list) { l.Results = append(l.Results, name) }); err != nil {
				return nil, err
			}
			if i%4 == 3 {
				return nil, errors.New("this one fails")
			}
			return "ok", nil
		}))
		calls = append(calls, agenttest.CallSpec{ID: name, Name: name, Arguments: `{}`})
	}
	m := agenttest.New(agenttest.Turn(agenttest.Calls(calls...)), agenttest.Turn(agenttest.Text("Done.")))
	r, err := s.start(th, m.Agent(agent.Config{Tools: tools}), input("r", user("u", "go")))
	if err != nil {
		t.Fatal(err)
	}
	s.events(r)
	r.Wait()
	doc, _, _ := th.Doc()
	var got list
	if err := doc.State.Decode(&got); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got.Results)
	if want := []string{"t0", "t1", "t2", "t4", "t5", "t6"}; !slices.Equal(got.Results, want) {
		t.Errorf("results %v, want %v: what failed is gone, nothing else", got.Results, want)
	}
}

// S8: a model gets a broken schema as a tool error with place and reason, and
// can mend it.
func TestS8ModelCorrectsItself(t *testing.T) {
	cfg := state.Config{
		Schema:  state.MustParseSchema(`{"type":"object","properties":{"count":{"type":"integer","minimum":0}}}`),
		Predict: map[string]state.Prediction{"count": {Tool: "set", Argument: "count"}},
	}
	ran := 0
	set := functool.MustNew(functool.Config{Name: "set", Schema: jsondoc.MustParse(`{"type":"object"}`)},
		func(context.Context, map[string]any) (string, error) { ran++; return "Set.", nil })
	events, doc, m := play(t, cfg, `{"count":1}`, []tool.Tool{set},
		agenttest.Turn(agenttest.Call("c1", "set", `{"count":-5}`)),
		agenttest.Turn(agenttest.Call("c2", "set", `{"count":5}`)),
		agenttest.Turn(agenttest.Text("Done.")))
	if ran != 1 {
		t.Errorf("the tool ran %d times, want once: not with arguments that break the schema", ran)
	}
	if text := m.Prompts()[1].Text(); !strings.Contains(text, "/count") {
		t.Errorf("the model does not read the place:\n%s", text)
	}
	if doc.State.String() != `{"count":5}` {
		t.Errorf("state %s", doc.State)
	}
	if got := contents(events); len(got) != 2 || got[1] != "Set." {
		t.Errorf("results %q", got)
	}
}

// S9: a server-only member is on no frame and in no prompt, a tool sees and
// changes it, a client cannot.
func TestS9ServerOnly(t *testing.T) {
	const marker = "hidden-marker"
	cfg := state.Config{
		Initial: jsondoc.MustParse(`{"secrets":{"k":"` + marker + `"},"users":[{"id":1,"token":"` + marker + `"}],"total":3,"open":1}`),
		Access:  state.Access{"/secrets": state.ServerOnly, "/users/*/token": state.ServerOnly, "/total": state.ReadOnly},
	}
	type full struct {
		Secrets map[string]string `json:"secrets"`
		Total   int               `json:"total"`
	}
	s := newSetup(t, cfg, thread.Options{})
	defer s.close()
	th := s.open("t")
	defer th.Close()
	var saw string
	look := toolOf("t", func(ctx context.Context) (any, error) {
		return "ok", state.From(ctx).Update(func(f *full) { saw = f.Secrets["k"]; f.Secrets["k2"] = marker; f.Total++ })
	})
	snap := toolOf("snap", func(context.Context) (any, error) { return nil, nil })
	m := agenttest.New(append(one("t"), one("t")...)...)
	for i, posted := range []string{`{}`, `{"secrets":{"k":"stolen"},"users":[{"id":1,"token":"stolen","name":"A"}],"total":99,"open":2}`} {
		in := input(fmt.Sprint("r", i), user(fmt.Sprint("u", i), "go"))
		if i > 0 {
			in.Messages = append([]agui.Message{user("u0", "go")}, in.Messages...)
		}
		in.State = jsondoc.MustParse(posted)
		r, err := s.start(th, m.Agent(agent.Config{Tools: []tool.Tool{look, snap}}), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range s.events(r) {
			if text := string(agui.AppendEvent(nil, e, agui.V1)); strings.Contains(text, marker) || strings.Contains(text, "stolen") || strings.Contains(text, "secrets") {
				t.Errorf("S9: %s", text)
			}
		}
		r.Wait()
	}
	for _, p := range m.Prompts() {
		if strings.Contains(p.Text(), marker) {
			t.Errorf("S9: a prompt has a server-only member")
		}
	}
	if saw != marker {
		t.Errorf("the tool saw %q", saw)
	}
	doc, _, _ := th.Doc()
	const want = `{"secrets":{"k":"hidden-marker","k2":"hidden-marker"},"users":[{"id":1,"token":"hidden-marker","name":"A"}],"total":5,"open":2}`
	if !jsondoc.Equal(doc.State, jsondoc.MustParse(want)) {
		t.Errorf("state\n%s\nwant\n%s", doc.State, want)
	}
}

// A prediction of a client's own tool is an open proposal at the run's end; the
// client's answer decides it.
func TestClientToolProposal(t *testing.T) {
	for name, c := range map[string]struct {
		answer, want string
	}{
		"accepted":     {`{"accepted":true}`, `{"document":"new"}`},
		"plain":        {`done`, `{"document":"new"}`},
		"not accepted": {`{"accepted":false}`, `{"document":"old"}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t, document, thread.Options{})
			defer s.close()
			th := s.open("t")
			defer th.Close()
			m := agenttest.New(agenttest.Turn(agenttest.Call("c1", "write", `{"document":"new"}`)), agenttest.Turn(agenttest.Text("Fine.")))
			in := input("r1", user("u", "go"))
			in.Tools = []agui.Tool{{Name: "write", Description: "d"}}
			in.State = jsondoc.MustParse(`{"document":"old"}`)
			a := m.Agent(agent.Config{})
			r, err := s.start(th, a, in)
			if err != nil {
				t.Fatal(err)
			}
			events := s.events(r)
			r.Wait()
			end := events[len(events)-1].(*agui.RunFinished)
			if end.Outcome == nil || !slices.Equal(end.Outcome.PendingToolCallIDs, []string{"c1"}) {
				t.Errorf("outcome %+v, want c1 pending", end.Outcome)
			}
			if doc, _, _ := th.Doc(); doc.View.String() != `{"document":"new"}` || doc.State.String() != `{"document":"old"}` {
				t.Errorf("between the runs: state %s, view %s", doc.State, doc.View)
			}
			next := input("r2", append(th.Messages(), agui.Message{ID: "a1", Role: agui.RoleTool, ToolCallID: "c1", Content: agui.Text(c.answer)})...)
			next.Tools = in.Tools
			next.State = jsondoc.MustParse(`{"document":"new"}`) // as the client was shown it
			if r, err = s.start(th, a, next); err != nil {
				t.Fatal(err)
			}
			s.events(r)
			r.Wait()
			if doc, _, _ := th.Doc(); doc.State.String() != c.want || doc.View.String() != c.want {
				t.Errorf("state %s, view %s, want %s", doc.State, doc.View, c.want)
			}
		})
	}
}

// Two phases: the state's text is withheld and grows as state, then a summary.
func TestTwoPhase(t *testing.T) {
	type recipe struct {
		Recipe struct {
			Title string   `json:"title"`
			Steps []string `json:"steps"`
		} `json:"recipe"`
	}
	cfg := state.Config{Initial: jsondoc.Object()}
	const old = `{"recipe":{"title":"Soup","steps":["boil"]},"page":1}`
	for name, c := range map[string]struct {
		posted, answer, want string
		text                 string
		grows                bool
	}{
		"new state":  {old, `{"recipe":{"title":"Stew with beans","steps":["boil","fry"]}}`, `{"recipe":{"title":"Stew with beans","steps":["boil","fry"]},"page":1}`, "It is a stew now.", true},
		"no state":   {`{}`, "Just words.", `{}`, "Just words.", false},
		"same state": {old, old, old, "It is a soup.", true},
		"bad JSON":   {old, `{"recipe":{"title":"Ste`, old, "I could not write the new state in the right form, so everything stays as it was.", true},
		"bad form":   {old, `{"recipe":{"title":5,"steps":[]}}`, old, "I could not write the new state in the right form, so everything stays as it was.", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t, cfg, thread.Options{})
			defer s.close()
			th := s.open("t")
			defer th.Close()
			m := agenttest.New(agenttest.Turn(agenttest.Text(c.answer)), agenttest.Turn(agenttest.Text(c.text)))
			m.Chunk = 5
			a := m.Agent(agent.Config{Middlewares: []agent.Middleware{state.TwoPhase[recipe](nil)}})
			in := input("r", user("u", "A stew, please"))
			in.State = jsondoc.MustParse(c.posted)
			r, err := s.start(th, a, in)
			if err != nil {
				t.Fatal(err)
			}
			events := s.events(r)
			r.Wait()
			var text strings.Builder
			deltas := 0
			for _, e := range events {
				switch e := e.(type) {
				case *agui.TextMessageContent:
					text.WriteString(e.Delta)
				case *agui.StateDelta:
					deltas++
				}
			}
			if text.String() != c.text {
				t.Errorf("text %q, want %q", text.String(), c.text)
			}
			if (deltas > 2) != c.grows && name == "new state" {
				t.Errorf("%d deltas; it should have grown", deltas)
			}
			if doc, _, _ := th.Doc(); !jsondoc.Equal(doc.State, jsondoc.MustParse(c.want)) || !jsondoc.Equal(doc.View, doc.State) {
				t.Errorf("state %s, view %s, want %s", doc.State, doc.View, c.want)
			}
			if prompts := m.Prompts(); len(prompts) == 2 {
				asked := strings.Contains(prompts[1].Text(), "did not change")
				if asked != (name == "same state") {
					t.Errorf("the second prompt says that nothing changed: %t\n%s", asked, prompts[1].Text())
				}
			} else if name == "new state" || name == "same state" {
				t.Errorf("the model was asked %d times", len(prompts))
			}
			if name == "new state" {
				if p := m.Prompts()[0].Text(); strings.Count(p, state.StateBlock) != 1 {
					t.Errorf("S7: the state is in the prompt %d times:\n%s", strings.Count(p, state.StateBlock), p)
				}
			}
		})
	}
}
