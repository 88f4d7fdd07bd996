package agui

import "github.com/lockstep-go/lockstep/jsondoc"

// Event is one event of a stream. The set is closed: the pointer types of this
// package and [*Unknown] for what a newer peer may send. A type switch over the
// pointers is the way to take one apart.
type Event interface {
	// EventType is the wire discriminator.
	EventType() EventType
	// Common is the event's own Base, to read or to set.
	Common() *Base

	// appendMembers appends the event's own members, each with a leading comma.
	appendMembers(dst []byte) []byte
	object
}

// Base holds the members that every event may carry.
type Base struct {
	// Timestamp is the creation time in Unix milliseconds; 0 means absent.
	// Beyond 2^53-1 official clients refuse it.
	Timestamp int64
	// RawEvent is the provider's own event that this one was made from. Absent
	// or null is left out.
	RawEvent jsondoc.Value
	// Metadata is an object with free keys; the key "ag-ui" is reserved. The
	// reducer merges it into the message or tool call that the event is about.
	Metadata jsondoc.Value
	// SubagentRunID says which subagent did it; empty means the parent agent.
	// RUN_*, and MESSAGES_SNAPSHOT do not carry it; for SUBAGENT_* it is the
	// required identity.
	SubagentRunID string
	// Extra is an object of the members this package does not know, in wire
	// order. Filled only with [DecodeOptions.KeepUnknown]; written back last.
	Extra jsondoc.Value
}

// Common returns b itself, so that embedding Base makes an event's Common.
func (b *Base) Common() *Base { return b }

var absent jsondoc.Value

// appendBase appends the common members, each with a leading comma.
func (b *Base) appendBase(dst []byte, attributable bool) []byte {
	if attributable && b.SubagentRunID != "" {
		dst = appendMember(dst, "subagentRunId", b.SubagentRunID)
	}
	if b.Timestamp != 0 {
		dst = append(dst, `,"timestamp":`...)
		dst = appendInt(dst, b.Timestamp)
	}
	if b.RawEvent == absent && b.Metadata == absent && b.Extra == absent {
		return dst
	}
	dst = appendOptional(dst, "rawEvent", b.RawEvent)
	dst = appendOptional(dst, "metadata", b.Metadata)
	return appendExtra(dst, b.Extra)
}

// baseMember reads a common member. attributable says whether this event type
// may carry subagentRunId.
func (b *Base) baseMember(d *decoder, key []byte, attributable bool) bool {
	switch string(key) {
	case "type":
		d.eventTypeAgain()
	case "timestamp":
		b.Timestamp = d.timestamp()
	case "rawEvent":
		b.RawEvent = d.anyNotNull(nullTolerated)
	case "metadata":
		b.Metadata = d.openObject(nullRefused)
	case "subagentRunId":
		if !attributable {
			return false
		}
		b.SubagentRunID = d.optionalID()
	default:
		return false
	}
	return true
}

func (b *Base) extra() *jsondoc.Value { return &b.Extra }

// Unknown is an event of a type that this package does not know. It is written
// back as it came. [Sequence] and [Reducer] pass over it, as official clients
// do; clients before 1.0 reject the run, so it has no V0 spelling.
type Unknown struct {
	// Base is empty after decoding: nothing is known of the event's members.
	Base
	// Type is the discriminator.
	Type EventType
	// JSON is the whole event, "type" included.
	JSON jsondoc.Value
}

// EventType returns the discriminator as it came.
func (e *Unknown) EventType() EventType { return e.Type }

func (e *Unknown) appendMembers(dst []byte) []byte    { return dst }
func (e *Unknown) member(d *decoder, key []byte) bool { return false }
func (e *Unknown) finish(*decoder)                    {}
