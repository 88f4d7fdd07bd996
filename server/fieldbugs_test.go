package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// Public bug reports of this job, restated for the whole way: a body in, frames
// out, what the model was asked. The reports about one step alone are in jsondoc,
// jsonstream, state and thread. Each test states what is right.

// asks is a body for thread id; members is what it has besides, with a comma in
// front.
func asks(id, run, text, members string) string {
	return fmt.Sprintf(`{"threadId":%q,"runId":%q,"protocolVersion":"1.0","messages":[{"id":"u-%s","role":"user","content":%q}]%s}`,
		id, run, run, text, members)
}

// strictly posts a body and reads the answer as a client does that holds held
// and forgives nothing. It returns the events, the view behind each of them, and
// what the client has at the end.
func strictly(t *testing.T, url, body, held string) ([]agui.Event, []jsondoc.Value, *agui.Reducer) {
	t.Helper()
	status, _, text := post(t, url, "application/json", body)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	var from jsondoc.Value
	if held != "" {
		from = jsondoc.MustParse(held)
	}
	client := agui.NewReducer(nil, from)
	var order agui.Sequence
	var events []agui.Event
	var views []jsondoc.Value
	for rec, err := range agui.ReadEvents(strings.NewReader(text), &agui.EventsOptions{Sequence: &order}) {
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if err := client.Apply(rec.Event); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		events, views = append(events, rec.Event), append(views, client.State())
	}
	if last := events[len(events)-1].EventType(); last != agui.TypeRunFinished {
		t.Fatalf("the run ended with %s:\n%s", last, text)
	}
	return events, views, client
}

// called is a tool without arguments.
func called(name string, f func(context.Context) (any, error)) tool.Tool {
	return functool.MustNew(functool.Config{Name: name}, func(ctx context.Context, _ struct{}) (any, error) { return f(ctx) })
}

// S1 (CopilotKit/CopilotKit#4934), S2 (soliplex/soliplex#1255), S11
// (evanphx/json-patch#200), S21 (agno-agi/agno#8457), S22 (ag-ui-protocol/ag-ui#2071):
// whatever a client holds when it begins, an empty state, null, nothing, or
// members that the schema does not have, its first state event is a snapshot, and
// every delta of a prediction applies to what it has by then.
func TestFieldBugS1FirstDelta(t *testing.T) {
	write := functool.MustNew(functool.Config{Name: "write"}, func(context.Context, struct {
		Steps []string `json:"steps"`
	}) (string, error) {
		return "Written.", nil
	})
	predict := map[string]state.Prediction{"steps": {Tool: "write", Argument: "steps"}}
	schema := state.MustParseSchema(`{"type":"object","properties":{"steps":{"type":["array","null"],"default":null},"fb":{"type":"object","default":{"query":null,"entries":null}}}}`)
	for name, c := range map[string]struct{ members, held, want string }{
		"nothing":        {``, ``, `{"steps":["chop","boil"]}`},
		"null":           {`,"state":null`, `null`, `{"steps":["chop","boil"]}`},
		"empty":          {`,"state":{}`, `{}`, `{"steps":["chop","boil"]}`},
		"other members":  {`,"state":{"odd":null}`, `{"odd":null}`, `{"odd":null,"steps":["chop","boil"]}`},
		"its own member": {`,"state":{"steps":null}`, `{"steps":null}`, `{"steps":["chop","boil"]}`},
	} {
		for kind, cfg := range map[string]state.Config{"plain": {Predict: predict}, "with defaults": {Predict: predict, Schema: schema}} {
			t.Run(name+", "+kind, func(t *testing.T) {
				m := agenttest.New(agenttest.Turn(agenttest.Call("c1", "write", `{"steps":["chop","boil"]}`)), agenttest.Turn(agenttest.Text("Done.")))
				m.Chunk = 3
				srv := listen(t, m.Agent(agent.Config{Tools: []tool.Tool{write}}), &server.Options{State: cfg}, nil)
				events, _, end := strictly(t, srv.URL, asks("t", "r", "go", c.members), c.held)
				i := slices.IndexFunc(events, func(e agui.Event) bool { return strings.HasPrefix(string(e.EventType()), "STATE_") })
				if i < 0 || events[i].EventType() != agui.TypeStateSnapshot {
					t.Errorf("the first state event is not a snapshot: %s", eventTypes(events))
				}
				want := jsondoc.MustParse(c.want)
				if kind != "plain" {
					want = want.With("fb", jsondoc.MustParse(`{"query":null,"entries":null}`))
				}
				if !jsondoc.Equal(end.State(), want) {
					t.Errorf("the client has %s, want %s", end.State(), want)
				}
				wantState(t, srv.URL+"/threads/t", want.String())
			})
		}
	}
}

