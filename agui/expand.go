package agui

import "fmt"

// Expander turns chunk events into the start, content and end events they stand
// for, as official clients do before anything else looks at the stream. The
// zero value is ready; it remembers what is open, so one serves one stream.
//
// There is one lane for each subagent and one for the parent agent. A lane
// holds at most one chunk stream: a chunk of another kind or id ends it and
// begins a new one. Other events end the stream of their lane, because a chunk
// without an id means "the same as before" and there must be no doubt what that
// is: texts, tool calls, results, reasoning, state, steps and custom events.
// Events of the run as a whole end all lanes. RAW, activities,
// REASONING_ENCRYPTED_VALUE and SUBAGENT_STARTED end none.
type Expander struct{ lanes lanes }

// Expand appends to dst what e stands for: e itself, possibly after the ends of
// chunk streams that e closes, or the events of a chunk. A chunk that continues
// nothing is a [*SequenceError]; nothing is changed then.
func (x *Expander) Expand(dst []Event, e Event) ([]Event, error) {
	out, change, err := x.lanes.plan(dst, e)
	if err != nil {
		return dst, err
	}
	x.lanes.apply(change)
	return out, nil
}

type chunkKind uint8

const (
	chunkText chunkKind = iota
	chunkTool
	chunkReasoning
)

// lane is one open chunk stream with what its opener said.
type lane struct {
	owner  string
	kind   chunkKind
	id     string
	role   Role
	name   string // the author's, or the tool's
	parent string
}

// lanes are the open chunk streams, in the order they were opened.
type lanes struct{ open []lane }

// laneChange is what an event does to the lanes; applied only when the event
// was accepted, so that a refused one leaves no trace.
type laneChange struct {
	closeAll bool
	close    int // index+1 of the lane to close
	begin    lane
	begins   bool
}

func (l *lanes) apply(c laneChange) {
	switch {
	case c.closeAll:
		l.open = l.open[:0]
	case c.close > 0:
		l.open = append(l.open[:c.close-1], l.open[c.close:]...)
	}
	if c.begins {
		l.open = append(l.open, c.begin)
	}
}

// idle reports whether e passes through without being looked at.
func (l *lanes) idle(e Event) bool {
	if len(l.open) > 0 {
		return false
	}
	switch e.(type) {
	case *TextMessageChunk, *ToolCallChunk, *ReasoningMessageChunk:
		return false
	}
	return true
}

// plan appends what e stands for and says what it does to the lanes.
func (l *lanes) plan(dst []Event, e Event) ([]Event, laneChange, error) {
	var change laneChange
	if l.idle(e) {
		return append(dst, e), change, nil
	}
	switch e := e.(type) {
	case *TextMessageChunk:
		return l.chunk(dst, e, lane{owner: e.SubagentRunID, kind: chunkText, id: e.MessageID, role: e.Role, name: e.Name}, e.Delta)
	case *ToolCallChunk:
		return l.chunk(dst, e, lane{owner: e.SubagentRunID, kind: chunkTool, id: e.ToolCallID, name: e.ToolCallName, parent: e.ParentMessageID}, e.Delta)
	case *ReasoningMessageChunk:
		return l.chunk(dst, e, lane{owner: e.SubagentRunID, kind: chunkReasoning, id: e.MessageID}, e.Delta)
	case *RunStarted, *RunFinished, *RunError, *MessagesSnapshot:
		for i := range l.open {
			dst = append(dst, l.open[i].end())
		}
		change.closeAll = true
	case *Raw, *ActivitySnapshot, *ActivityDelta, *ReasoningEncryptedValue, *SubagentStarted, *Unknown:
	default: // everything else, subagents' ends included, ends its own lane
		if i := l.of(e.Common().SubagentRunID); i >= 0 {
			dst = append(dst, l.open[i].end())
			change.close = i + 1
		}
	}
	return append(dst, e), change, nil
}

// of returns the index of owner's lane, -1 if nothing is open there.
func (l *lanes) of(owner string) int {
	for i := range l.open {
		if l.open[i].owner == owner {
			return i
		}
	}
	return -1
}

