package thread

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/run"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
)

// driver is the one who writes a run's entries.
type driver struct {
	thread  *Thread
	key     string
	req     Request
	session *state.Session
	run     *run.Run
	box     *mailbox
	seen    uint64 // the log as the session knows it
	lost    error  // the log did not take something: the rest would not fit it
	decided []run.Decision
	closing string // what is said instead of asking the model; the driver's goroutine's
	cancel  context.CancelCauseFunc
	linger  *time.Timer   // under the thread's mu; nil: not counting
	called  bool          // under mu: other processes are asked whether they have viewers
	watched bool          // under mu: one has
	call    *time.Timer   // under mu: when the answer must be there
	done    chan struct{} // the terminal event is in the log
}

// errTaken says that another process has ended the run: this one did not get its
// lease renewed.
var errTaken = agui.NewError(agui.CodeOwnerLost, "The run was ended by another server.", nil)

// errLimit is the end of a run that took too long.
var errLimit = agui.NewError(agui.CodeLimitExceeded, "The run took longer than it may.", nil)

func (d *driver) start(ctx context.Context) {
	t := d.thread
	limit := time.Now().Add(t.threads.opts.RunLimit)
	if at, ok := ctx.Deadline(); ok && at.Before(limit) {
		limit = at
	}
	runCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	runCtx, stop := context.WithDeadlineCause(runCtx, limit, errLimit)
	d.cancel = cancel
	t.mu.Lock()
	t.driver = d
	if t.condemned == d.key {
		d.stop()
	}
	t.wake() // who waits to stop the run can do so now
	t.attend()
	t.mu.Unlock()

	read := make(chan struct{})
	go func() {
		defer close(read)
		d.read(state.NewContext(run.ContextWithInput(runCtx, d.req.Input), d))
	}()
	go func() {
		defer t.threads.runs.Done()
		defer t.threads.opts.Metrics.Active.Add(-1)
		defer t.Close()
		defer t.tidy()
		defer close(d.done)
		defer stop()
		end := d.renew()
		d.drive(runCtx)
		end()
		t.mu.Lock()
		if t.driver == d {
			t.driver = nil
		}
		for _, timer := range []*time.Timer{d.linger, d.call} {
			if timer != nil {
				timer.Stop()
			}
		}
		t.leave()
		t.mu.Unlock()
		cancel(run.ErrStopped) // an agent that is still busy has nobody left to tell
		<-read
	}()
}

// tidy compacts what the run's end has made old. A store that does not take it
// has the long form, which is as good.
func (t *Thread) tidy() {
	if err := t.compact(t.threads.base); err != nil {
		t.threads.opts.Logger.Warn("a log could not be compacted", "thread", t.key.ID, "error", err)
	}
}

func (d *driver) stop() { d.cancel(run.ErrStopped) }

// read ranges over the agent's stream. A panic of the agent's is an error of
// the run: one bad agent must not end the process.
func (d *driver) read(ctx context.Context) {
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the agent panicked: %v\n%s", p, debug.Stack())
			}
		}()
		t := d.thread
		t.mu.Lock()
		history := t.fold.prompt(d.decided, d.req.Input.Context)
		t.mu.Unlock()
		opts := append(run.AgentOptions(d.req.Input),
			agent.Stream(true),
			agent.WithBeforeModel(d.beforeModel),
			agent.WithGate(d.gate),
			agent.WithAfterTool(d.afterTool))
		for _, one := range d.decided {
			if one.Proposal.Call != "" {
				opts = append(opts, agent.WithOpenCall(one.Proposal.Call))
			}
		}
		for u, err := range d.req.Agent(ctx, history, opts...) {
			if err != nil {
				return err
			}
			if u == nil {
				continue
			}
			for _, c := range u.Contents {
				if err := d.box.put(ctx, item{update: u, content: c, size: size(c)}); err != nil {
					return err
				}
			}
		}
		return nil
	}()
	_ = d.box.put(ctx, item{end: true, err: err}) // a closed mailbox has ended by itself
}

func size(c message.Content) int {
	switch c := c.(type) {
	case *message.TextContent:
		return len(c.Text) + 64
	case *message.FunctionCallDelta:
		return len(c.Arguments) + 64
	case *message.FunctionCallContent:
		return len(c.Arguments) + 64
	case *message.DataContent:
		return len(c.Data) + 64
	}
	return 64
}

