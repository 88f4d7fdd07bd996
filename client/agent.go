package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

// AgentConfig sets up an agent that is reached over AG-UI. The zero value is the
// default.
type AgentConfig struct {
	// Config is that of any agent. Its tools run here: they are offered to the
	// server, and what it calls of them is answered. Its History is without a
	// bound unless it says otherwise: how much a model is sent is the server's
	// business.
	agent.Config
	// Options configures the client.
	Options Options
}

// NewAgent makes the AG-UI endpoint at url an agent. cfg may be nil. Any AG-UI
// server will do.
//
// What comes is what any agent's stream has, with the event itself as every
// update's RawRepresentation:
//
//   - texts and reasoning; calls as fragments while they are written, complete
//     when they are answered or left open; results; usage;
//   - STATE_SNAPSHOT as a message.DataContent of type application/json, with the
//     event as its RawRepresentation, STATE_DELTA as one of type
//     application/json-patch+json;
//   - questions of a run that has paused as [InterruptContent], answered with
//     [WithResume];
//   - RUN_ERROR as a message.ErrorContent, and as the stream's error;
//   - everything else as an update without contents.
//
// What is sent is the conversation. State is sent only if a message has a
// [StateCarrier]. Calls of tools that are not here (the server's own that wait
// for an approval, or those of a front end) are marked InformationalOnly.
//
// With a session (agent.WithSession) the conversation is the session's: its
// service id is the thread's id, and it keeps position, messages and state, so
// that it may be stored and go on elsewhere; see [SessionState]. Without one the
// caller passes the whole conversation each time, on a new thread unless
// [WithThread] names it.
func NewAgent(url string, cfg *AgentConfig) *agent.Agent {
	var c AgentConfig
	if cfg != nil {
		c = *cfg
	}
	r := &remote{client: New(url, &c.Options)}
	if c.History == nil {
		c.History = agent.UnboundedHistory
	}
	c.Middlewares = append(slices.Clone(c.Middlewares), agent.MiddlewareFunc(r.outside))
	return agent.New(agent.ProviderConfig{ProviderName: "ag-ui", Run: r.run}, c.Config)
}

type (
	threadOption string
	runOption    RunOptions
	resumeOption []agui.ResumeEntry
	callOption   struct{ c *call }
)

func (o threadOption) Value() any { return string(o) }
func (o runOption) Value() any    { return RunOptions(o) }
func (o resumeOption) Value() any { return []agui.ResumeEntry(o) }
func (o callOption) Value() any   { return o.c }

// WithThread runs on this thread.
func WithThread(id string) agent.Option { return threadOption(id) }

// WithRunOptions adds what a run of a thread can be started with: Messages,
// Tools, Context, ForwardedProps, Resume, RunID, Attach and Supersede. Text is a
// user message in front of the run's.
func WithRunOptions(o RunOptions) agent.Option { return runOption(o) }

// WithResume answers what the run before has asked; see [Approve].
func WithResume(entries ...agui.ResumeEntry) agent.Option { return resumeOption(entries) }

func withResume(entries []agui.ResumeEntry) agent.Option { return resumeOption(entries) }
func withCall(c *call) agent.Option                      { return callOption{c} }

// remote is an agent's way to its endpoint. It is immutable.
type remote struct{ client *Client }

// call is one run of the agent. It may post several times, where tools run here.
type call struct {
	thread  *Thread
	session *agent.Session // nil: none
	first   posting        // what only the first post has
	posted  bool
}

var errNoCall = errors.New("client: the provider of a remote agent cannot be used without the agent")

// outside sees what the caller sent and what it gets. Here state is taken out of
// messages and put into updates: what the session and the tool loop keep is the
// conversation and nothing else.
func (r *remote) outside(next agent.RunFunc, ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
	return func(yield func(*agent.ResponseUpdate, error) bool) {
		c, rest, err := r.begin(messages, opts)
		if err != nil {
			yield(nil, err)
			return
		}
		for u, err := range next(ctx, rest, append(slices.Clone(opts), withCall(c))...) {
			if !yield(surface(u), err) || err != nil {
				return
			}
		}
	}
}

