package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
)

// Options configures a Run. Input and Session are required.
type Options struct {
	// Input is what the client posted.
	Input *agui.RunAgentInput
	// Session is the run's state machine.
	Session *state.Session
	// Tools are the agent's own. A tool of the same name that the client
	// declares does not take its place.
	Tools []tool.Tool
	// Model says which calls wait for a person's approval, and how it is asked.
	// Nil: those of tools that say so themselves.
	Model *state.Model
	// Decided are the proposals of earlier runs that this one carries out.
	Decided []Decision
	// NewID makes ids for messages, from a short prefix. Nil: random ones.
	NewID func(prefix string) string
	// Logger takes what must not go on the wire. Nil discards.
	Logger *slog.Logger
}

// Run is one run in the making. It belongs to one caller at a time.
type Run struct {
	input   *agui.RunAgentInput
	session *state.Session
	newID   func(string) string
	log     *slog.Logger
	client  map[string]bool // tools that the client provides
	model   *state.Model
	decided map[string]Decision
	waiting []state.Proposal // approved, and not started yet

	text      openText
	reasoning openReasoning
	messages  map[string]string // the agent's message id → ours
	asks      []state.Proposal  // what the run ends on
	calls     map[string]*call
	order     []*call
	usage     message.UsageDetails
}

type openText struct{ id, source string }

type openReasoning struct{ span, id string }

// call is a tool call as the wire knows it.
type call struct {
	id, name string
	ended    bool
	answered bool
	streamed bool          // any argument text was sent
	invalid  error         // why its arguments cannot be used
	held     bool          // it waits for a person's approval
	text     string        // its arguments
	schema   jsondoc.Value // of the arguments, of a held call whose tool declares it
}

// Batch is what one thing that happened asks to be appended, in this order and
// in one piece. Only the Step may have to be made anew (state.Session.Redo).
type Batch struct {
	Before []agui.Event
	Step   state.Step
	After  []agui.Event
	// Open are the proposals that outlive the run.
	Open []state.Proposal
	// Started is the approved call that begins to run now.
	Started string
	// Messages asks for a MESSAGES_SNAPSHOT of the conversation behind the step,
	// with the messages in it that Replace names by id changed.
	Messages bool
	Replace  map[string]agui.Content
}

// Empty reports whether there is nothing to append.
func (b Batch) Empty() bool {
	return len(b.Before) == 0 && len(b.Step.Events) == 0 && len(b.After) == 0 && len(b.Open) == 0 && b.Started == "" && !b.Messages
}

// New starts a run's event machine.
func New(o Options) *Run {
	r := &Run{
		input: o.Input, session: o.Session, newID: o.NewID, log: o.Logger,
		client: map[string]bool{}, messages: map[string]string{}, calls: map[string]*call{},
		model: o.Model, decided: map[string]Decision{},
	}
	if r.newID == nil {
		r.newID = NewID
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	for _, t := range o.Input.Tools {
		r.client[t.Name] = true
	}
	for _, t := range o.Tools {
		delete(r.client, t.Name())
	}
	for _, d := range o.Decided {
		r.decided[d.Proposal.Call] = d
		if d.Approved && d.Proposal.Call != "" {
			r.waiting = append(r.waiting, d.Proposal)
		}
	}
	return r
}

// NewID makes a random id: the prefix, a dash and 128 random bits.
func NewID(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()) }

// Opening is RUN_STARTED for an input: the echo that every viewer gets has the
// new messages and nothing else of it, so that no tool, context or property of
// the one who posted reaches other people.
func Opening(input *agui.RunAgentInput, fresh []agui.Message) agui.Event {
	return &agui.RunStarted{
		ThreadID: input.ThreadID, RunID: input.RunID, ParentRunID: input.ParentRunID,
		ProtocolVersion: agui.ProtocolVersion,
		Input: &agui.RunAgentInput{
			ThreadID: input.ThreadID, RunID: input.RunID, Messages: fresh,
			Tools: []agui.Tool{}, Context: []agui.Context{},
		},
	}
}

// Session returns the run's state session.
func (r *Run) Session() *state.Session { return r.session }

// Content takes one content of the agent's stream. A content can make more than
// one batch; each is computed when it is asked for, so the one before must be
// acknowledged by then.
func (r *Run) Content(now time.Time, u *agent.ResponseUpdate, c message.Content) iter.Seq[Batch] {
	return func(yield func(Batch) bool) {
		switch c := c.(type) {
		case *message.TextContent:
			yield(r.textContent(u, c.Text))
		case *message.TextReasoningContent:
			yield(r.reasoningContent(c))
		case *message.FunctionCallDelta:
			r.argumentContent(now, u, c, yield)
		case *message.FunctionCallContent:
			r.callContent(now, u, c, yield)
		case *message.FunctionResultContent:
			r.ToolResult(now, c, yield)
		case *message.InterruptRequestContent:
			r.ask(now, c)
		case *message.UsageContent:
			r.usage.Add(c.Details)
		default:
			yield(r.otherContent(c))
		}
	}
}

