package openaiprovider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/internal/openaiwire"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/provider/openaiprovider"
)

func event(name, members string) openaiwire.Step {
	return openaiwire.Event(name, `{"type":"`+name+`",`+members+`}`)
}

// completed is the last event, with this output.
func completed(output string) openaiwire.Step {
	return event("response.completed", `"response":{"id":"resp_1","status":"completed","output":[`+output+`],"usage":{"input_tokens":1,"output_tokens":2}}`)
}

// only returns the steps whose text has one of the marks.
func only(steps []openaiwire.Step, marks ...string) (out []openaiwire.Step) {
	for _, s := range steps {
		for _, m := range marks {
			if strings.Contains(s.String(), m) {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// without returns the steps whose text has none of the marks.
func without(steps []openaiwire.Step, marks ...string) (out []openaiwire.Step) {
	drop := only(steps, marks...)
	for _, s := range steps {
		keep := true
		for _, d := range drop {
			keep = keep && d.String() != s.String()
		}
		if keep {
			out = append(out, s)
		}
	}
	return out
}

// replaced is the steps with each old text replaced by the new one behind it.
func replaced(steps []openaiwire.Step, pairs ...string) (out []openaiwire.Step) {
	r := strings.NewReplacer(pairs...)
	for _, s := range steps {
		out = append(out, openaiwire.Raw(r.Replace(s.String())))
	}
	return out
}

// What servers that imitate the Responses API leave out, and what the kinds L1 to L12
// look like here.
func TestResponsesQuirks(t *testing.T) {
	turn := openaiwire.Turn{Reasoning: "hm, größer…", Text: "Grüezi 👋", Fragment: 4, Input: 3, Output: 4, Calls: []openaiwire.Call{
		{ID: "c1", Name: "get_weather", Arguments: `{"city":"Zürich"}`}, {ID: "c2", Name: "get_time", Arguments: `{"tz":"UTC"}`},
	}}
	full := turn.Responses()
	all := want{text: "Grüezi 👋", reasoning: "hm, größer…", finish: "tool_calls", ids: []string{"c1", "c2"},
		calls: []call{{"get_weather", `{"city":"Zürich"}`}, {"get_time", `{"tz":"UTC"}`}}}
	anonymous := all
	anonymous.ids = nil
	long := strings.Repeat("Zürich 🥕 \\\"x\\\" ", 10_000)
	abc := []call{{"search", `{"q": "abc"}`}}
	added := event("response.output_item.added", `"output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"c1","name":"search","arguments":""}`)
	piece := func(text string) openaiwire.Step {
		return event("response.function_call_arguments.delta", `"item_id":"fc_1","output_index":0,"delta":`+openaiwire.Quote(text))
	}

	tests := []struct {
		name  string
		steps []openaiwire.Step
		want  want
	}{
		{"a well-behaved turn", full, all},
		{"no deltas, only what is done", without(full, ".delta"), all},
		{"no deltas, only done items", without(full, ".delta", "_text.done", "arguments.done"), all},
		{"only the last event", only(full, "response.completed"), all},
		{"only deltas", without(full, ".done"), all},
		{"no item ids", replaced(full, `"item_id":"`, `"was":"`, `"id":"rs_`, `"was":"`, `"id":"msg_`, `"was":"`, `"id":"fc_`, `"was":"`), all},
		{"no output indexes", replaced(full, `"output_index":`, `"was":`), all},
		{"neither, the last event repeats it all", replaced(full, `"item_id":"`, `"was":"`, `"id":"rs_`, `"was":"`, `"id":"msg_`, `"was":"`, `"id":"fc_`, `"was":"`, `"output_index":`, `"was2":`), all},
		{"neither, and no call ids", replaced(full, `"item_id":"`, `"was":"`, `"id":"rs_`, `"was":"`, `"id":"msg_`, `"was":"`, `"id":"fc_`, `"was":"`, `"output_index":`, `"was2":`, `"call_id":`, `"was3":`), anonymous},
		{"no call ids", replaced(full, `"call_id":`, `"was":`), anonymous},
		{"no type in the data, only event lines", replaced(full, `{"type":"response.`, `{"was":"`), all},
		{"no event lines", replaced(full, "event: ", ": "), all},
		{"noise between all events", func() (out []openaiwire.Step) {
			for _, s := range full {
				out = append(out, openaiwire.Comment("ping"), openaiwire.Retry(3000), openaiwire.Raw("event: x\n\n"), openaiwire.Raw("data:\n\n"),
					event("response.queued", `"response":{}`), event("response.some_new_thing", `"delta":{"a":1}`), s)
			}
			return out
		}(), all},
		{"interleaved calls", []openaiwire.Step{
			added, event("response.output_item.added", `"output_index":1,"item":{"id":"fc_2","type":"function_call","call_id":"c2","name":"search","arguments":""}`),
			piece(`{"q": `), event("response.function_call_arguments.delta", `"item_id":"fc_2","output_index":1,"delta":"{\"q\":"`),
			piece(`"abc"}`), event("response.function_call_arguments.delta", `"item_id":"fc_2","output_index":1,"delta":"1}"`), completed(""),
		}, want{calls: []call{abc[0], {"search", `{"q":1}`}}, ids: []string{"c1", "c2"}, finish: "tool_calls", deltas: 6}},
		{"everything in one event", []openaiwire.Step{
			event("response.output_item.done", `"output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"c1","name":"search","arguments":"{\"q\": \"abc\"}"}`), completed(""),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 1}},
		{"the item comes after its arguments", []openaiwire.Step{
			piece(`{"q": `), piece(`"abc"}`), event("response.output_item.done", `"output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"c1","name":"search","arguments":"{\"q\": \"abc\"}"}`), completed(""),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 1}},
		{"whole arguments as one fragment of 200 KB", []openaiwire.Step{added, piece(`{"body":"`), piece(long + `"}`), completed("")},
			want{calls: []call{{"search", `{"body":"` + long + `"}`}}, ids: []string{"c1"}, finish: "tool_calls", deltas: 3}},
		{"a data line of 256 KB", []openaiwire.Step{event("response.output_text.delta", `"item_id":"m","delta":`+openaiwire.Quote(strings.Repeat("x", 1<<18))), completed("")},
			want{text: strings.Repeat("x", 1<<18), finish: "stop"}},
		{"an empty object first, then the real one", []openaiwire.Step{
			event("response.output_item.added", `"output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"c1","name":"search","arguments":"{}"}`),
			piece(`{"q": `), piece(`"abc"}`), completed(""),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 3}},
		{"the end says something else than the deltas: the end counts", []openaiwire.Step{
			added, piece(`{"q": "ab`), event("response.function_call_arguments.done", `"item_id":"fc_1","output_index":0,"arguments":"{\"q\": \"abc\"}"`),
			event("response.output_item.done", `"output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"c1","name":"search","arguments":"{\"q\":7}"}`), completed(""),
		}, want{calls: []call{{"search", `{"q":7}`}}, ids: []string{"c1"}, finish: "tool_calls", deltas: 4}},
		{"R4 half a character in each of two deltas", []openaiwire.Step{
			event("response.output_text.delta", `"item_id":"m","delta":"a\ud83d"`), event("response.output_text.delta", `"item_id":"m","delta":"\ude00"`), event("response.output_text.done", `"item_id":"m","text":"a\ud83d\ude00"`),
			event("response.reasoning_text.delta", `"item_id":"r","delta":"\ud83d"`), event("response.reasoning_text.delta", `"item_id":"r","delta":"\ude00"`), event("response.reasoning_text.done", `"item_id":"r","text":"\ud83d\ude00"`),
			event("response.output_item.added", `"output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"c1","name":"f","arguments":""}`),
			event("response.function_call_arguments.delta", `"item_id":"fc_1","delta":"{\"a\":\"\ud83d"`), event("response.function_call_arguments.delta", `"item_id":"fc_1","delta":"\ude00"`),
			event("response.function_call_arguments.delta", `"item_id":"fc_1","delta":"\ud83d"`), event("response.function_call_arguments.done", `"item_id":"fc_1","arguments":"{\"a\":\"\ud83d\ude00\ud83d\ude01\"}"`), completed(""),
		}, want{text: "a😀", reasoning: "😀", calls: []call{{"f", `{"a":"😀😁"}`}}, ids: []string{"c1"}, finish: "tool_calls", deltas: 4}},
		{"no stream at all", []openaiwire.Step{
			openaiwire.Raw(`{"id":"resp_1","object":"response","created_at":5,"status":"completed","error":null,"output":[{"id":"m","type":"message","content":[{"type":"output_text","text":"Hi."}]},{"id":"fc_1","type":"function_call","call_id":"c1","name":"search","arguments":"{\"q\": \"abc\"}"}],"usage":{"input_tokens":1,"output_tokens":2}}`),
		}, want{text: "Hi.", calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 1}},
		{"[DONE] in place of the last event", []openaiwire.Step{event("response.output_text.delta", `"delta":"Hi"`), openaiwire.Done()}, want{text: "Hi", finish: "stop"}},
		{"cut by length", openaiwire.Turn{Text: "Once upon", Finish: "length"}.Responses(), want{text: "Once upon", finish: "length"}},
		{"cut by length in a call", openaiwire.Turn{Calls: []openaiwire.Call{{ID: "c1", Name: "search", Arguments: `{"q": "ab`}}, Finish: "length"}.Responses(),
			want{calls: []call{{"search", `{"q": "ab`}}, ids: []string{"c1"}, finish: "length"}},
		{"cut for a reason nobody knows", []openaiwire.Step{added, piece(`{"q": 1}`), event("response.incomplete", `"response":{"status":"incomplete","incomplete_details":{"reason":"power_cut"}}`)},
			want{calls: []call{{"search", `{"q": 1}`}}, ids: []string{"c1"}, finish: "length"}},
		{"cut by a filter", openaiwire.Turn{Text: "Once upon", Finish: "content_filter"}.Responses(), want{text: "Once upon", finish: "content_filter"}},
		{"a refusal", []openaiwire.Step{event("response.refusal.delta", `"item_id":"m","content_index":0,"delta":"I can't."`), event("response.refusal.done", `"item_id":"m","content_index":0,"refusal":"I can't."`), completed("")},
			want{text: "I can't.", finish: "stop"}},
		{"a summary of two parts", []openaiwire.Step{
			event("response.reasoning_summary_text.delta", `"item_id":"r","summary_index":0,"delta":"First."`), event("response.reasoning_summary_text.done", `"item_id":"r","summary_index":0,"text":"First."`),
			event("response.reasoning_summary_text.delta", `"item_id":"r","summary_index":1,"delta":"Sec"`), event("response.reasoning_summary_text.delta", `"item_id":"r","summary_index":1,"delta":"ond."`), completed(""),
		}, want{reasoning: "First.\n\nSecond.", finish: "stop"}},
		{"reasoning of open models", []openaiwire.Step{event("response.reasoning_text.delta", `"item_id":"r","content_index":0,"delta":"hm"`), event("response.reasoning_text.done", `"item_id":"r","content_index":0,"text":"hm"`), completed("")},
			want{reasoning: "hm", finish: "stop"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			atEveryCut(t, tt.steps, func(t *testing.T, s *openaiwire.Server, cut int) {
				a := openaiprovider.NewResponsesAgent(newClient(t, s, cut), openaiprovider.AgentConfig{
					Model: "fake", Config: agent.Config{DisableFuncAutoCall: true},
				})
				check(t, a.RunText(t.Context(), "hi"), tt.want)
			})
		})
	}
}

// Sealed reasoning comes out with its id and goes back with it, before the call that it
// belongs to.
func TestSealedReasoning(t *testing.T) {
	for _, cut := range openaiwire.Cuts {
		t.Run(fmt.Sprint("cut=", cut), func(t *testing.T) {
			s := openaiwire.New(t, openaiwire.Script(t,
				openaiwire.Reply{Cut: cut, Body: openaiwire.Turn{Reasoning: "hm", Calls: []openaiwire.Call{{ID: "c1", Name: "save", Arguments: `{}`}}}.Responses()},
				openaiwire.Reply{Cut: cut, Body: openaiwire.Turn{Text: "ok"}.Responses()},
			))
			a := openaiprovider.NewResponsesAgent(newClient(t, s, cut), openaiprovider.AgentConfig{Model: "fake", EncryptedReasoning: true, ReasoningSummary: "auto",
				Config: agent.Config{Tools: tools(newCounter("save"))}})
			r, err := a.RunText(t.Context(), "hi").Collect()
			if err != nil {
				t.Fatal(err)
			}
			var sealed string
			for c := range r.Contents() {
				if thought, ok := c.(*message.TextReasoningContent); ok && thought.ProtectedData != "" {
					sealed = thought.ProtectedData
				}
			}
			if sealed != "rs_0:sealed-0" {
				t.Errorf("protected data %q", sealed)
			}
			var body struct {
				Include   []string
				Reasoning struct{ Summary string }
				Store     *bool
				Input     []struct {
					Type, ID, Name string
					CallID         string `json:"call_id"`
					Encrypted      string `json:"encrypted_content"`
					Summary        []any
				}
			}
			if err := s.Requests()[1].Decode(&body); err != nil {
				t.Fatal(err)
			}
			if len(body.Include) != 1 || body.Include[0] != "reasoning.encrypted_content" || body.Reasoning.Summary != "auto" || body.Store == nil || *body.Store {
				t.Errorf("asked for %+v", body)
			}
			var kinds []string
			for _, item := range body.Input {
				kinds = append(kinds, item.Type)
			}
			if got := strings.Join(kinds, " "); got != " reasoning function_call function_call_output" { // a message's type is its default
				t.Fatalf("input %q", got)
			}
			if item := body.Input[1]; item.ID != "rs_0" || item.Encrypted != "sealed-0" || item.Summary == nil {
				t.Errorf("reasoning %+v", item)
			}
			if item := body.Input[2]; item.CallID != "c1" || item.ID != "" {
				t.Errorf("call %+v", item)
			}
		})
	}
}
