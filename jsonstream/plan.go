package jsonstream

import (
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// plan finds the cheapest operations that bring the view up to date, decides for
// each node of the chain how it is sent, and returns the cost: zero if nothing
// changed. It makes no values: what it looks at is the new children and, for
// parents, sizes that are known.
func (t *track) plan(m *machine) cost {
	t.extend(m)
	t.sizes = m.sizes(min(t.level, len(m.stack)), t.sizes)
	var grown cost
	if t.tail.there {
		if size, _ := t.tailNow(m); size != t.tail.sent {
			grown = replaceCost(t.tailPathSize(), size)
			grown.repeat = true
			if t.tail.refused {
				grown.frame = never
			}
		}
	}
	if t.tail.at < 0 {
		return grown
	}
	var inner cost
	for i := len(t.chain) - 1; i >= 0; i-- {
		n := &t.chain[i]
		n.replace = false
		single := inner
		if i == t.tail.at {
			single = single.plus(grown)
		}
		t.each(m, i, func(c child) { single = single.plus(n.cost(c)) })
		if c, ok := t.openChild(m, i, t.sizes); ok {
			single = single.plus(n.cost(c))
		}
		n.leftover(func(name string) { single = single.plus(n.removal(name)) })
		if inner = single; single.total() == 0 {
			continue
		}
		var whole cost
		switch {
		case n.closed:
			whole = replaceCost(n.pathSize, n.value.Size())
		case n.lays(): // it has old members that are no part of its value
			continue
		default:
			whole = replaceCost(n.pathSize, t.sizes[i])
		}
		whole.repeat = true
		if n.replace = whole.total() < single.total(); n.replace {
			inner = whole
		}
	}
	return inner
}

// operations makes the patch that plan decided on.
func (t *track) operations(m *machine, ops jsondoc.Patch) jsondoc.Patch {
	whole := len(t.chain) // the outermost node that is sent whole
	for i := range t.chain {
		if n := &t.chain[i]; n.replace {
			v := n.value
			if !n.closed {
				v = m.partial(t.level + i)
			}
			ops = append(ops, jsondoc.Operation{Op: "replace", Path: t.path(i), Value: v})
			whole = i
			break
		}
	}
	if t.tail.there && t.tail.at < whole {
		if size, v := t.tailNow(m); size != t.tail.sent {
			if v.IsAbsent() {
				v = m.partial(len(m.stack))
			}
			ops = append(ops, jsondoc.Operation{Op: "replace", Path: t.tailPath(), Value: v})
		}
	}
	for i := whole - 1; i >= 0; i-- {
		var path jsondoc.Pointer
		at := func() jsondoc.Pointer {
			if path == "" {
				path = t.path(i)
			}
			return path
		}
		t.each(m, i, func(c child) { ops = append(ops, c.operation(at())) })
		if c, ok := t.openChild(m, i, t.sizes); ok {
			c.value = m.partial(t.level + i + 1)
			ops = append(ops, c.operation(at()))
		}
		t.chain[i].leftover(func(name string) {
			ops = append(ops, jsondoc.Operation{Op: "remove", Path: at().Child(name)})
		})
	}
	return ops
}

// child is a child of a node that the view lacks.
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
	f := t.open(m, i)
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
	f := t.open(m, i)
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

func (n *node) cost(c child) cost {
	path := n.pathSize
	if c.index >= 0 {
		return addCost(path+1+digits(c.index), c.size)
	}
	if n.refuses(c.name) {
		return cost{frame: never}
	}
	if path += tokenSize(c.name); c.old.IsAbsent() {
		return addCost(path, c.size)
	}
	return replaceCost(path, c.size)
}

func (n *node) removal(name string) cost {
	if n.refuses(name) {
		return cost{frame: never}
	}
	return cost{frame: removeFrame + n.pathSize + tokenSize(name)}
}

// operation puts the child into the container at a path.
func (c child) operation(parent jsondoc.Pointer) jsondoc.Operation {
	op := jsondoc.Operation{Op: "add", Value: c.value}
	if c.index >= 0 {
		op.Path = parent.Index(c.index)
	} else {
		op.Path = parent.Child(c.name)
	}
	if !c.old.IsAbsent() {
		op.Op = "replace"
	}
	return op
}

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
