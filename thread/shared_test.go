package thread_test

import (
	"context"
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
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
	"github.com/lockstep-go/lockstep/tool"
	"pgregory.net/rapid"
)

// shared is a store that several Threads of a test use, as processes do.
type shared struct{ thread.Store }

func (shared) Shared() {}

// deadStore is a shared store as a process sees it that is cut off from some time on:
// it reaches nothing and hears nothing.
type deadStore struct {
	thread.Store
	cut context.Context
}

func (deadStore) Shared() {}

func (s deadStore) Append(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry) error {
	if s.cut.Err() != nil {
		return errDead
	}
	return s.Store.Append(ctx, key, after, entries)
}

func (s deadStore) Head(ctx context.Context, key thread.Key) (thread.Head, error) {
	if s.cut.Err() != nil {
		return thread.Head{}, errDead
	}
	return s.Store.Head(ctx, key)
}

func (s deadStore) Tail(ctx context.Context, key thread.Key, after uint64) iter.Seq2[thread.Entry, error] {
	return func(yield func(thread.Entry, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(s.cut, func() { cancel(errDead) })()
		s.Store.Tail(ctx, key, after)(yield)
	}
}

// processes are setups on one store.
func processes(t *testing.T, n int, opts thread.Options) []*setup {
	store := shared{memory.New()}
	var out []*setup
	for range n {
		out = append(out, newSetupOn(t, store, document, opts))
	}
	return out
}

// held is a model that writes a part of a document and then nothing more, and an
// agent that thinks with it.
func held() *agent.Agent {
	m := agenttest.New(agenttest.Turn(agenttest.Text("Well"), agenttest.Call("c1", "write", `{"document":"Hello`), agenttest.Hang()))
	m.Chunk = 6
	return m.Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}})
}

// saying is an agent that says a word.
func saying(word string) *agent.Agent {
	return agenttest.New(agenttest.Turn(agenttest.Text(word))).Agent(agent.Config{})
}

// slowly is an agent that says a word and an end a while later.
func slowly(word string, while time.Duration) agent.RunFunc {
	return func(ctx context.Context, _ []*message.Message, _ ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			if !yield(&agent.ResponseUpdate{MessageID: "m-" + word, Contents: []message.Content{&message.TextContent{Text: word}}}, nil) {
				return
			}
			select {
			case <-time.After(while):
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
			}
		}
	}
}

func attached(in *agui.RunAgentInput, a agent.RunFunc, linger time.Duration) thread.Request {
	return thread.Request{Input: in, Agent: a, Attach: true, Linger: linger}
}

func outcome(events []agui.Event) string {
	switch e := events[len(events)-1].(type) {
	case *agui.RunFinished:
		if e.Outcome != nil {
			return string(e.Outcome.Type)
		}
		return "success"
	case *agui.RunError:
		return e.Code
	}
	return "no end"
}

// follower reads a thread from its beginning as a viewer of a process does, until
// it is left.
type follower struct {
	events []agui.Event
	err    error
	leave  func()
}

func watch(s *setup, id string) *follower {
	th := s.open(id)
	release := th.Watch()
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan struct{})
	f := &follower{}
	from := th.Snapshot().Oldest()
	go func() {
		defer close(done)
		for p, err := range th.Follow(ctx, from) {
			if err != nil {
				f.err = err
				return
			}
			if p.Event != nil {
				f.events = append(f.events, p.Event)
			}
		}
	}()
	f.leave = func() {
		cancel()
		<-done
		release()
		th.Close()
	}
	return f
}

// T1, T3, S1 on several processes: viewers of one see the run of another as it
// comes; an edit made there arrives in the run; a run there waits for its end.
func TestSharedRunIsSeenElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := processes(t, 2, thread.Options{})
		defer p[0].close()
		defer p[1].close()
		a := p[0].open("t")
		defer a.Close()
		m := agenttest.New(
			agenttest.Turn(agenttest.Call("c1", "write", `{"document":"Hello"}`), agenttest.Wait(time.Second)),
			agenttest.Turn(agenttest.Wait(time.Second), agenttest.Text("Done")))
		in := input("r1", user("u1", "a"))
		in.State = jsondoc.MustParse(`{"document":"old","mine":1}`)
		r, err := p[0].start(a, m.Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}}), in)
		if err != nil {
			t.Fatal(err)
		}
		f := watch(p[1], "t")
		synctest.Wait()
		b := p[1].open("t")
		defer b.Close()
		if now := b.Snapshot(); now.Active == nil || now.Active.RunID != "r1" || now.View.String() != `{"document":"Hello","mine":1}` {
			t.Fatalf("the other process shows %s, active %v", now.View, now.Active)
		}
		if _, err := b.Edit(t.Context(), thread.Edit{Merge: jsondoc.MustParse(`{"mine":2}`)}); err != nil {
			t.Fatal(err)
		}
		waited := time.Now()
		next, err := b.Run(t.Context(), thread.Request{Input: input("r2", user("u2", "b")), Agent: runOf(saying("Again"))})
		var busy *thread.BusyError
		if !errors.As(err, &busy) || busy.RunID != "r1" || time.Since(waited) < 2*time.Second {
			t.Fatalf("T1: a second run gets %v, %v after %v", next, err, time.Since(waited))
		}
		first := p[0].events(r)
		r.Leave()
		r.Wait()
		synctest.Wait()
		if outcome(first) != "success" {
			t.Errorf("the run ended with %v", first[len(first)-1])
		}
		if types(f.events) != types(first) {
			t.Errorf("T3: the viewer elsewhere saw\n%s\nand who posted it\n%s", types(f.events), types(first))
		}
		if doc, _, _ := a.Doc(); doc.State.String() != `{"document":"Hello","mine":2}` {
			t.Errorf("S6: the state is %s", doc.State)
		}
		p[1].run(b, saying("Again"), input("r3", user("u1", "a"), user("u2", "b")))
		synctest.Wait()
		f.leave()
		sameThread(t, p[0].open("t").Snapshot(), b.Snapshot())
	})
}

