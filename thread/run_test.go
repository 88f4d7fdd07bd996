package thread_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type setup struct {
	t       *testing.T
	store   thread.Store // of newSetupOn
	threads *thread.Threads
	model   *state.Model
	metrics thread.Metrics
}

func newSetup(t *testing.T, cfg state.Config, opts thread.Options) *setup {
	t.Helper()
	m, err := state.NewModel(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &setup{t: t, model: m}
	opts.Metrics = &s.metrics
	s.threads = thread.New(memory.New(), &opts)
	return s
}

func (s *setup) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.threads.Close(ctx); err != nil {
		s.t.Error(err)
	}
	if n := s.metrics.RepairedDeltas.Load(); n != 0 {
		s.t.Errorf("W2: %d deltas had to be repaired", n)
	}
}

func (s *setup) open(id string) *thread.Thread {
	s.t.Helper()
	th, err := s.threads.Open(s.t.Context(), thread.Key{Agent: "a", ID: id}, s.model)
	if err != nil {
		s.t.Fatal(err)
	}
	return th
}

func user(id, text string) agui.Message {
	return agui.Message{ID: id, Role: agui.RoleUser, Content: agui.Text(text)}
}

func input(run string, messages ...agui.Message) *agui.RunAgentInput {
	return &agui.RunAgentInput{ThreadID: "t", RunID: run, ProtocolVersion: "1.0", Messages: messages}
}

func (s *setup) start(th *thread.Thread, a *agent.Agent, in *agui.RunAgentInput) (*thread.Run, error) {
	return th.Run(s.t.Context(), thread.Request{Input: in, Agent: runOf(a)})
}

func runOf(a *agent.Agent) agent.RunFunc {
	return func(ctx context.Context, ms []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return iter.Seq2[*agent.ResponseUpdate, error](a.Run(ctx, ms, opts...))
	}
}

// events reads a run to its end and checks what every run must keep.
func (s *setup) events(r *thread.Run) []agui.Event {
	s.t.Helper()
	var out []agui.Event
	var order agui.Sequence
	view := agui.NewReducer(nil, jsondoc.Value{})
	for p, err := range r.Events(s.t.Context()) {
		if err != nil {
			s.t.Fatal(err)
		}
		if p.Event == nil {
			continue
		}
		if err := order.Check(p.Event); err != nil {
			s.t.Fatalf("W1: %v", err)
		}
		if err := view.Apply(p.Event); err != nil {
			s.t.Fatalf("W2: %v", err)
		}
		out = append(out, p.Event)
	}
	return out
}

func types(events []agui.Event) string {
	var list []string
	for _, e := range events {
		list = append(list, string(e.EventType()))
	}
	return strings.Join(list, " ")
}

func writer(result string, err error) tool.Tool {
	return functool.MustNew(functool.Config{Name: "write"}, func(context.Context, struct {
		Document string `json:"document"`
	}) (string, error) {
		return result, err
	})
}

var document = state.Config{Predict: map[string]state.Prediction{"document": {Tool: "write", Argument: "document"}}}

// T1: a second run waits for the first, then is told who is in its way.
func TestT1OneRunAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, state.Config{}, thread.Options{})
		defer s.close()
		th := s.open("t")
		defer th.Close()
		first, err := s.start(th, agenttest.New(agenttest.Turn(agenttest.Wait(10*time.Second), agenttest.Text("late"))).Agent(agent.Config{}), input("r1", user("u1", "a")))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = s.start(th, agenttest.New().Agent(agent.Config{}), input("r2", user("u2", "b")))
		var busy *thread.BusyError
		if !errors.As(err, &busy) || busy.RunID != "r1" {
			t.Fatalf("error %v, want BusyError of r1", err)
		}
		if waited := time.Since(began); waited != 2*time.Second {
			t.Errorf("waited %v, want 2 s", waited)
		}
		first.Stop()
		second, err := s.start(th, agenttest.New(agenttest.Turn(agenttest.Text("now"))).Agent(agent.Config{}), input("r3", user("u3", "c")))
		if err != nil {
			t.Fatal(err)
		}
		if got := types(s.events(second)); !strings.HasSuffix(got, "RUN_FINISHED") {
			t.Error(got)
		}
	})
}

