package state

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/tool"
)

// Driver is what a run does for the tools and agent code that use From. Package
// thread implements it. Its methods are safe for concurrent use, and each sees
// everything that the agent has said so far.
type Driver interface {
	// Working is the state as the call sees it: committed, with what the open
	// calls of the run have changed by themselves.
	Working(ctx context.Context) (jsondoc.Value, error)
	// Change replaces base by next, if the working document is still base;
	// otherwise it reports false and does nothing. It stays an overlay until
	// the call's result, or, with keep, is committed at once.
	Change(ctx context.Context, call string, base, next jsondoc.Value, keep bool) (bool, error)
	// Draft takes a piece of a state that the model writes as its answer. At
	// the end it is committed, or a *DraftError says why not.
	Draft(ctx context.Context, d Draft) error
	// Posted is the state that the client posted for this run; absent: none.
	Posted() jsondoc.Value
}

type driverKey struct{}

// NewContext returns a context in which From finds the run.
func NewContext(ctx context.Context, d Driver) context.Context {
	return context.WithValue(ctx, driverKey{}, d)
}

// Handle is a tool's or an agent's way to the shared state. It belongs to the
// context that it was made from.
type Handle struct {
	ctx    context.Context
	driver Driver
	call   string
}

// From returns the way to the shared state of the run that ctx belongs to. In a
// tool it is bound to the tool's call: what Update changes is committed with
// the call's success and vanishes with its failure. Outside of a run every
// method fails with ErrNoRun.
func From(ctx context.Context) *Handle {
	h := &Handle{ctx: ctx}
	h.driver, _ = ctx.Value(driverKey{}).(Driver)
	if c, ok := tool.CallFromContext(ctx); ok {
		h.call = c.CallID
	}
	return h
}

// ErrNoRun says that there is no run behind a context.
var ErrNoRun = errors.New("state: this context does not belong to a run that Lockstep serves")

// Value is the state as the call sees it, server-only members included.
func (h *Handle) Value() (jsondoc.Value, error) {
	if h.driver == nil {
		return jsondoc.Value{}, ErrNoRun
	}
	return h.driver.Working(h.ctx)
}

// Decode reads the state into a Go value.
func (h *Handle) Decode(into any) error {
	v, err := h.Value()
	if err != nil {
		return err
	}
	if v.IsAbsent() {
		return nil
	}
	return v.Decode(into)
}

// Posted is the state that the client posted with this run, as it came:
// untrusted. It is absent where there was none.
func (h *Handle) Posted() jsondoc.Value {
	if h.driver == nil {
		return jsondoc.Value{}
	}
	return h.driver.Posted()
}

// Update changes the state. change is a
//
//	func(*T)            or  func(*T) error
//	func(jsondoc.Value) (jsondoc.Value, error)
//
// With a Go type the state is decoded, changed and compared with what it was
// decoded to; only the difference is applied to the document. So members that T
// does not know, and numbers that it cannot hold, stay as they are.
//
// The change is shown at once and committed with the tool call's result; of a
// failing call it is taken back. Outside of a tool it is committed at once.
// change may be called more than once, where somebody else changed the state
// meanwhile, and must do nothing but change its argument. An error of change
// is returned, and nothing is changed.
func (h *Handle) Update(change any) error { return h.update(change, h.call == "") }

// Progress is Update for what should stay even if the tool fails later: it is
// committed at once.
func (h *Handle) Progress(change any) error { return h.update(change, true) }

// Progress is From(ctx).Progress.
func Progress(ctx context.Context, change any) error { return From(ctx).Progress(change) }

func (h *Handle) update(change any, keep bool) error {
	if h.driver == nil {
		return ErrNoRun
	}
	edit, err := editor(change)
	if err != nil {
		return err
	}
	for {
		base, err := h.driver.Working(h.ctx)
		if err != nil {
			return err
		}
		next, err := edit(base)
		if err != nil {
			return err
		}
		if jsondoc.Equal(base, next) {
			return nil
		}
		done, err := h.driver.Change(h.ctx, h.call, base, next, keep)
		var broken *SchemaError
		if errors.As(err, &broken) {
			// The model is to read what was wrong, so that it can mend it (S8).
			return &tool.Error{Message: err.Error(), Err: err}
		}
		if err != nil || done {
			return err
		}
	}
}

// editor turns any of Update's function types into one on documents.
func editor(change any) (func(jsondoc.Value) (jsondoc.Value, error), error) {
	if f, ok := change.(func(jsondoc.Value) (jsondoc.Value, error)); ok {
		return f, nil
	}
	f := reflect.ValueOf(change)
	t := reflect.TypeOf(change)
	if t == nil || t.Kind() != reflect.Func || t.NumIn() != 1 || t.In(0).Kind() != reflect.Pointer || t.NumOut() > 1 ||
		(t.NumOut() == 1 && t.Out(0) != reflect.TypeFor[error]()) {
		return nil, fmt.Errorf("state: Update takes a func(*T), a func(*T) error or a func(jsondoc.Value) (jsondoc.Value, error), not %T", change)
	}
	return func(doc jsondoc.Value) (jsondoc.Value, error) {
		into := reflect.New(t.In(0).Elem())
		if !doc.IsAbsent() {
			if err := doc.Decode(into.Interface()); err != nil {
				return doc, fmt.Errorf("state: the state does not fit %s: %w", t.In(0).Elem(), err)
			}
		}
		before, err := jsondoc.From(into.Interface())
		if err != nil {
			return doc, err
		}
		if out := f.Call([]reflect.Value{into}); len(out) == 1 && !out[0].IsNil() {
			return doc, out[0].Interface().(error)
		}
		after, err := jsondoc.From(into.Interface())
		if err != nil {
			return doc, err
		}
		if jsondoc.Equal(before, after) {
			return doc, nil
		}
		if doc.IsAbsent() {
			return after, nil
		}
		next, _, err := jsondoc.Merge(before, after, doc, nil)
		return next, err
	}, nil
}
