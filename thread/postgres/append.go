package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/thread"
)

// An append is one statement, so one round trip and one commit. The log's row is
// where writers meet: a second one waits for the first, and then finds that the
// log does not end any more where it thinks.
const (
	appendMove = `
WITH moved AS (
	UPDATE lockstep_logs SET seq = $4, updated = greatest(updated, $5)
	WHERE key = $1 AND epoch = $2 AND seq = $3
	RETURNING log
), stored AS (
	INSERT INTO lockstep_entries (log, seq, cut, first, data)
	SELECT moved.log, $3 + d.n, 0, $3 + d.n, d.data FROM moved, unnest($6::bytea[]) WITH ORDINALITY AS d (data, n)
)
SELECT count(*) FROM moved`

	appendMake = `
WITH made AS (
	INSERT INTO lockstep_logs (key, epoch, seq, updated, owner, agent, principal, thread)
	VALUES ($1, $2, $3, $4, $6, $7, $8, $9)
	ON CONFLICT (key) DO NOTHING
	RETURNING log
), stored AS (
	INSERT INTO lockstep_entries (log, seq, cut, first, data)
	SELECT made.log, d.n, 0, d.n, d.data FROM made, unnest($5::bytea[]) WITH ORDINALITY AS d (data, n)
)
SELECT count(*) FROM made`

	findHead = `SELECT epoch, seq FROM lockstep_logs WHERE key = $1`
)

// Append implements thread.Store, in one statement. When ctx ends or the
// connection breaks while the statement is under way, the entries may be stored
// or not.
func (s *Store) Append(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry) error {
	if err := thread.CheckAppend(key, after, entries); err != nil {
		return err
	}
	data := make([][]byte, len(entries))
	for i, e := range entries {
		data[i] = thread.AppendEntry(nil, e)
	}
	err := s.write(ctx, func(ctx context.Context) error { return s.append(ctx, key, after, entries, data) })
	if err == nil && len(entries) > 0 {
		s.announceLog(hash(key))
	}
	return s.wrap(ctx, key, err)
}

func (s *Store) append(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry, data [][]byte) error {
	k := hash(key)
	for {
		// No log ends behind what its column holds.
		if len(entries) > 0 && after.Seq <= math.MaxInt64-uint64(len(entries)) {
			last := entries[len(entries)-1]
			var row pgx.Row
			if after.Seq == 0 {
				o := owner(key.Agent, key.Principal)
				row = s.pool.QueryRow(ctx, appendMake, k[:], []byte(after.Epoch), int64(last.Seq), last.Time.UnixMilli(), data,
					o[:], []byte(key.Agent), []byte(key.Principal), []byte(key.ID))
			} else {
				row = s.pool.QueryRow(ctx, appendMove, k[:], []byte(after.Epoch), int64(after.Seq), int64(last.Seq), last.Time.UnixMilli(), data)
			}
			var n int
			if err := row.Scan(&n); err != nil || n == 1 {
				return err
			}
		}
		head, err := s.head(ctx, k)
		switch there := head.Seq > 0; {
		case err != nil:
			return err
		case there && head != after, !there && after.Seq != 0:
			return &thread.ConflictError{Head: head}
		case len(entries) == 0:
			return nil
		}
		// The log was forgotten between the two statements: now it can be made.
	}
}

// Head implements thread.Store.
func (s *Store) Head(ctx context.Context, key thread.Key) (head thread.Head, err error) {
	if err := ctx.Err(); err != nil {
		return head, err
	}
	err = s.read(ctx, func(ctx context.Context) error {
		head, err = s.head(ctx, hash(key))
		return err
	})
	return head, s.wrap(ctx, key, err)
}

// head says where a log ends. A log that is there has at least one entry, or had
// one.
func (s *Store) head(ctx context.Context, k id) (thread.Head, error) {
	var epoch []byte
	var seq int64
	err := s.pool.QueryRow(ctx, findHead, k[:]).Scan(&epoch, &seq)
	if errors.Is(err, pgx.ErrNoRows) {
		return thread.Head{}, nil
	}
	return thread.Head{Epoch: string(epoch), Seq: uint64(seq)}, err
}

// id is what a key or an owner is found by.
type id [sha256.Size]byte

func hash(key thread.Key) id { return hashed(key.Agent, key.Principal, key.ID) }

func owner(agent, principal string) id { return hashed(agent, principal) }

// hashed is the hash of parts, each behind its length, so that none can reach
// into the next.
func hashed(parts ...string) (out id) {
	h := sha256.New()
	for _, p := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write([]byte(p))
	}
	h.Sum(out[:0])
	return out
}