// begin makes a call of what the caller sent, and returns the messages that go
// the way of all messages.
func (r *remote) begin(messages []*message.Message, opts []agent.Option) (*call, []*message.Message, error) {
	c := &call{}
	c.session, _ = agent.GetOption(opts, agent.WithSession)
	id, _ := agent.GetOption(opts, WithThread)
	if c.session != nil && id == "" {
		id = c.session.ServiceID()
	}
	c.thread = r.client.Thread(id)
	if c.session != nil {
		if err := c.restore(); err != nil {
			return nil, nil, err
		}
		if c.session.ServiceID() == "" {
			// It may have been another agent's. From here on the thread keeps it.
			messages = append(c.session.Messages(), messages...)
		}
		c.session.SetServiceID(c.thread.id)
	}
	if o, ok := agent.GetOption(opts, WithRunOptions); ok {
		c.first.RunOptions = o
	}
	if entries, ok := agent.GetOption(opts, withResume); ok {
		c.first.Resume = entries
	}
	calls := map[string]bool{}
	for _, m := range c.thread.Messages() {
		for _, one := range m.ToolCalls {
			calls[one.ID] = true
		}
	}
	var rest []*message.Message
	names := namer{stable: c.session == nil}
	for _, m := range messages {
		if m == nil {
			continue
		}
		left := m.Clone()
		left.Contents = nil
		for _, one := range m.Contents {
			state, ok, err := carried(m.Role, one)
			if err != nil {
				return nil, nil, fmt.Errorf("client: the state in a system message: %w", err)
			}
			if ok {
				c.thread.SetState(state)
				continue
			}
			if result, ok := one.(*message.FunctionResultContent); ok && calls[result.CallID] {
				// The call is in the thread and not among the messages: on their
				// way the answer would be lost.
				c.first.Messages = append(c.first.Messages, toolMessage("", result))
				continue
			}
			left.Contents = append(left.Contents, one)
		}
		if len(left.Contents) == 0 {
			continue
		}
		names.name(left)
		rest = append(rest, left)
	}
	return c, rest, nil
}

// run posts the conversation once. It is the agent's provider.
func (r *remote) run(ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
	return func(yield func(*agent.ResponseUpdate, error) bool) {
		c, ok := agent.GetOption(opts, withCall)
		if !ok {
			yield(nil, errNoCall)
			return
		}
		p := c.first
		if c.posted {
			p.RunOptions = RunOptions{Context: p.Context, ForwardedProps: p.ForwardedProps, Tools: p.Tools, Attach: p.Attach}
		}
		c.posted = true
		p.stateless = true
		p.Messages = append(slices.Clone(p.Messages), unknownTo(c.thread, messages)...)
		if text := agent.Instructions(opts); text != "" {
			p.before = []agui.Message{{ID: "instructions", Role: agui.RoleSystem, Content: agui.Text(text)}}
		}
		local := map[string]bool{}
		if mode, _ := agent.GetOption(opts, agent.WithToolMode); mode.Mode() != tool.ToolModeNone {
			for _, t := range agent.Tools(opts) {
				local[t.Name()] = true
				p.Tools = append(slices.Clip(p.Tools), declare(t))
			}
		}
		t := newTranslator(local)
		defer c.keep()
		for e, err := range c.thread.run(ctx, &p) {
			if err != nil {
				yield(nil, err)
				return
			}
			for u, err := range t.updates(e) {
				if !yield(u, err) || err != nil {
					return
				}
			}
		}
	}
}

// declare tells the server of a tool.
func declare(t tool.Tool) agui.Tool {
	out := agui.Tool{Name: t.Name(), Description: t.Description()}
	if d, ok := tool.As[tool.Declared](t); ok {
		out.Parameters = d.Schema()
	}
	return out
}

// sessionKey is where a session keeps its thread.
const sessionKey = "ag-ui"

// kept is what a session keeps of its thread.
type kept struct {
	Position   string           `json:"position,omitempty"`
	State      jsondoc.Value    `json:"state"`
	Messages   json.RawMessage  `json:"messages"`
	Interrupts []agui.Interrupt `json:"interrupts,omitempty"`
}

func (c *call) restore() error {
	doc, err := keptDoc(c.session)
	if err != nil || doc.IsAbsent() {
		return err
	}
	list, _ := doc.Get("messages")
	messages, err := agui.DecodeMessages(list.AppendJSON(nil), nil)
	if err != nil {
		return fmt.Errorf("client: the session's messages: %w", err)
	}
	open, _ := doc.Get("interrupts")
	interrupts, err := decodeInterrupts(open)
	if err != nil {
		return fmt.Errorf("client: the session's interrupts: %w", err)
	}
	state, _ := doc.Get("state")
	position, _ := doc.Get("position")
	v := &c.thread.view
	v.reduced = *agui.NewReducer(messages, state)
	v.at, _ = parsePosition(position.Str())
	v.interrupts = interrupts
	return nil
}

// keep stores the thread in the session, also after a run that was cut: the
// server's thread has moved, too.
func (c *call) keep() {
	if c.session == nil {
		return
	}
	t := c.thread
	t.mu.Lock()
	defer t.mu.Unlock()
	messages, err := json.Marshal(t.view.reduced.Messages())
	if err != nil {
		return // messages always have a JSON form
	}
	_ = c.session.Set(sessionKey, kept{ // as everything else here
		Position: t.view.base(), State: t.view.reduced.State(), Messages: messages, Interrupts: t.view.interrupts,
	})
}

func keptDoc(s *agent.Session) (jsondoc.Value, error) {
	var doc jsondoc.Value
	if _, err := s.Get(sessionKey, &doc); err != nil {
		return doc, fmt.Errorf("client: %w", err)
	}
	return doc, nil
}

// SessionState is the state of a session's thread, as its last run has shown it:
// snapshots and deltas applied. {} before the first run.
func SessionState(s *agent.Session) (jsondoc.Value, error) {
	doc, err := keptDoc(s)
	if err != nil {
		return doc, err
	}
	if state, ok := doc.Get("state"); ok {
		return state, nil
	}
	return jsondoc.Object(), nil
}
