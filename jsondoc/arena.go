package jsondoc

import (
	"slices"
	"strings"
)

// arena allocates the scalars of a document many at a time. Its blocks are small,
// because a block lives as long as anything in it; what is long or has children
// is allocated alone, because that would keep more than a block alive.
type arena struct {
	nodes  []node
	text   strings.Builder
	block  int // how many nodes the next block has
	length int // of the text that is parsed

	scratch []byte // the last string that had escapes
	seen    [64]string
	shapes  [32]*shape
}

const (
	maxBlock = 64
	maxText  = 4096
	longText = 512 // from here on a scalar has its own allocations
)

// expect sizes the first blocks for a text of n bytes, so that a short one
// allocates little.
func (a *arena) expect(n int) {
	a.length = n
	a.block = min(max(n/32, 1), maxBlock)
}

// node returns a new node for a scalar with a text of that many bytes.
func (a *arena) node(length int) *node {
	if length >= longText {
		return &node{}
	}
	if len(a.nodes) == 0 {
		a.nodes = make([]node, a.block)
	}
	n := &a.nodes[0]
	a.nodes = a.nodes[1:]
	return n
}

// copy returns the bytes as a string. A strings.Builder is written only while
// it has room, so the strings that it gave out stay where they are.
func (a *arena) copy(b []byte) string {
	if len(b) >= longText {
		return string(b)
	}
	if len(b) == 0 {
		return ""
	}
	start := a.text.Len()
	if a.text.Cap()-start < len(b) {
		a.text = strings.Builder{}
		a.text.Grow(max(len(b), min(a.length/2, maxText)))
		start = 0
	}
	a.text.Write(b)
	return a.text.String()[start:]
}

// name is copy for member names, of which a document repeats few.
func (a *arena) name(b []byte) string {
	if len(b) == 0 || len(b) > 64 {
		return string(b)
	}
	h := (uint(len(b))*31+uint(b[0]))*31 + uint(b[len(b)-1]) + uint(b[len(b)/2])*7
	slot := &a.seen[h%uint(len(a.seen))]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// shape returns a shape with these names, one that was made before if it can.
// The names are copied if need be.
func (a *arena) shape(names []string) *shape {
	h := uint(len(names))
	for _, n := range names {
		h = h*31 + uint(len(n))
		if n != "" {
			h += uint(n[0])
		}
	}
	slot := &a.shapes[h%uint(len(a.shapes))]
	if *slot == nil || !slices.Equal((*slot).names, names) {
		*slot = newShape(slices.Clone(names))
	}
	return *slot
}
