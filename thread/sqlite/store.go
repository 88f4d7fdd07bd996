package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/lockstep-go/lockstep/thread"
)

// ErrClosed is what a closed store answers.
var ErrClosed = errors.New("sqlite: the store is closed")

// Options configures a store. Nil means the defaults.
type Options struct {
	// Readers is how many connections may read at the same time. Zero means 8.
	Readers int
}

// Store is a thread.Store in a file. It is safe for concurrent use.
type Store struct {
	path   string // symbolic links resolved
	owner  *owner
	reader *reader
	writer *writer

	requests chan *request // unbuffered: the runtime queues who sends, in order
	closing  chan struct{} // closed by Close
	written  chan struct{} // closed when the writer's goroutine has ended
	close    sync.Once
	failed   error // of Close

	watchers watchers
}

var _ thread.Store = (*Store)(nil)

// Open opens the store in the file at path and makes it where it is not there.
// The error is a *HeldError where another process has it open.
func Open(path string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	if path == "" {
		return nil, errors.New("sqlite: the store needs a file name")
	}
	real, err := realPath(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: cannot find %s: %w", path, err)
	}
	owner, err := own(real)
	if err != nil {
		return nil, err
	}
	s := &Store{
		path: real, owner: owner,
		requests: make(chan *request), closing: make(chan struct{}), written: make(chan struct{}),
	}
	if err := s.start(opts); err != nil {
		return nil, errors.Join(err, owner.release())
	}
	return s, nil
}

// start opens the connections and starts the writer.
func (s *Store) start(opts *Options) error {
	if err := prepare(s.path); err != nil {
		return err
	}
	var err error
	if s.writer, err = openWriter(s.path); err != nil {
		return err
	}
	if s.reader, err = openReader(s.path, cmp.Or(max(opts.Readers, 0), 8)); err != nil {
		return errors.Join(err, s.writer.close())
	}
	go s.write()
	return nil
}

// Close waits for the appends that were taken up, ends every Read and Tail with
// ErrClosed, folds the write-ahead log into the file and gives the file back.
// Calling it again returns the same.
func (s *Store) Close() error {
	s.close.Do(func() {
		close(s.closing)
		<-s.written
		// The writer's connection is the last one: closing it checkpoints.
		err := errors.Join(s.reader.close(), s.writer.close())
		if err != nil {
			err = fmt.Errorf("sqlite: closing %s: %w", s.path, err)
		}
		s.failed = errors.Join(err, s.owner.release())
	})
	return s.failed
}

// request is something for the writer to do.
type request struct {
	key   thread.Key
	bytes int // of what it stores, about
	// work does it, inside a transaction. After a refusal it has changed
	// nothing; after a failure the transaction is taken back.
	work func() (refusal, failure error)
	// around, where it is set, is called with the transaction, which then has
	// no other request in it.
	around func(transaction func() error) error
	done   chan error
}

// do hands a request to the writer. Until the writer takes it up ctx can end
// the wait; after that the outcome is waited for, because nobody could tell
// what became of it otherwise.
func (s *Store) do(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err // select would choose at random
	}
	r.done = make(chan error, 1)
	select {
	case s.requests <- r:
		return <-r.done
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return ErrClosed
	}
}

// Append implements thread.Store. When it returns nil the entries are on disk.
// A ctx that ends while the append waits to be taken up ends it; from then on
// its outcome is waited for.
func (s *Store) Append(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry) error {
	if err := thread.CheckAppend(key, after, entries); err != nil {
		return err
	}
	rows, size := encode(entries) // here, because here it is done side by side
	return s.do(ctx, &request{key: key, bytes: size, work: func() (error, error) {
		return s.writer.append(key, after, rows)
	}})
}

// Compact implements thread.Store, in one transaction.
func (s *Store) Compact(ctx context.Context, key thread.Key, head thread.Head, after, upTo uint64, entries []thread.Entry) error {
	rows, size := encode(entries)
	return s.do(ctx, &request{
		key: key, bytes: size,
		work: func() (error, error) {
			if refusal, failure := s.writer.expect(key, head); refusal != nil || failure != nil {
				return refusal, failure
			}
			if err := thread.CheckCompact(key, head, after, upTo, entries); err != nil {
				return err, nil
			}
			return nil, s.writer.compact(key, after, upTo, rows)
		},
		around: func(transaction func() error) error { return s.reader.frozen(key, transaction) },
	})
}

// row is an entry as it is stored.
type row struct {
	seq  int64
	time int64 // Unix milliseconds
	data []byte
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(data []byte) int64 { return int64(crc32.Checksum(data, castagnoli)) }

func encode(entries []thread.Entry) (rows []row, size int) {
	rows = make([]row, len(entries))
	for i, e := range entries {
		rows[i] = row{seq: int64(e.Seq), time: e.Time.UnixMilli(), data: thread.AppendEntry(nil, e)}
		size += len(rows[i].data)
	}
	return rows, size
}
