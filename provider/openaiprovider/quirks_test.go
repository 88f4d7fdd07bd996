package openaiprovider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/internal/openaiwire"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/provider/openaiprovider"
	"github.com/lockstep-go/lockstep/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// markerKey is the secret of all tests. It may be in a request's header and nowhere
// else. It does not look like a key, so it has to be known to be found.
const markerKey = "marker.Key_7"

func newClient(t testing.TB, s *openaiwire.Server, cut int, opts ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(s.BaseURL()), option.WithAPIKey(markerKey), option.WithMaxRetries(0),
		option.WithHTTPClient(openaiwire.Client(t, cut)),
	}, opts...)...)
}

// call is a tool call as a test expects it.
type call struct{ Name, Arguments string }

// want is what an answer should come to.
type want struct {
	text, reasoning string
	calls           []call
	ids             []string // of the calls, "" for one that the server gave none
	finish          string
	deltas          int // fragments passed on; 0: not checked
}

// heard is what came out of a provider, with the rules checked that hold for every
// answer.
func heard(t *testing.T, stream agent.ResponseStream) (w want, ids []string) {
	t.Helper()
	byIndex := map[int]*message.FunctionCallDelta{}
	var arguments []string
	finishes := 0
	for u, err := range stream {
		if err != nil {
			t.Fatalf("stream: %v", err)
		}
		if finishes > 0 {
			t.Errorf("an update after the finish reason: %+v", u)
		}
		if u.FinishReason != "" {
			finishes++
			w.finish = u.FinishReason
		}
		if len(u.Contents) == 0 && u.FinishReason == "" {
			t.Error("an update that says nothing")
		}
		for _, c := range u.Contents {
			switch c := c.(type) {
			case *message.TextContent:
				w.text += c.Text
			case *message.TextReasoningContent:
				w.reasoning += c.Text
			case *message.FunctionCallDelta:
				w.deltas++
				first := byIndex[c.Index]
				if first == nil {
					if c.Index != len(byIndex) {
						t.Errorf("the call %d has index %d", len(byIndex), c.Index)
					}
					if c.CallID == "" || c.Name == "" || c.Restart {
						t.Errorf("a first fragment without id or name, or with restart: %+v", c)
					}
					for _, other := range byIndex {
						if other.CallID == c.CallID {
							t.Errorf("two calls have the id %q", c.CallID)
						}
					}
					byIndex[c.Index] = c
					w.calls = append(w.calls, call{c.Name, ""})
					arguments = append(arguments, "")
					ids = append(ids, c.CallID)
				} else if c.CallID != first.CallID || c.Name != first.Name {
					t.Errorf("call %d changed from %s %s to %s %s", c.Index, first.CallID, first.Name, c.CallID, c.Name)
				} else if c.Arguments == "" {
					t.Error("a fragment that says nothing")
				}
				if c.Restart {
					arguments[c.Index] = ""
				}
				arguments[c.Index] += c.Arguments
			case *message.UsageContent:
				if u.FinishReason == "" {
					t.Error("usage before the end is a running total, and would be counted twice")
				}
			default:
				t.Errorf("unexpected content %T", c)
			}
		}
	}
	if finishes != 1 {
		t.Errorf("%d finish reasons, want 1", finishes)
	}
	for i := range arguments {
		w.calls[i].Arguments = arguments[i]
	}
	return w, ids
}

