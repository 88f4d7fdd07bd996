package jsondoc

import (
	"iter"
	"math"
	"slices"
)

// node is the one kind of thing a Value points at. It never changes once a
// Value that others can see points at it.
//
// Scalars are most of a document, so they pay only for a header and a text;
// what containers need beside that is in box.
type node struct {
	kind   Kind
	height uint16 // nesting: 0 for scalars; for containers an upper bound, see [raise]
	size   uint32 // bytes of the compact encoding; sizeCap means "that or more"
	text   string // a string's text, or a number's text
	box    *box   // arrays and objects only
}

// box holds a container's children: items, or the members' values in the order
// of the shape's names. Small containers have a slice, large ones a tree.
type box struct {
	shape *shape // nil for arrays
	kids  []Value
	tree  *tree
	owner *owner // the editor that may still write here; see editor
}

// boxed is a container's node and its box in one allocation.
type boxed struct {
	node node
	box  box
}

// owner marks containers that one running editor has made and nobody else has
// seen. It must have a size: pointers to zero-size values need not differ.
type owner struct{ _ byte }

// flatMax is up to how many children lie in a slice.
const flatMax = 64

const (
	sizeCap   = math.MaxUint32
	heightCap = math.MaxUint16
)

func (b *box) len() int {
	if b.tree != nil {
		return b.tree.len()
	}
	return len(b.kids)
}

func (b *box) at(i int) Value {
	if b.tree != nil {
		return b.tree.at(i)
	}
	return b.kids[i]
}

// list returns all children. The slice must not be changed; for a large
// container it is made anew.
func (b *box) list() []Value {
	if b.tree == nil {
		return b.kids
	}
	all := make([]Value, 0, b.tree.len())
	b.tree.leaves(func(part []Value) bool {
		all = append(all, part...)
		return true
	})
	return all
}

func (b *box) all() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if b.tree == nil {
			for i, k := range b.kids {
				if !yield(i, k) {
					return
				}
			}
			return
		}
		i := 0
		b.tree.leaves(func(part []Value) bool {
			for _, k := range part {
				if !yield(i, k) {
					return false
				}
				i++
			}
			return true
		})
	}
}

// newArray and newObject copy the slice.
func newArray(kids []Value) Value { return newContainer(KindArray, nil, kids) }

func newObject(s *shape, kids []Value) Value { return newContainer(KindObject, s, kids) }

func newContainer(kind Kind, s *shape, kids []Value) Value {
	var b *boxed
	if len(kids) > flatMax {
		b = &boxed{}
		b.box.tree = newTree(slices.Clone(kids))
	} else {
		b = newBoxed(len(kids), 0)
		copy(b.box.kids, kids)
	}
	b.box.shape = s
	b.node.kind, b.node.box = kind, &b.box
	b.node.measure(kids)
	return Value{&b.node}
}

// newBoxed allocates a container with n children and room for spare more. Few
// children lie in the same piece of memory: most containers have few, and an
// edit that copies its way down a document allocates half as often.
func newBoxed(n, spare int) *boxed {
	var b *boxed
	var kids []Value
	switch room := n + spare; {
	case room == 0:
		return &boxed{}
	case room <= 2:
		x := &struct {
			boxed
			kids [2]Value
		}{}
		b, kids = &x.boxed, x.kids[:]
	case room <= 4:
		x := &struct {
			boxed
			kids [4]Value
		}{}
		b, kids = &x.boxed, x.kids[:]
	case room <= 8:
		x := &struct {
			boxed
			kids [8]Value
		}{}
		b, kids = &x.boxed, x.kids[:]
	case room <= 14:
		x := &struct {
			boxed
			kids [14]Value
		}{}
		b, kids = &x.boxed, x.kids[:]
	default:
		b, kids = &boxed{}, make([]Value, room)
	}
	b.box.kids = kids[: n : n+spare]
	return b
}

// measure sets a container's size and height from its children.
func (n *node) measure(kids []Value) {
	size, height := uint32(2), uint16(0)
	if len(kids) > 1 {
		size = addSize(size, uint32(min(len(kids)-1, sizeCap)))
	}
	if n.box.shape != nil {
		size = addSize(size, n.box.shape.size)
	}
	for _, k := range kids {
		size = addSize(size, k.n.size)
		height = max(height, k.n.height)
	}
	n.size, n.height = size, raise(height)
}

func addSize(a, b uint32) uint32 {
	if c := a + b; c >= a {
		return c
	}
	return sizeCap
}

// raise is the height of a container whose tallest child has the height h.
//
// An editor that replaces a child only ever raises the height: finding the
// tallest of the others would make a one-member edit cost the whole object. So
// the figure may be too large, never too small; who refuses a document for it
// asks deeper first.
func raise(h uint16) uint16 {
	if h == heightCap {
		return h
	}
	return h + 1
}

// deeper reports whether v is nested more than limit levels deep.
func deeper(v Value, limit int) bool {
	if v.n == nil || int(v.n.height) <= limit && v.n.height < heightCap {
		return false
	}
	if limit <= 0 || v.n.box == nil {
		return v.n.height > 0
	}
	for _, k := range v.n.box.all() {
		if deeper(k, limit-1) {
			return true
		}
	}
	return false
}
