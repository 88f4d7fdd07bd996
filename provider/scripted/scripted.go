package scripted

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
)

// DefaultPace is the time between two pieces of an answer: fast enough not to bore,
// slow enough to see a state grow.
const DefaultPace = time.Second / 30

// defaultPiece is the size of a piece of arguments in bytes, about three tokens.
const defaultPiece = 12

// Options sets the model up. The zero value is the default.
type Options struct {
	// Pace is the time between two pieces. 0 is [DefaultPace], less is no time at all.
	Pace time.Duration
	// Piece is about how many bytes of a tool's arguments come at a time; 0 is 12. Texts
	// come word by word.
	Piece int
	// Sleep lets time pass. It returns early, with ctx's error, when ctx ends. nil is
	// the real clock, which in a testing/synctest bubble is the bubble's.
	Sleep func(ctx context.Context, d time.Duration) error
}

// AgentConfig sets up an agent with the scripted model.
type AgentConfig struct {
	agent.Config
	Options Options
}

// NewAgent returns an agent that thinks with the scripted model.
func NewAgent(cfg AgentConfig) *agent.Agent {
	return agent.New(agent.ProviderConfig{ProviderName: "scripted", Run: New(&cfg.Options)}, cfg.Config)
}

// New returns the model. o may be nil.
func New(o *Options) agent.RunFunc {
	m := &model{}
	if o != nil {
		m.Options = *o
	}
	if m.Pace == 0 {
		m.Pace = DefaultPace
	}
	if m.Piece <= 0 {
		m.Piece = defaultPiece
	}
	if m.Sleep == nil {
		m.Sleep = sleep
	}
	return m.run
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type model struct{ Options }

func (m *model) run(ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
	return func(yield func(*agent.ResponseUpdate, error) bool) {
		v := read(messages, opts)
		w := &writer{model: m, ctx: ctx, yield: yield, calls: v.calls}
		reason := agent.FinishReasonStop
		for _, a := range answer(v) {
			if a.tool != "" {
				reason = agent.FinishReasonToolCalls
			}
			if !w.write(a) {
				return
			}
		}
		input := 0
		for _, msg := range messages {
			input += agent.EstimateTokens(msg)
		}
		w.send(&agent.ResponseUpdate{
			FinishReason: reason,
			Contents: message.Contents{&message.UsageContent{Details: message.UsageDetails{
				InputTokenCount: int64(input), OutputTokenCount: int64(w.pieces), TotalTokenCount: int64(input + w.pieces),
			}}},
		})
	}
}

// act is one thing that an answer does: it thinks, it says something, or it calls a
// tool.
type act struct {
	think, say string
	tool       string
	args       jsondoc.Value
}

func say(format string, args ...any) []act {
	return []act{{say: fmt.Sprintf(format, args...)}}
}

func call(tool string, members ...jsondoc.Member) act {
	return act{tool: tool, args: jsondoc.Object(members...)}
}

func member(name string, v jsondoc.Value) jsondoc.Member {
	return jsondoc.Member{Name: name, Value: v}
}

func text(name, s string) jsondoc.Member { return member(name, jsondoc.String(s)) }

func texts(list ...string) jsondoc.Value {
	items := make([]jsondoc.Value, len(list))
	for i, s := range list {
		items[i] = jsondoc.String(s)
	}
	return jsondoc.Array(items...)
}

// writer streams acts.
type writer struct {
	*model
	ctx    context.Context
	yield  func(*agent.ResponseUpdate, error) bool
	calls  int // calls of the conversation so far
	index  int // calls of this answer so far
	pieces int
}

// write returns false if nobody listens any more or the time is over.
func (w *writer) write(a act) bool {
	for _, word := range words(a.think) {
		if !w.content(&message.TextReasoningContent{Text: word}) {
			return false
		}
	}
	for _, word := range words(a.say) {
		if !w.content(&message.TextContent{Text: word}) {
			return false
		}
	}
	if a.tool == "" {
		return true
	}
	w.calls++
	index := w.index
	w.index++
	// The id depends on the conversation only, so that a recording is the same each time.
	id := fmt.Sprintf("call_%d", w.calls)
	if !w.content(&message.FunctionCallDelta{Index: index, CallID: id, Name: a.tool}) {
		return false
	}
	for _, piece := range pieces(a.args.String(), w.Piece) {
		if !w.content(&message.FunctionCallDelta{Index: index, CallID: id, Name: a.tool, Arguments: piece}) {
			return false
		}
	}
	return true
}

func (w *writer) content(c message.Content) bool {
	w.pieces++
	return w.send(&agent.ResponseUpdate{Contents: message.Contents{c}})
}

func (w *writer) send(u *agent.ResponseUpdate) bool {
	if w.Pace > 0 {
		if err := w.Sleep(w.ctx, w.Pace); err != nil {
			w.yield(nil, err)
			return false
		}
	}
	if w.ctx.Err() != nil {
		w.yield(nil, context.Cause(w.ctx))
		return false
	}
	u.Role = message.RoleAssistant
	return w.yield(u, nil)
}

// words cuts s after each run of white space.
func words(s string) []string {
	var out []string
	for s != "" {
		end := strings.IndexAny(s, " \n")
		if end < 0 {
			return append(out, s)
		}
		for end < len(s) && (s[end] == ' ' || s[end] == '\n') {
			end++
		}
		out, s = append(out, s[:end]), s[end:]
	}
	return out
}

// pieces cuts s into pieces of n bytes, or a little more where a character would be cut.
func pieces(s string, n int) []string {
	var out []string
	for s != "" {
		end := min(n, len(s))
		for end < len(s) && !utf8.RuneStart(s[end]) {
			end++
		}
		out, s = append(out, s[:end]), s[end:]
	}
	return out
}
