package nats

import (
	"context"
	"strconv"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// newsAtOnce is how many messages may wait for the listener. More are dropped by
// the client library, which shows as a hole in their numbers.
const newsAtOnce = 8192

// lookTime is how often the stream is asked how far it is.
const lookTime = 500 * time.Millisecond

// listen wakes tails. The server tells of each message that it stored, without
// its body and at most once. The messages' numbers are dense, so one that was
// not told of shows with the next one; and for the last one the stream is asked
// how far it is: what it had a look ago and nobody told of since was missed.
// What was missed concerns nobody knows whom, so then all tails look.
func (s *Store) listen() {
	tick := time.NewTicker(lookTime)
	defer tick.Stop()
	var seen, owed uint64
	for {
		select {
		case msg := <-s.news:
			seq, err := strconv.ParseUint(msg.Header.Get(jetstream.SequenceHeader), 10, 64)
			if err != nil {
				continue // not of the stream: somebody publishes on its news
			}
			if seq > seen+1 {
				s.watchers.wakeAll()
			} else {
				s.watchers.wake(msg.Header.Get(jetstream.SubjectHeader))
			}
			seen = max(seen, seq)
		case <-tick.C:
			if s.watchers.none() || s.conn.Status() != natsgo.CONNECTED {
				continue
			}
			if owed > seen {
				s.watchers.wakeAll()
				seen = owed
			}
			// It does not wait long for the answer: the news do not wait for it.
			ctx, cancel := context.WithTimeout(context.Background(), lookTime)
			if last, err := s.length(ctx); err == nil {
				owed = last // else it is asked again
			}
			cancel()
		case <-s.restored:
			// A server that lost its newest messages gives their numbers again.
			seen, owed = 0, 0
			s.watchers.wakeAll()
		case <-s.closing:
			return
		}
	}
}

// watchers are those who wait for a log to change. The zero watchers are none.
type watchers struct {
	mu   sync.Mutex
	logs map[string]map[chan struct{}]struct{} // by the log's subject
}

// join returns a channel that holds a token when the log may have changed.
func (w *watchers) join(subject string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.logs == nil {
		w.logs = map[string]map[chan struct{}]struct{}{}
	}
	if w.logs[subject] == nil {
		w.logs[subject] = map[chan struct{}]struct{}{}
	}
	c := make(chan struct{}, 1)
	w.logs[subject][c] = struct{}{}
	return c
}

func (w *watchers) leave(subject string, c chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.logs[subject], c); len(w.logs[subject]) == 0 {
		delete(w.logs, subject)
	}
}

func (w *watchers) none() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.logs) == 0
}

// wake tells everybody who waits for a log. A token that is still there says
// the same.
func (w *watchers) wake(subject string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wake(w.logs[subject])
}

func (w *watchers) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, waiting := range w.logs {
		wake(waiting)
	}
}

func wake(waiting map[chan struct{}]struct{}) {
	for c := range waiting {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
