package agui

import "github.com/lockstep-go/lockstep/jsondoc"

// SubagentStarted says that a subagent began one invocation. Its id is
// Base.SubagentRunID, required here, and is used for one invocation only.
type SubagentStarted struct {
	Base
	Name                string // required
	Description         string
	ParentSubagentRunID string // a subagent that was started in this run
	ParentToolCallID    string // the call that started it
	ParentMessageID     string
}

// EventType returns SUBAGENT_STARTED.
func (*SubagentStarted) EventType() EventType { return TypeSubagentStarted }

func (e *SubagentStarted) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "subagentRunId", e.SubagentRunID)
	dst = appendMember(dst, "name", e.Name)
	dst = appendOptionalString(dst, "description", e.Description)
	dst = appendOptionalString(dst, "parentSubagentRunId", e.ParentSubagentRunID)
	dst = appendOptionalString(dst, "parentToolCallId", e.ParentToolCallID)
	dst = appendOptionalString(dst, "parentMessageId", e.ParentMessageID)
	return e.appendBase(dst, false)
}

func (e *SubagentStarted) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "subagentRunId":
		d.has |= 1
		e.SubagentRunID = d.id()
	case "name":
		d.has |= 2
		e.Name = d.string()
	case "description":
		e.Description = d.optionalString(nullRefused)
	case "parentSubagentRunId":
		e.ParentSubagentRunID = d.optionalString(nullRefused)
	case "parentToolCallId":
		e.ParentToolCallID = d.optionalString(nullRefused)
	case "parentMessageId":
		e.ParentMessageID = d.optionalString(nullRefused)
	default:
		return e.baseMember(d, key, false)
	}
	return true
}

func (e *SubagentStarted) finish(d *decoder) {
	d.require(1, "subagentRunId")
	d.require(2, "name")
}

// SubagentFinished says that a subagent's invocation ended without failing.
type SubagentFinished struct {
	Base
	Result  jsondoc.Value // absent or null is left out
	Outcome *SubagentOutcome
}

// EventType returns SUBAGENT_FINISHED.
func (*SubagentFinished) EventType() EventType { return TypeSubagentFinished }

func (e *SubagentFinished) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "subagentRunId", e.SubagentRunID)
	dst = appendOptional(dst, "result", e.Result)
	if e.Outcome != nil {
		dst = append(dst, `,"outcome":{"type":`...)
		dst = appendString(dst, string(e.Outcome.Type))
		dst = appendStrings(dst, "interruptIds", e.Outcome.InterruptIDs)
		dst = appendExtra(dst, e.Outcome.Extra)
		dst = append(dst, '}')
	}
	return e.appendBase(dst, false)
}

func (e *SubagentFinished) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "subagentRunId":
		d.has |= 1
		e.SubagentRunID = d.id()
	case "result":
		e.Result = d.anyNotNull(nullTolerated)
	case "outcome":
		e.Outcome = d.subagentOutcome()
	default:
		return e.baseMember(d, key, false)
	}
	return true
}

func (e *SubagentFinished) finish(d *decoder) { d.require(1, "subagentRunId") }

// SubagentError says that a subagent's invocation failed. The run goes on.
type SubagentError struct {
	Base
	Message string // required
	Code    string
}

// EventType returns SUBAGENT_ERROR.
func (*SubagentError) EventType() EventType { return TypeSubagentError }

func (e *SubagentError) appendMembers(dst []byte) []byte {
	dst = appendMember(dst, "subagentRunId", e.SubagentRunID)
	dst = appendMember(dst, "message", e.Message)
	dst = appendOptionalString(dst, "code", e.Code)
	return e.appendBase(dst, false)
}

func (e *SubagentError) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "subagentRunId":
		d.has |= 1
		e.SubagentRunID = d.id()
	case "message":
		d.has |= 2
		e.Message = d.string()
	case "code":
		e.Code = d.optionalString(nullRefused)
	default:
		return e.baseMember(d, key, false)
	}
	return true
}

func (e *SubagentError) finish(d *decoder) {
	d.require(1, "subagentRunId")
	d.require(2, "message")
}
