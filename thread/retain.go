package thread

import (
	"context"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
)

// Retention says how long what is kept. The zero value keeps everything.
type Retention struct {
	// Age is how long after its last append a thread is kept. Zero: for ever.
	Age time.Duration
	// Runs is how many runs of a thread stay apart, at least. When there are
	// twice as many, the older ones become one entry: the state and the
	// messages as they were then. What they changed cannot be undone any more,
	// and answers to their interrupts are not known again. Zero: all.
	Runs int
}

const (
	sweepAtOnce   = 100
	sweepInterval = time.Hour
)

// sweep forgets what is too old, again and again until ctx is done.
func (ts *Threads) sweep(ctx context.Context) {
	tick := time.NewTicker(min(sweepInterval, max(ts.opts.Retention.Age/10, time.Second)))
	defer tick.Stop()
	for {
		if n, err := ts.Sweep(ctx); err != nil && ctx.Err() == nil {
			ts.opts.Logger.Warn("old threads could not be forgotten", "error", err)
		} else if n > 0 {
			ts.opts.Logger.Info("old threads were forgotten", "threads", n)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Sweep forgets the threads whose last append is longer ago than Retention.Age,
// but none that somebody uses, and returns how many. It does nothing where Age
// is zero. A Threads with an age sweeps by itself.
func (ts *Threads) Sweep(ctx context.Context) (forgotten int, err error) {
	if ts.opts.Retention.Age <= 0 {
		return 0, nil
	}
	before := time.Now().Add(-ts.opts.Retention.Age)
	for {
		keys, err := ts.store.Stale(ctx, before, sweepAtOnce)
		if err != nil {
			return forgotten, storeError(err)
		}
		progress := false
		for _, key := range keys {
			done, err := ts.sweepOne(ctx, key, before)
			if err != nil {
				return forgotten, err
			}
			if done {
				forgotten++
				progress = true
			}
		}
		if !progress || len(keys) < sweepAtOnce {
			return forgotten, nil
		}
	}
}

// sweepOne forgets one thread if nobody has it.
func (ts *Threads) sweepOne(ctx context.Context, key Key, before time.Time) (done bool, err error) {
	ts.mu.Lock()
	t := ts.open[key]
	if ts.closed || t != nil && t.users > 0 {
		ts.mu.Unlock()
		return false, nil
	}
	t = ts.hand(key, nil)
	ts.mu.Unlock()
	defer t.Close()
	if err := t.writing.take(ctx, ts.requestWait()); err != nil {
		return false, err
	}
	defer t.writing.give()
	if err := t.catchUp(ctx); err != nil {
		return false, err
	}
	if t.fold.touched.After(before) || t.fold.head.Seq == 0 {
		return false, nil // appended to meanwhile, or gone
	}
	return true, t.forget(ctx)
}

// Forget removes the thread: its active run is stopped first, and its viewers'
// bodies end.
func (t *Thread) Forget(ctx context.Context) error {
	defer t.listenIn()()
	asked := "" // the run of another process that was told to stop
	for {
		if err := t.writing.take(ctx, t.threads.requestWait()); err != nil {
			return err
		}
		a := t.fold.active
		away := t.elsewhere(time.Now())
		if a == nil || a.key != t.mine && !away {
			defer t.writing.give()
			return t.forget(ctx)
		}
		t.mu.Lock()
		d, grown := t.driver, t.grown
		if d != nil && d.key != a.key {
			d = nil // the run before, which has not gone yet
		}
		t.mu.Unlock()
		t.writing.give()
		// Not under the lock: the run's end has to be written first. Then another
		// run may have begun.
		if d != nil {
			d.stop()
		}
		if away && asked != a.key {
			asked = a.key
			if err := t.signal(ctx, Signal{SignalStop, a.key}); err != nil {
				return err
			}
		}
		select {
		case <-grown: // also when a run that has just begun gets its driver
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// forget is Forget where no run is active. Callers hold writing.
func (t *Thread) forget(ctx context.Context) error {
	if t.fold.head.Seq > 0 {
		if err := t.threads.store.Compact(ctx, t.key, t.fold.head, 0, t.fold.head.Seq, nil); err != nil {
			return storeError(err)
		}
	}
	t.begun()
	return nil
}

// begun makes the thread one that has no log. Callers hold writing.
func (t *Thread) begun() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = gone{head: t.fold.head, ring: t.ring}
	t.fold, t.ring, t.mine = fold{head: Head{Epoch: newEpoch()}}, ring{}, ""
	t.planExpiry()
	t.wake()
}

// condense makes the oldest runs of a log one short run, where there are too
// many. Callers hold writing; everything up to the floor is compacted.
func (t *Thread) condense(ctx context.Context) error {
	keep := t.threads.opts.Retention.Runs
	f := &t.fold
	var old []runRecord // compacted, oldest first
	for _, r := range f.runs {
		if r.last > 0 && r.last <= f.floor {
			old = append(old, r)
		}
	}
	if keep <= 0 || len(old) < 2*keep || len(f.open) > 0 {
		return nil
	}
	last := old[len(old)-keep-1]
	entries := f.condensed(t.key.ID, last)
	if uint64(len(entries)) > last.last {
		return nil
	}
	if err := t.threads.store.Compact(ctx, t.key, f.head, 0, last.last, entries); err != nil {
		return storeError(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f.runs = slices.DeleteFunc(f.runs, func(r runRecord) bool { return r.first < last.first })
	f.changes = slices.DeleteFunc(f.changes, func(c changeRecord) bool { return c.seq <= last.last })
	return nil
}

// condensed is a log up to the end of a run as one run that nobody posted.
func (f *fold) condensed(threadID string, r runRecord) []Entry {
	var messages []agui.Message
	for _, m := range f.messages() {
		if o, ok := f.origins[m.ID]; ok && o.seq <= r.last {
			messages = append(messages, m)
		}
	}
	view := r.end.View
	if view.IsAbsent() {
		view = jsondoc.Object()
	}
	first := r.last - 3
	runID := ownRunID(first)
	events := []agui.Event{
		&agui.RunStarted{ThreadID: threadID, RunID: runID, ProtocolVersion: agui.ProtocolVersion},
		&agui.StateSnapshot{Snapshot: view},
		&agui.MessagesSnapshot{Messages: messages},
		&agui.RunFinished{ThreadID: threadID, RunID: runID},
	}
	out := make([]Entry, len(events))
	for i, e := range events {
		out[i] = Entry{Seq: first + uint64(i), Time: r.ended, Run: r.key, Author: state.BySystem, Event: e}
	}
	if !r.end.State.IsAbsent() {
		out[1].Change, out[1].Revision = state.Change(jsondoc.Value{}, r.end.State), r.revision
	}
	return out
}
