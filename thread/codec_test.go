package thread_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/streamgen"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
)

// storedEntry is an entry with everything that is easily lost.
var storedEntry = thread.Entry{
	Seq: 1<<64 - 1, Time: time.UnixMilli(1764540000123).UTC(), Run: "run-\u2028\"1\"", Author: "agent",
	Event: &agui.StateDelta{Delta: jsondoc.Patch{{Op: "add", Path: "/a", Value: jsondoc.Null}}},
	Change: jsondoc.Patch{
		{Op: "replace", Path: "", Value: jsondoc.MustParse(`{"b":1.50,"a":[1e400,-0,123456789012345678901234567890],"__proto__":null,"":{}}`)},
		{Op: "test", Path: "/a~1b/~0", Value: jsondoc.Null},
		{Op: "move", From: "/q", Path: "/x"}, {Op: "copy", From: "/x", Path: "/-"}, {Op: "remove", Path: "/"},
	},
	Lease: &thread.Lease{Owner: "node-1", Until: time.UnixMilli(-1).UTC()},
	Proposal: &state.Proposal{
		Call: "call-1", Tool: "update_recipe", Arguments: jsondoc.MustParse(`{"z":null,"a":1.0}`),
		Base: jsondoc.MustParse(`{"/recipe":null}`), Expires: time.UnixMilli(1764540600000).UTC(),
		Edited: jsondoc.MustParse(`{"/recipe":{"a":1.0}}`), Patch: jsondoc.Patch{{Op: "remove", Path: "/old"}}, Changes: true,
		Ask: state.Ask{
			ID: "ask-1", Reason: "tool_call", Message: "Approve?", Schema: jsondoc.MustParse(`{"type":"object"}`),
			Metadata: jsondoc.MustParse(`{"n":1e2}`), Confirm: "confirm-1", Placeholder: "result-1",
		},
	},
	Settled: "call-0", Answer: thread.Answered{ID: "ask-0", Said: "resolved {}", Approved: true}, Started: "call-2", Left: 17, Undoes: "run-0", Signal: &thread.Signal{Kind: thread.SignalStop, Run: "run-3"}, Floor: true, Revision: 12,
}

const storedText = `{"v":1,"n":18446744073709551615,"t":1764540000123,"run":"run-` + "\u2028" + `\"1\"","by":"agent",` +
	`"event":{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":null}]},` +
	`"change":[{"op":"replace","path":"","value":{"b":1.50,"a":[1e400,-0,123456789012345678901234567890],"__proto__":null,"":{}}},` +
	`{"op":"test","path":"/a~1b/~0","value":null},{"op":"move","from":"/q","path":"/x"},{"op":"copy","from":"/x","path":"/-"},{"op":"remove","path":"/"}],` +
	`"lease":{"owner":"node-1","until":-1},` +
	`"proposal":{"call":"call-1","tool":"update_recipe","args":{"z":null,"a":1.0},"base":{"/recipe":null},"edited":{"/recipe":{"a":1.0}},"patch":[{"op":"remove","path":"/old"}],"changes":true,` +
	`"ask":"ask-1","reason":"tool_call","message":"Approve?","schema":{"type":"object"},"metadata":{"n":1e2},"confirm":"confirm-1","placeholder":"result-1",` +
	`"expires":1764540600000},` +
	`"settled":"call-0","answered":"ask-0","said":"resolved {}","approved":true,"started":"call-2","left":17,"undoes":"run-0","signal":{"kind":"stop","run":"run-3"},"floor":true,"revision":12}`

// TestEntryText: files that are written today are read by every later version,
// so the text is pinned.
func TestEntryText(t *testing.T) {
	if got := string(thread.AppendEntry(nil, storedEntry)); got != storedText {
		t.Errorf("got  %s\nwant %s", got, storedText)
	}
	e, err := thread.DecodeEntry([]byte(storedText))
	if err != nil {
		t.Fatal(err)
	}
	sameEntry(t, e, storedEntry)
}

// TestEntryFieldsAreStored: a field that nobody put into the table of members
// would be lost on the way through a store.
func TestEntryFieldsAreStored(t *testing.T) {
	want := storedEntry
	eachFieldSet(t, reflect.ValueOf(want), "Entry")
	e, err := thread.DecodeEntry(thread.AppendEntry(nil, want))
	if err != nil {
		t.Fatal(err)
	}
	eachFieldSet(t, reflect.ValueOf(e), "Entry")
}

func eachFieldSet(t *testing.T, v reflect.Value, at string) {
	t.Helper()
	for i := range v.NumField() {
		name := at + "." + v.Type().Field(i).Name
		field := v.Field(i)
		if field.IsZero() {
			t.Errorf("%s is empty: give it a member in codec.go and a value in storedEntry", name)
			continue
		}
		if field.Kind() == reflect.Pointer && field.Elem().Kind() == reflect.Struct {
			eachFieldSet(t, field.Elem(), name)
		}
		if field.Type() == reflect.TypeFor[state.Ask]() || field.Type() == reflect.TypeFor[thread.Answered]() {
			eachFieldSet(t, field, name)
		}
	}
}

