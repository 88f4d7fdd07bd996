package jsondoc

import "fmt"

// Conflict is a place that both sides changed, differently. Absent values mean
// that the place does not exist on that side.
type Conflict struct {
	Path               Pointer // in the result
	Base, Ours, Theirs Value
}

// Policy decides a conflict: the value the place gets (absent: it is removed),
// or false to refuse the merge.
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
	// Identity names the members that tell items of an array apart, in the
	// order of preference; nil means id, key.
	Identity []string
}

// ConflictError is returned by [Merge] when the policy refused.
type ConflictError struct {
	Conflicts []Conflict // all that were found, in the order of the document
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("jsondoc: merge: %d conflicts, the first at %q", len(e.Conflicts), clip(string(e.Conflicts[0].Path)))
}

// Merge joins two changed versions of base. Each conflict is listed, however the
// policy decides it.
func Merge(base, ours, theirs Value, opts *MergeOptions) (Value, []Conflict, error) {
	if opts == nil {
		opts = &MergeOptions{}
	}
	m := merger{policy: opts.Policy}
	if m.policy == nil {
		m.policy = Ours
	}
	v := m.merge(base, ours, theirs, "")
	if m.refused {
		return Value{}, m.conflicts, &ConflictError{m.conflicts}
	}
	return v, m.conflicts, nil
}

type merger struct {
	policy    Policy
	conflicts []Conflict
	refused   bool
}

func (m *merger) merge(base, ours, theirs Value, at Pointer) Value {
	switch {
	case equal(theirs, base, ByText) || equal(ours, theirs, ByText):
		return ours
	case equal(ours, base, ByText):
		return theirs
	}
	if base.Kind() == KindObject && ours.Kind() == KindObject && theirs.Kind() == KindObject {
		r := ours
		for name, o := range ours.Members() {
			b, _ := base.Get(name)
			t, _ := theirs.Get(name)
			r = r.With(name, m.merge(b, o, t, at.Child(name)))
		}
		for name, t := range theirs.Members() {
			if _, ok := ours.Get(name); ok {
				continue
			}
			b, _ := base.Get(name)
			r = r.With(name, m.merge(b, Value{}, t, at.Child(name)))
		}
		return r
	}
	c := Conflict{at, base, ours, theirs}
	m.conflicts = append(m.conflicts, c)
	v, ok := m.policy(c)
	if !ok {
		m.refused = true
		return ours
	}
	return v
}
