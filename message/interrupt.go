package message

import (
	"time"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// InterruptRequestContent is a question that agent code asks a person. The run
// ends with it, and the person's answer begins the next one: the conversation
// that the agent gets then ends with an [InterruptResponseContent] of the same
// id. Agent Framework has the same pair.
type InterruptRequestContent struct {
	ContentHeader
	// ID names the question; empty: whoever serves the agent makes one.
	ID string
	// Reason is "input_required" (the default), "confirmation", or one of the
	// application's own as "framework:name".
	Reason string
	// Message is for the person.
	Message string
	// ResponseSchema is the JSON Schema of the answer, an object; absent: any.
	ResponseSchema jsondoc.Value
	// Expires is when the question is taken back; zero: never.
	Expires time.Time
	// Metadata is for the front end, an object; absent: none.
	Metadata jsondoc.Value
}

// InterruptResponseContent is a person's answer to an [InterruptRequestContent].
type InterruptResponseContent struct {
	ContentHeader
	ID string
	// Cancelled says that the person did not answer; Payload is absent then.
	Cancelled bool
	Payload   jsondoc.Value
}
