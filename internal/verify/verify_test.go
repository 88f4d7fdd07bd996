package verify_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/recording"
	"github.com/lockstep-go/lockstep/internal/streamgen"
	"github.com/lockstep-go/lockstep/internal/verify"
	"github.com/lockstep-go/lockstep/jsondoc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// good is a stream that uses most of the protocol and breaks none of it. What
// posted it is asked.
const good = `
{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
{"type":"STATE_SNAPSHOT","snapshot":{"list":[1,2],"name":""}}
{"type":"STEP_STARTED","stepName":"plan"}
{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}
{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hel"}
{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"lo","timestamp":12}
{"type":"TEXT_MESSAGE_END","messageId":"m1"}
{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f","parentMessageId":"m1"}
{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}
{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/name","value":null},{"op":"add","path":"/list/-","value":3}]}
{"type":"TOOL_CALL_END","toolCallId":"c1"}
{"type":"TOOL_CALL_RESULT","messageId":"m2","toolCallId":"c1","content":"done"}
{"type":"REASONING_START","messageId":"z"}
{"type":"REASONING_MESSAGE_START","messageId":"z","role":"reasoning"}
{"type":"REASONING_MESSAGE_CONTENT","messageId":"z","delta":"hm"}
{"type":"REASONING_MESSAGE_END","messageId":"z"}
{"type":"REASONING_END","messageId":"z"}
{"type":"ACTIVITY_SNAPSHOT","messageId":"a1","activityType":"PLAN","content":{"done":0}}
{"type":"ACTIVITY_DELTA","messageId":"a1","activityType":"PLAN","patch":[{"op":"replace","path":"/done","value":1}]}
{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"helper"}
{"type":"SUBAGENT_FINISHED","subagentRunId":"s","outcome":{"type":"success"}}
{"type":"TEXT_MESSAGE_CHUNK","messageId":"m3","delta":"by"}
{"type":"TEXT_MESSAGE_CHUNK","messageId":"m3","delta":"e"}
{"type":"CUSTOM","name":"PredictState","value":[]}
{"type":"RAW","event":null}
{"type":"STEP_FINISHED","stepName":"plan"}
{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}`

var asked = &agui.RunAgentInput{ThreadID: "t", RunID: "r", Messages: []agui.Message{{ID: "u", Role: agui.RoleUser, Content: agui.Text("Hi")}}}

// stream is a stream in the making.
type stream []recording.Line

func parse(text string) (s stream) {
	s = stream{{At: time.Millisecond, Response: &recording.Response{Status: 200, ContentType: "text/event-stream"}}}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		s = append(s, recording.Line{At: s.last() + time.Millisecond, Data: []byte(line)})
	}
	return append(s, recording.Line{At: s.last() + time.Millisecond, End: recording.Closed})
}

func (s stream) last() time.Duration { return s[len(s)-1].At }

// find is the index of the first event whose text contains what.
func (s stream) find(what string) int {
	i := slices.IndexFunc(s, func(l recording.Line) bool { return strings.Contains(string(l.Data), what) })
	if i < 0 {
		panic("no event has " + what)
	}
	return i
}

func (s stream) without(what string) stream {
	i := s.find(what)
	return slices.Delete(slices.Clone(s), i, i+1)
}

func (s stream) before(what string, events ...string) stream {
	i := s.find(what)
	out := slices.Clone(s[:i])
	for _, e := range events {
		out = append(out, recording.Line{At: s[i].At, Data: []byte(e)})
	}
	return append(out, s[i:]...)
}

func (s stream) after(what string, events ...string) stream {
	i := s.find(what) + 1
	out := slices.Clone(s[:i])
	for _, e := range events {
		out = append(out, recording.Line{At: s[i-1].At, Data: []byte(e)})
	}
	return append(out, s[i:]...)
}

// replace changes text in the first event that has it.
func (s stream) replace(old, by string) stream {
	out := slices.Clone(s)
	i := s.find(old)
	out[i].Data = bytes.Replace(out[i].Data, []byte(old), []byte(by), 1)
	return out
}

