package tool_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

// lights is a tool without any help: a struct with four methods. Package functool
// makes one of a function.
type lights struct{}

func (lights) Name() string        { return "lights" }
func (lights) Description() string { return "Switches the lights." }
func (lights) Schema() jsondoc.Value {
	return jsondoc.MustParse(`{"type":"object","properties":{"on":{"type":"boolean"}},"required":["on"]}`)
}
func (lights) Call(ctx context.Context, args string) (any, error) {
	v, err := jsondoc.ParseString(args)
	if err != nil {
		return nil, err // goes to the log; the model reads that the tool failed
	}
	on, ok := v.Get("on")
	if !ok {
		return nil, tool.Errorf("say whether the lights should be on")
	}
	call, _ := tool.CallFromContext(ctx)
	return fmt.Sprintf("on: %v (asked for by %s)", on, call.CallID), nil
}

// A tool is called with JSON text and, by the tool loop, in a context that knows
// the call.
func ExampleFuncTool() {
	var t tool.FuncTool = lights{}
	call := &message.FunctionCallContent{CallID: "c1", Name: t.Name(), Arguments: `{"on":true}`}
	ctx := tool.ContextWithCall(context.Background(), call, t)
	fmt.Println(t.Call(ctx, call.Arguments))
	fmt.Println(t.Call(ctx, `{}`))
	// Output:
	// on: true (asked for by c1) <nil>
	// <nil> say whether the lights should be on
}

// A person is asked before each call.
func ExampleApprovalRequiredFunc() {
	t := tool.ApprovalRequiredFunc(lights{})
	fmt.Println(t.Name(), tool.NeedsApproval(t), tool.NeedsApproval(lights{}))
	_, found := tool.As[lights](t) // what it wraps is still there
	fmt.Println(found)
	// Output:
	// lights true false
	// true
}

// A tool that somebody else runs: the model can call it, and the call is left
// unanswered for them.
func ExampleNewDeclaration() {
	t := tool.NewDeclaration("pick_color", "Lets the user pick a color.", jsondoc.MustParse(`{"type":"object"}`))
	_, here := tool.As[tool.FuncTool](t)
	fmt.Println(t.Name(), here)
	// Output: pick_color false
}

// The text of Errorf is for the model. Any other error is for the log.
func ExampleErrorf() {
	fmt.Println(tool.Shown(tool.Errorf("there is no city %q; use the English name", "Wien")))
	fmt.Println(tool.Shown(errors.New("dial tcp 192.0.2.7:5432: connection refused")))
	// Output:
	// Error: there is no city "Wien"; use the English name true
	// Error: the tool failed. false
}

// The model has to call this tool first.
func ExampleRequireTool() {
	mode := tool.RequireTool("lights")
	fmt.Println(mode.Mode())
	fmt.Println(mode.RequiredTool())
	// Output:
	// required
	// lights true
}
