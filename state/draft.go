package state

import (
	"errors"
	"time"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/jsonstream"
)

// Draft is a piece of a state that a model writes as its answer instead of as a
// tool's arguments.
type Draft struct {
	ID string // the same for all pieces of one state
	// Members are the state's members that the text may name.
	Members  []string
	Fragment string // the next piece of the text
	Restart  bool   // the pieces before do not count
	End      bool   // the text is whole
	// Refused, at the end, is why the text is not to become state.
	Refused error
}

// DraftError says why a draft did not become state. What it had shown is taken
// back.
type DraftError struct{ Err error }

func (e *DraftError) Error() string {
	return "state: the model's state cannot be used: " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *DraftError) Unwrap() error { return e.Err }

func asDraftError(err error, into **DraftError) bool { return errors.As(err, into) }

// Draft takes a piece of a draft. It is like a call's arguments: shown as it is
// written, old members staying until new ones name them.
func (s *Session) Draft(now time.Time, d Draft) Step {
	c := s.call(d.ID)
	if c == nil {
		c = &call{id: d.ID, base: s.shown, draft: true}
		targets := make([]jsonstream.Target, len(d.Members))
		for i, name := range d.Members {
			at := jsondoc.Path(name)
			targets[i] = jsonstream.Target{Argument: at, Path: at, Keep: true}
			c.fields = append(c.fields, field{key: name, target: targets[i]})
		}
		c.pred = jsonstream.NewPredictor(orEmpty(s.doc.View), targets, nil)
		s.calls = append(s.calls, c)
	}
	if d.Restart {
		return s.CallStart(d.ID, "")
	}
	return s.Arguments(now, d.ID, d.Fragment)
}
