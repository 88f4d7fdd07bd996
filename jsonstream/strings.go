package jsonstream

import (
	"fmt"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/jsondoc"
)

const kindString = jsondoc.KindString

func (m *machine) openString() {
	m.text, m.extra = m.text[:0], 0
	m.high = 0
	m.state = inString
}

// scanString reads on in a string from s[i], as far as its end or to a byte that
// needs a state of its own, and returns where it stopped.
func (m *machine) scanString(s string, i int) int {
	from := i
	for i < len(s) && plain[s[i]] {
		i++
	}
	if i < len(s) && s[i] >= utf8.RuneSelf {
		for i < len(s) && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size <= 1 {
				break
			}
			i += size
		}
	}
	if i > from {
		m.text = append(m.text, s[from:i]...)
		m.run = [2]int{from, i}
	}
	if i == len(s) {
		return i
	}
	switch c := s[i]; {
	case c == '"' && m.inKey:
		m.completeName(m.offset + i)
	case c == '"':
		m.completeString()
	case c == '\\':
		m.state = inEscape
	case c < 0x20:
		m.fail(Invalid, m.offset+i, fmt.Sprintf("the control character %q in a string must be escaped", c))
	case utf8.FullRuneInString(s[i:]):
		m.notUTF8(c, m.offset+i)
	default:
		m.parts = copy(m.part[:], s[i:])
		m.state = inRune
		return len(s)
	}
	return i + 1
}

// stringByte reads one byte in the middle of a rune or escape. Nothing of them
// shows before they are whole: a rune's first bytes are no text, and half of a
// surrogate pair is no character.
func (m *machine) stringByte(c byte, at int) {
	switch m.state {
	case inRune:
		m.part[m.parts] = c
		m.parts++
		p := m.part[:m.parts]
		if !utf8.FullRune(p) {
			return
		}
		if r, size := utf8.DecodeRune(p); r == utf8.RuneError && size <= 1 {
			m.notUTF8(p[0], at-len(p)+1)
			return
		}
		m.appendText(p)
	case inEscape:
		switch c {
		case '"', '\\':
			m.escaped(c, 1)
		case '/':
			m.escaped(c, 0)
		case 'b':
			m.escaped('\b', 1)
		case 'f':
			m.escaped('\f', 1)
		case 'n':
			m.escaped('\n', 1)
		case 'r':
			m.escaped('\r', 1)
		case 't':
			m.escaped('\t', 1)
		case 'u':
			m.hex, m.digit, m.state = 0, 0, inHex
		default:
			m.fail(Invalid, at, fmt.Sprintf("%q behind a backslash", c))
		}
	case inHex:
		d := rune(-1)
		switch {
		case c >= '0' && c <= '9':
			d = rune(c - '0')
		case c >= 'a' && c <= 'f':
			d = rune(c-'a') + 10
		case c >= 'A' && c <= 'F':
			d = rune(c-'A') + 10
		}
		if d < 0 {
			m.fail(Invalid, at, fmt.Sprintf(`%q where \u needs a hexadecimal digit`, c))
			return
		}
		m.hex = m.hex<<4 | d
		if m.digit++; m.digit == 4 {
			m.unicode(m.hex, at)
		}
	case inPair, inLow:
		if want := byte(`\u`[m.state-inPair]); c != want {
			m.loneSurrogate(m.high, at)
			return
		}
		if m.state++; m.state > inLow {
			m.hex, m.digit, m.state = 0, 0, inHex
		}
	}
}

func (m *machine) notUTF8(first byte, at int) {
	m.fail(Invalid, at, fmt.Sprintf("no UTF-8 begins with the byte %#02x and what follows", first))
}

// escaped appends a character whose encoding has extra more bytes than it.
func (m *machine) escaped(c byte, extra int) {
	m.text = append(m.text, c)
	m.extra += extra
	m.run, m.state = [2]int{}, inString
}

func (m *machine) appendText(p []byte) {
	m.text = append(m.text, p...)
	m.run, m.state = [2]int{}, inString
}

// unicode takes the character of a complete \u escape.
func (m *machine) unicode(r rune, at int) {
	isHigh := r >= 0xD800 && r < 0xDC00
	isLow := r >= 0xDC00 && r < 0xE000
	switch {
	case m.high != 0 && !isLow:
		m.loneSurrogate(m.high, at)
		return
	case m.high != 0:
		r = 0x10000 + (m.high-0xD800)<<10 + (r - 0xDC00)
		m.high = 0
	case isHigh:
		m.high, m.state = r, inPair
		return
	case isLow:
		m.loneSurrogate(r, at)
		return
	}
	if r < 0x20 || r == '"' || r == '\\' {
		m.escaped(byte(r), escapedSize(byte(r))-1)
		return
	}
	var p [utf8.UTFMax]byte
	m.appendText(utf8.AppendRune(p[:0], r))
}

func (m *machine) loneSurrogate(r rune, at int) {
	m.fail(Invalid, at, fmt.Sprintf(`\u%04x is half of a surrogate pair and no character`, r))
}

// escapedSize is how long the encoding of a character is that a JSON string must
// escape, and 1 for every other.
func escapedSize(c byte) int {
	switch c {
	case '"', '\\', '\b', '\f', '\n', '\r', '\t':
		return 2
	}
	if c < 0x20 {
		return 6
	}
	return 1
}

// encodedLen is the size of a string's encoding without the quotes.
func encodedLen(s string) int {
	n := len(s)
	for i := 0; i < len(s); i++ {
		n += escapedSize(s[i]) - 1
	}
	return n
}
