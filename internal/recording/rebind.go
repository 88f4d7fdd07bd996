package recording

import (
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// Rebinder gives the events of a recorded run the ids of another request: the
// threadId of every RUN_STARTED and RUN_FINISHED, and the runId where it is the
// recorded request's or the first run's. Everything else stays as it was
// recorded: other events byte for byte, in these two every member, its place and
// its digits. So do events in which the ids are not readable.
type Rebinder struct {
	ThreadID, RunID string // the new ones

	recorded string // the run that takes the new id
	known    bool
}

// NewRebinder makes a Rebinder for a recording with this header. The ids are the
// new request's.
func NewRebinder(h Header, threadID, runID string) *Rebinder {
	r := &Rebinder{ThreadID: threadID, RunID: runID}
	if in, err := agui.DecodeInput(h.Input, nil); err == nil {
		r.recorded, r.known = in.RunID, true
	}
	return r
}

// Event returns an event's data with the new ids.
func (r *Rebinder) Event(data []byte) []byte {
	doc, err := jsondoc.Parse(data, nil)
	if err != nil {
		return data
	}
	typ, _ := doc.Get("type")
	switch agui.EventType(typ.Str()) {
	case agui.TypeRunStarted:
		if run, ok := doc.Get("runId"); ok && !r.known {
			r.recorded, r.known = run.Str(), true
		}
	case agui.TypeRunFinished:
	default:
		return data
	}
	var patch jsondoc.Patch
	set := func(p jsondoc.Pointer, id string, only bool) {
		if old, ok := doc.At(p); ok && old.Kind() == jsondoc.KindString && (!only || old.Str() == r.recorded) {
			patch = append(patch, jsondoc.Operation{Op: "replace", Path: p, Value: jsondoc.String(id)})
		}
	}
	set("/threadId", r.ThreadID, false)
	set("/runId", r.RunID, true)
	set("/input/threadId", r.ThreadID, false)
	set("/input/runId", r.RunID, true)
	changed, err := patch.ApplyBytes(data, nil)
	if err != nil {
		return data
	}
	return changed
}
