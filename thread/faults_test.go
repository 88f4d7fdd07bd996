package thread_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
	"github.com/lockstep-go/lockstep/thread/storetest"
	"github.com/lockstep-go/lockstep/tool"
)

// checked reads a run as a client does, whatever ends it. The error is what the
// log's end came with.
func checked(t *testing.T, r *thread.Run) ([]agui.Event, jsondoc.Value, error) {
	t.Helper()
	var out []agui.Event
	var order agui.Sequence
	view := agui.NewReducer(nil, jsondoc.Value{})
	var last uint64
	take := func(e agui.Event) {
		if err := order.Check(e); err != nil {
			t.Errorf("W1: %v after %s", err, types(out))
		}
		if err := view.Apply(e); err != nil {
			t.Errorf("W2: %v", err)
		}
		out = append(out, e)
	}
	for p, err := range r.Events(t.Context()) {
		var lost *thread.LostError
		if errors.As(err, &lost) {
			for _, e := range lost.Events {
				take(e)
			}
		}
		if err != nil {
			return out, view.State(), err
		}
		if p.Seq <= last {
			t.Errorf("T2: entry %d behind %d", p.Seq, last)
		}
		if last = p.Seq; p.Event != nil {
			take(p.Event)
		}
	}
	return out, view.State(), nil
}

// writes is a model that writes a document, a second a piece, and says so.
func writes(text string) *agenttest.Model {
	m := agenttest.New(
		agenttest.Turn(agenttest.Text("On it."), agenttest.Call("c1", "write", `{"document":"`+text+`"}`)),
		agenttest.Turn(agenttest.Text("Done.")))
	m.Chunk, m.Delay = 6, time.Second
	return m
}

func code(events []agui.Event) string {
	if len(events) == 0 {
		return "nothing"
	}
	if e, ok := events[len(events)-1].(*agui.RunError); ok {
		return e.Code
	}
	return string(events[len(events)-1].EventType())
}

// Appends that fail in every way a store has, at random: each event is in the
// log once, in order, and the log read again comes to the same.
func TestT2FlakyStore(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			store := storetest.NewFaults(memory.New())
			s := newSetupOn(t, store, document, thread.Options{})
			defer s.close()
			th := s.open("t")
			defer th.Close()
			store.Chance(seed, map[storetest.Fault]int{storetest.Lost: 20, storetest.Failed: 15, storetest.Conflict: 15, storetest.Overtaken: 15})
			const text = "The quick brown fox jumps over the lazy dog."
			in := input("r", user("u", "go"))
			in.State = jsondoc.MustParse(`{"document":"old","mine":0}`)
			r, err := s.start(th, writes(text).Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}}), in)
			if err != nil {
				t.Fatal(err)
			}
			edits := 0
			for range 5 {
				time.Sleep(1700 * time.Millisecond)
				edits++
				patch := jsondoc.Patch{{Op: "replace", Path: "/mine", Value: jsondoc.Int(int64(edits))}}
				if _, err := th.Edit(t.Context(), thread.Edit{Patch: patch}); err != nil {
					t.Errorf("edit %d: %v", edits, err)
				}
			}
			events, view, err := checked(t, r)
			r.Leave()
			r.Wait()
			if err != nil || code(events) != "RUN_FINISHED" {
				t.Fatalf("seed %d: %v, ends with %s", seed, err, code(events))
			}
			said, arguments := "", ""
			for _, e := range events {
				switch e := e.(type) {
				case *agui.TextMessageContent:
					said += e.Delta
				case *agui.ToolCallArgs:
					arguments += e.Delta
				}
			}
			if said != "On it.Done." || arguments != `{"document":"`+text+`"}` {
				t.Errorf("seed %d: said %q, called with %s", seed, said, arguments)
			}
			want := jsondoc.MustParse(`{"document":"` + text + `","mine":5}`)
			if !jsondoc.Equal(view, want) {
				t.Errorf("seed %d: the client has %s", seed, view)
			}
			store.Chance(0, nil)
			sameThread(t, reload(t, store, s.model, aKey), th.Snapshot())
			if store.Met(storetest.Lost)+store.Met(storetest.Failed)+store.Met(storetest.Conflict)+store.Met(storetest.Overtaken) < 5 {
				t.Errorf("seed %d: hardly a fault", seed)
			}
		})
	}
}

