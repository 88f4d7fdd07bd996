package jsondoc

import (
	"strings"
	"sync/atomic"
)

// shape is the list of an object's member names. Objects with the same names in
// the same order share it: all versions of one object, and the items of a list
// that was parsed. Replacing a member's value therefore copies no name, and two
// objects of one shape compare without looking a name up.
//
// A shape never changes for who reads it; index and asked are caches, and the
// cells of the names' array beyond len(names) belong to who claims them.
type shape struct {
	names []string
	size  uint32 // bytes of the names with quotation marks and colons
	// escaped says that a name holds characters that JSON must escape.
	escaped bool
	asked   atomic.Int32
	index   atomic.Pointer[nameIndex]
	tail    *atomic.Int64 // how much of the names' array is in use, by this shape and its extensions
}

// nameIndex finds the first n names of a shape. It has layers, each a map of the
// names from where the layer before it ends; the earlier one is the larger. So an
// object that grows member by member has its names indexed a few times, not each
// time.
type nameIndex struct {
	n      int
	layers []map[string]int32
}

const (
	// scanNames is up to how many names a look-up always reads the list.
	scanNames = 8
	// askNames is how many look-ups in a longer list read it before an index is
	// built: most objects are asked once or never.
	askNames = 8
	// loose is how many names may follow those that the index knows.
	loose = 16
)

var noNames = &shape{}

func newShape(names []string) *shape {
	s := &shape{names: names}
	for _, n := range names {
		s.count(n)
	}
	return s
}

func (s *shape) count(name string) {
	n := nameSize(name)
	s.size = addSize(s.size, n)
	s.escaped = s.escaped || int(n) != len(name)+3
}

// nameSize is what a name takes in the encoding, with its colon.
func nameSize(name string) uint32 { return addSize(encodedLen(name), 1) }

// find returns the position of name, or -1.
func (s *shape) find(name string) int {
	if len(s.names) <= scanNames {
		return scan(s.names, name)
	}
	x := s.index.Load()
	if x == nil {
		if s.asked.Add(1) <= askNames {
			return scan(s.names, name)
		}
		// Several goroutines may come here at once; one of the indexes stays.
		x = &nameIndex{len(s.names), []map[string]int32{indexNames(s.names, 0)}}
		s.index.CompareAndSwap(nil, x)
	}
	for _, layer := range x.layers {
		if i, ok := layer[name]; ok {
			return int(i)
		}
	}
	if i := scan(s.names[x.n:], name); i >= 0 {
		return x.n + i
	}
	return -1
}

func scan(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return -1
}

func indexNames(names []string, from int) map[string]int32 {
	at := make(map[string]int32, len(names)-from)
	for i := from; i < len(names); i++ {
		at[names[i]] = int32(i)
	}
	return at
}

// extend returns an index of all names, of which x knows the first.
func (x *nameIndex) extend(names []string) *nameIndex {
	from, layers := x.n, x.layers
	for len(layers) > 0 && len(layers[len(layers)-1]) <= 2*(len(names)-from) {
		from -= len(layers[len(layers)-1])
		layers = layers[:len(layers)-1]
	}
	return &nameIndex{len(names), append(layers[:len(layers):len(layers)], indexNames(names, from))}
}

// findNear is find with a guess: objects that belong together mostly have their
// members in the same order.
func (s *shape) findNear(name string, guess int) int {
	if guess < len(s.names) && s.names[guess] == name {
		return guess
	}
	return s.find(name)
}

// extend returns s with one more name, which s does not have. An object that
// grows name by name copies its names now and then, not each time: the new name
// goes into the same array, unless somebody else has extended s already.
func (s *shape) extend(name string) *shape {
	name = strings.Clone(name)
	n := len(s.names)
	r := &shape{size: s.size, escaped: s.escaped, tail: s.tail}
	r.count(name)
	if s.tail != nil && cap(s.names) > n && s.tail.CompareAndSwap(int64(n), int64(n+1)) {
		r.names = append(s.names, name)
	} else {
		r.names = make([]string, n+1, n+1+n/2)
		copy(r.names, s.names)
		r.names[n] = name
		r.tail = new(atomic.Int64)
		r.tail.Store(int64(n + 1))
	}
	r.asked.Store(s.asked.Load())
	if x := s.index.Load(); x != nil {
		if n+1-x.n > loose {
			x = x.extend(r.names)
		}
		r.index.Store(x)
	}
	return r
}

// without returns s without the name at i.
func (s *shape) without(i int) *shape {
	r := &shape{names: make([]string, len(s.names)-1), size: s.size, escaped: s.escaped}
	copy(r.names, s.names[:i])
	copy(r.names[i:], s.names[i+1:])
	r.size -= nameSize(s.names[i])
	if s.size == sizeCap {
		return newShape(r.names)
	}
	return r
}
