package agui

// TextMessageStart opens a text message. An id that was used before is opened
// again and further content is appended to it.
type TextMessageStart struct {
	Base
	MessageID string // required
	// Role is developer, system, assistant or user; empty means assistant.
	Role Role
	Name string // the author's name; optional
}

// EventType returns TEXT_MESSAGE_START.
func (*TextMessageStart) EventType() EventType { return TypeTextMessageStart }

func (e *TextMessageStart) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "messageId", e.MessageID)
	dst = appendOptionalString(dst, "role", string(e.Role))
	dst = appendOptionalString(dst, "name", e.Name)
	return e.appendBase(dst, true)
}

func (e *TextMessageStart) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "messageId":
		d.has |= 1
		e.MessageID = d.id()
	case "role":
		e.Role = d.textRole()
	case "name":
		e.Name = d.optionalString(nullRefused)
	default:
		return e.baseMember(d, key, true)
	}
	return true
}

func (e *TextMessageStart) finish(d *decoder) { d.require(1, "messageId") }

// TextMessageContent appends to an open text message.
type TextMessageContent struct {
	Base
	MessageID string // required
	Delta     string // required; empty is legal
}

// EventType returns TEXT_MESSAGE_CONTENT.
func (*TextMessageContent) EventType() EventType { return TypeTextMessageContent }

func (e *TextMessageContent) appendMembers(dst []byte) []byte {
	dst = append(dst, `,"messageId":`...)
	dst = appendString(dst, e.MessageID)
	dst = append(dst, `,"delta":`...)
	dst = appendString(dst, e.Delta)
	return e.appendBase(dst, true)
}

func (e *TextMessageContent) member(d *decoder, key []byte) bool {
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

func (e *TextMessageContent) finish(d *decoder) {
	d.require(1, "messageId")
	d.require(2, "delta")
}

// TextMessageEnd closes a text message.
type TextMessageEnd struct {
	Base
	MessageID string // required
}

// EventType returns TEXT_MESSAGE_END.
func (*TextMessageEnd) EventType() EventType { return TypeTextMessageEnd }

func (e *TextMessageEnd) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "messageId", e.MessageID)
	return e.appendBase(dst, true)
}

func (e *TextMessageEnd) member(d *decoder, key []byte) bool {
	if string(key) == "messageId" {
		d.has |= 1
		e.MessageID = d.id()
		return true
	}
	return e.baseMember(d, key, true)
}

func (e *TextMessageEnd) finish(d *decoder) { d.require(1, "messageId") }

// TextMessageChunk is start, content and end in one: the first chunk of a
// message opens it, the next ones continue it, and what may not stand inside
// it closes it. See [Expander].
type TextMessageChunk struct {
	Base
	MessageID string // required only where nothing can be continued
	Role      Role   // empty means assistant on opening, no opinion later
	// Delta is the text; nil is absent, which is not the same as empty: the
	// first chunk without a delta opens the message and adds nothing.
	Delta *string
	Name  string
}

// EventType returns TEXT_MESSAGE_CHUNK.
func (*TextMessageChunk) EventType() EventType { return TypeTextMessageChunk }

func (e *TextMessageChunk) appendMembers(dst []byte) []byte {
	dst = appendOptionalString(dst, "messageId", e.MessageID)
	dst = appendOptionalString(dst, "role", string(e.Role))
	dst = appendPresent(dst, "delta", e.Delta)
	dst = appendOptionalString(dst, "name", e.Name)
	return e.appendBase(dst, true)
}

func (e *TextMessageChunk) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "messageId":
		e.MessageID = d.optionalID()
	case "role":
		e.Role = d.textRole()
	case "delta":
		e.Delta = d.presentString()
	case "name":
		e.Name = d.optionalString(nullRefused)
	default:
		return e.baseMember(d, key, true)
	}
	return true
}

func (e *TextMessageChunk) finish(*decoder) {}
