package openaiprovider

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/provider/openaiprovider/internal/answer"
	"github.com/lockstep-go/lockstep/tool"
)

// responsesRequest is the body of a Responses request.
func (p *provider) responsesRequest(messages []*message.Message, opts []agent.Option) (responses.ResponseNewParams, error) {
	params, _ := agent.GetOption(opts, ResponsesNewParams)
	params.Tools = slices.Clone(params.Tools)

	params.Model = cmp.Or(p.model(opts), params.Model)
	if params.Model == "" && params.Prompt.ID == "" {
		return params, errNoModel
	}
	if param.IsOmitted(params.Store) {
		params.Store = openai.Bool(false)
	}
	if n, ok := agent.GetOption(opts, agent.WithMaxOutputTokens); ok && n > 0 {
		params.MaxOutputTokens = openai.Int(int64(n))
	}
	if t, ok := agent.GetOption(opts, agent.WithTemperature); ok {
		params.Temperature = openai.Float(t)
	}
	if t, ok := agent.GetOption(opts, agent.WithTopP); ok {
		params.TopP = openai.Float(t)
	}
	if effort, ok := agent.GetOption(opts, agent.WithReasoningEffort); ok && effort != "" {
		params.Reasoning.Effort = shared.ReasoningEffort(effort)
	}
	if p.config.ReasoningSummary != "" {
		params.Reasoning.Summary = shared.ReasoningSummary(p.config.ReasoningSummary)
	}
	if p.config.EncryptedReasoning && !slices.Contains(params.Include, responses.ResponseIncludableReasoningEncryptedContent) {
		params.Include = append(slices.Clone(params.Include), responses.ResponseIncludableReasoningEncryptedContent)
	}
	if err := responsesFormat(&params, opts); err != nil {
		return params, err
	}
	if err := responsesTools(&params, opts); err != nil {
		return params, err
	}
	if text := agent.Instructions(opts); text != "" {
		params.Instructions = openai.String(text)
	}
	input := slices.Clone(params.Input.OfInputItemList)
	for _, m := range messages {
		if m == nil {
			continue
		}
		switch m.Role {
		case message.RoleSystem:
			role := responses.EasyInputMessageRoleSystem
			if p.config.DeveloperRole {
				role = responses.EasyInputMessageRoleDeveloper
			}
			if text := m.String(); text != "" {
				input = append(input, responses.ResponseInputItemParamOfMessage(text, role))
			}
		case message.RoleUser, "":
			input = appendInput(input, m.Contents)
		case message.RoleAssistant:
			input = p.appendOutput(input, m.Contents)
		case message.RoleTool:
			for _, c := range m.Contents {
				if r, ok := c.(*message.FunctionResultContent); ok {
					item := responses.ResponseInputItemParamOfFunctionCallOutput(r.Text())
					item.OfFunctionCallOutput.CallID = openai.String(r.CallID)
					input = append(input, item)
				}
			}
		default:
			return params, fmt.Errorf("message %q: the role %q is none of user, assistant, system, tool", m.ID, m.Role)
		}
	}
	params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: input}
	return params, nil
}

func appendInput(to responses.ResponseInputParam, contents message.Contents) responses.ResponseInputParam {
	var parts responses.ResponseInputMessageContentListParam
	for _, c := range contents {
		if t, ok := c.(*message.TextContent); ok {
			parts = append(parts, responses.ResponseInputContentParamOfInputText(t.Text))
		} else if part, ok := responsesPart(c); ok {
			parts = append(parts, part)
		}
	}
	switch {
	case len(parts) == 0:
		return to
	case len(parts) == 1 && parts[0].OfInputText != nil:
		return append(to, responses.ResponseInputItemParamOfMessage(parts[0].OfInputText.Text, responses.EasyInputMessageRoleUser))
	}
	return append(to, responses.ResponseInputItemParamOfMessage(parts, responses.EasyInputMessageRoleUser))
}

