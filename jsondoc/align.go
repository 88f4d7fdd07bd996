package jsondoc

import "strings"

// alignment says which items of one array are which items of another.
type alignment struct {
	from  []int  // for each item of the second: its partner in the first, or -1
	whole []bool // pairs with nothing in common but their place; may be nil
	moved bool   // the partners are not in ascending order
}

// aligner pairs the items of two versions of an array.
type aligner struct {
	identity []string
	rule     NumberRule

	// Items are compared in full to pair them, and what lies within them again
	// to pair that: in a document of nothing but nested arrays the square of
	// its size. bytes bounds it. What remains undecided then counts as
	// different, which costs operations but never a wrong one.
	bytes int
}

var defaultIdentity = []string{"id", "key"}

func newAligner(identity []string, rule NumberRule, size int) aligner {
	if identity == nil {
		identity = defaultIdentity
	}
	return aligner{identity: identity, rule: rule, bytes: 1<<26 + 32*size}
}

// same is equal within the aligner's means.
func (l *aligner) same(a, b Value) bool {
	if a.n == b.n {
		return true
	}
	if l.bytes < 0 || a.n.kind != b.n.kind {
		return false
	}
	l.bytes -= min(a.Size(), b.Size())
	return equal(a, b, l.rule)
}

// trim returns how many items are the same at the start and at the end.
func (l *aligner) trim(x, y []Value) (start, end int) {
	n := min(len(x), len(y))
	if len(x) == 1 && len(y) == 1 {
		return 0, 0 // the only pair there can be, whatever is in it
	}
	for start < n && l.same(x[start], y[start]) {
		start++
	}
	for end < n-start && l.same(x[len(x)-1-end], y[len(y)-1-end]) {
		end++
	}
	return start, end
}

// align pairs the items of trimmed arrays by their identity member if they have
// one, else by what they hold. For a patch it goes on to pair what is left, so
// that there are fewer operations: an item that was replaced by another, and
// equal ones that changed places. For a merge these are not the same items.
func (l *aligner) align(x, y []Value, patch bool) alignment {
	if len(x) == 0 || len(y) == 0 {
		return alignment{from: unpaired(len(y))}
	}
	for _, name := range l.identity {
		from, ok := byIdentity(x, y, name)
		if !ok {
			continue
		}
		c := newContent(l, x, y, alignment{from: from, moved: !ascending(from)})
		if patch && !c.al.moved {
			c.gaps()
		}
		return c.al
	}
	return l.byContent(x, y, patch)
}

func unpaired(n int) []int {
	from := make([]int, n)
	for i := range from {
		from[i] = -1
	}
	return from
}

func ascending(from []int) bool {
	last := -1
	for _, i := range from {
		if i >= 0 {
			if i < last {
				return false
			}
			last = i
		}
	}
	return true
}

// identity is the value of an item's identity member. Numbers are in canonical
// form: 1 and 1.0 name the same item.
type identity struct {
	kind Kind
	text string
}

func identityOf(v Value, name string, near *int) (identity, bool) {
	if v.n.kind != KindObject {
		return identity{}, false
	}
	i := v.n.box.shape.findNear(name, *near)
	if i < 0 {
		return identity{}, false
	}
	*near = i
	id := v.n.box.at(i).n
	switch id.kind {
	case KindString:
		return identity{KindString, id.text}, true
	case KindNumber:
		if strings.ContainsAny(id.text, ".eE") || id.text == "-0" {
			return identity{KindNumber, string(appendCanonicalNumber(nil, id.text))}, true
		}
		return identity{KindNumber, id.text}, true
	}
	return identity{}, false
}

// identities returns the items' identities, false if one has none or two have
// the same.
func identities(items []Value, name string) (ids []identity, at map[identity]int, ok bool) {
	ids, ok = listIdentities(items, name)
	if !ok {
		return nil, nil, false
	}
	at, ok = indexIdentities(ids)
	return ids, at, ok
}

func listIdentities(items []Value, name string) ([]identity, bool) {
	ids := make([]identity, len(items))
	near := 0
	for i, it := range items {
		id, ok := identityOf(it, name, &near)
		if !ok {
			return nil, false
		}
		ids[i] = id
	}
	return ids, true
}

func indexIdentities(ids []identity) (map[identity]int, bool) {
	at := make(map[identity]int, len(ids))
	for i, id := range ids {
		if _, dup := at[id]; dup {
			return nil, false
		}
		at[id] = i
	}
	return at, true
}

func byIdentity(x, y []Value, name string) ([]int, bool) {
	near := 0
	if _, ok := identityOf(x[0], name, &near); !ok {
		return nil, false
	}
	from := make([]int, len(y))
	if len(x) == len(y) {
		// Mostly the items are where they were, which needs no map.
		same := true
		for i := range x {
			p, ok := identityOf(x[i], name, &near)
			if !ok {
				return nil, false
			}
			q, ok := identityOf(y[i], name, &near)
			if !ok {
				return nil, false
			}
			if p != q {
				same = false
				break
			}
			from[i] = i
		}
		if same {
			return from, true
		}
	}
	_, at, ok := identities(x, name)
	if !ok {
		return nil, false
	}
	ids, _, ok := identities(y, name)
	if !ok {
		return nil, false
	}
	for j, id := range ids {
		i, found := at[id]
		if !found {
			i = -1
		}
		from[j] = i
	}
	return from, true
}
