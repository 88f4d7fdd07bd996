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
//   - whole exchanges go, the oldest first. An exchange is one or more user messages in
//     a row and everything up to the next;
//   - if the newest exchange alone is too long, its oldest steps go: a step is an
//     assistant's message with the results of its calls. Its user messages and its
//     newest step stay, however long, because a model that does not see what it was
//     asked cannot answer.
//
// So a call and its results stay or go together, and nothing is cut. It is stateless,
// and it only changes what the model is sent. b may be nil.
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
	tokens, count := 0, len(messages)
	for _, m := range messages {
		tokens += b.Estimate(m)
	}
	fits := func() bool {
		return (b.MaxTokens < 0 || tokens <= b.MaxTokens) && (b.MaxMessages <= 0 || count <= b.MaxMessages)
	}
	if fits() {
		return messages
	}
	gone := make([]bool, len(messages))
	drop := func(from, to int) {
		for i := from; i < to; i++ {
			if messages[i].Role != message.RoleSystem && !gone[i] {
				gone[i] = true
				tokens -= b.Estimate(messages[i])
				count--
			}
		}
	}
	exchanges := starts(messages, 0, func(m, before *message.Message) bool {
		return m.Role == message.RoleUser && (before == nil || before.Role != message.RoleUser)
	})
	newest := 0
	for _, start := range exchanges {
		if fits() {
			break
		}
		drop(newest, start)
		newest = start
	}
	if !fits() {
		steps := starts(messages, newest, func(m, _ *message.Message) bool { return m.Role == message.RoleAssistant })
		for i := 0; i+1 < len(steps) && !fits(); i++ {
			drop(steps[i], steps[i+1])
		}
	}
	kept := make([]*message.Message, 0, count)
	for i, m := range messages {
		if !gone[i] {
			kept = append(kept, m)
		}
	}
	return kept
}

// starts returns the positions from which is reports true, given a message and the one
// before it, system messages not counted.
func starts(messages []*message.Message, from int, is func(m, before *message.Message) bool) []int {
	var at []int
	var before *message.Message
	for i := from; i < len(messages); i++ {
		m := messages[i]
		if m.Role == message.RoleSystem {
			continue
		}
		if is(m, before) {
			at = append(at, i)
		}
		before = m
	}
	return at
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
