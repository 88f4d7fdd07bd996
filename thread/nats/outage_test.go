package nats_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/nats"
)

// following is a Tail that somebody ranges over.
type following struct {
	entries chan thread.Entry
	ended   chan error
}

func follow(t *testing.T, s thread.Store, k thread.Key, after uint64) *following {
	ctx, cancel := context.WithCancel(context.Background())
	f := &following{entries: make(chan thread.Entry), ended: make(chan error, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range s.Tail(ctx, k, after) {
			if err != nil {
				f.ended <- err
				return
			}
			select {
			case f.entries <- e:
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return f
}

// take takes the next entries. It waits as long as the test may run.
func (f *following) take(t *testing.T, n int) (out []thread.Entry) {
	t.Helper()
	for range n {
		select {
		case e := <-f.entries:
			out = append(out, e)
		case err := <-f.ended:
			t.Fatalf("the tail ended behind %d of %d entries: %v", len(out), n, err)
		}
	}
	return out
}

// persist appends like package thread does: what a store fails to say is looked
// up before it is tried again.
func persist(s thread.Store, k thread.Key, head thread.Head, list []thread.Entry) error {
	for {
		err := s.Append(context.Background(), k, head, list)
		var conflict *thread.ConflictError
		if err == nil || errors.As(err, &conflict) && conflict.Head.Seq == list[len(list)-1].Seq {
			return nil
		}
		if errors.As(err, &conflict) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func port(t *testing.T, clientURL string) int {
	t.Helper()
	u, err := url.Parse(clientURL)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTailGoesOn: a tail of one process follows what another one does over
// compactions and restarts of the server, without a gap and without a
// repetition, and ends when the log is forgotten.
func TestTailGoesOn(t *testing.T) {
	t.Parallel() // it waits more than it works
	dir := t.TempDir()
	server := start(t, dir, 0)
	at := port(t, server.ClientURL())
	writer, reader := open(t, server.ClientURL()), open(t, server.ClientURL())
	tail := follow(t, reader, key, 0)
	head := thread.Head{Epoch: "e1"}
	more := func(n uint64) {
		t.Helper()
		list := entries(head.Seq+1, head.Seq+n, 10)
		if err := persist(writer, key, head, list); err != nil {
			t.Fatal(err)
		}
		wantEntries(t, tail.take(t, len(list)), list)
		head.Seq += n
	}
	restart := func() {
		t.Helper()
		stop(server)
		server = start(t, dir, at)
	}
	more(3)
	restart()
	more(1)
	more(2)
	if err := writer.Compact(t.Context(), key, head, 0, 4, entries(2, 2, 5)); err != nil {
		t.Fatal(err)
	}
	more(1)
	restart()
	more(5)
	if err := writer.Compact(t.Context(), key, head, 0, head.Seq, entries(9, 9, 5)); err != nil {
		t.Fatal(err)
	}
	restart()
	more(1)
	wantEntries(t, read(t, reader, key, 0), append(entries(9, 9, 5), entries(13, 13, 10)...))

	if err := writer.Compact(t.Context(), key, head, 0, head.Seq, nil); err != nil {
		t.Fatal(err)
	}
	var conflict *thread.ConflictError
	if err := <-tail.ended; !errors.As(err, &conflict) {
		t.Errorf("the tail of a forgotten log ended with %v", err)
	}
}

// TestRestarts (T4): writers of two processes go on over restarts of the server.
// What they are told is stored is there, once.
func TestRestarts(t *testing.T) {
	t.Parallel() // it waits more than it works
	dir := t.TempDir()
	server := start(t, dir, 0)
	at := port(t, server.ClientURL())
	var wrote atomic.Int64
	var writers sync.WaitGroup
	enough := make(chan struct{})
	for w := range 2 {
		s := open(t, server.ClientURL())
		k := thread.Key{ID: fmt.Sprint(w)}
		writers.Go(func() {
			head := thread.Head{Epoch: "e"}
			for {
				select {
				case <-enough:
					if got := read(t, s, k, 0); text(got) != text(entries(1, head.Seq, 10)) {
						t.Errorf("writer %d has %d entries, want 1 to %d", w, len(got), head.Seq)
					}
					return
				default:
				}
				n := 1 + head.Seq%3
				if err := persist(s, k, head, entries(head.Seq+1, head.Seq+n, 10)); err != nil {
					t.Error(err)
					return
				}
				head.Seq += n
				wrote.Add(1)
			}
		})
	}
	for range 3 {
		progress(t, &wrote)
		stop(server)
		server = start(t, dir, at)
	}
	progress(t, &wrote)
	close(enough)
	writers.Wait()
}

// progress waits until writers have got on.
func progress(t *testing.T, wrote *atomic.Int64) {
	for goal := wrote.Load() + 50; wrote.Load() < goal && !t.Failed(); {
		time.Sleep(time.Millisecond)
	}
}

// TestServerAway: while there is no server calls fail soon, and say so.
func TestServerAway(t *testing.T) {
	server := start(t, t.TempDir(), 0)
	s := open(t, server.ClientURL())
	head := grow(t, s, key, thread.Head{Epoch: "e"}, 2, 10)
	stop(server)
	err := s.Append(t.Context(), key, head, entries(3, 3, 10))
	var conflict *thread.ConflictError
	if err == nil || errors.As(err, &conflict) {
		t.Fatalf("an append without a server: %v", err)
	}
	if !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("%v does not say that there is no server", err)
	}
	for _, err := range s.Read(t.Context(), key, 0) {
		if err == nil {
			t.Fatal("it reads without a server")
		}
	}
	if _, err := s.List(t.Context(), key.Agent, key.Principal, thread.Listed{}, 1); err == nil {
		t.Fatal("it lists without a server")
	}
	if _, err := nats.Open(t.Context(), server.ClientURL(), nil); err == nil {
		t.Fatal("a store is opened without a server")
	}
}

// TestMissedNews: a tail for which no news arrive looks by itself.
func TestMissedNews(t *testing.T) {
	t.Parallel() // it waits more than it works
	server := start(t, t.TempDir(), 0)
	missed := 0
	s := open(t, intercept(t, server.ClientURL(), func(toServer bool, subject string) verdict {
		if !toServer && strings.HasPrefix(subject, "lockstep.new.") {
			missed++
			return drop
		}
		return pass
	}))
	tail := follow(t, s, key, 0)
	other := open(t, server.ClientURL())
	head := grow(t, other, key, thread.Head{Epoch: "e"}, 2, 10)
	wantEntries(t, tail.take(t, 2), entries(1, 2, 10))
	grow(t, other, key, head, 3, 10)
	wantEntries(t, tail.take(t, 1), entries(3, 3, 10))
	if missed != 2 {
		t.Errorf("%d news were dropped, want 2", missed)
	}
}

// TestNoRoom: a stream that is full refuses appends and keeps what it has, and
// goes on when it may have more.
func TestNoRoom(t *testing.T) {
	server := start(t, t.TempDir(), 0)
	s := open(t, server.ClientURL())
	conn, err := natsgo.Connect(server.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	limit := func(bytes int64) {
		t.Helper()
		stream, err := js.Stream(t.Context(), "lockstep")
		if err != nil {
			t.Fatal(err)
		}
		c := stream.CachedInfo().Config
		c.MaxBytes = bytes
		if _, err := js.UpdateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	head := grow(t, s, key, thread.Head{Epoch: "e"}, 10, 1000)
	limit(20_000)
	for _, size := range []int{20_000, 60_000} {
		err := s.Append(t.Context(), key, head, entries(11, 11, size))
		var conflict *thread.ConflictError
		if err == nil || errors.As(err, &conflict) || !strings.Contains(err.Error(), "maximum bytes") {
			t.Fatalf("an append without room: %v", err)
		}
	}
	wantHead(t, s, key, head)
	wantEntries(t, read(t, s, key, 0), entries(1, 10, 1000))
	limit(-1)
	head = grow(t, s, key, head, 11, 60_000)
	if err := s.Compact(t.Context(), key, head, 0, head.Seq, nil); err != nil {
		t.Fatal(err)
	}
	if left := stored(t, server.ClientURL(), "lockstep"); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}
