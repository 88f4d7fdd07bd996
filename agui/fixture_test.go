package agui_test

import (
	"os"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// TestNullOmission runs the fixture that all official SDKs run: decode, encode,
// compare with what is expected, strictly and leniently.
func TestNullOmission(t *testing.T) {
	data, err := os.ReadFile("testdata/null-omission.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsondoc.Parse(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, _ := doc.Get("stream")
	if stream.Len() < 25 {
		t.Fatalf("the fixture has only %d cases", stream.Len())
	}
	for _, c := range stream.Items() {
		name, _ := c.Get("name")
		input, _ := c.Get("input")
		want, _ := c.Get("expected")
		for _, opts := range []*agui.DecodeOptions{nil, {Strict: true}, {KeepUnknown: true}} {
			e, err := agui.DecodeEvent(input.AppendJSON(nil), opts)
			if err != nil {
				t.Errorf("%s: %v", name.Str(), err)
				continue
			}
			if got := agui.AppendEvent(nil, e, agui.V1); !jsondoc.Equal(jsondoc.MustParse(string(got)), want) {
				t.Errorf("%s:\n got %s\nwant %s", name.Str(), got, want)
			}
		}
	}
}
