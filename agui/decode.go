package agui

import (
	"fmt"
	"strings"
	"sync"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// DefaultMaxDepth is how deeply JSON may be nested when nothing else is said.
const DefaultMaxDepth = 512

// DecodeOptions says how to read foreign JSON. A nil pointer and the zero value
// mean: accept what older and careless peers send, drop what is not known.
type DecodeOptions struct {
	// Strict accepts exactly what the official 1.0.0 client accepts: no
	// snake_case names, null for an optional member only where that client
	// tolerates it, no role but "reasoning" on REASONING_MESSAGE_START.
	Strict bool
	// KeepUnknown keeps unknown members in the Extra fields and unknown roles,
	// part types, sources and patch operations where they are, so that a proxy
	// writes what it read. Without it they are dropped as official clients do.
	KeepUnknown bool
	// MaxDepth bounds nesting; 0 means [DefaultMaxDepth].
	MaxDepth int
	// Report, if set, is told of everything that was accepted although 1.0 does
	// not describe it, in the order met.
	Report func(Deviation)
}

// Deviation is something that was accepted or dropped although AG-UI 1.0 does
// not describe it.
type Deviation struct {
	Event  EventType // empty outside events
	Path   string    // JSON Pointer to the member
	Offset int       // byte offset of the value in the input
	Reason string
}

func (d Deviation) String() string {
	return fmt.Sprintf("%s: %s at %q (byte %d)", subject(d.Event), d.Reason, d.Path, d.Offset)
}

// DecodeError says why JSON is not an event or an input. Nothing is delivered
// of what could not be read whole.
type DecodeError struct {
	Event  EventType // the event's type if it was reached, else empty
	Path   string    // JSON Pointer to the offending member; "" is the whole
	Offset int       // byte offset in the input
	Reason string
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("agui: %s: %s at %q (byte %d)", subject(e.Event), e.Reason, clip(e.Path, 400), e.Offset)
}

func subject(t EventType) string {
	if t == "" {
		return "JSON"
	}
	return clip(string(t), 60)
}

// clip shortens what a foreign peer chose, so that it cannot fill a log.
func clip(s string, most int) string {
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// DecodeEvent reads one event. The result shares no memory with data. The error
// is a [*DecodeError].
//
// Members may come in any order; of a member that is there twice the last one
// counts, as in JavaScript.
func DecodeEvent(data []byte, opts *DecodeOptions) (Event, error) {
	d := takeDecoder()
	defer d.release()
	return d.event(data, opts)
}

// DecodeInput reads a RunAgentInput, as a server gets it. The error is a
// [*DecodeError].
func DecodeInput(data []byte, opts *DecodeOptions) (*RunAgentInput, error) {
	in := &RunAgentInput{}
	if err := decodeInto(data, in, opts); err != nil {
		return nil, err
	}
	return in, nil
}

// decodeInto reads one whole document that is the object o.
func decodeInto(data []byte, o object, opts *DecodeOptions) error {
	d := takeDecoder()
	defer d.release()
	d.reset(data, opts)
	d.document(o)
	return d.failure()
}

// object is a JSON object that is read member by member.
type object interface {
	// member reads the value of a known key and reports whether it is known.
	member(d *decoder, key []byte) bool
	// finish checks the object as a whole: required members above all.
	finish(d *decoder)
	// extra is where unknown members are kept; nil if they cannot be.
	extra() *jsondoc.Value
}

// decoder reads one document. The first failure sticks; from then on every
// method returns zero values, so callers need not check each step.
type decoder struct {
	data  []byte
	pos   int
	opts  DecodeOptions
	depth int
	has   uint32 // bits of the required members seen in the current object
	typ   EventType
	// retyped says that a second "type" member contradicts the first.
	retyped bool
	// history says that the value lies in messages, where the official client
	// tolerates nulls that it refuses elsewhere.
	history bool
	resume  int // where object goes on in the event, 0 for its beginning
	err     *DecodeError
	path    []string // of the enclosing members, for reports only
	ids     [4]string
	next    uint8 // where in ids the next new one goes
	text    []byte
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func takeDecoder() *decoder { return decoders.Get().(*decoder) }

func (d *decoder) release() {
	d.data, d.err, d.opts = nil, nil, DecodeOptions{}
	clear(d.path[:cap(d.path)])
	if cap(d.text) > 64<<10 {
		d.text = nil // one large string must not stay for ever
	}
	decoders.Put(d)
}

func (d *decoder) reset(data []byte, opts *DecodeOptions) {
	d.data, d.pos, d.depth, d.has, d.typ, d.err = data, 0, 0, 0, "", nil
	d.retyped, d.history, d.resume = false, false, 0
	d.path = d.path[:0]
	d.opts = DecodeOptions{}
	if opts != nil {
		d.opts = *opts
	}
	if d.opts.MaxDepth <= 0 {
		d.opts.MaxDepth = DefaultMaxDepth
	}
}

func (d *decoder) strict() bool { return d.opts.Strict }

// event reads data as one event.
func (d *decoder) event(data []byte, opts *DecodeOptions) (Event, error) {
	d.reset(data, opts)
	d.space()
	if d.peek() != '{' {
		d.fail("an event must be a JSON object, not " + d.kind())
		return nil, d.err
	}
	start := d.pos
	e := d.quickEvent()
	if e == nil {
		typ := d.tag("type")
		switch {
		case d.err != nil:
			return nil, d.err
		case typ == "":
			d.fail("the event has no type, or one that is not a string")
			return nil, d.err
		}
		if e = newEvent(EventType(typ)); e == nil {
			return d.unknown(EventType(typ))
		}
	}
	d.typ = e.EventType()
	if d.delta(e) {
		return e, nil
	}
	d.document(e)
	if d.err == nil && !d.retyped {
		return e, nil
	}
	// There may be a second type in the object. The last one counts, so what
	// was read as the first one is worth nothing, its failure included.
	failed := d.err
	d.err, d.pos, d.depth, d.path = nil, start, 0, d.path[:0]
	typ := d.lastTag("type")
	if d.err != nil || typ == string(d.typ) {
		d.err = failed
		return d.read(e)
	}
	d.pos, d.depth, d.typ = start, 0, ""
	if e = newEvent(EventType(typ)); e == nil {
		return d.unknown(EventType(typ))
	}
	d.typ = e.EventType()
	d.document(e)
	return d.read(e)
}

// read returns e, or the failure and nothing else.
func (d *decoder) read(e Event) (Event, error) {
	if d.err != nil {
		return nil, d.err
	}
	return e, nil
}

// delta reads the two events that most of a stream is made of, in the very
// spelling that practically every producer uses: id, delta, perhaps a timestamp,
// no white space. If anything is different it reports false and has done
// nothing.
func (d *decoder) delta(e Event) bool {
	if d.resume == 0 {
		return false
	}
	var id, delta *string
	name := `,"messageId":`
	switch e := e.(type) {
	case *TextMessageContent:
		id, delta = &e.MessageID, &e.Delta
	case *ToolCallArgs:
		name = `,"toolCallId":`
		id, delta = &e.ToolCallID, &e.Delta
	default:
		return false
	}
	start := d.pos
	d.pos = d.resume
	if d.literal(name) {
		*id = d.id()
		if d.literal(`,"delta":`) {
			*delta = d.string()
			ok := true
			if d.literal(`,"timestamp":`) {
				e.Common().Timestamp, ok = d.plainInteger()
			}
			if ok && d.literal("}") && d.pos == len(d.data) {
				return true
			}
		}
	}
	// The long way sets all that may have been set here, or fails.
	*id, *delta, e.Common().Timestamp = "", "", 0
	d.err, d.pos = nil, start
	return false
}

// quickEvent makes the event if its type is the first member and spelled
// without white space, as almost every producer does; else it returns nil. It
// does not move, but lets object go on behind the type.
func (d *decoder) quickEvent() Event {
	const head = `{"type":"`
	rest := d.data[d.pos:]
	if len(rest) < len(head) || string(rest[:len(head)]) != head {
		return nil
	}
	rest = rest[len(head):]
	n := plainPrefix(rest)
	if n == len(rest) || rest[n] != '"' {
		return nil
	}
	e := newEventNamed(rest[:n])
	if e != nil {
		d.resume = d.pos + len(head) + n + 1
	}
	return e
}

func (d *decoder) unknown(typ EventType) (Event, error) {
	d.typ = typ
	d.report(d.pos, "unknown event type")
	v := d.any()
	d.end()
	return d.read(&Unknown{Type: typ, JSON: v})
}

// failure returns the error as an interface that is nil when there is none.
func (d *decoder) failure() error {
	if d.err == nil {
		return nil
	}
	return d.err
}

// tag returns the string member that tells what the object at the current
// position is, without moving: the first of that name, "" if there is none or
// it is no string.
func (d *decoder) tag(name string) string {
	start, depth := d.pos, d.depth
	defer func() { d.pos, d.depth = start, depth }()
	d.pos++ // '{'
	for first := true; ; first = false {
		key, more := d.key(first)
		if !more {
			return ""
		}
		if string(key) == name {
			if d.peek() != '"' {
				return ""
			}
			return d.string()
		}
		d.skip()
	}
}

// lastTag is tag for the last member of that name.
func (d *decoder) lastTag(name string) (tag string) {
	d.pos++ // '{'
	for first := true; ; first = false {
		key, more := d.key(first)
		if !more {
			return tag
		}
		if string(key) == name && d.peek() == '"' {
			tag = d.string()
		} else {
			d.skip()
		}
	}
}

// document reads the object o and makes sure that nothing follows it.
func (d *decoder) document(o object) {
	d.space()
	d.object(o)
	d.end()
}

// end fails if anything but white space is left.
func (d *decoder) end() {
	if d.err != nil {
		return
	}
	d.space()
	if d.pos < len(d.data) {
		d.fail("something follows the JSON document")
	}
}

// object reads one object into o.
func (d *decoder) object(o object) {
	if d.err != nil {
		return
	}
	if d.peek() != '{' {
		d.fail("must be an object, not " + d.kind())
		return
	}
	if !d.enter() {
		return
	}
	start, outer := d.pos, d.has
	d.has = 0
	d.pos++
	first := true
	if d.resume > 0 {
		d.pos, d.resume, first = d.resume, 0, false
	}
	var kept []jsondoc.Member
	for ; ; first = false {
		key, more := d.key(first)
		if !more {
			break
		}
		if d.opts.Report != nil {
			d.path = append(d.path, string(key))
		}
		if !o.member(d, key) {
			kept = d.unknownMember(o, key, kept)
		}
		if d.opts.Report != nil {
			d.path = d.path[:len(d.path)-1]
		}
		if d.err != nil {
			d.under(string(key))
			return
		}
	}
	if d.err != nil {
		return
	}
	if kept != nil {
		*o.extra() = jsondoc.Object(kept...)
	}
	end := d.pos
	d.pos = start // finish reports at the object's beginning
	o.finish(d)
	if d.err != nil {
		return
	}
	d.pos = end
	d.has = outer
	d.depth--
}

// unknownMember deals with a key that o does not know: a snake_case spelling of
// one it does know, or something to drop, or to add to what is kept.
func (d *decoder) unknownMember(o object, key []byte, kept []jsondoc.Member) []jsondoc.Member {
	if !d.opts.Strict {
		if camel, ok := camelCase(key); ok && o.member(d, camel) {
			d.report(d.pos, "snake_case name")
			return kept
		}
	}
	start := d.pos
	if !d.opts.KeepUnknown || o.extra() == nil {
		d.skip()
		d.report(start, "unknown member")
		return kept
	}
	v := d.any()
	d.report(start, "unknown member")
	return append(kept, jsondoc.Member{Name: string(key), Value: v})
}

// camelCase turns a_key_like_this into aKeyLikeThis.
func camelCase(key []byte) ([]byte, bool) {
	at := -1
	for i, c := range key {
		if c == '_' {
			at = i
			break
		}
	}
	if at <= 0 {
		return nil, false
	}
	out := append(make([]byte, 0, len(key)), key[:at]...)
	up := false
	for _, c := range key[at:] {
		switch {
		case c == '_':
			up = true
			continue
		case up && 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		}
		up = false
		out = append(out, c)
	}
	return out, true
}

// array reads an array, calling item for each element with its index.
func (d *decoder) array(item func(i int)) {
	if d.err != nil {
		return
	}
	if d.peek() != '[' {
		d.fail("must be an array, not " + d.kind())
		return
	}
	if !d.enter() {
		return
	}
	d.pos++
	for i := 0; ; i++ {
		d.space()
		switch d.peek() {
		case ']':
			d.pos++
			d.depth--
			return
		case ',':
			if i == 0 {
				d.fail("expected a value")
				return
			}
			d.pos++
			d.space()
		default:
			if i > 0 {
				d.fail("expected , or ]")
				return
			}
		}
		if d.opts.Report != nil {
			d.path = append(d.path, fmt.Sprint(i))
		}
		item(i)
		if d.opts.Report != nil {
			d.path = d.path[:len(d.path)-1]
		}
		if d.err != nil {
			d.under(fmt.Sprint(i))
			return
		}
	}
}

// require fails unless the required member's bit was seen.
func (d *decoder) require(bit uint32, name string) {
	if d.err == nil && d.has&bit == 0 {
		d.fail("required member is missing")
		d.under(name)
	}
}

// fail records the first failure, at the current position.
func (d *decoder) fail(reason string) {
	if d.err == nil {
		d.err = &DecodeError{Event: d.typ, Offset: d.pos, Reason: reason}
	}
}

// under says that the failure lies inside the member or item named token. It is
// called while unwinding, so a good document never pays for its paths.
func (d *decoder) under(token string) {
	d.err.Path = pointerToken(clip(token, 100)) + d.err.Path
}

func (d *decoder) report(offset int, reason string) {
	if d.opts.Report == nil || d.err != nil {
		return
	}
	var path strings.Builder
	for _, token := range d.path {
		path.WriteString(pointerToken(token))
	}
	d.opts.Report(Deviation{Event: d.typ, Path: path.String(), Offset: offset, Reason: reason})
}

func pointerToken(s string) string {
	if strings.ContainsAny(s, "~/") {
		s = strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
	}
	return "/" + s
}
