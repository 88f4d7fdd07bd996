package openaiprovider_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/openaiwire"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/provider/openaiprovider"
	"github.com/lockstep-go/lockstep/tool"
)

// asked runs an agent once and returns the body of its request.
func asked(t *testing.T, api string, config openaiprovider.AgentConfig, messages []*message.Message, opts ...agent.Option) string {
	t.Helper()
	s := openaiwire.New(t, func(r *openaiwire.Request) openaiwire.Reply {
		return openaiwire.Reply{Body: openaiwire.Turn{Text: "ok"}.Steps(r)}
	})
	config.Model = "fake"
	config.History, config.DisableFuncAutoCall = agent.UnboundedHistory, true // what is asked, not what is repaired
	if _, err := apis[api](t, s, 0, config).Run(t.Context(), messages, opts...).Collect(); err != nil {
		t.Fatal(err)
	}
	r := s.Requests()[0]
	if got := r.Header.Get("Authorization"); got != "Bearer "+markerKey {
		t.Errorf("authorization %q", got)
	}
	if strings.Contains(string(r.Body), "marker") {
		t.Error("the key is in the body")
	}
	return string(r.Body)
}

// sameJSON compares two JSON texts, member order aside.
func sameJSON(t *testing.T, want, got string) {
	t.Helper()
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("want is no JSON: %v", err)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func parse(t *testing.T, text string) jsondoc.Value {
	t.Helper()
	v, err := jsondoc.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// conversation has one message of every kind.
func conversation() []*message.Message {
	failed := &message.FunctionResultContent{CallID: "c2", Error: agent.ErrToolTimeout}
	return []*message.Message{
		message.NewSystem("The state: {}"),
		message.NewText("hi"),
		nil,
		message.NewAssistant(&message.TextReasoningContent{Text: "hm"}, &message.TextContent{Text: "Let me "}, &message.TextContent{Text: "look."},
			&message.FunctionCallContent{CallID: "c1", Name: "look", Arguments: `{"n":9007199254740993}`}, &message.FunctionCallContent{CallID: "c2", Name: "look", Arguments: `{"n":`},
			&message.FunctionCallContent{CallID: "c3", Name: "look"}),
		message.NewResult("c1", map[string]any{"found": "<b>é</b>"}),
		{Role: message.RoleTool, Contents: message.Contents{failed, &message.FunctionResultContent{CallID: "c3", Result: "ok"}}},
		message.NewAssistant(),
		message.New(&message.TextContent{Text: "see"},
			&message.DataContent{MediaType: "image/png", Data: []byte("PNG"), ContentHeader: message.ContentHeader{AdditionalProperties: map[string]any{"detail": "low"}}},
			&message.URIContent{URI: "https://example.com/a.jpg", MediaType: "image/jpeg"}, &message.URIContent{URI: "data:image/gif;base64,R0lG", MediaType: "image/gif"},
			&message.DataContent{MediaType: "application/pdf", Data: []byte("%PDF"), Name: "a.pdf"}, &message.URIContent{URI: "https://example.com/b.pdf", MediaType: "application/pdf"},
			&message.DataContent{MediaType: "text/plain; charset=utf-8", Data: []byte("notes")}, &message.HostedFileContent{FileID: "file_1"},
			&message.UsageContent{}),
		message.New(&message.UsageContent{}),
	}
}

func TestChatConversation(t *testing.T) {
	got := asked(t, "chat", openaiprovider.AgentConfig{Instructions: "Second.", Config: agent.Config{Instructions: "First."}}, conversation())
	sameJSON(t, `{"model":"fake","stream":true,"stream_options":{"include_usage":true},"messages":[
		{"role":"system","content":"First.\n\nSecond."},
		{"role":"system","content":"The state: {}"},
		{"role":"user","content":"hi"},
		{"role":"assistant","content":"Let me look.","tool_calls":[
			{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"n\":9007199254740993}"}},
			{"id":"c2","type":"function","function":{"name":"look","arguments":"{}"}},
			{"id":"c3","type":"function","function":{"name":"look","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"{\"found\":\"<b>é</b>\"}"},
		{"role":"tool","tool_call_id":"c2","content":"Error: the tool failed."},
		{"role":"tool","tool_call_id":"c3","content":"ok"},
		{"role":"user","content":[
			{"type":"text","text":"see"},
			{"type":"image_url","image_url":{"url":"data:image/png;base64,UE5H","detail":"low"}},
			{"type":"image_url","image_url":{"url":"https://example.com/a.jpg"}},
			{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lG"}},
			{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERg==","filename":"a.pdf"}},
			{"type":"text","text":"[application/pdf: https://example.com/b.pdf]"},
			{"type":"text","text":"notes"},
			{"type":"file","file":{"file_id":"file_1"}}]}]}`, got)
}

func TestResponsesConversation(t *testing.T) {
	got := asked(t, "responses", openaiprovider.AgentConfig{Instructions: "Second.", Config: agent.Config{Instructions: "First."}}, conversation())
	sameJSON(t, `{"model":"fake","stream":true,"store":false,"instructions":"First.\n\nSecond.","input":[
		{"role":"system","content":"The state: {}"},
		{"role":"user","content":"hi"},
		{"role":"assistant","content":"Let me look."},
		{"type":"function_call","call_id":"c1","name":"look","arguments":"{\"n\":9007199254740993}"},
		{"type":"function_call","call_id":"c2","name":"look","arguments":"{}"},
		{"type":"function_call","call_id":"c3","name":"look","arguments":"{}"},
		{"type":"function_call_output","call_id":"c1","output":"{\"found\":\"<b>é</b>\"}"},
		{"type":"function_call_output","call_id":"c2","output":"Error: the tool failed."},
		{"type":"function_call_output","call_id":"c3","output":"ok"},
		{"role":"user","content":[
			{"type":"input_text","text":"see"},
			{"type":"input_image","image_url":"data:image/png;base64,UE5H","detail":"low"},
			{"type":"input_image","image_url":"https://example.com/a.jpg","detail":"auto"},
			{"type":"input_image","image_url":"data:image/gif;base64,R0lG","detail":"auto"},
			{"type":"input_file","file_data":"data:application/pdf;base64,JVBERg==","filename":"a.pdf"},
			{"type":"input_file","file_url":"https://example.com/b.pdf"},
			{"type":"input_text","text":"notes"},
			{"type":"input_file","file_id":"file_1"}]}]}`, got)
}

func TestAudio(t *testing.T) {
	got := asked(t, "chat", openaiprovider.AgentConfig{}, []*message.Message{message.New(&message.DataContent{MediaType: "audio/mpeg", Data: []byte("MP3")}, &message.DataContent{MediaType: "audio/x-wav", Data: []byte("WAV")})})
	for _, want := range []string{`{"data":"TVAz","format":"mp3"}`, `{"data":"V0FW","format":"wav"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

func TestTools(t *testing.T) {
	// The order of properties is the order in which models write them: it has to
	// survive.
	schema := parse(t, `{"type":"object","properties":{"title":{"type":"string"},"amount":{"type":"number","maximum":9007199254740993},"a":{"type":"null"}},"required":["title"]}`)
	withTools := agent.WithTools(tool.NewDeclaration("save", "Saves.", schema), tool.NewDeclaration("ping", "", jsondoc.Value{}))
	const chatTools = `"tools":[{"type":"function","function":{"name":"save","description":"Saves.","parameters":` + "%" + `}},{"type":"function","function":{"name":"ping","parameters":{"type":"object","properties":{}}}}]`
	const responsesTools = `"tools":[{"type":"function","name":"save","description":"Saves.","strict":false,"parameters":` + "%" + `},{"type":"function","name":"ping","strict":false,"parameters":{"type":"object","properties":{}}}]`
	for _, tt := range []struct {
		name            string
		opts            []agent.Option
		chat, responses string
	}{
		{"nothing said", nil, ``, ``},
		{"auto", []agent.Option{agent.WithToolMode(tool.ToolModeAuto), agent.WithParallelToolCalls(false)}, `"tool_choice":"auto","parallel_tool_calls":false,`, `"tool_choice":"auto","parallel_tool_calls":false,`},
		{"none", []agent.Option{agent.WithToolMode(tool.ToolModeNone)}, `"tool_choice":"none",`, `"tool_choice":"none",`},
		{"required", []agent.Option{agent.WithToolMode(tool.ToolModeRequired)}, `"tool_choice":"required",`, `"tool_choice":"required",`},
		{"one", []agent.Option{agent.WithToolMode(tool.RequireTool("save"))}, `"tool_choice":{"type":"function","function":{"name":"save"}},`, `"tool_choice":{"type":"function","name":"save"},`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hi := []*message.Message{message.NewText("hi")}
			got := asked(t, "chat", openaiprovider.AgentConfig{}, hi, append(tt.opts, withTools)...)
			sameJSON(t, `{"model":"fake","stream":true,"stream_options":{"include_usage":true},`+tt.chat+strings.Replace(chatTools, "%", schema.String(), 1)+`,"messages":[{"role":"user","content":"hi"}]}`, got)
			if want := strings.TrimSuffix(strings.SplitAfter(schema.String(), `"properties":`)[1], `,"required":["title"]}`); !strings.Contains(got, want) {
				t.Errorf("the properties have another order or other numbers: %s", got)
			}
			got = asked(t, "responses", openaiprovider.AgentConfig{}, hi, append(tt.opts, withTools)...)
			sameJSON(t, `{"model":"fake","stream":true,"store":false,`+tt.responses+strings.Replace(responsesTools, "%", schema.String(), 1)+`,"input":[{"role":"user","content":"hi"}]}`, got)
		})
	}
	t.Run("no tools, no choice", func(t *testing.T) {
		got := asked(t, "chat", openaiprovider.AgentConfig{}, []*message.Message{message.NewText("hi")}, agent.WithToolMode(tool.ToolModeAuto), agent.WithParallelToolCalls(true))
		if strings.Contains(got, "tool") {
			t.Errorf("services refuse a choice of nothing: %s", got)
		}
	})
}

func TestResponseFormat(t *testing.T) {
	hi := []*message.Message{message.NewText("hi")}
	schema := parse(t, `{"type":"object","properties":{"b":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}},"a":{"$ref":"#/$defs/properties"}},"$defs":{"properties":{"type":"object","properties":{}}}}`)
	strict := `{"type":"object","properties":{"b":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false}},"a":{"$ref":"#/$defs/properties"}},
		"$defs":{"properties":{"type":"object","properties":{},"required":[],"additionalProperties":false}},"required":["b","a"],"additionalProperties":false}`
	for _, tt := range []struct {
		name            string
		format          agent.ResponseFormat
		chat, responses string
	}{
		{"any object", agent.ResponseFormat{Kind: "json"}, `{"type":"json_object"}`, `{"type":"json_object"}`},
		{"a schema", agent.ResponseFormat{Kind: "json", Name: "recipe", Description: "A recipe.", Schema: schema},
			`{"type":"json_schema","json_schema":{"name":"recipe","description":"A recipe.","schema":` + schema.String() + `}}`,
			`{"type":"json_schema","name":"recipe","description":"A recipe.","schema":` + schema.String() + `}`},
		{"a strict schema", agent.ResponseFormat{Kind: "json", Strict: true, Schema: schema},
			`{"type":"json_schema","json_schema":{"name":"response","strict":true,"schema":` + strict + `}}`,
			`{"type":"json_schema","name":"response","strict":true,"schema":` + strict + `}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := asked(t, "chat", openaiprovider.AgentConfig{}, hi, agent.WithResponseFormat(tt.format))
			sameJSON(t, `{"model":"fake","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}],"response_format":`+tt.chat+`}`, got)
			got = asked(t, "responses", openaiprovider.AgentConfig{}, hi, agent.WithResponseFormat(tt.format))
			sameJSON(t, `{"model":"fake","stream":true,"store":false,"input":[{"role":"user","content":"hi"}],"text":{"format":`+tt.responses+`}}`, got)
		})
	}
}

