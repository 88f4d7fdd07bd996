package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// watcher follows a thread in a goroutine and keeps what it is given.
type watcher struct {
	thread *client.Thread
	cancel context.CancelFunc
	done   chan struct{}
	err    error

	mu      sync.Mutex
	updates []client.Update
}

func watch(t *testing.T, th *client.Thread) *watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watcher{thread: th, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for u, err := range th.Follow(ctx) {
			if err != nil {
				w.err = err
				return
			}
			w.mu.Lock()
			w.updates = append(w.updates, u)
			w.mu.Unlock()
		}
	}()
	t.Cleanup(w.stop)
	return w
}

func (w *watcher) stop() {
	w.cancel()
	<-w.done
}

// wantGapless fails unless the updates are, of all that the witness has seen, each
// event once and in order from the first on: nothing is left out but in front of
// a new beginning, which is one only where the position had become too old.
func (w *watcher) wantGapless(t *testing.T, witness *watcher) {
	t.Helper()
	index := map[string]int{}
	witness.mu.Lock()
	for _, u := range witness.updates {
		if u.Position != "" {
			index[u.Position] = len(index)
		}
	}
	witness.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	last, beginning := -1, true
	for i, u := range w.updates {
		beginning = beginning || u.Resync
		if u.Position == "" {
			continue
		}
		at, ok := index[u.Position]
		switch {
		case !ok && u.Resync:
			// A beginning may stand for an entry that nobody is shown.
		case !ok:
			t.Fatalf("T3: update %d (%s) has position %s, which is nobody else's", i, u.Event.EventType(), u.Position)
		case at <= last:
			t.Fatalf("T3: update %d (%s) was there before", i, u.Event.EventType())
		case !beginning && at != last+1:
			t.Fatalf("T3: %d events are missing in front of update %d (%s)", at-last-1, i, u.Event.EventType())
		}
		if ok {
			last, beginning = at, false
		}
	}
	if last != len(index)-1 && !beginning {
		t.Fatalf("T3: the last %d events are missing", len(index)-1-last)
	}
}

// resyncs counts the log's events and the new beginnings.
func (w *watcher) resyncs() (events, beginnings int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range w.updates {
		switch {
		case !u.Resync:
			events++
		case u.Position != "":
			beginnings++
		}
	}
	return events, beginnings
}

// position is the newest.
func (w *watcher) position() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.updates) == 0 {
		return w.thread.Position()
	}
	return w.updates[len(w.updates)-1].Position
}

func (w *watcher) events() []agui.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []agui.Event
	for _, u := range w.updates {
		list = append(list, u.Event)
	}
	return list
}

// T3: whatever is cut, wherever, who follows is handed every event of the log
// once and in order, and ends with the server's state and messages. The runs
// that are started meanwhile over the same bad line are seen to their end, edits
// arrive, and viewers come at any time. Under LOCKSTEP_LONG=1 ten times as often.
func TestT3WhateverIsCut(t *testing.T) {
	rounds := 1
	if os.Getenv("LOCKSTEP_LONG") == "1" {
		rounds = 10
	}
	for range rounds {
		rapid.Check(t, func(rt *rapid.T) {
			plan := badDay{
				cuts:  rapid.SliceOfN(rapid.IntRange(0, 3000), 1, 16).Draw(rt, "cut after"),
				texts: rapid.SliceOfN(rapid.SampledFrom([]string{"hello", "write a short one", "write " + strings.Repeat("long ", 20)}), 1, 4).Draw(rt, "said"),
				edits: rapid.SliceOfN(rapid.IntRange(0, 40), 0, 4).Draw(rt, "edits after"),
				joins: rapid.SliceOfN(rapid.IntRange(0, 60), 0, 3).Draw(rt, "viewers come after"),
				falls: rapid.SliceOfN(rapid.IntRange(0, 60), 0, 2).Draw(rt, "all lines break after"),
			}
			bubble(t, plan.play)
		})
	}
}

// badDay is what happens on a thread whose clients have a bad line. Times are in
// ticks of 7 ms.
type badDay struct {
	cuts                []int // bytes after which each new connection breaks
	texts               []string
	edits, joins, falls []int
}

func (d badDay) play(t *testing.T) {
	n := serveWriter(t, 20*time.Millisecond)
	var mu sync.Mutex
	n.cut = func() int {
		mu.Lock()
		defer mu.Unlock()
		if len(d.cuts) == 0 {
			return -1
		}
		at := d.cuts[0]
		d.cuts = d.cuts[1:]
		return at
	}
	// The thread is there before anybody is cut: a line that breaks before the
	// server has answered is an error, not a run.
	steady := n.steady(nil)
	first := steady.Thread("t")
	say(t, first, "hello")
	witness := watch(t, first)
	synctest.Wait()

	later := func(ticks []int, do func(i int)) func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i, n := range ticks {
				time.Sleep(time.Duration(n) * 7 * time.Millisecond)
				do(i)
			}
		}()
		return func() { <-done }
	}
	editor := steady.Thread("t")
	edited := later(d.edits, func(i int) {
		edit := fmt.Sprintf(`{"title":"edit %d"}`, i)
		for {
			_, err := editor.Merge(t.Context(), jsondoc.MustParse(edit))
			if err == nil {
				return
			}
			if conflict := (*client.ConflictError)(nil); errors.As(err, &conflict) {
				t.Errorf("edit %d: %v", i, err)
				return
			}
			// All lines broke. The title may be set, and is set again.
		}
	})
	join := func(th *client.Thread) *watcher {
		for { // a first connection may break before the answer
			w := watch(t, th)
			synctest.Wait()
			select {
			case <-w.done:
				continue
			default:
			}
			return w
		}
	}
	th := n.shaky(nil).Thread("t")
	viewers := []*watcher{join(th)}
	joined := later(d.joins, func(int) {
		w := join(n.shaky(nil).Thread("t"))
		mu.Lock()
		viewers = append(viewers, w)
		mu.Unlock()
	})
	fell := later(d.falls, func(int) { n.breakAll() })

	for _, text := range d.texts {
		for {
			events, err := collect(t.Context(), th, &client.RunOptions{Text: text, Attach: true})
			if err != nil && len(events) == 0 {
				continue // the request was cut, or its answer's head
			}
			var failed *client.RunError
			if err != nil && !errors.As(err, &failed) {
				t.Errorf("a run that had begun was lost: %v", err)
			}
			if len(events) > 0 && !ends(events[len(events)-1]) {
				t.Errorf("the run's events are %s", kinds(events))
			}
			break
		}
	}
	edited()
	joined()
	fell()
	all := append(viewers, witness)
	behind := func(position string) bool {
		for _, w := range all {
			if w.position() != position {
				return true
			}
		}
		return false
	}
	for range 100 { // a run whose answer was cut off goes on by itself
		if s := hydrate(t, steady, "t"); s.Active == nil && !behind(s.Position) {
			break
		}
		time.Sleep(time.Second)
	}
	synctest.Wait()

	truth := hydrate(t, steady, "t")
	for _, w := range all {
		wantSame(t, w.thread, truth)
		if w.thread.Position() != truth.Position {
			t.Errorf("T3: a client is at %s, the server at %s", w.thread.Position(), truth.Position)
		}
	}
	if _, resyncs := witness.resyncs(); resyncs == 0 {
		for _, w := range viewers {
			w.wantGapless(t, witness)
		}
	}
}

func ends(e agui.Event) bool {
	switch e.(type) {
	case *agui.RunFinished, *agui.RunError:
		return true
	}
	return false
}
