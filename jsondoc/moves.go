package jsondoc

import "slices"

// moves emits the adds and moves that bring the items which are left after the
// removals into the order of y, as few as there can be: items on the longest
// ascending run of al.from stay.
//
// Going through y, each new or moved item is put right behind the one before it.
// What lies between are items that have yet to move away. The index of a place at
// its turn is therefore the number of items before it, which are counted in a
// fixed line of slots: one for each item's old place and, if it is new or moves,
// one for its new place.
func (d *differ) moves(lo int, x, y []Value, al alignment) {
	stays := longestAscending(al.from)
	const none = -1
	oldSlot := make([]int, len(x))
	newSlot := make([]int, len(y))
	for i := range oldSlot {
		oldSlot[i] = none
	}
	for j, i := range al.from {
		newSlot[j] = none
		if i >= 0 {
			oldSlot[i] = 0
		}
	}
	// In each gap between items that stay, the new places come before the old.
	slots, next := 0, 0
	flush := func(end int) {
		for ; next < end; next++ {
			if oldSlot[next] != none {
				oldSlot[next] = slots
				slots++
			}
		}
	}
	for j, i := range al.from {
		if stays[j] {
			flush(i + 1)
		} else {
			newSlot[j] = slots
			slots++
		}
	}
	flush(len(x))

	line := newCounter(slots)
	for _, s := range oldSlot {
		if s != none {
			line.add(s, 1)
		}
	}
	for j, i := range al.from {
		switch {
		case stays[j]:
			continue
		case i < 0:
			d.emit(Operation{Op: "add", Path: d.item(lo + line.before(newSlot[j])), Value: y[j]})
		default:
			from := line.before(oldSlot[i])
			line.add(oldSlot[i], -1)
			if to := line.before(newSlot[j]); to != from {
				d.emit(Operation{Op: "move", From: d.item(lo + from), Path: d.item(lo + to)})
			}
		}
		line.add(newSlot[j], 1)
	}
}

// longestAscending marks a longest strictly ascending subsequence of the
// entries that are not negative.
func longestAscending(seq []int) []bool {
	on := make([]bool, len(seq))
	before := make([]int, len(seq))
	var tails []int // tails[k]: where the best run of k+1 entries ends
	for j, v := range seq {
		if v < 0 {
			continue
		}
		k, _ := slices.BinarySearchFunc(tails, v, func(t, v int) int { return seq[t] - v })
		before[j] = -1
		if k > 0 {
			before[j] = tails[k-1]
		}
		if k == len(tails) {
			tails = append(tails, j)
		} else {
			tails[k] = j
		}
	}
	if len(tails) > 0 {
		for j := tails[len(tails)-1]; j >= 0; j = before[j] {
			on[j] = true
		}
	}
	return on
}

// counter counts items in a line of slots (a Fenwick tree).
type counter []int

func newCounter(slots int) counter { return make(counter, slots+1) }

func (c counter) add(slot, n int) {
	for i := slot + 1; i < len(c); i += i & -i {
		c[i] += n
	}
}

// before returns how many items there are in slots below the slot.
func (c counter) before(slot int) int {
	n := 0
	for i := slot; i > 0; i -= i & -i {
		n += c[i]
	}
	return n
}
