package thread

import (
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/run"
	"github.com/lockstep-go/lockstep/state"
)

// Snapshot is a thread at one position, for a viewer that comes new.
type Snapshot struct {
	Position Position // Seq 0: nothing is known of the thread
	Revision uint64
	View     jsondoc.Value // as clients may see it
	State    jsondoc.Value // server-only members included
	Messages []agui.Message
	Open     []state.Proposal
	Active   *ActiveRun // nil: no run is active
	openers  []agui.Event
	floor    uint64
}

// ActiveRun is a run without a terminal event yet.
type ActiveRun struct {
	RunID   string // the client's label
	Started time.Time
}

// Snapshot returns the thread as it is now.
func (t *Thread) Snapshot() Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := &t.fold
	s := Snapshot{
		Position: f.head, Revision: f.revision, View: f.doc.View, State: f.doc.State,
		Messages: f.messages(), Open: f.open, floor: f.floor, openers: f.openers[:len(f.openers):len(f.openers)],
	}
	if f.active != nil {
		s.Active = &ActiveRun{RunID: f.active.runID, Started: f.active.started}
	}
	return s
}

// Known reports whether the thread has a log.
func (s Snapshot) Known() bool { return s.Position.Seq > 0 }

// Prelude is what a stock client needs before it can follow the thread from the
// snapshot's position on: RUN_STARTED, the state, the messages, and, while a run
// is active, a START for everything that is open; else RUN_FINISHED. It is empty
// for an unknown thread. RUN_STARTED has no input here: clients would put what was
// asked in front of the messages, and MESSAGES_SNAPSHOT has it in its place.
func (s Snapshot) Prelude(threadID string) []agui.Event {
	if !s.Known() {
		return nil
	}
	view := s.View
	if view.IsAbsent() {
		view = jsondoc.Object()
	}
	runID := "attach-" + s.Position.String()
	if s.Active != nil {
		runID = s.Active.RunID
	}
	out := []agui.Event{
		&agui.RunStarted{ThreadID: threadID, RunID: runID, ProtocolVersion: agui.ProtocolVersion},
		&agui.StateSnapshot{
			Base:     agui.Base{Metadata: metadata(jsondoc.Value{}, s.Position, s.Revision, state.Mark{By: state.BySystem})},
			Snapshot: view,
		},
		&agui.MessagesSnapshot{Messages: s.Messages},
	}
	if s.Active == nil {
		return append(out, &agui.RunFinished{ThreadID: threadID, RunID: runID, Outcome: run.Interrupted(s.Open)})
	}
	return append(out, s.openers...)
}

// After says where to go on from a position that a viewer names. ok is false for
// one that is unknown, of another log, too old, or not there yet: the viewer
// needs the prelude.
func (s Snapshot) After(position string) (p Position, ok bool) {
	p, err := ParsePosition(position)
	return p, err == nil && p.Epoch == s.Position.Epoch && p.Seq <= s.Position.Seq && p.Seq >= s.floor
}

// Oldest is the first position that a viewer can go on from: what came before it
// has been compacted.
func (s Snapshot) Oldest() Position { return Position{Epoch: s.Position.Epoch, Seq: s.floor} }

// Watch says that somebody looks at the thread, until release is called. A run
// that was started to be attached to goes on for its linger time after the last
// one has gone.
func (t *Thread) Watch() (release func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watchers++
	t.threads.opts.Metrics.Viewers.Add(1)
	t.planExpiry()
	t.attend()
	released := false
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if released {
			return
		}
		released = true
		t.threads.opts.Metrics.Viewers.Add(-1)
		if t.watchers--; t.watchers == 0 {
			t.unwatched()
		}
		t.leave()
	}
}

// unwatched is called, with mu held, when the last viewer has gone.
func (t *Thread) unwatched() {
	// A run that waits for the thread may replace one that nobody watches.
	t.wake()
	t.planExpiry()
	d := t.driver
	if d == nil || !d.req.Attach || d.req.Linger < 0 {
		return
	}
	if d.req.Linger == 0 {
		t.lastCall(d)
		return
	}
	if d.linger != nil {
		d.linger.Stop() // somebody had come back; the time begins anew
	}
	d.linger = time.AfterFunc(d.req.Linger, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.watchers == 0 && t.driver == d {
			t.lastCall(d)
		}
	})
}

// replaceable reports, with mu held, whether a new run may take the place of the
// active one: nobody watches it.
func (t *Thread) replaceable() bool { return t.driver != nil && t.watchers == 0 }
