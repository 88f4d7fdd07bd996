package jsondoc

import "slices"

// tree holds the children of a large container, so that changing one of ten
// thousand copies a few hundred bytes and not all of them. It is a B-tree by
// position: leaves hold up to leafMax children, inner nodes up to fanMax
// subtrees, all leaves are at the same depth. Nodes may be less full than a
// textbook's after removals; they are joined with a neighbour when that is easy.
//
// Like the rest of a document a tree is immutable, except for nodes whose owner
// is the running editor's.
type tree struct {
	items []Value // of a leaf
	subs  []*tree // of an inner node, nil in a leaf
	ends  []int32 // ends[i] is the number of children in subs[:i+1]
	owner *owner
}

const (
	leafMax = 32
	fanMax  = 32
)

// newTree builds a tree on the slice, which it keeps.
func newTree(kids []Value) *tree {
	level := make([]*tree, 0, len(kids)/leafMax+1)
	for part := range slices.Chunk(kids, leafMax) {
		level = append(level, &tree{items: part})
	}
	for len(level) > 1 {
		up := make([]*tree, 0, len(level)/fanMax+1)
		for part := range slices.Chunk(level, fanMax) {
			t := &tree{subs: part}
			t.count()
			up = append(up, t)
		}
		level = up
	}
	return level[0]
}

// count sets ends.
func (t *tree) count() {
	t.ends = t.ends[:0]
	n := int32(0)
	for _, s := range t.subs {
		n += int32(s.len())
		t.ends = append(t.ends, n)
	}
}

func (t *tree) len() int {
	if t.subs == nil {
		return len(t.items)
	}
	return int(t.ends[len(t.ends)-1])
}

// which returns the subtree with child i, and i's position in it.
func (t *tree) which(i int) (sub, rest int) {
	sub, _ = slices.BinarySearch(t.ends, int32(i+1))
	if sub > 0 {
		i -= int(t.ends[sub-1])
	}
	return sub, i
}

func (t *tree) at(i int) Value {
	for t.subs != nil {
		var s int
		s, i = t.which(i)
		t = t.subs[s]
	}
	return t.items[i]
}

// leaves calls yield with the children, run by run, until it returns false.
func (t *tree) leaves(yield func([]Value) bool) bool {
	if t.subs == nil {
		return yield(t.items)
	}
	for _, s := range t.subs {
		if !s.leaves(yield) {
			return false
		}
	}
	return true
}

// mine returns t itself if o owns it, else a copy that o owns.
func (t *tree) mine(o *owner) *tree {
	if o != nil && t.owner == o {
		return t
	}
	// The lists lie in one piece of memory with the node. They have to move only
	// when an insert overfills the node, which is then cut anyway.
	if t.subs == nil {
		x := &struct {
			tree
			room [leafMax]Value
		}{}
		x.items, x.owner = append(x.room[:0], t.items...), o
		return &x.tree
	}
	if len(t.subs) <= 8 {
		x := &struct {
			tree
			subs [8]*tree
			ends [8]int32
		}{}
		return x.tree.fill(o, x.subs[:0], x.ends[:0], t)
	}
	x := &struct {
		tree
		subs [fanMax]*tree
		ends [fanMax]int32
	}{}
	return x.tree.fill(o, x.subs[:0], x.ends[:0], t)
}

// fill makes t a copy of the inner node from, with room for its lists.
func (t *tree) fill(o *owner, subs []*tree, ends []int32, from *tree) *tree {
	t.subs, t.ends, t.owner = append(subs, from.subs...), append(ends, from.ends...), o
	return t
}

// set returns t with the child i replaced.
func (t *tree) set(o *owner, i int, x Value) *tree {
	t = t.mine(o)
	if t.subs == nil {
		t.items[i] = x
		return t
	}
	s, rest := t.which(i)
	t.subs[s] = t.subs[s].set(o, rest, x)
	return t
}

// insert returns t with x before the child i, as one tree or, where that is too
// full, as two.
func (t *tree) insert(o *owner, i int, x Value) (*tree, *tree) {
	t = t.mine(o)
	if t.subs == nil {
		t.items = slices.Insert(t.items, i, x)
		if len(t.items) <= leafMax {
			return t, nil
		}
		// Who appends gets full leaves.
		cut := leafMax / 2
		if i == leafMax {
			cut = leafMax
		}
		right := &tree{items: slices.Clone(t.items[cut:]), owner: o}
		t.items = slices.Delete(t.items, cut, len(t.items))
		return t, right
	}
	s, rest := len(t.subs)-1, 0
	if i < t.len() {
		s, rest = t.which(i)
	} else {
		rest = t.subs[s].len()
	}
	left, right := t.subs[s].insert(o, rest, x)
	t.subs[s] = left
	if right == nil {
		for j := s; j < len(t.ends); j++ {
			t.ends[j]++
		}
		return t, nil
	}
	t.subs = slices.Insert(t.subs, s+1, right)
	if len(t.subs) <= fanMax {
		t.count()
		return t, nil
	}
	cut := fanMax / 2
	if s == fanMax-1 {
		cut = fanMax
	}
	more := &tree{subs: slices.Clone(t.subs[cut:]), owner: o}
	t.subs = slices.Delete(t.subs, cut, len(t.subs))
	t.count()
	more.count()
	return t, more
}

// remove returns t without the child i; a tree of no children is left to the
// caller, which takes it away.
func (t *tree) remove(o *owner, i int) *tree {
	t = t.mine(o)
	if t.subs == nil {
		t.items = slices.Delete(t.items, i, i+1)
		return t
	}
	s, rest := t.which(i)
	t.subs[s] = t.subs[s].remove(o, rest)
	switch {
	case t.subs[s].len() == 0:
		t.subs = slices.Delete(t.subs, s, s+1)
		if len(t.subs) == 0 {
			return &tree{owner: o}
		}
	case s > 0 && t.join(o, s-1):
	case s+1 < len(t.subs):
		t.join(o, s)
	}
	t.count()
	return t
}

// join makes one of the subtrees s and s+1 if they are small.
func (t *tree) join(o *owner, s int) bool {
	a, b := t.subs[s], t.subs[s+1]
	if len(a.items)+len(b.items) > leafMax/2 || len(a.subs)+len(b.subs) > fanMax/2 {
		return false
	}
	a = a.mine(o)
	a.items = append(a.items, b.items...)
	a.subs = append(a.subs, b.subs...)
	if a.subs != nil {
		a.count()
	}
	t.subs[s] = a
	t.subs = slices.Delete(t.subs, s+1, s+2)
	return true
}

// allLeaves appends the leaves in their order.
func (t *tree) allLeaves(dst []*tree) []*tree {
	if t.subs == nil {
		return append(dst, t)
	}
	for _, s := range t.subs {
		dst = s.allLeaves(dst)
	}
	return dst
}
