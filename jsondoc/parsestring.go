package jsondoc

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// str reads a string from its opening quotation mark to behind its closing one.
// raw is the text, valid UTF-8, until the next call; plain says that it holds
// nothing that the encoder escapes.
func (p *parser) str() (raw []byte, plain, ok bool) {
	start := p.i + 1
	end, ascii := scanPlain(p.data, start)
	if end < len(p.data) && p.data[end] == '"' {
		raw = p.data[start:end]
		if ascii || utf8.Valid(raw) {
			p.i = end + 1
			return raw, true, true
		}
	}
	raw, ok = p.hardString()
	return raw, false, ok
}

// scanPlain returns the position of the first byte from i on that ends a run of
// plain string text: a quotation mark, a backslash, a control character or the
// end of the data. ascii is false if there may be others than ASCII before it.
func scanPlain(data []byte, i int) (end int, ascii bool) {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	var seen uint64
	for i+8 <= len(data) {
		// Eight bytes at a time. Each test sets the high bit of bytes that match;
		// above the first match there may be false ones, which do not matter.
		w := binary.LittleEndian.Uint64(data[i:])
		quote := w ^ '"'*ones
		slash := w ^ '\\'*ones
		hit := ((quote-ones)&^quote | (slash-ones)&^slash | (w-0x20*ones)&^w) & highs
		seen |= w
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)/8, seen&highs == 0
		}
		i += 8
	}
	for i < len(data) && !mustEscape[data[i]] {
		seen |= uint64(data[i])
		i++
	}
	return i, seen&highs == 0
}

// hardString reads a string that has escapes, is not UTF-8 or has no end.
func (p *parser) hardString() ([]byte, bool) {
	start := p.i
	p.i++
	b := p.arena.scratch[:0]
	for {
		end, _ := scanPlain(p.data, p.i)
		var ok bool
		if b, ok = p.appendText(b, end); !ok {
			return nil, false
		}
		p.i = end
		if end == len(p.data) {
			return nil, p.fail(start, "string without an end")
		}
		switch c := p.data[end]; c {
		case '"':
			p.i++
			p.arena.scratch = b
			return b, true
		case '\\':
			if b, ok = p.escape(b); !ok {
				return nil, false
			}
		default:
			return nil, p.fail(end, fmt.Sprintf("control character %#02x must be escaped in a string", c))
		}
	}
}

// appendText appends the text up to end, which has no escapes.
func (p *parser) appendText(b []byte, end int) ([]byte, bool) {
	text := p.data[p.i:end]
	if utf8.Valid(text) {
		return append(b, text...), true
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 && !p.opts.ReplaceInvalid {
			return nil, p.fail(p.i+i, fmt.Sprintf("byte %#02x is not UTF-8", text[i]))
		}
		b = utf8.AppendRune(b, r)
		i += size
	}
	return b, true
}

func (p *parser) escape(b []byte) ([]byte, bool) {
	if p.i+1 == len(p.data) {
		return nil, p.fail(p.i, "string without an end")
	}
	switch c := p.data[p.i+1]; c {
	case '"', '\\', '/':
		b = append(b, c)
	case 'b':
		b = append(b, '\b')
	case 'f':
		b = append(b, '\f')
	case 'n':
		b = append(b, '\n')
	case 'r':
		b = append(b, '\r')
	case 't':
		b = append(b, '\t')
	case 'u':
		return p.unicodeEscape(b)
	default:
		return nil, p.fail(p.i, "unknown escape: a backslash before "+strconv.QuoteToASCII(string(rune(c))))
	}
	p.i += 2
	return b, true
}

// unicodeEscape reads \uXXXX, or two of them that are a surrogate pair.
func (p *parser) unicodeEscape(b []byte) ([]byte, bool) {
	r, ok := p.hex4(p.i + 2)
	if !ok {
		return nil, p.fail(p.i, `\u without four hexadecimal digits`)
	}
	size := 6
	if r >= 0xD800 && r < 0xE000 {
		var low rune
		if r < 0xDC00 && p.i+7 < len(p.data) && p.data[p.i+6] == '\\' && p.data[p.i+7] == 'u' {
			low, _ = p.hex4(p.i + 8)
		}
		switch {
		case low >= 0xDC00 && low < 0xE000:
			r = 0x10000 + (r-0xD800)<<10 + (low - 0xDC00)
			size = 12
		case p.opts.ReplaceInvalid:
			r = utf8.RuneError
		default:
			return nil, p.fail(p.i, fmt.Sprintf(`\u%04x is half of a surrogate pair and no character`, r))
		}
	}
	p.i += size
	return utf8.AppendRune(b, r), true
}

func (p *parser) hex4(at int) (rune, bool) {
	if at+4 > len(p.data) {
		return 0, false
	}
	var r rune
	for _, c := range p.data[at : at+4] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
