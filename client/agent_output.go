package client

import (
	"iter"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/message"
)

// Finish reasons of a remote agent, beside those of package agent.
const (
	// FinishReasonInterrupt is that of a run that waits for answers.
	FinishReasonInterrupt = "interrupt"
	// FinishReasonCancelled is that of a run that somebody stopped.
	FinishReasonCancelled = "cancelled"
)

// translator makes updates of one stream's events: values in, values out. What
// the tool loop deals with is calls and results; it completes calls itself, when
// they are answered or when the stream is over.
type translator struct {
	expand  agui.Expander
	local   map[string]bool // tools that are here
	runID   string
	roles   map[string]message.Role // of messages that are no assistant's
	authors map[string]string
	calls   []*openCall
}

type openCall struct {
	id, name, message string
	index             int
	arguments         []byte
	answered          bool
}

func newTranslator(local map[string]bool) *translator {
	return &translator{local: local, roles: map[string]message.Role{}, authors: map[string]string{}}
}

// updates yields what an event comes to; the error is one of its chunks.
func (t *translator) updates(e agui.Event) iter.Seq2[*agent.ResponseUpdate, error] {
	return func(yield func(*agent.ResponseUpdate, error) bool) {
		events, err := t.expand.Expand(nil, e)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, e := range events {
			if !yield(t.update(e), nil) {
				return
			}
		}
	}
}

func (t *translator) update(e agui.Event) *agent.ResponseUpdate {
	u := &agent.ResponseUpdate{RawRepresentation: e}
	if ms := e.Common().Timestamp; ms > 0 {
		u.CreatedAt = time.UnixMilli(ms).UTC()
	}
	say := func(messageID string, cs ...message.Content) {
		u.MessageID, u.Contents = messageID, cs
		u.Role, u.AuthorName = t.roles[messageID], t.authors[messageID]
	}
	switch e := e.(type) {
	case *agui.RunStarted:
		t.runID = e.RunID
	case *agui.TextMessageStart:
		t.start(e)
		say(e.MessageID)
	case *agui.TextMessageContent:
		say(e.MessageID, &message.TextContent{Text: e.Delta})
	case *agui.ReasoningMessageContent:
		say(e.MessageID, &message.TextReasoningContent{Text: e.Delta})
	case *agui.ReasoningEncryptedValue:
		if e.Subtype == agui.SubtypeMessage {
			say(e.EntityID, &message.TextReasoningContent{ProtectedData: e.EncryptedValue})
		}
	case *agui.ToolCallStart:
		c := &openCall{id: e.ToolCallID, name: e.ToolCallName, message: e.ParentMessageID, index: len(t.calls)}
		if c.message == "" {
			c.message = c.id
		}
		t.calls = append(t.calls, c)
		say(c.message, &message.FunctionCallDelta{CallID: c.id, Name: c.name, Index: c.index})
	case *agui.ToolCallArgs:
		if c := t.open(e.ToolCallID); c != nil {
			c.arguments = append(c.arguments, e.Delta...)
			say(c.message, &message.FunctionCallDelta{CallID: c.id, Name: c.name, Index: c.index, Arguments: e.Delta})
		}
	case *agui.ToolCallResult:
		if c := t.open(e.ToolCallID); c != nil {
			c.answered = true
		}
		say(e.MessageID, &message.FunctionResultContent{CallID: e.ToolCallID, Result: e.Content.Text()})
		u.Role = message.RoleTool
	case *agui.RunError:
		u.Contents = message.Contents{&message.ErrorContent{Message: e.Message, ErrorCode: e.Code}}
		u.Contents = append(u.Contents, usage(e.Usage)...)
	case *agui.RunFinished:
		t.finish(u, e)
	}
	u.ResponseID = t.runID
	return u
}

func (t *translator) start(e *agui.TextMessageStart) {
	switch e.Role {
	case agui.RoleUser:
		t.roles[e.MessageID] = message.RoleUser
	case agui.RoleSystem, agui.RoleDeveloper:
		t.roles[e.MessageID] = message.RoleSystem
	}
	if e.Name != "" {
		t.authors[e.MessageID] = e.Name
	}
}

func (t *translator) open(id string) *openCall {
	for _, c := range slices.Backward(t.calls) {
		if c.id == id {
			return c
		}
	}
	return nil
}

// finish is the run's last update. Calls that are left open and not for us are
// somebody else's to answer.
func (t *translator) finish(u *agent.ResponseUpdate, e *agui.RunFinished) {
	u.FinishReason = agent.FinishReasonStop
	for _, c := range t.calls {
		switch {
		case c.answered:
		case t.local[c.name]:
			u.FinishReason = agent.FinishReasonToolCalls
		default:
			u.MessageID = c.message
			u.Contents = append(u.Contents, &message.FunctionCallContent{
				CallID: c.id, Name: c.name, Arguments: string(c.arguments), InformationalOnly: true,
			})
		}
	}
	switch {
	case e.Outcome == nil:
	case e.Outcome.Type == agui.OutcomeInterrupt:
		u.FinishReason = FinishReasonInterrupt
	case e.Outcome.Type == agui.OutcomeCancelled:
		u.FinishReason = FinishReasonCancelled
	}
	u.Contents = append(u.Contents, usage(e.Usage)...)
	if !e.Result.IsAbsent() {
		u.AdditionalProperties = map[string]any{"result": e.Result}
	}
}

func usage(list []agui.TokenUsage) message.Contents {
	number := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	var out message.Contents
	for _, u := range list {
		out = append(out, &message.UsageContent{Details: message.UsageDetails{
			InputTokenCount: number(u.InputTokens), OutputTokenCount: number(u.OutputTokens), TotalTokenCount: number(u.TotalTokens),
			CachedInputTokenCount: number(u.CachedInputTokens), ReasoningTokenCount: number(u.ReasoningTokens),
		}})
	}
	return out
}

// surface puts into an update what the conversation does not keep: state, and
// questions.
func surface(u *agent.ResponseUpdate) *agent.ResponseUpdate {
	if u == nil {
		return nil
	}
	var more message.Contents
	switch e := u.RawRepresentation.(type) {
	case *agui.StateSnapshot:
		more = append(more, &message.DataContent{
			ContentHeader: message.ContentHeader{RawRepresentation: e},
			MediaType:     message.MediaTypeJSON, Data: e.Snapshot.AppendJSON(nil),
		})
	case *agui.StateDelta:
		more = append(more, &message.DataContent{
			ContentHeader: message.ContentHeader{RawRepresentation: e},
			MediaType:     message.MediaTypeJSONPatch, Data: e.Delta.AppendJSON(nil),
		})
	case *agui.RunFinished:
		if e.Outcome == nil {
			break
		}
		for _, i := range e.Outcome.Interrupts {
			more = append(more, &InterruptContent{ContentHeader: message.ContentHeader{RawRepresentation: e}, Interrupt: i})
		}
	}
	if len(more) == 0 {
		return u
	}
	out := *u
	out.Contents = append(slices.Clip(slices.Clone(u.Contents)), more...)
	return &out
}
