package state

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/jsonstream"
)

// Session is the state machine of one run: it is told what the agent does and
// answers with the state events to append. It has no goroutines, no clock and
// no I/O; it belongs to one caller at a time.
//
// Every method that returns a Step proposes it: the documents move on only
// with Ack. A caller whose append found the log longer than expected shows the
// session what is there with Observe and gets the proposal anew with Redo. So
// the log stays the only way in, and nothing is computed on a document that
// nobody has.
type Session struct {
	m     *Model
	doc   Doc           // as of the last acknowledged or observed entry
	shown jsondoc.Value // what the newest model call was shown
	calls []*call       // with an overlay or a change still open, oldest first

	propose func() Step // makes the open proposal from doc
	step    Step
	cause   *call  // the call behind the proposal, if it is one's
	settle  func() // runs when the proposal is acknowledged
}

// Step is what one thing that happened asks to be appended, in this order.
// An empty Step asks for nothing; it needs no Ack.
type Step struct {
	Events []Emit
	after  Doc
}

// Emit is one event and the change that is committed with it.
type Emit struct {
	Event  agui.Event
	Change jsondoc.Patch // on the state; nil: nothing is committed
	Mark   Mark
}

// Mark is what metadata.lockstep says beside position and revision.
type Mark struct {
	By        string // "agent", "user" or "system"
	Call      string // tool call id, if one is the cause
	Predicted bool
}

// Who a Mark names.
const (
	ByAgent  = "agent"
	ByUser   = "user"
	BySystem = "system"
)

// call is a tool call whose effect on the state is not decided.
type call struct {
	id, tool string
	base     jsondoc.Value // what the model call that wrote it was shown, and what the agent itself committed since
	pred     *jsonstream.Predictor
	fields   []field
	args     jsondoc.Value // complete arguments
	complete bool
	detached bool // an edit lies above: frames are differences of views
	hidden   bool // complete, and an earlier call has just put its own result in the same place
	failed   error
	updates  []jsondoc.Patch // by the tool itself, until its result
}

// NewSession starts a run on the documents as they are.
func (m *Model) NewSession(doc Doc) *Session {
	return &Session{m: m, doc: doc, shown: m.Visible(doc.State)}
}

// Doc returns the documents as of the last acknowledged or observed entry.
func (s *Session) Doc() Doc { return s.doc }

// ModelCall says that a model is about to be called and returns the state that
// it is to be shown: the committed state, without predictions. It is the base
// on which the call's results are merged (S6).
func (s *Session) ModelCall() jsondoc.Value {
	s.shown = s.m.Visible(s.doc.State)
	return s.doc.State
}

// CallStart opens a tool call. A second start of an open call begins its
// arguments anew (S4).
func (s *Session) CallStart(id, tool string) Step {
	if c := s.call(id); c != nil {
		return s.restart(c)
	}
	c := &call{id: id, tool: tool, base: s.shown}
	for _, f := range s.m.fields {
		if f.tool == tool {
			c.fields = append(c.fields, f)
		}
	}
	if len(c.fields) > 0 {
		targets := make([]jsonstream.Target, len(c.fields))
		for i, f := range c.fields {
			targets[i] = f.target
		}
		c.pred = jsonstream.NewPredictor(s.doc.View, targets, nil)
	}
	s.calls = append(s.calls, c)
	return Step{}
}

func (s *Session) restart(c *call) Step {
	if c.pred == nil || c.complete {
		return Step{}
	}
	c.pred.Restart()
	c.failed, c.detached = nil, false
	return s.offer(c, func() Step { return s.showView(Mark{By: ByAgent, Call: c.id, Predicted: true}) }, func() { c.pred.Rebase(s.doc.View) })
}

func (s *Session) call(id string) *call {
	for _, c := range s.calls {
		if c.id == id {
			return c
		}
	}
	return nil
}

// Arguments takes the next fragment of a call's arguments. The step, if it
// asks for anything, is one predicted STATE_DELTA.
func (s *Session) Arguments(now time.Time, id, fragment string) Step {
	c := s.call(id)
	if c == nil || c.pred == nil || c.complete || c.failed != nil {
		return Step{}
	}
	return s.predicted(c, c.pred.Feed(now, fragment))
}

