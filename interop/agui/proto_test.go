//go:build interop

package agui_interop

import (
	"encoding/hex"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/agui/aguipb"
	"github.com/lockstep-go/lockstep/internal/streamgen"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// TestProto: the official package reads from our bytes the event they were made
// of, and we read from its bytes the event it was given.
func TestProto(t *testing.T) {
	var lines, want []jsondoc.Value
	seen := map[agui.EventType]int{}
	for seed := range uint64(streams(80)) {
		for _, e := range streamgen.New(seed, streamgen.Options{Events: 40, Wild: 20}).Events() {
			if _, unknown := e.(*agui.Unknown); unknown {
				continue
			}
			data, err := aguipb.Append(nil, e, agui.V1)
			if err != nil {
				t.Fatal(err)
			}
			seen[e.EventType()]++
			doc := jsondoc.MustParse(string(agui.AppendEvent(nil, e, agui.V1)))
			want = append(want, doc)
			lines = append(lines, jsondoc.Object(
				jsondoc.Member{Name: "event", Value: doc},
				jsondoc.Member{Name: "hex", Value: jsondoc.String(hex.EncodeToString(data))}))
		}
	}
	bad, sameBytes := 0, 0
	for i, answer := range node(t, lines, "proto.mjs") {
		get := func(name string) jsondoc.Value { v, _ := answer.Get(name); return v }
		if text := get("error"); !text.IsAbsent() {
			t.Errorf("%s: the official package fails: %s", want[i], text.Str())
			continue
		}
		if got := carried(get("decoded")); !jsondoc.EqualBy(got, carried(want[i]), jsondoc.ByDouble) {
			if bad++; bad < 6 {
				t.Errorf("the official package reads\n%s\nfrom our\n%s", got, carried(want[i]))
			}
		}
		data, err := hex.DecodeString(get("hex").Str())
		if err != nil {
			t.Fatal(err)
		}
		if ours, _ := lines[i].Get("hex"); ours.Str() == get("hex").Str() {
			sameBytes++
		}
		e, err := aguipb.Decode(data, &agui.DecodeOptions{Strict: true})
		if err != nil {
			t.Errorf("%s: %v", want[i], err)
			continue
		}
		if got := carried(jsondoc.MustParse(string(agui.AppendEvent(nil, e, agui.V1)))); !jsondoc.EqualBy(got, carried(want[i]), jsondoc.ByDouble) {
			if bad++; bad < 6 {
				t.Errorf("we read\n%s\nfrom the official package's\n%s", got, carried(want[i]))
			}
		}
	}
	for _, typ := range agui.EventTypes() {
		if seen[typ] == 0 {
			t.Errorf("no %s was tried", typ)
		}
	}
	t.Logf("%d events, %d of them in the same bytes, %d disagreements", len(lines), sameBytes, bad)
}

// carried is a document without empty lists where the protocol has optional
// ones: protobuf cannot tell them from absent ones.
func carried(v jsondoc.Value) jsondoc.Value {
	for _, name := range []string{"pendingToolCallIds", "toolCalls", "tools", "context", "resume", "usage", "interruptIds"} {
		if list, ok := v.Get(name); ok && list.Kind() == jsondoc.KindArray && list.Len() == 0 {
			v = v.Without(name)
		}
	}
	for _, name := range []string{"outcome", "input"} {
		if inner, ok := v.Get(name); ok && inner.Kind() == jsondoc.KindObject {
			v = v.With(name, carried(inner))
		}
	}
	if list, ok := v.Get("messages"); ok && list.Kind() == jsondoc.KindArray {
		var out []jsondoc.Value
		for _, m := range list.Items() {
			out = append(out, carried(m))
		}
		v = v.With("messages", jsondoc.Array(out...))
	}
	return v
}
