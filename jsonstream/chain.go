package jsonstream

import (
	"strconv"
	"strings"

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
	path     jsondoc.Pointer
	pathSize int    // of its encoding
	token    string // the path's last
	sent     int    // children that the view has, one that was open included
	closed   bool
	value    jsondoc.Value // once closed

	// base is the old object that this one is laid over (Keep). Its members
	// that were not named yet are in the view too.
	base jsondoc.Value

	// fresh nodes are laid over an object that the view has, and were opened
	// after the last frame. Their parents' sent does not count them.
	fresh bool

	// blind nodes are the chain's end though something is open in them, because
	// it cannot be addressed. That something is new shows in their size.
	blind bool
	size  int // of what the view has

	// again is 1 + the position of a child that the view has an old state of
	// and that is sent as if it were new.
	again int

	replace bool // the plan: send it whole instead of single operations
}

// opaque reports whether the container has members that patches cannot address:
// then it is only sent whole.
func (n *node) opaque(f *frame) bool {
	if !n.closed {
		return f.odd&hasProto != 0 || f.odd&hasPrototype != 0 && n.token == "constructor"
	}
	if _, ok := n.value.Get("__proto__"); ok {
		return true
	}
	_, ok := n.value.Get("prototype")
	return ok && n.token == "constructor"
}

// lays reports whether values of the node are laid over old ones.
func (n *node) lays() bool { return !n.base.IsAbsent() }

// tokenSize is the size of a name as part of a path.
func tokenSize(name string) int {
	return 1 + encodedLen(name) + strings.Count(name, "~") + strings.Count(name, "/")
}

func digits(i int) int {
	n := 1
	for ; i >= 10; i /= 10 {
		n++
	}
	return n
}

// child is a new child of a node.
type child struct {
	name  string
	index int // -1 for members
	value jsondoc.Value
	size  int
	old   jsondoc.Value // what the view has in its place (Keep)
}

// each calls yield with the complete children of node i that the view lacks.
func (t *track) each(m *machine, i int, yield func(c child)) {
	n := &t.chain[i]
	if n.closed {
		for j, v := range n.value.Items() {
			if j >= n.sent {
				yield(child{index: j, value: v, size: v.Size()})
			}
		}
		j := 0
		for name, v := range n.value.Members() {
			if j++; j > n.sent {
				n.member(j, name, v, yield)
			}
		}
		return
	}
	f := &m.stack[t.level+i]
	for j := n.sent; j < f.count; j++ {
		if f.array {
			v := m.items[f.base+j]
			yield(child{index: j, value: v, size: v.Size()})
		} else {
			c := &m.members[f.base+j]
			n.member(j+1, c.Name, c.Value, yield)
		}
	}
}

// member yields the member at the position nth, counted from 1.
func (n *node) member(nth int, name string, v jsondoc.Value, yield func(c child)) {
	c := child{name: name, index: -1, value: v, size: v.Size()}
	if n.lays() {
		if c.old, _ = n.base.Get(name); nth != n.again && sameText(c.old, v) {
			return
		}
	}
	yield(c)
}

// openChild returns the child of node i that is open and not in the view, if one
// shows. Its value is left out: to make it is the caller's decision.
func (t *track) openChild(m *machine, i int, sizes []int) (child, bool) {
	n := &t.chain[i]
	if n.closed || i+1 < len(t.chain) && !t.chain[i+1].closed {
		return child{}, false
	}
	f := &m.stack[t.level+i]
	if f.count < n.sent {
		return child{}, false
	}
	c := child{index: -1}
	switch {
	case i+1 < len(sizes):
		c.size = sizes[i+1]
	case m.stringOpen():
		c.size = m.openSize()
	default:
		return child{}, false
	}
	if f.array {
		c.index = f.count
		return c, true
	}
	c.name = f.name
	if n.lays() {
		c.old, _ = n.base.Get(f.name)
		if c.old.Size() == c.size && sameText(c.old, m.partial(t.level+i+1)) {
			return child{}, false
		}
	}
	return c, true
}

