// Package memory is a thread store in the process's memory: the library's
// default, for tests and for agents whose threads may end with the process.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/thread"
)

// Store is a thread.Store. The zero Store is empty and ready for use; it must
// not be copied. An append is durable as long as the process lives.
type Store struct {
	mu   sync.Mutex
	logs map[thread.Key]*log
}

type log struct {
	epoch   string
	entries []thread.Entry
	seq     uint64        // of the last entry
	updated time.Time     // its time
	grown   chan struct{} // closed with the next append
}

var _ thread.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store { return &Store{} }

// Append implements thread.Store.
func (s *Store) Append(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, e := range entries {
		if e.Seq != after.Seq+uint64(i)+1 {
			return fmt.Errorf("memory: entry %d of the append has seq %d, want %d", i, e.Seq, after.Seq+uint64(i)+1)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[key]
	switch {
	case l == nil && after.Seq != 0:
		return &thread.ConflictError{}
	case l != nil && (l.seq != after.Seq || l.epoch != after.Epoch):
		return &thread.ConflictError{Head: thread.Head{Epoch: l.epoch, Seq: l.seq}}
	case len(entries) == 0:
		return nil
	case l == nil:
		l = &log{epoch: after.Epoch, grown: make(chan struct{})}
		if s.logs == nil {
			s.logs = map[thread.Key]*log{}
		}
		s.logs[key] = l
	}
	if len(entries) > 0 {
		l.updated = entries[len(entries)-1].Time
	}
	l.entries = append(l.entries, entries...)
	l.seq += uint64(len(entries))
	close(l.grown)
	l.grown = make(chan struct{})
	return nil
}

// behind returns the entries after a position and, where there are none, a
// channel that is closed when the log grows. A log that does not exist cannot
// be waited for: nil, nil.
func (s *Store) behind(key thread.Key, after uint64) ([]thread.Entry, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[key]
	if l == nil {
		return nil, nil
	}
	i := find(l.entries, after)
	// Entries are only ever appended or replaced as a whole (Compact makes a
	// new slice), so the part can be read without the lock.
	return l.entries[i:len(l.entries):len(l.entries)], l.grown
}

// find is the index of the first entry behind a number.
func find(entries []thread.Entry, seq uint64) int {
	i, found := slices.BinarySearchFunc(entries, seq, func(e thread.Entry, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	if found {
		i++
	}
	return i
}

// Read implements thread.Store.
func (s *Store) Read(ctx context.Context, key thread.Key, after uint64) iter.Seq2[thread.Entry, error] {
	return func(yield func(thread.Entry, error) bool) {
		entries, _ := s.behind(key, after)
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				yield(thread.Entry{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Tail implements thread.Store.
func (s *Store) Tail(ctx context.Context, key thread.Key, after uint64) iter.Seq2[thread.Entry, error] {
	return func(yield func(thread.Entry, error) bool) {
		for {
			entries, grown := s.behind(key, after)
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
				after = e.Seq
			}
			if len(entries) > 0 {
				continue
			}
			if grown == nil {
				yield(thread.Entry{}, fmt.Errorf("memory: no thread %q", key.ID))
				return
			}
			select {
			case <-grown:
			case <-ctx.Done():
				yield(thread.Entry{}, ctx.Err())
				return
			}
		}
	}
}

// Head implements thread.Store.
func (s *Store) Head(ctx context.Context, key thread.Key) (thread.Head, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.logs[key]; l != nil {
		return thread.Head{Epoch: l.epoch, Seq: l.seq}, ctx.Err()
	}
	return thread.Head{}, ctx.Err()
}

// Compact implements thread.Store.
func (s *Store) Compact(ctx context.Context, key thread.Key, head thread.Head, after, upTo uint64, entries []thread.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[key]
	if l == nil {
		return &thread.ConflictError{}
	}
	if now := (thread.Head{Epoch: l.epoch, Seq: l.seq}); now != head {
		return &thread.ConflictError{Head: now}
	}
	if upTo > l.seq || after > upTo {
		return fmt.Errorf("memory: cannot compact thread %q from %d up to %d of %d", key.ID, after, upTo, l.seq)
	}
	if after == 0 && upTo == l.seq && len(entries) == 0 {
		delete(s.logs, key)
		close(l.grown) // who waits for the log finds none
		return nil
	}
	from := find(l.entries, after)
	to := find(l.entries, upTo)
	l.entries = slices.Concat(l.entries[:from], entries, l.entries[to:])
	return nil
}

// List implements thread.Store.
func (s *Store) List(ctx context.Context, agent, principal string, after thread.Listed, limit int) ([]thread.Listed, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []thread.Listed
	for key, l := range s.logs {
		one := thread.Listed{ID: key.ID, Updated: l.updated.Truncate(time.Millisecond)}
		if key.Agent == agent && key.Principal == principal && (after == thread.Listed{} || newestFirst(after, one) < 0) {
			out = append(out, one)
		}
	}
	slices.SortFunc(out, newestFirst)
	return out[:min(len(out), limit)], nil
}

func newestFirst(a, b thread.Listed) int {
	return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(a.ID, b.ID))
}
