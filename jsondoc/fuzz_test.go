package jsondoc

import (
	"bytes"
	"encoding/json"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,"\u00e9\ud83d\ude00",true,null]}`, `[[[]],{}]`, `{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`, ` 1 `, `[{"x":1,"y":2},{"x":3,"y":4},{"y":5}]`} {
		f.Add([]byte(s), []byte(`{"a":[1]}`))
	}
	f.Fuzz(func(t *testing.T, data, model []byte) {
		loose, err := Parse(data, &ParseOptions{KeepLast: true, ReplaceInvalid: true, MaxDepth: 9999})
		if (err == nil) != json.Valid(data) {
			t.Fatalf("%q: %v, encoding/json says %v", data, err, json.Valid(data))
		}
		strict, err := Parse(data, nil)
		if err != nil {
			return
		}
		if loose.String() != strict.String() {
			t.Fatalf("%q reads as %s or %s", data, strict, loose)
		}
		checkShape(t, strict)
		// What is written is what encoding/json would make of the text, but for
		// its escapes, and it reads as itself.
		var compact bytes.Buffer
		if err := json.Compact(&compact, data); err != nil {
			t.Fatal(err)
		}
		again, err := Parse(strict.AppendJSON(nil), nil)
		if err != nil || again.String() != strict.String() {
			t.Fatalf("%q is written as %s, read as %s, %v", data, strict, again, err)
		}
		if len(strict.String()) > compact.Len() {
			t.Fatalf("%q is written longer than it was: %s", data, strict)
		}
		like, err := Parse(model, nil)
		if err != nil {
			return
		}
		other, err := Parse(data, &ParseOptions{Like: like})
		if err != nil || other.String() != strict.String() {
			t.Fatalf("%q after %q: %s, %v", data, model, other, err)
		}
		checkShape(t, other)
		p := Diff(like, other, nil)
		got, err := p.Apply(like, nil)
		if err != nil || !EqualBy(got, strict, ByText) {
			t.Fatalf("from %s to %s: %s gives %s, %v", like, strict, p, got, err)
		}
	})
}

func FuzzPatch(f *testing.F) {
	for _, s := range [][2]string{
		{`{"a":[1,2]}`, `[{"op":"add","path":"/a/-","value":null},{"op":"move","from":"/a/0","path":"/b"}]`},
		{`[1]`, `[{"op":"replace","path":"","value":{}},{"op":"test","path":"/x","value":1}]`},
		{`null`, `[{"op":"copy","from":"","path":"/a/b"},{"op":"remove","path":"/~0~1"}]`},
		{`{"a":{}}`, `[{"op":"copy","from":"","path":"/a/b"},{"op":"copy","from":"","path":"/a/c"},{"op":"remove","path":"/a/b"}]`},
	} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, document, patch []byte) {
		doc, err := Parse(document, nil)
		if err != nil {
			return
		}
		p, err := ParsePatch(patch)
		if err != nil {
			return
		}
		q, err := ParsePatch(p.AppendJSON(nil))
		if err != nil || q.String() != p.String() {
			t.Fatalf("%s reads as %s, %v", p, q, err)
		}
		before := doc.String()
		opts := &ApplyOptions{MaxSize: 1 << 20}
		got, err := p.Apply(doc, opts)
		if doc.String() != before {
			t.Fatalf("%s changed the document to %s", p, doc)
		}
		text, textErr := p.ApplyBytes(document, opts)
		if (err == nil) != (textErr == nil) && len(document) < opts.MaxSize/2 {
			t.Fatalf("%s on %q: Apply %v, ApplyBytes %v", p, document, err, textErr)
		}
		if textErr == nil {
			if v, err := Parse(text, &ParseOptions{MaxDepth: 9999}); err != nil || got.n != nil && !EqualBy(v, got, ByText) {
				t.Fatalf("%s on %q: Apply %s, ApplyBytes %s, %v", p, document, got, text, err)
			}
		}
		if err != nil {
			if _, ok := err.(*PatchError); !ok {
				t.Fatalf("%#v", err)
			}
			return
		}
		checkShape(t, got)
		one := doc
		for _, op := range p {
			if one, err = (Patch{op}).Apply(one, opts); err != nil {
				t.Fatalf("%s alone: %v", op.Op, err)
			}
		}
		if one.String() != got.String() {
			t.Fatalf("%s: in one go %s, one by one %s", p, got, one)
		}
		back, err := p.Inverse(doc)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := back.Apply(got, nil); err != nil || !EqualBy(r, doc, ByText) {
			t.Fatalf("%s on %s: the inverse %s gives %s, %v", p, doc, back, r, err)
		}
	})
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"a":[{"id":1},{"id":2}],"b":1}`), []byte(`{"a":[{"id":2},{"id":1,"x":1}]}`), []byte(`{"a":[{"id":1,"x":2},{"id":3}],"b":2}`))
	f.Add([]byte(`[1,2,3]`), []byte(`[1,4,3]`), []byte(`[0,1,2]`))
	f.Fuzz(func(t *testing.T, b, x, y []byte) {
		var docs [3]Value
		for i, data := range [][]byte{b, x, y} {
			v, err := Parse(data, nil)
			if err != nil {
				return
			}
			docs[i] = v
		}
		base, ours, theirs := docs[0], docs[1], docs[2]
		xy, c1, err := Merge(base, ours, theirs, nil)
		if err != nil {
			t.Fatal(err)
		}
		yx, c2, err := Merge(base, theirs, ours, nil)
		if err != nil || len(c1) != len(c2) || len(c1) == 0 && !EqualBy(xy, yx, ByText) {
			t.Fatalf("base %s, x %s, y %s: %s (%v) and %s (%v), %v", base, ours, theirs, xy, c1, yx, c2, err)
		}
		if xy.n != nil {
			checkShape(t, xy)
		}
		if r, c, err := Merge(base, base, ours, &MergeOptions{Policy: Reject}); err != nil || c != nil || !EqualBy(r, ours, ByText) {
			t.Fatalf("merge(b, b, x) with b = %s, x = %s: %s, %v", base, ours, r, c)
		}
	})
}
