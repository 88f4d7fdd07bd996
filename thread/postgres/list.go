package postgres

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/thread"
)

const (
	listLogs = `
SELECT thread, updated FROM lockstep_logs
WHERE owner = $1 AND updated <= $2 AND (updated < $2 OR thread > $3)
ORDER BY updated DESC, thread LIMIT $4`

	staleLogs = `SELECT agent, principal, thread FROM lockstep_logs WHERE updated < $1 ORDER BY updated LIMIT $2`
)

// List implements thread.Store.
func (s *Store) List(ctx context.Context, agent, principal string, after thread.Listed, limit int) (out []thread.Listed, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o, before := owner(agent, principal), int64(math.MaxInt64)
	if after != (thread.Listed{}) {
		before = after.Updated.UnixMilli()
	}
	err = s.read(ctx, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, listLogs, o[:], before, []byte(after.ID), max(limit, 0))
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (thread.Listed, error) {
			var name []byte
			var updated int64
			err := row.Scan(&name, &updated)
			return thread.Listed{ID: string(name), Updated: time.UnixMilli(updated).UTC()}, err
		})
		return err
	})
	return out, s.wrap(ctx, thread.Key{}, err)
}

// Stale implements thread.Store.
func (s *Store) Stale(ctx context.Context, before time.Time, limit int) (out []thread.Key, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = s.read(ctx, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, staleLogs, before.UnixMilli(), max(limit, 0))
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (thread.Key, error) {
			var agent, principal, name []byte
			err := row.Scan(&agent, &principal, &name)
			return thread.Key{Agent: string(agent), Principal: string(principal), ID: string(name)}, err
		})
		return err
	})
	return out, s.wrap(ctx, thread.Key{}, err)
}
