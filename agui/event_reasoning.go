package agui

// ReasoningStart opens a reasoning span: a bracket around reasoning messages.
// The span's id names nothing but the span, and it builds no message.
type ReasoningStart struct {
	Base
	MessageID string // required; the id of the span
}

// EventType returns REASONING_START.
func (*ReasoningStart) EventType() EventType { return TypeReasoningStart }

func (e *ReasoningStart) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "messageId", e.MessageID)
	return e.appendBase(dst, true)
}

func (e *ReasoningStart) member(d *decoder, key []byte) bool {
	if string(key) == "messageId" {
		d.has |= 1
		e.MessageID = d.id()
		return true
	}
	return e.baseMember(d, key, true)
}

func (e *ReasoningStart) finish(d *decoder) { d.require(1, "messageId") }

// ReasoningEnd closes a reasoning span.
type ReasoningEnd struct {
	Base
	MessageID string // required; the id of the span
}

// EventType returns REASONING_END.
func (*ReasoningEnd) EventType() EventType { return TypeReasoningEnd }

func (e *ReasoningEnd) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "messageId", e.MessageID)
	return e.appendBase(dst, true)
}

func (e *ReasoningEnd) member(d *decoder, key []byte) bool {
	if string(key) == "messageId" {
		d.has |= 1
		e.MessageID = d.id()
		return true
	}
	return e.baseMember(d, key, true)
}

func (e *ReasoningEnd) finish(d *decoder) { d.require(1, "messageId") }

// ReasoningMessageStart opens a reasoning message. On the wire it carries the
// role "reasoning", which is required and can be nothing else, so there is no
// field for it.
type ReasoningMessageStart struct {
	Base
	MessageID string // required
}

// EventType returns REASONING_MESSAGE_START.
func (*ReasoningMessageStart) EventType() EventType { return TypeReasoningMessageStart }

func (e *ReasoningMessageStart) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "messageId", e.MessageID)
	dst = append(dst, `,"role":"reasoning"`...)
	return e.appendBase(dst, true)
}

func (e *ReasoningMessageStart) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "messageId":
		d.has |= 1
		e.MessageID = d.id()
	case "role":
		d.has |= 2
		d.reasoningRole()
	default:
		return e.baseMember(d, key, true)
	}
	return true
}

func (e *ReasoningMessageStart) finish(d *decoder) {
	d.require(1, "messageId")
	if d.strict() { // older servers leave it out
		d.require(2, "role")
	}
}

// ReasoningMessageContent appends to an open reasoning message.
type ReasoningMessageContent struct {
	Base
	MessageID string // required
	Delta     string // required; empty is legal
}

// EventType returns REASONING_MESSAGE_CONTENT.
func (*ReasoningMessageContent) EventType() EventType { return TypeReasoningMessageContent }

func (e *ReasoningMessageContent) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "messageId", e.MessageID)
	dst = appendMember(dst, "delta", e.Delta)
	return e.appendBase(dst, true)
}

func (e *ReasoningMessageContent) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "messageId":
		d.has |= 1
		e.MessageID = d.id()
	case "delta":
		d.has |= 2
		e.Delta = d.string()
	default:
		return e.baseMember(d, key, true)
	}
	return true
}

func (e *ReasoningMessageContent) finish(d *decoder) {
	d.require(1, "messageId")
	d.require(2, "delta")
}

// ReasoningMessageEnd closes a reasoning message.
type ReasoningMessageEnd struct {
	Base
	MessageID string // required
}

// EventType returns REASONING_MESSAGE_END.
func (*ReasoningMessageEnd) EventType() EventType { return TypeReasoningMessageEnd }

func (e *ReasoningMessageEnd) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "messageId", e.MessageID)
	return e.appendBase(dst, true)
}

func (e *ReasoningMessageEnd) member(d *decoder, key []byte) bool {
	if string(key) == "messageId" {
		d.has |= 1
		e.MessageID = d.id()
		return true
	}
	return e.baseMember(d, key, true)
}

func (e *ReasoningMessageEnd) finish(d *decoder) { d.require(1, "messageId") }

// ReasoningMessageChunk is start, content and end of a reasoning message in
// one, as [TextMessageChunk] is for texts. No span is added around it.
type ReasoningMessageChunk struct {
	Base
	MessageID string  // required only where nothing can be continued
	Delta     *string // nil is absent
}

// EventType returns REASONING_MESSAGE_CHUNK.
func (*ReasoningMessageChunk) EventType() EventType { return TypeReasoningMessageChunk }

func (e *ReasoningMessageChunk) appendMembers(dst []byte) []byte {
	dst = appendOptionalString(dst, "messageId", e.MessageID)
	dst = appendPresent(dst, "delta", e.Delta)
	return e.appendBase(dst, true)
}

func (e *ReasoningMessageChunk) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "messageId":
		e.MessageID = d.optionalID()
	case "delta":
		e.Delta = d.presentString()
	default:
		return e.baseMember(d, key, true)
	}
	return true
}

func (e *ReasoningMessageChunk) finish(*decoder) {}

// The two things that a [ReasoningEncryptedValue] can be attached to.
const (
	SubtypeMessage  = "message"
	SubtypeToolCall = "tool-call"
)

// ReasoningEncryptedValue attaches a provider's opaque reasoning to a message
// or a tool call, to be sent back with the history.
type ReasoningEncryptedValue struct {
	Base
	Subtype        string // required; [SubtypeMessage] or [SubtypeToolCall]
	EntityID       string // required; the message's or tool call's id
	EncryptedValue string // required
}

// EventType returns REASONING_ENCRYPTED_VALUE.
func (*ReasoningEncryptedValue) EventType() EventType { return TypeReasoningEncryptedValue }

func (e *ReasoningEncryptedValue) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "subtype", e.Subtype)
	dst = appendMember(dst, "entityId", e.EntityID)
	dst = appendMember(dst, "encryptedValue", e.EncryptedValue)
	return e.appendBase(dst, true)
}

func (e *ReasoningEncryptedValue) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "subtype":
		d.has |= 1
		e.Subtype = d.oneOf(nullNever, SubtypeMessage, SubtypeToolCall)
	case "entityId":
		d.has |= 2
		e.EntityID = d.string()
	case "encryptedValue":
		d.has |= 4
		e.EncryptedValue = d.string()
	default:
		return e.baseMember(d, key, true)
	}
	return true
}

func (e *ReasoningEncryptedValue) finish(d *decoder) {
	d.require(1, "subtype")
	d.require(2, "entityId")
	d.require(4, "encryptedValue")
}
