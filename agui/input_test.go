package agui_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lockstep-go/lockstep/agui"
)

func TestDecodeInput(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"as the official client sends it",
			`{"threadId":"t","runId":"r","protocolVersion":"1.0","state":{"z":1,"a":null},"messages":[{"id":"1","role":"user","content":"hi"}],"tools":[],"context":[],"forwardedProps":{}}`, ""},
		{"with an answer to an interrupt",
			`{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"i","status":"resolved","payload":{"approved":false}}]}`, ""},
		{"no state is null state", `{"threadId":"t","runId":"r","state":null,"messages":[]}`, `{"threadId":"t","runId":"r","messages":[]}`},
		{"other values are states", `{"threadId":"t","runId":"r","state":0,"messages":[]}`, ""},
		{"nulls for what is optional",
			`{"threadId":"t","runId":"r","parentRunId":null,"protocolVersion":null,"messages":[],"tools":null,"context":null,"forwardedProps":null,"resume":null}`,
			`{"threadId":"t","runId":"r","messages":[]}`},
		{"snake case",
			`{"thread_id":"t","run_id":"r","parent_run_id":"p","messages":[{"id":"1","role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"id":"2","role":"tool","tool_call_id":"c","content":"x"}],"forwarded_props":{"keep_me":1}}`,
			`{"threadId":"t","runId":"r","parentRunId":"p","messages":[{"id":"1","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"id":"2","role":"tool","content":"x","toolCallId":"c"}],"forwardedProps":{"keep_me":1}}`},
		{"unknown members", `{"threadId":"t","runId":"r","messages":[],"more":{"a":1}}`, `{"threadId":"t","runId":"r","messages":[]}`},
	} {
		in, err := agui.DecodeInput([]byte(c.in), nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want := c.want
		if want == "" {
			want = c.in
		}
		if got := string(in.AppendJSON(nil)); got != want {
			t.Errorf("%s\n got %s\nwant %s", c.name, got, want)
		}
	}
}

func TestDecodeInputErrors(t *testing.T) {
	for _, c := range []struct{ in, path, reason string }{
		{`[]`, "", "must be an object, not an array"},
		{`{"runId":"r","messages":[]}`, "/threadId", "required member is missing"},
		{`{"threadId":"t","messages":[]}`, "/runId", "required member is missing"},
		{`{"threadId":"t","runId":"r"}`, "/messages", "required member is missing"},
		{`{"threadId":1,"runId":"r","messages":[]}`, "/threadId", "must be a string, not a number"},
		{`{"threadId":"t","runId":"r","messages":{}}`, "/messages", "must be an array, not an object"},
		{`{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user"}]}`, "/messages/0/content", "required member is missing"},
		{`{"threadId":"t","runId":"r","messages":[],"tools":[{"name":"f"}]}`, "/tools/0/description", "required member is missing"},
		{`{"threadId":"t","runId":"r","messages":[],"context":[{"description":"d","value":{}}]}`, "/context/0/value", "must be a string, not an object"},
		{`{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"i","status":"done"}]}`, "/resume/0/status", "must be one of resolved, cancelled"},
		{`{"threadId":"t","runId":"r","messages":[],"state":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`, "/state" + strings.Repeat("/0", 511), "nested too deep"},
	} {
		_, err := agui.DecodeInput([]byte(c.in), nil)
		var got *agui.DecodeError
		if !errors.As(err, &got) || got.Path != c.path || got.Reason != c.reason {
			t.Errorf("%.90s: %v, want %q at %q", c.in, err, c.reason, c.path)
		}
	}
	shallow := &agui.DecodeOptions{MaxDepth: 3}
	if _, err := agui.DecodeInput([]byte(`{"threadId":"t","runId":"r","messages":[],"state":[[[]]]}`), shallow); err == nil {
		t.Error("MaxDepth 3 takes depth 4")
	}
	if _, err := agui.DecodeInput([]byte(`{"threadId":"t","runId":"r","messages":[],"state":[[]]}`), shallow); err != nil {
		t.Error(err)
	}
}

