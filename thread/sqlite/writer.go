package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep/thread"
)

// A group is what one transaction takes along at most: so much that a sync is
// well used, and so little that nobody waits long for others' bytes.
const (
	groupRequests = 512
	groupBytes    = 8 << 20
)

// cachedLogs is how many logs' ends are kept in memory.
const cachedLogs = 4096

// write takes requests until the store closes. It commits as soon as there is
// one, and takes along what came in during the commit before.
func (s *Store) write() {
	defer close(s.written)
	for {
		select {
		case r := <-s.requests:
			for r != nil {
				r = s.serve(r)
			}
		case <-s.closing:
			return
		}
	}
}

// serve runs one group that begins with r. It returns a request that it took
// but that has to be in a group of its own, or nil.
func (s *Store) serve(r *request) *request {
	group, size := []*request{r}, r.bytes
	var next *request
	for r.around == nil && len(group) < groupRequests && size < groupBytes {
		if next = s.waiting(); next == nil || next.around != nil {
			break
		}
		group, size = append(group, next), size+next.bytes
		next = nil
	}
	s.run(group)
	return next
}

// waiting returns a request that somebody is waiting to hand over, or nil.
func (s *Store) waiting() *request {
	select {
	case r := <-s.requests:
		return r
	default:
		return nil
	}
}

// run runs a group in one transaction. If that fails each of its requests is
// tried alone: one that cannot be stored (too large, no room for it) must not
// take others along.
func (s *Store) run(group []*request) {
	refusals := make([]error, len(group))
	transaction := func() error { return s.writer.transaction(group, refusals) }
	var failure error
	if around := group[0].around; around != nil {
		failure = around(transaction)
	} else {
		failure = transaction()
	}
	if failure != nil && len(group) > 1 {
		for i := range group {
			s.run(group[i : i+1])
		}
		return
	}
	for i, r := range group {
		switch {
		case failure != nil:
			r.done <- fmt.Errorf("sqlite: %s: %w", s.path, failure)
		case refusals[i] != nil:
			r.done <- refusals[i]
		default:
			s.watchers.wake(r.key)
			r.done <- nil
		}
	}
}

// writer is the connection that writes and the ends of the logs in use. While
// the store's goroutine runs, everything here belongs to it.
type writer struct {
	db         *sql.DB
	conn       *sql.Conn
	begin      *sql.Stmt
	commit     *sql.Stmt
	back       *sql.Stmt
	find       *sql.Stmt
	add        *sql.Stmt
	move       *sql.Stmt
	insert     *sql.Stmt
	remove     *sql.Stmt
	before     *sql.Stmt
	relink     *sql.Stmt
	forget     *sql.Stmt
	statements []*sql.Stmt           // all of them
	logs       map[thread.Key]logEnd // the file has one owner, so what is here is what is there
	touched    []thread.Key          // logs that the open transaction changed
}

// logEnd is a log's row.
type logEnd struct {
	id      int64
	head    thread.Head
	last    int64 // number of the last entry
	updated int64
}

// background: what the writer has begun it ends. A context that could be
// cancelled would make the outcome of a commit unknown, and costs a goroutine
// for each statement.
var background = context.Background()

// findLog is used by writer and readers.
const findLog = "SELECT id, epoch, seq, last, updated FROM logs WHERE agent = ? AND principal = ? AND thread = ?"

func openWriter(path string) (_ *writer, err error) {
	w := &writer{logs: map[thread.Key]logEnd{}}
	w.db, err = connect(
		path,
		"synchronous(FULL)",
		// macOS: fsync there does not reach the disk, this does.
		"fullfsync(1)", "checkpoint_fullfsync(1)",
		"secure_delete(1)",
		// After a burst the write-ahead log is cut back to this.
		"journal_size_limit(67108864)",
	)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.conn, err = w.db.Conn(background); err != nil {
		return nil, fmt.Errorf("sqlite: cannot open %s: %w", path, err)
	}
	if err := migrate(background, w.conn, path); err != nil {
		return nil, err
	}
	for stmt, text := range map[**sql.Stmt]string{
		&w.begin:  "BEGIN IMMEDIATE",
		&w.commit: "COMMIT",
		&w.back:   "ROLLBACK",
		&w.find:   findLog,
		&w.add:    "INSERT INTO logs (agent, principal, thread, epoch, seq, last, updated) VALUES (?, ?, ?, ?, ?, ?, ?)",
		&w.move:   "UPDATE logs SET seq = ?, last = ?, updated = ? WHERE id = ?",
		&w.insert: "INSERT INTO entries (log, seq, data, prev, sum) VALUES (?, ?, ?, ?, ?)",
		&w.remove: "DELETE FROM entries WHERE log = ? AND seq > ? AND seq <= ?",
		&w.before: "SELECT coalesce(max(seq), 0) FROM entries WHERE log = ? AND seq <= ?",
		&w.relink: "UPDATE entries SET prev = ? WHERE log = ? AND seq = (SELECT min(seq) FROM entries WHERE log = ? AND seq > ?)",
		&w.forget: "DELETE FROM logs WHERE id = ?",
	} {
		if *stmt, err = w.conn.PrepareContext(background, text); err != nil {
			return nil, fmt.Errorf("sqlite: %s: %w", path, err)
		}
		w.statements = append(w.statements, *stmt)
	}
	return w, nil
}

