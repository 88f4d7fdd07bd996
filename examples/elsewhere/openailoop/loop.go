// Command openailoop serves an agent that knows nothing of Lockstep: a bare loop on
// openai-go that calls the model, runs its tools itself and calls the model again.
//
// All it takes is to have the shape of an agent.RunFunc. What the loop says becomes
// updates: text as it comes, the fragments of a call's arguments, each call when it is
// complete, and its result. Lockstep sees that the calls are answered and leaves them
// alone; the state grows while the arguments are written all the same.
package main

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/openai/openai-go/v3"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/message"
)

// loop is somebody's agent: a model and one tool.
type loop struct {
	client openai.Client
	model  string
	notes  func(note string) error
}

var writeNote = openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
	Name:        "write_note",
	Description: openai.String("Writes the note that the user sees. Pass the whole note."),
	Parameters: openai.FunctionParameters{
		"type":       "object",
		"properties": map[string]any{"note": map[string]any{"type": "string"}},
		"required":   []string{"note"},
	},
})

// run is an agent.RunFunc.
func (l *loop) run(ctx context.Context, messages []*message.Message, _ ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
	return func(yield func(*agent.ResponseUpdate, error) bool) {
		say := func(role message.Role, id string, c ...message.Content) bool {
			return yield(&agent.ResponseUpdate{Role: role, MessageID: id, Contents: c}, nil)
		}
		conversation := params(messages)
		for range 8 {
			stream := l.client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{
				Model: l.model, Messages: conversation, Tools: []openai.ChatCompletionToolUnionParam{writeNote},
			})
			var acc openai.ChatCompletionAccumulator
			var id string
			for stream.Next() {
				chunk := stream.Current()
				acc.AddChunk(chunk)
				id = chunk.ID
				if len(chunk.Choices) == 0 {
					continue
				}
				delta := chunk.Choices[0].Delta
				if delta.Content != "" && !say(message.RoleAssistant, id, &message.TextContent{Text: delta.Content}) {
					stream.Close()
					return
				}
				for _, c := range delta.ToolCalls {
					d := &message.FunctionCallDelta{Index: int(c.Index), CallID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments}
					if !say(message.RoleAssistant, id, d) {
						stream.Close()
						return
					}
				}
			}
			if err := stream.Err(); err != nil {
				yield(nil, err)
				return
			}
			if len(acc.Choices) == 0 || len(acc.Choices[0].Message.ToolCalls) == 0 {
				return
			}
			conversation = append(conversation, acc.Choices[0].Message.ToParam())
			for _, c := range acc.Choices[0].Message.ToolCalls {
				result := l.call(c.Function.Name, c.Function.Arguments)
				if !say(message.RoleAssistant, id, &message.FunctionCallContent{CallID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments}) ||
					!say(message.RoleTool, "result-"+c.ID, &message.FunctionResultContent{CallID: c.ID, Result: result}) {
					return
				}
				conversation = append(conversation, openai.ToolMessage(result, c.ID))
			}
		}
	}
}

// call runs the tool.
func (l *loop) call(name, arguments string) string {
	var in struct {
		Note string `json:"note"`
	}
	if name != "write_note" || json.Unmarshal([]byte(arguments), &in) != nil {
		return "Error: there is only write_note, and it takes a note."
	}
	if err := l.notes(in.Note); err != nil {
		return "Error: the note could not be kept."
	}
	return "Note written."
}

// params turns a conversation into the vendor's form. Calls of earlier turns are left
// out: this loop only needs what was said.
func params(messages []*message.Message) []openai.ChatCompletionMessageParamUnion {
	var out []openai.ChatCompletionMessageParamUnion
	for _, m := range messages {
		text := m.String()
		if text == "" {
			continue
		}
		switch m.Role {
		case message.RoleSystem:
			out = append(out, openai.SystemMessage(text))
		case message.RoleUser:
			out = append(out, openai.UserMessage(text))
		case message.RoleAssistant:
			out = append(out, openai.AssistantMessage(text))
		}
	}
	return out
}
