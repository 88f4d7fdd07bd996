package thread

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/state"
)

// recover ends a run that nobody drives any more: the process that did was
// killed, or could not store the run's end. Nothing else of it can come: the
// store has one owner, or it takes nothing of a run that has ended, because the
// writer of that finds the head moved. Callers hold writing.
func (t *Thread) recover(ctx context.Context) error {
	a := t.fold.active
	if a == nil || a.key == t.mine || t.elsewhere(time.Now()) {
		return nil
	}
	key := a.key
	lost := agui.NewError(agui.CodeOwnerLost, "The server that ran this was stopped. What was done is kept; ask again for the rest.", nil)
	err := t.commitHeld(ctx, t.threads.requestWait(), func(f *fold) ([]draft, error) {
		return t.lastEntries(f, key, lost), nil
	})
	if err == nil {
		t.threads.opts.Metrics.Recovered.Add(1)
		t.threads.opts.Logger.Warn("a run that nobody drives was ended", "thread", t.key.ID, "run", key)
	}
	return err
}

// lastEntries end a run without its own machine, as the log has it, inside the
// run, so that its viewers see it end: what is open is closed, predictions are
// taken back, then comes RUN_ERROR. There are none for a run that has ended.
func (t *Thread) lastEntries(f *fold, key string, why error) []draft {
	if f.active == nil || f.active.key != key {
		return nil
	}
	mark := state.Mark{By: state.BySystem}
	var drafts []draft
	for _, e := range closers(f.openers) {
		drafts = append(drafts, draft{run: key, mark: mark, event: e})
	}
	open := f.open
	for _, d := range f.decided {
		// Approved, and its tool was not started: it can be approved again.
		open = append(open[:len(open):len(open)], d.proposal)
		drafts = append(drafts, draft{run: key, mark: mark, proposal: &d.proposal})
	}
	if f.active.snapshotted {
		view := t.model.NewSession(f.doc, open...).Doc().View
		drafts = append(drafts, draft{run: key, mark: mark, view: view, event: &agui.StateSnapshot{Snapshot: view}})
	}
	return append(drafts, draft{run: key, mark: mark, event: agui.RunErrorFor(why)})
}

// endLost ends a run that could not store something. What its own machine takes
// for said may not be in the log, or may be all the same, so the end is made of
// what the log has. Where not even that can be stored the run is given up: its
// viewers are told, and whoever opens the thread next finds a run that nobody
// drives.
func (t *Thread) endLost(key string, why error) {
	err := t.commitWithin(t.threads.base, t.threads.requestWait(), func(f *fold) ([]draft, error) {
		return t.lastEntries(f, key, why), nil
	})
	if err == nil {
		return
	}
	t.threads.opts.Logger.Error("the end of a run could not be logged", "thread", t.key.ID, "run", key, "error", err)
	t.writing.insist()
	defer t.writing.give()
	lost := &LostError{Err: why}
	for _, d := range t.lastEntries(&t.fold, key, why) {
		if d.event != nil {
			lost.Events = append(lost.Events, d.event)
		}
	}
	t.disown(key)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broken = lost
	t.wake()
}

// disown says that this process does not drive a run, or not any more. Callers
// hold writing.
func (t *Thread) disown(key string) {
	if t.mine == key {
		t.mine = ""
	}
}

// LostError ends the bodies of a run's viewers where its end could not be
// stored.
type LostError struct {
	Err error // why
	// Events end the run for a viewer that has read everything before. They are
	// not in the log, so they have no position.
	Events []agui.Event
}

func (e *LostError) Error() string { return "thread: the run was given up: " + e.Err.Error() }

// Unwrap returns the store's error.
func (e *LostError) Unwrap() error { return e.Err }

// closers are the events that close what openers opened, the last one first.
func closers(openers []agui.Event) []agui.Event {
	var order agui.Sequence
	_ = order.Check(&agui.RunStarted{}) // neither can be out of order: they were sent
	for _, o := range openers {
		_ = order.Check(o)
	}
	return order.Close()
}
