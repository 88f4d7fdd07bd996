package agui_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/streamgen"
)

// script makes events of short lines, such as "text+ m s1": what is done, to
// which id, by whom. It keeps the tables of order rules readable.
func script(t testing.TB, lines string) []agui.Event {
	t.Helper()
	var out []agui.Event
	for line := range strings.SplitSeq(lines, ";") {
		f := strings.Fields(line)
		for len(f) < 4 {
			f = append(f, "")
		}
		if f[2] == "-" {
			f[2] = ""
		}
		b := agui.Base{SubagentRunID: f[2]}
		id := f[1]
		var e agui.Event
		switch f[0] {
		case "run":
			e = &agui.RunStarted{ThreadID: "t", RunID: id}
		case "done":
			e = &agui.RunFinished{ThreadID: "t"}
		case "fail":
			e = &agui.RunError{Message: "m"}
		case "text+":
			e = &agui.TextMessageStart{Base: b, MessageID: id}
		case "text":
			e = &agui.TextMessageContent{Base: b, MessageID: id, Delta: "x"}
		case "text-":
			e = &agui.TextMessageEnd{Base: b, MessageID: id}
		case "call+":
			e = &agui.ToolCallStart{Base: b, ToolCallID: id, ToolCallName: "f", ParentMessageID: f[3]}
		case "call":
			e = &agui.ToolCallArgs{Base: b, ToolCallID: id}
		case "call-":
			e = &agui.ToolCallEnd{Base: b, ToolCallID: id}
		case "result":
			e = &agui.ToolCallResult{Base: b, MessageID: id, ToolCallID: f[3]}
		case "step+":
			e = &agui.StepStarted{Base: b, StepName: id}
		case "step-":
			e = &agui.StepFinished{Base: b, StepName: id}
		case "span+":
			e = &agui.ReasoningStart{Base: b, MessageID: id}
		case "span-":
			e = &agui.ReasoningEnd{Base: b, MessageID: id}
		case "think+":
			e = &agui.ReasoningMessageStart{Base: b, MessageID: id}
		case "think":
			e = &agui.ReasoningMessageContent{Base: b, MessageID: id}
		case "think-":
			e = &agui.ReasoningMessageEnd{Base: b, MessageID: id}
		case "sub+":
			b.SubagentRunID = id
			e = &agui.SubagentStarted{Base: b, Name: "n", ParentSubagentRunID: f[2]}
		case "sub-":
			b.SubagentRunID = id
			e = &agui.SubagentFinished{Base: b}
		case "sub!":
			b.SubagentRunID = id
			e = &agui.SubagentError{Base: b}
		case "act":
			e = &agui.ActivitySnapshot{Base: b, MessageID: id}
		case "act?":
			e = &agui.ActivitySnapshot{Base: b, MessageID: id, Replace: new(false)}
		case "actd":
			e = &agui.ActivityDelta{Base: b, MessageID: id}
		case "enc-call":
			e = &agui.ReasoningEncryptedValue{Base: b, EntityID: id, Subtype: agui.SubtypeToolCall}
		case "enc":
			e = &agui.ReasoningEncryptedValue{Base: b, EntityID: id, Subtype: agui.SubtypeMessage}
		case "msgs":
			e = &agui.MessagesSnapshot{Messages: []agui.Message{{ID: id, Role: agui.RoleAssistant, SubagentRunID: f[2], ToolCalls: []agui.ToolCall{{ID: "hc"}}}}}
		case "state":
			e = &agui.StateDelta{Base: b}
		case "raw":
			e = &agui.Raw{Base: b}
		case "custom":
			e = &agui.Custom{Base: b}
		case "future":
			e = &agui.Unknown{Type: "FUTURE"}
		case "chunk":
			e = &agui.TextMessageChunk{Base: b, MessageID: strings.TrimSuffix(id, "-"), Delta: new("x"), Name: f[3]}
		case "chunkc":
			e = &agui.ToolCallChunk{Base: b, ToolCallID: strings.TrimSuffix(id, "-"), ToolCallName: f[3], Delta: new("x")}
		case "chunkr":
			e = &agui.ReasoningMessageChunk{Base: b, MessageID: strings.TrimSuffix(id, "-"), Delta: new("x")}
		default:
			t.Fatalf("what is %q?", line)
		}
		out = append(out, e)
	}
	return out
}

