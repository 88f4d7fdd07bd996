package jsondoc

import (
	"math"
	"sync/atomic"
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

// box holds a container's children.
type box struct {
	shape *shape  // member names, nil for arrays
	kids  []Value // items, or the members' values in the order of shape.names
	owner *owner  // the editor that may still write here; see editor
}

// boxed is a container's node and its box in one allocation.
type boxed struct {
	node node
	box  box
}

// owner marks containers that one running editor has made and nobody else has
// seen. It must have a size: pointers to zero-size values need not differ.
type owner struct{ _ byte }

const (
	sizeCap   = math.MaxUint32
	heightCap = math.MaxUint16
)

// shape is the list of an object's member names. Objects with the same names in
// the same order share it: all versions of one object, and the items of a list
// that was parsed. Replacing a member's value therefore copies no name, and two
// objects of one shape compare without looking a name up.
type shape struct {
	names []string
	size  uint32                           // bytes of the names with quotes and colons
	index atomic.Pointer[map[string]int32] // built at the first look-up in a wide object
}

// linearNames is up to how many names a look-up goes through the list; above
// it a map is quicker, building it included, as soon as an object is asked twice.
const linearNames = 8

var noNames = &shape{}

func newShape(names []string) *shape {
	s := &shape{names: names}
	for _, n := range names {
		s.size = addSize(s.size, addSize(encodedLen(n), 1))
	}
	return s
}

// find returns the position of name, or -1.
func (s *shape) find(name string) int {
	if len(s.names) <= linearNames {
		for i, n := range s.names {
			if n == name {
				return i
			}
		}
		return -1
	}
	m := s.index.Load()
	if m == nil {
		m = s.buildIndex()
	}
	if i, ok := (*m)[name]; ok {
		return int(i)
	}
	return -1
}

// buildIndex may run in several goroutines at once; each makes the same map and
// one of them stays.
func (s *shape) buildIndex() *map[string]int32 {
	m := make(map[string]int32, len(s.names))
	for i, n := range s.names {
		m[n] = int32(i)
	}
	s.index.CompareAndSwap(nil, &m)
	return s.index.Load()
}

// findNear is find with a guess: objects that belong together mostly have their
// members in the same order.
func (s *shape) findNear(name string, guess int) int {
	if guess < len(s.names) && s.names[guess] == name {
		return guess
	}
	return s.find(name)
}

func addSize(a, b uint32) uint32 {
	if c := a + b; c >= a {
		return c
	}
	return sizeCap
}

// swapSize is the size of a container whose part of old bytes becomes one of
// new bytes, or false if a saturated figure hides the answer.
func swapSize(total, old, new uint32) (uint32, bool) {
	if total == sizeCap || old > total {
		return sizeCap, false
	}
	return addSize(total-old, new), true
}

func newArray(kids []Value) Value {
	b := &boxed{}
	return b.array(kids)
}

func (b *boxed) array(kids []Value) Value {
	b.box.kids = kids
	b.node = node{kind: KindArray, box: &b.box}
	b.node.measure()
	return Value{&b.node}
}

func newObject(s *shape, kids []Value) Value {
	b := &boxed{}
	return b.object(s, kids)
}

func (b *boxed) object(s *shape, kids []Value) Value {
	b.box.shape, b.box.kids = s, kids
	b.node = node{kind: KindObject, box: &b.box}
	b.node.measure()
	return Value{&b.node}
}

// measure sets a container's size and height from its children.
func (n *node) measure() {
	kids := n.box.kids
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

// raise is the height of a container whose tallest child has the height h.
//
// An editor that replaces a child only ever raises the height: finding the
// tallest of the others would make a one-member edit cost the whole object. So
// the figure may be too large, never too small; who refuses a document for it
// asks exactHeight first.
func raise(h uint16) uint16 {
	if h == heightCap {
		return h
	}
	return h + 1
}

// exactHeight walks v; limit bounds how deep it looks.
func exactHeight(v Value, limit int) int {
	if v.n == nil || v.n.box == nil {
		return 0
	}
	if limit <= 0 {
		return 1
	}
	h := 0
	for _, k := range v.n.box.kids {
		// A child whose bound is no higher than what was found cannot matter.
		if int(k.n.height) > h {
			h = max(h, exactHeight(k, limit-1))
		}
	}
	return h + 1
}
