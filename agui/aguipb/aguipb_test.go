package aguipb_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/agui/aguipb"
	"github.com/lockstep-go/lockstep/internal/streamgen"
	"github.com/lockstep-go/lockstep/jsondoc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func event(t testing.TB, text string) agui.Event {
	t.Helper()
	e, err := agui.DecodeEvent([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestBytes: bytes that the official package was seen to write.
func TestBytes(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"STATE_SNAPSHOT","snapshot":null}`:          "3a080a02080612020800",
		`{"type":"STATE_DELTA","delta":[]}`:                  "42040a020807",
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`: "6a0a0a02080c1201741a0172",
		`{"type":"TEXT_MESSAGE_START","messageId":"m"}`:      "0a050a0012016d",
	} {
		got, err := aguipb.Append(nil, event(t, text), agui.V1)
		if err != nil || hex.EncodeToString(got) != want {
			t.Errorf("%s: %x, %v; want %s", text, got, err, want)
		}
		back, err := aguipb.Decode(got, &agui.DecodeOptions{Strict: true})
		if err != nil || string(agui.AppendEvent(nil, back, agui.V1)) != text {
			t.Errorf("%s came back as %v, %v", text, back, err)
		}
	}
}

// TestRoundTrip: every event of generated streams arrives as what it was, but
// for what the package's documentation names as lost.
func TestRoundTrip(t *testing.T) {
	seen := map[agui.EventType]int{}
	for seed := range uint64(120) {
		for _, e := range streamgen.New(seed, streamgen.Options{Events: 40, Wild: 20}).Events() {
			if _, unknown := e.(*agui.Unknown); unknown {
				continue
			}
			seen[e.EventType()]++
			data, err := aguipb.Append(nil, e, agui.V1)
			if err != nil {
				t.Fatalf("%s: %v", agui.AppendEvent(nil, e, agui.V1), err)
			}
			back, err := aguipb.Decode(data, &agui.DecodeOptions{Strict: true})
			if err != nil {
				t.Fatalf("%s: %v", agui.AppendEvent(nil, e, agui.V1), err)
			}
			want, got := carried(e), carried(back)
			if !jsondoc.EqualBy(want, got, jsondoc.ByDouble) {
				t.Fatalf("\n got %s\nwant %s", got, want)
			}
		}
	}
	for _, typ := range agui.EventTypes() {
		if seen[typ] == 0 {
			t.Errorf("no %s was tried", typ)
		}
	}
}

// carried is an event's JSON without the optional lists that are empty.
func carried(e agui.Event) jsondoc.Value {
	doc := jsondoc.MustParse(string(agui.AppendEvent(nil, e, agui.V1)))
	drop := func(v jsondoc.Value, names ...string) jsondoc.Value {
		for _, name := range names {
			if list, ok := v.Get(name); ok && list.Kind() == jsondoc.KindArray && list.Len() == 0 {
				v = v.Without(name)
			}
		}
		return v
	}
	messages := func(v jsondoc.Value) jsondoc.Value {
		list, ok := v.Get("messages")
		if !ok {
			return v
		}
		var out []jsondoc.Value
		for _, m := range list.Items() {
			out = append(out, drop(m, "toolCalls"))
		}
		return v.With("messages", jsondoc.Array(out...))
	}
	switch e.(type) {
	case *agui.RunFinished:
		if outcome, ok := doc.Get("outcome"); ok {
			doc = doc.With("outcome", drop(outcome, "pendingToolCallIds"))
		}
	case *agui.MessagesSnapshot:
		doc = messages(doc)
	case *agui.RunStarted:
		if in, ok := doc.Get("input"); ok {
			doc = doc.With("input", messages(drop(in, "tools", "context", "resume")))
		}
	}
	return doc
}

