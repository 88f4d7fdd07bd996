package thread_test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
	"github.com/lockstep-go/lockstep/thread/sqlite"
	"github.com/lockstep-go/lockstep/tool"
)

// opener opens a test's store: a new one at first, then, as a program that was
// started again would, the same one.
type opener func(*testing.T) thread.Store

// onStores runs a test on every kind of store that can be there without a
// service.
func onStores(t *testing.T, test func(*testing.T, opener)) {
	t.Run("memory", func(t *testing.T) { test(t, inMemory()) })
	t.Run("sqlite", func(t *testing.T) { test(t, inFile(t)) })
}

func inMemory() opener {
	store := memory.New()
	return func(*testing.T) thread.Store { return store }
}

func inFile(t *testing.T) opener {
	path := filepath.Join(t.TempDir(), "log.db")
	var last *sqlite.Store
	end := func(t *testing.T) {
		if last != nil {
			if err := last.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(func() { end(t) })
	return func(t *testing.T) thread.Store {
		t.Helper()
		end(t)
		store, err := sqlite.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		last = store
		return store
	}
}

// stage is one thread, its agent, and a stock client in front of it: one that
// holds what the events made of its messages and state, and posts all of it
// with each run.
type stage struct {
	t       *testing.T
	store   opener
	model   *state.Model
	threads *thread.Threads
	metrics thread.Metrics
	opts    thread.Options
	brain   *agenttest.Model
	act     agent.RunFunc
	tools   []tool.Tool
	client  *agui.Reducer
	pending []agui.Interrupt // as the client knows them
	runs    int
	told    int // prompts that prompt() has given out
}

// newStage sets up a thread. The model plays the turns; tools are the agent's.
func newStage(t *testing.T, store opener, cfg state.Config, tools []tool.Tool, turns ...agenttest.Script) *stage {
	t.Helper()
	m, err := state.NewModel(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, store: store, model: m, tools: tools, brain: agenttest.New(turns...)}
	s.brain.Chunk = 7
	s.act = runOf(s.brain.Agent(agentConfig(tools)))
	s.client = agui.NewReducer(nil, jsondoc.Value{})
	s.opts = thread.Options{Metrics: &s.metrics}
	s.threads = thread.New(store(t), &s.opts)
	t.Cleanup(s.close)
	return s
}

// agentConfig runs tools one after the other, so that tests know their order.
func agentConfig(tools []tool.Tool) agent.Config {
	return agent.Config{Tools: tools, ToolLoop: &agent.ToolLoopConfig{MaxParallel: 1}}
}

func (s *stage) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.threads.Close(ctx); err != nil {
		s.t.Error(err)
	}
	if n := s.metrics.RepairedDeltas.Load(); n != 0 {
		s.t.Errorf("W2: %d deltas had to be repaired", n)
	}
}

// restart ends the program and starts it again on the same store.
func (s *stage) restart() {
	s.t.Helper()
	s.close()
	s.threads = thread.New(s.store(s.t), &s.opts)
}

// reload is a page that was loaded anew: the client has what an attach tells it.
func (s *stage) reload() {
	s.t.Helper()
	th := s.thread()
	defer th.Close()
	s.client, s.pending = agui.NewReducer(nil, jsondoc.Value{}), nil
	for _, e := range th.Snapshot().Prelude("t") {
		s.see(e)
	}
}

func (s *stage) thread() *thread.Thread {
	s.t.Helper()
	th, err := s.threads.Open(s.t.Context(), thread.Key{Agent: "a", ID: "t"}, s.model)
	if err != nil {
		s.t.Fatal(err)
	}
	return th
}

// see applies an event as the official client does.
func (s *stage) see(e agui.Event) {
	s.t.Helper()
	if err := s.client.Apply(e); err != nil {
		s.t.Fatalf("W2: %v", err)
	}
	if end, ok := e.(*agui.RunFinished); ok {
		s.pending = nil
		if end.Outcome != nil {
			s.pending = end.Outcome.Interrupts
		}
	}
}

// post is a run's input: the client's history and state, with what change makes
// of it.
func (s *stage) post(change func(*agui.RunAgentInput)) *agui.RunAgentInput {
	s.runs++
	in := &agui.RunAgentInput{
		ThreadID: "t", RunID: fmt.Sprint("r", s.runs), ProtocolVersion: "1.0",
		Messages: s.client.Messages(), State: s.client.State(),
	}
	if change != nil {
		change(in)
	}
	return in
}

// begin starts a run with an input as it is.
func (s *stage) begin(in *agui.RunAgentInput) (*thread.Run, error) {
	s.t.Helper()
	th := s.thread()
	defer th.Close()
	return th.Run(s.t.Context(), thread.Request{Input: in, Agent: s.act, Tools: s.tools})
}

// run starts a run and reads it to its end, as the client does.
func (s *stage) run(change func(*agui.RunAgentInput)) played {
	s.t.Helper()
	return s.play(s.post(change))
}

func (s *stage) play(in *agui.RunAgentInput) played {
	s.t.Helper()
	// What the client adds to its own history is there before the run.
	s.client = agui.NewReducer(in.Messages, in.State)
	r, err := s.begin(in)
	if err != nil {
		s.t.Fatal(err)
	}
	out := s.read(r)
	r.Wait()
	r.Leave()
	return out
}

// read reads a run to its end and checks what every run must keep.
func (s *stage) read(r *thread.Run) played {
	s.t.Helper()
	var out played
	var order agui.Sequence
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
		s.see(p.Event)
		out = append(out, p.Event)
	}
	return out
}

