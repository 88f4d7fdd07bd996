package agui_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/streamgen"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// long reports whether the long versions of the tests are asked for.
func long() bool { return os.Getenv("LOCKSTEP_LONG") != "" }

// events decodes events, one JSON text each.
func events(t testing.TB, texts ...string) []agui.Event {
	t.Helper()
	out := make([]agui.Event, len(texts))
	for i, text := range texts {
		e, err := agui.DecodeEvent([]byte(text), nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out[i] = e
	}
	return out
}

// texts encodes events.
func texts(events []agui.Event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = string(agui.AppendEvent(nil, e, agui.V1))
	}
	return out
}

// legal checks a whole stream.
func legal(events []agui.Event) error {
	var s agui.Sequence
	for i, e := range events {
		if err := s.Check(e); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
	}
	return nil
}

// outcome is what a stream comes to, as text that can be compared.
func outcome(from agui.Reduction, events []agui.Event) string {
	r, _ := agui.Reduce(from, events)
	text := string(agui.AppendEvent(nil, &agui.MessagesSnapshot{Messages: r.Messages}, agui.V1)) + "\n" + string(r.State.Canonical())
	for i := range r.Interrupts {
		text += "\n" + string(r.Interrupts[i].AppendJSON(nil))
	}
	return text + fmt.Sprintf("\n%q %s", r.PendingToolCallIDs, r.Result)
}

func TestCompact(t *testing.T) {
	const started = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`
	const finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
	for _, c := range []struct {
		name     string
		in, want []string
	}{
		{"text", []string{
			started,
			`{"type":"TEXT_MESSAGE_START","messageId":"m"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hel","rawEvent":1}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"lo","metadata":{"k":1}}`,
			`{"type":"TEXT_MESSAGE_END","messageId":"m"}`,
		}, []string{
			started,
			`{"type":"TEXT_MESSAGE_START","messageId":"m"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hello","metadata":{"k":1}}`,
			`{"type":"TEXT_MESSAGE_END","messageId":"m"}`,
		}},
		{"interleaved", []string{
			started,
			`{"type":"TEXT_MESSAGE_START","messageId":"m"}`,
			`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"}"}`,
		}, []string{
			started,
			`{"type":"TEXT_MESSAGE_START","messageId":"m"}`,
			`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"ab"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}"}`,
		}},
		// The bug this pins: an unclosed call moved behind the terminal event.
		{"unclosed call", []string{
			started,
			`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"a"}`,
			`{"type":"RUN_ERROR","message":"Stopped."}`,
		}, []string{
			started,
			`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"a"}`,
			`{"type":"RUN_ERROR","message":"Stopped."}`,
		}},
		{"snapshot between deltas", []string{
			started,
			`{"type":"TEXT_MESSAGE_START","messageId":"m"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","content":"x"}]}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}`,
		}, []string{
			started,
			`{"type":"TEXT_MESSAGE_START","messageId":"m"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","content":"x"}]}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}`,
		}},
		{"state", []string{
			started,
			`{"type":"STATE_SNAPSHOT","snapshot":{"a":1}}`,
			`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/a","value":2}],"metadata":{"rev":1}}`,
			`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/zzz","value":2}]}`,
			`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/b","value":null}],"metadata":{"rev":2}}`,
			finished,
		}, []string{
			started,
			`{"type":"STATE_SNAPSHOT","snapshot":{"a":2,"b":null},"metadata":{"rev":2}}`,
			finished,
		}},
		{"state from an earlier run", []string{
			started,
			`{"type":"STATE_SNAPSHOT","snapshot":{"text":"a long text that makes a snapshot longer than one delta","n":0}}`,
			finished, started,
			`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":1}]}`,
			`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]}`,
			finished,
		}, []string{
			started,
			`{"type":"STATE_SNAPSHOT","snapshot":{"text":"a long text that makes a snapshot longer than one delta","n":0}}`,
			finished, started,
			`{"type":"STATE_SNAPSHOT","snapshot":{"text":"a long text that makes a snapshot longer than one delta","n":2}}`,
			finished,
		}},
		{"deltas of an unknown state", []string{
			started,
			`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":1}]}`,
			`{"type":"STATE_DELTA","delta":[]}`,
			`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]}`,
			finished,
		}, []string{
			started,
			`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":1}]}`,
			`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]}`,
			finished,
		}},
		{"activity", []string{
			started,
			`{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"PLAN","content":{"n":0}}`,
			`{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"PLAN","patch":[{"op":"replace","path":"/n","value":1}]}`,
			`{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"DONE","patch":[{"op":"add","path":"/x","value":1}],"metadata":{"k":1}}`,
		}, []string{
			started,
			`{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"DONE","content":{"n":1,"x":1},"metadata":{"k":1}}`,
		}},
		{"chunks", []string{
			started,
			`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"a"}`,
			`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"b"}`,
			`{"type":"RAW","event":1}`,
			`{"type":"TEXT_MESSAGE_CHUNK","delta":"c"}`,
			`{"type":"TEXT_MESSAGE_CHUNK","delta":"d"}`,
			finished,
		}, []string{
			started,
			`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"ab"}`,
			`{"type":"RAW","event":1}`,
			`{"type":"TEXT_MESSAGE_CHUNK","delta":"cd"}`,
			finished,
		}},
		{"halves of a character", []string{
			started,
			`{"type":"TEXT_MESSAGE_START","messageId":"m"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\ud83c"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\udf5db"}`,
		}, []string{
			started,
			`{"type":"TEXT_MESSAGE_START","messageId":"m"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a🍝b"}`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := events(t, c.in...)
			before := texts(in)
			got := agui.Compact(in)
			if diff := cmp.Diff(texts(events(t, c.want...)), texts(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(before, texts(in)); diff != "" {
				t.Errorf("the events given were changed:\n%s", diff)
			}
		})
	}
}

