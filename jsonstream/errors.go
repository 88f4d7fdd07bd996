package jsonstream

import (
	"fmt"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// ErrorKind says what is wrong with a text, as far as a caller may want to
// decide by it.
type ErrorKind uint8

// The kinds.
const (
	// Invalid text breaks the grammar of RFC 8259.
	Invalid ErrorKind = iota + 1
	// Truncated text is correct so far and has no end: the model's answer was
	// cut off, mostly by a limit on its length.
	Truncated
	// Duplicate text names one member of an object twice. Parsers disagree
	// about which one counts, and a value that was shown would have to be taken
	// back, so neither does.
	Duplicate
	// Trailing text follows the value.
	Trailing
	// TooDeep and TooLong text is beyond a limit of the options.
	TooDeep
	TooLong
)

// String returns the kind's name in lower case.
func (k ErrorKind) String() string {
	switch k {
	case Invalid:
		return "invalid"
	case Truncated:
		return "truncated"
	case Duplicate:
		return "duplicate member"
	case Trailing:
		return "trailing text"
	case TooDeep:
		return "too deep"
	case TooLong:
		return "too long"
	}
	return "unknown"
}

// Error is the verdict on a text that is not one JSON value.
type Error struct {
	Kind   ErrorKind
	Offset int             // bytes before the one that is wrong; the text's length if it is Truncated
	Path   jsondoc.Pointer // the innermost value that was being read there
	Reason string          // what was found and what was expected, for a person or a model to mend it
}

// Error says kind, place and reason in one line.
func (e *Error) Error() string {
	at := "at the top"
	if e.Path != "" {
		at = "in " + quoted(string(e.Path))
	}
	return fmt.Sprintf("jsonstream: %s at byte %d, %s: %s", e.Kind, e.Offset, at, e.Reason)
}
