package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"iter"
	"log/slog"
	"slices"

	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

// Config is what an application says about its agent. The zero value is an agent
// without a name and tools.
type Config struct {
	// ID identifies the agent. Empty gets a random one.
	ID string
	// Name is shown as the author of the agent's messages.
	Name        string
	Description string
	// Instructions is the system prompt. Those of RunOptions and of a run come after it.
	Instructions string
	// Tools are offered in every run.
	Tools []tool.Tool
	// Middlewares wrap the whole run, the first outermost. See the package comment
	// for what lies inside of them.
	Middlewares []Middleware
	// FunctionMiddlewares wrap every tool call, the first outermost, outside of those
	// that a run adds.
	FunctionMiddlewares []FunctionInvocationMiddleware
	// RunOptions come before the options of every run.
	RunOptions []Option
	// Logger gets what nobody outside may see: the errors and panics of tools. nil
	// discards it. Arguments, results and prompts are never logged.
	Logger *slog.Logger

	// DisableFuncAutoCall leaves all tool calls to the caller: there is no tool loop.
	DisableFuncAutoCall bool
	// History bounds what the model is sent. nil is NewHistoryBound(nil);
	// [UnboundedHistory] sends everything. It runs before every model call, inside the
	// tool loop.
	History Middleware
	// ToolLoop sets up the tool loop; nil is the default. Its Logger defaults to
	// Logger.
	ToolLoop *ToolLoopConfig
}

// ProviderConfig is what a provider says about its model.
type ProviderConfig struct {
	// ProviderName names the provider, such as "openai".
	ProviderName string
	// Run calls the model once. It need not know about tool loops, sessions or
	// history, but it may be a whole agent from elsewhere: calls that it answers
	// itself, in the same stream, are left alone.
	Run RunFunc
	// Middlewares wrap Run, the first outermost. They see every single model call.
	Middlewares []Middleware
	// CreateSession prepares a session at the vendor's. nil: nothing to prepare.
	CreateSession func(ctx context.Context, s *Session, opts ...Option) error
}

// Agent is a model with instructions, tools and middlewares. It is immutable and
// safe for concurrent use.
type Agent struct {
	id, name, description string
	provider              ProviderConfig
	options               []Option
	run                   RunFunc
}

// New makes an agent of a provider's model. See the package comment for the order
// of everything.
func New(provider ProviderConfig, cfg Config) *Agent {
	a := &Agent{
		id:          cmp.Or(cfg.ID, "agent_"+rand.Text()),
		name:        cfg.Name,
		description: cfg.Description,
		provider:    provider,
	}
	if cfg.Instructions != "" {
		a.options = append(a.options, WithInstructions(cfg.Instructions))
	}
	a.options = append(a.options, WithTools(cfg.Tools...))
	for _, m := range cfg.FunctionMiddlewares {
		a.options = append(a.options, WithFunctionMiddleware(m))
	}
	a.options = append(a.options, cfg.RunOptions...)

	run := provider.Run
	if run == nil {
		run = func(context.Context, []*message.Message, ...Option) iter.Seq2[*ResponseUpdate, error] {
			return failed(errNoRun)
		}
	}
	inner := []Middleware{a.stamp()}
	if !cfg.DisableFuncAutoCall {
		var loop ToolLoopConfig
		if cfg.ToolLoop != nil {
			loop = *cfg.ToolLoop
		}
		if loop.Logger == nil {
			loop.Logger = cfg.Logger
		}
		inner = append(inner, NewToolLoop(&loop))
	}
	if cfg.History != nil {
		inner = append(inner, cfg.History)
	} else {
		inner = append(inner, NewHistoryBound(nil))
	}
	inner = append(inner, provider.Middlewares...)
	all := append(slices.Clone(cfg.Middlewares), remember())
	a.run = Chain(Chain(run, inner...), all...)
	return a
}

// ID returns the agent's id.
func (a *Agent) ID() string { return a.id }

// Name returns the agent's name.
func (a *Agent) Name() string { return a.name }

// Description returns the agent's description.
func (a *Agent) Description() string { return a.description }

// ProviderName returns the name of the provider behind the agent.
func (a *Agent) ProviderName() string { return a.provider.ProviderName }

// Tools returns the tools that the agent offers in every run.
func (a *Agent) Tools() []tool.Tool { return Tools(a.options) }

// CreateSession starts a conversation. new(Session) does too, unless the provider
// has something to prepare.
func (a *Agent) CreateSession(ctx context.Context, opts ...Option) (*Session, error) {
	s := new(Session)
	if a.provider.CreateSession != nil {
		if err := a.provider.CreateSession(ctx, s, opts...); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// RunText runs the agent with one user message.
func (a *Agent) RunText(ctx context.Context, text string, opts ...Option) ResponseStream {
	return a.Run(ctx, []*message.Message{message.NewText(text)}, opts...)
}

// RunMessage runs the agent with one message.
func (a *Agent) RunMessage(ctx context.Context, m *message.Message, opts ...Option) ResponseStream {
	return a.Run(ctx, []*message.Message{m}, opts...)
}

// Run runs the agent with these messages, after those of the session if there is
// one. Nothing happens before the stream is ranged over.
//
// If the conversation ends in unanswered calls, they are dealt with first; see the
// package comment.
func (a *Agent) Run(ctx context.Context, messages []*message.Message, opts ...Option) ResponseStream {
	all := make([]Option, 0, len(a.options)+len(opts))
	all = append(append(all, a.options...), opts...)
	messages = slices.DeleteFunc(slices.Clone(messages), func(m *message.Message) bool { return m == nil })
	return ResponseStream(a.run(ctx, messages, all...))
}

// stamp names the agent on every update that does not say whose it is.
func (a *Agent) stamp() Middleware {
	return MiddlewareFunc(func(next RunFunc, ctx context.Context, messages []*message.Message, opts ...Option) iter.Seq2[*ResponseUpdate, error] {
		return func(yield func(*ResponseUpdate, error) bool) {
			for u, err := range next(ctx, messages, opts...) {
				if err != nil {
					yield(nil, err)
					return
				}
				if u == nil {
					continue
				}
				stamped := *u
				stamped.AgentID = cmp.Or(u.AgentID, a.id)
				if u.Role != message.RoleTool {
					stamped.AuthorName = cmp.Or(u.AuthorName, a.name)
				}
				if !yield(&stamped, nil) {
					return
				}
			}
		}
	})
}

// remember puts the session's messages before the run's and keeps what a run that
// ended well has added. A run that fails or is broken off leaves the session as it
// was: half an answer is no history.
func remember() Middleware {
	return MiddlewareFunc(func(next RunFunc, ctx context.Context, messages []*message.Message, opts ...Option) iter.Seq2[*ResponseUpdate, error] {
		s, _ := GetOption(opts, WithSession)
		if s == nil || s.ServiceID() != "" {
			return next(ctx, messages, opts...)
		}
		return func(yield func(*ResponseUpdate, error) bool) {
			var added Response
			for u, err := range next(ctx, append(s.Messages(), messages...), opts...) {
				if err != nil {
					yield(nil, err)
					return
				}
				added.Update(u)
				if !yield(u, nil) {
					return
				}
			}
			if s.ServiceID() != "" { // the vendor has taken the conversation over
				return
			}
			added.Coalesce()
			s.Append(messages...)
			s.Append(added.Messages...)
		}
	})
}

// failed is a stream that only has an error.
func failed(err error) iter.Seq2[*ResponseUpdate, error] {
	return func(yield func(*ResponseUpdate, error) bool) { yield(nil, err) }
}
