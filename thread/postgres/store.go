package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lockstep-go/lockstep/thread"
)

// ErrClosed is what a closed store answers.
var ErrClosed = errors.New("postgres: the store is closed")

// Options configures a store. Nil means the defaults.
type Options struct {
	// Connections is how many connections the store uses at most, beside the one
	// that listens. Zero means pool_max_conns of the URL, else 10.
	Connections int
	// Logger gets what goes wrong where no caller can be told: connections that
	// are lost and made again. Nil means slog.Default.
	Logger *slog.Logger
}

// Store is a thread.SharedStore in a database. It is safe for concurrent use.
type Store struct {
	shown  string // the server and database, for people
	pool   *pgxpool.Pool
	config *pgx.ConnConfig // of the connection that listens
	log    *slog.Logger
	self   string // tells this store's notifications from others'

	closing    chan struct{}   // closed by Close
	base       context.Context // of the goroutines: ended when Close begins
	cancelBase context.CancelFunc
	calls      context.Context // of what callers asked for: ended when Close has waited long enough
	cancel     context.CancelFunc
	goroutines sync.WaitGroup
	close      sync.Once

	watchers  watchers
	announced announcements
}

var _ thread.SharedStore = (*Store)(nil)

const (
	// connections is how many there are at most where nobody says how many.
	connections = 10
	// connectTime bounds how long making a connection takes where the URL has no
	// connect_timeout.
	connectTime = 10 * time.Second
	// closeTime is how long Close waits for calls that are under way.
	closeTime = 5 * time.Second
)

// Open opens the store in the database that a URL names, postgres://… or
// postgresql://… with the parameters of libpq, and makes its tables where they
// are not there. What the URL leaves out is taken from the environment (PGHOST,
// PGPASSWORD, …) and ~/.pgpass. ctx bounds only Open itself. Errors are one line
// that names the server and never the password.
func Open(ctx context.Context, url string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	if opts.Connections > 0 {
		config.MaxConns = int32(min(opts.Connections, 10_000))
	}
	s := &Store{
		shown: shown(config.ConnConfig), config: config.ConnConfig.Copy(),
		log: cmp.Or(opts.Logger, slog.Default()), self: rand.Text()[:8],
		closing: make(chan struct{}),
	}
	s.announced.ready = make(chan struct{}, 1)
	s.base, s.cancelBase = context.WithCancel(context.Background())
	s.calls, s.cancel = context.WithCancel(context.Background())
	// It makes no connection yet, so ctx says nothing here; it would be kept.
	if s.pool, err = pgxpool.NewWithConfig(s.base, config); err == nil {
		if err = s.prepare(ctx); err != nil {
			s.pool.Close()
		}
	}
	if err != nil {
		s.cancelBase()
		s.cancel()
		return nil, s.cannotOpen(ctx, err)
	}
	s.goroutines.Go(s.listen)
	s.goroutines.Go(s.poll)
	s.goroutines.Go(s.announce)
	s.goroutines.Go(s.sweepNowAndThen)
	return s, nil
}

// Shared says that several processes may have the store open at once.
func (*Store) Shared() {}

// Close ends every Read and Tail with ErrClosed, waits for the calls that are
// under way, at most 5 seconds, and closes the connections. Calling it again
// does nothing. It returns nil: there is nothing that would be lost.
func (s *Store) Close() error {
	s.close.Do(func() {
		close(s.closing)
		s.cancelBase()
		s.goroutines.Wait()
		impatient := time.AfterFunc(closeTime, s.cancel)
		s.pool.Close()
		impatient.Stop()
		s.cancel()
	})
	return nil
}

// closed reports whether Close was called.
func (s *Store) closed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// within returns a context that ends with ctx, and when Close has no patience
// any more.
func (s *Store) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.calls, cancel)
	return ctx, func() { stop(); cancel() }
}

// read runs something that changes nothing. A connection that broke without
// anybody noticing is found out by using it, so what meets one is done again.
func (s *Store) read(ctx context.Context, f func(ctx context.Context) error) error {
	if s.closed() {
		return ErrClosed
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	err := f(ctx)
	for tries := 0; tries < 3 && broken(err) && ctx.Err() == nil; tries++ {
		err = f(ctx)
	}
	return err
}

// write runs something whole transactions of which fail without a trace, or
// before anything reached the server; these are done again.
func (s *Store) write(ctx context.Context, f func(ctx context.Context) error) error {
	if s.closed() {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	err := f(ctx)
	for tries := 0; tries < 10 && undone(err) && ctx.Err() == nil; tries++ {
		err = f(ctx)
	}
	return err
}

// wrap makes an error of a call one that says where it happened.
func (s *Store) wrap(ctx context.Context, key thread.Key, err error) error {
	var conflict *thread.ConflictError
	switch {
	case err == nil, errors.As(err, &conflict):
		return err
	case errors.Is(err, ErrClosed), s.closed():
		return ErrClosed
	case ctx.Err() != nil:
		return ctx.Err()
	case key.ID == "":
		return &failure{fmt.Sprintf("postgres: %s: %s", s.shown, line(err)), err}
	}
	return &failure{fmt.Sprintf("postgres: thread %.100q on %s: %s", key.ID, s.shown, line(err)), err}
}