// TestSequence has one line for each order rule. bad is empty for a legal
// stream; else it is what the refusal of the last event says.
func TestSequence(t *testing.T) {
	for _, c := range []struct{ rule, stream, bad string }{
		{"the first event is RUN_STARTED", "text+ m", "the first event"},
		{"or RUN_ERROR alone", "fail", ""},
		{"after which a run may start", "fail;run r", ""},
		{"unknown events are passed over", "future;run r;future;done;future", ""},
		{"one run at a time", "run r;run q", "still open"},
		{"several in a row", "run r;done;run q;done;run s;fail;run u;done", ""},
		{"nothing after RUN_FINISHED", "run r;done;text+ m", "has finished"},
		{"nor another RUN_FINISHED", "run r;done;done", "has finished"},
		{"but RUN_ERROR", "run r;done;fail", ""},
		{"nothing after RUN_ERROR", "run r;fail;custom c", "has failed"},
		{"nor another RUN_ERROR", "run r;fail;fail", "has failed"},
		{"nor a chunk", "run r;done;chunk m", "has finished"},
		{"ids differ without harm", "run r;done", ""},

		{"text", "run r;text+ m;text m;text m;text- m;done", ""},
		{"text opened twice", "run r;text+ m;text+ m", `text message "m" is open already`},
		{"text continued before", "run r;text m", `text message "m" is not open`},
		{"text continued after", "run r;text+ m;text- m;text m", "is not open"},
		{"text closed twice", "run r;text+ m;text- m;text- m", "is not open"},
		{"text opened again", "run r;text+ m;text- m;text+ m;text- m;done", ""},
		{"texts interleaved", "run r;text+ m;text+ n;text m;text n;text- m;text- n;done", ""},
		{"an empty id is an id", "run r;text  ", "is not open"},
		{"a new run forgets", "run r;text+ m;fail;run q;text m", "is not open"},

		{"call", "run r;call+ c;call c;call- c;result t - c;done", ""},
		{"call opened twice", "run r;call+ c;call+ c", `tool call "c" is open already`},
		{"call continued before", "run r;call c", "is not open"},
		{"call closed before", "run r;call- c", "is not open"},
		{"result without a call", "run r;result t;done", ""},
		{"text and call of one id", "run r;text+ x;call+ x;text x;call x;text- x;call- x;done", ""},

		{"reasoning", "run r;span+ z;think+ z;think z;think- z;span- z;done", ""},
		{"reasoning message without a span", "run r;think+ z;think- z;done", ""},
		{"span opened twice", "run r;span+ z;span+ z", "is open already"},
		{"span closed before", "run r;span- z", "is not open"},
		{"reasoning opened twice", "run r;think+ z;think+ z", "is open already"},
		{"reasoning continued before", "run r;span+ z;think z", "is not open"},

		{"step", "run r;step+ a;step+ b;step- a;step- b;done", ""},
		{"step opened twice", "run r;step+ a;step+ a", "is open already"},
		{"step closed before", "run r;step- a", "is not open"},
		{"steps of one name, two owners", "run r;step+ a;step+ a s;step- a s;step- a;done", ""},
		{"step closed by another", "run r;step+ a s;step- a", `open under subagent "s"`},
		{"step opened again", "run r;step+ a;step- a;step+ a;step- a;done", ""},

		{"subagent", "run r;sub+ s;sub- s;sub+ u s;sub! u;done", ""},
		{"subagent twice", "run r;sub+ s;sub+ s", "is running already"},
		{"subagent again", "run r;sub+ s;sub- s;sub+ s", "has ended"},
		{"subagent again in another run", "run r;sub+ s;sub- s;done;run q;sub+ s;sub- s;done", ""},
		{"subagent ended before", "run r;sub- s", "is not running"},
		{"subagent failed before", "run r;sub! s", "is not running"},
		{"parent unknown", "run r;sub+ s p", "was not started"},
		{"attribution without a subagent", "run r;text+ m s;text- m s;done", ""},

		{"content of another", "run r;text+ m s;text m u", `belongs to subagent "s"`},
		{"tagged content of the parent's", "run r;text+ m;text m s", "belongs to the parent agent"},
		{"untagged content of anybody's", "run r;text+ m s;text m;text- m;done", ""},
		{"reopened by another", "run r;text+ m s;text- m;text+ m u", `belongs to subagent "s"`},
		{"reopened by nobody keeps the owner", "run r;text+ m s;text- m;text+ m;text m s;text- m;done", ""},
		{"call of another", "run r;call+ c s;call c u", `belongs to subagent "s"`},
		{"call in another's message", "run r;text+ m s;text- m;call+ c u m", `belongs to subagent "s"`},
		{"untagged call inherits", "run r;text+ m s;text- m;call+ c - m", ""},
		{"result makes an owner", "run r;result m s;text+ m u", `belongs to subagent "s"`},
		{"activity of another", "run r;act a s;actd a u", `belongs to subagent "s"`},
		{"activity delta before", "run r;actd a s;done", ""},
		{"activity taken over", "run r;act a s;act a u;actd a u;done", ""},
		{"activity not taken over", "run r;act a s;act? a u;actd a u", `belongs to subagent "s"`},
		{"encrypted value of another's call", "run r;call+ c s;call- c;enc-call c u", `belongs to subagent "s"`},
		{"encrypted value of another's message", "run r;think+ z s;think- z;enc z u", `belongs to subagent "s"`},
		{"encrypted value of anything", "run r;enc z s;done", ""},
		{"history has owners", "run r;msgs m s;text+ m u", `belongs to subagent "s"`},
		{"and its calls", "run r;msgs m s;call+ hc u", `belongs to subagent "s"`},
		{"a snapshot replaces owners", "run r;text+ m s;text- m;msgs m u;text+ m u;text- m;done", ""},

		{"finished with a step open", "run r;step+ a;done", "1 steps are still open"},
		{"finished with a text open", "run r;text+ m;done", "1 text messages are still open"},
		{"finished with reasoning open", "run r;think+ m;done", "1 reasoning messages are still open"},
		{"finished with a span open", "run r;span+ m;done", "1 reasoning spans are still open"},
		{"finished with a call open", "run r;call+ m;done", "1 tool calls are still open"},
		{"finished with a subagent open", "run r;sub+ m;done", "1 subagents are still open"},
		{"failed with all of it open", "run r;step+ a;text+ m;think+ m;span+ m;call+ m;sub+ m;fail", ""},
		{"state anywhere", "run r;text+ m;state x;text m;call+ c;state x;call- c;text- m;done", ""},

		{"chunks", "run r;chunk m;chunk -;chunk m;done", ""},
		{"first chunk without an id", "run r;chunk -", "must name its messageId"},
		{"first tool chunk without an id", "run r;chunkc - - f", "must name its toolCallId"},
		{"first tool chunk without a name", "run r;chunkc c", "must name the tool"},
		{"first reasoning chunk without an id", "run r;chunkr -", "must name its messageId"},
		{"state ends a chunk stream", "run r;chunk m;state x;chunk -", "must name its messageId"},
		{"a custom event too", "run r;chunk m;custom x;chunk -", "must name its messageId"},
		{"a raw event does not", "run r;chunk m;raw x;chunk -;done", ""},
		{"named again it goes on", "run r;chunk m;state x;chunk m;done", ""},
		{"another kind ends it", "run r;chunk m;chunkc c - f;chunkr z;done", ""},
		{"chunk contradicts its opener", "run r;chunk m - Ann;chunk m - Bob", `name "Bob" contradicts "Ann"`},
		{"chunks of two lanes", "run r;chunk m s;chunk n u;chunk - s;chunk - u;done", ""},
		{"chunk of either lane", "run r;chunk m s;chunk n u;chunk -", "could continue 2"},
		{"chunk of the only lane", "run r;chunk m s;chunk -;done", ""},
		{"chunk of another", "run r;chunk m s;chunk m u", `was opened by subagent "s"`},
		{"chunk over an open text", "run r;text+ m;chunk m", "is open already"},
		{"explicit content of a chunk stream", "run r;chunk m;text m", "is not open"},
		{"explicit start after a chunk stream", "run r;chunk m;text+ m;text- m;done", ""},
		{"a subagent's end ends its lane", "run r;sub+ s;chunk m s;sub- s;chunk - s", "must name its messageId"},
		{"closed from another lane, then finished", "run r;chunk m s;text- m;done", "is not open"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var s agui.Sequence
			events := script(t, c.stream)
			for i, e := range events {
				err := s.Check(e)
				if err == nil {
					continue
				}
				var refused *agui.SequenceError
				switch {
				case !errors.As(err, &refused) || refused.Reason == "":
					t.Fatalf("%v is no refusal", err)
				case i < len(events)-1 || c.bad == "":
					t.Fatalf("event %d: %v", i, err)
				case !strings.Contains(err.Error(), c.bad):
					t.Fatalf("%v, want %q", err, c.bad)
				}
				return
			}
			if c.bad != "" {
				t.Error("the last event was accepted")
			}
		})
	}
}

