package agui

// ToolCallStart opens a tool call.
type ToolCallStart struct {
	Base
	ToolCallID   string // required
	ToolCallName string // required; the tool's name
	// ParentMessageID is the assistant message that the call belongs to. If it
	// is unknown to the client, an assistant message of that id is made; if it
	// is empty, one whose id is the call's.
	ParentMessageID string
}

// EventType returns TOOL_CALL_START.
func (*ToolCallStart) EventType() EventType { return TypeToolCallStart }

func (e *ToolCallStart) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "toolCallId", e.ToolCallID)
	dst = appendMember(dst, "toolCallName", e.ToolCallName)
	dst = appendOptionalString(dst, "parentMessageId", e.ParentMessageID)
	return e.appendBase(dst, true)
}

func (e *ToolCallStart) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "toolCallId":
		d.has |= 1
		e.ToolCallID = d.id()
	case "toolCallName":
		d.has |= 2
		e.ToolCallName = d.string()
	case "parentMessageId":
		e.ParentMessageID = d.optionalString(nullTolerated)
	default:
		return e.baseMember(d, key, true)
	}
	return true
}

func (e *ToolCallStart) finish(d *decoder) {
	d.require(1, "toolCallId")
	d.require(2, "toolCallName")
}

// ToolCallArgs appends to the arguments of an open tool call.
type ToolCallArgs struct {
	Base
	ToolCallID string // required
	Delta      string // required; a fragment of the arguments' JSON text
}

// EventType returns TOOL_CALL_ARGS.
func (*ToolCallArgs) EventType() EventType { return TypeToolCallArgs }

func (e *ToolCallArgs) appendMembers(dst []byte) []byte {
	dst = append(dst, `,"toolCallId":`...)
	dst = appendString(dst, e.ToolCallID)
	dst = append(dst, `,"delta":`...)
	dst = appendString(dst, e.Delta)
	return e.appendBase(dst, true)
}

func (e *ToolCallArgs) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "toolCallId":
		d.has |= 1
		e.ToolCallID = d.id()
	case "delta":
		d.has |= 2
		e.Delta = d.string()
	default:
		return e.baseMember(d, key, true)
	}
	return true
}

func (e *ToolCallArgs) finish(d *decoder) {
	d.require(1, "toolCallId")
	d.require(2, "delta")
}

// ToolCallEnd says that the arguments are complete.
type ToolCallEnd struct {
	Base
	ToolCallID string // required
}

// EventType returns TOOL_CALL_END.
func (*ToolCallEnd) EventType() EventType { return TypeToolCallEnd }

func (e *ToolCallEnd) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "toolCallId", e.ToolCallID)
	return e.appendBase(dst, true)
}

func (e *ToolCallEnd) member(d *decoder, key []byte) bool {
	if string(key) == "toolCallId" {
		d.has |= 1
		e.ToolCallID = d.id()
		return true
	}
	return e.baseMember(d, key, true)
}

func (e *ToolCallEnd) finish(d *decoder) { d.require(1, "toolCallId") }

// ToolCallChunk is start, arguments and end of a tool call in one, as
// [TextMessageChunk] is for texts.
type ToolCallChunk struct {
	Base
	ToolCallID      string  // required only where nothing can be continued
	ToolCallName    string  // required on opening
	ParentMessageID string  // as in [ToolCallStart]
	Delta           *string // nil is absent
}

// EventType returns TOOL_CALL_CHUNK.
func (*ToolCallChunk) EventType() EventType { return TypeToolCallChunk }

func (e *ToolCallChunk) appendMembers(dst []byte) []byte {
	dst = appendOptionalString(dst, "toolCallId", e.ToolCallID)
	dst = appendOptionalString(dst, "toolCallName", e.ToolCallName)
	dst = appendOptionalString(dst, "parentMessageId", e.ParentMessageID)
	dst = appendPresent(dst, "delta", e.Delta)
	return e.appendBase(dst, true)
}

func (e *ToolCallChunk) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "toolCallId":
		e.ToolCallID = d.optionalID()
	case "toolCallName":
		e.ToolCallName = d.optionalString(nullRefused)
	case "parentMessageId":
		e.ParentMessageID = d.optionalString(nullTolerated)
	case "delta":
		e.Delta = d.presentString()
	default:
		return e.baseMember(d, key, true)
	}
	return true
}

func (e *ToolCallChunk) finish(*decoder) {}

// ToolCallResult is the answer to a tool call. It makes a tool message, placed
// behind the assistant message that holds the call.
type ToolCallResult struct {
	Base
	MessageID  string  // required; the id of the new tool message
	ToolCallID string  // required; no call of this id need exist
	Content    Content // required; text, or content parts
	Role       Role    // empty or tool
}

// EventType returns TOOL_CALL_RESULT.
func (*ToolCallResult) EventType() EventType { return TypeToolCallResult }

func (e *ToolCallResult) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "messageId", e.MessageID)
	dst = appendMember(dst, "toolCallId", e.ToolCallID)
	dst = append(dst, `,"content":`...)
	dst = e.Content.appendJSON(dst)
	dst = appendOptionalString(dst, "role", string(e.Role))
	return e.appendBase(dst, true)
}

func (e *ToolCallResult) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "messageId":
		d.has |= 1
		e.MessageID = d.id()
	case "toolCallId":
		d.has |= 2
		e.ToolCallID = d.id()
	case "content":
		d.has |= 4
		e.Content = d.content()
	case "role":
		e.Role = Role(d.oneOf(nullRefused, "tool"))
	default:
		return e.baseMember(d, key, true)
	}
	return true
}

func (e *ToolCallResult) finish(d *decoder) {
	d.require(1, "messageId")
	d.require(2, "toolCallId")
	d.require(4, "content")
}
