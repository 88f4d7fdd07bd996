package record

import (
	"bytes"
	"fmt"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// scanner walks over the members of one JSON object and finds where each value
// ends, without reading what is in it: each value is given to whoever knows how
// to read it, so that nothing is read twice. It sees strings and brackets only;
// what else is wrong with a value its reader finds out.
type scanner struct {
	data []byte
	pos  int
	any  bool // a member was read
}

// open reads the opening brace.
func (s *scanner) open() error {
	if s.space(); s.peek() != '{' {
		return s.fail("want an object")
	}
	s.pos++
	return nil
}

// next returns the next member; ok is false at the object's end.
func (s *scanner) next() (name string, value []byte, ok bool, err error) {
	s.space()
	if s.peek() == '}' {
		s.pos++
		return "", nil, false, nil
	}
	if s.any {
		if s.peek() != ',' {
			return "", nil, false, s.fail("want a comma or the object's end")
		}
		s.pos++
		s.space()
	}
	s.any = true
	if name, err = s.name(); err != nil {
		return "", nil, false, err
	}
	s.space()
	if s.peek() != ':' {
		return "", nil, false, s.fail("want a colon")
	}
	s.pos++
	s.space()
	start := s.pos
	if err := s.skip(); err != nil {
		return "", nil, false, err
	}
	if s.pos == start {
		return "", nil, false, s.fail("want a value")
	}
	return name, s.data[start:s.pos], true, nil
}

// end makes sure that nothing follows the object.
func (s *scanner) end() error {
	if s.space(); s.pos < len(s.data) {
		return s.fail("something follows the object")
	}
	return nil
}

func (s *scanner) name() (string, error) {
	start := s.pos
	if s.peek() != '"' {
		return "", s.fail("want a member's name")
	}
	if err := s.string(); err != nil {
		return "", err
	}
	raw := s.data[start:s.pos]
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	v, err := jsondoc.Parse(raw, nil)
	return v.Str(), err
}

// skip moves behind a value.
func (s *scanner) skip() error {
	depth := 0
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case '"':
			if err := s.string(); err != nil {
				return err
			}
			if depth == 0 {
				return nil
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return nil // of the object around it: a literal or number ended
			}
			if depth--; depth == 0 {
				s.pos++
				return nil
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return nil
			}
		}
		s.pos++
	}
	if depth > 0 {
		return s.fail("the text ends inside a value")
	}
	return nil
}

// string moves behind a string.
func (s *scanner) string() error {
	for i := s.pos + 1; i < len(s.data); i++ {
		switch s.data[i] {
		case '\\':
			i++
		case '"':
			s.pos = i + 1
			return nil
		}
	}
	s.pos = len(s.data)
	return s.fail("the text ends inside a string")
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) fail(reason string) error {
	return fmt.Errorf("%s at byte %d", reason, s.pos)
}