// TestSequenceRefusalLeavesNoTrace: after a refused event everything is as if
// it had not come. The stream goes on as its legal events alone would.
func TestSequenceRefusalLeavesNoTrace(t *testing.T) {
	n := 300
	if long() {
		n = 5000
	}
	refused := 0
	for seed := range n {
		events := streamgen.New(uint64(seed), streamgen.Options{Events: 60, Wild: 30, Unfinished: true}).Events()
		var all, only agui.Sequence
		for i, e := range events {
			if err := all.Check(e); err != nil {
				refused++
				if diff := cmp.Diff(all.Open(), only.Open(), cmp.AllowUnexported(agui.OpenItem{})); diff != "" {
					t.Fatalf("seed %d: refused event %d left a trace: %s", seed, i, diff)
				}
				continue
			}
			if err := only.Check(e); err != nil {
				t.Fatalf("seed %d: event %d, accepted beside refused ones, is refused alone: %v", seed, i, err)
			}
		}
	}
	if refused < n {
		t.Errorf("only %d events were refused", refused)
	}
}

// TestSequenceClose carries the second half of promise W1: at any moment, what
// Close returns makes RUN_FINISHED legal.
func TestSequenceClose(t *testing.T) {
	n := 200
	if long() {
		n = 3000
	}
	closed, doomed := 0, 0
	for seed := range n {
		events := streamgen.New(uint64(seed), streamgen.Options{Events: 40, Unfinished: true}).Events()
		for cut := range events {
			s := replay(t, events[:cut+1])
			if !s.Running() {
				if ends := s.Close(); ends != nil {
					t.Fatalf("seed %d, cut %d: nothing is running, but %q", seed, cut, texts(ends))
				}
				continue
			}
			if replay(t, events[:cut+1]).Check(&agui.RunError{}) != nil {
				doomed++ // see TestSequenceDoomed
				continue
			}
			for _, e := range append(s.Close(), &agui.RunFinished{}) {
				if err := s.Check(e); err != nil {
					t.Fatalf("seed %d, cut %d: %v\n%q", seed, cut, err, texts(events[:cut+1]))
				}
			}
			if len(s.Open()) != 0 || s.Running() {
				t.Fatalf("seed %d, cut %d: still open: %v", seed, cut, s.Open())
			}
			closed++
		}
	}
	if closed < 10*doomed {
		t.Errorf("%d streams were closed, %d could not be", closed, doomed)
	}
}

