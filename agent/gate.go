package agent

import (
	"context"

	"github.com/lockstep-go/lockstep/message"
)

// Gate decides about a tool call before it runs. It is asked once per call, in the
// order of the calls and before any tool of the turn is started, in the goroutine
// that reads the stream. tool.FromContext(ctx) tells the tool. It must not change
// call.
//
// A gate is asked about calls that could run here: not about those of client tools,
// of unknown tools, or with arguments that are no JSON object.
type Gate func(ctx context.Context, call *message.FunctionCallContent) Decision

// WithGate asks g about every tool call. Of several gates the last counts.
func WithGate(g Gate) Option { return gateOpt(g) }

// Decision is a [Gate]'s answer. The zero value decides as if there were no gate:
// the call runs, unless its tool needs approval; then it is held.
type Decision struct {
	kind      decisionKind
	result    any
	replace   bool // run with arguments, not with the model's
	arguments string
}

type decisionKind uint8

const (
	decideDefault decisionKind = iota
	decideRun
	decideHold
	decideReject
)

// RunCall lets the call run, also where its tool needs approval: the gate says that
// it has been given.
func RunCall() Decision { return Decision{kind: decideRun} }

// RunCallWith lets the call run with other arguments: JSON text, checked like the
// model's own. "" means no arguments, not the model's. The conversation keeps the
// model's; the result says what happened.
func RunCallWith(arguments string) Decision {
	return Decision{kind: decideRun, replace: true, arguments: arguments}
}

// HoldCall leaves the call unanswered. The run ends when the turn's other calls are
// done, and another run can begin with this history and a gate that decides.
func HoldCall() Decision { return Decision{kind: decideHold} }

// RejectCall does not run the call and answers it with result, which is for the
// model: "The user said no." The result's Error is [ErrRejected].
func RejectCall(result any) Decision { return Decision{kind: decideReject, result: result} }
