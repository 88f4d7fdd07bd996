package state

import (
	"errors"
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/jsonstream"
)

// call is a tool call whose effect on the state is not decided.
type call struct {
	id, tool string
	order    int           // in which the run's calls began
	base     jsondoc.Value // the visible state at its model call, and what the agent itself committed since
	shown    jsondoc.Value // of it, what the model was shown; the same unless it was too large
	fields   []field
	pred     *jsonstream.Predictor // nil: nothing is predicted, or the call is a proposal
	args     jsondoc.Value         // complete arguments
	edited   jsondoc.Value         // of a proposal: what people made of its fields since, by pointer
	argsFor  jsondoc.Value         // the arguments that edited is an edit of
	complete bool
	draft    bool // no tool call, see Session.Draft
	detached bool // an edit lies above: frames are differences of views
	hidden   bool // complete, and an earlier call has just put its own result in the same place
	failed   error
	changes  []change // by the tool or a mapper, until the result
}

// change is what somebody made of a whole state, server-only members included.
type change struct{ base, next jsondoc.Value }

// on is the change, applied to a state that may have moved since.
func (ch change) on(doc jsondoc.Value) jsondoc.Value { return merge(ch.base, ch.next, doc) }

// merge is the three-way merge in which ours is kept; it cannot fail.
func merge(base, ours, theirs jsondoc.Value) jsondoc.Value {
	if jsondoc.Same(base, theirs) {
		return ours
	}
	out, _, err := jsondoc.Merge(base, ours, theirs, &jsondoc.MergeOptions{Policy: jsondoc.Ours})
	if err != nil {
		return theirs
	}
	return out
}

// newCall opens a call that starts now: what it writes is merged on shown, and
// its first frame builds on view.
func (m *Model) newCall(id, tool string, shown, view jsondoc.Value) *call {
	c := &call{id: id, tool: tool, base: shown, shown: shown, fields: m.fieldsOf(tool)}
	if len(c.fields) > 0 {
		c.shown = m.shown(shown)
		c.detached = !jsondoc.Same(c.shown, c.base) // frames have what was cut in them
	}
	if len(c.fields) > 0 {
		targets := make([]jsonstream.Target, len(c.fields))
		for i, f := range c.fields {
			targets[i] = f.target
		}
		c.pred = jsonstream.NewPredictor(orEmpty(view), targets, nil)
	}
	return c
}

func (m *Model) fieldsOf(tool string) []field {
	var out []field
	for _, f := range m.fields {
		if f.tool == tool {
			out = append(out, f)
		}
	}
	return out
}

// value is what the call has for a field by now, with what its model was not
// shown put back.
func (c *call) value(i int) (jsondoc.Value, bool) {
	var v jsondoc.Value
	var ok bool
	if c.complete {
		v, ok = c.args.At(c.fields[i].target.Argument)
		if e, is := c.edited.Get(string(c.fields[i].target.Path)); ok && is {
			was, _ := c.argsFor.At(c.fields[i].target.Argument)
			v = merge(was, e, v)
		}
	} else {
		v, ok = c.pred.Value(i)
	}
	if ok && !jsondoc.Same(c.shown, c.base) && !c.shown.IsAbsent() {
		full, _ := c.base.At(c.fields[i].target.Path)
		saw, _ := c.shown.At(c.fields[i].target.Path)
		v = uncut(full, saw, v)
	}
	return v, ok
}

// compose lays the calls over the visible state, in the order of their start.
func (s *Session) compose(state jsondoc.Value, calls []*call) jsondoc.Value {
	visible := s.m.Visible(state)
	view := visible
	for _, c := range calls {
		if c.hidden || c.failed != nil {
			continue
		}
		for i, f := range c.fields {
			if v, ok := c.value(i); ok {
				merged, _, _ := mergeAt(f.target.Path, c.base, visible, v, jsondoc.Ours)
				view = set(view, f.target.Path, merged)
			}
		}
		for _, ch := range c.changes {
			view = merge(s.m.Visible(ch.base), s.m.Visible(ch.next), view)
		}
	}
	return orEmpty(view)
}