// TestCompactLaws checks the three laws of Compact on generated streams, cut at
// every place.
func TestCompactLaws(t *testing.T) {
	n := 150
	if long() {
		n = 5000
	}
	origins := []agui.Reduction{{}, {
		Messages: []agui.Message{
			{ID: "m1", Role: agui.RoleAssistant, ToolCalls: []agui.ToolCall{{ID: "c1", Function: agui.Function{Name: "f"}}}},
			{ID: "a1", Role: agui.RoleActivity, ActivityType: "PLAN", ActivityContent: jsondoc.MustParse(`{"a":1}`)},
			{ID: "x", Role: agui.RoleReasoning, Content: agui.Text("hm")},
		},
		State: jsondoc.MustParse(`{"a":{"b":1},"list":[1,2],"title":"t"}`),
	}}
	before, after := 0, 0
	for seed := range n {
		stream := streamgen.New(uint64(seed), streamgen.Options{Events: 40, Unfinished: seed%2 == 1}).Events()
		whole := make([]string, len(origins))
		for i, from := range origins {
			whole[i] = outcome(from, stream)
		}
		for cut := range len(stream) + 1 {
			short := agui.Compact(stream[:cut])
			if len(short) > cut {
				t.Fatalf("seed %d, cut %d: %d events became %d", seed, cut, cut, len(short))
			}
			if cut == len(stream) {
				before, after = before+cut, after+len(short)
			}
			joined := append(short[:len(short):len(short)], stream[cut:]...)
			if err := legal(joined); err != nil {
				t.Fatalf("seed %d, cut %d: not legal any more: %v\n%q", seed, cut, err, texts(joined))
			}
			for i, from := range origins {
				if diff := cmp.Diff(whole[i], outcome(from, joined)); diff != "" {
					t.Fatalf("seed %d, cut %d, origin %d: (-want +got)\n%s\n%q\n%q", seed, cut, i, diff, texts(stream), texts(joined))
				}
			}
		}
	}
	t.Logf("%d events became %d", before, after)
}

// TestCompactShape checks that what compaction is for gets short: a long text
// in small deltas and a state that changes all the time.
func TestCompactShape(t *testing.T) {
	stream := []agui.Event{
		&agui.RunStarted{ThreadID: "t", RunID: "r"},
		&agui.StateSnapshot{Snapshot: jsondoc.MustParse(`{"n":0}`)},
		&agui.TextMessageStart{MessageID: "m"},
	}
	for i := range 1000 {
		stream = append(stream,
			&agui.TextMessageContent{MessageID: "m", Delta: "word "},
			&agui.StateDelta{Delta: jsondoc.Patch{{Op: "replace", Path: "/n", Value: jsondoc.Int(int64(i))}}})
	}
	stream = append(stream, &agui.TextMessageEnd{MessageID: "m"}, &agui.RunFinished{ThreadID: "t", RunID: "r"})
	if got := agui.Compact(stream); len(got) != 6 {
		t.Errorf("%d events became %d, want 6", len(stream), len(got))
	}
}
