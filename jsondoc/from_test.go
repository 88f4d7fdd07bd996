package jsondoc

import (
	"encoding/json"
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"
)

type inner struct {
	A int
	B string `json:"b,omitempty"`
}

type embedded struct {
	Promoted string `json:"promoted"`
	Hidden   int
}

type pointed struct{ Deep int }

type textKey struct{ n int }

func (k textKey) MarshalText() ([]byte, error) {
	return []byte(strings.Repeat("k", k.n)), nil
}

type viaJSON struct{ text string }

func (v viaJSON) MarshalJSON() ([]byte, error) { return []byte(v.text), nil }

type viaPointer struct{ n int }

func (v *viaPointer) MarshalJSON() ([]byte, error) { return []byte(`"pointer"`), nil }

type everything struct {
	embedded
	*pointed
	Hidden   string // hides embedded.Hidden
	Bool     bool
	Int      int8
	Uint     uint64
	Float    float64
	Float32  float32
	String   string
	Bytes    []byte
	Array    [2]int
	Slice    []inner
	Map      map[string]inner
	IntKeys  map[int]bool
	TextKeys map[textKey]int
	Pointer  *int
	Any      any
	Struct   inner `json:"struct"`
	Skipped  int   `json:"-"`
	//lint:ignore SA5008 what encoding/json makes of it is the question
	Dash      int `json:"-,"`
	Empty     int `json:",omitempty"`
	EmptyStr  *inner
	Quoted    int64       `json:"quoted,string"`
	QuotedS   string      `json:",string"`
	QuotedP   *bool       `json:",string"`
	Zero      time.Time   `json:"zero,omitzero"`
	Time      time.Time   `json:"time"`
	ZeroIn    inner       `json:",omitzero"`
	Number    json.Number `json:"number"`
	NoNumber  json.Number
	Raw       json.RawMessage
	Custom    viaJSON
	PtrCustom viaPointer
	Addr      netip.Addr
	//lint:ignore SA5008 the same
	BadName int `json:"a\"b"`
	Unicode int `json:"naïve"`
	//lint:ignore U1000 that nobody sees it is the point
	unseen int
}

func sample() everything {
	yes := true
	return everything{
		embedded: embedded{"p", 1}, pointed: &pointed{5}, Hidden: "outer", Bool: true, Int: -8, Uint: math.MaxUint64, Float: 1e21, Float32: 0.1,
		String: "<a> \u2028 \" é", Bytes: []byte{0, 255}, Slice: []inner{{1, ""}, {2, "x"}}, Map: map[string]inner{"z": {}, "a": {B: "b"}},
		IntKeys: map[int]bool{10: true, 9: false}, TextKeys: map[textKey]int{{2}: 2, {1}: 1}, Any: map[string]any{"x": []any{1, nil, "s"}},
		Quoted: 1 << 60, QuotedS: `q"`, QuotedP: &yes, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Number: "1.50", Raw: json.RawMessage(`{"r": 1.0}`),
		Custom: viaJSON{`[1, {"x":null}]`}, Addr: netip.MustParseAddr("127.0.0.1"), Unicode: 3,
	}
}

// Where there is no nil slice or map, From says what encoding/json says.
func TestFromAgainstEncodingJSON(t *testing.T) {
	s := sample()
	for name, v := range map[string]any{
		"struct": s, "pointer": &s, "nil": nil, "map": map[string]any{"b": 1, "a": []int{}}, "floats": []float64{0, 1, -0.5, 1e-7, 1e20, 1e21, 123456789.123, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1)},
		"float32s": []float32{0.1, 1e-7, 3.4e38, 16777216}, "ints": []any{int8(-1), uint8(255), int64(math.MinInt64), uintptr(7)},
		"strings": []string{"", "a\xffb", "\x00\x1f", "\u2028"}, "time": time.Unix(0, 0).UTC(), "pointers": []*int{nil, new(int)}, "bytes": [3]byte{1, 2, 3},
		"pointer receiver": []*viaPointer{{1}, nil}, "no address": viaPointer{1}, "in a slice": []viaPointer{{1}},
		"nested": map[textKey][]map[int]string{{1}: {{1: "x"}}},
	} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := From(v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkShape(t, got)
		if w := MustParse(string(want)); got.String() != w.String() {
			t.Errorf("%s:\n%s, encoding/json has\n%s", name, got, w)
		}
	}
}

