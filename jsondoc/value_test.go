package jsondoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"
)

func TestZeroValueIsAbsent(t *testing.T) {
	var v Value
	if !v.IsAbsent() || !v.IsZero() || v.IsNull() || v.Kind() != KindAbsent || v.String() != "null" || v.Len() != 0 || v.Size() != 4 {
		t.Error("the zero Value")
	}
	if Null.IsAbsent() || !Null.IsNull() || Null.Kind() != KindNull || Equal(v, Null) || !Equal(v, Value{}) {
		t.Error("null is not absent")
	}
	if _, ok := v.Get("a"); ok {
		t.Error("a member of nothing")
	}
	if _, ok := v.At(""); ok {
		t.Error("nothing is at the root of nothing")
	}
	if string(v.Canonical()) != "null" {
		t.Error("canonical form of nothing")
	}
	if unsafe.Sizeof(v) != unsafe.Sizeof(uintptr(0)) {
		t.Errorf("a Value takes %d bytes", unsafe.Sizeof(v))
	}
}

func TestAccessorsOfOtherKinds(t *testing.T) {
	for _, v := range []Value{{}, Null, True, Int(1), String("1"), Array(), Object()} {
		k := v.Kind()
		if _, ok := v.Int64(); ok != (k == KindNumber) {
			t.Errorf("Int64 of %s", k)
		}
		if _, ok := v.Float64(); ok != (k == KindNumber) {
			t.Errorf("Float64 of %s", k)
		}
		if v.Str() != "" && k != KindString || v.NumberText() != "" && k != KindNumber || v.Bool() != (k == KindBool) {
			t.Errorf("texts of %s", k)
		}
		for range v.Members() {
			t.Errorf("members of an empty %s", k)
		}
		for range v.Items() {
			t.Errorf("items of an empty %s", k)
		}
		if k != KindArray {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("Item of %s does not panic", k)
					}
				}()
				v.Item(0)
			}()
		}
	}
}

func TestObjects(t *testing.T) {
	o := Object(Member{"b", Int(1)}, Member{"a", Int(2)}, Member{"gone", Value{}}, Member{"b", Int(3)})
	if o.String() != `{"b":3,"a":2}` {
		t.Error(o)
	}
	if got := o.With("a", Null).With("c", True).Without("b").Without("none"); got.String() != `{"a":null,"c":true}` || o.String() != `{"b":3,"a":2}` {
		t.Error(got, o)
	}
	if !Same(o.Without("none"), o) || !Same(o.With("b", o.n.box.at(0)), o) {
		t.Error("a change of nothing makes a new object")
	}
	if got := o.With("a", Value{}); got.String() != `{"b":3}` {
		t.Error(got)
	}
	if got := Int(1).With("a", Null); got.String() != `{"a":null}` {
		t.Error(got)
	}
	if got := Array(Int(1), Value{}); got.String() != `[1,null]` {
		t.Error(got)
	}
	if got := Object(Member{"\xff", String("a\xffb")}).With("\xff", Int(1)); got.String() != "{\"\uFFFD\":1}" {
		t.Error(got)
	}
}

func TestInts(t *testing.T) {
	for _, n := range []int64{0, 1, 255, 256, -1, 1 << 62, -1 << 63, 1<<63 - 1} {
		v := Int(n)
		if got, ok := v.Int64(); !ok || got != n || v.String() != fmt.Sprint(n) || v.Size() != len(fmt.Sprint(n)) {
			t.Errorf("%d: %s", n, v)
		}
	}
	for _, s := range []string{"1.0", "1e3", "9223372036854775808"} {
		if n, ok := mustNumber(s).Int64(); ok {
			t.Errorf("%s is the integer %d", s, n)
		}
	}
	for _, s := range []string{"", "01", "+1", "1.", ".5", "1e", "NaN", "Infinity", "0x1", " 1", "1 ", "1_000", "--1", "1e+"} {
		if v, err := Number(s); err == nil {
			t.Errorf("%q is the number %s", s, v)
		}
	}
}

