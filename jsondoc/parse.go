package jsondoc

import (
	"fmt"
	"slices"
	"strconv"
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
	// place of the first, as in JSON.parse. Without it such a text is refused,
	// because readers disagree on what it says (RFC 8259 section 4).
	KeepLast bool
	// ReplaceInvalid accepts bytes that are not UTF-8 and escapes of half a
	// surrogate pair, and reads U+FFFD in their place, as encoding/json does.
	// Without it such a text is refused: the replacement would change what
	// another reader sees, and nobody would know.
	ReplaceInvalid bool
	// Like is a document that the text probably resembles: an older version of
	// it. The result shares with it what is the same at the same place, so that
	// memory is saved and [Diff] between the two need not look there. What is
	// read does not depend on it.
	Like Value
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
	return fmt.Sprintf("%s at byte %d%s", e.Reason, e.Offset, where)
}

// Parse reads one JSON document (RFC 8259), with white space around it and
// nothing else: a byte order mark is refused. Numbers keep their text, members
// their order. The data are copied; the caller may change them afterwards.
// Errors are of type *[SyntaxError]; no depth, size or nonsense makes it panic.
//
// Short strings and numbers are allocated many at a time: one that is kept when
// the rest of the document is dropped keeps some of its neighbours, a few KiB and
// in the worst case 40, in memory.
func Parse(data []byte, opts *ParseOptions) (Value, error) {
	if opts == nil {
		opts = &ParseOptions{}
	}
	if opts.MaxBytes > 0 && len(data) > opts.MaxBytes {
		return Value{}, &SyntaxError{
			Offset: opts.MaxBytes,
			Reason: fmt.Sprintf("text of %d bytes is longer than the %d that are allowed", len(data), opts.MaxBytes),
		}
	}
	p := parser{data: data, opts: opts, depth: opts.MaxDepth, low: hardMaxDepth}
	if p.depth <= 0 {
		p.depth = defaultMaxDepth
	}
	p.depth = min(p.depth, hardMaxDepth)
	p.arena.expect(len(data))
	p.space()
	v, ok := p.value(opts.Like)
	if err := p.finish(ok); err != nil {
		return Value{}, err
	}
	return v, nil
}

