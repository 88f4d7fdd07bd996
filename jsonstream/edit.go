package jsonstream

import (
	"strconv"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// EditKind says what an [Edit] reports.
type EditKind uint8

// The kinds of edits, in the order in which they come for one value: an array,
// object or string is Opened, a string Grew any number of times, and every value
// is Complete once. Numbers, true, false and null are only reported Complete: a
// part of them says nothing (1 may become 12, or 1e9).
const (
	Opened EditKind = iota + 1
	Grew
	Complete
)

// String returns "opened", "grew" or "complete".
func (k EditKind) String() string {
	switch k {
	case Opened:
		return "opened"
	case Grew:
		return "grew"
	case Complete:
		return "complete"
	}
	return "none"
}

// Edit is one step of what became known about a watched value.
type Edit struct {
	Kind  EditKind
	Watch int // index in ParserOptions.Watch

	// Name and Index say which child of its parent the value is: a member, or an
	// item, in which case Index is not -1. Both are without meaning for the
	// top-level value.
	Name  string
	Index int

	// Value is what the value is by now. If it Opened: an empty one of its kind.
	// If it is Complete: the value. If it Grew: absent, because a long string
	// would have to be copied for each piece of it; Text has the new piece.
	Value jsondoc.Value

	// Text is what a string gained since the edit before, in whole characters,
	// for Grew and for Complete. The Texts of one string are its value.
	Text string

	parent *place
}

// Path returns the pointer to the value, from the root of the text.
func (e Edit) Path() jsondoc.Pointer {
	if e.parent == nil {
		return ""
	}
	return jsondoc.Pointer(appendPlace(e.parent.pointer(), e.Name, e.Index))
}

// place is an open or closed container's place in the text. Places are kept as a
// tree and turned into pointers only when asked: a pointer for each value would
// cost more than reading it.
type place struct {
	parent *place
	name   string
	index  int
}

func (p *place) pointer() []byte {
	if p.parent == nil {
		return nil
	}
	return appendPlace(p.parent.pointer(), p.name, p.index)
}

func appendPlace(p []byte, name string, index int) []byte {
	if index >= 0 {
		return strconv.AppendInt(append(p, '/'), int64(index), 10)
	}
	return appendToken(p, name)
}
