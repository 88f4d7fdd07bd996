package agui

// Respell returns e as a peer that speaks v understands it: e itself where
// nothing has to change, else a changed copy. ok is false where nothing of the
// event can be said to such a peer; it is then left out of the stream.
//
// To 0.0.58, whose schema check ends the run at the first thing it does not
// know: subagents' own events and unknown events vanish; the outcome cancelled
// becomes success; pendingToolCallIds, which clients derive anyway, and members
// of an outcome that are not known are left out; parts of a tool's result
// become text; parts with a file source, which has no older form, are left out;
// an echoed input gets the tools and context that are required there; a step of
// a subagent gets its owner's id before its name, because step names are shared
// by all there.
//
// It looks at one event at a time, so three things are left to the caller.
// Such a client takes nothing after RUN_ERROR: end the stream. Its chunks have
// no lanes: expand them first, with [Expander]. It ignores a state that is null,
// 0, "" or false: that is lost.
func Respell(e Event, v Version) (_ Event, ok bool) {
	if v != V0 {
		return e, true
	}
	switch e := e.(type) {
	case *SubagentStarted, *SubagentFinished, *SubagentError, *Unknown:
		return nil, false
	case *RunFinished:
		if e.Outcome == nil {
			return e, true
		}
		out := *e
		out.Outcome = olderOutcome(e.Outcome)
		return &out, true
	case *RunStarted:
		if e.Input == nil {
			return e, true
		}
		out := *e
		in := *e.Input
		in.Messages = olderMessages(in.Messages)
		if in.Tools == nil {
			in.Tools = []Tool{}
		}
		if in.Context == nil {
			in.Context = []Context{}
		}
		out.Input = &in
		return &out, true
	case *MessagesSnapshot:
		out := *e
		out.Messages = olderMessages(e.Messages)
		return &out, true
	case *StepStarted:
		if e.SubagentRunID == "" {
			return e, true
		}
		out := *e
		out.StepName = ownedStep(e.SubagentRunID, e.StepName)
		return &out, true
	case *StepFinished:
		if e.SubagentRunID == "" {
			return e, true
		}
		out := *e
		out.StepName = ownedStep(e.SubagentRunID, e.StepName)
		return &out, true
	case *ToolCallResult:
		if !e.Content.IsParts() {
			return e, true
		}
		out := *e
		out.Content = Text(e.Content.Text())
		return &out, true
	}
	return e, true
}

func ownedStep(owner, name string) string { return owner + "/" + name }

func olderOutcome(o *Outcome) *Outcome {
	if o.Type != OutcomeInterrupt {
		return &Outcome{Type: OutcomeSuccess}
	}
	return &Outcome{Type: OutcomeInterrupt, Interrupts: o.Interrupts}
}

// olderMessages returns list, copied only if a message has to change.
func olderMessages(list []Message) []Message {
	var out []Message
	for i := range list {
		m, ok := olderMessage(&list[i])
		if out == nil && ok && m == &list[i] {
			continue
		}
		if out == nil {
			out = append(make([]Message, 0, len(list)), list[:i]...)
		}
		if ok {
			out = append(out, *m)
		}
	}
	if out == nil {
		return list
	}
	return out
}

func olderMessage(m *Message) (*Message, bool) {
	if !m.Unknown.IsAbsent() {
		return nil, false // roles are a closed set there
	}
	if !m.Content.IsParts() {
		return m, true
	}
	out := *m
	if m.Role == RoleTool {
		out.Content = Text(m.Content.Text())
		return &out, true
	}
	parts := make([]ContentPart, 0, len(m.Content.parts))
	for _, p := range m.Content.parts {
		if p.Unknown.IsAbsent() && (p.Source == nil || p.Source.Type != SourceFile) {
			parts = append(parts, p)
		}
	}
	if len(parts) == len(m.Content.parts) {
		return m, true
	}
	out.Content = Parts(parts...)
	return &out, true
}