// TestLosses pins what the package says is lost, and what it refuses to lose
// silently.
func TestLosses(t *testing.T) {
	for _, c := range []struct{ in, want, err string }{
		{`{"type":"STATE_SNAPSHOT","snapshot":{"z":9007199254740993,"a":1.50}}`, `{"type":"STATE_SNAPSHOT","snapshot":{"a":1.5,"z":9007199254740992}}`, ""},
		{`{"type":"STATE_SNAPSHOT","snapshot":[1e21,123456789012345678901,0.0000001,-0.5]}`, `{"type":"STATE_SNAPSHOT","snapshot":[1e+21,123456789012345680000,1e-07,-0.5]}`, ""},
		{`{"type":"STATE_SNAPSHOT","snapshot":{"a":[1,{"b":1e400}]}}`, "", "snapshot: a: 1: b: the number 1e400 is out of a double's range"},
		{`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\ud83c"}`, "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"\uFFFD\"}", ""},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"assistant","toolCalls":[]}]}`, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"assistant"}]}`, ""},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[]}`, `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[]}`, ""},
	} {
		data, err := aguipb.Append([]byte("x"), event(t, c.in), agui.V1)
		if c.err != "" {
			if err == nil || !strings.HasSuffix(err.Error(), c.err) || string(data) != "x" {
				t.Errorf("%s: %q, %v", c.in, data, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		back, err := aguipb.Decode(data[1:], nil)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got := string(agui.AppendEvent(nil, back, agui.V1)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
	// Members that are nobody's do not end up in fields that are called so.
	extra, err := agui.DecodeEvent([]byte(`{"type":"TEXT_MESSAGE_END","messageId":"m","baseEvent":{"type":"RAW"},"op":"x","outcome":1}`), &agui.DecodeOptions{KeepUnknown: true})
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := aguipb.Append(nil, &agui.TextMessageEnd{MessageID: "m"}, agui.V1)
	if got, err := aguipb.Append(nil, extra, agui.V1); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%x, %v", got, err)
	}
}

func TestVersions(t *testing.T) {
	for text, known := range map[string]bool{
		`{"type":"TEXT_MESSAGE_END","messageId":"m"}`:                 true,
		`{"type":"STEP_FINISHED","stepName":"s"}`:                     true,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m"}`:               false,
		`{"type":"REASONING_START","messageId":"m"}`:                  false,
		`{"type":"SUBAGENT_ERROR","subagentRunId":"s","message":"m"}`: false,
		`{"type":"FUTURE","a":1}`:                                     false,
	} {
		got, err := aguipb.AppendFrame([]byte("x"), event(t, text), agui.V0)
		if err != nil || (len(got) > 1) != known {
			t.Errorf("%s: %x, %v", text, got, err)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for in, want := range map[string]string{
		"ff":                       "proto",
		"0a0312016d":               "base_event is missing",
		"0a070a02080112016d":       "base_event.type is 1, which is another event's",
		"0a070a02087f12016d":       "base_event.type is 127, which is another event's",
		"d2020a0a0212016d12016d":   "proto",
		"22040a020803":             "", // TOOL_CALL_START with empty ids is legal
		"6a0c0a02080c2a06696e7465": "proto",
	} {
		data, err := hex.DecodeString(strings.ReplaceAll(in, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		e, err := aguipb.Decode(data, nil)
		if want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || e != nil {
			t.Errorf("%s: %v, %v; want %q", in, e, err, want)
		}
	}
	if _, err := aguipb.Decode(nil, nil); !errors.Is(err, aguipb.ErrUnknownEvent) {
		t.Errorf("an empty envelope: %v", err)
	}
	if _, err := aguipb.Decode([]byte{0xc2, 0x02, 0x00}, nil); !errors.Is(err, aguipb.ErrUnknownEvent) { // field 40
		t.Errorf("an unknown arm: %v", err)
	}
	both, _ := aguipb.Append(nil, event(t, `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"text","text":"a"}]}`), agui.V1)
	both = append([]byte{0xb2, 0x01, both[2] + 3}, append(both[3:], 0x2a, 0x01, 'x')...)
	if _, err := aguipb.Decode(both, nil); err == nil || !strings.Contains(err.Error(), "content is given twice") {
		t.Errorf("two contents: %v", err)
	}
}

func TestReadEvents(t *testing.T) {
	var body []byte
	for _, text := range []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
		`{"type":"CUSTOM","name":"n","value":{"a":[null]}}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`,
	} {
		var err error
		if body, err = aguipb.AppendFrame(body, event(t, text), agui.V1); err != nil {
			t.Fatal(err)
		}
	}
	unknown := append([]byte{0, 0, 0, 3, 0xc2, 0x02, 0x00}, body...)
	for _, c := range []struct {
		name   string
		body   []byte
		opts   *agui.EventsOptions
		events int
		check  func(error) bool
	}{
		{"whole", body, nil, 3, func(err error) bool { return err == nil }},
		{"with an unknown event", unknown, &agui.EventsOptions{Sequence: new(agui.Sequence)}, 3, func(err error) bool { return err == nil }},
		{"empty", nil, nil, 0, func(err error) bool { return errors.Is(err, agui.ErrIncomplete) }},
		{"cut in a length", body[:2], nil, 0, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) && errors.Is(err, agui.ErrIncomplete) }},
		{"cut in a frame", body[:len(body)-1], nil, 2, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) && errors.Is(err, agui.ErrIncomplete) }},
		{"cut in a frame, bare", body[:len(body)-1], &agui.EventsOptions{Bare: true}, 2, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		{"too large", []byte{0xff, 0xff, 0xff, 0xff}, nil, 0, func(err error) bool {
			var limit *agui.LimitError
			return errors.As(err, &limit) && limit.Limit == aguipb.DefaultMaxFrame
		}},
		{"announced and not sent", []byte{0x00, 0x9f, 0xff, 0xff, 1}, nil, 0, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
	} {
		for _, cut := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader} {
			if c.opts != nil && c.opts.Sequence != nil {
				c.opts.Sequence = new(agui.Sequence)
			}
			n, last := 0, error(nil)
			for got, err := range aguipb.ReadEvents(cut(bytes.NewReader(c.body)), c.opts) {
				if last = err; err == nil {
					n++
					if again, err := aguipb.Decode(got.Data, nil); err != nil || again.EventType() != got.Event.EventType() {
						t.Errorf("%s: the data is %x", c.name, got.Data)
					}
				}
			}
			if n != c.events || !c.check(last) {
				t.Errorf("%s: %d events, then %v", c.name, n, last)
			}
		}
	}
}

