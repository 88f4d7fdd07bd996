package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/storetest"
)

func fresh(b *testing.B) thread.Store { return open(b, filepath.Join(b.TempDir(), "lockstep.db")) }

func Benchmark(b *testing.B)                  { storetest.Bench(b, fresh) }
func BenchmarkAppendAgainstSync(b *testing.B) { storetest.BenchAppendAgainstSync(b, fresh) }

// BenchmarkCatchUp reads the newest entry of a log that has many.
func BenchmarkCatchUp(b *testing.B) {
	log := &storetest.Log{Store: fresh(b), Key: thread.Key{ID: "t"}}
	log.Fill(b, 150_000)
	for b.Loop() {
		for _, err := range log.Store.Read(context.Background(), log.Key, 149_999) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