// chunk expands one chunk. c holds what the chunk says of itself.
func (l *lanes) chunk(dst []Event, e Event, c lane, delta *string) ([]Event, laneChange, error) {
	var change laneChange
	owner, err := l.resolve(e, c)
	if err != nil {
		return nil, change, err
	}
	at := l.of(owner)
	base := e.Common()
	before := len(dst)
	stream := c
	if at >= 0 && l.open[at].kind == c.kind && (c.id == "" || c.id == l.open[at].id) {
		stream = l.open[at]
		if err := stream.agrees(e, c); err != nil {
			return nil, change, err
		}
	} else {
		if c.id == "" {
			return nil, change, refuse(e, "the first chunk of a stream must name its "+c.idName()+"; put it on every chunk")
		}
		if c.kind == chunkTool && c.name == "" {
			return nil, change, refuse(e, "the first chunk of a tool call must name the tool")
		}
		if at >= 0 {
			dst = append(dst, l.open[at].end())
			change.close = at + 1
		}
		if stream.kind == chunkText && stream.role == "" {
			stream.role = RoleAssistant
		}
		dst = append(dst, stream.start(base.Metadata))
		// The lane is the resolved one; the stream's owner is the chunk's tag.
		change.begin, change.begins = stream, true
	}
	if delta != nil || present(base.RawEvent) || len(dst) == before && present(base.Metadata) {
		text := ""
		if delta != nil {
			text = *delta
		}
		tag := base.SubagentRunID
		if tag == "" {
			tag = stream.owner
		}
		dst = append(dst, stream.content(Base{RawEvent: base.RawEvent, Metadata: base.Metadata, SubagentRunID: tag}, text))
	}
	return dst, change, nil
}

// resolve says which lane a chunk belongs to. A chunk may leave out both its id
// and its owner, so the owner has to be inferred from what is open.
func (l *lanes) resolve(e Event, c lane) (owner string, err error) {
	if c.id != "" {
		for i := range l.open {
			if o := &l.open[i]; o.kind == c.kind && o.id == c.id {
				if c.owner != "" && c.owner != o.owner {
					return "", refuse(e, fmt.Sprintf("subagentRunId %q, but %q was opened by %s", c.owner, c.id, ownerName(o.owner)))
				}
				return o.owner, nil
			}
		}
		return c.owner, nil
	}
	if c.owner != "" {
		return c.owner, nil
	}
	if i := l.of(""); i >= 0 && l.open[i].kind == c.kind {
		return "", nil
	}
	found := 0
	for i := range l.open {
		if l.open[i].kind == c.kind {
			found++
			owner = l.open[i].owner
		}
	}
	if found > 1 {
		return "", refuse(e, fmt.Sprintf("it has neither an id nor a subagentRunId and could continue %d streams", found))
	}
	return owner, nil
}

// agrees checks that a continuation repeats what the opener said, or is silent.
// Only the opener's values reach the message, so a different one would be lost.
func (o *lane) agrees(e Event, c lane) error {
	differ := func(what, says, opener string) error {
		if says == "" || says == opener {
			return nil
		}
		return refuse(e, fmt.Sprintf("%s %q contradicts %q, which %q was opened with", what, says, opener, o.id))
	}
	name := "name"
	if o.kind == chunkTool {
		name = "toolCallName"
	}
	if err := differ("role", string(c.role), string(o.role)); err != nil {
		return err
	}
	if err := differ(name, c.name, o.name); err != nil {
		return err
	}
	return differ("parentMessageId", c.parent, o.parent)
}

func (o *lane) idName() string {
	if o.kind == chunkTool {
		return "toolCallId"
	}
	return "messageId"
}

func (o *lane) start(metadata value) Event {
	base := Base{Metadata: metadata, SubagentRunID: o.owner}
	switch o.kind {
	case chunkText:
		return &TextMessageStart{Base: base, MessageID: o.id, Role: o.role, Name: o.name}
	case chunkTool:
		return &ToolCallStart{Base: base, ToolCallID: o.id, ToolCallName: o.name, ParentMessageID: o.parent}
	}
	return &ReasoningMessageStart{Base: base, MessageID: o.id}
}

func (o *lane) content(base Base, delta string) Event {
	switch o.kind {
	case chunkText:
		return &TextMessageContent{Base: base, MessageID: o.id, Delta: delta}
	case chunkTool:
		return &ToolCallArgs{Base: base, ToolCallID: o.id, Delta: delta}
	}
	return &ReasoningMessageContent{Base: base, MessageID: o.id, Delta: delta}
}

func (o *lane) end() Event {
	base := Base{SubagentRunID: o.owner}
	switch o.kind {
	case chunkText:
		return &TextMessageEnd{Base: base, MessageID: o.id}
	case chunkTool:
		return &ToolCallEnd{Base: base, ToolCallID: o.id}
	}
	return &ReasoningMessageEnd{Base: base, MessageID: o.id}
}