func TestEqualNumbers(t *testing.T) {
	for _, c := range []struct {
		a, b           string
		value, doubles bool
	}{
		{"1", "1.0", true, true}, {"1", "10e-1", true, true}, {"100", "1e2", true, true}, {"1E2", "1e+02", true, true},
		{"0", "-0", true, true}, {"0", "0e999999999999999999999", true, true}, {"0.0", "-0.0e-5", true, true},
		{"0.1", "0.10", true, true}, {"0.1", "1e-1", true, true}, {"0.1", "0.11", false, false}, {"1", "-1", false, false},
		{"9007199254740993", "9007199254740992", false, true}, {"0.1", "0.1000000000000000055511151231257827", false, true},
		{"1e400", "1e401", false, true}, {"1e400", "10e399", true, true}, {"1e400", "-1e400", false, false},
		{"1e99999999999999999999", "1e99999999999999999999", true, true}, {"1e99999999999999999999", "10e99999999999999999998", false, true},
		{"123.456e5", "12345600", true, true}, {"0.000123", "123e-6", true, true},
	} {
		a, b := mustNumber(c.a), mustNumber(c.b)
		for _, p := range [][2]Value{{a, b}, {b, a}} {
			if Equal(p[0], p[1]) != c.value || EqualBy(p[0], p[1], ByDouble) != c.doubles || EqualBy(p[0], p[1], ByText) != (c.a == c.b) {
				t.Errorf("%s and %s: by value %v, as doubles %v", p[0], p[1], Equal(p[0], p[1]), EqualBy(p[0], p[1], ByDouble))
			}
		}
	}
}

