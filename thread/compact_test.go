package thread_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
)

// stored are the entries of the log as the store has them.
func (w *studio) stored() []thread.Entry {
	w.t.Helper()
	var out []thread.Entry
	for e, err := range w.store.Store.Read(w.t.Context(), aKey, 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// long is a store with the log as it would be if nothing had been compacted.
func (w *studio) long() thread.Store {
	w.t.Helper()
	head, err := w.store.Head(w.t.Context(), aKey)
	if err != nil {
		w.t.Fatal(err)
	}
	out := memory.New()
	if err := out.Append(w.t.Context(), aKey, thread.Head{Epoch: head.Epoch}, w.store.entries); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// clientTools are the tools of a client that predicts by itself.
var clientTools = []agui.Tool{{Name: "update"}}

// step is one thing that happens on a thread.
func (w *studio) step(c *stockClient, what string, n int) error {
	w.n++
	in := input(fmt.Sprint("step", w.n))
	switch what {
	case "post":
		return c.post(postPlan{reads: n%30 - 1, attach: n%2 == 0, chunk: 5 + n%9, script: [][]string{{"write"}, {"update", "draft"}, {"talk"}}[n%3]}, c.view.State())
	case "ask": // the client's own tool: its prediction stays open
		in.Tools, in.Messages = clientTools, []agui.Message{user(fmt.Sprint("ask", w.n), "propose")}
		m := agenttest.New(agenttest.Turn(agenttest.Call(fmt.Sprint("ask", w.n), "update", fmt.Sprintf(`{"recipe":{"title":"%s"}}`, w.fresh()))))
		w.s.run(w.th, m.Agent(agent.Config{}), in)
	case "answer":
		open := w.th.Snapshot().Open
		if len(open) == 0 {
			return nil
		}
		text := `{"accepted":true}`
		if n%3 == 0 {
			text = `{"accepted":false}`
		}
		in.Tools, in.Messages = clientTools, []agui.Message{toolSays(fmt.Sprint("answer", w.n), open[0].Call, text)}
		w.s.run(w.th, talks(1).Agent(agent.Config{}), in)
	case "branch":
		var asked []int
		log := w.th.Messages()
		for i, m := range log {
			if m.Role == agui.RoleUser {
				asked = append(asked, i)
			}
		}
		in.Messages = slices.Clone(log[:asked[n%len(asked)]+1])
		w.s.run(w.th, talks(1).Agent(agent.Config{}), in)
	default:
		w.others(what)
	}
	synctest.Wait() // the log is compacted
	return nil
}

// Whatever happened on a thread, its compacted log comes to the same as the long
// one: state, view, messages, revision, what is open; and what an undo, a branch
// and a client that was away do next comes to the same as well. Its numbers are
// those of the long one, growing.
func TestCompactedIsTheSame(t *testing.T) {
	kinds := rapid.SampledFrom([]string{"post", "post", "post", "run", "set", "add", "remove", "undo", "ask", "answer", "branch", "reload"})
	for range rounds() {
		rapid.Check(t, func(rt *rapid.T) {
			steps := rapid.SliceOfN(kinds, 1, 14).Draw(rt, "steps")
			numbers := rapid.SliceOfN(rapid.IntRange(0, 99), len(steps), len(steps)).Draw(rt, "numbers")
			var err error
			synctest.Test(t, func(t *testing.T) { err = compareCompacted(t, steps, numbers) })
			if err != nil {
				rt.Fatal(err)
			}
		})
	}
}

func compareCompacted(t *testing.T, steps []string, numbers []int) error {
	w := newStudio(t, false)
	defer w.close()
	c := &stockClient{studio: w, view: agui.NewReducer(nil, jsondoc.Value{})}
	if err := c.post(postPlan{reads: -1, chunk: 20}, jsondoc.MustParse(`{"document":"first","notes":{"a":1,"b":2},"list":["x","y"]}`)); err != nil {
		return err
	}
	for i, what := range steps {
		if err := w.step(c, what, numbers[i]); err != nil {
			return err
		}
	}
	numbersOf := map[uint64]bool{}
	for _, e := range w.store.entries {
		numbersOf[e.Seq] = true
	}
	var last uint64
	for _, e := range w.stored() {
		if e.Seq <= last || !numbersOf[e.Seq] {
			return fmt.Errorf("the stored log has %d behind %d", e.Seq, last)
		}
		last = e.Seq
	}
	if head := position(w.th); last != head.Seq {
		return fmt.Errorf("the stored log ends at %d, the thread at %d", last, head.Seq)
	}
	short := memory.New()
	if err := copyLog(w, short); err != nil {
		return err
	}
	return sameFuture(t, w, c, short, w.long())
}

// copyLog makes a store of its own with the compacted log, so that what comes
// next does not depend on the thread in memory.
func copyLog(w *studio, into thread.Store) error {
	head := position(w.th)
	// A store takes dense numbers only; the short form gets there by compaction.
	if err := into.Append(w.t.Context(), aKey, thread.Head{Epoch: head.Epoch}, w.store.entries); err != nil {
		return err
	}
	return into.Compact(w.t.Context(), aKey, head, 0, head.Seq, w.stored())
}

// sameFuture opens two stores and does the same to both.
func sameFuture(t *testing.T, w *studio, c *stockClient, stores ...thread.Store) error {
	type outcome struct {
		what string
		snap thread.Snapshot
	}
	var sides [2][]outcome
	for i, store := range stores {
		threads := thread.New(store, nil)
		th, err := threads.Open(t.Context(), aKey, w.s.model)
		if err != nil {
			return err
		}
		note := func(what string) { sides[i] = append(sides[i], outcome{what, th.Snapshot()}) }
		note("opened")
		for range 3 {
			done, err := th.Undo(t.Context())
			var refused *thread.RefusedError
			if err != nil && !errors.As(err, &refused) {
				return err
			}
			note(fmt.Sprint("undo ", done.Conflicts, done.Merged, refused != nil))
		}
		// A client that was away posts what it had.
		ask := input("away", append(c.view.Messages(), user("away", "I am back"))...)
		ask.State = c.view.State()
		r, err := th.Run(t.Context(), thread.Request{Input: ask, Agent: runOf(talks(1).Agent(agent.Config{}))})
		if err != nil {
			return err
		}
		for _, err := range r.Events(t.Context()) {
			if err != nil {
				return err
			}
		}
		r.Leave()
		r.Wait()
		synctest.Wait()
		note("posted")
		for _, patch := range []string{`{"mine":1}`, `{"recipe":{"title":"mine"}}`, `{"notes":null}`} {
			_, err := th.Edit(t.Context(), thread.Edit{Merge: jsondoc.MustParse(patch)})
			note(fmt.Sprint("edit ", err))
		}
		th.Close()
		closeThreads(t, threads)
	}
	for i, a := range sides[0] {
		b := sides[1][i]
		same := a.what == b.what && a.snap.Revision == b.snap.Revision &&
			jsondoc.Equal(a.snap.State, b.snap.State) && jsondoc.Equal(a.snap.View, b.snap.View) &&
			fmt.Sprint(a.snap.Open) == fmt.Sprint(b.snap.Open) && (a.snap.Active == nil) == (b.snap.Active == nil)
		if x, y := talk(a.snap.Messages), talk(b.snap.Messages); !same || x != y {
			return fmt.Errorf("of the compacted log: %s, revision %d, state %s, view %s, open %v, %s\nof the long one: %s, revision %d, state %s, view %s, open %v, %s",
				a.what, a.snap.Revision, a.snap.State, a.snap.View, a.snap.Open, x, b.what, b.snap.Revision, b.snap.State, b.snap.View, b.snap.Open, y)
		}
	}
	return nil
}

// When a run is compacted: when the next one that somebody posted has ended. A
// viewer can go on from every position behind it. An open proposal keeps its
// run, and what came behind that.
func TestWhenCompacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newStudio(t, false)
		defer w.close()
		c := &stockClient{studio: w, view: agui.NewReducer(nil, jsondoc.Value{})}
		var begins []thread.Position // of each step
		do := func(what string, n int) {
			begins = append(begins, position(w.th))
			if err := w.step(c, what, n); err != nil {
				t.Fatal(err)
			}
		}
		floor := func() int { // the first step that can be gone on from
			for i, p := range begins {
				if _, ok := w.th.Snapshot().After(p.String()); ok && i > 0 {
					return i
				}
			}
			return len(begins)
		}
		begins = append(begins, thread.Position{})
		if err := c.post(postPlan{reads: -1, chunk: 5, script: []string{"write"}}, jsondoc.MustParse(`{"document":"first"}`)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for i, s := range []struct {
			what string
			n    int
			want int // the step that a viewer can go on from then
		}{
			{"run", 0, 1},    // 1: the post before it is one run ago
			{"run", 0, 2},    // 2
			{"add", 0, 2},    // 3: an edit is no run that somebody waits for
			{"add", 0, 2},    // 4
			{"ask", 0, 5},    // 5: the edits as well
			{"run", 0, 5},    // 6
			{"run", 0, 5},    // 7: the proposal of 5 is open
			{"add", 0, 5},    // 8
			{"answer", 1, 9}, // 9: decided
			{"run", 0, 10},   // 10
		} {
			do(s.what, s.n)
			if got := floor(); got != s.want {
				t.Errorf("behind step %d, %s, a viewer can go on from step %d, want %d", i+1, s.what, got, s.want)
			}
		}
		if long, short := len(w.store.entries), len(w.stored()); short >= long {
			t.Errorf("the log has %d entries of %d: nothing was compacted", short, long)
		}
	})
}
