package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/lockstep-go/lockstep/thread"
)

// A page is what is read at a time: the connection is given back before the
// caller sees the first entry of it, so a caller may take as long as it likes.
// The first page is small, because somebody waits for its first entry. A page
// holds at least one entry, however large that is.
const (
	firstRows = 32
	pageRows  = 512
	pageBytes = 256 << 10
)

const (
	// seen says which rows of e a reader sees who knows of $3 compactions: none
	// that was written later, and none that one of them replaced.
	seen = `e.cut <= $3 AND NOT EXISTS (
		SELECT FROM lockstep_replaced r
		WHERE r.log = e.log AND r.cut <= $3 AND r.cut > e.cut AND r.low < e.seq AND r.high >= e.seq)`

	// readPage reads the rows behind $2 up to $4 of log $1, at most $5 and not many
	// more bytes than $6. The rows' sizes are known without reading what is
	// stored elsewhere because it is large.
	readPage = `
SELECT seq, first, data FROM (
	SELECT seq, first, data, sum(octet_length(data)) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING) - octet_length(data) AS before
	FROM (
		SELECT e.seq, e.first, e.data FROM lockstep_entries e
		WHERE e.log = $1 AND e.seq > $2 AND e.seq <= $4 AND ` + seen + `
		ORDER BY e.seq LIMIT $5
	) page
) sized
WHERE before < $6 ORDER BY seq`

	findLog = `SELECT log, epoch, seq, cuts FROM lockstep_logs WHERE key = $1`
)

// view is one Read on its way through a log.
type view struct {
	end   end
	after uint64 // what was read
	page  int    // rows of the next page
	began time.Time
}

// errStopped says that who reads has stopped the loop.
var errStopped = errors.New("postgres: the reader stopped")

// Read implements thread.Store. It holds a page of entries in memory at a time,
// and no connection while the loop's body runs. What is compacted or forgotten
// meanwhile can be read for ten minutes more.
func (s *Store) Read(ctx context.Context, key thread.Key, after uint64) iter.Seq2[thread.Entry, error] {
	return func(yield func(thread.Entry, error) bool) {
		v := view{after: after}
		err := s.look(ctx, key, &v)
		if err == nil {
			err = s.each(ctx, &v, yield)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(thread.Entry{}, s.wrap(ctx, key, err))
		}
	}
}

// Tail implements thread.Store. It goes on when the server was away.
func (s *Store) Tail(ctx context.Context, key thread.Key, after uint64) iter.Seq2[thread.Entry, error] {
	return func(yield func(thread.Entry, error) bool) {
		err := s.tail(ctx, key, after, yield)
		if err != nil && !errors.Is(err, errStopped) {
			yield(thread.Entry{}, s.wrap(ctx, key, err))
		}
	}
}

func (s *Store) tail(ctx context.Context, key thread.Key, after uint64, yield func(thread.Entry, error) bool) error {
	w := s.watchers.join(hash(key))
	defer s.watchers.leave(w)
	log := int64(0) // that is followed; 0 before there is one
	v := view{after: after}
	for {
		v.page = 0
		err := s.look(ctx, key, &v)
		if err == nil && log != 0 && v.end.log != log {
			return &thread.ConflictError{Head: v.end.head}
		}
		if err == nil {
			log = v.end.log
			err = s.each(ctx, &v, yield)
		}
		var again <-chan time.Time
		switch {
		case err == nil:
			w.at(v.end)
		case !away(err) || ctx.Err() != nil || s.closed():
			return err
		default:
			// It is asked again when there is a new connection, and every second. The
			// store's goroutines log what is wrong.
			again = time.After(pollEvery)
		}
		select {
		case <-w.changed:
		case <-again:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closing:
			return ErrClosed
		}
	}
}

// look finds a log as it is now.
func (s *Store) look(ctx context.Context, key thread.Key, v *view) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	v.began = time.Now()
	return s.read(ctx, func(ctx context.Context) error {
		k := hash(key)
		v.end = end{}
		var epoch []byte
		var seq int64
		err := s.pool.QueryRow(ctx, findLog, k[:]).Scan(&v.end.log, &epoch, &seq, &v.end.cuts)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		v.end.head = thread.Head{Epoch: string(epoch), Seq: uint64(seq)}
		return err
	})
}

// each yields the rest of a view.
func (s *Store) each(ctx context.Context, v *view, yield func(thread.Entry, error) bool) error {
	for v.after < v.end.head.Seq {
		entries, upTo, err := s.next(ctx, v)
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !yield(e, nil) {
				return errStopped
			}
			v.after = e.Seq
		}
		if err != nil {
			return err
		}
		v.after = upTo
	}
	return ctx.Err()
}

// next reads a view's next page, and says up to which number it goes.
func (s *Store) next(ctx context.Context, v *view) (entries []thread.Entry, upTo uint64, err error) {
	v.page = min(max(4*v.page, firstRows), pageRows)
	err = s.read(ctx, func(ctx context.Context) error {
		entries, upTo = nil, v.after
		rows, err := s.pool.Query(ctx, readPage, v.end.log, column(v.after), v.end.cuts, column(v.end.head.Seq), v.page, pageBytes)
		if err != nil {
			return err
		}
		var seq, first int64
		var data pgtype.DriverBytes // until the next row
		_, err = pgx.ForEachRow(rows, []any{&seq, &first, &data}, func() error {
			if uint64(first) > upTo+1 {
				return v.missing(upTo)
			}
			if len(data) > 0 {
				e, err := thread.DecodeEntry(data)
				if err == nil && e.Seq != uint64(seq) {
					err = fmt.Errorf("it says that it is entry %d", e.Seq)
				}
				if err != nil {
					return fmt.Errorf("entry %d is damaged: %w", seq, err)
				}
				entries = append(entries, e)
			}
			upTo = uint64(seq)
			return nil
		})
		if err == nil && upTo == v.after {
			err = v.missing(upTo)
		}
		return err
	})
	return entries, upTo, err
}

// missing says that entries of a log are not there.
func (v *view) missing(behind uint64) error {
	if time.Since(v.began) >= kept {
		return fmt.Errorf("what follows entry %d was compacted while somebody read it for more than %v; read it again", behind, kept)
	}
	return fmt.Errorf("entries behind %d are missing; the tables are damaged", behind)
}

// column is a number as the tables have it. No log has a larger one.
func column(seq uint64) int64 { return int64(min(seq, math.MaxInt64)) }
