package jsondoc

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// From returns the document of a Go value. It follows encoding/json (tags with
// omitempty, omitzero, string and "-", embedded structs, Marshaler and
// TextMarshaler, []byte as base64, maps sorted by key) with these differences:
//
//   - A nil slice is [] and a nil map is {}, as an empty one is; null would be a
//     third thing to handle for who reads the state. A nil []byte is "".
//   - A [Value] passes through, and an absent one in a struct or a map is left
//     out. A json.RawMessage passes through with its numbers as they are.
//   - < > & and U+2028 are not escaped. Nothing is, there is no text.
//
// It fails for what JSON cannot say (channels, functions, complex numbers, NaN),
// for a Marshaler that fails, and for values nested more than 512 deep, which
// cyclic ones are.
func From(v any) (Value, error) {
	x, err := convert(reflect.ValueOf(v), 0)
	if err != nil {
		return Value{}, err
	}
	return x, nil
}

// MustFrom is [From] for values that cannot fail: it panics on an error.
func MustFrom(v any) Value {
	x, err := From(v)
	if err != nil {
		panic(err)
	}
	return x
}

// Decode stores the document in what into points to, by the rules of
// json.Unmarshal, whose errors it returns. Of an absent value it says so; null
// would leave into as it is. A *Value gets v itself.
func (v Value) Decode(into any) error {
	if v.n == nil {
		return errors.New("there is no value to decode")
	}
	if p, ok := into.(*Value); ok && p != nil {
		*p = v
		return nil
	}
	return json.Unmarshal(v.AppendJSON(make([]byte, 0, v.Size())), into)
}

var (
	valueType  = reflect.TypeFor[Value]()
	rawType    = reflect.TypeFor[json.RawMessage]()
	numberType = reflect.TypeFor[json.Number]()
	marshaler  = reflect.TypeFor[json.Marshaler]()
	textual    = reflect.TypeFor[encoding.TextMarshaler]()
	zeroer     = reflect.TypeFor[interface{ IsZero() bool }]()
	errTooDeep = fmt.Errorf("nested more than %d deep, or cyclic", defaultMaxDepth)
	errNoJSON  = errors.New("JSON cannot say this type")
)

// convert returns the document of v; depth counts pointers, too, since they can
// make a cycle by themselves.
func convert(v reflect.Value, depth int) (Value, error) {
	if !v.IsValid() {
		return Null, nil
	}
	if depth > 2*defaultMaxDepth {
		return Value{}, errTooDeep
	}
	t := v.Type()
	switch t {
	case valueType:
		return v.Interface().(Value), nil
	case rawType:
		return parseRaw(v.Bytes(), t)
	}
	if x, done, err := marshal(v, t); done {
		return x, err
	}
	switch t.Kind() {
	case reflect.Bool:
		return Bool(v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Int(v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return numberValue(strconv.FormatUint(v.Uint(), 10)), nil
	case reflect.Float32, reflect.Float64:
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return Value{}, fmt.Errorf("%v is no JSON number", f)
		}
		return numberValue(string(appendFloat(nil, f, t.Bits()))), nil
	case reflect.String:
		if t == numberType {
			if v.Len() == 0 {
				return Int(0), nil // as encoding/json has it
			}
			return Number(v.String())
		}
		return String(v.String()), nil
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return Null, nil
		}
		return convert(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		return convertItems(v, depth)
	case reflect.Map:
		return convertMap(v, depth)
	case reflect.Struct:
		return convertStruct(v, depth)
	}
	return Value{}, fmt.Errorf("%w: %s", errNoJSON, t)
}

func parseRaw(data []byte, t reflect.Type) (Value, error) {
	if data == nil {
		return Null, nil
	}
	x, err := Parse(data, nil)
	if err != nil {
		return Value{}, fmt.Errorf("%s: %w", t, err)
	}
	return x, nil
}

// marshal uses the methods of values that write themselves.
func marshal(v reflect.Value, t reflect.Type) (x Value, done bool, err error) {
	use := func(i reflect.Type) bool {
		if t.Implements(i) {
			return t.Kind() != reflect.Interface
		}
		return v.CanAddr() && reflect.PointerTo(t).Implements(i)
	}
	receiver := func(i reflect.Type) reflect.Value {
		if t.Implements(i) {
			return v
		}
		return v.Addr()
	}
	asJSON := use(marshaler)
	if !asJSON && !use(textual) {
		return Value{}, false, nil
	}
	if t.Kind() == reflect.Pointer && v.IsNil() {
		return Null, true, nil
	}
	if asJSON {
		data, err := receiver(marshaler).Interface().(json.Marshaler).MarshalJSON()
		if err != nil {
			return Value{}, true, fmt.Errorf("%s: %w", t, err)
		}
		x, err := parseRaw(append([]byte{}, data...), t)
		return x, true, err
	}
	text, err := receiver(textual).Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return Value{}, true, fmt.Errorf("%s: %w", t, err)
	}
	return String(string(text)), true, nil
}

func convertItems(v reflect.Value, depth int) (Value, error) {
	elem := v.Type().Elem()
	if v.Kind() == reflect.Slice && elem.Kind() == reflect.Uint8 &&
		!reflect.PointerTo(elem).Implements(marshaler) && !reflect.PointerTo(elem).Implements(textual) {
		return String(base64.StdEncoding.EncodeToString(v.Bytes())), nil
	}
	kids := make([]Value, v.Len())
	for i := range kids {
		x, err := convert(v.Index(i), depth+1)
		if err != nil {
			return Value{}, inside(err, "[%d]", i)
		}
		kids[i] = x.orNull()
	}
	return newArray(kids), nil
}

// inside says where an error happened, except that something is too deep: the
// path would be as long as it is deep.
func inside(err error, format string, args ...any) error {
	if errors.Is(err, errTooDeep) {
		return err
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

func convertMap(v reflect.Value, depth int) (Value, error) {
	members := make([]Member, 0, v.Len())
	for it := v.MapRange(); it.Next(); {
		name, err := keyName(it.Key())
		if err != nil {
			return Value{}, err
		}
		x, err := convert(it.Value(), depth+1)
		if err != nil {
			return Value{}, inside(err, "[%q]", clip(name))
		}
		members = append(members, Member{name, x})
	}
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return Object(members...), nil
}

func keyName(k reflect.Value) (string, error) {
	if k.Kind() == reflect.String {
		return k.String(), nil
	}
	if m, ok := k.Interface().(encoding.TextMarshaler); ok {
		if k.Kind() == reflect.Pointer && k.IsNil() {
			return "", nil
		}
		text, err := m.MarshalText()
		return string(text), err
	}
	switch {
	case k.CanInt():
		return strconv.FormatInt(k.Int(), 10), nil
	case k.CanUint():
		return strconv.FormatUint(k.Uint(), 10), nil
	}
	return "", fmt.Errorf("%w: map keys of type %s", errNoJSON, k.Type())
}

func convertStruct(v reflect.Value, depth int) (Value, error) {
	fields := structFields(v.Type())
	members := make([]Member, 0, len(fields))
	for _, f := range fields {
		x, ok := f.find(v)
		if !ok || f.omit(x) {
			continue
		}
		doc, err := convert(x, depth+1)
		if err != nil {
			return Value{}, inside(err, "%s.%s", v.Type(), f.name)
		}
		if f.quoted && !doc.IsNull() {
			doc = String(doc.String())
		}
		members = append(members, Member{f.name, doc})
	}
	return Object(members...), nil
}
