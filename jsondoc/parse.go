package jsondoc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParseOptions changes how [Parse] reads. The zero value is the default.
type ParseOptions struct {
	// MaxDepth is how many arrays and objects may lie within one another; 0
	// means 512. More than 10000 is read as 10000.
	MaxDepth int
	// MaxBytes is how long the text may be; 0 means no limit.
	MaxBytes int
	// KeepLast accepts objects that repeat a name: the last value wins, at the
	// place of the first. Without it such a text is refused, because readers
	// disagree on what it says (RFC 8259 section 4).
	KeepLast bool
	// ReplaceInvalid accepts bytes that are not UTF-8 and escapes of half a
	// surrogate pair, and reads U+FFFD in their place, as encoding/json does.
	// Without it such a text is refused: the replacement would change what
	// another reader sees.
	ReplaceInvalid bool
}

const (
	defaultMaxDepth = 512
	hardMaxDepth    = 10000
)

// SyntaxError says why a text is not an acceptable JSON document.
type SyntaxError struct {
	Offset int     // byte at which it was noticed, from 0
	Path   Pointer // innermost value that was being read
	Reason string
}

func (e *SyntaxError) Error() string {
	where := ""
	if e.Path != "" {
		where = " in " + strconv.Quote(clip(string(e.Path)))
	}
	return fmt.Sprintf("jsondoc: %s at byte %d%s", e.Reason, e.Offset, where)
}

// Parse reads one JSON document (RFC 8259), with white space around it. Numbers
// keep their text. The data are copied; the caller may change them afterwards.
// Errors are of type *[SyntaxError]. No depth, size or nonsense makes it panic.
func Parse(data []byte, opts *ParseOptions) (Value, error) {
	if opts == nil {
		opts = &ParseOptions{}
	}
	depth := opts.MaxDepth
	if depth <= 0 {
		depth = defaultMaxDepth
	}
	p := parser{data: data, opts: opts, depth: min(depth, hardMaxDepth)}
	if opts.MaxBytes > 0 && len(data) > opts.MaxBytes {
		return Value{}, &SyntaxError{Offset: opts.MaxBytes, Reason: fmt.Sprintf("text of %d bytes is longer than the %d that are allowed", len(data), opts.MaxBytes)}
	}
	p.space()
	v, ok := p.value()
	if ok {
		p.space()
		if p.i < len(p.data) {
			ok = p.fail(p.i, "text after the end of the document")
		}
	}
	if !ok {
		var b strings.Builder
		for _, t := range slices.Backward(p.path) {
			b.WriteString(string(Pointer("").Child(t)))
		}
		p.err.Path = Pointer(b.String())
		return Value{}, p.err
	}
	return v, nil
}

// ParseString is [Parse] of a string with the default options.
func ParseString(s string) (Value, error) { return Parse([]byte(s), nil) }

// MustParse is [ParseString] for texts that are part of the program: it panics
// on an error.
func MustParse(s string) Value {
	v, err := ParseString(s)
	if err != nil {
		panic(err)
	}
	return v
}

type parser struct {
	data  []byte
	i     int
	depth int // levels left
	opts  *ParseOptions
	err   *SyntaxError
	path  []string // of the error, innermost first
}

func (p *parser) fail(at int, reason string) bool {
	p.err = &SyntaxError{Offset: at, Reason: reason}
	return false
}

func (p *parser) space() {
	for p.i < len(p.data) {
		switch p.data[p.i] {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return
		}
	}
}

func (p *parser) unexpected(want string) bool {
	if p.i >= len(p.data) {
		return p.fail(p.i, "text ends where "+want+" should be")
	}
	r, size := utf8.DecodeRune(p.data[p.i:])
	if r == utf8.RuneError && size <= 1 {
		return p.fail(p.i, fmt.Sprintf("byte %#02x where %s should be", p.data[p.i], want))
	}
	return p.fail(p.i, fmt.Sprintf("%q where %s should be", r, want))
}

func (p *parser) value() (Value, bool) {
	if p.i >= len(p.data) {
		return Value{}, p.unexpected("a value")
	}
	switch c := p.data[p.i]; c {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		s, ok := p.str()
		if !ok {
			return Value{}, false
		}
		return Value{&node{kind: KindString, size: encodedLen(s), text: s}}, true
	case 't':
		return p.literal("true", True)
	case 'f':
		return p.literal("false", False)
	case 'n':
		return p.literal("null", Null)
	default:
		if c == '-' || isDigit(c) {
			n := scanNumber(p.data[p.i:])
			if n == 0 {
				return Value{}, p.fail(p.i, "malformed number")
			}
			text := string(p.data[p.i : p.i+n])
			p.i += n
			return numberValue(text), true
		}
	}
	return Value{}, p.unexpected("a value")
}

func (p *parser) literal(text string, v Value) (Value, bool) {
	if len(p.data)-p.i < len(text) || string(p.data[p.i:p.i+len(text)]) != text {
		return Value{}, p.fail(p.i, "malformed literal, wanted "+text)
	}
	p.i += len(text)
	return v, true
}

func (p *parser) enter() bool {
	if p.depth == 0 {
		return p.fail(p.i, "nested too deep")
	}
	p.depth--
	p.i++
	p.space()
	return true
}

