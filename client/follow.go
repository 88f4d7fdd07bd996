package client

import (
	"context"
	"iter"

	"github.com/lockstep-go/lockstep/agui"
)

// Follow yields everything that happens on the thread, live and across runs,
// until ctx ends, whose error is then the last, or the loop is left. It begins
// behind Position, or with a new beginning (see Update.Resync) where that is
// empty, and goes on over broken connections, server restarts and lost logs.
//
// Each event is handed out once, in order, after State and Messages have moved.
// Events of this Thread's own runs are among them; Start is Run for who follows.
// Several loops may follow one Thread. Run, Patch and the other methods may be
// called inside the loop: they do not wait for it.
//
// The sequence ends after its first error: the server refuses, or what it sends
// is against the protocol, or it could not be reached at all when Follow began.
// A server without threads is an *HTTPError of status 404 or 405.
func (t *Thread) Follow(ctx context.Context) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		cur := t.reader()
		for b, err := range t.client.follow(ctx, t.id, cur, following{live: true, tries: -1, eager: true}) {
			if err != nil {
				yield(Update{}, err)
				return
			}
			whole := t.apply(b)
			for _, u := range b.updates() {
				if !yield(u, nil) {
					return
				}
			}
			if !whole {
				cur.reset()
			}
		}
	}
}

// catchUp reads the thread until the view has what is at a position: from where
// it is, or from a new beginning. What the view has already is read again only if
// the server is known to have put its log back.
func (t *Thread) catchUp(ctx context.Context, until position, back bool) error {
	t.mu.Lock()
	cur, there := t.view.reader(), t.view.at.covers(until) && !t.view.torn
	t.mu.Unlock()
	if there && !back {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for b, err := range t.client.follow(ctx, t.id, cur, following{tries: t.client.opts.Reconnect.Tries}) {
		if err != nil {
			return err
		}
		if !t.apply(b) {
			cur.reset()
			continue
		}
		if cur.at.covers(until) {
			return nil
		}
	}
	return nil
}

// terminal reports whether an event ends a run.
func terminal(e agui.Event) bool {
	switch e.(type) {
	case *agui.RunFinished, *agui.RunError:
		return true
	}
	return false
}