func TestEntryAbsentAndEmpty(t *testing.T) {
	for _, c := range []struct {
		name  string
		entry thread.Entry
		text  string
	}{
		{"nothing", thread.Entry{Seq: 1}, `{"v":1,"n":1}`},
		{"a change of no operations", thread.Entry{Seq: 1, Change: jsondoc.Patch{}}, `{"v":1,"n":1,"change":[]}`},
		{"an empty lease", thread.Entry{Seq: 1, Lease: &thread.Lease{}}, `{"v":1,"n":1,"lease":{}}`},
		{"an absent base", thread.Entry{Seq: 1, Proposal: &state.Proposal{Arguments: jsondoc.Null}}, `{"v":1,"n":1,"proposal":{"args":null}}`},
		{"a null state", thread.Entry{Seq: 1, Event: &agui.StateSnapshot{Snapshot: jsondoc.Null}}, `{"v":1,"n":1,"event":{"type":"STATE_SNAPSHOT","snapshot":null}}`},
		{"an event of a later protocol", thread.Entry{Seq: 1, Event: &agui.Unknown{Type: "NEW", JSON: jsondoc.MustParse(`{"x":1.0,"type":"NEW"}`)}}, `{"v":1,"n":1,"event":{"x":1.0,"type":"NEW"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(thread.AppendEntry(nil, c.entry)); got != c.text {
				t.Errorf("got  %s\nwant %s", got, c.text)
			}
			e, err := thread.DecodeEntry([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			sameEntry(t, e, c.entry)
		})
	}
}

// TestEntryDepth: what a client may send can be stored.
func TestEntryDepth(t *testing.T) {
	deep := jsondoc.MustParse(strings.Repeat("[", 512) + strings.Repeat("]", 512))
	want := thread.Entry{
		Seq: 1, Event: &agui.StateDelta{Delta: jsondoc.Patch{{Op: "add", Path: "/a", Value: deep}}},
		Change:   jsondoc.Patch{{Op: "add", Path: "/a", Value: deep}},
		Proposal: &state.Proposal{Arguments: deep, Base: jsondoc.Object(jsondoc.Member{Name: "/a", Value: deep})},
	}
	e, err := thread.DecodeEntry(thread.AppendEntry(nil, want))
	if err != nil {
		t.Fatal(err)
	}
	sameEntry(t, e, want)
}

func TestDecodeEntryRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, "want an object at byte 0"},
		{`[]`, "want an object at byte 0"},
		{`{}`, `the first member is "", want the version "v"`},
		{`{"n":1,"v":1}`, `the first member is "n", want the version "v"`},
		{`{"v":2,"n":1}`, "it has version 2, this program reads version 1"},
		{`{"v":1}`, `"n": the entry has no sequence number`},
		{`{"v":1,"n":0}`, `"n": the entry has no sequence number`},
		{`{"v":1,"n":-1}`, `"n": "-1": invalid syntax`},
		{`{"v":1,"n":18446744073709551616}`, `"n": "18446744073709551616": value out of range`},
		{`{"v":1,"n":1,"n":2}`, `member "n" is there twice`},
		{`{"v":1,"n":1,"v":1}`, `member "v" is not known to this program`},
		{`{"v":1,"n":1,"later":{}}`, `member "later" is not known to this program; a newer version wrote it`},
		{`{"v":1,"n":1,"run":5}`, `"run": is of kind number, want a string`},
		{`{"v":1,"n":1,"run":"\ud800"}`, `"run": `},
		{`{"v":1,"n":1,"floor":false}`, `"floor": "false" is not true`},
		{`{"v":1,"n":1,"t":"yesterday"}`, `"t": "\"yesterday\"": invalid syntax`},
		{`{"v":1,"n":1,"change":[{"op":"add","path":"/a"}]}`, `"change": `},
		{`{"v":1,"n":1,"change":null}`, `"change": `},
		{`{"v":1,"n":1,"event":{"delta":[]}}`, `"event": `},
		{`{"v":1,"n":1,"event":{"type":"STATE_DELTA","delta":{}}}`, `"event": `},
		{`{"v":1,"n":1,"lease":[]}`, `"lease": want an object`},
		{`{"v":1,"n":1,"lease":{"owner":"a","fence":1}}`, `"lease": member "fence" is not known`},
		{`{"v":1,"n":1,"proposal":{"args":[1,}}`, `"proposal": "args": `},
		{`{"v":1,"n":1,}`, "want a member's name at byte 13"},
		{`{"v":1 "n":1}`, "want a comma or the object's end at byte 7"},
		{`{"v":1,"n":}`, "want a value at byte 11"},
		{`{"v":1,"n":1`, "want a comma or the object's end at byte 12"},
		{`{"v":1,"n":1,"run":"a`, "the text ends inside a string at byte 21"},
		{`{"v":1,"n":1,"run":"a\`, "the text ends inside a string at byte 22"},
		{`{"v":1,"n":1,"change":[`, "the text ends inside a value at byte 23"},
		{`{"v":1,"n":1}}`, "something follows the object at byte 13"},
		{`{"v":1,"` + strings.Repeat("n", 1000) + `":1}`, `member "` + strings.Repeat("n", 60) + `…" is not known`},
	} {
		_, err := thread.DecodeEntry([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s\n got %v\nwant %s", c.text, err, c.want)
		}
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("%.80s: the error has %d bytes", c.text, len(err.Error()))
		}
	}
}

// TestEntryRoundTrip: every entry comes back as it was.
func TestEntryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entry := drawEntry(t)
		text := thread.AppendEntry(nil, entry)
		if jsondoc.MustParse(string(text)).Size() != len(text) {
			t.Fatalf("not compact: %s", text)
		}
		back, err := thread.DecodeEntry(text)
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		sameEntry(t, back, entry)
	})
}

// drawEntry makes an entry around an event of a generated stream.
func drawEntry(t *rapid.T) thread.Entry {
	events := streamgen.New(rapid.Uint64().Draw(t, "seed"), streamgen.Options{Events: 12, Wild: 20}).Events()
	pick := func(name string) agui.Event { return rapid.SampledFrom(events).Draw(t, name) }
	some := func(name string) bool { return rapid.Bool().Draw(t, name) }
	text := rapid.OneOf(rapid.Just(""), rapid.StringOfN(rapid.Rune(), 0, 12, -1))
	ms := func(name string) time.Time {
		if some(name + " zero") {
			return time.Time{}
		}
		return time.UnixMilli(rapid.Int64Range(-1<<50, 1<<50).Draw(t, name)).UTC()
	}
	e := thread.Entry{
		Seq: rapid.Uint64Min(1).Draw(t, "seq"), Time: ms("time"),
		Run: text.Draw(t, "run"), Author: text.Draw(t, "author"), Settled: text.Draw(t, "settled"),
		Left: rapid.Uint64().Draw(t, "left"), Undoes: text.Draw(t, "undoes"), Floor: some("floor"),
	}
	if some("event") {
		e.Event = pick("which event")
	}
	if some("change") {
		e.Change = jsondoc.Patch{}
		for _, ev := range events {
			if d, ok := ev.(*agui.StateDelta); ok {
				e.Change = append(e.Change, d.Delta...)
			}
		}
	}
	if some("lease") {
		e.Lease = &thread.Lease{Owner: text.Draw(t, "owner"), Until: ms("until")}
	}
	if some("proposal") {
		e.Proposal = &state.Proposal{Call: text.Draw(t, "call"), Tool: text.Draw(t, "tool"), Expires: ms("expires")}
		for _, ev := range events {
			if s, ok := ev.(*agui.StateSnapshot); ok {
				e.Proposal.Arguments = s.Snapshot
				e.Proposal.Base = jsondoc.Object(jsondoc.Member{Name: "/a", Value: s.Snapshot})
			}
		}
	}
	return e
}

// sameEntry compares two entries to the last digit. Documents and events are
// compared by their text, which is where digits and order are.
func sameEntry(t interface {
	Helper()
	Fatalf(string, ...any)
}, got, want thread.Entry,
) {
	t.Helper()
	exact := cmp.Options{
		cmp.Transformer("text", func(v jsondoc.Value) string { return fmt.Sprint(v.Kind(), v) }),
		cmp.Transformer("event", func(e agui.Event) string {
			if e == nil {
				return ""
			}
			return fmt.Sprintf("%T %s", e, agui.AppendEvent(nil, e, agui.V1))
		}),
	}
	if diff := cmp.Diff(want, got, exact); diff != "" {
		t.Fatalf("the entry is another one (-want +got):\n%s", diff)
	}
}

// FuzzDecodeEntry: whatever a file holds gives an error or an entry that is
// stored and read again as the same.
func FuzzDecodeEntry(f *testing.F) {
	f.Add([]byte(storedText))
	f.Add([]byte(`{"v":1,"n":1,"run":"\u0041","event":{"type":"RUN_STARTED","thread_id":"t","runId":"r"}}`))
	f.Add([]byte(`{ "v" : 1 , "n" : 7 , "proposal" : { } , "change" : [ ] }`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := thread.DecodeEntry(data)
		if err != nil {
			return
		}
		text := thread.AppendEntry(nil, e)
		again, err := thread.DecodeEntry(text)
		if err != nil {
			t.Fatalf("%s was written and is refused: %v", text, err)
		}
		sameEntry(t, again, e)
	})
}

func BenchmarkEntry(b *testing.B) {
	entry := thread.Entry{
		Seq: 4711, Time: time.UnixMilli(1764540000123).UTC(), Run: "run_7f3k2m9q4x", Author: "agent",
		Event: &agui.ToolCallArgs{ToolCallID: "call_7f3k2m9q4x", Delta: `{"title":"Classic Pasta Carbonara","ingr`},
	}
	text := thread.AppendEntry(nil, entry)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		var buf []byte
		for b.Loop() {
			buf = thread.AppendEntry(buf[:0], entry)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := thread.DecodeEntry(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