func replay(t *testing.T, events []agui.Event) *agui.Sequence {
	t.Helper()
	s := new(agui.Sequence)
	for _, e := range events {
		if err := s.Check(e); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestSequenceDoomed pins the streams that have no legal end: the official
// client accepts them so far and then refuses every terminal event, because the
// end of a chunk stream, which it makes itself, contradicts what has happened
// to its message meanwhile.
func TestSequenceDoomed(t *testing.T) {
	for _, stream := range []string{
		"run r;chunk m s;result m", // the message is the parent's now
		"run r;chunk m s;text- m",  // it is closed, but its lane is not
		"run r;chunk m s;act a;msgs m2;chunk m s;text- m",
	} {
		for _, end := range []agui.Event{&agui.RunFinished{}, &agui.RunError{}} {
			if err := replay(t, script(t, stream)).Check(end); err == nil {
				t.Errorf("%s: %s was accepted", stream, end.EventType())
			}
		}
	}
}

func TestSequenceCloseOrder(t *testing.T) {
	var s agui.Sequence
	for _, e := range script(t, "run r;step+ a;sub+ s;step+ b s;text+ m s;span+ z;think+ z;call+ c;text+ n;text- n;chunk k s") {
		if err := s.Check(e); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		`{"type":"TOOL_CALL_END","toolCallId":"c"}`,
		`{"type":"REASONING_MESSAGE_END","messageId":"z"}`,
		`{"type":"REASONING_END","messageId":"z"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"m","subagentRunId":"s"}`,
		`{"type":"STEP_FINISHED","stepName":"b","subagentRunId":"s"}`,
		fmt.Sprintf(`{"type":"SUBAGENT_ERROR","subagentRunId":"s","message":%q}`, agui.UnfinishedSubagent),
		`{"type":"STEP_FINISHED","stepName":"a"}`,
	}
	if diff := cmp.Diff(want, texts(s.Close())); diff != "" {
		t.Error(diff)
	}
	if thread, run := s.Run(); thread != "t" || run != "r" {
		t.Errorf("the run is %q, %q", thread, run)
	}
	open := s.Open()
	if last := open[len(open)-1]; last.ID != "k" || !last.Chunked || last.SubagentRunID != "s" {
		t.Errorf("the chunk stream is %+v", last)
	}
}

func TestExpander(t *testing.T) {
	var x agui.Expander
	var got []string
	for _, e := range events(t,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"a","name":"Ann","metadata":{"k":1},"rawEvent":1}`,
		`{"type":"TEXT_MESSAGE_CHUNK","delta":"b"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","metadata":{"k":2}}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant"}`,
		`{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","parentMessageId":"m","subagentRunId":"s"}`,
		`{"type":"TOOL_CALL_CHUNK","delta":"{}"}`,
		`{"type":"REASONING_MESSAGE_CHUNK","messageId":"r","delta":""}`,
		`{"type":"RAW","event":1}`,
		`{"type":"STATE_DELTA","delta":[],"subagentRunId":"s"}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`,
	) {
		out, err := x.Expand(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join(texts(out), "\n"))
	}
	want := []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant","name":"Ann","metadata":{"k":1}}` + "\n" +
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","rawEvent":1,"metadata":{"k":1}}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"","metadata":{"k":2}}`,
		``,
		`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m","subagentRunId":"s"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}","subagentRunId":"s"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"m"}` + "\n" +
			`{"type":"REASONING_MESSAGE_START","messageId":"r","role":"reasoning"}` + "\n" +
			`{"type":"REASONING_MESSAGE_CONTENT","messageId":"r","delta":""}`,
		`{"type":"RAW","event":1}`,
		`{"type":"TOOL_CALL_END","toolCallId":"c","subagentRunId":"s"}` + "\n" + `{"type":"STATE_DELTA","delta":[],"subagentRunId":"s"}`,
		`{"type":"REASONING_MESSAGE_END","messageId":"r"}` + "\n" + `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if out, err := x.Expand([]agui.Event{}, &agui.ToolCallChunk{}); err == nil || len(out) != 0 {
		t.Errorf("a chunk of nothing: %v, %v", out, err)
	}
}