func (s *stage) say(text string) played {
	s.t.Helper()
	return s.run(func(in *agui.RunAgentInput) { in.Messages = append(in.Messages, s.user(text)) })
}

func (s *stage) user(text string) agui.Message {
	return user(fmt.Sprint("u", s.runs), text)
}

// answer resumes with one payload for each open interrupt, in their order; an
// empty one cancels.
func (s *stage) answer(payloads ...string) played {
	s.t.Helper()
	return s.run(func(in *agui.RunAgentInput) { in.Resume = s.entries(payloads...) })
}

func (s *stage) entries(payloads ...string) []agui.ResumeEntry {
	s.t.Helper()
	if len(payloads) != len(s.pending) {
		s.t.Fatalf("%d interrupts are open, want %d", len(s.pending), len(payloads))
	}
	var out []agui.ResumeEntry
	for i, p := range payloads {
		e := agui.ResumeEntry{InterruptID: s.pending[i].ID, Status: agui.ResumeCancelled}
		if p != "" {
			e.Status, e.Payload = agui.ResumeResolved, jsondoc.MustParse(p)
		}
		out = append(out, e)
	}
	return out
}

// state is the committed state and what viewers are shown.
func (s *stage) state() (committed, view string) {
	s.t.Helper()
	th := s.thread()
	defer th.Close()
	doc, _, _ := th.Doc()
	return doc.State.String(), doc.View.String()
}

// shows checks the committed state and the view, the log's and the client's.
func (s *stage) shows(committed, view string) {
	s.t.Helper()
	state, shown := s.state()
	if state != committed || shown != view {
		s.t.Errorf("state %s, view %s; want %s and %s", state, shown, committed, view)
	}
	if got := s.client.State(); !jsondoc.Equal(got, jsondoc.MustParse(view)) {
		s.t.Errorf("the client shows %s, want %s", got, view)
	}
}

// open is the ids of the questions that are open on the log.
func (s *stage) open() []string {
	s.t.Helper()
	th := s.thread()
	defer th.Close()
	var out []string
	for _, p := range th.Snapshot().Open {
		if p.Asked() {
			out = append(out, p.Ask.ID)
		}
	}
	return out
}

