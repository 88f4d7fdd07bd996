package jsondoc

import (
	"fmt"
	"strconv"
)

// Conflict is a place that both sides changed, and not in the same way. An
// absent value means that the place does not exist there: removed, or not yet
// added.
type Conflict struct {
	// Path is the place in the result of the merge; for an item that did not
	// get into the result, the index it would have had.
	Path               Pointer
	Base, Ours, Theirs Value
}

// Policy decides a conflict. It returns the value for the place, an absent one
// to leave it out, or false to refuse the merge.
//
// Where the sides brought the items of an array into two orders, the conflict is
// the whole array. A policy that returns one of the two arrays chooses its
// order, and the items are merged all the same; another value is used as it is.
type Policy func(Conflict) (Value, bool)

// Ours is the [Policy] that keeps our side of every conflict.
func Ours(c Conflict) (Value, bool) { return c.Ours, true }

// Theirs is the [Policy] that takes their side of every conflict.
func Theirs(c Conflict) (Value, bool) { return c.Theirs, true }

// Reject is the [Policy] that refuses the merge at a conflict.
func Reject(Conflict) (Value, bool) { return Value{}, false }

// MergeOptions configures [Merge]. The zero value is the default.
type MergeOptions struct {
	// Policy decides conflicts; nil means [Ours].
	Policy Policy
	// Identity names the members that tell an array's items apart, as in
	// [DiffOptions].
	Identity []string
	// Numbers says which numbers count as unchanged; the default is [ByText].
	Numbers NumberRule
}

// ConflictError is the error of a [Merge] that the policy refused.
type ConflictError struct {
	Conflicts []Conflict // all of the merge, not only those refused; never empty
}

func (e *ConflictError) Error() string {
	c := e.Conflicts[0]
	return fmt.Sprintf("merge refused: %d places were changed on both sides, the first is %q",
		len(e.Conflicts), clip(string(c.Path)))
}

// Merge joins two documents that were both made from base. What one side changed
// is in the result; what both changed alike, too; where they changed one place
// differently, there is a conflict: the policy decides it, and it is listed.
// No change of either side gets lost without being listed.
//
// Objects are merged member by member and arrays item by item: items are paired
// by identity if all three arrays have one (see [DiffOptions]), else each side's
// with base's as in [Diff]. A change beside a removal of what contains it is a
// conflict. What both sides add in one place of an array is all kept, in an
// order that does not depend on which side is which. Where base has nothing or
// null, two objects are merged as if it had an empty one, and so are two arrays
// whose items have an identity.
//
// With Equal as =, Merge(b, b, x) = x, Merge(b, x, b) = x and Merge(b, x, x) = x;
// and if there are no conflicts Merge(b, x, y) = Merge(b, y, x).
//
// The error is a *[ConflictError] if the policy refused a conflict; the list of
// conflicts is returned all the same.
func Merge(base, ours, theirs Value, opts *MergeOptions) (Value, []Conflict, error) {
	if opts == nil {
		opts = &MergeOptions{}
	}
	m := merger{
		aligner: newAligner(opts.Identity, opts.Numbers, base.Size()+ours.Size()+theirs.Size()),
		policy:  opts.Policy,
	}
	if m.policy == nil {
		m.policy = Ours
	}
	v := m.merge(base, ours, theirs)
	if m.refused {
		return Value{}, m.conflicts, &ConflictError{m.conflicts}
	}
	return v, m.conflicts, nil
}

type merger struct {
	aligner
	policy    Policy
	conflicts []Conflict
	refused   bool
	path      []byte
}

// settled is the merge where structure is shared: nothing to look into.
func settled(base, ours, theirs Value) (Value, bool) {
	switch {
	case ours.n == theirs.n || theirs.n == base.n:
		return ours, true
	case ours.n == base.n:
		return theirs, true
	}
	return Value{}, false
}

// member merges a member of the current place, item an item.
func (m *merger) member(name string, base, ours, theirs Value) Value {
	if v, ok := settled(base, ours, theirs); ok {
		return v
	}
	n := len(m.path)
	m.path = appendToken(m.path, name)
	v := m.merge(base, ours, theirs)
	m.path = m.path[:n]
	return v
}

func (m *merger) item(i int, base, ours, theirs Value) Value {
	if v, ok := settled(base, ours, theirs); ok {
		return v
	}
	n := len(m.path)
	m.path = strconv.AppendInt(append(m.path, '/'), int64(i), 10)
	v := m.merge(base, ours, theirs)
	m.path = m.path[:n]
	return v
}

func (m *merger) merge(base, ours, theirs Value) Value {
	if v, ok := settled(base, ours, theirs); ok {
		return v
	}
	kind := ours.Kind()
	if kind != theirs.Kind() || kind != base.Kind() && base.Kind() > KindNull {
		kind = KindAbsent // nothing to merge inside
	}
	// Objects need no comparison as a whole, their members' says it all; but at
	// the top it gives back exactly the side that changed, in its order.
	if kind == KindObject && len(m.path) > 0 {
		return m.object(base, ours, theirs)
	}
	switch {
	case m.unchanged(base, theirs) || m.unchanged(ours, theirs):
		return ours
	case m.unchanged(base, ours):
		return theirs
	}
	switch kind {
	case KindObject:
		return m.object(base, ours, theirs)
	case KindArray:
		if v, ok := m.array(base, ours, theirs); ok {
			return v
		}
	}
	v, ok := m.conflict(base, ours, theirs)
	if !ok {
		return ours
	}
	return v
}

func (m *merger) unchanged(a, b Value) bool {
	if a.n == nil || b.n == nil || a.n.box == nil {
		return equal(a, b, m.rule)
	}
	return m.same(a, b)
}

func (m *merger) conflict(base, ours, theirs Value) (Value, bool) {
	c := Conflict{Pointer(m.path), base, ours, theirs}
	m.conflicts = append(m.conflicts, c)
	v, ok := m.policy(c)
	if !ok {
		m.refused = true
	}
	return v, ok
}

func (m *merger) object(base, ours, theirs Value) Value {
	if base.Kind() != KindObject {
		base = newObject(noNames, nil)
	}
	var edits []Member
	b, o, t := base.n.box, ours.n.box, theirs.n.box
	// First ours' members, then those that only theirs has.
	for i, x := range o.all() {
		name := o.shape.names[i]
		v := m.member(name, memberNear(b, name, i), x, memberNear(t, name, i))
		if v.n != x.n {
			edits = append(edits, Member{name, v})
		}
	}
	for i, x := range t.all() {
		name := t.shape.names[i]
		if o.shape.findNear(name, i) >= 0 {
			continue
		}
		if v := m.member(name, memberNear(b, name, i), Value{}, x); v.n != nil {
			edits = append(edits, Member{name, v})
		}
	}
	return ours.withAll(&editor{owner: &owner{}}, edits)
}

// memberNear is Get with a guess at the position.
func memberNear(b *box, name string, guess int) Value {
	if i := b.shape.findNear(name, guess); i >= 0 {
		return b.at(i)
	}
	return Value{}
}