// close closes the statements, too: database/sql does not keep track of those
// of a single connection, and while one is open SQLite keeps the file.
func (w *writer) close() error {
	var err error
	for _, stmt := range w.statements {
		err = errors.Join(err, stmt.Close())
	}
	if w.conn != nil {
		err = errors.Join(err, w.conn.Close())
	}
	return errors.Join(err, w.db.Close())
}

// transaction does what a group asks for, and commits. After an error nothing
// of it is stored.
func (w *writer) transaction(group []*request, refusals []error) error {
	err := exec(w.begin)
	if err != nil {
		// A transaction whose rollback failed may still be open.
		_ = exec(w.back)
		if err = exec(w.begin); err != nil {
			return err
		}
	}
	w.touched = w.touched[:0]
	for i, r := range group {
		if refusals[i], err = r.work(); err != nil {
			break
		}
	}
	if err == nil {
		err = exec(w.commit)
	}
	if err != nil {
		_ = exec(w.back) // SQLite may have done it by itself, which is an error here
		for _, key := range w.touched {
			delete(w.logs, key)
		}
	}
	return err
}

// end returns a log's row; its id is 0 where there is no log.
func (w *writer) end(key thread.Key) (logEnd, error) {
	if l, ok := w.logs[key]; ok {
		return l, nil
	}
	l, err := scanLog(w.find.QueryRowContext(background, keyArgs(key)...))
	if err == nil && l.id != 0 {
		w.keep(key, l)
	}
	return l, err
}

// keep remembers a log's row, and forgets some other's where there are many.
func (w *writer) keep(key thread.Key, l logEnd) {
	if _, ok := w.logs[key]; !ok && len(w.logs) >= cachedLogs {
		for other := range w.logs {
			delete(w.logs, other)
			break
		}
	}
	w.logs[key] = l
}

// expect refuses where the log does not end at head.
func (w *writer) expect(key thread.Key, head thread.Head) (refusal, failure error) {
	l, err := w.end(key)
	switch {
	case err != nil:
		return nil, err
	case l.head != head:
		return &thread.ConflictError{Head: l.head}, nil
	}
	return nil, nil
}

func (w *writer) append(key thread.Key, after thread.Head, rows []row) (refusal, failure error) {
	l, err := w.end(key)
	switch {
	case err != nil:
		return nil, err
	case l.id == 0 && after.Seq != 0, l.id != 0 && l.head != after:
		return &thread.ConflictError{Head: l.head}, nil
	case len(rows) == 0:
		return nil, nil
	}
	w.touched = append(w.touched, key)
	last, prev := rows[len(rows)-1], l.last
	l.last = last.seq
	if l.id == 0 {
		l.head, l.updated = thread.Head{Epoch: after.Epoch, Seq: uint64(last.seq)}, last.time
		added, err := w.add.ExecContext(background, append(keyArgs(key), l.head.Epoch, last.seq, l.last, l.updated)...)
		if err != nil {
			return nil, err
		}
		if l.id, err = added.LastInsertId(); err != nil {
			return nil, err
		}
	} else {
		l.head.Seq, l.updated = uint64(last.seq), max(l.updated, last.time)
		if err := exec(w.move, last.seq, l.last, l.updated, l.id); err != nil {
			return nil, err
		}
	}
	if err := w.store(l.id, prev, rows); err != nil {
		return nil, err
	}
	w.keep(key, l)
	return nil, nil
}

// store inserts a log's rows behind the entry prev.
func (w *writer) store(log, prev int64, rows []row) error {
	for _, r := range rows {
		if err := exec(w.insert, log, r.seq, r.data, prev, checksum(r.data)); err != nil {
			return err
		}
		prev = r.seq
	}
	return nil
}

// compact replaces the entries between two numbers; callers have asked expect.
func (w *writer) compact(key thread.Key, after, upTo uint64, rows []row) error {
	l, err := w.end(key)
	if err != nil || l.id == 0 {
		return err
	}
	w.touched = append(w.touched, key)
	if err := exec(w.remove, l.id, int64(after), int64(upTo)); err != nil {
		return err
	}
	if len(rows) == 0 && after == 0 && upTo == l.head.Seq {
		delete(w.logs, key)
		return exec(w.forget, l.id)
	}
	var last int64 // of what stays in front
	if err := w.before.QueryRowContext(background, l.id, int64(after)).Scan(&last); err != nil {
		return err
	}
	if err := w.store(l.id, last, rows); err != nil {
		return err
	}
	if len(rows) > 0 {
		last = rows[len(rows)-1].seq
	}
	if int64(upTo) < l.last {
		return exec(w.relink, last, l.id, l.id, int64(upTo))
	}
	l.last = last
	w.keep(key, l)
	return exec(w.move, int64(l.head.Seq), l.last, l.updated, l.id)
}

func exec(stmt *sql.Stmt, args ...any) error {
	_, err := stmt.ExecContext(background, args...)
	return err
}

// keyArgs are a key's columns. A nil slice would be NULL.
func keyArgs(key thread.Key) []any {
	return []any{[]byte(key.Agent), []byte(key.Principal), []byte(key.ID)}
}

// scanLog reads a log's row, if there is one.
func scanLog(r *sql.Row) (l logEnd, err error) {
	var seq int64
	err = r.Scan(&l.id, &l.head.Epoch, &seq, &l.last, &l.updated)
	if errors.Is(err, sql.ErrNoRows) {
		return logEnd{}, nil
	}
	l.head.Seq = uint64(seq)
	return l, err
}
