package nats

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/lockstep-go/lockstep/thread"
)

// view is a log as it was at one moment: all that was asked for, in memory, not
// decoded. A server keeps no old versions, so what a compaction could take away
// from a reader has to be with the reader.
type view struct {
	end   end
	texts [][]byte // entries
}

// Read implements thread.Store. What it yields is held in memory, undecoded,
// until the loop is through with it.
func (s *Store) Read(ctx context.Context, key thread.Key, after uint64) iter.Seq2[thread.Entry, error] {
	return func(yield func(thread.Entry, error) bool) {
		v, err := s.look(ctx, s.subjects(key).log, end{}, after)
		if err == nil {
			_, err = s.each(ctx, v, after, yield)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(thread.Entry{}, s.wrap(ctx, key, err))
		}
	}
}

// Tail implements thread.Store. It goes on when the server was away.
func (s *Store) Tail(ctx context.Context, key thread.Key, after uint64) iter.Seq2[thread.Entry, error] {
	return func(yield func(thread.Entry, error) bool) {
		err := s.tail(ctx, s.subjects(key).log, after, yield)
		if err != nil && !errors.Is(err, errStopped) {
			yield(thread.Entry{}, s.wrap(ctx, key, err))
		}
	}
}

func (s *Store) tail(ctx context.Context, subject string, after uint64, yield func(thread.Entry, error) bool) error {
	changed := s.watchers.join(subject)
	defer s.watchers.leave(subject, changed)
	var seen end // of the log that is followed; the zero end before there is one
	for {
		v, err := s.look(ctx, subject, seen, after)
		var away *unavailable
		switch {
		case errors.As(err, &away):
			// It is asked again when the connection is back, and every second.
		case err != nil:
			return err
		case seen.there() && v.end.head.Epoch != seen.head.Epoch:
			return &thread.ConflictError{Head: v.end.head}
		default:
			if after, err = s.each(ctx, v, after, yield); err != nil {
				return err
			}
			seen = v.end
		}
		var again <-chan time.Time
		if away != nil {
			again = time.After(time.Second)
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closing:
			return ErrClosed
		}
	}
}

// errStopped says that who reads has stopped the loop.
var errStopped = errors.New("nats: the reader stopped")

// each yields the entries of a view behind after, and says where the reader is
// then.
func (s *Store) each(ctx context.Context, v view, after uint64, yield func(thread.Entry, error) bool) (uint64, error) {
	for _, text := range v.texts {
		for len(text) > 0 {
			if err := ctx.Err(); err != nil {
				return after, err
			}
			data, rest, err := nextLine(text)
			if err != nil {
				return after, err
			}
			text = rest
			e, err := thread.DecodeEntry(data)
			switch {
			case err != nil:
				return after, fmt.Errorf("behind entry %d: %w", after, err)
			case e.Seq <= after:
				continue
			case e.Seq > v.end.head.Seq:
				return after, fmt.Errorf("entry %d is behind the end of the log, %v", e.Seq, v.end.head)
			}
			if !yield(e, nil) {
				return after, errStopped
			}
			after = e.Seq
		}
	}
	return max(after, v.end.head.Seq), ctx.Err()
}

// Head implements thread.Store.
func (s *Store) Head(ctx context.Context, key thread.Key) (thread.Head, error) {
	if err := ctx.Err(); err != nil {
		return thread.Head{}, err
	}
	at := s.subjects(key).log
	last, err := s.last(ctx, at)
	if err != nil {
		return thread.Head{}, s.wrap(ctx, key, err)
	}
	s.ends.put(at, last.end())
	return last.end().head, nil
}

// look reads a log's entries behind a number. Where messages of the log are
// missing for longer than a copy may be behind, the log is damaged. from is an end of it that the
// caller has read up to, or the zero end.
func (s *Store) look(ctx context.Context, subject string, from end, after uint64) (view, error) {
	if err := ctx.Err(); err != nil {
		return view{}, err
	}
	if !from.there() {
		from = s.ends.get(subject)
	}
	var wait pause
	for {
		last, err := s.last(ctx, subject)
		if err != nil {
			return view{}, err
		}
		v := view{end: last.end()}
		if v.end.head.Seq <= after {
			s.ends.put(subject, v.end)
			return v, nil
		}
		if v.texts, err = s.behind(ctx, subject, from, last, after); err == nil {
			s.ends.put(subject, v.end)
			return v, nil
		}
		if !errors.Is(err, errMissing) || wait.took > s.lag {
			return view{}, err
		}
		from = end{}
		if err := wait.take(ctx); err != nil {
			return view{}, err
		}
	}
}

// behind fetches what look looks for. It may return more than was asked for.
func (s *Store) behind(ctx context.Context, subject string, from end, last message, after uint64) ([][]byte, error) {
	messages, err := s.chain(ctx, subject, from, after, last)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, m := range messages {
		if m.Seq <= after {
			continue
		}
		for _, seg := range m.segments {
			if seg.Last <= after {
				continue
			}
			text, err := s.content(ctx, seg)
			if err != nil {
				return nil, err
			}
			out = append(out, text)
		}
		if len(m.lines) > 0 {
			out = append(out, m.lines)
		}
	}
	return out, nil
}
