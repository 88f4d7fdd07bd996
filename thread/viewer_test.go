package thread_test

import (
	"errors"
	"fmt"
	"iter"
	"strings"
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

// T3, T6: a viewer that reads so slowly that what it would read next was
// compacted is sent away, not past a gap; one that keeps up is not.
func TestT3SlowViewerIsSentAway(t *testing.T) {
	s := newSetup(t, document, thread.Options{})
	defer s.close()
	th := s.open("t")
	defer th.Close()
	s.run(th, writesAtOnce("zero"), input("r0", user("u0", "go")))
	start := position(th)
	next, stop := iter.Pull2(th.Follow(t.Context(), start))
	defer stop()
	quick, quit := iter.Pull2(th.Follow(t.Context(), start))
	defer quit()
	s.run(th, writesAtOnce("one"), input("r1", user("u1", "go")))
	if p, err, ok := next(); !ok || err != nil || p.Seq != start.Seq+1 {
		t.Fatalf("the first event: %v %v", p, err)
	}
	var seen uint64
	for i := range 4 {
		end := position(th)
		for seen < end.Seq {
			p, err, ok := quick()
			if !ok || err != nil {
				t.Fatalf("the quick one: %v", err)
			}
			seen = p.Seq
		}
		s.run(th, writesAtOnce(fmt.Sprint("more ", i)), input(fmt.Sprint("m", i), user(fmt.Sprint("m", i), "go")))
	}
	last := start.Seq + 1
	for {
		p, err, ok := next()
		if !ok {
			t.Fatal("it was not told")
		}
		if errors.Is(err, thread.ErrTooOld) {
			break
		}
		if err != nil || p.Seq != last+1 {
			t.Fatalf("behind %d came %v, %v", last, p, err)
		}
		last = p.Seq
	}
	if _, ok := th.Snapshot().After(start.String()); ok {
		t.Error("its position counts as one to go on from")
	}
	if _, ok := th.Snapshot().After(thread.Position{Epoch: start.Epoch, Seq: seen}.String()); !ok {
		t.Error("the quick one's does not")
	}
}

// A viewer that is behind what memory holds reads from the store, and then goes
// on live without a seam.
func TestT3BehindTheRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		s := newSetupOn(t, store, document, thread.Options{})
		defer s.close()
		th := s.open("t")
		defer th.Close()
		long := strings.Repeat("a long text ", 2100) // more events than the ring has
		model := agenttest.New(agenttest.Turn(agenttest.Text(long), agenttest.Wait(5*time.Minute), agenttest.Text("The end.")))
		model.Chunk, model.Delay = 3, time.Millisecond
		in := input("r", user("u", "go"))
		r, err := s.start(th, model.Agent(agent.Config{}), in)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		head := position(th)
		if head.Seq < 8300 {
			t.Fatalf("only %d entries", head.Seq)
		}
		var text strings.Builder
		last, live := uint64(0), false
		for p, err := range th.Follow(t.Context(), thread.Position{Epoch: head.Epoch}) {
			if err != nil {
				t.Fatal(err)
			}
			if p.Seq != last+1 {
				t.Fatalf("%d behind %d", p.Seq, last)
			}
			last = p.Seq
			live = live || p.Seq > head.Seq
			if e, ok := p.Event.(*agui.TextMessageContent); ok {
				text.WriteString(e.Delta)
			}
			if _, ok := p.Event.(*agui.RunFinished); ok {
				break
			}
		}
		if !live || text.String() != long+"The end." {
			t.Errorf("%d bytes of text, live %v", text.Len(), live)
		}
		r.Leave()
		r.Wait()
	})
}

