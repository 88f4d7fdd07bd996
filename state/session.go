package state

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
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
	m       *Model
	doc     Doc            // as of the last acknowledged or observed entry
	shown   jsondoc.Value  // what the newest model call was shown
	calls   []*call        // undecided, oldest first
	values  map[string]any // the mappers' own
	order   int            // of the newest call
	written []place        // by this run's successful calls

	propose func() Step // makes the open proposal from doc
	step    Step
	cause   *call  // the call behind the proposal, if it is one's
	settle  func() // runs when the proposal is acknowledged
}

// Step is what one thing that happened asks to be appended, in this order. An
// empty Step asks for nothing; it needs no Ack.
type Step struct {
	Events []Emit
	after  Doc
}

// View is the view that a step leads to.
func (s Step) View() jsondoc.Value { return s.after.View }

// Emit is one event and the change that is committed with it.
type Emit struct {
	Event  agui.Event
	Change jsondoc.Patch // on the state; nil: nothing is committed
	Mark   Mark
}

// Mark is what metadata.lockstep says beside position and revision.
type Mark struct {
	By        string // ByAgent, ByUser or BySystem
	Call      string // tool call id, if one is the cause
	Predicted bool
}

// Who a Mark names.
const (
	ByAgent  = "agent"
	ByUser   = "user"
	BySystem = "system"
)

// NewSession starts a run on the documents as they are, with the proposals that
// earlier runs left open.
func (m *Model) NewSession(doc Doc, open ...Proposal) *Session {
	s := &Session{m: m, doc: doc, shown: m.Visible(doc.State), values: map[string]any{}}
	for _, p := range open {
		if p.Call != "" {
			s.calls = append(s.calls, m.proposed(p, doc.State))
		}
	}
	s.doc.View = s.compose(doc.State, s.calls) // predictions ended with the run that made them
	return s
}

// Decide is Result for what is known before the run's first event: a client's
// answer to a proposal. The documents move at once, without a step.
func (s *Session) Decide(id string, failed error) error {
	_, _, err := s.Result(id, Returned{Failed: failed})
	s.Ack()
	return err
}

// ShownResult is Model.ShownResult for the call of an id.
func (s *Session) ShownResult(id, tool, text string) string {
	if c := s.call(id); c != nil && c.tool != "" {
		tool = c.tool
	}
	return s.m.ShownResult(tool, text)
}

// Predicts reports whether the tool's arguments feed the state.
func (s *Session) Predicts(tool string) bool { return s.m.Predicts(tool) }

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
// arguments anew (S4): the step takes the overlay back first.
func (s *Session) CallStart(id, tool string) Step {
	if c := s.call(id); c != nil {
		if c.pred == nil || c.complete {
			return Step{}
		}
		c.pred.Restart()
		c.failed, c.detached = nil, false
		return s.offer(c, func() Step { return s.showView(predictedBy(c)) }, func() { c.pred.Rebase(s.doc.View) })
	}
	c := s.m.newCall(id, tool, s.shown, s.doc.View)
	s.order++
	c.order = s.order
	s.calls = append(s.calls, c)
	return Step{}
}

