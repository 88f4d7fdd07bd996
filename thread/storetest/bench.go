package storetest

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
	"github.com/lockstep-go/lockstep/thread"
)

// Bench measures what a thread costs on a store: appends of one and of several
// writers, a whole log read, and the way to another reader's tail. open is that
// of Run.
func Bench(b *testing.B, open func(b *testing.B) thread.Store) {
	b.Run("Append", func(b *testing.B) {
		for _, c := range []struct{ writers, batch int }{{1, 1}, {1, 10}, {1, 100}, {1, 1000}, {8, 1}, {8, 10}, {32, 1}} {
			b.Run(fmt.Sprintf("writers=%d/batch=%d", c.writers, c.batch), func(b *testing.B) { benchAppend(b, open(b), c.writers, c.batch) })
		}
	})
	b.Run("Replay", func(b *testing.B) { benchReplay(b, open(b)) })
	b.Run("Tail", func(b *testing.B) {
		s := open(b)
		BenchTail(b, s, s)
	})
}

// Batch makes n entries behind after, of about 200 bytes in their stored form.
func Batch(after uint64, n int) []thread.Entry {
	out := make([]thread.Entry, n)
	for i := range out {
		out[i] = thread.Entry{
			Seq: after + uint64(i) + 1, Time: time.UnixMilli(1764540000000).UTC(), Run: "run_7f3k2m9q4x", Author: "agent",
			Event: &agui.ToolCallArgs{ToolCallID: "call_7f3k2m9q4x", Delta: strings.Repeat("arguments ", 4)},
		}
	}
	return out
}

// Log is one log that a benchmark appends to. With a zero Head it is not there yet.
type Log struct {
	Store thread.Store
	Key   thread.Key
	Head  thread.Head
}

func newLog(s thread.Store, id string) *Log {
	return &Log{Store: s, Key: thread.Key{Agent: "bench", ID: id}}
}

// Append appends a Batch of n, and says how long that took.
func (l *Log) Append(b testing.TB, n int) time.Duration {
	list := Batch(l.Head.Seq, n)
	if l.Head.Epoch == "" {
		l.Head.Epoch = "e"
	}
	begin := time.Now()
	if err := l.Store.Append(context.Background(), l.Key, l.Head, list); err != nil {
		b.Error(err)
	}
	l.Head.Seq += uint64(n)
	return time.Since(begin)
}

// Fill appends until the log has n entries.
func (l *Log) Fill(b testing.TB, n int) {
	b.Helper()
	for l.Head.Seq < uint64(n) && !b.Failed() {
		l.Append(b, min(1000, n-int(l.Head.Seq)))
	}
}

// ReportTimes reports the middle of some times and the 99th of 100 in
// milliseconds, instead of the time of a loop.
func ReportTimes(b *testing.B, name string, took []time.Duration) {
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, name+"ms-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, name+"ms-p99")
	b.ReportMetric(0, "ns/op")
}

// BenchAgainst takes turns between a piece of work and what it cannot do without.
// Both meet the same machine, so their ratio, under the name times-bare, says
// something about the code.
func BenchAgainst(b *testing.B, work, bare func() time.Duration) {
	var ours, theirs []time.Duration
	for b.Loop() {
		ours = append(ours, work())
		theirs = append(theirs, bare())
	}
	ReportTimes(b, "", ours)
	ReportTimes(b, "bare-", theirs)
	b.ReportMetric(float64(ours[len(ours)/2])/float64(theirs[len(theirs)/2]), "times-bare")
}

// BenchAppendAgainstSync holds appends, each on disk before the next one, against
// a write of the same bytes at the end of a file, and a sync of it.
func BenchAppendAgainstSync(b *testing.B, open func(b *testing.B) thread.Store) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) {
			log := newLog(open(b), "sync")
			f, err := os.Create(filepath.Join(b.TempDir(), "file"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			var text []byte
			for _, e := range Batch(1000, n) {
				text = thread.AppendEntry(text, e)
			}
			BenchAgainst(b, func() time.Duration { return log.Append(b, n) }, func() time.Duration {
				begin := time.Now()
				if _, err := f.Write(text); err != nil {
					b.Fatal(err)
				}
				if err := f.Sync(); err != nil {
					b.Fatal(err)
				}
				return time.Since(begin)
			})
		})
	}
}

// benchAppend appends batches, each acknowledged before the next one of the same
// writer. Every writer has its own log.
func benchAppend(b *testing.B, s thread.Store, writers, batch int) {
	logs := make([]*Log, writers)
	took := make([][]time.Duration, writers)
	var wg sync.WaitGroup
	for w := range logs {
		logs[w] = newLog(s, fmt.Sprint(w))
		wg.Go(func() { logs[w].Append(b, 1) }) // so that connections are there
	}
	wg.Wait()
	b.ResetTimer()
	for w, log := range logs {
		wg.Go(func() {
			for range (b.N + writers - 1) / writers {
				took[w] = append(took[w], log.Append(b, batch))
			}
		})
	}
	wg.Wait()
	elapsed := b.Elapsed()
	b.StopTimer()
	all := slices.Concat(took...)
	ReportTimes(b, "", all)
	b.ReportMetric(float64(len(all)*batch)/elapsed.Seconds(), "entries/s")
}

// benchReplay holds a replay of a log against the decoding of the same bytes from
// memory.
func benchReplay(b *testing.B, s thread.Store) {
	const n = 20_000
	log := newLog(s, "replay")
	log.Fill(b, n)
	texts := make([][]byte, n)
	for i, e := range Batch(0, n) {
		texts[i] = thread.AppendEntry(nil, e)
	}
	var first []time.Duration
	var read time.Duration
	BenchAgainst(b, func() time.Duration {
		begin, count := time.Now(), 0
		for _, err := range s.Read(context.Background(), log.Key, 0) {
			if err != nil {
				b.Fatal(err)
			}
			if count++; count == 1 {
				first = append(first, time.Since(begin))
			}
		}
		if count != n {
			b.Fatal(count)
		}
		took := time.Since(begin)
		read += took
		return took
	}, func() time.Duration {
		begin := time.Now()
		for _, text := range texts {
			if _, err := thread.DecodeEntry(text); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(begin)
	})
	ReportTimes(b, "first-", first)
	b.ReportMetric(float64(n*len(first))/read.Seconds(), "entries/s")
}

// BenchTail measures the way from a writer to a reader's tail, from the beginning
// of an append and from its end. They may be stores of two processes.
func BenchTail(b *testing.B, writer, reader thread.Store) {
	log := newLog(writer, "tail")
	ctx, cancel := context.WithCancel(context.Background())
	came, done := make(chan time.Time, 1), make(chan struct{})
	go func() {
		defer close(done)
		for _, err := range reader.Tail(ctx, log.Key, 0) {
			if err != nil {
				return
			}
			came <- time.Now()
		}
	}()
	var whole, behind []time.Duration
	for b.Loop() {
		begin := time.Now()
		took := log.Append(b, 1)
		whole = append(whole, (<-came).Sub(begin))
		behind = append(behind, max(0, whole[len(whole)-1]-took))
	}
	cancel()
	<-done
	ReportTimes(b, "", whole)
	ReportTimes(b, "behind-", behind)
}
