package jsondoc

import (
	"testing"

	"pgregory.net/rapid"
)

// checkShape fails if the caches of a value do not say what is true.
func checkShape(t interface{ Fatalf(string, ...any) }, v Value) int {
	if v.n == nil {
		t.Fatalf("absent value inside a document")
	}
	if got, want := v.Size(), len(v.AppendJSON(nil)); got != want {
		t.Fatalf("Size of %s = %d, want %d", v, got, want)
	}
	height := 0
	if v.n.box != nil {
		for _, k := range v.n.box.all() {
			height = max(height, checkShape(t, k))
		}
		height++
		if (v.n.box.tree == nil) == (v.n.box.len() > flatMax) && v.n.box.tree == nil {
			t.Fatalf("flat container of %d", v.n.box.len())
		}
		if s := v.n.box.shape; s != nil && len(s.names) != v.n.box.len() {
			t.Fatalf("%d names for %d members", len(s.names), v.n.box.len())
		}
	}
	if int(v.n.height) < height {
		t.Fatalf("height of %s = %d, less than %d", v, v.n.height, height)
	}
	return height
}

func TestDiffApplyLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pair := genPair().Draw(t, "pair")
		a, b := pair[0], pair[1]
		before := a.String()
		opts := &DiffOptions{Smallest: rapid.Bool().Draw(t, "smallest")}
		p := Diff(a, b, opts)
		got, err := p.Apply(a, nil)
		if err != nil {
			t.Fatalf("Diff(%s, %s) = %s does not apply: %v", a, b, p, err)
		}
		if !EqualBy(got, b, ByText) {
			t.Fatalf("Diff(%s, %s) = %s gives %s", a, b, p, got)
		}
		checkShape(t, got)
		if a.String() != before {
			t.Fatalf("applying changed the document: %s, was %s", a, before)
		}
		if EqualBy(a, b, ByText) && len(p) > 0 {
			t.Fatalf("Diff of equal documents %s, %s = %s", a, b, p)
		}
		p2, err := ParsePatch(p.AppendJSON(nil))
		if err != nil || p2.String() != p.String() {
			t.Fatalf("patch %s reads as %s, %v", p, p2, err)
		}
	})
}

func TestInverseLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pair := genPair().Draw(t, "pair")
		a, b := pair[0], pair[1]
		p := append(genPatch(a).Draw(t, "patch"), Operation{Op: "replace", Path: "", Value: b})
		if rapid.Bool().Draw(t, "diff") {
			p = Diff(a, b, nil)
		}
		r, err := p.Apply(a, nil)
		if err != nil {
			t.Fatalf("%s on %s: %v", p, a, err)
		}
		q, err := p.Inverse(a)
		if err != nil {
			t.Fatalf("inverse of %s on %s: %v", p, a, err)
		}
		back, err := q.Apply(r, nil)
		if err != nil || !EqualBy(back, a, ByText) {
			t.Fatalf("%s on %s gives %s, its inverse %s gives %s, %v", p, a, r, q, back, err)
		}
	})
}

// genPatch makes a patch of all operations that applies to doc.
func genPatch(doc Value) *rapid.Generator[Patch] {
	return rapid.Custom(func(t *rapid.T) Patch {
		var p Patch
		for range rapid.IntRange(0, 6).Draw(t, "operations") {
			places := allPlaces(doc)
			path := rapid.SampledFrom(places).Draw(t, "path")
			if rapid.Bool().Draw(t, "below") {
				path = path.Child(rapid.SampledFrom(genNames).Draw(t, "token"))
			}
			op := Operation{
				Op:   rapid.SampledFrom([]string{"add", "remove", "replace", "move", "copy", "test"}).Draw(t, "op"),
				Path: path,
			}
			switch op.Op {
			case "move", "copy":
				op.From = rapid.SampledFrom(places).Draw(t, "from")
			case "add", "replace", "test":
				op.Value = genDoc(1).Draw(t, "value")
				if op.Op == "test" {
					op.Value, _ = doc.At(path)
				}
			}
			if r, err := (Patch{op}).Apply(doc, nil); err == nil {
				doc = r
				p = append(p, op)
			}
		}
		return p
	})
}

