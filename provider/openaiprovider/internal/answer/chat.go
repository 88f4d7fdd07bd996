package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/message"
)

// chatChunk is what is read of a Chat Completions chunk, or of an answer in one piece,
// whose choice has a message in place of a delta. What servers are known to send in
// several forms stays raw. The SDK's types are not used for reading: they do not know
// reasoning_content, and cannot tell an index of 0 from none without looking at the raw
// text again.
type chatChunk struct {
	ID      word            `json:"id"`
	Created integer         `json:"created"`
	Choices []chatChoice    `json:"choices"`
	Usage   *chatUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type chatChoice struct {
	Index        integer    `json:"index"`
	Delta        *chatDelta `json:"delta"`
	Message      *chatDelta `json:"message"`
	FinishReason string     `json:"finish_reason"`
}

type chatDelta struct {
	Content          fragment      `json:"content"`
	Refusal          string        `json:"refusal"`
	ReasoningContent fragment      `json:"reasoning_content"` // DeepSeek, vLLM, llama.cpp
	Reasoning        fragment      `json:"reasoning"`         // OpenRouter, Ollama, newer vLLM; some send both
	ToolCalls        []chatCall    `json:"tool_calls"`
	FunctionCall     *chatFunction `json:"function_call"` // from before there were tools
}

type chatCall struct {
	Index    integer      `json:"index"`
	ID       word         `json:"id"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string   `json:"name"`
	Arguments fragment `json:"arguments"`
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

// Chat turns the events of one Chat Completions answer into updates. It reads choice 0
// only: this module asks for one choice, and mixing two would be worse than missing
// one. It has no clock, no goroutine and no I/O.
type Chat struct {
	calls  callTable
	text   pair
	think  pair
	id     string
	made   time.Time
	finish string
	usage  *chatUsage
	spoke  bool
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
		s.id = string(chunk.ID)
	}
	if s.made.IsZero() {
		s.made = chunk.Created.time()
	}
	if chunk.Usage != nil {
		s.usage = chunk.Usage // some send a running total with each chunk: the last one counts
	}
	var contents message.Contents
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		if choice.Index.set && choice.Index.n != 0 || !choice.Index.set && i > 0 {
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
	s.spoke = true
	return s.update(contents), nil
}

func (s *Chat) choice(choice *chatChoice) (message.Contents, error) {
	s.finish = moreSevere(s.finish, choice.FinishReason)
	delta := choice.Delta
	if delta == nil && !s.spoke { // behind deltas a message only repeats them
		delta = choice.Message
	}
	if delta == nil { // Azure's content filter results come in choices without a delta
		return nil, nil
	}
	var contents message.Contents
	thought := delta.ReasoningContent
	if thought.text == "" && thought.tail == 0 && thought.head == 0 {
		thought = delta.Reasoning
	}
	contents = appendThought(contents, s.think.join(thought))
	contents = appendText(contents, s.text.join(delta.Content))
	for _, part := range delta.Content.parts {
		contents = appendThought(contents, part.Thinking.text)
		for _, inner := range part.Thinking.parts {
			contents = appendThought(contents, inner.Text)
		}
		contents = appendText(contents, part.Text)
	}
	contents = appendText(contents, delta.Refusal) // what the model says instead of an answer is what the person should read
	calls := delta.ToolCalls
	if delta.FunctionCall != nil {
		calls = append(calls, chatCall{Function: *delta.FunctionCall})
	}
	for _, call := range calls {
		d := callDelta{place: call.Index, id: string(call.ID), name: call.Function.Name, arguments: call.Function.Arguments}
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

// Close returns the last update, with the reason why the model stopped and what it
// cost.
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

func appendText(contents message.Contents, text string) message.Contents {
	if text == "" {
		return contents
	}
	return append(contents, &message.TextContent{Text: text})
}

func appendThought(contents message.Contents, text string) message.Contents {
	if text == "" {
		return contents
	}
	return append(contents, &message.TextReasoningContent{Text: text})
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

// moreSevere returns the finish reason that counts of two. Gateways send two, the
// second being "stop" as often as not; that an answer was cut must not get lost behind
// it, or a tool would run with half of its arguments.
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

// finishReason is a vendor's reason in the words of package agent. An answer that ended
// without one ended with [DONE].
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

var doneMark = []byte("[DONE]")
