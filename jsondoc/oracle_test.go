package jsondoc

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	evanphx "github.com/evanphx/json-patch/v5"
	"github.com/wI2L/jsondiff"
	"pgregory.net/rapid"
)

func evanphxOptions() *evanphx.ApplyOptions {
	o := evanphx.NewApplyOptions()
	o.SupportNegativeIndices = false
	o.AccumulatedCopySizeLimit = 0
	o.AllowMissingPathOnRemove = false
	o.EnsurePathExistsOnAdd = false
	o.EscapeHTML = false
	return o
}

// evanphxKnows leaves out what json-patch v5.9.11 is known to get wrong: roots
// that are no containers, tokens "" on the way, indexes with leading zeros, tests
// of places that are missing, numbers in tests (compared as text).
func evanphxKnows(doc Value, p Patch) bool {
	if k := doc.Kind(); k != KindObject && k != KindArray {
		return false
	}
	for _, op := range p {
		for _, ptr := range []Pointer{op.Path, op.From} {
			for _, tok := range ptr.Tokens() {
				if tok == "" || len(tok) > 1 && strings.Trim(tok, "0123456789") == "" && tok[0] == '0' {
					return false
				}
			}
		}
		if op.Op == "move" && op.From.Contains(op.Path) && op.From != op.Path {
			return false // into itself: it looks for the place after the removal
		}
		if op.Path == "" || op.Op == "test" || (op.Op == "move" || op.Op == "copy") && op.From == "" {
			return false
		}
	}
	return true
}

func TestApplyAgainstEvanphx(t *testing.T) {
	compared, failed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		doc := genDoc(3).Draw(t, "doc")
		p := genPatch(doc).Draw(t, "patch")
		if rapid.Bool().Draw(t, "wild") {
			p = append(p, genWildOperation(doc).Draw(t, "wild operation"))
		}
		if !evanphxKnows(doc, p) {
			return
		}
		compared++
		theirs, err := evanphx.DecodePatch(p.AppendJSON(nil))
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		got, ourErr := p.Apply(doc, nil)
		want, theirErr := theirs.ApplyWithOptions(doc.AppendJSON(nil), evanphxOptions())
		if ourErr != nil {
			failed++
		}
		if (ourErr == nil) != (theirErr == nil) {
			t.Fatalf("%s on %s: %s, %v; evanphx %s, %v", p, doc, got, ourErr, want, theirErr)
		}
		if ourErr == nil && !Equal(got, MustParse(string(want))) {
			t.Fatalf("%s on %s: %s, evanphx %s", p, doc, got, want)
		}
	})
	if compared < 20 {
		t.Errorf("only %d cases compared, %d of them failing ones", compared, failed)
	}
}

// genWildOperation makes operations that may well not apply.
func genWildOperation(doc Value) *rapid.Generator[Operation] {
	return rapid.Custom(func(t *rapid.T) Operation {
		path := func(label string) Pointer {
			p := rapid.SampledFrom(allPlaces(doc)).Draw(t, label)
			for range rapid.IntRange(0, 2).Draw(t, label+" more") {
				p = p.Child(rapid.SampledFrom([]string{"a", "b", "0", "1", "7", "-", "01", "-1", "1e0", "~"}).Draw(t, "token"))
			}
			return p
		}
		op := Operation{Op: rapid.SampledFrom([]string{"add", "remove", "replace", "move", "copy"}).Draw(t, "op"), Path: path("path")}
		switch op.Op {
		case "move", "copy":
			op.From = path("from")
		case "add", "replace":
			op.Value = genScalar().Draw(t, "value")
		}
		return op
	})
}

// Diff's patches apply elsewhere, and others' patches apply here.
func TestDiffAgainstOthers(t *testing.T) {
	var ours, theirs int
	rapid.Check(t, func(t *rapid.T) {
		pair := genPair().Draw(t, "pair")
		a, b := pair[0], pair[1]
		p := Diff(a, b, &DiffOptions{Numbers: ByValue})
		if evanphxKnows(a, p) && evanphxKnows(b, p) {
			ep, err := evanphx.DecodePatch(p.AppendJSON(nil))
			if err != nil {
				t.Fatal(err)
			}
			got, err := ep.ApplyWithOptions(a.AppendJSON(nil), evanphxOptions())
			if err != nil || !Equal(MustParse(string(got)), b) {
				t.Fatalf("%s from %s to %s: evanphx has %s, %v", p, a, b, got, err)
			}
		}
		for _, with := range []struct {
			name string
			opt  jsondiff.Option
		}{{"nothing", func(*jsondiff.Differ) {}}, {"LCS", jsondiff.LCS()}, {"rationalize", jsondiff.Rationalize()}} {
			q, err := jsondiff.CompareJSON(a.AppendJSON(nil), b.AppendJSON(nil), with.opt)
			if err != nil {
				t.Skip(err) // numbers beyond float64
			}
			if q == nil {
				q = jsondiff.Patch{}
			}
			text, err := json.Marshal(q)
			if err != nil {
				t.Fatal(err)
			}
			patch, err := ParsePatch(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			got, err := patch.Apply(a, nil)
			if err != nil || !EqualBy(got, b, ByDouble) {
				t.Fatalf("jsondiff's (with %s) %s from %s to %s gives %s, %v", with.name, text, a, b, got, err)
			}
			if with.name == "LCS" {
				ours += len(Diff(a, b, &DiffOptions{Numbers: ByDouble}))
				theirs += len(q)
			}
		}
	})
	if ours > theirs {
		t.Errorf("%d operations where jsondiff with LCS makes %d", ours, theirs)
	}
	t.Logf("operations: ours %d, jsondiff with LCS %d", ours, theirs)
}

func TestParseAgainstEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genDoc(3).Draw(t, "doc")
		text := v.AppendJSON(nil)
		// Damage it a little.
		for range rapid.IntRange(0, 2).Draw(t, "damages") {
			i := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			text[i] = rapid.SampledFrom([]byte(`{}[]",:\0123eE+-. tfnu`)).Draw(t, "byte")
		}
		got, err := Parse(text, &ParseOptions{KeepLast: true, ReplaceInvalid: true})
		if (err == nil) != json.Valid(text) {
			t.Fatalf("%s: %v, encoding/json says %v", text, err, json.Valid(text))
		}
		if err != nil {
			return
		}
		checkShape(t, got)
		var x, y any
		errX, errY := json.Unmarshal(text, &x), got.Decode(&y)
		if (errX == nil) != (errY == nil) || !reflect.DeepEqual(x, y) {
			t.Fatalf("%s reads as %s", text, got)
		}
	})
}
