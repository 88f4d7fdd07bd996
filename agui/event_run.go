package agui

import "github.com/lockstep-go/lockstep/jsondoc"

// ProtocolVersion is what this package writes as protocolVersion. The grammar
// is major.minor; anything else makes official clients warn.
const ProtocolVersion = "1.0"

// RunStarted opens a run. It is the first event of a stream, and nothing but
// it may follow a terminal event (RUN_ERROR excepted, after RUN_FINISHED).
type RunStarted struct {
	Base
	ThreadID string // required; the input's, echoed
	RunID    string // required; the input's, echoed
	// ProtocolVersion is what the server speaks; empty is a peer before 1.0.
	ProtocolVersion string
	ParentRunID     string // the run this one branches from; optional
	// Input is what the run was started with. Its new messages are appended to
	// the client's by the reducer; its state is not used.
	Input *RunAgentInput
}

// EventType returns RUN_STARTED.
func (*RunStarted) EventType() EventType { return TypeRunStarted }

func (e *RunStarted) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "threadId", e.ThreadID)
	dst = appendMember(dst, "runId", e.RunID)
	dst = appendOptionalString(dst, "protocolVersion", e.ProtocolVersion)
	dst = appendOptionalString(dst, "parentRunId", e.ParentRunID)
	if e.Input != nil {
		dst = append(dst, `,"input":`...)
		dst = e.Input.AppendJSON(dst)
	}
	return e.appendBase(dst, false)
}

func (e *RunStarted) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "threadId":
		d.has |= 1
		e.ThreadID = d.string()
	case "runId":
		d.has |= 2
		e.RunID = d.string()
	case "protocolVersion":
		e.ProtocolVersion = d.optionalString(nullRefused)
	case "parentRunId":
		e.ParentRunID = d.optionalString(nullRefused)
	case "input":
		if !d.null(nullRefused) {
			e.Input = &RunAgentInput{}
			d.object(e.Input)
		}
	default:
		return e.baseMember(d, key, false)
	}
	return true
}

func (e *RunStarted) finish(d *decoder) {
	d.require(1, "threadId")
	d.require(2, "runId")
}

// RunFinished ends a run that did not fail. Everything opened in the run has
// to be closed before it.
type RunFinished struct {
	Base
	ThreadID string        // required
	RunID    string        // required
	Result   jsondoc.Value // what the run returns; absent or null is left out
	// Outcome says how it ended; nil is the legacy spelling of success.
	Outcome *Outcome
	// Usage is one entry per provider and model; nil is left out.
	Usage []TokenUsage
}

// EventType returns RUN_FINISHED.
func (*RunFinished) EventType() EventType { return TypeRunFinished }

func (e *RunFinished) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "threadId", e.ThreadID)
	dst = appendMember(dst, "runId", e.RunID)
	dst = appendOptional(dst, "result", e.Result)
	if e.Outcome != nil {
		dst = append(dst, `,"outcome":`...)
		dst = e.Outcome.AppendJSON(dst)
	}
	dst = appendUsage(dst, e.Usage)
	return e.appendBase(dst, false)
}

func (e *RunFinished) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "threadId":
		d.has |= 1
		e.ThreadID = d.string()
	case "runId":
		d.has |= 2
		e.RunID = d.string()
	case "result":
		e.Result = d.anyNotNull(nullTolerated)
	case "outcome":
		e.Outcome = d.outcome()
	case "usage":
		e.Usage = d.usage()
	default:
		return e.baseMember(d, key, false)
	}
	return true
}

func (e *RunFinished) finish(d *decoder) {
	d.require(1, "threadId")
	d.require(2, "runId")
}

// RunError ends a run that failed. It may come at any time, with anything
// open, and carries no thread or run id: it speaks of the stream's own run.
type RunError struct {
	Base
	Message string // required; for people, never an exception's own text
	Code    string // for programs; optional, see [Error]
	Usage   []TokenUsage
}

// EventType returns RUN_ERROR.
func (*RunError) EventType() EventType { return TypeRunError }

func (e *RunError) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "message", e.Message)
	dst = appendOptionalString(dst, "code", e.Code)
	dst = appendUsage(dst, e.Usage)
	return e.appendBase(dst, false)
}

func (e *RunError) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "message":
		d.has |= 1
		e.Message = d.string()
	case "code":
		e.Code = d.optionalString(nullRefused)
	case "usage":
		e.Usage = d.usage()
	default:
		return e.baseMember(d, key, false)
	}
	return true
}

func (e *RunError) finish(d *decoder) { d.require(1, "message") }

// StepStarted opens a named step. A name is unique among the open steps of one
// owner (the parent agent or one subagent).
type StepStarted struct {
	Base
	StepName string // required
}

// EventType returns STEP_STARTED.
func (*StepStarted) EventType() EventType { return TypeStepStarted }

func (e *StepStarted) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "stepName", e.StepName)
	return e.appendBase(dst, true)
}

func (e *StepStarted) member(d *decoder, key []byte) bool {
	if string(key) == "stepName" {
		d.has |= 1
		e.StepName = d.string()
		return true
	}
	return e.baseMember(d, key, true)
}

func (e *StepStarted) finish(d *decoder) { d.require(1, "stepName") }

// StepFinished closes a step of the same owner.
type StepFinished struct {
	Base
	StepName string // required
}

// EventType returns STEP_FINISHED.
func (*StepFinished) EventType() EventType { return TypeStepFinished }

func (e *StepFinished) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "stepName", e.StepName)
	return e.appendBase(dst, true)
}

func (e *StepFinished) member(d *decoder, key []byte) bool {
	if string(key) == "stepName" {
		d.has |= 1
		e.StepName = d.string()
		return true
	}
	return e.baseMember(d, key, true)
}

func (e *StepFinished) finish(d *decoder) { d.require(1, "stepName") }
