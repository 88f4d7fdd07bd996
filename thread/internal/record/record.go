// Package record keeps Go structs as JSON objects whose members are listed in
// one table. What is read back is what was written: numbers digit for digit,
// members in their order, null apart from absent.
package record

import (
	"fmt"
	"strconv"
)

// Member is a field of T in its stored form.
type Member[T any] struct {
	name string
	// append appends the value; nothing, where it is to be left out.
	append func(dst []byte, of *T) []byte
	// read reads the value's text, whose end was found but which nobody has
	// checked.
	read func(text []byte, of *T) error
}

// Members are the members of a T, in the order in which they are written. There
// are at most 64. Names must need no escaping.
type Members[T any] []Member[T]

// Append appends a T as compact JSON. The first member, "v", is the version of
// the form.
func Append[T any](dst []byte, version int, ms Members[T], of *T) []byte {
	dst = append(dst, `{"v":`...)
	dst = strconv.AppendInt(dst, int64(version), 10)
	return append(ms.append(dst, of, true), '}')
}

// Read reads what Append wrote. Members may come in any order behind the
// version; one that is not listed is an error, because a reader that passed
// over it would make something else of the record than its writer meant. What
// is read shares no memory with data. After an error of is not to be used.
func Read[T any](data []byte, version int, ms Members[T], of *T) error {
	s := scanner{data: data}
	if err := s.open(); err != nil {
		return err
	}
	name, text, _, err := s.next()
	switch {
	case err != nil:
		return err
	case name != "v":
		return fmt.Errorf(`the first member is %q, want the version "v"`, clip(name))
	case string(text) != strconv.Itoa(version):
		return fmt.Errorf("it has version %s, this program reads version %d", clip(string(text)), version)
	}
	if err := ms.read(&s, of); err != nil {
		return err
	}
	return s.end()
}

// append appends the members that are there. more says that there is one
// before them.
func (ms Members[T]) append(dst []byte, of *T, more bool) []byte {
	for i := range ms {
		before := len(dst)
		if more {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, ms[i].name...)
		dst = append(dst, '"', ':')
		value := len(dst)
		if dst = ms[i].append(dst, of); len(dst) == value {
			dst = dst[:before]
			continue
		}
		more = true
	}
	return dst
}

// read reads the rest of an object.
func (ms Members[T]) read(s *scanner, of *T) error {
	var seen uint64
	for {
		name, text, ok, err := s.next()
		if err != nil || !ok {
			return err
		}
		i := ms.index(name)
		switch {
		case i < 0:
			return fmt.Errorf("member %q is not known to this program; a newer version wrote it", clip(name))
		case seen&(1<<i) != 0:
			return fmt.Errorf("member %q is there twice", name)
		}
		seen |= 1 << i
		if err := ms[i].read(text, of); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
}

func (ms Members[T]) index(name string) int {
	for i := range ms {
		if ms[i].name == name {
			return i
		}
	}
	return -1
}

// clip bounds what foreign bytes may put into an error.
func clip(s string) string {
	const most = 60
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
