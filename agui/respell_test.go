package agui_test

import (
	"testing"

	"github.com/lockstep-go/lockstep/agui"
)

// TestRespell: what 0.0.58 would reject is left out or said otherwise; the rest
// is the same. interop/agui asks that client itself.
func TestRespell(t *testing.T) {
	same := "="
	for _, c := range []struct{ in, want string }{
		{`{"type":"TEXT_MESSAGE_START","messageId":"m","subagentRunId":"s","metadata":{"k":1}}`, same},
		{`{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}`, same},
		{`{"type":"REASONING_START","messageId":"m"}`, same},
		{`{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}`, ``},
		{`{"type":"SUBAGENT_FINISHED","subagentRunId":"s"}`, ``},
		{`{"type":"SUBAGENT_ERROR","subagentRunId":"s","message":"m"}`, ``},
		{`{"type":"FUTURE","a":1}`, ``},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`, same},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"}}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}`},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["c"],"more":1}}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}`},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"postponed"}}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}`},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"r"}],"more":1}}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"r"}]}}`},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"url","value":"u"}},{"type":"text","text":"b"}]}`,
			`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"a\nb"}`},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":"x"},{"id":"2","role":"planner"},{"id":"3","role":"tool","content":[{"type":"text","text":"a"}],"toolCallId":"c"},{"id":"4","role":"user","content":[{"type":"text","text":"t"},{"type":"image","source":{"type":"file","value":"f"}},{"type":"hologram"},{"type":"image","source":{"type":"url","value":"u"}}]}]}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":"x"},{"id":"3","role":"tool","content":"a","toolCallId":"c"},{"id":"4","role":"user","content":[{"type":"text","text":"t"},{"type":"image","source":{"type":"url","value":"u"}}]}]}`},
		{`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[]}}`,
			`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[],"tools":[],"context":[]}}`},
		{`{"type":"STEP_STARTED","stepName":"plan"}`, same},
		{`{"type":"STEP_STARTED","stepName":"plan","subagentRunId":"s"}`,
			`{"type":"STEP_STARTED","stepName":"s/plan","subagentRunId":"s"}`},
		{`{"type":"STEP_FINISHED","stepName":"plan","subagentRunId":"s"}`,
			`{"type":"STEP_FINISHED","stepName":"s/plan","subagentRunId":"s"}`},
	} {
		e, err := agui.DecodeEvent([]byte(c.in), &agui.DecodeOptions{KeepUnknown: true})
		if err != nil {
			t.Fatal(err)
		}
		want := c.want
		if want == same {
			want = c.in
		}
		if got := string(agui.AppendEvent(nil, e, agui.V0)); got != want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, want)
		}
		if got := string(agui.AppendEvent(nil, e, agui.V1)); got != c.in {
			t.Errorf("spelling an event changed it\n got %s\nwant %s", got, c.in)
		}
		frame := string(agui.AppendFrame([]byte("x"), "id-1", e, agui.V0))
		if want == "" && frame != "x" || want != "" && frame != "xid: id-1\ndata: "+want+"\n\n" {
			t.Errorf("%s: the frame is %q", c.in, frame)
		}
	}
}

func TestVersionFor(t *testing.T) {
	for in, want := range map[string]agui.Version{"": agui.V0, "1.0": agui.V1, "1.7": agui.V1, "2.0": agui.V1} {
		if got := agui.VersionFor(in); got != want {
			t.Errorf("%q is %v", in, got)
		}
	}
	if agui.V1.String() != "1.0" || agui.V0.String() != "0.0" {
		t.Errorf("%v, %v", agui.V1, agui.V0)
	}
}

// TestFrameID: an id cannot smuggle a line into the stream.
func TestFrameID(t *testing.T) {
	got := string(agui.AppendFrame(nil, "a\nb\rc\x00d", &agui.TextMessageEnd{MessageID: "m"}, agui.V1))
	if want := "id: abcd\ndata: {\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m\"}\n\n"; got != want {
		t.Errorf("got %q", got)
	}
}
