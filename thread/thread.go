package thread

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
)

// Options configures Threads. Nil means the defaults.
type Options struct {
	// Wait is how long a second run waits for the first to end before it gets
	// *BusyError. Zero means 2 s; negative means not at all.
	Wait time.Duration

	// RunLimit bounds a run's time. Zero means 10 minutes.
	RunLimit time.Duration

	// Idle is how many threads that nobody uses stay in memory, so that the next
	// run does not read their logs again. Zero means 256; negative means none.
	Idle int

	// StoreWait is how long a run holds what it has to say while the store does
	// not take it. Then it is given up, and its viewers are told. Zero means
	// 30 s. Requests that need the store wait a tenth of it.
	StoreWait time.Duration

	// Lease is how long a run on a [SharedStore] is left alone by the other
	// processes when its own says nothing any more, also not that it is alive;
	// then one of them ends it. The processes' clocks must agree much better
	// than that. Zero means 10 s.
	Lease time.Duration

	// Retention says what is forgotten by itself.
	Retention Retention

	// Logger takes what goes on behind the wire. Nil discards.
	Logger *slog.Logger

	// NewID makes ids of runs and messages, from a prefix. Nil: random ones.
	NewID func(prefix string) string

	// Metrics are counted in; nil: nowhere.
	Metrics *Metrics
}

// Metrics are counters of a Threads. They may be read at any time.
type Metrics struct {
	Runs           atomic.Int64 // started
	Active         atomic.Int64 // started and not ended: a gauge
	Viewers        atomic.Int64 // those who watch (Thread.Watch): a gauge
	Edits          atomic.Int64 // edits and undos that were made
	Appended       atomic.Int64 // entries
	Retries        atomic.Int64 // appends tried again because the store failed
	Recovered      atomic.Int64 // runs ended because their process was gone
	RepairedDeltas atomic.Int64 // deltas that did not apply and became snapshots (W2); 0 unless something is wrong
}

// Threads are the threads of one process on one store. It is safe for
// concurrent use. Close it to end its runs.
type Threads struct {
	store  Store
	shared bool // other processes write it too
	opts   Options
	owner  string // names this process in leases

	mu     sync.Mutex
	open   map[Key]*Thread // in use, or idle
	idle   []*Thread       // the one that was used longest ago first
	closed bool
	base   context.Context // ends when Close gives up waiting
	cancel context.CancelFunc
	side   context.Context // of sweeping and listening; ends when Close begins
	swept  context.CancelFunc
	runs   sync.WaitGroup // and what else has to end before Close does
}

// New opens the threads of a store.
func New(store Store, opts *Options) *Threads {
	ts := &Threads{store: store, open: map[Key]*Thread{}, owner: newEpoch()}
	_, ts.shared = store.(SharedStore)
	if opts != nil {
		ts.opts = *opts
	}
	o := &ts.opts
	if o.Wait == 0 {
		o.Wait = 2 * time.Second
	}
	if o.RunLimit <= 0 {
		o.RunLimit = 10 * time.Minute
	}
	if o.Idle == 0 {
		o.Idle = 256
	}
	if o.StoreWait <= 0 {
		o.StoreWait = 30 * time.Second
	}
	if o.Lease <= 0 {
		o.Lease = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = &Metrics{}
	}
	ts.base, ts.cancel = context.WithCancel(context.Background())
	ts.side, ts.swept = context.WithCancel(ts.base)
	if o.Retention.Age > 0 {
		ts.runs.Go(func() { ts.sweep(ts.side) })
	}
	return ts
}

// Close stops every run, waits until their terminal events are in the log, and
// refuses new ones. ctx bounds the wait.
func (ts *Threads) Close(ctx context.Context) error {
	ts.mu.Lock()
	ts.closed = true
	ts.swept()
	open := make([]*Thread, 0, len(ts.open))
	for _, t := range ts.open {
		open = append(open, t)
	}
	ts.mu.Unlock()
	for _, t := range open {
		t.stopHere()
	}
	done := make(chan struct{})
	go func() { ts.runs.Wait(); close(done) }()
	defer ts.cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enter says that something begins that Close waits for: until runs.Done. False:
// Close was called.
func (ts *Threads) enter() bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if !ts.closed {
		ts.runs.Add(1)
	}
	return !ts.closed
}

