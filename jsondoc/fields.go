package jsondoc

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// field is a struct's field as encoding/json sees it.
type field struct {
	name      string
	index     []int // as in reflect.Value.FieldByIndex
	tagged    bool  // the tag says the name
	omitEmpty bool
	omitZero  bool
	quoted    bool
}

var fieldCache sync.Map // reflect.Type → []field

// structFields returns the fields that a struct's document has, in their order.
func structFields(t reflect.Type) []field {
	if f, ok := fieldCache.Load(t); ok {
		return f.([]field)
	}
	f, _ := fieldCache.LoadOrStore(t, visibleFields(collectFields(t)))
	return f.([]field)
}

// collectFields walks a struct and, level by level, the structs embedded in it.
func collectFields(t reflect.Type) []field {
	type embedded struct {
		t     reflect.Type
		index []int
	}
	var fields []field
	seen := map[reflect.Type]bool{}
	for level := []embedded{{t, nil}}; len(level) > 0; {
		var next []embedded
		// A type that is embedded twice at one level is walked twice: its
		// fields then hide one another, as Go's own rules have it.
		for _, e := range level {
			if seen[e.t] {
				continue
			}
			for i := range e.t.NumField() {
				sf := e.t.Field(i)
				index := append(slices.Clone(e.index), i)
				inner := sf.Type
				if inner.Kind() == reflect.Pointer && inner.Name() == "" {
					inner = inner.Elem()
				}
				if !sf.IsExported() && !(sf.Anonymous && inner.Kind() == reflect.Struct) {
					continue
				}
				tag := sf.Tag.Get("json")
				if tag == "-" {
					continue
				}
				name, options, _ := strings.Cut(tag, ",")
				if !validName(name) {
					name = ""
				}
				if name == "" && sf.Anonymous && inner.Kind() == reflect.Struct {
					next = append(next, embedded{inner, index})
					continue
				}
				if !sf.IsExported() {
					continue
				}
				f := field{name: name, index: index, tagged: name != ""}
				if name == "" {
					f.name = sf.Name
				}
				for o := range strings.SplitSeq(options, ",") {
					switch o {
					case "omitempty":
						f.omitEmpty = true
					case "omitzero":
						f.omitZero = true
					case "string":
						f.quoted = quotable(inner.Kind())
					}
				}
				fields = append(fields, f)
			}
		}
		for _, e := range level {
			seen[e.t] = true
		}
		level = next
	}
	return fields
}

// visibleFields drops the fields that others hide: of those with one name the
// least embedded stays, of several such the one with a tag, else none.
func visibleFields(all []field) []field {
	best := map[string][]field{}
	for _, f := range all {
		b := best[f.name]
		switch {
		case len(b) == 0 || rank(f) < rank(b[0]):
			best[f.name] = []field{f}
		case rank(f) == rank(b[0]):
			best[f.name] = append(b, f)
		}
	}
	var visible []field
	for _, b := range best {
		if len(b) == 1 {
			visible = append(visible, b[0])
		}
	}
	slices.SortFunc(visible, func(a, b field) int { return slices.Compare(a.index, b.index) })
	return visible
}

func rank(f field) int {
	r := 2 * len(f.index)
	if !f.tagged {
		r++
	}
	return r
}

func validName(s string) bool {
	for _, c := range s {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return true
}

func quotable(k reflect.Kind) bool {
	return k == reflect.Bool || k >= reflect.Int && k <= reflect.Uintptr ||
		k == reflect.Float32 || k == reflect.Float64 || k == reflect.String
}

// find returns the field's value in v; false if an embedded pointer on the way
// is nil.
func (f *field) find(v reflect.Value) (reflect.Value, bool) {
	for _, i := range f.index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v, true
}

// omit reports whether the field's options leave the value out.
func (f *field) omit(v reflect.Value) bool {
	if f.omitEmpty {
		switch v.Kind() {
		case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
			if v.Len() == 0 {
				return true
			}
		case reflect.Struct:
		default:
			if v.IsZero() {
				return true
			}
		}
	}
	return f.omitZero && isZero(v)
}

func isZero(v reflect.Value) bool {
	switch t := v.Type(); {
	case t.Implements(zeroer):
		if (t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface) && v.IsNil() {
			return true
		}
		return v.Interface().(interface{ IsZero() bool }).IsZero()
	case reflect.PointerTo(t).Implements(zeroer) && v.CanAddr():
		return v.Addr().Interface().(interface{ IsZero() bool }).IsZero()
	}
	return v.IsZero()
}
