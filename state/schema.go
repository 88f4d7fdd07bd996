package state

import (
	"fmt"
	"reflect"

	"github.com/lockstep-go/lockstep/internal/schema"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// Schema is a JSON Schema for the state, compiled and immutable. Make one with
// SchemaFor, ClosedSchemaFor, ParseSchema or MustParseSchema; nil accepts everything.
type Schema = schema.Schema

// SchemaError says how a document breaks its schema: each place as a JSON
// Pointer and a reason.
type SchemaError = schema.Error

// SchemaFor infers the schema of a Go type. The json tag names a member and,
// with omitempty, makes it optional; the jsonschema tag is its description; a
// pointer may be null, a slice or map may not. A string type with a method
// Enum() []string may only have those values:
//
//	type Level string
//
//	func (Level) Enum() []string { return []string{"Beginner", "Advanced"} }
//
// Members that T does not have are allowed, since a page may keep some of its own
// in the state; ClosedSchemaFor refuses them. For everything else that JSON Schema
// can say there is ParseSchema. SchemaFor panics on a type that has no JSON form,
// which is a fault of the program.
func SchemaFor[T any]() *Schema {
	s, err := schema.ForOpen(reflect.TypeFor[T]())
	if err != nil {
		panic("state: SchemaFor: " + err.Error())
	}
	return s
}

// ClosedSchemaFor is SchemaFor without room for members that T, or a type in it,
// does not have: a run that posts one, a PATCH that adds one and a tool whose
// result has one are refused, and so is what a mistyped name would have added.
func ClosedSchemaFor[T any]() *Schema {
	s, err := schema.For(reflect.TypeFor[T]())
	if err != nil {
		panic("state: ClosedSchemaFor: " + err.Error())
	}
	return s
}

// ParseSchema reads a JSON Schema, or the short form: an object of the state's
// members, each with its own schema, as in
//
//	{"recipe": {"type": "object", "description": "The current recipe"}}
//
// The short form is taken where no member is one of JSON Schema's own keywords
// with the kind of value that keyword has.
func ParseSchema(text []byte) (*Schema, error) {
	doc, err := jsondoc.Parse(text, nil)
	if err != nil {
		return nil, fmt.Errorf("state: the schema is not JSON: %w", err)
	}
	return NewSchema(doc)
}

// NewSchema is ParseSchema for a document.
func NewSchema(doc jsondoc.Value) (*Schema, error) {
	if isShort(doc) {
		doc = jsondoc.Object(
			jsondoc.Member{Name: "type", Value: jsondoc.String("object")},
			jsondoc.Member{Name: "properties", Value: doc},
		)
	}
	return schema.Compile(doc)
}

// MustParseSchema is ParseSchema for constants; it panics where that fails.
func MustParseSchema(text string) *Schema {
	s, err := ParseSchema([]byte(text))
	if err != nil {
		panic(err)
	}
	return s
}

// isShort tells the short form from a JSON Schema: every member is an object,
// and none is what the keyword of that name would be. A state may well have a
// member called "type" or "items"; what it is described by is an object with a
// "type" of its own, and no keyword but the container ones takes an object.
func isShort(doc jsondoc.Value) bool {
	if doc.Kind() != jsondoc.KindObject || doc.Len() == 0 {
		return false
	}
	for name, v := range doc.Members() {
		if v.Kind() != jsondoc.KindObject {
			return false
		}
		switch name {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			return false
		}
	}
	return true
}
