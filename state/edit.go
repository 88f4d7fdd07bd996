package state

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/lockstep-go/lockstep/internal/schema"
	"github.com/lockstep-go/lockstep/jsondoc"
)

func itoa(i int) string { return strconv.Itoa(i) }

// Doc is a thread's two documents at one position of its log: the State (the
// fold of the changes, server-only members included) and the View (the fold of
// the events: what clients may see of the state, with live predictions over
// it).
type Doc struct{ State, View jsondoc.Value }

// Edited is what an edit makes of a Doc.
type Edited struct {
	Doc
	// Changed says that the state is another one than before.
	Changed bool
	// Merged says that the document had moved since the edit's base and both
	// sides were kept.
	Merged bool
	// Conflicts are the places where the edit took precedence over a change
	// made after its base.
	Conflicts []jsondoc.Pointer
	// Dropped are read-only places that the edit had changed; they stay.
	Dropped []jsondoc.Pointer
	// Concealed says that the edit wrote members that are server-only. They are
	// left out; but who made it must not learn that from the answer, which is
	// the one that any other member would have got.
	Concealed bool
	// Predicted are places that the edit had changed and nothing but a
	// prediction has: there is nothing to edit yet, so they stay. See
	// Model.Amend.
	Predicted []jsondoc.Pointer
}

// Edit reads a client's whole document as an edit (S2): of base, the documents
// as they were when the client was last shown the view, or, with a zero base, of
// nothing, so that the members it has are set and all others stay. Anything but
// an object is no opinion. A number counts as unchanged where a client that
// computes in doubles cannot tell it from the base's: browsers hand back
// 9007199254740993 as …992, and that is an echo, not an edit (W3). It fails with
// *SchemaError where the edit breaks the schema (S8).
//
// What the client changed is applied to the state as it is now. A place that the
// base shows and the state had neither then nor has now is only predicted, and
// so are the items of an array that a prediction replaces. Any other place that
// the state had lies below the prediction: the edit goes there, and shows above
// it (S6).
func (m *Model) Edit(now, base Doc, wanted jsondoc.Value) (Edited, error) {
	return m.EditAround(now, base, wanted, nil)
}

// Begin makes a thread's first state of what a client posts (see First). What it
// has at read-only and server-only places is left out, as in Edit.
func (m *Model) Begin(posted jsondoc.Value) (Edited, error) {
	initial, visible := m.First(jsondoc.Value{}), m.Visible(posted)
	out := Edited{Changed: true}
	shown := m.Visible(initial)
	var next jsondoc.Value
	next, out.Dropped = m.protect(shown, m.First(visible))
	out.State = next
	if err := m.Check(initial, next); err != nil {
		return Edited{Dropped: out.Dropped}, err
	}
	if !jsondoc.Same(posted, visible) {
		out.Concealed = true
		if err := m.conceal(next, m.Visible(next), visible, posted); err != nil {
			return Edited{Dropped: out.Dropped}, err
		}
	}
	return out, nil
}

