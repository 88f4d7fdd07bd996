package state

import (
	"fmt"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
)

// Result is a tool's answer that changes the state too. A tool returns it, or a
// pointer to it, as its result.
//
//	return state.Result{Text: "Done.", State: map[string]any{"weather": w}}, nil
type Result struct {
	// Text is what the model reads. Empty: Display.
	Text string
	// State is an object, as a Go value or a document. Its members replace the
	// state's members of the same names, as they are; others stay. Nil: nothing.
	State any
	// Delta is applied to the state, after State.
	Delta jsondoc.Patch
	// Display is what user interfaces get in TOOL_CALL_RESULT instead of Text:
	// a string as it is, anything else as JSON. Nil: Text.
	Display any
}

var _ message.ResultText = Result{}

// ResultText is the text for the model.
func (r Result) ResultText() string {
	if r.Text == "" && r.Display != nil {
		return r.display()
	}
	return r.Text
}

// DisplayText is the text for user interfaces.
func (r Result) DisplayText() string {
	if r.Display == nil {
		return r.Text
	}
	return r.display()
}

func (r Result) display() string {
	if s, ok := r.Display.(string); ok {
		return s
	}
	v, err := jsondoc.From(r.Display)
	if err != nil {
		return r.Text
	}
	return v.String()
}

// resulted is the state that a result makes of one.
func (m *Model) resulted(state jsondoc.Value, r Result) (jsondoc.Value, error) {
	if r.State != nil {
		members, err := jsondoc.From(r.State)
		if err != nil {
			return state, fmt.Errorf("the result's State has no JSON form: %w", err)
		}
		visible, err := merged(orEmpty(m.Visible(state)), members)
		if err != nil {
			return state, err
		}
		state = m.restore(state, visible)
	}
	if len(r.Delta) > 0 {
		next, err := m.apply(state, r.Delta)
		if err != nil {
			return state, fmt.Errorf("the result's Delta does not apply to the state: %w", err)
		}
		state = next
	}
	return state, nil
}

// merged sets the members of an object.
func merged(visible, members jsondoc.Value) (jsondoc.Value, error) {
	if members.Kind() != jsondoc.KindObject {
		return visible, fmt.Errorf("an object's members are merged into the state, not %s", members.Kind())
	}
	if visible.Kind() != jsondoc.KindObject {
		visible = jsondoc.Object()
	}
	for name, v := range members.Members() {
		visible = visible.With(name, v)
	}
	return visible, nil
}

// AsResult takes a Result out of what a tool returned.
func AsResult(v any) (Result, bool) {
	switch r := v.(type) {
	case Result:
		return r, true
	case *Result:
		if r != nil {
			return *r, true
		}
	}
	return Result{}, false
}
