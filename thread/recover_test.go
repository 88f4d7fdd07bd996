package thread_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
	"github.com/lockstep-go/lockstep/tool"
)

// dying is a store as a process sees it that dies after so many appends: what
// comes later reaches nothing.
type dying struct {
	thread.Store
	mu   sync.Mutex
	left int
	dead chan struct{}
}

var errDead = errors.New("this process is dead")

func (s *dying) Append(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		select {
		case <-s.dead:
		default:
			close(s.dead)
		}
		return errDead
	}
	s.left--
	return s.Store.Append(ctx, key, after, entries)
}

func (s *dying) Compact(ctx context.Context, key thread.Key, head thread.Head, after, upTo uint64, entries []thread.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		return errDead
	}
	return s.Store.Compact(ctx, key, head, after, upTo, entries)
}

// crashed is what a test knows of a process's work when it dies.
type crashed struct {
	old, whole string // the document before, and when it was written
	edits      int    // acknowledged: the member mine counts them
	tried      int    // sent, acknowledged or not
}

// crashAgent says something, writes a document, tries a draft that fails, and
// says something.
func crashAgent(whole string) *agent.Agent { return crashAgentEvery(whole, time.Second) }

func crashAgentEvery(whole string, delay time.Duration) *agent.Agent {
	m := agenttest.New(
		agenttest.Turn(agenttest.Reasoning("Let me think.", ""), agenttest.Text("On it."), agenttest.Call("c1", "write", `{"document":"`+whole+`"}`)),
		agenttest.Turn(agenttest.Call("c2", "draft", `{"draft":{"idea":"none at all"}}`)),
		agenttest.Turn(agenttest.Text("Done.")))
	m.Chunk, m.Delay = 7, delay
	fails := toolOf("draft", func(context.Context) (any, error) { return nil, errors.New("no room for drafts") })
	return m.Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil), fails}})
}

var crashConfig = state.Config{
	Initial: jsondoc.MustParse(`{"mine":0}`),
	Predict: map[string]state.Prediction{
		"document": {Tool: "write", Argument: "document"},
		"draft":    {Tool: "draft", Argument: "draft"},
	},
}

// check opens the thread as the next process does and holds it to T4. A viewer
// of the dead process had read what it had written up to at.
func (c crashed) check(t *testing.T, store thread.Store, m *state.Model, at thread.Position) {
	t.Helper()
	threads := thread.New(store, nil)
	defer closeThreads(t, threads)
	th, err := threads.Open(t.Context(), aKey, m)
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	snap := th.Snapshot()
	if snap.Active != nil {
		t.Errorf("run %s is still active", snap.Active.RunID)
	}
	if !jsondoc.Equal(snap.View, m.Visible(snap.State)) && snap.Known() {
		t.Errorf("S3: the view is %s, the state %s", snap.View, snap.State)
	}
	if !snap.Known() {
		if c.edits > 0 {
			t.Errorf("%d acknowledged edits are gone", c.edits)
		}
		return
	}
	document, _ := snap.State.Get("document")
	if document.Str() != c.old && document.Str() != c.whole && !document.IsAbsent() {
		t.Errorf("half a document was committed: %s", document)
	}
	if _, ok := snap.State.Get("draft"); ok {
		t.Errorf("a draft was committed that failed: %s", snap.State)
	}
	mine, _ := snap.State.Get("mine")
	if n, ok := mine.Int64(); !ok || int(n) < c.edits || int(n) > c.tried {
		t.Errorf("%d edits are there, %d were acknowledged, %d sent", n, c.edits, c.tried)
	}

	// The viewer goes on from where it was.
	var order agui.Sequence
	view := agui.NewReducer(nil, jsondoc.Value{})
	var events []agui.Event
	ran, answered := false, false
	for p, err := range th.Follow(t.Context(), thread.Position{Epoch: at.Epoch}) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Event != nil {
			if err := order.Check(p.Event); err != nil {
				t.Fatalf("W1: %v, after %s", err, types(events))
			}
			if err := view.Apply(p.Event); err != nil {
				t.Fatalf("W2: %v", err)
			}
			events = append(events, p.Event)
		}
		if s, ok := p.Event.(*agui.RunStarted); ok && s.RunID == "r" {
			ran = true
		}
		if r, ok := p.Event.(*agui.ToolCallResult); ok && r.ToolCallID == "c1" {
			answered = true
		}
		if p.Seq == snap.Position.Seq {
			break
		}
	}
	if !jsondoc.Equal(view.State(), snap.View) {
		t.Errorf("a viewer has %s, the thread %s", view.State(), snap.View)
	}
	if answered && document.Str() != c.whole {
		t.Errorf("the tool's result is in the log, and the document is %s", document)
	}
	if ran && strings.Count(types(events), "RUN_STARTED") != strings.Count(types(events), "RUN_FINISHED")+strings.Count(types(events), "RUN_ERROR") {
		t.Errorf("a run has no end: %s", types(events))
	}
	if code(events) == agui.CodeOwnerLost && strings.Contains(types(events), "STATE_") {
		if before := events[len(events)-2]; before.EventType() != agui.TypeStateSnapshot {
			t.Errorf("before owner_lost comes %s, not the roll-back", before.EventType())
		}
	}

	// And the thread takes the next run.
	next := talks(1)
	r, err := th.Run(t.Context(), thread.Request{Input: input("next", user("next", "and now?")), Agent: runOf(next.Agent(agent.Config{}))})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range r.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	r.Leave()
	r.Wait()
	if doc, _, _ := th.Doc(); !jsondoc.Equal(doc.State, snap.State) {
		t.Errorf("the next run made %s of %s", doc.State, snap.State)
	}
	sameThread(t, reload(t, store, m, aKey), th.Snapshot())
}

