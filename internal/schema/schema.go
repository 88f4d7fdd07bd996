// Package schema answers one question: does this document fit its JSON Schema?
//
// It is the only package that knows a JSON Schema library. Two are behind it:
// one infers a schema from a Go type, one validates and can say *where* in the
// document a value is wrong, which the inferring one cannot.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	infer "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// Schema is a compiled JSON Schema (draft 2020-12 unless "$schema" says
// otherwise). It is immutable and safe for concurrent use. A nil *Schema
// accepts every document.
type Schema struct {
	doc      jsondoc.Value
	compiled *jsonschema.Schema
}

// Violation is one way in which a document breaks its schema.
type Violation struct {
	Path   jsondoc.Pointer // place in the document
	Reason string          // what would be right, in a few words
}

func (v Violation) String() string {
	if v.Path == "" {
		return "(root): " + v.Reason
	}
	return string(v.Path) + ": " + v.Reason
}

// Error is what a caller gets for a document that breaks its schema.
// It holds at least one violation, ordered by path.
type Error struct{ Violations []Violation }

func (e *Error) Error() string {
	parts := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		parts[i] = v.String()
	}
	return strings.Join(parts, "; ")
}

// maxViolations bounds an answer: a model or a person mends a few places at a
// time, and a hostile document must not grow its own error without bound.
const maxViolations = 20

// Compile reads a JSON Schema. References to other documents are refused:
// a schema from a file or a peer must not make the server fetch anything.
func Compile(doc jsondoc.Value) (*Schema, error) {
	if k := doc.Kind(); k != jsondoc.KindObject && k != jsondoc.KindBool {
		return nil, fmt.Errorf("schema: a JSON Schema is an object or a boolean, not %s", k)
	}
	raw, err := jsonschema.UnmarshalJSON(strings.NewReader(doc.String()))
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	const here = "mem:///schema.json"
	if err := c.AddResource(here, raw); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s, err := c.Compile(here)
	if err != nil {
		return nil, fmt.Errorf("schema: %s", strings.ReplaceAll(err.Error(), here, "the schema"))
	}
	return &Schema{doc: doc, compiled: s}, nil
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: only references inside the schema itself are followed", url)
}

// For infers the schema of a Go type from its json and jsonschema tags.
// Slices and maps are not nullable: an agent's state and a tool's arguments say
// "empty" with [] and {}, and a nil slice is written that way (jsondoc.From).
//
// Objects are closed: a member that the type does not have is a violation, which
// is what a tool's arguments need. ForOpen leaves them open.
func For(t reflect.Type) (*Schema, error) { return inferred(t, false) }

// ForOpen is For with open objects: a state may hold members that one program
// does not know, such as a page's own.
func ForOpen(t reflect.Type) (*Schema, error) { return inferred(t, true) }

func inferred(t reflect.Type, open bool) (*Schema, error) {
	known := map[reflect.Type]*infer.Schema{
		reflect.TypeFor[jsondoc.Value]():   {},
		reflect.TypeFor[json.RawMessage](): {},
	}
	enums(t, known, map[reflect.Type]bool{})
	s, err := infer.ForType(t, &infer.ForOptions{TypeSchemas: known})
	if err != nil {
		return nil, fmt.Errorf("schema: %s: %w", t, err)
	}
	adjust(s, open)
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("schema: %s: %w", t, err)
	}
	doc, err := jsondoc.Parse(text, nil)
	if err != nil {
		return nil, fmt.Errorf("schema: %s: %w", t, err)
	}
	return Compile(doc)
}

// Enumerated is a string type that has only some values.
type Enumerated interface{ Enum() []string }

// enums adds the schemas of the enumerated types that t is made of.
func enums(t reflect.Type, into map[reflect.Type]*infer.Schema, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	if t.Kind() == reflect.String && t.Implements(reflect.TypeFor[Enumerated]()) {
		s := &infer.Schema{Type: "string"}
		for _, v := range reflect.Zero(t).Interface().(Enumerated).Enum() {
			s.Enum = append(s.Enum, v)
		}
		into[t] = s
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		enums(t.Elem(), into, seen)
	case reflect.Struct:
		for i := range t.NumField() {
			enums(t.Field(i).Type, into, seen)
		}
	}
}

// adjust turns the library's ["null","array"] into "array", likewise for
// objects, everywhere in s, and opens its objects.
func adjust(s *infer.Schema, open bool) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" && (s.Types[1] == "array" || s.Types[1] == "object") {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, p := range s.Properties {
		adjust(p, open)
	}
	for _, p := range s.Defs {
		adjust(p, open)
	}
	adjust(s.Items, open)
	if open && len(s.Properties) > 0 {
		s.AdditionalProperties = nil // of a struct; a map's says what its members are
	}
	adjust(s.AdditionalProperties, open)
}

// Document is the schema as JSON. Of a nil schema it is true.
func (s *Schema) Document() jsondoc.Value {
	if s == nil {
		return jsondoc.True
	}
	return s.doc
}

