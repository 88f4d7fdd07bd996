package jsondoc

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// From returns the document of a Go value.
func From(v any) (Value, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return Value{}, fmt.Errorf("jsondoc: %w", err)
	}
	return Parse(b.Bytes(), nil)
}

// MustFrom is [From] for values that cannot fail: it panics on an error.
func MustFrom(v any) Value {
	x, err := From(v)
	if err != nil {
		panic(err)
	}
	return x
}

// Decode stores the document in the value that into points to, by the rules of
// encoding/json.
func (v Value) Decode(into any) error {
	return json.Unmarshal(v.AppendJSON(nil), into)
}