// S4 (CopilotKit/CopilotKit#3138), S3 (ag-ui-protocol/ag-ui#945): who changes the
// state part by part, from one tool or several, takes nothing away that is there.
func TestFieldBugS4PartsKeepTheRest(t *testing.T) {
	var tools []tool.Tool
	var calls []agenttest.CallSpec
	for _, key := range []string{"weather", "news"} {
		part := map[string]any{key: map[string]any{"is": "new"}}
		tools = append(tools, called(key, func(ctx context.Context) (any, error) {
			for i, name := range []string{"run", "steps", "titles"} {
				err := state.Progress(ctx, func(m *map[string]any) { (*m)[key+"-"+name] = i })
				if err != nil {
					return nil, err
				}
			}
			return state.Result{Text: "ok", State: part}, nil
		}))
		calls = append(calls, agenttest.CallSpec{ID: key, Name: key, Arguments: `{}`})
	}
	m := agenttest.New(agenttest.Turn(agenttest.Calls(calls...)), agenttest.Turn(agenttest.Text("Done.")))
	srv := listen(t, m.Agent(agent.Config{Tools: tools}), &server.Options{State: state.Config{Initial: jsondoc.Object()}}, nil)
	events, views, end := strictly(t, srv.URL, asks("t", "r", "go", `,"state":{"kept":1}`), `{"kept":1}`)
	for i := 1; i < len(views); i++ {
		for name := range views[i-1].Members() {
			if _, ok := views[i].Get(name); !ok {
				t.Errorf("event %d, %s, takes %q away: %s", i, events[i].EventType(), name, views[i])
			}
		}
	}
	if n := end.State().Len(); n != 9 {
		t.Errorf("%d members, want 9: %s", n, end.State())
	}
}

// S5 (ag-ui-protocol/ag-ui#2628): what parallel tools append is in the stream as
// it is in the state: once there it stays, in every frame up to the last.
func TestFieldBugS5AppendsInTheStream(t *testing.T) {
	type list struct {
		Results []string `json:"results"`
	}
	const n = 5
	var tools []tool.Tool
	var calls []agenttest.CallSpec
	for i := range n {
		name := fmt.Sprint("t", i)
		tools = append(tools, called(name, func(ctx context.Context) (any, error) {
			return "ok", state.From(ctx).Update(func(l *list) { l.Results = append(l.Results, name) })
		}))
		calls = append(calls, agenttest.CallSpec{ID: name, Name: name, Arguments: `{}`})
	}
	m := agenttest.New(agenttest.Turn(agenttest.Calls(calls...)), agenttest.Turn(agenttest.Text("Done.")))
	srv := listen(t, m.Agent(agent.Config{Tools: tools}), &server.Options{State: state.Config{Initial: jsondoc.MustParse(`{"results":[]}`)}}, nil)
	events, views, end := strictly(t, srv.URL, asks("t", "r", "go", ""), "")
	var before []string
	for i, v := range views {
		if v.Kind() != jsondoc.KindObject || v.Len() == 0 {
			continue // before the first snapshot
		}
		var now list
		if err := v.Decode(&now); err != nil {
			t.Fatal(err)
		}
		sorted := slices.Sorted(slices.Values(now.Results))
		if len(slices.Compact(slices.Clone(sorted))) != len(sorted) {
			t.Errorf("event %d has one result twice: %q", i, now.Results)
		}
		for _, name := range before {
			if !slices.Contains(now.Results, name) {
				t.Errorf("event %d, %s, loses %s: %q", i, events[i].EventType(), name, now.Results)
			}
		}
		before = now.Results
	}
	if len(before) != n {
		t.Errorf("results %q, want %d", before, n)
	}
	wantState(t, srv.URL+"/threads/t", end.State().String())
}

