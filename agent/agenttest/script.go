package agenttest

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/message"
)

// Script is what the model does in one call.
type Script struct {
	fixed []Step
	from  func(Prompt) []Step
}

func (s Script) steps(p Prompt) []Step {
	if s.from != nil {
		return s.from(p)
	}
	return s.fixed
}

// Turn is an answer of these steps. It ends with the finish reason "tool_calls" if
// it has calls and "stop" if not, unless a step says otherwise.
func Turn(steps ...Step) Script { return Script{fixed: steps} }

// TurnFrom is an answer that depends on the prompt.
func TurnFrom(f func(Prompt) []Step) Script { return Script{from: f} }

// Step is one thing that the model does.
type Step struct{ do func(*emitter) bool }

// Text says something.
func Text(text string) Step {
	return Step{func(e *emitter) bool {
		for _, p := range Pieces(text, e.chunk) {
			if !e.content(&message.TextContent{Text: p}) {
				return false
			}
		}
		return true
	}}
}

// Reasoning thinks. protected, if not empty, comes with the last piece.
func Reasoning(text, protected string) Step {
	return Step{func(e *emitter) bool {
		pieces := Pieces(text, e.chunk)
		if len(pieces) == 0 {
			pieces = []string{""}
		}
		for i, p := range pieces {
			c := &message.TextReasoningContent{Text: p}
			if i == len(pieces)-1 {
				c.ProtectedData = protected
			}
			if !e.content(c) {
				return false
			}
		}
		return true
	}}
}

// Call calls a tool and streams its arguments: the first fragment has id and name,
// the others only the index. An empty id is one that the provider does not have.
func Call(id, name, arguments string) Step { return Calls(CallSpec{id, name, arguments}) }

// CallSpec is a call for [Calls].
type CallSpec struct{ ID, Name, Arguments string }

// Calls calls several tools at once; their fragments are interleaved.
func Calls(calls ...CallSpec) Step {
	return Step{func(e *emitter) bool {
		first := e.calls
		e.calls += len(calls)
		pieces := make([][]string, len(calls))
		longest := 0
		for i, c := range calls {
			pieces[i] = Pieces(c.Arguments, e.chunk)
			longest = max(longest, len(pieces[i]))
			if !e.content(&message.FunctionCallDelta{Index: first + i, CallID: c.ID, Name: c.Name}) {
				return false
			}
		}
		for k := range longest {
			for i := range calls {
				if k < len(pieces[i]) && !e.content(&message.FunctionCallDelta{Index: first + i, Arguments: pieces[i][k]}) {
					return false
				}
			}
		}
		return true
	}}
}

// WholeCall calls a tool without streaming its arguments.
func WholeCall(id, name, arguments string) Step {
	return Step{func(e *emitter) bool {
		e.calls++
		return e.content(&message.FunctionCallContent{CallID: id, Name: name, Arguments: arguments})
	}}
}

// Contents emits contents as they are, in one update.
func Contents(cs ...message.Content) Step {
	return Step{func(e *emitter) bool { return e.content(cs...) }}
}

// Update emits an update as it is, except that a missing message id is filled in.
func Update(u *agent.ResponseUpdate) Step {
	return Step{func(e *emitter) bool {
		c := *u
		return e.send(&c)
	}}
}

// Usage reports tokens.
func Usage(input, output int64) Step {
	return Contents(&message.UsageContent{Details: message.UsageDetails{
		InputTokenCount: input, OutputTokenCount: output, TotalTokenCount: input + output,
	}})
}

// Finish ends the answer with this reason. Steps after it are an odd provider's.
func Finish(reason string) Step {
	return Step{func(e *emitter) bool { return e.finish(reason) }}
}

// NoFinish ends the answer without any reason.
func NoFinish() Step {
	return Step{func(e *emitter) bool { e.finished = true; return true }}
}

// Fail ends the answer with an error.
func Fail(err error) Step {
	return Step{func(e *emitter) bool { e.yield(nil, err); return false }}
}

// Wait lets time pass.
func Wait(d time.Duration) Step {
	return Step{func(e *emitter) bool { return e.wait(d) }}
}

// Hang waits until the run is stopped, as a model that never answers.
func Hang() Step {
	return Step{func(e *emitter) bool {
		<-e.ctx.Done()
		return e.wait(0)
	}}
}

// Do calls f in the middle of the answer: to change the world, or to look at it. An
// error ends the answer.
func Do(f func(ctx context.Context) error) Step {
	return Step{func(e *emitter) bool {
		if err := f(e.ctx); err != nil {
			e.yield(nil, err)
			return false
		}
		return true
	}}
}
