package recording_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/recording"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func write(t rapid.TB, h recording.Header, lines ...recording.Line) []byte {
	var out bytes.Buffer
	w, err := recording.NewWriter(&out, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if err := w.Write(l); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func read(file []byte) (h recording.Header, lines []recording.Line, err error) {
	r, err := recording.NewReader(bytes.NewReader(file))
	if err != nil {
		return h, nil, err
	}
	for {
		l, err := r.Next()
		if err == io.EOF {
			return r.Header(), lines, nil
		}
		if err != nil {
			return r.Header(), lines, err
		}
		lines = append(lines, l)
	}
}

// TestFile is the format, to the letter.
func TestFile(t *testing.T) {
	got := write(t, recording.Header{
		URL: "http://ann:secret@127.0.0.1:8888/recipe?key=secret#part", Started: started, Input: json.RawMessage(`{"threadId":"t", "runId":"r"}`),
	},
		recording.Line{At: 3100 * time.Microsecond, Response: &recording.Response{Status: 200, ContentType: "text/event-stream"}},
		recording.Line{At: 4 * time.Millisecond, ID: "k-1", Data: []byte(`{ "type":"A<B>", "a":1, "a":2 }`)},
		recording.Line{At: 5 * time.Millisecond, CR: true, Data: []byte("{\n}")},
		recording.Line{At: 6 * time.Millisecond, Data: []byte("[DONE]")},
		recording.Line{At: 7 * time.Millisecond, Data: []byte(`"half \ud83c"`)},
		recording.Line{At: 8 * time.Millisecond, Data: []byte("\xff")},
		recording.Line{At: 9 * time.Millisecond, Data: []byte(`{"type":`), Cut: true},
		recording.Line{At: 10 * time.Millisecond, End: recording.Broken, Reason: "reset"},
	)
	const want = `{"format":"lockstep-recording","version":1,"url":"http://127.0.0.1:8888/recipe","started":"2026-01-02T03:04:05Z","input":{"threadId":"t", "runId":"r"}}
{"at":3.1,"response":{"status":200,"contentType":"text/event-stream"}}
{"at":4,"id":"k-1","event":{ "type":"A<B>", "a":1, "a":2 }}
{"at":5,"cr":true,"data":"{\n}"}
{"at":6,"data":"[DONE]"}
{"at":7,"event":"half \ud83c"}
{"at":8,"base64":"/w=="}
{"at":9,"cut":true,"data":"{\"type\":"}
{"at":10,"end":"broken","reason":"reset"}
`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
	if bytes.Contains(got, []byte("secret")) {
		t.Error("what is secret in the address is in the file")
	}
}

// TestRoundTrip: whatever arrived is read as it was, at its microsecond.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := recording.Header{URL: "http://127.0.0.1/", Started: started, Attached: rapid.String().Draw(t, "thread")}
		lines := rapid.SliceOf(rapid.Custom(func(t *rapid.T) recording.Line {
			l := recording.Line{At: time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "at")) * time.Microsecond}
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				l.Response = &recording.Response{Status: rapid.IntRange(100, 599).Draw(t, "status"), ContentType: rapid.StringMatching(`[a-z/;= ]*`).Draw(t, "type")}
			case 1:
				l.End = rapid.SampledFrom([]recording.End{recording.Closed, recording.Open, recording.Stopped, recording.TimedOut}).Draw(t, "end")
			case 2:
				l.Data = append([]byte{}, rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")...)
			default:
				l.Data = []byte(rapid.StringMatching(`(\{"type":"[A-Z_]*","v":[0-9]{1,3}(\.5)?\}|\[[ \n\r]*\]|null|"a\\ud800")`).Draw(t, "json"))
			}
			if l.Data != nil {
				l.ID = rapid.StringMatching(`[a-z0-9-]*`).Draw(t, "id")
				l.CR, l.Cut = rapid.Bool().Draw(t, "cr"), rapid.Bool().Draw(t, "cut")
			}
			return l
		})).Draw(t, "lines")
		file := write(t, h, lines...)
		gotHeader, got, err := read(file)
		if err != nil {
			t.Fatalf("%v\n%s", err, file)
		}
		if d := cmp.Diff(h, gotHeader); d != "" {
			t.Fatal(d)
		}
		if len(got) != len(lines) {
			t.Fatalf("%d lines, want %d", len(got), len(lines))
		}
		for i := range got {
			if diff := (got[i].At - lines[i].At).Abs(); diff > time.Microsecond {
				t.Fatalf("line %d: at %v, want %v", i, got[i].At, lines[i].At)
			}
			got[i].At = lines[i].At
			if d := cmp.Diff(lines[i], got[i]); d != "" {
				t.Fatal(d)
			}
		}
	})
}

// TestExtremes: data that is as deep as encoding/json goes, or longer than is written as a
// string, is read as it was too.
func TestExtremes(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	for _, data := range [][]byte{nested(9999), nested(10000), nested(10001), bytes.Repeat([]byte{1}, 6<<20)} {
		_, lines, err := read(write(t, recording.Header{Started: started}, recording.Line{Data: data}))
		if err != nil || len(lines) != 1 || !bytes.Equal(lines[0].Data, data) {
			t.Errorf("%d bytes: %d lines, %v", len(data), len(lines), err)
		}
	}
}

