package thread

import (
	"slices"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/run"
	"github.com/lockstep-go/lockstep/state"
)

// posted is what a client's request is read as, against the log.
type posted struct {
	fresh []agui.Message // new messages, for the log
	state jsondoc.Value  // the posted state, where it is an opinion
	base  jsondoc.Value  // the view that it is an edit of; absent: the client was shown nothing
}

// lockstepProps is forwardedProps.lockstep.
func lockstepProps(in *agui.RunAgentInput) jsondoc.Value {
	v, _ := in.ForwardedProps.At("/lockstep")
	return v
}

// readPosted reads messages and state as edits of what the client was shown
// (S2, T7). The log's messages win: of a known thread only user messages behind
// the last known one are new, and tool results for calls that the log knows as
// open calls of the client's. The first run of a thread takes the posted
// history, system and developer messages excepted: those would speak to the
// model in the operator's voice.
func (f *fold) readPosted(in *agui.RunAgentInput) posted {
	var out posted
	log := f.messages()
	known := make(map[string]bool, len(log))
	for _, m := range log {
		known[m.ID] = true
	}
	seen := slices.ContainsFunc(in.Messages, func(m agui.Message) bool { return known[m.ID] })
	if f.head.Seq == 0 || len(known) == 0 {
		answered := map[string]bool{}
		for _, m := range in.Messages {
			if m.Role == agui.RoleTool {
				answered[m.ToolCallID] = true
			}
		}
		for _, m := range in.Messages {
			if m.Role == agui.RoleSystem || m.Role == agui.RoleDeveloper || known[m.ID] {
				continue
			}
			if m, ok := settled(m, answered); ok {
				out.fresh = append(out.fresh, named(m, known))
			}
		}
	} else {
		start := 0
		for i, m := range in.Messages {
			if known[m.ID] {
				start = i + 1
			}
		}
		open := openCalls(log)
		for _, m := range in.Messages[start:] {
			switch {
			case m.Role == agui.RoleUser:
				out.fresh = append(out.fresh, named(m, known))
			case m.Role == agui.RoleTool && open[m.ToolCallID]:
				delete(open, m.ToolCallID)
				out.fresh = append(out.fresh, named(m, known))
			}
		}
	}
	var explicit bool
	out.base, explicit = f.base(in, seen)
	// An empty object is what clients hold before they are told anything: it is
	// an edit that removes everything only where the client says what it edits.
	if in.State.Kind() == jsondoc.KindObject && (in.State.Len() > 0 || explicit) {
		out.state = in.State
		if seen && !explicit {
			out.state = f.unseen(in.State)
		}
	}
	return out
}

// unseen reads the state of a client whose newest run was cut before it saw the
// end: a value that it was shown during that run is an echo.
func (f *fold) unseen(posted jsondoc.Value) jsondoc.Value {
	if len(f.runs) == 0 {
		return posted
	}
	newest := f.runs[len(f.runs)-1]
	if newest.key != f.cut {
		return posted
	}
	var shown []jsondoc.Value
	for _, s := range f.shown {
		if s.seq > newest.first {
			shown = append(shown, s.view)
		}
	}
	return state.Echo(posted, f.doc.View, shown)
}

// settled is a message of a foreign history without the calls that nothing in
// it answers: a server's tool is run because a model of the server's called it,
// never because somebody posts that one did.
func settled(m agui.Message, answered map[string]bool) (agui.Message, bool) {
	if len(m.ToolCalls) == 0 {
		return m, true
	}
	var kept []agui.ToolCall
	for _, c := range m.ToolCalls {
		if answered[c.ID] {
			kept = append(kept, c)
		}
	}
	m.ToolCalls = kept
	return m, len(kept) > 0 || m.Content.Text() != ""
}

// named gives a message an id where the client gave none, and notes it.
func named(m agui.Message, known map[string]bool) agui.Message {
	if m.ID == "" || known[m.ID] {
		m.ID = run.NewID("msg")
	}
	known[m.ID] = true
	return m
}

// base finds the view that the client was last shown: at the position that it
// names, else at the newest one, where its history shows that it has seen
// something of the thread.
func (f *fold) base(in *agui.RunAgentInput, seen bool) (view jsondoc.Value, explicit bool) {
	if p, ok := lockstepProps(in).Get("base"); ok {
		if pos, err := ParsePosition(p.Str()); err == nil && pos.Epoch == f.head.Epoch && pos.Seq <= f.head.Seq {
			if v, ok := f.viewAt(pos.Seq); ok {
				return v, true
			}
		}
	}
	if seen {
		return f.doc.View, false
	}
	return jsondoc.Value{}, false
}

// openCalls are the calls of a conversation that nothing has answered.
func openCalls(messages []agui.Message) map[string]bool {
	open := map[string]bool{}
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		if m.Role == agui.RoleTool {
			delete(open, m.ToolCallID)
		}
	}
	return open
}
