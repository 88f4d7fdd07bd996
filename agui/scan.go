package agui

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// maxSafe is 2^53-1: the official schema refuses integers beyond it.
const maxSafe = 1<<53 - 1

// nullRule says what null means where a value is expected.
type nullRule uint8

const (
	nullNever     nullRule = iota // an error: the member is required
	nullRefused                   // an error if strict, else absent
	nullTolerated                 // absent, to the official client too
)

// peek returns the byte at the current position, 0 at the end.
func (d *decoder) peek() byte {
	if d.err == nil && d.pos < len(d.data) {
		return d.data[d.pos]
	}
	return 0
}

func (d *decoder) space() {
	if d.pos < len(d.data) && d.data[d.pos] > ' ' {
		return // as almost always
	}
	for d.pos < len(d.data) {
		switch d.data[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

// kind names what begins at the current position, for error texts.
func (d *decoder) kind() string {
	switch c := d.peek(); {
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == '"':
		return "a string"
	case c == 'n':
		return "null"
	case c == 't' || c == 'f':
		return "a boolean"
	case c == '-' || '0' <= c && c <= '9':
		return "a number"
	case d.pos >= len(d.data):
		return "the end of the input"
	default:
		return "the byte " + strconv.QuoteRune(rune(c))
	}
}

// enter counts one more level of nesting.
func (d *decoder) enter() bool {
	d.depth++
	if d.depth > d.opts.MaxDepth {
		d.fail("nested more deeply than " + strconv.Itoa(d.opts.MaxDepth) + " levels")
		return false
	}
	return true
}

// key reads up to the next member's value and returns the member's name. At the
// object's end, or on failure, more is false. The name is valid as long as the
// input is.
func (d *decoder) key(first bool) (name []byte, more bool) {
	if d.err != nil {
		return nil, false
	}
	d.space()
	switch c := d.peek(); {
	case c == '}':
		d.pos++
		return nil, false
	case c == ',' && !first:
		d.pos++
		d.space()
	case !first:
		d.fail("expected , or }")
		return nil, false
	}
	if d.peek() != '"' {
		d.fail("expected a member's name")
		return nil, false
	}
	rest := d.data[d.pos+1:]
	if n := plainPrefix(rest); n < len(rest) && rest[n] == '"' {
		name = rest[:n]
		d.pos += n + 2
	} else {
		name = []byte(d.string()) // its own copy: the value may use the buffer
	}
	d.space()
	if d.peek() != ':' {
		d.fail("expected :")
		return nil, false
	}
	d.pos++
	d.space()
	return name, d.err == nil
}

// plainPrefix returns how many bytes of b stand for themselves in a JSON
// string: ASCII without quote, backslash and control characters. Eight at a
// time, because deltas are most of a stream.
func plainPrefix(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if m := special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b) && plain[b[i]]; i++ {
	}
	return i
}

// special marks, by its high bit, the first of eight bytes that does not stand
// for itself in a JSON string: below 0x20, a quote, a backslash, or not ASCII.
// Borrows may mark bytes behind the first one wrongly, never before it.
func special(x uint64) uint64 {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	quote, slash := x^('"'*ones), x^('\\'*ones)
	return ((x-0x20*ones)&^x | (quote-ones)&^quote | (slash-ones)&^slash | x) & highs
}

// span returns the raw bytes of the string at the current position if it has
// neither escapes nor bytes that are not valid UTF-8, and moves behind it.
func (d *decoder) span() ([]byte, bool) {
	if d.peek() != '"' {
		d.fail("must be a string, not " + d.kind())
		return nil, false
	}
	rest := d.data[d.pos+1:]
	n := plainPrefix(rest)
	if n < len(rest) && rest[n] >= utf8.RuneSelf {
		for n < len(rest) && (plain[rest[n]] || rest[n] >= utf8.RuneSelf) {
			n++
		}
		if !utf8.Valid(rest[:n]) {
			return nil, false
		}
	}
	if n < len(rest) && rest[n] == '"' {
		d.pos += n + 2
		return rest[:n], true
	}
	return nil, false
}

// string reads a required string.
func (d *decoder) string() string {
	if raw, ok := d.span(); ok {
		return string(raw)
	}
	return string(d.unescape())
}

// id reads a required string that is likely to be one of the last few, as the
// ids of consecutive events are; those cost no allocation.
func (d *decoder) id() string {
	raw, ok := d.span()
	if !ok {
		return string(d.unescape())
	}
	for i := range d.ids {
		if d.ids[i] == string(raw) {
			return d.ids[i]
		}
	}
	s := string(raw)
	if len(s) <= 64 { // what is remembered must stay small
		d.ids[d.next] = s
		d.next = (d.next + 1) % uint8(len(d.ids))
	}
	return s
}

// unescape reads a string into the decoder's buffer, escapes resolved.
func (d *decoder) unescape() []byte {
	d.text = d.text[:0]
	if d.err != nil {
		return nil
	}
	b, i := d.data, d.pos+1
	for {
		if i >= len(b) {
			d.fail("the string does not end")
			return nil
		}
		n := plainPrefix(b[i:])
		d.text = append(d.text, b[i:i+n]...)
		if i += n; i >= len(b) {
			continue
		}
		switch c := b[i]; {
		case c == '"':
			d.pos = i + 1
			return d.text
		case c == '\\':
			size := d.escape(b[i:])
			if size == 0 {
				d.pos = i
				d.fail("bad escape in a string")
				return nil
			}
			i += size
		case c < 0x20:
			d.pos = i
			d.fail("control character in a string")
			return nil
		default:
			r, size := utf8.DecodeRune(b[i:])
			d.text = utf8.AppendRune(d.text, r)
			i += size
		}
	}
}

// escape appends what the escape at the start of b stands for and returns its
// length, 0 if it is none.
func (d *decoder) escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/':
		d.text = append(d.text, b[1])
	case 'n':
		d.text = append(d.text, '\n')
	case 't':
		d.text = append(d.text, '\t')
	case 'r':
		d.text = append(d.text, '\r')
	case 'b':
		d.text = append(d.text, '\b')
	case 'f':
		d.text = append(d.text, '\f')
	case 'u':
		return d.unicodeEscape(b)
	default:
		return 0
	}
	return 2
}

