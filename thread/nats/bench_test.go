package nats_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/nats"
)

// batch makes entries of about 200 bytes in their stored form.
func batch(after uint64, n int) []thread.Entry {
	out := make([]thread.Entry, n)
	for i := range out {
		out[i] = thread.Entry{
			Seq: after + uint64(i) + 1, Time: time.UnixMilli(1764540000000).UTC(), Run: "run_7f3k2m9q4x", Author: "agent",
			Event: &agui.ToolCallArgs{ToolCallID: "call_7f3k2m9q4x", Delta: strings.Repeat("arguments ", 4)},
		}
	}
	return out
}

// report prints the middle and the 99th of 100 of times.
func report(b *testing.B, took []time.Duration, name string) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, name+"ms-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, name+"ms-p99")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkAppend appends batches, each stored before the next one of the same
// writer. Every writer has its own log.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct{ writers, batch int }{{1, 1}, {1, 10}, {1, 100}, {8, 1}, {32, 1}} {
		b.Run(fmt.Sprintf("writers=%d/batch=%d", c.writers, c.batch), func(b *testing.B) {
			s := open(b, start(b, b.TempDir(), 0).ClientURL())
			took := make([][]time.Duration, c.writers)
			var wg sync.WaitGroup
			b.ResetTimer()
			for w := range c.writers {
				wg.Go(func() {
					k, head := thread.Key{Agent: "bench", ID: fmt.Sprint(w)}, thread.Head{Epoch: "e"}
					for range (b.N + c.writers - 1) / c.writers {
						list := batch(head.Seq, c.batch)
						begin := time.Now()
						if err := s.Append(context.Background(), k, head, list); err != nil {
							b.Error(err)
							return
						}
						took[w] = append(took[w], time.Since(begin))
						head.Seq += uint64(c.batch)
					}
				})
			}
			wg.Wait()
			elapsed := b.Elapsed()
			b.StopTimer()
			all := slices.Concat(took...)
			b.ReportMetric(float64(len(all)*c.batch)/elapsed.Seconds(), "entries/s")
			report(b, all, "")
		})
	}
}

// BenchmarkAppendAgainstPublish takes turns between an append and what it cannot
// do without: one message of the same size, stored by the same server.
func BenchmarkAppendAgainstPublish(b *testing.B) {
	server := start(b, b.TempDir(), 0)
	s, head := open(b, server.ClientURL()), thread.Head{Epoch: "e"}
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
	var ours, bare []time.Duration
	for b.Loop() {
		list := batch(head.Seq, 1)
		begin := time.Now()
		if err := s.Append(context.Background(), key, head, list); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(begin))
		head.Seq++
		body := make([]byte, 500)
		begin = time.Now()
		if _, err := js.Publish(context.Background(), "bare.x", body); err != nil {
			b.Fatal(err)
		}
		bare = append(bare, time.Since(begin))
	}
	report(b, ours, "")
	slices.Sort(bare)
	b.ReportMetric(float64(ours[len(ours)/2])/float64(bare[len(bare)/2]), "times-publish")
}

// BenchmarkRead reads logs of 100 entries: of 100 appends that nothing lies
// between, of 100 with 1000 of others between each two, the same behind its
// middle, and after a compaction.
func BenchmarkRead(b *testing.B) {
	server := start(b, b.TempDir(), 0)
	s, other := open(b, server.ClientURL()), open(b, server.ClientURL())
	near, far, compacted := thread.Key{ID: "near"}, thread.Key{ID: "far"}, thread.Key{ID: "compacted"}
	for i := range uint64(100) {
		head := thread.Head{Epoch: "e", Seq: i}
		for _, k := range []thread.Key{near} {
			if err := s.Append(b.Context(), k, head, batch(i, 1)); err != nil {
				b.Fatal(err)
			}
		}
	}
	fill(b, server.ClientURL(), s, far)
	for i := range uint64(100) {
		if err := s.Append(b.Context(), compacted, thread.Head{Epoch: "e", Seq: i}, batch(i, 1)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Compact(b.Context(), compacted, thread.Head{Epoch: "e", Seq: 100}, 0, 100, batch(0, 100)); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		store *nats.Store
		key   thread.Key
		after uint64
	}{{"near", other, near, 0}, {"far", other, far, 0}, {"newest", s, far, 99}, {"compacted", other, compacted, 0}} {
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
			report(b, took, "")
		})
	}
}

// fill appends 100 entries to a log, and 1000 messages of others after each.
func fill(b *testing.B, url string, s *nats.Store, k thread.Key) {
	b.Helper()
	conn, err := natsgo.Connect(url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	for i := range uint64(100) {
		if err := s.Append(b.Context(), k, thread.Head{Epoch: "e", Seq: i}, batch(i, 1)); err != nil {
			b.Fatal(err)
		}
		for n := range 1000 {
			if err := conn.Publish(fmt.Sprintf("lockstep.log.other.%d", n), make([]byte, 500)); err != nil {
				b.Fatal(err)
			}
		}
		if err := conn.Flush(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTail measures the time from the beginning of an append in one
// process to the entry in the tail of another.
func BenchmarkTail(b *testing.B) {
	server := start(b, b.TempDir(), 0)
	writer, reader := open(b, server.ClientURL()), open(b, server.ClientURL())
	ctx, cancel := context.WithCancel(context.Background())
	arrived, done := make(chan time.Time), make(chan struct{})
	go func() {
		defer close(done)
		for _, err := range reader.Tail(ctx, key, 0) {
			if err == nil {
				arrived <- time.Now()
			}
		}
	}()
	head := thread.Head{Epoch: "e"}
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		if err := writer.Append(context.Background(), key, head, batch(head.Seq, 1)); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-arrived).Sub(begin))
		head.Seq++
	}
	cancel()
	<-done
	report(b, took, "")
}

// BenchmarkCompact compacts a log of which little was appended since the last
// time: what it has already is not sent again.
func BenchmarkCompact(b *testing.B) {
	for _, n := range []uint64{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := open(b, start(b, b.TempDir(), 0).ClientURL())
			head := thread.Head{Epoch: "e"}
			for head.Seq < n {
				if err := s.Append(b.Context(), key, head, batch(head.Seq, 100)); err != nil {
					b.Fatal(err)
				}
				head.Seq += 100
			}
			var took []time.Duration
			for b.Loop() {
				if err := s.Append(b.Context(), key, head, batch(head.Seq, 10)); err != nil {
					b.Fatal(err)
				}
				floor := head.Seq
				head.Seq += 10
				begin := time.Now()
				if err := s.Compact(b.Context(), key, head, floor, head.Seq, batch(floor, 5)); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begin))
			}
			report(b, took, "")
		})
	}
}

// BenchmarkList lists the threads of one principal.
func BenchmarkList(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := open(b, start(b, b.TempDir(), 0).ClientURL())
			for i := range n {
				if err := s.Append(b.Context(), thread.Key{Agent: "a", ID: fmt.Sprint(i)}, thread.Head{Epoch: "e"}, batch(0, 5)); err != nil {
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
			report(b, took, "")
		})
	}
}
