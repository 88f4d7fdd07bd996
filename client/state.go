package client

import (
	"context"
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
// none. Of a thread that is not known here yet the state is fetched before. An
// error of change is returned, and nothing is sent.
func (s State[T]) Update(ctx context.Context, change func(*T) error) (Edited, error) {
	t := s.thread
	on := t.shown()
	if on.base == "" {
		if _, err := t.Hydrate(ctx); err != nil && !unknownThread(err) {
			return Edited{}, err
		}
		on = t.shown()
	}
	next, err := changed(on.doc, change)
	if err != nil {
		return Edited{}, err
	}
	patch := jsondoc.Diff(on.doc, next, nil)
	if len(patch) == 0 {
		return Edited{Position: on.base, Revision: on.revision}, nil
	}
	return t.send(ctx, patchType, patch.AppendJSON(nil), on, func(doc jsondoc.Value) (jsondoc.Value, error) {
		return patch.Apply(doc, nil)
	})
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
