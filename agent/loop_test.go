package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// The shape of every run: what the model says is passed on, each call is handed over
// complete when the turn is over, each result as its tool ends.
func TestLoop(t *testing.T) {
	failing := functool.MustNew(functool.Config{Name: "fails"}, func(context.Context, struct{}) (string, error) {
		return "", errors.New("password is swordfish")
	})
	telling := functool.MustNew(functool.Config{Name: "tells"}, func(context.Context, struct{}) (string, error) {
		return "", tool.Errorf("no such city")
	})
	panicking := functool.MustNew(functool.Config{Name: "panics"}, func(context.Context, struct{}) (string, error) {
		panic("swordfish")
	})
	exiting := functool.MustNew(functool.Config{Name: "exits"}, func(context.Context, struct{}) (string, error) {
		runtime.Goexit()
		return "", nil
	})
	client := tool.NewDeclaration("pick", "", jsondoc.Value{})
	gated := tool.ApprovalRequiredFunc(functool.MustNew(functool.Config{Name: "gated"}, func(context.Context, struct{}) (string, error) {
		return "done", nil
	}))
	answer := agenttest.Turn(agenttest.Text("ok"))
	turn := agenttest.Turn
	call := agenttest.Call
	tests := []struct {
		name  string
		turns []agenttest.Script
		opts  []agent.Option
		want  string
	}{
		{"no call", []agenttest.Script{answer}, nil, "text:ok"},
		{"one call", []agenttest.Script{turn(agenttest.Text("hm "), call("c1", "weather", city("Oslo"))), answer}, nil,
			`text:hm  delta:c1:{"city":"Oslo"} call:c1:weather{"city":"Oslo"} result:c1:rain in Oslo text:ok`},
		{"two rounds", []agenttest.Script{turn(call("c1", "weather", city("A"))), turn(call("c2", "weather", city("B"))), answer}, nil,
			`delta:c1:{"city":"A"} call:c1:weather{"city":"A"} result:c1:rain in A delta:c2:{"city":"B"} call:c2:weather{"city":"B"} result:c2:rain in B text:ok`},
		{"reasoning is passed on", []agenttest.Script{turn(agenttest.Reasoning("well", "p"), agenttest.Text("ok"))}, nil, "think:well text:ok"},
		{"a call in one piece", []agenttest.Script{turn(agenttest.WholeCall("c1", "weather", city("A")), agenttest.Text("x")), answer}, nil,
			`text:x call:c1:weather{"city":"A"} result:c1:rain in A text:ok`},
		{"no arguments at all", []agenttest.Script{turn(call("c1", "tells", "")), answer}, nil, `delta:c1: call:c1:tells failed:c1:no such city text:ok`},

		{"a tool's error", []agenttest.Script{turn(call("c1", "fails", "{}")), answer}, nil,
			`delta:c1:{} call:c1:fails{} failed:c1:password is swordfish text:ok`},
		{"a tool's panic", []agenttest.Script{turn(call("c1", "panics", "{}")), answer}, nil,
			`delta:c1:{} call:c1:panics{} failed:c1:panic text:ok`},
		{"a tool that ends its goroutine", []agenttest.Script{turn(call("c1", "exits", "{}")), answer}, nil,
			`delta:c1:{} call:c1:exits{} failed:c1:agent: the tool ended its goroutine without answering text:ok`},
		{"an unknown tool", []agenttest.Script{turn(call("c1", "nope", "{}")), answer}, nil,
			`delta:c1:{} call:c1:nope{} failed:c1:unknown text:ok`},

		// field bug R9: what a partial parser would make plausible must not run
		{"cut by length", []agenttest.Script{turn(call("c1", "weather", `{"city":"Os`), agenttest.Finish("length")), answer}, nil,
			`delta:c1:{"city":"Os call:c1:weather{"city":"Os!truncated failed:c1:truncated text:ok`},
		{"cut by length after arguments that look complete", []agenttest.Script{turn(call("c1", "weather", city("A")), call("c2", "weather", city("B")), agenttest.Finish("length")), answer}, nil,
			`delta:c1:{"city":"A"} delta:c2:{"city":"B"} call:c1:weather{"city":"A"} call:c2:weather{"city":"B"}!truncated failed:c2:truncated result:c1:rain in A text:ok`},
		{"cut by a filter", []agenttest.Script{turn(call("c1", "weather", city("A")), agenttest.Finish("content_filter")), answer}, nil,
			`delta:c1:{"city":"A"} call:c1:weather{"city":"A"}!truncated failed:c1:truncated text:ok`},
		{"cut again and again", []agenttest.Script{
			turn(call("c1", "weather", `{`), agenttest.Finish("length")), turn(call("c2", "weather", `{`), agenttest.Finish("length")), turn(call("c3", "weather", `{`), agenttest.Finish("length"))}, nil,
			`delta:c1:{ call:c1:weather{!truncated failed:c1:truncated delta:c2:{ call:c2:weather{!truncated failed:c2:truncated delta:c3:{ call:c3:weather{!truncated failed:c3:truncated error:truncated`},
		{"cut without a reason", []agenttest.Script{turn(call("c1", "weather", `{"city":"Os`), agenttest.NoFinish()), answer}, nil,
			`delta:c1:{"city":"Os call:c1:weather{"city":"Os!arguments failed:c1:arguments text:ok`},
		{"text after the arguments", []agenttest.Script{turn(call("c1", "weather", `{"city":"A"}}`)), answer}, nil,
			`delta:c1:{"city":"A"}} call:c1:weather{"city":"A"}}!arguments failed:c1:arguments text:ok`},
		{"a member twice", []agenttest.Script{turn(call("c1", "weather", `{"city":"A","city":"B"}`)), answer}, nil,
			`delta:c1:{"city":"A","city":"B"} call:c1:weather{"city":"A","city":"B"}!arguments failed:c1:arguments text:ok`},
		{"no object", []agenttest.Script{turn(call("c1", "weather", `["A"]`)), answer}, nil,
			`delta:c1:["A"] call:c1:weather["A"]!arguments failed:c1:arguments text:ok`},

		{"a client's tool ends the turn", []agenttest.Script{turn(call("c1", "pick", "{}"))}, nil, `delta:c1:{} call:c1:pick{}`},
		{"a mixed turn", []agenttest.Script{turn(call("c1", "pick", "{}"), call("c2", "weather", city("A")))}, nil,
			`delta:c1:{} delta:c2:{"city":"A"} call:c1:pick{} call:c2:weather{"city":"A"} result:c2:rain in A`},
		{"a client's tool with broken arguments is corrected here", []agenttest.Script{turn(call("c1", "pick", "{")), answer}, nil,
			`delta:c1:{ call:c1:pick{!arguments failed:c1:arguments text:ok`},

		{"a tool that needs approval is held", []agenttest.Script{turn(call("c1", "gated", "{}"))}, nil, `delta:c1:{} call:c1:gated{}`},
		// field bug R14: what is gated must not become unreachable, nor run by itself
		{"a gate without an opinion holds it too", []agenttest.Script{turn(call("c1", "gated", "{}"), call("c2", "weather", city("A")))},
			[]agent.Option{agent.WithGate(func(context.Context, *message.FunctionCallContent) agent.Decision { return agent.Decision{} })},
			`delta:c1:{} delta:c2:{"city":"A"} call:c1:gated{} call:c2:weather{"city":"A"} result:c2:rain in A`},
		{"a gate approves", []agenttest.Script{turn(call("c1", "gated", "{}")), answer},
			[]agent.Option{agent.WithGate(func(context.Context, *message.FunctionCallContent) agent.Decision { return agent.RunCall() })},
			`delta:c1:{} call:c1:gated{} result:c1:done text:ok`},
		{"a gate holds any tool", []agenttest.Script{turn(call("c1", "weather", city("A")))},
			[]agent.Option{agent.WithGate(func(context.Context, *message.FunctionCallContent) agent.Decision { return agent.HoldCall() })},
			`delta:c1:{"city":"A"} call:c1:weather{"city":"A"}`},
		{"a gate rejects", []agenttest.Script{turn(call("c1", "weather", city("A"))), answer},
			[]agent.Option{agent.WithGate(func(context.Context, *message.FunctionCallContent) agent.Decision {
				return agent.RejectCall("the user said no")
			})},
			`delta:c1:{"city":"A"} call:c1:weather{"city":"A"} failed:c1:rejected text:ok`},
		{"a gate changes the arguments", []agenttest.Script{turn(call("c1", "weather", city("A"))), answer},
			[]agent.Option{agent.WithGate(func(context.Context, *message.FunctionCallContent) agent.Decision {
				return agent.RunCallWith(city("B"))
			})},
			`delta:c1:{"city":"A"} call:c1:weather{"city":"A"} result:c1:rain in B text:ok`},
		{"a gate's arguments are checked, too", []agenttest.Script{turn(call("c1", "weather", city("A"))), answer},
			[]agent.Option{agent.WithGate(func(context.Context, *message.FunctionCallContent) agent.Decision {
				return agent.RunCallWith("null") // field bug H17
			})},
			`delta:c1:{"city":"A"} call:c1:weather{"city":"A"} failed:c1:arguments text:ok`},

		{"a gate takes the arguments away", []agenttest.Script{turn(call("c1", "tells", `{}`)), answer},
			[]agent.Option{agent.WithGate(func(context.Context, *message.FunctionCallContent) agent.Decision { return agent.RunCallWith("") })},
			`delta:c1:{} call:c1:tells{} failed:c1:no such city text:ok`},
		{"a gate takes arguments away that are needed", []agenttest.Script{turn(call("c1", "weather", city("A"))), answer},
			[]agent.Option{agent.WithGate(func(context.Context, *message.FunctionCallContent) agent.Decision { return agent.RunCallWith("") })},
			`delta:c1:{"city":"A"} call:c1:weather{"city":"A"} failed:c1:the arguments do not fit the schema: (root): missing property 'city' text:ok`},

		{"the limit", []agenttest.Script{turn(call("c1", "weather", city("A"))), turn(call("c2", "weather", city("A")))},
			[]agent.Option{agent.WithMaxIterations(2)},
			`delta:c1:{"city":"A"} call:c1:weather{"city":"A"} result:c1:rain in A delta:c2:{"city":"A"} call:c2:weather{"city":"A"} result:c2:rain in A error:limit2`},
		{"the model fails", []agenttest.Script{turn(agenttest.Text("par"), agenttest.Fail(errors.New("lost")))}, nil, `text:par error:lost`},
		{"the model fails in a call", []agenttest.Script{turn(call("c1", "weather", `{"ci`), agenttest.Fail(errors.New("lost")))}, nil, `delta:c1:{"ci error:lost`},
	}
	for _, tt := range tests {
		for _, chunk := range []int{0, 1, 3, 7} {
			t.Run(fmt.Sprint(tt.name, "/", chunk), func(t *testing.T) {
				model := agenttest.New(tt.turns...)
				model.Chunk = chunk
				a := model.Agent(agent.Config{Tools: []tool.Tool{weather(nil), failing, telling, panicking, exiting, client, gated}})
				check(t, trace(a.RunText(t.Context(), "hi", tt.opts...)), tt.want)
				if model.Remaining() != 0 {
					t.Errorf("%d turns were not asked for", model.Remaining())
				}
			})
		}
	}
}