// T3: a viewer that waits for a thread that nobody has begun sees it begin in
// another process.
func TestSharedBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := processes(t, 2, thread.Options{})
		defer p[0].close()
		defer p[1].close()
		f := watch(p[1], "t")
		synctest.Wait()
		a := p[0].open("t")
		defer a.Close()
		events := p[0].run(a, saying("Hi"), input("r1", user("u1", "a")))
		synctest.Wait()
		f.leave()
		if types(f.events) != types(events) {
			t.Errorf("the viewer saw %s (%v), want %s", types(f.events), f.err, types(events))
		}
	})
}

// A stop, a superseding run and the deletion of the thread reach the process that
// drives the run, whichever it is.
func TestSharedStop(t *testing.T) {
	for _, way := range []string{"stop", "supersede", "forget", "stop before its driver is there"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := processes(t, 2, thread.Options{})
				defer p[0].close()
				defer p[1].close()
				a, b := p[0].open("t"), p[1].open("t")
				defer a.Close()
				defer b.Close()
				r, err := p[0].start(a, held(), input("r1", user("u1", "a")))
				if err != nil {
					t.Fatal(err)
				}
				if way != "stop before its driver is there" {
					synctest.Wait()
				}
				b.Close()
				b = p[1].open("t")
				switch way {
				case "forget":
					if err := b.Forget(t.Context()); err != nil {
						t.Fatal(err)
					}
				case "supersede":
					next, err := b.Run(t.Context(), thread.Request{Input: input("r2", user("u2", "b")), Agent: runOf(saying("New")), Supersede: true})
					if err != nil {
						t.Fatal(err)
					}
					if got := outcome(p[1].events(next)); got != "success" {
						t.Errorf("the run that came instead: %s", got)
					}
					next.Leave()
				default:
					if !b.Stop() {
						t.Error("there is nothing to stop")
					}
				}
				if got := outcome(p[0].events(r)); got != "cancelled" {
					t.Errorf("the run ended with %s", got)
				}
				r.Leave()
				r.Wait()
				synctest.Wait()
				if way == "forget" {
					if s := b.Snapshot(); s.Known() {
						t.Errorf("the thread is still there: %v", s.Position)
					}
					p[0].run(p[0].open("t"), saying("Anew"), input("r3", user("u3", "c")))
					p[1].open("t").Close()
					if got := talk(b.Messages()); got != "user c | assistant Anew" {
						t.Errorf("after it: %s", got)
					}
				}
			})
		})
	}
}

// A forgotten thread's viewers in other processes are told, and see the next
// one's events under its own positions.
func TestSharedForgetEndsViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := processes(t, 2, thread.Options{})
		defer p[0].close()
		defer p[1].close()
		a := p[0].open("t")
		defer a.Close()
		for i := range 5 {
			p[0].run(a, saying("Hi"), input(fmt.Sprint("r", i), user(fmt.Sprint("u", i), "a")))
		}
		f := watch(p[1], "t")
		synctest.Wait()
		if err := a.Forget(t.Context()); err != nil {
			t.Fatal(err)
		}
		// At once, so that the other process finds a log with a head again.
		p[0].run(a, saying("Anew"), input("r9", user("u9", "b")))
		synctest.Wait()
		if !errors.Is(f.err, thread.ErrForgotten) {
			t.Errorf("the viewer's body ended with %v", f.err)
		}
		f.leave()
		b := p[1].open("t")
		defer b.Close()
		sameThread(t, b.Snapshot(), a.Snapshot())
	})
}

