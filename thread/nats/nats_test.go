package nats_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/nats"
	"github.com/lockstep-go/lockstep/thread/storetest"
)

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server that keeps its streams in dir. It panics rather than
// fails, because child processes start one, too.
func serve(dir string, port int) (*server.Server, error) {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true,
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return nil, context.DeadlineExceeded
	}
	return s, nil
}

// start starts a server for a test.
func start(t testing.TB) *server.Server {
	t.Helper()
	s, err := serve(t.TempDir(), -1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(s) })
	return s
}

func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

func open(t testing.TB, url string) *nats.Store {
	t.Helper()
	s, err := nats.Open(context.Background(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	s := start(t)
	n := 0
	storetest.Run(t, func(t *testing.T) thread.Store {
		n++
		return open(t, s.ClientURL()+"?prefix="+string(rune('A'+n/26))+string(rune('a'+n%26)))
	})
}
