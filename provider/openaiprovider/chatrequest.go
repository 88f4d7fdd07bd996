package openaiprovider

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

// chatRequest is the body of a Chat Completions request.
func (p *provider) chatRequest(messages []*message.Message, opts []agent.Option) (openai.ChatCompletionNewParams, error) {
	params, _ := agent.GetOption(opts, ChatCompletionNewParams)
	params.Messages = slices.Clone(params.Messages) // the option's slices are not ours to append to
	params.Tools = slices.Clone(params.Tools)

	params.Model = cmp.Or(p.model(opts), params.Model)
	if params.Model == "" {
		return params, errNoModel
	}
	if n, ok := agent.GetOption(opts, agent.WithMaxOutputTokens); ok && n > 0 {
		if p.config.LegacyMaxTokens {
			params.MaxTokens = openai.Int(int64(n))
		} else {
			params.MaxCompletionTokens = openai.Int(int64(n))
		}
	}
	if t, ok := agent.GetOption(opts, agent.WithTemperature); ok {
		params.Temperature = openai.Float(t)
	}
	if t, ok := agent.GetOption(opts, agent.WithTopP); ok {
		params.TopP = openai.Float(t)
	}
	if n, ok := agent.GetOption(opts, agent.WithSeed); ok {
		params.Seed = openai.Int(n)
	}
	if stops := agent.StopSequences(opts); len(stops) > 0 {
		params.Stop = openai.ChatCompletionNewParamsStopUnion{OfStringArray: stops}
	}
	if effort, ok := agent.GetOption(opts, agent.WithReasoningEffort); ok && effort != "" {
		params.ReasoningEffort = shared.ReasoningEffort(effort)
	}
	if err := chatFormat(&params, opts); err != nil {
		return params, err
	}
	if err := chatTools(&params, opts); err != nil {
		return params, err
	}
	if text := agent.Instructions(opts); text != "" {
		params.Messages = append(params.Messages, p.systemMessage(text))
	}
	for _, m := range messages {
		if m == nil {
			continue
		}
		switch m.Role {
		case message.RoleSystem:
			if text := m.String(); text != "" {
				params.Messages = append(params.Messages, p.systemMessage(text))
			}
		case message.RoleUser, "":
			params.Messages = appendUser(params.Messages, m.Contents)
		case message.RoleAssistant:
			params.Messages = p.appendAssistant(params.Messages, m.Contents)
		case message.RoleTool:
			for _, c := range m.Contents {
				if r, ok := c.(*message.FunctionResultContent); ok {
					params.Messages = append(params.Messages, openai.ToolMessage(r.Text(), r.CallID))
				}
			}
		default:
			return params, fmt.Errorf("message %q: the role %q is none of user, assistant, system, tool", m.ID, m.Role)
		}
	}
	return params, nil
}

// model is the model's name for this run.
func (p *provider) model(opts []agent.Option) string {
	name, _ := agent.GetOption(opts, agent.WithModel)
	return cmp.Or(name, p.config.Model)
}

func (p *provider) systemMessage(text string) openai.ChatCompletionMessageParamUnion {
	if p.config.DeveloperRole {
		return openai.DeveloperMessage(text)
	}
	return openai.SystemMessage(text)
}

func appendUser(to []openai.ChatCompletionMessageParamUnion, contents message.Contents) []openai.ChatCompletionMessageParamUnion {
	var parts []openai.ChatCompletionContentPartUnionParam
	onlyText := true
	for _, c := range contents {
		if t, ok := c.(*message.TextContent); ok {
			parts = append(parts, openai.TextContentPart(t.Text))
		} else if part, ok := chatPart(c); ok {
			onlyText = onlyText && part.OfText != nil
			parts = append(parts, part)
		}
	}
	switch {
	case len(parts) == 0:
		return to
	case len(parts) == 1 && onlyText: // a plain string is what every server understands
		return append(to, openai.UserMessage(parts[0].OfText.Text))
	}
	return append(to, openai.UserMessage(parts))
}

