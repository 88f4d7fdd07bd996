package nats_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/nats"
)

// mortal is something that a store may die in.
type mortal struct {
	prepare func(t *testing.T, s thread.Store)
	do      func(s thread.Store) error
	// check gets what do said, and a store that has to do with what is left. At
	// its end nothing may be stored.
	check func(t *testing.T, s thread.Store, err error)
}

// run lets a store die at each of the messages that it sends to the server, one
// after the other: the server gets that one or does not get it, and none after
// it.
func (m mortal) run(t *testing.T) {
	server := start(t, t.TempDir(), 0)
	for _, c := range []struct {
		name string
		how  verdict
	}{{"before", cut}, {"behind", cutAck}} {
		for at, died := 1, true; died; at++ {
			t.Run(fmt.Sprintf("%s message %d", c.name, at), func(t *testing.T) {
				prefix := fmt.Sprintf("%s-%d", c.name, at)
				whole := open(t, server.ClientURL()+"?prefix="+prefix)
				whole.SetPatience(0)
				m.prepare(t, whole)
				var armed atomic.Bool
				var sent atomic.Int64
				url := intercept(t, server.ClientURL(), func(toServer bool, _ string) verdict {
					if toServer && armed.Load() {
						switch n := sent.Add(1); {
						case n == int64(at):
							return c.how
						case n > int64(at):
							return cut
						}
					}
					return pass
				})
				dying, err := nats.Open(context.Background(), url+"?prefix="+prefix, nil)
				if err != nil {
					t.Fatal(err)
				}
				armed.Store(true)
				err = m.do(dying)
				if err := dying.Close(); err != nil {
					t.Error(err)
				}
				died = sent.Load() >= int64(at)
				if !died && err != nil {
					t.Fatalf("nothing was in the way, and %v", err)
				}
				settle(t, server.ClientURL(), prefix)
				m.check(t, whole, err)
				if left := stored(t, server.ClientURL(), prefix); len(left) > 0 {
					t.Errorf("left are %v", left)
				}
			})
			if t.Failed() {
				return
			}
			if !died && at < 3 {
				t.Fatalf("it died at %d messages, which is too few to be true", at-1)
			}
		}
	}
}

// settle waits until a stream has done what it was sent before.
func settle(t *testing.T, url, prefix string) {
	t.Helper()
	conn, err := natsgo.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ack, err := js.Publish(t.Context(), prefix+".data.settled", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), ack.Sequence); err != nil {
		t.Fatal(err)
	}
}

// stored are the subjects of all messages of a stream.
func stored(t *testing.T, url, prefix string) map[string]uint64 {
	t.Helper()
	conn, err := natsgo.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Subjects
}

