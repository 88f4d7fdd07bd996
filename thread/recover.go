package thread

import (
	"context"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/state"
)

// recover ends a run that nobody drives any more: the process that did was
// killed, or could not store the run's end. Inside the run, so that its viewers
// see it end: what is open is closed, predictions are taken back, then comes
// RUN_ERROR owner_lost. Nothing else of it can come: the store has one owner.
// Callers hold writing.
func (t *Thread) recover(ctx context.Context) error {
	a := t.fold.active
	if a == nil || a.key == t.mine {
		return nil
	}
	mark := state.Mark{By: state.BySystem}
	var drafts []draft
	for i := len(t.fold.openers) - 1; i >= 0; i-- {
		drafts = append(drafts, draft{run: a.key, mark: mark, event: closer(t.fold.openers[i])})
	}
	open := t.fold.open
	for _, d := range t.fold.decided {
		// Approved, and its tool was not started: it can be approved again.
		open = append(open[:len(open):len(open)], d.proposal)
		drafts = append(drafts, draft{run: a.key, mark: mark, proposal: &d.proposal})
	}
	if a.snapshotted {
		view := t.model.NewSession(t.fold.doc, open...).Doc().View
		drafts = append(drafts, draft{run: a.key, mark: mark, view: view, event: &agui.StateSnapshot{Snapshot: view}})
	}
	lost := agui.NewError(agui.CodeOwnerLost, "The server that ran this was stopped. What was done is kept; ask again for the rest.", nil)
	drafts = append(drafts, draft{run: a.key, mark: mark, event: agui.RunErrorFor(lost)})
	t.threads.opts.Metrics.Recovered.Add(1)
	t.threads.opts.Logger.Warn("a run that nobody drives was ended", "thread", t.key.ID, "run", a.key)
	_, err := t.append(ctx, t.threads.opts.StoreWait/10, t.entries(drafts))
	return err
}

// closer is the event that closes what an opener opened.
func closer(opener agui.Event) agui.Event {
	switch o := opener.(type) {
	case *agui.TextMessageStart:
		return &agui.TextMessageEnd{Base: owned(o.Base), MessageID: o.MessageID}
	case *agui.ToolCallStart:
		return &agui.ToolCallEnd{Base: owned(o.Base), ToolCallID: o.ToolCallID}
	case *agui.ReasoningStart:
		return &agui.ReasoningEnd{Base: owned(o.Base), MessageID: o.MessageID}
	case *agui.ReasoningMessageStart:
		return &agui.ReasoningMessageEnd{Base: owned(o.Base), MessageID: o.MessageID}
	case *agui.StepStarted:
		return &agui.StepFinished{Base: owned(o.Base), StepName: o.StepName}
	case *agui.SubagentStarted:
		return &agui.SubagentError{Base: owned(o.Base), Message: "The server that ran this was stopped."}
	}
	return nil
}

// owned names the subagent that an event of b belongs to.
func owned(b agui.Base) agui.Base { return agui.Base{SubagentRunID: b.SubagentRunID} }
