package run

import (
	"cmp"
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

// Decision is what a person has decided about a proposal.
type Decision struct {
	Proposal  state.Proposal
	Approved  bool
	Cancelled bool // not answered, which counts as a refusal
	// Arguments are what the call runs with instead of the model's; absent: the
	// model's own.
	Arguments jsondoc.Value
	// Payload is the answer to a question that no call asks.
	Payload jsondoc.Value
}

// What a model reads about a call that was not approved.
const (
	rejectedText  = "The user rejected this call. It was not run, and nothing was changed."
	cancelledText = "The user did not approve this call. It was not run, and nothing was changed."
	endedText     = "This call was not run: the run that made it ended before."
	waitingText   = "Waiting for approval."
)

// ExpiredText is what a model reads about a call that nobody decided in time,
// where its conversation has a stand-in for the result.
const ExpiredText = "The user did not approve this call in time. It was not run, and nothing was changed."

// ConfirmTool is the call by which older front ends are asked.
const ConfirmTool = "confirm_changes"

// Gate decides whether a call of t may run now. The tool is the one that would
// run, so that one which a middleware brought is asked about too.
func (r *Run) Gate(id string, t tool.Tool) agent.Decision {
	c := r.calls[id]
	if c != nil && c.invalid != nil {
		return agent.RejectCall("Error: " + c.invalid.Error())
	}
	if d, ok := r.decided[id]; ok {
		switch {
		case d.Cancelled:
			return agent.RejectCall(cancelledText)
		case !d.Approved:
			return agent.RejectCall(rejectedText)
		}
		r.waiting = slices.DeleteFunc(r.waiting, func(p state.Proposal) bool { return p.Call == id })
		if d.Arguments.IsAbsent() {
			return agent.RunCall()
		}
		return agent.RunCallWith(d.Arguments.String())
	}
	if c == nil {
		// A call of an earlier run that ended before it: nobody decides it now.
		return agent.RejectCall(endedText)
	}
	if tool.NeedsApproval(t) || r.model != nil && r.model.Confirms(c.name) {
		c.held = true
		if d, ok := tool.As[tool.Declared](t); ok {
			c.schema = d.Schema()
		}
		return agent.HoldCall()
	}
	return agent.Decision{}
}

func (r *Run) held(id string) bool {
	c := r.calls[id]
	return c != nil && c.held
}

// ask takes a question of agent code's.
func (r *Run) ask(now time.Time, q *message.InterruptRequestContent) {
	id := q.ID
	if id == "" || slices.ContainsFunc(r.asks, func(o state.Proposal) bool { return o.Ask.ID == id }) {
		id = r.newID("ask") // two of one id could not be told apart in an answer
	}
	p := state.Proposal{Expires: q.Expires, Ask: state.Ask{
		ID: id, Reason: cmp.Or(q.Reason, ReasonInput),
		Message: q.Message, Schema: q.ResponseSchema, Metadata: q.Metadata,
	}}
	if p.Expires.IsZero() {
		p.Expires = r.expiry(now)
	}
	r.asks = append(r.asks, p)
}

// Reasons of AG-UI's interrupts.
const (
	ReasonToolCall     = "tool_call"
	ReasonInput        = "input_required"
	ReasonConfirmation = "confirmation"
)

func (r *Run) expiry(now time.Time) time.Time {
	if r.model == nil || r.model.Config().ConfirmWithin <= 0 {
		return time.Time{}
	}
	return now.Add(r.model.Config().ConfirmWithin).UTC().Truncate(time.Millisecond)
}

// propose makes the proposals of the held calls.
func (r *Run) propose(now time.Time) {
	var words state.ConfirmationStrategy = state.DefaultConfirmation{}
	older := false
	if r.model != nil {
		if s := r.model.Config().Confirmation; s != nil {
			words = s
		}
		older = r.model.Config().ConfirmChanges
	}
	for _, c := range r.order {
		if !c.held {
			continue
		}
		p := r.session.Propose(c.id)
		p.Call, p.Tool, p.Expires = c.id, c.name, r.expiry(now)
		if args, err := jsondoc.ParseString(c.text); err == nil {
			p.Arguments = args
		} else {
			p.Arguments = jsondoc.Object() // a call without arguments is written as nothing
		}
		p.Ask = state.Ask{ID: r.newID("ask"), Reason: ReasonToolCall, Message: words.Prompt(p), Schema: answerSchema(c.schema)}
		if older {
			p.Ask.Confirm = r.newID("confirm")
			p.Ask.ID, p.Ask.Placeholder = p.Ask.Confirm, r.newID("result")
		}
		r.asks = append(r.asks, p)
	}
}

// answerSchema is what an answer to a tool's proposal looks like. arguments is the
// schema of the tool's, so that a front end can make a form of it; absent where
// the tool declares none.
func answerSchema(arguments jsondoc.Value) jsondoc.Value {
	edited := jsondoc.Object(jsondoc.Member{Name: "type", Value: jsondoc.String("object")})
	var definitions []jsondoc.Member
	if hoisted, rest, ok := hoist(arguments); ok {
		edited, definitions = rest, hoisted
	}
	edited = edited.With("description", jsondoc.String("What the call runs with instead of the proposed arguments."))
	return jsondoc.Object(append([]jsondoc.Member{
		{Name: "type", Value: jsondoc.String("object")},
		{Name: "properties", Value: jsondoc.Object(
			jsondoc.Member{Name: "approved", Value: approvedSchema},
			jsondoc.Member{Name: "editedArgs", Value: edited},
		)},
		{Name: "required", Value: jsondoc.Array(jsondoc.String("approved"))},
	}, definitions...)...)
}

var approvedSchema = jsondoc.MustParse(`{"type":"boolean","description":"Whether the call may run."}`)

// hoist takes the definitions out of a schema that becomes a part of another one:
// references begin at the root of what they stand in (RFC 6901 fragments), so a
// definition has to be found there. A schema with other references into itself,
// or with a base of its own, cannot be moved.
func hoist(schema jsondoc.Value) (definitions []jsondoc.Member, rest jsondoc.Value, ok bool) {
	if schema.Kind() != jsondoc.KindObject || !movable(schema) {
		return nil, rest, false
	}
	rest = jsondoc.Object()
	for name, v := range schema.Members() {
		switch name {
		case "$defs", "definitions":
			definitions = append(definitions, jsondoc.Member{Name: name, Value: v})
		case "$schema":
		default:
			rest = rest.With(name, v)
		}
	}
	return definitions, rest, true
}

// movable reports whether everything that a schema refers to is in its definitions.
func movable(v jsondoc.Value) bool {
	for name, m := range v.Members() {
		switch name {
		case "$id", "$anchor", "$dynamicAnchor", "$dynamicRef":
			return false
		case "$ref":
			if to := m.Str(); m.Kind() == jsondoc.KindString && !strings.HasPrefix(to, "#/$defs/") && !strings.HasPrefix(to, "#/definitions/") {
				return false
			}
		}
		if !movable(m) {
			return false
		}
	}
	for _, item := range v.Items() {
		if !movable(item) {
			return false
		}
	}
	return true
}

// older asks in the way of older front ends.
func (r *Run) older() []agui.Event {
	var out []agui.Event
	for _, p := range r.asks {
		if p.Ask.Confirm == "" {
			continue
		}
		r.calls[p.Call].answered = true
		out = append(out,
			&agui.Custom{Name: "function_approval_request", Value: jsondoc.Object(
				jsondoc.Member{Name: "id", Value: jsondoc.String(p.Ask.ID)},
				jsondoc.Member{Name: "function_call", Value: functionCall(p)},
			)},
			&agui.ToolCallResult{MessageID: p.Ask.Placeholder, ToolCallID: p.Call, Role: agui.RoleTool, Content: agui.Text(waitingText)},
			&agui.ToolCallStart{ToolCallID: p.Ask.Confirm, ToolCallName: ConfirmTool, ParentMessageID: r.newID("msg")},
			&agui.ToolCallArgs{ToolCallID: p.Ask.Confirm, Delta: confirmArguments(p)},
			&agui.ToolCallEnd{ToolCallID: p.Ask.Confirm},
		)
	}
	return out
}

func functionCall(p state.Proposal) jsondoc.Value {
	return jsondoc.Object(
		jsondoc.Member{Name: "call_id", Value: jsondoc.String(p.Call)},
		jsondoc.Member{Name: "name", Value: jsondoc.String(p.Tool)},
		jsondoc.Member{Name: "arguments", Value: p.Arguments},
	)
}

// confirmArguments are the arguments of confirm_changes as Agent Framework
// writes them.
func confirmArguments(p state.Proposal) string {
	return jsondoc.Object(
		jsondoc.Member{Name: "function_name", Value: jsondoc.String(p.Tool)},
		jsondoc.Member{Name: "function_call_id", Value: jsondoc.String(p.Call)},
		jsondoc.Member{Name: "function_arguments", Value: p.Arguments},
		jsondoc.Member{Name: "steps", Value: jsondoc.Array(jsondoc.Object(
			jsondoc.Member{Name: "description", Value: jsondoc.String("Execute " + p.Tool)},
			jsondoc.Member{Name: "status", Value: jsondoc.String("enabled")},
		))},
	).String()
}

// Interrupts are the questions of proposals as the protocol has them, those that
// are asked in the older way included.
func Interrupts(open []state.Proposal) []agui.Interrupt {
	var out []agui.Interrupt
	for _, p := range open {
		if !p.Asked() {
			continue
		}
		i := agui.Interrupt{
			ID: p.Ask.ID, Reason: p.Ask.Reason, Message: p.Ask.Message, ToolCallID: p.Call,
			ResponseSchema: p.Ask.Schema, Metadata: p.Ask.Metadata,
		}
		if !p.Expires.IsZero() {
			i.ExpiresAt = agui.FormatTime(p.Expires)
		}
		if p.Call != "" {
			// What Agent Framework's front ends read.
			i.Metadata = jsondoc.Object(jsondoc.Member{Name: "agent_framework", Value: jsondoc.Object(
				jsondoc.Member{Name: "type", Value: jsondoc.String("function_approval_request")},
				jsondoc.Member{Name: "function_call", Value: functionCall(p)},
			)})
		}
		out = append(out, i)
	}
	return out
}

// Interrupted is the outcome of a run that ends with open questions; nil where
// there are none. Those that are asked in the older way do not count: a stock
// client that got an outcome would refuse to go on without a resume.
func Interrupted(open []state.Proposal) *agui.Outcome {
	var asked []state.Proposal
	for _, p := range open {
		if p.Asked() && p.Ask.Confirm == "" {
			asked = append(asked, p)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return &agui.Outcome{Type: agui.OutcomeInterrupt, Interrupts: Interrupts(asked)}
}

// Say is a whole text message of the agent's.
func (r *Run) Say(text string) Batch {
	id := r.newID("msg")
	return Batch{Before: append(r.closeText(r.closeReasoning(nil)),
		&agui.TextMessageStart{MessageID: id, Role: agui.RoleAssistant},
		&agui.TextMessageContent{MessageID: id, Delta: text},
		&agui.TextMessageEnd{MessageID: id},
	)}
}

// Closing is what is said once the decisions are carried out: the strategy's
// texts, each once; empty where the model is to speak.
func Closing(words state.ConfirmationStrategy, decided []Decision) string {
	if words == nil || len(decided) == 0 {
		return ""
	}
	var out string
	said := map[string]bool{}
	for _, d := range decided {
		text := words.Rejected(d.Proposal)
		if d.Approved {
			text = words.Approved(d.Proposal)
		}
		if text == "" || d.Proposal.Call == "" {
			return ""
		}
		if !said[text] {
			said[text] = true
			if out != "" {
				out += "\n\n"
			}
			out += text
		}
	}
	return out
}
