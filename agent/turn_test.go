package agent_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

func frag(index int, id, name, args string) agenttest.Step {
	return agenttest.Contents(&message.FunctionCallDelta{Index: index, CallID: id, Name: name, Arguments: args})
}

func restart(index int, id, name, args string) agenttest.Step {
	return agenttest.Contents(&message.FunctionCallDelta{Index: index, CallID: id, Name: name, Arguments: args, Restart: true})
}

// What providers make of a call, and what everybody else sees. Field bugs, section 7,
// as far as they are left when a provider has read its wire.
func TestFragments(t *testing.T) {
	a, b := city("A"), city("B")
	tests := []struct {
		name  string
		steps []agenttest.Step
		want  string
	}{
		{"interleaved (R13)", []agenttest.Step{agenttest.Calls(agenttest.CallSpec{ID: "c1", Name: "weather", Arguments: a}, agenttest.CallSpec{ID: "c2", Name: "weather", Arguments: b})},
			`delta:c1: delta:c2: delta:c1:{"city":"A"} delta:c2:{"city":"B"} call:c1:weather{"city":"A"} call:c2:weather{"city":"B"} result:c1:rain in A result:c2:rain in B text:ok`},
		{"index always 0 (L4)", []agenttest.Step{frag(0, "c1", "weather", a), frag(0, "c2", "weather", b)},
			`delta:c1:{"city":"A"} delta:c2:{"city":"B"} call:c1:weather{"city":"A"} call:c2:weather{"city":"B"} result:c1:rain in A result:c2:rain in B text:ok`},
		{"id and name repeated on every fragment (L6)", []agenttest.Step{frag(0, "c1", "weather", `{"city":`), frag(0, "c1", "weather", `"A"}`)},
			`delta:c1:{"city":"A"} call:c1:weather{"city":"A"} result:c1:rain in A text:ok`},
		{"no id at all", []agenttest.Step{frag(0, "", "weather", a)},
			`delta:call_id2:{"city":"A"} call:call_id2:weather{"city":"A"} result:call_id2:rain in A text:ok`},
		{"an id for two calls", []agenttest.Step{frag(0, "c1", "weather", a), frag(1, "c1", "weather", b)},
			`delta:c1:{"city":"A"} delta:call_id2:{"city":"B"} call:c1:weather{"city":"A"} call:call_id2:weather{"city":"B"} result:c1:rain in A result:call_id2:rain in B text:ok`},
		{"an id that the conversation has used", []agenttest.Step{frag(0, "old", "weather", a)},
			`delta:call_id2:{"city":"A"} call:call_id2:weather{"city":"A"} result:call_id2:rain in A text:ok`},
		{"the name comes later", []agenttest.Step{frag(0, "c1", "", `{"ci`), frag(0, "", "weather", `ty":"A"}`)},
			`delta:c1:{"city":"A"} call:c1:weather{"city":"A"} result:c1:rain in A text:ok`},
		{"the name never comes", []agenttest.Step{frag(0, "c1", "", `{}`)}, `call:c1:{} failed:c1:unknown text:ok`},
		{"the arguments start again (R10)", []agenttest.Step{frag(0, "c1", "weather", `{}`), restart(0, "", "", a)},
			`delta:c1:{} delta:c1:{"city":"A"} call:c1:weather{"city":"A"} result:c1:rain in A text:ok`},
		{"fragments, then the whole", []agenttest.Step{frag(0, "c1", "weather", a), agenttest.WholeCall("c1", "weather", a)},
			`delta:c1:{"city":"A"} call:c1:weather{"city":"A"} result:c1:rain in A text:ok`},
		{"the whole says something else", []agenttest.Step{frag(0, "c1", "weather", `{}`), agenttest.WholeCall("c1", "weather", a)},
			`delta:c1:{} delta:c1:{"city":"A"} call:c1:weather{"city":"A"} result:c1:rain in A text:ok`},
		{"the whole, twice", []agenttest.Step{agenttest.WholeCall("c1", "weather", a), agenttest.WholeCall("c1", "weather", a)},
			`call:c1:weather{"city":"A"} result:c1:rain in A text:ok`},
		{"two calls of one id", []agenttest.Step{agenttest.WholeCall("c1", "weather", a), agenttest.WholeCall("c1", "weather", b)},
			`call:c1:weather{"city":"A"} call:call_id2:weather{"city":"B"} result:c1:rain in A result:call_id2:rain in B text:ok`},
		{"one call after another", []agenttest.Step{frag(0, "c1", "weather", a), frag(1, "c2", "weather", b), frag(0, "", "", " ")},
			`delta:c1:{"city":"A"} delta:c2:{"city":"B"} delta:c1:  call:c1:weather{"city":"A"}  call:c2:weather{"city":"B"} result:c1:rain in A result:c2:rain in B text:ok`},
	}
	tests = append(tests, struct {
		name  string
		steps []agenttest.Step
		want  string
	}{"fragments of a call that the provider runs itself", []agenttest.Step{frag(0, "c1", "search", `{}`), agenttest.Contents(&message.FunctionCallContent{CallID: "c1", Name: "search", Arguments: "{}", InformationalOnly: true}), agenttest.Text("found")},
		`delta:c1:{} call:c1:search{} text:found`})
	tests = append(tests, struct {
		name  string
		steps []agenttest.Step
		want  string
	}{"a call that the provider runs itself, under an id that was used before", []agenttest.Step{
		frag(0, "old", "search", `{}`),
		agenttest.Contents(&message.FunctionResultContent{CallID: "old", Result: "found"}),
		agenttest.Contents(&message.FunctionResultContent{CallID: "nobody", Result: "lost"}),
		frag(1, "old", "search", `{"again":1}`), agenttest.Contents(&message.FunctionCallContent{CallID: "old", Name: "search", Arguments: `{"again":1}`, InformationalOnly: true}),
	}, `delta:call_id2:{} call:call_id2:search{} result:call_id2:found result:nobody:lost delta:call_id3:{"again":1} call:call_id3:search{"again":1}`})
	history := []*message.Message{
		message.NewText("hi"),
		message.NewAssistant(&message.FunctionCallContent{CallID: "old", Name: "weather", Arguments: a}),
		message.NewResult("old", "rain"),
		message.NewText("again"),
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			model := agenttest.New(agenttest.Turn(tt.steps...), agenttest.Turn(agenttest.Text("ok")))
			// the first id made is that of the turn's message: agenttest names its own
			ids := agenttest.Sequence("id")
			ids()
			ag := model.Agent(agent.Config{Tools: []tool.Tool{weather(nil)}, ToolLoop: &agent.ToolLoopConfig{NewID: ids, MaxParallel: 1}})
			check(t, trace(ag.Run(t.Context(), history)), tt.want)
		})
	}
}

