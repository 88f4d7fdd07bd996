package client

import (
	"errors"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// view is what is known of a thread at one position: values in, values out, no
// I/O. It only moves forward, so any number of readers may feed it.
type view struct {
	reduced    agui.Reducer
	at         position
	revision   uint64
	run        string // the active run's id; empty: none is active
	interrupts []agui.Interrupt
	// torn says that a patch did not apply: the next snapshot of the state, or a
	// new beginning, mends it.
	torn bool
	// missed says that something before at was not seen: only a new beginning
	// mends it.
	missed bool
}

// apply takes what a reader has got. It is false where the view has it already,
// or where it belongs to a log that is gone.
func (v *view) apply(b batch) bool {
	switch {
	case b.at.zero(): // in no log: what comes is what there is
	case b.prelude && b.at == v.at && (v.torn || v.missed):
		*v = view{}
	case b.prelude && v.at.covers(b.back):
		*v = view{} // and no other reader has been told yet
	case v.at.covers(b.at):
		return false
	case b.prelude, b.anew:
		if b.prelude || v.at.epoch != b.at.epoch {
			*v = view{}
		}
	case !v.at.zero() && v.at.epoch != b.at.epoch:
		return false
	}
	for _, e := range b.events {
		v.event(e)
	}
	if !b.at.zero() {
		v.at = b.at
	}
	return true
}

func (v *view) event(e agui.Event) {
	var failed *agui.DeltaError
	if errors.As(v.reduced.Apply(e), &failed) && failed.Event == agui.TypeStateDelta {
		v.torn = true // the state is what it was
		return
	}
	switch e := e.(type) {
	case *agui.RunStarted:
		v.run = e.RunID
	case *agui.RunFinished:
		v.run, v.interrupts = "", nil
		if e.Outcome != nil && e.Outcome.Type == agui.OutcomeInterrupt {
			v.interrupts = e.Outcome.Interrupts
		}
	case *agui.RunError:
		v.run = ""
	case *agui.StateSnapshot:
		v.torn = false
		v.note(e.Metadata)
	case *agui.StateDelta:
		v.note(e.Metadata)
	}
}

func (v *view) note(metadata jsondoc.Value) {
	if n, ok := metadata.At("/lockstep/revision"); ok {
		if n, ok := n.Int64(); ok && n >= 0 {
			v.revision = uint64(n)
		}
	}
}

// ownRun is how many entries a log has at least for whatever is to be seen on
// an idle thread: RUN_STARTED, a snapshot or an error, and the end.
const ownRun = 3

// mayLack reports whether there may be something in front of a run's first
// event that the view has not seen.
func (v *view) mayLack(at position) bool {
	if v.at.covers(at) {
		return false
	}
	from := v.at.seq
	if v.at.epoch != at.epoch {
		from = 0
	} else if v.missed || v.run != "" {
		return true
	}
	return at.seq > from+ownRun
}

// base is the position that an edit of the view names: none where the view
// cannot vouch for what is before it.
func (v *view) base() string {
	if v.missed || v.torn {
		return ""
	}
	return v.at.String()
}

// reader is a new reader that goes on where the view is.
func (v *view) reader() *cursor {
	if v.missed || v.torn {
		return &cursor{known: v.at}
	}
	return &cursor{at: v.at, known: v.at}
}
