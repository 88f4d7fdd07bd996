package agui

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// Version selects a spelling of the wire. The zero value is the current one.
type Version uint8

const (
	// V1 is AG-UI 1.0.
	V1 Version = iota
	// V0 is what clients of 0.0.x accept: nothing that 0.0.58 rejects is
	// written. See [Respell].
	V0
)

// VersionFor returns the spelling for a peer that sent protocolVersion. Peers
// before 1.0 send none.
func VersionFor(protocolVersion string) Version {
	if protocolVersion == "" {
		return V0
	}
	return V1
}

// String returns "1.0" or "0.0".
func (v Version) String() string {
	if v == V0 {
		return "0.0"
	}
	return "1.0"
}

// AppendEvent appends the JSON of e in the spelling v and returns the longer
// slice. An event that has no V0 spelling appends nothing. It allocates only to
// grow dst, and in V0 for events that have to be respelled.
func AppendEvent(dst []byte, e Event, v Version) []byte {
	// Most of a stream are these two, spelled the same in both versions: they
	// take no detour.
	switch e := e.(type) {
	case *TextMessageContent:
		dst = append(dst, `{"type":"TEXT_MESSAGE_CONTENT"`...)
		return append(e.appendMembers(dst), '}')
	case *ToolCallArgs:
		dst = append(dst, `{"type":"TOOL_CALL_ARGS"`...)
		return append(e.appendMembers(dst), '}')
	}
	if v == V0 {
		var ok bool
		if e, ok = Respell(e, v); !ok {
			return dst
		}
	}
	if u, ok := e.(*Unknown); ok {
		return u.JSON.AppendJSON(dst)
	}
	dst = append(dst, `{"type":"`...)
	dst = append(dst, e.EventType()...)
	dst = append(dst, '"')
	dst = e.appendMembers(dst)
	return append(dst, '}')
}

// AppendFrame appends e as one SSE frame: an id line where id is not empty, a
// single data line, a blank line. Official clients split frames on LF LF only,
// so no CR is ever written. An event that has no V0 spelling appends nothing,
// its id included. An id must hold no line ending and no NUL; such characters
// are left out, because they would end the line.
func AppendFrame(dst []byte, id string, e Event, v Version) []byte {
	start := len(dst)
	if id != "" {
		dst = append(dst, "id: "...)
		dst = appendLine(dst, id)
		dst = append(dst, '\n')
	}
	dst = append(dst, "data: "...)
	body := len(dst)
	dst = AppendEvent(dst, e, v)
	if len(dst) == body {
		return dst[:start]
	}
	return append(dst, '\n', '\n')
}

// appendLine appends s without the characters that would end or void an SSE
// line.
func appendLine(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != '\n' && c != '\r' && c != 0 {
			dst = append(dst, c)
		}
	}
	return dst
}

// appendMember appends ,"name":"s".
func appendMember(dst []byte, name, s string) []byte {
	dst = appendName(dst, name)
	return appendString(dst, s)
}

