package recording

import (
	"strconv"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// Rebinder makes of a recorded run the answer to another request. Two kinds of
// names belong to a request:
//
//   - The threadId of every RUN_STARTED and RUN_FINISHED becomes the request's, and
//     so does the runId where it is the recorded request's or the first run's.
//   - An id of a message or a call that the request's history has already gets a
//     number, m1-2 for m1: a client that is given one recording twice on one thread
//     would take the second message for more of the first. An id that the recorded
//     request had too is left alone, since that run was about the same message.
//
// Everything else stays as it was recorded: other events byte for byte, in these
// every member, its place and its digits. So do events in which the ids are not
// readable, and what is wrong with the ids of the recording itself.
type Rebinder struct {
	threadID, runID string // the new ones

	recorded string // the run that takes the new id
	known    bool

	held    map[string]bool   // ids of the new request's history
	renamed map[string]string // what is given instead; has every id that was decided
}

// NewRebinder makes a Rebinder for a recording with this header; in is the new
// request.
func NewRebinder(h Header, in *agui.RunAgentInput) *Rebinder {
	r := &Rebinder{threadID: in.ThreadID, runID: in.RunID, held: historyIDs(in), renamed: map[string]string{}}
	if old, err := agui.DecodeInput(h.Input, nil); err == nil {
		r.recorded, r.known = old.RunID, true
		for id := range historyIDs(old) {
			r.renamed[id] = id
		}
	}
	return r
}

// historyIDs are the ids of a request's messages and calls.
func historyIDs(in *agui.RunAgentInput) map[string]bool {
	ids := map[string]bool{}
	for _, m := range in.Messages {
		ids[m.ID] = true
		for _, c := range m.ToolCalls {
			ids[c.ID] = true
		}
	}
	return ids
}

// rename is what an id of the recording becomes.
func (r *Rebinder) rename(id string) string {
	if !r.held[id] {
		return id
	}
	if to, decided := r.renamed[id]; decided {
		return to
	}
	to := id
	for n := 2; r.held[to]; n++ {
		to = id + "-" + strconv.Itoa(n)
	}
	r.renamed[id] = to
	return to
}

// Event returns an event's data with the new ids.
func (r *Rebinder) Event(data []byte) []byte {
	doc, err := jsondoc.Parse(data, nil)
	if err != nil {
		return data
	}
	typ, _ := doc.Get("type")
	edit := &rebinding{doc: doc}
	switch agui.EventType(typ.Str()) {
	case agui.TypeRunStarted:
		if run, ok := doc.Get("runId"); ok && !r.known {
			r.recorded, r.known = run.Str(), true
		}
		r.run(edit)
	case agui.TypeRunFinished:
		r.run(edit)
		interrupts, _ := doc.At("/outcome/interrupts")
		for i := range interrupts.Len() {
			edit.set(jsondoc.Path("outcome", "interrupts", strconv.Itoa(i), "toolCallId"), r.rename)
		}
	case agui.TypeMessagesSnapshot:
		r.messages(edit)
	default:
		for _, name := range []string{"messageId", "parentMessageId", "toolCallId", "entityId"} {
			edit.set(jsondoc.Path(name), r.rename)
		}
	}
	if len(edit.patch) == 0 {
		return data
	}
	changed, err := edit.patch.ApplyBytes(data, nil)
	if err != nil {
		return data
	}
	return changed
}

// run renames the run in an event that begins or ends it.
func (r *Rebinder) run(edit *rebinding) {
	thread := func(string) string { return r.threadID }
	run := func(id string) string {
		if id == r.recorded {
			return r.runID
		}
		return id
	}
	edit.set("/threadId", thread)
	edit.set("/runId", run)
	edit.set("/input/threadId", thread)
	edit.set("/input/runId", run)
}

// messages renames what a snapshot lists.
func (r *Rebinder) messages(edit *rebinding) {
	list, _ := edit.doc.Get("messages")
	for i, m := range list.Items() {
		at := jsondoc.Path("messages", strconv.Itoa(i))
		edit.set(at.Child("id"), r.rename)
		edit.set(at.Child("toolCallId"), r.rename)
		calls, _ := m.Get("toolCalls")
		for j := range calls.Len() {
			edit.set(at.Child("toolCalls").Child(strconv.Itoa(j)).Child("id"), r.rename)
		}
	}
}

// rebinding collects what is replaced in one event.
type rebinding struct {
	doc   jsondoc.Value
	patch jsondoc.Patch
}

// set replaces a text by what becomes of it.
func (e *rebinding) set(at jsondoc.Pointer, becomes func(string) string) {
	old, ok := e.doc.At(at)
	if !ok || old.Kind() != jsondoc.KindString {
		return
	}
	if id := becomes(old.Str()); id != old.Str() {
		e.patch = append(e.patch, jsondoc.Operation{Op: "replace", Path: at, Value: jsondoc.String(id)})
	}
}