// What a failed call tells the model and the world.
func TestFailuresShowNothing(t *testing.T) {
	var log bytes.Buffer
	fails := functool.MustNew(functool.Config{Name: "fails"}, func(context.Context, struct{}) (string, error) {
		return "", errors.New("swordfish")
	})
	panics := functool.MustNew(functool.Config{Name: "panics"}, func(context.Context, struct{}) (string, error) {
		panic("swordfish")
	})
	tells := functool.MustNew(functool.Config{Name: "tells"}, func(context.Context, struct{}) (string, error) {
		return "", &tool.Error{Message: "try another city", Err: errors.New("swordfish")}
	})
	model := agenttest.New(
		agenttest.Turn(agenttest.Call("c1", "fails", "{}"), agenttest.Call("c2", "panics", "{}"), agenttest.Call("c3", "tells", "{}"), agenttest.Call("c4", "nope", "{}"), agenttest.Call("c5", "tells", "{")),
		agenttest.Turn(agenttest.Text("ok")),
	)
	a := model.Agent(agent.Config{Tools: []tool.Tool{fails, panics, tells}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	response, err := a.RunText(t.Context(), "hi").Collect()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for c := range response.Contents() {
		if r, ok := c.(*message.FunctionResultContent); ok {
			texts[r.CallID] = r.Text()
		}
	}
	want := map[string]string{
		"c1": message.FailedText,
		"c2": message.FailedText,
		"c3": "Error: try another city",
		"c4": `Error: there is no tool "nope". The tools are fails, panics, tells.`,
		"c5": "Error: the arguments are not a JSON object, so the call was not run (",
	}
	if i := strings.Index(texts["c5"], "("); i > 0 {
		texts["c5"] = texts["c5"][:i+1]
	}
	if d := cmp.Diff(want, texts); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if prompt := model.Prompts()[1].Text(); strings.Contains(prompt, "swordfish") {
		t.Errorf("the model was told an error's text:\n%s", prompt)
	}
	for _, part := range []string{"swordfish", "loop_test.go", "tool=panics", "call=c2"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log lacks %q:\n%s", part, log.String())
		}
	}
}

// A run can begin where another one ended: the conversation is all there is to know.
func TestBeginsWithOpenCalls(t *testing.T) {
	open := func(name, args string) []*message.Message {
		return []*message.Message{
			message.NewText("hi"),
			message.NewAssistant(&message.FunctionCallContent{CallID: "c1", Name: name, Arguments: args}),
		}
	}
	client := tool.NewDeclaration("pick", "", jsondoc.Value{})
	gate := func(d agent.Decision) agent.Option {
		return agent.WithGate(func(context.Context, *message.FunctionCallContent) agent.Decision { return d })
	}
	two := func() []*message.Message {
		m := open("weather", city("A"))
		m[1].Contents = append(m[1].Contents, &message.FunctionCallContent{CallID: "c2", Name: "pick", Arguments: "{}"})
		return m
	}
	tests := []struct {
		name     string
		messages []*message.Message
		opts     []agent.Option
		asked    bool
		want     string
	}{
		{"it runs first", open("weather", city("A")), nil, true, "result:c1:rain in A text:ok"},
		{"approved later", open("weather", city("A")), []agent.Option{gate(agent.RunCall())}, true, "result:c1:rain in A text:ok"},
		{"approved with changes", open("weather", city("A")), []agent.Option{gate(agent.RunCallWith(city("B")))}, true, "result:c1:rain in B text:ok"},
		{"rejected", open("weather", city("A")), []agent.Option{gate(agent.RejectCall("no"))}, true, "failed:c1:rejected text:ok"},
		{"still held", open("weather", city("A")), []agent.Option{gate(agent.HoldCall())}, false, ""},
		{"a client's call is still open", two(), nil, false, "result:c1:rain in A"},
		{"a client has answered", append(two(), message.NewResult("c2", "blue")), nil, true, "result:c1:rain in A text:ok"},
		{"broken arguments", open("weather", `{"city":`), nil, true, "failed:c1:arguments text:ok"},
		{"a system message after it changes nothing", append(open("weather", city("A")), message.NewSystem("state")), nil, true, "result:c1:rain in A text:ok"},
		{"the conversation went on", append(open("weather", city("A")), message.NewText("never mind")), nil, true, "text:ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			model := agenttest.New(agenttest.Turn(agenttest.Text("ok")))
			a := model.Agent(agent.Config{Tools: []tool.Tool{weather(nil), client}})
			check(t, trace(a.Run(t.Context(), tt.messages, tt.opts...)), tt.want)
			if asked := len(model.Prompts()) == 1; asked != tt.asked {
				t.Errorf("the model was asked: %v, want %v", asked, tt.asked)
			}
		})
	}
}