func TestSettings(t *testing.T) {
	hi := []*message.Message{message.NewText("hi")}
	opts := []agent.Option{
		agent.WithModel("other"), agent.WithMaxOutputTokens(100), agent.WithTemperature(0.5), agent.WithTopP(0.9), agent.WithSeed(7), agent.WithStopSequences("END"),
		agent.WithReasoningEffort("low"),
	}
	got := asked(t, "chat", openaiprovider.AgentConfig{}, hi, opts...)
	sameJSON(t, `{"model":"other","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":100,"temperature":0.5,"top_p":0.9,"seed":7,"stop":["END"],"reasoning_effort":"low",
		"messages":[{"role":"user","content":"hi"}]}`, got)
	got = asked(t, "responses", openaiprovider.AgentConfig{}, hi, opts...)
	sameJSON(t, `{"model":"other","stream":true,"store":false,"max_output_tokens":100,"temperature":0.5,"top_p":0.9,"reasoning":{"effort":"low"},"input":[{"role":"user","content":"hi"}]}`, got)

	old := openaiprovider.AgentConfig{LegacyMaxTokens: true, OmitStreamOptions: true, DeveloperRole: true, EchoReasoning: true}
	got = asked(t, "chat", old, []*message.Message{message.NewSystem("s"), message.NewAssistant(&message.TextReasoningContent{Text: "hm"}, &message.TextContent{Text: "a"}), message.NewText("hi")}, agent.WithMaxOutputTokens(5))
	sameJSON(t, `{"model":"fake","stream":true,"max_tokens":5,"messages":[{"role":"developer","content":"s"},{"role":"assistant","content":"a","reasoning_content":"hm"},{"role":"user","content":"hi"}]}`, got)

	// What the vendor alone offers goes through its own parameters, under what the run
	// says.
	got = asked(t, "chat", openaiprovider.AgentConfig{}, hi, openaiprovider.ChatCompletionNewParams(openai.ChatCompletionNewParams{ServiceTier: "flex", User: openai.String("u"), Temperature: openai.Float(1)}), agent.WithTemperature(0.25))
	sameJSON(t, `{"model":"fake","stream":true,"stream_options":{"include_usage":true},"service_tier":"flex","user":"u","temperature":0.25,"messages":[{"role":"user","content":"hi"}]}`, got)
	got = asked(t, "responses", openaiprovider.AgentConfig{}, hi, openaiprovider.ResponsesNewParams(responses.ResponseNewParams{ServiceTier: "flex", Store: openai.Bool(true)}))
	sameJSON(t, `{"model":"fake","stream":true,"store":true,"service_tier":"flex","input":[{"role":"user","content":"hi"}]}`, got)
}