func (p *parser) array() (Value, bool) {
	if !p.enter() {
		return Value{}, false
	}
	var kids []Value
	if p.i < len(p.data) && p.data[p.i] == ']' {
		p.i++
	} else {
		for {
			v, ok := p.value()
			if !ok {
				p.path = append(p.path, strconv.Itoa(len(kids)))
				return Value{}, false
			}
			kids = append(kids, v)
			p.space()
			if p.i < len(p.data) && p.data[p.i] == ',' {
				p.i++
				p.space()
				continue
			}
			if p.i < len(p.data) && p.data[p.i] == ']' {
				p.i++
				break
			}
			return Value{}, p.unexpected("a comma or the array's end")
		}
	}
	p.depth++
	return newArray(slices.Clip(kids)), true
}

func (p *parser) object() (Value, bool) {
	if !p.enter() {
		return Value{}, false
	}
	var names []string
	var kids []Value
	var seen map[string]int
	if p.i < len(p.data) && p.data[p.i] == '}' {
		p.i++
		p.depth++
		return newObject(noNames, nil), true
	}
	for {
		if p.i >= len(p.data) || p.data[p.i] != '"' {
			return Value{}, p.unexpected("a member's name")
		}
		at := p.i
		name, ok := p.str()
		if !ok {
			return Value{}, false
		}
		dup := -1
		if seen == nil && len(names) > linearNames {
			seen = make(map[string]int)
			for i, n := range names {
				seen[n] = i
			}
		}
		if seen != nil {
			if i, ok := seen[name]; ok {
				dup = i
			}
		} else {
			dup = slices.Index(names, name)
		}
		if dup >= 0 && !p.opts.KeepLast {
			p.path = append(p.path, name)
			return Value{}, p.fail(at, fmt.Sprintf("member %q appears twice", clip(name)))
		}
		p.space()
		if p.i >= len(p.data) || p.data[p.i] != ':' {
			return Value{}, p.unexpected("a colon")
		}
		p.i++
		p.space()
		v, ok := p.value()
		if !ok {
			p.path = append(p.path, name)
			return Value{}, false
		}
		if dup >= 0 {
			kids[dup] = v
		} else {
			if seen != nil {
				seen[name] = len(names)
			}
			names = append(names, name)
			kids = append(kids, v)
		}
		p.space()
		if p.i < len(p.data) && p.data[p.i] == ',' {
			p.i++
			p.space()
			continue
		}
		if p.i < len(p.data) && p.data[p.i] == '}' {
			p.i++
			break
		}
		return Value{}, p.unexpected("a comma or the object's end")
	}
	p.depth++
	return newObject(newShape(slices.Clip(names)), slices.Clip(kids)), true
}

// str reads a string, from its opening to behind its closing quotation mark.
func (p *parser) str() (string, bool) {
	start := p.i
	p.i++
	var b []byte
	from := p.i
	for p.i < len(p.data) {
		c := p.data[p.i]
		switch {
		case c == '"':
			b = append(b, p.data[from:p.i]...)
			p.i++
			return string(b), true
		case c < 0x20:
			return "", p.fail(p.i, fmt.Sprintf("control character %#02x in a string must be escaped", c))
		case c == '\\':
			b = append(b, p.data[from:p.i]...)
			var ok bool
			if b, ok = p.escape(b); !ok {
				return "", false
			}
			from = p.i
		case c < utf8.RuneSelf:
			p.i++
		default:
			r, size := utf8.DecodeRune(p.data[p.i:])
			if r == utf8.RuneError && size == 1 {
				if !p.opts.ReplaceInvalid {
					return "", p.fail(p.i, fmt.Sprintf("byte %#02x is not UTF-8", c))
				}
				b = append(b, p.data[from:p.i]...)
				b = append(b, "\uFFFD"...)
				p.i++
				from = p.i
				continue
			}
			p.i += size
		}
	}
	return "", p.fail(start, "string without an end")
}

func (p *parser) escape(b []byte) ([]byte, bool) {
	if p.i+1 >= len(p.data) {
		return nil, p.fail(p.i, "string without an end")
	}
	c := p.data[p.i+1]
	switch c {
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
		r, ok := p.hex4(p.i + 2)
		if !ok {
			return nil, p.fail(p.i, `\u without four hexadecimal digits`)
		}
		size := 6
		if r >= 0xD800 && r < 0xE000 {
			lo, ok := rune(0), false
			if r < 0xDC00 && p.i+7 < len(p.data) && p.data[p.i+6] == '\\' && p.data[p.i+7] == 'u' {
				lo, ok = p.hex4(p.i + 8)
			}
			switch {
			case ok && lo >= 0xDC00 && lo < 0xE000:
				r = 0x10000 + (r-0xD800)<<10 + (lo - 0xDC00)
				size = 12
			case p.opts.ReplaceInvalid:
				r = utf8.RuneError
			default:
				return nil, p.fail(p.i, fmt.Sprintf(`\u%04x is half of a surrogate pair and no character`, r))
			}
		}
		b = utf8.AppendRune(b, r)
		p.i += size
		return b, true
	default:
		return nil, p.fail(p.i, fmt.Sprintf("unknown escape \\%s", strconv.QuoteToASCII(string(rune(c)))))
	}
	p.i += 2
	return b, true
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
