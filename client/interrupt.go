package client

import (
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// A run that ends with an interrupt outcome waits for people. Thread.Interrupts
// lists what it asks; the answers go with the next run, all of them in one:
//
//	var answers []agui.ResumeEntry
//	for _, i := range thread.Interrupts() {
//		answers = append(answers, client.Approve(i))
//	}
//	thread.Run(ctx, &client.RunOptions{Resume: answers})

// Answer resolves an interrupt with a payload of one's own, which should fit the
// interrupt's ResponseSchema.
func Answer(i agui.Interrupt, payload jsondoc.Value) agui.ResumeEntry {
	return agui.ResumeEntry{InterruptID: i.ID, Status: agui.ResumeResolved, Payload: payload}
}

// Approve lets what was proposed happen.
func Approve(i agui.Interrupt) agui.ResumeEntry {
	return Answer(i, jsondoc.Object(jsondoc.Member{Name: approval(i), Value: jsondoc.True}))
}

// ApproveEdited lets it happen with other arguments, which take the place of all
// that were proposed.
func ApproveEdited(i agui.Interrupt, arguments jsondoc.Value) agui.ResumeEntry {
	name := approval(i)
	payload := jsondoc.Object(jsondoc.Member{Name: name, Value: jsondoc.True})
	if name == approved {
		return Answer(i, payload.With("editedArgs", arguments))
	}
	// Those who say accepted take the arguments as members beside it.
	for member, v := range arguments.Members() {
		if member != name {
			payload = payload.With(member, v)
		}
	}
	return Answer(i, payload)
}

// Reject refuses what was proposed. The agent is told.
func Reject(i agui.Interrupt) agui.ResumeEntry {
	return Answer(i, jsondoc.Object(jsondoc.Member{Name: approval(i), Value: jsondoc.False}))
}

// Cancel answers an interrupt with no decision. It is the one answer that an
// interrupt takes after it has expired.
func Cancel(i agui.Interrupt) agui.ResumeEntry {
	return agui.ResumeEntry{InterruptID: i.ID, Status: agui.ResumeCancelled}
}

// Expired reports whether an interrupt can only be cancelled any more. One
// without a time, or with one that cannot be read, never expires here.
func Expired(i agui.Interrupt, now time.Time) bool {
	at, err := time.Parse(time.RFC3339, i.ExpiresAt)
	return err == nil && !now.Before(at)
}

const (
	approved = "approved"
	accepted = "accepted"
)

// approval is the member that says yes or no: approved, unless the interrupt's
// schema knows only accepted, as Agent Framework's Python servers spell it.
func approval(i agui.Interrupt) string {
	properties, _ := i.ResponseSchema.Get("properties")
	_, new := properties.Get(approved)
	if _, old := properties.Get(accepted); old && !new {
		return accepted
	}
	return approved
}

// confirmChanges is the call by which servers ask that do not use interrupts:
// the front end's own, left for it to answer.
const confirmChanges = "confirm_changes"

// Confirmations are the thread's open questions of the older kind: calls of the
// front end's tool confirm_changes that nothing has answered. The answer is a
// message of the next run, see Confirm.
func (t *Thread) Confirmations() []agui.ToolCall {
	var open []agui.ToolCall
	answered := map[string]bool{}
	messages := t.Messages()
	for i := len(messages) - 1; i >= 0 && messages[i].Role != agui.RoleUser; i-- {
		m := messages[i]
		if m.Role == agui.RoleTool {
			answered[m.ToolCallID] = true
		}
		for _, c := range m.ToolCalls {
			if c.Function.Name == confirmChanges && !answered[c.ID] {
				open = append(open, c)
			}
		}
	}
	return open
}

// Confirm answers an open question of the older kind.
func Confirm(c agui.ToolCall, yes bool) agui.Message {
	answer := jsondoc.Object(jsondoc.Member{Name: accepted, Value: jsondoc.Bool(yes)})
	return agui.Message{Role: agui.RoleTool, ToolCallID: c.ID, Content: agui.Text(answer.String())}
}