// finish reads to the end of the text; ok says whether the value was read.
func (p *parser) finish(ok bool) error {
	if ok {
		p.space()
		if p.i == len(p.data) {
			return nil
		}
		p.fail(p.i, "text after the end of the document")
	}
	slices.Reverse(p.path)
	p.err.Path = Path(p.path...)
	return p.err
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

// parser reads by example: each value has a model, the value at its place in
// ParseOptions.Like or its elder sibling in an array. What is the same as in the
// model is shared with it, above all the names of an object's members, which
// then are not even looked at one by one.
type parser struct {
	data  []byte
	i     int
	depth int // levels left
	opts  *ParseOptions
	arena arena
	kids  []Value  // children of the open containers
	names []string // names of the open objects that differ from their model
	spans []span   // names of the open objects that are skipped
	low   int      // the least that depth was
	err   *SyntaxError
	path  []string // of the error, innermost first
}

func (p *parser) fail(at int, reason string) bool {
	p.err = &SyntaxError{Offset: at, Reason: reason}
	return false
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

// peek returns the next byte, 0 at the end of the text.
func (p *parser) peek() byte {
	if p.i < len(p.data) {
		return p.data[p.i]
	}
	return 0
}

// next is peek behind white space.
func (p *parser) next() byte {
	if c := p.peek(); c > ' ' {
		return c
	}
	p.space()
	return p.peek()
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

func (p *parser) value(like Value) (Value, bool) {
	switch c := p.peek(); c {
	case '"':
		return p.stringValue(like)
	case '{':
		return p.object(like)
	case '[':
		return p.array(like)
	case 't':
		return p.literal("true", True)
	case 'f':
		return p.literal("false", False)
	case 'n':
		return p.literal("null", Null)
	default:
		if c == '-' || isDigit(c) {
			return p.number(like)
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

func (p *parser) number(like Value) (Value, bool) {
	n := scanNumber(p.data[p.i:])
	if n == 0 {
		return Value{}, p.fail(p.i, "malformed number")
	}
	text := p.data[p.i : p.i+n]
	p.i += n
	if n <= 3 {
		if k, ok := smallInt(text); ok {
			return smallInts[k], true
		}
	}
	if like.n != nil && like.n.kind == KindNumber && like.n.text == string(text) {
		return like, true
	}
	x := p.arena.node(n)
	x.kind, x.size, x.text = KindNumber, uint32(min(n, sizeCap)), p.arena.copy(text)
	return Value{x}, true
}

// smallInt reads up to three digits that smallInts has; "-1" and "1.5" are none.
func smallInt(text []byte) (int, bool) {
	k := 0
	for _, c := range text {
		if !isDigit(c) {
			return 0, false
		}
		k = k*10 + int(c-'0')
	}
	return k, k < len(smallInts)
}

func (p *parser) stringValue(like Value) (Value, bool) {
	raw, plain, ok := p.str()
	if !ok {
		return Value{}, false
	}
	if like.n != nil && like.n.kind == KindString && like.n.text == string(raw) {
		return like, true
	}
	x := p.arena.node(len(raw))
	x.kind, x.text = KindString, p.arena.copy(raw)
	if plain {
		x.size = uint32(min(len(raw)+2, sizeCap))
	} else {
		x.size = encodedLen(x.text)
	}
	return Value{x}, true
}

func (p *parser) enter() bool {
	if p.depth == 0 {
		return p.fail(p.i, "nested too deep")
	}
	p.depth--
	p.low = min(p.low, p.depth)
	p.i++
	return true
}

func (p *parser) array(like Value) (Value, bool) {
	if !p.enter() {
		return Value{}, false
	}
	var models []Value
	if like.n != nil && like.n.kind == KindArray {
		models = like.n.box.list()
	}
	base := len(p.kids)
	if p.next() == ']' {
		p.i++
	} else {
		var model Value
		for {
			i := len(p.kids) - base
			if i < len(models) {
				model = models[i]
			}
			v, ok := p.value(model)
			if !ok {
				p.path = append(p.path, strconv.Itoa(i))
				return Value{}, false
			}
			model = v
			p.kids = append(p.kids, v)
			c := p.next()
			if c == ',' {
				p.i++
				p.next()
				continue
			}
			if c == ']' {
				p.i++
				break
			}
			return Value{}, p.unexpected("a comma or the array's end")
		}
	}
	p.depth++
	kids := p.kids[base:]
	v := like
	if len(kids) != len(models) || like.Kind() != KindArray || !sameAll(kids, models) {
		v = newArray(kids)
	}
	p.kids = p.kids[:base]
	return v, true
}

func sameAll(a, b []Value) bool {
	for i := range a {
		if a[i].n != b[i].n {
			return false
		}
	}
	return true
}

func (p *parser) object(like Value) (Value, bool) {
	if !p.enter() {
		return Value{}, false
	}
	var model *shape
	var models []Value
	if like.n != nil && like.n.kind == KindObject {
		model, models = like.n.box.shape, like.n.box.list()
	}
	base := len(p.kids)
	if p.next() == '}' {
		p.i++
	} else {
		for {
			// With n members read, and the names of all of them the model's.
			n := len(p.kids) - base
			if model == nil || n == len(model.names) || !p.sameName(model, n) {
				return p.members(base, model, models)
			}
			if !p.colon() {
				return Value{}, false
			}
			v, ok := p.value(models[n])
			if !ok {
				p.path = append(p.path, model.names[n])
				return Value{}, false
			}
			p.kids = append(p.kids, v)
			c := p.next()
			if c == ',' {
				p.i++
				p.next()
				continue
			}
			if c == '}' {
				p.i++
				break
			}
			return Value{}, p.unexpected("a comma or the object's end")
		}
	}
	p.depth++
	kids := p.kids[base:]
	v := like
	switch {
	case model == nil || len(kids) == 0 && len(models) > 0:
		v = newObject(noNames, nil)
	case len(kids) < len(models):
		s := p.arena.shape(model.names[:len(kids):len(kids)])
		v = newObject(s, kids)
	case !sameAll(kids, models):
		v = newObject(model, kids)
	}
	p.kids = p.kids[:base]
	return v, true
}

// sameName reads a member's name if it is the model's name n, written without
// escapes.
func (p *parser) sameName(model *shape, n int) bool {
	name := model.names[n]
	end := p.i + 1 + len(name)
	if end >= len(p.data) || p.data[p.i] != '"' || p.data[end] != '"' ||
		string(p.data[p.i+1:end]) != name || model.escaped {
		return false
	}
	p.i = end + 1
	return true
}

func (p *parser) colon() bool {
	if p.next() != ':' {
		return p.unexpected("a colon")
	}
	p.i++
	p.next()
	return true
}

// members reads an object on from a member that the model does not have at its
// place; the children from base on are those before it.
func (p *parser) members(base int, model *shape, models []Value) (Value, bool) {
	first := len(p.names)
	if n := len(p.kids) - base; n > 0 {
		p.names = append(p.names, model.names[:n]...)
	}
	var seen map[string]int // once there are many names
	for {
		if p.peek() != '"' {
			return Value{}, p.unexpected("a member's name")
		}
		at := p.i
		raw, _, ok := p.str()
		if !ok {
			return Value{}, false
		}
		name := p.arena.name(raw)
		names := p.names[first:]
		dup := -1
		if seen == nil && len(names) == 2*scanNames {
			seen = make(map[string]int, 4*scanNames)
			for i, n := range names {
				seen[n] = i
			}
		}
		if seen == nil {
			dup = scan(names, name)
		} else if i, found := seen[name]; found {
			dup = i
		} else {
			seen[name] = len(names)
		}
		if dup >= 0 && !p.opts.KeepLast {
			p.path = append(p.path, name)
			return Value{}, p.fail(at, fmt.Sprintf("member %q appears twice", clip(name)))
		}
		var like Value
		if model != nil {
			if i := model.findNear(name, len(names)); i >= 0 {
				like = models[i]
			}
		}
		if !p.colon() {
			return Value{}, false
		}
		v, ok := p.value(like)
		if !ok {
			p.path = append(p.path, name)
			return Value{}, false
		}
		if dup >= 0 {
			p.kids[base+dup] = v
		} else {
			p.names = append(p.names, name)
			p.kids = append(p.kids, v)
		}
		c := p.next()
		if c == ',' {
			p.i++
			p.next()
			continue
		}
		if c == '}' {
			p.i++
			break
		}
		return Value{}, p.unexpected("a comma or the object's end")
	}
	p.depth++
	s := p.arena.shape(p.names[first:])
	v := newObject(s, p.kids[base:])
	p.names, p.kids = p.names[:first], p.kids[:base]
	return v, true
}