// S14 (evanphx/json-patch#189), M9 (ag-ui-protocol/ag-ui#1938,
// microsoft/agent-framework#5197): what is posted is what tools, middlewares, the
// prompt and every viewer have in the same run, digit for digit.
func TestFieldBugS14M9PostedArrivesEverywhere(t *testing.T) {
	const digits = `{"id":9007199254740993,"l":[1e21,0.1,-0,1.0,null],"page":"orders"}`
	seen := map[string]string{}
	look := called("look", func(ctx context.Context) (any, error) {
		v, err := state.From(ctx).Value()
		seen["tool"] = v.String()
		if err != nil {
			return nil, err
		}
		return "ok", state.From(ctx).Update(func(s *struct {
			X int `json:"x"`
		}) {
			s.X = 2
		})
	})
	hook := agent.MiddlewareFunc(func(next agent.RunFunc, ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		v, err := state.From(ctx).Value()
		if err != nil {
			t.Error(err)
		}
		seen["middleware"] = v.String()
		return next(ctx, messages, opts...)
	})
	m := agenttest.New(agenttest.Turn(agenttest.Call("c1", "look", `{}`)), agenttest.Turn(agenttest.Text("Done.")))
	a := m.Agent(agent.Config{Tools: []tool.Tool{look}, Middlewares: []agent.Middleware{hook}})
	srv := listen(t, a, &server.Options{State: state.Config{Initial: jsondoc.Object()}}, nil)
	_, _, end := strictly(t, srv.URL, asks("t", "r", "go", `,"state":`+digits), digits)
	seen["prompt"] = m.Prompts()[0].Text()
	for who, text := range seen {
		if !strings.Contains(text, digits) {
			t.Errorf("the %s has %s, posted was %s", who, text, digits)
		}
	}
	want := strings.TrimSuffix(strings.TrimPrefix(digits, "{"), "}") // x, the tool's, is beside them
	for who, text := range map[string]string{
		"client":        end.State().String(),
		"thread":        string(hydrated(t, srv.URL+"/threads/t").State),
		"second prompt": m.Prompts()[1].Text(),
	} {
		if !strings.Contains(text, want) || !strings.Contains(text, `"x":2`) {
			t.Errorf("the %s has %s, want x beside %s", who, text, want)
		}
	}
}

// M7 (microsoft/agent-framework#3010), S24 (CopilotKit/CopilotKit#2258): a turn
// without tools, behind one with tools and an edit of the user's, is asked with
// the edited state and leaves it as it is.
func TestFieldBugM7S24PlainTurnAfterTools(t *testing.T) {
	set := called("set", func(context.Context) (any, error) {
		return state.Result{Text: "Set.", State: map[string]any{"list": []string{"milk"}}}, nil
	})
	m := agenttest.New(agenttest.Turn(agenttest.Call("c1", "set", `{}`)), agenttest.Turn(agenttest.Text("Done.")), agenttest.Turn(agenttest.Text("Milk and rice.")))
	srv := listen(t, m.Agent(agent.Config{Tools: []tool.Tool{set}}), &server.Options{State: state.Config{Initial: jsondoc.Object()}}, nil)
	strictly(t, srv.URL, asks("t", "r1", "go", ""), "")
	if status, got := patch(t, srv.URL+"/threads/t", "", `{"list":["milk","rice"]}`); status != http.StatusOK {
		t.Fatal(status, got)
	}
	const want = `{"list":["milk","rice"]}`
	_, _, end := strictly(t, srv.URL, asks("t", "r2", "What is on the list?", ""), "")
	text := m.Prompts()[2].Text()
	if strings.Count(text, state.StateBlock) != 1 || !strings.Contains(text, want) || !strings.Contains(text, "Set.") {
		t.Errorf("want the call's result and, once, %s:\n%s", want, text)
	}
	if got := end.State().String(); got != want {
		t.Errorf("the client has %s, want %s", got, want)
	}
	wantState(t, srv.URL+"/threads/t", want)
}