func (s stream) line(what string, change func(*recording.Line)) stream {
	out := slices.Clone(s)
	change(&out[s.find(what)])
	return out
}

func (s stream) end(change func(*recording.Line)) stream {
	out := slices.Clone(s)
	change(&out[len(out)-1])
	return out
}

func (s stream) response(r recording.Response) stream {
	out := slices.Clone(s)
	out[0].Response = &r
	return out
}

func check(s stream, opts *verify.Options) (faults []verify.Fault, c *verify.Checker) {
	c = verify.New(opts)
	for _, l := range s {
		faults = append(faults, c.Line(l)...)
	}
	return faults, c
}

// TestFaults injects one fault of each kind into a good stream, and exactly that
// fault is found.
func TestFaults(t *testing.T) {
	g := parse(good)
	type want struct {
		kind    verify.Kind
		subject string
		path    string
		reason  string // a part of it
	}
	for _, c := range []struct {
		name   string
		stream stream
		want   want
	}{
		// Transport.
		{"status", stream{{Response: &recording.Response{Status: 404, Body: "no\nagent"}}, {End: recording.Closed}},
			want{verify.Transport, "response", "", "status 404: no agent"}},
		{"content type", g.response(recording.Response{Status: 200, ContentType: "text/plain"}), want{verify.Transport, "response", "", `"text/plain"`}},
		{"protobuf that nobody asked for", g.response(recording.Response{Status: 200, ContentType: "application/vnd.ag-ui.event+proto"}), want{verify.Transport, "response", "", "vnd.ag-ui"}},
		{"no content type", g.response(recording.Response{Status: 200}), want{verify.Transport, "response", "", "no content type"}},
		{"left open", g.end(func(l *recording.Line) { l.End = recording.Open; l.At += verify.CloseTime }), want{verify.Transport, "end", "", "still open 5.0 s"}},
		{"closed late", g.end(func(l *recording.Line) { l.At += time.Minute }), want{verify.Transport, "end", "", "closed only 60.0 s"}},
		{"broken after the end", g.end(func(l *recording.Line) { l.End = recording.Broken; l.Reason = "reset" }), want{verify.Transport, "end", "", "reset"}},

		// Framing.
		{"carriage returns", g.line("STEP_STARTED", func(l *recording.Line) { l.CR = true }), want{verify.Framing, "STEP_STARTED", "", "LF LF"}},
		{"no blank line at the end", g.line("RUN_FINISHED", func(l *recording.Line) { l.Cut = true }), want{verify.Framing, "RUN_FINISHED", "", "blank line"}},
		{"not UTF-8", g.replace(`"Hel"`, "\"H\xff\""), want{verify.Framing, "TEXT_MESSAGE_CONTENT", "", "UTF-8"}},
		{"too large", g.replace(`"Hel"`, `"`+strings.Repeat("x", 11<<20)+`"`), want{verify.Framing, "TEXT_MESSAGE_CONTENT", "", "10 MiB"}},

		// JSON.
		{"[DONE]", g.before("STEP_FINISHED", "[DONE]"), want{verify.JSON, "(no type)", "", `"[DONE]"`}},
		{"an event that is no object", g.before("STEP_FINISHED", "7"), want{verify.Schema, "(no type)", "", "object"}},
		{"no type", g.before("STEP_FINISHED", `{"delta":"x"}`), want{verify.Schema, "(no type)", "", "type"}},

		// Schema.
		{"a missing member", g.replace(`,"delta":"Hel"`, ""), want{verify.Schema, "TEXT_MESSAGE_CONTENT", "/delta", "missing"}},
		{"a member of another kind", g.replace(`"delta":"Hel"`, `"delta":{}`), want{verify.Schema, "TEXT_MESSAGE_CONTENT", "/delta", "string"}},
		{"a fraction", g.replace("12", "12.5"), want{verify.Schema, "TEXT_MESSAGE_CONTENT", "/timestamp", "integer"}},
		{"null where it is refused", g.replace(`"timestamp":12`, `"timestamp":null`), want{verify.Schema, "TEXT_MESSAGE_CONTENT", "/timestamp", "null"}},
		{"a role that is none", g.replace(`"role":"assistant"`, `"role":"tool"`), want{verify.Schema, "TEXT_MESSAGE_START", "/role", "one of"}},
		{"no reasoning role", g.replace(`,"role":"reasoning"`, ""), want{verify.Schema, "REASONING_MESSAGE_START", "/role", ""}},
		{"a broken opener", g.replace(`"toolCallName":"f"`, `"toolCallName":1`), want{verify.Schema, "TOOL_CALL_START", "/toolCallName", "string"}},
		{"a broken end", g.replace(`"runId":"r","outcome"`, `"outcome"`), want{verify.Schema, "RUN_FINISHED", "/runId", "missing"}},
		{"a broken beginning", g.replace(`"threadId":"t",`, ""), want{verify.Schema, "RUN_STARTED", "/threadId", "missing"}},
		{"no snapshot in the snapshot", g.replace(`,"snapshot":{"list":[1,2],"name":""}`, ""), want{verify.Schema, "STATE_SNAPSHOT", "/snapshot", "missing"}},
		{"a bad pointer", g.replace(`"/list/-"`, `"list/-"`), want{verify.Schema, "STATE_DELTA", "/delta/1/path", "Pointer"}},
		{"a broken delta, and one that builds on it", g.after("STATE_SNAPSHOT", `{"type":"STATE_DELTA","delta":[{"op":"add","path":"x","value":1}]}`, `{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/x","value":2}]}`),
			want{verify.Schema, "STATE_DELTA", "/delta/0/path", "Pointer"}},
		{"an operation without value", g.replace(`,"value":3`, ""), want{verify.Schema, "STATE_DELTA", "/delta/1/value", "missing"}},
		{"no interrupts", g.line("RUN_FINISHED", func(l *recording.Line) {
			l.Data = []byte(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[]}}`)
		}), want{verify.Schema, "RUN_FINISHED", "/outcome/interrupts", "at least one"}},

		// What the official client drops or rewrites with a warning.
		{"an unknown type", g.before("STEP_FINISHED", `{"type":"STATE_UPDATED","state":{}}`), want{verify.Unknown, "STATE_UPDATED", "", "unknown event type"}},
		{"a type in lower case", g.before("STEP_FINISHED", `{"type":"state_snapshot","snapshot":{}}`), want{verify.Unknown, "state_snapshot", "", "upper snake case"}},
		{"an unknown member", g.replace(`"delta":"Hel"`, `"delta":"Hel","index":0`), want{verify.Unknown, "TEXT_MESSAGE_CONTENT", "/index", "unknown member"}},
		{"an unknown member deep inside", g.replace(`{"type":"success"}}`, `{"type":"success","why":1}}`), want{verify.Unknown, "SUBAGENT_FINISHED", "/outcome/why", "unknown member"}},
		{"an owner of what has none", g.replace(`"protocolVersion":"1.0"`, `"subagentRunId":"s"`), want{verify.Unknown, "RUN_STARTED", "/subagentRunId", "unknown member"}},
		{"an unknown operation", g.replace(`{"op":"replace","path":"/name","value":null}`, `{"op":"set","path":"/name","value":null}`), want{verify.Unknown, "STATE_DELTA", "/delta/0", "unknown op"}},
		{"an unknown outcome", g.line("RUN_FINISHED", func(l *recording.Line) {
			l.Data = []byte(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"failed"}}`)
		}), want{verify.Unknown, "RUN_FINISHED", "/outcome", "unknown type"}},
		{"an unknown role", g.before("STEP_FINISHED", `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"narrator","content":"x"}]}`),
			want{verify.Unknown, "MESSAGES_SNAPSHOT", "/messages/0", "unknown role"}},
		{"a null that is tolerated", g.replace(`"parentMessageId":"m1"`, `"parentMessageId":null`), want{verify.Unknown, "TOOL_CALL_START", "/parentMessageId", "leave it out"}},
		{"a retired part", g.before("STEP_FINISHED", `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"user","content":[{"type":"binary","mimeType":"image/png","data":"AA=="}]}]}`),
			want{verify.Unknown, "MESSAGES_SNAPSHOT", "/messages/0/content/0", "retired"}},
		{"a version that is none", g.replace(`"1.0"`, `"1.0.0"`), want{verify.Unknown, "RUN_STARTED", "/protocolVersion", "MAJOR.MINOR"}},
		{"a newer version", g.replace(`"1.0"`, `"1.10"`), want{verify.Unknown, "RUN_STARTED", "/protocolVersion", "newer"}},

		// Order.
		{"no RUN_STARTED", g.without("RUN_STARTED"), want{verify.Order, "STATE_SNAPSHOT", "", "RUN_STARTED"}},
		{"RUN_STARTED twice", g.after("RUN_STARTED", `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`), want{verify.Order, "RUN_STARTED", "", "still open"}},
		{"text without a start", g.without("TEXT_MESSAGE_START").replace(`,"parentMessageId":"m1"`, ""), want{verify.Order, "TEXT_MESSAGE_CONTENT", "", `"m1" is not open`}},
		{"text that starts twice", g.after("TEXT_MESSAGE_START", `{"type":"TEXT_MESSAGE_START","messageId":"m1"}`), want{verify.Order, "TEXT_MESSAGE_START", "", "open already"}},
		{"text that ends twice", g.after("TEXT_MESSAGE_END", `{"type":"TEXT_MESSAGE_END","messageId":"m1"}`), want{verify.Order, "TEXT_MESSAGE_END", "", "not open"}},
		{"arguments without a call", g.without("TOOL_CALL_START"), want{verify.Order, "TOOL_CALL_ARGS", "", `"c1" is not open`}},
		{"reasoning without a message", g.without("REASONING_MESSAGE_START"), want{verify.Order, "REASONING_MESSAGE_CONTENT", "", "not open"}},
		{"reasoning without a span", g.without("REASONING_START"), want{verify.Order, "REASONING_END", "", "not open"}},
		{"a step that did not start", g.without("STEP_STARTED"), want{verify.Order, "STEP_FINISHED", "", "not open"}},
		{"a subagent that did not start", g.without("SUBAGENT_STARTED"), want{verify.Order, "SUBAGENT_FINISHED", "", "not running"}},
		{"an owner that is another", g.replace(`"messageId":"m1","delta":"Hel"`, `"messageId":"m1","delta":"Hel","subagentRunId":"s"`), want{verify.Order, "TEXT_MESSAGE_CONTENT", "", "belongs to"}},
		{"a chunk that continues nothing", g.before("STEP_FINISHED", `{"type":"TEXT_MESSAGE_CHUNK","delta":"x"}`), want{verify.Order, "TEXT_MESSAGE_CHUNK", "", "messageId"}},
		{"a text left open", g.without("TEXT_MESSAGE_END"), want{verify.Order, "RUN_FINISHED", "", `TEXT_MESSAGE_START "m1"`}},
		{"a call left open", g.without("TOOL_CALL_END"), want{verify.Order, "RUN_FINISHED", "", `TOOL_CALL_START "c1"`}},
		{"a step left open", g.without("STEP_FINISHED"), want{verify.Order, "RUN_FINISHED", "", `STEP_STARTED "plan"`}},
		{"a subagent left open", g.without("SUBAGENT_FINISHED"), want{verify.Order, "RUN_FINISHED", "", `SUBAGENT_STARTED "s"`}},

		// Terminal.
		{"no terminal event", g.without("RUN_FINISHED"), want{verify.Terminal, "end", "", `run "r" ends without`}},
		{"a connection that broke", g.without("RUN_FINISHED").end(func(l *recording.Line) { l.End = recording.Broken; l.Reason = "reset" }), want{verify.Terminal, "end", "", "reset"}},
		{"a run that takes too long", g.without("RUN_FINISHED").end(func(l *recording.Line) { l.End = recording.TimedOut }), want{verify.Terminal, "end", "", "in the time"}},
		{"nothing at all", stream{g[0], g[len(g)-1]}, want{verify.Terminal, "end", "", "no event at all"}},
		{"finished twice", g.after("RUN_FINISHED", `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`), want{verify.Terminal, "RUN_FINISHED", "", "second terminal"}},
		{"an error after the end", g.after("RUN_FINISHED", `{"type":"RUN_ERROR","message":"no"}`), want{verify.Terminal, "RUN_ERROR", "", "has ended with RUN_FINISHED"}},
		{"state after the end", g.after("RUN_FINISHED", `{"type":"STATE_SNAPSHOT","snapshot":{}}`), want{verify.Terminal, "STATE_SNAPSHOT", "", "after the terminal event RUN_FINISHED"}},

		// Patches.
		{"replacing what is not there", g.replace(`"/name"`, `"/title"`), want{verify.Patch, "STATE_DELTA", "/delta/0", `replace "/title"`}},
		{"adding beyond the end", g.replace(`"/list/-"`, `"/list/7"`), want{verify.Patch, "STATE_DELTA", "/delta/1", `add "/list/7"`}},
		{"adding below what is not there", g.replace(`"/list/-"`, `"/a/b"`), want{verify.Patch, "STATE_DELTA", "/delta/1", `add "/a/b"`}},
		{"what only the client's library refuses", g.replace(`{"op":"add","path":"/list/-"`, `{"op":"add","path":"/__proto__"`), want{verify.Patch, "STATE_DELTA", "/delta/1", "__proto__"}},
		{"a test that fails", g.replace(`{"op":"add","path":"/list/-","value":3}`, `{"op":"test","path":"/list/0","value":9}`), want{verify.Patch, "STATE_DELTA", "/delta/1", "test"}},
		{"an activity's patch", g.replace(`"/done"`, `"/undone"`), want{verify.Patch, "ACTIVITY_DELTA", "/patch/0", `replace "/undone"`}},
		{"a patch of no activity", g.without("ACTIVITY_SNAPSHOT"), want{verify.Patch, "ACTIVITY_DELTA", "/messageId", `no activity "a1"`}},
		{"a patch of another message", g.without("ACTIVITY_SNAPSHOT").replace(`"messageId":"a1"`, `"messageId":"m1"`), want{verify.Patch, "ACTIVITY_DELTA", "/messageId", "assistant message"}},

		// Snapshot.
		{"a delta before the snapshot", g.before("STATE_SNAPSHOT", `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/x","value":1}]}`), want{verify.Snapshot, "STATE_DELTA", "", "no STATE_SNAPSHOT"}},

		// Identity.
		{"another thread", g.replace(`"threadId":"t"`, `"threadId":"t2"`).line("RUN_FINISHED", func(l *recording.Line) {
			l.Data = bytes.Replace(l.Data, []byte(`"t"`), []byte(`"t2"`), 1)
		}), want{verify.Identity, "RUN_STARTED", "/threadId", `"t" was asked`}},
		{"another run at the end", g.line("RUN_FINISHED", func(l *recording.Line) {
			l.Data = bytes.Replace(l.Data, []byte(`"runId":"r"`), []byte(`"runId":"r2"`), 1)
		}), want{verify.Identity, "RUN_FINISHED", "/runId", `"r2"`}},
		{"text for an activity", g.after("ACTIVITY_SNAPSHOT", `{"type":"TEXT_MESSAGE_START","messageId":"a1"}`, `{"type":"TEXT_MESSAGE_END","messageId":"a1"}`), want{verify.Identity, "TEXT_MESSAGE_START", "/messageId", "activity"}},
		{"a call in a user's message", g.replace(`"parentMessageId":"m1"`, `"parentMessageId":"u"`), want{verify.Identity, "TOOL_CALL_START", "/parentMessageId", "user message"}},
		{"a result with an id that is used", g.replace(`"messageId":"m2"`, `"messageId":"m1"`), want{verify.Identity, "TOOL_CALL_RESULT", "/messageId", "assistant message already"}},
		{"two messages with one id", g.before("STEP_FINISHED", `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"user","content":"a"},{"id":"m1","role":"user","content":"b"}]}`),
			want{verify.Identity, "MESSAGES_SNAPSHOT", "/messages/1/id", "earlier message"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			faults, checker := check(c.stream, &verify.Options{Input: asked})
			if len(faults) != 1 {
				t.Fatalf("%d faults, want one:\n%s", len(faults), lines(faults))
			}
			f := faults[0]
			if f.Kind != c.want.kind || f.Subject != c.want.subject || f.Path != c.want.path || !strings.Contains(f.Reason, c.want.reason) {
				t.Errorf("got  %s\nwant %+v", f, c.want)
			}
			if checker.Faults() != 1 {
				t.Errorf("%d faults are counted", checker.Faults())
			}
		})
	}
}