// wireMessage is our id for a message of the agent's. Providers number their
// messages in their own ways, and some repeat an id in a later run.
func (r *Run) wireMessage(source string) string {
	id, ok := r.messages[source]
	if !ok {
		id = r.newID("msg")
		r.messages[source] = id
	}
	return id
}

func (r *Run) textContent(u *agent.ResponseUpdate, text string) Batch {
	if text == "" {
		return Batch{}
	}
	var out []agui.Event
	out = r.closeReasoning(out)
	if r.text.id == "" || r.text.source != u.MessageID {
		out = r.closeText(out)
		id := r.wireMessage(u.MessageID)
		if r.spoken(u.MessageID) {
			// The message was closed for a tool call. Text behind the call is a
			// message of its own, so that the order in which things were said
			// can be read from the conversation.
			id = r.newID("msg")
			r.messages[u.MessageID] = id
		}
		r.text = openText{id: id, source: u.MessageID}
		out = append(out, &agui.TextMessageStart{MessageID: id, Role: agui.RoleAssistant})
	}
	return Batch{Before: append(out, &agui.TextMessageContent{MessageID: r.text.id, Delta: text})}
}

// spoken reports whether a call has been hung on the message already.
func (r *Run) spoken(source string) bool {
	id, ok := r.messages[source]
	return ok && slices.ContainsFunc(r.order, func(c *call) bool { return c.parent(r) == id })
}

func (c *call) parent(r *Run) string { return r.messages["call:"+c.id] }

func (r *Run) reasoningContent(c *message.TextReasoningContent) Batch {
	var out []agui.Event
	if c.Text != "" {
		out = r.closeText(out)
		if r.reasoning.id == "" {
			r.reasoning = openReasoning{span: r.newID("think"), id: r.newID("msg")}
			out = append(out,
				&agui.ReasoningStart{MessageID: r.reasoning.span},
				&agui.ReasoningMessageStart{MessageID: r.reasoning.id})
		}
		out = append(out, &agui.ReasoningMessageContent{MessageID: r.reasoning.id, Delta: c.Text})
	}
	return Batch{Before: out}
}

func (r *Run) closeReasoning(out []agui.Event) []agui.Event {
	if r.reasoning.id == "" {
		return out
	}
	out = append(out,
		&agui.ReasoningMessageEnd{MessageID: r.reasoning.id},
		&agui.ReasoningEnd{MessageID: r.reasoning.span})
	r.reasoning = openReasoning{}
	return out
}

func (r *Run) closeText(out []agui.Event) []agui.Event {
	if r.text.id == "" {
		return out
	}
	out = append(out, &agui.TextMessageEnd{MessageID: r.text.id})
	r.text = openText{}
	return out
}

// start opens a call on the wire if it is new.
func (r *Run) start(u *agent.ResponseUpdate, id, name string) (*call, []agui.Event) {
	if c := r.calls[id]; c != nil {
		return c, nil
	}
	out := r.closeText(r.closeReasoning(nil))
	parent := r.wireMessage(u.MessageID)
	c := &call{id: id, name: name}
	r.calls[id], r.order = c, append(r.order, c)
	r.messages["call:"+id] = parent
	return c, append(out, &agui.ToolCallStart{ToolCallID: id, ToolCallName: name, ParentMessageID: parent})
}

func (r *Run) argumentContent(now time.Time, u *agent.ResponseUpdate, d *message.FunctionCallDelta, yield func(Batch) bool) {
	c, out := r.start(u, d.CallID, d.Name)
	if c.ended || c.answered {
		r.log.Warn("arguments after the end of a call were dropped", "call", c.id, "tool", c.name)
		return
	}
	if len(out) > 0 || d.Restart {
		// A restart takes the overlay back first: a frame of its own.
		if step := r.session.CallStart(c.id, c.name); len(step.Events) > 0 {
			if !yield(Batch{Before: out, Step: step}) {
				return
			}
			out = nil
		}
	}
	yield(r.fragment(now, c, d.Arguments, out))
}

// fragment sends a piece of a call's arguments and what it predicts.
func (r *Run) fragment(now time.Time, c *call, text string, before []agui.Event) Batch {
	if text == "" {
		return Batch{Before: before}
	}
	c.streamed = true
	before = append(before, &agui.ToolCallArgs{ToolCallID: c.id, Delta: text})
	return Batch{Before: before, Step: r.session.Arguments(now, c.id, text)}
}