// mergeAt merges what an agent wants at one place with what people did there
// since base. Without an edit the agent's value is taken as it is.
func mergeAt(at jsondoc.Pointer, base, now, wanted jsondoc.Value, policy jsondoc.Policy) (jsondoc.Value, []jsondoc.Conflict, error) {
	was, _ := base.At(at)
	is, _ := now.At(at)
	if jsondoc.Same(was, is) || jsondoc.Equal(was, is) {
		return wanted, nil, nil
	}
	if was.Kind() != is.Kind() && is.Kind() == jsondoc.KindObject && wanted.Kind() == jsondoc.KindObject {
		was = jsondoc.Object() // made by an edit meanwhile: both sides add to nothing
	}
	merged, conflicts, err := jsondoc.Merge(was, is, wanted, &jsondoc.MergeOptions{Policy: policy})
	for i := range conflicts {
		conflicts[i].Path = at + conflicts[i].Path
	}
	return merged, conflicts, err
}

// set puts v at a place and creates what is missing above it. A place inside
// something that is no container keeps the document as it is.
func set(doc jsondoc.Value, at jsondoc.Pointer, v jsondoc.Value) jsondoc.Value {
	if v.IsAbsent() {
		return doc
	}
	if out, err := doc.SetAt(at, v); err == nil {
		return out
	}
	return doc
}

// Predicted lists the places of a view that are not what the state has there:
// what is still predicted.
func (m *Model) Predicted(state, view jsondoc.Value) []jsondoc.Pointer {
	var out []jsondoc.Pointer
	for _, op := range jsondoc.Diff(orEmpty(m.Visible(state)), orEmpty(view), nil) {
		if !slices.Contains(out, op.Path) {
			out = append(out, op.Path)
		}
	}
	return out
}

// ErrConflict is a result refused by RejectResult.
var ErrConflict = errors.New("the state was changed by somebody else meanwhile; read it again and repeat the change")

// commit is the state after a call's success: its predicted values merged with
// edits made since its base, then its own changes, then what it returned. The
// places of conflicts come with ErrConflict, too.
func (s *Session) commit(c *call, r Returned, state jsondoc.Value) (jsondoc.Value, []jsondoc.Pointer, error) {
	after := state
	var conflicts []jsondoc.Pointer
	if len(c.fields) > 0 {
		visible := s.m.Visible(state)
		next := orEmpty(visible)
		for i, f := range c.fields {
			v, ok := c.value(i)
			if !ok || s.superseded(c, f) {
				continue
			}
			merged, cs, err := mergeAt(f.target.Path, c.base, visible, v, s.m.policy())
			for _, one := range cs {
				conflicts = append(conflicts, one.Path)
			}
			if err != nil {
				return state, conflicts, ErrConflict
			}
			next = set(next, f.target.Path, merged)
		}
		after = s.m.restore(state, next)
	}
	for _, ch := range c.changes {
		after = ch.on(after)
	}
	if res, ok := AsResult(r.Value); ok {
		var err error
		if after, err = s.m.resulted(after, res); err != nil {
			return state, nil, err
		}
	}
	if err := s.m.Check(state, after); err != nil {
		return state, nil, fmt.Errorf("the state would break its schema: %w", err)
	}
	return after, conflicts, nil
}

// superseded reports whether a call that the model wrote later has already put
// its value at f's place: tools of one turn run side by side and may end in any
// order, and the later call is what the model wanted last.
func (s *Session) superseded(c *call, f field) bool {
	for _, d := range s.written {
		if d.order > c.order && (d.at.Contains(f.target.Path) || f.target.Path.Contains(d.at)) {
			return true
		}
	}
	return false
}

// place is where a call of some order has put its value.
type place struct {
	order int
	at    jsondoc.Pointer
}

func (m *Model) policy() jsondoc.Policy {
	switch m.cfg.Conflict {
	case AgentWins:
		return jsondoc.Theirs
	case RejectResult:
		return jsondoc.Reject
	default:
		return jsondoc.Ours
	}
}