// appendName appends ,"name": for a name that needs no escaping.
func appendName(dst []byte, name string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

func appendOptionalString(dst []byte, name, s string) []byte {
	if s == "" {
		return dst
	}
	return appendMember(dst, name, s)
}

func appendPresent(dst []byte, name string, s *string) []byte {
	if s == nil {
		return dst
	}
	return appendMember(dst, name, *s)
}

func appendBool(dst []byte, name string, b *bool) []byte {
	if b == nil {
		return dst
	}
	dst = appendName(dst, name)
	return strconv.AppendBool(dst, *b)
}

// appendInt appends n in decimal. Timestamps have 13 digits and most events have
// one: two halves of 32 bits are twice as fast as strconv's one of 64.
func appendInt(dst []byte, n int64) []byte {
	const half = 100_000_000
	if n < half || n >= half*half {
		return strconv.AppendInt(dst, n, 10)
	}
	dst = strconv.AppendUint(dst, uint64(n/half), 10)
	low := uint32(n % half)
	var b [8]byte
	for i := 6; i >= 0; i -= 2 {
		pair := low % 100 * 2
		low /= 100
		b[i], b[i+1] = pairs[pair], pairs[pair+1]
	}
	return append(dst, b[:]...)
}

// pairs are the decimal numbers of two digits, one after the other.
const pairs = "00010203040506070809" + "10111213141516171819" + "20212223242526272829" + "30313233343536373839" + "40414243444546474849" +
	"50515253545556575859" + "60616263646566676869" + "70717273747576777879" + "80818283848586878889" + "90919293949596979899"

func appendOptionalInt(dst []byte, name string, n *int64) []byte {
	if n == nil {
		return dst
	}
	return appendInt(appendName(dst, name), *n)
}

// appendOptional appends an optional JSON member: absent and null are left out,
// because 1.0 refuses null for optional members.
func appendOptional(dst []byte, name string, v jsondoc.Value) []byte {
	if v.IsAbsent() || v.IsNull() {
		return dst
	}
	return v.AppendJSON(appendName(dst, name))
}

// appendObject appends v where the schema demands an object. Anything else is
// a caller's mistake that must not break the stream: it is written as {}.
func appendObject(dst []byte, v jsondoc.Value) []byte {
	if v.Kind() != jsondoc.KindObject {
		return append(dst, "{}"...)
	}
	return v.AppendJSON(dst)
}

// appendExtra appends the members of an object of unknown members.
func appendExtra(dst []byte, extra jsondoc.Value) []byte {
	if extra.Kind() != jsondoc.KindObject {
		return dst
	}
	for name, v := range extra.Members() {
		dst = append(dst, ',')
		dst = appendString(dst, name)
		dst = append(dst, ':')
		dst = v.AppendJSON(dst)
	}
	return dst
}

// appendStrings appends a list of strings; nil is left out, empty is [].
func appendStrings(dst []byte, name string, list []string) []byte {
	if list == nil {
		return dst
	}
	dst = append(appendName(dst, name), '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, s)
	}
	return append(dst, ']')
}

// appendPatch appends a patch, [] for nil. It does not use Patch.AppendJSON
// only where the operations have extra members.
func appendPatch(dst []byte, p jsondoc.Patch, extras []jsondoc.Value) []byte {
	if len(p) == 0 {
		return append(dst, "[]"...)
	}
	if len(extras) != len(p) {
		return p.AppendJSON(dst)
	}
	dst = append(dst, '[')
	for i := range p {
		if i > 0 {
			dst = append(dst, ',')
		}
		at := len(dst)
		if knownOperation(p[i].Op) {
			dst = p[i : i+1].AppendJSON(dst)
			// That is one operation in brackets: take them off again.
			dst = append(dst[:at], dst[at+1:len(dst)-2]...)
		} else { // an operation that was kept: all but its name is extra
			dst = append(dst, `{"op":`...)
			dst = appendString(dst, p[i].Op)
		}
		dst = appendExtra(dst, extras[i])
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

const hexDigits = "0123456789abcdef"

// plain marks the ASCII bytes that a JSON string holds as they are.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// appendString appends s as a JSON string. Valid UTF-8 goes through unescaped;
// the three-byte form of a surrogate half becomes the escape it came from; any
// other invalid byte becomes U+FFFD.
//
// Most ids and many deltas are plain to their end, so they are looked at and
// copied in one go; room is made once.
func appendString(dst []byte, s string) []byte {
	dst = slices.Grow(dst, len(s)+2)
	at := len(dst) + 1
	whole := dst[:at+len(s)+1]
	whole[at-1] = '"'
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := load(s[i:])
		if special(x) != 0 {
			break
		}
		binary.LittleEndian.PutUint64(whole[at+i:], x)
	}
	for ; i < len(s) && plain[s[i]]; i++ {
		whole[at+i] = s[i]
	}
	if i == len(s) {
		whole[at+i] = '"'
		return whole
	}
	return append(appendEscaped(whole[:at+i], s[i:]), '"')
}

// appendEscaped appends what a JSON string holds for s. Where one escape is,
// others are near, as in JSON inside JSON: a block at a time is looked at byte
// by byte, with room made for the worst.
func appendEscaped(dst []byte, s string) []byte {
	const block = 32
	for len(s) > 0 {
		if s[0] >= utf8.RuneSelf {
			n := 1
			for n < len(s) && s[n] >= utf8.RuneSelf {
				n++
			}
			dst = appendUnicode(dst, s[:n])
			s = s[n:]
			continue
		}
		dst = slices.Grow(dst, 6*block)
		room := dst[len(dst):cap(dst)]
		n, at, escapes := min(len(s), block), 0, 0
		for i := range n {
			c := s[i]
			if c >= utf8.RuneSelf {
				n = i
				break
			}
			if plain[c] {
				room[at] = c
				at++
				continue
			}
			escapes++
			room[at] = '\\'
			if short := shortEscape[c]; short != 0 {
				room[at+1] = short
				at += 2
			} else {
				copy(room[at+1:], "u00")
				room[at+4], room[at+5] = hexDigits[c>>4], hexDigits[c&15]
				at += 6
			}
		}
		dst, s = dst[:len(dst)+at], s[n:]
		if escapes == 0 {
			n = plainLength(s)
			dst, s = append(dst, s[:n]...), s[n:]
		}
	}
	return dst
}

// shortEscape holds the letter of the escapes that have one.
var shortEscape = [256]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// appendUnicode appends a run of bytes that are not ASCII.
func appendUnicode(dst []byte, s string) []byte {
	if utf8.ValidString(s) {
		return append(dst, s...)
	}
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if half, ok := surrogateHalf(s); ok {
			dst = append(dst, '\\', 'u', hexDigits[half>>12], hexDigits[half>>8&15], hexDigits[half>>4&15], hexDigits[half&15])
			size = 3
		} else {
			dst = utf8.AppendRune(dst, r) // U+FFFD for what is invalid
		}
		s = s[size:]
	}
	return dst
}

// plainLength is plainPrefix for strings.
func plainLength(s string) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		if m := special(load(s[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(s) && plain[s[i]]; i++ {
	}
	return i
}

// load returns the first eight bytes of s, the first one lowest.
func load(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// surrogateHalf reads the three-byte form of a surrogate half at the start of
// s: what UTF-8 would be if it allowed U+D800 to U+DFFF.
func surrogateHalf(s string) (half rune, ok bool) {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2] < 0x80 || s[2] > 0xBF {
		return 0, false
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), true
}

// appendHalf appends the three-byte form of a surrogate half.
func appendHalf(dst []byte, half rune) []byte {
	return append(dst, 0xED, 0x80|byte(half>>6&0x3F), 0x80|byte(half&0x3F))
}

// value is short for the type of everything that is any JSON.
type value = jsondoc.Value

// present reports whether an optional member is there.
func present(v jsondoc.Value) bool { return !v.IsAbsent() && !v.IsNull() }
