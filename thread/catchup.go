package thread

import (
	"context"
	"errors"
	"slices"

	"github.com/lockstep-go/lockstep/agui"
)

// refresh brings a thread up to its log and ends what a dead process left.
func (t *Thread) refresh(ctx context.Context) error {
	if err := t.writing.take(ctx, t.threads.requestWait()); err != nil {
		return err
	}
	defer t.writing.give()
	if err := t.catchUp(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	stale := t.stale
	t.mu.Unlock()
	if stale {
		if _, err := t.reread(ctx); err != nil {
			return err
		}
	}
	if err := t.recover(ctx); err != nil {
		return err
	}
	if err := t.expire(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	t.broken = nil
	t.mu.Unlock()
	return nil
}

// catchUp reads what the log has beyond the fold. Callers hold writing.
func (t *Thread) catchUp(ctx context.Context) error {
	_, err := t.readOn(ctx)
	return err
}

// readOn is catchUp, and returns what it found.
func (t *Thread) readOn(ctx context.Context) (found []Entry, err error) {
	head, err := t.find(ctx)
	if err != nil {
		return nil, err
	}
	for now := head; ; head = now {
		found = nil
		for e, err := range t.threads.store.Read(ctx, t.key, t.fold.head.Seq) {
			if err != nil {
				return nil, storeError(err)
			}
			found = append(found, e)
		}
		if len(found) > 0 && t.threads.shared {
			if now, err = t.find(ctx); err != nil {
				return nil, err
			}
		}
		if now.Epoch == head.Epoch {
			break
		} // else it is not sure whose entries these are
	}
	if t.fold.head.Seq > 0 && slices.ContainsFunc(found, func(e Entry) bool { return e.Floor }) {
		// Another process has compacted what this one has seen a part of.
		return t.reread(ctx)
	}
	for i, e := range found {
		if err := t.take(e); err != nil {
			return found[:i], storeError(err)
		}
		t.heard(e)
	}
	if err := t.fold.complete(head.Seq); err != nil {
		return found, storeError(err)
	}
	return found, nil
}

// find says where the log ends, as far as that has to be asked: the first time,
// and on a shared store each time, because another process may have forgotten
// the thread. The numbers of another log mean something else.
func (t *Thread) find(ctx context.Context) (Head, error) {
	if t.loaded && !t.threads.shared {
		return Head{}, nil
	}
	head, err := t.threads.store.Head(ctx, t.key)
	if err != nil {
		return head, storeError(err)
	}
	if t.fold.head.Seq > 0 && head.Epoch != t.fold.head.Epoch {
		t.begun()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case head.Epoch != "" && head.Epoch != t.fold.head.Epoch:
		t.unborn, t.fold.head.Epoch = t.fold.head.Epoch, head.Epoch
	case !t.loaded:
		t.fold.head.Epoch = newEpoch()
	}
	t.loaded = true
	return head, nil
}

// reread folds the log from its beginning and returns what was new in it: another
// process has compacted it, and things have other numbers now. Callers hold
// writing.
func (t *Thread) reread(ctx context.Context) (found []Entry, err error) {
	now := t.fold.head
	fresh, list := fold{head: Head{Epoch: now.Epoch}}, ring{}
	for e, err := range t.threads.store.Read(ctx, t.key, 0) {
		if err != nil {
			return nil, storeError(err)
		}
		if err := fresh.apply(e); err != nil {
			return nil, storeError(err)
		}
		list.push(&Published{Entry: e, epoch: now.Epoch})
		if e.Seq > now.Seq {
			found = append(found, e)
		}
	}
	if head, err := t.find(ctx); err != nil || head.Epoch != now.Epoch {
		return nil, err // forgotten meanwhile; the next look at it begins anew
	}
	if err := fresh.complete(now.Seq); err != nil {
		return nil, storeError(err)
	}
	list.drop(fresh.floor)
	t.mu.Lock()
	t.fold, t.ring, t.stale = fresh, list, false
	t.planExpiry()
	t.wake()
	t.mu.Unlock()
	for _, e := range found {
		t.heard(e)
	}
	return found, nil
}

func storeError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return agui.NewError(agui.CodeStoreUnavailable, "The conversation cannot be stored or read at the moment.", err)
}

// take folds an entry and shows it to viewers.
func (t *Thread) take(e Entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.fold.apply(e); err != nil {
		return err
	}
	t.ring.push(&Published{Entry: e, epoch: t.fold.head.Epoch})
	if e.Proposal != nil || e.Settled != "" {
		t.planExpiry()
	}
	t.wake()
	return nil
}
