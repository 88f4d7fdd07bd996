package storetest

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/thread"
)

// ErrUnavailable is what a call gets that meets a fault.
var ErrUnavailable = errors.New("storetest: the store cannot be reached")

// Fault is what goes wrong with an append.
type Fault int

const (
	// None: it goes well.
	None Fault = iota
	// Lost: the entries are stored, the answer is lost on its way back.
	Lost
	// Failed: nothing is stored, and the caller gets the same error as for
	// Lost: it cannot tell them apart.
	Failed
	// Conflict: nothing is stored, and the caller is told that the log moved on,
	// although it did not (its true head is named). Some stores do that when an
	// earlier append of the same writer is still on its way.
	Conflict
	// Overtaken: another writer, which is made up, is faster by one entry of no
	// event. The conflict is true.
	Overtaken
)

// Faults is a store that fails the way stores do. It is safe for concurrent
// use; its faults may be changed while it is used. The zero faults are none.
type Faults struct {
	store thread.Store

	mu     sync.Mutex
	next   []Fault // of the next appends
	rng    *rand.Rand
	chance map[Fault]int // in percent
	down   bool
	delay  time.Duration
	met    map[Fault]int
}

var _ thread.Store = (*Faults)(nil)

// NewFaults returns a store that keeps its logs in another one.
func NewFaults(store thread.Store) *Faults {
	return &Faults{store: store, met: map[Fault]int{}}
}

// Next lists what goes wrong with the next appends, one after the other. It
// goes before Chance, and adds to what was listed before.
func (f *Faults) Next(list ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = append(f.next, list...)
}

// Chance makes each append fail by chance, by percentages of together at most
// 100. The same seed fails the same appends. Nil percentages end it.
func (f *Faults) Chance(seed uint64, percent map[Fault]int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rng, f.chance = rand.New(rand.NewPCG(seed, 0)), percent
}

// Down makes every call fail with ErrUnavailable until it is called with false.
// Tails that are under way end with it at their next entry.
func (f *Faults) Down(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

// Delay makes every call take that much longer.
func (f *Faults) Delay(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = d
}

// Met says how many appends met a fault so far.
func (f *Faults) Met(kind Fault) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.met[kind]
}

// reach waits as long as a call takes, and fails where the store is down.
func (f *Faults) reach(ctx context.Context) error {
	f.mu.Lock()
	delay := f.delay
	f.mu.Unlock()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return ErrUnavailable
	}
	return ctx.Err()
}

// fault decides what becomes of an append.
func (f *Faults) fault() Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind := None
	if len(f.next) > 0 {
		kind, f.next = f.next[0], f.next[1:]
	} else if len(f.chance) > 0 {
		n := f.rng.IntN(100)
		for k := Lost; k <= Overtaken; k++ {
			if n -= f.chance[k]; n < 0 {
				kind = k
				break
			}
		}
	}
	f.met[kind]++
	return kind
}

// Append implements thread.Store.
func (f *Faults) Append(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry) error {
	if err := f.reach(ctx); err != nil {
		return err
	}
	switch f.fault() {
	case Lost:
		if err := f.store.Append(ctx, key, after, entries); err != nil {
			return err
		}
		return ErrUnavailable
	case Failed:
		return ErrUnavailable
	case Conflict:
		head, err := f.store.Head(ctx, key)
		if err != nil {
			return err
		}
		return &thread.ConflictError{Head: head}
	case Overtaken:
		other := []thread.Entry{{Seq: after.Seq + 1, Time: time.Now().UTC().Truncate(time.Millisecond), Author: "system"}}
		if err := f.store.Append(ctx, key, after, other); err != nil {
			return err
		}
		return f.store.Append(ctx, key, after, entries)
	default:
		return f.store.Append(ctx, key, after, entries)
	}
}

// Read implements thread.Store.
func (f *Faults) Read(ctx context.Context, key thread.Key, after uint64) iter.Seq2[thread.Entry, error] {
	return f.each(ctx, f.store.Read(ctx, key, after))
}

// Tail implements thread.Store.
func (f *Faults) Tail(ctx context.Context, key thread.Key, after uint64) iter.Seq2[thread.Entry, error] {
	return f.each(ctx, f.store.Tail(ctx, key, after))
}

// each yields a sequence as long as the store is up.
func (f *Faults) each(ctx context.Context, entries iter.Seq2[thread.Entry, error]) iter.Seq2[thread.Entry, error] {
	return func(yield func(thread.Entry, error) bool) {
		if err := f.reach(ctx); err != nil {
			yield(thread.Entry{}, err)
			return
		}
		for e, err := range entries {
			f.mu.Lock()
			down := f.down
			f.mu.Unlock()
			if down {
				yield(thread.Entry{}, ErrUnavailable)
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Head implements thread.Store.
func (f *Faults) Head(ctx context.Context, key thread.Key) (thread.Head, error) {
	if err := f.reach(ctx); err != nil {
		return thread.Head{}, err
	}
	return f.store.Head(ctx, key)
}

// Compact implements thread.Store.
func (f *Faults) Compact(ctx context.Context, key thread.Key, head thread.Head, after, upTo uint64, entries []thread.Entry) error {
	if err := f.reach(ctx); err != nil {
		return err
	}
	return f.store.Compact(ctx, key, head, after, upTo, entries)
}

// List implements thread.Store.
func (f *Faults) List(ctx context.Context, agent, principal string, after thread.Listed, limit int) ([]thread.Listed, error) {
	if err := f.reach(ctx); err != nil {
		return nil, err
	}
	return f.store.List(ctx, agent, principal, after, limit)
}

// Stale implements thread.Store.
func (f *Faults) Stale(ctx context.Context, before time.Time, limit int) ([]thread.Key, error) {
	if err := f.reach(ctx); err != nil {
		return nil, err
	}
	return f.store.Stale(ctx, before, limit)
}