// The gate knows which call and which tool it decides about, and is asked in order.
func TestGateContext(t *testing.T) {
	var asked []string
	gate := agent.WithGate(func(ctx context.Context, call *message.FunctionCallContent) agent.Decision {
		tl, _ := tool.FromContext(ctx)
		c, _ := tool.CallFromContext(ctx)
		asked = append(asked, fmt.Sprintf("%s %s %t %t", c.CallID, tl.Name(), tool.NeedsApproval(tl), call == c))
		return agent.RunCall()
	})
	inside := functool.MustNew(functool.Config{Name: "inside"}, func(ctx context.Context, in struct {
		N int `json:"n"`
	}) (string, error) {
		c, ok := tool.CallFromContext(ctx)
		return fmt.Sprint(in.N, c.CallID, c.Arguments, ok), nil
	})
	model := agenttest.New(
		agenttest.Turn(agenttest.Call("c1", "inside", `{"n":1}`), agenttest.Call("c2", "inside", `{"n":2}`), agenttest.Call("c3", "nope", "{}")),
		agenttest.Turn(agenttest.Text("ok")),
	)
	a := model.Agent(agent.Config{Tools: []tool.Tool{tool.ApprovalRequiredFunc(inside)}, ToolLoop: &agent.ToolLoopConfig{MaxParallel: 1}})
	got := trace(a.RunText(t.Context(), "hi", gate))
	want := `delta:c1:{"n":1} delta:c2:{"n":2} delta:c3:{} call:c1:inside{"n":1} call:c2:inside{"n":2} call:c3:nope{} ` +
		`failed:c3:unknown result:c1:1c1{"n":1}true result:c2:2c2{"n":2}true text:ok`
	check(t, got, want)
	if d := cmp.Diff([]string{"c1 inside true true", "c2 inside true true"}, asked); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// The model is told the truth in every turn, and nobody else's conversation is touched.
func TestPrompts(t *testing.T) {
	model := agenttest.New(
		agenttest.Turn(agenttest.Reasoning("hm", "enc"), agenttest.Text("Let me see."), agenttest.Call("c1", "weather", city("A")), agenttest.Usage(10, 2)),
		agenttest.Turn(agenttest.Call("c2", "weather", `{"city":`)),
		agenttest.Turn(agenttest.Text("Rain."), agenttest.Usage(20, 3)),
	)
	model.Chunk = 2
	a := model.Agent(agent.Config{Instructions: "Be brief.", Tools: []tool.Tool{weather(nil)}})
	in := []*message.Message{message.NewText("Weather?")}
	n := 0
	response, err := a.Run(t.Context(), in,
		agent.WithInstructions("In English."),
		agent.WithBeforeModel(func(_ context.Context, ms []*message.Message) ([]*message.Message, error) {
			n++
			return append(ms[:len(ms):len(ms)], message.NewSystem(fmt.Sprint("state ", n))), nil
		}),
		agent.WithBeforeModel(func(_ context.Context, ms []*message.Message) ([]*message.Message, error) {
			return append(ms[:len(ms):len(ms)], message.NewSystem("second hook")), nil
		}),
	).Collect()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"user: Weather?\nsystem: state 1\nsystem: second hook\n",
		"user: Weather?\nassistant: Let me see. weather({\"city\":\"A\"})\ntool: -> rain in A\nsystem: state 2\nsystem: second hook\n",
		"user: Weather?\nassistant: Let me see. weather({\"city\":\"A\"})\ntool: -> rain in A\n" +
			"assistant: weather({})\ntool: -> " + response.Messages[3].Contents[0].(*message.FunctionResultContent).Text() + "\nsystem: state 3\nsystem: second hook\n",
	}
	for i, p := range model.Prompts() {
		check(t, p.Text(), want[i])
		if got := agent.Instructions(p.Options); got != "Be brief.\n\nIn English." {
			t.Errorf("instructions are %q", got)
		}
	}
	if r := model.Prompts()[1].Messages[1].Contents[0].(*message.TextReasoningContent); r.Text != "hm" || r.ProtectedData != "enc" {
		t.Errorf("the model lost its reasoning: %+v", r)
	}
	if len(in) != 1 || len(in[0].Contents) != 1 {
		t.Error("the caller's messages were changed")
	}
	if got := response.Usage(); got.TotalTokenCount != 35 || got.InputTokenCount != 30 {
		t.Errorf("usage is %+v", got)
	}
	if got := response.String(); got != "Let me see.Rain." {
		t.Errorf("text is %q", got)
	}
	if raw := response.Messages[2].Contents[0].(*message.FunctionCallContent); raw.Arguments != `{"city":` {
		t.Errorf("the conversation does not say what the model wrote: %q", raw.Arguments)
	}
}