// A store that is away for less than StoreWait delays a run and does not change
// it. What the model said meanwhile comes joined, in order.
func TestStoreAwayForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewFaults(memory.New())
		s := newSetupOn(t, store, document, thread.Options{})
		defer s.close()
		th := s.open("t")
		defer th.Close()
		const text = "The quick brown fox jumps over the lazy dog."
		r, err := s.start(th, writes(text).Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}}), input("r", user("u", "go")))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2500 * time.Millisecond)
		store.Down(true)
		began := time.Now()
		if _, err := th.Edit(t.Context(), thread.Edit{Merge: jsondoc.MustParse(`{"mine":1}`)}); errorCode(err) != agui.CodeStoreUnavailable {
			t.Errorf("an edit while the store is away: %v", err)
		}
		// Who edits waits a tenth of what a run does; but the run was first.
		if waited := time.Since(began); waited > 33*time.Second {
			t.Errorf("the edit waited %v", waited)
		}
		time.Sleep(20*time.Second - time.Since(began))
		store.Down(false)
		events, view, err := checked(t, r)
		r.Leave()
		r.Wait()
		if err != nil || code(events) != "RUN_FINISHED" || view.String() != `{"document":"`+text+`"}` {
			t.Errorf("%v, ends with %s, the client has %s", err, code(events), view)
		}
		fragments := strings.Count(types(events), "TOOL_CALL_ARGS")
		if whole := len(agenttest.Pieces(`{"document":"`+text+`"}`, 6)); fragments >= whole {
			t.Errorf("%d fragments of %d: nothing was joined", fragments, whole)
		}
	})
}

func errorCode(err error) string {
	if e := (*agui.Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprint(err)
}

// A store that stays away ends the run after StoreWait: the model is cancelled,
// viewers are told in a stream that any client accepts, with the prediction
// taken back, and the thread works again when the store does.
func TestStoreAwayForGood(t *testing.T) {
	for name, c := range map[string]struct {
		at   time.Duration // when the store goes
		back time.Duration // and when it comes back after that
		lost bool          // the end is not in the log
	}{
		"in mid-text":                     {500 * time.Millisecond, time.Hour, true},
		"in mid-call":                     {5500 * time.Millisecond, time.Hour, true},
		"back before the end is given up": {5500 * time.Millisecond, 31 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := storetest.NewFaults(memory.New())
				s := newSetupOn(t, store, document, thread.Options{})
				defer s.close()
				th := s.open("t")
				defer th.Close()
				var cancelled time.Time
				m := agenttest.New(agenttest.Turn(
					agenttest.Wait(time.Second), agenttest.Text("On"), agenttest.Text(" it"), agenttest.Wait(3*time.Second),
					agenttest.Contents(&message.FunctionCallDelta{CallID: "c1", Name: "write", Arguments: `{"document":"Hel`}), agenttest.Wait(2*time.Second),
					agenttest.Contents(&message.FunctionCallDelta{CallID: "c1", Name: "write", Arguments: `lo`}),
					agenttest.Do(func(ctx context.Context) error {
						<-ctx.Done()
						cancelled = time.Now()
						return ctx.Err()
					})))
				in := input("r1", user("u1", "go"))
				in.State = jsondoc.MustParse(`{"document":"old"}`)
				r, err := s.start(th, m.Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}}), in)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.at)
				store.Down(true)
				gone := time.Now()
				time.AfterFunc(c.back, func() { store.Down(false) })
				events, view, err := checked(t, r)
				if took := time.Since(gone); took < 30*time.Second || took > 40*time.Second {
					t.Errorf("the run was ended after %v", took)
				}
				if (err != nil) != c.lost {
					t.Errorf("the log's end: %v", err)
				}
				if got := code(events); got != agui.CodeStoreUnavailable {
					t.Errorf("ends with %s: %s", got, types(events))
				}
				if view.String() != `{"document":"old"}` {
					t.Errorf("S3: the client is left with %s", view)
				}
				r.Leave()
				r.Wait()
				if took := cancelled.Sub(gone); cancelled.IsZero() || took > 35*time.Second {
					t.Errorf("the model was cancelled after %v", took)
				}

				if c.lost { // nothing works, and nothing hangs
					if _, err := s.threads.Open(t.Context(), aKey, s.model); errorCode(err) != agui.CodeStoreUnavailable {
						t.Errorf("opened without a store: %v", err)
					}
				}
				store.Down(false)
				again := s.open("t")
				defer again.Close()
				if snap := again.Snapshot(); snap.Active != nil || snap.View.String() != `{"document":"old"}` {
					t.Errorf("T4: active %v, view %s", snap.Active, snap.View)
				}
				if got := types(s.run(again, talks(1).Agent(agent.Config{}), input("r2", user("u2", "again")))); !strings.HasSuffix(got, "RUN_FINISHED") {
					t.Errorf("the next run: %s", got)
				}
				sameThread(t, reload(t, store, s.model, aKey), again.Snapshot())
			})
		})
	}
}