// closing reports whether Close was called.
func (ts *Threads) closing() bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.closed
}

func newEpoch() string { return strings.ToLower(rand.Text()[:12]) }

// Thread is a thread in use. Open returns it; Close gives it back.
type Thread struct {
	key     Key
	model   *state.Model
	threads *Threads
	users   int // under threads.mu

	// writing serialises this process's appends, so that they conflict only
	// with other processes'. fold moves under writing and mu together: who
	// holds either may read it.
	writing turn
	mu      sync.Mutex
	fold    fold
	loaded  bool
	mine    string // the run that this process drives; moves under writing
	broken  error  // a *LostError: the end of a run could not be stored
	ring    ring
	gone    gone          // the log before it was forgotten
	grown   chan struct{} // closed and made anew when the log grows
	driver  *driver       // of the active run, when it runs here

	attending int                // who wants to know what other processes append
	deaf      context.CancelFunc // ends the listening
	condemned string             // the run that another process has stopped
	stale     bool               // another process has compacted the log
	unborn    string             // the epoch of an empty log, that another process began with its own

	watchers   int               // viewers that count for linger
	unfinished map[*Run]struct{} // runs that the one who posted them still reads
	expiry     *time.Timer       // takes the next expired proposal back while somebody watches
}

// Open loads a thread of the agent whose state is the model's. An unknown one is
// an empty log; nothing is stored before its first append. A run that its
// process did not end is ended here (T4).
func (ts *Threads) Open(ctx context.Context, key Key, model *state.Model) (*Thread, error) {
	ts.mu.Lock()
	if ts.closed {
		ts.mu.Unlock()
		return nil, ErrClosed
	}
	t := ts.hand(key, model)
	ts.mu.Unlock()

	if err := t.refresh(ctx); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// hand gives a thread out. Callers hold ts.mu.
func (ts *Threads) hand(key Key, model *state.Model) *Thread {
	t := ts.open[key]
	if t == nil {
		t = &Thread{key: key, threads: ts, writing: newTurn(), grown: make(chan struct{})}
		ts.open[key] = t
	}
	if t.model == nil {
		t.model = model // nil where it is only to be forgotten
	}
	if t.users++; t.users == 1 {
		ts.idle = slices.DeleteFunc(ts.idle, func(o *Thread) bool { return o == t })
	}
	return t
}

// List returns the threads of an agent's principal, newest first: those behind
// after, at most limit.
func (ts *Threads) List(ctx context.Context, agent, principal string, after Listed, limit int) ([]Listed, error) {
	list, err := ts.store.List(ctx, agent, principal, after, limit)
	if err != nil {
		return nil, storeError(err)
	}
	return list, nil
}

// Close gives the thread back. A thread that nobody uses stays in memory for a
// while (Options.Idle); the log is in the store either way.
func (t *Thread) Close() {
	ts := t.threads
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t.users--; t.users > 0 {
		return
	}
	ts.idle = append(ts.idle, t)
	for len(ts.idle) > max(ts.opts.Idle, 0) {
		delete(ts.open, ts.idle[0].key)
		ts.idle = ts.idle[1:]
	}
}

// hold is Open for somebody who has the thread already.
func (t *Thread) hold() {
	t.threads.mu.Lock()
	t.users++
	t.threads.mu.Unlock()
}

// wake lets everybody look again who waits for the thread to change. Callers
// hold mu.
func (t *Thread) wake() {
	close(t.grown)
	t.grown = make(chan struct{})
}

// draft is an entry in the making.
type draft struct {
	event  agui.Event
	change jsondoc.Patch
	mark   state.Mark
	view   jsondoc.Value // what the view is to be after a state event
	run    string
	lease  *Lease

	proposal *state.Proposal
	settled  string
	answer   Answered
	started  string
	left     uint64
	undoes   string
	signal   *Signal
}

// commit appends what build makes of the fold, in one piece. Where another
// process was faster, build is asked again, on the newer fold: it must not
// keep anything of an attempt that did not succeed.
func (t *Thread) commit(ctx context.Context, build func(*fold) ([]draft, error)) error {
	return t.commitWithin(ctx, t.threads.requestWait(), build)
}

// requestWait is how long requests wait for the store.
func (ts *Threads) requestWait() time.Duration { return ts.opts.StoreWait / 10 }

// commitWithin is commit for somebody who waits that long for the store.
func (t *Thread) commitWithin(ctx context.Context, wait time.Duration, build func(*fold) ([]draft, error)) error {
	if err := t.writing.take(ctx, wait); err != nil {
		return err
	}
	defer t.writing.give()
	return t.commitHeld(ctx, wait, build)
}

// commitHeld is commitWithin for somebody who holds writing.
func (t *Thread) commitHeld(ctx context.Context, wait time.Duration, build func(*fold) ([]draft, error)) error {
	for range maxConflicts {
		drafts, err := build(&t.fold)
		if err != nil || len(drafts) == 0 {
			return err
		}
		stored, err := t.append(ctx, wait, t.entries(drafts))
		if stored || err != nil {
			return err
		}
	}
	return storeError(errors.New("the log moved on with every attempt"))
}

// maxConflicts bounds how often an append is made anew. Each conflict means
// that somebody else got on, so only a broken store comes near it.
const maxConflicts = 100

// append stores entries behind the fold and folds them. It reports false where
// the log has moved on without them. A store that fails may have stored them all
// the same, so before the next attempt the log is read and compared: a run's key
// and the positions in its events make entries what they are.
func (t *Thread) append(ctx context.Context, wait time.Duration, entries []Entry) (stored bool, err error) {
	end := time.Now().Add(wait)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err = t.threads.store.Append(ctx, t.key, t.fold.head, entries)
		if err == nil {
			t.threads.opts.Metrics.Appended.Add(int64(len(entries)))
			for _, e := range entries {
				if err := t.take(e); err != nil {
					return false, storeError(err)
				}
			}
			return true, nil
		}
		found, readErr := t.readOn(ctx)
		if len(found) > 0 {
			return same(found, entries), nil
		}
		var conflict *ConflictError
		if errors.As(err, &conflict) && readErr == nil && conflict.Head.Seq > t.fold.head.Seq {
			readErr = errors.New("the log is behind its own head")
		}
		if ctx.Err() != nil || time.Now().Add(pause).After(end) {
			return false, storeError(cmp.Or(readErr, err))
		}
		t.threads.opts.Metrics.Retries.Add(1)
		t.threads.opts.Logger.Warn("the store failed, trying again", "thread", t.key.ID, "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// same reports whether found begins with the entries.
func same(found, entries []Entry) bool {
	if len(found) < len(entries) {
		return false
	}
	for i, e := range entries {
		f := found[i]
		if f.Seq != e.Seq || f.Run != e.Run || f.Author != e.Author || !f.Time.Equal(e.Time) || (f.Event == nil) != (e.Event == nil) {
			return false
		}
		if e.Event != nil && !bytes.Equal(agui.AppendEvent(nil, f.Event, agui.V1), agui.AppendEvent(nil, e.Event, agui.V1)) {
			return false
		}
	}
	return true
}

// entries numbers the drafts and makes their state events safe (W2): this is
// the one place where a delta is checked, on a shadow of what viewers hold.
func (t *Thread) entries(drafts []draft) []Entry {
	now := time.Now().UTC().Truncate(time.Millisecond)
	pos, revision, view := t.fold.head, t.fold.revision, t.fold.doc.View
	if view.IsAbsent() {
		view = jsondoc.Object() // what clients hold that were told nothing
	}
	snapshotted := t.fold.active != nil && t.fold.active.snapshotted
	out := make([]Entry, len(drafts))
	for i, d := range drafts {
		pos.Seq++
		if d.change != nil {
			revision++
		}
		switch ev := d.event.(type) {
		case *agui.RunStarted:
			snapshotted = false
		case *agui.StateSnapshot:
			snapshotted, view = true, ev.Snapshot
			marked := *ev
			marked.Metadata = metadata(ev.Metadata, pos, revision, d.mark)
			d.event = &marked
		case *agui.StateDelta:
			next, err := ev.Delta.Apply(view, &jsondoc.ApplyOptions{ClientRules: true})
			if err != nil {
				t.threads.opts.Metrics.RepairedDeltas.Add(1)
				t.threads.opts.Logger.Error("a state delta did not apply and was replaced by a snapshot", "thread", t.key.ID, "run", d.run, "error", err)
			}
			if err != nil || !snapshotted {
				snapshotted, view = true, d.view
				d.event = &agui.StateSnapshot{Base: agui.Base{Metadata: metadata(ev.Metadata, pos, revision, d.mark)}, Snapshot: d.view}
				break
			}
			view = next
			marked := *ev
			marked.Metadata = metadata(ev.Metadata, pos, revision, d.mark)
			d.event = &marked
		}
		out[i] = Entry{
			Seq: pos.Seq, Time: now, Run: d.run, Author: d.mark.By,
			Event: d.event, Change: d.change, Lease: d.lease,
			Proposal: d.proposal, Settled: d.settled, Answer: d.answer, Started: d.started, Left: d.left, Undoes: d.undoes, Signal: d.signal,
		}
	}
	return out
}

// metadata is metadata.lockstep of a state event.
func metadata(have jsondoc.Value, pos Position, revision uint64, m state.Mark) jsondoc.Value {
	members := []jsondoc.Member{
		{Name: "position", Value: jsondoc.String(pos.String())},
		{Name: "revision", Value: jsondoc.Int(int64(revision))},
		{Name: "by", Value: jsondoc.String(m.By)},
	}
	if m.Call != "" {
		members = append(members, jsondoc.Member{Name: "call", Value: jsondoc.String(m.Call)})
	}
	if m.Predicted {
		members = append(members, jsondoc.Member{Name: "predicted", Value: jsondoc.True})
	}
	if have.Kind() != jsondoc.KindObject {
		have = jsondoc.Object()
	}
	return have.With("lockstep", jsondoc.Object(members...))
}

// Stop stops the thread's active run, wherever it runs, and reports whether there
// was one. It does not wait for the terminal event, which follows.
func (t *Thread) Stop() bool {
	t.mu.Lock()
	a, away := t.fold.active, t.elsewhere(time.Now())
	t.mu.Unlock()
	if !away {
		return t.stopHere()
	}
	if err := t.signal(t.threads.base, Signal{SignalStop, a.key}); err != nil {
		t.threads.opts.Logger.Warn("another process could not be told to stop a run", "thread", t.key.ID, "run", a.key, "error", err)
		return false
	}
	return true
}

// stopHere is Stop of a run that this process drives.
func (t *Thread) stopHere() bool {
	soon := time.NewTimer(stopWait)
	defer soon.Stop()
	for {
		t.mu.Lock()
		d, active, grown := t.driver, t.fold.active != nil && !t.elsewhere(time.Now()), t.grown
		t.mu.Unlock()
		switch {
		case d != nil:
			d.stop()
			return true
		case !active:
			return false
		}
		// Its RUN_STARTED is in the log, and whoever read it may be faster than
		// the one who started it.
		select {
		case <-grown:
		case <-soon.C:
			return false
		}
	}
}

// stopWait is how long Stop waits for a run that has just begun.
const stopWait = time.Second

// Doc returns the thread's documents, its revision and its position.
func (t *Thread) Doc() (state.Doc, uint64, Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fold.doc, t.fold.revision, t.fold.head
}

// Messages returns the conversation as viewers have it.
func (t *Thread) Messages() []agui.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fold.messages()
}
