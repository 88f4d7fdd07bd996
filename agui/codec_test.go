package agui_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lockstep-go/lockstep/agui"
)

// golden is one full and one bare spelling of every event type, members in the
// order they are written.
var golden = []string{
	`{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0","parentRunId":"p","input":{"threadId":"t","runId":"r","protocolVersion":"1.0","parentRunId":"p","state":{"a":null},"messages":[],"tools":[{"name":"f","description":"d","parameters":{"type":"object"},"metadata":{"k":null}}],"context":[{"description":"d","value":"v"}],"forwardedProps":{"x":[null]},"resume":[{"interruptId":"i","status":"resolved","payload":{"ok":true},"metadata":{"k":1}},{"interruptId":"j","status":"cancelled"}]},"timestamp":1764500000000,"rawEvent":{"a":1},"metadata":{"k":null}}`,
	`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
	`{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":{"a":1},"outcome":{"type":"success","pendingToolCallIds":["c"]},"usage":[{"provider":"p","model":"m","inputTokens":1,"outputTokens":0,"totalTokens":1,"reasoningTokens":2,"cachedInputTokens":3,"cacheWriteInputTokens":4},{}]}`,
	`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"tool_call","message":"m","toolCallId":"c","responseSchema":{"type":"object"},"expiresAt":"2030-01-01T00:00:00Z","metadata":{"k":null},"subagentRunId":"s"}]}}`,
	`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"},"usage":[]}`,
	`{"type":"RUN_FINISHED","threadId":"","runId":""}`,
	`{"type":"RUN_ERROR","message":"m","code":"c","usage":[{"totalTokens":9007199254740991}],"timestamp":-1}`,
	`{"type":"RUN_ERROR","message":""}`,
	`{"type":"STEP_STARTED","stepName":"s","subagentRunId":"a","metadata":{}}`,
	`{"type":"STEP_FINISHED","stepName":""}`,
	`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"user","name":"Ann","subagentRunId":"s","timestamp":1,"rawEvent":[null],"metadata":{"k":{"n":null}}}`,
	`{"type":"TEXT_MESSAGE_START","messageId":"m"}`,
	`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"","subagentRunId":"s","metadata":{"k":1}}`,
	`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\"\\\n\r\t\b\f\u0001é🍝` + "\u2028" + `"}`,
	`{"type":"TEXT_MESSAGE_END","messageId":"m"}`,
	`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"system","delta":"","name":"n"}`,
	`{"type":"TEXT_MESSAGE_CHUNK"}`,
	`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}`,
	`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`,
	`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"a\":"}`,
	`{"type":"TOOL_CALL_END","toolCallId":"c"}`,
	`{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","parentMessageId":"m","delta":"x"}`,
	`{"type":"TOOL_CALL_CHUNK"}`,
	`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"done","role":"tool"}`,
	`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"text","id":"p","text":"t","metadata":{"k":null}},{"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}},{"type":"audio","source":{"type":"url","value":"u"}},{"type":"video","source":{"type":"url","value":"u","mimeType":"video/mp4"},"metadata":0},{"type":"document","source":{"type":"file","value":"f","provider":"p","mimeType":"text/plain"}}]}`,
	`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[]}`,
	`{"type":"STATE_SNAPSHOT","snapshot":{"z":1,"a":[1.50,1e400,9007199254740993,-0],"":{"~/":null}},"subagentRunId":"s"}`,
	`{"type":"STATE_SNAPSHOT","snapshot":null}`,
	`{"type":"STATE_SNAPSHOT","snapshot":0}`,
	`{"type":"STATE_DELTA","delta":[{"op":"add","path":"","value":null},{"op":"replace","path":"/","value":{}},{"op":"test","path":"/a~1b","value":1},{"op":"remove","path":"/a"},{"op":"move","from":"","path":"/b"},{"op":"copy","from":"/a","path":""}]}`,
	`{"type":"STATE_DELTA","delta":[]}`,
	`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"developer","content":"c","name":"n","encryptedValue":"e","metadata":{"k":null},"subagentRunId":"s"},{"id":"2","role":"system","content":""},{"id":"3","role":"user","content":[{"type":"text","text":""}],"name":"n"},{"id":"4","role":"assistant"},{"id":"5","role":"assistant","content":"","toolCalls":[]},{"id":"6","role":"assistant","content":"x","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\""},"encryptedValue":"e","metadata":{"k":1}}]},{"id":"7","role":"tool","content":"r","toolCallId":"c","error":"bad","encryptedValue":"e"},{"id":"8","role":"tool","content":[],"toolCallId":"c"},{"id":"9","role":"activity","activityType":"PLAN","content":{"a":null}},{"id":"10","role":"reasoning","content":"hm","encryptedValue":"e"}]}`,
	`{"type":"MESSAGES_SNAPSHOT","messages":[]}`,
	`{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"PLAN","content":{"a":null},"replace":false}`,
	`{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"PLAN","content":{}}`,
	`{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"PLAN","patch":[{"op":"replace","path":"/a","value":null}]}`,
	`{"type":"REASONING_START","messageId":"r"}`,
	`{"type":"REASONING_MESSAGE_START","messageId":"r","role":"reasoning"}`,
	`{"type":"REASONING_MESSAGE_CONTENT","messageId":"r","delta":"d"}`,
	`{"type":"REASONING_MESSAGE_END","messageId":"r"}`,
	`{"type":"REASONING_MESSAGE_CHUNK","messageId":"r","delta":"d"}`,
	`{"type":"REASONING_MESSAGE_CHUNK"}`,
	`{"type":"REASONING_END","messageId":"r"}`,
	`{"type":"REASONING_ENCRYPTED_VALUE","subtype":"tool-call","entityId":"c","encryptedValue":"e"}`,
	`{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"m","encryptedValue":""}`,
	`{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n","description":"d","parentSubagentRunId":"p","parentToolCallId":"c","parentMessageId":"m"}`,
	`{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}`,
	`{"type":"SUBAGENT_FINISHED","subagentRunId":"s","result":[null],"outcome":{"type":"suspended","interruptIds":["i"]}}`,
	`{"type":"SUBAGENT_FINISHED","subagentRunId":"s","outcome":{"type":"success"}}`,
	`{"type":"SUBAGENT_ERROR","subagentRunId":"s","message":"m","code":"c"}`,
	`{"type":"RAW","event":{"a":null},"source":"s"}`,
	`{"type":"RAW","event":null}`,
	`{"type":"CUSTOM","name":"n","value":null,"subagentRunId":"s"}`,
}

// TestRoundTrip: what was written is read and written the same, byte for byte,
// by the strict reader and by the lenient ones (promise W3).
func TestRoundTrip(t *testing.T) {
	seen := map[agui.EventType]bool{}
	for _, text := range golden {
		for _, opts := range []*agui.DecodeOptions{nil, {Strict: true}, {KeepUnknown: true}} {
			e, err := agui.DecodeEvent([]byte(text), opts)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			seen[e.EventType()] = true
			if got := string(agui.AppendEvent(nil, e, agui.V1)); got != text {
				t.Errorf("written differently\n got %s\nwant %s", got, text)
			}
		}
	}
	for _, typ := range agui.EventTypes() {
		if !seen[typ] {
			t.Errorf("no golden text for %s", typ)
		}
		if !typ.Known() {
			t.Errorf("%s is not known", typ)
		}
	}
	if len(agui.EventTypes()) != 31 {
		t.Errorf("%d event types, want 31", len(agui.EventTypes()))
	}
}

// TestMembersInAnyOrder: the type may come last, and white space anywhere.
func TestMembersInAnyOrder(t *testing.T) {
	for _, text := range golden {
		typ, rest, _ := strings.Cut(strings.TrimPrefix(text, `{"type":"`), `"`)
		rest = strings.TrimPrefix(rest, ",")
		moved := "\t{ " + strings.TrimSuffix(rest, "}")
		if rest != "}" {
			moved += " , "
		}
		moved += "\n\"type\" : \"" + typ + "\" } \r\n"
		e, err := agui.DecodeEvent([]byte(moved), &agui.DecodeOptions{Strict: true})
		if err != nil {
			t.Errorf("%s: %v", moved, err)
			continue
		}
		if got := string(agui.AppendEvent(nil, e, agui.V1)); got != text {
			t.Errorf("%s became %s", moved, got)
		}
	}
}

// TestKeepUnknown: a proxy that keeps what it does not know writes what it read.
func TestKeepUnknown(t *testing.T) {
	for _, text := range []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"user","future":{"a":[1.0]},"more":null}`,
		`{"type":"FUTURE_EVENT","b":1.0,"a":{"x":null}}`,
		`{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/a","note":1},{"op":"add","path":"/b","value":1},{"op":"frobnicate","path":"/a","by":2}]}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"planner","content":{"a":1},"x":1},{"id":"2","role":"user","content":[{"type":"hologram","beam":1},{"type":"image","source":{"type":"cloud","at":1}},{"type":"text","text":"t","future":1}],"future":2},{"id":"3","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""},"future":3}]}]}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"postponed","until":1},"usage":[{"model":"m","joules":3}]}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"r","value":1}],"x":1}}`,
		`{"type":"SUBAGENT_FINISHED","subagentRunId":"s","outcome":{"type":"lost","x":1}}`,
		`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[],"tools":[{"name":"f","description":"d","x":1}],"context":[{"description":"d","value":"v","x":2}],"resume":[{"interruptId":"i","status":"resolved","x":3}],"x":4},"x":5}`,
	} {
		e, err := agui.DecodeEvent([]byte(text), &agui.DecodeOptions{KeepUnknown: true})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := string(agui.AppendEvent(nil, e, agui.V1)); got != text {
			t.Errorf("lost something\n got %s\nwant %s", got, text)
		}
	}
}

// TestDropUnknown: without KeepUnknown, what is unknown goes the way it goes in
// the official client, and each piece is reported.
func TestDropUnknown(t *testing.T) {
	for _, c := range []struct{ in, want, reports string }{
		{`{"type":"TEXT_MESSAGE_END","messageId":"m","x":{"deep":[1]}}`,
			`{"type":"TEXT_MESSAGE_END","messageId":"m"}`, `unknown member /x`},
		{`{"type":"STATE_DELTA","delta":[{"op":"frobnicate"},{"op":"remove","path":"/a"}]}`,
			`{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/a"}]}`, `unknown op /delta/0`},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"planner"},{"id":"1","role":"user","content":[{"type":"hologram"},{"type":"image","source":{"type":"cloud"}}]}]}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[]}]}`,
			`unknown role /messages/0; unknown type /messages/1/content/0; unknown type /messages/1/content/1/source`},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"reasoning","content":"","name":"n","toolCalls":5}]}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"reasoning","content":""}]}`,
			`unknown member /messages/0/name; unknown member /messages/0/toolCalls`},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"postponed"}}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`, `unknown type /outcome`},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled","pendingToolCallIds":["c"]}}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"}}`, `unknown member /outcome/pendingToolCallIds`},
		{`{"type":"RUN_ERROR","message":"m","threadId":"t","subagentRunId":"s"}`,
			`{"type":"RUN_ERROR","message":"m"}`, `unknown member /threadId; unknown member /subagentRunId`},
	} {
		for _, strict := range []bool{false, true} {
			var reports []string
			e, err := agui.DecodeEvent([]byte(c.in), &agui.DecodeOptions{Strict: strict, Report: func(d agui.Deviation) {
				reports = append(reports, d.Reason+" "+d.Path)
			}})
			if err != nil {
				t.Errorf("%s: %v", c.in, err)
				continue
			}
			if got := string(agui.AppendEvent(nil, e, agui.V1)); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
			}
			if got := strings.Join(reports, "; "); got != c.reports {
				t.Errorf("%s: reported %q, want %q", c.in, got, c.reports)
			}
		}
	}
}

// TestOlderSpellings: what peers before 1.0 send is read, and refused by a
// strict reader exactly where the official client refuses it.
func TestOlderSpellings(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		strict         bool // the strict reader takes it too, with the same result
	}{
		{"snake case", `{"type":"TOOL_CALL_START","tool_call_id":"c","tool_call_name":"f","parent_message_id":"m","raw_event":1}`,
			`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m","rawEvent":1}`, false},
		{"null parent", `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":null}`,
			`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`, true},
		{"null rawEvent", `{"type":"TEXT_MESSAGE_END","messageId":"m","rawEvent":null}`,
			`{"type":"TEXT_MESSAGE_END","messageId":"m"}`, true},
		{"null outcome and result", `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":null,"result":null}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`, true},
		{"other nulls", `{"type":"TEXT_MESSAGE_START","messageId":"m","role":null,"name":null,"timestamp":null,"metadata":null,"subagentRunId":null}`,
			`{"type":"TEXT_MESSAGE_START","messageId":"m"}`, false},
		{"null chunk delta", `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":null}`,
			`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m"}`, false},
		{"fraction of a millisecond", `{"type":"TEXT_MESSAGE_END","messageId":"m","timestamp":12.9}`,
			`{"type":"TEXT_MESSAGE_END","messageId":"m","timestamp":12}`, false},
		{"whole number spelled otherwise", `{"type":"TEXT_MESSAGE_END","messageId":"m","timestamp":1.5e3}`,
			`{"type":"TEXT_MESSAGE_END","messageId":"m","timestamp":1500}`, true},
		{"role of reasoning missing", `{"type":"REASONING_MESSAGE_START","messageId":"m"}`,
			`{"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"}`, false},
		{"role of reasoning assistant", `{"type":"REASONING_MESSAGE_START","messageId":"m","role":"assistant"}`,
			`{"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"}`, false},
		{"assistant content null", `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"assistant","content":null,"tool_calls":null}]}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"assistant"}]}`, false},
		{"binary parts", `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[{"type":"binary","mimeType":"image/png","data":"aGk=","filename":"a.png"},{"type":"binary","mimeType":"application/pdf","url":"u"}]}]}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[{"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"},"metadata":{"filename":"a.png"}},{"type":"document","source":{"type":"url","value":"u","mimeType":"application/pdf"}}]}]}`, true},
		{"binary part with an id only", `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[{"type":"binary","mimeType":"audio/mp3","id":"file-1"}]}]}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[{"type":"audio","source":{"type":"file","value":"file-1","mimeType":"audio/mp3"}}]}]}`, false},
		{"binary part beside its modern form", `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[{"type":"binary","mimeType":"image/png","data":"aGk="},{"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}}]}]}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[{"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}}]}]}`, true},
		{"null metadata of a media part", `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[{"type":"image","source":{"type":"url","value":"u"},"metadata":null}]}]}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[{"type":"image","source":{"type":"url","value":"u"}}]}]}`, true},
		{"null payloads of an input", `{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[],"state":null,"forwardedProps":null,"tools":[{"name":"f","description":"d","parameters":null}],"resume":[{"interruptId":"i","status":"resolved","payload":null}]}}`,
			`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[],"tools":[{"name":"f","description":"d"}],"resume":[{"interruptId":"i","status":"resolved"}]}}`, true},
		{"tool call without a type", `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"assistant","toolCalls":[{"id":"c","function":{"name":"f","arguments":""}}]}]}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}]}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			reports := 0
			e, err := agui.DecodeEvent([]byte(c.in), &agui.DecodeOptions{Report: func(agui.Deviation) { reports++ }})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(agui.AppendEvent(nil, e, agui.V1)); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			strict, err := agui.DecodeEvent([]byte(c.in), &agui.DecodeOptions{Strict: true})
			switch {
			case c.strict && err != nil:
				t.Errorf("the strict reader refuses it: %v", err)
			case c.strict:
				if got := string(agui.AppendEvent(nil, strict, agui.V1)); got != c.want {
					t.Errorf("strictly\n got %s\nwant %s", got, c.want)
				}
			case err == nil && string(agui.AppendEvent(nil, strict, agui.V1)) == c.want:
				t.Error("the strict reader takes it")
			}
		})
	}
}

// TestDecodeErrors: an error names event, member and offset.
func TestDecodeErrors(t *testing.T) {
	const jsondocs = "?" // the reason is jsondoc's own
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	for _, c := range []struct {
		in     string
		event  agui.EventType
		path   string
		offset int
		reason string
	}{
		{``, "", "", 0, "an event must be a JSON object, not the end of the input"},
		{`[DONE]`, "", "", 0, "an event must be a JSON object, not an array"},
		{`null`, "", "", 0, "an event must be a JSON object, not null"},
		{`{}`, "", "", 0, "the event has no type, or one that is not a string"},
		{`{"type":""}`, "", "", 0, "the event has no type, or one that is not a string"},
		{`{"type":7}`, "", "", 0, "the event has no type, or one that is not a string"},
		{`{"type":"TEXT_MESSAGE_END"}`, "TEXT_MESSAGE_END", "/messageId", 0, "required member is missing"},
		{`{"type":"TEXT_MESSAGE_END","messageId":null}`, "TEXT_MESSAGE_END", "/messageId", 39, "must be a string, not null"},
		{`{"type":"TEXT_MESSAGE_END","messageId":"m"`, "TEXT_MESSAGE_END", "", 42, "expected , or }"},
		{`{"type":"TEXT_MESSAGE_END","messageId":"m`, "TEXT_MESSAGE_END", "/messageId", 39, "the string does not end"},
		{`{"type":"TEXT_MESSAGE_END","messageId":"m"} x`, "TEXT_MESSAGE_END", "", 44, "something follows the JSON document"},
		{`{"type":"TEXT_MESSAGE_END","messageId":"m",}`, "TEXT_MESSAGE_END", "", 43, "expected a member's name"},
		{`{"type":"TEXT_MESSAGE_END","messageId":"\q"}`, "TEXT_MESSAGE_END", "/messageId", 40, "bad escape in a string"},
		{"{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"a\nb\"}", "TEXT_MESSAGE_END", "/messageId", 41, "control character in a string"},
		{`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"tool"}`, "TEXT_MESSAGE_START", "/role", 52, "must be one of developer, system, assistant, user"},
		{`{"type":"TEXT_MESSAGE_END","messageId":"m","timestamp":"now"}`, "TEXT_MESSAGE_END", "/timestamp", 55, "must be an integer, not a string"},
		{`{"type":"TEXT_MESSAGE_END","messageId":"m","timestamp":1e300}`, "TEXT_MESSAGE_END", "/timestamp", 55, "must be an integer of at most 2^53-1"},
		{`{"type":"TEXT_MESSAGE_END","messageId":"m","metadata":[]}`, "TEXT_MESSAGE_END", "/metadata", 54, "must be an object, not an array"},
		{`{"type":"STATE_SNAPSHOT"}`, "STATE_SNAPSHOT", "/snapshot", 0, "required member is missing"},
		{`{"type":"STATE_SNAPSHOT","snapshot":{"a":{"b/c":[1,01]}}}`, "STATE_SNAPSHOT", "/snapshot/a/b~1c", 52, jsondocs},
		{`{"type":"STATE_DELTA","delta":{}}`, "STATE_DELTA", "/delta", 30, "must be an array, not an object"},
		{`{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/a"},{"op":"add","path":"/a"}]}`, "STATE_DELTA", "/delta/1/value", 59, "required member is missing"},
		{`{"type":"STATE_DELTA","delta":[{"op":"remove","path":"a"}]}`, "STATE_DELTA", "/delta/0/path", 53, "must be a JSON Pointer (RFC 6901)"},
		{`{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/~2"}]}`, "STATE_DELTA", "/delta/0/path", 53, "must be a JSON Pointer (RFC 6901)"},
		{`{"type":"STATE_DELTA","delta":[7]}`, "STATE_DELTA", "/delta/0", 31, "must be an object, not a number"},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":{"a":1}}]}`, "MESSAGES_SNAPSHOT", "/messages/0/content", 74, "must be a string or an array of content parts, not an object"},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":"a","role":"tool"}]}`, "MESSAGES_SNAPSHOT", "/messages/0/role", 85, "given twice, differently"},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"tool","content":"a"}]}`, "MESSAGES_SNAPSHOT", "/messages/0/toolCallId", 40, "required member is missing"},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":{"a":1}}`, "TOOL_CALL_RESULT", "/content", 70, "must be a string or an array of content parts, not an object"},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"image","source":{"type":"data","value":"x"}}]}`, "TOOL_CALL_RESULT", "/content/0/source/mimeType", 96, "required member is missing"},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[]}}`, "RUN_FINISHED", "/outcome/interrupts", 60, "must hold at least one interrupt"},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","usage":[{"inputTokens":-1}]}`, "RUN_FINISHED", "/usage/0/inputTokens", 74, "must not be negative"},
		{`{"type":"CUSTOM","name":"n","value":` + deep + `}`, "CUSTOM", "/value" + strings.Repeat("/0", 511), 547, jsondocs},
		{`{"type":"FUTURE","a":` + deep + `}`, "FUTURE", "/a" + strings.Repeat("/0", 511), 532, jsondocs},
	} {
		e, err := agui.DecodeEvent([]byte(c.in), nil)
		var got *agui.DecodeError
		if !errors.As(err, &got) {
			t.Errorf("%.80s: %v, %v; want a DecodeError", c.in, e, err)
			continue
		}
		if c.reason == jsondocs {
			c.reason = got.Reason
		}
		want := &agui.DecodeError{Event: c.event, Path: c.path, Offset: c.offset, Reason: c.reason}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.80s: (-want +got)\n%s", c.in, diff)
		}
		if e != nil {
			t.Errorf("%.80s: an event was returned beside the error", c.in)
		}
	}
}

// TestDuplicateMembers: the last one counts, as in JavaScript, the type included.
func TestDuplicateMembers(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"type":"TEXT_MESSAGE_END","messageId":"a","messageId":"b"}`, `{"type":"TEXT_MESSAGE_END","messageId":"b"}`},
		{`{"type":"RUN_ERROR","messageId":"a","type":"TEXT_MESSAGE_END"}`, `{"type":"TEXT_MESSAGE_END","messageId":"a"}`},
		{`{"type":"TEXT_MESSAGE_END","messageId":5,"type":"FUTURE"}`, `{"type":"FUTURE","messageId":5}`},
		{`{"type":"CUSTOM","name":"n","value":{"a":1,"b":2,"a":3}}`, `{"type":"CUSTOM","name":"n","value":{"a":3,"b":2}}`},
	} {
		e, err := agui.DecodeEvent([]byte(c.in), nil)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got := string(agui.AppendEvent(nil, e, agui.V1)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

// TestStrings: text survives whatever it is spelled with.
func TestStrings(t *testing.T) {
	for _, c := range []struct{ in, value, out string }{
		{`"plain text that is longer than eight bytes"`, "plain text that is longer than eight bytes", ""},
		{`"\u0041\/\\\"\b\f\n\r\t"`, "A/\\\"\b\f\n\r\t", `"A/\\\"\b\f\n\r\t"`},
		{`"\u00e9\ud83c\udf5d"`, "é🍝", `"é🍝"`},
		{`"é🍝 and \u0000"`, "é🍝 and \x00", ``},
		{`"\ud83c"`, "\xed\xa0\xbc", ``},
		{`"\udf5d\ud83c"`, "\xed\xbd\x9d\xed\xa0\xbc", ``},
		{"\"bad \xff byte\"", "bad \uFFFD byte", "\"bad \uFFFD byte\""},
		{"\"\xed\xa0\xbc\"", "\uFFFD\uFFFD\uFFFD", "\"\uFFFD\uFFFD\uFFFD\""},
	} {
		e, err := agui.DecodeEvent([]byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":`+c.in+`}`), nil)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got := e.(*agui.TextMessageContent).Delta; got != c.value {
			t.Errorf("%s is %q, want %q", c.in, got, c.value)
		}
		want := c.out
		if want == "" {
			want = c.in
		}
		if got := string(agui.AppendEvent(nil, e, agui.V1)); got != `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":`+want+`}` {
			t.Errorf("%s is written as %s", c.in, got)
		}
	}
}

// TestIntegers: every length of number is written as it should be.
func TestIntegers(t *testing.T) {
	numbers := []int64{1, -1, 99999999, 100000000, 100000001, 1764500000000, 9007199254740991, -9007199254740991, 9999999999999999, 10000000000000000}
	for n := int64(1); n < 1<<53; n = n*7 + 3 {
		numbers = append(numbers, n)
	}
	for _, n := range numbers {
		got := string(agui.AppendEvent(nil, &agui.TextMessageEnd{Base: agui.Base{Timestamp: n}}, agui.V1))
		if want := fmt.Sprintf(`{"type":"TEXT_MESSAGE_END","messageId":"","timestamp":%d}`, n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestAllocations carries the bar of the hot events: none for writing, at most
// three for reading (event, id, delta).
func TestAllocations(t *testing.T) {
	buf := make([]byte, 0, 512)
	for _, e := range []agui.Event{
		&agui.TextMessageContent{MessageID: "msg-1", Delta: "Hello, \"world\"\n"},
		&agui.ToolCallArgs{ToolCallID: "call-1", Delta: `{"a":`},
	} {
		for _, v := range []agui.Version{agui.V1, agui.V0} {
			if n := testing.AllocsPerRun(100, func() { buf = agui.AppendFrame(buf[:0], "epoch-12", e, v) }); n != 0 {
				t.Errorf("%s: %v allocations to write", e.EventType(), n)
			}
		}
		var seq agui.Sequence
		for _, open := range []agui.Event{&agui.RunStarted{}, &agui.TextMessageStart{MessageID: "msg-1"}, &agui.ToolCallStart{ToolCallID: "call-1"}} {
			if err := seq.Check(open); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(100, func() { _ = seq.Check(e) }); n != 0 {
			t.Errorf("%s: %v allocations to check", e.EventType(), n)
		}
		text := agui.AppendEvent(nil, e, agui.V1)
		if n := testing.AllocsPerRun(100, func() { _, _ = agui.DecodeEvent(text, nil) }); n > 3 {
			t.Errorf("%s: %v allocations to read", e.EventType(), n)
		}
	}
}