// forget forgets a log, if it is there, and finishes what others left.
func forget(t *testing.T, s thread.Store) {
	t.Helper()
	head, err := s.Head(t.Context(), key)
	if err == nil && head.Seq > 0 {
		err = s.Compact(t.Context(), key, head, 0, head.Seq, nil)
	}
	if err == nil {
		_, err = s.Stale(t.Context(), time.Now(), 10)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCompactDies (T4): a compaction leaves the old log or the new one, whole,
// wherever it ends, and the next one cleans up behind it.
func TestCompactDies(t *testing.T) {
	t.Parallel()
	const size = 25_000 // three are too many for one message
	short := append(entries(2, 2, size), entries(4, 4, 10)...)
	old := slices.Concat(entries(1, 6, size), entries(7, 8, 10))
	mortal{
		prepare: func(t *testing.T, s thread.Store) {
			head := grow(t, s, key, thread.Head{Epoch: "e"}, 3, size)
			head = grow(t, s, key, head, 6, size)
			grow(t, s, key, head, 8, 10)
		},
		do: func(s thread.Store) error {
			return s.Compact(context.Background(), key, thread.Head{Epoch: "e", Seq: 8}, 0, 5, short)
		},
		check: func(t *testing.T, s thread.Store, err error) {
			head := thread.Head{Epoch: "e", Seq: 8}
			wantHead(t, s, key, head)
			compacted := append(slices.Clone(short), old[5:]...)
			if got := read(t, s, key, 0); err == nil || len(got) == len(compacted) {
				wantEntries(t, got, compacted)
			} else {
				wantEntries(t, got, old)
			}
			head = grow(t, s, key, head, 9, 10)
			if err := s.Compact(t.Context(), key, head, 0, 5, short); err != nil {
				t.Fatal(err)
			}
			wantEntries(t, read(t, s, key, 0), append(compacted, entry(9, 10)))
			forget(t, s)
		},
	}.run(t)
}

// TestForgetDies: a log is forgotten wholly or not at all, wherever that ends.
func TestForgetDies(t *testing.T) {
	t.Parallel()
	mortal{
		prepare: func(t *testing.T, s thread.Store) {
			head := grow(t, s, key, thread.Head{Epoch: "e"}, 3, 15_000)
			grow(t, s, key, head, 4, 10)
		},
		do: func(s thread.Store) error {
			return s.Compact(context.Background(), key, thread.Head{Epoch: "e", Seq: 4}, 0, 4, nil)
		},
		check: func(t *testing.T, s thread.Store, err error) {
			got := read(t, s, key, 0)
			list, listErr := s.List(t.Context(), key.Agent, key.Principal, thread.Listed{}, 10)
			if listErr != nil || len(list) > 0 != (len(got) > 0) {
				t.Fatalf("%v, %v is listed of a log of %d entries", list, listErr, len(got))
			}
			if len(got) > 0 && err != nil {
				wantEntries(t, got, append(entries(1, 3, 15_000), entry(4, 10)))
			} else {
				wantEntries(t, got, nil)
				grow(t, s, key, thread.Head{Epoch: "e2"}, 4, 15_000)
				wantEntries(t, read(t, s, key, 0), entries(1, 4, 15_000))
			}
			forget(t, s)
		},
	}.run(t)
}

// TestAppendDies (T4): a large append, which begins a log, is stored whole or
// not at all, and where it is not, nothing of it stays.
func TestAppendDies(t *testing.T) {
	t.Parallel()
	list := entries(1, 5, 15_000)
	mortal{
		prepare: func(*testing.T, thread.Store) {},
		do: func(s thread.Store) error {
			return s.Append(context.Background(), key, thread.Head{Epoch: "e"}, list)
		},
		check: func(t *testing.T, s thread.Store, err error) {
			got := read(t, s, key, 0)
			if len(got) > 0 || err == nil {
				wantEntries(t, got, list)
			}
			var conflict *thread.ConflictError
			if err := s.Append(t.Context(), key, thread.Head{Epoch: "e"}, list[:3]); len(got) == 0 && err != nil || len(got) > 0 && !errors.As(err, &conflict) {
				t.Fatalf("the next append: %v", err)
			}
			forget(t, s)
		},
	}.run(t)
}

// TestAnswerLost: an append whose answer is lost on its way back is stored, and
// that can be seen.
func TestAnswerLost(t *testing.T) {
	t.Parallel()
	server := start(t, t.TempDir(), 0)
	var armed atomic.Bool
	s := open(t, intercept(t, server.ClientURL(), func(toServer bool, subject string) verdict {
		if toServer && armed.CompareAndSwap(true, false) {
			return cutAck
		}
		return pass
	}))
	head := grow(t, s, key, thread.Head{Epoch: "e"}, 1, 10)
	for range 5 {
		armed.Store(true)
		list := entries(head.Seq+1, head.Seq+2, 10)
		err := s.Append(t.Context(), key, head, list)
		var conflict *thread.ConflictError
		if err == nil || errors.As(err, &conflict) {
			t.Fatalf("the append said %v", err)
		}
		if err := persist(s, key, head, list); err != nil {
			t.Fatal(err)
		}
		head.Seq += 2
		wantHead(t, s, key, head)
	}
	wantEntries(t, read(t, s, key, 0), entries(1, head.Seq, 10))
}
