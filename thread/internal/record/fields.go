package record

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// depth bounds the nesting of a value. Clients may nest 512 deep; an event and
// a patch add their own levels to that.
const depth = 1024

// Uint is a number; 0 is left out.
func Uint[T any](name string, field func(*T) *uint64) Member[T] {
	return Member[T]{
		name: name,
		append: func(dst []byte, of *T) []byte {
			if n := *field(of); n != 0 {
				return strconv.AppendUint(dst, n, 10)
			}
			return dst
		},
		read: func(text []byte, of *T) (err error) {
			*field(of), err = strconv.ParseUint(string(text), 10, 64)
			return plain(err)
		},
	}
}

// Bool is a flag; false is left out.
func Bool[T any](name string, field func(*T) *bool) Member[T] {
	return Member[T]{
		name: name,
		append: func(dst []byte, of *T) []byte {
			if *field(of) {
				return append(dst, "true"...)
			}
			return dst
		},
		read: func(text []byte, of *T) error {
			if string(text) != "true" {
				return fmt.Errorf("%q is not true", clip(string(text)))
			}
			*field(of) = true
			return nil
		},
	}
}

// Time is a time in Unix milliseconds, read as UTC; the zero time is left out.
func Time[T any](name string, field func(*T) *time.Time) Member[T] {
	return Member[T]{
		name: name,
		append: func(dst []byte, of *T) []byte {
			if t := *field(of); !t.IsZero() {
				return strconv.AppendInt(dst, t.UnixMilli(), 10)
			}
			return dst
		},
		read: func(text []byte, of *T) error {
			ms, err := strconv.ParseInt(string(text), 10, 64)
			if err != nil {
				return plain(err)
			}
			*field(of) = time.UnixMilli(ms).UTC()
			return nil
		},
	}
}

// String is a string; the empty one is left out. Bytes that are not UTF-8
// become U+FFFD.
func String[T any](name string, field func(*T) *string) Member[T] {
	return Member[T]{
		name: name,
		append: func(dst []byte, of *T) []byte {
			if s := *field(of); s != "" {
				return jsondoc.String(s).AppendJSON(dst)
			}
			return dst
		},
		read: func(text []byte, of *T) error {
			v, err := jsondoc.Parse(text, nil)
			if err != nil {
				return err
			}
			if v.Kind() != jsondoc.KindString {
				return fmt.Errorf("is of kind %s, want a string", v.Kind())
			}
			*field(of) = v.Str()
			return nil
		},
	}
}

// Value is a document; an absent one is left out, null is not.
func Value[T any](name string, field func(*T) *jsondoc.Value) Member[T] {
	return Member[T]{
		name: name,
		append: func(dst []byte, of *T) []byte {
			if v := *field(of); !v.IsAbsent() {
				return v.AppendJSON(dst)
			}
			return dst
		},
		read: func(text []byte, of *T) (err error) {
			*field(of), err = jsondoc.Parse(text, &jsondoc.ParseOptions{MaxDepth: depth})
			return err
		},
	}
}

// Patch is a patch; nil is left out. An empty one is something else than none:
// a change that changes nothing is a change all the same.
func Patch[T any](name string, field func(*T) *jsondoc.Patch) Member[T] {
	return Member[T]{
		name: name,
		append: func(dst []byte, of *T) []byte {
			if p := *field(of); p != nil {
				return p.AppendJSON(dst)
			}
			return dst
		},
		read: func(text []byte, of *T) error {
			doc, err := jsondoc.Parse(text, &jsondoc.ParseOptions{MaxDepth: depth})
			if err != nil {
				return err
			}
			*field(of), err = jsondoc.PatchFrom(doc)
			return err
		},
	}
}

// Event is an event in its 1.0 form, members that this program does not know
// included; nil is left out.
func Event[T any](name string, field func(*T) *agui.Event) Member[T] {
	return Member[T]{
		name: name,
		append: func(dst []byte, of *T) []byte {
			if e := *field(of); e != nil {
				return agui.AppendEvent(dst, e, agui.V1)
			}
			return dst
		},
		read: func(text []byte, of *T) (err error) {
			*field(of), err = agui.DecodeEvent(text, &agui.DecodeOptions{KeepUnknown: true, MaxDepth: depth})
			return err
		},
	}
}

// Object is an object in the object; nil is left out.
func Object[T, O any](name string, field func(*T) **O, ms Members[O]) Member[T] {
	return Member[T]{
		name: name,
		append: func(dst []byte, of *T) []byte {
			if o := *field(of); o != nil {
				return append(ms.append(append(dst, '{'), o, false), '}')
			}
			return dst
		},
		read: func(text []byte, of *T) error {
			s, o := scanner{data: text}, new(O)
			if err := s.open(); err != nil {
				return err
			}
			if err := ms.read(&s, o); err != nil {
				return err
			}
			*field(of) = o
			return s.end()
		},
	}
}

// plain takes strconv's frame off an error: it repeats the whole input.
func plain(err error) error {
	var e *strconv.NumError
	if errors.As(err, &e) {
		return fmt.Errorf("%q: %w", clip(e.Num), e.Err)
	}
	return err
}