func lines(faults []verify.Fault) string {
	var b strings.Builder
	for _, f := range faults {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

// TestGood: the stream that the faults are injected into has none, and neither
// have these.
func TestGood(t *testing.T) {
	g := parse(good)
	for name, s := range map[string]stream{
		"the stream": g,
		"a run that failed, with things open": parse(`
{"type":"RUN_STARTED","threadId":"t","runId":"r"}
{"type":"TEXT_MESSAGE_START","messageId":"m"}
{"type":"RUN_ERROR","message":"no","code":"model_error"}`),
		"an error alone":                          parse(`{"type":"RUN_ERROR","message":"no"}`),
		"a charset":                               g.response(recording.Response{Status: 200, ContentType: "text/event-stream; charset=utf-8"}),
		"stopped by whoever read":                 g.without("RUN_FINISHED").end(func(l *recording.Line) { l.End = recording.Stopped }),
		"a recorder that was killed":              g[:10],
		"a delta that sets everything":            g.before("STATE_SNAPSHOT", `{"type":"STATE_DELTA","delta":[{"op":"add","path":"","value":{}}]}`),
		"a delta of nothing":                      g.before("STATE_SNAPSHOT", `{"type":"STATE_DELTA","delta":[]}`),
		"white space, and members in any order":   g.replace(`{"type":"STEP_STARTED","stepName":"plan"}`, "{ \"stepName\" : \"plan\",\n\"type\":\"STEP_STARTED\" }"),
		"a later run of the same body":            g.after("RUN_FINISHED", `{"type":"RUN_STARTED","threadId":"t","runId":"other"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"other"}`),
		"keys of patches and payloads stay whole": g.replace(`"value":3}`, `"value":{"surprise":null},"note":"kept"}`),
	} {
		t.Run(name, func(t *testing.T) {
			if faults, _ := check(s, &verify.Options{Input: asked}); len(faults) > 0 {
				t.Errorf("%s", lines(faults))
			}
		})
	}
}

// TestSeveral: faults that are more than one line, and what a line looks like.
func TestSeveral(t *testing.T) {
	g := parse(good)
	for _, c := range []struct {
		name   string
		stream stream
		want   string
	}{
		{"a name of another spelling is unknown, and the member missing", g.replace(`"messageId":"m1","delta":"Hel"`, `"message_id":"m1","delta":"Hel"`), `
event 5, 6.0 ms, TEXT_MESSAGE_CONTENT: unknown: unknown member at /message_id
event 5, 6.0 ms, TEXT_MESSAGE_CONTENT: schema: required member is missing at /messageId`},
		{"retired events are read as what they became", g.before("REASONING_START", `{"type":"THINKING_START"}`, `{"type":"THINKING_END"}`), `
event 13, 14.0 ms, THINKING_START: unknown: retired event type; REASONING_* took its place
event 14, 14.0 ms, THINKING_END: unknown: retired event type; REASONING_* took its place`},
		{"each event after the end", g.after("RUN_FINISHED", `{"type":"STEP_STARTED","stepName":"x"}`, `{"type":"STEP_FINISHED","stepName":"x"}`), `
event 28, 28.0 ms, STEP_STARTED: terminal: it comes after the terminal event RUN_FINISHED
event 29, 28.0 ms, STEP_FINISHED: terminal: it comes after the terminal event RUN_FINISHED`},
		{"an answer that is no stream", stream{{At: time.Millisecond, Response: &recording.Response{Status: 200, ContentType: "application/json"}}, {At: 2 * time.Millisecond, End: recording.Closed}}, `
event 0, 1.0 ms, response: transport: the content type is "application/json"; events that were asked for as text/event-stream come as that
event 0, 2.0 ms, end: terminal: there is no event at all`},
		{"cut inside an event", append(slices.Clone(g[:len(g)-2]), recording.Line{At: 28 * time.Millisecond, Data: []byte(`{"type":"RUN_FIN`), Cut: true}, g[len(g)-1]), `
event 27, 28.0 ms, (no type): framing: the body was cut in the middle of an event: "{\"type\":\"RUN_FIN"
event 27, 29.0 ms, end: terminal: run "r" ends without RUN_FINISHED or RUN_ERROR`},
	} {
		t.Run(c.name, func(t *testing.T) {
			faults, _ := check(c.stream, &verify.Options{Input: asked})
			if got := "\n" + strings.TrimSpace(lines(faults)); got != c.want {
				t.Errorf("got%s\nwant%s", got, c.want)
			}
		})
	}
}

// TestManyDeviations: one event cannot fill a terminal.
func TestManyDeviations(t *testing.T) {
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, `,"x%d":1`, i)
	}
	faults, _ := check(parse(good).replace(`"delta":"Hel"`, `"delta":"Hel"`+b.String()), &verify.Options{Input: asked})
	if n := len(faults); n != 21 || !strings.Contains(faults[20].Reason, "9980 more") {
		t.Errorf("%d faults, the last of them %s", n, faults[n-1])
	}
}

