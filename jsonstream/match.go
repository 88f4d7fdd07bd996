package jsonstream

import (
	"strconv"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// matcher follows one pointer through the text as it is read.
type matcher struct {
	tokens []string
	index  []int // tokens that can be a position in an array; -1 for the others
	depth  int   // how many tokens the open containers match
}

func newMatcher(p jsondoc.Pointer) matcher {
	m := matcher{tokens: p.Tokens()}
	for _, t := range m.tokens {
		i, err := strconv.Atoi(t)
		if err != nil || strconv.Itoa(i) != t {
			i = -1
		}
		m.index = append(m.index, i)
	}
	return m
}

// begin says whether the value that begins now is the one pointed at. Calls must
// be balanced by calls of end, for values down to len(tokens) levels.
func (p *matcher) begin(m *machine) bool {
	level := len(m.stack)
	if level > len(p.tokens) {
		return false
	}
	if level > 0 {
		if p.depth != level-1 {
			return false
		}
		f := m.top()
		if f.array && p.index[level-1] != f.count || !f.array && p.tokens[level-1] != f.name {
			return false
		}
		p.depth = level
	}
	return level == len(p.tokens)
}

// end undoes what begin noted about the value that ends now, and says whether it
// is the one pointed at.
func (p *matcher) end(m *machine) bool {
	level := len(m.stack)
	if level > len(p.tokens) || p.depth != level {
		return false
	}
	if level > 0 {
		p.depth = level - 1
	}
	return level == len(p.tokens)
}
