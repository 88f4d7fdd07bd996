package agent

import (
	"cmp"
	"iter"
	"maps"
	"time"

	"github.com/lockstep-go/lockstep/message"
)

// Finish reasons, as [ResponseUpdate.FinishReason] tells them. Vendors may have
// others.
const (
	FinishReasonStop          = "stop"
	FinishReasonLength        = "length"
	FinishReasonToolCalls     = "tool_calls"
	FinishReasonContentFilter = "content_filter"
)

// ResponseUpdate is one piece of a run's stream: contents of a message, something
// about the response, or both.
type ResponseUpdate struct {
	// Contents are the pieces, in order.
	Contents message.Contents
	// Role is the role of the message that the contents belong to. Empty means that
	// of the message so far, or the assistant's.
	Role message.Role
	// MessageID is the id of the message that the contents belong to. Updates with
	// one id belong together. Behind the tool loop it is never empty.
	MessageID string
	// ResponseID is the provider's id of the model call's answer.
	ResponseID string
	// AgentID and AuthorName say which agent speaks.
	AgentID    string
	AuthorName string
	// FinishReason says why a model stopped. It comes with the last update of a
	// model turn, so a run with tools has several.
	FinishReason string
	// CreatedAt is zero when not known.
	CreatedAt time.Time
	// AdditionalProperties is anything else a provider has to say.
	AdditionalProperties map[string]any
	// RawRepresentation is the vendor's own object.
	RawRepresentation any
}

// String returns the text of the update.
func (u *ResponseUpdate) String() string {
	if u == nil {
		return ""
	}
	return u.Contents.Text()
}

// Usage returns the sum of the update's usage contents.
func (u *ResponseUpdate) Usage() message.UsageDetails {
	if u == nil {
		return message.UsageDetails{}
	}
	return u.Contents.Usage()
}

// ResponseStream is a run. It starts when it is ranged over, once; it ends after
// its first error; breaking out of it stops the run.
type ResponseStream iter.Seq2[*ResponseUpdate, error]

// Collect runs to the end and gathers everything in one response. On an error it
// returns what came before it, too.
func (s ResponseStream) Collect() (*Response, error) {
	var r Response
	for update, err := range s {
		if err != nil {
			r.Coalesce()
			return &r, err
		}
		r.Update(update)
	}
	r.Coalesce()
	return &r, nil
}

// Response is a whole run: the messages that it added to the conversation.
type Response struct {
	// ID is the last response id that the provider gave.
	ID      string
	AgentID string
	// Messages are the assistant's messages and the tools' results, in order.
	Messages []*message.Message
	// FinishReason is the last one that the provider gave.
	FinishReason string
	CreatedAt    time.Time
	// AdditionalProperties are those of all updates; later ones win.
	AdditionalProperties map[string]any
}

// String returns the text of all messages.
func (r *Response) String() string {
	var cs message.Contents
	for c := range r.Contents() {
		cs = append(cs, c)
	}
	return cs.Text()
}

// Contents returns the contents of all messages, in order.
func (r *Response) Contents() iter.Seq[message.Content] {
	return func(yield func(message.Content) bool) {
		for _, m := range r.Messages {
			for _, c := range m.Contents {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// Usage returns what all model calls of the run cost together.
func (r *Response) Usage() message.UsageDetails {
	var sum message.UsageDetails
	for _, m := range r.Messages {
		sum.Add(m.Usage())
	}
	return sum
}

// Pending returns the calls that the run left unanswered: held ones and those for
// the client.
func (r *Response) Pending() []*message.FunctionCallContent {
	return message.Unanswered(r.Messages)
}

// Update adds one update. Updates of one message id make one message; one without
// an id belongs to the message before it, unless its role or author differs.
// [Response.Coalesce] then joins what was cut.
func (r *Response) Update(u *ResponseUpdate) {
	if u == nil {
		return
	}
	m := r.target(u)
	if m != nil {
		m.AuthorName = cmp.Or(u.AuthorName, m.AuthorName)
		m.Role = cmp.Or(u.Role, m.Role)
		m.ID = cmp.Or(u.MessageID, m.ID)
		if m.CreatedAt.IsZero() {
			m.CreatedAt = u.CreatedAt
		}
		m.Contents = append(m.Contents, u.Contents...)
	}
	r.AgentID = cmp.Or(u.AgentID, r.AgentID)
	r.ID = cmp.Or(u.ResponseID, r.ID)
	r.FinishReason = cmp.Or(u.FinishReason, r.FinishReason)
	if r.CreatedAt.IsZero() {
		r.CreatedAt = u.CreatedAt
	}
	if len(u.AdditionalProperties) > 0 {
		if r.AdditionalProperties == nil {
			r.AdditionalProperties = make(map[string]any)
		}
		maps.Copy(r.AdditionalProperties, u.AdditionalProperties)
	}
}

// target finds or makes the message that u belongs to; nil if u has no contents
// and so no message.
func (r *Response) target(u *ResponseUpdate) *message.Message {
	if u.MessageID != "" {
		// From the end: the message is nearly always the last one.
		for i := len(r.Messages) - 1; i >= 0; i-- {
			if r.Messages[i].ID == u.MessageID {
				return r.Messages[i]
			}
		}
	}
	if len(u.Contents) == 0 {
		return nil
	}
	if n := len(r.Messages); n > 0 {
		last := r.Messages[n-1]
		if !differ(u.MessageID, last.ID) && !differ(string(u.Role), string(last.Role)) && !differ(u.AuthorName, last.AuthorName) {
			return last
		}
	}
	m := &message.Message{Role: message.RoleAssistant}
	r.Messages = append(r.Messages, m)
	return m
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }

// Coalesce joins adjacent pieces of text and of reasoning, and turns fragments of
// calls into calls where the complete call did not come.
func (r *Response) Coalesce() {
	for _, m := range r.Messages {
		m.Contents = message.CoalesceContents(m.Contents)
	}
}