// callContent takes a complete call: the end of a streamed one, or a whole one.
func (r *Run) callContent(now time.Time, u *agent.ResponseUpdate, f *message.FunctionCallContent, yield func(Batch) bool) {
	c, out := r.start(u, f.CallID, f.Name)
	if c.ended {
		return
	}
	if len(out) > 0 {
		r.session.CallStart(c.id, c.name)
	}
	if !c.streamed {
		args := f.Arguments
		if strings.TrimSpace(args) == "" {
			args = "{}" // vendors write a call without arguments in both ways
		}
		if !yield(r.fragment(now, c, args, out)) {
			return
		}
		out = nil
	}
	c.text = f.Arguments
	if c.invalid = f.Error; c.invalid == nil {
		c.invalid = r.end(now, c, f.Arguments, out, yield)
	}
}

// end closes a call on the wire, behind the last frame that its arguments make,
// and applies its mapping. The error says why the call cannot be run.
func (r *Run) end(now time.Time, c *call, text string, before []agui.Event, yield func(Batch) bool) error {
	c.ended = true
	step, err := r.session.CallEnd(now, c.id, text)
	if !yield(Batch{Before: before, Step: step, After: []agui.Event{&agui.ToolCallEnd{ToolCallID: c.id}}}) || err != nil {
		return err
	}
	step, others, failed := r.session.CallMapped(c.id)
	if failed != nil {
		r.log.Warn("the mapping of a call failed", "call", c.id, "tool", c.name, "error", failed)
	}
	yield(Batch{Step: step, After: others})
	return nil
}

// ToolResult takes a tool's answer. The result that comes back is the one the
// model is to see: where a success could not be committed (a broken schema, a
// conflict, a result that is no patch) it is a failure that says why (S8).
func (r *Run) ToolResult(now time.Time, res *message.FunctionResultContent, yield func(Batch) bool) *message.FunctionResultContent {
	c := r.calls[res.CallID]
	if c == nil {
		// A call of an earlier run, answered now: the wire does not know it as
		// open.
		c = &call{id: res.CallID, ended: true}
		r.calls[res.CallID], r.order = c, append(r.order, c)
	}
	if c.answered {
		return res
	}
	c.answered, c.held = true, false
	before := r.closeText(r.closeReasoning(nil))
	if !c.ended {
		// An agent from elsewhere that does not say when a call is complete.
		c.invalid = r.end(now, c, "", before, yield)
		before = nil
	}
	shown := r.session.ShownResult(c.id, c.name, res.Text())
	step, others, failed := r.session.Result(c.id, state.Returned{Tool: c.name, Failed: res.Error, Value: res.Result, Text: res.Text()})
	text := shown
	switch own, isResult := state.AsResult(res.Result); {
	case failed != nil && res.Error == nil:
		r.log.Warn("a tool's result could not become state", "call", c.id, "tool", c.name, "error", failed)
		res = &message.FunctionResultContent{CallID: res.CallID, Result: "Error: " + failed.Error(), Error: failed}
		text = res.Text()
	case isResult && res.Error == nil:
		text = own.DisplayText()
	}
	if at := r.decided[c.id].Proposal.Ask.Placeholder; at != "" {
		// The conversation has an answer of this call already: the result takes
		// its place.
		yield(Batch{Before: before, Step: step, After: others, Messages: true, Replace: map[string]agui.Content{at: agui.Text(text)}})
		return res
	}
	before = append(before, &agui.ToolCallResult{
		MessageID: r.newID("result"), ToolCallID: c.id,
		Role: agui.RoleTool, Content: agui.Text(text),
	})
	yield(Batch{Before: before, Step: step, After: others})
	return res
}

// Media types by which agent code emits state itself.
const (
	stateType = "application/json"
	patchType = "application/json-patch+json"
)

// otherContent takes what has no event of its own: what the rules know, and
// state that agent code emits.
func (r *Run) otherContent(c message.Content) Batch {
	step, others, err := r.session.Content(c)
	if err != nil {
		r.log.Warn("the mapping of a content failed", "content", fmt.Sprintf("%T", c), "error", err)
	}
	if len(step.Events) > 0 || len(others) > 0 || err != nil {
		return Batch{Step: step, After: others}
	}
	switch c := c.(type) {
	case *message.DataContent:
		return r.dataContent(c)
	case *message.ErrorContent:
		r.log.Warn("the agent reported an error and went on", "code", c.ErrorCode)
	default:
		r.log.Debug("content that AG-UI has no event for was left out", "content", fmt.Sprintf("%T", c))
	}
	return Batch{}
}

