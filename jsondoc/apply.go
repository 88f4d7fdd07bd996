package jsondoc

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ApplyOptions bounds [Patch.Apply]. The zero value is the default.
type ApplyOptions struct {
	// MaxOperations is how many operations a patch may have; 0 means no limit.
	// Patches from outside need one: adding a member to an object of many, or
	// removing one, may cost the copy of the list of their names.
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
		return "patch: " + e.Reason
	}
	return fmt.Sprintf("patch operation %d (%s %s): %s",
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
	return p.apply(doc, opts, applier{})
}

func (p Patch) apply(doc Value, opts *ApplyOptions, a applier) (Value, error) {
	if opts == nil {
		opts = &ApplyOptions{}
	}
	if opts.MaxOperations > 0 && len(p) > opts.MaxOperations {
		return Value{}, &PatchError{Index: -1, Reason: fmt.Sprintf("%d operations, more than the %d that are allowed", len(p), opts.MaxOperations)}
	}
	a.maxSize, a.maxDepth = opts.MaxSize, opts.MaxDepth
	if a.maxSize <= 0 {
		a.maxSize = defaultMaxSize
	}
	if a.maxDepth <= 0 {
		a.maxDepth = defaultMaxDepth
	}
	if len(p) > 1 {
		a.owner = &owner{}
	}
	for i := 0; i < len(p); i++ {
		op := p[i]
		err := op.check()
		if err == nil && opts.ClientRules {
			err = op.clientCheck()
		}
		if err == nil {
			if next, n := a.removals(doc, p[i:]); n > 0 {
				doc, i = next, i+n-1
				continue
			}
			doc, err = a.apply(doc, op)
		}
		if err != nil {
			return Value{}, &PatchError{Index: i, Op: op.Op, Path: op.Path, Reason: err.Error()}
		}
	}
	return doc, nil
}

// removals applies a run of operations that remove members of one large object,
// which one by one would each copy the list of its names. It returns how many
// operations it applied; the others, failing ones too, are left to apply.
func (a *applier) removals(doc Value, p Patch) (Value, int) {
	const run = 32
	if len(p) < run || p[0].Op != "remove" {
		return doc, 0
	}
	parent, _, ok := p[0].Path.Parent()
	holder, found := a.at(doc, parent)
	if !ok || !found || holder.Kind() != KindObject || holder.n.box.tree == nil {
		return doc, 0
	}
	var edits []Member
	seen := map[string]bool{}
	for _, op := range p {
		q, token, ok := op.Path.Parent()
		if _, err := ParsePointer(string(op.Path)); op.Op != "remove" || !ok || q != parent || err != nil {
			break
		}
		if (Operation{Path: op.Path}).clientCheck() != nil || seen[token] || holder.n.box.shape.find(token) < 0 {
			break
		}
		seen[token] = true
		edits = append(edits, Member{Name: token})
	}
	if len(edits) < run {
		return doc, 0
	}
	doc, err := a.edit(doc, parent, edReplace, holder.withAll(&editor{}, edits))
	if err != nil {
		return doc, 0
	}
	return doc, len(edits)
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
	raw      bool // there may be raw nodes in the document
}

func (a *applier) apply(doc Value, op Operation) (Value, error) {
	switch op.Op {
	case "test":
		at, ok := a.at(doc, op.Path)
		if !ok {
			return doc, errNoPlace
		}
		if a.raw {
			at = at.whole()
		}
		if !Equal(at, op.Value) {
			// Not which one it is: who may read an error may not be who may
			// read the document.
			return doc, errors.New("test failed: the value there is another")
		}
		return doc, nil
	case "remove":
		return a.edit(doc, op.Path, edRemove, Value{})
	case "replace":
		return a.put(doc, op.Path, edReplace, op.Value)
	case "add":
		return a.put(doc, op.Path, edAdd, op.Value)
	}
	x, ok := a.at(doc, op.From)
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
	if deeper(x, a.maxDepth-levels) {
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
	if a.raw {
		v = v.open()
	}
	i, found := v.child(token)
	if rest != "" {
		if !found {
			return v, fmt.Errorf("there is nothing at %q on the way", clip(token))
		}
		kid := v.n.box.at(i)
		was := kid.n.size
		kid, err := a.edit(kid, rest, kind, x)
		if err != nil {
			return v, err
		}
		return a.replaceKid(v, i, kid, was), nil
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
	return a.replaceKid(v, i, x, v.n.box.at(i).n.size), nil
}

func isLen(token string, n int) bool {
	i, ok := arrayIndex(token)
	return ok && i == n
}

// Inverse returns the patch that takes the document back: applied to the result
// of p.Apply(doc) it gives a document that equals doc. A member that p removed
// comes back as the last one; tests are left out. It fails as Apply does.
func (p Patch) Inverse(doc Value) (Patch, error) {
	var back Patch // in reverse order
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
	slices.Reverse(back)
	return back, nil
}

// invert appends, the last one first, the operations that undo op. op applies to
// doc.
func (op Operation) invert(doc Value, back Patch) Patch {
	old, _ := doc.At(op.Path)
	switch {
	case op.Op == "test" || op.Op == "move" && op.From == op.Path:
		return back
	case op.Path == "" || op.Op == "replace":
		return append(back, Operation{Op: "replace", Path: op.Path, Value: old})
	case op.Op == "remove":
		return append(back, Operation{Op: "add", Path: op.Path, Value: old})
	case op.Op == "move":
		// Where the value arrives is a place in what is left without it.
		moved, _ := doc.At(op.From)
		var e applier
		doc, _ = e.edit(doc, op.From, edRemove, Value{})
		back = append(back, Operation{Op: "add", Path: op.From, Value: moved})
	}
	return append(back, undoAdd(doc, op.Path))
}

// undoAdd undoes the adding of a value at p to doc.
func undoAdd(doc Value, p Pointer) Operation {
	parent, token, _ := p.Parent()
	holder, _ := doc.At(parent)
	if holder.Kind() == KindArray {
		if token == "-" {
			p = parent.Index(holder.Len())
		}
		return Operation{Op: "remove", Path: p}
	}
	if old, had := holder.Get(token); had {
		return Operation{Op: "replace", Path: p, Value: old}
	}
	return Operation{Op: "remove", Path: p}
}
