package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/lockstep-go/lockstep/thread"
)

// A page is what is read at a time: the connection is given back before the
// caller sees the first entry of it, so a caller may take as long as it likes.
// The first page is small, because somebody waits for its first entry.
const (
	firstRows = 32
	pageRows  = 512
	pageBytes = 256 << 10
)

// reader reads, on connections of its own.
type reader struct {
	path string
	db   *sql.DB
	free chan struct{} // one for each connection that may be in use
	find *sql.Stmt
	rows *sql.Stmt
	list *sql.Stmt
	old  *sql.Stmt

	mu   sync.Mutex
	logs map[thread.Key]*reading
}

// reading is a log that is being read now. Pages are read under its read lock,
// compactions run under the other: so a reader is either through with a page or
// has not begun it when what it reads is replaced.
type reading struct {
	sync.RWMutex
	users int // under reader.mu
	mu    sync.Mutex
	views map[*view]struct{} // that have pages left to read; under mu
}

// view is one Read on its way through a log.
type view struct {
	log      int64
	last     int64     // number of the log's last entry
	after    int64     // what was read
	page     int       // rows of the next page
	snapshot *snapshot // of what was compacted meanwhile; nil: nothing was
}

const readRows = "SELECT seq, data, prev, sum FROM entries WHERE log = ? AND seq > ? AND seq <= ? ORDER BY seq"

func openReader(path string, connections int) (_ *reader, err error) {
	r := &reader{path: path, logs: map[thread.Key]*reading{}, free: make(chan struct{}, connections)}
	// query_only and not mode=ro: a reader of a write-ahead log leaves its marks
	// in FILE-shm.
	if r.db, err = connect(path, "query_only(1)"); err != nil {
		return nil, err
	}
	r.db.SetMaxIdleConns(connections)
	for stmt, text := range map[**sql.Stmt]string{
		&r.find: findLog,
		&r.rows: readRows,
		&r.list: `SELECT thread, updated FROM logs
			WHERE agent = ? AND principal = ? AND updated <= ? AND (updated < ? OR thread > ?)
			ORDER BY updated DESC, thread LIMIT ?`,
		&r.old: "SELECT agent, principal, thread FROM logs WHERE updated < ? ORDER BY updated LIMIT ?",
	} {
		if *stmt, err = r.db.Prepare(text); err != nil {
			return nil, errors.Join(fmt.Errorf("sqlite: %s: %w", path, err), r.db.Close())
		}
	}
	return r, nil
}

func (r *reader) close() error {
	// Readers that are under way meet the closed database at their next page;
	// their snapshots are connections of their own.
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.db.Close()
	for _, log := range r.logs {
		log.Lock()
		for v := range log.views {
			if v.snapshot != nil {
				err = errors.Join(err, v.snapshot.release())
				v.snapshot = nil
			}
		}
		log.Unlock()
	}
	return err
}

// connection waits for one of the connections to be free. The queries
// themselves get no context: they are short, and one that can be cancelled costs
// two goroutines.
func (r *reader) connection(ctx context.Context) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case r.free <- struct{}{}:
		return func() { <-r.free }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// enter registers somebody who reads a log.
func (r *reader) enter(key thread.Key) *reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := r.logs[key]
	if log == nil {
		log = &reading{views: map[*view]struct{}{}}
		r.logs[key] = log
	}
	log.users++
	return log
}

func (r *reader) leave(key thread.Key, log *reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if log.users--; log.users == 0 {
		delete(r.logs, key)
	}
}

