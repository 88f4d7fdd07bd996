package thread

import (
	"context"
	"errors"
	"time"

	"github.com/lockstep-go/lockstep/state"
)

// What several processes on one store need beside conditional appends. A thread
// that somebody here watches, runs or waits for is listened in on: what others
// append is folded and shown here as it comes. Words to the process that drives
// a run are entries too.

const (
	// hearing is how long a process waits for the others' word that they have
	// viewers. Longer than a store takes to pass an entry on without a
	// notification.
	hearing = 1500 * time.Millisecond
	// askAgain is after which time a run that waits asks again for the thread:
	// the viewers of the one before may have gone meanwhile.
	askAgain = 500 * time.Millisecond
)

// lease is the lease of a run that begins now.
func (ts *Threads) lease() *Lease {
	lasts := ts.opts.RunLimit
	if ts.shared {
		lasts = ts.opts.Lease
	}
	return &Lease{Owner: ts.owner, Until: time.Now().Add(lasts)}
}

// elsewhere reports whether another process drives the active run, and is alive
// as far as is known. Callers hold writing or mu.
func (t *Thread) elsewhere(now time.Time) bool {
	f := &t.fold
	return t.threads.shared && f.active != nil && f.lease.run == f.active.key &&
		f.lease.owner != t.threads.owner && now.Before(f.lease.until)
}

// renew keeps the lease of a run good while the run has nothing to say, until
// end is called.
func (d *driver) renew() (end func()) {
	if !d.thread.threads.shared {
		return func() {}
	}
	ctx, cancel := context.WithCancel(d.thread.threads.base)
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.renewUntil(ctx)
	}()
	return func() { cancel(); <-done }
}

func (d *driver) renewUntil(ctx context.Context) {
	t := d.thread
	every := t.threads.opts.Lease / 3
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := t.commitWithin(ctx, every, func(f *fold) ([]draft, error) {
			if f.active == nil || f.active.key != d.key || time.Until(f.lease.until) > 2*every {
				return nil, nil
			}
			return []draft{{run: d.key, mark: state.Mark{By: state.BySystem}, lease: t.threads.lease()}}, nil
		})
		if err != nil && ctx.Err() == nil {
			t.threads.opts.Logger.Warn("a lease could not be renewed", "thread", t.key.ID, "run", d.key, "error", err)
		}
	}
}

// listenIn is attend for somebody without the lock. It returns leave.
func (t *Thread) listenIn() (leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attend()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.leave()
	}
}

// attend says that somebody here wants to know what other processes append,
// until leave is called. Callers hold mu.
func (t *Thread) attend() {
	if !t.threads.shared {
		return
	}
	if t.attending++; t.attending > 1 {
		return
	}
	ctx, cancel := context.WithCancel(t.threads.side)
	t.deaf = cancel
	if t.threads.enter() {
		go func() {
			defer t.threads.runs.Done()
			t.listen(ctx)
		}()
	}
}

// leave is the end of attend. Callers hold mu.
func (t *Thread) leave() {
	if !t.threads.shared {
		return
	}
	if t.attending--; t.attending == 0 {
		t.deaf()
	}
}

// listen keeps the thread up to what other processes append, until ctx is done.
func (t *Thread) listen(ctx context.Context) {
	const first, most = 50 * time.Millisecond, 2 * time.Second
	for pause := first; ctx.Err() == nil; {
		err := t.refresh(ctx)
		if err == nil {
			err = t.hear(ctx)
		}
		if err == nil {
			pause = first
			continue
		}
		if ctx.Err() != nil {
			return
		}
		t.threads.opts.Logger.Warn("other processes cannot be heard, trying again", "thread", t.key.ID, "error", err)
		select {
		case <-time.After(pause):
			pause = min(2*pause, most)
		case <-ctx.Done():
		}
	}
}

// hear reads the log as it grows. It returns nil when the thread has to be
// looked at anew: a lease may have run out, or the log is another one.
func (t *Thread) hear(ctx context.Context) error {
	t.mu.Lock()
	from, lapses := t.fold.head, t.lapses()
	t.mu.Unlock()
	listening := ctx
	if !lapses.IsZero() {
		var cancel context.CancelFunc
		listening, cancel = context.WithDeadlineCause(ctx, lapses, errLapsed)
		defer cancel()
	}
	for e, err := range t.threads.store.Tail(listening, t.key, from.Seq) {
		if context.Cause(listening) == errLapsed {
			return nil
		}
		var conflict *ConflictError
		if errors.As(err, &conflict) {
			return nil // forgotten
		}
		if err != nil {
			return err
		}
		t.mu.Lock()
		known := t.fold.head.Epoch == from.Epoch && t.fold.head.Seq >= e.Seq
		t.mu.Unlock()
		if known {
			continue
		}
		if err := t.refresh(ctx); err != nil {
			return err
		}
		t.mu.Lock()
		same := t.fold.head.Epoch == from.Epoch && (t.lapses().IsZero() || !lapses.IsZero())
		t.mu.Unlock()
		if !same {
			return nil
		}
	}
	return nil
}