func (d *decoder) unicodeEscape(b []byte) int {
	r, ok := hex4(b)
	if !ok {
		return 0
	}
	if r < 0xD800 || r > 0xDFFF {
		d.text = utf8.AppendRune(d.text, r)
		return 6
	}
	if r < 0xDC00 {
		if low, ok := hex4(b[6:]); ok && low >= 0xDC00 && low <= 0xDFFF {
			d.text = utf8.AppendRune(d.text, (r-0xD800)<<10|(low-0xDC00)+0x10000)
			return 12
		}
	}
	d.text = appendHalf(d.text, r)
	return 6
}

// hex4 reads \uXXXX at the start of b.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// skip moves behind the value at the current position, checking its grammar.
func (d *decoder) skip() {
	switch c := d.peek(); {
	case c == '"':
		if _, ok := d.span(); !ok {
			d.unescape()
		}
	case c == '{':
		if !d.enter() {
			return
		}
		d.pos++
		for first := true; ; first = false {
			key, more := d.key(first)
			if !more {
				break
			}
			if d.skip(); d.err != nil {
				d.under(string(key))
				return
			}
		}
		d.depth--
	case c == '[':
		d.array(func(int) { d.skip() })
	case c == '-' || '0' <= c && c <= '9':
		d.number()
	default:
		if d.literal("true") || d.literal("false") || d.literal("null") {
			return
		}
		d.fail("expected a value, not " + d.kind())
	}
}

func (d *decoder) literal(word string) bool {
	if d.err == nil && len(d.data)-d.pos >= len(word) && string(d.data[d.pos:d.pos+len(word)]) == word {
		d.pos += len(word)
		return true
	}
	return false
}

