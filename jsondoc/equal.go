package jsondoc

// Equal reports whether a and b say the same (RFC 6902 section 4.6): the order
// of members does not matter, numbers are compared by their exact decimal value,
// so 1 equals 1.0 and 10e-1, and 9007199254740993 is not 9007199254740992. An
// absent value equals only an absent one. The kinds never mix: true is not 1.
func Equal(a, b Value) bool { return equal(a, b, ByValue) }

// EqualBy is [Equal] under another rule for numbers.
func EqualBy(a, b Value, rule NumberRule) bool { return equal(a, b, rule) }

func equal(a, b Value, rule NumberRule) bool {
	if a.n == b.n {
		return true
	}
	if a.n == nil || b.n == nil || a.n.kind != b.n.kind {
		return false
	}
	if rule == ByText && a.n.size != b.n.size {
		return false // the same members in another order take the same bytes
	}
	switch a.n.kind {
	case KindNull:
		return true
	case KindNumber:
		return sameNumber(a.n.text, b.n.text, rule)
	case KindArray:
		x, y := a.n.box.list(), b.n.box.list()
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i], rule) {
				return false
			}
		}
		return true
	case KindObject:
		x, y := a.n.box.list(), b.n.box.list()
		if len(x) != len(y) {
			return false
		}
		p, q := a.n.box.shape, b.n.box.shape
		for i := range x {
			j := i
			if p != q {
				j = q.findNear(p.names[i], i)
			}
			if j < 0 || !equal(x[i], y[j], rule) {
				return false
			}
		}
		return true
	}
	return a.n.text == b.n.text
}
