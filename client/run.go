package client

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// RunOptions is what a run is started with. Nil asks nothing: a server that
// knows the thread answers with its state and messages.
type RunOptions struct {
	Text           string         // a user message, before Messages
	Messages       []agui.Message // new ones; ids are made where they lack
	Tools          []agui.Tool    // that this client answers itself
	Context        []agui.Context
	ForwardedProps jsondoc.Value      // an object; member lockstep is ours
	Resume         []agui.ResumeEntry // answers to interrupts, all of them; see Approve
	RunID          string             // empty: a random one

	// Attach lets the run go on when this client's connection is lost: a
	// Lockstep server keeps it for its linger time, or while anybody follows the
	// thread. Without it a run ends with the connection that started it. With
	// it, leaving the loop does not stop the run; Stop does.
	Attach bool
	// Supersede stops a run of the same person that is under way, instead of
	// waiting for it.
	Supersede bool
}

// posting is a run with what package-internal callers add.
type posting struct {
	RunOptions
	// before are messages that are posted in front of the conversation and do
	// not become part of it.
	before []agui.Message
	// stateless leaves the state out unless SetState has one.
	stateless bool
}

// Run runs the agent and yields its events, each applied to the thread's
// messages and state before it is handed out. A connection that breaks is taken
// up again where a Lockstep server is at its other end; without
// RunOptions.Attach the run has been stopped by then, and its end is what comes.
//
// The sequence ends after its first error: *HTTPError, *NotEventsError, *RunError
// (its event was yielded before), an error that is agui.ErrIncomplete where the
// end was not seen, or one of transport or protocol. A patch that does not apply
// is not an error: the state stays, and the next snapshot mends it. Breaking out
// closes the connection, which stops the run unless Attach is set.
func (t *Thread) Run(ctx context.Context, o *RunOptions) iter.Seq2[agui.Event, error] {
	p := &posting{}
	if o != nil {
		p.RunOptions = *o
	}
	return t.run(ctx, p)
}

// Start starts a run that goes on by itself, as with Attach, and returns its id
// as soon as it has begun. Its events come through Follow. A run that nobody
// follows is stopped when the server's linger time is over.
func (t *Thread) Start(ctx context.Context, o *RunOptions) (runID string, err error) {
	p := &posting{}
	if o != nil {
		p.RunOptions = *o
	}
	p.Attach = true
	for e, err := range t.run(ctx, p) {
		if err != nil {
			return "", err
		}
		if e, ok := e.(*agui.RunStarted); ok {
			return e.RunID, nil
		}
	}
	return "", agui.ErrIncomplete
}

func (t *Thread) run(ctx context.Context, p *posting) iter.Seq2[agui.Event, error] {
	return func(yield func(agui.Event, error) bool) {
		select {
		case <-t.turn:
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
			return
		}
		defer func() { t.turn <- struct{}{} }()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		in, sent, fresh, was := t.input(p)
		body, err := t.client.post(ctx, in)
		if err != nil {
			yield(nil, err) // the edit has not reached anybody and waits on
			return
		}
		r := &running{thread: t, yield: yield, id: in.RunID, fresh: fresh, sent: sent, was: was}
		r.cur.order = new(agui.Sequence)
		if cut := r.read(ctx, body); cut != nil {
			r.resume(ctx, cut)
		}
	}
}

// running is a Run on its way.
type running struct {
	thread *Thread
	yield  func(agui.Event, error) bool
	id     string         // the run's
	fresh  []agui.Message // what it asks
	sent   edit           // what it edits
	was    position       // where the thread was when it was posted
	cur    cursor

	foreign bool // the server has no threads: its ids are no positions
	begun   bool // its RUN_STARTED was seen
	ended   bool // its terminal event was
}

// read reads the answer to the post. It returns why the answer was cut short,
// nil where there is nothing more to do.
func (r *running) read(ctx context.Context, body *watched) error {
	defer body.Close()
	for rec, err := range agui.ReadEvents(body, r.thread.client.reading(false)) {
		if err != nil {
			switch {
			case errors.Is(err, agui.ErrIncomplete) && ctx.Err() == nil:
				return err
			case !r.ended || final(err): // else the run is over, however the connection went
				r.yield(nil, err)
			}
			return nil
		}
		rec.OwnID = rec.OwnID && !r.foreign
		b, err := r.cur.take(rec)
		if err != nil {
			r.yield(nil, err)
			return nil
		}
		if len(b.events) == 0 {
			continue
		}
		if !b.at.zero() {
			body.watch(r.thread.client.opts.Idle)
		}
		if !r.begun {
			if b, err = r.begin(ctx, b); err != nil {
				r.yield(nil, err)
				return nil
			}
		}
		r.apply(b)
		if !r.deliver(b) {
			return nil
		}
	}
	return nil
}