// A stopped run ends as cancelled, at once, with its prediction taken back; the
// thread takes the next run (T1, T9, T13).
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, document, thread.Options{})
		defer s.close()
		th := s.open("t")
		defer th.Close()
		m := agenttest.New(agenttest.Turn(agenttest.Text("Well"), agenttest.Call("c1", "write", `{"document":"Hello`), agenttest.Hang()))
		m.Chunk = 6
		in := input("r1", user("u1", "a"))
		in.State = jsondoc.MustParse(`{"document":"old"}`)
		r, err := s.start(th, m.Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}}), in)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the model hangs, everything before is logged
		if doc, _, _ := th.Doc(); doc.View.String() != `{"document":"Hello"}` || doc.State.String() != `{"document":"old"}` {
			t.Fatalf("while it is written: state %s, view %s", doc.State, doc.View)
		}
		began := time.Now()
		r.Stop()
		events := s.events(r)
		if time.Since(began) > 100*time.Millisecond {
			t.Errorf("the stop took %v", time.Since(began))
		}
		end, ok := events[len(events)-1].(*agui.RunFinished)
		if !ok || end.Outcome == nil || end.Outcome.Type != agui.OutcomeCancelled {
			t.Errorf("last event %#v, want outcome cancelled", events[len(events)-1])
		}
		if doc, _, _ := th.Doc(); doc.View.String() != `{"document":"old"}` {
			t.Errorf("S3: the view is %s after the stop", doc.View)
		}
		r.Wait()
	})
}

// A panic of an agent, a panic of a tool, an agent that ends without a word, a
// foreign agent that ignores its context: one terminal event each, and the
// thread stays usable.
func TestUnfriendlyAgents(t *testing.T) {
	s := newSetup(t, document, thread.Options{})
	defer s.close()
	th := s.open("t")
	defer th.Close()
	plain := func(f agent.RunFunc) *agent.Agent { return agent.New(agent.ProviderConfig{Run: f}, agent.Config{}) }
	yields := func(steps ...any) agent.RunFunc {
		return func(ctx context.Context, _ []*message.Message, _ ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
			return func(yield func(*agent.ResponseUpdate, error) bool) {
				for _, x := range steps {
					switch x := x.(type) {
					case error:
						yield(nil, x)
						return
					case string:
						panic(x)
					case message.Content:
						if !yield(&agent.ResponseUpdate{Contents: message.Contents{x}}, nil) {
							return
						}
					case nil:
						if !yield(nil, nil) {
							return
						}
					}
				}
			}
		}
	}
	for name, c := range map[string]struct {
		run  agent.RunFunc
		want string
	}{
		"panic":            {yields(&message.TextContent{Text: "I"}, "secret panic"), "RUN_ERROR"},
		"error in text":    {yields(&message.TextContent{Text: "I"}, errors.New("secret error")), "RUN_ERROR"},
		"error in thought": {yields(&message.TextReasoningContent{Text: "hm"}, errors.New("secret error")), "RUN_ERROR"},
		"error in call":    {yields(&message.FunctionCallDelta{CallID: "c", Name: "write", Arguments: `{"document":"x`}, errors.New("secret error")), "RUN_ERROR"},
		"silence":          {yields(), "RUN_FINISHED"},
		"nil update":       {yields(nil), "RUN_FINISHED"},
		"result of nobody": {yields(&message.FunctionResultContent{CallID: "none", Result: "x"}), "RUN_FINISHED"},
		"text between":     {yields(&message.TextContent{Text: "a"}, &message.TextReasoningContent{Text: "b"}, &message.TextContent{Text: "c"}), "RUN_FINISHED"},
		"foreign call":     {yields(&message.FunctionCallContent{CallID: "f", Name: "write", Arguments: `{"document":"whole"}`}, &message.FunctionResultContent{CallID: "f", Result: "done"}), "RUN_FINISHED"},
		"not a patch":      {yields(&message.DataContent{MediaType: "application/json-patch+json", Data: []byte(`{"no":1}`)}), "RUN_FINISHED"},
		"does not apply":   {yields(&message.DataContent{MediaType: "application/json-patch+json", Data: []byte(`[{"op":"remove","path":"/none"}]`)}), "RUN_FINISHED"},
		"not json":         {yields(&message.DataContent{MediaType: "application/json", Data: []byte(`# Title`)}), "RUN_FINISHED"},
		"picture":          {yields(&message.DataContent{MediaType: "image/png", Data: []byte{1}}), "RUN_FINISHED"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := s.start(th, plain(c.run), input("r-"+name, user("u-"+name, "a")))
			if err != nil {
				t.Fatal(err)
			}
			events := s.events(r)
			last := events[len(events)-1]
			if string(last.EventType()) != c.want {
				t.Errorf("ends with %s, want %s: %s", last.EventType(), c.want, types(events))
			}
			for _, e := range events {
				if text := string(agui.AppendEvent(nil, e, agui.V1)); strings.Contains(text, "secret") {
					t.Errorf("W5: %s", text)
				}
			}
			if doc, _, _ := th.Doc(); !jsondoc.Equal(doc.View, doc.State) {
				t.Errorf("S3: after the run the view is %s, the state %s", doc.View, doc.State)
			}
			r.Wait()
		})
	}
}

