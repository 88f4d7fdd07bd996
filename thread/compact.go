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
	if err := t.writing.take(ctx, t.threads.opts.StoreWait); err != nil {
		return err
	}
	defer t.writing.give()
	f := &t.fold
	upTo := f.compactable()
	if upTo <= f.floor || t.unread(upTo) {
		return nil
	}
	if t.threads.shared {
		if err := t.signalHeld(ctx, Signal{Kind: SignalCompact}); err != nil {
			return err
		}
		if upTo != f.compactable() {
			return nil // others were at work meanwhile, and the next run's end comes
		}
	}
	entries, err := t.between(ctx, f.floor, upTo)
	if err != nil || len(entries) == 0 {
		return err
	}
	if slices.ContainsFunc(entries, func(e Entry) bool { return e.Floor }) {
		// Another process has compacted part of this. The next run's end takes
		// the rest, with the numbers that things have now.
		_, err := t.reread(ctx)
		return err
	}
	if err := t.threads.store.Compact(ctx, t.key, f.head, f.floor, upTo, f.compacted(entries)); err != nil {
		return storeError(err)
	}
	t.mu.Lock()
	f.floor = upTo
	t.ring.drop(upTo)
	t.mu.Unlock()
	return t.condense(ctx)
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
	if ok && !t.threads.shared { // else the store may know better
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
	left := map[string]uint64{} // how far those who posted were written, in the new numbers
	for len(entries) > 0 {
		n := slices.IndexFunc(entries, func(e Entry) bool { return isTerminal(e.Event) }) + 1
		if n == 0 {
			n = len(entries) // what stands behind the last run: records
		}
		out = append(out, f.compactedRun(entries[:n], left)...)
		entries = entries[n:]
	}
	for i, e := range out {
		if at, ok := left[e.Run]; ok && e.Left > 0 {
			out[i].Left = at
		}
	}
	if len(out) > 0 {
		out[len(out)-1].Floor = true
	}
	return out
}

// compactedRun is the short form of one run. Where the one who posted it did not
// see its end, what the run has shown stays, each view at its side of the place
// that the connection was written up to: what that client posts next is read
// with it (S2, T7), whenever that is.
func (f *fold) compactedRun(entries []Entry, left map[string]uint64) []Entry {
	last := entries[len(entries)-1]
	r := f.run(last.Run)
	if r == nil || !r.cut {
		return numbered(f.shortened(entries, false), entries)
	}
	cut := 0
	for cut < len(entries) && entries[cut].Seq <= r.left {
		cut++
	}
	seen := f.shortened(entries[:cut], true)
	out := numbered(append(seen, f.shortened(entries[cut:], true)...), entries)
	if len(seen) > 0 {
		left[r.key] = out[len(seen)-1].Seq
	}
	return out
}

// numbered gives the short form the last numbers of the long one.
func numbered(short, long []Entry) []Entry {
	for i := range short {
		short[i].Seq = long[len(long)-len(short)+i].Seq
	}
	return short
}

// shortened is entries of one run without what only those needed who were there:
// fragments, leases, notices; and unless all views are to stay, all but the last.
func (f *fold) shortened(entries []Entry, allViews bool) []Entry {
	if len(entries) == 0 {
		return nil
	}
	var records []Entry
	var said []agui.Event
	var view *Entry // the last state event
	template := entries[len(entries)-1]
	for _, e := range entries {
		record := e
		record.Event, record.Lease, record.Started = nil, nil, ""
		keep := record.Change != nil || record.Proposal != nil || record.Settled != "" || record.Answer.ID != "" || record.Undoes != "" || record.Left > 0
		switch ev := e.Event.(type) {
		case *agui.RunStarted:
			template.Run = e.Run
			record.Event, keep = e.Event, true
		case *agui.StateSnapshot, *agui.StateDelta:
			if allViews {
				record.Event, keep = e.Event, true
			}
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
	if d, ok := f.docAt(template.Seq); ok && view != nil && !allViews {
		e := Entry{Time: view.Time, Run: view.Run, Author: view.Author, Event: &agui.StateSnapshot{Snapshot: d.View}}
		// In its own entry, where that stays for what else is in it: the short
		// form must not be longer than the run was.
		if i := slices.IndexFunc(records, func(r Entry) bool { return r.Seq == view.Seq }); i >= 0 {
			records[i].Event = e.Event
		} else {
			records = append(records, e)
		}
	}
	for _, ev := range agui.Compact(said) {
		records = append(records, Entry{Run: template.Run, Time: template.Time, Author: state.ByAgent, Event: ev})
	}
	return records
}

// drop forgets entries up to a number.
func (r *ring) drop(upTo uint64) {
	i := slices.IndexFunc(r.list, func(p *Published) bool { return p.Seq > upTo })
	if i < 0 {
		i = len(r.list)
	}
	r.list = slices.Clone(r.list[i:])
}
