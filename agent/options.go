package agent

import (
	"context"
	"iter"
	"reflect"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

// Option is a setting of one run. An option's Go type is its identity: providers
// add options of their own with a type of their own and a function that makes it
//
//	type topKOpt int
//	func (o topKOpt) Value() any      { return int(o) }
//	func WithTopK(k int) agent.Option { return topKOpt(k) }
//
// and read them with [GetOption] or [AllOptions], which take that function as the
// key.
type Option interface {
	// Value is the argument that the option was made of.
	Value() any
}

// GetOption returns the value of the last option that setter makes, and whether
// there is one:
//
//	session, ok := agent.GetOption(opts, agent.WithSession)
func GetOption[T any](opts []Option, setter func(T) Option) (T, bool) {
	var last T
	found := false
	for v := range AllOptions(opts, setter) {
		last, found = v, true
	}
	return last, found
}

// AllOptions returns the values of all options that setter makes, in order.
func AllOptions[T any](opts []Option, setter func(T) Option) iter.Seq[T] {
	var zero T
	key := reflect.TypeOf(setter(zero))
	return func(yield func(T) bool) {
		for opt := range flatten(opts) {
			if reflect.TypeOf(opt) != key {
				continue
			}
			if v, ok := opt.Value().(T); ok && !yield(v) {
				return
			}
		}
	}
}

// Options joins several options to one.
func Options(opts ...Option) Option { return group(opts) }

type group []Option

func (g group) Value() any { return []Option(g) }

// flatten walks through opts and the groups in it.
func flatten(opts []Option) iter.Seq[Option] {
	return func(yield func(Option) bool) { walk(opts, yield) }
}

func walk(opts []Option, yield func(Option) bool) bool {
	for _, opt := range opts {
		if opt == nil {
			continue
		}
		if g, ok := opt.(group); ok {
			if !walk(g, yield) {
				return false
			}
			continue
		}
		if !yield(opt) {
			return false
		}
	}
	return true
}

type (
	toolOpt            struct{ t tool.Tool }
	toolModeOpt        tool.ToolMode
	instructionsOpt    string
	responseFormatOpt  ResponseFormat
	sessionOpt         struct{ s *Session }
	streamOpt          bool
	modelOpt           string
	maxTokensOpt       int
	temperatureOpt     float64
	topPOpt            float64
	seedOpt            int64
	stopOpt            []string
	reasoningEffortOpt string
	parallelCallsOpt   bool
	gateOpt            Gate
	openCallOpt        string
	beforeModelOpt     BeforeModel
	afterToolOpt       AfterTool
	functionOpt        FunctionInvocationMiddleware
	maxIterationsOpt   int
	toolTimeoutOpt     time.Duration
)

func (o toolOpt) Value() any            { return o.t }
func (o toolModeOpt) Value() any        { return tool.ToolMode(o) }
func (o instructionsOpt) Value() any    { return string(o) }
func (o responseFormatOpt) Value() any  { return ResponseFormat(o) }
func (o sessionOpt) Value() any         { return o.s }
func (o streamOpt) Value() any          { return bool(o) }
func (o modelOpt) Value() any           { return string(o) }
func (o maxTokensOpt) Value() any       { return int(o) }
func (o temperatureOpt) Value() any     { return float64(o) }
func (o topPOpt) Value() any            { return float64(o) }
func (o seedOpt) Value() any            { return int64(o) }
func (o stopOpt) Value() any            { return []string(o) }
func (o reasoningEffortOpt) Value() any { return string(o) }
func (o parallelCallsOpt) Value() any   { return bool(o) }
func (o gateOpt) Value() any            { return Gate(o) }
func (o openCallOpt) Value() any        { return string(o) }
func (o beforeModelOpt) Value() any     { return BeforeModel(o) }
func (o afterToolOpt) Value() any       { return AfterTool(o) }
func (o functionOpt) Value() any        { return FunctionInvocationMiddleware(o) }
func (o maxIterationsOpt) Value() any   { return int(o) }
func (o toolTimeoutOpt) Value() any     { return time.Duration(o) }

// WithTool offers the model a tool. Of two tools with one name the later counts, so a
// run can replace a tool of the agent's configuration; but a declaration never
// replaces a tool that runs here: clients send declarations, and a client must not
// take over a call that is meant for the server.
func WithTool(t tool.Tool) Option { return toolOpt{t} }

// WithTools offers the model several tools; it is several [WithTool] in one.
func WithTools(ts ...tool.Tool) Option {
	g := make(group, 0, len(ts))
	for _, t := range ts {
		g = append(g, WithTool(t))
	}
	return g
}

// Tools returns the tools that opts offer, in order, each name once (see [WithTool]).
// Providers read the tools this way.
func Tools(opts []Option) []tool.Tool {
	var all []tool.Tool
	at := make(map[string]int)
	for t := range AllOptions(opts, WithTool) {
		if t == nil {
			continue
		}
		if i, ok := at[t.Name()]; ok {
			_, runs := t.(tool.FuncTool)
			if _, ran := all[i].(tool.FuncTool); runs || !ran {
				all[i] = t
			}
			continue
		}
		at[t.Name()] = len(all)
		all = append(all, t)
	}
	return all
}

// WithToolMode says whether the model may or must call tools. "Must" holds for the
// first turn of a run only; otherwise it would never answer.
func WithToolMode(m tool.ToolMode) Option { return toolModeOpt(m) }

// WithInstructions adds to the system prompt. Several add up in order; providers
// read them with [Instructions].
func WithInstructions(text string) Option { return instructionsOpt(strings.TrimSpace(text)) }

// Instructions returns the system prompt: all instructions, a blank line between.
func Instructions(opts []Option) string {
	var parts []string
	for text := range AllOptions(opts, WithInstructions) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// WithResponseFormat asks for an answer in this form.
func WithResponseFormat(f ResponseFormat) Option { return responseFormatOpt(f) }

// WithSession continues a conversation: the session's messages come before the
// run's, and what the run adds is kept in it.
func WithSession(s *Session) Option { return sessionOpt{s} }

// Stream(false) allows a provider to ask for the answer in one piece. The answer
// comes through the same stream either way.
func Stream(on bool) Option { return streamOpt(on) }

// WithModel replaces the provider's model (or deployment) for this run.
func WithModel(name string) Option { return modelOpt(name) }

// WithMaxOutputTokens bounds what the model writes in one turn, reasoning included.
func WithMaxOutputTokens(n int) Option { return maxTokensOpt(n) }

// WithTemperature sets the sampling temperature.
func WithTemperature(t float64) Option { return temperatureOpt(t) }

// WithTopP sets nucleus sampling.
func WithTopP(p float64) Option { return topPOpt(p) }

// WithSeed asks for repeatable sampling where the vendor offers it.
func WithSeed(n int64) Option { return seedOpt(n) }

// WithStopSequences ends the answer before any of these texts.
func WithStopSequences(texts ...string) Option { return stopOpt(texts) }

// StopSequences returns what [WithStopSequences] set, or nil.
func StopSequences(opts []Option) []string {
	texts, _ := GetOption(opts, func(t []string) Option { return stopOpt(t) })
	return texts
}

// WithReasoningEffort says how much a reasoning model should think: the vendor's
// own word, such as "low".
func WithReasoningEffort(effort string) Option { return reasoningEffortOpt(effort) }

// WithParallelToolCalls says whether the model may call several tools in one turn.
// Unset is the vendor's default.
func WithParallelToolCalls(on bool) Option { return parallelCallsOpt(on) }

// BeforeModel sees the conversation right before a call of the model and returns
// what the model gets instead. It must not change messages or what they hold. What
// it adds is for that one call: it is neither kept nor streamed. An error ends the
// run.
type BeforeModel func(ctx context.Context, messages []*message.Message) ([]*message.Message, error)

// WithBeforeModel calls f before every call of the model, also those after tool
// calls. Several are called in order, each with the result of the one before.
func WithBeforeModel(f BeforeModel) Option { return beforeModelOpt(f) }

// AfterTool sees the result of a call right before it is yielded, kept and shown
// to the model, and returns what takes its place (usually result itself). It is
// called in the goroutine that reads the stream, one result at a time, in the order
// in which they are yielded; results that a gate gave are among them. An error ends
// the run.
type AfterTool func(ctx context.Context, call *message.FunctionCallContent, result *message.FunctionResultContent) (*message.FunctionResultContent, error)

// WithAfterTool calls f for every result of a call. Several are called in order.
func WithAfterTool(f AfterTool) Option { return afterToolOpt(f) }

// WithMaxIterations bounds the calls of the model in one run; 0 is
// [DefaultMaxIterations].
func WithMaxIterations(n int) Option { return maxIterationsOpt(n) }

// WithToolTimeout bounds each tool call; 0 is [DefaultToolTimeout], less is none.
func WithToolTimeout(d time.Duration) Option { return toolTimeoutOpt(d) }
