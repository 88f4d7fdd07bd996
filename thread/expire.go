package thread

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/run"
	"github.com/lockstep-go/lockstep/state"
)

// expiredAnswer is Answered.Said of a proposal that nobody answered in time.
const expiredAnswer = "expired"

// expire takes proposals back whose time is over, in a run of its own. While a
// run is active nothing is open that could expire: it began by deciding all.
// Callers hold writing.
func (t *Thread) expire(ctx context.Context) error {
	f := &t.fold
	if f.active != nil {
		return nil
	}
	now := time.Now()
	var open []state.Proposal
	var inside []draft
	key, mark := run.NewID("expiry"), state.Mark{By: state.BySystem}
	for _, p := range f.open {
		if !p.Expired(now) {
			open = append(open, p)
			continue
		}
		inside = append(inside, draft{run: key, mark: mark, settled: p.Key(), answer: Answered{ID: p.Ask.ID, Said: expiredAnswer}})
	}
	if len(inside) == 0 {
		return nil
	}
	if t.model.Keeps() || !f.doc.State.IsAbsent() {
		view := t.model.NewSession(f.doc, open...).Doc().View
		inside = append(inside, draft{run: key, mark: mark, view: view, event: &agui.StateSnapshot{Snapshot: view}})
	}
	_, err := t.append(ctx, t.threads.opts.StoreWait/10, t.entries(t.ownRun(f, key, inside, open)))
	return err
}

// planExpiry sets the clock for the proposal that expires next, while somebody
// watches. Callers hold mu.
func (t *Thread) planExpiry() {
	if t.expiry != nil {
		t.expiry.Stop()
		t.expiry = nil
	}
	if t.watchers == 0 {
		return
	}
	var next time.Time
	for _, p := range t.fold.open {
		if !p.Expires.IsZero() && (next.IsZero() || p.Expires.Before(next)) {
			next = p.Expires
		}
	}
	if next.IsZero() {
		return
	}
	t.expiry = time.AfterFunc(max(time.Until(next), 0), t.expireNow)
}

// expireNow is expire on a clock of its own.
func (t *Thread) expireNow() {
	t.threads.mu.Lock()
	if t.threads.closed {
		t.threads.mu.Unlock()
		return
	}
	t.threads.runs.Add(1)
	t.threads.mu.Unlock()
	defer t.threads.runs.Done()
	t.writing.Lock()
	defer t.writing.Unlock()
	if err := t.expire(t.threads.base); err != nil {
		t.threads.opts.Logger.Warn("an expired proposal could not be taken back", "thread", t.key.ID, "error", err)
	}
}