// without is the open calls after c is decided and the state is after. A
// complete call that predicted the same place waits with its overlay for its
// own result, so that every result is seen once. Copies, because a proposal may
// be made anew.
func (s *Session) without(c *call, after jsondoc.Value) []*call {
	var left []*call
	before, next := s.m.Visible(s.doc.State), s.m.Visible(after)
	for _, o := range s.calls {
		if o == c {
			continue
		}
		one := *o
		one.hidden = one.hidden || (one.complete && overlap(o, c))
		// What the agent itself commits is part of what its other calls were
		// shown: it must not be merged against itself as if a person had made
		// that edit.
		one.base = merge(before, next, one.base)
		left = append(left, &one)
	}
	return left
}

func overlap(a, b *call) bool {
	for _, f := range a.fields {
		for _, g := range b.fields {
			if f.target.Path.Contains(g.target.Path) || g.target.Path.Contains(f.target.Path) {
				return true
			}
		}
	}
	return false
}

// related reports whether two calls' places share their first member.
func related(a, b *call) bool {
	if len(b.changes) > 0 {
		return true
	}
	for _, f := range a.fields {
		for _, g := range b.fields {
			if f.target.Path.Tokens()[0] == g.target.Path.Tokens()[0] {
				return true
			}
		}
	}
	return false
}

// mapped is what the rules make of a result.
type mapped struct {
	touches bool // there is a state event to send
	delta   bool // and it is a delta
	value   any  // a Result to commit instead of the tool's own value
	others  []agui.Event
}

// returned is r with what the rules made of it.
func (m mapped) returned(r Returned) Returned {
	if m.value != nil {
		r.Value = m.value
	}
	return r
}

// mapResult applies the rules for a tool's result. They see the state as the
// result itself leaves it.
func (s *Session) mapResult(c *call, r Returned) (mapped, error) {
	var out mapped
	own, isResult := AsResult(r.Value)
	if isResult {
		out.touches = own.State != nil || len(own.Delta) > 0
		if err := limited(own.Delta); err != nil {
			return out, fmt.Errorf("the result's Delta: %w", err)
		}
	}
	tool := c.tool
	if tool == "" {
		tool = r.Tool
	}
	states, ok1 := s.m.rules.states[tool]
	results, ok2 := s.m.rules.results[tool]
	if !ok1 && !ok2 {
		return out, nil
	}
	after, _, err := s.commit(c, r, s.doc.State)
	if err != nil {
		return out, err
	}
	var patch jsondoc.Patch
	value, parseErr := jsondoc.ParseString(r.Text)
	if ok1 {
		if parseErr != nil {
			return out, fmt.Errorf("the result of %s is mapped to state and is no JSON: %w", tool, parseErr)
		}
		if states.delta {
			if patch, err = jsondoc.PatchFrom(value); err != nil {
				return out, fmt.Errorf("the result is not an RFC 6902 patch: %w", err)
			}
			if err = limited(patch); err == nil {
				after, err = s.m.apply(after, patch)
			}
			if err != nil {
				return out, fmt.Errorf("the result's patch does not apply to the state: %w", err)
			}
		}
		out.touches, out.delta = true, states.delta
	}
	visible := orEmpty(s.m.Visible(after))
	next := visible
	if ok1 && !states.delta {
		if next, err = states.state(visible, value); err != nil {
			return out, err
		}
	}
	if ok2 {
		if parseErr != nil {
			value = jsondoc.Value{}
		}
		events, err := results.result(&Mapping{State: next, Values: s.values}, ToolResult{CallID: c.id, Name: tool, Text: r.Text, Value: value})
		if err != nil {
			return out, err
		}
		mappedNext, others, err := sorted(next, events)
		if err != nil {
			return out, err
		}
		out.touches = out.touches || !jsondoc.Same(mappedNext, next)
		next, out.others = mappedNext, others
	}
	if out.touches {
		// As a difference to the state that the result leaves, so that an edit
		// which comes in between is kept.
		own.Delta = slices.Concat(own.Delta, patch, jsondoc.Diff(visible, next, nil))
		out.value = own
	}
	return out, nil
}
