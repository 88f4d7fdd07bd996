package jsondoc

import (
	"slices"
	"strings"
)

// arena allocates the parts of a document many at a time. Its blocks grow with
// the document and stay small (the largest holds 8 KiB), because a block lives as
// long as anything in it.
type arena struct {
	nodes  []node
	boxes  []boxed
	vals   []Value
	text   strings.Builder
	block  int // how many nodes the next block has
	length int // of the text that is parsed

	scratch []byte // the last string that had escapes
	seen    [64]string
	shapes  [32]*shape
}

const (
	maxBlock    = 128
	maxText     = 4096
	longText    = 512 // from here on a text has its own allocation
	maxValBlock = 512
)

// expect sizes the first blocks for a text of n bytes, so that a short one
// allocates little.
func (a *arena) expect(n int) {
	a.length = n
	a.block = min(max(n/32, 1), maxBlock)
}

func (a *arena) node() *node {
	if len(a.nodes) == 0 {
		a.nodes = make([]node, a.block)
	}
	n := &a.nodes[0]
	a.nodes = a.nodes[1:]
	return n
}

func (a *arena) boxed() *boxed {
	if len(a.boxes) == 0 {
		a.boxes = make([]boxed, max(a.block/4, 1))
	}
	b := &a.boxes[0]
	a.boxes = a.boxes[1:]
	return b
}

// values copies the children of a container.
func (a *arena) values(kids []Value) []Value {
	n := len(kids)
	if n == 0 {
		return nil
	}
	if n > maxValBlock/8 {
		return slices.Clone(kids)
	}
	if len(a.vals) < n {
		a.vals = make([]Value, max(n, min(a.block*4, maxValBlock)))
	}
	vals := a.vals[:n:n]
	a.vals = a.vals[n:]
	copy(vals, kids)
	return vals
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
