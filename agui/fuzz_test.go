package agui_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/streamgen"
)

// FuzzDecode: any bytes give an event or a DecodeError; what was decoded is
// written so that it decodes to the same again, in both spellings; what the
// strict reader takes the lenient one takes too.
func FuzzDecode(f *testing.F) {
	for _, text := range golden {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"type":"A","type":"B"}`))
	f.Add([]byte(`{"type":"TEXT_MESSAGE_CONTENT","message_id":"\ud83c","delta":"\ud83c\udf5d\u0000"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		sameSpaced(t, data)
		_, strictErr := agui.DecodeEvent(data, &agui.DecodeOptions{Strict: true})
		for _, opts := range []*agui.DecodeOptions{nil, {Strict: true}, {KeepUnknown: true}, {MaxDepth: 4}} {
			e, err := agui.DecodeEvent(data, opts)
			if err != nil {
				var bad *agui.DecodeError
				if !errors.As(err, &bad) || bad.Offset < 0 || bad.Offset > len(data) || bad.Reason == "" {
					t.Fatalf("%#v", err)
				}
				if strictErr == nil && opts == nil {
					t.Fatalf("the strict reader takes what the lenient one refuses: %v", err)
				}
				continue
			}
			once := agui.AppendEvent(nil, e, agui.V1)
			again, err := agui.DecodeEvent(once, &agui.DecodeOptions{KeepUnknown: true})
			if err != nil {
				t.Fatalf("%s was written and is refused: %v", once, err)
			}
			if twice := agui.AppendEvent(nil, again, agui.V1); !bytes.Equal(once, twice) {
				t.Fatalf("not stable\n%s\n%s", once, twice)
			}
			if older := agui.AppendEvent(nil, e, agui.V0); len(older) > 0 {
				if _, err := agui.DecodeEvent(older, &agui.DecodeOptions{Strict: true}); err != nil && opts != nil && opts.Strict {
					t.Fatalf("the older spelling %s is refused: %v", older, err)
				}
			}
			if frame := agui.AppendFrame(nil, "1", e, agui.V1); bytes.ContainsAny(frame, "\r\x00") || bytes.Count(frame, []byte("\n")) != 3 {
				t.Fatalf("not one frame: %q", frame)
			}
		}
	})
}

// sameSpaced makes sure that the short way for the usual spelling reads what the
// long way reads: a space behind the brace is enough to take the long one.
func sameSpaced(t *testing.T, data []byte) {
	t.Helper()
	if len(data) == 0 || data[0] != '{' {
		return
	}
	short, err1 := agui.DecodeEvent(data, nil)
	long, err2 := agui.DecodeEvent(append([]byte("{ "), data[1:]...), nil)
	if (err1 == nil) != (err2 == nil) {
		t.Fatalf("%s: %v, spaced %v", data, err1, err2)
	}
	if err1 != nil {
		var a, b *agui.DecodeError
		if errors.As(err1, &a) && errors.As(err2, &b) && (a.Path != b.Path || a.Reason != b.Reason || a.Event != b.Event) {
			t.Fatalf("%s: %v, spaced %v", data, err1, err2)
		}
		return
	}
	if a, b := agui.AppendEvent(nil, short, agui.V1), agui.AppendEvent(nil, long, agui.V1); !bytes.Equal(a, b) {
		t.Fatalf("%s, spaced %s", a, b)
	}
}

