package agui_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// messagesOf is the messages of a reducer, as JSON, one a line.
func messagesOf(list []agui.Message) string {
	var lines []string
	for i := range list {
		lines = append(lines, string(list[i].AppendJSON(nil)))
	}
	return strings.Join(lines, "\n")
}

// TestReduceMessages has one case for each rule of how events become messages.
func TestReduceMessages(t *testing.T) {
	for _, c := range []struct{ rule, in, want string }{
		{"a text grows",
			`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"user","name":"Ann","subagentRunId":"s"}
			 {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hel"}
			 {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"lo"}
			 {"type":"TEXT_MESSAGE_END","messageId":"m"}`,
			`{"id":"m","role":"user","content":"Hello","name":"Ann","subagentRunId":"s"}`},
		{"opened again it goes on, with its role",
			`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"user"}
			 {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}
			 {"type":"TEXT_MESSAGE_START","messageId":"m","role":"system","name":"late"}
			 {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}`,
			`{"id":"m","role":"user","content":"ab"}`},
		{"text replaces parts",
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"user","content":[{"type":"text","text":"x"}]}]}
			 {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}`,
			`{"id":"m","role":"user","content":"a"}`},
		{"text does not touch an activity",
			`{"type":"ACTIVITY_SNAPSHOT","messageId":"m","activityType":"P","content":{}}
			 {"type":"TEXT_MESSAGE_START","messageId":"m","metadata":{"k":1}}
			 {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}`,
			`{"id":"m","role":"activity","activityType":"P","content":{}}`},
		{"metadata is merged key by key, not deeper",
			`{"type":"TEXT_MESSAGE_START","messageId":"m","metadata":{"a":{"x":1},"b":1}}
			 {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"","metadata":{"a":{"y":2}}}
			 {"type":"TEXT_MESSAGE_END","messageId":"m","metadata":{"c":null}}`,
			`{"id":"m","role":"assistant","content":"","metadata":{"a":{"y":2},"b":1,"c":null}}`},
		{"reasoning",
			`{"type":"REASONING_START","messageId":"z"}
			 {"type":"REASONING_MESSAGE_START","messageId":"r"}
			 {"type":"REASONING_MESSAGE_CONTENT","messageId":"r","delta":"hm"}
			 {"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"r","encryptedValue":"e"}
			 {"type":"REASONING_MESSAGE_END","messageId":"r"}
			 {"type":"REASONING_END","messageId":"z"}`,
			`{"id":"r","role":"reasoning","content":"hm","encryptedValue":"e"}`},

		{"call without a parent",
			`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","subagentRunId":"s","metadata":{"k":1}}
			 {"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"a\""}
			 {"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":":1}"}
			 {"type":"TOOL_CALL_END","toolCallId":"c","metadata":{"l":2}}`,
			`{"id":"c","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"},"metadata":{"k":1,"l":2}}],"subagentRunId":"s"}`},
		{"call of a known assistant message",
			`{"type":"TEXT_MESSAGE_START","messageId":"m"}
			 {"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}
			 {"type":"TOOL_CALL_START","toolCallId":"d","toolCallName":"g","parentMessageId":"m"}`,
			`{"id":"m","role":"assistant","content":"","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}},{"id":"d","type":"function","function":{"name":"g","arguments":""}}]}`},
		{"call of an unknown message",
			`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}`,
			`{"id":"m","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}`},
		{"call of a message of another role",
			`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"user"}
			 {"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}`,
			`{"id":"m","role":"user","content":""}
			 {"id":"c","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}`},
		{"call again is renamed",
			`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}
			 {"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}"}
			 {"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"g","parentMessageId":"other"}`,
			`{"id":"c","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"g","arguments":"{}"}}]}`},
		{"encrypted value of a call",
			`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}
			 {"type":"REASONING_ENCRYPTED_VALUE","subtype":"tool-call","entityId":"c","encryptedValue":"e"}
			 {"type":"REASONING_ENCRYPTED_VALUE","subtype":"tool-call","entityId":"none","encryptedValue":"e"}`,
			`{"id":"c","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""},"encryptedValue":"e"}]}`},
		{"results stand behind their call, in the order they came",
			`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}
			 {"type":"TOOL_CALL_START","toolCallId":"d","toolCallName":"f","parentMessageId":"m"}
			 {"type":"TEXT_MESSAGE_START","messageId":"later"}
			 {"type":"TOOL_CALL_RESULT","messageId":"t1","toolCallId":"d","content":"1","metadata":{"k":1}}
			 {"type":"TOOL_CALL_RESULT","messageId":"t2","toolCallId":"c","content":[{"type":"text","text":"2"}]}
			 {"type":"TOOL_CALL_RESULT","messageId":"t3","toolCallId":"unknown","content":"3"}`,
			`{"id":"m","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}},{"id":"d","type":"function","function":{"name":"f","arguments":""}}]}
			 {"id":"t1","role":"tool","content":"1","toolCallId":"d","metadata":{"k":1}}
			 {"id":"t2","role":"tool","content":[{"type":"text","text":"2"}],"toolCallId":"c"}
			 {"id":"later","role":"assistant","content":""}
			 {"id":"t3","role":"tool","content":"3","toolCallId":"unknown"}`},

		{"a snapshot replaces in place, removes, appends",
			`{"type":"TEXT_MESSAGE_START","messageId":"a"}
			 {"type":"TEXT_MESSAGE_START","messageId":"b"}
			 {"type":"TEXT_MESSAGE_START","messageId":"c"}
			 {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"d","role":"user","content":"new"},{"id":"c","role":"user","content":"C"},{"id":"a","role":"user","content":"A"}]}`,
			`{"id":"a","role":"user","content":"A"}
			 {"id":"c","role":"user","content":"C"}
			 {"id":"d","role":"user","content":"new"}`},
		{"an empty snapshot keeps reasoning and activities",
			`{"type":"TEXT_MESSAGE_START","messageId":"a"}
			 {"type":"REASONING_MESSAGE_START","messageId":"r"}
			 {"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"P","content":{}}
			 {"type":"MESSAGES_SNAPSHOT","messages":[]}`,
			`{"id":"r","role":"reasoning","content":""}
			 {"id":"p","role":"activity","activityType":"P","content":{}}`},
		{"one with reasoning and activities does not",
			`{"type":"REASONING_MESSAGE_START","messageId":"r"}
			 {"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"P","content":{}}
			 {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"q","role":"reasoning","content":""},{"id":"o","role":"activity","activityType":"P","content":{}}]}`,
			`{"id":"q","role":"reasoning","content":""}
			 {"id":"o","role":"activity","activityType":"P","content":{}}`},
		{"one may say which activities it speaks for",
			`{"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"P","content":{}}
			 {"type":"ACTIVITY_SNAPSHOT","messageId":"q","activityType":"Q","content":{}}
			 {"type":"MESSAGES_SNAPSHOT","messages":[],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":["P"]}}}`,
			`{"id":"q","role":"activity","activityType":"Q","content":{}}`},
		{"text after a snapshot goes on from it",
			`{"type":"TEXT_MESSAGE_START","messageId":"a"}
			 {"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"old"}
			 {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","content":"new"}]}
			 {"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"er"}`,
			`{"id":"a","role":"assistant","content":"newer"}`},
		{"text of a removed message is lost",
			`{"type":"TEXT_MESSAGE_START","messageId":"a"}
			 {"type":"MESSAGES_SNAPSHOT","messages":[]}
			 {"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"x"}`,
			``},

		{"activity replaced, metadata merged, owner taken over",
			`{"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"P","content":{"a":1},"subagentRunId":"s","metadata":{"k":1}}
			 {"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"Q","content":{"b":1},"metadata":{"l":1}}`,
			`{"id":"p","role":"activity","activityType":"Q","content":{"b":1},"metadata":{"k":1,"l":1}}`},
		{"activity not replaced",
			`{"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"P","content":{"a":1}}
			 {"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"Q","content":{"b":1},"replace":false,"metadata":{"l":1}}`,
			`{"id":"p","role":"activity","activityType":"P","content":{"a":1},"metadata":{"l":1}}`},
		{"activity over a message",
			`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"p"}
			 {"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"Q","content":{},"replace":false}
			 {"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"P","content":{}}
			 {"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"lost"}
			 {"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`,
			`{"id":"p","role":"activity","activityType":"P","content":{}}
			 {"id":"c","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}`},
		{"activity patched",
			`{"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"P","content":{"a":1}}
			 {"type":"ACTIVITY_DELTA","messageId":"p","activityType":"Q","patch":[{"op":"replace","path":"/a","value":null}]}
			 {"type":"ACTIVITY_DELTA","messageId":"unknown","activityType":"Q","patch":[]}`,
			`{"id":"p","role":"activity","activityType":"Q","content":{"a":null}}`},

		{"an echoed input adds what is new",
			`{"type":"TEXT_MESSAGE_START","messageId":"a"}
			 {"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","state":{"x":1},"messages":[{"id":"a","role":"user","content":"other"},{"id":"b","role":"user","content":"new"}]}}`,
			`{"id":"a","role":"assistant","content":""}
			 {"id":"b","role":"user","content":"new"}`},
		{"chunks",
			`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"a"}
			 {"type":"TEXT_MESSAGE_CHUNK","delta":"b"}
			 {"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","parentMessageId":"m","delta":"{}"}
			 {"type":"REASONING_MESSAGE_CHUNK","messageId":"r","delta":"hm"}`,
			`{"id":"m","role":"assistant","content":"ab","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}
			 {"id":"r","role":"reasoning","content":"hm"}`},
		{"halves of a character meet",
			`{"type":"TEXT_MESSAGE_START","messageId":"m"}
			 {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\ud83c"}
			 {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\udf5d"}
			 {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\udf5d"}`,
			`{"id":"m","role":"assistant","content":"a🍝\udf5d"}`},
		{"everything else says nothing about messages",
			`{"type":"STEP_STARTED","stepName":"s","metadata":{"k":1}}
			 {"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}
			 {"type":"RAW","event":1}
			 {"type":"CUSTOM","name":"n","value":1}
			 {"type":"FUTURE","a":1}
			 {"type":"RUN_ERROR","message":"m"}`,
			``},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var r agui.Reducer
			for _, e := range events(t, strings.Split(c.in, "\n")...) {
				if err := r.Apply(e); err != nil {
					t.Error(err)
				}
			}
			want := strings.ReplaceAll(c.want, "\t\t\t ", "")
			if diff := cmp.Diff(want, messagesOf(r.Messages())); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestReduceState: a bad delta leaves the state as it was, is reported, and the
// stream goes on.
func TestReduceState(t *testing.T) {
	var r agui.Reducer
	if got := r.State().String(); got != "{}" {
		t.Errorf("the first state is %s", got)
	}
	for _, c := range []struct {
		event, state string
		fails        bool
	}{
		{`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":1}]}`, `{"a":1}`, false},
		{`{"type":"STATE_SNAPSHOT","snapshot":{"a":9007199254740993,"z":1.50}}`, `{"a":9007199254740993,"z":1.50}`, false},
		{`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/zzz","value":2}]}`, `{"a":9007199254740993,"z":1.50}`, true},
		{`{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/z"},{"op":"test","path":"/a","value":1}]}`, `{"a":9007199254740993,"z":1.50}`, true},
		{`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/__proto__","value":1}]}`, `{"a":9007199254740993,"z":1.50}`, true},
		{`{"type":"STATE_DELTA","delta":[{"op":"unknown","path":"/a"},{"op":"replace","path":"/a","value":null}]}`, `{"a":null,"z":1.50}`, false},
		{`{"type":"STATE_DELTA","delta":[]}`, `{"a":null,"z":1.50}`, false},
		{`{"type":"STATE_SNAPSHOT","snapshot":null}`, `null`, false},
		{`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":1}]}`, `null`, true},
		{`{"type":"STATE_DELTA","delta":[{"op":"add","path":"","value":{"":0}}]}`, `{"":0}`, false},
		{`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/","value":1}]}`, `{"":1}`, false},
		{`{"type":"RUN_ERROR","message":"m"}`, `{"":1}`, false},
	} {
		err := r.Apply(events(t, c.event)[0])
		var failed *agui.DeltaError
		if errors.As(err, &failed) != c.fails {
			t.Errorf("%s: %v", c.event, err)
		}
		if c.fails {
			var patch *jsondoc.PatchError
			if !errors.As(err, &patch) || failed.Event != agui.TypeStateDelta {
				t.Errorf("%s: %v", c.event, err)
			}
		}
		if got := r.State().String(); got != c.state {
			t.Errorf("%s: state is %s, want %s", c.event, got, c.state)
		}
	}
	kept, _ := agui.DecodeEvent([]byte(`{"type":"STATE_DELTA","delta":[{"op":"unknown","path":"/a"},{"op":"replace","path":"/","value":2}]}`), &agui.DecodeOptions{KeepUnknown: true})
	if err := r.Apply(kept); err != nil || r.State().String() != `{"":2}` {
		t.Errorf("a kept unknown operation: %v, %s", err, r.State())
	}
}

func TestReduceOutcome(t *testing.T) {
	start := []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"d","toolCallName":"f"}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"d","content":""}`,
	}
	var r agui.Reducer
	for _, c := range []struct{ end, pending, interrupts, result string }{
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":7}`, "c", "", "7"},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["x","y"]}}`, "x y", "", ""},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":[]}}`, "c", "", ""},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"r"}]}}`, "", "i", ""},
		{`{"type":"RUN_ERROR","message":"m"}`, "", "i", ""},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"},"result":1}`, "", "", ""},
	} {
		for _, e := range events(t, append(start, c.end)...) {
			_ = r.Apply(e)
		}
		got := r.Reduction()
		ids := []string{}
		for _, i := range got.Interrupts {
			ids = append(ids, i.ID)
		}
		result := ""
		if !got.Result.IsAbsent() {
			result = got.Result.String()
		}
		if strings.Join(got.PendingToolCallIDs, " ") != c.pending || strings.Join(ids, " ") != c.interrupts || result != c.result {
			t.Errorf("%s: pending %q, interrupts %q, result %q", c.end, got.PendingToolCallIDs, ids, result)
		}
	}
}

