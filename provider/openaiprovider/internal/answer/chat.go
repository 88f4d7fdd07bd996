package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/message"
)

// chatChunk is what is read of a Chat Completions chunk, or of an answer in one piece, whose choice has a message in place of
// a delta. What servers are known to send in several forms stays raw. The SDK's types are not used for reading: they do
// not know reasoning_content, and cannot tell an index of 0 from none without looking at the raw text again.
type chatChunk struct {
	ID      json.RawMessage `json:"id"`
	Created json.RawMessage `json:"created"`
	Choices []chatChoice    `json:"choices"`
	Usage   *chatUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type chatChoice struct {
	Index        json.RawMessage `json:"index"`
	Delta        *chatDelta      `json:"delta"`
	Message      *chatDelta      `json:"message"`
	FinishReason string          `json:"finish_reason"`
}

type chatDelta struct {
	Content          json.RawMessage `json:"content"`
	Refusal          string          `json:"refusal"`
	ReasoningContent string          `json:"reasoning_content"` // DeepSeek, vLLM, llama.cpp
	Reasoning        json.RawMessage `json:"reasoning"`         // OpenRouter, Ollama, newer vLLM: a string
	ToolCalls        []chatCall      `json:"tool_calls"`
	FunctionCall     *chatFunction   `json:"function_call"` // from before there were tools
}

type chatCall struct {
	Index    json.RawMessage `json:"index"`
	ID       json.RawMessage `json:"id"`
	Function chatFunction    `json:"function"`
}

type chatFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type chatUsage struct {
	PromptTokens        int64 `json:"prompt_tokens"`
	CompletionTokens    int64 `json:"completion_tokens"`
	TotalTokens         int64 `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens int64 `json:"cached_tokens"`
		AudioTokens  int64 `json:"audio_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens          int64 `json:"reasoning_tokens"`
		AudioTokens              int64 `json:"audio_tokens"`
		AcceptedPredictionTokens int64 `json:"accepted_prediction_tokens"`
		RejectedPredictionTokens int64 `json:"rejected_prediction_tokens"`
	} `json:"completion_tokens_details"`
}

// Chat turns the events of one Chat Completions answer into updates. It reads choice 0 only: this module asks for one
// choice, and mixing two would be worse than missing one. It has no clock, no goroutine and no I/O.
type Chat struct {
	calls  callTable
	id     string
	made   time.Time
	finish string
	usage  *chatUsage
	done   bool
}

// Event takes one event's data and returns what it adds; nil if that is nothing.
func (s *Chat) Event(_ string, data []byte) (*agent.ResponseUpdate, error) {
	if bytes.Equal(data, doneMark) {
		s.done = true
		return nil, nil
	}
	var chunk chatChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return nil, fmt.Errorf("a chunk is no JSON as expected: %w", err)
	}
	if said(chunk.Error) {
		return nil, parseError(chunk.Error)
	}
	if s.id == "" {
		s.id = plainText(chunk.ID)
	}
	if s.made.IsZero() {
		s.made = unixTime(chunk.Created)
	}
	if chunk.Usage != nil {
		s.usage = chunk.Usage // some send a running total with each chunk: the last one counts
	}
	var contents message.Contents
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		if n, ok := integer(choice.Index); ok && n != 0 || !ok && i > 0 {
			continue
		}
		added, err := s.choice(choice)
		if err != nil {
			return nil, err
		}
		contents = append(contents, added...)
	}
	if len(contents) == 0 {
		return nil, nil
	}
	return s.update(contents), nil
}

func (s *Chat) choice(choice *chatChoice) (message.Contents, error) {
	s.finish = moreSevere(s.finish, choice.FinishReason)
	delta := choice.Delta
	if delta == nil {
		delta = choice.Message
	}
	if delta == nil { // Azure's content filter results come in choices without a delta
		return nil, nil
	}
	var contents message.Contents
	if text := delta.reasoning(); text != "" {
		contents = append(contents, &message.TextReasoningContent{Text: text})
	}
	contents = appendParts(contents, delta.Content)
	if delta.Refusal != "" { // what the model says instead of an answer is what the person should read
		contents = append(contents, &message.TextContent{Text: delta.Refusal})
	}
	calls := delta.ToolCalls
	if delta.FunctionCall != nil {
		calls = append(calls, chatCall{Function: *delta.FunctionCall})
	}
	for _, call := range calls {
		d := callDelta{id: plainText(call.ID), name: call.Function.Name, arguments: argumentText(call.Function.Arguments)}
		if n, ok := integer(call.Index); ok {
			d.place = &n
		}
		out, err := s.calls.add(d)
		if err != nil {
			return nil, err
		}
		if out != nil {
			contents = append(contents, out)
		}
	}
	return contents, nil
}

// Complete reports whether the answer has said that it is over.
func (s *Chat) Complete() bool { return s.done || s.finish != "" }