// Whatever a provider does, behind the loop the fragments of a call add up to the call,
// ids are unique in the conversation, and the next prompt is one that vendors accept
// (agenttest's model refuses others).
func TestFragmentsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SampledFrom([]string{"", "", "a", "b", "old"})
		names := rapid.SampledFrom([]string{"", "weather", "nope"})
		args := rapid.SampledFrom([]string{"", "{", `"city":"x"`, "}", "{}", `{"city":"y"}`, "1"})
		var turns []agenttest.Script
		for range rapid.IntRange(1, agent.MaxCutTurns-1).Draw(t, "turns") {
			var steps []agenttest.Step
			for range rapid.IntRange(0, 8).Draw(t, "steps") {
				switch rapid.IntRange(0, 3).Draw(t, "kind") {
				case 0:
					steps = append(steps, agenttest.Text(rapid.SampledFrom([]string{"x", ""}).Draw(t, "text")))
				case 1:
					steps = append(steps, agenttest.WholeCall(ids.Draw(t, "id"), names.Draw(t, "name"), args.Draw(t, "args")))
				default:
					steps = append(steps, agenttest.Contents(&message.FunctionCallDelta{
						Index: rapid.IntRange(0, 2).Draw(t, "index"), CallID: ids.Draw(t, "id"), Name: names.Draw(t, "name"),
						Arguments: args.Draw(t, "args"), Restart: rapid.IntRange(0, 9).Draw(t, "restart") == 0,
					}))
				}
			}
			steps = append(steps, agenttest.Finish(rapid.SampledFrom([]string{"stop", "length", ""}).Draw(t, "reason")))
			turns = append(turns, agenttest.Turn(steps...))
		}
		turns = append(turns, agenttest.Turn(agenttest.Text("end")))
		history := []*message.Message{message.NewText("hi"), message.NewAssistant(&message.FunctionCallContent{CallID: "old", Name: "weather", Arguments: "{"}), message.NewText("go on")}
		a := agenttest.New(turns...).Agent(agent.Config{Tools: []tool.Tool{weather(nil)}, ToolLoop: &agent.ToolLoopConfig{NewID: agenttest.Sequence("id")}})
		written := map[string]string{}
		calls := map[string]bool{"old": true}
		answered := map[string]int{}
		var response agent.Response
		for u, err := range a.Run(context.Background(), history) {
			if err != nil {
				t.Fatal(err)
			}
			response.Update(u)
			for _, c := range u.Contents {
				switch c := c.(type) {
				case *message.FunctionCallDelta:
					if c.CallID == "" || c.Name == "" {
						t.Fatalf("a fragment without id or name: %+v", c)
					}
					if calls[c.CallID] {
						t.Fatalf("a fragment of a call that is complete or from before: %+v", c)
					}
					if c.Restart {
						written[c.CallID] = ""
					}
					written[c.CallID] += c.Arguments
				case *message.FunctionCallContent:
					if calls[c.CallID] {
						t.Fatalf("the call id %q is used twice", c.CallID)
					}
					calls[c.CallID] = true
					if got, streamed := written[c.CallID]; streamed && got != c.Arguments {
						t.Fatalf("fragments of %s add up to %q, the call says %q", c.CallID, got, c.Arguments)
					}
				case *message.FunctionResultContent:
					if !calls[c.CallID] {
						t.Fatalf("a result without a call: %+v", c)
					}
					answered[c.CallID]++
				}
			}
		}
		for id := range calls {
			if id != "old" && answered[id] != 1 {
				t.Fatalf("call %s has %d results", id, answered[id])
			}
		}
		// What was collected says the same, in whole messages.
		response.Coalesce()
		seen := map[string]bool{}
		for _, m := range response.Messages {
			if seen[m.ID] {
				t.Fatalf("the message id %q is used twice", m.ID)
			}
			seen[m.ID] = true
		}
	})
}

