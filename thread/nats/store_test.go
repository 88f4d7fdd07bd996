package nats_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/nats"
	"github.com/lockstep-go/lockstep/thread/storetest"
)

// TestMain fails when a test leaves a goroutine behind. In a child process of a
// test it is a server instead.
func TestMain(m *testing.M) {
	if options := os.Getenv(childServer); options != "" {
		runServer(options)
	}
	goleak.VerifyTestMain(m)
}

func TestStore(t *testing.T) {
	s := start(t, t.TempDir(), 0)
	n := 0
	storetest.Run(t, func(t *testing.T) thread.Store {
		n++ // a stream for each test
		return open(t, fmt.Sprintf("%s?prefix=test-%d", s.ClientURL(), n))
	})
}

// served is a store together with its server, in one process that is killed.
type served struct {
	*nats.Store
	server *server.Server
}

func (s served) Close() error {
	err := s.Store.Close()
	stop(s.server)
	return err
}

// TestDurable (T4): neither writer nor server gets to end anything.
func TestDurable(t *testing.T) {
	storetest.RunDurable(t, storetest.Durable{Open: func(path string) (storetest.Closer, error) {
		s, err := serve(path, 0)
		if err != nil {
			return nil, err
		}
		store, err := nats.Open(context.Background(), s.ClientURL(), nil)
		if err != nil {
			stop(s)
			return nil, err
		}
		return served{store, s}, nil
	}})
}

// serve starts a server that keeps its streams in dir; 0 is any port.
func serve(dir string, port int) (*server.Server, error) {
	if port == 0 {
		port = server.RANDOM_PORT
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		stop(s)
		return nil, errors.New("the server does not get ready")
	}
	return s, nil
}

func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

func start(t testing.TB, dir string, port int) *server.Server {
	t.Helper()
	s, err := serve(dir, port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(s) })
	return s
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

var key = thread.Key{Agent: "recipe", Principal: "ann", ID: "thread-1"}

// entry makes the entry of a number; the same number makes the same entry.
func entry(seq uint64, size int) thread.Entry {
	text := fmt.Sprintf("%d %s", seq, strings.Repeat("x", size))
	return thread.Entry{
		Seq: seq, Time: time.UnixMilli(1764540000000 + int64(seq)).UTC(), Run: "run-1", Author: "agent",
		Event: &agui.TextMessageContent{MessageID: "m1", Delta: text},
	}
}

func entries(from, to uint64, size int) (out []thread.Entry) {
	for seq := from; seq <= to; seq++ {
		out = append(out, entry(seq, size))
	}
	return out
}

// grow appends the entries up to a number, and returns where the log ends.
func grow(t testing.TB, s thread.Store, k thread.Key, head thread.Head, to uint64, size int) thread.Head {
	t.Helper()
	if err := s.Append(context.Background(), k, head, entries(head.Seq+1, to, size)); err != nil {
		t.Fatalf("appending %d to %d: %v", head.Seq+1, to, err)
	}
	return thread.Head{Epoch: head.Epoch, Seq: to}
}

func read(t testing.TB, s thread.Store, k thread.Key, after uint64) (out []thread.Entry) {
	t.Helper()
	for e, err := range s.Read(context.Background(), k, after) {
		if err != nil {
			t.Fatalf("reading behind %d: %v", after, err)
		}
		out = append(out, e)
	}
	return out
}

// text is entries in their stored form.
func text(list []thread.Entry) string {
	var out []byte
	for _, e := range list {
		out = append(thread.AppendEntry(out, e), '\n')
	}
	return string(out)
}

func wantEntries(t testing.TB, got, want []thread.Entry) {
	t.Helper()
	if text(got) != text(want) {
		t.Fatalf("%d entries\n%.2000s\nwant %d\n%.2000s", len(got), text(got), len(want), text(want))
	}
}

func wantHead(t testing.TB, s thread.Store, k thread.Key, want thread.Head) {
	t.Helper()
	if got, err := s.Head(context.Background(), k); err != nil || got != want {
		t.Fatalf("the head is %v, %v, want %v", got, err, want)
	}
}
