package jsondoc

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"
)

// The generators draw from few names and values, so that two documents have
// much in common and the interesting cases are frequent.

var genNames = []string{"a", "b", "c", "id", "key", "", "~", "/", "a/b", "m~n", "__proto__", "é", "x\"y", "0", "1", "-"}

func genScalar() *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		return rapid.SampledFrom([]Value{
			Null, True, False, Int(0), Int(1), Int(2), Int(-1), mustNumber("1.0"), mustNumber("10e-1"),
			mustNumber("-0"), mustNumber("9007199254740993"), mustNumber("9007199254740992"), mustNumber("1e400"),
			String(""), String("a"), String("b"), String("1"), String("true"), String("long enough to be worth something"),
			String("\u0000\n\"\\/"), String("😀"),
		}).Draw(t, "scalar")
	})
}

func mustNumber(s string) Value {
	v, err := Number(s)
	if err != nil {
		panic(err)
	}
	return v
}

// genDoc makes documents of at most that many levels.
func genDoc(levels int) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		if levels == 0 {
			return genScalar().Draw(t, "leaf")
		}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return genScalar().Draw(t, "value")
		case 1, 2:
			return genObject(genDoc(levels-1)).Draw(t, "object")
		case 3:
			return Array(rapid.SliceOfN(genDoc(levels-1), 0, 6).Draw(t, "items")...)
		case 4:
			return Array(rapid.SliceOfN(genScalar(), 0, 12).Draw(t, "scalars")...)
		}
		return genKeyed(levels-1).Draw(t, "keyed")
	})
}

func genObject(values *rapid.Generator[Value]) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom(genNames), 0, 5, rapid.ID).Draw(t, "names")
		var ms []Member
		for _, n := range names {
			ms = append(ms, Member{n, values.Draw(t, "value")})
		}
		return Object(ms...)
	})
}

// genKeyed makes arrays whose items have identities.
func genKeyed(levels int) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		ids := rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 0, 8, rapid.ID).Draw(t, "ids")
		var items []Value
		for _, id := range ids {
			it := genObject(genDoc(levels)).Draw(t, "item")
			items = append(items, it.With("id", String(fmt.Sprint("id", id))))
		}
		return Array(items...)
	})
}

// genEdited makes a changed version of a document that shares what it leaves.
func genEdited(doc Value, most int) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		v := doc
		for range rapid.IntRange(0, most).Draw(t, "edits") {
			v = editSomewhere(t, v)
		}
		return v
	})
}

func editSomewhere(t *rapid.T, v Value) Value {
	places := allPlaces(v)
	p := rapid.SampledFrom(places).Draw(t, "place")
	at, _ := v.At(p)
	switch at.Kind() {
	case KindArray:
		items := slices.Collect(func(yield func(Value) bool) {
			for _, it := range at.Items() {
				if !yield(it) {
					return
				}
			}
		})
		switch rapid.IntRange(0, 3).Draw(t, "edit") {
		case 0:
			i := rapid.IntRange(0, len(items)).Draw(t, "index")
			items = slices.Insert(items, i, genDoc(1).Draw(t, "new item"))
		case 1:
			if len(items) > 0 {
				i := rapid.IntRange(0, len(items)-1).Draw(t, "index")
				items = slices.Delete(items, i, i+1)
			}
		case 2:
			items = rapid.Permutation(items).Draw(t, "shuffled")
		case 3:
			if len(items) > 1 {
				i := rapid.IntRange(0, len(items)-1).Draw(t, "from")
				it := items[i]
				items = slices.Delete(items, i, i+1)
				items = slices.Insert(items, rapid.IntRange(0, len(items)).Draw(t, "to"), it)
			}
		}
		return must(v.SetAt(p, Array(items...)))
	case KindObject:
		name := rapid.SampledFrom(genNames).Draw(t, "name")
		if rapid.Bool().Draw(t, "set") {
			return must(v.SetAt(p, at.With(name, genDoc(1).Draw(t, "new value"))))
		}
		return must(v.SetAt(p, at.Without(name)))
	}
	return must(v.SetAt(p, genDoc(1).Draw(t, "replacement")))
}

func must(v Value, err error) Value {
	if err != nil {
		panic(err)
	}
	return v
}

// allPlaces lists the pointers of all values in v, the root's first.
func allPlaces(v Value) []Pointer {
	var all []Pointer
	var walk func(Value, Pointer)
	walk = func(v Value, p Pointer) {
		all = append(all, p)
		for name, k := range v.Members() {
			walk(k, p.Child(name))
		}
		for i, k := range v.Items() {
			walk(k, p.Index(i))
		}
	}
	walk(v, "")
	return all
}

// genPair makes two documents, related or not.
func genPair() *rapid.Generator[[2]Value] {
	return rapid.Custom(func(t *rapid.T) [2]Value {
		a := genDoc(3).Draw(t, "a")
		if rapid.IntRange(0, 3).Draw(t, "related") == 0 {
			return [2]Value{a, genDoc(3).Draw(t, "b")}
		}
		b := genEdited(a, 4).Draw(t, "b")
		if rapid.Bool().Draw(t, "reparsed") {
			b = MustParse(b.String())
		}
		return [2]Value{a, b}
	})
}