// A hook's error ends the run; so does one after a tool.
func TestHooksFail(t *testing.T) {
	stop := errors.New("stop")
	model := agenttest.New(agenttest.Turn(agenttest.Call("c1", "weather", city("A"))))
	a := model.Agent(agent.Config{Tools: []tool.Tool{weather(nil)}})
	check(t, trace(a.RunText(t.Context(), "hi", agent.WithBeforeModel(func(context.Context, []*message.Message) ([]*message.Message, error) {
		return nil, stop
	}))), "error:stop")
	check(t, trace(a.RunText(t.Context(), "hi", agent.WithAfterTool(func(context.Context, *message.FunctionCallContent, *message.FunctionResultContent) (*message.FunctionResultContent, error) {
		return nil, stop
	}))), `delta:c1:{"city":"A"} call:c1:weather{"city":"A"} error:stop`)
}

// AfterTool has the last word on every result, before the model and the world see it.
func TestAfterTool(t *testing.T) {
	model := agenttest.New(
		agenttest.Turn(agenttest.Call("c1", "weather", city("A")), agenttest.Call("c2", "nope", "{}")),
		agenttest.Turn(agenttest.Text("ok")),
	)
	a := model.Agent(agent.Config{Tools: []tool.Tool{weather(nil)}})
	var seen []string
	got := trace(a.RunText(t.Context(), "hi", agent.WithAfterTool(func(_ context.Context, call *message.FunctionCallContent, r *message.FunctionResultContent) (*message.FunctionResultContent, error) {
		seen = append(seen, call.Name+"/"+r.CallID)
		if r.Error != nil {
			return nil, nil // stays
		}
		return &message.FunctionResultContent{CallID: r.CallID, Result: "Error: the state would be invalid.", Error: errors.New("schema")}, nil
	})))
	check(t, got, `delta:c1:{"city":"A"} delta:c2:{} call:c1:weather{"city":"A"} call:c2:nope{} failed:c2:unknown failed:c1:schema text:ok`)
	if prompt := model.Prompts()[1].Text(); !strings.Contains(prompt, "Error: the state would be invalid.") {
		t.Errorf("the model was told something else:\n%s", prompt)
	}
	check(t, strings.Join(seen, " "), "nope/c2 weather/c1")
}

