package agent

import (
	"context"
	"iter"

	"github.com/lockstep-go/lockstep/message"
)

// DefaultHistoryTokens is how much of a conversation the model is sent unless
// configured: a model with 128k tokens of context has room for it, for tools and for
// an answer.
const DefaultHistoryTokens = 100_000

// HistoryBound says how much of a conversation the model is sent.
type HistoryBound struct {
	// MaxTokens bounds the estimated tokens. 0 is [DefaultHistoryTokens], less is no
	// bound.
	MaxTokens int
	// MaxMessages bounds the number of messages. 0 or less is no bound.
	MaxMessages int
	// Estimate says how many tokens a message is. nil is [EstimateTokens].
	Estimate func(*message.Message) int
}

// UnboundedHistory sends the model everything; see [Config.History].
var UnboundedHistory Middleware = MiddlewareFunc(func(next RunFunc, ctx context.Context, messages []*message.Message, opts ...Option) iter.Seq2[*ResponseUpdate, error] {
	return next(ctx, messages, opts...)
})

// NewHistoryBound returns the middleware that leaves out the oldest part of a
// conversation that is too long:
//
//   - system messages always stay;
//   - the newest exchange always stays: the last user message and everything after it,
//     however long, because a model that does not see the question cannot answer;
//   - before that, the newest that fits stays, without a gap;
//   - a call and its results stay or go together, and what stays does not begin with
//     an answer to something that went.
//
// It is stateless. b may be nil.
func NewHistoryBound(b *HistoryBound) Middleware {
	var bound HistoryBound
	if b != nil {
		bound = *b
	}
	if bound.MaxTokens == 0 {
		bound.MaxTokens = DefaultHistoryTokens
	}
	if bound.Estimate == nil {
		bound.Estimate = EstimateTokens
	}
	return MiddlewareFunc(func(next RunFunc, ctx context.Context, messages []*message.Message, opts ...Option) iter.Seq2[*ResponseUpdate, error] {
		return next(ctx, bound.cut(messages), opts...)
	})
}

// cut returns the part of messages that fits, or messages itself.
func (b *HistoryBound) cut(messages []*message.Message) []*message.Message {
	tokens := 0
	for _, m := range messages {
		tokens += b.Estimate(m)
	}
	fits := func(tokens, count int) bool {
		return (b.MaxTokens < 0 || tokens <= b.MaxTokens) && (b.MaxMessages <= 0 || count <= b.MaxMessages)
	}
	if fits(tokens, len(messages)) {
		return messages
	}
	// An exchange begins with a user message. Leaving out whole exchanges keeps calls
	// with their results and questions with their answers.
	starts := []int{}
	count := len(messages)
	for i, m := range messages {
		if m.Role == message.RoleUser {
			starts = append(starts, i)
		}
	}
	from := 0
	for _, start := range starts {
		for ; from < start; from++ {
			if messages[from].Role != message.RoleSystem {
				tokens -= b.Estimate(messages[from])
				count--
			}
		}
		if fits(tokens, count) {
			break
		}
	}
	kept := make([]*message.Message, 0, count)
	for i, m := range messages {
		if i >= from || m.Role == message.RoleSystem {
			kept = append(kept, m)
		}
	}
	return kept
}

// EstimateTokens guesses a message's tokens: one for every three bytes of text, 1000
// for an image or a file, and a few for each message. It is too high for English and
// about right for scripts whose characters take three bytes: too high costs a little
// memory of the conversation, too low an error of the vendor.
func EstimateTokens(m *message.Message) int {
	if m == nil {
		return 0
	}
	bytes, whole := 0, 4
	for _, c := range m.Contents {
		switch c := c.(type) {
		case *message.TextContent:
			bytes += len(c.Text)
		case *message.TextReasoningContent:
			bytes += len(c.Text) + len(c.ProtectedData)
		case *message.FunctionCallContent:
			bytes += len(c.Name) + len(c.Arguments)
		case *message.FunctionResultContent:
			bytes += len(c.Text())
		case *message.DataContent, *message.URIContent, *message.HostedFileContent:
			whole += 1000
		}
	}
	return whole + (bytes+2)/3
}
