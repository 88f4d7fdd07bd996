package jsondoc

import (
	"errors"
	"fmt"
)

// Operation is one operation of a JSON Patch (RFC 6902 section 4).
type Operation struct {
	Op    string  // "add", "remove", "replace", "move", "copy" or "test"
	Path  Pointer // where
	From  Pointer // move and copy: from where
	Value Value   // add, replace and test: what; absent means that there is no "value" member
}

// Patch is a JSON Patch: operations that apply one after the other, all or none.
type Patch []Operation

// ParsePatch reads a JSON Patch document and checks its form, so that a missing
// value is told from null and a missing from is told from "". Unknown members
// are ignored, as RFC 6902 section 4 demands.
func ParsePatch(data []byte) (Patch, error) {
	v, err := Parse(data, nil)
	if err != nil {
		return nil, err
	}
	return PatchFrom(v)
}

// PatchFrom reads a patch from a document, see [ParsePatch]. Errors are of type
// *[PatchError].
func PatchFrom(v Value) (Patch, error) {
	if v.Kind() != KindArray {
		return nil, &PatchError{Index: -1, Reason: fmt.Sprintf("a patch is an array of operations, not a value of kind %s", v.Kind())}
	}
	p := make(Patch, v.Len())
	for i, item := range v.Items() {
		op, err := operationFrom(item)
		if err != nil {
			return nil, &PatchError{Index: i, Op: op.Op, Path: op.Path, Reason: err.Error()}
		}
		p[i] = op
	}
	return p, nil
}

func operationFrom(v Value) (op Operation, err error) {
	if v.Kind() != KindObject {
		return op, fmt.Errorf("an operation is an object, not a value of kind %s", v.Kind())
	}
	name, _ := v.Get("op")
	if name.Kind() != KindString {
		return op, errors.New(`member "op" must be a string`)
	}
	op.Op = name.Str()
	if op.Path, err = pointerMember(v, "path"); err != nil {
		return op, err
	}
	switch op.Op {
	case "add", "replace", "test":
		op.Value, _ = v.Get("value")
	case "move", "copy":
		if op.From, err = pointerMember(v, "from"); err != nil {
			return op, err
		}
	}
	return op, op.check()
}

func pointerMember(v Value, name string) (Pointer, error) {
	m, _ := v.Get(name)
	if m.Kind() != KindString {
		return "", fmt.Errorf("member %q must be a string with a JSON Pointer", name)
	}
	if _, err := ParsePointer(m.Str()); err != nil {
		return "", fmt.Errorf("member %q is no JSON Pointer: %q", name, clip(m.Str()))
	}
	return Pointer(m.Str()), nil
}

// check reports what is wrong with an operation on every document.
func (op Operation) check() error {
	switch op.Op {
	case "add", "replace", "test":
		if op.Value.IsAbsent() {
			return errors.New(`member "value" is missing`)
		}
	case "remove":
	case "move", "copy":
		if _, err := ParsePointer(string(op.From)); err != nil {
			return fmt.Errorf("from: %w", err)
		}
		if op.Op == "move" && op.From != op.Path && op.From.Contains(op.Path) {
			return errors.New("a value cannot move into itself")
		}
	default:
		return fmt.Errorf("unknown operation %q", clip(op.Op))
	}
	_, err := ParsePointer(string(op.Path))
	return err
}

// Value returns the patch as a document.
func (p Patch) Value() Value {
	kids := make([]Value, len(p))
	for i, op := range p {
		kids[i] = op.document()
	}
	return newArray(kids)
}

func (op Operation) document() Value {
	members := []Member{{"op", String(op.Op)}}
	if op.Op == "move" || op.Op == "copy" {
		members = append(members, Member{"from", String(string(op.From))})
	}
	members = append(members, Member{"path", String(string(op.Path))})
	switch op.Op {
	case "remove", "move", "copy":
	default:
		members = append(members, Member{"value", op.Value})
	}
	return Object(members...)
}

// AppendJSON appends the patch as compact JSON.
func (p Patch) AppendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i, op := range p {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"op":`...)
		dst = appendString(dst, op.Op)
		if op.Op == "move" || op.Op == "copy" {
			dst = append(dst, `,"from":`...)
			dst = appendString(dst, string(op.From))
		}
		dst = append(dst, `,"path":`...)
		dst = appendString(dst, string(op.Path))
		switch op.Op {
		case "remove", "move", "copy":
		default:
			if !op.Value.IsAbsent() {
				dst = append(dst, `,"value":`...)
				dst = op.Value.AppendJSON(dst)
			}
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// String returns the patch as compact JSON.
func (p Patch) String() string { return string(p.AppendJSON(nil)) }

// MarshalJSON implements json.Marshaler. A nil patch is [], the patch that
// changes nothing.
func (p Patch) MarshalJSON() ([]byte, error) { return p.AppendJSON(nil), nil }

// UnmarshalJSON implements json.Unmarshaler, see [ParsePatch].
func (p *Patch) UnmarshalJSON(data []byte) error {
	x, err := ParsePatch(data)
	if err != nil {
		return err
	}
	*p = x
	return nil
}
