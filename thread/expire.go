package thread

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/run"
	"github.com/lockstep-go/lockstep/state"
)

// expiredAnswer is Answered.Said of a proposal that nobody answered in time.
const expiredAnswer = "expired"

// expire takes proposals back whose time is over, in a run of its own. While a
// run is active nothing is open that could expire: it began by deciding all.
// Callers hold writing.
func (t *Thread) expire(ctx context.Context) error {
	return t.commitHeld(ctx, t.threads.requestWait(), func(f *fold) ([]draft, error) {
		return t.expired(f, time.Now())
	})
}

// expired is the run that takes back what has expired by now; empty where
// nothing has.
func (t *Thread) expired(f *fold, now time.Time) ([]draft, error) {
	if f.active != nil {
		return nil, nil
	}
	key, mark := run.NewID("expiry"), state.Mark{By: state.BySystem}
	session := t.model.NewSession(f.doc, f.open...)
	var open []state.Proposal
	var inside []draft
	var lost []jsondoc.Pointer // what people had edited in the proposals
	said := run.Batch{Replace: map[string]agui.Content{}}
	for _, p := range f.open {
		if !p.Expired(now) {
			open = append(open, p)
			continue
		}
		inside = append(inside, draft{run: key, mark: mark, settled: p.Key(), answer: Answered{ID: p.Ask.ID, Said: expiredAnswer}})
		lost = append(lost, session.Reject(p.Call)...)
		if p.Ask.Placeholder != "" {
			said.Replace[p.Ask.Placeholder] = agui.Text(run.ExpiredText)
		}
	}
	if len(inside) == 0 {
		return nil, nil
	}
	if t.model.Keeps() || !f.doc.State.IsAbsent() {
		view := session.Doc().View
		inside = append(inside, draft{run: key, mark: mark, view: view, event: &agui.StateSnapshot{Snapshot: view}})
	}
	if len(lost) > 0 {
		inside = append(inside, draft{run: key, mark: mark, event: state.ConflictEvent(lost, state.RejectResult)})
	}
	if len(said.Replace) > 0 {
		all, err := f.conversation(said)
		if err != nil {
			return nil, err
		}
		inside = append(inside, draft{run: key, mark: mark, event: &agui.MessagesSnapshot{Messages: all}})
	}
	return t.ownRun(f, key, inside, open), nil
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
	if !t.threads.enter() {
		return
	}
	defer t.threads.runs.Done()
	err := t.writing.take(t.threads.base, t.threads.opts.StoreWait)
	if err == nil {
		defer t.writing.give()
		err = t.expire(t.threads.base)
	}
	if err != nil {
		t.threads.opts.Logger.Warn("an expired proposal could not be taken back", "thread", t.key.ID, "error", err)
		t.mu.Lock()
		if t.watchers > 0 && t.expiry != nil { // who watches is to see it when the store is back
			t.expiry.Stop()
			t.expiry = time.AfterFunc(time.Second, t.expireNow)
		}
		t.mu.Unlock()
	}
}
