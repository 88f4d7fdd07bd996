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
	switch a.n.kind {
	case KindNull:
		return true
	case KindNumber:
		return sameNumber(a.n.text, b.n.text, rule)
	case KindArray:
		x, y := a.n.box.kids, b.n.box.kids
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
		x, y := a.n.box, b.n.box
		if len(x.kids) != len(y.kids) {
			return false
		}
		if x.shape == y.shape {
			for i := range x.kids {
				if !equal(x.kids[i], y.kids[i], rule) {
					return false
				}
			}
			return true
		}
		for i, name := range x.shape.names {
			j := y.shape.findNear(name, i)
			if j < 0 || !equal(x.kids[i], y.kids[j], rule) {
				return false
			}
		}
		return true
	}
	return a.n.text == b.n.text
}
