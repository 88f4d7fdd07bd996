package thread

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
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
	if !t.threads.enter() {
		return nil, ErrClosed
	}
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
	defer t.listenIn()()
	q := queue{thread: t, supersede: req.Supersede}
	for {
		var busy *activeRun
		err := t.commit(ctx, func(f *fold) ([]draft, error) {
			if t.threads.closing() { // also while this run waited for another
				return nil, ErrClosed
			}
			if busy = f.active; busy != nil {
				return q.makeWay(busy), nil
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
		q.made()
		select {
		case <-q.grown:
		case <-q.again:
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
		{run: key, mark: system, lease: t.threads.lease()},
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
	} else if all, ok := answers.rewrite(f.messages()); ok {
		all = slices.Concat(all, news.fresh, resultsOf(settled))
		drafts = append(drafts, draft{run: key, mark: system, event: &agui.MessagesSnapshot{Messages: all}})
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
	edited, agents, err := t.giveWay(f, news, edited)
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
			open = with(open, p)
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
	if people := without(edited.Conflicts, agents); len(people) > 0 {
		drafts = append(drafts, draft{run: key, mark: mark, event: state.ConflictEvent(people, state.ClientWins)})
	}
	if len(agents) > 0 {
		drafts = append(drafts, draft{run: key, mark: mark, event: state.ConflictEvent(agents, state.AgentWins)})
	}
	if len(lost) > 0 {
		drafts = append(drafts, draft{run: key, mark: mark, event: state.ConflictEvent(lost, state.RejectResult)})
	}
	return session, drafts, nil
}

// giveWay makes a posted edit anew where the policy lets the agent's value stay, and
// returns those places. Of two people the later stays, whatever the policy (S2).
func (t *Thread) giveWay(f *fold, news posted, edited state.Edited) (state.Edited, []jsondoc.Pointer, error) {
	if len(edited.Conflicts) == 0 || t.model.Config().Conflict != state.AgentWins {
		return edited, nil, nil
	}
	people, err := t.overruled(f, news.base, news.behind, news.state)
	if err != nil {
		return edited, nil, err
	}
	agents := without(edited.Conflicts, people)
	if len(agents) == 0 {
		return edited, nil, nil
	}
	edited, err = t.model.EditAround(f.doc, news.base, news.state, agents)
	return edited, agents, err
}

// without are the places that have nothing to do with some others.
func without(places, others []jsondoc.Pointer) []jsondoc.Pointer {
	return slices.DeleteFunc(slices.Clone(places), func(p jsondoc.Pointer) bool {
		return slices.ContainsFunc(others, func(o jsondoc.Pointer) bool { return o.Contains(p) || p.Contains(o) })
	})
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
