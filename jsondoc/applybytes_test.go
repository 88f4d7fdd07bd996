package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

func TestApplyBytesIsApply(t *testing.T) {
	failed, applied := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		doc := genDoc(4).Draw(t, "doc")
		p := genPatch(doc).Draw(t, "patch")
		if rapid.Bool().Draw(t, "wild") {
			p = append(p, genWildOperation(doc).Draw(t, "wild operation"))
		}
		text := doc.AppendJSON(nil)
		if rapid.Bool().Draw(t, "spaced") {
			var b bytes.Buffer
			if err := json.Indent(&b, text, " ", "\t"); err != nil {
				t.Fatal(err)
			}
			text = append(append([]byte("\n "), b.Bytes()...), ' ')
		}
		before := string(text)
		want, wantErr := p.Apply(doc, nil)
		got, err := p.ApplyBytes(text, nil)
		if string(text) != before {
			t.Fatalf("%s changed the text to %s", p, text)
		}
		if wantErr != nil {
			failed++
			if err == nil || err.Error() != wantErr.Error() {
				t.Fatalf("%s on %s: %s, %v, Apply says %v", p, text, got, err, wantErr)
			}
			return
		}
		applied++
		v, perr := Parse(got, nil)
		if err != nil || perr != nil || !EqualBy(v, want, ByText) {
			t.Fatalf("%s on %s: %s, %v, want %s", p, text, got, err, want)
		}
	})
	if failed == 0 || applied == 0 {
		t.Errorf("%d applied, %d failed", applied, failed)
	}
}

func TestApplyBytesCopiesTheRest(t *testing.T) {
	p := Patch{{Op: "replace", Path: "/b/1", Value: MustParse(`{"x":1}`)}, {Op: "test", Path: "/a", Value: MustParse(`{"u":"A","n":10}`)}}
	got, err := p.ApplyBytes([]byte(` {"a": {"u": "\u0041", "n": 1e1 } , "b":[ [ 1 ], 2 , "\/" ]}`), nil)
	if err != nil || string(got) != `{"a":{"u": "\u0041", "n": 1e1 },"b":[[ 1 ],{"x":1},"\/"]}` {
		t.Errorf("%s, %v", got, err)
	}
	// A raw place is read when an operation goes into it: indexes move.
	p = Patch{{Op: "remove", Path: "/0"}, {Op: "add", Path: "/0/a/b", Value: Null}, {Op: "copy", From: "/0", Path: "/1"}, {Op: "replace", Path: "/1/a/b", Value: True}}
	got, err = p.ApplyBytes([]byte(`[0,{"a":{"z":[1]}}]`), nil)
	if err != nil || string(got) != `[{"a":{"z":[1],"b":null}},{"a":{"z":[1],"b":true}}]` {
		t.Errorf("%s, %v", got, err)
	}
	var pe *PatchError
	if _, err := (Patch{{Op: "copy", From: "/a", Path: "/b/c"}}).ApplyBytes([]byte(`{"a":[[[]]],"b":{}}`), &ApplyOptions{MaxDepth: 4}); !errors.As(err, &pe) {
		t.Errorf("a raw value's depth does not count: %v", err)
	}
	if _, err := (Patch{{Op: "copy", From: "/a", Path: "/b/c"}}).ApplyBytes([]byte(`{"x":[[[[[]]]]],"a":[[[]]],"b":{}}`), &ApplyOptions{MaxDepth: 5}); err != nil {
		t.Error(err)
	}
}

// What is skipped is checked as strictly as what is read.
func TestApplyBytesRefusesWhatParseRefuses(t *testing.T) {
	files, err := filepath.Glob("testdata/json-parsing/*.json")
	if err != nil || len(files) < 300 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	texts := [][]byte{
		[]byte(`{"a":{"b":1,"b":2}}`), []byte(`{"a":{"b":1,"\u0062":2}}`), []byte(`{"a":1,"a":2}`), []byte(`{"\u0061":1,"a":2}`),
		[]byte(`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"r":1,"a":1}`),
		[]byte(`[[{"x":1},{"y":{"z":1,"":2,"":3}}]]`),
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, data)
	}
	for _, text := range texts {
		want, wantErr := Parse(text, nil)
		for _, p := range []Patch{
			nil, {{Op: "copy", From: "", Path: ""}}, {{Op: "test", Path: "", Value: want}},
			{{Op: "copy", From: "/0/a", Path: "/0/a"}}, {{Op: "copy", From: "/a", Path: "/a"}},
		} {
			if len(p) > 0 && p[0].Value.IsAbsent() && p[0].Op == "test" {
				continue
			}
			got, err := p.ApplyBytes(text, nil)
			var se, we *SyntaxError
			if errors.As(err, &se) != errors.As(wantErr, &we) {
				t.Errorf("%.60q, %s: %v, Parse says %v", text, p, err, wantErr)
			}
			if se != nil && (se.Reason != we.Reason || se.Offset != we.Offset || se.Path != we.Path) {
				t.Errorf("%.60q, %s: %v, Parse says %v", text, p, err, wantErr)
			}
			if err == nil && !EqualBy(MustParse(string(got)), want, ByText) {
				t.Errorf("%.60q, %s: %s", text, p, got)
			}
		}
	}
}
