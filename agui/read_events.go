package agui

import (
	"errors"
	"fmt"
	"io"
	"iter"
)

// ErrIncomplete is what [errors.Is] finds in the error of a stream that ended
// before its run did. It is never success: what was read may be shown, but
// nothing of it is final.
var ErrIncomplete = errors.New("agui: the stream ended before its run did")

// IncompleteError is the error of a stream that was cut before its terminal
// event.
type IncompleteError struct {
	Events int       // how many events were read
	Last   EventType // of the last one; empty if there was none
	ID     string    // the stream's last event id: where to go on
	Err    error     // what the source returned; nil for a plain end
}

func (e *IncompleteError) Error() string {
	s := fmt.Sprintf("%v: no RUN_FINISHED or RUN_ERROR after %d events", ErrIncomplete, e.Events)
	if e.Last != "" {
		s += ", the last of them " + string(e.Last)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is reports whether target is [ErrIncomplete].
func (e *IncompleteError) Is(target error) bool { return target == ErrIncomplete }

// Unwrap returns what the source returned.
func (e *IncompleteError) Unwrap() error { return e.Err }

// EventsOptions configures [ReadEvents]. The zero value is the default.
type EventsOptions struct {
	Reader ReaderOptions // KeepUnterminated is always on: an event is an object, which shows its end
	Decode DecodeOptions
	// Sequence, if set, checks each event before it is delivered; its error
	// ends the stream.
	Sequence *Sequence
	// Bare says that the stream may begin and end anywhere, as one that goes on
	// from a position does. Its end is then never an error.
	Bare bool
	// NewID makes the ids that retired THINKING_* events lack; nil means
	// random ones.
	NewID func() string
}

// Received is an event as it came.
type Received struct {
	Event Event
	// ID is the stream's last event id, as in [Frame].
	ID string
	// OwnID says that the event's own frame set the id.
	OwnID bool
	// Data is the event's JSON as it came, valid until the next event.
	Data []byte
}

// ReadEvents reads an SSE stream of events. The sequence ends after its first
// error. A stream that ends while a run is open, or before any run, gives an
// [*IncompleteError]; one whose frames are no events a [*DecodeError]. Retired
// THINKING_* events are delivered as the REASONING_* events they became.
//
// The caller closes r, also to interrupt the reading.
func ReadEvents(r io.Reader, opts *EventsOptions) iter.Seq2[Received, error] {
	if opts == nil {
		opts = &EventsOptions{}
	}
	return func(yield func(Received, error) bool) {
		frames := opts.Reader
		frames.KeepUnterminated = true
		var d decoder // one for the stream: it remembers ids
		decode := func(data []byte) (Event, error) { return d.event(data, &opts.Decode) }
		ReadFrames(NewReader(r, &frames).Next, decode, opts)(yield)
	}
}

// ReadFrames is [ReadEvents] for streams that are framed or encoded otherwise:
// next returns the next frame, io.EOF at a clean end; decode makes an event of a
// frame's data, or nil for one that is to be passed over.
func ReadFrames(next func() (Frame, error), decode func(data []byte) (Event, error), opts *EventsOptions) iter.Seq2[Received, error] {
	if opts == nil {
		opts = &EventsOptions{}
	}
	return func(yield func(Received, error) bool) {
		older := Upgrader{NewID: opts.NewID}
		open, done := false, false // a run is; one was
		var at IncompleteError
		for {
			frame, err := next()
			if err != nil {
				if !opts.Bare && (open || !done) {
					if err != io.EOF {
						at.Err = err
					}
					err = &at
				}
				if err != io.EOF {
					yield(Received{}, err)
				}
				return
			}
			at.ID = frame.ID
			e, err := decode(frame.Data)
			if err != nil && frame.Cut {
				continue // half an event: the next call says how the stream ended
			}
			if err == nil && e == nil {
				continue
			}
			if err == nil {
				e = older.Upgrade(e)
				if opts.Sequence != nil {
					err = opts.Sequence.Check(e)
				}
			}
			if err != nil {
				yield(Received{}, err)
				return
			}
			at.Events, at.Last = at.Events+1, e.EventType()
			switch at.Last {
			case TypeRunStarted:
				open = true
			case TypeRunFinished, TypeRunError:
				open, done = false, true
			}
			if !yield(Received{Event: e, ID: frame.ID, OwnID: frame.OwnID, Data: frame.Data}, nil) {
				return
			}
		}
	}
}