// Ended reports whether nothing more can come.
func (s *Chat) Ended() bool { return s.done }

// Close returns the last update, with the reason why the model stopped and what it cost.
func (s *Chat) Close() (*agent.ResponseUpdate, error) {
	if err := s.calls.end(); err != nil {
		return nil, err
	}
	var contents message.Contents
	if s.usage != nil {
		contents = append(contents, &message.UsageContent{Details: s.usage.details()})
	}
	update := s.update(contents)
	update.FinishReason = finishReason(s.finish, s.calls.sent > 0)
	return update, nil
}

func (s *Chat) update(contents message.Contents) *agent.ResponseUpdate {
	return &agent.ResponseUpdate{Role: message.RoleAssistant, Contents: contents, ResponseID: s.id, CreatedAt: s.made}
}

func (d *chatDelta) reasoning() string {
	if d.ReasoningContent != "" {
		return d.ReasoningContent
	}
	var text string
	_ = json.Unmarshal(d.Reasoning, &text) // another form: none that is known
	return text
}

// appendParts adds the text of a content member: a string, or the list of parts that some reasoning models stream.
func appendParts(contents message.Contents, raw json.RawMessage) message.Contents {
	if !said(raw) {
		return contents
	}
	if raw[0] == '"' {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			contents = append(contents, &message.TextContent{Text: text})
		}
		return contents
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return contents
	}
	for _, part := range parts {
		if part.Text != "" {
			contents = append(contents, &message.TextContent{Text: part.Text})
		}
		for _, c := range appendParts(nil, part.Thinking) {
			contents = append(contents, &message.TextReasoningContent{Text: c.(*message.TextContent).Text})
		}
	}
	return contents
}

// argumentText is the arguments' text: a JSON string by the protocol, the object itself from some servers.
func argumentText(raw json.RawMessage) string {
	if !said(raw) {
		return ""
	}
	if raw[0] != '"' {
		return string(raw)
	}
	var text string
	_ = json.Unmarshal(raw, &text) // the whole chunk was valid JSON
	return text
}

func (u *chatUsage) details() message.UsageDetails {
	d := message.UsageDetails{
		InputTokenCount:       u.PromptTokens,
		OutputTokenCount:      u.CompletionTokens,
		TotalTokenCount:       u.TotalTokens,
		CachedInputTokenCount: u.PromptTokensDetails.CachedTokens,
		ReasoningTokenCount:   u.CompletionTokensDetails.ReasoningTokens,
	}
	if d.TotalTokenCount == 0 {
		d.TotalTokenCount = d.InputTokenCount + d.OutputTokenCount
	}
	for name, n := range map[string]int64{
		"prompt_audio_tokens":        u.PromptTokensDetails.AudioTokens,
		"completion_audio_tokens":    u.CompletionTokensDetails.AudioTokens,
		"accepted_prediction_tokens": u.CompletionTokensDetails.AcceptedPredictionTokens,
		"rejected_prediction_tokens": u.CompletionTokensDetails.RejectedPredictionTokens,
	} {
		if n == 0 {
			continue
		}
		if d.AdditionalCounts == nil {
			d.AdditionalCounts = make(map[string]int64)
		}
		d.AdditionalCounts[name] = n
	}
	return d
}

// moreSevere returns the finish reason that counts of two. Gateways send two, the second being "stop" as often as not; that
// an answer was cut must not get lost behind it, or a tool would run with half of its arguments.
func moreSevere(a, b string) string {
	if severity(b) > severity(a) {
		return b
	}
	return a
}

func severity(reason string) int {
	switch reason {
	case "":
		return 0
	case "stop":
		return 1
	case "tool_calls", "function_call":
		return 2
	case "length", "max_tokens", "model_length":
		return 4
	case "content_filter":
		return 5
	default:
		return 3
	}
}

// finishReason is a vendor's reason in the words of package agent. An answer that ended without one ended with [DONE].
func finishReason(reason string, calls bool) string {
	switch reason {
	case "", "stop", "tool_calls", "function_call":
		if calls {
			return agent.FinishReasonToolCalls
		}
		return agent.FinishReasonStop
	case "length", "max_tokens", "model_length":
		return agent.FinishReasonLength
	}
	return reason
}

// said reports whether a member is there and not null.
func said(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] != 'n' }

var doneMark = []byte("[DONE]")

// integer reads a whole number, also one in quotes or with a fraction of zero.
func integer(raw json.RawMessage) (int, bool) {
	f, err := strconv.ParseFloat(string(bytes.Trim(raw, `"`)), 64)
	if err != nil || f != float64(int(f)) {
		return 0, false
	}
	return int(f), true
}

func unixTime(raw json.RawMessage) time.Time {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f <= 0 || f > 1e11 {
		return time.Time{}
	}
	return time.Unix(int64(f), 0).UTC()
}
