package agui

import "github.com/lockstep-go/lockstep/jsondoc"

// StateSnapshot replaces the client's state, whatever it was. Null and scalars
// are states too, though clients before 1.0 ignore a state that is null, 0, ""
// or false.
type StateSnapshot struct {
	Base
	Snapshot jsondoc.Value // required; absent is written as null
}

// EventType returns STATE_SNAPSHOT.
func (*StateSnapshot) EventType() EventType { return TypeStateSnapshot }

func (e *StateSnapshot) appendMembers(dst []byte) []byte {
	dst = append(dst, `,"snapshot":`...)
	dst = e.Snapshot.AppendJSON(dst)
	return e.appendBase(dst, true)
}

func (e *StateSnapshot) member(d *decoder, key []byte) bool {
	if string(key) == "snapshot" {
		d.has |= 1
		e.Snapshot = d.any()
		return true
	}
	return e.baseMember(d, key, true)
}

func (e *StateSnapshot) finish(d *decoder) { d.require(1, "snapshot") }

// StateDelta changes the client's state by a JSON Patch (RFC 6902), all of it
// or nothing. A client that cannot apply it goes on with the state it has and
// tells nobody.
type StateDelta struct {
	Base
	Delta jsondoc.Patch // required; nil is written as []
	// Extras holds, by operation, members that RFC 6902 does not name. It is
	// nil, or as long as Delta, and filled only with
	// [DecodeOptions.KeepUnknown].
	Extras []jsondoc.Value
}

// EventType returns STATE_DELTA.
func (*StateDelta) EventType() EventType { return TypeStateDelta }

func (e *StateDelta) appendMembers(dst []byte) []byte {
	dst = append(dst, `,"delta":`...)
	dst = appendPatch(dst, e.Delta, e.Extras)
	return e.appendBase(dst, true)
}

func (e *StateDelta) member(d *decoder, key []byte) bool {
	if string(key) == "delta" {
		d.has |= 1
		e.Delta, e.Extras = d.patch()
		return true
	}
	return e.baseMember(d, key, true)
}

func (e *StateDelta) finish(d *decoder) { d.require(1, "delta") }

// MessagesSnapshot restates the conversation. It replaces messages in place,
// removes those it does not name and appends new ones: it cannot reorder what
// the client already has. See [Reducer].
type MessagesSnapshot struct {
	Base
	Messages []Message // required; nil is written as []
}

// EventType returns MESSAGES_SNAPSHOT.
func (*MessagesSnapshot) EventType() EventType { return TypeMessagesSnapshot }

func (e *MessagesSnapshot) appendMembers(dst []byte) []byte {
	dst = append(dst, `,"messages":`...)
	dst = appendMessages(dst, e.Messages)
	return e.appendBase(dst, false)
}

func (e *MessagesSnapshot) member(d *decoder, key []byte) bool {
	if string(key) == "messages" {
		d.has |= 1
		e.Messages = d.messages()
		return true
	}
	return e.baseMember(d, key, false)
}

func (e *MessagesSnapshot) finish(d *decoder) { d.require(1, "messages") }

// ActivitySnapshot sets an activity message: something a user interface shows
// between messages, such as a plan or a search. Activities are never sent to
// the agent.
type ActivitySnapshot struct {
	Base
	MessageID    string        // required
	ActivityType string        // required
	Content      jsondoc.Value // required; an object
	// Replace nil or true replaces what the id has; false only creates.
	Replace *bool
}

// EventType returns ACTIVITY_SNAPSHOT.
func (*ActivitySnapshot) EventType() EventType { return TypeActivitySnapshot }

func (e *ActivitySnapshot) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "messageId", e.MessageID)
	dst = appendMember(dst, "activityType", e.ActivityType)
	dst = append(dst, `,"content":`...)
	dst = appendObject(dst, e.Content)
	dst = appendBool(dst, "replace", e.Replace)
	return e.appendBase(dst, true)
}

func (e *ActivitySnapshot) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "messageId":
		d.has |= 1
		e.MessageID = d.id()
	case "activityType":
		d.has |= 2
		e.ActivityType = d.string()
	case "content":
		d.has |= 4
		e.Content = d.requiredObject()
	case "replace":
		e.Replace = d.optionalBool()
	default:
		return e.baseMember(d, key, true)
	}
	return true
}

func (e *ActivitySnapshot) finish(d *decoder) {
	d.require(1, "messageId")
	d.require(2, "activityType")
	d.require(4, "content")
}

// ActivityDelta patches the content of an activity message. For an id that is
// not there it does nothing.
type ActivityDelta struct {
	Base
	MessageID    string          // required
	ActivityType string          // required; becomes the message's type
	Patch        jsondoc.Patch   // required; nil is written as []
	Extras       []jsondoc.Value // as in [StateDelta]
}

// EventType returns ACTIVITY_DELTA.
func (*ActivityDelta) EventType() EventType { return TypeActivityDelta }

func (e *ActivityDelta) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "messageId", e.MessageID)
	dst = appendMember(dst, "activityType", e.ActivityType)
	dst = append(dst, `,"patch":`...)
	dst = appendPatch(dst, e.Patch, e.Extras)
	return e.appendBase(dst, true)
}

func (e *ActivityDelta) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "messageId":
		d.has |= 1
		e.MessageID = d.id()
	case "activityType":
		d.has |= 2
		e.ActivityType = d.string()
	case "patch":
		d.has |= 4
		e.Patch, e.Extras = d.patch()
	default:
		return e.baseMember(d, key, true)
	}
	return true
}

func (e *ActivityDelta) finish(d *decoder) {
	d.require(1, "messageId")
	d.require(2, "activityType")
	d.require(4, "patch")
}
