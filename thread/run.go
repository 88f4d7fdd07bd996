package thread

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
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

// Request is a run to be started. Input and Agent are required.
type Request struct {
	Input *agui.RunAgentInput
	Agent agent.RunFunc
	// Tools are the agent's own, so that a client's tool of the same name is
	// not taken for the client's to answer.
	Tools []tool.Tool
	// Resume is the member resume of the input as it was posted, where it is no
	// list of agui.ResumeEntry; absent: Input has it.
	Resume jsondoc.Value
	// Attach says that the run does not end with the one who started it: it
	// goes on for Linger while nobody watches the thread (see Thread.Watch).
	// Negative: for ever.
	Attach bool
	Linger time.Duration
	// Supersede stops a run that is in the way instead of waiting for it.
	Supersede bool
}

// Run starts a run and returns its events, as its first viewer reads them: from
// RUN_STARTED to the terminal event, which is the last. It waits for the thread
// to be free (T1) and fails with *BusyError where it does not get free, or with
// *state.SchemaError where the posted state breaks the schema; then nothing has
// been logged.
//
// The run takes ctx's values and deadline but not its end: it goes on until the
// agent is done, its limit is reached, or somebody calls Stop. The caller calls
// Leave when its client has gone.
func (t *Thread) Run(ctx context.Context, req Request) (*Run, error) {
	t.threads.mu.Lock()
	if t.threads.closed {
		t.threads.mu.Unlock()
		return nil, ErrClosed
	}
	t.threads.runs.Add(1)
	t.threads.mu.Unlock()
	started := false
	defer func() {
		if !started {
			t.threads.runs.Done()
		}
	}()

	r := &Run{thread: t, key: run.NewID("run")}
	t.reads(r, true) // from now on: it can be in the log and over before commit returns
	reading := false
	defer func() {
		if !reading {
			t.reads(r, false)
		}
	}()
	wait := time.NewTimer(max(t.threads.opts.Wait, 0))
	defer wait.Stop()
	var d *driver
	for {
		var busy *activeRun
		var grown chan struct{}
		err := t.commit(ctx, func(f *fold) ([]draft, error) {
			if t.threads.closing() { // also while this run waited for another
				return nil, ErrClosed
			}
			if busy = f.active; busy != nil {
				t.mu.Lock()
				grown = t.grown
				if req.Supersede && t.driver != nil || t.replaceable() {
					t.driver.stop()
				}
				t.mu.Unlock()
				return nil, nil
			}
			r.first = f.head
			var drafts []draft
			var err error
			if d, drafts, err = t.begin(f, r.key, req); err == nil && d != nil {
				t.mine = r.key
			}
			return drafts, err
		})
		if err != nil {
			// The store may have taken the run's beginning all the same. Nobody
			// drives it: whoever opens the thread next has to end it.
			t.writing.insist()
			t.disown(r.key)
			t.writing.give()
			return nil, err
		}
		if busy == nil {
			break
		}
		select {
		case <-grown:
		case <-wait.C:
			return nil, &BusyError{RunID: busy.runID}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	t.threads.opts.Metrics.Runs.Add(1)
	r.written.Store(r.first.Seq)
	r.attach, r.release = req.Attach, t.Watch() // before the driver can be seen
	reading = true
	if d == nil {
		return r, nil // a post without news: it is all in the log already
	}
	started = true
	t.threads.opts.Metrics.Active.Add(1)
	t.hold()
	d.start(ctx)
	r.driver = d
	if t.threads.closing() {
		d.stop() // Close looked for drivers when this one was not there yet
	}
	return r, nil
}

// begin makes a run's first entries: its lease, RUN_STARTED, the snapshot that
// its deltas build on, and what is predicted. The driver is nil where there is
// nothing to ask the agent.
func (t *Thread) begin(f *fold, key string, req Request) (*driver, []draft, error) {
	in := req.Input
	news := f.readPosted(in, req.Tools)
	system := state.Mark{By: state.BySystem}
	answers, refused := f.resume(in, req.Resume, news, req.Tools, time.Now())
	if refused != nil {
		// Nothing of the request counts but the state: an edit is not lost.
		answers, news.fresh, news.branch = resumed{}, nil, nil
	}
	if answers.stays {
		news.branch = nil
	}
	if len(news.dropped) > 0 {
		t.threads.opts.Logger.Info("posted messages were dropped: not the user's, or not new", "thread", t.key.ID, "run", key, "messages", news.dropped)
	}
	drafts := []draft{
		{run: key, mark: system, lease: &Lease{Owner: t.threads.owner, Until: time.Now().Add(t.threads.opts.RunLimit)}},
		{run: key, mark: state.Mark{By: state.ByUser}, event: run.Opening(in, news.fresh)},
	}
	session, settled, err := t.beginState(f, key, news, &answers)
	if err != nil {
		return nil, nil, err
	}
	drafts = append(drafts, settled...)
	if refused != nil {
		return nil, append(drafts, draft{run: key, mark: system, event: agui.RunErrorFor(refused)}), nil
	}
	if news.branch != nil {
		drafts = append(drafts, draft{run: key, mark: system, event: &agui.MessagesSnapshot{Messages: slices.Concat(news.branch, news.fresh)}})
	}
	if !news.news() && len(answers.decided) == 0 {
		if all := f.messages(); len(all) > 0 {
			drafts = append(drafts, draft{run: key, mark: system, event: &agui.MessagesSnapshot{Messages: all}})
		}
		return nil, append(drafts, draft{run: key, mark: system, event: &agui.RunFinished{ThreadID: in.ThreadID, RunID: in.RunID, Outcome: run.Interrupted(f.open)}}), nil
	}
	if v := t.model.PredictState(); !v.IsAbsent() {
		drafts = append(drafts, draft{run: key, mark: system, event: &agui.Custom{Name: "PredictState", Value: v}})
	}
	closing := ""
	if !asks(news.fresh) {
		closing = run.Closing(t.model.Config().Confirmation, answers.decided)
	}
	return &driver{
		thread: t, key: key, req: req, session: session, box: newMailbox(),
		seen: f.head.Seq + uint64(len(drafts)), done: make(chan struct{}),
		decided: answers.decided, closing: closing,
		run: run.New(run.Options{
			Input: in, Session: session, Tools: req.Tools, NewID: t.threads.opts.NewID,
			Model: t.model, Decided: answers.decided,
			Logger: t.threads.opts.Logger.With("thread", t.key.ID, "run", key),
		}),
	}, drafts, nil
}

func (t *Thread) newID(prefix string) string {
	if t.threads.opts.NewID != nil {
		return t.threads.opts.NewID(prefix)
	}
	return run.NewID(prefix)
}

// beginState reads what the client posted as an edit, decides the proposals
// that its answers and messages decide, and makes the snapshot that the run begins with. An
// agent that keeps no state, on a thread without any, gets none.
func (t *Thread) beginState(f *fold, key string, news posted, answers *resumed) (*state.Session, []draft, error) {
	m := t.model
	if !m.Keeps() && f.revision == 0 {
		return m.NewSession(f.doc), answers.drafts(key, t.newID), nil
	}
	if !news.named {
		news.state = m.EchoProposals(f.doc, news.base, f.open, news.state)
	}
	var edited state.Edited
	var err error
	if f.doc.State.IsAbsent() {
		edited, err = m.Begin(news.state)
	} else {
		edited, err = m.Edit(f.doc, news.base, news.state)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, p := range edited.Dropped {
		t.threads.opts.Logger.Info("an edit of a read-only place was ignored", "thread", t.key.ID, "path", string(p))
	}
	before, mark := f.doc.State, state.Mark{By: state.BySystem}
	if edited.Changed && !news.state.IsAbsent() {
		mark.By = state.ByUser // else it is the configured initial state
	}
	open := f.open
	var drafts []draft
	if len(edited.Predicted) > 0 {
		for _, p := range m.Amend(open, news.base.View, news.state) {
			open = replaced(open, p)
			drafts = append(drafts, draft{run: key, mark: mark, proposal: &p})
		}
	}
	// Behind the edits: what is decided must not be open again by them.
	drafts = append(drafts, answers.drafts(key, t.newID)...)
	session := m.NewSession(edited.Doc, open...)
	lost := append(answers.apply(session), news.lost...)
	for _, p := range edited.Predicted {
		if !m.Waits(open, p) {
			lost = append(lost, p)
		}
	}
	for _, msg := range news.fresh {
		if msg.Role != agui.RoleTool || !slices.ContainsFunc(open, func(p state.Proposal) bool { return p.Call == msg.ToolCallID && !p.Asked() }) {
			continue
		}
		// What the client did so far is its own change: an undo of the agent's
		// must not take it back.
		if c := state.Change(before, session.Doc().State); c != nil {
			drafts = append(drafts, draft{run: key, mark: mark, change: c})
			before = session.Doc().State
		}
		if err := session.Decide(msg.ToolCallID, answerError(msg)); err != nil {
			t.threads.opts.Logger.Info("a client's tool call did not become state", "thread", t.key.ID, "call", msg.ToolCallID, "error", err)
		} else {
			mark = state.Mark{By: state.ByAgent, Call: msg.ToolCallID}
		}
		drafts = append(drafts, draft{run: key, mark: mark, settled: msg.ToolCallID})
	}
	doc := session.Doc()
	drafts = append(drafts, draft{
		run: key, mark: mark, view: doc.View, change: state.Change(before, doc.State),
		event: &agui.StateSnapshot{Snapshot: doc.View},
	})
	if len(edited.Conflicts) > 0 {
		drafts = append(drafts, draft{run: key, mark: mark, event: state.ConflictEvent(edited.Conflicts, state.ClientWins)})
	}
	if len(lost) > 0 {
		drafts = append(drafts, draft{run: key, mark: mark, event: state.ConflictEvent(lost, state.RejectResult)})
	}
	return session, drafts, nil
}

// replaced is the list with p in the place of the proposal of its call.
func replaced(open []state.Proposal, p state.Proposal) []state.Proposal {
	open = slices.Clone(open)
	for i := range open {
		if open[i].Call == p.Call {
			open[i] = p
		}
	}
	return open
}

// answerError reads a client's answer to a call of its own tool: an error, or
// {"accepted": false}, takes back what the call predicted.
func answerError(m agui.Message) error {
	if m.Error != "" {
		return errors.New("the client's tool failed")
	}
	if v, err := jsondoc.ParseString(m.Content.Text()); err == nil {
		if a, ok := v.Get("accepted"); ok && a.Kind() == jsondoc.KindBool && !a.Bool() {
			return errors.New("the user did not accept it")
		}
	}
	return nil
}

// Run is a run as the one who started it sees it.
type Run struct {
	thread  *Thread
	driver  *driver
	key     string
	first   Position
	attach  bool
	release func()
	written atomic.Uint64 // of the last entry that the reader has dealt with
	read    atomic.Bool   // the terminal event was handed out and dealt with
}

// Leave says that the one who started the run has gone. The run stops, unless it
// was started to be attached to; then it goes on for its linger time. After the
// run's end Leave only frees the thread for others; it may be called twice.
func (r *Run) Leave() {
	if !r.read.Swap(true) {
		// First the record, then the stop: the next run must find it.
		err := r.thread.commit(r.thread.threads.base, func(f *fold) ([]draft, error) {
			if f.head.Epoch != r.first.Epoch {
				return nil, nil // the thread was forgotten
			}
			return []draft{{run: r.key, mark: state.Mark{By: state.BySystem}, left: max(r.written.Load(), 1)}}, nil
		})
		if err != nil {
			r.thread.threads.opts.Logger.Warn("how far a client was written could not be logged", "thread", r.thread.key.ID, "run", r.key, "error", err)
		}
	}
	r.thread.reads(r, false)
	r.release()
	if !r.attach {
		r.Stop()
	}
}

// reads notes whether the one who posted a run still reads it.
func (t *Thread) reads(r *Run, on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !on {
		delete(t.unfinished, r)
		return
	}
	if t.unfinished == nil {
		t.unfinished = map[*Run]struct{}{}
	}
	t.unfinished[r] = struct{}{}
}

// Events yields the run's entries up to its terminal one. It ends with ctx's
// error when ctx is done before; the run itself goes on then.
func (r *Run) Events(ctx context.Context) iter.Seq2[*Published, error] {
	return func(yield func(*Published, error) bool) {
		for p, err := range r.thread.Follow(ctx, r.first) {
			if !yield(p, err) || err != nil {
				return
			}
			r.written.Store(p.Seq)
			if p.Terminal(r.key) {
				r.read.Store(true)
				r.thread.reads(r, false)
				return
			}
		}
	}
}

// Stop stops the run: model and tools are cancelled, predictions taken back,
// and the run ends with outcome "cancelled". It returns at once.
func (r *Run) Stop() {
	if r.driver != nil {
		r.driver.stop()
	}
}

// Wait blocks until the run's terminal event is in the log and nothing of it
// runs any more.
func (r *Run) Wait() {
	if r.driver != nil {
		<-r.driver.done
	}
}

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
	done    chan struct{} // the terminal event is in the log
}

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
	close(t.grown) // who waits to stop the run can do so now
	t.grown = make(chan struct{})
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
		d.drive(runCtx)
		t.mu.Lock()
		if t.driver == d {
			t.driver = nil
		}
		if d.linger != nil {
			d.linger.Stop()
		}
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