// number moves behind a number and returns its text.
func (d *decoder) number() []byte {
	start, b := d.pos, d.data
	i := d.pos
	digits := func() bool {
		from := i
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	ok := true
	if i < len(b) && b[i] == '0' {
		i++
	} else {
		ok = digits()
	}
	if ok && i < len(b) && b[i] == '.' {
		i++
		ok = digits()
	}
	if ok && i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		ok = digits()
	}
	if !ok {
		d.fail("bad number")
		return nil
	}
	d.pos = i
	return b[start:i]
}

// integer reads a number that JavaScript would call a safe integer, however it
// is spelled. Where it is not one: if round, the nearest towards zero, else a
// failure.
func (d *decoder) integer(round bool) int64 {
	if n, ok := d.plainInteger(); ok {
		return n
	}
	start := d.pos
	if c := d.peek(); c != '-' && (c < '0' || c > '9') {
		d.fail("must be an integer, not " + d.kind())
		return 0
	}
	text := d.number()
	if d.err != nil {
		return 0
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && -maxSafe <= n && n <= maxSafe {
		return n
	}
	f, err := strconv.ParseFloat(string(text), 64)
	whole := math.Trunc(f)
	if err != nil || math.Abs(whole) > maxSafe || whole != f && !round {
		d.pos = start
		d.fail("must be an integer of at most 2^53-1")
		return 0
	}
	if whole != f {
		d.report(start, "fraction cut off")
	}
	return int64(whole)
}

// plainInteger reads an integer of at most 15 digits without sign, fraction and
// exponent: what timestamps and counts are.
func (d *decoder) plainInteger() (int64, bool) {
	n, i := int64(0), d.pos
	for ; i < len(d.data) && '0' <= d.data[i] && d.data[i] <= '9'; i++ {
		n = n*10 + int64(d.data[i]-'0')
	}
	digits := i - d.pos
	if d.err != nil || digits == 0 || digits > 15 || digits > 1 && d.data[d.pos] == '0' {
		return 0, false
	}
	if i < len(d.data) && (d.data[i] == '.' || d.data[i] == 'e' || d.data[i] == 'E') {
		return 0, false
	}
	d.pos = i
	return n, true
}

// any reads a JSON value of any kind.
func (d *decoder) any() jsondoc.Value {
	start := d.pos
	switch c := d.peek(); {
	case c == '{' || c == '[':
		left := d.opts.MaxDepth - d.depth
		if left < 1 {
			d.enter() // fails, and says so
			return jsondoc.Value{}
		}
		d.pos = d.extent()
		return d.parse(start, left)
	case d.literal("null"):
		return jsondoc.Null
	case d.literal("true"):
		return jsondoc.True
	case d.literal("false"):
		return jsondoc.False
	}
	d.skip()
	if d.err != nil {
		return jsondoc.Value{}
	}
	return d.parse(start, d.opts.MaxDepth)
}

// extent returns where the object or array at the current position ends, if it
// is well-formed; if it is not, the parser will say so. One pass over the
// brackets is much cheaper than reading it twice.
func (d *decoder) extent() int {
	b, open := d.data, 0
	for i := d.pos; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			open++
		case '}', ']':
			if open--; open == 0 {
				return i + 1
			}
		case '"':
			for i++; i < len(b); {
				i += plainPrefix(b[i:])
				if i < len(b) && b[i] == '"' {
					break
				}
				if i < len(b) && b[i] == '\\' {
					i++
				}
				i++
			}
		}
	}
	return len(b)
}

// parse makes a document of the bytes from start to the current position.
func (d *decoder) parse(start, depth int) jsondoc.Value {
	v, err := jsondoc.Parse(d.data[start:d.pos], &jsondoc.ParseOptions{MaxDepth: depth, KeepLast: true, ReplaceInvalid: true})
	if err == nil {
		return v
	}
	d.pos = start
	var syntax *jsondoc.SyntaxError
	if errors.As(err, &syntax) {
		d.pos += syntax.Offset
		d.fail(syntax.Reason)
		d.err.Path = string(syntax.Path)
	} else {
		d.fail(err.Error())
	}
	return jsondoc.Value{}
}
