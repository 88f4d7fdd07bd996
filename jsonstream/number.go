package jsonstream

import (
	"fmt"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// numberState is how far an open number has come in the grammar of RFC 8259
// section 6. A number never shows before it has ended: 12 may become 123.
type numberState uint8

const (
	numMinus numberState = iota // a digit must follow
	numZero
	numInt
	numDot // a digit must follow
	numFraction
	numE // a sign or digit must follow
	numSign
	numExponent
)

// whole reports whether the number may end here.
func (n numberState) whole() bool {
	return n == numZero || n == numInt || n == numFraction || n == numExponent
}

func numberStart(c byte) numberState {
	switch c {
	case '-':
		return numMinus
	case '0':
		return numZero
	}
	return numInt
}

// next returns the state behind the byte c, and whether c is part of the number.
func (n numberState) next(c byte) (numberState, bool) {
	digit := c >= '0' && c <= '9'
	switch n {
	case numMinus:
		if digit {
			return numberStart(c), true
		}
	case numZero, numInt:
		switch {
		case digit && n == numInt:
			return numInt, true
		case c == '.':
			return numDot, true
		case c == 'e', c == 'E':
			return numE, true
		}
	case numDot, numFraction:
		switch {
		case digit:
			return numFraction, true
		case n == numFraction && (c == 'e' || c == 'E'):
			return numE, true
		}
	case numE:
		if c == '+' || c == '-' {
			return numSign, true
		}
		fallthrough
	default:
		if digit {
			return numExponent, true
		}
	}
	return n, false
}

// scanNumber reads on in a number from s[i] and returns where it stopped. The
// byte behind a number is left for whoever comes next.
func (m *machine) scanNumber(s string, i int) int {
	from := i
	st := m.number
	for i < len(s) {
		if c := s[i]; c >= '0' && c <= '9' && (st == numInt || st == numFraction || st == numExponent) {
			i++
			continue
		}
		next, ok := st.next(s[i])
		if !ok {
			break
		}
		st = next
		i++
	}
	m.number = st
	m.text = append(m.text, s[from:i]...)
	if i == len(s) {
		return i
	}
	// A byte that belongs into numbers and not to this place is no end of it:
	// otherwise the 0 of 01 would show.
	if !st.whole() || numeric(s[i]) {
		m.fail(Invalid, m.offset+i, fmt.Sprintf("%q inside a number", s[i]))
		return i
	}
	m.completeNumber(m.offset + i)
	return i
}

func numeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

var litTrue, litFalse, litNull = jsondoc.True, jsondoc.False, jsondoc.Null

func (m *machine) literal(rest string, v jsondoc.Value) {
	m.word, m.lit, m.state = rest, v, inLiteral
}