// ask runs f on the driver's goroutine, behind everything that the agent has
// said so far. When it returns, f has run as a whole, or will not run: who gave
// up must not find f at work on its variables later. A driver that has ended
// runs nothing any more, and not every ctx ends with it (the loop reports the
// calls of a stopped run under one that does not).
func (d *driver) ask(ctx context.Context, f func()) error {
	var taken atomic.Bool // by the driver, or back
	answered := make(chan struct{})
	err := d.box.put(ctx, item{do: func() {
		if taken.CompareAndSwap(false, true) {
			f()
			close(answered)
		}
	}})
	if err != nil {
		return err
	}
	select {
	case <-answered:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-d.box.over:
		err = run.ErrStopped
	}
	if taken.CompareAndSwap(false, true) {
		return err
	}
	<-answered
	return nil
}

// beforeModel puts the state before the model, once, as it is now (S7).
func (d *driver) beforeModel(ctx context.Context, messages []*message.Message) ([]*message.Message, error) {
	var shown jsondoc.Value
	closing := false
	err := d.ask(ctx, func() {
		if closing = d.closing != ""; !closing {
			shown = d.session.ModelCall()
		}
	})
	if err != nil {
		return nil, err
	}
	if closing {
		return nil, errClosing
	}
	text, ok := d.thread.model.Prompt(shown)
	if !ok {
		return messages, nil
	}
	return run.Inject(messages, text), nil
}

// errClosing ends the agent's stream where what is left to say is configured.
var errClosing = errors.New("the decision has a text of its own")

// gate keeps a call from running whose arguments cannot be used, or that waits
// for a person. That an approved one begins is logged first: from then on a
// crash must not make it run twice.
func (d *driver) gate(ctx context.Context, call *message.FunctionCallContent) agent.Decision {
	decision := agent.HoldCall()
	t, _ := tool.FromContext(ctx)
	var failed error
	err := d.ask(ctx, func() {
		decision = d.run.Gate(call.CallID, t)
		if slices.ContainsFunc(d.decided, func(o run.Decision) bool { return o.Proposal.Call == call.CallID && o.Approved }) {
			failed = d.append(run.Batch{Started: call.CallID})
		}
	})
	if err != nil || failed != nil {
		return agent.HoldCall()
	}
	return decision
}

// afterTool logs a tool's result before the model sees it, so that a result
// that cannot become state reaches the model as the error that it is (S8).
func (d *driver) afterTool(ctx context.Context, _ *message.FunctionCallContent, res *message.FunctionResultContent) (*message.FunctionResultContent, error) {
	var failed error
	err := d.ask(ctx, func() {
		defer func() {
			if res.Error != nil && !errors.Is(res.Error, agent.ErrRejected) {
				d.closing = "" // it did not come to what the text says
			}
		}()
		res = d.run.ToolResult(time.Now(), res, func(b run.Batch) bool {
			failed = d.append(b)
			return failed == nil
		})
	})
	return res, cmp.Or(err, failed)
}

// Working implements state.Driver.
func (d *driver) Working(ctx context.Context) (doc jsondoc.Value, err error) {
	err = d.ask(ctx, func() { doc = d.session.Working() })
	return doc, err
}

// Change implements state.Driver.
func (d *driver) Change(ctx context.Context, call string, base, next jsondoc.Value, keep bool) (done bool, err error) {
	var failed error
	err = d.ask(ctx, func() {
		var step state.Step
		if step, done, failed = d.session.Change(call, base, next, keep); failed == nil && done {
			failed = d.append(run.Batch{Step: step})
		}
	})
	return done, cmp.Or(err, failed)
}

// Draft implements state.Driver.
func (d *driver) Draft(ctx context.Context, piece state.Draft) error {
	var failed error
	err := d.ask(ctx, func() {
		if piece.Restart {
			if failed = d.append(run.Batch{Step: d.session.Draft(time.Now(), piece)}); failed != nil {
				return
			}
			piece.Restart = false
		}
		if failed = d.append(run.Batch{Step: d.session.Draft(time.Now(), piece)}); failed == nil && piece.End {
			failed = d.endDraft(piece)
		}
	})
	return cmp.Or(err, failed)
}