func (r *Run) dataContent(d *message.DataContent) Batch {
	media, _, _ := strings.Cut(d.MediaType, ";")
	media = strings.TrimSpace(strings.ToLower(media))
	var snapshot jsondoc.Value
	var delta jsondoc.Patch
	var err error
	switch media {
	case stateType:
		snapshot, err = jsondoc.Parse(d.Data, nil)
	case patchType:
		delta, err = jsondoc.ParsePatch(d.Data)
	default:
		r.log.Debug("content of a media type that AG-UI has no event for was left out", "mediaType", media)
		return Batch{}
	}
	if err == nil {
		var step state.Step
		if step, err = r.session.Emitted(snapshot, delta); err == nil {
			return Batch{Step: step}
		}
	}
	r.log.Warn("the agent emitted state that cannot become state", "mediaType", media, "error", err)
	return Batch{}
}

// ErrStopped is the cause of a run that somebody stopped. It is not an error on
// the wire: the run ends with outcome "cancelled".
var ErrStopped = errors.New("the run was stopped")

// Finish ends the run: closes what is open and takes unconfirmed predictions
// back. Those of the client's own tools stay open where the run did not fail:
// the client's answer decides them; and so do calls that wait for a person's
// approval, with which the run pauses. The terminal event is Terminal's, in the
// same append.
func (r *Run) Finish(now time.Time, err error) Batch {
	out := r.closeText(r.closeReasoning(nil))
	for _, c := range r.order {
		if !c.ended {
			c.ended = true
			out = append(out, &agui.ToolCallEnd{ToolCallID: c.id})
		}
	}
	if err != nil {
		// Of a run that failed before it came to them, calls that were approved can
		// be approved again: nothing of them has run, and clients keep their
		// questions open over an error. Not of one that somebody stopped.
		r.asks = nil
		if !stopped(err) {
			r.asks = r.waiting
		}
		step, _ := r.session.Finish(func(id, _ string) bool {
			return slices.ContainsFunc(r.asks, func(p state.Proposal) bool { return p.Call == id })
		}, false)
		return Batch{Before: out, Step: step, Open: r.asks}
	}
	r.propose(now)
	step, kept := r.session.Finish(func(id, tool string) bool { return r.held(id) || r.client[tool] }, len(r.asks) > 0)
	b := Batch{Before: append(out, r.older()...), Step: step, Open: r.asks, Messages: len(r.asks) > 0}
	for _, p := range kept {
		if !r.held(p.Call) && (r.session.Predicts(p.Tool) || len(p.Patch) > 0) {
			b.Open = append(b.Open, p)
		}
	}
	return b
}

// Terminal is the run's last event: RUN_FINISHED for nil and ErrStopped, else
// RUN_ERROR with a code and a text that gives nothing away.
func (r *Run) Terminal(err error) agui.Event {
	usage := r.tokenUsage()
	switch {
	case err == nil:
		done := &agui.RunFinished{ThreadID: r.input.ThreadID, RunID: r.input.RunID, Usage: usage}
		if done.Outcome = Interrupted(r.asks); done.Outcome != nil {
			return done
		}
		if pending := r.pending(); len(pending) > 0 {
			done.Outcome = &agui.Outcome{Type: agui.OutcomeSuccess, PendingToolCallIDs: pending}
		}
		return done
	case stopped(err):
		return &agui.RunFinished{
			ThreadID: r.input.ThreadID, RunID: r.input.RunID, Usage: usage,
			Outcome: &agui.Outcome{Type: agui.OutcomeCancelled},
		}
	default:
		var limit *agent.LimitError
		if errors.As(err, &limit) {
			err = agui.NewError(agui.CodeLimitExceeded, "The run asked the model more often than it may.", err)
		}
		e := agui.RunErrorFor(err)
		e.Usage = usage
		return e
	}
}

// stopped reports whether an error says that somebody wanted the run to end.
func stopped(err error) bool {
	return errors.Is(err, ErrStopped) || errors.Is(err, context.Canceled)
}

// pending are the calls that the client has to answer.
func (r *Run) pending() []string {
	var out []string
	for _, c := range r.order {
		if !c.answered && r.client[c.name] {
			out = append(out, c.id)
		}
	}
	for _, p := range r.asks {
		if p.Ask.Confirm != "" {
			out = append(out, p.Ask.Confirm)
		}
	}
	return out
}

func (r *Run) tokenUsage() []agui.TokenUsage {
	u := r.usage
	if u.IsZero() {
		return nil
	}
	return []agui.TokenUsage{{
		InputTokens: count(u.InputTokenCount), OutputTokens: count(u.OutputTokenCount),
		TotalTokens: count(u.TotalTokenCount), ReasoningTokens: count(u.ReasoningTokenCount),
		CachedInputTokens: count(u.CachedInputTokenCount),
	}}
}

// count leaves out what the provider did not count.
func count(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// clientTools are the input's tools: declared, never run here.
func clientTools(list []agui.Tool) []tool.Tool {
	out := make([]tool.Tool, 0, len(list))
	for _, t := range list {
		out = append(out, tool.NewDeclaration(t.Name, t.Description, t.Parameters))
	}
	return out
}