// Without a stream the answer comes in one piece, and out like any other.
func TestNoStream(t *testing.T) {
	for api, body := range map[string]string{
		"chat":      `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`,
		"responses": `{"id":"x","object":"response","status":"completed","output":[{"type":"message","id":"m","content":[{"type":"output_text","text":"Hello"}]}],"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}`,
	} {
		for _, cut := range openaiwire.Cuts {
			s := openaiwire.New(t, openaiwire.Script(t, openaiwire.Reply{Cut: cut, Header: http.Header{"Content-Type": {"application/json"}}, Body: []openaiwire.Step{openaiwire.Raw(body)}}))
			r, err := apis[api](t, s, cut, openaiprovider.AgentConfig{Model: "fake"}).RunText(t.Context(), "hi", agent.Stream(false)).Collect()
			if err != nil || r.String() != "Hello" || r.Usage().TotalTokenCount != 3 || r.FinishReason != "stop" {
				t.Errorf("%s: %q, %+v, %v", api, r, r.Usage(), err)
			}
			if got := string(s.Requests()[0].Body); strings.Contains(got, "stream") {
				t.Errorf("%s asked for a stream: %s", api, got)
			}
		}
	}
}

// A server that refuses stream_options is asked once more without, and from then on
// without.
func TestStreamOptionsRefused(t *testing.T) {
	s := openaiwire.New(t, func(r *openaiwire.Request) openaiwire.Reply {
		if strings.Contains(string(r.Body), "stream_options") {
			return openaiwire.Reply{Status: 400, Body: []openaiwire.Step{openaiwire.Raw(`{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`)}}
		}
		return openaiwire.Reply{Body: openaiwire.Turn{Text: "ok"}.Steps(r)}
	})
	a := apis["chat"](t, s, 0, openaiprovider.AgentConfig{Model: "fake"})
	for range 2 {
		if r, err := a.RunText(t.Context(), "hi").Collect(); err != nil || r.String() != "ok" {
			t.Fatalf("%q, %v", r, err)
		}
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests, want 3: refused, again, the second run", n)
	}
	sameJSON(t, string(s.Requests()[1].Body), string(s.Requests()[2].Body))
}

