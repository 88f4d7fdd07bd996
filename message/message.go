package message

import (
	"maps"
	"slices"
	"time"
)

// Role says who speaks.
type Role string

// The roles. A developer message of other systems is a system message here.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleTool      Role = "tool"
)

// Source says which part of the program made a message. The zero value is a
// message from outside (a person, a client, a history).
type Source struct {
	ID   string     `json:"id,omitempty"`
	Type SourceType `json:"type,omitempty"`
}

// SourceType is a kind of source.
type SourceType string

// The source types. Applications may add their own.
const (
	// SourceTypeExternal is the zero source type.
	SourceTypeExternal SourceType = ""
	// SourceTypeState marks the message by which package state shows a model the
	// current state. It is made anew for every model call and never stored.
	SourceTypeState SourceType = "state"
	// SourceTypeRepair marks results that the tool loop made up for calls that
	// never got one, because vendors refuse a conversation with such calls.
	SourceTypeRepair SourceType = "repair"
)

// Message is one message of a conversation.
type Message struct {
	// ID is unique within a conversation, or empty.
	ID   string
	Role Role
	// AuthorName is a name to show, such as the agent's.
	AuthorName string
	Contents   Contents
	// CreatedAt is zero when not known.
	CreatedAt time.Time
	// Source says who made the message.
	Source Source
	// AdditionalProperties is anything to carry along; it is part of the JSON form.
	AdditionalProperties map[string]any
	// RawRepresentation is the vendor's own object. It stays in the process.
	RawRepresentation any
}

// New returns a user's message with these contents.
func New(contents ...Content) *Message {
	return &Message{Role: RoleUser, Contents: contents}
}

// NewText returns a user's message with this text.
func NewText(text string) *Message { return New(&TextContent{Text: text}) }

// NewSystem returns a system message with this text.
func NewSystem(text string) *Message {
	return &Message{Role: RoleSystem, Contents: Contents{&TextContent{Text: text}}}
}

// NewAssistant returns an assistant's message with these contents.
func NewAssistant(contents ...Content) *Message {
	return &Message{Role: RoleAssistant, Contents: contents}
}

// NewResult returns a tool message that answers one call.
func NewResult(callID string, result any) *Message {
	return &Message{Role: RoleTool, Contents: Contents{&FunctionResultContent{CallID: callID, Result: result}}}
}

// String returns the message's text.
func (m *Message) String() string {
	if m == nil {
		return ""
	}
	return m.Contents.Text()
}

// Usage returns the sum of the message's usage contents.
func (m *Message) Usage() UsageDetails {
	if m == nil {
		return UsageDetails{}
	}
	return m.Contents.Usage()
}

// Clone copies the message and its list of contents, but not the contents
// themselves. nil stays nil.
func (m *Message) Clone() *Message {
	if m == nil {
		return nil
	}
	c := *m
	c.Contents = slices.Clone(m.Contents)
	c.AdditionalProperties = maps.Clone(m.AdditionalProperties)
	return &c
}

// WithSource returns a copy of m with another source.
func (m *Message) WithSource(s Source) *Message {
	c := m.Clone()
	if c != nil {
		c.Source = s
	}
	return c
}