// A run whose beginning was stored, and whose caller was told that it was not,
// is nobody's: the thread is free for the next.
func TestStoreLosesTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewFaults(memory.New())
		s := newSetupOn(t, store, document, thread.Options{})
		defer s.close()
		th := s.open("t")
		defer th.Close()
		a := talks(1).Agent(agent.Config{})
		store.Next(storetest.Lost)
		answered := make(chan error, 1)
		go func() {
			_, err := s.start(th, a, input("r1", user("u1", "go")))
			answered <- err
		}()
		// The append is in the store; before the log can be read, the store goes.
		store.Delay(time.Second)
		time.Sleep(1500 * time.Millisecond)
		store.Down(true)
		if err := <-answered; errorCode(err) != agui.CodeStoreUnavailable {
			t.Fatalf("error %v", err)
		}
		store.Down(false)
		store.Delay(0)
		again := s.open("t")
		defer again.Close()
		if snap := again.Snapshot(); snap.Active != nil {
			t.Errorf("run %s is active and nobody drives it", snap.Active.RunID)
		}
		if got := types(s.run(again, a, input("r2", user("u2", "again")))); !strings.HasSuffix(got, "RUN_FINISHED") {
			t.Errorf("the next run: %s", got)
		}
	})
}

// A caller that goes while its run's beginning is being stored leaves no run
// behind that nobody drives.
func TestCallerGoesWhileStoring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewFaults(memory.New())
		s := newSetupOn(t, store, document, thread.Options{})
		defer s.close()
		th := s.open("t")
		defer th.Close()
		for i, at := range []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond, 2500 * time.Millisecond} {
			store.Delay(time.Second)
			store.Next(storetest.Lost)
			ctx, cancel := context.WithTimeout(t.Context(), at)
			r, err := th.Run(ctx, thread.Request{Input: input(fmt.Sprint("r", i), user(fmt.Sprint("u", i), "go")), Agent: runOf(talks(1).Agent(agent.Config{}))})
			if err == nil {
				r.Leave()
				r.Wait()
			}
			cancel()
			store.Delay(0)
			again := s.open("t")
			if snap := again.Snapshot(); snap.Active != nil {
				t.Errorf("after %v: run %s is active and nobody drives it", at, snap.Active.RunID)
			}
			again.Close()
		}
	})
}