// TestReducerHandsOutCopies: what was read from a reducer is not changed by
// later events, and what it was given is not changed at all.
func TestReducerHandsOutCopies(t *testing.T) {
	history := []agui.Message{{ID: "m", Role: agui.RoleAssistant, Content: agui.Text("a"), ToolCalls: []agui.ToolCall{{ID: "c", Function: agui.Function{Name: "f"}}}}}
	before := messagesOf(history)
	r := agui.NewReducer(history, jsondoc.Null)
	apply := func(text string) {
		t.Helper()
		if err := r.Apply(events(t, text)[0]); err != nil {
			t.Fatal(err)
		}
	}
	apply(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}`)
	apply(`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{"}`)
	first := r.Reduction()
	snapshot := messagesOf(first.Messages)
	apply(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"c"}`)
	apply(`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"}"}`)
	apply(`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"g"}`)
	apply(`{"type":"TEXT_MESSAGE_END","messageId":"m","metadata":{"k":1}}`)
	if got := messagesOf(history); got != before {
		t.Errorf("the history was changed to %s", got)
	}
	if got := messagesOf(first.Messages); got != snapshot {
		t.Errorf("an earlier reading was changed\nfrom %s\n  to %s", snapshot, got)
	}
	if want := `{"id":"m","role":"assistant","content":"abc","toolCalls":[{"id":"c","type":"function","function":{"name":"g","arguments":"{}"}}],"metadata":{"k":1}}`; messagesOf(r.Messages()) != want {
		t.Errorf("got %s", messagesOf(r.Messages()))
	}
	if r.State().String() != "{}" {
		t.Errorf("a null first state is %s", r.State())
	}
}

// TestReducerIsLinear: a long text in small deltas costs its length, not the
// length times the number of deltas.
func TestReducerIsLinear(t *testing.T) {
	var r agui.Reducer
	_ = r.Apply(&agui.TextMessageStart{MessageID: "m"})
	e := &agui.TextMessageContent{MessageID: "m", Delta: "0123456789"}
	per := testing.AllocsPerRun(20000, func() { _ = r.Apply(e) })
	if per > 0.5 {
		t.Errorf("%v allocations for a delta", per)
	}
	if n := len(r.Messages()[0].Content.Text()); n != 10*20001 {
		t.Errorf("%d bytes", n)
	}
}

// TestReducerMessage: a message is found by its id while it grows, and what was
// handed out does not change.
func TestReducerMessage(t *testing.T) {
	var r agui.Reducer
	if _, ok := r.Message("m"); ok {
		t.Error("a message that nobody sent")
	}
	apply := func(e agui.Event) {
		if err := r.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	apply(&agui.ToolCallStart{ToolCallID: "c", ToolCallName: "f", ParentMessageID: "m"})
	before, ok := r.Message("m")
	apply(&agui.ToolCallArgs{ToolCallID: "c", Delta: "{}"})
	after, _ := r.Message("m")
	if !ok || before.Role != agui.RoleAssistant || before.ToolCalls[0].Function.Arguments != "" || after.ToolCalls[0].Function.Arguments != "{}" {
		t.Errorf("before %+v, after %+v", before, after)
	}
}