// endDraft commits a whole draft, or takes it back and says why.
func (d *driver) endDraft(piece state.Draft) error {
	step, bad := d.session.CallEnd(time.Now(), piece.ID, "")
	bad = cmp.Or(bad, piece.Refused)
	if err := d.append(run.Batch{Step: step}); err != nil {
		return err
	}
	step, _, bad = d.session.Result(piece.ID, state.Returned{Failed: bad})
	if err := d.append(run.Batch{Step: step}); err != nil {
		return err
	}
	if bad != nil {
		return &state.DraftError{Err: bad}
	}
	return nil
}

// Posted implements state.Driver.
func (d *driver) Posted() jsondoc.Value { return d.req.Input.State }

// drive empties the mailbox until the stream ends or the run is stopped, then
// ends the run.
func (d *driver) drive(ctx context.Context) {
	err := d.work(ctx)
	d.box.close()
	if errors.Is(err, errClosing) {
		err = d.append(d.run.Say(d.closing))
	}
	if err != nil && !errors.Is(err, run.ErrStopped) {
		d.thread.threads.opts.Logger.Error("a run failed", "thread", d.thread.key.ID, "run", d.key, "error", err)
	}
	if d.lost == nil {
		b := d.run.Finish(time.Now(), err)
		b.After = append(b.After, d.run.Terminal(err))
		if d.append(b) == nil {
			return
		}
	}
	d.cancel(d.lost) // what the model still says reaches nobody
	d.thread.endLost(d.key, d.lost)
}

func (d *driver) work(ctx context.Context) error {
	for {
		items, err := d.box.take(ctx)
		if err != nil {
			return err
		}
		for _, it := range items {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case it.end:
				// The stream of a stopped run ends with an error of its own
				// making; the cause is what counts.
				return cmp.Or(context.Cause(ctx), it.err)
			case it.do != nil:
				if it.do(); d.lost != nil {
					return d.lost
				}
			default:
				for b := range d.run.Content(time.Now(), it.update, it.whole()) {
					if err := d.append(b); err != nil {
						return err
					}
				}
			}
		}
	}
}

// append logs a batch, in one piece, and tells the session. The context is the
// process's: what happened happened, whether or not the run is stopped now.
func (d *driver) append(b run.Batch) error {
	if b.Empty() || d.lost != nil {
		return d.lost
	}
	t := d.thread
	d.box.setJoining(true)
	defer d.box.setJoining(false)
	var behind uint64 // where the log ends once the batch is in it
	err := t.commitWithin(t.threads.base, t.threads.opts.StoreWait, func(f *fold) ([]draft, error) {
		if f.active == nil || f.active.key != d.key {
			return nil, errTaken
		}
		if f.head.Seq != d.seen {
			d.session.Observe(f.doc)
			b.Step = d.session.Redo()
			d.seen = f.head.Seq
		}
		agentMark := state.Mark{By: state.ByAgent}
		var drafts []draft
		for _, e := range b.Before {
			drafts = append(drafts, draft{run: d.key, mark: agentMark, event: e})
		}
		for _, e := range b.Step.Events {
			drafts = append(drafts, draft{run: d.key, mark: e.Mark, event: e.Event, change: e.Change, view: b.Step.View()})
		}
		for _, p := range b.Open {
			drafts = append(drafts, draft{run: d.key, mark: agentMark, proposal: &p})
		}
		if b.Started != "" {
			drafts = append(drafts, draft{run: d.key, mark: agentMark, started: b.Started})
		}
		if b.Messages {
			all, err := f.conversation(b)
			if err != nil {
				return nil, err
			}
			drafts = append(drafts, draft{run: d.key, mark: agentMark, event: &agui.MessagesSnapshot{Messages: all}})
		}
		for _, e := range b.After {
			drafts = append(drafts, draft{run: d.key, mark: agentMark, event: e})
		}
		behind = f.head.Seq + uint64(len(drafts))
		return drafts, nil
	})
	if err != nil {
		d.lost = err
		return err
	}
	d.session.Ack()
	d.seen = behind
	return nil
}

// conversation is what the messages are behind a batch.
func (f *fold) conversation(b run.Batch) ([]agui.Message, error) {
	after := agui.NewReducer(f.messages(), jsondoc.Value{})
	for _, e := range b.Before {
		if err := after.Apply(e); err != nil {
			return nil, err
		}
	}
	all := slices.Clone(after.Messages())
	for i, m := range all {
		if c, ok := b.Replace[m.ID]; ok {
			all[i].Content = c
		}
	}
	return all, nil
}
