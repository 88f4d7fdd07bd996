package message

import (
	"strings"
)

// Content is one piece of a message. Every content is a pointer to a struct that
// embeds [ContentHeader]; embedding it is what makes a struct of one's own a
// content. The method set is not meant to be implemented in another way.
type Content interface {
	// Header returns a copy of what all contents have in common.
	Header() ContentHeader
	isContent()
}

// ContentHeader is what all contents have in common. Embed it to make a new kind
// of content. The zero value is ready.
type ContentHeader struct {
	// AdditionalProperties is anything a provider or an application wants to carry
	// along. Nothing in Lockstep reads it, and it is part of the JSON form.
	AdditionalProperties map[string]any `json:"additionalProperties,omitempty"`

	// RawRepresentation is the vendor's own object this content was made from. It
	// stays in the process: it is not part of the JSON form and never on the wire.
	RawRepresentation any `json:"-"`
}

// Header returns a copy of h.
//
// The receiver is a pointer on purpose: TextContent{} is then no Content and
// cannot be put where a type switch expects *TextContent.
func (h *ContentHeader) Header() ContentHeader { return *h }

func (h *ContentHeader) isContent() {}

// Contents is a list of contents with a JSON form (see [Contents.MarshalJSON]).
type Contents []Content

// Text returns all text contents joined with nothing between them. Reasoning is
// not text.
func (cs Contents) Text() string {
	var b strings.Builder
	for _, c := range cs {
		if t, ok := c.(*TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// Usage returns the sum of all usage contents.
func (cs Contents) Usage() UsageDetails {
	var sum UsageDetails
	for _, c := range cs {
		if u, ok := c.(*UsageContent); ok {
			sum.Add(u.Details)
		}
	}
	return sum
}

// Calls returns the complete function calls, in order.
func (cs Contents) Calls() []*FunctionCallContent {
	var calls []*FunctionCallContent
	for _, c := range cs {
		if f, ok := c.(*FunctionCallContent); ok {
			calls = append(calls, f)
		}
	}
	return calls
}

// TextContent is text to read.
type TextContent struct {
	ContentHeader
	Text string
}

// String returns the text.
func (c *TextContent) String() string { return c.Text }

// TextReasoningContent is what a model thought before it answered. It is not part
// of the answer.
type TextReasoningContent struct {
	ContentHeader
	// Text is the readable part (often a summary). It may be empty.
	Text string
	// ProtectedData is the vendor's encrypted form of the reasoning. It is opaque
	// and has to go back to the same vendor unchanged, or the model loses its
	// train of thought between tool calls.
	ProtectedData string
}

// String returns the readable text.
func (c *TextReasoningContent) String() string { return c.Text }

// FunctionCallContent is a complete call of a tool.
type FunctionCallContent struct {
	ContentHeader
	// CallID pairs the call with its result. It is unique within a conversation;
	// the tool loop of package agent makes sure of it.
	CallID string
	// Name is the tool's name.
	Name string
	// Arguments is JSON text, as the model wrote it. It may be invalid: models do
	// that. "" stands for no arguments.
	Arguments string
	// Error says why the call could not be read from the provider's answer.
	// A call with an error is never run.
	Error error
	// InformationalOnly marks a call that the provider runs itself, such as a
	// hosted web search. It is never run here.
	InformationalOnly bool
}

// GetCallID returns CallID.
func (c *FunctionCallContent) GetCallID() string { return c.CallID }

// FunctionCallDelta is a fragment of a call that a model is still writing.
// Microsoft Agent Framework has no such thing: there a call appears when it is
// complete. Here a provider emits the fragments, and the tool loop adds the
// complete [FunctionCallContent] when the turn is over.
//
// What a provider owes: all fragments of one call have the same Index, different
// calls of one model turn have different ones, and fragments of one call arrive
// in order (those of several calls may interleave). CallID and Name have to be
// there in the first fragment if the provider knows them; later fragments may
// leave them out. Arguments may be empty.
//
// What a reader behind the tool loop gets: every fragment has CallID and Name,
// and the concatenation of a call's fragments since the last one with Restart is
// the Arguments of the FunctionCallContent that follows.
type FunctionCallDelta struct {
	ContentHeader
	CallID string
	Name   string
	// Arguments is the next piece of the JSON text: to append, never cumulative.
	Arguments string
	// Index tells the calls of one model turn apart, from 0.
	Index int
	// Restart says that the provider starts this call's arguments again: what came
	// before does not count. Some send "{}" first and the real object later.
	Restart bool
}

// GetCallID returns CallID.
func (c *FunctionCallDelta) GetCallID() string { return c.CallID }

// UsageContent reports what one call of a model cost. Providers emit increments,
// never running totals, so that sums are right.
type UsageContent struct {
	ContentHeader
	Details UsageDetails
}

// UsageDetails counts tokens. The cached and the reasoning count are parts of the
// input and the output count, not additions to them. Zero means none or unknown.
type UsageDetails struct {
	InputTokenCount       int64 `json:"inputTokens,omitempty"`
	OutputTokenCount      int64 `json:"outputTokens,omitempty"`
	TotalTokenCount       int64 `json:"totalTokens,omitempty"`
	CachedInputTokenCount int64 `json:"cachedInputTokens,omitempty"`
	ReasoningTokenCount   int64 `json:"reasoningTokens,omitempty"`
	// AdditionalCounts are the vendor's other counters by name.
	AdditionalCounts map[string]int64 `json:"additional,omitempty"`
}

// Add adds other to u.
func (u *UsageDetails) Add(other UsageDetails) {
	u.InputTokenCount += other.InputTokenCount
	u.OutputTokenCount += other.OutputTokenCount
	u.TotalTokenCount += other.TotalTokenCount
	u.CachedInputTokenCount += other.CachedInputTokenCount
	u.ReasoningTokenCount += other.ReasoningTokenCount
	for name, n := range other.AdditionalCounts {
		if u.AdditionalCounts == nil {
			u.AdditionalCounts = make(map[string]int64)
		}
		u.AdditionalCounts[name] += n
	}
}

// IsZero reports whether nothing was counted.
func (u UsageDetails) IsZero() bool {
	return u.InputTokenCount == 0 && u.OutputTokenCount == 0 && u.TotalTokenCount == 0 &&
		u.CachedInputTokenCount == 0 && u.ReasoningTokenCount == 0 && len(u.AdditionalCounts) == 0
}

// ErrorContent is a failure that did not end the run, such as a refusal. What ends
// a run is an error of the stream, not a content.
type ErrorContent struct {
	ContentHeader
	Message   string
	Details   string
	ErrorCode string
}

// RawContent is a content of a kind that this process does not know. Its JSON
// form is kept and written back unchanged.
type RawContent struct {
	ContentHeader
	// JSON is the content's object, "type" member included.
	JSON []byte
}
