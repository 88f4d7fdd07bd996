package jsondoc

import "slices"

// AppendJSON appends v as compact JSON: no white space, members in their order,
// numbers as they were written. Of strings only the quotation mark, the
// backslash and control characters are escaped, as the grammar demands; < > &
// and everything beyond ASCII stay as they are. An absent value gives null.
func (v Value) AppendJSON(dst []byte) []byte {
	if v.n == nil {
		return append(dst, "null"...)
	}
	n := v.n
	switch n.kind {
	case KindString:
		return appendString(dst, n.text)
	case KindArray:
		dst = append(dst, '[')
		for i, k := range n.box.all() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = k.AppendJSON(dst)
		}
		return append(dst, ']')
	case KindObject:
		dst = append(dst, '{')
		for i, k := range n.box.all() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, n.box.shape.names[i])
			dst = append(dst, ':')
			dst = k.AppendJSON(dst)
		}
		return append(dst, '}')
	}
	return append(dst, n.text...)
}

// String returns v as compact JSON, see [Value.AppendJSON]. The text of a string
// value is [Value.Str].
func (v Value) String() string {
	return string(v.AppendJSON(nil))
}

// MarshalJSON implements json.Marshaler. An absent value is written as null; to
// leave it out of a struct use the option omitzero.
func (v Value) MarshalJSON() ([]byte, error) {
	return v.AppendJSON(make([]byte, 0, v.Size())), nil
}

// UnmarshalJSON implements json.Unmarshaler with [Parse]'s default rules.
func (v *Value) UnmarshalJSON(data []byte) error {
	x, err := Parse(data, nil)
	if err != nil {
		return err
	}
	*v = x
	return nil
}

const hexDigits = "0123456789abcdef"

// mustEscape are the bytes that may not stand in a JSON string.
var mustEscape = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		if !mustEscape[s[i]] {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c := s[i]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// encodedLen is how many bytes appendString appends.
func encodedLen(s string) uint32 {
	n := len(s) + 2
	for i := 0; i < len(s); i++ {
		if mustEscape[s[i]] {
			switch s[i] {
			case '"', '\\', '\b', '\f', '\n', '\r', '\t':
				n++
			default:
				n += 5
			}
		}
	}
	return uint32(min(n, sizeCap))
}

// Canonical returns the form of v that all [Equal] values share: compact,
// members sorted, numbers normalised. It follows RFC 8785 (members by the UTF-16
// units of their names, numbers in ECMAScript's layout, least escaping) with one
// deviation: numbers keep their exact value. RFC 8785 rounds them to float64,
// which would make 9007199254740993 and 9007199254740992 one document. Numbers
// that float64 holds exactly in their shortest form come out as it says.
// An absent value gives null.
func (v Value) Canonical() []byte { return v.appendCanonical(nil) }

func (v Value) appendCanonical(dst []byte) []byte {
	if v.n == nil {
		return append(dst, "null"...)
	}
	n := v.n
	switch n.kind {
	case KindNumber:
		return appendCanonicalNumber(dst, n.text)
	case KindArray:
		dst = append(dst, '[')
		for i, k := range n.box.all() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = k.appendCanonical(dst)
		}
		return append(dst, ']')
	case KindObject:
		kids := n.box.list()
		order := make([]int, len(kids))
		for i := range order {
			order[i] = i
		}
		names := n.box.shape.names
		slices.SortFunc(order, func(a, b int) int { return compareUTF16(names[a], names[b]) })
		dst = append(dst, '{')
		for i, at := range order {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, names[at])
			dst = append(dst, ':')
			dst = kids[at].appendCanonical(dst)
		}
		return append(dst, '}')
	}
	return v.AppendJSON(dst)
}

// compareUTF16 orders strings by their UTF-16 code units. That differs from the
// order of the bytes in one place: characters beyond U+FFFF, whose first unit is
// a surrogate, come before U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return len(a) - len(b)
	}
	x, y := a[i], b[i]
	// The first byte that differs is enough: lead bytes from F0 on start a
	// character beyond U+FFFF; EE and EF start U+E000 to U+FFFF.
	if x >= 0xF0 && (y == 0xEE || y == 0xEF) {
		return -1
	}
	if y >= 0xF0 && (x == 0xEE || x == 0xEF) {
		return 1
	}
	return int(x) - int(y)
}