var errLapsed = errors.New("thread: a lease has run out")

// lapses is when the active run is to be looked at because its process may be
// dead; zero: never. Callers hold mu.
func (t *Thread) lapses() time.Time {
	if !t.elsewhere(time.Now()) {
		return time.Time{}
	}
	return t.fold.lease.until
}

// heard takes what other processes appended, behind what it did to the fold.
func (t *Thread) heard(e Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.driver
	if d != nil && d.key == e.Run && isTerminal(e.Event) {
		d.stop() // taken for dead; nothing that it says is taken any more
	}
	if e.Signal == nil {
		return
	}
	if d != nil && d.key != e.Signal.Run {
		d = nil
	}
	switch e.Signal.Kind {
	case SignalStop:
		if t.condemned = e.Signal.Run; d != nil {
			d.stop()
		}
	case SignalYield:
		if d != nil && t.watchers == 0 {
			t.lastCall(d)
		}
	case SignalUnwatched:
		if d == nil && t.watchers > 0 {
			t.tell(Signal{SignalWatched, e.Signal.Run})
		}
	case SignalWatched:
		if d != nil {
			d.watched = true
		}
	}
}

// lastCall stops a run that has no viewers here, if no other process has any.
// Callers hold mu.
func (t *Thread) lastCall(d *driver) {
	if !t.threads.shared {
		d.stop()
		return
	}
	if d.called {
		return
	}
	d.called, d.watched = true, false
	t.tell(Signal{SignalUnwatched, d.key})
	d.call = time.AfterFunc(hearing, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		d.called = false
		switch {
		case t.driver != d || t.watchers > 0:
		case d.watched:
			t.unwatched() // its time begins anew
		default:
			d.stop()
		}
	})
}

// tell says something to the other processes, soon.
func (t *Thread) tell(s Signal) {
	if !t.threads.enter() {
		return
	}
	go func() {
		defer t.threads.runs.Done()
		if err := t.signal(t.threads.base, s); err != nil {
			t.threads.opts.Logger.Warn("another process could not be told", "thread", t.key.ID, "signal", s.Kind, "error", err)
		}
	}()
}

// signal says something to the other processes; nothing, where it is about a run
// that is over.
func (t *Thread) signal(ctx context.Context, s Signal) error {
	if err := t.writing.take(ctx, t.threads.requestWait()); err != nil {
		return err
	}
	defer t.writing.give()
	return t.signalHeld(ctx, s)
}

// signalHeld is signal for somebody who holds writing.
func (t *Thread) signalHeld(ctx context.Context, s Signal) error {
	return t.commitHeld(ctx, t.threads.requestWait(), func(f *fold) ([]draft, error) {
		if s.Run != "" && (f.active == nil || f.active.key != s.Run) {
			return nil, nil
		}
		return []draft{{mark: state.Mark{By: state.BySystem}, signal: &s}}, nil
	})
}

// queue is a run's waiting for the one that is active.
type queue struct {
	thread    *Thread
	supersede bool
	grown     chan struct{}    // closed when the log grows
	asks      bool             // another process, with the attempt that is under way
	next      time.Time        // when it is asked again
	again     <-chan time.Time // the same
}

// makeWay stops the active run where it may be replaced, or asks the process
// that drives it to. Callers hold writing.
func (q *queue) makeWay(active *activeRun) []draft {
	t, now := q.thread, time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	q.grown, q.asks = t.grown, false
	if !t.elsewhere(now) {
		if q.supersede && t.driver != nil || t.replaceable() {
			t.driver.stop()
		}
		return nil
	}
	s := Signal{SignalYield, active.key}
	if q.supersede {
		s.Kind = SignalStop
	}
	if now.Before(q.next) || !q.supersede && t.watchers > 0 {
		return nil
	}
	q.asks = true
	return []draft{{mark: state.Mark{By: state.BySystem}, signal: &s}}
}

// made says that what makeWay asked for last is in the log.
func (q *queue) made() {
	if q.asks {
		q.asks, q.next, q.again = false, time.Now().Add(askAgain), time.After(askAgain)
	}
}