// responsesPart is a content of a user's message, text excepted. ok is false for
// contents that are not for the model.
func responsesPart(c message.Content) (part responses.ResponseInputContentUnionParam, ok bool) {
	file := func(f responses.ResponseInputFileParam) (responses.ResponseInputContentUnionParam, bool) {
		return responses.ResponseInputContentUnionParam{OfInputFile: &f}, true
	}
	image := func(uri string, c message.Content) (responses.ResponseInputContentUnionParam, bool) {
		part := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetail(cmp.Or(detail(c), "auto")))
		part.OfInputImage.ImageURL = openai.String(uri)
		return part, true
	}
	switch c := c.(type) {
	case *message.DataContent:
		switch {
		case c.TopLevelMediaType() == "image":
			return image(c.URI(), c)
		case isText(c.MediaType):
			return responses.ResponseInputContentParamOfInputText(string(c.Data)), true
		}
		return file(responses.ResponseInputFileParam{
			FileData: openai.String(c.URI()), Filename: openai.String(fileName(c.Name, c.MediaType)),
		})
	case *message.URIContent:
		if data, err := message.ParseDataURI(c.URI); err == nil {
			data.ContentHeader = c.ContentHeader
			return responsesPart(data)
		}
		if c.TopLevelMediaType() == "image" || c.MediaType == "" {
			return image(c.URI, c)
		}
		return file(responses.ResponseInputFileParam{FileURL: openai.String(c.URI)})
	case *message.HostedFileContent:
		if c.TopLevelMediaType() == "image" {
			part := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetail(cmp.Or(detail(c), "auto")))
			part.OfInputImage.FileID = openai.String(c.FileID)
			return part, true
		}
		return file(responses.ResponseInputFileParam{FileID: openai.String(c.FileID)})
	}
	return part, false
}

// appendOutput adds what the model said: text, calls and sealed reasoning, in the order
// in which they were said, since a call without the reasoning before it means less to
// the model.
func (p *provider) appendOutput(to responses.ResponseInputParam, contents message.Contents) responses.ResponseInputParam {
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			to = append(to, responses.ResponseInputItemParamOfMessage(text.String(), responses.EasyInputMessageRoleAssistant))
			text.Reset()
		}
	}
	for _, c := range contents {
		switch c := c.(type) {
		case *message.TextContent:
			text.WriteString(c.Text)
		case *message.TextReasoningContent:
			id, sealed, ok := strings.Cut(c.ProtectedData, answer.SealMark)
			if !p.config.EncryptedReasoning || !ok {
				continue // not asked for, or sealed by somebody else
			}
			flush()
			item := responses.ResponseInputItemParamOfReasoning(id, []responses.ResponseReasoningItemSummaryParam{})
			item.OfReasoning.EncryptedContent = openai.String(sealed)
			to = append(to, item)
		case *message.FunctionCallContent:
			if c.InformationalOnly {
				continue
			}
			flush()
			// Without the item's own id: the service would look for the reasoning item
			// that it belongs to.
			to = append(to, responses.ResponseInputItemParamOfFunctionCall(historyArguments(c.Arguments), c.CallID, c.Name))
		}
	}
	flush()
	return to
}

func responsesTools(params *responses.ResponseNewParams, opts []agent.Option) error {
	for _, t := range agent.Tools(opts) {
		f, err := function(t)
		if err != nil {
			return err
		}
		// Strict is what the service does when nothing is said; it refuses most schemas
		// then.
		definition := responses.FunctionToolParam{Name: f.name, Parameters: f.parameters, Strict: openai.Bool(false)}
		if f.description != "" {
			definition.Description = openai.String(f.description)
		}
		params.Tools = append(params.Tools, responses.ToolUnionParam{OfFunction: &definition})
	}
	if len(params.Tools) == 0 {
		return nil
	}
	if parallel, ok := agent.GetOption(opts, agent.WithParallelToolCalls); ok {
		params.ParallelToolCalls = openai.Bool(parallel)
	}
	mode, ok := agent.GetOption(opts, agent.WithToolMode)
	if !ok {
		return nil
	}
	if name, named := mode.RequiredTool(); named {
		params.ToolChoice = responses.ResponseNewParamsToolChoiceUnion{OfFunctionTool: &responses.ToolChoiceFunctionParam{Name: name}}
		return nil
	}
	switch mode.Mode() {
	case tool.ToolModeAuto, tool.ToolModeNone, tool.ToolModeRequired:
		params.ToolChoice = responses.ResponseNewParamsToolChoiceUnion{OfToolChoiceMode: param.NewOpt(responses.ToolChoiceOptions(mode.Mode()))}
		return nil
	}
	return fmt.Errorf("the tool mode %q is none of auto, none, required", mode)
}

func responsesFormat(params *responses.ResponseNewParams, opts []agent.Option) error {
	f, ok, err := responseFormat(opts)
	if !ok || err != nil {
		return err
	}
	if f.schema == nil {
		params.Text.Format.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		return nil
	}
	schema := responses.ResponseFormatTextJSONSchemaConfigParam{Name: f.name, Schema: f.schema}
	if f.description != "" {
		schema.Description = openai.String(f.description)
	}
	if f.strict {
		schema.Strict = openai.Bool(true)
	}
	params.Text.Format.OfJSONSchema = &schema
	return nil
}
