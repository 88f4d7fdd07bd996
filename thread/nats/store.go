package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep/thread"
)

// ErrClosed is what a closed store answers.
var ErrClosed = errors.New("nats: the store is closed")

// answerTime is how long the server has for one answer. A cluster that loses a
// leader elects the next one within 4 to 9 seconds; a call that falls into it
// fails and is tried again by package thread, which waits 30 s.
const answerTime = 5 * time.Second

// Options configures a store. Nil means the defaults.
type Options struct {
	// Logger gets what an operator should know: lost connections, what a crash
	// left behind. Nil: nothing is logged.
	Logger *slog.Logger
}

// Store is a thread.Store in a JetStream stream, which other processes may have
// open, too. It is safe for concurrent use.
type Store struct {
	shown    string // the URL without its user and parameters
	prefix   string
	replicas int // of the stream, when it was opened
	log      *slog.Logger
	conn     *natsgo.Conn
	js       jetstream.JetStream
	stream   jetstream.Stream
	inline   int           // bytes of entries that an append has in its own message
	part     int           // bytes of a message of a segment
	patience time.Duration // how old what somebody left undone is when others finish it
	lag      time.Duration // how long a copy of the stream may be behind its leader

	closing  chan struct{} // closed by Close
	close    sync.Once
	listener sync.WaitGroup // its one goroutine
	news     chan *natsgo.Msg
	restored chan struct{} // holds a token when the connection is there again

	lines    session
	ends     ends
	watchers watchers
}

var _ thread.Store = (*Store)(nil)

// Open opens the store that a URL names, and makes its stream where it is not
// there:
//
//	nats://USER:PASSWORD@HOST:PORT,HOST:PORT?replicas=3&prefix=lockstep&creds=FILE
//
// tls:// asks for TLS. Without a port it is 4222. Parameters are: prefix, the
// name of the stream and the first token of its subjects ("lockstep" where it is
// not given); replicas, how many servers of a cluster keep each entry (1 for a
// new stream, and what it has for one that is there: where that is another
// number the store is not opened); creds, a file of credentials. No error holds
// the password. ctx bounds the opening only.
func Open(ctx context.Context, url string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	a, err := parseAddress(url)
	if err != nil {
		return nil, err
	}
	s := &Store{
		shown: a.shown, prefix: a.prefix, log: opts.Logger, patience: time.Minute, lag: 3 * time.Second,
		closing: make(chan struct{}), news: make(chan *natsgo.Msg, newsAtOnce), restored: make(chan struct{}, 1),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.start(ctx, a); err != nil {
		if s.conn != nil {
			s.conn.Close()
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("nats: cannot open %s: %w", a.shown, err)
	}
	return s, nil
}

// start connects, opens the stream and starts to listen.
func (s *Store) start(ctx context.Context, a address) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.lines.begin()
	o := natsgo.GetDefaultOptions()
	o.Servers = a.servers
	o.Name = "lockstep"
	o.AllowReconnect, o.MaxReconnect = true, -1
	o.ReconnectWait = 250 * time.Millisecond
	// What cannot be sent now fails now: a message that waited for the
	// connection would come when its writer has long asked what became of it.
	o.ReconnectBufSize = -1
	o.Timeout = answerTime
	// A half-open connection is found within this, not within minutes.
	o.PingInterval, o.MaxPingsOut = 10*time.Second, 2
	o.IgnoreAuthErrorAbort = true // a password may be being changed
	o.DisconnectedErrCB = func(_ *natsgo.Conn, err error) {
		s.lines.lost()
		if err != nil {
			s.log.Warn("the connection to the store is lost", "store", s.shown, "error", err)
		}
	}
	o.ReconnectedCB = func(*natsgo.Conn) {
		s.ends.drop()
		s.lines.begin()
		select {
		case s.restored <- struct{}{}:
		default:
		}
		s.log.Info("the store is connected again", "store", s.shown)
	}
	o.AsyncErrorCB = func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) {
		s.log.Warn("the store's connection", "store", s.shown, "error", err)
	}
	if a.creds != "" {
		if err := natsgo.UserCredentials(a.creds)(&o); err != nil {
			return err
		}
	}
	var err error
	if s.conn, err = o.Connect(); err != nil {
		return err
	}
	const header = 32 << 10 // what goes before a body, at the very most
	most := int(s.conn.MaxPayload()) - header
	if most < 16<<10 {
		return fmt.Errorf("the server takes messages of %d bytes (max_payload); it has to take 48 KB", s.conn.MaxPayload())
	}
	if v := s.conn.ConnectedServerVersion(); !atLeast(v, 2, 11) {
		return fmt.Errorf("the server is nats-server %s; it has to be 2.11 or newer", v)
	}
	s.inline, s.part = min(inlineBytes, most), min(partBytes, most)
	if err := s.openStream(ctx, a.replicas); err != nil {
		return err
	}
	if s.replicas == 1 {
		s.log.Warn("the store's stream has one replica: unless its server has sync_interval: always, a power cut can lose the newest entries", "store", s.shown, "stream", s.prefix)
	}
	sub, err := s.conn.ChanSubscribe(s.prefix+".new.>", s.news)
	if err != nil {
		return err
	}
	if err := s.conn.FlushTimeout(answerTime); err != nil {
		return err
	}
	s.listener.Go(func() {
		s.listen()
		_ = sub.Unsubscribe() // the connection is closed next in any case
	})
	return nil
}

