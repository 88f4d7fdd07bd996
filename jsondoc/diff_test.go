package jsondoc

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestDiff(t *testing.T) {
	for _, c := range []struct{ name, a, b, want string }{
		{"nothing", `{"a":[1,{"b":2}]}`, `{"a":[1,{"b":2}]}`, `[]`},
		{"order of members", `{"a":1,"b":2}`, `{"b":2,"a":1}`, `[]`},
		{"root", `1`, `[1]`, `[{"op":"replace","path":"","value":[1]}]`},
		{"member", `{"a":1,"b":2}`, `{"a":1,"c":3}`, `[{"op":"remove","path":"/b"},{"op":"add","path":"/c","value":3}]`},
		{"names are escaped", `{"a/b":{"m~n":1}}`, `{"a/b":{"m~n":2,"":3}}`, `[{"op":"replace","path":"/a~1b/m~0n","value":2},{"op":"add","path":"/a~1b/","value":3}]`},
		{"first item removed", `["a","b","c"]`, `["b","c"]`, `[{"op":"remove","path":"/0"}]`},
		{"item inserted", `["a","c"]`, `["a","b","c"]`, `[{"op":"add","path":"/1","value":"b"}]`},
		{"item appended", `["a"]`, `["a","b"]`, `[{"op":"add","path":"/1","value":"b"}]`},
		{"item replaced", `[1,2,3]`, `[1,9,3]`, `[{"op":"replace","path":"/1","value":9}]`},
		{"item moved", `["a","b","c","d","e"]`, `["e","a","b","c","d"]`, `[{"op":"move","from":"/4","path":"/0"}]`},
		{"repeated items", `[1,1,1]`, `[1,1]`, `[{"op":"remove","path":"/2"}]`},
		{"changed item without identity", `[{"n":"one","x":1},{"n":"two","x":2}]`, `[{"n":"zero","x":0},{"n":"one","x":1},{"n":"two","x":3}]`,
			`[{"op":"add","path":"/0","value":{"n":"zero","x":0}},{"op":"replace","path":"/2/x","value":3}]`},
		{"item that became another", `[{"n":"one","x":1}]`, `[{"m":[1,2,3]}]`, `[{"op":"replace","path":"/0","value":{"m":[1,2,3]}}]`},
		{"by id", `[{"id":1,"t":"a"},{"id":2,"t":"b"},{"id":3,"t":"c"}]`, `[{"id":1,"t":"a"},{"id":3,"t":"C"}]`,
			`[{"op":"remove","path":"/1"},{"op":"replace","path":"/1/t","value":"C"}]`},
		{"moved by id", `[{"id":1,"t":"a"},{"id":2,"t":"b"},{"id":3,"t":"c"}]`, `[{"id":3,"t":"c"},{"id":1,"t":"A"},{"id":2,"t":"b"}]`,
			`[{"op":"move","from":"/2","path":"/0"},{"op":"replace","path":"/1/t","value":"A"}]`},
		{"swapped by id, one new, one gone", `[{"id":"a"},{"id":"b"},{"id":"c"}]`, `[{"id":"c"},{"id":"n"},{"id":"a"}]`,
			`[{"op":"remove","path":"/1"},{"op":"move","from":"/1","path":"/0"},{"op":"add","path":"/1","value":{"id":"n"}}]`},
		{"key where there is no id", `[{"key":"a","v":1},{"key":"b","v":1}]`, `[{"key":"b","v":2}]`,
			`[{"op":"remove","path":"/0"},{"op":"replace","path":"/0/v","value":2}]`},
		{"an identity that repeats is none", `[{"id":1,"a":"x"},{"id":1,"a":"y"},{"id":2,"a":"z"}]`, `[{"id":1,"a":"y"},{"id":2,"a":"z"}]`, `[{"op":"remove","path":"/0"}]`},
		{"an identity that one lacks is none", `[{"id":1},{"a":2},{"id":3}]`, `[{"a":2},{"id":3}]`, `[{"op":"remove","path":"/0"}]`},
		{"1 and 1.0 are one identity", `[{"id":1,"a":1},{"id":2,"a":1}]`, `[{"id":2.0,"a":1},{"id":1.0,"a":1}]`,
			`[{"op":"move","from":"/1","path":"/0"},{"op":"replace","path":"/0/id","value":2.0},{"op":"replace","path":"/1/id","value":1.0}]`},
		{"the number and the string are two", `[{"id":1,"a":[1,2,3]},{"id":2}]`, `[{"id":"1","b":true},{"id":2}]`, `[{"op":"replace","path":"/0","value":{"id":"1","b":true}}]`},
		{"emptied", `[1,2]`, `[]`, `[{"op":"remove","path":"/1"},{"op":"remove","path":"/0"}]`},
	} {
		a, b := MustParse(c.a), MustParse(c.b)
		p := Diff(a, b, nil)
		if p.String() != c.want {
			t.Errorf("%s: %s, want %s", c.name, p, c.want)
		}
		if got, err := p.Apply(a, &ApplyOptions{ClientRules: true}); err != nil || !EqualBy(got, b, ByText) {
			t.Errorf("%s: %s gives %s, %v", c.name, p, got, err)
		}
	}
}