// A run that nobody watches lingers for viewers of all processes: those elsewhere
// keep it, and it stops when they have gone. A run that waits elsewhere replaces
// it only when nobody watches.
func TestSharedLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := processes(t, 2, thread.Options{})
		defer p[0].close()
		defer p[1].close()
		a := p[0].open("t")
		defer a.Close()
		r, err := a.Run(t.Context(), attached(input("r1", user("u1", "a")), slowly("Well", time.Hour), 10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		f := watch(p[1], "t")
		synctest.Wait()
		r.Leave() // here nobody is left
		time.Sleep(5 * time.Minute)
		if a.Snapshot().Active == nil {
			t.Fatal("the run was stopped though somebody watches it elsewhere")
		}
		f.leave()
		time.Sleep(40 * time.Second) // at most one linger time, twice asked
		if a.Snapshot().Active != nil {
			t.Fatal("the run goes on though nobody watches it")
		}
		r.Wait()

		// Nobody watches this one, for now.
		r, err = a.Run(t.Context(), attached(input("r2", user("u2", "b")), slowly("Well", time.Hour), 10*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		r.Leave()
		b := p[1].open("t")
		defer b.Close()
		next, err := b.Run(t.Context(), thread.Request{Input: input("r3", user("u3", "c")), Agent: runOf(saying("New"))})
		if err != nil {
			t.Fatalf("T1: a run that nobody watches is in the way: %v", err)
		}
		p[1].events(next)
		next.Leave()
		r.Wait()
		next.Wait()

		// And this one somebody watches where nobody asked: in a third process.
		c := newSetupOn(t, p[0].store, document, thread.Options{})
		defer c.close()
		r, err = a.Run(t.Context(), attached(input("r4", user("u4", "d")), slowly("Well", time.Minute), 10*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		f = watch(c, "t")
		synctest.Wait()
		r.Leave()
		if _, err = b.Run(t.Context(), thread.Request{Input: input("r5", user("u5", "e")), Agent: runOf(saying("New"))}); err == nil {
			t.Error("T1: a run that somebody watches was replaced")
		}
		r.Wait()
		f.leave()
	})
}

// T4: a process that is cut off loses its runs when their lease is over: they are
// ended for viewers elsewhere, what was predicted is taken back, the thread takes
// new runs, and nothing that the lost process says is taken any more.
func TestSharedOwnerIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		cut, kill := context.WithCancel(context.Background())
		defer kill()
		a := newSetupOn(t, deadStore{store, cut}, document, thread.Options{StoreWait: 25 * time.Second})
		b := newSetupOn(t, shared{store}, document, thread.Options{})
		defer b.close()
		th := a.open("t")
		in := input("r1", user("u1", "a"))
		in.State = jsondoc.MustParse(`{"document":"old"}`)
		r, err := a.start(th, held(), in)
		if err != nil {
			t.Fatal(err)
		}
		f := watch(b, "t")
		time.Sleep(5 * time.Minute) // its lease is renewed all the time
		here := b.open("t")
		defer here.Close()
		if s := here.Snapshot(); s.Active == nil || s.View.String() != `{"document":"Hello"}` {
			t.Fatalf("after five minutes without a word: %s, active %v", s.View, s.Active)
		}
		kill()
		time.Sleep(15 * time.Second)
		if s := here.Snapshot(); s.Active != nil || s.View.String() != `{"document":"old"}` {
			t.Fatalf("T4: after its process was lost: %s, active %v", s.View, s.Active)
		}
		if got := outcome(f.events); got != agui.CodeOwnerLost {
			t.Errorf("T4: the viewer elsewhere saw the end %s", got)
		}
		b.run(here, saying("Here"), input("r2", user("u2", "b")))
		f.leave()
		r.Leave()
		r.Wait()
		th.Close()
		a.close()
		if got := reload(t, store, b.model, thread.Key{Agent: "a", ID: "t"}); talk(got.Messages) != "user a | assistant Wellwrite({\"document\":\"Hello) | user b | assistant Here" {
			t.Errorf("the log says %s", talk(got.Messages))
		}
	})
}

