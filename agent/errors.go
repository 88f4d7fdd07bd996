package agent

import (
	"errors"
	"fmt"
	"time"
)

// Why a call has no ordinary result. They are found with errors.Is in the Error of
// a message.FunctionResultContent, and the first two in that of a
// message.FunctionCallContent as well. None of them ends a run: the model reads a
// sentence about it and goes on.
var (
	// ErrTruncated: the model's answer was cut off, by its length limit or a content
	// filter, while it wrote the call, so nobody knows what it wanted. A run also ends
	// with it when this has happened in [MaxCutTurns] turns in a row.
	ErrTruncated = errors.New("agent: the model's answer was cut off in a call")
	// ErrInvalidArguments: the arguments are no JSON object.
	ErrInvalidArguments = errors.New("agent: the call's arguments are no JSON object")
	// ErrUnknownTool: no tool of this run has that name.
	ErrUnknownTool = errors.New("agent: unknown tool")
	// ErrRejected: a gate refused the call.
	ErrRejected = errors.New("agent: the call was rejected")
	// ErrToolTimeout: the tool did not answer in time. It was told to stop.
	ErrToolTimeout = errors.New("agent: the tool did not answer in time")
)

// ErrAnswerTooLong ends a run whose model does not stop writing; see [MaxAnswerBytes].
var ErrAnswerTooLong = errors.New("agent: the model's answer is longer than any answer should be")

// LimitError ends a run in which the model kept calling tools.
type LimitError struct {
	// Iterations is how often the model was asked.
	Iterations int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("agent: the model was asked %d times and still calls tools; raise the limit with WithMaxIterations", e.Iterations)
}

// PanicError is the Error of a result whose tool panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("agent: the tool panicked: %v", e.Value) }

// errGoexit stands for a tool that ended its goroutine.
var errGoexit = errors.New("agent: the tool ended its goroutine without answering")

// errNoRun is what every run of an agent without a provider ends with.
var errNoRun = errors.New("agent: ProviderConfig.Run is nil: there is nothing to run")

func timeoutText(d time.Duration) string {
	return fmt.Sprintf("Error: the tool did not answer within %v and was stopped.", d)
}
