package state

import "github.com/lockstep-go/lockstep/jsondoc"

// Echo reads a posted document of a client that did not see its run end: what
// equals anything that it was shown at the same place during the run,
// predictions that were taken back since included, is no edit and becomes what
// is there now (S2). The rest stays as the client posted it, an edit of now.
func Echo(posted, now jsondoc.Value, shown []jsondoc.Value) jsondoc.Value {
	if jsondoc.EqualBy(posted, now, jsondoc.ByDouble) {
		return now
	}
	for _, v := range shown {
		if jsondoc.EqualBy(posted, v, jsondoc.ByDouble) {
			return now
		}
	}
	if posted.Kind() != jsondoc.KindObject || (now.Kind() != jsondoc.KindObject && !now.IsAbsent()) {
		return posted
	}
	var out []jsondoc.Member
	for name, is := range now.Members() {
		p, there := posted.Get(name)
		switch {
		case there:
			is = Echo(p, is, below1(shown, name))
		case !lacking(shown, name):
			continue // it was there all the time, so the client removed it
		}
		if !is.IsAbsent() {
			out = append(out, jsondoc.Member{Name: name, Value: is})
		}
	}
	for name, p := range posted.Members() {
		if _, there := now.Get(name); there {
			continue
		}
		subs := below1(shown, name)
		v := Echo(p, jsondoc.Value{}, subs)
		if v.IsAbsent() || (v.Kind() == jsondoc.KindObject && v.Len() == 0 && len(subs) > 0) {
			continue // only ever a prediction
		}
		out = append(out, jsondoc.Member{Name: name, Value: v})
	}
	return jsondoc.Object(out...)
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

// below1 is what the documents have at a member.
func below1(shown []jsondoc.Value, name string) []jsondoc.Value {
	var out []jsondoc.Value
	for _, v := range shown {
		if m, ok := v.Get(name); ok && (len(out) == 0 || !jsondoc.Same(out[len(out)-1], m)) {
			out = append(out, m)
		}
	}
	return out
}

// lacking reports whether any of the documents is without a member.
func lacking(shown []jsondoc.Value, name string) bool {
	for _, v := range shown {
		if _, ok := v.Get(name); !ok {
			return true
		}
	}
	return false
}
