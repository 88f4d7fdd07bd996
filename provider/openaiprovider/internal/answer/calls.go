package answer

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/message"
)

// maxCalls bounds the calls of one model turn. No model makes a thousand; a broken
// server that opens one with every chunk does.
const maxCalls = 1024

// callDelta is what one entry of a chunk says about a tool call, with everything empty
// that the server left out.
type callDelta struct {
	place     integer // the server's index
	id        string
	name      string
	arguments fragment
}

// callTable finds out which call a fragment belongs to. The protocol is simple (index
// says which, the first fragment has id and name) and kept by few: servers leave the
// index out, send 0 for every call, send the id or the name again with each fragment or
// with the second one only, a new random id with each fragment, or no id at all. The
// rules, so that two calls are never merged and none is split:
//
//  1. A known id means its call, unless name and another index say that the server gave
//     one id to two calls.
//  2. Otherwise the index tells the place, and without an index the place is the call
//     that was opened last. At a place nobody has seen, a fragment with an id or a name
//     opens a call; one with neither can only go on with the last.
//  3. At a known place a fragment opens another call only if it has a name, since no
//     call can begin without, and something says that it is another one: another name,
//     or another id, or no id but a new object after a complete one. (The name may come
//     first and the object with the next fragment.)
//  4. Everything else goes on with the call at the place.
//
// A call keeps the id that it was opened with; one without gets one from here.
// Fragments are held back until the name is known.
type callTable struct {
	calls   []*openCall
	byID    map[string]*openCall // every id that a server used for a call
	byPlace map[int]*openCall
	last    *openCall
	sent    int // calls of which something was passed on
}

// openCall is a call that the model is writing.
type openCall struct {
	index    int    // among those of which something was passed on
	id       string // what we call it
	serverID string // what the server called it first; empty as long as it did not
	place    integer
	name     string
	half     pair
	json     jsonScan
	held     []byte // arguments that came before the name
	sent     bool
	again    bool // the name came once more, with nothing, after the arguments were complete
}

var errTooManyCalls = fmt.Errorf("the model made more than %d tool calls in one turn", maxCalls)

// errNamelessCall says that arguments came for a call that never got a name.
var errNamelessCall = errors.New("a tool call without a name")

// add takes one fragment and returns what it adds to its call, or nil if there is
// nothing to pass on.
func (t *callTable) add(d callDelta) (*message.FunctionCallDelta, error) {
	c := t.find(d)
	if c != nil && c.again && d.id == "" && d.name == "" && c.json.complete() && beginsObject(d.arguments.text) {
		c, d.name = nil, c.name // so the name did open another call of the same tool
	}
	if c == nil {
		if d.id == "" && d.name == "" && d.arguments.text == "" {
			return nil, nil
		}
		if len(t.calls) == maxCalls {
			return nil, errTooManyCalls
		}
		c = t.open(d)
	}
	return t.extend(c, d), nil
}

// find returns the call that d goes on with, or nil if d opens one.
func (t *callTable) find(d callDelta) *openCall {
	var at *openCall
	if d.place.set {
		at = t.byPlace[d.place.n]
	}
	if c := t.byID[d.id]; c != nil && d.id != "" {
		switch {
		case at != nil && at.serverID == d.id:
			return at
		case d.name != "" && d.place.set && c.place.set && d.place.n != c.place.n:
			return nil
		}
		return c
	}
	if !d.place.set || at == nil && d.id == "" && d.name == "" {
		at = t.last
	}
	if at == nil || d.name == "" || at.name == "" {
		return at
	}
	switch {
	case d.name != at.name:
		return nil
	case d.id == "":
		// A name that is sent again with a new object: another call of the same tool,
		// from a server without ids. Only after "{}" at one index it is more likely a
		// server that begins every call with an empty object.
		if at.json.complete() && beginsObject(d.arguments.text) && (!d.place.set || !at.json.empty) {
			return nil
		}
		return at
	case at.serverID == "" && !at.json.complete():
		return at // the id that did not come with the first fragment
	}
	return nil
}

func beginsObject(arguments string) bool {
	return strings.HasPrefix(strings.TrimLeft(arguments, " \t\r\n"), "{")
}

func (t *callTable) open(d callDelta) *openCall {
	if t.byID == nil {
		t.byID, t.byPlace = make(map[string]*openCall), make(map[int]*openCall)
	}
	c := &openCall{id: d.id, place: d.place}
	if d.id == "" || t.byID[d.id] != nil {
		c.id = "call_" + rand.Text()
		t.byID[c.id] = c
	}
	t.calls = append(t.calls, c)
	t.last = c
	return c
}

// extend adds a fragment to its call.
func (t *callTable) extend(c *openCall, d callDelta) *message.FunctionCallDelta {
	if d.id != "" && t.byID[d.id] == nil && len(t.byID) < 4*maxCalls { // a server may send a new one for ever
		t.byID[d.id] = c
	}
	if c.serverID == "" {
		c.serverID = d.id
	}
	if d.place.set && c.place == d.place {
		t.byPlace[d.place.n] = c
	}
	if c.name == "" {
		c.name = d.name
	}
	arguments := c.half.join(d.arguments)
	c.again = c.sent && d.name != "" && d.id == "" && arguments == "" && c.json.complete()
	restart := c.json.write(arguments)
	if !c.sent {
		if restart { // nobody has seen what was before
			c.held, restart = nil, false
		}
		if c.name == "" {
			c.held = append(c.held, arguments...)
			return nil
		}
		if c.held != nil {
			arguments, c.held = string(c.held)+arguments, nil
		}
		c.sent, c.index = true, t.sent
		t.sent++
	} else if arguments == "" {
		return nil
	}
	return &message.FunctionCallDelta{Index: c.index, CallID: c.id, Name: c.name, Arguments: arguments, Restart: restart}
}

// end says whether the calls can be handed over. A call that never got a name and never
// said anything is forgotten.
func (t *callTable) end() error {
	for _, c := range t.calls {
		if c.name == "" && len(bytes.TrimSpace(c.held)) > 0 {
			return errNamelessCall
		}
	}
	return nil
}

// jsonScan follows JSON text just far enough to know where its first value ends. It
// does not check the text; that is done once, on the whole, by whoever runs the tool.
type jsonScan struct {
	depth int
	state scanState
	empty bool // nothing in it so far
}

type scanState uint8

const (
	scanStart scanState = iota
	scanInside
	scanString
	scanEscape
	scanComplete
)

func (s *jsonScan) complete() bool { return s.state == scanComplete }

// write takes the next piece. It reports true if the piece begins a new object behind a
// complete one: the text so far does not count any more.
func (s *jsonScan) write(text string) (restarted bool) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if s.state == scanString {
			switch c {
			case '\\':
				s.state = scanEscape
			case '"':
				s.state = scanInside
				if s.depth == 0 {
					s.state = scanComplete
				}
			}
			continue
		}
		if s.state == scanEscape {
			s.state = scanString
			continue
		}
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			continue
		}
		if s.state == scanComplete {
			// Only at the beginning of a fragment: "{}{}" in one piece is what the
			// model wrote, and no JSON.
			if c != '{' || strings.TrimLeft(text[:i], " \t\r\n") != "" {
				continue
			}
			*s, restarted = jsonScan{}, true
		}
		switch c {
		case '"':
			s.state, s.empty = scanString, false
		case '{', '[':
			s.empty = s.depth == 0
			s.depth++
			s.state = scanInside
		case '}', ']':
			s.depth--
			if s.depth <= 0 {
				s.state = scanComplete
			}
		default:
			s.state, s.empty = scanInside, false
		}
	}
	return restarted
}