// Function middlewares wrap the tool: configuration first, then the run's.
func TestFunctionMiddleware(t *testing.T) {
	var log []string
	mw := func(name string) agent.FunctionInvocationMiddleware {
		return func(next func(context.Context, *agent.FunctionInvocationContext) (any, error), ctx context.Context, inv *agent.FunctionInvocationContext) (any, error) {
			log = append(log, name+">"+inv.CallID)
			inv.Arguments = strings.Replace(inv.Arguments, "A", "A"+name, 1)
			v, err := next(ctx, inv)
			log = append(log, name+"<")
			return v, err
		}
	}
	model := agenttest.New(agenttest.Turn(agenttest.Call("c1", "weather", city("A"))), agenttest.Turn(agenttest.Text("ok")))
	a := model.Agent(agent.Config{Tools: []tool.Tool{weather(nil)}, FunctionMiddlewares: []agent.FunctionInvocationMiddleware{mw("1"), nil}})
	got := trace(a.RunText(t.Context(), "hi", agent.WithFunctionMiddleware(mw("2"))))
	check(t, got, `delta:c1:{"city":"A"} call:c1:weather{"city":"A"} result:c1:rain in A21 text:ok`)
	check(t, strings.Join(log, " "), "1>c1 2>c1 2< 1<")
}

