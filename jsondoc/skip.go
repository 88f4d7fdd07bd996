package jsondoc

import (
	"bytes"
	"fmt"
	"strconv"
)

// span is a piece of the text: a member's name without its quotation marks.
type span struct{ start, end int }

// skip reads a value by all of Parse's rules, repeated names included, and makes
// nothing of it. It allocates next to nothing.
func (p *parser) skip() bool {
	switch c := p.peek(); c {
	case '"':
		_, _, ok := p.str()
		return ok
	case '{':
		return p.skipObject()
	case '[':
		return p.skipArray()
	case 't', 'f', 'n':
		_, ok := p.value(Value{})
		return ok
	default:
		if c == '-' || isDigit(c) {
			n := scanNumber(p.data[p.i:])
			if n == 0 {
				return p.fail(p.i, "malformed number")
			}
			p.i += n
			return true
		}
	}
	return p.unexpected("a value")
}

func (p *parser) skipArray() bool {
	if !p.enter() {
		return false
	}
	if p.next() == ']' {
		p.i++
		p.depth++
		return true
	}
	for n := 0; ; n++ {
		if !p.skip() {
			p.path = append(p.path, strconv.Itoa(n))
			return false
		}
		switch p.next() {
		case ',':
			p.i++
			p.next()
		case ']':
			p.i++
			p.depth++
			return true
		default:
			return p.unexpected("a comma or the array's end")
		}
	}
}

func (p *parser) skipObject() bool {
	if !p.enter() {
		return false
	}
	if p.next() == '}' {
		p.i++
		p.depth++
		return true
	}
	first := len(p.spans)
	escaped := false
	for {
		if p.peek() != '"' {
			return p.unexpected("a member's name")
		}
		start := p.i + 1
		_, plain, ok := p.str()
		if !ok {
			return false
		}
		escaped = escaped || !plain
		p.spans = append(p.spans, span{start, p.i - 1})
		if !p.colon() {
			return false
		}
		if !p.skip() {
			p.path = append(p.path, p.nameAt(p.spans[len(p.spans)-1]))
			return false
		}
		c := p.next()
		p.i++
		if c == ',' {
			p.next()
			continue
		}
		if c != '}' {
			p.i--
			return p.unexpected("a comma or the object's end")
		}
		ok = p.distinct(p.spans[first:], escaped)
		p.spans = p.spans[:first]
		p.depth++
		return ok
	}
}

// distinct fails if two of the names are the same.
func (p *parser) distinct(names []span, escaped bool) bool {
	if len(names) > 2*scanNames || escaped {
		seen := make(map[string]bool, len(names))
		for _, s := range names {
			name := p.nameAt(s)
			if seen[name] {
				return p.repeated(s)
			}
			seen[name] = true
		}
		return true
	}
	// Names that share no bit of a small filter need no comparison.
	var filter uint64
	for i, s := range names {
		h := s.end - s.start
		if h > 0 {
			h = h*31 + int(p.data[s.start])*7 + int(p.data[s.end-1])
		}
		bit := uint64(1) << (h & 63)
		if filter&bit == 0 {
			filter |= bit
			continue
		}
		for _, r := range names[:i] {
			if s.end-s.start == r.end-r.start && bytes.Equal(p.data[s.start:s.end], p.data[r.start:r.end]) {
				return p.repeated(s)
			}
		}
	}
	return true
}

func (p *parser) repeated(s span) bool {
	name := p.nameAt(s)
	p.path = append(p.path, name)
	return p.fail(s.start-1, fmt.Sprintf("member %q appears twice", clip(name)))
}

// nameAt decodes a name that was read before.
func (p *parser) nameAt(s span) string {
	at := p.i
	p.i = s.start - 1
	raw, _, _ := p.str()
	p.i = at
	return string(raw)
}