// M3 (ag-ui-protocol/ag-ui#2707), M4 (microsoft/agent-framework#6266, #7491), M5
// (#7223, #3619), M6 (#4843, ag-ui-protocol/ag-ui#1262): the messages that a
// snapshot has are those that were streamed, with their ids, contents, reasoning
// and order, and no id twice.
func TestFieldBugM4SnapshotIsWhatWasStreamed(t *testing.T) {
	ok := func(context.Context) (any, error) { return "Found.", nil }
	m := agenttest.New(
		agenttest.Turn(agenttest.Reasoning("Where could it be?", ""), agenttest.Text("First I will look it up."),
			agenttest.Calls(agenttest.CallSpec{ID: "c1", Name: "look", Arguments: `{}`}, agenttest.CallSpec{ID: "c2", Name: "seek", Arguments: `{}`})),
		agenttest.Turn(agenttest.Text("Now the other."), agenttest.Call("c3", "look", `{}`)),
		agenttest.Turn(agenttest.Text("Both are there.")),
	)
	m.Chunk = 4
	srv := listen(t, m.Agent(agent.Config{Tools: []tool.Tool{called("look", ok), called("seek", ok)}}), nil, nil)
	_, _, streamed := strictly(t, srv.URL, asks("t", "r1", "go", ""), "")
	if n := len(streamed.Messages()); n != 8 {
		t.Errorf("%d messages were streamed, want 8", n)
	}
	events, _, snapshot := strictly(t, srv.URL, `{"threadId":"t","runId":"r2","protocolVersion":"1.0","messages":[]}`, "")
	if !strings.Contains(eventTypes(events), "MESSAGES_SNAPSHOT") {
		t.Fatalf("no snapshot: %s", eventTypes(events))
	}
	lines := func(messages []agui.Message) string {
		var out bytes.Buffer
		ids := map[string]bool{}
		for _, m := range messages {
			if ids[m.ID] {
				t.Errorf("id %q twice", m.ID)
			}
			ids[m.ID] = true
			out.Write(append(m.AppendJSON(nil), '\n'))
		}
		return out.String()
	}
	got, want := lines(snapshot.Messages()), lines(streamed.Messages())
	if got != want {
		t.Errorf("the snapshot has\n%swhat was streamed is\n%s", got, want)
	}
}

// M13 (pydantic/pydantic-ai#2906): who waits for an agent's end, a middleware
// behind its stream, reads the final state.
func TestFieldBugM13FinalStateAtTheEnd(t *testing.T) {
	type counter struct {
		N int `json:"n"`
	}
	count := called("count", func(ctx context.Context) (any, error) {
		return "ok", state.From(ctx).Update(func(c *counter) { c.N++ })
	})
	var final string
	hook := agent.MiddlewareFunc(func(next agent.RunFunc, ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			for u, err := range next(ctx, messages, opts...) {
				if !yield(u, err) {
					return
				}
			}
			v, err := state.From(ctx).Value()
			if err != nil {
				t.Error(err)
			}
			final = v.String()
		}
	})
	m := agenttest.New(agenttest.Turn(agenttest.Call("c1", "count", `{}`)), agenttest.Turn(agenttest.Text("Done.")))
	a := m.Agent(agent.Config{Tools: []tool.Tool{count}, Middlewares: []agent.Middleware{hook}})
	srv := listen(t, a, &server.Options{State: state.Config{Initial: jsondoc.Object()}}, nil)
	strictly(t, srv.URL, asks("t", "r", "go", `,"state":{"n":1}`), `{"n":1}`)
	if final != `{"n":2}` {
		t.Errorf("at the agent's end the state is %s, want {\"n\":2}", final)
	}
}

