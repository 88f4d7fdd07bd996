package nats_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/nats"
	"github.com/lockstep-go/lockstep/thread/storetest"
)

func fresh(b *testing.B) thread.Store { return open(b, start(b, b.TempDir(), 0).ClientURL()) }

func Benchmark(b *testing.B) { storetest.Bench(b, fresh) }

// BenchmarkAppendAgainstPublish takes turns between an append and what it cannot
// do without: one message of the same size, stored by the same server.
func BenchmarkAppendAgainstPublish(b *testing.B) {
	server := start(b, b.TempDir(), 0)
	s := open(b, server.ClientURL())
	conn, err := natsgo.Connect(server.ClientURL())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "bare", Subjects: []string{"bare.>"}}); err != nil {
		b.Fatal(err)
	}
	log, body := &storetest.Log{Store: s, Key: thread.Key{ID: "t"}}, make([]byte, 500)
	storetest.BenchAgainst(b, func() time.Duration { return log.Append(b, 1) }, func() time.Duration {
		begin := time.Now()
		if _, err := js.Publish(context.Background(), "bare.x", body); err != nil {
			b.Fatal(err)
		}
		return time.Since(begin)
	})
}

// BenchmarkRead reads logs of 100 entries: of 100 appends that nothing lies
// between, of 100 with 1000 of others between each two, the same behind its
// middle, and after a compaction.
func BenchmarkRead(b *testing.B) {
	server := start(b, b.TempDir(), 0)
	s, other := open(b, server.ClientURL()), open(b, server.ClientURL())
	near, compacted := &storetest.Log{Store: s, Key: thread.Key{ID: "near"}}, &storetest.Log{Store: s, Key: thread.Key{ID: "compacted"}}
	for range 100 {
		near.Append(b, 1)
		compacted.Append(b, 1)
	}
	far := fill(b, server.ClientURL(), s)
	if err := s.Compact(b.Context(), compacted.Key, compacted.Head, 0, 100, storetest.Batch(0, 100)); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		store *nats.Store
		key   thread.Key
		after uint64
	}{{"near", other, near.Key, 0}, {"far", other, far.Key, 0}, {"newest", s, far.Key, 99}, {"compacted", other, compacted.Key, 0}} {
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				begin, n := time.Now(), uint64(0)
				for _, err := range c.store.Read(context.Background(), c.key, c.after) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				took = append(took, time.Since(begin))
				if n != 100-c.after {
					b.Fatal(n)
				}
			}
			storetest.ReportTimes(b, "", took)
		})
	}
}

// fill makes a log of 100 appends with 1000 messages of others after each.
func fill(b *testing.B, url string, s *nats.Store) *storetest.Log {
	b.Helper()
	conn, err := natsgo.Connect(url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	log := &storetest.Log{Store: s, Key: thread.Key{ID: "far"}}
	for range 100 {
		log.Append(b, 1)
		for n := range 1000 {
			if err := conn.Publish(fmt.Sprintf("lockstep.log.other.%d", n), make([]byte, 500)); err != nil {
				b.Fatal(err)
			}
		}
		if err := conn.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	return log
}

// BenchmarkTailOfAnother has two processes' stores on one server.
func BenchmarkTailOfAnother(b *testing.B) {
	server := start(b, b.TempDir(), 0)
	storetest.BenchTail(b, open(b, server.ClientURL()), open(b, server.ClientURL()))
}

// BenchmarkCompact compacts a log of which little was appended since the last
// time: what it has already is not sent again.
func BenchmarkCompact(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			log := &storetest.Log{Store: fresh(b), Key: thread.Key{ID: "t"}}
			log.Fill(b, n)
			var took []time.Duration
			for b.Loop() {
				floor := log.Head.Seq
				log.Append(b, 10)
				begin := time.Now()
				if err := log.Store.Compact(b.Context(), log.Key, log.Head, floor, log.Head.Seq, storetest.Batch(floor, 5)); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begin))
			}
			storetest.ReportTimes(b, "", took)
		})
	}
}

// BenchmarkList lists the threads of one principal.
func BenchmarkList(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := fresh(b)
			for i := range n {
				if err := s.Append(b.Context(), thread.Key{Agent: "a", ID: fmt.Sprint(i)}, thread.Head{Epoch: "e"}, storetest.Batch(0, 5)); err != nil {
					b.Fatal(err)
				}
			}
			var took []time.Duration
			for b.Loop() {
				begin := time.Now()
				if list, err := s.List(b.Context(), "a", "", thread.Listed{}, 20); err != nil || len(list) != 20 {
					b.Fatal(list, err)
				}
				took = append(took, time.Since(begin))
			}
			storetest.ReportTimes(b, "", took)
		})
	}
}