// Validate reports how doc breaks the schema: nil or *Error.
// An absent document is validated as null.
func (s *Schema) Validate(doc jsondoc.Value) error {
	if s == nil {
		return nil
	}
	err := s.compiled.Validate(plain(doc))
	if err == nil {
		return nil
	}
	ve, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return &Error{Violations: []Violation{{Reason: "cannot be validated"}}}
	}
	var out []Violation
	collect(ve, &out)
	slices.SortStableFunc(out, func(a, b Violation) int { return strings.Compare(string(a.Path), string(b.Path)) })
	out = slices.CompactFunc(out, func(a, b Violation) bool { return a == b })
	if len(out) > maxViolations {
		out = out[:maxViolations]
	}
	return &Error{Violations: out}
}

var english = message.NewPrinter(language.English)

// collect gathers the leaves: the inner nodes only say that something below
// them is wrong.
func collect(e *jsonschema.ValidationError, out *[]Violation) {
	if len(e.Causes) == 0 {
		*out = append(*out, Violation{
			Path:   jsondoc.Path(e.InstanceLocation...),
			Reason: shorten(e.ErrorKind.LocalizedString(english)),
		})
		return
	}
	for _, c := range e.Causes {
		if len(*out) > 4*maxViolations {
			return
		}
		collect(c, out)
	}
}

// shorten keeps a reason readable where the library quotes a whole value.
func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}

// plain is the form that the validator reads: maps, slices and json.Number.
func plain(v jsondoc.Value) any {
	switch v.Kind() {
	case jsondoc.KindBool:
		return v.Bool()
	case jsondoc.KindNumber:
		return json.Number(v.NumberText())
	case jsondoc.KindString:
		return v.Str()
	case jsondoc.KindArray:
		out := make([]any, 0, v.Len())
		for _, item := range v.Items() {
			out = append(out, plain(item))
		}
		return out
	case jsondoc.KindObject:
		out := make(map[string]any, v.Len())
		for name, member := range v.Members() {
			out[name] = plain(member)
		}
		return out
	default:
		return nil
	}
}

// Initial is the document that a schema describes before anybody has written
// one: an object with every top-level property, each with its "default" or the
// empty value of its type ("" 0 false [] {}). Inside an object the required
// properties and those with a "default" are filled in too. A property without
// either, and one limited by "enum" without a "default", is left out: there is
// no value that could be made up for it. Of a nil schema, or one that describes
// no object, it is absent.
func (s *Schema) Initial() jsondoc.Value {
	if s == nil {
		return jsondoc.Value{}
	}
	props, ok := s.doc.Get("properties")
	if !ok {
		return jsondoc.Value{}
	}
	out := jsondoc.Object()
	for name, p := range props.Members() {
		if v, ok := initial(p, 0); ok {
			out = out.With(name, v)
		}
	}
	return s.pruned(out)
}

// pruned is a document without the members that break the schema: what is made up
// must not be what nobody could post. A member that is missing stays missing.
func (s *Schema) pruned(doc jsondoc.Value) jsondoc.Value {
	for {
		var broken *Error
		if !errors.As(s.Validate(doc), &broken) {
			return doc
		}
		before := doc
		for _, v := range broken.Violations {
			if _, there := doc.At(v.Path); there && v.Path != "" {
				doc = removed(doc, v.Path.Tokens())
			}
		}
		if jsondoc.Same(doc, before) {
			return doc
		}
	}
}

// removed is a document without a place: a member, or the list that an item is of.
func removed(doc jsondoc.Value, path []string) jsondoc.Value {
	inner, _ := doc.Get(path[0])
	if len(path) == 1 || inner.Kind() != jsondoc.KindObject {
		return doc.Without(path[0])
	}
	return doc.With(path[0], removed(inner, path[1:]))
}

const maxInitialDepth = 32

func initial(p jsondoc.Value, depth int) (jsondoc.Value, bool) {
	if d, ok := p.Get("default"); ok {
		return d, true
	}
	if _, ok := p.Get("enum"); ok {
		return jsondoc.Value{}, false
	}
	t, _ := p.Get("type")
	switch t.Str() {
	case "array":
		return jsondoc.Array(), true
	case "string":
		return jsondoc.String(""), true
	case "number", "integer":
		return jsondoc.Int(0), true
	case "boolean":
		return jsondoc.False, true
	case "object":
		return initialObject(p, depth), true
	}
	return jsondoc.Value{}, false
}

func initialObject(p jsondoc.Value, depth int) jsondoc.Value {
	out := jsondoc.Object()
	if depth >= maxInitialDepth {
		return out
	}
	required, _ := p.Get("required")
	props, _ := p.Get("properties")
	for name, inner := range props.Members() {
		_, has := inner.Get("default")
		if !has && !contains(required, name) {
			continue
		}
		if v, ok := initial(inner, depth+1); ok {
			out = out.With(name, v)
		}
	}
	return out
}

func contains(list jsondoc.Value, s string) bool {
	for _, item := range list.Items() {
		if item.Str() == s {
			return true
		}
	}
	return false
}