// TestWriter: the agui writer sends protobuf with the exact content type.
func TestWriter(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		w, err := agui.NewWriter(rw, &agui.WriterOptions{Format: aguipb.Format()})
		if err != nil {
			t.Error(err)
			return
		}
		defer w.Close()
		for _, e := range []agui.Event{
			&agui.RunStarted{ThreadID: "t", RunID: "r"},
			&agui.StateSnapshot{Snapshot: jsondoc.MustParse(`1e400`)},
			&agui.RunError{Message: "m"},
		} {
			err := w.WriteEvent("id", e)
			if _, bad := e.(*agui.StateSnapshot); (err != nil) != bad {
				t.Errorf("%s: %v", e.EventType(), err)
			}
		}
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	res, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Content-Type"); got != aguipb.MediaType {
		t.Errorf("content type %q", got)
	}
	var got []agui.EventType
	for rec, err := range aguipb.ReadEvents(res.Body, nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rec.Event.EventType())
	}
	if diff := cmp.Diff([]agui.EventType{agui.TypeRunStarted, agui.TypeRunError}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAccepts(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "*/*": false, "application/*": false, "text/event-stream": false,
		"application/vnd.ag-ui.event+proto":                          true,
		"text/event-stream, Application/Vnd.AG-UI.Event+Proto;q=0.5": true,
		"application/vnd.ag-ui.event+proto;q=0, text/event-stream":   false,
		"application/vnd.ag-ui.event+proto;q=0.0":                    false,
		"application/vnd.ag-ui.event+proto;q=x":                      false,
		"application/vnd.ag-ui.event+proto-x, ;;":                    false,
	} {
		if got := aguipb.Accepts(header); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
}

// FuzzDecode: any bytes give an event or an error; what was decoded is written
// so that it decodes to the same again.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(6) {
		for _, e := range streamgen.New(seed, streamgen.Options{Events: 30}).Events() {
			if data, err := aguipb.Append(nil, e, agui.V1); err == nil {
				f.Add(data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := aguipb.Decode(data, nil)
		if err != nil {
			return
		}
		once, err := aguipb.Append(nil, e, agui.V1)
		if err != nil {
			t.Fatalf("%s was read and cannot be written: %v", agui.AppendEvent(nil, e, agui.V1), err)
		}
		again, err := aguipb.Decode(once, nil)
		if err != nil {
			t.Fatalf("%x: %v", once, err)
		}
		if a, b := agui.AppendEvent(nil, e, agui.V1), agui.AppendEvent(nil, again, agui.V1); !jsondoc.Equal(carried(e), carried(again)) {
			t.Fatalf("not stable\n%s\n%s", a, b)
		}
	})
}
