package jsondoc

import (
	"hash/maphash"
	"math"
	"slices"
	"strconv"
)

const (
	// exactCells is up to how many pairs of items are weighed against each
	// other for the cheapest pairing.
	exactCells = 4096
	// maxEdits bounds the edit script that is searched for; what is kept of the
	// search grows with its square (4 MiB).
	maxEdits = 1024
	// searchSteps bounds the steps of all searches in one pair of arrays.
	searchSteps = 1 << 23
	// weighSteps bounds how many values are looked at to find similar items.
	weighSteps = 1 << 18
	// weighLevels is how deep they are looked at.
	weighLevels = 3
)

// byContent pairs equal items in their order, and similar ones between them.
func (l *aligner) byContent(x, y []Value, relocate bool) alignment {
	c := newContent(l, x, y, alignment{from: unpaired(len(y))})
	if len(x)*len(y) <= exactCells {
		c.cheapest(0, len(x), 0, len(y))
	} else {
		c.p, c.q = l.classes(x, y)
		c.common(0, len(x), 0, len(y))
		c.gaps()
	}
	if relocate {
		c.relocate()
	}
	return c.al
}

type content struct {
	*aligner
	x, y []Value
	p, q []int // classes of equal items; nil until they are needed
	al   alignment

	steps, weigh int // what is left of the bounds
}

func newContent(l *aligner, x, y []Value, al alignment) content {
	return content{aligner: l, x: x, y: y, al: al, steps: searchSteps, weigh: weighSteps}
}

func (c *content) pair(i, j int) { c.al.from[j] = i }

// gaps pairs what lies between equal items.
func (c *content) gaps() {
	i, j := 0, 0
	for k := 0; k <= len(c.y); k++ {
		if k < len(c.y) && c.al.from[k] < 0 {
			continue
		}
		end := len(c.x)
		if k < len(c.y) {
			end = c.al.from[k]
		}
		c.similar(i, end, j, k)
		i, j = end+1, k+1
	}
}

func (c *content) similar(i, iEnd, j, jEnd int) {
	if (iEnd-i)*(jEnd-j) <= exactCells {
		c.cheapest(i, iEnd, j, jEnd)
		return
	}
	for ; i < iEnd && j < jEnd; i, j = i+1, j+1 {
		_, whole := c.cost(c.x[i], c.y[j])
		c.pair(i, j)
		c.setWhole(j, whole)
	}
}

func (c *content) setWhole(j int, whole bool) {
	if whole && c.al.whole == nil {
		c.al.whole = make([]bool, len(c.y))
	}
	if whole {
		c.al.whole[j] = true
	}
}

// What operations weigh, in bytes. Exactness does not matter: the figures decide
// which of several right patches is made.
const (
	removeCost  = 30
	addCost     = 40
	replaceCost = 42
)

