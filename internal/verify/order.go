package verify

import (
	"errors"

	"github.com/lockstep-go/lockstep/agui"
)

// order checks whether e may come here and reports whether it counts.
func (c *Checker) order(e agui.Event) bool {
	name := string(e.EventType())
	if _, unknown := e.(*agui.Unknown); unknown {
		return false // dropped by clients before they look at the order
	}
	if c.ended && e.EventType() != agui.TypeRunStarted {
		c.fault(name, Terminal, "", "%s", c.afterEnd(e))
		if e.EventType().Terminal() {
			c.terminal = e
		}
		return false
	}
	err := c.seq.Check(e)
	if err != nil {
		c.fault(name, Order, "", "%s", orderReason(err))
		if !c.adopt(e) {
			return false
		}
	}
	switch e := e.(type) {
	case *agui.RunStarted:
		c.begin(e)
	case *agui.RunFinished:
		c.ids(name, e.ThreadID, e.RunID)
		c.close(e)
	case *agui.RunError:
		c.close(e)
	default:
		c.open = true // also where RUN_STARTED is missing: that was told
	}
	return true
}

// afterEnd says what is wrong with an event behind the terminal one.
func (c *Checker) afterEnd(e agui.Event) string {
	was := c.terminal.EventType()
	if e.EventType().Terminal() {
		return "a second terminal event; the run has ended with " + string(was)
	}
	return "it comes after the terminal event " + string(was)
}

func orderReason(err error) string {
	var s *agui.SequenceError
	if errors.As(err, &s) {
		return s.Reason
	}
	return err.Error()
}

func (c *Checker) close(e agui.Event) {
	c.open, c.ended, c.terminal, c.terminalAt = false, true, e, c.at
}

// adopt lets the order go on behind an event that was refused, as if what it
// lacks had come. False: it cannot, and the event does not count.
func (c *Checker) adopt(e agui.Event) bool {
	// Twice, since it may lack the run and its opener.
	for range 2 {
		for _, x := range c.lacking(e) {
			_ = c.seq.Check(x) // refused where it is not what was lacking
		}
		if c.seq.Check(e) == nil {
			return true
		}
	}
	return false
}

// lacking returns what would make e legal.
func (c *Checker) lacking(e agui.Event) []agui.Event {
	if !c.seq.Running() && e.EventType() != agui.TypeRunStarted {
		return []agui.Event{&agui.RunStarted{ThreadID: c.threadID(), RunID: c.postedRun()}}
	}
	base := agui.Base{SubagentRunID: e.Common().SubagentRunID}
	switch e := e.(type) {
	case *agui.RunStarted:
		return []agui.Event{&agui.RunError{}}
	case *agui.RunFinished:
		return c.seq.Close()
	case *agui.TextMessageContent:
		return []agui.Event{&agui.TextMessageStart{Base: base, MessageID: e.MessageID}}
	case *agui.TextMessageEnd:
		return []agui.Event{&agui.TextMessageStart{Base: base, MessageID: e.MessageID}}
	case *agui.ToolCallArgs:
		return []agui.Event{&agui.ToolCallStart{Base: base, ToolCallID: e.ToolCallID}}
	case *agui.ToolCallEnd:
		return []agui.Event{&agui.ToolCallStart{Base: base, ToolCallID: e.ToolCallID}}
	case *agui.ReasoningMessageContent:
		return []agui.Event{&agui.ReasoningMessageStart{Base: base, MessageID: e.MessageID}}
	case *agui.ReasoningMessageEnd:
		return []agui.Event{&agui.ReasoningMessageStart{Base: base, MessageID: e.MessageID}}
	case *agui.ReasoningEnd:
		return []agui.Event{&agui.ReasoningStart{Base: base, MessageID: e.MessageID}}
	case *agui.StepFinished:
		return []agui.Event{&agui.StepStarted{Base: base, StepName: e.StepName}}
	case *agui.SubagentFinished, *agui.SubagentError:
		return []agui.Event{&agui.SubagentStarted{Base: base}}
	}
	return nil
}

func (c *Checker) threadID() string {
	if c.input == nil {
		return ""
	}
	return c.input.ThreadID
}

func (c *Checker) postedRun() string {
	if c.input == nil {
		return ""
	}
	return c.input.RunID
}
