package state

import "github.com/lockstep-go/lockstep/jsondoc"

// Echo reads a posted document of a client that did not see its run end: what
// equals anything that it was shown at the same place during the run,
// predictions that were taken back since included, is no edit and becomes what
// held, the view that was written to it last, has there (S2). The rest stays as
// the client posted it, an edit of held.
//
// A place that nothing but predictions ever had, and that held does not have any
// more, cannot be edited. Where the client did, the place is lost.
func Echo(posted, held jsondoc.Value, shown []Doc) (edit jsondoc.Value, lost []jsondoc.Pointer) {
	edit = echo(posted, held, shown, "", &lost)
	return edit, lost
}

func echo(posted, held jsondoc.Value, shown []Doc, at jsondoc.Pointer, lost *[]jsondoc.Pointer) jsondoc.Value {
	if jsondoc.EqualBy(posted, held, jsondoc.ByDouble) || wasShown(posted, shown) {
		return held
	}
	if posted.Kind() != jsondoc.KindObject || (held.Kind() != jsondoc.KindObject && !held.IsAbsent()) {
		return posted
	}
	var out []jsondoc.Member
	for name, is := range held.Members() {
		p, there := posted.Get(name)
		switch {
		case there:
			is = echo(p, is, memberOf(shown, name), at.Child(name), lost)
		case !lacking(shown, name):
			continue // it was there all the time, so the client removed it
		}
		if !is.IsAbsent() {
			out = append(out, jsondoc.Member{Name: name, Value: is})
		}
	}
	for name, p := range posted.Members() {
		if _, there := held.Get(name); there {
			continue
		}
		seen := memberOf(shown, name)
		was := shownThere(seen)
		if was && !committed(seen) { // only ever a prediction
			if !wasShown(p, seen) {
				*lost = append(*lost, at.Child(name))
			}
			continue
		}
		v := echo(p, jsondoc.Value{}, seen, at.Child(name), lost)
		if v.IsAbsent() || (was && v.Kind() == jsondoc.KindObject && v.Len() == 0) {
			continue // as it was shown, and gone since
		}
		out = append(out, jsondoc.Member{Name: name, Value: v})
	}
	return jsondoc.Object(out...)
}

// wasShown reports whether a value equals what any of the views has.
func wasShown(v jsondoc.Value, shown []Doc) bool {
	for _, d := range shown {
		if jsondoc.EqualBy(v, d.View, jsondoc.ByDouble) {
			return true
		}
	}
	return false
}

// EchoProposals reads a posted document of a client of which it is only inferred
// what it was shown: base, or nothing. Where it has just what an open proposal
// shows now, it was shown that and says nothing about it: the place becomes
// base's. Else a proposal could become state without its approval, because a
// client has it on its screen (T5).
func (m *Model) EchoProposals(now, base Doc, open []Proposal, posted jsondoc.Value) jsondoc.Value {
	if base.View.IsAbsent() {
		base.View = m.Visible(now.State) // what is not mentioned stays
	}
	for _, p := range open {
		for _, f := range m.fieldsOf(p.Tool) {
			at := f.target.Path
			shown, _ := now.View.At(at)
			if has, there := posted.At(at); there && jsondoc.EqualBy(has, shown, jsondoc.ByDouble) {
				posted = putBack(base.View, posted, at)
			}
		}
	}
	return posted
}

// putBack makes wanted at a place what shown has there.
func putBack(shown, wanted jsondoc.Value, at jsondoc.Pointer) jsondoc.Value {
	if v, ok := shown.At(at); ok {
		return set(wanted, at, v)
	}
	p := jsondoc.Patch{{Op: "remove", Path: at}}
	if out, err := p.Apply(wanted, nil); err == nil {
		return out
	}
	return wanted
}

// memberOf is what the documents have at a member, without repetitions.
func memberOf(shown []Doc, name string) []Doc {
	var out []Doc
	for _, d := range shown {
		view, inView := d.View.Get(name)
		state, inState := d.State.Get(name)
		if !inView && !inState {
			continue
		}
		if n := len(out); n == 0 || !jsondoc.Same(out[n-1].View, view) || !jsondoc.Same(out[n-1].State, state) {
			out = append(out, Doc{State: state, View: view})
		}
	}
	return out
}

// lacking reports whether any of the views is without a member.
func lacking(shown []Doc, name string) bool {
	for _, d := range shown {
		if _, ok := d.View.Get(name); !ok {
			return true
		}
	}
	return false
}

// shownThere reports whether any of the views has something.
func shownThere(shown []Doc) bool {
	for _, d := range shown {
		if !d.View.IsAbsent() {
			return true
		}
	}
	return false
}

// committed reports whether any of the states has something.
func committed(shown []Doc) bool {
	for _, d := range shown {
		if !d.State.IsAbsent() {
			return true
		}
	}
	return false
}
