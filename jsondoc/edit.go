package jsondoc

import "slices"

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

// mine returns v's node if the editor owns it, else a copy that it owns, with
// room for spare more children.
func (e *editor) mine(v Value, spare int) *node {
	old := v.n.box
	if e.owner != nil && old.owner == e.owner {
		return v.n
	}
	b := newBoxed(len(old.kids), spare)
	copy(b.box.kids, old.kids)
	b.box.shape, b.box.tree, b.box.owner = old.shape, old.tree, e.owner
	b.node = node{kind: v.n.kind, height: v.n.height, size: v.n.size, box: &b.box}
	return &b.node
}

// replaceKid sets the child i of a container. was is the size that the child
// before had; if the editor owned it, x may be the same node in another size.
func (e *editor) replaceKid(v Value, i int, x Value, was uint32) Value {
	if v.n.box.at(i).n == x.n && x.n.size == was && v.n.height > x.n.height {
		return v
	}
	n := e.mine(v, 0)
	if n.box.tree != nil {
		n.box.tree = n.box.tree.set(e.owner, i, x)
	} else {
		n.box.kids[i] = x
	}
	n.resize(was, x.n.size)
	n.height = max(n.height, raise(x.n.height))
	return Value{n}
}

// insertItem puts x before the item i of an array, at its end for i = length.
func (e *editor) insertItem(v Value, i int, x Value) Value {
	n := e.mine(v, 1)
	n.box.insert(e.owner, i, x)
	comma := uint32(0)
	if n.box.len() > 1 {
		comma = 1
	}
	n.resize(0, addSize(x.n.size, comma))
	n.height = max(n.height, raise(x.n.height))
	return Value{n}
}

// appendMember adds a member whose name v does not have.
func (e *editor) appendMember(v Value, name string, x Value) Value {
	n := e.mine(v, 1)
	n.box.shape = n.box.shape.extend(name)
	n.box.insert(e.owner, n.box.len(), x)
	more := nameSize(name)
	if n.box.len() > 1 {
		more = addSize(more, 1)
	}
	n.resize(0, addSize(x.n.size, more))
	n.height = max(n.height, raise(x.n.height))
	return Value{n}
}

func (b *box) insert(o *owner, i int, x Value) {
	if b.tree == nil {
		b.kids = slices.Insert(b.kids, i, x)
		if len(b.kids) > flatMax {
			b.tree, b.kids = newTree(b.kids), nil
		}
		return
	}
	left, right := b.tree.insert(o, i, x)
	if right != nil {
		left = &tree{subs: []*tree{left, right}, owner: o}
		left.count()
	}
	b.tree = left
}

// removeKid takes the child i out of a container.
func (e *editor) removeKid(v Value, i int) Value {
	old := v.n.box
	gone := old.at(i).n.size
	if old.len() > 1 {
		gone = addSize(gone, 1)
	}
	if old.shape != nil {
		gone = addSize(gone, nameSize(old.shape.names[i]))
	}
	n := e.mine(v, 0)
	b := n.box
	if b.shape != nil {
		b.shape = b.shape.without(i)
	}
	if b.tree == nil {
		b.kids = slices.Delete(b.kids, i, i+1)
	} else {
		b.tree = b.tree.remove(e.owner, i)
		for len(b.tree.subs) == 1 {
			b.tree = b.tree.subs[0]
		}
		// Well below flatMax, so that an array does not change its form at each
		// step of somebody who adds and removes one item.
		if b.tree.len() <= flatMax/2 {
			b.kids, b.tree = b.list(), nil
		}
	}
	n.resize(gone, 0)
	return Value{n}
}

// resize counts bytes that went and bytes that came, the children being already
// what they will be. Where the size was too large to be counted it is summed up
// anew.
func (n *node) resize(gone, come uint32) {
	if n.size == sizeCap || gone > n.size {
		n.measure(n.box.list())
		return
	}
	n.size = addSize(n.size-gone, come)
}
