package thread

import (
	"context"
	"errors"
	"time"
)

// turn is a lock that can be waited for with an end: who holds it may be waiting
// for a store that is away, and a request must not wait for that with it.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take takes the turn. It fails when ctx is done, or after wait, with an error
// that says that the store cannot be reached.
func (w turn) take(ctx context.Context, wait time.Duration) error {
	select {
	case w <- struct{}{}:
		return nil
	default:
	}
	end := time.NewTimer(wait)
	defer end.Stop()
	select {
	case w <- struct{}{}:
		return nil
	case <-end.C:
		return storeError(errors.New("somebody else has waited for it all the time"))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// insist takes the turn, however long that takes: holders wait for the store for
// a bounded time.
func (w turn) insist() { w <- struct{}{} }

// give lets the next one have it.
func (w turn) give() { <-w }
