package jsondoc

import (
	"bytes"
	"slices"
)

// arrayMerge is one array of a merge. Items are known by numbers: those of base
// by their index, those that a side added by numbers from len(base) on. A number
// stands for the same item on every side.
type arrayMerge struct {
	*merger
	base         []Value
	ours, theirs side
	count        int // numbers in use
}

// side is one side's array: the numbers in its order, and where each number is.
type side struct {
	items   []Value
	numbers []int
	at      []int // by number; -1 if the side has no such item
}

func (s *side) value(number int) Value {
	if i := s.at[number]; i >= 0 {
		return s.items[i]
	}
	return Value{}
}

// array merges two arrays; base is an array, or absent or null, which count as
// empty. It is false if there is nothing to pair the items by.
func (m *merger) array(base, ours, theirs Value) (Value, bool) {
	a := arrayMerge{merger: m}
	if base.Kind() == KindArray {
		a.base = base.n.box.list()
	}
	a.ours.items, a.theirs.items = ours.n.box.list(), theirs.n.box.list()
	if !a.byIdentity() {
		if base.Kind() != KindArray {
			// Two lists that were made apart. Without identities they may as
			// well be two pairs of coordinates.
			return Value{}, false
		}
		a.byContent()
	}
	a.ours.locate(a.count)
	a.theirs.locate(a.count)

	// The order of base's items is that of the side that changed it.
	order, theirOrder := a.common(&a.ours), a.common(&a.theirs)
	switch {
	case slices.IsSorted(order):
		order = theirOrder
	case slices.IsSorted(theirOrder) || slices.Equal(order, theirOrder):
	default:
		v, ok := a.conflict(base, ours, theirs)
		switch {
		case !ok || v.n == ours.n:
		case v.n == theirs.n:
			order = theirOrder
		default:
			return v, true
		}
	}
	var kids []Value
	for _, n := range a.order(order) {
		var was Value
		if n < len(a.base) {
			was = a.base[n]
		}
		v := a.item(len(kids), was, a.ours.value(n), a.theirs.value(n))
		if v.n != nil {
			kids = append(kids, v)
		}
	}
	for _, v := range []Value{ours, theirs} {
		if items := v.n.box.list(); len(kids) == len(items) && sameAll(kids, items) {
			return v, true
		}
	}
	return newArray(kids), true
}

// byIdentity numbers the items by an identity member that all three arrays have.
func (a *arrayMerge) byIdentity() bool {
	for _, name := range a.identity {
		_, at, ok := identities(a.base, name)
		if !ok {
			continue
		}
		ours, _, ok := identities(a.ours.items, name)
		if !ok {
			continue
		}
		theirs, _, ok := identities(a.theirs.items, name)
		if !ok {
			continue
		}
		number := func(ids []identity) []int {
			numbers := make([]int, len(ids))
			for i, id := range ids {
				n, known := at[id]
				if !known {
					n = len(at)
					at[id] = n
				}
				numbers[i] = n
			}
			return numbers
		}
		a.ours.numbers, a.theirs.numbers = number(ours), number(theirs)
		a.count = len(at)
		return true
	}
	return false
}

// byContent numbers the items by pairing each side's with base's. What both
// added between the same items counts as added once where it is equal.
func (a *arrayMerge) byContent() {
	a.count = len(a.base)
	for _, s := range []*side{&a.ours, &a.theirs} {
		lo, end := a.trim(a.base, s.items)
		al := a.align(a.base[lo:len(a.base)-end], s.items[lo:len(s.items)-end], false)
		s.numbers = make([]int, len(s.items))
		for i := range s.items {
			switch {
			case i < lo:
				s.numbers[i] = i
			case i >= len(s.items)-end:
				s.numbers[i] = len(a.base) - (len(s.items) - i)
			case al.from[i-lo] >= 0:
				s.numbers[i] = lo + al.from[i-lo]
			default:
				s.numbers[i] = a.count
				a.count++
			}
		}
	}
	theirs := a.runs(&a.theirs)
	for before, ours := range a.runs(&a.ours) {
		run := theirs[before]
		for len(ours) > 0 && len(run) > 0 && a.same(a.ours.items[ours[0]], a.theirs.items[run[0]]) {
			a.theirs.numbers[run[0]] = a.ours.numbers[ours[0]]
			ours, run = ours[1:], run[1:]
		}
	}
}

// runs returns the positions of the items that the side added, by the number of
// base's item before them (-1: none).
func (a *arrayMerge) runs(s *side) map[int][]int {
	runs := map[int][]int{}
	before := -1
	for i, n := range s.numbers {
		if n < len(a.base) {
			before = n
		} else {
			runs[before] = append(runs[before], i)
		}
	}
	return runs
}

func (s *side) locate(count int) {
	s.at = make([]int, count)
	for n := range s.at {
		s.at[n] = -1
	}
	for i, n := range s.numbers {
		s.at[n] = i
	}
}

// common returns the numbers of base's items which both sides kept, in the
// side's order.
func (a *arrayMerge) common(s *side) []int {
	var common []int
	for _, n := range s.numbers {
		if n < len(a.base) && a.ours.at[n] >= 0 && a.theirs.at[n] >= 0 {
			common = append(common, n)
		}
	}
	return common
}

// order returns all numbers that a side has in the order of the result, which
// is the same if the sides change roles. common is the order of base's items that
// both kept. One that the other side removed comes behind the one which it follows
// on its side, and so does what was added.
func (a *arrayMerge) order(common []int) []int {
	const head = -1
	lone := map[int][]int{} // base's items of one side only, by the common one before
	for _, s := range []*side{&a.ours, &a.theirs} {
		before := head
		for _, n := range s.numbers {
			switch {
			case n >= len(a.base):
			case a.ours.at[n] >= 0 && a.theirs.at[n] >= 0:
				before = n
			default:
				lone[before] = append(lone[before], n)
			}
		}
	}
	order := make([]int, 0, a.count)
	done := make([]bool, a.count)
	put := func(n int) {
		if !done[n] {
			done[n] = true
			order = append(order, n)
		}
	}
	ours, theirs := a.runs(&a.ours), a.runs(&a.theirs)
	added := func(before int) {
		p, q := ours[before], theirs[before]
		s, t := &a.ours, &a.theirs
		if a.later(p, q) {
			p, q, s, t = q, p, t, s
		}
		for _, i := range p {
			put(s.numbers[i])
		}
		for _, i := range q {
			put(t.numbers[i])
		}
	}
	place := func(n int) {
		if n != head {
			put(n)
		}
		added(n)
	}
	for k := -1; k < len(common); k++ {
		n := head
		if k >= 0 {
			n = common[k]
		}
		place(n)
		slices.Sort(lone[n])
		for _, l := range lone[n] {
			place(l)
		}
	}
	return order
}

// later decides between two runs that were added in one place, without regard to
// whose they are: by the first items that they do not have in common.
func (a *arrayMerge) later(ours, theirs []int) bool {
	for len(ours) > 0 && len(theirs) > 0 && a.ours.numbers[ours[0]] == a.theirs.numbers[theirs[0]] {
		ours, theirs = ours[1:], theirs[1:]
	}
	if len(ours) == 0 || len(theirs) == 0 {
		return false
	}
	x, y := a.ours.items[ours[0]], a.theirs.items[theirs[0]]
	if c := bytes.Compare(x.Canonical(), y.Canonical()); c != 0 {
		return c > 0
	}
	return x.String() > y.String()
}