// Usage is an increment, once, whatever the server's habit.
func TestUsage(t *testing.T) {
	usage := `"usage":{"prompt_tokens":10,"completion_tokens":%,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2,"accepted_prediction_tokens":1}}`
	chunk := func(n string) openaiwire.Step {
		return openaiwire.Data(`{"choices":[{"index":0,"delta":{"content":"x"}}],` + strings.Replace(usage, "%", n, 1) + `}`)
	}
	s := openaiwire.New(t, openaiwire.Script(t, openaiwire.Reply{Body: []openaiwire.Step{chunk("1"), chunk("2"), openaiwire.Finish("stop"), openaiwire.Data(`{"choices":[],` + strings.Replace(usage, "%", "3", 1) + `}`), openaiwire.Done()}}))
	r, err := apis["chat"](t, s, 0, openaiprovider.AgentConfig{Model: "fake"}).RunText(t.Context(), "hi").Collect()
	if err != nil {
		t.Fatal(err)
	}
	want := message.UsageDetails{InputTokenCount: 10, OutputTokenCount: 3, TotalTokenCount: 13, CachedInputTokenCount: 4, ReasoningTokenCount: 2, AdditionalCounts: map[string]int64{"accepted_prediction_tokens": 1}}
	if diff := cmp.Diff(want, r.Usage()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An agent is safe for concurrent use.
func TestConcurrentRuns(t *testing.T) {
	for api, newAgent := range apis {
		s := openaiwire.New(t, func(r *openaiwire.Request) openaiwire.Reply {
			c, _ := r.Conversation()
			return openaiwire.Reply{Body: openaiwire.Turn{Text: "You said: " + c.LastUser(), Fragment: 2}.Steps(r)}
		})
		a := newAgent(t, s, 0, openaiprovider.AgentConfig{Model: "fake"})
		var group sync.WaitGroup
		for i := range 16 {
			group.Go(func() {
				text := fmt.Sprint("number ", i)
				if r, err := a.RunText(t.Context(), text).Collect(); err != nil || r.String() != "You said: "+text {
					t.Errorf("%s: %q, %v", api, r, err)
				}
			})
		}
		group.Wait()
	}
}

// A local server needs no key, and its address no slash at the end. Both come from the environment as often as not.
func TestEnvironment(t *testing.T) {
	s := openaiwire.New(t, openaiwire.Script(t, openaiwire.Reply{Body: openaiwire.Turn{Text: "ok"}.Chat()}))
	t.Setenv("OPENAI_BASE_URL", strings.TrimSuffix(s.BaseURL(), "/"))
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	client := openai.NewClient(option.WithHTTPClient(openaiwire.Client(t, 0)))
	r, err := openaiprovider.NewAgent(client, openaiprovider.AgentConfig{Model: "llama3"}).RunText(t.Context(), "hi").Collect()
	if err != nil || r.String() != "ok" {
		t.Fatalf("%q, %v", r, err)
	}
	if got := s.Requests()[0].Header.Get("Authorization"); got != "" || s.Requests()[0].Path != "/v1/chat/completions" {
		t.Errorf("%s, authorization %q", s.Requests()[0].Path, got)
	}
}

func TestNoModel(t *testing.T) {
	for api, newAgent := range apis {
		s := openaiwire.New(t, openaiwire.Script(t))
		if _, err := newAgent(t, s, 0, openaiprovider.AgentConfig{}).RunText(t.Context(), "hi").Collect(); err == nil || !strings.Contains(err.Error(), "AgentConfig.Model") {
			t.Errorf("%s: %v", api, err)
		}
	}
}

// What cannot be asked is an error of the run, before anything is sent.
func TestBadRequests(t *testing.T) {
	for name, opts := range map[string][]agent.Option{
		"tool mode":         {agent.WithToolMode("sometimes"), agent.WithTool(tool.NewDeclaration("f", "", jsondoc.Value{}))},
		"tool schema":       {agent.WithTool(tool.NewDeclaration("f", "", jsondoc.Array()))},
		"no schema":         {agent.WithTool(nameOnly{})},
		"format":            {agent.WithResponseFormat(agent.ResponseFormat{Kind: "xml"})},
		"format's schema":   {agent.WithResponseFormat(agent.ResponseFormat{Kind: "json", Schema: jsondoc.String("x")})},
		"role of a message": nil,
	} {
		for api, newAgent := range apis {
			t.Run(api+","+name, func(t *testing.T) {
				s := openaiwire.New(t, openaiwire.Script(t))
				m := message.NewText("hi")
				if opts == nil {
					m.Role = "boss"
				}
				_, err := newAgent(t, s, 0, openaiprovider.AgentConfig{Model: "fake"}).RunMessage(t.Context(), m, opts...).Collect()
				if err == nil || agui.RunErrorFor(err).Code != agui.CodeModelError || !strings.Contains(err.Error(), "openaiprovider: ") {
					t.Errorf("error %v", err)
				}
				if len(s.Requests()) > 0 {
					t.Error("a request was sent")
				}
			})
		}
	}
}

type nameOnly struct{}

func (nameOnly) Name() string        { return "mystery" }
func (nameOnly) Description() string { return "" }

// The client is the caller's: its middleware, headers and queries are used, and
// RequestOptions come on top.
func TestRequestOptions(t *testing.T) {
	s := openaiwire.New(t, openaiwire.Script(t, openaiwire.Reply{Body: openaiwire.Turn{Text: "ok"}.Chat()}))
	a := apis["chat"](t, s, 0, openaiprovider.AgentConfig{Model: "fake", RequestOptions: []option.RequestOption{option.WithHeader("X-Team", "b"), option.WithQuery("q", "1")}}, option.WithHeader("X-Team", "a"))
	if _, err := a.RunText(t.Context(), "hi").Collect(); err != nil {
		t.Fatal(err)
	}
	r := s.Requests()[0]
	if r.Header.Get("X-Team") != "b" || r.RawQuery != "q=1" || r.Path != "/v1/chat/completions" || r.Header.Get("Accept") != "text/event-stream" {
		t.Errorf("%s?%s %v", r.Path, r.RawQuery, r.Header)
	}
}
