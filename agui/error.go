package agui

import "errors"

// The codes that reach the wire as RUN_ERROR.
const (
	CodeModelError       = "model_error"   // the model failed, or its stream broke off
	CodeModelTimeout     = "model_timeout" // the model did not answer in time
	CodeToolError        = "tool_error"    // a tool's failure ended the run
	CodeInvalidState     = "invalid_state" // the state breaks its schema
	CodeLimitExceeded    = "limit_exceeded"
	CodeOwnerLost        = "owner_lost" // the process that ran it is gone
	CodeStoreUnavailable = "store_unavailable"
	CodeInternal         = "internal" // everything that has no code of its own
)

// The codes of a resume that cannot be accepted, spelled as Agent Framework's
// Python package spells them, so that clients of either need one list.
const (
	CodeResumeRequired         = "APPROVAL_RESUME_REQUIRED"
	CodeResumeInvalid          = "APPROVAL_RESUME_INVALID"
	CodeResumeInvalidResponse  = "APPROVAL_RESUME_INVALID_RESPONSE"
	CodeResumeNotFound         = "APPROVAL_RESUME_NOT_FOUND"
	CodeResumeMissingInterrupt = "APPROVAL_RESUME_MISSING_INTERRUPT"
	CodeResumeExpired          = "APPROVAL_RESUME_EXPIRED"
)

// InternalMessage is the fixed text of every error that has no text of its own.
const InternalMessage = "The run failed because of an internal error."

// Error is the one error type that reaches the wire (promise W5). Code and
// Message are sent; what it wraps is for the log only. Whoever makes one vouches
// that Message holds no exception's text, no prompt and no other user's data.
type Error struct {
	Code    string
	Message string
	Err     error // the cause; may be nil
}

// NewError makes an Error. An empty code is [CodeInternal].
func NewError(code, message string, cause error) *Error {
	return &Error{Code: code, Message: message, Err: cause}
}

// Error returns code, message and cause: for logs, not for the wire.
func (e *Error) Error() string {
	s := e.code() + ": " + e.message()
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) code() string {
	if e.Code == "" {
		return CodeInternal
	}
	return e.Code
}

func (e *Error) message() string {
	if e.Message == "" {
		return InternalMessage
	}
	return e.Message
}

// RunErrorFor returns the event that ends a run which failed with err: the
// outermost [*Error] in its chain as it is, anything else as [CodeInternal]
// with a fixed text. A nil err is internal too: a run that failed for no reason
// did fail.
func RunErrorFor(err error) *RunError {
	var e *Error
	if errors.As(err, &e) && e != nil {
		return &RunError{Code: e.code(), Message: e.message()}
	}
	return &RunError{Code: CodeInternal, Message: InternalMessage}
}
