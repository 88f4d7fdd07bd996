package agui

import "github.com/lockstep-go/lockstep/jsondoc"

// Raw passes a provider's event through.
type Raw struct {
	Base
	Event  jsondoc.Value // required; absent is written as null
	Source string        // where it comes from; optional
}

// EventType returns RAW.
func (*Raw) EventType() EventType { return TypeRaw }

func (e *Raw) appendMembers(dst []byte) []byte {
	dst = append(dst, `,"event":`...)
	dst = e.Event.AppendJSON(dst)
	dst = appendOptionalString(dst, "source", e.Source)
	return e.appendBase(dst, true)
}

func (e *Raw) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "event":
		d.has |= 1
		e.Event = d.any()
	case "source":
		e.Source = d.optionalString(nullRefused)
	default:
		return e.baseMember(d, key, true)
	}
	return true
}

func (e *Raw) finish(d *decoder) { d.require(1, "event") }

// Custom is an application's own event.
type Custom struct {
	Base
	Name  string        // required
	Value jsondoc.Value // required; absent is written as null
}

// EventType returns CUSTOM.
func (*Custom) EventType() EventType { return TypeCustom }

func (e *Custom) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "name", e.Name)
	dst = append(dst, `,"value":`...)
	dst = e.Value.AppendJSON(dst)
	return e.appendBase(dst, true)
}

func (e *Custom) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "name":
		d.has |= 1
		e.Name = d.string()
	case "value":
		d.has |= 2
		e.Value = d.any()
	default:
		return e.baseMember(d, key, true)
	}
	return true
}

func (e *Custom) finish(d *decoder) {
	d.require(1, "name")
	d.require(2, "value")
}
