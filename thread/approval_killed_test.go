package thread_test

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/lockstep-go/lockstep/thread"
)

// mortal is a store as one process has it that is killed at some append: that
// one is stored or not, and from then on the process reaches nothing any more.
type mortal struct {
	thread.Store
	died func()
	took func([]thread.Entry) // what got there

	mu     sync.Mutex
	after  int  // appends until it dies; negative: it does not
	stored bool // whether the last one still gets there
	dead   bool
}

var errKilled = errors.New("the process was killed")

func (m *mortal) alive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errKilled
	}
	return nil
}

func (m *mortal) kill(after int, stored bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.after, m.stored = after, stored
}

func (m *mortal) Append(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errKilled
	}
	if m.after == 0 {
		m.dead = true
		if m.stored {
			_ = m.append(ctx, key, after, entries)
		}
		m.died()
		return errKilled
	}
	m.after--
	return m.append(ctx, key, after, entries)
}

func (m *mortal) append(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry) error {
	err := m.Store.Append(ctx, key, after, entries)
	if err == nil {
		m.took(entries)
	}
	return err
}

func (m *mortal) Read(ctx context.Context, key thread.Key, after uint64) iter.Seq2[thread.Entry, error] {
	if err := m.alive(); err != nil {
		return func(yield func(thread.Entry, error) bool) { yield(thread.Entry{}, err) }
	}
	return m.Store.Read(ctx, key, after)
}

func (m *mortal) Head(ctx context.Context, key thread.Key) (thread.Head, error) {
	if err := m.alive(); err != nil {
		return thread.Head{}, err
	}
	return m.Store.Head(ctx, key)
}

func (m *mortal) Compact(ctx context.Context, key thread.Key, head thread.Head, after, upTo uint64, entries []thread.Entry) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Store.Compact(ctx, key, head, after, upTo, entries)
}
