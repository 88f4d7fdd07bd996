package jsondoc

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMerge(t *testing.T) {
	for _, c := range []struct {
		name, base, ours, theirs, want string
		conflicts                      []string // "path: base, ours, theirs"; - for absent
	}{
		{"members", `{"a":1,"b":1,"c":1}`, `{"a":2,"b":1,"c":1}`, `{"a":1,"b":3,"d":4}`, `{"a":2,"b":3,"d":4}`, nil},
		{"one member", `{"a":1}`, `{"a":2}`, `{"a":3}`, `{"a":2}`, []string{"/a: 1, 2, 3"}},
		{"the same change", `{"a":1}`, `{"a":2}`, `{"a":2}`, `{"a":2}`, nil},
		{"both removed", `{"a":1,"b":1}`, `{"b":1}`, `{"b":1}`, `{"b":1}`, nil},
		{"removed and changed", `{"a":1}`, `{}`, `{"a":2}`, `{}`, []string{"/a: 1, -, 2"}},
		{"changed and removed", `{"a":1}`, `{"a":2}`, `{}`, `{"a":2}`, []string{"/a: 1, 2, -"}},
		{"removed with what was changed in it", `{"a":{"b":1,"c":1}}`, `{}`, `{"a":{"b":2,"c":1}}`, `{}`, []string{`/a: {"b":1,"c":1}, -, {"b":2,"c":1}`}},
		{"added twice", `{}`, `{"a":1}`, `{"a":2}`, `{"a":1}`, []string{"/a: -, 1, 2"}},
		{"objects added twice", `{}`, `{"p":{"a":1,"c":1}}`, `{"p":{"b":2,"c":2}}`, `{"p":{"a":1,"c":1,"b":2}}`, []string{"/p/c: -, 1, 2"}},
		{"null is a value", `{"a":1}`, `{"a":null}`, `{"a":1}`, `{"a":null}`, nil},
		{"another kind", `{"a":{"b":1}}`, `{"a":[1]}`, `{"a":{"b":2}}`, `{"a":[1]}`, []string{`/a: {"b":1}, [1], {"b":2}`}},
		{"the root", `1`, `2`, `3`, `2`, []string{": 1, 2, 3"}},
		{"items by place", `[1,2,3]`, `[9,2,3]`, `[1,2,8]`, `[9,2,8]`, nil},
		{"items added at two places", `["b"]`, `["a","b"]`, `["b","c"]`, `["a","b","c"]`, nil},
		{"items added at one place", `["a"]`, `["a","c"]`, `["a","b"]`, `["a","b","c"]`, nil},
		{"the same item added", `["a"]`, `["a","b"]`, `["a","b"]`, `["a","b"]`, nil},
		{"the same item added, and another", `["a"]`, `["a","b","x"]`, `["a","b","c"]`, `["a","b","c","x"]`, nil},
		{"an item removed, another added", `["a","b","c"]`, `["a","c"]`, `["a","b","c","d"]`, `["a","c","d"]`, nil},
		{"one item changed twice", `[1,2]`, `[3,2]`, `[4,2]`, `[3,2]`, []string{"/0: 1, 3, 4"}},
		{"items by id", `[{"id":1,"t":"a"},{"id":2,"t":"b"}]`, `[{"id":1,"t":"A"},{"id":2,"t":"b"}]`, `[{"id":2,"t":"b","done":true},{"id":3}]`,
			`[{"id":1,"t":"A"},{"id":2,"t":"b","done":true},{"id":3}]`, []string{`/0: {"id":1,"t":"a"}, {"id":1,"t":"A"}, -`}},
		{"one item, two members", `[{"id":1,"t":"a","n":1}]`, `[{"id":1,"t":"A","n":1}]`, `[{"id":0,"t":"new"},{"id":1,"t":"a","n":2}]`, `[{"id":0,"t":"new"},{"id":1,"t":"A","n":2}]`, nil},
		{"conflict behind a new item", `[{"id":1,"t":"a"}]`, `[{"id":1,"t":"b"}]`, `[{"id":0},{"id":1,"t":"c"}]`, `[{"id":0},{"id":1,"t":"b"}]`, []string{`/1/t: "a", "b", "c"`}},
		{"moved and changed", `[{"id":1,"t":"a"},{"id":2,"t":"b"}]`, `[{"id":2,"t":"b"},{"id":1,"t":"a"}]`, `[{"id":1,"t":"A"},{"id":2,"t":"b"}]`, `[{"id":2,"t":"b"},{"id":1,"t":"A"}]`, nil},
		{"moved in two ways", `[{"id":1},{"id":2},{"id":3}]`, `[{"id":2},{"id":1},{"id":3}]`, `[{"id":1},{"id":3},{"id":2,"x":1}]`, `[{"id":2,"x":1},{"id":1},{"id":3}]`,
			[]string{`: [{"id":1},{"id":2},{"id":3}], [{"id":2},{"id":1},{"id":3}], [{"id":1},{"id":3},{"id":2,"x":1}]`}},
		{"one id added twice", `[]`, `[{"id":1,"a":1}]`, `[{"id":1,"b":1}]`, `[{"id":1,"a":1,"b":1}]`, nil},
		{"lists that were made apart", `{}`, `{"p":[1,2]}`, `{"p":[3,4]}`, `{"p":[1,2]}`, []string{"/p: -, [1,2], [3,4]"}},
		{"lists of items that were made apart", `{"l":null}`, `{"l":[{"id":"a"}]}`, `{"l":[{"id":"b"}]}`, `{"l":[{"id":"a"},{"id":"b"}]}`, nil},
	} {
		got, conflicts, err := Merge(MustParse(c.base), MustParse(c.ours), MustParse(c.theirs), nil)
		if err != nil || got.String() != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
		var list []string
		for _, x := range conflicts {
			list = append(list, conflictText(x))
		}
		if fmt.Sprint(list) != fmt.Sprint(c.conflicts) {
			t.Errorf("%s: conflicts %v, want %v", c.name, list, c.conflicts)
		}
	}
}

