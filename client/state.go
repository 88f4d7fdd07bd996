package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// State is a thread's state as a Go type. Members of the document that T does
// not know stay as they are, whatever is changed. It is safe for concurrent use.
type State[T any] struct{ thread *Thread }

// StateOf returns the typed way to a thread's state.
func StateOf[T any](t *Thread) State[T] { return State[T]{t} }

// Get is the state as last shown, or as set since. It is the zero T with what
// the document has: members that it lacks stay zero.
func (s State[T]) Get() (T, error) {
	var v T
	return v, decode(s.thread.State(), &v)
}

// Set changes the state here: what change makes of it reaches the server with
// the next run. See [Thread.SetState].
func (s State[T]) Set(change func(*T) error) error {
	next, err := changed(s.thread.State(), change)
	if err == nil {
		s.thread.SetState(next)
	}
	return err
}

// Update changes the state on the server, at once: the difference that change
// makes is sent as a patch, see [Thread.Patch]. Nothing is sent where it makes
// none. Of a thread that is not known here yet the state is fetched before.
//
// change may be called more than once, where the server does not know any more
// what was shown here, and must do nothing but change its argument. An error of
// change is returned, and nothing is sent.
func (s State[T]) Update(ctx context.Context, change func(*T) error) (Edited, error) {
	t := s.thread
	for again := false; ; again = true {
		t.mu.Lock()
		doc, base := t.view.reduced.State(), t.view.base()
		revision := t.view.revision
		t.mu.Unlock()
		if base == "" || again {
			if _, err := t.Hydrate(ctx); err != nil && !unknownThread(err) {
				return Edited{}, err
			}
			t.mu.Lock()
			doc, base = t.view.reduced.State(), t.view.base()
			revision = t.view.revision
			t.mu.Unlock()
		}
		next, err := changed(doc, change)
		if err != nil {
			return Edited{}, err
		}
		patch := jsondoc.Diff(doc, next, nil)
		if len(patch) == 0 {
			return Edited{Position: base, Revision: revision}, nil
		}
		done, err := t.patch(ctx, patch, base)
		var conflict *ConflictError
		if !again && errors.As(err, &conflict) && len(conflict.Conflicts) == 0 {
			continue
		}
		return done, err
	}
}

// changed is the document with the difference that change makes in its Go form.
// Only the difference is applied, so that what T does not know stays.
func changed[T any](doc jsondoc.Value, change func(*T) error) (jsondoc.Value, error) {
	var v T
	if err := decode(doc, &v); err != nil {
		return doc, err
	}
	before, err := jsondoc.From(&v)
	if err != nil {
		return doc, err
	}
	if err := change(&v); err != nil {
		return doc, err
	}
	after, err := jsondoc.From(&v)
	if err != nil || jsondoc.Equal(before, after) {
		return doc, err
	}
	next, _, err := jsondoc.Merge(before, after, doc, nil)
	return next, err
}

func decode(doc jsondoc.Value, into any) error {
	if doc.IsAbsent() || doc.IsNull() {
		return nil
	}
	if err := doc.Decode(into); err != nil {
		return fmt.Errorf("client: the state does not fit %T: %w", into, err)
	}
	return nil
}
