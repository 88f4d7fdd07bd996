package jsondoc

import (
	"math"
	"strconv"
	"strings"
)

// scanNumber returns how many bytes at the start of s are a JSON number, 0 if
// none are. It stops where the grammar of RFC 8259 section 6 ends.
func scanNumber[T string | []byte](s T) int {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	switch {
	case i >= len(s):
		return 0
	case s[i] == '0':
		i++
	case s[i] >= '1' && s[i] <= '9':
		for i < len(s) && isDigit(s[i]) {
			i++
		}
	default:
		return 0
	}
	if i < len(s) && s[i] == '.' {
		j := i + 1
		for j < len(s) && isDigit(s[j]) {
			j++
		}
		if j == i+1 {
			return 0
		}
		i = j
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		k := j
		for k < len(s) && isDigit(s[k]) {
			k++
		}
		if k == j {
			return 0
		}
		i = k
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// Int64 returns the number if it is written as an integer and fits. 1.0 and 1e3
// are not integers here: who wants them rounded asks [Value.Float64].
func (v Value) Int64() (int64, bool) {
	if v.Kind() != KindNumber {
		return 0, false
	}
	n, err := strconv.ParseInt(v.n.text, 10, 64)
	return n, err == nil
}

// Float64 returns the float64 nearest to the number; false for other kinds and
// for numbers beyond float64's range.
func (v Value) Float64() (float64, bool) {
	if v.Kind() != KindNumber {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.n.text, 64)
	return f, err == nil
}

// NumberRule says when two numbers count as the same.
type NumberRule uint8

const (
	// ByText keeps every difference: 1 and 1.0 are two numbers.
	ByText NumberRule = iota
	// ByValue compares exactly as decimals: 1, 1.0 and 10e-1 are one number,
	// 9007199254740993 and 9007199254740992 are two. This is what the test
	// operation means by equal (RFC 6902 section 4.6).
	ByValue
	// ByDouble compares what a JavaScript client holds after reading the
	// numbers: those two are one then, and -0 is 0.
	ByDouble
)

// decimal is a number's value: 0.digits × 10^exp, digits without zeros at
// either end.
type decimal struct {
	neg    bool
	digits string
	exp    int64
	ok     bool // false: the exponent has more than 17 digits
}

func parseDecimal(text string) decimal {
	d := decimal{ok: true}
	if text[0] == '-' {
		d.neg = true
		text = text[1:]
	}
	mant, expText := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mant, expText = text[:i], text[i+1:]
	}
	whole, frac, _ := strings.Cut(mant, ".")
	d.exp = int64(len(whole))
	digits := whole
	if frac != "" {
		digits += frac
	}
	trimmed := strings.TrimLeft(digits, "0")
	d.exp -= int64(len(digits) - len(trimmed))
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		// All zeros are one number, whatever their sign and exponent.
		return decimal{ok: true}
	}
	if expText != "" {
		sign := int64(1)
		switch expText[0] {
		case '-':
			sign = -1
			expText = expText[1:]
		case '+':
			expText = expText[1:]
		}
		expText = strings.TrimLeft(expText, "0")
		if len(expText) > 17 {
			d.ok = false
			return d
		}
		var e int64
		for i := range len(expText) {
			e = e*10 + int64(expText[i]-'0')
		}
		d.exp += sign * e
	}
	return d
}

// sameNumber compares number texts under a rule. Numbers whose exponent has more
// than 17 digits are themselves only: no arithmetic is worth doing for them.
func sameNumber(a, b string, rule NumberRule) bool {
	if a == b {
		return true
	}
	switch rule {
	case ByValue:
		x, y := parseDecimal(a), parseDecimal(b)
		return x.ok && y.ok && x.neg == y.neg && x.exp == y.exp && x.digits == y.digits
	case ByDouble:
		// An overflow gives an infinity and an error; JSON.parse gives the infinity.
		x, _ := strconv.ParseFloat(a, 64)
		y, _ := strconv.ParseFloat(b, 64)
		return x == y
	}
	return false
}

// appendCanonicalNumber writes the number's exact value in the layout of
// ECMAScript's Number::toString, which RFC 8785 prescribes.
func appendCanonicalNumber(dst []byte, text string) []byte {
	d := parseDecimal(text)
	if !d.ok {
		return append(dst, text...)
	}
	if d.digits == "" {
		return append(dst, '0')
	}
	if d.neg {
		dst = append(dst, '-')
	}
	k, n := int64(len(d.digits)), d.exp
	switch {
	case k <= n && n <= 21:
		dst = append(dst, d.digits...)
		for range n - k {
			dst = append(dst, '0')
		}
	case 0 < n && n <= 21:
		dst = append(dst, d.digits[:n]...)
		dst = append(dst, '.')
		dst = append(dst, d.digits[n:]...)
	case -6 < n && n <= 0:
		dst = append(dst, '0', '.')
		for range -n {
			dst = append(dst, '0')
		}
		dst = append(dst, d.digits...)
	default:
		dst = append(dst, d.digits[0])
		if k > 1 {
			dst = append(dst, '.')
			dst = append(dst, d.digits[1:]...)
		}
		dst = append(dst, 'e')
		if n-1 >= 0 {
			dst = append(dst, '+')
		}
		dst = strconv.AppendInt(dst, n-1, 10)
	}
	return dst
}

// appendFloat writes f as encoding/json and ECMAScript do.
func appendFloat(dst []byte, f float64, bits int) []byte {
	format := byte('f')
	if abs := math.Abs(f); abs != 0 {
		if bits == 64 && (abs < 1e-6 || abs >= 1e21) ||
			bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21) {
			format = 'e'
		}
	}
	dst = strconv.AppendFloat(dst, f, format, -1, bits)
	if format == 'e' {
		// 1e-07 → 1e-7
		if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
			dst[n-2] = dst[n-1]
			dst = dst[:n-1]
		}
	}
	return dst
}