// M14 (pydantic/pydantic-ai#3462, #3510, ag-ui-protocol/ag-ui#255): an agent that
// keeps no state takes any posted one and goes on without it.
func TestFieldBugM14StatelessAgent(t *testing.T) {
	for _, posted := range []string{`{}`, `null`, `{"items":[]}`, `{"items":[{"id":1}],"":null}`} {
		m := agenttest.New(agenttest.Turn(agenttest.Text("Hello.")))
		srv := listen(t, m.Agent(agent.Config{}), nil, nil)
		events, _, end := strictly(t, srv.URL, asks("t", "r", "hi", `,"state":`+posted), posted)
		if text := eventTypes(events); strings.Contains(text, "STATE_") {
			t.Errorf("%s: %s", posted, text)
		}
		if had := agui.NewReducer(nil, jsondoc.MustParse(posted)).State(); !jsondoc.Equal(end.State(), had) {
			t.Errorf("the client had %s, now it has %s", had, end.State())
		}
		if text := m.Prompts()[0].Text(); strings.Contains(text, "items") || strings.Contains(text, state.StateBlock) {
			t.Errorf("%s: it is in the prompt:\n%s", posted, text)
		}
	}
}

// M15 (CopilotKit/CopilotKit#2254, #2268): a thread that begins behind another has
// nothing of it, in no frame and in no prompt, and who goes back finds its own.
func TestFieldBugM15ThreadsInTurn(t *testing.T) {
	const marker = "only-in-a"
	m := agenttest.New(agenttest.Turn(agenttest.Text("1")), agenttest.Turn(agenttest.Text("2")), agenttest.Turn(agenttest.Text("3")))
	srv := listen(t, m.Agent(agent.Config{}), &server.Options{State: state.Config{Initial: jsondoc.Object()}}, nil)
	strictly(t, srv.URL, asks("a", "r1", "go", `,"state":{"x":"`+marker+`"}`), "")
	status, _, text := post(t, srv.URL, "application/json", asks("b", "r2", "go", ""))
	if status != http.StatusOK || strings.Contains(text, marker) {
		t.Errorf("b's frames, %d, have a's state:\n%s", status, text)
	}
	if text := m.Prompts()[1].Text(); strings.Contains(text, marker) {
		t.Errorf("b's prompt has a's state:\n%s", text)
	}
	_, _, end := strictly(t, srv.URL, asks("a", "r3", "go", ""), "")
	if got := end.State().String(); got != `{"x":"`+marker+`"}` {
		t.Errorf("back in a the state is %s", got)
	}
	if text := m.Prompts()[2].Text(); !strings.Contains(text, marker) {
		t.Errorf("a's prompt lacks its state:\n%s", text)
	}
}