// EditAround is Edit with places whose conflicts the present value wins.
func (m *Model) EditAround(now, base Doc, wanted jsondoc.Value, stay []jsondoc.Pointer) (Edited, error) {
	out := Edited{Doc: now}
	if wanted.Kind() != jsondoc.KindObject {
		return out, nil
	}
	full := wanted
	wanted = m.Visible(full)
	out.Concealed = !jsondoc.Same(full, wanted)
	visible := m.Visible(now.State)
	shown, was := base.View, m.Visible(base.State)
	if shown.IsAbsent() {
		shown, was = visible, visible
		whole := visible
		if whole.Kind() != jsondoc.KindObject {
			whole = jsondoc.Object()
		}
		for name, v := range wanted.Members() {
			whole = whole.With(name, v)
		}
		wanted = whole
	}
	wanted, out.Dropped = m.protect(shown, wanted)
	wanted = exact(shown, wanted)
	wanted, out.Predicted = withoutPredicted(shown, was, orEmpty(visible), wanted)
	if jsondoc.Equal(shown, wanted) {
		if out.Concealed {
			return out, m.conceal(now.State, visible, m.Visible(full), full)
		}
		return out, nil
	}
	decide := func(c jsondoc.Conflict) (jsondoc.Value, bool) {
		before, _ := was.At(c.Path)
		// Inside an array the path is one of the merge's result. No array is left
		// whose items are only predicted.
		overlaid := !throughArray(shown, c.Path) && !jsondoc.Equal(c.Base, before)
		switch {
		case overlaid && jsondoc.Equal(before, c.Theirs):
			// Nobody but the prediction was there since.
		case slices.Contains(stay, c.Path):
			out.Conflicts = append(out.Conflicts, c.Path)
			return c.Theirs, true
		default:
			out.Conflicts = append(out.Conflicts, c.Path)
		}
		return c.Ours, true
	}
	newVisible, _, err := jsondoc.Merge(shown, wanted, orEmpty(visible), &jsondoc.MergeOptions{Policy: decide})
	if err != nil {
		return out, err
	}
	if out.Concealed {
		if err := m.conceal(now.State, newVisible, m.Visible(full), full); err != nil {
			return Edited{Doc: now, Dropped: out.Dropped, Conflicts: out.Conflicts}, err
		}
	}
	out.Merged = !jsondoc.Equal(was, visible)
	inView := func(c jsondoc.Conflict) (jsondoc.Value, bool) {
		if slices.Contains(stay, c.Path) {
			return c.Theirs, true
		}
		return c.Ours, true
	}
	if out.Doc.View, _, err = jsondoc.Merge(shown, wanted, orEmpty(now.View), &jsondoc.MergeOptions{Policy: inView}); err != nil {
		return out, err
	}
	if jsondoc.Equal(newVisible, visible) {
		return out, nil
	}
	out.State = m.restore(now.State, newVisible)
	out.Changed = true
	if err := m.Check(now.State, out.State); err != nil {
		return Edited{Doc: now, Dropped: out.Dropped, Conflicts: out.Conflicts}, err
	}
	return out, nil
}

// withoutPredicted is what a client wants without its edits of what only a
// prediction has shown it, and lists these: a place that the state did not have
// when it was shown, and does not have now; and an array that was being
// predicted, whose items are not the state's. Once a prediction is committed its
// places are the state's like any other.
func withoutPredicted(shown, was, now, wanted jsondoc.Value) (jsondoc.Value, []jsondoc.Pointer) {
	var places []jsondoc.Pointer
	var walk func(shown, was, now, wanted jsondoc.Value, at jsondoc.Pointer) jsondoc.Value
	walk = func(shown, was, now, wanted jsondoc.Value, at jsondoc.Pointer) jsondoc.Value {
		if shown.IsAbsent() || jsondoc.Equal(shown, wanted) || jsondoc.Equal(shown, was) {
			return wanted
		}
		objects := shown.Kind() == jsondoc.KindObject && wanted.Kind() == jsondoc.KindObject
		switch {
		case objects && was.Kind() == jsondoc.KindObject:
			out := wanted
			for name, s := range shown.Members() {
				before, _ := was.Get(name)
				is, _ := now.Get(name)
				w, _ := wanted.Get(name)
				if v := walk(s, before, is, w, at.Child(name)); !v.IsAbsent() && !jsondoc.Same(v, w) {
					out = out.With(name, v)
				}
			}
			return out
		case !jsondoc.Equal(was, now):
			return wanted
		case was.IsAbsent() || objects || shown.Kind() == jsondoc.KindArray && wanted.Kind() == jsondoc.KindArray:
			if wanted.IsAbsent() {
				places = append(places, at)
				return shown
			}
			for _, op := range jsondoc.Diff(shown, wanted, nil) {
				places = append(places, at+op.Path)
			}
			return shown
		}
		return wanted
	}
	return walk(shown, orEmpty(was), now, wanted, ""), places
}

// throughArray reports whether a place is inside an array of the document.
func throughArray(doc jsondoc.Value, at jsondoc.Pointer) bool {
	for _, token := range at.Tokens() {
		if doc.Kind() == jsondoc.KindArray {
			return true
		}
		doc, _ = doc.Get(token)
	}
	return false
}

// Waits reports whether a place is one that an open proposal writes.
func (m *Model) Waits(open []Proposal, at jsondoc.Pointer) bool {
	for _, p := range open {
		for _, f := range m.fieldsOf(p.Tool) {
			if f.target.Path.Contains(at) || at.Contains(f.target.Path) {
				return true
			}
		}
	}
	return false
}

