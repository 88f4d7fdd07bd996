package agenttest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/message"
)

// Model is a model that answers from a script. Set its fields before the first run.
// It is safe for concurrent runs; they take turns from one script.
type Model struct {
	// Chunk cuts texts and arguments into pieces of about that many bytes; a piece is
	// never less than one character. 0 does not cut.
	Chunk int
	// Delay passes before each piece.
	Delay time.Duration
	// Lenient accepts prompts that a vendor would refuse.
	Lenient bool
	// Repeat starts the script again when it is used up. Without it one call more is
	// an error.
	Repeat bool

	mu      sync.Mutex
	script  []Script
	next    int
	prompts []Prompt
}

// Prompt is what the model got in one call.
type Prompt struct {
	Messages []*message.Message
	Options  []agent.Option
}

// Text returns the text of all messages, one a line, each with its role. Calls and
// results are shown as well, so a test can look for anything the model was told.
func (p Prompt) Text() string {
	var out []byte
	for _, m := range p.Messages {
		out = fmt.Appendf(out, "%s:", m.Role)
		for _, c := range m.Contents {
			switch c := c.(type) {
			case *message.TextContent:
				out = fmt.Appendf(out, " %s", c.Text)
			case *message.FunctionCallContent:
				out = fmt.Appendf(out, " %s(%s)", c.Name, c.Arguments)
			case *message.FunctionResultContent:
				out = fmt.Appendf(out, " -> %s", c.Text())
			}
		}
		out = append(out, '\n')
	}
	return string(out)
}

// New returns a model that answers the first call with the first turn, and so on.
func New(turns ...Script) *Model { return &Model{script: turns} }

// Agent returns an agent with this model.
func (m *Model) Agent(cfg agent.Config) *agent.Agent {
	return agent.New(agent.ProviderConfig{ProviderName: "agenttest", Run: m.Run}, cfg)
}

// Prompts returns what the model was asked so far.
func (m *Model) Prompts() []Prompt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.prompts)
}

// Remaining returns how many turns of the script are left.
func (m *Model) Remaining() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.script) - m.next
}

// Run answers with the next turn. It is an agent.RunFunc.
func (m *Model) Run(ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
	return func(yield func(*agent.ResponseUpdate, error) bool) {
		prompt := Prompt{Messages: slices.Clone(messages), Options: slices.Clone(opts)}
		n, script, err := m.begin(prompt)
		if err != nil {
			yield(nil, err)
			return
		}
		e := &emitter{
			ctx: ctx, yield: yield, chunk: m.Chunk, delay: m.Delay,
			messageID: fmt.Sprintf("message-%d", n+1), responseID: fmt.Sprintf("response-%d", n+1),
		}
		for _, step := range script.steps(prompt) {
			if !step.do(e) {
				return
			}
		}
		if e.finished {
			return
		}
		reason := agent.FinishReasonStop
		if e.calls > 0 {
			reason = agent.FinishReasonToolCalls
		}
		e.finish(reason)
	}
}

func (m *Model) begin(p Prompt) (int, Script, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.prompts)
	m.prompts = append(m.prompts, p)
	if !m.Lenient {
		if err := CheckConversation(p.Messages); err != nil {
			return n, Script{}, fmt.Errorf("agenttest: call %d: %w", n+1, err)
		}
	}
	if m.Repeat && m.next == len(m.script) {
		m.next = 0
	}
	if m.next >= len(m.script) {
		return n, Script{}, fmt.Errorf("agenttest: the model is asked for the %d. time and the script has %d turns", n+1, len(m.script))
	}
	s := m.script[m.next]
	m.next++
	return n, s, nil
}

// CheckConversation reports what a vendor would refuse: calls that do not have
// exactly one result each, right after the message with the calls; results without
// a call; messages without contents.
func CheckConversation(messages []*message.Message) error {
	open := make(map[string]bool)
	for i, m := range messages {
		if m == nil || len(m.Contents) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		if len(open) > 0 && m.Role != message.RoleTool {
			return fmt.Errorf("message %d (%s) comes while %d calls have no result", i, m.Role, len(open))
		}
		for _, c := range m.Contents {
			switch c := c.(type) {
			case *message.FunctionCallContent:
				if c.InformationalOnly {
					continue
				}
				if m.Role != message.RoleAssistant {
					return fmt.Errorf("message %d (%s) has a call", i, m.Role)
				}
				if c.CallID == "" || c.Name == "" || open[c.CallID] {
					return fmt.Errorf("message %d has a call without an id or name, or with a repeated one: %q %q", i, c.CallID, c.Name)
				}
				open[c.CallID] = true
			case *message.FunctionResultContent:
				if m.Role != message.RoleTool || !open[c.CallID] {
					return fmt.Errorf("message %d (%s) has a result for %q, which no open call has", i, m.Role, c.CallID)
				}
				delete(open, c.CallID)
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the conversation ends while %d calls have no result", len(open))
	}
	return nil
}

// emitter writes one turn.
type emitter struct {
	ctx                   context.Context
	yield                 func(*agent.ResponseUpdate, error) bool
	chunk                 int
	delay                 time.Duration
	messageID, responseID string
	calls                 int
	finished              bool
}

// send yields one update, after the delay. It returns false when the turn is over.
func (e *emitter) send(u *agent.ResponseUpdate) bool {
	if !e.wait(e.delay) {
		return false
	}
	u.ResponseID = e.responseID
	if u.MessageID == "" {
		u.MessageID = e.messageID
	}
	return e.yield(u, nil)
}

func (e *emitter) content(cs ...message.Content) bool {
	return e.send(&agent.ResponseUpdate{Role: message.RoleAssistant, Contents: cs})
}

func (e *emitter) finish(reason string) bool {
	e.finished = true
	return e.yield(&agent.ResponseUpdate{MessageID: e.messageID, ResponseID: e.responseID, FinishReason: reason}, nil)
}

// wait lets time pass, or ends the turn with the context's error.
func (e *emitter) wait(d time.Duration) bool {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-e.ctx.Done():
		}
	}
	if e.ctx.Err() != nil {
		e.yield(nil, context.Cause(e.ctx))
		return false
	}
	return true
}

// Pieces cuts s into pieces of about n bytes, at least one character each. n <= 0
// does not cut. An empty s has no pieces.
func Pieces(s string, n int) []string {
	if s == "" {
		return nil
	}
	if n <= 0 {
		return []string{s}
	}
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

// Sequence returns a maker of ids: prefix1, prefix2, and so on. It is safe for
// concurrent use.
func Sequence(prefix string) func() string {
	var mu sync.Mutex
	n := 0
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		n++
		return fmt.Sprintf("%s%d", prefix, n)
	}
}
