package agui

import (
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// This file holds one method for each kind of member that events and messages
// have: what may be there, what null means there, what older peers wrote.

// null consumes a null where one may stand and reports whether it did.
func (d *decoder) null(rule nullRule) bool {
	if rule == nullNever || d.peek() != 'n' {
		return false
	}
	start := d.pos
	if rule == nullRefused && d.opts.Strict {
		d.fail("an optional member must be left out, not null")
		return true
	}
	if !d.literal("null") {
		return false
	}
	d.report(start, "null for an optional member")
	return true
}

func (d *decoder) optionalString(rule nullRule) string {
	if d.null(rule) {
		return ""
	}
	return d.string()
}

func (d *decoder) optionalID() string {
	if d.null(nullRefused) {
		return ""
	}
	return d.id()
}

// presentString reads a string whose presence matters.
func (d *decoder) presentString() *string {
	if d.null(nullRefused) {
		return nil
	}
	return new(d.string())
}

func (d *decoder) optionalBool() *bool {
	switch {
	case d.null(nullRefused):
		return nil
	case d.literal("true"):
		return new(true)
	case d.literal("false"):
		return new(false)
	}
	d.fail("must be a boolean, not " + d.kind())
	return nil
}

// count reads an optional integer that is not negative.
func (d *decoder) count() *int64 {
	if d.null(nullRefused) {
		return nil
	}
	start := d.pos
	n := d.integer(false)
	if n < 0 {
		d.pos = start
		d.fail("must not be negative")
	}
	return &n
}

// timestamp reads milliseconds. Before 1.0 fractions were legal.
func (d *decoder) timestamp() int64 {
	if d.null(nullRefused) {
		return 0
	}
	return d.integer(!d.opts.Strict)
}

// oneOf reads one of a few strings.
func (d *decoder) oneOf(rule nullRule, allowed ...string) string {
	if d.null(rule) {
		return ""
	}
	start := d.pos
	s := d.string()
	if d.err == nil && !slices.Contains(allowed, s) {
		d.pos = start
		d.fail("must be one of " + strings.Join(allowed, ", "))
	}
	return s
}

// textRole reads the role of a streamed text. "tool" is none: tool results
// have their own event.
func (d *decoder) textRole() Role {
	return Role(d.oneOf(nullRefused, string(RoleDeveloper), string(RoleSystem), string(RoleAssistant), string(RoleUser)))
}

// reasoningRole reads the role that can only be "reasoning". Servers of 0.0.45
// said "assistant".
func (d *decoder) reasoningRole() {
	start := d.pos
	role := d.optionalString(nullRefused)
	if d.err != nil || role == string(RoleReasoning) {
		return
	}
	if d.opts.Strict {
		d.pos = start
		d.fail("must be reasoning")
		return
	}
	d.report(start, "role is not reasoning")
}

// eventTypeAgain reads the "type" member of an event whose type is known, and
// notes a contradiction.
func (d *decoder) eventTypeAgain() {
	if raw, ok := d.span(); ok {
		d.retyped = d.retyped || string(raw) != string(d.typ)
		return
	}
	d.retyped = d.retyped || d.string() != string(d.typ)
}

// anyNotNull reads an optional JSON value that may not be null.
func (d *decoder) anyNotNull(rule nullRule) jsondoc.Value {
	if d.null(rule) {
		return jsondoc.Value{}
	}
	return d.any()
}

// openObject reads an optional object with free keys.
func (d *decoder) openObject(rule nullRule) jsondoc.Value {
	if d.null(rule) {
		return jsondoc.Value{}
	}
	return d.requiredObject()
}

func (d *decoder) requiredObject() jsondoc.Value {
	if d.peek() != '{' {
		d.fail("must be an object, not " + d.kind())
		return jsondoc.Value{}
	}
	return d.any()
}

// strings reads an optional list of strings.
func (d *decoder) strings() []string {
	if d.null(nullRefused) {
		return nil
	}
	list := []string{}
	d.array(func(int) { list = append(list, d.string()) })
	return list
}

// list reads an array of objects.
func list[T any, P interface {
	*T
	object
}](d *decoder) []T {
	out := []T{}
	d.array(func(int) {
		var v T
		d.object(P(&v))
		out = append(out, v)
	})
	return out
}

// optionalList is list where null or nothing may stand.
func optionalList[T any, P interface {
	*T
	object
}](d *decoder) []T {
	if d.null(nullRefused) {
		return nil
	}
	return list[T, P](d)
}

func (d *decoder) usage() []TokenUsage { return optionalList[TokenUsage](d) }

// union reads an element whose tag tells what it is. known is asked about the
// tag; an element that is not known is dropped, or kept whole, and false is
// returned with the value. The official client never looks into such elements,
// so their members are not checked.
func (d *decoder) union(tag string, known func(string) bool) (name string, whole jsondoc.Value, ok bool) {
	if d.peek() != '{' {
		return "", jsondoc.Value{}, true // the reader says what it wanted
	}
	name = d.tag(tag)
	if d.err != nil || known(name) {
		return name, jsondoc.Value{}, true
	}
	start := d.pos
	if d.opts.KeepUnknown {
		whole = d.any()
	} else {
		d.skip()
	}
	d.report(start, "unknown "+tag)
	return name, whole, false
}

// sameTag reads the tag of an object that union looked at. A second tag that
// says something else is refused: two readers would see two different things.
func (d *decoder) sameTag(tag string) {
	start := d.pos
	if s := d.string(); d.err == nil && s != tag {
		d.pos = start
		d.fail("given twice, differently")
	}
}

// messages reads an array of messages. Those of an unknown role are dropped,
// as official clients do, or kept whole.
func (d *decoder) messages() []Message {
	outer := d.history
	d.history = true
	out := []Message{}
	d.array(func(int) {
		if m, ok := d.message(); ok {
			out = append(out, m)
		}
	})
	d.history = outer
	return out
}

// message reads one message; false if it is to be dropped.
func (d *decoder) message() (m Message, ok bool) {
	role, whole, ok := d.union("role", knownRole)
	switch {
	case ok:
		m.Role = Role(role)
		d.object(&m)
		return m, true
	case whole.IsAbsent():
		return m, false
	}
	id, _ := whole.Get("id")
	return Message{ID: id.Str(), Role: Role(role), Unknown: whole}, true
}

// patch reads JSON Patch operations. An unknown op drops that operation and
// keeps the others, as the official client does; a bad pointer or a missing
// member is a failure.
func (d *decoder) patch() (jsondoc.Patch, []jsondoc.Value) {
	ops := jsondoc.Patch{}
	var extras []jsondoc.Value
	d.array(func(int) {
		name, whole, ok := d.union("op", knownOperation)
		if !ok {
			if !whole.IsAbsent() {
				extras = setExtra(extras, len(ops), whole.Without("op"))
				ops = append(ops, jsondoc.Operation{Op: name})
			}
			return
		}
		op := operation{Operation: jsondoc.Operation{Op: name}}
		d.object(&op)
		if !op.more.IsAbsent() {
			extras = setExtra(extras, len(ops), op.more)
		}
		ops = append(ops, op.Operation)
	})
	for extras != nil && len(extras) < len(ops) {
		extras = append(extras, jsondoc.Value{})
	}
	return ops, extras
}

// setExtra sets the i-th entry of a list that is as long as it needs to be.
func setExtra(list []jsondoc.Value, i int, v jsondoc.Value) []jsondoc.Value {
	for len(list) <= i {
		list = append(list, jsondoc.Value{})
	}
	list[i] = v
	return list
}

func knownOperation(op string) bool {
	switch op {
	case "add", "remove", "replace", "move", "copy", "test":
		return true
	}
	return false
}

// operation is one JSON Patch operation while it is read.
type operation struct {
	jsondoc.Operation
	more jsondoc.Value
}

func (o *operation) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "op":
		d.sameTag(o.Op)
	case "path":
		d.has |= 1
		o.Path = d.pointer()
	case "from":
		d.has |= 2
		o.From = d.pointer()
	case "value":
		d.has |= 4
		o.Value = d.any()
	default:
		return false
	}
	return true
}

func (o *operation) finish(d *decoder) {
	d.require(1, "path")
	switch o.Op {
	case "add", "replace", "test":
		d.require(4, "value")
		o.From = ""
	case "move", "copy":
		d.require(2, "from")
		o.Value = jsondoc.Value{}
	default:
		o.From, o.Value = "", jsondoc.Value{}
	}
}

func (o *operation) extra() *jsondoc.Value { return &o.more }

// pointer reads an RFC 6901 pointer.
func (d *decoder) pointer() jsondoc.Pointer {
	start := d.pos
	s := d.string()
	if d.err != nil {
		return ""
	}
	p, err := jsondoc.ParsePointer(s)
	if err != nil {
		d.pos = start
		d.fail("must be a JSON Pointer (RFC 6901)")
	}
	return p
}
