package agent

import (
	"context"
	"iter"
	"slices"

	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

// RunFunc runs an agent or a model: messages in, a stream of updates out.
//
// The stream ends after its first error. Breaking out of it stops the run. ctx
// ending stops it too: the stream then ends with ctx's error, soon. A RunFunc
// starts its work when the stream is ranged over, and it may be ranged over once.
// Messages and options are read-only.
type RunFunc = func(ctx context.Context, messages []*message.Message, opts ...Option) iter.Seq2[*ResponseUpdate, error]

// Middleware wraps a [RunFunc]. It may change what goes in and what comes out, call
// next several times, or not at all. It treats messages and options as read-only:
// clone, change the clone, pass it on.
type Middleware interface {
	Run(next RunFunc, ctx context.Context, messages []*message.Message, opts ...Option) iter.Seq2[*ResponseUpdate, error]
}

// MiddlewareFunc is a function as a [Middleware].
type MiddlewareFunc func(next RunFunc, ctx context.Context, messages []*message.Message, opts ...Option) iter.Seq2[*ResponseUpdate, error]

// Run calls f.
func (f MiddlewareFunc) Run(next RunFunc, ctx context.Context, messages []*message.Message, opts ...Option) iter.Seq2[*ResponseUpdate, error] {
	return f(next, ctx, messages, opts...)
}

// Chain wraps run in middlewares, the first outermost. nil ones are skipped.
func Chain(run RunFunc, middlewares ...Middleware) RunFunc {
	for _, m := range slices.Backward(middlewares) {
		if m == nil {
			continue
		}
		next := run
		run = func(ctx context.Context, messages []*message.Message, opts ...Option) iter.Seq2[*ResponseUpdate, error] {
			return m.Run(next, ctx, messages, opts...)
		}
	}
	return run
}

// FunctionInvocationContext is one call of a tool on its way through
// [FunctionInvocationMiddleware].
type FunctionInvocationContext struct {
	// Function is the tool that will be called. A middleware may replace it.
	Function tool.FuncTool
	// CallID is the call's id. Changing it changes nothing.
	CallID string
	// Arguments is the JSON text of the arguments. A middleware may replace it.
	Arguments string
}

// FunctionInvocationMiddleware wraps the execution of one tool call, after the gate
// has let it through. It may change the arguments, answer itself without calling
// next, or change result and error. Calls of one turn run concurrently.
type FunctionInvocationMiddleware func(next func(context.Context, *FunctionInvocationContext) (any, error), ctx context.Context, invocation *FunctionInvocationContext) (any, error)

// WithFunctionMiddleware wraps every tool call of the run in m. Several wrap in
// order, the first outermost.
func WithFunctionMiddleware(m FunctionInvocationMiddleware) Option { return functionOpt(m) }

// invoke runs a tool call through the run's function middlewares.
func invoke(ctx context.Context, ms []FunctionInvocationMiddleware, f tool.FuncTool, call *message.FunctionCallContent) (any, error) {
	next := func(ctx context.Context, inv *FunctionInvocationContext) (any, error) {
		return inv.Function.Call(ctx, inv.Arguments)
	}
	for _, m := range slices.Backward(ms) {
		if m == nil {
			continue
		}
		inner := next
		next = func(ctx context.Context, inv *FunctionInvocationContext) (any, error) {
			return m(inner, ctx, inv)
		}
	}
	return next(ctx, &FunctionInvocationContext{Function: f, CallID: call.CallID, Arguments: call.Arguments})
}
