package thread

import (
	"context"
	"slices"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/state"
)

// compact shrinks the runs that nobody can need in detail any more: those that
// ended before the newest run began (viewers that reconnect, and the echo rule
// of S2, need the newest two), and none that an open proposal rests on. What
// they committed, said and left behind stays; predictions and fragments go.
func (t *Thread) compact(ctx context.Context) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	f := &t.fold
	upTo := f.compactable()
	if upTo <= f.floor || t.unread(upTo) {
		return nil
	}
	entries, err := t.between(ctx, f.floor, upTo)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	if err := t.threads.store.Compact(ctx, t.key, f.head, f.floor, upTo, f.compacted(entries)); err != nil {
		return storeError(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f.floor = upTo
	t.ring.drop(upTo)
	return nil
}

// unread reports whether somebody who posted a run has not read it to its end yet
// and would miss what goes up to there: a quick run may be followed by two more
// before its reader gets to it. The next run's end tries again.
func (t *Thread) unread(upTo uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for r := range t.unfinished {
		if r.first.Seq < upTo {
			return true
		}
	}
	return false
}

// between reads entries, from memory where they are there.
func (t *Thread) between(ctx context.Context, after, upTo uint64) ([]Entry, error) {
	var out []Entry
	t.mu.Lock()
	list, ok := t.ring.behind(after, t.fold.head.Seq)
	t.mu.Unlock()
	if ok {
		for _, p := range list {
			if p.Seq <= upTo {
				out = append(out, p.Entry)
			}
		}
		return out, nil
	}
	for e, err := range t.threads.store.Read(ctx, t.key, after) {
		if err != nil {
			return nil, storeError(err)
		}
		if e.Seq > upTo {
			break
		}
		out = append(out, e)
	}
	return out, nil
}

// compactable is the end of what may be compacted: the last entry of the run
// before the one that ended last.
func (f *fold) compactable() uint64 {
	if f.active != nil {
		return 0
	}
	rests := f.head.Seq // where the first run begins that an open proposal rests on
	for _, p := range f.open {
		for _, r := range f.runs {
			if at := f.proposed[p.Key()]; r.last > 0 && r.first <= at && at <= r.last {
				rests = min(rests, r.first)
			}
		}
	}
	posted := 0 // runs that somebody asked for, from the newest on; edits are none
	for _, r := range slices.Backward(f.runs) {
		if posted >= 1 && r.last > 0 && r.last < rests {
			return r.last
		}
		if !r.own {
			posted++
		}
	}
	return 0
}

// compacted is the short form of whole runs' entries. It folds to the same: the
// state with its changes, the messages, the views at the runs' ends, what is
// open. Its numbers are among theirs, and the last is the floor.
func (f *fold) compacted(entries []Entry) []Entry {
	var out []Entry
	for len(entries) > 0 {
		n := slices.IndexFunc(entries, func(e Entry) bool { return isTerminal(e.Event) }) + 1
		if n == 0 {
			n = len(entries) // what stands behind the last run: records
		}
		out = append(out, f.compactedRun(entries[:n])...)
		entries = entries[n:]
	}
	out[len(out)-1].Floor = true
	return out
}

func isTerminal(e agui.Event) bool {
	switch e.(type) {
	case *agui.RunFinished, *agui.RunError:
		return true
	}
	return false
}

func (f *fold) compactedRun(entries []Entry) []Entry {
	var records, events []Entry
	var said []agui.Event
	var view *Entry // the last state event
	template := entries[len(entries)-1]
	for _, e := range entries {
		record := e
		record.Event, record.Lease, record.Left, record.Started = nil, nil, 0, ""
		keep := record.Change != nil || record.Proposal != nil || record.Settled != "" || record.Answer.ID != "" || record.Undoes != ""
		switch ev := e.Event.(type) {
		case *agui.RunStarted:
			template.Run = e.Run
			record.Event, keep = e.Event, true
		case *agui.StateSnapshot, *agui.StateDelta:
			view = &e
		case *agui.Custom:
			// PredictState and conflicts say something to those who were there.
		case nil:
		default:
			said = append(said, ev)
		}
		if keep {
			records = append(records, record)
		}
	}
	for _, ev := range agui.Compact(said) {
		e := Entry{Run: template.Run, Time: template.Time, Author: state.ByAgent, Event: ev}
		events = append(events, e)
	}
	if d, ok := f.docAt(template.Seq); ok && view != nil {
		e := *view
		e = Entry{Time: e.Time, Run: e.Run, Author: e.Author}
		e.Event = &agui.StateSnapshot{Snapshot: d.View}
		// With the last change, where there is one: the short form must not be
		// longer than the run was.
		i := len(records) - 1
		for i >= 0 && (records[i].Change == nil || records[i].Event != nil) {
			i--
		}
		if i >= 0 {
			records[i].Event = e.Event
		} else {
			records = append(records, e)
		}
	}
	out := append(records, events...)
	for i := range out {
		out[i].Seq = entries[len(entries)-len(out)+i].Seq
	}
	return out
}

// drop forgets entries up to a number.
func (r *ring) drop(upTo uint64) {
	i := slices.IndexFunc(r.list, func(p *Published) bool { return p.Seq > upTo })
	if i < 0 {
		i = len(r.list)
	}
	r.list = slices.Clone(r.list[i:])
}

// Forget removes the thread: its active run is stopped first, and its viewers'
// bodies end.
func (t *Thread) Forget(ctx context.Context) error {
	t.mu.Lock()
	d := t.driver
	t.mu.Unlock()
	if d != nil {
		d.stop()
		select {
		case <-d.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	if t.fold.head.Seq > 0 {
		if err := t.threads.store.Compact(ctx, t.key, t.fold.head, 0, t.fold.head.Seq, nil); err != nil {
			return storeError(err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fold, t.ring, t.mine = fold{head: Head{Epoch: newEpoch()}}, ring{}, ""
	close(t.grown)
	t.grown = make(chan struct{})
	return nil
}

// List returns the threads of an agent's principal, newest first: those behind
// after, at most limit.
func (ts *Threads) List(ctx context.Context, agent, principal string, after Listed, limit int) ([]Listed, error) {
	list, err := ts.store.List(ctx, agent, principal, after, limit)
	if err != nil {
		return nil, storeError(err)
	}
	return list, nil
}