func (n *node) cost(c child) cost {
	path := n.pathSize
	if c.index >= 0 {
		path += 1 + digits(c.index)
	} else {
		path += tokenSize(c.name)
	}
	if c.old.IsAbsent() {
		return addCost(path, c.size)
	}
	return replaceCost(path, c.size)
}

func (n *node) operation(c child) jsondoc.Operation {
	op := jsondoc.Operation{Op: "add", Value: c.value}
	if c.index >= 0 {
		op.Path = n.path.Index(c.index)
	} else {
		op.Path = n.path.Child(c.name)
	}
	if !c.old.IsAbsent() {
		op.Op = "replace"
	}
	return op
}

// leftover calls yield with the old members that a closed node's value does not
// have.
func (n *node) leftover(yield func(name string)) {
	if !n.closed || !n.lays() {
		return
	}
	for name := range n.base.Members() {
		if _, ok := n.value.Get(name); !ok {
			yield(name)
		}
	}
}

// leafText is the string at the chain's end that the view has the beginning of:
// its path, its size now, and its value if it has ended.
func (t *track) leafNow(m *machine) (size int, text int, v jsondoc.Value) {
	i := t.leafAt
	if i < 0 {
		if t.phase == complete {
			return t.value.Size(), len(t.value.Str()), t.value
		}
		return m.openSize(), len(m.text), jsondoc.Value{}
	}
	n := &t.chain[i]
	at := n.sent - 1
	switch f := t.frame(m, i); {
	case n.closed && n.value.Kind() == jsondoc.KindArray:
		v = n.value.Item(at)
	case n.closed:
		v, _ = n.value.Get(t.leafName)
	case f.count <= at:
		return m.openSize(), len(m.text), jsondoc.Value{}
	case f.array:
		v = m.items[f.base+at]
	default:
		v = m.members[f.base+at].Value
	}
	return v.Size(), len(v.Str()), v
}

func (t *track) leafPath() jsondoc.Pointer {
	if t.leafAt < 0 {
		return t.spot.place
	}
	n := &t.chain[t.leafAt]
	if t.leafItem {
		return n.path.Index(n.sent - 1)
	}
	return n.path.Child(t.leafName)
}

// frame is the stack's frame of the open node i.
func (t *track) frame(m *machine, i int) *frame {
	if t.chain[i].closed {
		return nil
	}
	return &m.stack[t.level+i]
}

// plan finds the cheapest operations that bring the view up to date, decides for
// each node of the chain how it is sent, and returns the cost: zero if nothing
// changed.
func (t *track) plan(m *machine) cost {
	t.extend(m)
	t.sizes = m.sizes(min(t.level, len(m.stack)), t.sizes)
	var inner cost
	if t.leaf {
		if size, text, _ := t.leafNow(m); text != t.leafSent {
			inner = replaceCost(encodedLen(string(t.leafPath())), size)
			inner.repeat = true
		}
	}
	for i := len(t.chain) - 1; i >= 0; i-- {
		n := &t.chain[i]
		n.replace = false
		single := inner
		t.each(m, i, func(c child) { single = single.plus(n.cost(c)) })
		if c, ok := t.openChild(m, i, t.sizes); ok {
			single = single.plus(n.cost(c))
		}
		n.leftover(func(name string) {
			single = single.plus(cost{frame: removeFrame + n.pathSize + tokenSize(name)})
			if name == "__proto__" {
				single.frame = never
			}
		})
		size := n.value.Size()
		if !n.closed {
			size = t.sizes[i]
		}
		if single.total() == 0 && (!n.blind || size == n.size) {
			inner = single
			continue
		}
		if n.opaque(t.frame(m, i)) {
			single.frame = never
		}
		whole := cost{frame: never}
		if n.closed || !n.lays() {
			whole = replaceCost(n.pathSize, size)
		}
		whole.repeat = true
		if n.replace = whole.total() < single.total(); n.replace {
			single = whole
		}
		inner = single
	}
	return inner
}