// cheapest pairs the items of a small area so that the patch is as small as
// possible.
func (c *content) cheapest(i0, i1, j0, j1 int) {
	n, m := i1-i0, j1-j0
	if n == 0 || m == 0 {
		return
	}
	width := m + 1
	total := make([]int, (n+1)*width)
	pairs := make([]int, (n+1)*width) // cost of the pair, negative if it is replaced whole
	for i := n; i >= 0; i-- {
		for j := m; j >= 0; j-- {
			at := i*width + j
			best := math.MaxInt
			if i < n {
				best = removeCost + total[at+width]
			}
			if j < m {
				best = min(best, addCost+c.y[j0+j].Size()+total[at+1])
			}
			if i < n && j < m {
				cost, whole := c.cost(c.x[i0+i], c.y[j0+j])
				best = min(best, cost+total[at+width+1])
				pairs[at] = cost
				if whole {
					pairs[at] = -cost
				}
			}
			if i == n && j == m {
				best = 0
			}
			total[at] = best
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		at := i*width + j
		cost, whole := pairs[at], pairs[at] < 0
		if whole {
			cost = -cost
		}
		switch total[at] {
		case cost + total[at+width+1]:
			c.pair(i0+i, j0+j)
			c.setWhole(j0+j, whole)
			i, j = i+1, j+1
		case removeCost + total[at+width]:
			i++
		default:
			j++
		}
	}
}

// cost estimates the bytes of the operations that turn a into b; whole says
// that replacing it costs no more.
func (c *content) cost(a, b Value) (cost int, whole bool) {
	most := replaceCost + b.Size()
	cost = c.estimate(a, b, most, weighLevels)
	return cost, cost >= most && a.n.box != nil
}

// estimate stops counting at most, and looks so many levels deep.
func (c *content) estimate(a, b Value, most, levels int) int {
	c.weigh--
	whole := min(most, replaceCost+b.Size())
	switch {
	case a.n == b.n:
		return 0
	case a.n.kind != b.n.kind:
		return whole
	case a.n.box == nil:
		if equal(a, b, c.rule) {
			return 0
		}
		return whole
	case levels == 0 || c.weigh < 0 || a.n.box.tree != nil || b.n.box.tree != nil:
		// Not worth a look: they are of one kind, so something may be the same.
		if a.n.size == b.n.size {
			return whole / 2
		}
		return max(whole-1, 0)
	}
	x, y := a.n.box.list(), b.n.box.list()
	cost := 0
	if a.n.kind == KindArray {
		n := min(len(x), len(y))
		cost = removeCost * (len(x) - n)
		for i := 0; i < len(y) && cost < whole; i++ {
			if i < n {
				cost += c.estimate(x[i], y[i], whole-cost, levels-1)
			} else {
				cost += addCost + y[i].Size()
			}
		}
		return min(cost, whole)
	}
	p, q := a.n.box.shape, b.n.box.shape
	kept := 0
	for j := 0; j < len(y) && cost < whole; j++ {
		i := j
		if p != q {
			i = p.findNear(q.names[j], j)
		}
		if i < 0 {
			cost += addCost + y[j].Size()
			continue
		}
		kept++
		cost += c.estimate(x[i], y[j], whole-cost, levels-1)
	}
	return min(cost+removeCost*(len(x)-kept), whole)
}

// classes numbers the items so that equal ones, and only those, have one number.
func (l *aligner) classes(x, y []Value) (p, q []int) {
	h := hasher{rule: l.rule, seed: maphash.MakeSeed()}
	type class struct {
		like Value
		id   int
	}
	known := make(map[uint64][]class, len(x))
	n := 0
	number := func(items []Value) []int {
		ids := make([]int, len(items))
	items:
		for i, it := range items {
			sum := uint64(n)
			if l.bytes -= it.Size(); l.bytes >= 0 {
				sum = h.value(it)
			}
			for _, c := range known[sum] {
				if l.same(c.like, it) {
					ids[i] = c.id
					continue items
				}
			}
			known[sum] = append(known[sum], class{it, n})
			ids[i] = n
			n++
		}
		return ids
	}
	return number(x), number(y)
}

// hasher hashes values so that those which are equal under its rule collide.
type hasher struct {
	rule NumberRule
	seed maphash.Seed
}

func (h *hasher) value(v Value) uint64 {
	n := v.n
	const mix = 0x9E3779B97F4A7C15
	sum := uint64(n.kind) * mix
	switch n.kind {
	case KindNumber:
		return sum ^ maphash.String(h.seed, h.number(n.text))
	case KindArray:
		for _, k := range n.box.all() {
			sum = (sum<<7 | sum>>57) * mix
			sum ^= h.value(k)
		}
	case KindObject:
		// A sum, since the order of members does not count.
		for i, k := range n.box.all() {
			m := maphash.String(h.seed, n.box.shape.names[i])
			sum += (m ^ h.value(k)*mix) * mix
		}
	default:
		return sum ^ maphash.String(h.seed, n.text)
	}
	return sum
}

func (h *hasher) number(text string) string {
	switch h.rule {
	case ByValue:
		return string(appendCanonicalNumber(nil, text))
	case ByDouble:
		f, _ := strconv.ParseFloat(text, 64)
		if f == 0 {
			f = 0 // not -0
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return text
}

// common pairs a longest common subsequence of an area, or of parts of it where
// that takes too long.
func (c *content) common(i0, i1, j0, j1 int) {
	for i0 < i1 && j0 < j1 && c.p[i0] == c.q[j0] {
		c.pair(i0, j0)
		i0, j0 = i0+1, j0+1
	}
	for i0 < i1 && j0 < j1 && c.p[i1-1] == c.q[j1-1] {
		i1, j1 = i1-1, j1-1
		c.pair(i1, j1)
	}
	if i0 == i1 || j0 == j1 || c.shortest(i0, i1, j0, j1) {
		return
	}
	// Too different to be compared in full. What occurs once on each side
	// divides the area; without such an item it is not worth more effort.
	if c.steps -= i1 - i0 + j1 - j0; c.steps < 0 {
		return
	}
	anchors := c.anchors(i0, i1, j0, j1)
	for k, a := range anchors {
		c.pair(a[0], a[1])
		if k == 0 {
			c.common(i0, a[0], j0, a[1])
		} else {
			c.common(anchors[k-1][0]+1, a[0], anchors[k-1][1]+1, a[1])
		}
	}
	if k := len(anchors); k > 0 {
		c.common(anchors[k-1][0]+1, i1, anchors[k-1][1]+1, j1)
	}
}

// shortest finds the shortest edit script of an area (Myers, 1986) and pairs
// what it leaves alone. It gives up, and pairs nothing, when the script is long.
func (c *content) shortest(i0, i1, j0, j1 int) bool {
	n, m := i1-i0, j1-j0
	limit := min(n+m, maxEdits)
	off := limit + 1
	v := make([]int32, 2*limit+3)
	var rounds [][]int32
	for d := 0; d <= limit; d++ {
		if c.steps -= d + 1; c.steps < 0 {
			return false
		}
		for k := -d; k <= d; k += 2 {
			var i int
			if k == -d || k != d && v[off+k-1] < v[off+k+1] {
				i = int(v[off+k+1])
			} else {
				i = int(v[off+k-1]) + 1
			}
			j := i - k
			c.steps += i
			for i < n && j < m && c.p[i0+i] == c.q[j0+j] {
				i, j = i+1, j+1
			}
			c.steps -= i
			v[off+k] = int32(i)
			if i >= n && j >= m {
				c.trace(rounds, d, i0, j0, n, m)
				return true
			}
		}
		rounds = append(rounds, slices.Clone(v[off-d:off+d+1]))
	}
	return false
}

// trace walks the script of length d back and pairs the items on its diagonals.
func (c *content) trace(rounds [][]int32, d, i0, j0, i, j int) {
	for ; d > 0; d-- {
		v := rounds[d-1] // v[k+d-1] is how far diagonal k reached with d-1 edits
		reach := func(k int) int {
			if k < -(d-1) || k > d-1 {
				return -1
			}
			return int(v[k+d-1])
		}
		k := i - j
		prev := k - 1
		if k == -d || k != d && reach(k-1) < reach(k+1) {
			prev = k + 1
		}
		pi := reach(prev)
		pj := pi - prev
		for i > pi && j > pj {
			i, j = i-1, j-1
			c.pair(i0+i, j0+j)
		}
		i, j = pi, pj
	}
	for i > 0 && j > 0 {
		i, j = i-1, j-1
		c.pair(i0+i, j0+j)
	}
}

// anchors returns pairs of items that occur once in either side of the area, as
// many as are in one order in both.
func (c *content) anchors(i0, i1, j0, j1 int) [][2]int {
	type place struct{ i, j, count int }
	at := map[int]place{}
	for i := i0; i < i1; i++ {
		s := at[c.p[i]]
		at[c.p[i]] = place{i, -1, s.count + 1}
	}
	var order []int
	for j := j0; j < j1; j++ {
		s, ok := at[c.q[j]]
		if !ok || s.count > 1 {
			continue
		}
		if s.j >= 0 {
			s.count = 2
		}
		s.j = j
		at[c.q[j]] = s
	}
	var js []int
	for j := j0; j < j1; j++ {
		if s, ok := at[c.q[j]]; ok && s.count == 1 {
			order = append(order, s.i)
			js = append(js, j)
		}
	}
	var pairs [][2]int
	for k, on := range longestAscending(order) {
		if on {
			pairs = append(pairs, [2]int{order[k], js[k]})
		}
	}
	return pairs
}

// relocate pairs items that were removed at one place and added at another.
func (c *content) relocate() {
	var gone []int
	kept := make([]bool, len(c.x))
	added := 0
	for _, i := range c.al.from {
		if i >= 0 {
			kept[i] = true
		} else {
			added++
		}
	}
	if added == 0 {
		return
	}
	for i, k := range kept {
		if !k {
			gone = append(gone, i)
		}
	}
	if len(gone) == 0 {
		return
	}
	if c.p == nil {
		c.p, c.q = c.classes(c.x, c.y)
	}
	where := map[int][]int{}
	for _, i := range gone {
		where[c.p[i]] = append(where[c.p[i]], i)
	}
	for j, i := range c.al.from {
		if w := where[c.q[j]]; i < 0 && len(w) > 0 {
			c.pair(w[0], j)
			where[c.q[j]] = w[1:]
			c.al.moved = true
		}
	}
}