// atLeast reports whether a version is major.minor or a later one.
func atLeast(version string, major, minor int) bool {
	var a, b int
	if n, err := fmt.Sscanf(version, "%d.%d", &a, &b); n != 2 || err != nil {
		return false
	}
	return a > major || a == major && b >= minor
}

// Shared says that other processes may have the store open, too, so that a log
// can grow behind this one's back. It does nothing.
func (s *Store) Shared() {}

// Close ends every call that is under way, and every Tail with ErrClosed, and
// closes the connection. An append that it interrupts may be stored or not.
// Calling it again does nothing.
func (s *Store) Close() error {
	s.close.Do(func() {
		close(s.closing)
		s.lines.lost()
		s.listener.Wait()
		s.conn.Close()
	})
	return nil
}

// session is the time between two losses of the connection. Requests that were
// sent in one get no answer in the next.
type session struct {
	mu  sync.Mutex
	ctx context.Context
	end context.CancelFunc
}

func (l *session) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end != nil {
		l.end()
	}
	l.ctx, l.end = context.WithCancel(context.Background())
}

func (l *session) lost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

func (l *session) current() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ctx
}

// within is ctx for one request: it ends with answerTime, and when the
// connection is lost, because the answer is, too.
func (s *Store) within(ctx context.Context) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithTimeout(ctx, answerTime)
	stop := context.AfterFunc(s.lines.current(), cancel)
	return bounded, func() { stop(); cancel() }
}

// unavailable says that the server was not reached, did not answer or could not
// do it now (no leader, no room): what was asked for may have been done or not,
// and can be asked for again.
type unavailable struct{ reason error }

func (e *unavailable) Error() string {
	if refusal := (*jetstream.APIError)(nil); errors.As(e.reason, &refusal) {
		return "the server cannot do it now: " + refusal.Description
	}
	return "the server cannot be reached: " + e.reason.Error()
}
func (e *unavailable) Unwrap() error { return e.reason }

// failed says why a request failed. ctx is the caller's.
func (s *Store) failed(ctx context.Context, err error) error {
	var refusal *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case s.isClosed():
		return ErrClosed
	case errors.As(err, &refusal) && refusal.Code < 500:
		return err
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, natsgo.ErrTimeout):
		return &unavailable{fmt.Errorf("no answer within %v", answerTime)}
	case errors.Is(err, context.Canceled): // of within, which is not ctx
		return &unavailable{errors.New("the connection was lost")}
	case errors.As(err, &refusal), errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, natsgo.ErrNoResponders),
		errors.Is(err, natsgo.ErrReconnectBufExceeded), errors.Is(err, natsgo.ErrConnectionReconnecting), errors.Is(err, natsgo.ErrDisconnected):
		return &unavailable{err}
	}
	return err
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// wrap says which thread and which store an error is about, where the caller
// does not look at what it is.
func (s *Store) wrap(ctx context.Context, key thread.Key, err error) error {
	var conflict *thread.ConflictError
	switch {
	case err == nil, err == ctx.Err(), err == ErrClosed, errors.As(err, &conflict):
		return err
	case key.ID == "":
		return fmt.Errorf("nats: %s: %w", s.shown, err)
	}
	return fmt.Errorf("nats: %s, thread %.100q: %w", s.shown, key.ID, err)
}

// cachedEnds is how many logs' ends are kept in memory.
const cachedEnds = 4096

// ends are where logs were last seen to end, so that who goes on there needs no
// question first. They may be out of date: an append that builds on one is
// refused by the server then, and a read sees the log's messages not join.
type ends struct {
	mu   sync.Mutex
	logs map[string]end // by the subject of the log
}

func (c *ends) get(subject string) end {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.logs[subject]
}

func (c *ends) put(subject string, e end) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !e.there() {
		delete(c.logs, subject)
		return
	}
	if c.logs == nil {
		c.logs = map[string]end{}
	}
	if _, ok := c.logs[subject]; !ok && len(c.logs) >= cachedEnds {
		for other := range c.logs {
			delete(c.logs, other)
			break
		}
	}
	c.logs[subject] = e
}

// drop forgets them all: a server that was gone may have come back without its
// newest messages, and give their numbers to others.
func (c *ends) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.logs)
}