// A process that was only slow finds its run ended, stops its agent, and what it
// still says is not taken (fencing).
func TestSharedSlowOwnerIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		p := newSetupOn(t, shared{store}, document, thread.Options{})
		defer p.close()
		// A process that renews nothing: its lease is over before it would.
		slow := newSetupOn(t, shared{hiccup{store, time.Minute}}, document, thread.Options{StoreWait: 5 * time.Minute})
		defer slow.close()
		a, b := slow.open("t"), p.open("t")
		defer a.Close()
		defer b.Close()
		ended := make(chan error, 1)
		r, err := a.Run(t.Context(), thread.Request{Input: input("r1", user("u1", "a")), Agent: func(ctx context.Context, _ []*message.Message, _ ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
			return func(yield func(*agent.ResponseUpdate, error) bool) {
				for i := range 100 {
					if !yield(&agent.ResponseUpdate{MessageID: "m", Contents: []message.Content{&message.TextContent{Text: fmt.Sprint(i, " ")}}}, nil) {
						break
					}
					time.Sleep(time.Second)
					if ctx.Err() != nil {
						break
					}
				}
				ended <- context.Cause(ctx)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		f := watch(p, "t")
		time.Sleep(3 * time.Minute)
		if s := b.Snapshot(); s.Active != nil {
			t.Error("T4: the run is still active")
		}
		if err := <-ended; err == nil {
			t.Error("the agent was not stopped")
		}
		if got := outcome(f.events); got != agui.CodeOwnerLost || strings.Count(types(f.events), "RUN_ERROR") != 1 {
			t.Errorf("the viewer saw %s", types(f.events))
		}
		f.leave()
		r.Leave()
		r.Wait()
		sameThread(t, slow.open("t").Snapshot(), reload(t, store, p.model, thread.Key{Agent: "a", ID: "t"}))
	})
}

// hiccup is a store whose appends take long from the second one of a log on.
type hiccup struct {
	thread.Store
	takes time.Duration
}

func (s hiccup) Append(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry) error {
	if after.Seq > 0 {
		select {
		case <-time.After(s.takes):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.Store.Append(ctx, key, after, entries)
}

// Whatever several processes do to a thread, one after the other and at once, all
// of them show what the log says, and the log stays whole while each of them
// compacts it (T2, S1).
func TestSharedAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		retain := thread.Retention{Runs: rapid.SampledFrom([]int{0, 1, 2}).Draw(rt, "runs kept")}
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]int {
			return [2]int{rapid.IntRange(0, 2).Draw(t, "process"), rapid.IntRange(0, 9).Draw(t, "what")}
		}), 1, 30).Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			store := memory.New()
			p := make([]*setup, 3)
			th := make([]*thread.Thread, 3)
			for i := range p {
				p[i] = newSetupOn(t, shared{store}, document, thread.Options{Retention: retain})
				defer p[i].close()
				th[i] = p[i].open("t")
				defer th[i].Close()
			}
			f := watch(p[2], "t")
			for n, step := range steps {
				s := p[step[0]]
				at := s.open("t")
				switch what := step[1]; {
				case what < 5:
					m := agenttest.New(
						agenttest.Turn(agenttest.Call(fmt.Sprint("c", n), "write", fmt.Sprintf(`{"document":"%d"}`, n))),
						agenttest.Turn(agenttest.Text(fmt.Sprint("A", n))))
					in := input(fmt.Sprint("r", n), append(at.Messages(), user(fmt.Sprint("u", n), fmt.Sprint("Q", n)))...)
					in.State = at.Snapshot().View
					s.run(at, m.Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}}), withBase(in, position(at)))
				case what < 7:
					if _, err := at.Edit(t.Context(), thread.Edit{Merge: jsondoc.MustParse(fmt.Sprintf(`{"mine":%d}`, n))}); err != nil {
						t.Fatal(err)
					}
				case what < 8:
					_, _ = at.Undo(t.Context())
				case what < 9:
					if n%3 == 0 {
						if err := at.Forget(t.Context()); err != nil {
							t.Fatal(err)
						}
						synctest.Wait()
						f.leave()
						f = watch(p[2], "t")
					}
				default: // all at once
					done := make(chan error, 3)
					for i, s := range p {
						go func() {
							one := s.open("t")
							defer one.Close()
							if n%2 == 0 { // T1: one waits for the other
								s.run(one, saying("At once"), input(fmt.Sprintf("r%d-%d", n, i), user(fmt.Sprintf("u%d-%d", n, i), "Q")))
								done <- nil
								return
							}
							_, err := one.Edit(t.Context(), thread.Edit{Merge: jsondoc.MustParse(fmt.Sprintf(`{"p%d":%d}`, i, n))})
							done <- err
						}()
					}
					for range p {
						if err := <-done; err != nil {
							t.Fatal(err)
						}
					}
				}
				at.Close()
				synctest.Wait() // the viewer is not the slow one of T6
			}
			want := reload(t, store, p[0].model, thread.Key{Agent: "a", ID: "t"})
			for _, s := range p {
				one := s.open("t")
				got := one.Snapshot()
				if !want.Known() && !got.Known() {
					got.Position, got.State, want.Position, want.State = thread.Position{}, jsondoc.Value{}, thread.Position{}, jsondoc.Value{}
				}
				sameThread(t, got, want)
				one.Close()
			}
			f.leave()
			// Three runs at once may be compacted before it has read the first.
			if f.err != nil && !errors.Is(f.err, context.Canceled) && !errors.Is(f.err, thread.ErrTooOld) {
				t.Errorf("the viewer's body ended with %v", f.err)
			}
		})
	})
}