// A provider's message ids may repeat from turn to turn; ours do not.
func TestMessageIDs(t *testing.T) {
	again := func(id, text string) agenttest.Step {
		return agenttest.Update(&agent.ResponseUpdate{MessageID: id, Contents: message.Contents{&message.TextContent{Text: text}}})
	}
	model := agenttest.New(
		agenttest.Turn(again("m", "a"), again("m", "b"), agenttest.Call("c1", "weather", city("A"))),
		agenttest.Turn(again("m", "c"), again("n", "d"), again("old", "e")),
	)
	a := model.Agent(agent.Config{Tools: []tool.Tool{weather(nil)}})
	old := message.NewText("hi")
	old.ID = "old"
	response, err := a.RunMessage(t.Context(), old).Collect()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	seen := map[string]bool{"old": true}
	for _, m := range response.Messages {
		if seen[m.ID] {
			t.Errorf("id %q twice", m.ID)
		}
		seen[m.ID] = true
		got = append(got, string(m.Role)+":"+m.String())
	}
	check(t, strings.Join(got, " "), "assistant:ab assistant: tool: assistant:c assistant:d assistant:e")
}

// An update that says only why the model stopped, or what it cost, makes no message.
func TestTrailingUpdatesMakeNoMessage(t *testing.T) {
	run := func(_ context.Context, _ []*message.Message, _ ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			_ = yield(&agent.ResponseUpdate{MessageID: "m", Contents: message.Contents{&message.TextContent{Text: "a"}}}, nil) &&
				yield(&agent.ResponseUpdate{FinishReason: "stop"}, nil) &&
				yield(&agent.ResponseUpdate{Contents: message.Contents{&message.UsageContent{Details: message.UsageDetails{TotalTokenCount: 3}}}}, nil)
		}
	}
	response, err := agent.New(agent.ProviderConfig{Run: run}, agent.Config{}).RunText(t.Context(), "hi").Collect()
	if err != nil {
		t.Fatal(err)
	}
	check(t, fmt.Sprintf("%d %s %s %d", len(response.Messages), response.Messages[0].ID, response.FinishReason, response.Usage().TotalTokenCount), "1 m stop 3")
}
