package jsonstream

import (
	"github.com/lockstep-go/lockstep/jsondoc"
)

// track follows one target: its value in the arguments and what the view has of
// it.
type track struct {
	Target
	matcher
	phase phase
	level int           // on the machine's stack, of the value: its frame if it is a container
	kind  jsondoc.Kind  // of the value
	value jsondoc.Value // once complete
	due   bool          // complete, and not all of it in the view

	state standing
	spot  spot          // where it is in the view
	old   jsondoc.Value // the object that was there before the prediction (Keep)
	base  jsondoc.Value // the same, if the value is an object and so laid over it
	muted bool          // never shown, see NewPredictor

	// What the view has of the value, while state is synced: see chain.go.
	chain []node
	tail  tail
	shown jsondoc.Value // Whole: what the view has
	sizes []int
}

type phase uint8

const (
	waiting phase = iota // the argument has not begun
	growing
	complete
)

// standing is how a track stands to the view.
type standing uint8

const (
	unplaced standing = iota // nothing was put there; the view has what it had
	synced                   // the chain says what the view has
	rebased                  // the view has something of it, and which is in Predictor.view
	lost                     // the view has something of it, and nobody knows what
)

// shows reports whether there is anything to show.
func (t *track) shows(m *machine) bool {
	switch t.phase {
	case growing:
		return t.kind != jsondoc.KindString || m.stringOpen()
	case complete:
		return true
	}
	return false
}

// now makes the value to show.
func (t *track) now(m *machine) jsondoc.Value {
	switch {
	case t.phase == complete:
		return t.value
	case t.phase == waiting || !t.shows(m):
		return jsondoc.Value{}
	case !t.base.IsAbsent():
		return m.overlay(t.level, t.base)
	}
	return m.partial(t.level)
}

// sizeNow is the size of now's value.
func (t *track) sizeNow(m *machine) int {
	switch {
	case t.phase == complete:
		return t.value.Size()
	case !t.base.IsAbsent():
		return t.now(m).Size()
	case t.kind == jsondoc.KindString:
		return m.openSize()
	}
	t.sizes = m.sizes(t.level, t.sizes)
	return t.sizes[0]
}

// cost returns what it takes to bring the view up to date, and zero if it is, or
// if that is for Predictor.resync to do.
// The place of an unplaced track is looked up in view.
func (t *track) cost(m *machine, view jsondoc.Value) cost {
	if t.muted || t.state == rebased || !t.shows(m) {
		return cost{}
	}
	if t.state == unplaced && !t.arrive(m, view) {
		return cost{}
	}
	if t.state == synced && !t.Whole {
		return t.plan(m)
	}
	size := t.sizeNow(m)
	if t.state == synced && size == t.shown.Size() {
		// A growing value gets longer with each change; one that is laid over
		// another need not.
		if !t.Keep || sameText(t.now(m), t.shown) {
			return cost{}
		}
	}
	c := t.spot.cost(size)
	c.repeat = t.state == synced
	return c
}

// arrive prepares the first operation. It is false where none is possible or
// needed.
func (t *track) arrive(m *machine, view jsondoc.Value) bool {
	var ok bool
	if t.spot, ok = locate(view, t.Path); !ok {
		return false
	}
	old, _ := view.At(t.spot.place)
	if t.lay(old); t.phase == growing && !t.base.IsAbsent() && !t.Whole {
		t.state = synced
		t.chain = append(t.chain[:0], t.link(m, 0, old))
		return true
	}
	if t.sizeNow(m) == old.Size() && sameText(t.now(m), old) {
		// The view happens to have it, so far.
		t.was(m, old)
		return false
	}
	return true
}

// was notes that the view has what shows now, which is v if the track is Whole.
func (t *track) was(m *machine, v jsondoc.Value) {
	t.state, t.due = synced, false
	t.spot = spot{op: "replace", path: t.spot.place, place: t.spot.place}
	if t.Whole {
		t.shown = v
		return
	}
	t.settle(m)
}

// lay lays the value over what is at its place, if both are objects and that is
// wanted.
func (t *track) lay(old jsondoc.Value) {
	t.old, t.base = jsondoc.Value{}, jsondoc.Value{}
	if t.Keep && old.Kind() == jsondoc.KindObject {
		t.old = old
		if t.kind == jsondoc.KindObject {
			t.base = old
		}
	}
}

// send appends the operations that cost was for and notes that the view has them.
func (t *track) send(m *machine, ops jsondoc.Patch) jsondoc.Patch {
	if t.state == synced && !t.Whole {
		ops = t.operations(m, ops)
		t.was(m, jsondoc.Value{})
		return ops
	}
	v := t.now(m)
	ops = append(ops, t.spot.operation(v))
	t.was(m, v)
	return ops
}

// overlay makes the Value of the open object at a level laid over an old one: old
// members stay in their places until the new object names them. Objects within
// are laid over objects; everything else takes the place of what was there, once
// something of it shows.
func (m *machine) overlay(level int, base jsondoc.Value) jsondoc.Value {
	f := &m.stack[level]
	var child jsondoc.Value
	old, _ := base.Get(f.name)
	switch {
	case !f.inMember:
	case level+1 < len(m.stack) && !m.stack[level+1].array && old.Kind() == jsondoc.KindObject:
		child = m.overlay(level+1, old)
	default:
		child = m.partial(level + 1)
	}
	named := m.container(level, child)
	members := make([]jsondoc.Member, 0, base.Len()+named.Len())
	for name, v := range base.Members() {
		if now, ok := named.Get(name); ok {
			v = now
		}
		members = append(members, jsondoc.Member{Name: name, Value: v})
	}
	for name, v := range named.Members() {
		if _, ok := base.Get(name); !ok {
			members = append(members, jsondoc.Member{Name: name, Value: v})
		}
	}
	return jsondoc.Object(members...)
}
