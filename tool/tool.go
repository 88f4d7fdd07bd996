package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
)

// Tool is something that a model may call. Implementations are safe for
// concurrent use.
type Tool interface {
	// Name identifies the tool within a run. Vendors accept letters, digits, _ and
	// -, at most 64 of them.
	Name() string
	// Description tells the model what the tool is for.
	Description() string
}

// Declared is a tool whose arguments are described: all that a model has to see.
type Declared interface {
	Tool
	// Schema is the JSON Schema of the arguments, an object schema. Absent means
	// that there are no arguments.
	Schema() jsondoc.Value
}

// FuncTool is a tool that can be called in this process.
type FuncTool interface {
	Declared
	// Call runs the tool. args is the JSON text of the arguments: valid JSON, but
	// the tool itself checks it against its schema. The result is a string, or
	// anything that has a JSON form; see message.FunctionResultContent.Text.
	// Calls run concurrently, and ctx ends when nobody waits for the result.
	Call(ctx context.Context, args string) (any, error)
}

// ApprovalRequiredTool is a tool of which a person may have to approve each call.
type ApprovalRequiredTool interface {
	Tool
	ApprovalRequired() bool
}

// NeedsApproval reports whether a person has to approve calls of t.
func NeedsApproval(t Tool) bool {
	a, ok := t.(ApprovalRequiredTool)
	return ok && a.ApprovalRequired()
}

type approvalRequired struct{ FuncTool }

func (approvalRequired) ApprovalRequired() bool { return true }

// Unwrap returns the tool behind the mark, see [As].
func (t approvalRequired) Unwrap() Tool { return t.FuncTool }

// ApprovalRequiredFunc returns t with the mark that a person has to approve its
// calls.
func ApprovalRequiredFunc(t FuncTool) FuncTool {
	if NeedsApproval(t) {
		return t
	}
	return approvalRequired{t}
}

// As finds the first tool in t's chain of wrappers that is a T. A wrapper shows
// what it wraps with a method Unwrap() Tool.
func As[T any](t Tool) (T, bool) {
	for t != nil {
		if found, ok := t.(T); ok {
			return found, true
		}
		w, ok := t.(interface{ Unwrap() Tool })
		if !ok {
			break
		}
		t = w.Unwrap()
	}
	var none T
	return none, false
}

// Declaration is a tool without an implementation.
type Declaration struct {
	name, description string
	schema            jsondoc.Value
}

// NewDeclaration declares a tool that somebody else runs. schema is the JSON
// Schema of its arguments; absent means that there are none.
func NewDeclaration(name, description string, schema jsondoc.Value) *Declaration {
	return &Declaration{name: name, description: description, schema: schema}
}

func (d *Declaration) Name() string          { return d.name }
func (d *Declaration) Description() string   { return d.description }
func (d *Declaration) Schema() jsondoc.Value { return d.schema }

// Error is a failure whose text is meant for the model, and so for the person
// who talks to it. Make one with [Errorf].
type Error struct {
	// Message is what is shown. It says what went wrong and what would be right.
	Message string
	// Err is the cause, or nil. It is logged and never shown.
	Err error
}

func (e *Error) Error() string {
	if e.Err == nil || strings.Contains(e.Message, e.Err.Error()) {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an [*Error] with a formatted text that the model is shown. An error
// formatted with %w becomes the cause; mind that its text is then part of what is
// shown.
func Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Message: err.Error(), Err: errors.Unwrap(err)}
}

// Shown returns the text that the model is shown for err: the message of the
// first [*Error] in its chain. ok is false if there is none; the text is then
// message.FailedText.
func Shown(err error) (text string, ok bool) {
	var e *Error
	if errors.As(err, &e) {
		return "Error: " + e.Message, true
	}
	return message.FailedText, false
}

// ToolMode says whether a model may or must call tools.
type ToolMode string

// The tool modes.
const (
	// ToolModeAuto lets the model decide. It is the default.
	ToolModeAuto ToolMode = "auto"
	// ToolModeRequired makes the model call a tool in its first turn.
	ToolModeRequired ToolMode = "required"
	// ToolModeNone forbids calls.
	ToolModeNone ToolMode = "none"
)

const requiredPrefix = "required:"

// RequireTool makes the model call this tool in its first turn.
func RequireTool(name string) ToolMode { return ToolMode(requiredPrefix + name) }

// Mode returns m without the name of a required tool. "" is auto.
func (m ToolMode) Mode() ToolMode {
	switch {
	case m == "":
		return ToolModeAuto
	case strings.HasPrefix(string(m), requiredPrefix):
		return ToolModeRequired
	}
	return m
}

// RequiredTool returns the name of the tool that has to be called, if m names one.
func (m ToolMode) RequiredTool() (name string, ok bool) {
	if name, ok = strings.CutPrefix(string(m), requiredPrefix); !ok {
		return "", false
	}
	return name, true
}

type callKey struct{}

type called struct {
	call *message.FunctionCallContent
	tool Tool
}

// ContextWithCall returns a context that knows which call is being decided on or
// run, and which tool it is for. t may be nil if no tool has that name.
func ContextWithCall(ctx context.Context, call *message.FunctionCallContent, t Tool) context.Context {
	return context.WithValue(ctx, callKey{}, called{call, t})
}

// CallFromContext returns the call that a tool is being run for. The call is
// read-only.
func CallFromContext(ctx context.Context) (call *message.FunctionCallContent, ok bool) {
	c, ok := ctx.Value(callKey{}).(called)
	return c.call, ok && c.call != nil
}

// FromContext returns the tool that is being run.
func FromContext(ctx context.Context) (t Tool, ok bool) {
	c, ok := ctx.Value(callKey{}).(called)
	return c.tool, ok && c.tool != nil
}
