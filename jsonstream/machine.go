package jsonstream

import (
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// machine is the push-down automaton below Parser and Predictor. It holds what
// is known of the text so far: complete values as immutable jsondoc.Values, and
// the containers that are still open as frames on a stack. A container becomes a
// Value once, when it closes, so the whole text costs linear time; a Value of
// what is still open is only made when somebody asks.
//
// scan.go feeds it bytes; this file is about values.
type machine struct {
	state  state
	inKey  bool // the open string is a member's name
	offset int  // bytes before the current fragment
	limits limits
	err    *Error

	stack   []frame
	items   []jsondoc.Value  // complete items of all open arrays, outermost first
	members []jsondoc.Member // complete members of all open objects, outermost first
	root    jsondoc.Value    // the top-level value, once complete
	single  bool             // stop at the end of the top-level value
	again   *machine         // reads what may be a repetition of the top-level value
	againAt int              // where that began

	text   []byte // the open string's text in whole runes, or the open number's
	extra  int    // how many bytes text's encoding is longer than text
	run    [2]int // where in the fragment the piece is that was last appended to text
	part   [4]byte
	parts  int    // bytes in part: the beginning of a rune
	high   rune   // first half of a surrogate pair whose second is due
	hex    rune   // value of the digits of an open \u escape
	digit  int    // how many they are
	word   string // what is left of an open literal
	lit    jsondoc.Value
	number numberState
	names  nameCache

	stringBytes int // encoded size of all strings completed so far, names excepted

	watch observer
}

// observer is told about values. It may look at the machine, whose stack then
// holds the value's parents.
type observer interface {
	begin(kind jsondoc.Kind)
	end(v jsondoc.Value)
}

type limits struct {
	depth, bytes int
	repeats      bool
}

// frame is an open container.
type frame struct {
	array    bool
	inMember bool   // a member's name is complete and its value is not
	name     string // that member's name
	nameSize int    // bytes of its encoding, quotes included
	base     int    // where its children begin in items or members
	count    int    // complete children
	size     int    // bytes of the compact encoding up to and with the last complete child
	seen     map[string]struct{}
}

// fewNames is up to how many members the search for a duplicate goes through
// them one by one.
const fewNames = 10

func (m *machine) top() *frame { return &m.stack[len(m.stack)-1] }

// begin reports a value that begins here.
func (m *machine) begin(kind jsondoc.Kind) {
	if m.watch != nil {
		m.watch.begin(kind)
	}
}

func (m *machine) open(array bool, at int) {
	if len(m.stack) >= m.limits.depth {
		m.fail(TooDeep, at, "more arrays and objects inside each other than the limit allows")
		return
	}
	f := frame{array: array, size: 1}
	kind := jsondoc.KindObject
	m.state = atFirstName
	f.base = len(m.members)
	if array {
		kind, m.state = jsondoc.KindArray, atFirstItem
		f.base = len(m.items)
	}
	m.begin(kind)
	m.stack = append(m.stack, f)
}

func (m *machine) close() {
	f := m.top()
	var v jsondoc.Value
	if f.array {
		v = jsondoc.Array(m.items[f.base:]...)
		m.items = m.items[:f.base]
	} else {
		v = jsondoc.Object(m.members[f.base:]...)
		m.members = m.members[:f.base]
	}
	m.stack = m.stack[:len(m.stack)-1]
	m.complete(v)
}

// complete takes a value that is known whole into its parent.
func (m *machine) complete(v jsondoc.Value) {
	if m.watch != nil {
		m.watch.end(v)
	}
	if len(m.stack) == 0 {
		m.root, m.state = v, afterRoot
		return
	}
	f := m.top()
	if f.count > 0 {
		f.size++
	}
	f.size += v.Size()
	f.count++
	if f.array {
		m.items = append(m.items, v)
	} else {
		f.size += f.nameSize + 1
		m.members = append(m.members, jsondoc.Member{Name: f.name, Value: v})
		f.inMember = false
	}
	m.state = afterValue
}

func (m *machine) completeString() {
	m.stringBytes += m.openSize()
	m.complete(jsondoc.String(string(m.text)))
}

func (m *machine) completeScalar(v jsondoc.Value) {
	m.begin(v.Kind())
	m.complete(v)
}

func (m *machine) completeNumber(at int) {
	if n, ok := plainInt(m.text); ok {
		m.completeScalar(jsondoc.Int(n))
		return
	}
	v, err := jsondoc.Number(string(m.text))
	if err != nil {
		m.fail(Invalid, at, err.Error())
		return
	}
	m.completeScalar(v)
}

// plainInt reads the integers whose text is the one that jsondoc.Int would write:
// most numbers are, and this way they are not copied twice, or not made at all.
func plainInt(text []byte) (n int64, ok bool) {
	if len(text) > 18 || text[0] < '1' && len(text) > 1 { // -1, 01
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

func (m *machine) completeName(at int) {
	f := m.top()
	name := m.names.get(m.text)
	if m.isDuplicate(f, name) {
		m.fail(Duplicate, at, "the member "+quoted(name)+" is there twice")
		return
	}
	f.name, f.nameSize, f.inMember = name, m.openSize(), true
	m.inKey, m.state = false, atColon
}

func (m *machine) isDuplicate(f *frame, name string) bool {
	members := m.members[f.base:]
	if f.count <= fewNames {
		for i := range members {
			if members[i].Name == name {
				return true
			}
		}
		return false
	}
	if f.seen == nil {
		f.seen = make(map[string]struct{}, 4*fewNames)
		for i := range members {
			f.seen[members[i].Name] = struct{}{}
		}
	}
	if _, ok := f.seen[name]; ok {
		return true
	}
	f.seen[name] = struct{}{}
	return false
}

// openSize is the size of the open string's encoding, quotes included.
func (m *machine) openSize() int { return len(m.text) + m.extra + 2 }

// stringOpen reports whether a string value is open and has begun to show. An
// open string without a character does not show: to blank a field for the moment
// until its first character comes helps nobody.
func (m *machine) stringOpen() bool {
	return m.state >= inString && m.state <= inLow && !m.inKey && len(m.text) > 0
}

// sizes sets out[i] to the encoded size of the open container at stack level
// from+i as it shows now, and returns the slice.
func (m *machine) sizes(from int, out []int) []int {
	n := len(m.stack) - from
	if cap(out) < n {
		out = make([]int, n)
	}
	out = out[:n]
	child := 0
	if m.stringOpen() {
		child = m.openSize()
	}
	for i := n - 1; i >= 0; i-- {
		f := &m.stack[from+i]
		size := f.size + 1
		if child > 0 {
			size += child
			if f.count > 0 {
				size++
			}
			if !f.array {
				size += f.nameSize + 1
			}
		}
		out[i], child = size, size
	}
	return out
}

// partial makes the Value of what shows at a stack level: the open container
// there, or below the stack the open string. It is absent if nothing shows.
// The cost is the number of children of the open containers from level on.
func (m *machine) partial(level int) jsondoc.Value {
	var child jsondoc.Value
	if m.stringOpen() {
		child = jsondoc.String(string(m.text))
	}
	for i := len(m.stack) - 1; i >= level; i-- {
		child = m.container(i, child)
	}
	return child
}

// container makes the Value of the frame i with its open child, which may be absent.
func (m *machine) container(i int, child jsondoc.Value) jsondoc.Value {
	f := &m.stack[i]
	if f.array {
		items := m.items[f.base : f.base+f.count]
		if !child.IsAbsent() {
			items = append(append(make([]jsondoc.Value, 0, f.count+1), items...), child)
		}
		return jsondoc.Array(items...)
	}
	members := m.members[f.base : f.base+f.count]
	if !child.IsAbsent() {
		members = append(append(make([]jsondoc.Member, 0, f.count+1), members...), jsondoc.Member{Name: f.name, Value: child})
	}
	return jsondoc.Object(members...)
}

// value is what shows of the whole text.
func (m *machine) value() jsondoc.Value {
	if !m.root.IsAbsent() {
		return m.root
	}
	return m.partial(0)
}

// path is where the machine stands: the innermost open value.
func (m *machine) path() jsondoc.Pointer {
	var p []byte
	for i := range m.stack {
		f := &m.stack[i]
		switch {
		case f.array && (i+1 < len(m.stack) || m.state != afterValue):
			p = strconv.AppendInt(append(p, '/'), int64(f.count), 10)
		case f.inMember:
			p = appendToken(p, f.name)
		}
	}
	return jsondoc.Pointer(p)
}

// appendToken appends a token to a pointer. Pointer.Child copies the pointer, so
// that one with n tokens would cost n².
func appendToken(p []byte, token string) []byte {
	p = append(p, '/')
	for i := range len(token) {
		switch c := token[i]; c {
		case '~':
			p = append(p, "~0"...)
		case '/':
			p = append(p, "~1"...)
		default:
			p = append(p, c)
		}
	}
	return p
}

// fail ends the reading. What was correct stays as it is.
func (m *machine) fail(kind ErrorKind, at int, reason string) {
	m.err = &Error{Kind: kind, Offset: at, Path: m.path(), Reason: reason}
}

// end gives the verdict.
func (m *machine) end() (jsondoc.Value, *Error) {
	if m.err != nil {
		return jsondoc.Value{}, m.err
	}
	at := m.offset
	switch {
	case m.state == afterEmptyRoot:
		m.close()
	case m.state == inNumber && len(m.stack) == 0 && m.number.whole():
		m.completeNumber(at)
	case m.state == inRepetition:
		m.endRepetition()
	}
	if m.err == nil && m.root.IsAbsent() {
		m.fail(Truncated, at, "the text ends "+m.state.where(m.inKey))
	}
	if m.err != nil {
		return jsondoc.Value{}, m.err
	}
	m.state = afterEnd
	return m.root, nil
}

// endRepetition accepts a second value if it says the same as the first.
func (m *machine) endRepetition() {
	v, err := m.again.end()
	if err == nil && v.Size() == m.root.Size() && v.String() == m.root.String() {
		return
	}
	m.fail(Trailing, m.againAt, "a second value follows the first and is not the same")
}

// nameCache saves making the names of equal objects again and again. A lost
// entry costs one allocation, so it needs no more than one probe.
type nameCache [64]string

func (c *nameCache) get(text []byte) string {
	n := len(text)
	if n == 0 {
		return ""
	}
	if n > 48 {
		return string(text)
	}
	slot := &c[(uint(text[0])*31+uint(text[n-1])*7+uint(text[n/2])*3+uint(n))%64]
	if *slot != string(text) {
		*slot = string(text)
	}
	return *slot
}

// quoted shortens a name for a message.
func quoted(name string) string {
	const most = 60
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return jsondoc.String(name).String()
}