func conflictText(c Conflict) string {
	text := func(v Value) string {
		if v.IsAbsent() {
			return "-"
		}
		return v.String()
	}
	return fmt.Sprintf("%s: %s, %s, %s", c.Path, text(c.Base), text(c.Ours), text(c.Theirs))
}

func TestMergePolicies(t *testing.T) {
	base := MustParse(`{"a":1,"b":1,"l":[{"id":1},{"id":2},{"id":3}]}`)
	ours := MustParse(`{"a":2,"l":[{"id":2},{"id":1},{"id":3}]}`)
	theirs := MustParse(`{"a":3,"b":2,"l":[{"id":1},{"id":3},{"id":2}]}`)
	for name, c := range map[string]struct {
		policy Policy
		want   string
	}{
		"default": {nil, `{"a":2,"l":[{"id":2},{"id":1},{"id":3}]}`},
		"ours":    {Ours, `{"a":2,"l":[{"id":2},{"id":1},{"id":3}]}`},
		"theirs":  {Theirs, `{"a":3,"l":[{"id":1},{"id":3},{"id":2}],"b":2}`},
		"function": {func(c Conflict) (Value, bool) {
			switch c.Path {
			case "/a":
				return String("both"), true
			case "/l":
				return Array(), true
			}
			return Value{}, true
		}, `{"a":"both","l":[]}`},
	} {
		got, conflicts, err := Merge(base, ours, theirs, &MergeOptions{Policy: c.policy})
		if err != nil || len(conflicts) != 3 || got.String() != c.want {
			t.Errorf("%s: %s, %v, %v, want %s", name, got, conflicts, err, c.want)
		}
	}
	got, conflicts, err := Merge(base, ours, theirs, &MergeOptions{Policy: Reject})
	var ce *ConflictError
	if !errors.As(err, &ce) || len(ce.Conflicts) != 3 || len(conflicts) != 3 || !got.IsAbsent() || !strings.Contains(err.Error(), `"/a"`) {
		t.Errorf("reject: %s, %v, %v", got, conflicts, err)
	}
	// A policy may refuse some and decide others.
	_, _, err = Merge(base, ours, theirs, &MergeOptions{Policy: func(c Conflict) (Value, bool) { return c.Theirs, c.Path != "/b" }})
	if !errors.As(err, &ce) {
		t.Errorf("%v", err)
	}
	if _, conflicts, err := Merge(MustParse(`{"a":1.0}`), MustParse(`{"a":1}`), MustParse(`{"a":2}`), &MergeOptions{Numbers: ByDouble, Policy: Reject}); err != nil || conflicts != nil {
		t.Errorf("an echoed number is a change: %v, %v", conflicts, err)
	}
}