func check(t *testing.T, stream agent.ResponseStream, w want) {
	t.Helper()
	got, ids := heard(t, stream)
	if w.deltas == 0 {
		got.deltas = 0
	}
	wantIDs := w.ids
	w.ids = nil
	if diff := cmp.Diff(w, got, cmp.AllowUnexported(want{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, id := range wantIDs {
		if i < len(ids) && id != "" && ids[i] != id {
			t.Errorf("call %d has the id %q, want the server's %q", i, ids[i], id)
		}
	}
}

// atEveryCut runs test with the steps at cuts 1, 3, 7 and whole, and with \r\n at the
// smallest. Long answers are cut where they are read only: a million flushes would test
// the loopback device.
func atEveryCut(t *testing.T, steps []openaiwire.Step, test func(t *testing.T, s *openaiwire.Server, cut int)) {
	for _, cut := range openaiwire.Cuts {
		for _, crlf := range []bool{false, true} {
			long := openaiwire.Len(steps) > 64<<10
			if crlf && (cut != 1 || long) {
				continue
			}
			t.Run(fmt.Sprintf("cut=%d,crlf=%v", cut, crlf), func(t *testing.T) {
				t.Parallel()
				reply := openaiwire.Reply{Body: steps, Cut: cut, CRLF: crlf}
				if long {
					reply.Cut = 0
				}
				s := openaiwire.New(t, openaiwire.Script(t, reply))
				test(t, s, cut)
			})
		}
	}
}

func delta(entries string) openaiwire.Step {
	return openaiwire.Chunk(`{"tool_calls":[` + entries + `]}`)
}

// noise is what gateways and Azure put between the chunks (L5, L9).
func noise() []openaiwire.Step {
	return []openaiwire.Step{
		openaiwire.Comment("ping"), openaiwire.Retry(3000), openaiwire.Raw("event: message\n\n"), openaiwire.Raw("data:\n\n"), openaiwire.Raw("\n\n\n"),
		openaiwire.Data(`{"id":"","choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]}`),
		openaiwire.Data(`{"choices":[{"index":0,"finish_reason":null,"content_filter_results":{"hate":{"filtered":false}}}]}`),
		openaiwire.Data(`{"choices":[{"index":0,"delta":null}],"error":null,"usage":null}`),
		openaiwire.Data(`{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":null,"refusal":null,"reasoning_content":null,"function_call":null}}]}`),
	}
}

// noisy puts noise before, between and behind all steps.
func noisy(steps []openaiwire.Step) []openaiwire.Step {
	out := noise()
	for i, s := range steps {
		out = append(out, s)
		if i < len(steps)-1 { // nothing comes behind [DONE]
			out = append(out, noise()...)
		}
	}
	return out
}

func TestChatQuirks(t *testing.T) {
	finish, done := openaiwire.Finish, openaiwire.Done
	long := strings.Repeat("Zürich 🥕 \\\"x\\\" ", 10_000) // 200 KB once it is JSON
	longArguments := `{"body":"` + long + `"}`
	weather := call{"get_weather", `{"city":"X"}`}
	clock := call{"get_time", `{"tz":"UTC"}`}
	abc := []call{{"search", `{"q": "abc"}`}}

	tests := []struct {
		name  string
		steps []openaiwire.Step
		want  want
	}{
		{"a well-behaved turn", openaiwire.Turn{Reasoning: "hm, größer…", Text: "Grüezi 👋", Calls: []openaiwire.Call{{ID: "c1", Name: "search", Arguments: `{"q":"é\n🥕"}`}}, Input: 3, Output: 4, Fragment: 3}.Chat(),
			want{text: "Grüezi 👋", reasoning: "hm, größer…", calls: []call{{"search", `{"q":"é\n🥕"}`}}, ids: []string{"c1"}, finish: "tool_calls"}},
		{"two interleaved calls", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"get_weather","arguments":"{\"city\""}}`),
			delta(`{"index":1,"id":"c2","function":{"name":"get_time","arguments":"{\"tz\":"}}`),
			delta(`{"index":0,"function":{"arguments":":\"X\"}"}}`), // P5
			delta(`{"index":1,"function":{"arguments":"\"UTC\"}"}}`),
			finish("tool_calls"), done(),
		}, want{calls: []call{weather, clock}, ids: []string{"c1", "c2"}, finish: "tool_calls", deltas: 4}},

		{"L1 no index, one call", []openaiwire.Step{
			delta(`{"id":"c1","type":"function","function":{"name":"search","arguments":""}}`),
			delta(`{"function":{"arguments":"{\"q\": \""}}`), delta(`{"function":{"arguments":"abc\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 3}},
		{"L1 no index, two calls in one chunk", []openaiwire.Step{
			delta(`{"id":"c1","function":{"name":"get_weather","arguments":"{\"city\":\"X\"}"}},{"id":"c2","function":{"name":"get_time","arguments":"{\"tz\":\"UTC\"}"}}`),
			finish("tool_calls"), done(),
		}, want{calls: []call{weather, clock}, ids: []string{"c1", "c2"}, finish: "tool_calls", deltas: 2}},
		{"L1 no index, two calls in two chunks", []openaiwire.Step{
			delta(`{"id":"c1","function":{"name":"get_weather","arguments":"{\"city\":"}}`), delta(`{"function":{"arguments":"\"X\"}"}}`),
			delta(`{"id":"c2","function":{"name":"get_time","arguments":"{\"tz\":"}}`), delta(`{"function":{"arguments":"\"UTC\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: []call{weather, clock}, ids: []string{"c1", "c2"}, finish: "tool_calls", deltas: 4}},
		{"L1 mixed: index null, then a number, then none", []openaiwire.Step{
			delta(`{"index":null,"id":"c1","function":{"name":"get_weather","arguments":"{\"city\":"}}`), delta(`{"index":0,"function":{"arguments":"\"X\"}"}}`),
			delta(`{"id":"c2","function":{"name":"get_time","arguments":"{\"tz\":"}}`), delta(`{"index":1,"function":{"arguments":"\"UTC\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: []call{weather, clock}, ids: []string{"c1", "c2"}, finish: "tool_calls"}},
		{"L1 two calls of one tool, no index, one name and one begin of arguments", []openaiwire.Step{
			delta(`{"id":"c1","function":{"name":"search","arguments":"{\"q\": \"abc\"}"}}`), delta(`{"id":"c2","function":{"name":"search","arguments":"{\"q\": \"abc\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: []call{abc[0], abc[0]}, ids: []string{"c1", "c2"}, finish: "tool_calls"}},

		{"L2 two entries with one index in one chunk", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"f","arguments":""}},{"index":0,"function":{"arguments":"{\"a"}}`),
			delta(`{"index":0,"function":{"arguments":"\":1"}},{"index":0,"function":{"arguments":"}"}}`), finish("tool_calls"), done(),
		}, want{calls: []call{{"f", `{"a":1}`}}, ids: []string{"c1"}, finish: "tool_calls", deltas: 4}},

		{"L4 index always 0, ids differ", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"get_weather","arguments":"{\"city\":\"X\"}"}}`),
			delta(`{"index":0,"id":"c2","function":{"name":"get_time","arguments":"{\"tz\":\"UTC\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: []call{weather, clock}, ids: []string{"c1", "c2"}, finish: "tool_calls", deltas: 2}},
		{"L4 index always 0, one tool, in fragments", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":""}}`), delta(`{"index":0,"function":{"arguments":"{\"q\": \""}}`), delta(`{"index":0,"function":{"arguments":"abc\"}"}}`),
			delta(`{"index":0,"id":"c2","function":{"name":"search","arguments":""}}`), delta(`{"index":0,"function":{"arguments":"{\"q\": \""}}`), delta(`{"index":0,"function":{"arguments":"abc\"}"}}`),
			finish("tool_calls"), done(),
		}, want{calls: []call{abc[0], abc[0]}, ids: []string{"c1", "c2"}, finish: "tool_calls", deltas: 6}},
		{"no ids at all, index always 0, calls whole", []openaiwire.Step{
			delta(`{"index":0,"id":"","function":{"name":"get_weather","arguments":"{\"city\":\"X\"}"}}`), delta(`{"index":0,"id":"","function":{"name":"get_time","arguments":"{\"tz\":\"UTC\"}"}}`),
			delta(`{"index":0,"id":"","function":{"name":"get_time","arguments":"{\"tz\":\"UTC\"}"}}`), finish("stop"), done(),
		}, want{calls: []call{weather, clock, clock}, finish: "tool_calls", deltas: 3}},
		{"one id for two calls", []openaiwire.Step{
			delta(`{"index":0,"id":"call","function":{"name":"get_weather","arguments":"{\"city\":"}}`), delta(`{"index":1,"id":"call","function":{"name":"get_time","arguments":"{\"tz\":"}}`),
			delta(`{"index":1,"id":"call","function":{"arguments":"\"UTC\"}"}}`), delta(`{"index":0,"id":"call","function":{"arguments":"\"X\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: []call{weather, clock}, ids: []string{"call"}, finish: "tool_calls", deltas: 4}},

		{"L5 empty choices and choices without delta everywhere", noisy(openaiwire.Turn{Text: "Hallo", Calls: []openaiwire.Call{{ID: "c1", Name: "search", Arguments: `{"q": "abc"}`}}, Fragment: 3, Input: 5, Output: 7}.Chat()),
			want{text: "Hallo", calls: abc, ids: []string{"c1"}, finish: "tool_calls"}},

		{"L6 continuation with an empty id and a type", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":"{\"q\": \""}}`), delta(`{"index":0,"id":"","type":"function","function":{"arguments":"abc\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 2}},
		{"L6 continuation with id null and an empty name", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":"{\"q\": \""}}`), delta(`{"index":0,"id":null,"function":{"name":"","arguments":"abc\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 2}},
		{"L6 name, or id and name, repeated with each fragment", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":"{\"q\": "}}`), delta(`{"index":0,"function":{"name":"search","arguments":"\"a"}}`),
			delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":"bc"}}`), delta(`{"id":"c1","function":{"name":"search","arguments":"\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 4}},
		{"a new random id with each fragment", []openaiwire.Step{
			delta(`{"index":0,"id":"r1","function":{"name":"search","arguments":"{\"q\": "}}`), delta(`{"index":0,"id":"r2","function":{"arguments":"\"abc\""}}`), delta(`{"index":0,"id":"r3","function":{"arguments":"}"}}`),
			delta(`{"index":0,"id":"r4","function":{"arguments":""}}`), finish("tool_calls"), done(),
		}, want{calls: abc, ids: []string{"r1"}, finish: "tool_calls", deltas: 3}},
		{"no id at first, then one", []openaiwire.Step{
			delta(`{"index":0,"function":{"name":"search","arguments":""}}`), delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":"{\"q\": \"a"}}`), delta(`{"index":0,"id":"c1","function":{"arguments":"bc\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: abc, finish: "tool_calls", deltas: 3}},
		{"no id for the first call, one for the second", []openaiwire.Step{
			delta(`{"index":0,"function":{"name":"search","arguments":"{\"q\": \"abc\"}"}}`), delta(`{"index":0,"id":"c2","function":{"name":"search","arguments":"{\"q\": \"abc\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: []call{abc[0], abc[0]}, ids: []string{"", "c2"}, finish: "tool_calls", deltas: 2}},
		{"the name comes after the id, and after arguments", []openaiwire.Step{
			delta(`{"index":0,"id":"c1"}`), delta(`{"index":0,"function":{"arguments":"{\"q\": "}}`), delta(`{"index":0,"function":{"name":"search","arguments":"\"a"}}`), delta(`{"index":0,"function":{"arguments":"bc\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 2}},
		{"an index that counts fragments", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":"{\"q\": "}}`), delta(`{"index":1,"function":{"arguments":"\"a"}}`), delta(`{"index":2,"function":{"arguments":"bc\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 3}},

		{"L7 everything in one chunk, with the finish reason", []openaiwire.Step{
			openaiwire.Data(`{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"Writing.","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"write","arguments":"{\"path\":\"a.txt\",\"text\":\"hi\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`), done(),
		}, want{text: "Writing.", calls: []call{{"write", `{"path":"a.txt","text":"hi"}`}}, ids: []string{"c1"}, finish: "tool_calls", deltas: 1}},
		{"L7 the first delta already has a brace", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":"{"}}`), delta(`{"index":0,"function":{"arguments":"\"q\": \"abc\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 2}},
		{"L7 no stream at all: the answer is one JSON object", []openaiwire.Step{
			openaiwire.Raw(`  {"id":"x","object":"chat.completion","created":5,"choices":[{"index":0,"message":{"role":"assistant","content":"Hi.","tool_calls":[{"id":"c1","type":"function","function":{"name":"search","arguments":"{\"q\": \"abc\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}` + "\n"),
		}, want{text: "Hi.", calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 1}},

		{"L8 whole arguments as one fragment of 200 KB", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"write","arguments":"{\"body\":\""}}`), delta(`{"index":0,"function":{"arguments":` + openaiwire.Quote(long+`"}`) + `}}`), finish("tool_calls"), done(),
		}, want{calls: []call{{"write", longArguments}}, ids: []string{"c1"}, finish: "tool_calls", deltas: 2}},

		{"L9 comments, retry, event lines, empty events", func() []openaiwire.Step {
			out := []openaiwire.Step{openaiwire.Raw("\uFEFF"), openaiwire.Retry(3000), openaiwire.Comment("OPENROUTER PROCESSING")}
			for _, s := range (openaiwire.Turn{Text: "Hallo", Fragment: 1}).Chat() {
				out = append(out, openaiwire.Raw("id: 7\nevent: chunk\n"), s, openaiwire.Comment("ping"), openaiwire.Raw("event: x\n\n"), openaiwire.Raw("data\n\n"))
			}
			return out
		}(), want{text: "Hallo", finish: "stop"}},
		{"L10 a data line of 1 MB", []openaiwire.Step{
			openaiwire.Chunk(`{"content":` + openaiwire.Quote(strings.Repeat("x", 1<<20)) + `}`), finish("stop"), done(),
		}, want{text: strings.Repeat("x", 1<<20), finish: "stop"}},
		{"L12 one call in many fragments", openaiwire.Turn{Calls: []openaiwire.Call{{ID: "c1", Name: "search", Arguments: `{"q": "abc"}`}}, Fragment: 1}.Chat(),
			want{calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 13}},

		{"L13 two choices: only the first is read", []openaiwire.Step{
			openaiwire.Data(`{"choices":[{"index":1,"delta":{"content":"no","tool_calls":[{"index":0,"id":"cx","function":{"name":"no","arguments":"{}"}}]},"finish_reason":"tool_calls"},{"index":0,"delta":{"content":"yes"},"finish_reason":null}]}`),
			openaiwire.Data(`{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"length"}]}`), finish("stop"), done(),
		}, want{text: "yes", finish: "stop"}},
		{"L13 choices without numbers: the first of each chunk", []openaiwire.Step{
			openaiwire.Data(`{"choices":[{"delta":{"content":"yes"}},{"delta":{"content":"no"}}]}`), openaiwire.Data(`{"choices":[{"delta":{},"finish_reason":"stop"},{"delta":{},"finish_reason":"length"}]}`), done(),
		}, want{text: "yes", finish: "stop"}},
		{"L13 only choice 1: nothing was said", []openaiwire.Step{
			openaiwire.Data(`{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"}]}`), done(),
		}, want{finish: "stop"}},

		{"finish reason early: what comes after it still counts", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":"{\"q\": "}}`), finish("tool_calls"), delta(`{"index":0,"function":{"arguments":"\"abc\"}"}}`), openaiwire.Usage(1, 2), done(),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 2}},
		{"finish reason twice: the second takes nothing back", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":"{\"q\": \"abc\"}"}}`), finish("tool_calls"), finish("stop"), done(),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls"}},
		{"finish reason twice: cut by length stays cut", []openaiwire.Step{
			openaiwire.Chunk(`{"content":"Once upon"}`), finish("length"), finish("stop"), done(),
		}, want{text: "Once upon", finish: "length"}},
		{"finish reason stop although there are calls", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":"{\"q\": \"abc\"}"}}`), finish("stop"), done(),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls"}},
		{"no finish reason, only [DONE]", []openaiwire.Step{openaiwire.Chunk(`{"content":"Hi"}`), done()}, want{text: "Hi", finish: "stop"}},
		{"no [DONE], only a finish reason", []openaiwire.Step{openaiwire.Chunk(`{"content":"Hi"}`), finish("stop")}, want{text: "Hi", finish: "stop"}},
		{"the last empty line is missing", []openaiwire.Step{openaiwire.Chunk(`{"content":"Hi"}`), openaiwire.Raw("data: [DONE]\n")}, want{text: "Hi", finish: "stop"}},
		{"cut off behind the end", []openaiwire.Step{openaiwire.Chunk(`{"content":"Hi"}`), finish("stop"), openaiwire.Raw(`data: {"choices":[],"usa`)}, want{text: "Hi", finish: "stop"}},
		{"an unknown finish reason is passed on", []openaiwire.Step{openaiwire.Chunk(`{"content":"Hi"}`), finish("repetition"), done()}, want{text: "Hi", finish: "repetition"}},

		{"R10 an empty object first, then the real one", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":"{}"}}`), delta(`{"index":0,"function":{"arguments":"{\"q\": "}}`), delta(`{"index":0,"function":{"arguments":"\"abc\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 3}},
		{"R10 an empty object first, the name with each fragment, no ids", []openaiwire.Step{
			delta(`{"index":0,"function":{"name":"search","arguments":"{}"}}`), delta(`{"index":0,"function":{"name":"search","arguments":"{\"q\": "}}`), delta(`{"index":0,"function":{"name":"search","arguments":"\"abc\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: abc, finish: "tool_calls", deltas: 3}},
		{"no ids, one index, one tool twice, each name before its object", []openaiwire.Step{
			delta(`{"index":0,"function":{"name":"search","arguments":""}}`), delta(`{"index":0,"function":{"arguments":"{\"q\": \"abc\"}"}}`),
			delta(`{"index":0,"function":{"name":"search","arguments":""}}`), delta(`{"index":0,"function":{"arguments":"{\"q\": \"abc\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: []call{abc[0], abc[0]}, finish: "tool_calls", deltas: 3}},
		{"R10 white space behind a complete object", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":"{\"q\": \"abc\"}"}}`), delta(`{"index":0,"function":{"arguments":" \n"}}`), finish("tool_calls"), done(),
		}, want{calls: []call{{"search", `{"q": "abc"}` + " \n"}}, ids: []string{"c1"}, finish: "tool_calls", deltas: 2}},
		{"all arguments again at the end", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":"{\"q\": "}}`), delta(`{"index":0,"function":{"arguments":"\"abc\"}"}}`), delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":"{\"q\": \"abc\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 3}},
		{"arguments that are an object and not its text", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"search","arguments":{"q": "abc"}}}`), finish("tool_calls"), done(),
		}, want{calls: abc, ids: []string{"c1"}, finish: "tool_calls", deltas: 1}},
		{"a call without arguments", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"ping"}}`), finish("tool_calls"), done(),
		}, want{calls: []call{{"ping", ""}}, ids: []string{"c1"}, finish: "tool_calls", deltas: 1}},
		{"function_call, from before there were tools", []openaiwire.Step{
			openaiwire.Chunk(`{"function_call":{"name":"search","arguments":""}}`), openaiwire.Chunk(`{"function_call":{"arguments":"{\"q\": \"abc\"}"}}`), finish("function_call"), done(),
		}, want{calls: abc, finish: "tool_calls", deltas: 2}},
		{"numbers in quotes, ids as numbers", []openaiwire.Step{
			openaiwire.Data(`{"id":17,"created":"1700000000","choices":[{"index":"0","delta":{"tool_calls":[{"index":"0","id":5,"function":{"name":"search","arguments":"{\"q\": \"abc\"}"}}]}}]}`), finish("tool_calls"), done(),
		}, want{calls: abc, ids: []string{"5"}, finish: "tool_calls"}},
		{"a half-open call that says nothing is forgotten", []openaiwire.Step{
			openaiwire.Chunk(`{"content":"Hi"}`), delta(`{"index":0,"id":"c1"}`), delta(`{"index":0,"function":{"arguments":" "}}`), delta(`{}`), finish("stop"), done(),
		}, want{text: "Hi", finish: "stop"}},

		{"R4 half a character in each of two chunks", []openaiwire.Step{
			openaiwire.Chunk(`{"content":"a\ud83d"}`), openaiwire.Chunk(`{"content":""}`), openaiwire.Chunk(`{"content":"\ude00\uD83D"}`), openaiwire.Chunk(`{"content":"\ude00"}`),
			openaiwire.Chunk(`{"reasoning_content":"\ud83d"}`), openaiwire.Chunk(`{"reasoning_content":"\ude00"}`),
			delta(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\":\"\ud83d"}}`), delta(`{"index":1,"id":"c2","function":{"name":"f","arguments":"{\"b\":\"\ud83d"}}`),
			delta(`{"index":0,"function":{"arguments":"\ude00\"}"}}`), delta(`{"index":1,"function":{"arguments":"\ude01\"}"}}`), finish("tool_calls"), done(),
		}, want{text: "a😀😀", reasoning: "😀", calls: []call{{"f", `{"a":"😀"}`}, {"f", `{"b":"😁"}`}}, finish: "tool_calls", deltas: 4}},
		{"R4 an escape in the arguments, cut between its halves, is the model's own text", []openaiwire.Step{
			delta(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\":\"\\ud83d"}}`), delta(`{"index":0,"function":{"arguments":"\\ude00\"}"}}`), finish("tool_calls"), done(),
		}, want{calls: []call{{"f", `{"a":"\ud83d\ude00"}`}}, finish: "tool_calls", deltas: 2}},
		{"R4 a half without another", []openaiwire.Step{openaiwire.Chunk(`{"content":"a\ud83d"}`), openaiwire.Chunk(`{"content":"b"}`), openaiwire.Chunk(`{"content":"\ude00c\ud83dd"}`), openaiwire.Chunk(`{"content":"\ud83d"}`), finish("stop"), done()},
			want{text: "a\uFFFDb\uFFFDc\uFFFDd", finish: "stop"}},

		{"reasoning in its several forms", []openaiwire.Step{
			openaiwire.Chunk(`{"reasoning_content":"a","reasoning":"a"}`), openaiwire.Chunk(`{"reasoning":"b"}`), openaiwire.Chunk(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"c"}]},{"type":"text","text":"Hi"}]}`), finish("stop"), done(),
		}, want{text: "Hi", reasoning: "abc", finish: "stop"}},
		{"a refusal is what the person reads", []openaiwire.Step{openaiwire.Chunk(`{"refusal":"I can't "}`), openaiwire.Chunk(`{"refusal":"do that."}`), finish("stop"), done()}, want{text: "I can't do that.", finish: "stop"}},
		{"the whole message again at the end", []openaiwire.Step{
			openaiwire.Chunk(`{"content":"Hi "}`), openaiwire.Chunk(`{"content":"you"}`), openaiwire.Data(`{"choices":[{"index":0,"message":{"content":"Hi you"},"finish_reason":"stop"}]}`), done(),
		}, want{text: "Hi you", finish: "stop"}},
		{"repeated text is not a repetition", []openaiwire.Step{openaiwire.Chunk(`{"content":"ha"}`), openaiwire.Chunk(`{"content":"ha"}`), openaiwire.Chunk(`{"content":"!"}`), finish("stop"), done()}, want{text: "haha!", finish: "stop"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			atEveryCut(t, tt.steps, func(t *testing.T, s *openaiwire.Server, cut int) {
				a := openaiprovider.NewChatCompletionsAgent(newClient(t, s, cut), openaiprovider.AgentConfig{
					Model: "fake", Config: agent.Config{DisableFuncAutoCall: true},
				})
				check(t, a.RunText(t.Context(), "hi"), tt.want)
			})
		})
	}
}

func tools(ts ...tool.Tool) []tool.Tool { return ts }

// counter is a tool that counts its calls.
type counter struct {
	tool.Declaration
	arguments []string
}

func newCounter(name string) *counter {
	return &counter{Declaration: *tool.NewDeclaration(name, "", jsondoc.Value{})}
}

func (c *counter) Call(_ context.Context, args string) (any, error) {
	c.arguments = append(c.arguments, args)
	return "done", nil
}

// R9: arguments that were cut by length never reach the tool, not even when what is
// there happens to be valid JSON or when the server claims afterwards that it has
// finished.
func TestCutByLengthNeverRuns(t *testing.T) {
	half := `{"index":0,"id":"c1","function":{"name":"save","arguments":"{\"path\":\"/data/a\",\"mode\":\"del"}}`
	whole := `{"index":0,"id":"c1","function":{"name":"save","arguments":"{\"path\":\"/data/a\"}"}}`
	for name, steps := range map[string][]openaiwire.Step{
		"in the middle":           {delta(half), openaiwire.Finish("length"), openaiwire.Done()},
		"where it looks complete": {delta(whole), openaiwire.Finish("length"), openaiwire.Done()},
		"and taken back":          {delta(whole), openaiwire.Finish("length"), openaiwire.Finish("tool_calls"), openaiwire.Done()},
		"without a reason":        {delta(half), openaiwire.Finish("stop"), openaiwire.Done()},
		"with [DONE] only":        {delta(half), openaiwire.Done()},
	} {
		for _, cut := range openaiwire.Cuts {
			t.Run(fmt.Sprint(name, ",cut=", cut), func(t *testing.T) {
				s := openaiwire.New(t, openaiwire.Script(t,
					openaiwire.Reply{Body: steps, Cut: cut},
					openaiwire.Reply{Body: openaiwire.Turn{Text: "I could not save it."}.Chat(), Cut: cut},
				))
				save := newCounter("save")
				a := openaiprovider.NewChatCompletionsAgent(newClient(t, s, cut), openaiprovider.AgentConfig{Model: "fake", Config: agent.Config{Tools: []tool.Tool{save}}})
				r, err := a.RunText(t.Context(), "hi").Collect()
				if err != nil {
					t.Fatal(err)
				}
				if len(save.arguments) != 0 {
					t.Errorf("the tool ran with %q", save.arguments)
				}
				if got := r.String(); got != "I could not save it." {
					t.Errorf("text %q", got)
				}
				// The model got the call back as an object, and was told why it did not
				// run.
				c, err := s.Requests()[1].Conversation()
				if err != nil {
					t.Fatal(err)
				}
				last := c.Messages[len(c.Messages)-1]
				if last.Role != "tool" || last.CallID != "c1" || !strings.HasPrefix(last.Text, "Error: ") {
					t.Errorf("the model was told %+v", last)
				}
				if got := c.Messages[len(c.Messages)-2].Calls[0].Arguments; !json.Valid([]byte(got)) {
					t.Errorf("the history has arguments that servers refuse: %s", got)
				}
			})
		}
	}
}