// TestUsualSpelling: everything that is nearly the usual spelling of the hot
// events is read as the long way reads it.
func TestUsualSpelling(t *testing.T) {
	for _, text := range []string{
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d","timestamp":12}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d","timestamp":012}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d","timestamp":1.5}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d","timestamp":1e3}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d","timestamp":}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d","timestamp":12345678901234567890}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d","timestamp":12,"delta":"e"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d","messageId":"n"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d","type":"TOOL_CALL_ARGS","toolCallId":"c"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d"} `,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d"}x`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d"`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":null}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":7,"delta":"d"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\q"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"\u0041","delta":"é\n"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","delta":"d","messageId":"m"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d","metadata":{"k":1}}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"a\":","timestamp":0}`,
		`{"type":"TOOL_CALL_ARGS","messageId":"c","delta":"d"}`,
	} {
		sameSpaced(t, []byte(text))
	}
}

// FuzzDecodeInput is FuzzDecode for what clients post.
func FuzzDecodeInput(f *testing.F) {
	f.Add([]byte(`{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":[{"type":"binary","mimeType":"image/png","id":"x"}]}],"state":{"a":[1.50]},"resume":[{"interruptId":"i","status":"resolved"}]}`))
	f.Add([]byte(`{"thread_id":"t","run_id":"r","messages":[{"role":"assistant","id":"1","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}],"content":null}],"tools":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, opts := range []*agui.DecodeOptions{nil, {KeepUnknown: true}} {
			in, err := agui.DecodeInput(data, opts)
			if err != nil {
				var bad *agui.DecodeError
				if !errors.As(err, &bad) {
					t.Fatalf("%#v", err)
				}
				continue
			}
			once := in.AppendJSON(nil)
			again, err := agui.DecodeInput(once, &agui.DecodeOptions{KeepUnknown: true})
			if err != nil {
				t.Fatalf("%s was written and is refused: %v", once, err)
			}
			if twice := again.AppendJSON(nil); !bytes.Equal(once, twice) {
				t.Fatalf("not stable\n%s\n%s", once, twice)
			}
		}
	})
}

// FuzzReader compares the reader with the grammar written down plainly, and
// makes sure that no cut changes what is read.
func FuzzReader(f *testing.F) {
	f.Add("data: a\r\ndata: b\r\r\nid: 1\n\n: c\n\n", byte(1))
	f.Add("\xEF\xBB\xBFdata: a\n\n\xEF\xBB", byte(2))
	f.Add("id: \x00\ndata\n\nretry: 5\nevent: x\n\r\n", byte(3))
	f.Fuzz(func(t *testing.T, in string, size byte) {
		want := plainFrames(in)
		got, err := frames(&cutReader{rest: in, sizes: []int{1 + int(size)%7, 1 + int(size)/7}}, nil)
		if err != io.EOF || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%v\n got %q\nwant %q", err, got, want)
		}
		for rec, err := range agui.ReadEvents(strings.NewReader(in), nil) {
			if (rec.Event == nil) == (err == nil) {
				t.Fatalf("%v, %v", rec.Event, err)
			}
		}
	})
}

// FuzzCompact: whatever the stream, legal or not, compaction does not panic and
// does not make it longer; of a legal stream it keeps legality and result, cut
// anywhere.
func FuzzCompact(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, byte(30), byte(seed%2*20), byte(seed*7))
	}
	f.Fuzz(func(t *testing.T, seed uint64, size, wild, cut byte) {
		stream := streamgen.New(seed, streamgen.Options{Events: int(size) % 80, Wild: int(wild) % 50, Unfinished: seed%3 == 0}).Events()
		at := 0
		if len(stream) > 0 {
			at = int(cut) % (len(stream) + 1)
		}
		short := agui.Compact(stream[:at])
		if len(short) > at {
			t.Fatalf("%d events became %d", at, len(short))
		}
		if legal(stream) != nil {
			return
		}
		joined := append(short[:len(short):len(short)], stream[at:]...)
		if err := legal(joined); err != nil {
			t.Fatalf("not legal any more: %v\n%q\n%q", err, texts(stream), texts(joined))
		}
		if want, got := outcome(agui.Reduction{}, stream), outcome(agui.Reduction{}, joined); got != want {
			t.Fatalf("\n got %s\nwant %s", got, want)
		}
	})
}

// TestDecodeIsBounded: reading foreign JSON costs memory in proportion to its
// size, whatever it is.
func TestDecodeIsBounded(t *testing.T) {
	nasty := []string{
		`{"type":"CUSTOM","name":"n","value":` + strings.Repeat("[", 1<<18),
		`{"type":"CUSTOM","name":"n","value":` + strings.Repeat(`{"a":`, 500) + strings.Repeat("[", 1<<18),
		`{"type":"MESSAGES_SNAPSHOT","messages":[` + strings.Repeat(`{"role":"user",`, 1<<16),
		`{"type":"TEXT_MESSAGE_END","messageId":"` + strings.Repeat(`\u0041`, 1<<15),
		strings.Repeat(`{"type":"X",`, 1<<17),
		`{` + strings.Repeat(`"a":1,`, 1<<16) + `"type":"TEXT_MESSAGE_END","messageId":"m"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"m"` + strings.Repeat(`,"type":"RAW","event":1`, 1<<16) + `}`,
	}
	var many strings.Builder // unknown members, all different
	many.WriteString(`{"type":"TEXT_MESSAGE_END","messageId":"m"`)
	for i := range 30000 {
		fmt.Fprintf(&many, `,"k%d":%d`, i, i)
	}
	nasty = append(nasty, many.String()+`}`)
	for _, in := range nasty {
		for _, opts := range []*agui.DecodeOptions{nil, {KeepUnknown: true}} {
			before := allocated()
			_, _ = agui.DecodeEvent([]byte(in), opts)
			if used := allocated() - before; used > 64*uint64(len(in)) {
				t.Errorf("%.40s…: %d bytes for %d", in, used, len(in))
			}
		}
	}
}