// TestJSONMethods: stored values come back through encoding/json.
func TestJSONMethods(t *testing.T) {
	for _, c := range []struct {
		into any
		text string
	}{
		{new(agui.Message), `{"id":"1","role":"assistant","toolCalls":[],"future":1}`},
		{new(agui.Message), `{"id":"1","role":"planner","x":[1]}`},
		{new(agui.RunAgentInput), `{"threadId":"t","runId":"r","messages":[],"future":1.0}`},
		{new(agui.Interrupt), `{"id":"i","reason":"r","metadata":{"k":null}}`},
		{new(agui.ToolCall), `{"id":"c","type":"function","function":{"name":"f","arguments":"{"},"future":1}`},
		{new(agui.Tool), `{"name":"f","description":"d","parameters":{"type":"object"}}`},
		{new(agui.Context), `{"description":"d","value":"v"}`},
		{new(agui.ResumeEntry), `{"interruptId":"i","status":"resolved","payload":1.50}`},
		{new(agui.TokenUsage), `{"model":"m","totalTokens":7}`},
		{new(agui.Outcome), `{"type":"interrupt","interrupts":[{"id":"i","reason":"r"}]}`},
		{new(agui.Outcome), `{"type":"postponed","until":1}`},
		{new(agui.Content), `[{"type":"text","text":"t"},{"type":"hologram","beam":1}]`},
		{new(agui.Content), `"text"`},
		{new(agui.Capabilities), `{"state":{"snapshots":true,"deltas":false},"future":{}}`},
	} {
		if err := json.Unmarshal([]byte(c.text), c.into); err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		got, err := json.Marshal(c.into)
		if err != nil || string(got) != c.text {
			t.Errorf("%s became %s, %v", c.text, got, err)
		}
		if err := json.Unmarshal([]byte(`{"id":7,"threadId":7,"state":7,"name":7,"description":7,"model":7,"interruptId":7,"interrupts":7}`), c.into); err == nil {
			if _, outcome := c.into.(*agui.Outcome); !outcome { // of unknown type, which is legal
				t.Errorf("%T takes nonsense", c.into)
			}
		}
		if again, _ := json.Marshal(c.into); string(again) != c.text {
			if _, outcome := c.into.(*agui.Outcome); !outcome {
				t.Errorf("%T was changed by nonsense to %s", c.into, again)
			}
		}
	}
	// By value too, inside structs of others; an event as an interface.
	whole, err := json.Marshal(struct {
		M agui.Message
		C agui.Content
		R []agui.ResumeEntry
		E agui.Event
		O *agui.Outcome
	}{
		agui.Message{ID: "1", Role: agui.RoleAssistant}, agui.Content{}, []agui.ResumeEntry{{InterruptID: "i", Status: agui.ResumeCancelled}},
		&agui.StateSnapshot{}, nil,
	})
	want := `{"M":{"id":"1","role":"assistant"},"C":null,"R":[{"interruptId":"i","status":"cancelled"}],"E":{"type":"STATE_SNAPSHOT","snapshot":null},"O":null}`
	if err != nil || string(whole) != want {
		t.Errorf("got %s, %v", whole, err)
	}
	for _, text := range golden {
		e, err := agui.DecodeEvent([]byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		// encoding/json compacts and escapes what a method returns.
		got, err := json.Marshal(e)
		if back, err2 := agui.DecodeEvent(got, nil); err != nil || err2 != nil || string(agui.AppendEvent(nil, back, agui.V1)) != text {
			t.Errorf("%s became %s, %v, %v", text, got, err, err2)
		}
	}
}

func TestContent(t *testing.T) {
	parts := agui.Parts(
		agui.ContentPart{Type: agui.PartText, Text: "a"},
		agui.ContentPart{Type: agui.PartImage, Source: &agui.Source{Type: agui.SourceURL, Value: "u"}},
		agui.ContentPart{Type: agui.PartText, Text: "b"})
	for _, c := range []struct {
		content       agui.Content
		text          string
		parts         int
		absent, multi bool
	}{
		{agui.Content{}, "", 0, true, false},
		{agui.Text(""), "", 1, false, false},
		{agui.Text("x"), "x", 1, false, false},
		{parts, "a\nb", 3, false, true},
		{agui.Parts(), "", 0, false, true},
	} {
		if c.content.Text() != c.text || len(c.content.Parts()) != c.parts || c.content.IsAbsent() != c.absent || c.content.IsParts() != c.multi {
			t.Errorf("%+v: %q, %d parts, absent %v, parts %v", c.content, c.content.Text(), len(c.content.Parts()), c.content.IsAbsent(), c.content.IsParts())
		}
		if !c.content.Equal(c.content) || c.content.Equal(agui.Text("other")) {
			t.Errorf("%+v: Equal", c.content)
		}
	}
	if agui.Text("").Equal(agui.Content{}) || agui.Text("").Equal(agui.Parts()) {
		t.Error("empty, absent and no parts are the same")
	}
}

func TestCapabilities(t *testing.T) {
	full := `{"identity":{"name":"n","type":"t","description":"d","version":"1","provider":"p","documentationUrl":"u","metadata":{"k":null}},` +
		`"transport":{"streaming":true,"websocket":false,"httpBinary":true,"pushNotifications":false,"resumable":true},` +
		`"tools":{"supported":true,"items":[{"name":"f","description":"d"}],"parallelCalls":false,"clientProvided":true},` +
		`"output":{"structuredOutput":true,"supportedMimeTypes":[]},` +
		`"state":{"snapshots":true,"deltas":true,"memory":false,"persistentState":true},` +
		`"multiAgent":{"supported":true,"delegation":false,"handoffs":false,"subagents":[{"name":"s","description":"d"},{"name":"u"}]},` +
		`"reasoning":{"supported":true,"streaming":true,"encrypted":false},` +
		`"multimodal":{"input":{"image":true,"audio":false,"video":false,"pdf":true,"file":true},"output":{"image":false,"audio":false}},` +
		`"execution":{"codeExecution":false,"sandboxed":true,"maxIterations":0,"maxExecutionTime":600000},` +
		`"humanInTheLoop":{"supported":true,"approvals":true,"interventions":false,"feedback":false,"interrupts":true,"approveWithEdits":true},` +
		`"custom":{"stateSchema":{"type":"object"}}}`
	for _, text := range []string{full, `{}`, `{"state":{}}`} {
		c, err := agui.DecodeCapabilities([]byte(text), &agui.DecodeOptions{Strict: true})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(text, string(c.AppendJSON(nil))); diff != "" {
			t.Error(diff)
		}
	}
	older, err := agui.DecodeCapabilities([]byte(`{"multiAgent":{"subAgents":[{"name":"s"}]},"state":null,"tools":{"supported":null}}`), nil)
	if err != nil || len(older.MultiAgent.Subagents) != 1 || older.State != nil || older.Tools.Supported != nil {
		t.Errorf("%+v, %v", older, err)
	}
	for _, bad := range []string{`[]`, `{"state":7}`, `{"state":{"deltas":"yes"}}`, `{"execution":{"maxIterations":-1}}`, `{"multiAgent":{"subagents":[{}]}}`, `{"custom":[]}`} {
		if _, err := agui.DecodeCapabilities([]byte(bad), nil); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// TestRunErrorFor carries promise W5: no text of an exception reaches the wire.
func TestRunErrorFor(t *testing.T) {
	secret := errors.New("dial tcp 10.0.0.7:5432: password authentication failed for user admin")
	for _, c := range []struct {
		err  error
		want agui.RunError
	}{
		{secret, agui.RunError{Code: agui.CodeInternal, Message: agui.InternalMessage}},
		{nil, agui.RunError{Code: agui.CodeInternal, Message: agui.InternalMessage}},
		{(*agui.Error)(nil), agui.RunError{Code: agui.CodeInternal, Message: agui.InternalMessage}},
		{agui.NewError(agui.CodeModelError, "The model failed.", secret), agui.RunError{Code: "model_error", Message: "The model failed."}},
		{fmt.Errorf("run 7: %w", agui.NewError(agui.CodeResumeExpired, "Too late.", nil)), agui.RunError{Code: "APPROVAL_RESUME_EXPIRED", Message: "Too late."}},
		{agui.NewError("", "", secret), agui.RunError{Code: agui.CodeInternal, Message: agui.InternalMessage}},
		{errors.Join(secret, agui.NewError(agui.CodeLimitExceeded, "Too much.", secret)), agui.RunError{Code: "limit_exceeded", Message: "Too much."}},
	} {
		got := agui.RunErrorFor(c.err)
		if got.Code != c.want.Code || got.Message != c.want.Message {
			t.Errorf("%v: %s", c.err, agui.AppendEvent(nil, got, agui.V1))
		}
		if text := string(agui.AppendEvent(nil, got, agui.V1)); strings.Contains(text, "password") {
			t.Errorf("it leaks: %s", text)
		}
	}
	err := agui.NewError(agui.CodeModelError, "The model failed.", secret)
	if !errors.Is(err, secret) || !strings.Contains(err.Error(), "password") {
		t.Errorf("the log needs the cause: %v", err)
	}
}
