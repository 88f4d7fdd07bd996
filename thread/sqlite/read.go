package sqlite

import (
	"context"
	"fmt"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/thread"
)

// Read implements thread.Store. It holds a page of entries in memory at a time,
// and no connection while the loop's body runs.
func (s *Store) Read(ctx context.Context, key thread.Key, after uint64) iter.Seq2[thread.Entry, error] {
	return func(yield func(thread.Entry, error) bool) {
		s.replay(ctx, key, "", after, yield)
	}
}

// Tail implements thread.Store. It wakes up by the appends of this process,
// which are all there are.
func (s *Store) Tail(ctx context.Context, key thread.Key, after uint64) iter.Seq2[thread.Entry, error] {
	return func(yield func(thread.Entry, error) bool) {
		changed := s.watchers.join(key)
		defer s.watchers.leave(key, changed)
		epoch := ""
		for {
			head, ok := s.replay(ctx, key, epoch, after, yield)
			if !ok {
				return
			}
			epoch, after = head.Epoch, max(after, head.Seq)
			select {
			case <-changed:
			case <-ctx.Done():
				yield(thread.Entry{}, ctx.Err())
				return
			case <-s.closing:
				yield(thread.Entry{}, ErrClosed)
				return
			}
		}
	}
}

// replay yields a log's entries behind after, up to where it ends, and says
// where that is. With an epoch it must still be the log of that. It is false
// when the sequence is over: by an error, which it has yielded, or because the
// caller stopped.
func (s *Store) replay(ctx context.Context, key thread.Key, epoch string, after uint64, yield func(thread.Entry, error) bool) (thread.Head, bool) {
	fail := func(err error) (thread.Head, bool) {
		yield(thread.Entry{}, s.readError(ctx, key, err))
		return thread.Head{}, false
	}
	log := s.reader.enter(key)
	defer s.reader.leave(key, log)
	head, entries, v, err := s.reader.first(ctx, key, log, after)
	if v != nil {
		defer s.reader.drop(log, v)
	}
	if err == nil && epoch != "" && head.Epoch != epoch {
		yield(thread.Entry{}, &thread.ConflictError{Head: head})
		return head, false
	}
	for more := v != nil; ; {
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return fail(err)
			}
			if !yield(e, nil) {
				return head, false
			}
		}
		switch {
		case err != nil:
			return fail(err)
		case !more:
			return head, true
		}
		entries, more, err = s.reader.next(ctx, log, v)
	}
}

// Head implements thread.Store.
func (s *Store) Head(ctx context.Context, key thread.Key) (thread.Head, error) {
	release, err := s.reader.connection(ctx)
	if err != nil {
		return thread.Head{}, err
	}
	defer release()
	l, err := scanLog(s.reader.find.QueryRowContext(background, keyArgs(key)...))
	if err != nil {
		return thread.Head{}, s.readError(ctx, key, err)
	}
	return l.head, nil
}

// List implements thread.Store.
func (s *Store) List(ctx context.Context, agent, principal string, after thread.Listed, limit int) ([]thread.Listed, error) {
	release, err := s.reader.connection(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	before := int64(math.MaxInt64)
	if after != (thread.Listed{}) {
		before = after.Updated.UnixMilli()
	}
	rows, err := s.reader.list.QueryContext(background, []byte(agent), []byte(principal), before, before, []byte(after.ID), max(limit, 0))
	if err != nil {
		return nil, s.readError(ctx, thread.Key{}, err)
	}
	defer rows.Close()
	var out []thread.Listed
	for rows.Next() {
		var id []byte
		var updated int64
		if err := rows.Scan(&id, &updated); err != nil {
			return nil, s.readError(ctx, thread.Key{}, err)
		}
		out = append(out, thread.Listed{ID: string(id), Updated: time.UnixMilli(updated).UTC()})
	}
	if err := rows.Err(); err != nil {
		return nil, s.readError(ctx, thread.Key{}, err)
	}
	return out, nil
}

// Stale implements thread.Store.
func (s *Store) Stale(ctx context.Context, before time.Time, limit int) ([]thread.Key, error) {
	release, err := s.reader.connection(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	rows, err := s.reader.old.QueryContext(background, before.UnixMilli(), max(limit, 0))
	if err != nil {
		return nil, s.readError(ctx, thread.Key{}, err)
	}
	defer rows.Close()
	var out []thread.Key
	for rows.Next() {
		var agent, principal, id []byte
		if err := rows.Scan(&agent, &principal, &id); err != nil {
			return nil, s.readError(ctx, thread.Key{}, err)
		}
		out = append(out, thread.Key{Agent: string(agent), Principal: string(principal), ID: string(id)})
	}
	if err := rows.Err(); err != nil {
		return nil, s.readError(ctx, thread.Key{}, err)
	}
	return out, nil
}

// readError says which file could not be read, and that it was closed where
// that is why.
func (s *Store) readError(ctx context.Context, key thread.Key, err error) error {
	select {
	case <-s.closing:
		return ErrClosed
	default:
	}
	switch {
	case err == ctx.Err():
		return err
	case key.ID == "":
		return fmt.Errorf("sqlite: cannot read %s: %w", s.path, err)
	}
	return fmt.Errorf("sqlite: cannot read thread %.100q of %s: %w", key.ID, s.path, err)
}

// watchers are those who wait for a log to change. The zero watchers are none.
type watchers struct {
	mu   sync.Mutex
	logs map[thread.Key]map[chan struct{}]struct{}
}

// join returns a channel that holds a token when the log has changed.
func (w *watchers) join(key thread.Key) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.logs == nil {
		w.logs = map[thread.Key]map[chan struct{}]struct{}{}
	}
	if w.logs[key] == nil {
		w.logs[key] = map[chan struct{}]struct{}{}
	}
	c := make(chan struct{}, 1)
	w.logs[key][c] = struct{}{}
	return c
}

func (w *watchers) leave(key thread.Key, c chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.logs[key], c); len(w.logs[key]) == 0 {
		delete(w.logs, key)
	}
}

// wake tells everybody who waits for a log. A token that is still there says
// the same.
func (w *watchers) wake(key thread.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.logs[key] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
