package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// channel is what notifications are sent on. It belongs to the database, not
	// to the schema: those of other stores wake nobody.
	channel = "lockstep"
	// noticeLogs is how many logs one notification names. The server takes less
	// than 8000 bytes.
	noticeLogs = 200
	// pollEvery is how long a log's growth may be missed.
	pollEvery = time.Second
	// askTime bounds what a goroutine of the store asks the server.
	askTime = 5 * time.Second
)

// tag is what a log is known by in notifications. Two logs of one tag would wake
// each other's tails, no more.
type tag [16]byte

func (k id) tag() tag { return tag(k[:16]) }

// announcements are the logs that changed here and that the others were not told
// of yet.
type announcements struct {
	mu    sync.Mutex
	logs  map[tag]struct{}
	ready chan struct{} // has a token where there are some
}

// announceLog tells everybody that a log has changed: here at once, elsewhere
// soon.
func (s *Store) announceLog(k id) {
	s.watchers.wake(k.tag())
	s.announced.add(k.tag())
}

// add adds a log to those that others have to be told of.
func (a *announcements) add(t tag) {
	a.mu.Lock()
	if a.logs == nil {
		a.logs = map[tag]struct{}{}
	}
	a.logs[t] = struct{}{}
	a.mu.Unlock()
	select {
	case a.ready <- struct{}{}:
	default:
	}
}

// take returns notifications for all that was announced.
func (a *announcements) take(self string) (notices []string) {
	a.mu.Lock()
	logs := a.logs
	a.logs = nil
	a.mu.Unlock()
	var text strings.Builder
	n := 0
	for t := range logs {
		if n == 0 {
			text.WriteString(self)
		}
		text.WriteByte(' ')
		text.WriteString(hex.EncodeToString(t[:]))
		if n++; n == noticeLogs {
			notices, n = append(notices, text.String()), 0
			text.Reset()
		}
	}
	if n > 0 {
		notices = append(notices, text.String())
	}
	return notices
}

// announce sends notifications until the store closes. What comes in while one
// is sent goes with the next.
func (s *Store) announce() {
	for open := true; open; {
		select {
		case <-s.announced.ready:
		case <-s.closing:
			open = false // a last time
		}
		notices := s.announced.take(s.self)
		if len(notices) == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(s.calls, askTime)
		_, err := s.pool.Exec(ctx, "SELECT pg_notify($1, n) FROM unnest($2::text[]) n", channel, notices)
		cancel()
		if err != nil {
			s.log.Warn("other processes could not be told; they will find out within a second", "store", s.shown, "error", line(err))
		}
	}
}

// listen hears notifications until the store closes, over as many connections as
// it takes.
func (s *Store) listen() {
	const first, most = 50 * time.Millisecond, 5 * time.Second
	for pause := first; ; pause = min(2*pause, most) {
		err := s.hear(func() { pause = first })
		if s.closed() {
			return
		}
		s.log.Warn("the connection that listens was lost, making another one", "store", s.shown, "error", line(err))
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.closing:
			timer.Stop()
			return
		}
	}
}

// hear listens on one connection until it breaks. It calls connected when it
// listens.
func (s *Store) hear(connected func()) error {
	conn, err := pgx.ConnectConfig(s.base, s.config.Copy())
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), askTime)
		defer cancel()
		_ = conn.Close(ctx) // nothing is lost with it
		select {
		case <-conn.PgConn().CleanupDone():
		case <-ctx.Done():
		}
	}()
	if _, err := conn.Exec(s.base, "LISTEN "+channel); err != nil {
		return err
	}
	connected()
	s.watchers.wakeAll() // there was nobody to hear for a while
	for {
		n, err := conn.WaitForNotification(s.base)
		if err != nil {
			return err
		}
		s.heard(n.Payload)
	}
}

// heard wakes those who wait for the logs that a notification names. Anybody who
// may use the database can send one, so it may be anything.
func (s *Store) heard(payload string) {
	self, rest, _ := strings.Cut(payload, " ")
	if self == s.self {
		return // they were woken at once
	}
	for name := range strings.SplitSeq(rest, " ") {
		var t tag
		if len(name) != hex.EncodedLen(len(t)) {
			continue
		}
		if _, err := hex.Decode(t[:], []byte(name)); err == nil {
			s.watchers.wake(t)
		}
	}
}

// poll asks once a second which logs have grown that somebody waits for, until
// the store closes.
func (s *Store) poll() {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for well := true; ; {
		select {
		case <-tick.C:
		case <-s.closing:
			return
		}
		ctx, cancel := context.WithTimeout(s.base, askTime)
		err := s.compare(ctx)
		cancel()
		if err != nil && well && !s.closed() {
			s.log.Warn("the store cannot be asked what is new, trying again every second", "store", s.shown, "error", line(err))
		}
		well = err == nil
	}
}

const pollLogs = `SELECT key, log, seq FROM lockstep_logs WHERE key = ANY($1::bytea[])`

// compare wakes those whose log does not end any more where they have read to.
func (s *Store) compare(ctx context.Context) error {
	waiting := s.watchers.all()
	if len(waiting) == 0 {
		return nil
	}
	keys := make([][]byte, 0, len(waiting))
	asked := map[id]bool{}
	for _, w := range waiting {
		if !asked[w.key] {
			asked[w.key] = true
			keys = append(keys, w.key[:])
		}
	}
	rows, err := s.pool.Query(ctx, pollLogs, keys)
	if err != nil {
		return err
	}
	ends := map[id]place{}
	var key []byte
	var at place
	_, err = pgx.ForEachRow(rows, []any{&key, &at.log, &at.seq}, func() error {
		if len(key) != len(id{}) {
			return fmt.Errorf("lockstep_logs has a key of %d bytes; the table is damaged", len(key))
		}
		ends[id(key)] = at
		return nil
	})
	if err != nil {
		return err
	}
	for _, w := range waiting {
		w.compare(ends[w.key])
	}
	return nil
}