// TestCutAnywhere: the file of a recorder that was killed reads as what was
// written whole, wherever it was cut.
func TestCutAnywhere(t *testing.T) {
	h := recording.Header{URL: "http://127.0.0.1/", Started: started}
	head := len(write(t, h))
	file := write(t, h,
		recording.Line{At: time.Millisecond, Data: []byte(`{"type":"A"}`)},
		recording.Line{At: 2 * time.Millisecond, Data: []byte("\xff")},
		recording.Line{At: 3 * time.Millisecond, End: recording.Closed})
	for cut := head; cut <= len(file); cut++ {
		_, lines, err := read(file[:cut])
		whole := bytes.Count(file[head:cut], []byte("\n"))
		if err != nil || len(lines) < whole || len(lines) > whole+1 {
			t.Errorf("cut at %d: %d lines, %v", cut, len(lines), err)
		}
	}
}

// TestBadFiles: what is wrong is said with its line.
func TestBadFiles(t *testing.T) {
	const head = `{"format":"lockstep-recording","version":1,"url":"","started":"2026-01-02T03:04:05Z"}` + "\n"
	for _, c := range []struct{ file, want string }{
		{"", "line 1: the file is empty"},
		{"{}\n", `line 1: this is no recording`},
		{"data: x\n", `line 1: this is no recording`},
		{`{"format":"lockstep-recording","version":2}` + "\n", "line 1: the recording has version 2"},
		{head + "\n" + `{"at":1,"event":{}}` + "\n" + "oops\n", "line 4: this is no line"},
		{head + `{"at":"1","event":{}}` + "\n", "line 2: this is no line"},
		{head + `{"at":-1,"event":{}}` + "\n", `line 2: "at" is -1`},
		{head + `{"at":1e300,"event":{}}` + "\n", `line 2: "at" is 1e+300`},
		{head + `{"at":1}` + "\n", "line 2: a line has one of"},
		{head + `{"at":1,"event":{},"end":"closed"}` + "\n", "line 2: a line has one of"},
		{head + `{"at":1,"end":"soon"}` + "\n", `line 2: "end" is "soon"`},
		{head + `{"at":1,"base64":"?"}` + "\n", `line 2: "base64"`},
		{head + `{"at":1,"response":{"status":0}}` + "\n", `line 2: "status" is 0`},
	} {
		_, _, err := read([]byte(c.file))
		var bad *recording.FormatError
		if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.file, err, c.want)
		}
	}
}

// endless is a line that does not end.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left -= len(p); e.left < 0 {
		return 0, errors.New("it reads on and on")
	}
	return len(p), nil
}

// TestLongLine: memory is bounded.
func TestLongLine(t *testing.T) {
	_, err := recording.NewReader(&endless{left: 64 << 20})
	var bad *recording.FormatError
	if !errors.As(err, &bad) || bad.Line != 1 {
		t.Error(err)
	}
}

// TestInput: what would break the header's line is refused.
func TestInput(t *testing.T) {
	for _, bad := range []string{"{\n}", "{", ""} {
		if _, err := recording.NewWriter(io.Discard, recording.Header{Input: json.RawMessage(bad)}); err == nil {
			t.Errorf("%q is written", bad)
		}
	}
}