// prompt is what the model was told in its calls since the last prompt.
func (s *stage) prompt() string {
	var out strings.Builder
	all := s.brain.Prompts()
	for _, p := range all[s.told:] {
		out.WriteString(p.Text())
	}
	s.told = len(all)
	return out.String()
}

// played is a run's events.
type played []agui.Event

func (p played) types() string { return types(p) }

// shape is the types in their order, without what depends on how fast the store
// is: pieces of arguments and texts and the predictions between them.
func (p played) shape() string {
	var out []string
	for _, e := range p.without(agui.TypeToolCallArgs, agui.TypeStateDelta) {
		kind := string(e.EventType())
		if len(out) == 0 || out[len(out)-1] != kind {
			out = append(out, kind)
		}
	}
	return strings.Join(out, " ")
}

// without leaves kinds of events out.
func (p played) without(kinds ...agui.EventType) played {
	return slices.DeleteFunc(slices.Clone(p), func(e agui.Event) bool { return slices.Contains(kinds, e.EventType()) })
}

func (p played) count(kind agui.EventType) int { return len(p) - len(p.without(kind)) }

// all is the events of one kind.
func all[E agui.Event](p played) (out []E) {
	for _, e := range p {
		if e, ok := e.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

// outcome is how the run ended: "success", "interrupt", "cancelled", or the code
// of its error.
func (p played) outcome() string {
	switch end := p[len(p)-1].(type) {
	case *agui.RunFinished:
		if end.Outcome == nil {
			return "success"
		}
		return string(end.Outcome.Type)
	case *agui.RunError:
		return end.Code
	}
	return "no end"
}

func (p played) wants(t *testing.T, outcome string) {
	t.Helper()
	if got := p.outcome(); got != outcome {
		t.Errorf("the run ended with %s, want %s: %s %s", got, outcome, p.types(), agui.AppendEvent(nil, p[len(p)-1], agui.V1))
	}
}

// recorder is a tool that counts its runs.
type recorder struct {
	name   string
	schema jsondoc.Value
	do     func(ctx context.Context, args string) (any, error) // nil: "Done: " and the arguments

	mu   sync.Mutex
	seen []string
}

// records makes a recorder whose arguments have these properties, all required:
// "document:string".
func records(name string, properties ...string) *recorder {
	members, required := jsondoc.Object(), []jsondoc.Value{}
	for _, p := range properties {
		member, kind, _ := strings.Cut(p, ":")
		members = members.With(member, jsondoc.Object(jsondoc.Member{Name: "type", Value: jsondoc.String(kind)}))
		required = append(required, jsondoc.String(member))
	}
	return &recorder{name: name, schema: jsondoc.Object(
		jsondoc.Member{Name: "type", Value: jsondoc.String("object")},
		jsondoc.Member{Name: "properties", Value: members},
		jsondoc.Member{Name: "required", Value: jsondoc.Array(required...)},
		jsondoc.Member{Name: "additionalProperties", Value: jsondoc.False},
	)}
}

func (r *recorder) Name() string          { return r.name }
func (r *recorder) Description() string   { return r.name }
func (r *recorder) Schema() jsondoc.Value { return r.schema }

func (r *recorder) Call(ctx context.Context, args string) (any, error) {
	r.mu.Lock()
	r.seen = append(r.seen, args)
	do := r.do
	r.mu.Unlock()
	if do != nil {
		return do(ctx, args)
	}
	return "Done: " + args, nil
}

// ran is the arguments of the runs so far.
func (r *recorder) ran() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

func (r *recorder) wantRan(t *testing.T, args ...string) {
	t.Helper()
	if got := r.ran(); !slices.Equal(got, args) {
		t.Errorf("T5: %s ran with %q, want %q", r.name, got, args)
	}
}

func contains(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
}

type updates = iter.Seq2[*agent.ResponseUpdate, error]