// Must call a tool: in the first turn only, or the model would never answer.
func TestToolModeRequired(t *testing.T) {
	model := agenttest.New(agenttest.Turn(agenttest.Call("c1", "weather", city("A"))), agenttest.Turn(agenttest.Text("ok")))
	a := model.Agent(agent.Config{Tools: []tool.Tool{weather(nil)}})
	if _, err := a.RunText(t.Context(), "hi", agent.WithToolMode(tool.RequireTool("weather"))).Collect(); err != nil {
		t.Fatal(err)
	}
	var modes []tool.ToolMode
	for _, p := range model.Prompts() {
		m, _ := agent.GetOption(p.Options, agent.WithToolMode)
		modes = append(modes, m)
	}
	if d := cmp.Diff([]tool.ToolMode{"required:weather", "auto"}, modes); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// A whole agent from elsewhere, which runs its tools itself: its calls are left alone.
func TestProviderRunsItsOwnTools(t *testing.T) {
	own := agenttest.Turn(
		agenttest.Call("x", "search", `{"q":1}`),
		agenttest.Update(&agent.ResponseUpdate{Role: message.RoleTool, MessageID: "r", Contents: message.Contents{&message.FunctionResultContent{CallID: "x", Result: "found"}}}),
		agenttest.Contents(&message.FunctionCallContent{CallID: "h", Name: "hosted", Arguments: "{}", InformationalOnly: true}),
		agenttest.Text("done"),
	)
	model := agenttest.New(own)
	response, err := model.Agent(agent.Config{}).RunText(t.Context(), "hi").Collect()
	if err != nil {
		t.Fatal(err)
	}
	check(t, fmt.Sprint(len(model.Prompts()), len(response.Pending())), "1 0")
	model = agenttest.New(own)
	check(t, trace(model.Agent(agent.Config{}).RunText(t.Context(), "hi")), `delta:x:{"q":1} call:x:search{"q":1} result:x:found call:h:hosted{} text:done`)
	if got := response.Messages[0].Contents.Calls(); len(got) != 2 || got[0].CallID != "x" {
		t.Errorf("the calls are not in the assistant's message: %v", got)
	}
	if got := response.Messages[1]; got.Role != message.RoleTool || len(got.Contents) != 1 {
		t.Errorf("the result's message is %+v", got)
	}
}

// A plain function is an agent: no loop, no options, no ids.
func TestPlainRunFunc(t *testing.T) {
	plain := func(_ context.Context, ms []*message.Message, _ ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			_ = yield(nil, nil) && yield(&agent.ResponseUpdate{}, nil) &&
				yield(&agent.ResponseUpdate{Contents: message.Contents{&message.TextContent{Text: "you said "}, nil}}, nil) &&
				yield(&agent.ResponseUpdate{Contents: message.Contents{&message.TextContent{Text: ms[0].String()}}}, nil)
		}
	}
	a := agent.New(agent.ProviderConfig{Run: plain}, agent.Config{Name: "Echo", ID: "e"})
	var ids []string
	for u, err := range a.RunText(t.Context(), "hi") {
		if err != nil {
			t.Fatal(err)
		}
		if u.MessageID == "" || u.AgentID != "e" || u.AuthorName != "Echo" || u.Role != message.RoleAssistant {
			t.Errorf("an update does not say whose it is: %+v", u)
		}
		ids = append(ids, u.MessageID)
	}
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("one message has the ids %v", ids)
		}
	}
	response, err := a.RunText(t.Context(), "hi").Collect()
	if err != nil || len(response.Messages) != 1 || response.String() != "you said hi" {
		t.Errorf("%v %v", response, err)
	}
}

