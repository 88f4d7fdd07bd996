package thread

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
)

// fold is everything that is derived from a log, at one position.
type fold struct {
	head     Head
	floor    uint64    // positions before it are too old
	whole    uint64    // what is before it was read in its compacted form
	hole     uint64    // the last entry whose number does not follow the one before it
	touched  time.Time // of the last entry
	doc      state.Doc
	revision uint64
	reduced  agui.Reducer // messages; and the view, which doc.View repeats
	active   *activeRun
	lease    leaseRecord         // of the newest run
	open     []state.Proposal    // not decided yet, oldest first
	proposed map[string]uint64   // where each was made, by key
	answers  map[string]Answered // to interrupts that are decided, by interruptId and by call
	decided  []decidedProposal   // by the active run, and not started yet
	confirms map[string]bool     // calls of confirm_changes
	runs     []runRecord         // newest last, bounded
	shown    []shownDoc          // documents at state events and changes, oldest first, bounded
	changes  []changeRecord      // newest last, bounded
	forgot   uint64              // the newest change that is not among them any more
	undone   map[string]bool     // runs that were undone
	origins  map[string]origin   // where each message began, those of branches that were left too
	newest   uint64              // where the newest message began
	openers  []agui.Event        // of what is open on the wire, in order
}

// activeRun is a run without a terminal event yet.
type activeRun struct {
	key         string
	runID       string // the client's label
	started     time.Time
	snapshotted bool // has sent a STATE_SNAPSHOT, so deltas may follow (W2)
}

// leaseRecord is who drives a run, and until when that is sure.
type leaseRecord struct {
	run, owner string
	lasts      time.Duration // from each entry of the run
	until      time.Time
}

// runRecord is what a fold remembers of a run.
type runRecord struct {
	key         string
	first, last uint64    // last is 0 while it is active
	end         state.Doc // at last
	revision    uint64    // then
	ended       time.Time
	own         bool   // an edit or an undo, which nobody posted
	cut         bool   // the one who posted it did not see its end
	left        uint64 // how far that connection was written; 0: not known
}

// decidedProposal is an approved proposal whose tool has not been started.
type decidedProposal struct {
	run      string
	proposal state.Proposal
}

// origin is where a message began.
type origin struct {
	run string
	seq uint64
}

// shownDoc is the documents from a position on.
type shownDoc struct {
	seq, revision uint64
	doc           state.Doc
}

// changeRecord is one committed change, with the whole documents: they share
// what did not change.
type changeRecord struct {
	seq           uint64
	run, author   string
	before, after jsondoc.Value
}

// How much a fold remembers. A base that is older counts as not named; an undo
// does not reach further back.
const (
	keptShown   = 4096
	keptRuns    = 1024
	keptChanges = 4096
)

// push appends to a list that keeps its newest n.
func push[T any](list []T, x T, n int) []T {
	if len(list) >= 2*n {
		list = append(list[:0:0], list[len(list)-n:]...)
	}
	return append(list, x)
}

// apply adds an entry. It fails only on a log that was not made by this
// package.
func (f *fold) apply(e Entry) error {
	if e.Seq <= f.head.Seq {
		return fmt.Errorf("thread: entry %d of the log comes behind %d", e.Seq, f.head.Seq)
	}
	if e.Seq != f.head.Seq+1 {
		f.hole = e.Seq
	}
	f.head.Seq, f.touched = e.Seq, e.Time
	if e.Floor {
		f.floor, f.whole = e.Seq, e.Seq
	}
	if e.Lease != nil {
		f.lease = leaseRecord{run: e.Run, owner: e.Lease.Owner, lasts: e.Lease.Until.Sub(e.Time), until: e.Lease.Until}
	} else if e.Run != "" && e.Run == f.lease.run {
		f.lease.until = e.Time.Add(f.lease.lasts)
	}
	if e.Change != nil {
		before := f.doc.State
		next, err := e.Change.Apply(before, nil)
		if err != nil {
			return err
		}
		f.doc.State = next
		if f.revision++; e.Revision > f.revision {
			f.revision = e.Revision
		}
		if len(f.changes) >= 2*keptChanges {
			f.forgot = f.changes[len(f.changes)-keptChanges-1].seq
		}
		f.changes = push(f.changes, changeRecord{seq: e.Seq, run: e.Run, author: e.Author, before: before, after: next}, keptChanges)
	}
	f.propose(e)
	if r := f.run(e.Run); r != nil && e.Left > 0 {
		r.cut, r.left = true, e.Left
	}
	if e.Undoes != "" {
		if f.undone == nil {
			f.undone = map[string]bool{}
		}
		f.undone[e.Undoes] = true
	}
	if err := f.event(e); err != nil {
		return err
	}
	if _, snapshot := e.Event.(*agui.StateSnapshot); snapshot || e.Change != nil || isDelta(e.Event) {
		f.shown = push(f.shown, shownDoc{seq: e.Seq, revision: f.revision, doc: f.doc}, keptShown)
	}
	return nil
}

// complete fails for a log of which entries are missing: numbers are dense up to
// its head, but for what was compacted (T2).
func (f *fold) complete(head uint64) error {
	switch {
	case f.hole > f.floor:
		return fmt.Errorf("thread: entries are missing from the log before %d", f.hole)
	case f.head.Seq < head:
		return fmt.Errorf("thread: entries are missing from the log behind %d, it ends at %d", f.head.Seq, head)
	}
	return nil
}

func isDelta(e agui.Event) bool { _, is := e.(*agui.StateDelta); return is }

