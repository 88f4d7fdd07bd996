package sqlite_test

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
	"github.com/lockstep-go/lockstep/thread/sqlite"
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

// BenchmarkAppend appends batches, each on disk before the next one of the same
// writer. Every writer has its own log.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct{ writers, batch int }{{1, 1}, {1, 10}, {1, 100}, {1, 1000}, {8, 1}, {8, 10}, {32, 1}} {
		b.Run(fmt.Sprintf("writers=%d/batch=%d", c.writers, c.batch), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "lockstep.db"))
			took := make([][]time.Duration, c.writers)
			var wg sync.WaitGroup
			b.ResetTimer()
			for w := range c.writers {
				wg.Go(func() {
					key, head := thread.Key{Agent: "bench", ID: fmt.Sprint(w)}, thread.Head{Epoch: "e"}
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
			all := slices.Concat(took...)
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "ms-p50")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "ms-p99")
			b.ReportMetric(float64(len(all)*c.batch)/elapsed.Seconds(), "entries/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkReplay reads a whole log, decoded.
func BenchmarkReplay(b *testing.B) {
	for _, n := range []int{300, 3300, 150_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, key := filled(b, n)
			first := time.Duration(0)
			b.ResetTimer()
			for b.Loop() {
				begin, read := time.Now(), 0
				for _, err := range s.Read(context.Background(), key, 0) {
					if err != nil {
						b.Fatal(err)
					}
					if read++; read == 1 {
						first += time.Since(begin)
					}
				}
				if read != n {
					b.Fatal(read)
				}
			}
			b.ReportMetric(float64(first.Microseconds())/1000/float64(b.N), "ms-to-first")
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkCatchUp reads the newest entry of a log that has many.
func BenchmarkCatchUp(b *testing.B) {
	s, key := filled(b, 150_000)
	for b.Loop() {
		for _, err := range s.Read(context.Background(), key, 149_999) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func filled(b *testing.B, n int) (*sqlite.Store, thread.Key) {
	b.Helper()
	s, key := open(b, filepath.Join(b.TempDir(), "lockstep.db")), thread.Key{Agent: "bench", ID: "t"}
	for at := 0; at < n; at += 1000 {
		if err := s.Append(context.Background(), key, thread.Head{Epoch: "e", Seq: uint64(at)}, batch(uint64(at), min(1000, n-at))); err != nil {
			b.Fatal(err)
		}
	}
	return s, key
}

// BenchmarkAppendAgainstSync takes turns between an append and what it cannot do
// without: a write of the same bytes at the end of a file, and a sync of it.
// Both meet the same machine, so their ratio says something about the code.
func BenchmarkAppendAgainstSync(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) {
			s, key, head := open(b, filepath.Join(b.TempDir(), "lockstep.db")), thread.Key{ID: "t"}, thread.Head{Epoch: "e"}
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
			slices.Sort(ours)
			slices.Sort(bare)
			half := len(ours) / 2
			b.ReportMetric(float64(ours[half].Microseconds())/1000, "ms-p50")
			b.ReportMetric(float64(bare[half].Microseconds())/1000, "bare-ms-p50")
			b.ReportMetric(float64(ours[half])/float64(bare[half]), "times-bare")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkReplayAgainstDecode takes turns between a replay of a log and the
// decoding of the same bytes from memory.
func BenchmarkReplayAgainstDecode(b *testing.B) {
	const n = 20_000
	s, key := filled(b, n)
	texts := make([][]byte, n)
	for i := range texts {
		texts[i] = thread.AppendEntry(nil, batch(uint64(i), 1)[0])
	}
	var ours, bare time.Duration
	for b.Loop() {
		begin := time.Now()
		for _, err := range s.Read(context.Background(), key, 0) {
			if err != nil {
				b.Fatal(err)
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
	b.ReportMetric(float64(ours)/float64(bare), "times-decode")
	b.ReportMetric(0, "ns/op")
}