// One agent serves many runs at once; they share nothing.
func TestManyRuns(t *testing.T) {
	model := agenttest.New(agenttest.TurnFrom(func(p agenttest.Prompt) []agenttest.Step {
		last := p.Messages[len(p.Messages)-1]
		if last.Role == message.RoleTool {
			return []agenttest.Step{agenttest.Text(last.Contents[0].(*message.FunctionResultContent).Text())}
		}
		return []agenttest.Step{agenttest.Call("c1", "weather", city(last.String())), agenttest.Call("", "weather", city(last.String()))}
	}))
	model.Repeat = true
	model.Chunk = 5
	a := model.Agent(agent.Config{Tools: []tool.Tool{weather(nil)}, RunOptions: []agent.Option{agent.WithMaxIterations(3)}})
	done := make(chan string)
	const runs = 50
	for i := range runs {
		go func() {
			name := fmt.Sprint("city", i)
			response, err := a.RunText(t.Context(), name, agent.WithInstructions(name)).Collect()
			if err != nil {
				done <- err.Error()
			} else if got := response.String(); got != "rain in "+name {
				done <- name + " got " + got
			} else {
				done <- ""
			}
		}()
	}
	for range runs {
		if problem := <-done; problem != "" {
			t.Error(problem)
		}
	}
}

// A model that does not stop writing is stopped.
func TestEndlessAnswer(t *testing.T) {
	piece := strings.Repeat("x", 1<<20)
	endless := func(context.Context, []*message.Message, ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			for yield(&agent.ResponseUpdate{Contents: message.Contents{&message.FunctionCallDelta{CallID: "c1", Name: "f", Arguments: piece}}}, nil) {
			}
		}
	}
	n := 0
	for _, err := range agent.New(agent.ProviderConfig{Run: endless}, agent.Config{}).RunText(t.Context(), "hi") {
		if err != nil {
			if !errors.Is(err, agent.ErrAnswerTooLong) {
				t.Error(err)
			}
			break
		}
		n++
	}
	if n != agent.MaxAnswerBytes>>20+1 {
		t.Errorf("%d pieces were read", n)
	}
}