// One Apply of many operations writes to its own copies; it must do what as many
// Applies of one operation do, and touch nothing that others see.
func TestApplyInOneGoEqualsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := genDoc(3).Draw(t, "doc")
		p := genPatch(doc).Draw(t, "patch")
		before := doc.String()
		values := p.String()
		one := doc
		for _, op := range p {
			one = must(Patch{op}.Apply(one, nil))
		}
		all, err := p.Apply(doc, nil)
		if err != nil || all.String() != one.String() {
			t.Fatalf("%s on %s: in one go %s (%v), one by one %s", p, doc, all, err, one)
		}
		checkShape(t, all)
		if doc.String() != before || p.String() != values {
			t.Fatalf("apply changed its arguments: %s, %s", doc, p)
		}
	})
}

func TestParseLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genDoc(3).Draw(t, "doc")
		like := genDoc(3).Draw(t, "like")
		if rapid.Bool().Draw(t, "related") {
			like = genEdited(v, 3).Draw(t, "older")
		}
		got, err := Parse(v.AppendJSON(nil), &ParseOptions{Like: like})
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != v.String() {
			t.Fatalf("%s reads as %s after %s", v, got, like)
		}
		checkShape(t, got)
	})
}

func TestCanonicalLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pair := genPair().Draw(t, "pair")
		a, b := pair[0], pair[1]
		x, y := a.Canonical(), b.Canonical()
		if Equal(a, b) != (string(x) == string(y)) {
			t.Fatalf("Equal(%s, %s) = %v; canonical %s, %s", a, b, Equal(a, b), x, y)
		}
		again, err := Parse(x, nil)
		if err != nil || !Equal(again, a) || string(again.Canonical()) != string(x) {
			t.Fatalf("canonical form of %s is %s, which reads as %s, %v", a, x, again, err)
		}
	})
}

func TestMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := genDoc(3).Draw(t, "base")
		x := genEdited(base, 3).Draw(t, "x")
		if rapid.Bool().Draw(t, "reparsed") {
			x = MustParse(x.String())
		}
		for _, c := range []struct {
			name               string
			base, ours, theirs Value
		}{{"merge(b, b, x)", base, base, x}, {"merge(b, x, b)", base, x, base}, {"merge(b, x, x)", base, x, x}} {
			got, conflicts, err := Merge(c.base, c.ours, c.theirs, &MergeOptions{Policy: Reject})
			if err != nil || len(conflicts) > 0 || !EqualBy(got, x, ByText) {
				t.Fatalf("%s with b = %s, x = %s gives %s, %v, %v", c.name, base, x, got, conflicts, err)
			}
		}
	})
}

func TestMergeCommutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := genDoc(3).Draw(t, "base")
		x := genEdited(base, 2).Draw(t, "x")
		y := genEdited(base, 2).Draw(t, "y")
		xy, c1, err1 := Merge(base, x, y, nil)
		yx, c2, err2 := Merge(base, y, x, nil)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		checkShape(t, xy)
		if len(c1) != len(c2) {
			t.Fatalf("base %s, x %s, y %s: %d conflicts one way, %d the other:\n%v\n%v", base, x, y, len(c1), len(c2), c1, c2)
		}
		if len(c1) == 0 && !EqualBy(xy, yx, ByText) {
			t.Fatalf("base %s, x %s, y %s: %s one way, %s the other", base, x, y, xy, yx)
		}
		// Theirs of one is Ours of the other.
		theirs, _, err := Merge(base, x, y, &MergeOptions{Policy: Theirs})
		if err != nil || !EqualBy(theirs, yx, ByText) {
			t.Fatalf("base %s, x %s, y %s: Theirs gives %s, Ours with the sides changed %s", base, x, y, theirs, yx)
		}
	})
}