func (s *Session) call(id string) *call {
	i := slices.IndexFunc(s.calls, func(c *call) bool { return c.id == id })
	if i < 0 {
		return nil
	}
	return s.calls[i]
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

// CallEnd says that a call's arguments are complete; text is all of them. The
// error says why they cannot be used: not JSON, cut short, a member twice, or a
// state that would break the schema. The call must then not be run, and the
// prediction is taken back with the call's (failing) Result.
func (s *Session) CallEnd(now time.Time, id, text string) (Step, error) {
	c := s.call(id)
	if c == nil || c.complete {
		return Step{}, nil
	}
	if c.failed != nil {
		return Step{}, c.failed
	}
	if c.pred == nil {
		if _, mapped := s.m.rules.calls[c.tool]; mapped {
			if c.args, c.failed = jsondoc.ParseString(text); c.failed != nil {
				c.failed = fmt.Errorf("the arguments of %s cannot be used: %w", c.tool, c.failed)
			}
		}
		c.complete = true
		return Step{}, c.failed
	}
	patch, args, err := c.pred.End(now)
	if err != nil {
		c.failed = fmt.Errorf("the arguments of %s cannot be used: %w", c.tool, err)
		return Step{}, c.failed
	}
	c.args, c.complete = args, true
	step := s.predicted(c, patch)
	_, _, c.failed = s.commit(c, Returned{}, s.doc.State)
	return step, c.failed
}

// CallMapped applies the call's MapCall rule, behind TOOL_CALL_END. Its state
// events are an overlay until the result; others is to be appended as it is.
func (s *Session) CallMapped(id string) (step Step, others []agui.Event, err error) {
	c := s.call(id)
	if c == nil || !c.complete || c.failed != nil {
		return Step{}, nil, nil
	}
	rule, ok := s.m.rules.calls[c.tool]
	if !ok {
		return Step{}, nil, nil
	}
	events, err := rule.call(s.mapping(), ToolCall{ID: id, Name: c.tool, Arguments: c.args})
	if err != nil {
		return Step{}, nil, err
	}
	visible := s.m.Visible(s.doc.State)
	next, others, err := sorted(visible, events)
	if err != nil || jsondoc.Same(next, visible) {
		return Step{}, others, err
	}
	return s.overlay(c, change{base: s.doc.State, next: s.m.restore(s.doc.State, next)}), others, nil
}

func (s *Session) mapping() *Mapping { return &Mapping{State: s.doc.View, Values: s.values} }

// Working is the state as a tool sees it: committed, with what the open calls
// changed by themselves. Predictions are not in it.
func (s *Session) Working() jsondoc.Value {
	doc := s.doc.State
	for _, c := range s.calls {
		for _, ch := range c.changes {
			doc = ch.on(doc)
		}
	}
	return doc
}

// Change replaces base, which must be Working, by next. With keep it is
// committed at once; else it stays an overlay until the call's result. It
// reports false where the working document has moved.
func (s *Session) Change(id string, base, next jsondoc.Value, keep bool) (Step, bool, error) {
	if working := s.Working(); !jsondoc.Same(working, base) && !jsondoc.Equal(working, base) {
		return Step{}, false, nil
	}
	if err := s.m.Check(base, next); err != nil {
		return Step{}, true, fmt.Errorf("the state would break its schema: %w", err)
	}
	ch := change{base: base, next: next}
	if keep {
		step, err := s.commitNow(Mark{By: ByAgent, Call: id}, false, func(state jsondoc.Value) (jsondoc.Value, error) {
			return ch.on(state), nil
		})
		return step, true, err
	}
	c := s.call(id)
	if c == nil {
		c = &call{id: id, base: s.shown, complete: true}
		s.calls = append(s.calls, c)
	}
	return s.overlay(c, ch), true, nil
}

// overlay lays a change of a call's own over the view.
func (s *Session) overlay(c *call, ch change) Step {
	c.changes = append(c.changes, ch)
	return s.offer(c, func() Step { return s.showView(predictedBy(c)) }, nil)
}

func predictedBy(c *call) Mark {
	m := c.mark()
	m.Predicted = true
	return m
}

// mark names the call, where it is one that clients know.
func (c *call) mark() Mark {
	if c.draft {
		return Mark{By: ByAgent}
	}
	return Mark{By: ByAgent, Call: c.id}
}

// predicted proposes the frame for what the predictor has just read.
func (s *Session) predicted(c *call, patch jsondoc.Patch) Step {
	if len(patch) == 0 {
		return Step{}
	}
	return s.offer(c, func() Step {
		if !c.detached {
			if view, err := patch.Apply(s.doc.View, clientRules); err == nil {
				return Step{
					Events: []Emit{{Event: &agui.StateDelta{Delta: patch}, Mark: predictedBy(c)}},
					after:  Doc{State: s.doc.State, View: view},
				}
			}
			c.detached = true
		}
		return s.showView(predictedBy(c))
	}, nil)
}

// clientRules applies a patch as the strictest client would.
var clientRules = &jsondoc.ApplyOptions{ClientRules: true}

// showView proposes the way from the last view to the one that the layers make
// now.
func (s *Session) showView(mark Mark) Step {
	return s.moved(s.doc.State, s.compose(s.doc.State, s.calls), mark)
}

// moved is the STATE_DELTA from the last view to another, if they differ, and
// the change from the last state to another.
func (s *Session) moved(state, view jsondoc.Value, mark Mark) Step {
	delta := jsondoc.Diff(s.doc.View, view, nil)
	change := Change(s.doc.State, state)
	if len(delta) == 0 && len(change) == 0 {
		return Step{after: s.doc}
	}
	return Step{
		Events: []Emit{{Event: &agui.StateDelta{Delta: delta}, Change: change, Mark: mark}},
		after:  Doc{State: state, View: view},
	}
}

// Change is the patch from one state to another, for the log; nil where it
// stays. From no state at all the patch sets the root.
func Change(from, to jsondoc.Value) jsondoc.Patch {
	if jsondoc.Same(from, to) {
		return nil
	}
	if from.IsAbsent() {
		from = jsondoc.Null // a patch needs a document; the root is replaced
	}
	p := jsondoc.Diff(from, to, nil)
	if len(p) == 0 {
		return nil
	}
	return p
}

// Returned is what became of a call.
type Returned struct {
	Tool   string // the tool's name; needed where the session did not see the call start
	Failed error  // why it failed or was refused; nil: it succeeded
	Value  any    // what the tool returned; a Result changes the state
	Text   string // what the model reads
}

// Result decides a call: what it predicted and changed, and what its result and
// the rules say, is committed; or, where it failed, taken back. A call that
// touches the state makes exactly one state event, whether or not the view
// moves: STATE_SNAPSHOT, or STATE_DELTA with MapResultAsStateDelta. Any other
// makes none. others is to be appended behind it.
//
// The error is the reason why the call failed after all: a success that could
// not be committed (a broken schema, a refused conflict, a result that is no
// patch). The step then takes the overlay back, and the model is to be told.
func (s *Session) Result(id string, r Returned) (step Step, others []agui.Event, err error) {
	c := s.call(id)
	if c == nil {
		c = &call{id: id, tool: r.Tool, base: s.shown, complete: true}
	}
	failed := r.Failed
	if failed == nil {
		failed = c.failed
	}
	if failed == nil && !c.complete {
		failed = fmt.Errorf("%s answered before its arguments were complete", c.tool)
	}
	var extra mapped
	if failed == nil {
		if extra, failed = s.mapResult(c, r); failed == nil {
			_, _, failed = s.commit(c, extra.returned(r), s.doc.State)
		}
	}
	if failed != nil {
		extra = mapped{}
	}
	if len(c.fields) == 0 && len(c.changes) == 0 && !extra.touches {
		s.drop(c)
		return Step{}, extra.others, failed
	}
	var left []*call // the calls still open once this one is decided
	step = s.offer(c, func() Step {
		after, conflicts := s.doc.State, []jsondoc.Pointer(nil)
		switch {
		case failed == nil:
			// An edit seen since may break what fitted a moment ago; then the
			// state stays, and the snapshot shows it.
			if a, cs, err := s.commit(c, extra.returned(r), s.doc.State); err == nil || errors.Is(err, ErrConflict) {
				after, conflicts = a, cs
			}
		case errors.Is(failed, ErrConflict) || errors.Is(c.failed, ErrConflict):
			_, conflicts, _ = s.commit(c, Returned{}, s.doc.State)
		}
		left = s.without(c, after)
		return s.decided(after, c, left, conflicts, extra.delta)
	}, func() {
		s.calls = left
		for _, f := range c.fields {
			if failed == nil {
				s.written = append(s.written, place{order: c.order, at: f.target.Path})
			}
		}
	})
	return step, extra.others, failed
}

// decided is the state event of a result: the view once the state is after and
// only the calls left are open.
func (s *Session) decided(after jsondoc.Value, c *call, left []*call, conflicts []jsondoc.Pointer, asDelta bool) Step {
	view := s.compose(after, left)
	mark := c.mark()
	step := Step{after: Doc{State: after, View: view}}
	if asDelta {
		step.Events = s.moved(after, view, mark).Events
	} else {
		step.Events = []Emit{{Event: &agui.StateSnapshot{Snapshot: view}, Change: Change(s.doc.State, after), Mark: mark}}
	}
	if len(conflicts) > 0 {
		step.Events = append(step.Events, Emit{Event: ConflictEvent(conflicts, s.m.cfg.Conflict), Mark: mark})
	}
	return step
}

// ConflictEvent is CUSTOM lockstep.conflict: where a merge had to choose, and
// by which policy.
func ConflictEvent(paths []jsondoc.Pointer, policy ConflictPolicy) agui.Event {
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
// says why it cannot be: a patch that does not apply, a broken schema.
func (s *Session) Emitted(snapshot jsondoc.Value, delta jsondoc.Patch) (Step, error) {
	if err := limited(delta); err != nil {
		return Step{}, err
	}
	return s.commitNow(Mark{By: ByAgent}, !snapshot.IsAbsent(), func(state jsondoc.Value) (jsondoc.Value, error) {
		if snapshot.IsAbsent() {
			return s.m.apply(state, delta)
		}
		return s.m.restore(state, snapshot), nil
	})
}

// orEmpty is the document that clients have where nobody has said what the
// state is.
func orEmpty(v jsondoc.Value) jsondoc.Value {
	if v.IsAbsent() {
		return jsondoc.Object()
	}
	return v
}

// Content applies the MapContent rules to a content of the agent's.
func (s *Session) Content(c message.Content) (step Step, others []agui.Event, err error) {
	for _, rule := range s.m.rules.contents {
		events, err := rule.content(s.mapping(), c)
		if err != nil {
			return Step{}, nil, err
		}
		if events == nil {
			continue
		}
		visible := orEmpty(s.m.Visible(s.doc.State))
		next, others, err := sorted(visible, events)
		if err != nil || jsondoc.Same(visible, next) {
			return Step{}, others, err
		}
		ch := change{base: s.doc.State, next: s.m.restore(s.doc.State, next)}
		snapshot := slices.ContainsFunc(events, func(e agui.Event) bool { _, is := e.(*agui.StateSnapshot); return is })
		step, err = s.commitNow(Mark{By: ByAgent}, snapshot, func(state jsondoc.Value) (jsondoc.Value, error) { return ch.on(state), nil })
		return step, others, err
	}
	return Step{}, nil, nil
}

// commitNow commits a change that does not wait for any call.
func (s *Session) commitNow(mark Mark, snapshot bool, next func(jsondoc.Value) (jsondoc.Value, error)) (Step, error) {
	checked := func() (jsondoc.Value, error) {
		after, err := next(s.doc.State)
		if err == nil {
			err = s.m.Check(s.doc.State, after)
		}
		return after, err
	}
	if _, err := checked(); err != nil {
		return Step{}, err
	}
	return s.offer(nil, func() Step {
		after, err := checked()
		if err != nil { // an edit seen since; the state stays
			return Step{after: s.doc}
		}
		view := s.compose(after, s.calls)
		if snapshot {
			return Step{
				Events: []Emit{{Event: &agui.StateSnapshot{Snapshot: view}, Change: Change(s.doc.State, after), Mark: mark}},
				after:  Doc{State: after, View: view},
			}
		}
		return s.moved(after, view, mark)
	}, nil), nil
}

// Finish ends the run: overlays that nothing confirmed are taken back (S3),
// except those of the calls that keep names, which are returned as proposals
// for a later run to decide; nil keeps none. show asks for the state as it is
// shown then, also where nothing was taken back: a run that pauses says what it
// proposes.
func (s *Session) Finish(keep func(call, tool string) bool, show bool) (Step, []Proposal) {
	var open []Proposal
	var left []*call
	for _, c := range s.calls {
		if keep != nil && c.complete && c.failed == nil && keep(c.id, c.tool) {
			left = append(left, c)
			open = append(open, s.proposal(c))
		}
	}
	show = show && (s.m.Keeps() || !s.doc.State.IsAbsent())
	return s.offer(nil, func() Step {
		view := s.compose(s.doc.State, left)
		if !show && jsondoc.Equal(view, s.doc.View) {
			return Step{after: s.doc}
		}
		return Step{
			Events: []Emit{{Event: &agui.StateSnapshot{Snapshot: view}, Mark: Mark{By: BySystem}}},
			after:  Doc{State: s.doc.State, View: view},
		}
	}, func() { s.calls = left }), open
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
		if !c.detached && !c.complete {
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