// facts lists what a document says: each place, named by identities instead of
// indexes, with its kind or its scalar. The order of items is not among them.
func facts(v Value) map[string]string {
	all := map[string]string{}
	var walk func(Value, string)
	walk = func(v Value, at string) {
		switch v.Kind() {
		case KindObject:
			all[at] = "{}"
			for name, k := range v.Members() {
				walk(k, at+"/"+fmt.Sprintf("%q", name))
			}
		case KindArray:
			all[at] = "[]"
			for _, k := range v.Items() {
				id, _ := k.Get("id")
				walk(k, at+"/#"+id.String())
			}
		default:
			all[at] = v.String()
		}
	}
	walk(v, "")
	return all
}

// factPath names the place of a conflict as facts does. result is the merged
// document; an item that is not in it is known by the conflict's values.
func factPath(result Value, c Conflict) string {
	at, v := "", result
	tokens := c.Path.Tokens()
	for i, tok := range tokens {
		next, _ := v.At(Path(tok))
		if v.Kind() != KindArray {
			at += "/" + fmt.Sprintf("%q", tok)
		} else {
			if i == len(tokens)-1 {
				next = c.Base
				if next.IsAbsent() {
					next = c.Ours
				}
			}
			id, _ := next.Get("id")
			at += "/#" + id.String()
		}
		v = next
	}
	return at
}

// genFactDoc makes documents that facts understands.
func genFactDoc(levels int) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		if levels == 0 {
			return genScalar().Draw(t, "leaf")
		}
		if rapid.IntRange(0, 2).Draw(t, "kind") > 0 {
			return genObject(genFactDoc(levels-1)).Draw(t, "object").Without("id")
		}
		var items []Value
		for _, id := range rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 1, 6, rapid.ID).Draw(t, "ids") {
			items = append(items, genObject(genFactDoc(levels-1)).Draw(t, "item").With("id", Int(int64(id))))
		}
		return Array(items...)
	})
}

// editFacts changes a document so that facts still understands it.
func editFacts(t *rapid.T, v Value, p Pointer) Value {
	if _, ok := v.At(p); !ok {
		p = rapid.SampledFrom(allPlaces(v)).Draw(t, "place")
	}
	if _, token, ok := p.Parent(); ok && token == "id" {
		return v
	}
	at, _ := v.At(p)
	switch at.Kind() {
	case KindObject:
		name := rapid.SampledFrom([]string{"a", "b", "c", "new"}).Draw(t, "name")
		if rapid.Bool().Draw(t, "set") {
			return must(v.SetAt(p, at.With(name, genFactDoc(1).Draw(t, "value"))))
		}
		return must(v.SetAt(p, at.Without(name)))
	case KindArray:
		var items []Value
		for _, it := range at.Items() {
			items = append(items, it)
		}
		switch rapid.IntRange(0, 2).Draw(t, "edit") {
		case 0:
			id := Int(int64(rapid.IntRange(10, 14).Draw(t, "new id")))
			for _, it := range items {
				if have, _ := it.Get("id"); Equal(have, id) {
					return v
				}
			}
			i := rapid.IntRange(0, len(items)).Draw(t, "index")
			items = append(items[:i:i], append([]Value{genObject(genFactDoc(0)).Draw(t, "item").With("id", id)}, items[i:]...)...)
		case 1:
			if len(items) > 1 {
				i := rapid.IntRange(0, len(items)-1).Draw(t, "index")
				items = append(items[:i:i], items[i+1:]...)
			}
		case 2:
			items = rapid.Permutation(items).Draw(t, "order")
		}
		return must(v.SetAt(p, Array(items...)))
	}
	return must(v.SetAt(p, genFactDoc(1).Draw(t, "replacement")))
}

// S6: no change of either side is missing in the result without a conflict.
func TestMergeLosesNoEdit_S6(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := genFactDoc(3).Draw(t, "base")
		ours, theirs := base, base
		for range rapid.IntRange(1, 3).Draw(t, "edits") {
			// Both often change the same place.
			p := rapid.SampledFrom(allPlaces(base)).Draw(t, "our place")
			q := p
			if rapid.Bool().Draw(t, "apart") {
				q = rapid.SampledFrom(allPlaces(base)).Draw(t, "their place")
			}
			ours, theirs = editFacts(t, ours, p), editFacts(t, theirs, q)
		}
		result, conflicts, err := Merge(base, ours, theirs, nil)
		if err != nil {
			t.Fatal(err)
		}
		listed := map[string]bool{}
		for _, c := range conflicts {
			listed[factPath(result, c)] = true
		}
		covered := func(at string) bool {
			for p := at; ; p = p[:strings.LastIndexByte(p, '/')] {
				if listed[p] {
					return true
				}
				if p == "" {
					return false
				}
			}
		}
		b, o, th, r := facts(base), facts(ours), facts(theirs), facts(result)
		places := map[string]bool{}
		for _, f := range []map[string]string{b, o, th, r} {
			for at := range f {
				places[at] = true
			}
		}
		for at := range places {
			want, sides := b[at], 0
			if o[at] != b[at] {
				want = o[at]
				sides++
			}
			if th[at] != b[at] {
				want = th[at]
				sides++
			}
			differ := sides == 2 && o[at] != th[at]
			if (differ || r[at] != want) && !covered(at) {
				t.Fatalf("base %s\nours %s\ntheirs %s\nresult %s\nconflicts %v\nat %s: base %q, ours %q, theirs %q, result %q",
					base, ours, theirs, result, conflicts, at, b[at], o[at], th[at], r[at])
			}
		}
	})
}