func TestDiffOptions(t *testing.T) {
	a := MustParse(`{"l":[{"name":"x","v":1},{"name":"y","v":1}]}`)
	b := MustParse(`{"l":[{"name":"y","v":1},{"name":"x","v":2}]}`)
	if p := Diff(a, b, &DiffOptions{Identity: []string{"name"}}); p.String() != `[{"op":"move","from":"/l/1","path":"/l/0"},{"op":"replace","path":"/l/1/v","value":2}]` {
		t.Error(p)
	}
	c, d := MustParse(`[{"id":1,"v":1},{"id":2,"v":1}]`), MustParse(`[{"id":3,"v":1},{"id":2,"v":1}]`)
	if p := Diff(c, d, &DiffOptions{Identity: []string{}}); p.String() != `[{"op":"replace","path":"/0/id","value":3}]` {
		t.Error(p)
	}

	a, b = MustParse(`{"keep":"this","list":[1,2,3,4,5]}`), MustParse(`{"keep":"this","list":[6,7,8]}`)
	if p := Diff(a, b, &DiffOptions{Smallest: true}); p.String() != `[{"op":"replace","path":"/list","value":[6,7,8]}]` {
		t.Error(p)
	}
	if p := Diff(a, b, nil); len(p) != 5 {
		t.Error(p)
	}
	// It never takes more bytes than either way.
	b = MustParse(`{"keep":"this","list":[1,2,3,4,50]}`)
	if p := Diff(a, b, &DiffOptions{Smallest: true}); p.String() != `[{"op":"replace","path":"/list/4","value":50}]` {
		t.Error(p)
	}
	// Absent documents.
	if p := Diff(Value{}, Null, nil); p != nil {
		t.Error(p)
	}
	if p := Diff(Value{}, MustParse(`{}`), nil); p.String() != `[{"op":"replace","path":"","value":{}}]` {
		t.Error(p)
	}
}

// Whatever the arrays look like, a diff takes time about in proportion to their
// size. The limit is generous: a quadratic algorithm needs minutes.
func TestDiffOfLargeArraysIsNotQuadratic(t *testing.T) {
	n := 8000
	if long() {
		n = 30000
	}
	array := func(f func(i int) Value) Value {
		items := make([]Value, n)
		for i := range items {
			items[i] = f(i)
		}
		return Array(items...)
	}
	text := func(f func(i int) string) Value { return array(func(i int) Value { return String(f(i)) }) }
	object := func(name string, f func(i int) int) Value {
		return array(func(i int) Value {
			return Object(Member{name, Int(int64(f(i)))}, Member{"a", String("the same")})
		})
	}
	nested := func(inner string) Value {
		v := String(inner)
		for i := range 400 {
			v = Array(String(strings.Repeat("x", 200)), v, Int(int64(i)), String(strings.Repeat("x", 200)))
		}
		return v
	}
	for name, pair := range map[string][2]Value{
		"nothing in common": {text(func(i int) string { return fmt.Sprint("a", i) }), text(func(i int) string { return fmt.Sprint("b", i) })},
		"reversed":          {text(func(i int) string { return fmt.Sprint(i) }), text(func(i int) string { return fmt.Sprint(n - i) })},
		"shuffled":          {text(func(i int) string { return fmt.Sprint(i) }), text(func(i int) string { return fmt.Sprint(i * 7919 % n) })},
		"few values":        {text(func(i int) string { return fmt.Sprint(i % 3) }), text(func(i int) string { return fmt.Sprint(i * i % 5) })},
		"every other":       {text(func(i int) string { return fmt.Sprint(i) }), text(func(i int) string { return fmt.Sprint(i * 2) })},
		"ids reversed":      {object("id", func(i int) int { return i }), object("id", func(i int) int { return n - i })},
		"objects":           {object("n", func(i int) int { return i }), object("n", func(i int) int { return i * 7 % n })},
		"deep":              {nested("a"), nested("b")},
	} {
		start := time.Now()
		p := Diff(pair[0], pair[1], nil)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: %d operations in %v", name, len(p), took)
		}
		if got, err := p.Apply(pair[0], nil); err != nil || !EqualBy(got, pair[1], ByText) {
			t.Errorf("%s: does not apply: %v", name, err)
		}
		t.Logf("%s: %d operations, %v", name, len(p), time.Since(start))
	}
}