// The numbers of RFC 8785, appendix B, that float64 holds in their shortest form,
// and those where Canonical deviates on purpose.
func TestCanonicalNumbers(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "1.0": "1", "-1.50": "-1.5", "5e-324": "5e-324", "1.7976931348623157e308": "1.7976931348623157e+308",
		"9007199254740992": "9007199254740992", "295147905179352830000": "295147905179352830000", "1e21": "1e+21", "1e20": "100000000000000000000",
		"9.999999999999997e22": "9.999999999999997e+22", "0.000001": "0.000001", "0.0000001": "1e-7", "1E-7": "1e-7", "333333333.3333332": "333333333.3333332",
		"1.23e2": "123", "123456789012345678901": "123456789012345678901", "1234567890123456789012": "1.234567890123456789012e+21",
		"9007199254740993": "9007199254740993", "333333333.33333329": "333333333.33333329", "1e400": "1e+400",
	} {
		if got := string(mustNumber(in).Canonical()); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestCanonicalOrder(t *testing.T) {
	// RFC 8785 section 3.2.3: by UTF-16 units, in which 😀 sorts before U+FB33.
	v := MustParse(`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`)
	const want = `{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`
	if got := string(v.Canonical()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestStringsAreEscapedAsLittleAsPossible(t *testing.T) {
	v := MustParse(`"\u003c\/\u2028é\ud83d\ude00\u0001\u007f\b\f\n\r\t\"\\"`)
	want := "\"</\u2028é😀\\u0001\u007f\\b\\f\\n\\r\\t\\\"\\\\\""
	if v.String() != want || v.Size() != len(want) {
		t.Errorf("%s (%d), want %s (%d)", v, v.Size(), want, len(want))
	}
}

// A large container is a tree inside; whatever is done to it, it behaves like a
// slice or an ordered map.
func TestLargeContainersBehaveLikeSmallOnes(t *testing.T) {
	const n = 2000
	var items []Value
	var members []Member
	for i := range n {
		items = append(items, Int(int64(i)))
		members = append(members, Member{fmt.Sprint("m", i), Int(int64(i))})
	}
	arr, obj := Array(items...), Object(members...)
	model := append([]Value{}, items...)
	check := func(v Value) {
		t.Helper()
		if v.Len() != len(model) {
			t.Fatalf("%d items, want %d", v.Len(), len(model))
		}
		for i, it := range v.Items() {
			if it.n != model[i].n || v.Item(i).n != model[i].n {
				t.Fatalf("item %d is %s, want %s", i, it, model[i])
			}
		}
		checkShape(t, v)
	}
	check(arr)
	seed := uint32(1)
	next := func(n int) int {
		seed = seed*1664525 + 1013904223
		return int(seed>>8) % n
	}
	// Grow, then shrink to nothing, in one patch and by single ones.
	for _, phase := range []struct{ adds, steps int }{{8, 1500}, {2, 4000}, {0, 3000}} {
		var p Patch
		for range phase.steps {
			if len(model) == 0 {
				break
			}
			i := next(len(model))
			switch {
			case next(10) < phase.adds:
				x := Int(int64(next(1000)))
				model = append(model[:i], append([]Value{x}, model[i:]...)...)
				p = append(p, Operation{Op: "add", Path: Pointer("").Index(i), Value: x})
			case next(10) < 3:
				x := Int(int64(next(1000)))
				model[i] = x
				p = append(p, Operation{Op: "replace", Path: Pointer("").Index(i), Value: x})
			default:
				model = append(model[:i], model[i+1:]...)
				p = append(p, Operation{Op: "remove", Path: Pointer("").Index(i)})
			}
		}
		whole := must(p.Apply(arr, nil))
		check(whole)
		single := arr
		for _, op := range p {
			single = must(Patch{op}.Apply(single, nil))
		}
		if !EqualBy(whole, single, ByText) {
			t.Fatal("one patch and single operations differ")
		}
		if back := must(Diff(whole, arr, nil).Apply(whole, nil)); !EqualBy(back, arr, ByText) {
			t.Fatal("diff of large arrays")
		}
		arr = whole
	}

	grown := Object()
	for _, m := range members {
		grown = grown.With(m.Name, m.Value)
	}
	if !EqualBy(grown, obj, ByText) || grown.String() != obj.String() {
		t.Error("an object that grew member by member is another")
	}
	checkShape(t, grown)
	for i := 0; i < n; i += 2 {
		grown = grown.Without(fmt.Sprint("m", i))
	}
	checkShape(t, grown)
	for i := range n {
		v, ok := grown.Get(fmt.Sprint("m", i))
		if ok != (i%2 == 1) || ok && v.String() != fmt.Sprint(i) {
			t.Fatalf("member %d: %s, %v", i, v, ok)
		}
	}
	if p := Diff(obj, grown, nil); len(p) != n/2 || p[0].Op != "remove" {
		t.Errorf("%d operations", len(p))
	}
}

// Objects that grow or shrink member by member do not cost the square of their
// size. The limit is generous: the square takes minutes.
func TestWideObjectsGrowAndShrink(t *testing.T) {
	n := 20000
	if long() {
		n = 100000
	}
	start := time.Now()
	grown, p := Object(), Patch{}
	var members []Member
	for i := range n {
		name := fmt.Sprint("member ", i)
		members = append(members, Member{name, Int(int64(i))})
		grown = grown.With(name, Int(int64(i)))
		p = append(p, Operation{Op: "add", Path: Path(name), Value: Int(int64(i))})
	}
	whole := Object(members...)
	patched := must(p.Apply(Object(), nil))
	if grown.String() != whole.String() || patched.String() != whole.String() {
		t.Error("grown objects differ")
	}
	for i := range n {
		if x, ok := patched.Get(members[i].Name); !ok || !Equal(x, members[i].Value) {
			t.Fatalf("%s: %s, %v", members[i].Name, x, ok)
		}
	}
	half := Object(members[n/2:]...)
	down := Diff(whole, half, nil)
	if len(down) != n/2 {
		t.Errorf("%d operations", len(down))
	}
	if got := must(down.Apply(whole, nil)); got.String() != half.String() {
		t.Error("shrunk objects differ")
	}
	var nulls []Member
	for _, m := range members[:n/2] {
		nulls = append(nulls, Member{m.Name, Null})
	}
	nulls = append(nulls, Member{"new", True}, Member{members[n-1].Name, False})
	merged := MergePatch(whole, Object(nulls...))
	if got := half.With("new", True).With(members[n-1].Name, False); !Equal(merged, got) {
		t.Error("merge patch")
	}
	checkShape(t, merged)
	both, conflicts, err := Merge(whole, half, whole.With("x", Null), nil)
	if err != nil || conflicts != nil || !Equal(both, half.With("x", Null)) {
		t.Error("merge")
	}
	// A run of removals fails where the single operation would.
	down[40].Path = "/none"
	var pe *PatchError
	if _, err := down.Apply(whole, nil); !errors.As(err, &pe) || pe.Index != 40 {
		t.Errorf("%v", err)
	}
	down[40] = down[39]
	if _, err := down.Apply(whole, nil); !errors.As(err, &pe) || pe.Index != 40 {
		t.Errorf("%v", err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Extensions of one object do not see one another, though they may share the
// array that holds the names.
func TestExtensionsOfOneObjectAreApart(t *testing.T) {
	base := Object()
	for i := range 20 {
		base = base.With(fmt.Sprint("m", i), Int(int64(i)))
	}
	before := base.String()
	a, b := base.With("a", Int(1)), base.With("b", Int(2))
	a2, b2 := a.With("a2", Int(1)), b.With("b2", Int(2))
	for v, names := range map[Value]string{a: "a", b: "b", a2: "a a2", b2: "b b2"} {
		want := strings.TrimSuffix(before, "}")
		for _, n := range strings.Fields(names) {
			want += fmt.Sprintf(`,%q:%d`, n, map[byte]int{'a': 1, 'b': 2}[n[0]])
		}
		if v.String() != want+"}" {
			t.Errorf("%s, want %s}", v, want)
		}
	}
	if base.String() != before {
		t.Errorf("the base became %s", base)
	}
	if _, ok := a.Get("b"); ok {
		t.Error("a has b's member")
	}
}

func TestValuesAreSafeForManyReaders(t *testing.T) {
	var members []Member
	for i := range 40 {
		members = append(members, Member{fmt.Sprint("m", i), Int(int64(i))})
	}
	base := Object(members...)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			v := base
			for i := range 200 {
				name := fmt.Sprint("m", i%60)
				x, ok := v.Get(name)
				if ok && i < 40 && x.String() != fmt.Sprint(i) {
					t.Errorf("%s is %s", name, x)
				}
				v = v.With(fmt.Sprint("g", g, "-", i), Int(int64(i)))
				if _, err := (Patch{{Op: "replace", Path: Pointer("").Child("m1"), Value: Int(int64(g))}}).Apply(base, nil); err != nil {
					t.Error(err)
				}
			}
			if v.Len() != 240 {
				t.Errorf("%d members", v.Len())
			}
		})
	}
	wg.Wait()
	if got, _ := base.Get("m1"); got.String() != "1" {
		t.Errorf("m1 became %s", got)
	}
}

func TestJSONMethods(t *testing.T) {
	type holder struct {
		V Value  `json:"v"`
		Z Value  `json:"z,omitzero"`
		P *Value `json:"p"`
	}
	data, err := json.Marshal(holder{V: MustParse(`{"n":1.0,"x":"<>"}`)})
	if err != nil || string(data) != `{"v":{"n":1.0,"x":"\u003c\u003e"},"p":null}` {
		t.Errorf("%s, %v", data, err)
	}
	var h holder
	if err := json.Unmarshal([]byte(`{"v":{"b":1e2,"a":[]},"p":7}`), &h); err != nil || h.V.String() != `{"b":1e2,"a":[]}` || h.P.String() != "7" || !h.Z.IsAbsent() {
		t.Errorf("%+v, %v", h, err)
	}
	if err := json.Unmarshal([]byte(`{"v":{"b":1,"b":2}}`), &h); err == nil {
		t.Error("a repeated name is accepted")
	}
	if got := maps.Collect(MustParse(`{"a":1,"b":2}`).Members()); len(got) != 2 || got["b"].String() != "2" {
		t.Error(got)
	}
}

// Sharing makes documents that nobody could write down. Their size is a lower
// bound until it is small enough to be counted again.
func TestSizesBeyondCounting(t *testing.T) {
	v := MustParse(`["0123456789"]`)
	for range 40 {
		v = Array(v, v)
	}
	if v.Size() < 1<<31-1 || v.n.size != sizeCap {
		t.Errorf("size %d", v.Size())
	}
	o := Object(Member{"big", v}, Member{"n", Int(1)})
	if o = o.With("n", Int(2)).With("m", Null); o.n.size != sizeCap {
		t.Errorf("size %d", o.Size())
	}
	if small := o.With("big", True); small.Size() != len(small.String()) {
		t.Errorf("size %d of %s", small.Size(), small)
	}
	if small := o.Without("big"); small.Size() != len(small.String()) {
		t.Errorf("size %d of %s", small.Size(), small)
	}
	_, err := Patch{{Op: "add", Path: "/x", Value: v}}.Apply(Object(), nil)
	if err == nil {
		t.Error("it is added")
	}
	if deeper(v, 41) || !deeper(v, 40) {
		t.Error("its depth is 41")
	}
	tall := Null
	for range heightCap + 10 {
		tall = Array(tall)
	}
	if !deeper(tall, 10000) || deeper(tall, heightCap+10) {
		t.Error("heights beyond counting")
	}
}
