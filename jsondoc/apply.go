package jsondoc

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ApplyOptions bounds [Patch.Apply]. The zero value is the default.
type ApplyOptions struct {
	// MaxOperations is how many operations a patch may have; 0 means no limit.
	MaxOperations int
	// MaxSize is how many bytes the document may have after any operation, as
	// [Value.Size] counts; 0 means 64 MiB. There always is a limit, because a
	// few copy operations make a document of any size.
	MaxSize int
	// MaxDepth is how deep the document may be nested; 0 means 512.
	MaxDepth int
	// ClientRules refuses, beside what RFC 6902 forbids, what the official
	// client's library (fast-json-patch) does: paths through __proto__ or
	// constructor/prototype.
	ClientRules bool
}

const defaultMaxSize = 64 << 20

// PatchError says which operation failed, and why.
type PatchError struct {
	Index  int // of the operation; -1 if it is the patch as a whole
	Op     string
	Path   Pointer
	Reason string
}

func (e *PatchError) Error() string {
	if e.Index < 0 {
		return "jsondoc: patch: " + e.Reason
	}
	return fmt.Sprintf("jsondoc: patch operation %d (%s %s): %s",
		e.Index, clip(e.Op), strconv.Quote(clip(string(e.Path))), e.Reason)
}

// Apply returns doc changed by the patch. All operations apply or none: doc is
// immutable, so on an error there is nothing to take back. The result shares
// what did not change with doc. Errors are of type *[PatchError].
//
// The rules are those of RFC 6902 and RFC 6901, without extensions: no negative
// indexes, no leading zeros, "-" only where something is added, a test of a
// missing place fails. Of the two things the RFC leaves open, removing the root
// leaves null, as in fast-json-patch, and a member that is set again keeps its
// place.
func (p Patch) Apply(doc Value, opts *ApplyOptions) (Value, error) {
	if opts == nil {
		opts = &ApplyOptions{}
	}
	if opts.MaxOperations > 0 && len(p) > opts.MaxOperations {
		return Value{}, &PatchError{Index: -1, Reason: fmt.Sprintf("%d operations, more than the %d that are allowed", len(p), opts.MaxOperations)}
	}
	a := applier{maxSize: opts.MaxSize, maxDepth: opts.MaxDepth}
	if a.maxSize <= 0 {
		a.maxSize = defaultMaxSize
	}
	if a.maxDepth <= 0 {
		a.maxDepth = defaultMaxDepth
	}
	if len(p) > 1 {
		a.owner = &owner{}
	}
	for i, op := range p {
		err := op.check()
		if err == nil && opts.ClientRules {
			err = op.clientCheck()
		}
		if err == nil {
			doc, err = a.apply(doc, op)
		}
		if err != nil {
			return Value{}, &PatchError{Index: i, Op: op.Op, Path: op.Path, Reason: err.Error()}
		}
	}
	return doc, nil
}

// clientCheck refuses what fast-json-patch 3.1.1 refuses beside RFC 6902.
func (op Operation) clientCheck() error {
	for _, p := range []Pointer{op.Path, op.From} {
		before := ""
		for p != "" {
			var token string
			token, p = p.next()
			if token == "__proto__" || token == "prototype" && before == "constructor" {
				return errors.New("clients refuse paths through __proto__ and constructor/prototype")
			}
			before = token
		}
	}
	return nil
}

type applier struct {
	editor
	maxSize  int
	maxDepth int
}

func (a *applier) apply(doc Value, op Operation) (Value, error) {
	switch op.Op {
	case "test":
		at, ok := doc.At(op.Path)
		if !ok {
			return doc, errNoPlace
		}
		if !Equal(at, op.Value) {
			return doc, fmt.Errorf("test failed: the value there is %s", clip(at.String()))
		}
		return doc, nil
	case "remove":
		return a.edit(doc, op.Path, edRemove, Value{})
	case "replace":
		return a.put(doc, op.Path, edReplace, op.Value)
	case "add":
		return a.put(doc, op.Path, edAdd, op.Value)
	}
	x, ok := doc.At(op.From)
	if !ok {
		return doc, errors.New("from: there is no such place")
	}
	if op.Op == "copy" {
		a.disown()
		return a.put(doc, op.Path, edAdd, x)
	}
	if op.From == op.Path {
		return doc, nil
	}
	if op.Path == "" {
		return x, nil
	}
	rest, err := a.edit(doc, op.From, edRemove, Value{})
	if err != nil {
		return doc, err
	}
	return a.put(rest, op.Path, edAdd, x)
}