// Forgetting ends the bodies of viewers, stops the run, and leaves nothing: the
// thread is unknown, and the next one of that id has another epoch.
func TestForget(t *testing.T) {
	for name, active := range map[string]bool{"idle": false, "while a run is active": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				s := newSetupOn(t, store, document, thread.Options{})
				defer s.close()
				th := s.open("t")
				defer th.Close()
				first := input("r1", user("u1", "go"))
				first.State = jsondoc.MustParse(`{"document":"old"}`)
				s.run(th, writesAtOnce("new"), first)
				before := position(th)
				var r *thread.Run
				if active {
					var err error
					hang := agenttest.New(agenttest.Turn(agenttest.Call("c", "write", `{"document":"half`), agenttest.Hang()))
					if r, err = s.start(th, hang.Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}}), input("r2", user("u2", "go"))); err != nil {
						t.Fatal(err)
					}
				}
				ended := make(chan error, 1)
				go func() {
					var last error
					var terminal bool
					for p, err := range th.Follow(t.Context(), before) {
						if last = err; err == nil {
							_, terminal = p.Event.(*agui.RunFinished)
						}
					}
					if active && !terminal {
						t.Error("the viewer did not see the run end")
					}
					ended <- last
				}()
				synctest.Wait()
				if err := th.Forget(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := <-ended; !errors.Is(err, thread.ErrForgotten) {
					t.Errorf("the viewer's end: %v", err)
				}
				if r != nil {
					r.Leave() // its client's connection ends now
					r.Wait()
				}
				if snap := th.Snapshot(); snap.Known() || snap.Active != nil || len(snap.Messages) > 0 || !snap.View.IsAbsent() {
					t.Errorf("what is left: %+v", snap)
				}
				if head, err := store.Head(t.Context(), aKey); err != nil || head.Seq != 0 {
					t.Errorf("the store has %v, %v", head, err)
				}
				list, err := s.threads.List(t.Context(), "a", "", thread.Listed{}, 10)
				if err != nil || len(list) > 0 {
					t.Errorf("listed: %v, %v", list, err)
				}
				if err := th.Forget(t.Context()); err != nil {
					t.Errorf("forgotten twice: %v", err)
				}
				in := input("r3", user("u1", "the same id"))
				in.State = jsondoc.MustParse(`{"document":"fresh"}`)
				s.run(th, talks(1).Agent(agent.Config{}), in)
				if doc, revision, at := th.Doc(); doc.State.String() != `{"document":"fresh"}` || revision != 1 || at.Epoch == before.Epoch {
					t.Errorf("the next thread: %s at revision %d, %v", doc.State, revision, at)
				}
				if _, ok := th.Snapshot().After(before.String()); ok {
					t.Error("a position of the old log is one of the new")
				}
				sameThread(t, reload(t, store, s.model, aKey), th.Snapshot())
			})
		})
	}
}

// A thread can be forgotten at any moment of a run's life; nothing is left, and
// nothing comes after.
func TestForgetAtAnyMoment(t *testing.T) {
	for after := range 12 {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New()
			s := newSetupOn(t, store, document, thread.Options{})
			defer s.close()
			th := s.open("t")
			defer th.Close()
			r, err := s.start(th, writes("The fox jumps.").Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}}), input("r", user("u", "go")))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(after) * time.Second)
			if err := th.Forget(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range r.Events(t.Context()) {
			}
			r.Leave()
			r.Wait()
			synctest.Wait()
			if head, err := store.Head(t.Context(), aKey); err != nil || head.Seq != 0 {
				t.Errorf("after %d s: the store has %v, %v", after, head, err)
			}
		})
	}
}

// A run that begins while the thread is being forgotten belongs to the old
// thread, and goes with it, or to the new one, whole.
func TestForgetWhileARunBegins(t *testing.T) {
	for range 200 {
		store := memory.New()
		s := newSetupOn(t, store, state.Config{Initial: jsondoc.Object()}, thread.Options{})
		th := s.open("t")
		s.run(th, talks(1).Agent(agent.Config{}), input("r1", user("u1", "go")))
		forgotten := make(chan error, 1)
		go func() { forgotten <- th.Forget(t.Context()) }()
		r, err := s.start(th, talks(1).Agent(agent.Config{}), input("r2", user("u2", "go")))
		if err != nil {
			t.Fatal(err)
		}
		for range r.Events(t.Context()) {
		}
		r.Leave()
		r.Wait()
		if err := <-forgotten; err != nil {
			t.Fatal(err)
		}
		snap := th.Snapshot()
		if got := talk(snap.Messages); snap.Active != nil || snap.Known() && got != "user go | assistant A1" {
			t.Fatalf("what is there: %q, active %v", got, snap.Active)
		}
		if snap.Known() {
			sameThread(t, reload(t, store, s.model, aKey), snap)
		}
		th.Close()
		s.close()
	}
}
