package jsondoc

import (
	"strconv"
	"unsafe"
)

// kindRaw is the kind of a node that stands for a piece of text which is valid
// JSON but was not read. No Value that leaves this package contains one.
const kindRaw = KindObject + 1

// ApplyBytes applies the patch to a document's text and returns the new text.
// It reads only what the patch is about; the values beside that are checked by
// the rules of [Parse] and copied as they are written, white space and escapes
// included. Objects and arrays on the way to a change are written anew, without
// white space of their own. For one change of a large text that is several times
// quicker than Parse, Apply and AppendJSON. Who keeps the document and applies one
// patch after another is far better off with [Patch.Apply].
//
// Errors are of type *[SyntaxError] or *[PatchError].
func (p Patch) ApplyBytes(text []byte, opts *ApplyOptions) ([]byte, error) {
	var places outline
	for _, op := range p {
		places.add(op.Path)
		places.add(op.From)
	}
	ps := parser{data: text, opts: &ParseOptions{}, depth: defaultMaxDepth, low: defaultMaxDepth}
	ps.arena.expect(len(text) / 8)
	ps.space()
	// Raw nodes borrow the text instead of copying it, which would be a third of
	// the work. They do not outlive this call, which writes to text nowhere.
	s := sketcher{&ps, unsafe.String(unsafe.SliceData(text), len(text))}
	doc, ok := s.value(&places)
	if err := ps.finish(ok); err != nil {
		return nil, err
	}
	doc, err := p.apply(doc, opts, applier{raw: true})
	if err != nil {
		return nil, err
	}
	return doc.AppendJSON(make([]byte, 0, doc.Size())), nil
}

// outline is the tree of the places that a patch names.
type outline struct {
	inside map[string]*outline
}

func (o *outline) add(p Pointer) {
	for p != "" && p[0] == '/' {
		var token string
		token, p = p.next()
		if o.inside == nil {
			o.inside = map[string]*outline{}
		}
		if o.inside[token] == nil {
			o.inside[token] = &outline{}
		}
		o = o.inside[token]
	}
}

// items is inside for an array.
func (o *outline) items() map[int]*outline {
	items := make(map[int]*outline, len(o.inside))
	for token, in := range o.inside {
		if i, ok := arrayIndex(token); ok {
			items[i] = in
		}
	}
	return items
}

// sketcher reads a document as far as an outline goes; what lies beside and below
// it becomes raw nodes.
type sketcher struct {
	*parser
	text string // the data: raw nodes are parts of it
}

func (s *sketcher) value(o *outline) (Value, bool) {
	if o != nil && o.inside != nil {
		switch s.peek() {
		case '[':
			return s.array(o.items())
		case '{':
			return s.object(o.inside)
		}
	}
	start, low := s.i, s.low
	s.low = s.depth
	if !s.skip() {
		return Value{}, false
	}
	x := s.arena.node(0)
	x.kind, x.text = kindRaw, s.text[start:s.i]
	x.size, x.height = uint32(min(s.i-start, sizeCap)), uint16(s.depth-s.low)
	s.low = min(s.low, low)
	return Value{x}, true
}

func (s *sketcher) array(inside map[int]*outline) (Value, bool) {
	if !s.enter() {
		return Value{}, false
	}
	var kids []Value
	for s.next() != ']' || len(kids) > 0 {
		v, ok := s.value(inside[len(kids)])
		if !ok {
			s.path = append(s.path, strconv.Itoa(len(kids)))
			return Value{}, false
		}
		kids = append(kids, v)
		c := s.next()
		if c == ']' {
			break
		}
		if c != ',' {
			return Value{}, s.unexpected("a comma or the array's end")
		}
		s.i++
	}
	s.i++
	s.depth++
	return newArray(kids), true
}

func (s *sketcher) object(inside map[string]*outline) (Value, bool) {
	if !s.enter() {
		return Value{}, false
	}
	var members []Member
	first := len(s.spans)
	escaped := false
	for s.next() != '}' || len(members) > 0 {
		name, plain, ok := s.name()
		if !ok {
			return Value{}, false
		}
		escaped = escaped || !plain
		v, ok := s.value(inside[name])
		if !ok {
			s.path = append(s.path, name)
			return Value{}, false
		}
		members = append(members, Member{name, v})
		c := s.next()
		if c == '}' {
			break
		}
		if c != ',' {
			return Value{}, s.unexpected("a comma or the object's end")
		}
		s.i++
		s.next()
	}
	s.i++
	s.depth++
	ok := s.distinct(s.spans[first:], escaped)
	s.spans = s.spans[:first]
	return Object(members...), ok
}

// name reads a member's name and the colon behind it.
func (s *sketcher) name() (name string, plain, ok bool) {
	if s.peek() != '"' {
		return "", false, s.unexpected("a member's name")
	}
	start := s.i + 1
	raw, plain, ok := s.str()
	if !ok {
		return "", false, false
	}
	s.spans = append(s.spans, span{start, s.i - 1})
	return string(raw), plain, s.colon()
}

// open reads a raw node's text; other values are what they are. The text was
// checked before.
func (v Value) open() Value {
	if v.Kind() != kindRaw {
		return v
	}
	x, err := Parse([]byte(v.n.text), &ParseOptions{MaxDepth: hardMaxDepth})
	if err != nil {
		panic("jsondoc: text that was checked is not JSON: " + err.Error())
	}
	return x
}

// whole reads all raw nodes in v.
func (v Value) whole() Value {
	raw := *v.n
	raw.kind, raw.text = kindRaw, v.String()
	return Value{&raw}.open()
}

// at is [Value.At] for documents with raw nodes.
func (a *applier) at(v Value, p Pointer) (Value, bool) {
	if !a.raw {
		return v.At(p)
	}
	for p != "" {
		var token string
		token, p = p.next()
		v = v.open()
		i, ok := v.child(token)
		if !ok {
			return Value{}, false
		}
		v = v.n.box.at(i)
	}
	return v, true
}