// propose keeps the list of what waits for a decision.
func (f *fold) propose(e Entry) {
	if e.Settled != "" {
		for _, p := range f.open {
			if p.Key() == e.Settled && e.Answer.Approved {
				f.decided = append(f.decided[:len(f.decided):len(f.decided)], decidedProposal{run: e.Run, proposal: p})
			}
		}
		f.open = slices.DeleteFunc(slices.Clone(f.open), func(p state.Proposal) bool { return p.Key() == e.Settled })
	}
	if e.Answer.ID != "" {
		if f.answers == nil {
			f.answers = map[string]Answered{}
		}
		f.answers[e.Answer.ID] = e.Answer
		f.answers[e.Settled] = e.Answer
	}
	if e.Started != "" {
		f.decided = slices.DeleteFunc(slices.Clone(f.decided), func(d decidedProposal) bool { return d.proposal.Key() == e.Started })
	}
	if e.Proposal == nil {
		return
	}
	p := *e.Proposal
	delete(f.answers, p.Ask.ID) // one that is open again
	delete(f.answers, p.Key())
	if p.Ask.Confirm != "" {
		if f.confirms == nil {
			f.confirms = map[string]bool{}
		}
		f.confirms[p.Ask.Confirm] = true
	}
	if f.proposed == nil {
		f.proposed = map[string]uint64{}
	}
	if !slices.ContainsFunc(f.open, p.Same) {
		f.proposed[p.Key()] = e.Seq // else it was edited while it waits
	}
	f.open = with(f.open, p)
}

// with is a list of open proposals with p in the place of the one of its key, or
// at its end.
func with(open []state.Proposal, p state.Proposal) []state.Proposal {
	open = slices.Clone(open)
	if i := slices.IndexFunc(open, p.Same); i >= 0 {
		open[i] = p
		return open
	}
	return append(open, p)
}

// event adds what viewers get.
func (f *fold) event(e Entry) error {
	if e.Event == nil {
		return nil
	}
	switch ev := e.Event.(type) {
	case *agui.RunStarted:
		f.active = &activeRun{key: e.Run, runID: ev.RunID, started: e.Time}
		f.runs = push(f.runs, runRecord{key: e.Run, first: e.Seq, own: ev.RunID == ownRunID(e.Seq)}, keptRuns)
		if ev.Input != nil {
			for _, m := range ev.Input.Messages {
				f.note(m.ID, e)
			}
		}
	case *agui.StateSnapshot:
		if f.active != nil {
			f.active.snapshotted = true
		}
	case *agui.TextMessageStart:
		f.note(ev.MessageID, e)
	case *agui.ReasoningMessageStart:
		f.note(ev.MessageID, e)
	case *agui.ToolCallStart:
		f.note(ev.ParentMessageID, e)
	case *agui.ToolCallResult:
		f.note(ev.MessageID, e)
	case *agui.MessagesSnapshot:
		for _, m := range ev.Messages {
			f.note(m.ID, e)
		}
	}
	f.noteOpen(e.Event)
	if err := f.reduced.Apply(e.Event); err != nil {
		return err
	}
	switch ev := e.Event.(type) {
	case *agui.StateSnapshot, *agui.StateDelta:
		f.doc.View = f.reduced.State()
	case *agui.RunFinished:
		f.ended(e, false)
	case *agui.RunError:
		f.ended(e, ev.Code == agui.CodeOwnerLost)
	}
	return nil
}

// ended closes the active run's record.
func (f *fold) ended(e Entry, cut bool) {
	if r := f.run(e.Run); r != nil {
		r.last, r.end, r.revision, r.ended = e.Seq, f.doc, f.revision, e.Time
		r.cut = r.cut || cut
	}
	f.active, f.openers, f.decided = nil, nil, nil
}

// note remembers where a message began.
func (f *fold) note(id string, e Entry) {
	if id == "" {
		return
	}
	if f.origins == nil {
		f.origins = map[string]origin{}
	}
	if _, known := f.origins[id]; !known {
		f.origins[id] = origin{run: e.Run, seq: e.Seq}
		f.newest = e.Seq
	}
}

// run finds the record of a run; nil for one that is not remembered.
func (f *fold) run(key string) *runRecord {
	if key == "" {
		return nil
	}
	for i := len(f.runs) - 1; i >= 0; i-- {
		if f.runs[i].key == key {
			return &f.runs[i]
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

// docAt is the documents at a position, if the fold still knows them.
func (f *fold) docAt(seq uint64) (state.Doc, bool) {
	for _, s := range slices.Backward(f.shown) {
		if s.seq <= seq {
			return s.doc, true
		}
	}
	return state.Doc{}, false
}

// docOf is the documents as they last were at a revision, and where. Where the log
// was read anew, one that ended inside a compacted run is not known: the log does
// not say any more what was shown then.
func (f *fold) docOf(revision uint64) (d state.Doc, seq uint64, ok bool) {
	ended := f.head.Seq + 1
	for _, s := range slices.Backward(f.shown) {
		if s.revision == revision {
			at := ended - 1 // it is this revision's last position
			if at < f.whole {
				at = 0
				for _, r := range f.runs {
					if s.seq <= r.last && r.last < ended {
						at = r.last
					}
				}
			}
			d, ok = f.known(Position{f.head.Epoch, at})
			return d, at, ok
		}
		ended = s.seq
	}
	return state.Doc{}, 0, false
}

func (f *fold) messages() []agui.Message { return f.reduced.Messages() }
