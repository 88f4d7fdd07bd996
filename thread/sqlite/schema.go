package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	driver "modernc.org/sqlite"
)

const (
	// applicationID marks the file as ours (PRAGMA application_id).
	applicationID = 0x4c4b5354 // "LKST"

	// schemaVersion is what this program reads and writes. A later one gets a
	// step that leads from the one before; see migrate.
	schemaVersion = 1
)

// schema makes a new file. Keys are blobs: IDs may hold anything, NUL included,
// and are compared byte by byte.
//
// AUTOINCREMENT keeps a forgotten log's number
// from being used again, so a reader that was under way finds nothing rather
// than another log. Entries lie by log and number, so that a replay reads
// neighbouring pages, however many logs grow at once. SQLite notices damage to
// its own structures only: sum is there so that a damaged entry is not read as
// something that somebody said, prev and last so that a missing one is missed.
const schema = `
CREATE TABLE lockstep (
	name  TEXT PRIMARY KEY,
	value INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE logs (
	id        INTEGER PRIMARY KEY AUTOINCREMENT,
	agent     BLOB    NOT NULL,
	principal BLOB    NOT NULL,
	thread    BLOB    NOT NULL,
	epoch     TEXT    NOT NULL,
	seq       INTEGER NOT NULL, -- where the log ends
	last      INTEGER NOT NULL, -- number of its last entry: less, where that was compacted away
	updated   INTEGER NOT NULL, -- Unix milliseconds
	UNIQUE (agent, principal, thread)
);
CREATE INDEX logs_by_time ON logs (agent, principal, updated);
CREATE TABLE entries (
	log  INTEGER NOT NULL,
	seq  INTEGER NOT NULL,
	data BLOB    NOT NULL,
	prev INTEGER NOT NULL, -- number of the entry before, 0 for the first
	sum  INTEGER NOT NULL, -- CRC-32C of data
	PRIMARY KEY (log, seq)
) WITHOUT ROWID;
INSERT INTO lockstep VALUES ('schema', 1);
PRAGMA application_id = 0x4c4b5354;
`

// prepare makes path a file that can be opened: it exists, and is empty or
// SQLite's. It runs before there is any connection, because closing the file
// beside one would drop SQLite's locks.
func prepare(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("sqlite: cannot open the store: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("sqlite: cannot open the store: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("sqlite: %s is not a regular file; name one", path)
	}
	if info.Size() == 0 {
		// New. SQLite syncs the directory for files that it makes, and it did
		// not make this one. Where directories cannot be synced (Windows) the
		// file system sees to it.
		if dir, err := os.Open(filepath.Dir(path)); err == nil {
			_ = dir.Sync()
			_ = dir.Close()
		}
		return nil
	}
	const magic = "SQLite format 3\x00"
	head := make([]byte, len(magic))
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.ErrUnexpectedEOF {
		return fmt.Errorf("sqlite: cannot read the store: %w", err)
	}
	if string(head[:n]) != magic {
		return fmt.Errorf("sqlite: %s is not an SQLite database; move it away, or name another file", path)
	}
	return nil
}

// connect opens connections to the file. Nothing but our own connections may
// lock it, and then only for moments; busy_timeout covers those and somebody
// who looks into the file with a shell.
func connect(path string, pragmas ...string) (*sql.DB, error) {
	// As a URI, so that no character of the path means something to SQLite or
	// the driver. Windows' C:\x is file:///C:/x.
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	q := url.Values{}
	for _, p := range append([]string{"busy_timeout(10000)"}, pragmas...) {
		q.Add("_pragma", p)
	}
	c, err := driver.NewConnector((&url.URL{Scheme: "file", Path: slashed, RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("sqlite: %s: %w", path, err)
	}
	return sql.OpenDB(c), nil
}

// migrate brings the file to this program's schema and to WAL. Before it has
// made sure that the file is ours it changes nothing.
func migrate(ctx context.Context, conn *sql.Conn, path string) error {
	var id, tables int
	err := conn.QueryRowContext(ctx, "SELECT a.application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id a").Scan(&id, &tables)
	if err != nil {
		return fmt.Errorf("sqlite: cannot read %s: %w", path, err)
	}
	if id != applicationID && (id != 0 || tables > 0) {
		return fmt.Errorf("sqlite: %s is the database of another program; name another file", path)
	}
	version := 0
	if id == applicationID {
		if err := conn.QueryRowContext(ctx, "SELECT value FROM lockstep WHERE name = 'schema'").Scan(&version); err != nil {
			return fmt.Errorf("sqlite: %s does not say its schema's version: %w", path, err)
		}
	}
	if version > schemaVersion {
		return fmt.Errorf("sqlite: %s was written by a newer Lockstep (schema %d, this one knows %d); use that one, or another file", path, version, schemaVersion)
	}
	// The mode is kept in the file. It cannot be changed in a transaction.
	var mode string
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil || mode != "wal" {
		return errors.Join(err, fmt.Errorf("sqlite: %s cannot be switched to a write-ahead log (journal mode %q); is the file system read-only or remote?", path, mode))
	}
	if version == schemaVersion {
		return nil
	}
	for _, statement := range []string{"BEGIN IMMEDIATE", schema, "COMMIT"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("sqlite: cannot set up %s: %w", path, err)
		}
	}
	return nil
}