// operations makes the patch that plan decided on.
func (t *track) operations(m *machine, ops jsondoc.Patch) jsondoc.Patch {
	from := len(t.chain) - 1 // the innermost node that is not within one that is sent whole
	whole := -1
	for i := range t.chain {
		if t.chain[i].replace {
			whole, from = i, i-1
			break
		}
	}
	if whole >= 0 {
		n := &t.chain[whole]
		v := n.value
		if !n.closed {
			v = m.partial(t.level + whole)
		}
		ops = append(ops, jsondoc.Operation{Op: "replace", Path: n.path, Value: v})
	} else if t.leaf {
		if _, text, v := t.leafNow(m); text != t.leafSent {
			if v.IsAbsent() {
				v = m.partial(len(m.stack))
			}
			ops = append(ops, jsondoc.Operation{Op: "replace", Path: t.leafPath(), Value: v})
		}
	}
	for i := from; i >= 0; i-- {
		n := &t.chain[i]
		t.each(m, i, func(c child) { ops = append(ops, n.operation(c)) })
		if c, ok := t.openChild(m, i, t.sizes); ok {
			c.value = m.partial(t.level + i + 1)
			ops = append(ops, n.operation(c))
		}
		n.leftover(func(name string) {
			ops = append(ops, jsondoc.Operation{Op: "remove", Path: n.path.Child(name)})
		})
	}
	return ops
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
		base := t.under(m, i)
		if base.IsAbsent() || t.chain[i].opaque(t.frame(m, i)) {
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
	old, _ := n.base.Get(m.stack[t.level+i].name)
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
	if t.leaf && t.leafAt > i {
		_, text, _ := t.leafNow(m)
		stale = text != t.leafSent
		t.leaf = false
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

// link makes the node i of the chain, whose parent is there.
func (t *track) link(m *machine, i int, base jsondoc.Value) node {
	n := node{path: t.spot.place, base: base}
	if i > 0 {
		parent := &t.chain[i-1]
		if f := &m.stack[t.level+i-1]; f.array {
			n.token = strconv.Itoa(f.count)
		} else {
			n.token = f.name
		}
		n.path = parent.path.Child(n.token)
	} else if tokens := n.path.Tokens(); len(tokens) > 0 {
		n.token = tokens[len(tokens)-1]
	}
	n.pathSize = encodedLen(string(n.path))
	return n
}

// settle notes that the view has all that shows now.
func (t *track) settle(m *machine) {
	t.leaf = false
	if t.phase == complete {
		t.chain, t.leafSent = t.chain[:0], 0
		return
	}
	depth := len(m.stack) - t.level
	keep := 0
	for keep < len(t.chain) && !t.chain[keep].closed {
		keep++
	}
	t.chain = t.chain[:keep]
	for i := range depth {
		f := &m.stack[t.level+i]
		if i == len(t.chain) {
			base := t.base
			if i > 0 {
				base = t.under(m, i-1)
			}
			t.chain = append(t.chain, t.link(m, i, base))
		}
		n := &t.chain[i]
		n.fresh, n.blind, n.again = false, false, 0
		n.sent = f.count
		if i+1 < depth || m.stringOpen() {
			n.sent++
		}
		if n.opaque(f) {
			t.chain = t.chain[:i+1]
			n.blind, n.size = true, m.sizes(t.level+i, nil)[0]
			return
		}
	}
	if m.stringOpen() {
		t.leaf, t.leafSent, t.leafAt = true, len(m.text), depth-1
		if depth > 0 {
			t.leafItem, t.leafName = m.top().array, m.top().name
		}
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

// sameText reports whether two values are written the same. Equal is not enough:
// 1 and 1.0 are equal, and what was set is what has to arrive.
func sameText(a, b jsondoc.Value) bool {
	if a.IsAbsent() || b.IsAbsent() || a.Kind() != b.Kind() || a.Size() != b.Size() {
		return false
	}
	return jsondoc.Same(a, b) || a.String() == b.String()
}
