package jsonstream

import (
	"fmt"
	"unicode/utf8"
)

// state says what the next byte must be part of.
type state uint8

const (
	atValue state = iota // a value
	atFirstItem
	atFirstName
	atName
	atColon
	afterValue     // in a container, behind a child
	afterEmptyRoot // behind a top-level {}, which may turn out to be a placeholder
	afterRoot
	afterEnd
	inRepetition
	inNumber
	inLiteral
	// The states within a string are the last, in the range that stringOpen asks for.
	inString
	inRune   // within a rune of several bytes
	inEscape // behind a backslash
	inHex    // behind \u
	inPair   // behind the first half of a surrogate pair, a backslash is due
	inLow    // and an u
)

// where completes the sentence "the text ends …".
func (s state) where(inName bool) string {
	switch s {
	case atValue, atFirstItem:
		return "where a value is expected"
	case atFirstName, atName:
		return "inside an object, where a member's name or the end is expected"
	case atColon:
		return "behind a member's name"
	case afterValue:
		return "before the end of an array or object"
	case inNumber, inLiteral:
		return "inside a number or literal"
	}
	if inName {
		return "inside a member's name"
	}
	return "inside a string"
}

// plain are the bytes that stand for themselves in a string and are a rune each.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// feed reads the next piece of the text, wherever it was cut, and returns how
// much it read: less than all only on an error, or at the end of a single value.
func (m *machine) feed(s string) int {
	if m.err != nil || m.state == afterEnd {
		return 0
	}
	tooLong := len(s) > m.limits.bytes-m.offset
	if tooLong {
		s = s[:m.limits.bytes-m.offset]
	}
	m.run = [2]int{}
	i := 0
	for i < len(s) && m.err == nil && !(m.single && m.state == afterRoot) {
		switch m.state {
		case inString:
			i = m.scanString(s, i)
		case inNumber:
			i = m.scanNumber(s, i)
		case inRune, inEscape, inHex, inPair, inLow:
			m.stringByte(s[i], m.offset+i)
			i++
		case inLiteral:
			if s[i] != m.word[0] {
				m.fail(Invalid, m.offset+i, fmt.Sprintf("%q inside a literal, which goes on %q", s[i], m.word))
				break
			}
			i++
			if m.word = m.word[1:]; m.word == "" {
				m.completeScalar(m.lit)
			}
		case inRepetition:
			i += m.repetition(s[i:], m.offset+i)
		default:
			if c := s[i]; !isSpace(c) {
				m.structure(c, m.offset+i)
			}
			i++
		}
	}
	m.offset += i
	if tooLong && m.err == nil {
		m.fail(TooLong, m.offset, fmt.Sprintf("the text is longer than the limit of %d bytes", m.limits.bytes))
	}
	return i
}

// structure reads the first byte of a value or one between values.
func (m *machine) structure(c byte, at int) {
	switch m.state {
	case atFirstItem:
		if c == ']' {
			m.close()
			return
		}
		m.first(c, at)
	case atValue:
		m.first(c, at)
	case atFirstName, atName:
		switch {
		case c == '"':
			m.inKey = true
			m.openString()
		case c == '}' && m.state == atFirstName:
			if len(m.stack) == 1 {
				m.state = afterEmptyRoot
				return
			}
			m.close()
		default:
			m.unexpected(c, at, "a member's name")
		}
	case atColon:
		if c != ':' {
			m.unexpected(c, at, "a colon")
			return
		}
		m.state = atValue
	case afterValue:
		f := m.top()
		switch {
		case c == ',' && f.array:
			m.state = atValue
		case c == ',':
			m.state = atName
		case c == ']' && f.array, c == '}' && !f.array:
			m.close()
		case f.array:
			m.unexpected(c, at, "a comma or the array's end")
		default:
			m.unexpected(c, at, "a comma or the object's end")
		}
	case afterEmptyRoot:
		if c == '{' && m.limits.repeats {
			m.state = atFirstName
			return
		}
		m.fail(Trailing, at, fmt.Sprintf("%q behind the end of the value", c))
	case afterRoot:
		if m.limits.repeats && m.root.Len() > 0 && (c == '{' || c == '[') {
			m.again = &machine{limits: m.limits, single: true}
			m.again.structure(c, at)
			m.againAt, m.state = at, inRepetition
			return
		}
		m.fail(Trailing, at, fmt.Sprintf("%q behind the end of the value", c))
	}
}

// repetition feeds the machine that reads a second value and returns how many
// bytes it took.
func (m *machine) repetition(s string, at int) int {
	if m.again.state != afterRoot {
		n := m.again.feed(s)
		if m.again.err != nil {
			m.endRepetition()
		}
		return n
	}
	if isSpace(s[0]) {
		return 1
	}
	if m.endRepetition(); m.err == nil {
		m.again, m.state = nil, afterRoot
		m.structure(s[0], at)
	}
	return 1
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func (m *machine) unexpected(c byte, at int, want string) {
	m.fail(Invalid, at, fmt.Sprintf("%q where %s is expected", c, want))
}

// first reads a value's first byte.
func (m *machine) first(c byte, at int) {
	switch c {
	case '"':
		m.openString()
		m.begin(kindString)
	case '{':
		m.open(false, at)
	case '[':
		m.open(true, at)
	case 't':
		m.literal("rue", litTrue)
	case 'f':
		m.literal("alse", litFalse)
	case 'n':
		m.literal("ull", litNull)
	default:
		if c != '-' && (c < '0' || c > '9') {
			m.unexpected(c, at, "a value")
			return
		}
		m.text = append(m.text[:0], c)
		m.state, m.number = inNumber, numberStart(c)
	}
}