// M11 (aws/agentcore-cli#1686), M12 (microsoft/agent-framework#5898), M16
// (CopilotKit/CopilotKit#3009): one session keeps its thread and takes a new run
// id for every message, every turn is kept, and a client of a later process that
// sets state on an old thread before anything else asks, and is answered.
func TestFieldBugM11M12M16ClientSessions(t *testing.T) {
	var bodies []*agui.RunAgentInput
	keep := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				text, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				in, err := agui.DecodeInput(text, nil)
				if err != nil {
					t.Error(err)
				}
				bodies = append(bodies, in)
				r.Body = io.NopCloser(bytes.NewReader(text))
			}
			next.ServeHTTP(w, r)
		})
	}
	m := agenttest.New(agenttest.Turn(agenttest.Text("1")), agenttest.Turn(agenttest.Text("2")), agenttest.Turn(agenttest.Text("3")), agenttest.Turn(agenttest.Text("4")))
	srv := listen(t, m.Agent(agent.Config{}), &server.Options{State: state.Config{Initial: jsondoc.Object()}}, keep)
	say := func(th *client.Thread, text string) {
		t.Helper()
		for _, err := range th.Run(t.Context(), &client.RunOptions{Text: text}) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	first := client.New(srv.URL, nil).Thread("t")
	for i := range 3 {
		first.SetState(first.State().With(fmt.Sprint("k", i), jsondoc.Int(int64(i))))
		say(first, "check progress")
		if n := len(first.Messages()); n != 2*(i+1) {
			t.Errorf("M12: %d messages behind turn %d, want %d", n, i+1, 2*(i+1))
		}
	}
	later := client.New(srv.URL, nil).Thread("t")
	later.SetState(jsondoc.MustParse(`{"k0":"later"}`))
	say(later, "and now")
	if got := len(later.Messages()); got != 8 {
		t.Errorf("M16: the later client has %d messages, want 8", got)
	}
	runs := map[string]bool{}
	for _, in := range bodies {
		if in.ThreadID != "t" {
			t.Errorf("M11: thread %q, want t", in.ThreadID)
		}
		runs[in.RunID] = true
	}
	if len(bodies) != 4 || len(runs) != 4 {
		t.Errorf("M11: %d requests with %d run ids, want 4 each", len(bodies), len(runs))
	}
	const want = `{"k0":"later","k1":1,"k2":2}`
	if got := later.State(); !jsondoc.Equal(got, jsondoc.MustParse(want)) {
		t.Errorf("M16: the later client has %s, want %s", got, want)
	}
	wantState(t, srv.URL+"/threads/t", want)
	if text := m.Prompts()[3].Text(); !strings.Contains(text, `"k0":"later"`) {
		t.Errorf("M16: the model is not told:\n%s", text)
	}
}

// M1 (ag-ui-protocol/ag-ui#1278): a client that was cut off, and never learned the
// ids of what was said, goes on with ids of its own: each of its questions is
// asked and answered, turn after turn.
func TestFieldBugM1CutThenForeignIDs(t *testing.T) {
	turns := []agenttest.Script{agenttest.Turn(agenttest.Text("Let me "), agenttest.Hang())}
	for i := range 3 {
		turns = append(turns, agenttest.Turn(agenttest.Text(fmt.Sprint("answer ", i))))
	}
	m := agenttest.New(turns...)
	srv := listen(t, m.Agent(agent.Config{}), &server.Options{State: state.Config{Initial: jsondoc.Object()}}, nil)
	res, err := http.Post(srv.URL, "application/json", strings.NewReader(asks("t", "r", "one", "")))
	if err != nil {
		t.Fatal(err)
	}
	for rec, err := range agui.ReadEvents(res.Body, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Event.EventType() == agui.TypeTextMessageContent {
			break
		}
	}
	res.Body.Close()

	history := `{"id":"x1","role":"user","content":"one"}`
	for i := range 3 {
		question := fmt.Sprint("question ", i)
		history += fmt.Sprintf(`,{"id":"y%d","role":"assistant","content":"what the page made of it"},{"id":"z%d","role":"user","content":%q}`, i, i, question)
		events, _, _ := strictly(t, srv.URL, fmt.Sprintf(`{"threadId":"t","runId":"r%d","protocolVersion":"1.0","messages":[%s]}`, i, history), "")
		var said strings.Builder
		for _, e := range events {
			if e, ok := e.(*agui.TextMessageContent); ok {
				said.WriteString(e.Delta)
			}
		}
		if want := fmt.Sprint("answer ", i); said.String() != want {
			t.Errorf("turn %d: the answer is %q, want %q: %s", i, said.String(), want, eventTypes(events))
		}
		prompts := m.Prompts()
		text := strings.TrimSpace(prompts[len(prompts)-1].Text())
		if !strings.HasSuffix(text, question) || strings.Count(text, question) != 1 {
			t.Errorf("turn %d: the model was not asked %q, once and last:\n%s", i, question, text)
		}
	}
}
