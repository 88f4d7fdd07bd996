package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/thread"
)

// schemaVersion is what this program reads and writes. A later one gets a step
// that leads from the one before; see migrate.
const schemaVersion = 1

// schema makes the tables. All that comes from outside is bytea: IDs may hold
// anything, NUL included, and are compared byte by byte, whatever the
// database's encoding and collation.
//
// A log's number is never used again, so a reader of a forgotten log finds
// nothing rather than another log. An entry stands for the numbers from first to
// seq; so a missing one is missed, although compactions leave holes. One without
// data stands for numbers at the end of what was compacted. Its key begins with
// log and seq, so that a replay reads neighbouring rows.
const schema = `
CREATE TABLE lockstep_schema (version integer NOT NULL);
CREATE TABLE lockstep_logs (
	key       bytea  PRIMARY KEY, -- SHA-256 of agent, principal and thread
	owner     bytea  NOT NULL,    -- SHA-256 of agent and principal
	log       bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
	agent     bytea  NOT NULL,
	principal bytea  NOT NULL,
	thread    bytea  NOT NULL,
	epoch     bytea  NOT NULL,
	seq       bigint NOT NULL,           -- where the log ends
	cuts      bigint NOT NULL DEFAULT 0, -- how often it was compacted
	updated   bigint NOT NULL            -- Unix milliseconds
) WITH (fillfactor = 80);
CREATE INDEX lockstep_logs_listed ON lockstep_logs (owner, updated DESC);
CREATE INDEX lockstep_logs_stale ON lockstep_logs (updated);
CREATE TABLE lockstep_entries (
	log   bigint NOT NULL,
	seq   bigint NOT NULL,
	cut   bigint NOT NULL, -- the compaction that wrote it; 0: it was appended
	first bigint NOT NULL,
	data  bytea  NOT NULL,
	PRIMARY KEY (log, seq, cut)
);
CREATE TABLE lockstep_replaced (
	log  bigint NOT NULL,
	cut  bigint NOT NULL,      -- from this compaction on are gone: entries
	low  bigint NOT NULL,      -- behind this number
	high bigint NOT NULL,      -- up to this one, written before it
	at   timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (log, cut)
);
CREATE INDEX lockstep_replaced_at ON lockstep_replaced (at);
INSERT INTO lockstep_schema VALUES (1);
`

// setUpLock is the advisory lock that processes take which start at the same
// time. The number is any: "LOCKSTEP" in ASCII.
const setUpLock int64 = 0x4c4f434b53544550

// prepare connects and makes the tables where they are not there.
func (s *Store) prepare(ctx context.Context) error {
	version, err := s.version(ctx, s.pool)
	if err != nil || version != 0 {
		return err
	}
	return s.write(ctx, s.migrate)
}

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// version is the version of the tables; 0: there are none. A newer one than this
// program knows is an error.
func (s *Store) version(ctx context.Context, q querier) (version int, err error) {
	var there, somewhere bool
	// Not to_regclass: it may answer from what its connection knew before another
	// process made the tables.
	err = q.QueryRow(ctx, `SELECT current_schema() IS NOT NULL, EXISTS (
		SELECT FROM pg_class WHERE relname = 'lockstep_schema' AND relnamespace = current_schema()::regnamespace)`).Scan(&somewhere, &there)
	switch {
	case err != nil:
		return 0, err
	case !somewhere:
		return 0, errors.New("no schema of its search_path exists; make it, or name another one in the URL (?search_path=…)")
	case !there:
		return 0, nil
	}
	err = q.QueryRow(ctx, "SELECT version FROM lockstep_schema").Scan(&version)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, errors.New("the table lockstep_schema is empty: it does not say which version the tables have")
	case err != nil:
		return 0, err
	case version > schemaVersion:
		return 0, fmt.Errorf("the tables were made by a newer Lockstep (schema %d, this one knows %d); use that one, or another search_path or database", version, schemaVersion)
	}
	return version, nil
}

// migrate makes the tables, if nobody else has done it meanwhile.
func (s *Store) migrate(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", setUpLock); err != nil {
			return err
		}
		if version, err := s.version(ctx, tx); err != nil || version != 0 {
			return err
		}
		_, err := tx.Exec(ctx, schema)
		return err
	})
}

// end is a log's row.
type end struct {
	log  int64 // its number; 0: there is no log
	head thread.Head
	cuts int64
}