func TestFromOwnRules(t *testing.T) {
	type lists struct {
		S []int          `json:"s"`
		M map[string]int `json:"m"`
		B []byte         `json:"b"`
		O []int          `json:"o,omitempty"`
		V Value          `json:"v"`
		N Value          `json:"n"`
	}
	for _, c := range []struct {
		v    any
		want string
	}{
		{lists{N: Null}, `{"s":[],"m":{},"b":"","n":null}`},
		{[]int(nil), `[]`}, {map[string]int(nil), `{}`}, {[][]int{nil}, `[[]]`}, {(*int)(nil), `null`}, {any(nil), `null`},
		{MustParse(`{"a":1.0}`), `{"a":1.0}`}, {json.RawMessage(` [1.00] `), `[1.00]`}, {json.RawMessage(nil), `null`},
		{map[string]Value{"a": {}, "b": True}, `{"b":true}`}, {[]Value{{}, True}, `[null,true]`},
		{&lists{S: []int{1}}, `{"s":[1],"m":{},"b":""}`},
		{Patch{{Op: "remove", Path: "/a"}}, `[{"op":"remove","path":"/a"}]`},
	} {
		got, err := From(c.v)
		if err != nil || got.String() != c.want {
			t.Errorf("%#v: %s, %v, want %s", c.v, got, err, c.want)
		}
	}
	if v, err := From(Value{}); err != nil || !v.IsAbsent() {
		t.Errorf("an absent value does not pass through: %s, %v", v, err)
	}
}

func TestFromErrors(t *testing.T) {
	type node struct{ Next *node }
	cyclic := &node{}
	cyclic.Next = cyclic
	self := []any{nil}
	self[0] = self
	var pointer any
	pointer = &pointer
	for name, v := range map[string]any{
		"NaN": math.NaN(), "Inf": []float32{float32(math.Inf(1))}, "chan": make(chan int), "func": map[string]any{"f": func() {}}, "complex": 1i,
		"cycle": cyclic, "slice cycle": self, "pointer cycle": pointer, "bad raw": json.RawMessage(`{"a":1,"a":2}`), "bad number": json.Number("01"),
		"bad Marshaler": viaJSON{`{`}, "empty Marshaler": viaJSON{``}, "keys": map[float64]int{1: 1},
	} {
		if got, err := From(v); err == nil {
			t.Errorf("%s: %s", name, got)
		} else if len(err.Error()) > 300 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
	if _, err := From(struct{ A []any }{[]any{1, math.NaN()}}); err == nil || !strings.Contains(err.Error(), "A") || !strings.Contains(err.Error(), "[1]") {
		t.Errorf("the error does not say where: %v", err)
	}
}

func TestDecode(t *testing.T) {
	want := sample()
	v := MustFrom(want)
	var got everything
	got.pointed = &pointed{}
	v = v.Without("Custom").Without("PtrCustom").Without("TextKeys").With("Any", Null)
	if err := v.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Uint != want.Uint || got.Quoted != want.Quoted || got.Map["a"].B != "b" || got.Deep != 5 || !got.Time.Equal(want.Time) || string(got.Raw) != `{"r":1.0}` || got.Number != "1.50" {
		t.Errorf("%+v", got)
	}
	var x Value
	if err := v.Decode(&x); err != nil || !Same(v, x) {
		t.Error("a Value is not passed through")
	}
	var n int
	if err := (Value{}).Decode(&n); err == nil {
		t.Error("nothing can be decoded")
	}
	var te *json.UnmarshalTypeError
	if err := String("x").Decode(&n); !errors.As(err, &te) {
		t.Error(err)
	}
	if err := Int(1).Decode(nil); err == nil {
		t.Error("into nil")
	}
}
