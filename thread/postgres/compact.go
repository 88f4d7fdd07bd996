package postgres

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/thread"
)

const (
	// kept is how long what was compacted or forgotten can still be read by
	// those who began before.
	kept = 10 * time.Minute
	// sweepEvery is how often each process looks for what is older than that.
	sweepEvery = time.Minute
	// sweepAtOnce is how many compactions one statement cleans up behind.
	sweepAtOnce = 16
)

const (
	lockLog = findLog + " FOR UPDATE"

	// firstBehind is where the numbers begin that the first row behind $2 stands for.
	firstBehind = `SELECT e.first FROM lockstep_entries e WHERE e.log = $1 AND e.seq > $2 AND ` + seen + ` ORDER BY e.seq LIMIT 1`

	insertRows = `
INSERT INTO lockstep_entries (log, seq, cut, first, data)
SELECT $1, d.seq, $2, d.first, d.data FROM unnest($3::bigint[], $4::bigint[], $5::bytea[]) AS d (seq, first, data)`

	insertReplaced = `INSERT INTO lockstep_replaced (log, cut, low, high) VALUES ($1, $2, $3, $4)`

	// sweepOld removes what was replaced longer ago than $1, by at most $2
	// compactions. Several processes that sweep at the same time take different
	// ones.
	sweepOld = `
WITH old AS (
	DELETE FROM lockstep_replaced r USING (
		SELECT log, cut FROM lockstep_replaced WHERE at <= now() - $1::interval ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED
	) few
	WHERE r.log = few.log AND r.cut = few.cut
	RETURNING r.log, r.cut, r.low, r.high
), gone AS (
	DELETE FROM lockstep_entries e USING old
	WHERE e.log = old.log AND e.seq > old.low AND e.seq <= old.high AND e.cut < old.cut
)
SELECT count(*) FROM old`
)

// Compact implements thread.Store, in one transaction. It costs what it adds,
// not what it replaces: that is removed later.
func (s *Store) Compact(ctx context.Context, key thread.Key, head thread.Head, after, upTo uint64, entries []thread.Entry) error {
	forgets := false
	err := s.write(ctx, func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) (err error) {
			forgets, err = compact(ctx, tx, key, head, after, upTo, entries)
			return err
		})
	})
	if err == nil && forgets {
		s.announceLog(hash(key)) // who follows it learns that it is over
	}
	return s.wrap(ctx, key, err)
}

func compact(ctx context.Context, tx pgx.Tx, key thread.Key, head thread.Head, after, upTo uint64, entries []thread.Entry) (forgets bool, err error) {
	k := hash(key)
	var now end
	var epoch []byte
	var seq int64
	err = tx.QueryRow(ctx, lockLog, k[:]).Scan(&now.log, &epoch, &seq, &now.cuts)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, err
	}
	now.head = thread.Head{Epoch: string(epoch), Seq: uint64(seq)}
	if now.log == 0 || now.head != head {
		return false, &thread.ConflictError{Head: now.head}
	}
	if err := thread.CheckCompact(key, head, after, upTo, entries); err != nil {
		return false, err
	}
	cut := now.cuts + 1
	if after == 0 && upTo == head.Seq && len(entries) == 0 {
		var b pgx.Batch
		b.Queue("DELETE FROM lockstep_logs WHERE key = $1", k[:])
		b.Queue(insertReplaced, now.log, cut, 0, int64(math.MaxInt64))
		return true, tx.SendBatch(ctx, &b).Close()
	}
	if after == upTo {
		return false, nil // nothing, which changes nothing
	}
	// The new rows stand for all the numbers that the old ones stood for. The
	// first of those may begin before the range, where that was compacted before.
	first := int64(after) + 1
	var old int64
	switch err := tx.QueryRow(ctx, firstBehind, now.log, int64(after), now.cuts).Scan(&old); {
	case err == nil:
		first = min(first, old)
	case !errors.Is(err, pgx.ErrNoRows):
		return false, err
	}
	var seqs, firsts []int64
	var data [][]byte
	add := func(seq uint64, text []byte) {
		seqs, firsts, data = append(seqs, int64(seq)), append(firsts, first), append(data, text)
		first = int64(seq) + 1
	}
	for _, e := range entries {
		add(e.Seq, thread.AppendEntry(nil, e))
	}
	if uint64(first) <= upTo {
		add(upTo, []byte{})
	}
	var b pgx.Batch
	b.Queue("UPDATE lockstep_logs SET cuts = $2 WHERE key = $1", k[:], cut)
	b.Queue(insertRows, now.log, cut, seqs, firsts, data)
	b.Queue(insertReplaced, now.log, cut, int64(after), int64(upTo))
	return false, tx.SendBatch(ctx, &b).Close()
}

// sweepNowAndThen removes what was replaced long enough ago, until the store
// closes. The server's clock decides.
func (s *Store) sweepNowAndThen() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		ctx, cancel := context.WithTimeout(s.base, sweepEvery)
		err := s.sweep(ctx, kept)
		cancel()
		if err != nil && !s.closed() {
			s.log.Warn("what was compacted could not be removed; it is tried again", "store", s.shown, "error", line(err))
		}
		select {
		case <-tick.C:
		case <-s.closing:
			return
		}
	}
}

// sweep removes what was replaced longer ago than age.
func (s *Store) sweep(ctx context.Context, age time.Duration) error {
	for {
		var n int
		if err := s.pool.QueryRow(ctx, sweepOld, age, sweepAtOnce).Scan(&n); err != nil || n < sweepAtOnce {
			return err
		}
	}
}