// CallEnd says that a call's arguments are complete. The error says why they
// cannot be used: not JSON, cut short, a member twice, or a state that would
// break the schema; the call must then not be run, and the prediction is taken
// back with the call's (failing) Result.
func (s *Session) CallEnd(now time.Time, id string) (Step, error) {
	c := s.call(id)
	if c == nil || c.pred == nil || c.complete {
		return Step{}, nil
	}
	if c.failed != nil {
		return Step{}, c.failed
	}
	patch, args, err := c.pred.End(now)
	if err != nil {
		c.failed = fmt.Errorf("the arguments of %s cannot be used: %w", c.tool, err)
		return Step{}, c.failed
	}
	c.args, c.complete = args, true
	step := s.predicted(c, patch)
	if _, _, err := s.commitCall(c, s.doc.State); err != nil {
		c.failed = err
	}
	return step, c.failed
}

// predicted proposes the frame for what the predictor has just read.
func (s *Session) predicted(c *call, patch jsondoc.Patch) Step {
	if len(patch) == 0 {
		return Step{}
	}
	mark := Mark{By: ByAgent, Call: c.id, Predicted: true}
	return s.offer(c, func() Step {
		if !c.detached {
			if view, err := patch.Apply(s.doc.View, clientRules); err == nil {
				return Step{
					Events: []Emit{{Event: &agui.StateDelta{Delta: patch}, Mark: mark}},
					after:  Doc{State: s.doc.State, View: view},
				}
			}
			c.detached = true
		}
		return s.showView(mark)
	}, nil)
}

// clientRules applies a patch as the strictest client would.
var clientRules = &jsondoc.ApplyOptions{ClientRules: true}

// showView proposes the way from the last view to the one that the layers make
// now.
func (s *Session) showView(mark Mark) Step {
	view := s.compose(s.doc.State, s.calls)
	delta := jsondoc.Diff(s.doc.View, view, nil)
	if len(delta) == 0 {
		return Step{after: s.doc}
	}
	return Step{
		Events: []Emit{{Event: &agui.StateDelta{Delta: delta}, Mark: mark}},
		after:  Doc{State: s.doc.State, View: view},
	}
}