// Amend lays an edit of what proposals show over the proposals themselves: it
// waits with them, becomes state if they are approved, and is told of if they
// are not. The edit is the one that Edit found Predicted places in. It returns
// the proposals that it changed.
func (m *Model) Amend(open []Proposal, shown, wanted jsondoc.Value) []Proposal {
	wanted = exact(shown, m.Visible(wanted))
	var out []Proposal
	for _, p := range open {
		changed := false
		for i, f := range m.fieldsOf(p.Tool) {
			was, there := shown.At(f.target.Path)
			is, _ := wanted.At(f.target.Path)
			if !there || is.IsAbsent() || jsondoc.Equal(was, is) {
				continue
			}
			have, ok := m.proposed(p, jsondoc.Value{}).value(i)
			if !ok {
				continue
			}
			v, _, err := jsondoc.Merge(was, is, have, &jsondoc.MergeOptions{Policy: jsondoc.Ours})
			if err == nil && !jsondoc.Equal(v, have) {
				if p.Edited.IsAbsent() {
					p.Edited = jsondoc.Object()
				}
				p.Edited, changed = p.Edited.With(string(f.target.Path), v), true
			}
		}
		if changed {
			out = append(out, p)
		}
	}
	return out
}

// exact gives numbers their digits back where the client, which may compute in
// doubles, cannot have meant to change them: wherever a value is equal to the
// base's as doubles are, it is the base's. An infinite double is null in a
// browser's JSON.
func exact(base, wanted jsondoc.Value) jsondoc.Value {
	switch {
	case base.IsAbsent() || jsondoc.Same(base, wanted):
		return wanted
	case jsondoc.EqualBy(base, wanted, jsondoc.ByDouble):
		return base
	case wanted.IsNull() && base.Kind() == jsondoc.KindNumber:
		if f, ok := base.Float64(); !ok || math.IsInf(f, 0) {
			return base
		}
	case base.Kind() == jsondoc.KindObject && wanted.Kind() == jsondoc.KindObject:
		members := make([]jsondoc.Member, 0, wanted.Len())
		for name, w := range wanted.Members() {
			b, _ := base.Get(name)
			members = append(members, jsondoc.Member{Name: name, Value: exact(b, w)})
		}
		return jsondoc.Object(members...)
	case base.Kind() == jsondoc.KindArray && wanted.Kind() == jsondoc.KindArray:
		// An item stands near where it stood: insertions and removals shift the
		// others, and a window finds them without comparing all with all.
		const window = 16
		near := func(list jsondoc.Value, from int, x jsondoc.Value) int {
			for j := from; j < min(from+window, list.Len()); j++ {
				if jsondoc.EqualBy(list.Item(j), x, jsondoc.ByDouble) {
					return j
				}
			}
			return -1
		}
		items := make([]jsondoc.Value, 0, wanted.Len())
		at := 0
		for i, w := range wanted.Items() {
			switch j := near(base, at, w); {
			case j >= 0:
				w, at = base.Item(j), j+1
			case at < base.Len() && near(wanted, i+1, base.Item(at)) < 0:
				w = exact(base.Item(at), w) // the item itself was edited
				at++
			}
			items = append(items, w)
		}
		return jsondoc.Array(items...)
	}
	return wanted
}

// Check validates a change of the state, as a whole. Only what the change makes
// wrong counts: a state that broke its schema before (an operator's initial
// state that lacks a member) can still be edited towards a right one. What is
// wrong with server-only places is not told (S9).
func (m *Model) Check(before, after jsondoc.Value) error {
	if size := after.Size(); size > m.maxState() && size > before.Size() {
		return &schema.Error{Violations: []schema.Violation{{Reason: fmt.Sprintf("the state would have %d bytes; %d is the most", size, m.maxState())}}}
	}
	var now, was *schema.Error
	if err := m.cfg.Schema.Validate(after); !errors.As(err, &now) {
		return err
	}
	old := map[schema.Violation]bool{}
	if errors.As(m.cfg.Schema.Validate(before), &was) {
		for _, v := range was.Violations {
			old[v] = true
		}
	}
	var fresh []schema.Violation
	for _, v := range now.Violations {
		switch {
		case old[v]:
		case m.Hidden(v.Path):
			fresh = append(fresh, schema.Violation{Reason: "a part of the state that is not shown breaks its schema"})
		default:
			fresh = append(fresh, v)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return &schema.Error{Violations: fresh}
}