// chatPart is a content of a user's message, text excepted. ok is false for contents
// that are not for the model.
func chatPart(c message.Content) (part openai.ChatCompletionContentPartUnionParam, ok bool) {
	switch c := c.(type) {
	case *message.DataContent:
		switch {
		case c.TopLevelMediaType() == "image":
			return openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: c.URI(), Detail: detail(c)}), true
		case audioFormat(c.MediaType) != "":
			return openai.InputAudioContentPart(openai.ChatCompletionContentPartInputAudioInputAudioParam{
				Data: base64.StdEncoding.EncodeToString(c.Data), Format: audioFormat(c.MediaType),
			}), true
		case isText(c.MediaType):
			return openai.TextContentPart(string(c.Data)), true
		}
		return openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{
			FileData: openai.String(c.URI()), Filename: openai.String(fileName(c.Name, c.MediaType)),
		}), true
	case *message.URIContent:
		if data, err := message.ParseDataURI(c.URI); err == nil {
			data.ContentHeader = c.ContentHeader
			return chatPart(data)
		}
		if c.TopLevelMediaType() == "image" || c.MediaType == "" {
			return openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: c.URI, Detail: detail(c)}), true
		}
		// This API takes no addresses of files. The model should at least know that
		// there is one.
		return openai.TextContentPart("[" + c.MediaType + ": " + c.URI + "]"), true
	case *message.HostedFileContent:
		return openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{FileID: openai.String(c.FileID)}), true
	}
	return part, false
}

func (p *provider) appendAssistant(to []openai.ChatCompletionMessageParamUnion, contents message.Contents) []openai.ChatCompletionMessageParamUnion {
	var m openai.ChatCompletionAssistantMessageParam
	var reasoning strings.Builder
	for _, c := range contents {
		switch c := c.(type) {
		case *message.TextReasoningContent:
			reasoning.WriteString(c.Text)
		case *message.FunctionCallContent:
			if c.InformationalOnly {
				continue // the service ran it itself: it has no result here
			}
			m.ToolCalls = append(m.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
					ID: c.CallID,
					Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
						Name: c.Name, Arguments: historyArguments(c.Arguments),
					},
				},
			})
		}
	}
	if text := contents.Text(); text != "" {
		m.Content.OfString = openai.String(text)
	} else if len(m.ToolCalls) == 0 {
		return to // several servers refuse an assistant that said nothing
	}
	if p.config.EchoReasoning && reasoning.Len() > 0 {
		m.SetExtraFields(map[string]any{"reasoning_content": reasoning.String()})
	}
	return append(to, openai.ChatCompletionMessageParamUnion{OfAssistant: &m})
}

func chatTools(params *openai.ChatCompletionNewParams, opts []agent.Option) error {
	for _, t := range agent.Tools(opts) {
		f, err := function(t)
		if err != nil {
			return err
		}
		definition := shared.FunctionDefinitionParam{Name: f.name, Parameters: f.parameters}
		if f.description != "" {
			definition.Description = openai.String(f.description)
		}
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(definition))
	}
	if len(params.Tools) == 0 {
		return nil // services refuse a choice of nothing
	}
	if parallel, ok := agent.GetOption(opts, agent.WithParallelToolCalls); ok {
		params.ParallelToolCalls = openai.Bool(parallel)
	}
	mode, ok := agent.GetOption(opts, agent.WithToolMode)
	if !ok {
		return nil
	}
	if name, named := mode.RequiredTool(); named {
		params.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: name})
		return nil
	}
	switch mode.Mode() {
	case tool.ToolModeAuto, tool.ToolModeNone, tool.ToolModeRequired:
		params.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String(string(mode.Mode()))}
		return nil
	}
	return fmt.Errorf("the tool mode %q is none of auto, none, required", mode)
}

func chatFormat(params *openai.ChatCompletionNewParams, opts []agent.Option) error {
	f, ok, err := responseFormat(opts)
	if !ok || err != nil {
		return err
	}
	if f.schema == nil {
		params.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		return nil
	}
	schema := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: f.name, Schema: f.schema}
	if f.description != "" {
		schema.Description = openai.String(f.description)
	}
	if f.strict {
		schema.Strict = openai.Bool(true)
	}
	params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: schema}
	return nil
}