// begin deals with the run's first event: what came between the last that this
// thread has seen and the run is read first. So the messages of others are in
// their place, and an end of a run that was lost, too.
func (r *running) begin(ctx context.Context, b batch) (batch, error) {
	t := r.thread
	t.mu.Lock()
	lacks := !b.at.zero() && t.view.mayLack(b.at)
	b.anew = !b.at.zero() && t.view.at.epoch != b.at.epoch
	t.mu.Unlock()
	back := r.was.covers(b.at) // a run that was before it was asked for
	if !lacks && !back {
		return b, nil
	}
	err := t.catchUp(ctx, b.at, back)
	if ctx.Err() != nil {
		return b, context.Cause(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		b.anew = false
		return b, nil
	}
	if noRoute(err) {
		r.foreign, b.anew, b.at, r.cur.at = true, false, position{}, position{}
		return b, nil
	}
	t.view.missed = true
	return b, nil
}

// apply moves the thread's view. What was posted becomes part of it with the
// run's RUN_STARTED, if the view gets to it here.
func (r *running) apply(b batch) {
	t := r.thread
	t.mu.Lock()
	defer t.mu.Unlock()
	missed := t.view.missed
	applied := t.view.apply(b)
	if b.anew {
		t.view.missed = missed
	}
	started, ok := b.events[0].(*agui.RunStarted)
	if !ok || r.begun {
		return
	}
	if t.edit.number == r.sent.number {
		t.edit = edit{} // it has arrived
	}
	if !applied || b.prelude {
		return
	}
	// Servers of other makes need not say what was asked, nor show the state
	// that they were sent. It stays what it was set to, until they say better.
	if started.Input == nil {
		t.view.event(&agui.RunStarted{RunID: started.RunID, Input: &agui.RunAgentInput{Messages: r.fresh}})
	}
	if b.at.zero() && !r.sent.state.IsAbsent() {
		t.view.event(&agui.StateSnapshot{Snapshot: r.sent.state})
	}
}

// deliver hands a batch's events out. It is false when the run is over or nobody
// listens any more.
func (r *running) deliver(b batch) bool {
	for _, e := range b.events {
		if _, ok := e.(*agui.RunStarted); ok {
			r.begun, r.ended = true, false
		}
		if !r.yield(e, nil) {
			return false
		}
		r.ended = r.ended || terminal(e)
		if failed, ok := e.(*agui.RunError); ok {
			r.yield(nil, &RunError{Event: failed})
			return false
		}
	}
	return true
}

// resume goes on reading a run whose connection broke.
func (r *running) resume(ctx context.Context, cut error) {
	t := r.thread
	var how *agui.IncompleteError
	switch {
	case final(cut):
		r.yield(nil, cut)
		return
	case errors.As(cut, &how) && how.Events == 0:
		// Not a word of the run has come. It is looked for where the thread was.
		r.cur = cursor{at: r.was, known: r.was}
	case r.cur.at.zero():
		r.yield(nil, cut) // a server that gives out no positions
		return
	}
	c := t.client
	if err := c.wait(ctx, 1, cut); err != nil {
		r.yield(nil, errors.Join(cut, err))
		return
	}
	for b, err := range c.follow(ctx, t.id, &r.cur, following{tries: c.opts.Reconnect.Tries}) {
		if err != nil {
			if !noRoute(err) {
				cut = fmt.Errorf("%w; the run was not found again: %w", cut, err)
			}
			r.yield(nil, cut)
			return
		}
		if b.prelude {
			r.resync(b, cut)
			if r.ended {
				return
			}
			continue
		}
		if started, ok := b.events[0].(*agui.RunStarted); !r.begun && (!ok || started.RunID != r.id) {
			t.apply(b) // somebody else's
			continue
		}
		r.apply(b)
		if !r.deliver(b) || r.ended {
			return
		}
	}
}

// resync deals with a new beginning in the place of the run's next event. If
// another run is under way the end of this one was missed.
func (r *running) resync(b batch, cut error) {
	started, _ := b.events[0].(*agui.RunStarted)
	idle := terminal(b.events[len(b.events)-1])
	r.apply(b)
	if !idle && started.RunID != r.id {
		r.yield(nil, fmt.Errorf("%w; another run is under way by now", cut))
		r.ended = true
		return
	}
	if !r.deliver(b) {
		r.ended = true
	}
}

// input makes the run's RunAgentInput. Nothing of the thread changes yet.
func (t *Thread) input(p *posting) (in *agui.RunAgentInput, sent edit, fresh []agui.Message, was position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh = make([]agui.Message, 0, len(p.Messages)+1)
	if p.Text != "" {
		fresh = append(fresh, agui.Message{Role: agui.RoleUser, Content: agui.Text(p.Text)})
	}
	fresh = append(fresh, p.Messages...)
	for i := range fresh {
		if fresh[i].ID == "" {
			fresh[i].ID = newID("msg")
		}
	}
	in = &agui.RunAgentInput{
		ThreadID: t.id, RunID: p.RunID, ProtocolVersion: agui.ProtocolVersion,
		Messages: append(append(p.before[:len(p.before):len(p.before)], t.view.reduced.Messages()...), fresh...),
		Tools:    p.Tools, Context: p.Context, Resume: p.Resume,
		ForwardedProps: p.ForwardedProps,
	}
	if in.RunID == "" {
		in.RunID = newID("run")
	}
	sent = t.edit
	base, state := t.view.base(), t.view.reduced.State()
	if !sent.state.IsAbsent() {
		base, state = sent.base, sent.state
	} else if p.stateless {
		state = jsondoc.Value{}
	}
	if !state.IsNull() {
		in.State = state
	}
	var ours []jsondoc.Member
	if base != "" {
		ours = append(ours, jsondoc.Member{Name: "base", Value: jsondoc.String(base)})
	}
	if p.Attach {
		ours = append(ours, jsondoc.Member{Name: "attach", Value: jsondoc.True})
	}
	if p.Supersede {
		ours = append(ours, jsondoc.Member{Name: "supersede", Value: jsondoc.True})
	}
	if in.ForwardedProps.Kind() != jsondoc.KindObject {
		in.ForwardedProps = jsondoc.Object()
	}
	if len(ours) > 0 {
		in.ForwardedProps = in.ForwardedProps.With("lockstep", jsondoc.Object(ours...))
	}
	return in, sent, fresh, t.view.at
}
