package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/internal/pgtest"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/postgres"
)

func contains(err error, part string) bool { return strings.Contains(err.Error(), part) }

// soon bounds what the store promises to do within about a second. It is that
// generous because it is a bound for a machine that is busy with other things.
const soon = time.Minute

// tail follows a log, and hands out what comes.
type tail struct {
	entries chan thread.Entry
	ended   chan error
}

func follow(t *testing.T, s thread.Store, k thread.Key, after uint64) tail {
	ctx, cancel := context.WithCancel(t.Context())
	f := tail{make(chan thread.Entry), make(chan error, 1)}
	var done sync.WaitGroup
	done.Go(func() {
		for e, err := range s.Tail(ctx, k, after) {
			if err != nil {
				f.ended <- err
				return
			}
			select {
			case f.entries <- e:
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() { cancel(); done.Wait() })
	return f
}

// want checks what comes next.
func (f tail) want(t *testing.T, from, to uint64) {
	t.Helper()
	late := time.NewTimer(soon)
	defer late.Stop()
	for seq := from; seq <= to; seq++ {
		select {
		case e := <-f.entries:
			wantEntries(t, []thread.Entry{e}, entries(seq, seq))
		case err := <-f.ended:
			t.Fatalf("the tail ended before entry %d: %v", seq, err)
		case <-late.C:
			t.Fatalf("entry %d does not come", seq)
		}
	}
}

// TestTwoProcesses (T2): writers on two stores that know the head, and try again
// when it was another: each log is dense, each append is there once, in one
// piece, and followers on both stores see every entry once, in order.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	stores := []*postgres.Store{open(t, url), open(t, url)}
	const logs, writers, appends = 3, 6, 18
	const total = writers * appends * 2 / logs // to each log 1, 2 and 3 entries in turn
	k := func(i int) thread.Key { return thread.Key{Agent: "a", ID: fmt.Sprint("log ", i)} }
	var wg sync.WaitGroup
	seen := make([][]thread.Entry, logs*len(stores))
	for i := range seen {
		wg.Go(func() {
			for e, err := range stores[i%2].Tail(t.Context(), k(i/2), 0) {
				if err != nil {
					t.Error(err)
					return
				}
				if seen[i] = append(seen[i], e); len(seen[i]) == total {
					return
				}
			}
		})
	}
	for w := range writers {
		wg.Go(func() {
			s := stores[w%2]
			for n := 0; n < appends; {
				log, size := (w+n)%logs, 1+n/logs%3
				head, err := s.Head(t.Context(), k(log))
				if err != nil {
					t.Error(err)
					return
				}
				if head.Epoch == "" {
					head.Epoch = fmt.Sprint("epoch of ", w)
				}
				list := entries(head.Seq+1, head.Seq+uint64(size))
				for i := range list {
					list[i].Run = fmt.Sprintf("%d/%d/%d of %d", w, n, i+1, size)
				}
				var conflict *thread.ConflictError
				switch err := s.Append(t.Context(), k(log), head, list); {
				case err == nil:
					n++
				case !errors.As(err, &conflict):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	there := map[string]bool{}
	for i := range logs {
		got := read(t, stores[i%2], k(i), 0)
		for n, e := range got {
			if e.Seq != uint64(n)+1 || there[e.Run] {
				t.Fatalf("entry %d has number %d and is %s, there before: %v", n, e.Seq, e.Run, there[e.Run])
			}
			there[e.Run] = true
			var w, a, piece, of int
			if _, err := fmt.Sscanf(e.Run, "%d/%d/%d of %d", &w, &a, &piece, &of); err != nil {
				t.Fatal(err)
			}
			if piece > 1 && got[n-1].Run != fmt.Sprintf("%d/%d/%d of %d", w, a, piece-1, of) {
				t.Fatalf("%s stands behind %s", e.Run, got[n-1].Run)
			}
		}
		wantEntries(t, seen[2*i], got)
		wantEntries(t, seen[2*i+1], got)
	}
	if len(there) != total*logs {
		t.Fatalf("%d entries, want %d", len(there), total*logs)
	}
}

// TestTailOfAnother: a tail sees what another process appends, waits for a log
// that another process makes, and ends when another process forgets it.
func TestTailOfAnother(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	mine, theirs := open(t, url), open(t, url)
	f := follow(t, mine, key, 0)
	head := grow(t, theirs, key, thread.Head{Epoch: "e"}, 3)
	f.want(t, 1, 3)
	head = grow(t, mine, key, head, 4)
	head = grow(t, theirs, key, head, 100)
	f.want(t, 4, 100)
	if err := theirs.Compact(t.Context(), key, head, 0, 100, nil); err != nil {
		t.Fatal(err)
	}
	var conflict *thread.ConflictError
	if err := <-f.ended; !errors.As(err, &conflict) || conflict.Head != (thread.Head{}) {
		t.Errorf("it ended with %v", err)
	}
}

// TestTailWithoutNotification (T3): what a process appended that died before it
// told anybody is seen all the same.
func TestTailWithoutNotification(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	grow(t, s, key, thread.Head{Epoch: "e"}, 1)
	f := follow(t, s, key, 0)
	f.want(t, 1, 1)
	for seq := uint64(1); seq < 4; seq++ {
		if err := s.AppendUnannounced(t.Context(), key, thread.Head{Epoch: "e", Seq: seq}, entries(seq+1, seq+1)); err != nil {
			t.Fatal(err)
		}
		f.want(t, seq+1, seq+1)
	}
}

// TestOddNotifications: anybody who may use the database can send some.
func TestOddNotifications(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	f := follow(t, s, key, 0)
	for _, payload := range []string{"", " ", "x", "x zz", "x " + strings.Repeat("z", 32), strings.Repeat("0", 7999)} {
		pgtest.Exec(t, url, fmt.Sprintf("SELECT pg_notify('lockstep', '%s')", payload))
	}
	grow(t, open(t, url), key, thread.Head{Epoch: "e"}, 1)
	f.want(t, 1, 1)
}

// TestConnectionsKilled (T3): the server ends the connection that listens, and
// then all others, in the middle of everything; tails go on and appends, too.
func TestConnectionsKilled(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	mine := open(t, pgtest.With(url, "application_name", "mine"))
	theirs := open(t, url)
	f := follow(t, mine, key, 0)
	head := grow(t, theirs, key, thread.Head{Epoch: "e"}, 3)
	f.want(t, 1, 3)
	for _, query := range []string{"LISTEN%", "%", "LISTEN%", "%"} {
		if n := theirs.Terminate(t, "mine", query); n == 0 && query == "%" {
			t.Fatal("there was no connection to end")
		}
		head = grow(t, theirs, key, head, head.Seq+5)
		f.want(t, head.Seq-4, head.Seq)
		// Nobody knows of a connection that it is dead before they use it; an append
		// that does may fail, and is there or not.
		to := head.Seq + 1
		until(t, func() error {
			now, err := mine.Head(t.Context(), key)
			if err != nil || now.Seq == to {
				return err
			}
			return mine.Append(t.Context(), key, head, entries(to, to))
		})
		f.want(t, to, to)
		head.Seq = to
	}
}

// until does something until it succeeds.
func until(t *testing.T, f func() error) {
	t.Helper()
	for end := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// TestServerCrashes (T4): the server dies and comes back. What was acknowledged is
// there, a tail that waited goes on, and so does the store.
func TestServerCrashes(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := open(t, server.URL())
	f := follow(t, s, key, 0)
	head := grow(t, s, key, thread.Head{Epoch: "e"}, 50)
	f.want(t, 1, 50)
	for range 2 {
		server.Crash(t)
		if _, err := s.Head(t.Context(), key); err == nil || !contains(err, "127.0.0.1") {
			t.Errorf("without a server: %v", err)
		}
		if err := s.Append(t.Context(), key, head, entries(head.Seq+1, head.Seq+1)); err == nil {
			t.Error("without a server an append succeeds")
		}
		for e, err := range s.Read(t.Context(), key, 0) {
			if err == nil {
				t.Errorf("without a server entry %d is read", e.Seq)
			}
		}
		server.Up(t)
		until(t, func() error {
			now, err := s.Head(t.Context(), key)
			if err == nil && now != head {
				t.Fatalf("the log ends at %v, acknowledged was %v", now, head)
			}
			return err
		})
		wantEntries(t, read(t, s, key, 0), entries(1, head.Seq))
		head = grow(t, s, key, head, head.Seq+10)
		f.want(t, head.Seq-9, head.Seq)
	}
}