func (a *applier) put(doc Value, p Pointer, kind edKind, x Value) (Value, error) {
	r, err := a.edit(doc, p, kind, x)
	if err != nil {
		return doc, err
	}
	if r.Size() > a.maxSize {
		return doc, fmt.Errorf("the document would have %d bytes, more than the %d that are allowed", r.Size(), a.maxSize)
	}
	levels := strings.Count(string(p), "/")
	if levels+int(x.n.height) > a.maxDepth && levels+exactHeight(x, a.maxDepth) > a.maxDepth {
		return doc, fmt.Errorf("the document would be nested more than %d levels deep", a.maxDepth)
	}
	return r, nil
}

type edKind uint8

const (
	edAdd edKind = iota
	edReplace
	edRemove
)

var errNoPlace = errors.New("there is no such place")

// edit adds, replaces or removes at p and copies the containers on the way.
func (a *applier) edit(v Value, p Pointer, kind edKind, x Value) (Value, error) {
	if p == "" {
		if kind == edRemove {
			return Null, nil
		}
		return x, nil
	}
	token, rest := p.next()
	i, found := v.child(token)
	if rest != "" {
		if !found {
			return v, fmt.Errorf("there is nothing at %q on the way", clip(token))
		}
		kid, err := a.edit(v.n.box.kids[i], rest, kind, x)
		if err != nil {
			return v, err
		}
		return a.replaceKid(v, i, kid), nil
	}
	switch v.Kind() {
	case KindArray:
		switch {
		case kind == edAdd && token == "-":
			return a.insertItem(v, v.Len(), x), nil
		case kind == edAdd && (found || isLen(token, v.Len())):
			return a.insertItem(v, i, x), nil
		case !found:
			return v, fmt.Errorf("%q is no index of an array of %d items", clip(token), v.Len())
		}
	case KindObject:
		switch {
		case found:
		case kind == edAdd:
			return a.appendMember(v, token, x), nil
		default:
			return v, errNoPlace
		}
	default:
		return v, fmt.Errorf("a value of kind %s has no member %q", v.Kind(), clip(token))
	}
	if kind == edRemove {
		return a.removeKid(v, i), nil
	}
	return a.replaceKid(v, i, x), nil
}

func isLen(token string, n int) bool {
	i, ok := arrayIndex(token)
	return ok && i == n
}

// Inverse returns the patch that takes the document back: for r the result of
// p.Apply(doc), inverse.Apply(r) equals doc. A member that p removed comes back
// as the last one. Tests are dropped. It fails as Apply does.
func (p Patch) Inverse(doc Value) (Patch, error) {
	var back Patch // reversed
	for i, op := range p {
		next, err := Patch{op}.Apply(doc, nil)
		if err != nil {
			var pe *PatchError
			if errors.As(err, &pe) {
				pe.Index = i
			}
			return nil, err
		}
		back = op.invert(doc, back)
		doc = next
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back, nil
}

// invert appends, last first, what undoes op on doc, to which op applies.
func (op Operation) invert(doc Value, back Patch) Patch {
	old, had := doc.At(op.Path)
	inArray := false
	path := op.Path
	if parent, token, ok := op.Path.Parent(); ok {
		if holder, _ := doc.At(parent); holder.Kind() == KindArray {
			inArray = true
			if token == "-" {
				path = parent.Index(holder.Len())
			}
		}
	}
	undoAdd := func() Operation {
		if had && !inArray {
			return Operation{Op: "replace", Path: path, Value: old}
		}
		return Operation{Op: "remove", Path: path}
	}
	switch op.Op {
	case "add", "copy":
		return append(back, undoAdd())
	case "remove":
		if path == "" {
			return append(back, Operation{Op: "replace", Path: "", Value: old})
		}
		return append(back, Operation{Op: "add", Path: path, Value: old})
	case "replace":
		return append(back, Operation{Op: "replace", Path: path, Value: old})
	case "move":
		if op.From == op.Path {
			return back
		}
		// Not a move back: where op wrote over a member that contained from's
		// place or not, add and remove are right either way.
		moved, _ := doc.At(op.From)
		if path == "" {
			return append(back, Operation{Op: "replace", Path: "", Value: old})
		}
		if token, arr := tailOf(doc, op); arr {
			path = token
			return append(back, Operation{Op: "add", Path: op.From, Value: moved}, Operation{Op: "remove", Path: path})
		}
		return append(back, Operation{Op: "add", Path: op.From, Value: moved}, undoAdd())
	}
	return back
}

// tailOf names the place that a move to an array's end or middle ended up at.
func tailOf(doc Value, op Operation) (Pointer, bool) {
	rest, err := Patch{{Op: "remove", Path: op.From}}.Apply(doc, nil)
	if err != nil {
		return "", false
	}
	parent, token, _ := op.Path.Parent()
	holder, _ := rest.At(parent)
	if holder.Kind() != KindArray {
		return "", false
	}
	if token == "-" {
		return parent.Index(holder.Len()), true
	}
	return op.Path, true
}