// S1, S3: agent code that emits state itself; it is committed at once and stays
// where the run fails later.
func TestEmittedStays(t *testing.T) {
	s := newSetup(t, state.Config{}, thread.Options{})
	defer s.close()
	th := s.open("t")
	defer th.Close()
	a := agent.New(agent.ProviderConfig{Run: func(context.Context, []*message.Message, ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			for _, d := range []*message.DataContent{
				{MediaType: "application/json", Data: []byte(`{"n":1,"big":9007199254740993}`)},
				{MediaType: "application/json-patch+json; charset=utf-8", Data: []byte(`[{"op":"add","path":"/l","value":[null]}]`)},
			} {
				if !yield(&agent.ResponseUpdate{Contents: message.Contents{d}}, nil) {
					return
				}
			}
			yield(nil, errors.New("then it breaks"))
		}
	}}, agent.Config{})
	r, err := s.start(th, a, input("r", user("u", "a")))
	if err != nil {
		t.Fatal(err)
	}
	if got := types(s.events(r)); got != "RUN_STARTED STATE_SNAPSHOT STATE_DELTA RUN_ERROR" {
		t.Error(got)
	}
	if doc, rev, _ := th.Doc(); doc.State.String() != `{"n":1,"big":9007199254740993,"l":[null]}` || rev != 2 {
		t.Errorf("state %s at revision %d", doc.State, rev)
	}
	r.Wait()
}

// S7: every model call sees the state as it is at that moment, once.
func TestS7StateBeforeTheModel(t *testing.T) {
	s := newSetup(t, document, thread.Options{})
	defer s.close()
	th := s.open("t")
	defer th.Close()
	m := agenttest.New(agenttest.Turn(agenttest.Call("c1", "write", `{"document":"🥕 粥"}`)), agenttest.Turn(agenttest.Text("Done.")))
	in := input("r", user("u", "a"))
	in.State = jsondoc.MustParse(`{"document":"old"}`)
	r, err := s.start(th, m.Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}}), in)
	if err != nil {
		t.Fatal(err)
	}
	s.events(r)
	for i, want := range []string{`{"document":"old"}`, `{"document":"🥕 粥"}`} {
		text := m.Prompts()[i].Text()
		if strings.Count(text, state.StateBlock) != 1 || !strings.Contains(text, want) {
			t.Errorf("model call %d: want %s once, got:\n%s", i+1, want, text)
		}
	}
	r.Wait()
}

