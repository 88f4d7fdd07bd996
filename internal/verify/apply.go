package verify

import (
	"errors"
	"strconv"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// begin takes RUN_STARTED.
func (c *Checker) begin(e *agui.RunStarted) {
	const name = string(agui.TypeRunStarted)
	c.runs++
	c.open, c.ended, c.snapshot, c.unsure = true, false, false, false
	c.runID, c.unnamed = e.RunID, c.salvaged
	if c.input != nil && c.runs == 1 && !c.salvaged {
		// Later runs of one body are nobody's answer.
		if e.ThreadID != c.input.ThreadID {
			c.fault(name, Identity, "/threadId", "%q, but thread %q was asked", clip(e.ThreadID, 100), clip(c.input.ThreadID, 100))
		}
		if e.RunID != c.input.RunID {
			c.fault(name, Identity, "/runId", "%q, but run %q was asked for", clip(e.RunID, 100), clip(c.input.RunID, 100))
		}
	}
	if e.ProtocolVersion == "" {
		return
	}
	v := versionGrammar.FindStringSubmatch(e.ProtocolVersion)
	if v == nil {
		c.fault(name, Unknown, "/protocolVersion", "%q is no version; the grammar is MAJOR.MINOR, such as %s", clip(e.ProtocolVersion, 60), agui.ProtocolVersion)
		return
	}
	own := versionGrammar.FindStringSubmatch(agui.ProtocolVersion)
	if newer(v[1], own[1]) || v[1] == own[1] && newer(v[2], own[2]) {
		c.fault(name, Unknown, "/protocolVersion", "%s is newer than %s; clients warn, and what is new is not checked here", clip(e.ProtocolVersion, 60), agui.ProtocolVersion)
	}
}

// newer compares numbers without leading zeros, however long.
func newer(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }

// ids compares the terminal event's with those of its RUN_STARTED.
func (c *Checker) ids(name, thread, run string) {
	if c.runs == 0 || c.salvaged || c.unnamed {
		return // RUN_STARTED is missing, or one of the two is broken: that was told
	}
	startedThread, started := c.seq.Run()
	if thread != startedThread {
		c.fault(name, Identity, "/threadId", "%q, but the run was started on %q", clip(thread, 100), clip(startedThread, 100))
	}
	if run != started {
		c.fault(name, Identity, "/runId", "%q, but the run that is open is %q", clip(run, 100), clip(started, 100))
	}
}

// apply does with e what a client would, and reports what would go wrong.
func (c *Checker) apply(e agui.Event) {
	name := string(e.EventType())
	switch e := e.(type) {
	case *agui.TextMessageStart:
		c.noActivity(name, e.MessageID)
	case *agui.TextMessageChunk:
		c.noActivity(name, e.MessageID)
	case *agui.ReasoningMessageStart:
		c.noActivity(name, e.MessageID)
	case *agui.ToolCallStart:
		c.parent(name, e.ParentMessageID)
	case *agui.ToolCallChunk:
		c.parent(name, e.ParentMessageID)
	case *agui.ToolCallResult:
		if m, ok := c.held.Message(e.MessageID); ok {
			c.fault(name, Identity, "/messageId", "%q is the id of a %s message already; two messages would have it", clip(e.MessageID, 100), m.Role)
		}
	case *agui.MessagesSnapshot:
		c.unique(name, e.Messages)
	case *agui.ActivityDelta:
		m, ok := c.held.Message(e.MessageID)
		switch {
		case !ok:
			c.fault(name, Patch, "/messageId", "there is no activity %q; clients ignore the delta", clip(e.MessageID, 100))
		case m.Role != agui.RoleActivity:
			c.fault(name, Patch, "/messageId", "%q is a %s message and no activity; clients ignore the delta", clip(e.MessageID, 100), m.Role)
		}
	case *agui.StateSnapshot:
		c.snapshot, c.unsure = true, false
	case *agui.StateDelta:
		c.base(e)
	}
	err := c.held.Apply(e)
	var failed *agui.DeltaError
	if !errors.As(err, &failed) || failed.Event == agui.TypeStateDelta && c.unsure {
		return
	}
	c.failed(name, failed)
}

// base demands that a run's first word on the state is a snapshot. Replacing the
// root is as good as one.
func (c *Checker) base(e *agui.StateDelta) {
	if len(e.Delta) == 0 {
		return
	}
	if first := e.Delta[0]; first.Path == "" && (first.Op == "add" || first.Op == "replace") {
		c.snapshot, c.unsure = true, false
	}
	if !c.snapshot {
		c.snapshot = true // told once
		c.fault(string(agui.TypeStateDelta), Snapshot, "", "there was no STATE_SNAPSHOT in this run; the delta builds on a state that the client may not have")
	}
}

// failed reports a patch that does not apply.
func (c *Checker) failed(name string, failed *agui.DeltaError) {
	member := "/delta"
	if failed.Event == agui.TypeActivityDelta {
		member = "/patch"
	}
	var p *jsondoc.PatchError
	if !errors.As(failed, &p) {
		c.fault(name, Patch, member, "%v", failed.Err)
		return
	}
	if p.Index < 0 {
		c.fault(name, Patch, member, "the patch does not apply: %s", p.Reason)
		return
	}
	c.fault(name, Patch, member+"/"+strconv.Itoa(p.Index), "the patch does not apply: %s %q: %s", p.Op, clip(string(p.Path), 200), p.Reason)
}

// noActivity demands that text goes to a message that takes it.
func (c *Checker) noActivity(name, id string) {
	if m, ok := c.held.Message(id); ok && m.Role == agui.RoleActivity {
		c.fault(name, Identity, "/messageId", "%q is an activity; clients drop its text", clip(id, 100))
	}
}

// parent demands that a call's message is one that has calls.
func (c *Checker) parent(name, id string) {
	if id == "" {
		return
	}
	if m, ok := c.held.Message(id); ok && m.Role != agui.RoleAssistant {
		c.fault(name, Identity, "/parentMessageId", "%q is a %s message; clients put the call into one of its own", clip(id, 100), m.Role)
	}
}

// unique demands that a snapshot's messages have ids of their own.
func (c *Checker) unique(name string, messages []agui.Message) {
	seen := make(map[string]bool, len(messages))
	for i := range messages {
		id := messages[i].ID
		if seen[id] {
			c.fault(name, Identity, "/messages/"+strconv.Itoa(i)+"/id", "%q is the id of an earlier message too; clients keep one of the two", clip(id, 100))
		}
		seen[id] = true
	}
}
