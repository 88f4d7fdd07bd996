// Package memory is a thread store in the process's memory: the library's
// default, for tests and for agents whose threads may end with the process.
package memory

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/thread"
)

// Store is a thread.Store. The zero Store is empty and ready for use; it must
// not be copied. An append is durable as long as the process lives. Entries are
// kept as they are given, not encoded: what they point to must not change.
type Store struct {
	mu   sync.Mutex
	logs map[thread.Key]*log
	made chan struct{} // closed when a log is made; nil while nobody waits for one
}

type log struct {
	head    thread.Head
	entries []thread.Entry
	updated time.Time     // see thread.Listed
	grown   chan struct{} // closed with the next append, and when the log is forgotten
}

var _ thread.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store { return &Store{} }

// Append implements thread.Store.
func (s *Store) Append(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := thread.CheckAppend(key, after, entries); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[key]
	switch {
	case l == nil && after.Seq != 0:
		return &thread.ConflictError{}
	case l != nil && l.head != after:
		return &thread.ConflictError{Head: l.head}
	case len(entries) == 0:
		return nil
	case l == nil:
		l = &log{head: after, grown: make(chan struct{})}
		if s.logs == nil {
			s.logs = map[thread.Key]*log{}
		}
		s.logs[key] = l
		if s.made != nil {
			close(s.made)
			s.made = nil
		}
	}
	last := entries[len(entries)-1]
	if at := time.UnixMilli(last.Time.UnixMilli()).UTC(); l.head.Seq == 0 || at.After(l.updated) {
		l.updated = at
	}
	l.entries = append(l.entries, entries...)
	l.head.Seq = last.Seq
	close(l.grown)
	l.grown = make(chan struct{})
	return nil
}

// behind returns the entries after a position of the log of that epoch, or of
// whichever log there is for an empty one, and a channel that is closed when
// there may be more.
func (s *Store) behind(key thread.Key, epoch string, after uint64) ([]thread.Entry, thread.Head, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[key]
	if l == nil {
		if s.made == nil {
			s.made = make(chan struct{})
		}
		return nil, thread.Head{}, s.made
	}
	if epoch != "" && epoch != l.head.Epoch {
		return nil, l.head, nil
	}
	i := find(l.entries, after)
	// Entries are only ever appended or replaced as a whole (Compact makes a
	// new slice), so the part can be read without the lock.
	return l.entries[i:len(l.entries):len(l.entries)], l.head, l.grown
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
		entries, _, _ := s.behind(key, "", after)
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				yield(thread.Entry{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil && len(entries) == 0 {
			yield(thread.Entry{}, err)
		}
	}
}

// Tail implements thread.Store.
func (s *Store) Tail(ctx context.Context, key thread.Key, after uint64) iter.Seq2[thread.Entry, error] {
	return func(yield func(thread.Entry, error) bool) {
		epoch := ""
		for {
			entries, head, grown := s.behind(key, epoch, after)
			if epoch != "" && head.Epoch != epoch {
				yield(thread.Entry{}, &thread.ConflictError{Head: head})
				return
			}
			epoch = head.Epoch
			for _, e := range entries {
				if err := ctx.Err(); err != nil {
					yield(thread.Entry{}, err)
					return
				}
				if !yield(e, nil) {
					return
				}
				after = e.Seq
			}
			if len(entries) > 0 {
				continue
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
	if err := ctx.Err(); err != nil {
		return thread.Head{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.logs[key]; l != nil {
		return l.head, nil
	}
	return thread.Head{}, nil
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
	if l.head != head {
		return &thread.ConflictError{Head: l.head}
	}
	if err := thread.CheckCompact(key, head, after, upTo, entries); err != nil {
		return err
	}
	if after == 0 && upTo == head.Seq && len(entries) == 0 {
		delete(s.logs, key)
		close(l.grown) // who waits for more finds that there is no log
		return nil
	}
	from := find(l.entries, after)
	to := find(l.entries, upTo)
	l.entries = slices.Concat(l.entries[:from], entries, l.entries[to:])
	return nil
}

// Stale implements thread.Store.
func (s *Store) Stale(ctx context.Context, before time.Time, limit int) ([]thread.Key, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []thread.Key
	for key, l := range s.logs {
		if l.updated.Before(before) {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, func(a, b thread.Key) int { return s.logs[a].updated.Compare(s.logs[b].updated) })
	return out[:min(len(out), limit)], nil
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
		one := thread.Listed{ID: key.ID, Updated: l.updated}
		if key.Agent == agent && key.Principal == principal && (after == thread.Listed{} || newestFirst(after, one) < 0) {
			out = append(out, one)
		}
	}
	slices.SortFunc(out, newestFirst)
	return out[:min(len(out), max(limit, 0))], nil
}

func newestFirst(a, b thread.Listed) int {
	return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(a.ID, b.ID))
}
