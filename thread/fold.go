package thread

import (
	"errors"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
)

// fold is everything that is derived from a log, at one position.
type fold struct {
	head     Head
	doc      state.Doc
	revision uint64
	reduced  agui.Reducer // messages; and the view, which doc.View repeats
	active   *activeRun
	open     []state.Proposal // not decided yet, oldest first
	runs     []runMark        // newest last, bounded: for reading what clients post
	shown    []shownView      // views at state events, oldest first, bounded
	cut      string           // the run whose poster left before its end; in this process only
	openers  []agui.Event     // of what is open on the wire, in order
}

// activeRun is a run without a terminal event yet.
type activeRun struct {
	key         string
	runID       string // the client's label
	started     time.Time
	snapshotted bool // has sent a STATE_SNAPSHOT, so deltas may follow (W2)
}

type runMark struct {
	key   string
	first uint64
}

type shownView struct {
	seq  uint64
	view jsondoc.Value
}

// How many views and runs a fold remembers. A base that is older counts as not
// named.
const (
	keptViews = 4096
	keptRuns  = 256
)

// apply adds an entry. It fails only on a log that was not made by this
// package.
func (f *fold) apply(e Entry) error {
	if e.Seq != f.head.Seq+1 {
		return errors.New("thread: the log has a hole")
	}
	f.head.Seq = e.Seq
	if e.Change != nil {
		next, err := e.Change.Apply(f.doc.State, nil)
		if err != nil {
			return err
		}
		f.doc.State = next
		f.revision++
	}
	if e.Proposal != nil {
		f.open = append(f.open[:len(f.open):len(f.open)], *e.Proposal)
	}
	if e.Settled != "" {
		f.open = slices.DeleteFunc(slices.Clone(f.open), func(p state.Proposal) bool { return p.Call == e.Settled })
	}
	switch ev := e.Event.(type) {
	case nil:
		return nil
	case *agui.RunStarted:
		f.active = &activeRun{key: e.Run, runID: ev.RunID, started: e.Time}
		f.runs = append(f.runs, runMark{key: e.Run, first: e.Seq})
		if len(f.runs) > keptRuns {
			f.runs = slices.Delete(f.runs, 0, len(f.runs)-keptRuns)
		}
	case *agui.RunFinished, *agui.RunError:
		f.active, f.openers = nil, nil
	case *agui.StateSnapshot:
		if f.active != nil {
			f.active.snapshotted = true
		}
	}
	f.noteOpen(e.Event)
	if err := f.reduced.Apply(e.Event); err != nil {
		return err
	}
	switch e.Event.(type) {
	case *agui.StateSnapshot, *agui.StateDelta:
		f.doc.View = f.reduced.State()
		f.shown = append(f.shown, shownView{seq: e.Seq, view: f.doc.View})
		if len(f.shown) > keptViews {
			f.shown = slices.Delete(f.shown, 0, len(f.shown)-keptViews)
		}
	}
	return nil
}

// noteOpen keeps the openers of what a viewer that comes now would have to see
// opened again.
func (f *fold) noteOpen(e agui.Event) {
	same := func(is func(agui.Event) bool) {
		f.openers = slices.DeleteFunc(slices.Clone(f.openers), is)
	}
	switch e := e.(type) {
	case *agui.TextMessageStart, *agui.ToolCallStart, *agui.ReasoningStart, *agui.ReasoningMessageStart, *agui.StepStarted, *agui.SubagentStarted:
		f.openers = append(f.openers[:len(f.openers):len(f.openers)], e)
	case *agui.TextMessageEnd:
		same(func(o agui.Event) bool { s, ok := o.(*agui.TextMessageStart); return ok && s.MessageID == e.MessageID })
	case *agui.ToolCallEnd:
		same(func(o agui.Event) bool { s, ok := o.(*agui.ToolCallStart); return ok && s.ToolCallID == e.ToolCallID })
	case *agui.ReasoningEnd:
		same(func(o agui.Event) bool { s, ok := o.(*agui.ReasoningStart); return ok && s.MessageID == e.MessageID })
	case *agui.ReasoningMessageEnd:
		same(func(o agui.Event) bool {
			s, ok := o.(*agui.ReasoningMessageStart)
			return ok && s.MessageID == e.MessageID
		})
	case *agui.StepFinished:
		same(func(o agui.Event) bool { s, ok := o.(*agui.StepStarted); return ok && s.StepName == e.StepName })
	case *agui.SubagentFinished:
		same(func(o agui.Event) bool {
			s, ok := o.(*agui.SubagentStarted)
			return ok && s.SubagentRunID == e.SubagentRunID
		})
	case *agui.SubagentError:
		same(func(o agui.Event) bool {
			s, ok := o.(*agui.SubagentStarted)
			return ok && s.SubagentRunID == e.SubagentRunID
		})
	}
}

// viewAt is the view at a sequence number, if the fold still knows it.
func (f *fold) viewAt(seq uint64) (jsondoc.Value, bool) {
	for _, s := range slices.Backward(f.shown) {
		if s.seq <= seq {
			return s.view, true
		}
	}
	return jsondoc.Value{}, false
}

func (f *fold) messages() []agui.Message { return f.reduced.Messages() }
