// Command einomodel serves an agent that thinks with a chat model of cloudwego/eino.
//
// Here the model is from elsewhere and the rest is Lockstep's: its tool loop runs the
// tools, so approvals, time limits and client tools work. An adapter of some hundred
// lines is enough for any model interface that streams.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

// Model makes an agent.RunFunc of an eino chat model.
func Model(m model.BaseChatModel) agent.RunFunc {
	return func(ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			modelOpts, err := options(opts)
			if err != nil {
				yield(nil, err)
				return
			}
			stream, err := m.Stream(ctx, prompt(messages, opts), modelOpts...)
			if err != nil {
				yield(nil, err)
				return
			}
			defer stream.Close()
			for {
				chunk, err := stream.Recv()
				if errors.Is(err, io.EOF) {
					return
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if !yield(update(chunk), nil) {
					return
				}
			}
		}
	}
}

// update turns one of eino's chunks into an update.
func update(m *schema.Message) *agent.ResponseUpdate {
	u := &agent.ResponseUpdate{Role: message.RoleAssistant, RawRepresentation: m}
	if m.ReasoningContent != "" {
		u.Contents = append(u.Contents, &message.TextReasoningContent{Text: m.ReasoningContent})
	}
	if m.Content != "" {
		u.Contents = append(u.Contents, &message.TextContent{Text: m.Content})
	}
	for i, c := range m.ToolCalls {
		index := i
		if c.Index != nil {
			index = *c.Index
		}
		u.Contents = append(u.Contents, &message.FunctionCallDelta{Index: index, CallID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	if meta := m.ResponseMeta; meta != nil {
		u.FinishReason = meta.FinishReason
		if meta.Usage != nil {
			u.Contents = append(u.Contents, &message.UsageContent{Details: message.UsageDetails{
				InputTokenCount:  int64(meta.Usage.PromptTokens),
				OutputTokenCount: int64(meta.Usage.CompletionTokens),
				TotalTokenCount:  int64(meta.Usage.TotalTokens),
			}})
		}
	}
	return u
}

// prompt turns a conversation into eino's form.
func prompt(messages []*message.Message, opts []agent.Option) []*schema.Message {
	var out []*schema.Message
	if text := agent.Instructions(opts); text != "" {
		out = append(out, schema.SystemMessage(text))
	}
	for _, m := range messages {
		switch m.Role {
		case message.RoleSystem:
			out = append(out, schema.SystemMessage(m.String()))
		case message.RoleUser:
			out = append(out, schema.UserMessage(m.String()))
		case message.RoleAssistant:
			var calls []schema.ToolCall
			for _, c := range m.Contents.Calls() {
				calls = append(calls, schema.ToolCall{ID: c.CallID, Type: "function", Function: schema.FunctionCall{Name: c.Name, Arguments: c.Arguments}})
			}
			out = append(out, schema.AssistantMessage(m.String(), calls))
		case message.RoleTool:
			for _, c := range m.Contents {
				if r, ok := c.(*message.FunctionResultContent); ok {
					out = append(out, schema.ToolMessage(r.Text(), r.CallID))
				}
			}
		}
	}
	return out
}

// options passes the tools on.
func options(opts []agent.Option) ([]model.Option, error) {
	var infos []*schema.ToolInfo
	for _, t := range agent.Tools(opts) {
		info := &schema.ToolInfo{Name: t.Name(), Desc: t.Description()}
		if d, ok := t.(tool.Declared); ok && !d.Schema().IsAbsent() {
			s := new(jsonschema.Schema)
			if err := json.Unmarshal(d.Schema().AppendJSON(nil), s); err != nil {
				return nil, err
			}
			info.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(s)
		}
		infos = append(infos, info)
	}
	if len(infos) == 0 {
		return nil, nil
	}
	return []model.Option{model.WithTools(infos)}, nil
}