// Where two documents share structure, Diff does not look: its cost is that of
// the changes.
func TestDiffSkipsSharedStructure(t *testing.T) {
	var items []Value
	for i := range 20000 {
		items = append(items, Object(Member{"id", Int(int64(i))}, Member{"text", String("some text")}))
	}
	a := Object(Member{"items", Array(items...)})
	b, err := Patch{
		{Op: "replace", Path: "/items/7/text", Value: String("new")},
		{Op: "remove", Path: "/items/9"},
		{Op: "add", Path: "/items/8", Value: MustParse(`{"id":"n"}`)},
	}.Apply(a, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := Diff(a, b, nil); len(p) != 3 {
		t.Errorf("%d operations", len(p))
	}
	if n := testing.AllocsPerRun(10, func() { Diff(a, b, nil) }); n > 100 {
		t.Errorf("%v allocations for three changes", n)
	}
}

func TestInverse(t *testing.T) {
	for _, c := range []struct{ doc, patch, want string }{
		{`{"a":1}`, `[{"op":"add","path":"/b","value":2}]`, `[{"op":"remove","path":"/b"}]`},
		{`{"a":1}`, `[{"op":"add","path":"/a","value":2}]`, `[{"op":"replace","path":"/a","value":1}]`},
		{`[1]`, `[{"op":"add","path":"/-","value":2},{"op":"test","path":"/1","value":2},{"op":"add","path":"/0","value":0}]`, `[{"op":"remove","path":"/0"},{"op":"remove","path":"/1"}]`},
		{`{"a":[1,2]}`, `[{"op":"remove","path":"/a/0"}]`, `[{"op":"add","path":"/a/0","value":1}]`},
		{`{"a":1,"b":2}`, `[{"op":"move","from":"/a","path":"/b"}]`, `[{"op":"replace","path":"/b","value":2},{"op":"add","path":"/a","value":1}]`},
		{`[1,2,3]`, `[{"op":"move","from":"/0","path":"/-"}]`, `[{"op":"remove","path":"/2"},{"op":"add","path":"/0","value":1}]`},
		{`{"a":{"b":1}}`, `[{"op":"move","from":"/a/b","path":"/a"}]`, `[{"op":"replace","path":"/a","value":{}},{"op":"add","path":"/a/b","value":1}]`},
		{`{"a":1}`, `[{"op":"copy","from":"","path":"/a"}]`, `[{"op":"replace","path":"/a","value":1}]`},
		{`{"a":1}`, `[{"op":"remove","path":""}]`, `[{"op":"replace","path":"","value":{"a":1}}]`},
		{`{"a":1}`, `[{"op":"move","from":"/a","path":"/a"}]`, `[]`},
	} {
		doc := MustParse(c.doc)
		p, err := ParsePatch([]byte(c.patch))
		if err != nil {
			t.Fatal(err)
		}
		q, err := p.Inverse(doc)
		if err != nil || q.String() != c.want {
			t.Errorf("%s on %s: %s, %v, want %s", p, doc, q, err, c.want)
			continue
		}
		back, err := q.Apply(must(p.Apply(doc, nil)), nil)
		if err != nil || !EqualBy(back, doc, ByText) {
			t.Errorf("%s on %s: the inverse gives %s, %v", p, doc, back, err)
		}
	}
	_, err := Patch{{Op: "remove", Path: "/a"}, {Op: "remove", Path: "/a"}}.Inverse(MustParse(`{"a":1}`))
	if pe, ok := err.(*PatchError); !ok || pe.Index != 1 {
		t.Errorf("%v", err)
	}
}

func TestApplyLimits(t *testing.T) {
	doc := MustParse(`{"a":[]}`)
	p := Patch{{Op: "add", Path: "/a/-", Value: Int(1)}, {Op: "add", Path: "/a/-", Value: Int(2)}}
	for _, c := range []struct {
		opts ApplyOptions
		why  string
	}{
		{ApplyOptions{MaxOperations: 1}, "2 operations, more than the 1"},
		{ApplyOptions{MaxSize: 10}, "11 bytes, more than the 10"},
		{ApplyOptions{MaxDepth: 1}, "more than 1 levels"},
	} {
		v, q := doc, p
		if c.opts.MaxDepth == 1 {
			v, q = MustParse(`{"a":1}`), Patch{{Op: "replace", Path: "/a", Value: MustParse(`[[]]`)}}
		}
		_, err := q.Apply(v, &c.opts)
		if err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%+v: %v, want %q", c.opts, err, c.why)
		}
	}
	if got, err := p.Apply(doc, &ApplyOptions{MaxOperations: 2, MaxSize: 11, MaxDepth: 2}); err != nil || got.String() != `{"a":[1,2]}` {
		t.Errorf("%s, %v", got, err)
	}
	// A document that was deep and is no longer does not count as deep.
	v := MustParse(`{"a":[[[[1]]]],"b":0}`)
	q := Patch{{Op: "replace", Path: "/a", Value: Null}, {Op: "copy", From: "", Path: "/b"}}
	if _, err := q.Apply(v, &ApplyOptions{MaxDepth: 2}); err != nil {
		t.Error(err)
	}
}
