package jsondoc

import (
	"slices"
	"strings"
)

// editor makes changed copies of containers. The zero editor copies each
// container that it changes. One with an owner copies a container once and
// writes to its copy from then on, which makes a long patch cost what it
// changes and not what the touched containers hold each time. disown ends that
// for everything made so far: it must be called before a value that the editor
// may have made gets a second place in a document.
type editor struct {
	owner *owner
}

func (e *editor) disown() {
	if e.owner != nil {
		e.owner = &owner{}
	}
}

func (e *editor) owns(v Value) bool {
	return e.owner != nil && v.n.box.owner == e.owner
}

// replaceKid sets the child i of a container.
func (e *editor) replaceKid(v Value, i int, x Value) Value {
	old := v.n.box.kids[i]
	if old.n == x.n {
		return v
	}
	n := v.n
	if !e.owns(v) {
		n = e.copy(v, slices.Clone(v.n.box.kids))
	}
	n.box.kids[i] = x
	n.height = max(n.height, raise(x.n.height))
	if size, ok := swapSize(n.size, old.n.size, x.n.size); ok {
		n.size = size
	} else {
		n.measure()
	}
	return Value{n}
}

// copy is v's node with other children. The caller sets size and height right.
func (e *editor) copy(v Value, kids []Value) *node {
	b := &boxed{}
	b.box = box{shape: v.n.box.shape, kids: kids, owner: e.owner}
	b.node = node{kind: v.n.kind, height: v.n.height, size: v.n.size, box: &b.box}
	return &b.node
}

// insertItem puts x before the item i of an array, at its end for i = length.
func (e *editor) insertItem(v Value, i int, x Value) Value {
	n := v.n
	if e.owns(v) {
		n.box.kids = slices.Insert(n.box.kids, i, x)
	} else {
		old := v.n.box.kids
		kids := make([]Value, len(old)+1)
		copy(kids, old[:i])
		kids[i] = x
		copy(kids[i+1:], old[i:])
		n = e.copy(v, kids)
	}
	n.grown(x, 0)
	return Value{n}
}

// appendMember adds a member whose name v does not have.
func (e *editor) appendMember(v Value, name string, x Value) Value {
	old := v.n.box
	names := make([]string, len(old.shape.names)+1)
	copy(names, old.shape.names)
	names[len(names)-1] = strings.Clone(name)
	s := &shape{names: names}
	added := addSize(encodedLen(name), 1)
	s.size = addSize(old.shape.size, added)
	n := v.n
	if e.owns(v) {
		n.box.kids = append(n.box.kids, x)
	} else {
		kids := make([]Value, len(old.kids)+1)
		copy(kids, old.kids)
		kids[len(kids)-1] = x
		n = e.copy(v, kids)
	}
	n.box.shape = s
	n.grown(x, added)
	return Value{n}
}

// grown adds a new child x, and the bytes of its name, to n's size and height.
func (n *node) grown(x Value, name uint32) {
	n.height = max(n.height, raise(x.n.height))
	n.size = addSize(n.size, addSize(x.n.size, name))
	if len(n.box.kids) > 1 {
		n.size = addSize(n.size, 1)
	}
}

// removeKid takes the child i out of a container.
func (e *editor) removeKid(v Value, i int) Value {
	n := v.n
	gone := n.box.kids[i].n.size
	if len(n.box.kids) > 1 {
		gone = addSize(gone, 1)
	}
	s := n.box.shape
	if s != nil {
		gone = addSize(gone, addSize(encodedLen(s.names[i]), 1))
		names := slices.Delete(slices.Clone(s.names), i, i+1)
		s = newShape(names)
	}
	if e.owns(v) {
		n.box.kids = slices.Delete(n.box.kids, i, i+1)
	} else {
		old := n.box.kids
		kids := make([]Value, len(old)-1)
		copy(kids, old[:i])
		copy(kids[i:], old[i+1:])
		n = e.copy(v, kids)
	}
	n.box.shape = s
	if size, ok := swapSize(n.size, gone, 0); ok {
		n.size = size
	} else {
		n.measure()
	}
	return Value{n}
}