// TestAttached: a thread's stream goes on across runs, may be left at any time,
// and has no ids that were asked for.
func TestAttached(t *testing.T) {
	s := parse(good)
	s = s.after("RUN_FINISHED", `{"type":"RUN_STARTED","threadId":"t","runId":"edit-9"}`,
		`{"type":"STATE_SNAPSHOT","snapshot":{}}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"edit-9"}`)
	s = s.end(func(l *recording.Line) { l.End = recording.Stopped; l.At += time.Hour })
	faults, c := check(s, nil)
	if len(faults) > 0 || c.Runs() != 2 || c.Events() != 30 {
		t.Errorf("%d runs, %d events\n%s", c.Runs(), c.Events(), lines(faults))
	}
	// Each run begins with a snapshot.
	faults, _ = check(s.replace(`{"type":"STATE_SNAPSHOT","snapshot":{}}`, `{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/name"}]}`), nil)
	if len(faults) != 1 || faults[0].Kind != verify.Snapshot {
		t.Errorf("%s", lines(faults))
	}
}

// fatal are the kinds of fault at which the official client ends the run.
func fatal(f verify.Fault) bool {
	switch f.Kind {
	case verify.JSON, verify.Schema, verify.Order:
		return true
	case verify.Terminal:
		// That a run both finished and failed is for us alone.
		return f.Subject != "end" && !strings.Contains(f.Reason, "second terminal event; the run has ended with RUN_FINISHED") ||
			f.Subject == "RUN_FINISHED"
	}
	return false
}

