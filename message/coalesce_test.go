package message_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/message"
)

var ignoreUnexported = cmpopts.IgnoreUnexported(message.TextContent{})

func text(s string) *message.TextContent { return &message.TextContent{Text: s} }

func reasoning(s, protected string) *message.TextReasoningContent {
	return &message.TextReasoningContent{Text: s, ProtectedData: protected}
}

func delta(index int, id, name, args string) *message.FunctionCallDelta {
	return &message.FunctionCallDelta{Index: index, CallID: id, Name: name, Arguments: args}
}

func call(id, name, args string) *message.FunctionCallContent {
	return &message.FunctionCallContent{CallID: id, Name: name, Arguments: args}
}

func result(id string, v any) *message.FunctionResultContent {
	return &message.FunctionResultContent{CallID: id, Result: v}
}

func TestCoalesceContents(t *testing.T) {
	usage := &message.UsageContent{Details: message.UsageDetails{InputTokenCount: 3}}
	cited := &message.TextContent{ContentHeader: message.ContentHeader{AdditionalProperties: map[string]any{"url": "x"}}, Text: "c"}
	restart := delta(0, "c1", "f", `{"a":1}`)
	restart.Restart = true
	tests := []struct {
		name     string
		in, want message.Contents
	}{
		{"nothing", nil, message.Contents{}},
		{"texts", message.Contents{text("na"), text(" na"), text(" na")}, message.Contents{text("na na na")}},
		{"nil is left out", message.Contents{nil, text("a"), nil}, message.Contents{text("a")}},
		{"text is not reasoning", message.Contents{reasoning("a", ""), text("b"), reasoning("c", "")},
			message.Contents{reasoning("a", ""), text("b"), reasoning("c", "")}},
		{"protected data ends a piece of reasoning",
			message.Contents{reasoning("a", ""), reasoning("b", ""), reasoning("", "p1"), reasoning("c", "p2"), reasoning("d", "")},
			message.Contents{reasoning("ab", "p1"), reasoning("c", "p2"), reasoning("d", "")}},
		{"what carries properties is not absorbed", message.Contents{text("a"), text("b"), cited, text("d")},
			message.Contents{text("ab"), &message.TextContent{ContentHeader: cited.ContentHeader, Text: "cd"}}},
		{"other contents separate", message.Contents{text("a"), usage, text("b")}, message.Contents{text("a"), usage, text("b")}},
		{"fragments make a call",
			message.Contents{delta(0, "c1", "f", ""), delta(0, "", "", `{"a"`), delta(0, "", "", `:1}`)},
			message.Contents{call("c1", "f", `{"a":1}`)}},
		{"interleaved fragments",
			message.Contents{delta(0, "c1", "f", `{`), delta(1, "c2", "g", `[`), delta(0, "", "", `}`), delta(1, "", "", `]`)},
			message.Contents{call("c1", "f", `{}`), call("c2", "g", `[]`)}},
		{"a late name", message.Contents{delta(0, "c1", "", ""), delta(0, "", "f", `{}`)}, message.Contents{call("c1", "f", `{}`)}},
		{"restart", message.Contents{delta(0, "c1", "f", `{}`), restart}, message.Contents{call("c1", "f", `{"a":1}`)}},
		{"the complete call counts, where its first fragment was",
			message.Contents{text("a"), delta(0, "c1", "f", `{`), text("b"), call("c1", "f", `{}`)},
			message.Contents{text("a"), call("c1", "f", `{}`), text("b")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := message.CoalesceContents(tt.in)
			if d := cmp.Diff(tt.want, got, ignoreUnexported); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// A stream may be cut anywhere; joined, it says the same.
func TestCoalesceAnyCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole, cut message.Contents
		n := rapid.IntRange(0, 6).Draw(t, "contents")
		last := ""
		for i := range n {
			kinds := []string{"text", "reasoning", "call"}
			kind := rapid.SampledFrom(kinds).Filter(func(k string) bool { return k == "call" || k != last }).Draw(t, "kind")
			last = kind
			s := rapid.StringMatching(`[a-zé🥕 "{}]{1,30}`).Draw(t, "text")
			pieces := pieces(t, s)
			switch kind {
			case "text":
				whole = append(whole, text(s))
				for _, p := range pieces {
					cut = append(cut, text(p))
				}
			case "reasoning":
				whole = append(whole, reasoning(s, ""))
				for _, p := range pieces {
					cut = append(cut, reasoning(p, ""))
				}
			case "call":
				id := fmt.Sprint("c", i)
				whole = append(whole, call(id, "f", s))
				for k, p := range pieces {
					d := delta(i, "", "", p)
					if k == 0 {
						d.CallID, d.Name = id, "f"
					}
					cut = append(cut, d)
				}
			}
		}
		before := len(cut)
		got := message.CoalesceContents(cut)
		if len(whole) == 0 {
			whole = message.Contents{}
		}
		if d := cmp.Diff(whole, got, ignoreUnexported); d != "" {
			t.Fatalf("(-want +got)\n%s", d)
		}
		if again := message.CoalesceContents(got); !cmp.Equal(got, again, ignoreUnexported) {
			t.Fatal("coalescing twice is not the same as once")
		}
		if len(cut) != before {
			t.Fatal("the argument was changed")
		}
	})
}

func pieces(t *rapid.T, s string) []string {
	var out []string
	for s != "" {
		n := rapid.IntRange(1, len(s)).Draw(t, "cut")
		out, s = append(out, s[:n]), s[n:]
	}
	return out
}

func TestUnanswered(t *testing.T) {
	ids := func(calls []*message.FunctionCallContent) string {
		var s []string
		for _, c := range calls {
			s = append(s, c.CallID)
		}
		return strings.Join(s, " ")
	}
	hosted := call("h", "web_search", "{}")
	hosted.InformationalOnly = true
	tests := []struct {
		name     string
		messages []*message.Message
		want     string
	}{
		{"none", []*message.Message{message.NewText("hi"), nil}, ""},
		{"all", []*message.Message{message.NewAssistant(call("a", "f", ""), call("b", "f", ""))}, "a b"},
		{"one is answered", []*message.Message{message.NewAssistant(call("a", "f", ""), call("b", "f", "")), message.NewResult("a", "ok")}, "b"},
		{"a result before its call answers nothing", []*message.Message{message.NewResult("a", "ok"), message.NewAssistant(call("a", "f", ""))}, "a"},
		{"ids repeat from turn to turn", []*message.Message{
			message.NewAssistant(call("a", "f", "1")), message.NewResult("a", "ok"),
			message.NewAssistant(call("a", "f", "2")),
		}, "a"},
		{"a hosted call needs no answer", []*message.Message{message.NewAssistant(hosted)}, ""},
		{"in one message", []*message.Message{message.NewAssistant(call("a", "f", ""), result("a", 1))}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ids(message.Unanswered(tt.messages)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func BenchmarkCoalesceText(b *testing.B) {
	cs := make(message.Contents, 20_000)
	for i := range cs {
		cs[i] = text("a few words ")
	}
	b.ReportAllocs()
	for b.Loop() {
		message.CoalesceContents(cs)
	}
}