// first finds a log and reads its first page. The view is nil where there is
// nothing more to read.
func (r *reader) first(ctx context.Context, key thread.Key, log *reading, after uint64) (thread.Head, []thread.Entry, *view, error) {
	release, err := r.connection(ctx)
	if err != nil {
		return thread.Head{}, nil, nil, err
	}
	defer release()
	log.RLock()
	defer log.RUnlock()
	l, err := scanLog(r.find.QueryRowContext(background, keyArgs(key)...))
	if err != nil || after >= uint64(l.last) {
		return l.head, nil, nil, err
	}
	v := &view{log: l.id, last: l.last, after: int64(after), page: firstRows}
	rows, err := r.rows.QueryContext(background, v.log, v.after, v.last)
	if err != nil {
		return l.head, nil, nil, err
	}
	entries, more, err := v.scan(rows)
	if !more {
		return l.head, entries, nil, err
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	log.views[v] = struct{}{}
	return l.head, entries, v, err
}

// next reads a view's next page. More says that there is another one behind it.
func (r *reader) next(ctx context.Context, log *reading, v *view) (entries []thread.Entry, more bool, err error) {
	release, err := r.connection(ctx)
	if err != nil {
		return nil, false, err
	}
	defer release()
	log.RLock()
	defer log.RUnlock()
	if v.snapshot != nil {
		return v.snapshot.page(v)
	}
	rows, err := r.rows.QueryContext(background, v.log, v.after, v.last)
	if err != nil {
		return nil, false, err
	}
	return v.scan(rows)
}

// drop ends a view.
func (r *reader) drop(log *reading, v *view) {
	log.Lock()
	defer log.Unlock()
	delete(log.views, v)
	if v.snapshot != nil {
		_ = v.snapshot.release() // a reader's connection: nothing is lost with it
		v.snapshot = nil
	}
}

// scan reads a page of rows.
func (v *view) scan(rows *sql.Rows) (entries []thread.Entry, more bool, err error) {
	defer rows.Close()
	most, size := v.page, 0
	v.page = min(4*most, pageRows)
	for rows.Next() {
		var seq, prev, sum int64
		var data sql.RawBytes
		if err := rows.Scan(&seq, &data, &prev, &sum); err != nil {
			return entries, false, err
		}
		if prev > v.after {
			break // what is missing is told below
		}
		var e thread.Entry
		err := errors.New("its checksum is another one")
		if checksum(data) == sum {
			e, err = thread.DecodeEntry(data)
		}
		if err == nil && e.Seq != uint64(seq) {
			err = fmt.Errorf("it says that it is entry %d", e.Seq)
		}
		if err != nil {
			return entries, false, fmt.Errorf("entry %d is damaged: %w", seq, err)
		}
		entries, size, v.after = append(entries, e), size+len(data), seq
		if len(entries) == most || size >= pageBytes {
			return entries, seq < v.last, nil
		}
	}
	if err := rows.Err(); err != nil || v.after == v.last {
		return entries, false, err
	}
	return entries, false, fmt.Errorf("entries behind %d are missing; the file is damaged", v.after)
}

// snapshot is the file as it was before a compaction, for those who were in the
// middle of reading what it replaced.
type snapshot struct {
	mu    sync.Mutex
	db    *sql.DB
	conn  *sql.Conn
	users int
}

// frozen runs a compaction of a log. Readers that are in the middle of it go on
// with what was there before. That is rare, so nobody pays for it but who meets
// it: a read transaction for every reader would keep the write-ahead log from
// being folded back for as long as the slowest of them takes.
func (r *reader) frozen(key thread.Key, compaction func() error) error {
	log := r.enter(key)
	defer r.leave(key, log)
	log.Lock()
	defer log.Unlock()
	var views []*view
	for v := range log.views {
		if v.snapshot == nil {
			views = append(views, v)
		}
	}
	if len(views) > 0 {
		s, err := r.snapshot(len(views))
		if err != nil {
			return fmt.Errorf("cannot keep what is being read: %w", err)
		}
		for _, v := range views {
			v.snapshot = s
		}
	}
	return compaction()
}

func (r *reader) snapshot(users int) (*snapshot, error) {
	db, err := connect(r.path, "query_only(1)")
	if err != nil {
		return nil, err
	}
	s := &snapshot{db: db, users: users}
	if s.conn, err = db.Conn(background); err == nil {
		// The transaction begins with its first read.
		if _, err = s.conn.ExecContext(background, "BEGIN"); err == nil {
			err = s.conn.QueryRowContext(background, "SELECT count(*) FROM lockstep").Scan(new(int))
		}
	}
	if err != nil {
		s.users = 1
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

func (s *snapshot) page(v *view) (entries []thread.Entry, more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, err := s.conn.QueryContext(background, readRows, v.log, v.after, v.last)
	if err != nil {
		return nil, false, err
	}
	return v.scan(rows)
}

func (s *snapshot) release() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return nil
	}
	if s.conn != nil {
		err = s.conn.Close()
	}
	return errors.Join(err, s.db.Close())
}
