package agent_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

// Whatever a conversation looks like, the model gets one that a vendor accepts, and
// what was said stays said. (The model of agenttest refuses others.)
func TestAnyHistoryIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SampledFrom([]string{"a", "b", "c"})
		var history []*message.Message
		texts := ""
		for i := range rapid.IntRange(0, 12).Draw(t, "messages") {
			m := &message.Message{}
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				m = message.NewText(fmt.Sprint("u", i))
			case 1:
				m = message.NewSystem(fmt.Sprint("s", i))
			case 2:
				m = message.NewResult(ids.Draw(t, "id"), "r")
			case 3:
				history = append(history, nil)
				m = &message.Message{Role: message.RoleAssistant, Contents: message.Contents{&message.UsageContent{}}}
			default:
				m = message.NewAssistant(&message.TextContent{Text: fmt.Sprint("a", i)})
				used := map[string]bool{}
				for range rapid.IntRange(0, 3).Draw(t, "calls") {
					id := ids.Draw(t, "id")
					if !used[id] {
						m.Contents = append(m.Contents, &message.FunctionCallContent{CallID: id, Name: "weather", Arguments: rapid.SampledFrom([]string{"", "{", `{"city":"x"}`}).Draw(t, "args")})
					}
					used[id] = true
				}
			}
			texts += m.String()
			history = append(history, m)
		}
		history = append(history, message.NewText("last"))
		texts += "last"
		model := agenttest.New(agenttest.Turn(agenttest.Text("ok")))
		a := model.Agent(agent.Config{Tools: []tool.Tool{weather(nil)}})
		if got := trace(a.Run(t.Context(), history)); got != "text:ok" {
			t.Fatalf("got %s", got)
		}
		got := ""
		for _, m := range model.Prompts()[0].Messages {
			got += m.String()
		}
		if got != texts {
			t.Fatalf("said %q, the model got %q", texts, got)
		}
	})
}

// Field bugs H2, and the brief's repeated ids.
func TestRepair(t *testing.T) {
	call := func(id, args string) *message.FunctionCallContent {
		return &message.FunctionCallContent{CallID: id, Name: "f", Arguments: args}
	}
	tests := []struct {
		name string
		in   []*message.Message
		want string
	}{
		{"never answered", []*message.Message{message.NewAssistant(call("a", "{}")), message.NewText("x")},
			"assistant: f({})\ntool: -> The call was not run: the conversation went on without it.\nuser: x\n"},
		{"the result comes late", []*message.Message{message.NewAssistant(call("a", "{}")), message.NewText("x"), message.NewResult("a", "r"), message.NewText("y")},
			"assistant: f({})\ntool: -> r\nuser: x\nuser: y\n"},
		{"two results", []*message.Message{message.NewAssistant(call("a", "{}")), message.NewResult("a", "1"), message.NewResult("a", "2"), message.NewText("x")},
			"assistant: f({})\ntool: -> 1\nuser: x\n"},
		{"a result of nothing", []*message.Message{message.NewResult("z", "1"), message.NewText("x")}, "user: x\n"},
		{"one id in two turns", []*message.Message{
			message.NewAssistant(call("a", `{"n":1}`)), message.NewResult("a", "1"),
			message.NewAssistant(call("a", `{"n":2}`)), message.NewResult("a", "2"), message.NewText("x")},
			"assistant: f({\"n\":1})\ntool: -> 1\nassistant: f({\"n\":2})\ntool: -> 2\nuser: x\n"},
		{"several results in one message", []*message.Message{
			message.NewAssistant(call("a", "{}"), call("b", "{}")),
			{Role: message.RoleTool, Contents: message.Contents{&message.FunctionResultContent{CallID: "b", Result: "2"}, &message.FunctionResultContent{CallID: "a", Result: "1"}}},
			message.NewText("x")},
			"assistant: f({}) f({})\ntool: -> 1\ntool: -> 2\nuser: x\n"},
		{"broken arguments", []*message.Message{message.NewAssistant(call("a", `{"x`)), message.NewResult("a", "Error"), message.NewText("x")},
			"assistant: f({})\ntool: -> Error\nuser: x\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			model := agenttest.New(agenttest.Turn(agenttest.Text("ok")))
			check(t, trace(model.Agent(agent.Config{}).Run(t.Context(), tt.in)), "text:ok")
			check(t, model.Prompts()[0].Text(), tt.want)
		})
	}
}
