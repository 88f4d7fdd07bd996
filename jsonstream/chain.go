package jsonstream

import (
	"strconv"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// A track's chain is what has to be remembered of the last frame to know what is
// new. A text only grows at its end, so a version of a value differs from a later
// one only along one line: the containers that were open when it was made, from
// the target's value inwards. Each of them may have gained children at its end,
// and the innermost may have ended with an open string that grew. Everything else
// was complete and stays as it is.
//
// So the smallest patch is known without comparing anything: an add for each new
// child of the chain's containers and a replace for the string.

// node is one container of the chain.
type node struct {
	token    string // its own, the path's last. See track.path for the path
	pathSize int    // of the path's encoding
	sent     int    // children that the view has, one that was open included
	closed   bool
	value    jsondoc.Value // once closed

	// base is the old object that this one is laid over (Keep). Its members
	// that were not named yet are in the view too.
	base jsondoc.Value

	// fresh nodes are laid over an object that the view has, and were opened
	// after the last frame. Their parents' sent does not count them.
	fresh bool

	// again is 1 + the position of a child that the view has an old state of
	// and that is sent as if it were new.
	again int

	replace bool // the plan: send it whole instead of single operations
}

// tail is the child that was open at the chain's end, in the view as far as it
// had come: a string, or a value that patches cannot address, so that the chain
// does not go into it. It changed if it has another size.
type tail struct {
	there   bool
	at      int    // the node whose child it is; -1 if it is the target's value
	item    bool   // of an array
	name    string // else its name
	sent    int    // its size in the view
	refused bool   // no patch can name it
}

// lays reports whether values of the node are laid over old ones.
func (n *node) lays() bool { return !n.base.IsAbsent() }

// refuses reports whether clients refuse patches that name the member.
func (n *node) refuses(name string) bool { return refused(n.token, name) }

// open is the stack's frame of the node i, which is not closed.
func (t *track) open(m *machine, i int) *frame { return &m.stack[t.level+i] }

// link makes the node i of the chain, whose parent is there.
func (t *track) link(m *machine, i int, base jsondoc.Value) node {
	if i == 0 {
		n := node{base: base, pathSize: encodedLen(string(t.spot.place))}
		if _, token, ok := t.spot.place.Parent(); ok {
			n.token = token
		}
		return n
	}
	n := node{base: base}
	if f := t.open(m, i-1); f.array {
		n.token = strconv.Itoa(f.count)
	} else {
		n.token = f.name
	}
	n.pathSize = t.chain[i-1].pathSize + tokenSize(n.token)
	return n
}

// path is the pointer to node i. It is made when an operation needs it: a pointer
// in each node would take the square of the depth in memory.
func (t *track) path(i int) jsondoc.Pointer {
	p := []byte(t.spot.place)
	for j := 1; j <= i; j++ {
		p = appendToken(p, t.chain[j].token)
	}
	return jsondoc.Pointer(p)
}

// settle notes that the view has all that shows now.
func (t *track) settle(m *machine) {
	t.tail = tail{}
	if t.phase == complete {
		t.chain = t.chain[:0]
		return
	}
	keep := 0
	for keep < len(t.chain) && !t.chain[keep].closed {
		keep++
	}
	t.chain = t.chain[:keep]
	depth := len(m.stack) - t.level
	for i := range depth {
		f := t.open(m, i)
		if i == len(t.chain) {
			base := t.base
			if i > 0 {
				base = t.under(m, i-1)
			}
			t.chain = append(t.chain, t.link(m, i, base))
		}
		n := &t.chain[i]
		n.fresh, n.again = false, 0
		n.sent = f.count
		if i+1 == depth && !m.stringOpen() {
			return
		}
		n.sent++
		if i+1 == depth || !f.array && n.refuses(f.name) {
			t.chain = t.chain[:i+1]
			t.tail = tail{there: true, at: i, item: f.array, name: f.name, sent: t.openSize(m, i+1)}
			t.tail.refused = !f.array && n.refuses(f.name)
			return
		}
	}
	t.tail = tail{there: true, at: -1, sent: m.openSize()}
}

// openSize is the size of what is open below the node i-1, as it shows.
func (t *track) openSize(m *machine, i int) int {
	if t.level+i < len(m.stack) {
		return m.sizes(t.level+i, nil)[0]
	}
	return m.openSize()
}

// tailNow returns the size of the tail, and its value if that is complete.
func (t *track) tailNow(m *machine) (int, jsondoc.Value) {
	i := t.tail.at
	var v jsondoc.Value
	switch {
	case i < 0 && t.phase == complete:
		v = t.value
	case i < 0:
		return m.openSize(), v
	default:
		n := &t.chain[i]
		switch at := n.sent - 1; {
		case n.closed && t.tail.item:
			v = n.value.Item(at)
		case n.closed:
			v, _ = n.value.Get(t.tail.name)
		case t.open(m, i).count <= at:
			return t.openSize(m, i+1), v
		case t.tail.item:
			v = m.items[t.open(m, i).base+at]
		default:
			v = m.members[t.open(m, i).base+at].Value
		}
	}
	return v.Size(), v
}

func (t *track) tailPath() jsondoc.Pointer {
	switch i := t.tail.at; {
	case i < 0:
		return t.spot.place
	case t.tail.item:
		return t.path(i).Index(t.chain[i].sent - 1)
	default:
		return t.path(i).Child(t.tail.name)
	}
}

// tailPathSize is the size of tailPath's encoding.
func (t *track) tailPathSize() int {
	switch i := t.tail.at; {
	case i < 0:
		return encodedLen(string(t.spot.place))
	case t.tail.item:
		return t.chain[i].pathSize + 1 + digits(t.chain[i].sent-1)
	default:
		return t.chain[i].pathSize + tokenSize(t.tail.name)
	}
}

// closed notes that the container at a stack level has become v.
func (t *track) closed(level int, v jsondoc.Value) {
	i := level - t.level
	if i < 0 || i >= len(t.chain) || t.chain[i].closed {
		return
	}
	if t.chain[i].fresh {
		// Nothing of it was sent, so its parent sends it like any new child.
		t.chain = t.chain[:i]
		return
	}
	t.chain[i].closed, t.chain[i].value = true, v
}

// extend follows open objects that are laid over old ones, which the view has
// without having been sent anything: what is in them can be sent by itself.
func (t *track) extend(m *machine) {
	for {
		i := len(t.chain) - 1
		for i >= 0 && t.chain[i].closed {
			i--
		}
		if i < 0 || t.level+i+1 >= len(m.stack) || i+1 < len(t.chain) && !t.chain[i+1].closed {
			return
		}
		f := t.open(m, i)
		if t.tail.there && t.tail.at == i && f.count < t.chain[i].sent {
			return // it is the tail, which goes out whole
		}
		base := t.under(m, i)
		if base.IsAbsent() || t.chain[i].refuses(f.name) {
			return
		}
		t.fold(m, i)
		t.chain = append(t.chain, t.link(m, i+1, base))
		t.chain[i+1].fresh = true
	}
}

// under returns the old object that the open child of the open node i is laid
// over, if it is an object and so was what it replaces.
func (t *track) under(m *machine, i int) jsondoc.Value {
	n := &t.chain[i]
	if !n.lays() || m.stack[t.level+i+1].array {
		return jsondoc.Value{}
	}
	old, _ := n.base.Get(t.open(m, i).name)
	if old.Kind() != jsondoc.KindObject {
		return jsondoc.Value{}
	}
	return old
}

// fold makes room in the chain behind node i, whose next is closed. If the view
// lacks anything of it, node i sends it again as a whole.
func (t *track) fold(m *machine, i int) {
	if i+1 >= len(t.chain) {
		return
	}
	stale := false
	if t.tail.there && t.tail.at > i {
		size, _ := t.tailNow(m)
		stale = size != t.tail.sent
		t.tail = tail{}
	}
	for j := i + 1; j < len(t.chain); j++ {
		n := &t.chain[j]
		stale = stale || n.value.Len() != n.sent
		n.leftover(func(string) { stale = true })
	}
	t.chain = t.chain[:i+1]
	if stale {
		t.chain[i].sent--
		t.chain[i].again = t.chain[i].sent + 1
	}
}

// sameText reports whether two values are written the same. Equal is not enough:
// 1 and 1.0 are equal, and what was set is what has to arrive.
func sameText(a, b jsondoc.Value) bool {
	if a.IsAbsent() || b.IsAbsent() || a.Kind() != b.Kind() || a.Size() != b.Size() {
		return false
	}
	return jsondoc.Same(a, b) || a.String() == b.String()
}
