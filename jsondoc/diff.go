package jsondoc

import "strconv"

// DiffOptions configures [Diff]. The zero value is the default.
type DiffOptions struct {
	// Identity names the members that tell an array's items apart, the
	// preferred one first; nil means id, then key. A name is used for an array
	// only if each of its items in both versions is an object in which that
	// member is a string or a number, different from all others' (equal items
	// at both ends of the two arrays need none). An empty slice that is not nil
	// switches it off.
	Identity []string
	// Numbers says which numbers count as unchanged. The default [ByText] makes
	// the result of the patch b digit for digit; ByDouble sees what a JavaScript
	// client that echoes a document has changed.
	Numbers NumberRule
	// Smallest writes a changed array or object anew as a whole where that takes
	// fewer bytes than the single operations. Without it each operation changes
	// as little as it can, so that it leaves alone what somebody else changes
	// beside it.
	Smallest bool
}

// Diff returns a patch that turns a into b: for every pair of documents
// Diff(a, b).Apply(a) equals b. It is nil if nothing differs; the order of
// members is no difference. An absent document counts as null.
//
// The patch holds few operations: one for each member that came, went or has
// another value, and for each item. Items are paired by their identity member
// (see [DiffOptions]), which also finds items that moved, else as the longest
// common subsequence, with similar ones among the rest paired. Above some ten
// thousand differing items the subsequence may not be the longest.
// Operations use add, remove, replace and move only, and no index that is out of
// range at its turn, so that any implementation of RFC 6902 can apply them.
//
// Parts that are shared by both, because one was made from the other, are
// skipped without a look.
func Diff(a, b Value, opts *DiffOptions) Patch {
	if opts == nil {
		opts = &DiffOptions{}
	}
	a, b = a.orNull(), b.orNull()
	d := differ{aligner: newAligner(opts.Identity, opts.Numbers, a.Size()+b.Size()), smallest: opts.Smallest}
	d.diff(a, b)
	return d.patch
}

type differ struct {
	aligner
	smallest bool
	path     []byte
	patch    Patch
	bytes    int // of the patch's operations, if smallest
}

func (d *differ) emit(op Operation) {
	if d.smallest {
		d.bytes += op.size()
	}
	d.patch = append(d.patch, op)
}

// size is how many bytes the operation takes in a patch, with a comma.
func (op Operation) size() int {
	n := len(`{"op":"","path":},`) + len(op.Op) + int(encodedLen(string(op.Path)))
	if op.Op == "move" || op.Op == "copy" {
		return n + len(`"from":,`) + int(encodedLen(string(op.From)))
	}
	if op.Value.n != nil {
		n += len(`"value":,`) + op.Value.Size()
	}
	return n
}

// at returns the path of the value that is looked at.
func (d *differ) at() Pointer { return Pointer(d.path) }

func (d *differ) item(i int) Pointer {
	return Pointer(strconv.AppendInt(append(d.path, '/'), int64(i), 10))
}

func (d *differ) member(name string) Pointer { return Pointer(appendToken(d.path, name)) }

// diff emits what turns a into b at the current path.
func (d *differ) diff(a, b Value) {
	if a.n == b.n {
		return
	}
	if a.n.kind != b.n.kind || a.n.box == nil {
		if !equal(a, b, d.rule) {
			d.emit(Operation{Op: "replace", Path: d.at(), Value: b})
		}
		return
	}
	ops, bytes := len(d.patch), d.bytes
	if a.n.kind == KindObject {
		d.object(a.n.box, b.n.box)
	} else {
		d.array(a.n.box, b.n.box)
	}
	if !d.smallest || len(d.patch) == ops {
		return
	}
	whole := Operation{Op: "replace", Path: d.at(), Value: b}
	if size := whole.size(); size < d.bytes-bytes {
		clear(d.patch[ops:])
		d.patch, d.bytes = append(d.patch[:ops], whole), bytes+size
	}
}

func (d *differ) object(a, b *box) {
	if a.shape == b.shape {
		lo, x, y := shared(a, b)
		for i := range x {
			d.inside(a.shape.names[lo+i], x[i], y[i])
		}
		return
	}
	x, y := a.list(), b.list()
	for i, name := range a.shape.names {
		if b.shape.findNear(name, i) < 0 {
			d.emit(Operation{Op: "remove", Path: d.member(name)})
		}
	}
	for i, name := range b.shape.names {
		if j := a.shape.findNear(name, i); j >= 0 {
			d.inside(name, x[j], y[i])
		} else {
			d.emit(Operation{Op: "add", Path: d.member(name), Value: y[i]})
		}
	}
}

// inside is diff of a member. The path is written only for those that need it.
func (d *differ) inside(name string, a, b Value) {
	if a.n == b.n || a.n.box == nil && equal(a, b, d.rule) {
		return
	}
	n := len(d.path)
	d.path = appendToken(d.path, name)
	d.diff(a, b)
	d.path = d.path[:n]
}

func (d *differ) insideItem(i int, a, b Value) {
	n := len(d.path)
	d.path = strconv.AppendInt(append(d.path, '/'), int64(i), 10)
	d.diff(a, b)
	d.path = d.path[:n]
}

func (d *differ) array(a, b *box) {
	lo, x, y := shared(a, b)
	p, s := d.trim(x, y)
	lo, x, y = lo+p, x[p:len(x)-s], y[p:len(y)-s]
	al := d.align(x, y, true)
	d.removals(lo, x, al)
	if al.moved {
		d.moves(lo, x, y, al)
	} else {
		for j, i := range al.from {
			if i < 0 {
				d.emit(Operation{Op: "add", Path: d.item(lo + j), Value: y[j]})
			}
		}
	}
	for j, i := range al.from {
		switch {
		case i < 0 || x[i].n == y[j].n:
		case al.whole != nil && al.whole[j]:
			d.emit(Operation{Op: "replace", Path: d.item(lo + j), Value: y[j]})
		default:
			d.insideItem(lo+j, x[i], y[j])
		}
	}
}

// removals emits a remove for each item without a partner, the last one first,
// so that the indexes of the others stay what they are.
func (d *differ) removals(lo int, x []Value, al alignment) {
	kept := make([]bool, len(x))
	for _, i := range al.from {
		if i >= 0 {
			kept[i] = true
		}
	}
	for i := len(x) - 1; i >= 0; i-- {
		if !kept[i] {
			d.emit(Operation{Op: "remove", Path: d.item(lo + i)})
		}
	}
}

// shared skips what two containers have in common at both ends because they are
// versions of one: lo is how many children the first of x and y has before it.
// Of large containers only the leaves between are put into lists.
func shared(a, b *box) (lo int, x, y []Value) {
	if a.tree == nil || b.tree == nil {
		return 0, a.list(), b.list()
	}
	p, q := a.tree.allLeaves(nil), b.tree.allLeaves(nil)
	for len(p) > 0 && len(q) > 0 && p[0] == q[0] {
		lo += len(p[0].items)
		p, q = p[1:], q[1:]
	}
	for len(p) > 0 && len(q) > 0 && p[len(p)-1] == q[len(q)-1] {
		p, q = p[:len(p)-1], q[:len(q)-1]
	}
	for _, t := range p {
		x = append(x, t.items...)
	}
	for _, t := range q {
		y = append(y, t.items...)
	}
	return lo, x, y
}
