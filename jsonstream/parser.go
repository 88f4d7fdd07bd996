package jsonstream

import (
	"math"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// ParserOptions configure a [Parser]. Nil and the zero value are the strictest.
type ParserOptions struct {
	// Watch lists the values that Feed reports, as pointers from the root of the
	// text: "" is everything. Pointers may lie in one another; what lies in
	// several is reported for each. Without any Feed reports nothing.
	Watch []jsondoc.Pointer

	// MaxDepth is how many arrays and objects may lie in one another. Zero is 512.
	MaxDepth int

	// MaxBytes is how long the text may be. Zero is 64 MiB.
	MaxBytes int

	// Repeats accepts two habits of model providers that are not JSON:
	//
	//   - empty objects before the real one, as in {}{"a":1}: a placeholder that
	//     was sent before the arguments were known. The last object counts, and
	//     since {} is the beginning of every object nothing shown is taken back.
	//   - the whole object or array once more behind itself, as some proxies do at
	//     the end of a stream. It must say the same, member for member and digit
	//     for digit; it is not reported again.
	//
	// Two different values stay an error. jsondoc.Parse refuses all such texts,
	// so use the value that End returns and not the text.
	Repeats bool
}

func (o *ParserOptions) limits() limits {
	l := limits{depth: 512, bytes: 64 << 20}
	if o == nil {
		return l
	}
	l.repeats = o.Repeats
	if o.MaxDepth > 0 {
		l.depth = min(o.MaxDepth, 10000)
	}
	if o.MaxBytes > 0 {
		l.bytes = min(o.MaxBytes, math.MaxInt32)
	}
	return l
}

// Parser reads a JSON text while it is being written. It is fed in pieces that
// may be cut anywhere, also within a character or an escape, and looks at no
// byte twice. It is not safe for concurrent use.
type Parser struct {
	m        machine
	watches  []watched
	edits    []Edit
	places   []*place // of the open containers, as far as something watched is in them
	fragment string   // that is being read
	told     int      // bytes of the open string that were reported
	active   int      // how many watches are within their value

	// The place of the value that was reported last.
	parent *place
	name   string
	index  int
}

type watched struct {
	matcher
	inside bool
}

// NewParser returns a parser at the beginning of a text.
func NewParser(opts *ParserOptions) *Parser {
	p := &Parser{}
	p.m.limits = opts.limits()
	if opts != nil && len(opts.Watch) > 0 {
		for _, w := range opts.Watch {
			p.watches = append(p.watches, watched{matcher: newMatcher(w)})
		}
		p.m.watch = p
	}
	return p
}

// Feed reads the next piece of the text and returns what became known by it of
// the watched values, in the order of the text. The slice is valid until the
// next call.
//
// A text that turns out to be wrong stops the parser: Feed reports what came
// before the error, then nothing any more, and Err and End say why.
func (p *Parser) Feed(fragment string) []Edit {
	if p.watches == nil {
		p.m.feed(fragment)
		return nil
	}
	p.edits, p.fragment = p.edits[:0], fragment
	p.m.feed(fragment)
	if p.active > 0 && p.m.stringOpen() && len(p.m.text) > p.told {
		p.report(Grew, jsondoc.Value{}, p.news())
	}
	return p.edits
}

// End says that no more text will come and gives the verdict: the value, or an
// [*Error]. Whatever jsondoc.Parse refuses End refuses too (but see
// [ParserOptions.Repeats]). What only the end makes known has no edit: that a
// top-level number is complete, or a top-level {}.
//
// After End the parser reads no more; calling End again gives the same answer.
func (p *Parser) End() (jsondoc.Value, error) {
	p.edits = p.edits[:0]
	v, err := p.m.end()
	if err != nil {
		return v, err
	}
	return v, nil
}

// Err returns the error that stopped the parser, nil while the text can still
// become a value.
func (p *Parser) Err() error {
	if p.m.err == nil {
		return nil
	}
	return p.m.err
}

// Value returns what the text says so far: every complete value, the arrays and
// objects that are open with what is in them, and the beginning of an open
// string, once it has a character. It is false if that is nothing. After an error
// it is what was said before it.
//
// Values returned later only have more: members and items are added, strings
// grow, nothing else changes. The cost is that of copying the lists of children
// of the open containers, so ask when there is somebody to show it to.
func (p *Parser) Value() (jsondoc.Value, bool) {
	v := p.m.value()
	return v, !v.IsAbsent()
}

// begin implements observer.
func (p *Parser) begin(kind jsondoc.Kind) {
	for i := range p.watches {
		if p.watches[i].begin(&p.m) {
			p.watches[i].inside = true
			p.active++
		}
	}
	if p.active == 0 {
		return
	}
	switch kind {
	case jsondoc.KindString:
		p.told = 0
		p.report(Opened, emptyString, "")
	case jsondoc.KindArray:
		p.report(Opened, emptyArray, "")
	case jsondoc.KindObject:
		p.report(Opened, emptyObject, "")
	}
}

// end implements observer.
func (p *Parser) end(v jsondoc.Value) {
	if p.active > 0 {
		text := ""
		if v.Kind() == jsondoc.KindString {
			text = p.news()
		}
		p.report(Complete, v, text)
	}
	for i := range p.watches {
		if p.watches[i].end(&p.m) {
			p.watches[i].inside = false
			p.active--
		}
	}
	// The container that ended had a place of its own.
	if len(p.places) > len(p.m.stack) {
		p.places = p.places[:len(p.m.stack)]
	}
}

// report adds an edit of the value that the machine stands at. It fills the slots
// of the slice in place: an Edit is long, and there is one for each token.
func (p *Parser) report(kind EditKind, v jsondoc.Value, text string) {
	if kind != Grew { // else the value is the one of the last report
		p.parent, p.name, p.index = p.here()
	}
	for i := range p.watches {
		if !p.watches[i].inside {
			continue
		}
		n := len(p.edits)
		if n == cap(p.edits) {
			p.edits = append(p.edits, Edit{})
		} else {
			p.edits = p.edits[:n+1]
		}
		e := &p.edits[n]
		e.Kind, e.Watch, e.Name, e.Index, e.Value, e.Text, e.parent = kind, i, p.name, p.index, v, text, p.parent
	}
}

// here returns the place of the innermost open container and which of its
// children comes now.
func (p *Parser) here() (*place, string, int) {
	stack := p.m.stack
	if len(stack) == 0 {
		return nil, "", -1
	}
	for i := len(p.places); i < len(stack); i++ {
		var at place
		at.index = -1
		if i > 0 {
			f := &stack[i-1]
			at.parent, at.name, at.index = p.places[i-1], f.name, -1
			if f.array {
				at.name, at.index = "", f.count
			}
		}
		p.places = append(p.places, &at)
	}
	f := p.m.top()
	if f.array {
		return p.places[len(stack)-1], "", f.count
	}
	return p.places[len(stack)-1], f.name, -1
}

// news is what the open string gained since it was reported last. Mostly that is
// one piece of the fragment, which need not be copied.
func (p *Parser) news() string {
	n := len(p.m.text) - p.told
	p.told = len(p.m.text)
	if run := p.m.run; n == run[1]-run[0] {
		return p.fragment[run[0]:run[1]]
	}
	return string(p.m.text[p.told-n:])
}

var (
	emptyString = jsondoc.String("")
	emptyArray  = jsondoc.Array()
	emptyObject = jsondoc.Object()
)