// TestOfficialClient compares with what the official client 1.0.0 did with some
// hundred generated streams: where it ended the run, and which deltas it could
// not apply.
func TestOfficialClient(t *testing.T) {
	data, err := os.ReadFile("../../agui/testdata/corpus.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	streams := 0
	for line := range bytes.Lines(data) {
		doc, err := jsondoc.Parse(line, &jsondoc.ParseOptions{KeepLast: true})
		if err != nil {
			t.Fatal(err)
		}
		get := func(name string) jsondoc.Value { v, _ := doc.Get(name); return v }
		rejected, _ := get("rejected").Int64()
		var failed []int
		if err := get("failedPatches").Decode(&failed); err != nil {
			t.Fatal(err)
		}
		var s stream
		for _, e := range get("events").Items() {
			s = append(s, recording.Line{Data: e.AppendJSON(nil)})
		}
		compare(t, "stream "+get("id").String(), s, int(rejected), failed)
		streams++
	}
	if streams < 200 {
		t.Errorf("only %d streams", streams)
	}
}

// TestGenerated compares with package agui, which is compared with the official
// client elsewhere: legal streams have no fatal fault, and others have it where
// it is.
func TestGenerated(t *testing.T) {
	for seed := range uint64(600) {
		o := streamgen.Options{Events: 60}
		switch seed % 3 {
		case 1:
			o.Wild = 3
		case 2:
			o.Wild, o.Malformed = 2, 3
		}
		var s stream
		docs := streamgen.New(seed, o).Stream()
		for _, d := range docs {
			s = append(s, recording.Line{Data: d.AppendJSON(nil)})
		}
		want := streamgen.Play(docs)
		if seed%3 == 0 && want.Rejected >= 0 {
			t.Fatalf("seed %d: a legal stream was rejected: %s", seed, want.Error)
		}
		compare(t, fmt.Sprint("seed ", seed), s, want.Rejected, want.FailedPatches)
	}
}

// compare checks a stream up to where it was rejected, -1 for nowhere.
func compare(t *testing.T, name string, s stream, rejected int, failed []int) {
	t.Helper()
	c := verify.New(nil)
	var got []int
	for i, l := range s {
		for _, f := range c.Line(l) {
			if fatal(f) {
				if i != rejected {
					t.Errorf("%s: %s, but the client ends the run at event %d\n%s", name, f, rejected+1, l.Data)
				}
				rejected = -2
				break
			}
			if f.Kind == verify.Patch && strings.HasPrefix(f.Reason, "the patch does not apply") {
				got = append(got, i)
			}
		}
		if rejected == -2 {
			break
		}
	}
	if rejected >= 0 {
		t.Errorf("%s: nothing is wrong with event %d, at which the client ends the run\n%s", name, rejected+1, s[rejected].Data)
	}
	if !slices.Equal(got, failed) {
		t.Errorf("%s: deltas %v do not apply, want %v", name, got, failed)
	}
}

// FuzzChecker: whatever arrives, nothing panics, and every event that has a fault
// says which event and why.
func FuzzChecker(f *testing.F) {
	f.Add([]byte(strings.TrimSpace(good)))
	f.Add([]byte(`{"type":"STATE_DELTA","delta":[{"op":"remove","path":""}]}` + "\n" + `[DONE]`))
	f.Add([]byte("\xff\n{\n{\"type\":\"THINKING_TEXT_MESSAGE_CONTENT\",\"delta\":1}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := verify.New(&verify.Options{Input: asked})
		n := 0
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			n++
			for _, fault := range c.Line(recording.Line{Data: line}) {
				if fault.Event != n || fault.Kind == "" || fault.Reason == "" || fault.Subject == "" {
					t.Fatalf("event %d: %+v", n, fault)
				}
			}
		}
		c.Line(recording.Line{End: recording.Closed})
		_ = c.Held()
	})
}
