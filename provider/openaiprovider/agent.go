package openaiprovider

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/provider/openaiprovider/internal/answer"
)

// Defaults of [AgentConfig].
const (
	// DefaultIdleTimeout is long because reasoning models think in silence.
	DefaultIdleTimeout   = 3 * time.Minute
	DefaultTimeout       = 10 * time.Minute
	DefaultMaxEventBytes = 16 << 20
)

// AgentConfig sets up an agent on OpenAI's wire. Only Model is needed.
type AgentConfig struct {
	agent.Config

	// Model is the model's name, unless a run has [agent.WithModel].
	Model string
	// Instructions come after those of Config.
	Instructions string
	// ProviderName is what the agent calls its provider; "openai" if empty.
	ProviderName string

	// IdleTimeout is how long the service may be silent, from the request to the first
	// byte and then from byte to byte; comments that keep a connection alive are bytes
	// too. It does not count with [agent.Stream](false). 0 is [DefaultIdleTimeout],
	// less is no bound.
	IdleTimeout time.Duration
	// Timeout bounds one call of the model, retries included. 0 is [DefaultTimeout],
	// less is no bound.
	Timeout time.Duration
	// MaxEventBytes bounds one event of an answer. 0 is [DefaultMaxEventBytes].
	MaxEventBytes int

	// DeveloperRole sends system prompts as developer messages, which newer OpenAI
	// models want and few other servers know.
	DeveloperRole bool
	// LegacyMaxTokens sends [agent.WithMaxOutputTokens] as max_tokens, for servers that
	// do not know max_completion_tokens. Chat Completions only.
	LegacyMaxTokens bool
	// OmitStreamOptions does not ask for the token counts of a streamed answer, for
	// servers that refuse the question. (A server that says so is understood without.)
	// Chat Completions only.
	OmitStreamOptions bool
	// EchoReasoning sends earlier reasoning back as reasoning_content, which some
	// reasoning models want between tool calls and others refuse. Chat Completions
	// only.
	EchoReasoning bool

	// ReasoningSummary asks for a readable summary of the reasoning: "auto", "concise",
	// "detailed". Responses only.
	ReasoningSummary string
	// EncryptedReasoning asks for the reasoning in sealed form and sends it back with
	// the history, so that a reasoning model keeps its train of thought between tool
	// calls. Models that do not reason refuse it. Responses only.
	EncryptedReasoning bool

	// RequestOptions are applied to every request, after the client's.
	RequestOptions []option.RequestOption
}

type (
	chatParamsOpt      openai.ChatCompletionNewParams
	responsesParamsOpt responses.ResponseNewParams
)

func (o chatParamsOpt) Value() any      { return openai.ChatCompletionNewParams(o) }
func (o responsesParamsOpt) Value() any { return responses.ResponseNewParams(o) }

// ChatCompletionNewParams starts each Chat Completions request from params. What the
// run says comes on top.
func ChatCompletionNewParams(params openai.ChatCompletionNewParams) agent.Option {
	return chatParamsOpt(params)
}

// ResponsesNewParams starts each Responses request from params. What the run says comes
// on top.
func ResponsesNewParams(params responses.ResponseNewParams) agent.Option {
	return responsesParamsOpt(params)
}

// NewAgent makes an agent on the API that fits most servers, which is Chat Completions
// today. Say [NewChatCompletionsAgent] or [NewResponsesAgent] if it matters.
func NewAgent(client openai.Client, config AgentConfig) *agent.Agent {
	return NewChatCompletionsAgent(client, config)
}

// NewChatCompletionsAgent makes an agent on the Chat Completions API.
func NewChatCompletionsAgent(client openai.Client, config AgentConfig) *agent.Agent {
	p := &provider{client: client, config: config}
	return p.agent(p.chat)
}

// NewResponsesAgent makes an agent on the Responses API.
func NewResponsesAgent(client openai.Client, config AgentConfig) *agent.Agent {
	p := &provider{client: client, config: config}
	return p.agent(p.responses)
}

// provider is the model behind an agent. It is safe for concurrent use.
type provider struct {
	client openai.Client
	config AgentConfig

	noStreamOptions atomic.Bool // the server has refused them
}

func (p *provider) agent(run agent.RunFunc) *agent.Agent {
	config := p.config.Config
	if p.config.Instructions != "" {
		config.RunOptions = append([]agent.Option{agent.WithInstructions(p.config.Instructions)}, config.RunOptions...)
	}
	return agent.New(agent.ProviderConfig{ProviderName: cmp.Or(p.config.ProviderName, "openai"), Run: run}, config)
}

func (p *provider) chat(ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
	params, err := p.chatRequest(messages, opts)
	if err != nil {
		return failed(err)
	}
	x, streaming := p.exchange(opts)
	if streaming && !p.config.OmitStreamOptions && !params.StreamOptions.IncludeUsage.Valid() && !p.noStreamOptions.Load() {
		plain := params
		params.StreamOptions.IncludeUsage = openai.Bool(true)
		x.again = func(f *Failure) (any, bool) {
			if !f.refuses("stream_options") {
				return nil, false
			}
			p.noStreamOptions.Store(true)
			return plain, true
		}
	}
	return x.run(ctx, "chat/completions", params, new(answer.Chat))
}

func (p *provider) responses(ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
	params, err := p.responsesRequest(messages, opts)
	if err != nil {
		return failed(err)
	}
	x, _ := p.exchange(opts)
	return x.run(ctx, "responses", params, new(answer.Responses))
}

// exchange prepares a request and says whether its answer is streamed.
func (p *provider) exchange(opts []agent.Option) (*exchange, bool) {
	x := &exchange{client: p.client, limits: limits{
		idle:  bound(p.config.IdleTimeout, DefaultIdleTimeout),
		total: bound(p.config.Timeout, DefaultTimeout),
	}}
	x.limits.answer.Event = cmp.Or(max(p.config.MaxEventBytes, 0), DefaultMaxEventBytes)
	x.limits.answer.Body = 4 * x.limits.answer.Event
	x.options = append(x.options, p.config.RequestOptions...)
	streaming, ok := agent.GetOption(opts, agent.Stream)
	streaming = streaming || !ok
	if !streaming { // silent until it is there: only its time is bounded
		x.limits.idle = x.limits.total
	} else {
		x.options = append(x.options, option.WithJSONSet("stream", true), option.WithHeader("Accept", "text/event-stream"))
	}
	return x, streaming
}

// bound is a duration of the configuration: 0 is the default, less is for ever.
func bound(d, otherwise time.Duration) time.Duration {
	switch {
	case d == 0:
		return otherwise
	case d < 0:
		return 1<<63 - 1
	}
	return d
}

// The texts that people get to see. They never change, whatever the service said.
const (
	textFailed  = "The model could not answer. Please try again."
	textTimeout = "The model did not answer in time. Please try again."
)

// modelError is what a run ends with.
func modelError(f *Failure) error {
	if f.timedOut() {
		return agui.NewError(agui.CodeModelTimeout, textTimeout, f)
	}
	return agui.NewError(agui.CodeModelError, textFailed, f)
}

// failed is a stream that only has an error: the request could not be made.
func failed(err error) iter.Seq2[*agent.ResponseUpdate, error] {
	return func(yield func(*agent.ResponseUpdate, error) bool) {
		yield(nil, agui.NewError(agui.CodeModelError, textFailed, fmt.Errorf("openaiprovider: %w", err)))
	}
}
