package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// say talks to the agent until nobody asks anything any more: a run, and where it
// has paused, the answers and the run that goes on with them.
func (s *chat) say(ctx context.Context, o *client.RunOptions) error {
	begun := s.thread.State()
	for {
		s.before = s.thread.State()
		err := s.run(ctx, o)
		if err == nil && ctx.Err() == nil && len(s.questions()) > 0 {
			if o, err = s.ask(); err == nil && o != nil {
				continue
			}
			return err
		}
		if !jsondoc.Equal(begun, s.thread.State()) {
			s.showState()
		}
		return err
	}
}

// run starts a run and shows what happens.
func (s *chat) run(ctx context.Context, o *client.RunOptions) error {
	fmt.Fprintln(s.out)
	v := &runView{out: s.out}
	var failed error
	for e, err := range s.thread.Run(ctx, o) {
		if err != nil {
			failed = err
			break
		}
		v.event(e, s.thread.State())
	}
	v.endLine()
	if !v.first.IsAbsent() {
		s.before = v.first
	}
	var said *client.RunError
	if failed != nil && !errors.As(failed, &said) {
		s.failed(failed)
	}
	return failed
}

// runView prints a run's events as lines.
type runView struct {
	out     io.Writer
	first   jsondoc.Value // the state that the run begins with
	last    jsondoc.Value
	midline bool
	updates int // since the last other line
}

func (v *runView) line(format string, args ...any) {
	v.endLine()
	v.updates = 0
	for i, a := range args {
		args[i] = printable(fmt.Sprint(a), false)
	}
	fmt.Fprintf(v.out, "["+format+"]\n", args...)
}

func (v *runView) endLine() {
	if v.midline {
		fmt.Fprintln(v.out)
		v.midline = false
	}
}

func (v *runView) event(e agui.Event, state jsondoc.Value) {
	switch e := e.(type) {
	case *agui.RunStarted:
		v.line("Run Started")
	case *agui.ToolCallStart:
		v.line("Calling Tool: %s", e.ToolCallName)
	case *agui.ToolCallResult:
		v.line("Tool Result: %s", e.Content.Text())
	case *agui.TextMessageContent:
		fmt.Fprint(v.out, printable(e.Delta, true))
		v.midline = v.midline || e.Delta != ""
	case *agui.TextMessageEnd:
		v.endLine()
	case *agui.StateSnapshot, *agui.StateDelta:
		v.updated(state)
	case *agui.Custom:
		if c, ok := client.ConflictFrom(e); ok {
			for _, p := range c.Paths {
				v.line("Conflict: %s was changed by two (policy %s)", p, c.Policy)
			}
		}
	case *agui.RunFinished:
		switch {
		case e.Outcome != nil && e.Outcome.Type == agui.OutcomeCancelled:
			v.line("Run Cancelled")
		case e.Outcome != nil && e.Outcome.Type == agui.OutcomeInterrupt:
			v.line("Run Paused")
		default:
			v.line("Run Finished")
		}
	case *agui.RunError:
		if e.Code != "" {
			v.line("Run Error: %s (%s)", e.Message, e.Code)
		} else {
			v.line("Run Error: %s", e.Message)
		}
	}
}

// updated says that the state moved. A prediction moves it many times a second,
// so a line is printed for the first move, the second, the fourth and so on.
func (v *runView) updated(state jsondoc.Value) {
	first := v.last.IsAbsent()
	moved := !jsondoc.Equal(v.last, state)
	v.last = state
	if first {
		v.first = state // the snapshot that a run begins with is where it starts from
		return
	}
	if !moved {
		return
	}
	v.updates++
	if v.updates&(v.updates-1) == 0 {
		v.endLine()
		fmt.Fprintln(v.out, "[State Updated]")
	}
}