// A viewer that comes late or reads slowly sees the same, and holds nobody up
// (T6); the log is one for all.
func TestT6SlowViewer(t *testing.T) {
	s := newSetup(t, document, thread.Options{})
	defer s.close()
	th := s.open("t")
	defer th.Close()
	m := agenttest.New(agenttest.Turn(agenttest.Call("c1", "write", `{"document":"`+strings.Repeat("long text ", 2000)+`"}`)), agenttest.Turn(agenttest.Text("Done.")))
	m.Chunk = 8
	r, err := s.start(th, m.Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}}), input("r", user("u", "a")))
	if err != nil {
		t.Fatal(err)
	}
	next, stop := iter.Pull2(r.Events(t.Context())) // reads one event, then not for a while
	defer stop()
	first, _, _ := next()
	all := s.events(r)
	var slow []agui.Event
	for p := first; p != nil; p, _, _ = next() {
		if p.Event != nil {
			slow = append(slow, p.Event)
		}
	}
	if types(slow) != types(all) {
		t.Errorf("the slow viewer saw %d events, the quick one %d", len(slow), len(all))
	}
	r.Wait()
}

// M10, M15: threads do not see each other, whatever runs at once.
func TestThreadsAreApart(t *testing.T) {
	s := newSetup(t, document, thread.Options{})
	defer s.close()
	var failed atomic.Int32
	done := make(chan struct{})
	const n = 30
	for i := range n {
		go func() {
			defer func() { done <- struct{}{} }()
			th, err := s.threads.Open(t.Context(), thread.Key{Agent: "a", ID: fmt.Sprint("t", i)}, s.model)
			if err != nil {
				failed.Add(1)
				return
			}
			defer th.Close()
			text := fmt.Sprintf("marker %d", i)
			m := agenttest.New(agenttest.Turn(agenttest.Call("c1", "write", `{"document":"`+text+`"}`)), agenttest.Turn(agenttest.Text("Done.")))
			m.Chunk = 3
			r, err := s.start(th, m.Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}}), input("r", user("u", "a")))
			if err != nil {
				failed.Add(1)
				return
			}
			for _, err := range r.Events(t.Context()) {
				if err != nil {
					failed.Add(1)
				}
			}
			r.Wait()
			if doc, _, _ := th.Doc(); doc.State.String() != `{"document":"`+text+`"}` {
				failed.Add(1)
			}
		}()
	}
	for range n {
		<-done
	}
	if failed.Load() != 0 {
		t.Errorf("%d of %d threads went wrong", failed.Load(), n)
	}
}

// The run's limit is an end like any other.
func TestRunLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, state.Config{}, thread.Options{RunLimit: time.Minute})
		defer s.close()
		th := s.open("t")
		defer th.Close()
		r, err := s.start(th, agenttest.New(agenttest.Turn(agenttest.Hang())).Agent(agent.Config{}), input("r", user("u", "a")))
		if err != nil {
			t.Fatal(err)
		}
		events := s.events(r)
		e, ok := events[len(events)-1].(*agui.RunError)
		if !ok || e.Code != agui.CodeLimitExceeded {
			t.Errorf("last event %#v, want limit_exceeded", events[len(events)-1])
		}
		r.Wait()
	})
}

// Closing the process ends its runs with a terminal event and takes no new ones;
// viewers read to the end, and are not waited for.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, state.Config{}, thread.Options{})
		th := s.open("t")
		defer th.Close()
		r, err := s.start(th, agenttest.New(agenttest.Turn(agenttest.Hang())).Agent(agent.Config{}), input("r", user("u", "a")))
		if err != nil {
			t.Fatal(err)
		}
		idle := s.open("idle")
		defer idle.Close()
		seen := make(chan []agui.Event, 2)
		for _, of := range []*thread.Thread{th, idle} {
			go func() {
				var got []agui.Event
				for p, err := range of.Follow(t.Context(), thread.Position{Epoch: of.Snapshot().Position.Epoch}) {
					if errors.Is(err, thread.ErrClosed) {
						break
					}
					if err != nil {
						t.Error(err)
						break
					}
					if p.Event != nil {
						got = append(got, p.Event)
					}
				}
				seen <- got
			}()
		}
		synctest.Wait()
		s.close()
		if a, b := types(<-seen), types(<-seen); a+b != "RUN_STARTED RUN_FINISHED" {
			t.Errorf("viewers saw %q and %q", a, b)
		}
		if got := types(s.events(r)); got != "RUN_STARTED RUN_FINISHED" {
			t.Error(got)
		}
		if _, err := s.start(th, agenttest.New().Agent(agent.Config{}), input("r2", user("u2", "a"))); !errors.Is(err, thread.ErrClosed) {
			t.Errorf("error %v, want ErrClosed", err)
		}
	})
}