// The same for arrays without identity: what a side put in is there, what it
// took out is not, or there is a conflict. Items are distinct, so that they can
// be told apart.
func TestMergeLosesNoItem_S6(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edit := func(list []int, fresh int, label string) []int {
			list = append([]int{}, list...)
			for range rapid.IntRange(0, 3).Draw(t, label+" edits") {
				i := rapid.IntRange(0, len(list)).Draw(t, label+" index")
				if i < len(list) && rapid.Bool().Draw(t, label+" removes") {
					list = append(list[:i:i], list[i+1:]...)
				} else {
					list = append(list[:i:i], append([]int{fresh}, list[i:]...)...)
					fresh++
				}
			}
			return list
		}
		base := rapid.SliceOfNDistinct(rapid.IntRange(0, 30), 0, 10, rapid.ID).Draw(t, "base")
		lists := [][]int{base, edit(base, 100, "ours"), edit(base, 200, "theirs")}
		var docs []Value
		var has []map[int]bool
		for _, l := range lists {
			docs = append(docs, MustFrom(l))
			set := map[int]bool{}
			for _, n := range l {
				set[n] = true
			}
			has = append(has, set)
		}
		result, conflicts, err := Merge(docs[0], docs[1], docs[2], nil)
		if err != nil {
			t.Fatal(err)
		}
		in := map[int]int{}
		for _, it := range result.Items() {
			n, _ := it.Int64()
			in[int(n)]++
		}
		inConflict := func(n int) bool {
			x := Int(int64(n))
			for _, c := range conflicts {
				if Equal(c.Base, x) || Equal(c.Ours, x) || Equal(c.Theirs, x) {
					return true
				}
			}
			return false
		}
		for n := range 300 {
			want := has[0][n]
			if has[1][n] != has[0][n] || has[2][n] != has[0][n] {
				want = !want
			}
			if (in[n] == 1) != want && !inConflict(n) || in[n] > 1 {
				t.Fatalf("base %s, ours %s, theirs %s: %s, conflicts %v: item %d", docs[0], docs[1], docs[2], result, conflicts, n)
			}
		}
	})
}

// Changes of different members and items meet without a conflict, whoever made
// them.
func TestDisjointEditsCommute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := genFactDoc(3).Draw(t, "base")
		places := allPlaces(base)
		p := rapid.SampledFrom(places).Draw(t, "our place")
		q := rapid.SampledFrom(places).Draw(t, "their place")
		if p.Contains(q) || q.Contains(p) || strings.HasSuffix(string(p), "/id") || strings.HasSuffix(string(q), "/id") {
			return
		}
		keep := func(old, x Value) Value { // an item keeps its identity
			if id, ok := old.Get("id"); ok {
				return Object(Member{"id", id}, Member{"x", x})
			}
			return x
		}
		oldP, _ := base.At(p)
		oldQ, _ := base.At(q)
		x := keep(oldP, genFactDoc(1).Draw(t, "our value"))
		y := keep(oldQ, genFactDoc(1).Draw(t, "their value"))
		ours, theirs := must(base.SetAt(p, x)), must(base.SetAt(q, y))
		want := must(ours.SetAt(q, y))
		for _, sides := range [][2]Value{{ours, theirs}, {theirs, ours}} {
			got, conflicts, err := Merge(base, sides[0], sides[1], &MergeOptions{Policy: Reject})
			if err != nil || !EqualBy(got, want, ByText) {
				t.Fatalf("base %s, %s := %s, %s := %s: %s, %v, %v, want %s", base, p, x, q, y, got, conflicts, err, want)
			}
		}
	})
}