// TestAddress drops what may be secret.
func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"http://127.0.0.1:8888/":            "http://127.0.0.1:8888/",
		"https://u:p@example.com/a%2Fb?k=v": "https://example.com/a%2Fb",
		"http://example.com/?":              "http://example.com/",
		"http://example.com/#f":             "http://example.com/",
		"http://%zz/?secret":                "",
	} {
		if got := recording.Address(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestRebinder: ids are replaced where they are ids of the run, and nothing else.
func TestRebinder(t *testing.T) {
	posted := recording.Header{Input: json.RawMessage(`{"threadId":"t","runId":"r","messages":[]}`)}
	for _, c := range []struct {
		name     string
		header   recording.Header
		in, want []string
	}{
		{"a run", posted,
			[]string{`{"type":"RUN_STARTED", "threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[]},"at":1.0}`, `{"type":"RUN_FINISHED","runId":"r","threadId":"t"}`},
			[]string{`{"type":"RUN_STARTED","threadId":"T","runId":"R","input":{"threadId":"T","runId":"R","messages":[]},"at":1.0}`, `{"type":"RUN_FINISHED","runId":"R","threadId":"T"}`}},
		{"other events stay", posted,
			[]string{`{"type":"CUSTOM","name":"t","value":{"threadId":"t","runId":"r"}}`, `{"type":"STATE_SNAPSHOT","snapshot":{"runId":"r"},"threadId":"t"}`}, nil},
		{"a thread of several runs: the first one is the posted one", recording.Header{Attached: "t"},
			[]string{`{"type":"RUN_STARTED","threadId":"t","runId":"a"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"a"}`, `{"type":"RUN_STARTED","threadId":"t","runId":"edit-9"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"edit-9"}`},
			[]string{`{"type":"RUN_STARTED","threadId":"T","runId":"R"}`, `{"type":"RUN_FINISHED","threadId":"T","runId":"R"}`, `{"type":"RUN_STARTED","threadId":"T","runId":"edit-9"}`, `{"type":"RUN_FINISHED","threadId":"T","runId":"edit-9"}`}},
		{"a wrong run stays wrong", posted,
			[]string{`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"x"}`},
			[]string{`{"type":"RUN_STARTED","threadId":"T","runId":"R"}`, `{"type":"RUN_FINISHED","threadId":"T","runId":"x"}`}},
		{"ids that the new history has get a number, everywhere the same", posted,
			[]string{`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`, `{ "type":"TOOL_CALL_START", "toolCallId":"c1","parentMessageId":"m1","x":1.0 }`,
				`{"type":"TOOL_CALL_RESULT","messageId":"x1","toolCallId":"c1","content":"m1"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m1-2"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m9"}`,
				`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u9"},{"id":"m1","toolCalls":[{"id":"c1"}]},{"id":"x1","toolCallId":"c1"}]}`,
				`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","toolCallId":"c1"}]}}`,
				`{"type":"STATE_SNAPSHOT","snapshot":{"messageId":"m1"}}`},
			[]string{`{"type":"TEXT_MESSAGE_START","messageId":"m1-3","role":"assistant"}`, `{"type":"TOOL_CALL_START","toolCallId":"c1-2","parentMessageId":"m1-3","x":1.0}`,
				`{"type":"TOOL_CALL_RESULT","messageId":"x1-2","toolCallId":"c1-2","content":"m1"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m1-2-2"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m9"}`,
				`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u9"},{"id":"m1-3","toolCalls":[{"id":"c1-2"}]},{"id":"x1-2","toolCallId":"c1-2"}]}`,
				`{"type":"RUN_FINISHED","threadId":"T","runId":"R","outcome":{"type":"interrupt","interrupts":[{"id":"i","toolCallId":"c1-2"}]}}`,
				`{"type":"STATE_SNAPSHOT","snapshot":{"messageId":"m1"}}`}},
		{"ids that the recorded history had stay", recording.Header{Input: json.RawMessage(`{"threadId":"t","runId":"r","messages":[{"id":"m1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}]}`)},
			[]string{`{"type":"TOOL_CALL_RESULT","messageId":"x1","toolCallId":"c1","content":"ok"}`, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1"}]}`},
			[]string{`{"type":"TOOL_CALL_RESULT","messageId":"x1-2","toolCallId":"c1","content":"ok"}`, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1"}]}`}},
		{"a repeated id stays repeated", posted,
			[]string{`{"type":"TOOL_CALL_RESULT","messageId":"x1","toolCallId":"a"}`, `{"type":"TOOL_CALL_RESULT","messageId":"x1","toolCallId":"b"}`},
			[]string{`{"type":"TOOL_CALL_RESULT","messageId":"x1-2","toolCallId":"a"}`, `{"type":"TOOL_CALL_RESULT","messageId":"x1-2","toolCallId":"b"}`}},
		{"what is broken stays broken", posted,
			[]string{`[DONE]`, ``, `{"type":"RUN_STARTED"}`, `{"type":"RUN_STARTED","threadId":7,"runId":null}`, "{\"type\":\"RUN_STARTED\",\"threadId\":\"\xff\"}", `{"type":"RUN_FINISHED","threadId":"t","threadId":"t"}`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := recording.NewRebinder(c.header, &agui.RunAgentInput{ThreadID: "T", RunID: "R", Messages: []agui.Message{
				{ID: "u1", Role: agui.RoleUser}, {ID: "m1", ToolCalls: []agui.ToolCall{{ID: "c1"}}}, {ID: "m1-2"}, {ID: "x1", ToolCallID: "c1"},
			}})
			for i, in := range c.in {
				want := in
				if c.want != nil {
					want = c.want[i]
				}
				if got := string(r.Event([]byte(in))); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
		})
	}
}

// FuzzReader: a file from anywhere gives lines that could have been written, or an
// error that names a line.
func FuzzReader(f *testing.F) {
	f.Add(write(f, recording.Header{Started: started, Input: json.RawMessage(`{}`)},
		recording.Line{Response: &recording.Response{Status: 200}},
		recording.Line{Data: []byte(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)}, recording.Line{Data: []byte("\xff")}, recording.Line{End: recording.Closed}))
	f.Fuzz(func(t *testing.T, file []byte) {
		h, lines, err := read(file)
		var bad *recording.FormatError
		if err != nil && (!errors.As(err, &bad) || bad.Line < 1 || bad.Line > bytes.Count(file, []byte("\n"))+1) {
			t.Fatal(err)
		}
		r := recording.NewRebinder(h, &agui.RunAgentInput{ThreadID: "T", RunID: "R", Messages: []agui.Message{{ID: "m"}}})
		for _, l := range lines {
			if (l.Data != nil) == (l.Response != nil || l.End != "") {
				t.Fatalf("%+v", l)
			}
			if l.Data != nil {
				r.Event(l.Data)
			}
		}
	})
}
