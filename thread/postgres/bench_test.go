package postgres_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/pgtest"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/postgres"
)

// durable is a store on a server that waits for its disk.
func durable(b *testing.B) *postgres.Store {
	b.Helper()
	s, err := postgres.Open(context.Background(), pgtest.Start(b, "fsync=on").URL(), &postgres.Options{Connections: 32})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

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

// report reports the middle and the slow end of what was measured.
func report(b *testing.B, name string, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, name+"ms-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, name+"ms-p99")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkAppend appends batches, each on disk before the next one of the same
// writer. Every writer has its own log.
func BenchmarkAppend(b *testing.B) {
	s := durable(b)
	for _, c := range []struct{ writers, batch int }{{1, 1}, {1, 10}, {1, 100}, {8, 1}, {8, 10}, {32, 1}} {
		b.Run(fmt.Sprintf("writers=%d/batch=%d", c.writers, c.batch), func(b *testing.B) {
			took := make([][]time.Duration, c.writers)
			var wg sync.WaitGroup
			run := fmt.Sprint(b.Name(), time.Now().UnixNano())
			for w := range c.writers { // so that the connections are there
				wg.Go(func() {
					grow(b, s, thread.Key{Agent: "warm " + run, ID: fmt.Sprint(w)}, thread.Head{Epoch: "e"}, 10)
				})
			}
			wg.Wait()
			b.ResetTimer()
			for w := range c.writers {
				wg.Go(func() {
					key, head := thread.Key{Agent: run, ID: fmt.Sprint(w)}, thread.Head{Epoch: "e"}
					for range (b.N + c.writers - 1) / c.writers {
						list := batch(head.Seq, c.batch)
						begin := time.Now()
						if err := s.Append(context.Background(), key, head, list); err != nil {
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
			if b.Failed() {
				return
			}
			all := slices.Concat(took...)
			report(b, "", all)
			b.ReportMetric(float64(len(all)*c.batch)/elapsed.Seconds(), "entries/s")
		})
	}
}

// BenchmarkAppendAgainstSync takes turns between an append and what the server
// cannot do without: a write of the same bytes at the end of a file, and a sync
// of it.
func BenchmarkAppendAgainstSync(b *testing.B) {
	s := durable(b)
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) {
			key, head := thread.Key{ID: fmt.Sprint(b.Name(), time.Now().UnixNano())}, thread.Head{Epoch: "e"}
			f, err := os.Create(filepath.Join(b.TempDir(), "file"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			var ours, bare []time.Duration
			for b.Loop() {
				list := batch(head.Seq, n)
				begin := time.Now()
				if err := s.Append(context.Background(), key, head, list); err != nil {
					b.Fatal(err)
				}
				ours = append(ours, time.Since(begin))
				head.Seq += uint64(n)
				var text []byte
				for _, e := range list {
					text = thread.AppendEntry(text, e)
				}
				begin = time.Now()
				if _, err := f.Write(text); err != nil {
					b.Fatal(err)
				}
				if err := f.Sync(); err != nil {
					b.Fatal(err)
				}
				bare = append(bare, time.Since(begin))
			}
			report(b, "", ours)
			report(b, "bare-", bare)
			b.ReportMetric(float64(ours[len(ours)/2])/float64(bare[len(bare)/2]), "times-bare")
		})
	}
}

// BenchmarkReplayAgainstDecode takes turns between a replay of a log and the
// decoding of the same bytes from memory.
func BenchmarkReplayAgainstDecode(b *testing.B) {
	const n = 20_000
	s, key := durable(b), thread.Key{ID: "t"}
	texts := make([][]byte, n)
	for at := uint64(0); at < n; at += 1000 {
		list := batch(at, 1000)
		if err := s.Append(context.Background(), key, thread.Head{Epoch: "e", Seq: at}, list); err != nil {
			b.Fatal(err)
		}
		for i, e := range list {
			texts[at+uint64(i)] = thread.AppendEntry(nil, e)
		}
	}
	var ours, bare time.Duration
	var first []time.Duration
	for b.Loop() {
		begin, read := time.Now(), 0
		for _, err := range s.Read(context.Background(), key, 0) {
			if err != nil {
				b.Fatal(err)
			}
			if read++; read == 1 {
				first = append(first, time.Since(begin))
			}
		}
		ours += time.Since(begin)
		begin = time.Now()
		for _, text := range texts {
			if _, err := thread.DecodeEntry(text); err != nil {
				b.Fatal(err)
			}
		}
		bare += time.Since(begin)
	}
	report(b, "first-", first)
	b.ReportMetric(float64(ours)/float64(bare), "times-decode")
	b.ReportMetric(float64(n*b.N)/ours.Seconds(), "entries/s")
}

// BenchmarkTail measures the way from one process to another: from the end of an
// append to the entry in the other's tail.
func BenchmarkTail(b *testing.B) {
	server := pgtest.Start(b, "fsync=on")
	mine, theirs := open(b, server.URL()), open(b, server.URL())
	key, head := thread.Key{ID: "t"}, thread.Head{Epoch: "e"}
	ctx, cancel := context.WithCancel(context.Background())
	came := make(chan time.Time)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, err := range mine.Tail(ctx, key, 0) {
			if err != nil {
				return
			}
			came <- time.Now()
		}
	}()
	var took []time.Duration
	for b.Loop() {
		if err := theirs.Append(context.Background(), key, head, batch(head.Seq, 1)); err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		took = append(took, (<-came).Sub(begin))
		head.Seq++
	}
	cancel()
	<-done
	report(b, "", took)
}
