package jsondoc

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind says what a Value is.
type Kind uint8

// The kinds. Absent is the kind of the zero Value: no value at all, which is
// something else than null (a patch operation without "value" has an absent one).
const (
	KindAbsent Kind = iota
	KindNull
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
)

// String returns the kind's name in lower case: "absent", "null", "bool",
// "number", "string", "array" or "object".
func (k Kind) String() string {
	switch k {
	case KindAbsent:
		return "absent"
	case KindNull:
		return "null"
	case KindBool:
		return "bool"
	case KindNumber:
		return "number"
	case KindString:
		return "string"
	case KindArray:
		return "array"
	case KindObject:
		return "object"
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Value is an immutable JSON value: one pointer, cheap to copy, safe for use by
// any number of goroutines. The zero Value is absent.
//
// Values made from other values share their structure. Do not compare Values
// with ==: that asks whether they are one node, as [Same] does; whether they say
// the same is [Equal].
type Value struct{ n *node }

// Null, True and False are the three literals.
var (
	Null  = Value{&node{kind: KindNull, size: 4, text: "null"}}
	True  = Value{&node{kind: KindBool, size: 4, text: "true"}}
	False = Value{&node{kind: KindBool, size: 5, text: "false"}}
)

// smallInts saves the nodes of the numbers that documents are full of.
var smallInts = func() (t [256]Value) {
	for i := range t {
		t[i] = numberValue(strconv.Itoa(i))
	}
	return t
}()

func numberValue(text string) Value {
	return Value{&node{kind: KindNumber, size: uint32(min(len(text), sizeCap)), text: text}}
}

// String returns a string value. Bytes of s that are not UTF-8 become U+FFFD, as
// in encoding/json: a Value holds Unicode text only.
func String(s string) Value {
	s = validText(s)
	return Value{&node{kind: KindString, size: encodedLen(s), text: s}}
}

func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	// Each byte on its own, as encoding/json and browsers do it, so that the
	// length still tells how much there was.
	return string([]rune(s))
}

// Bool returns [True] or [False].
func Bool(b bool) Value {
	if b {
		return True
	}
	return False
}

// Int returns a number value.
func Int(n int64) Value {
	if n >= 0 && n < int64(len(smallInts)) {
		return smallInts[n]
	}
	return numberValue(strconv.FormatInt(n, 10))
}

// Number returns the number with exactly this text, which must be a JSON number
// (RFC 8259 section 6: no leading zeros or plus, no NaN, no white space).
func Number(text string) (Value, error) {
	if scanNumber(text) != len(text) || text == "" {
		return Value{}, fmt.Errorf("%q is not a JSON number", clip(text))
	}
	return numberValue(strings.Clone(text)), nil
}

// Array returns an array of the items. An absent item becomes null, as
// undefined does in JavaScript's arrays.
func Array(items ...Value) Value {
	if slices.Contains(items, Value{}) {
		items = slices.Clone(items)
		for i, it := range items {
			items[i] = it.orNull()
		}
	}
	return newArray(items)
}

func (v Value) orNull() Value {
	if v.n == nil {
		return Null
	}
	return v
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value Value
}

// Object returns an object with the members in their order. Of a repeated name
// the last value wins, at the place of the first (what JSON.parse does). A
// member with an absent value is left out, as undefined is in JavaScript.
func Object(members ...Member) Value {
	names := make([]string, 0, len(members))
	kids := make([]Value, 0, len(members))
	var seen map[string]int
	if len(members) > scanNames {
		seen = make(map[string]int, len(members))
	}
	for _, m := range members {
		if m.Value.n == nil {
			continue
		}
		name := validText(m.Name)
		at := -1
		if seen != nil {
			if i, ok := seen[name]; ok {
				at = i
			}
		} else {
			at = scan(names, name)
		}
		if at >= 0 {
			kids[at] = m.Value
			continue
		}
		if seen != nil {
			seen[name] = len(names)
		}
		names = append(names, name)
		kids = append(kids, m.Value)
	}
	return newObject(newShape(names), kids)
}

// Kind returns what v is.
func (v Value) Kind() Kind {
	if v.n == nil {
		return KindAbsent
	}
	return v.n.kind
}

// IsAbsent reports whether v is no value at all.
func (v Value) IsAbsent() bool { return v.n == nil }

// IsZero is IsAbsent under the name that the json option omitzero looks for.
func (v Value) IsZero() bool { return v.n == nil }

// IsNull reports whether v is null. An absent value is not.
func (v Value) IsNull() bool { return v.n != nil && v.n.kind == KindNull }

// Len returns the number of an array's items or an object's members, else 0.
func (v Value) Len() int {
	if v.n == nil || v.n.box == nil {
		return 0
	}
	return v.n.box.len()
}

// Get returns the member of that name. It is false for other kinds.
func (v Value) Get(name string) (Value, bool) {
	if v.Kind() != KindObject {
		return Value{}, false
	}
	if i := v.n.box.shape.find(name); i >= 0 {
		return v.n.box.at(i), true
	}
	return Value{}, false
}

// Item returns the item i of an array. Like a slice it panics when i is out of
// range, and so it does for every other kind, which has no items.
func (v Value) Item(i int) Value {
	if v.Kind() != KindArray {
		panic(fmt.Sprintf("jsondoc: Item(%d) of a value of kind %s", i, v.Kind()))
	}
	return v.n.box.at(i)
}

// Members ranges over an object's members in their order; over nothing for
// other kinds.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != KindObject {
			return
		}
		names := v.n.box.shape.names
		for i, k := range v.n.box.all() {
			if !yield(names[i], k) {
				return
			}
		}
	}
}

