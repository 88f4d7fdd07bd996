package jsonstream

import (
	"strconv"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// spot is where and how a value is first put into a document.
type spot struct {
	op    string          // "replace" where the place exists, "add" where it does not
	path  jsondoc.Pointer // the operation's: the place, or its topmost missing parent
	wrap  []string        // members between path and the place that are made with it
	place jsondoc.Pointer // the place's own pointer, with "-" resolved
}

// locate finds the spot for target in view. It is false where no patch can put a
// value there: below a string, number or literal other than null, at an array
// index that leaves a gap, or through a name that clients refuse.
//
// null counts as missing and becomes an object when something is put below it:
// it is how schemas say "not yet".
func locate(view jsondoc.Value, target jsondoc.Pointer) (spot, bool) {
	tokens := target.Tokens()
	if refused(tokens...) {
		return spot{}, false
	}
	s := spot{op: "replace"}
	if view.IsAbsent() {
		s.op = "add"
	}
	at := view
	for i, token := range tokens {
		switch at.Kind() {
		case jsondoc.KindAbsent, jsondoc.KindNull:
			s.wrap = tokens[i:]
			s.place = s.path
			for _, t := range s.wrap {
				s.place = s.place.Child(t)
			}
			return s, true
		case jsondoc.KindObject:
			s.path = s.path.Child(token)
			child, ok := at.Get(token)
			if !ok {
				s.op = "add"
			}
			at = child
		case jsondoc.KindArray:
			n, err := strconv.Atoi(token)
			switch {
			case token == "-":
				n = at.Len()
			case err != nil || n < 0 || n > at.Len() || strconv.Itoa(n) != token:
				return spot{}, false
			}
			s.path = s.path.Index(n)
			if n == at.Len() {
				s.op, at = "add", jsondoc.Value{}
			} else {
				at = at.Item(n)
			}
		default:
			return spot{}, false
		}
	}
	s.place = s.path
	return s, true
}

// operation puts v at the spot.
func (s *spot) operation(v jsondoc.Value) jsondoc.Operation {
	for i := len(s.wrap) - 1; i >= 0; i-- {
		v = jsondoc.Object(jsondoc.Member{Name: s.wrap[i], Value: v})
	}
	return jsondoc.Operation{Op: s.op, Path: s.path, Value: v}
}

// cost is what the operation costs for a value of size bytes.
func (s *spot) cost(size int) cost {
	c := addCost(encodedLen(string(s.path)), size)
	if s.op == "replace" {
		c = replaceCost(encodedLen(string(s.path)), size)
	}
	for _, w := range s.wrap {
		c.frame += len(`{"":}`) + encodedLen(w)
	}
	return c
}

// refused reports whether a path through these names is one that the official
// client's patch library refuses, since it would reach a prototype.
func refused(tokens ...string) bool {
	for i, t := range tokens {
		if t == "__proto__" || t == "prototype" && i > 0 && tokens[i-1] == "constructor" {
			return true
		}
	}
	return false
}

// cost is what operations cost on the wire, in bytes of their encoding.
type cost struct {
	value  int  // the values in them
	frame  int  // what is around the values: names, paths, commas
	repeat bool // something that the view has already is sent again
}

const (
	addFrame     = len(`{"op":"add","path":"","value":},`)
	replaceFrame = len(`{"op":"replace","path":"","value":},`)
	removeFrame  = len(`{"op":"remove","path":""},`)
	patchFrame   = len(`[]`) - len(`,`)

	// never is the cost of operations that cannot be made.
	never = 1 << 40
)

func addCost(path, value int) cost     { return cost{value: value, frame: addFrame + path} }
func replaceCost(path, value int) cost { return cost{value: value, frame: replaceFrame + path} }

func (c cost) plus(d cost) cost {
	return cost{c.value + d.value, c.frame + d.frame, c.repeat || d.repeat}
}

func (c cost) total() int { return c.value + c.frame }
