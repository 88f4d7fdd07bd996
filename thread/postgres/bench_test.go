package postgres_test

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep/internal/pgtest"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/postgres"
	"github.com/lockstep-go/lockstep/thread/storetest"
)

// durable is a store on a server of its own that waits for its disk.
func durable(b *testing.B) thread.Store {
	b.Helper()
	s, err := postgres.Open(context.Background(), pgtest.Start(b, "fsync=on").URL(), &postgres.Options{Connections: 32})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func Benchmark(b *testing.B)                  { storetest.Bench(b, durable) }
func BenchmarkAppendAgainstSync(b *testing.B) { storetest.BenchAppendAgainstSync(b, durable) }

// BenchmarkTailOfAnother has two processes' stores on one server.
func BenchmarkTailOfAnother(b *testing.B) {
	server := pgtest.Start(b, "fsync=on")
	storetest.BenchTail(b, open(b, server.URL()), open(b, server.URL()))
}
