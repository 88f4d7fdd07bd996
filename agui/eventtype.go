package agui

// EventType is the discriminator of an event: the "type" member on the wire.
// Types are upper snake case and case-sensitive.
type EventType string

// The 31 event types of AG-UI 1.0.
const (
	TypeRunStarted  EventType = "RUN_STARTED"
	TypeRunFinished EventType = "RUN_FINISHED"
	TypeRunError    EventType = "RUN_ERROR"

	TypeStepStarted  EventType = "STEP_STARTED"
	TypeStepFinished EventType = "STEP_FINISHED"

	TypeTextMessageStart   EventType = "TEXT_MESSAGE_START"
	TypeTextMessageContent EventType = "TEXT_MESSAGE_CONTENT"
	TypeTextMessageEnd     EventType = "TEXT_MESSAGE_END"
	TypeTextMessageChunk   EventType = "TEXT_MESSAGE_CHUNK"

	TypeToolCallStart  EventType = "TOOL_CALL_START"
	TypeToolCallArgs   EventType = "TOOL_CALL_ARGS"
	TypeToolCallEnd    EventType = "TOOL_CALL_END"
	TypeToolCallChunk  EventType = "TOOL_CALL_CHUNK"
	TypeToolCallResult EventType = "TOOL_CALL_RESULT"

	TypeStateSnapshot    EventType = "STATE_SNAPSHOT"
	TypeStateDelta       EventType = "STATE_DELTA"
	TypeMessagesSnapshot EventType = "MESSAGES_SNAPSHOT"

	TypeActivitySnapshot EventType = "ACTIVITY_SNAPSHOT"
	TypeActivityDelta    EventType = "ACTIVITY_DELTA"

	TypeReasoningStart          EventType = "REASONING_START"
	TypeReasoningEnd            EventType = "REASONING_END"
	TypeReasoningMessageStart   EventType = "REASONING_MESSAGE_START"
	TypeReasoningMessageContent EventType = "REASONING_MESSAGE_CONTENT"
	TypeReasoningMessageEnd     EventType = "REASONING_MESSAGE_END"
	TypeReasoningMessageChunk   EventType = "REASONING_MESSAGE_CHUNK"
	TypeReasoningEncryptedValue EventType = "REASONING_ENCRYPTED_VALUE"

	TypeSubagentStarted  EventType = "SUBAGENT_STARTED"
	TypeSubagentFinished EventType = "SUBAGENT_FINISHED"
	TypeSubagentError    EventType = "SUBAGENT_ERROR"

	TypeRaw    EventType = "RAW"
	TypeCustom EventType = "CUSTOM"
)

// EventTypes lists the 31 types in the order above. The slice is the caller's.
func EventTypes() []EventType {
	return []EventType{
		TypeRunStarted, TypeRunFinished, TypeRunError,
		TypeStepStarted, TypeStepFinished,
		TypeTextMessageStart, TypeTextMessageContent, TypeTextMessageEnd, TypeTextMessageChunk,
		TypeToolCallStart, TypeToolCallArgs, TypeToolCallEnd, TypeToolCallChunk, TypeToolCallResult,
		TypeStateSnapshot, TypeStateDelta, TypeMessagesSnapshot,
		TypeActivitySnapshot, TypeActivityDelta,
		TypeReasoningStart, TypeReasoningEnd,
		TypeReasoningMessageStart, TypeReasoningMessageContent, TypeReasoningMessageEnd,
		TypeReasoningMessageChunk, TypeReasoningEncryptedValue,
		TypeSubagentStarted, TypeSubagentFinished, TypeSubagentError,
		TypeRaw, TypeCustom,
	}
}

// Terminal reports whether an event of this type ends a run.
func (t EventType) Terminal() bool { return t == TypeRunFinished || t == TypeRunError }

// Known reports whether t is one of the 31 types of AG-UI 1.0.
func (t EventType) Known() bool { return newEvent(t) != nil }

// newEvent makes an empty event of type t, or nil if the type is unknown.
func newEvent(t EventType) Event { return newEventNamed([]byte(t)) }

// newEventNamed is newEvent for a name that was not made a string yet.
//
// A switch and not a map of constructors: it costs one string comparison tree
// and no allocation but the event's own.
func newEventNamed(t []byte) Event {
	switch EventType(t) {
	case TypeTextMessageContent:
		return &TextMessageContent{}
	case TypeToolCallArgs:
		return &ToolCallArgs{}
	case TypeRunStarted:
		return &RunStarted{}
	case TypeRunFinished:
		return &RunFinished{}
	case TypeRunError:
		return &RunError{}
	case TypeStepStarted:
		return &StepStarted{}
	case TypeStepFinished:
		return &StepFinished{}
	case TypeTextMessageStart:
		return &TextMessageStart{}
	case TypeTextMessageEnd:
		return &TextMessageEnd{}
	case TypeTextMessageChunk:
		return &TextMessageChunk{}
	case TypeToolCallStart:
		return &ToolCallStart{}
	case TypeToolCallEnd:
		return &ToolCallEnd{}
	case TypeToolCallChunk:
		return &ToolCallChunk{}
	case TypeToolCallResult:
		return &ToolCallResult{}
	case TypeStateSnapshot:
		return &StateSnapshot{}
	case TypeStateDelta:
		return &StateDelta{}
	case TypeMessagesSnapshot:
		return &MessagesSnapshot{}
	case TypeActivitySnapshot:
		return &ActivitySnapshot{}
	case TypeActivityDelta:
		return &ActivityDelta{}
	case TypeReasoningStart:
		return &ReasoningStart{}
	case TypeReasoningEnd:
		return &ReasoningEnd{}
	case TypeReasoningMessageStart:
		return &ReasoningMessageStart{}
	case TypeReasoningMessageContent:
		return &ReasoningMessageContent{}
	case TypeReasoningMessageEnd:
		return &ReasoningMessageEnd{}
	case TypeReasoningMessageChunk:
		return &ReasoningMessageChunk{}
	case TypeReasoningEncryptedValue:
		return &ReasoningEncryptedValue{}
	case TypeSubagentStarted:
		return &SubagentStarted{}
	case TypeSubagentFinished:
		return &SubagentFinished{}
	case TypeSubagentError:
		return &SubagentError{}
	case TypeRaw:
		return &Raw{}
	case TypeCustom:
		return &Custom{}
	}
	return nil
}
