package state

import (
	"time"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// Proposal is what a run left to be decided later, as the log keeps it: a call
// that waits for a person's approval or for the result of the client's own tool,
// with what it wants to write and what that was written on; or a question of
// agent code's. It is the server's own copy: nothing that a client sends
// replaces any of it (T5).
type Proposal struct {
	Call      string        // tool call id; empty for a question that no call asks
	Tool      string        // its name
	Arguments jsondoc.Value // complete
	// Base has, by JSON Pointer, what the model was shown at the predicted
	// places; a place that was not there has no member.
	Base jsondoc.Value
	// Patch is what the call changed by itself before it was decided (MapCall,
	// From(ctx).Update), on the state of then.
	Patch jsondoc.Patch
	// Changes says that the call proposes a change of the state: it predicts
	// some of it, or has a Patch. What it is about else, nobody can see before
	// it runs.
	Changes bool
	// Edited has, by JSON Pointer, what people made of the predicted values
	// while they waited (Model.Amend); absent where nobody did.
	Edited jsondoc.Value
	// Expires is when it is taken back by itself; zero: never.
	Expires time.Time
	// Ask is what a person has to answer. The zero Ask: the result of the
	// client's own tool decides.
	Ask Ask
}

// Key names a proposal among the open ones of a thread.
func (p Proposal) Key() string {
	if p.Call != "" {
		return p.Call
	}
	return p.Ask.ID
}

// Same reports whether two are the same proposal, whatever was edited in it.
func (p Proposal) Same(o Proposal) bool { return p.Key() == o.Key() }

// Expired reports whether the proposal's time is over.
func (p Proposal) Expired(now time.Time) bool { return !p.Expires.IsZero() && !now.Before(p.Expires) }

// Ask is the question that a proposal waits on (AG-UI's Interrupt).
type Ask struct {
	ID       string        // interruptId; empty: nothing is asked
	Reason   string        // "tool_call", "input_required", "confirmation"
	Message  string        // for people
	Schema   jsondoc.Value // JSON Schema of the answer; absent: any
	Metadata jsondoc.Value // an object; absent: none

	// Confirm is the call of confirm_changes that asks in the way of older front
	// ends, instead of an interrupt; then ID is the same. Placeholder is the
	// message whose content the call's result will replace.
	Confirm     string
	Placeholder string
}

// Asked reports whether a person has to answer the proposal.
func (p Proposal) Asked() bool { return p.Ask.ID != "" }

// Propose is an undecided call as a proposal; the zero Proposal for one that the
// session does not know.
func (s *Session) Propose(id string) Proposal {
	c := s.call(id)
	if c == nil {
		return Proposal{}
	}
	return s.proposal(c)
}

func (s *Session) proposal(c *call) Proposal {
	p := Proposal{Call: c.id, Tool: c.tool, Arguments: c.args, Base: jsondoc.Object(), Edited: c.edited}
	for _, f := range c.fields {
		if v, ok := c.base.At(f.target.Path); ok {
			p.Base = p.Base.With(string(f.target.Path), v)
		}
	}
	if len(c.changes) > 0 {
		doc := s.doc.State
		for _, ch := range c.changes {
			doc = ch.on(doc)
		}
		p.Patch = Change(s.doc.State, doc)
	}
	p.Changes = len(c.fields) > 0 || len(p.Patch) > 0
	return p
}

// proposed is a call that waits for its decision since an earlier run.
func (m *Model) proposed(p Proposal, state jsondoc.Value) *call {
	c := &call{
		id: p.Call, tool: p.Tool, args: p.Arguments, complete: true, fields: m.fieldsOf(p.Tool), base: jsondoc.Object(),
		edited: p.Edited, argsFor: p.Arguments,
	}
	for at, v := range p.Base.Members() {
		c.base = set(c.base, jsondoc.Pointer(at), v)
	}
	if len(p.Patch) > 0 {
		// Where an edit has taken its place away the change has nothing left to
		// show; what the call returns counts all the same.
		if next, err := p.Patch.Apply(orEmpty(state), nil); err == nil {
			c.changes = []change{{base: state, next: next}}
		}
	}
	return c
}

// Replace gives a waiting call other arguments: those that a person chose. What
// people edited in the old ones since is laid over the new ones.
func (s *Session) Replace(id string, arguments jsondoc.Value) {
	if c := s.call(id); c != nil {
		c.args = arguments
		s.doc.View = s.compose(s.doc.State, s.calls)
	}
}

// Reject takes a waiting call back before the run's first event. It returns the
// places where people had edited what it proposed: those edits go with it.
func (s *Session) Reject(id string) (lost []jsondoc.Pointer) {
	c := s.call(id)
	if c == nil {
		return nil
	}
	for _, f := range c.fields {
		e, edited := c.edited.Get(string(f.target.Path))
		was, there := c.argsFor.At(f.target.Argument)
		if !edited || !there {
			continue
		}
		for _, op := range jsondoc.Diff(was, e, nil) {
			lost = append(lost, f.target.Path+op.Path)
		}
	}
	s.drop(c)
	s.doc.View = s.compose(s.doc.State, s.calls)
	return lost
}