// Items ranges over an array's items; over nothing for other kinds.
func (v Value) Items() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.Kind() != KindArray {
			return
		}
		v.n.box.all()(yield)
	}
}

// Str returns a string's text, "" for other kinds.
func (v Value) Str() string {
	if v.Kind() != KindString {
		return ""
	}
	return v.n.text
}

// NumberText returns a number's text as it was written, "" for other kinds.
func (v Value) NumberText() string {
	if v.Kind() != KindNumber {
		return ""
	}
	return v.n.text
}

// Bool returns whether v is true.
func (v Value) Bool() bool { return v.Kind() == KindBool && v.n.text == "true" }

// With returns a copy of the object with the member set: replaced in its place
// or appended. An absent x removes the member. A value that is no object counts
// as the empty object, the rule of RFC 7396.
func (v Value) With(name string, x Value) Value {
	if v.Kind() != KindObject {
		v = newObject(noNames, nil)
	}
	return v.with(&editor{}, validText(name), x)
}

// with is With for an object.
func (v Value) with(e *editor, name string, x Value) Value {
	if x.n == nil {
		return v.without(e, name)
	}
	if i := v.n.box.shape.find(name); i >= 0 {
		return e.replaceKid(v, i, x, v.n.box.at(i).n.size)
	}
	return e.appendMember(v, name, x)
}

// Without returns a copy of the object without the member, or v itself if there
// is no such member.
func (v Value) Without(name string) Value {
	if v.Kind() != KindObject {
		return v
	}
	return v.without(&editor{}, name)
}

func (v Value) without(e *editor, name string) Value {
	i := v.n.box.shape.find(name)
	if i < 0 {
		return v
	}
	return e.removeKid(v, i)
}

// withAll is With for many members, absent values being removed.
func (v Value) withAll(e *editor, edits []Member) Value {
	// One by one each removal copies the list of names.
	const few = 16
	if len(edits) <= few {
		for _, m := range edits {
			v = v.with(e, m.Name, m.Value)
		}
		return v
	}
	set := make(map[string]Value, len(edits))
	for _, m := range edits {
		set[m.Name] = m.Value
	}
	old := v.n.box
	names := make([]string, 0, old.len())
	kids := make([]Value, 0, old.len())
	for i, k := range old.all() {
		name := old.shape.names[i]
		if x, ok := set[name]; ok {
			delete(set, name)
			k = x
		}
		if k.n != nil {
			names, kids = append(names, name), append(kids, k)
		}
	}
	for _, m := range edits {
		if x := set[m.Name]; x.n != nil {
			delete(set, m.Name)
			names, kids = append(names, m.Name), append(kids, x)
		}
	}
	s := old.shape
	if !slices.Equal(s.names, names) {
		s = newShape(names)
	}
	return newObject(s, kids)
}

// Size returns how many bytes [Value.AppendJSON] appends, without a walk. A
// document of 4 GiB or more counts as 4 GiB - 1 (of 2 GiB or more as 2 GiB - 1
// where an int has 32 bits).
func (v Value) Size() int {
	if v.n == nil {
		return len("null")
	}
	return int(min(int64(v.n.size), math.MaxInt))
}

// Same reports whether a and b are one node: a question of one comparison, which
// says nothing about values that were made apart. Same implies [Equal].
func Same(a, b Value) bool { return a.n == b.n }

// clip shortens a text for an error message.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