// S2: what a client posts is an edit of what it was shown. An empty object,
// null or nothing is no opinion, unless the client says what it edits.
func TestS2PostedState(t *testing.T) {
	for name, c := range map[string]struct {
		state    string // posted with the second run; "" for none
		explicit bool   // with the position of the first run's end
		want     string
	}{
		"none":             {"", false, `{"a":1,"b":2}`},
		"null":             {"null", false, `{"a":1,"b":2}`},
		"empty":            {"{}", false, `{"a":1,"b":2}`},
		"empty, explicit":  {"{}", true, `{}`},
		"echo":             {`{"a":1,"b":2}`, false, `{"a":1,"b":2}`},
		"edit":             {`{"a":1,"b":3,"c":9007199254740993}`, false, `{"a":1,"b":3,"c":9007199254740993}`},
		"C4 deletion":      {`{"a":1}`, false, `{"a":1}`},
		"deletion of null": {`{"a":null,"b":2}`, false, `{"a":null,"b":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t, state.Config{Initial: jsondoc.Object()}, thread.Options{})
			defer s.close()
			th := s.open("t")
			defer th.Close()
			a := agenttest.New(agenttest.Turn(agenttest.Text("One.")), agenttest.Turn(agenttest.Text("Two."))).Agent(agent.Config{})
			in := input("r1", user("u1", "a"))
			in.State = jsondoc.MustParse(`{"a":1,"b":2}`)
			r, err := s.start(th, a, in)
			if err != nil {
				t.Fatal(err)
			}
			s.events(r)
			r.Wait()
			next := input("r2", append(th.Messages(), user("u2", "b"))...)
			if c.state != "" {
				next.State = jsondoc.MustParse(c.state)
			}
			if c.explicit {
				_, _, pos := th.Doc()
				next.ForwardedProps = jsondoc.MustParse(`{"lockstep":{"base":"` + pos.String() + `"}}`)
			}
			if r, err = s.start(th, a, next); err != nil {
				t.Fatal(err)
			}
			s.events(r)
			r.Wait()
			if doc, _, _ := th.Doc(); !jsondoc.Equal(doc.State, jsondoc.MustParse(c.want)) || !jsondoc.Equal(doc.View, doc.State) {
				t.Errorf("state %s, view %s, want %s", doc.State, doc.View, c.want)
			}
		})
	}
}

// The thousandth run of a thread costs about what the tenth did: the log is not
// read again for each.
func TestRunsOfOneThread(t *testing.T) {
	counted := &countingStore{Store: memory.New()}
	threads := thread.New(counted, nil)
	defer threads.Close(context.Background())
	m, err := state.NewModel(state.Config{Initial: jsondoc.Object()})
	if err != nil {
		t.Fatal(err)
	}
	model := agenttest.New(agenttest.Turn(agenttest.Text("Hi.")))
	model.Repeat = true
	a := model.Agent(agent.Config{})
	for i := range 100 {
		th, err := threads.Open(t.Context(), thread.Key{ID: "t"}, m)
		if err != nil {
			t.Fatal(err)
		}
		r, err := th.Run(t.Context(), thread.Request{Input: input(fmt.Sprint("r", i), user(fmt.Sprint("u", i), "a")), Agent: runOf(a)})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range r.Events(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		r.Wait()
		th.Close()
	}
	if n := counted.read.Load(); n > 0 {
		t.Errorf("%d entries were read again", n)
	}
}

type countingStore struct {
	thread.Store
	read atomic.Int64
}

func (s *countingStore) Read(ctx context.Context, key thread.Key, after uint64) iter.Seq2[thread.Entry, error] {
	return func(yield func(thread.Entry, error) bool) {
		for e, err := range s.Store.Read(ctx, key, after) {
			s.read.Add(1)
			if !yield(e, err) {
				return
			}
		}
	}
}
