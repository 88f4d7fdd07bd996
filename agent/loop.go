package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

// Limits of the tool loop; where configured otherwise, the defaults.
const (
	// DefaultMaxIterations is how often the model is asked in one run, at most.
	DefaultMaxIterations = 32
	// DefaultToolTimeout is the time one tool call has.
	DefaultToolTimeout = 5 * time.Minute
	// MaxCutTurns is how many turns in a row may be cut off in a call: a model that did
	// not get through that often will not the next time, and each try costs a whole
	// answer.
	MaxCutTurns = 3
	// MaxAnswerBytes is how much text, arguments and data one answer of the model may
	// have. A stream that goes on beyond it is a fault.
	MaxAnswerBytes = 16 << 20
	// DefaultMaxParallel is how many tools run at a time.
	DefaultMaxParallel = 16
)

// ToolLoopConfig sets up a tool loop. The zero value is the default.
type ToolLoopConfig struct {
	// MaxIterations bounds the calls of the model in one run. 0 is
	// [DefaultMaxIterations]. [WithMaxIterations] overrides it.
	MaxIterations int
	// ToolTimeout bounds each tool call. 0 is [DefaultToolTimeout], less is no bound.
	// [WithToolTimeout] overrides it.
	ToolTimeout time.Duration
	// MaxParallel is how many tools of one turn run at a time. 0 is
	// [DefaultMaxParallel]; 1 runs them one after the other, in order.
	MaxParallel int
	// Logger gets the errors and panics of tools. nil discards them.
	Logger *slog.Logger
	// NewID makes ids for messages and for calls that a provider gave none. nil is
	// random ones. It may be called concurrently by several runs.
	NewID func() string
}

// NewToolLoop returns the middleware that runs a model's tool calls and asks it
// again, until it has nothing more to call. [New] puts one around the provider; the
// package comment says what it does. cfg may be nil.
func NewToolLoop(cfg *ToolLoopConfig) Middleware {
	l := &toolLoop{}
	if cfg != nil {
		l.cfg = *cfg
	}
	if l.cfg.MaxIterations == 0 {
		l.cfg.MaxIterations = DefaultMaxIterations
	}
	if l.cfg.ToolTimeout == 0 {
		l.cfg.ToolTimeout = DefaultToolTimeout
	}
	if l.cfg.MaxParallel <= 0 {
		l.cfg.MaxParallel = DefaultMaxParallel
	}
	if l.cfg.Logger == nil {
		l.cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if l.cfg.NewID == nil {
		l.cfg.NewID = rand.Text
	}
	return l
}

type toolLoop struct{ cfg ToolLoopConfig }

func (l *toolLoop) Run(next RunFunc, ctx context.Context, messages []*message.Message, opts ...Option) iter.Seq2[*ResponseUpdate, error] {
	return func(yield func(*ResponseUpdate, error) bool) {
		cfg := l.cfg
		if n, ok := GetOption(opts, WithMaxIterations); ok && n != 0 {
			cfg.MaxIterations = n
		}
		if d, ok := GetOption(opts, WithToolTimeout); ok && d != 0 {
			cfg.ToolTimeout = d
		}
		r := &loopRun{
			cfg:          cfg,
			next:         next,
			opts:         opts,
			yield:        yield,
			conversation: slices.Clone(messages),
			ids:          usedIDs(messages),
			tools:        make(map[string]tool.Tool),
			before:       slices.Collect(AllOptions(opts, WithBeforeModel)),
			after:        slices.Collect(AllOptions(opts, WithAfterTool)),
			functions:    slices.Collect(AllOptions(opts, WithFunctionMiddleware)),
		}
		r.gate, _ = GetOption(opts, WithGate)
		for _, t := range Tools(opts) {
			r.tools[t.Name()] = t
		}
		r.run(ctx)
	}
}

// loopRun is one run of the loop. It lives in the goroutine that reads the stream.
type loopRun struct {
	cfg       ToolLoopConfig
	next      RunFunc
	opts      []Option
	yield     func(*ResponseUpdate, error) bool
	tools     map[string]tool.Tool
	gate      Gate
	before    []BeforeModel
	after     []AfterTool
	functions []FunctionInvocationMiddleware

	// conversation is all there is to know: what came in and what was yielded.
	conversation []*message.Message
	ids          idSet
}

func (r *loopRun) run(ctx context.Context) {
	if open := openCalls(r.conversation, slices.Collect(AllOptions(r.opts, WithOpenCall))); len(open) > 0 {
		if !r.answer(ctx, open) {
			return
		}
	}
	cut := 0
	for n := 0; ; n++ {
		if n >= r.cfg.MaxIterations {
			r.fail(&LimitError{Iterations: n})
			return
		}
		calls, ok := r.ask(ctx)
		if !ok || len(calls) == 0 || !r.answer(ctx, calls) {
			return
		}
		if !errors.Is(calls[len(calls)-1].Error, ErrTruncated) {
			cut = 0
		} else if cut++; cut == MaxCutTurns {
			r.fail(ErrTruncated)
			return
		}
		if m, ok := GetOption(r.opts, WithToolMode); ok && m.Mode() == tool.ToolModeRequired {
			// Whoever has to call a tool in every turn never answers.
			r.opts = append(slices.Clone(r.opts), WithToolMode(tool.ToolModeAuto))
		}
	}
}

// fail ends the stream with err.
func (r *loopRun) fail(err error) bool {
	r.yield(nil, err)
	return false
}

// ask calls the model once, passes on what it says and returns its calls. ok is
// false if the stream is over.
func (r *loopRun) ask(ctx context.Context) (calls []*message.FunctionCallContent, ok bool) {
	if ctx.Err() != nil {
		return nil, r.fail(context.Cause(ctx))
	}
	prompt := repair(r.conversation)
	for _, f := range r.before {
		var err error
		if prompt, err = f(ctx, prompt); err != nil {
			return nil, r.fail(err)
		}
	}
	t := newTurn(&r.ids, r.cfg.NewID)
	for u, err := range r.next(ctx, prompt, r.opts...) {
		if err != nil {
			return nil, r.fail(err)
		}
		for _, u := range t.take(u) {
			if !r.yield(u, nil) {
				return nil, false
			}
		}
		if t.size > MaxAnswerBytes {
			return nil, r.fail(ErrAnswerTooLong)
		}
	}
	updates, calls := t.end()
	for _, u := range updates {
		if !r.yield(u, nil) {
			return nil, false
		}
	}
	r.conversation = append(r.conversation, t.messages()...)
	return calls, true
}

// openCalls returns the calls that a run has to begin with: those without a result
// since the last user message, and those that are named. Other calls further back
// are settled, answered or not: the conversation went on without them.
func openCalls(messages []*message.Message, named []string) []*message.FunctionCallContent {
	from := 0
	for i, m := range messages {
		if m != nil && m.Role == message.RoleUser {
			from = i + 1
		}
	}
	if len(named) == 0 {
		return message.Unanswered(messages[from:])
	}
	recent := message.Unanswered(messages[from:])
	return slices.DeleteFunc(message.Unanswered(messages), func(c *message.FunctionCallContent) bool {
		return !slices.Contains(named, c.CallID) && !slices.Contains(recent, c)
	})
}

// WithOpenCall names a call of the conversation that the run is to begin with,
// though the conversation has gone on: one that was held and is decided now. It
// may be given several times.
func WithOpenCall(callID string) Option { return openCallOpt(callID) }