// compose lays the open calls over the visible state, in the order of their
// start.
func (s *Session) compose(state jsondoc.Value, calls []*call) jsondoc.Value {
	visible := s.m.Visible(state)
	view := visible
	for _, c := range calls {
		if c.hidden || c.failed != nil {
			continue
		}
		for i, f := range c.fields {
			if v, ok := c.pred.Value(i); ok {
				merged, _, _ := mergeAt(f.target.Path, c.base, visible, v, jsondoc.Ours)
				view = set(view, f.target.Path, merged)
			}
		}
		for _, p := range c.updates {
			if v, err := p.Apply(view, clientRules); err == nil {
				view = v
			}
		}
	}
	return view
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

// ErrConflict is a result refused by RejectResult.
var ErrConflict = errors.New("the state was changed by somebody else meanwhile; read it again and repeat the change")

// commitCall is the state after a call's success: its predicted values merged
// with edits made since its base, then the tool's own updates.
func (s *Session) commitCall(c *call, state jsondoc.Value) (jsondoc.Value, []jsondoc.Pointer, error) {
	visible := s.m.Visible(state)
	next := visible
	var conflicts []jsondoc.Pointer
	for _, f := range c.fields {
		v, ok := c.args.At(f.target.Argument)
		if !ok {
			continue
		}
		merged, cs, err := mergeAt(f.target.Path, c.base, visible, v, s.m.policy())
		if err != nil {
			return state, nil, ErrConflict
		}
		for _, one := range cs {
			conflicts = append(conflicts, one.Path)
		}
		next = set(next, f.target.Path, merged)
	}
	for _, p := range c.updates {
		v, err := p.Apply(next, clientRules)
		if err != nil {
			return state, nil, fmt.Errorf("a change made by %s no longer fits the state: %w", c.tool, err)
		}
		next = v
	}
	after := s.m.restore(state, next)
	if err := s.m.Check(state, after); err != nil {
		return state, nil, fmt.Errorf("the state would break its schema: %w", err)
	}
	return after, conflicts, nil
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

// Result decides a call: what it predicted and changed is committed, or, where
// failed is not nil, taken back. For a tool that touches the state the step is
// one STATE_SNAPSHOT, whether or not the view moves; for any other it is
// empty. The error is the reason for which a success could not be committed;
// the step then takes the overlay back.
func (s *Session) Result(id string, failed error) (Step, error) {
	c := s.call(id)
	if c == nil {
		return Step{}, failed
	}
	if len(c.fields) == 0 && len(c.updates) == 0 {
		s.drop(c)
		return Step{}, failed
	}
	if failed == nil && c.failed != nil {
		failed = c.failed
	}
	if failed == nil && !c.complete && c.pred != nil {
		failed = fmt.Errorf("%s answered before its arguments were complete", c.tool)
	}
	if failed == nil {
		_, _, failed = s.commitCall(c, s.doc.State)
	}
	var left []*call // the calls still open once this one is decided
	step := s.offer(c, func() Step {
		after, conflicts := s.doc.State, []jsondoc.Pointer(nil)
		if failed == nil {
			// An edit seen since may break what fitted a moment ago; then the
			// state stays and the snapshot shows it.
			if a, cs, err := s.commitCall(c, s.doc.State); err == nil {
				after, conflicts = a, cs
			}
		}
		left = s.without(c, failed == nil)
		return s.snapshot(after, c, left, conflicts)
	}, func() { s.calls = left })
	return step, failed
}

// snapshot is STATE_SNAPSHOT of the view once the state is after and only the
// calls left are open.
func (s *Session) snapshot(after jsondoc.Value, c *call, left []*call, conflicts []jsondoc.Pointer) Step {
	view := s.compose(after, left)
	mark := Mark{By: ByAgent, Call: c.id}
	step := Step{
		Events: []Emit{{
			Event:  &agui.StateSnapshot{Snapshot: view},
			Change: jsondoc.Diff(s.doc.State, after, nil),
			Mark:   mark,
		}},
		after: Doc{State: after, View: view},
	}
	if len(conflicts) > 0 {
		step.Events = append(step.Events, Emit{Event: conflictEvent(conflicts, s.m.cfg.Conflict), Mark: mark})
	}
	return step
}

// without is the open calls after c is decided. A complete call that predicted
// the same place waits with its overlay for its own result, so that every
// result is seen once. Copies, because a proposal may be made anew.
func (s *Session) without(c *call, committed bool) []*call {
	var left []*call
	for _, o := range s.calls {
		if o == c {
			continue
		}
		one := *o
		one.hidden = one.hidden || (one.complete && overlap(o, c))
		if committed {
			one.base = rebase(one.base, c)
		}
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

// rebase tells an open call's base what the agent itself has committed, so
// that it is not merged against its own earlier call as if a person had made
// that edit.
func rebase(base jsondoc.Value, done *call) jsondoc.Value {
	for _, f := range done.fields {
		if v, ok := done.args.At(f.target.Argument); ok {
			base = set(base, f.target.Path, v)
		}
	}
	for _, p := range done.updates {
		if v, err := p.Apply(base, clientRules); err == nil {
			base = v
		}
	}
	return base
}

func conflictEvent(paths []jsondoc.Pointer, policy ConflictPolicy) agui.Event {
	list := make([]jsondoc.Value, len(paths))
	for i, p := range paths {
		list[i] = jsondoc.String(string(p))
	}
	return &agui.Custom{Name: "lockstep.conflict", Value: jsondoc.Object(
		jsondoc.Member{Name: "paths", Value: jsondoc.Array(list...)},
		jsondoc.Member{Name: "policy", Value: jsondoc.String(policy.String())},
	)}
}

func (s *Session) drop(c *call) {
	s.calls = slices.DeleteFunc(s.calls, func(o *call) bool { return o == c })
}

// Emitted commits state that agent code sent itself: a snapshot replaces what
// clients see, a patch changes it. It is committed at once and stays. The error
// says why it cannot be: no patch, a patch that does not apply, a broken
// schema.
func (s *Session) Emitted(snapshot jsondoc.Value, delta jsondoc.Patch) (Step, error) {
	next := func() (jsondoc.Value, error) {
		visible := snapshot
		if snapshot.IsAbsent() {
			v, err := delta.Apply(s.m.Visible(s.doc.State), clientRules)
			if err != nil {
				return s.doc.State, err
			}
			visible = v
		}
		after := s.m.restore(s.doc.State, visible)
		return after, s.m.Check(s.doc.State, after)
	}
	if _, err := next(); err != nil {
		return Step{}, err
	}
	return s.offer(nil, func() Step {
		after, err := next()
		if err != nil {
			return Step{after: s.doc}
		}
		view := s.compose(after, s.calls)
		out := Emit{Change: jsondoc.Diff(s.doc.State, after, nil), Mark: Mark{By: ByAgent}}
		if snapshot.IsAbsent() {
			out.Event = &agui.StateDelta{Delta: jsondoc.Diff(s.doc.View, view, nil)}
		} else {
			out.Event = &agui.StateSnapshot{Snapshot: view}
		}
		return Step{Events: []Emit{out}, after: Doc{State: after, View: view}}
	}, nil), nil
}

// Finish ends the run: overlays that nothing confirmed are taken back (S3).
func (s *Session) Finish() Step {
	return s.offer(nil, func() Step {
		view := s.m.Visible(s.doc.State)
		if jsondoc.Equal(view, s.doc.View) {
			return Step{after: s.doc}
		}
		return Step{
			Events: []Emit{{Event: &agui.StateSnapshot{Snapshot: view}, Mark: Mark{By: BySystem}}},
			after:  Doc{State: s.doc.State, View: view},
		}
	}, func() { s.calls = nil })
}

// Observe shows the session the documents after entries that others appended:
// edits. They lie above predictions of the same place from now on (S6).
func (s *Session) Observe(doc Doc) {
	before := s.doc
	s.doc = doc
	for _, c := range s.calls {
		if c.pred == nil {
			continue
		}
		for _, f := range c.fields {
			was, _ := before.View.At(f.target.Path)
			is, _ := doc.View.At(f.target.Path)
			if !jsondoc.Same(was, is) && !jsondoc.Equal(was, is) {
				c.detached = true
			}
		}
		if !c.detached {
			c.pred.Rebase(doc.View)
		}
	}
}

// offer makes f's step the open proposal.
func (s *Session) offer(cause *call, f func() Step, settle func()) Step {
	s.propose, s.cause, s.settle = f, cause, settle
	s.step = f()
	if len(s.step.Events) == 0 {
		s.Ack()
		return Step{}
	}
	return s.step
}

// Redo makes the open proposal anew, on the documents as they are now.
func (s *Session) Redo() Step {
	if s.propose == nil {
		return Step{}
	}
	return s.offer(s.cause, s.propose, s.settle)
}

// Ack says that the open proposal is in the log.
func (s *Session) Ack() {
	if s.propose == nil {
		return
	}
	moved := len(s.step.Events) > 0
	if moved {
		s.doc = s.step.after
	}
	cause, settle := s.cause, s.settle
	s.propose, s.cause, s.settle, s.step = nil, nil, nil, Step{}
	if settle != nil {
		settle()
	}
	if moved {
		s.tellPredictors(cause)
	}
}

// tellPredictors shows the other calls' predictors the new view. A call whose
// places have nothing in common with the cause's need not know: its patches
// name only its own.
func (s *Session) tellPredictors(cause *call) {
	for _, o := range s.calls {
		if o.pred == nil || o.complete || o.detached || (cause != nil && (o.id == cause.id || !related(o, cause))) {
			continue
		}
		o.pred.Rebase(s.doc.View)
	}
}

// related reports whether two calls' places share their first member.
func related(a, b *call) bool {
	for _, f := range a.fields {
		for _, g := range b.fields {
			if f.target.Path.Tokens()[0] == g.target.Path.Tokens()[0] {
				return true
			}
		}
	}
	return false
}

// View is the view that a step leads to.
func (s Step) View() jsondoc.Value { return s.after.View }
