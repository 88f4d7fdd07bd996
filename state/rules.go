package state

import (
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
)

// Rule says what else comes of a tool's call or result, or of a content of the
// agent's, beside the ordinary events. Of two rules of one kind for one tool
// the later counts. Rules never keep a tool from running.
type Rule struct {
	tool    string
	call    func(*Mapping, ToolCall) ([]agui.Event, error)
	result  func(*Mapping, ToolResult) ([]agui.Event, error)
	state   func(visible, result jsondoc.Value) (jsondoc.Value, error)
	delta   bool // the result is a patch, and its state event a delta
	content func(*Mapping, message.Content) ([]agui.Event, error)
}

// Mapping is what a mapper sees of the run beside the call or result.
type Mapping struct {
	// State is the view as it is before the mapper's events.
	State jsondoc.Value
	// Values are the mapper's own, kept for this run only.
	Values map[string]any
}

// ToolCall is a complete call, as a mapper sees it.
type ToolCall struct {
	ID, Name  string
	Arguments jsondoc.Value
}

// ToolResult is a successful call's result, as a mapper sees it.
type ToolResult struct {
	CallID, Name string
	// Text is what the model reads.
	Text string
	// Value is Text as JSON; absent where it is none.
	Value jsondoc.Value
}

// MapResultAsStateSnapshot makes the tool's result, a JSON document, the state
// that clients see. Server-only members of what remains stay.
func MapResultAsStateSnapshot(tool string) Rule {
	return Rule{tool: tool, state: func(_, result jsondoc.Value) (jsondoc.Value, error) {
		return result, nil
	}}
}

// MapResultAsStateDelta applies the tool's result, an RFC 6902 patch, to the
// state. The result's state event is STATE_DELTA then.
func MapResultAsStateDelta(tool string) Rule {
	return Rule{tool: tool, delta: true}
}

// MapResultAsStateMerge sets the members of the tool's result, a JSON object, in
// the state; the rest stays.
func MapResultAsStateMerge(tool string) Rule {
	return Rule{tool: tool, state: merged}
}

// MapResult makes further events of the tool's result, behind
// TOOL_CALL_RESULT. State events among them become state with the result.
func MapResult(tool string, f func(*Mapping, ToolResult) ([]agui.Event, error)) Rule {
	return Rule{tool: tool, result: f}
}

// MapCall makes further events of a complete call, behind TOOL_CALL_END. State
// events among them say what the state is to be: they are an overlay until the
// call's result, like a prediction, and go out as the delta that they make.
func MapCall(tool string, f func(*Mapping, ToolCall) ([]agui.Event, error)) Rule {
	return Rule{tool: tool, call: f}
}

// MapContent makes events of contents that the agent's stream holds and that
// have no event of their own. f returns nil for those it does not know. State
// events among them are committed at once.
func MapContent(f func(*Mapping, message.Content) ([]agui.Event, error)) Rule {
	return Rule{content: f}
}

// rules is the compiled form: by tool, the last of each kind.
type rules struct {
	calls    map[string]Rule
	results  map[string]Rule
	states   map[string]Rule
	contents []Rule
}

func newRules(list []Rule) (rules, error) {
	r := rules{calls: map[string]Rule{}, results: map[string]Rule{}, states: map[string]Rule{}}
	for i, rule := range list {
		switch {
		case rule.content != nil:
			r.contents = append(r.contents, rule)
			continue
		case rule.tool == "":
			return r, fmt.Errorf("state: Config.Rules[%d] names no tool", i)
		case rule.call != nil:
			r.calls[rule.tool] = rule
		case rule.result != nil:
			r.results[rule.tool] = rule
		case rule.state != nil || rule.delta:
			r.states[rule.tool] = rule
		default:
			return r, fmt.Errorf("state: Config.Rules[%d]: the mapper of %s is nil", i, rule.tool)
		}
	}
	return r, nil
}

// errLifecycle refuses events that are not a mapper's to send.
var errLifecycle = errors.New("a mapper may send state, CUSTOM, ACTIVITY and RAW events; runs, messages, calls and steps are the run's own")

// allowed reports whether a mapper may send an event.
func allowed(e agui.Event) bool {
	switch e.(type) {
	case *agui.StateSnapshot, *agui.StateDelta, *agui.Custom, *agui.ActivitySnapshot, *agui.ActivityDelta, *agui.Raw:
		return true
	}
	return false
}

// sorted splits a mapper's events into what they make of the state and the
// others.
func sorted(visible jsondoc.Value, events []agui.Event) (next jsondoc.Value, others []agui.Event, err error) {
	next = visible
	for _, e := range events {
		switch e := e.(type) {
		case *agui.StateSnapshot:
			next = e.Snapshot
		case *agui.StateDelta:
			if err = limited(e.Delta); err == nil {
				next, err = e.Delta.Apply(next, clientRules)
			}
			if err != nil {
				return visible, nil, fmt.Errorf("a mapper's patch does not apply to the state: %w", err)
			}
		default:
			if !allowed(e) {
				return visible, nil, errLifecycle
			}
			others = append(others, e)
		}
	}
	return next, others, nil
}