// T4: whatever a process had stored when it died, the next one finds every
// acknowledged change, no half prediction, and a thread that works.
func TestT4EveryPoint(t *testing.T) {
	const whole = "The quick brown fox jumps over the lazy dog."
	for n := 0; ; n++ {
		finished := false
		synctest.Test(t, func(t *testing.T) {
			store := memory.New()
			process := &dying{Store: store, left: n, dead: make(chan struct{})}
			s := newSetupOn(t, process, crashConfig, thread.Options{StoreWait: time.Second})
			defer s.close()
			th := s.open("t")
			defer th.Close()
			c := crashed{old: "old", whole: whole}
			in := input("r", user("u", "go"))
			in.State = jsondoc.MustParse(`{"document":"old"}`)
			r, err := s.start(th, crashAgent(whole), in)
			if err == nil {
				ended := make(chan struct{})
				go func() {
					for range r.Events(t.Context()) {
					}
					r.Leave()
					r.Wait()
					close(ended)
				}()
				for !finished && err == nil {
					select {
					case <-process.dead:
						err = errDead
					case <-ended:
						finished = true
					case <-time.After(1500 * time.Millisecond):
						c.tried++
						if _, failed := th.Edit(t.Context(), thread.Edit{Patch: jsondoc.Patch{{Op: "add", Path: "/mine", Value: jsondoc.Int(int64(c.tried))}}}); failed == nil {
							c.edits++
						}
					}
				}
			}
			at, headErr := store.Head(t.Context(), aKey)
			if headErr != nil {
				t.Fatal(headErr)
			}
			c.check(t, store, s.model, at)
			if t.Failed() {
				t.Logf("the process died after %d appends", n)
			}
		})
		if finished || t.Failed() {
			if n < 20 {
				t.Errorf("only %d points", n)
			}
			return
		}
	}
}

// A viewer of the dead run that comes back with its position gets exactly what
// ends the run: what is open is closed, the prediction taken back, RUN_ERROR.
func TestT4ViewerOfADeadRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		process := &dying{Store: store, left: 11, dead: make(chan struct{})}
		s := newSetupOn(t, process, document, thread.Options{StoreWait: time.Second})
		defer s.close()
		th := s.open("t")
		defer th.Close()
		in := input("r", user("u", "go"))
		in.State = jsondoc.MustParse(`{"document":"old"}`)
		if _, err := s.start(th, writes("The quick brown fox jumps over the lazy dog.").Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}}), in); err != nil {
			t.Fatal(err)
		}
		<-process.dead
		at, err := store.Head(t.Context(), aKey)
		if err != nil {
			t.Fatal(err)
		}
		next := thread.New(store, nil)
		defer closeThreads(t, next)
		again, err := next.Open(t.Context(), aKey, s.model)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		var got []agui.Event
		for p, err := range again.Follow(t.Context(), at) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p.Event)
			if p.Seq == position(again).Seq {
				break
			}
		}
		if text := types(got); text != "TOOL_CALL_END STATE_SNAPSHOT RUN_ERROR" || code(got) != agui.CodeOwnerLost {
			t.Errorf("the end is %s with %s", text, code(got))
		}
		if view := got[len(got)-2].(*agui.StateSnapshot).Snapshot; view.String() != `{"document":"old"}` {
			t.Errorf("the roll-back shows %s", view)
		}
		if before := position(again); reload(t, store, s.model, aKey).Position != before {
			t.Error("opened once more, the thread has grown")
		}
	})
}
