package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/internal/pgtest"
	"github.com/lockstep-go/lockstep/thread"
)

// OpenIn opens a store in a schema, which it makes where it is not there.
func OpenIn(url, schema string) (*Store, error) {
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(context.Background(), "CREATE SCHEMA IF NOT EXISTS "+schema)
	_ = conn.Close(context.Background())
	if err != nil {
		return nil, err
	}
	// Few connections: that a test's server has to start them is most of what it does.
	return Open(context.Background(), pgtest.With(url, "search_path", schema), &Options{Connections: 2})
}

// Sweep removes what was replaced longer ago than age.
func (s *Store) Sweep(ctx context.Context, age time.Duration) error { return s.sweep(ctx, age) }

// Count counts a table's rows.
func (s *Store) Count(t testing.TB, table string) (n int) {
	t.Helper()
	if err := s.pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Terminate ends all connections of an application from the server's side. It
// returns how many there were.
func (s *Store) Terminate(t testing.TB, application, query string) (n int) {
	t.Helper()
	err := s.pool.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE application_name = $1 AND query LIKE $2 AND pid <> pg_backend_pid()`, application, query).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Statements are what is asked all the time, with arguments.
func Statements() map[string][]any {
	k := hashed("a")
	return map[string][]any{
		appendMove:  {k[:], []byte("e"), int64(5), int64(6), int64(0), [][]byte{{'x'}}},
		appendMake:  {k[:], []byte("e"), int64(1), int64(0), [][]byte{{'x'}}, k[:], []byte{}, []byte{}, []byte{}},
		findHead:    {k[:]},
		findLog:     {k[:]},
		lockLog:     {k[:]},
		pollLogs:    {[][]byte{k[:]}},
		firstBehind: {int64(7), int64(3), int64(1)},
		readPage:    {int64(7), int64(3), int64(1), int64(100), pageRows, pageBytes},
		listLogs:    {k[:], int64(1764540000000), []byte{}, 20},
		staleLogs:   {int64(0), 20},
		sweepOld:    {time.Minute, sweepAtOnce},
	}
}

// Explain returns the server's plan of a statement.
func (s *Store) Explain(t testing.TB, statement string, args ...any) string {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), "EXPLAIN "+statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	out := ""
	for _, l := range lines {
		out += l + "\n"
	}
	return out
}

// AppendUnannounced appends and dies before it could tell anybody.
func (s *Store) AppendUnannounced(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry) error {
	var data [][]byte
	for _, e := range entries {
		data = append(data, thread.AppendEntry(nil, e))
	}
	return s.append(ctx, key, after, entries, data)
}
