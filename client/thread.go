package client

import (
	"sync"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// Thread is a conversation: its id, messages and state. It is safe for
// concurrent use; runs that are started through one Thread take turns.
type Thread struct {
	client *Client
	id     string

	turn chan struct{} // holds a token while no Run is under way

	mu    sync.Mutex
	view  view
	edit  edit
	edits int // SetState's so far
}

// edit is a state that waits for the next run, with the position that it is an
// edit of. An absent state is none.
type edit struct {
	state  jsondoc.Value
	base   string
	number int
}

// Thread returns a conversation with the agent. An empty id is a new one's: a
// random id is made. Nothing is sent.
func (c *Client) Thread(id string) *Thread {
	if id == "" {
		id = newID("thread")
	}
	t := &Thread{client: c, id: id, turn: make(chan struct{}, 1)}
	t.turn <- struct{}{}
	return t
}

// ID is the thread's id.
func (t *Thread) ID() string { return t.id }

// State is the state as last shown, or as set since; {} before anybody has said
// what it is. Hydrate brings that of a thread that exists.
func (t *Thread) State() jsondoc.Value {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.edit.state.IsAbsent() {
		return t.edit.state
	}
	return t.view.reduced.State()
}

// Decode reads the state into a Go value.
func (t *Thread) Decode(into any) error { return t.State().Decode(into) }

// SetState changes the state here. It reaches the server with the next run, as
// an edit of what is shown now: what others change until then stays. Patch and
// Update change it at once. An absent value takes an edit back that waits.
func (t *Thread) SetState(v jsondoc.Value) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.edits++
	base := t.view.base()
	if !t.edit.state.IsAbsent() {
		base = t.edit.base // it was made on the edit before
	}
	t.edit = edit{state: v, base: base, number: t.edits}
	if v.IsAbsent() {
		t.edit = edit{}
	}
}

// Messages are the conversation so far.
func (t *Thread) Messages() []agui.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view.reduced.Messages()
}

// Interrupts are the questions that the thread waits on; see Approve. They are
// those of the newest outcome or of Hydrate.
func (t *Thread) Interrupts() []agui.Interrupt {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]agui.Interrupt(nil), t.view.interrupts...)
}

// Position is the place in the thread's log that State and Messages are at;
// empty where the server has no such thing, or nothing is known yet.
func (t *Thread) Position() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view.at.String()
}

// Revision counts the state's changes; 0 where the server does not say.
func (t *Thread) Revision() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view.revision
}

// ActiveRun is the id of the run that is under way as far as is known here, empty
// if none is.
func (t *Thread) ActiveRun() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view.run
}

// Update is one event of a thread, as Follow hands it out.
type Update struct {
	Event agui.Event
	// Position is the event's place in the thread's log. It is empty for all
	// events of a new beginning but the last.
	Position string
	// Resync says that the event belongs to a new beginning: the thread as it is
	// now, in the form of RUN_STARTED, STATE_SNAPSHOT, MESSAGES_SNAPSHOT, and
	// either RUN_FINISHED or a START for everything that is open in the running
	// run. Follow begins with one unless the Thread has a position already, and
	// hands one out where it could not go on without a gap.
	Resync bool
}

func (b batch) updates() []Update {
	out := make([]Update, len(b.events))
	for i, e := range b.events {
		out[i] = Update{Event: e, Resync: b.prelude}
	}
	out[len(out)-1].Position = b.at.String()
	return out
}

// apply moves the view. It is false where a patch did not apply, until the state
// is whole again.
func (t *Thread) apply(b batch) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.view.apply(b)
	return !t.view.torn
}

// reader is a new reader of the thread.
func (t *Thread) reader() *cursor {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view.reader()
}
