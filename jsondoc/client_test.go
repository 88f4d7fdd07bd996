package jsondoc

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"testing"
)

// W2: what Apply accepts under ClientRules, the official client's library
// accepts, too, and comes to the same document. The cases are a record of what
// fast-json-patch 3.1.1 did.
func TestClientRulesAreTheClients_W2(t *testing.T) {
	data, err := os.ReadFile("testdata/fast-json-patch/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	accepted, refused := 0, 0
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		line := MustParse(lines.Text())
		text := func(name string) string { v, _ := line.Get(name); return v.Str() }
		doc := MustParse(text("doc"))
		apply := func(rules bool) (Value, error) {
			p, err := ParsePatch([]byte(text("patch")))
			if err != nil {
				return Value{}, err
			}
			return p.Apply(doc, &ApplyOptions{ClientRules: rules})
		}
		strict, errStrict := apply(true)
		_, errPlain := apply(false)
		_, clientRefuses := line.Get("error")
		switch {
		case errStrict == nil && clientRefuses:
			t.Errorf("%s on %s: accepted as %s, the client refuses it: %s", text("patch"), text("doc"), strict, text("error"))
		case errStrict == nil:
			accepted++
			if want := MustParse(text("result")); !EqualBy(strict, want, ByDouble) {
				t.Errorf("%s on %s: %s, the client has %s", text("patch"), text("doc"), strict, want)
			}
		default:
			refused++
		}
		// Nothing is refused for the client's sake that the client takes.
		if errPlain == nil && errStrict != nil && !clientRefuses {
			t.Errorf("%s on %s: refused (%v), the client takes it", text("patch"), text("doc"), errStrict)
		}
		if errPlain == nil && errStrict != nil && !strings.Contains(text("patch"), "proto") {
			t.Errorf("%s on %s: refused only under ClientRules: %v", text("patch"), text("doc"), errStrict)
		}
	}
	if accepted < 150 || refused < 150 {
		t.Errorf("only %d cases accepted and %d refused", accepted, refused)
	}
}
