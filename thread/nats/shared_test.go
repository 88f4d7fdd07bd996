package nats_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/nats"
)

// TestSharedAppends: two stores of one server take turns as they like. Each
// append is there once, in one piece, and the numbers are dense, also while the
// log is compacted by both.
func TestSharedAppends(t *testing.T) {
	server := start(t, t.TempDir(), 0)
	stores := []*nats.Store{open(t, server.ClientURL()), open(t, server.ClientURL())}
	const appends = 60
	tails := []*following{follow(t, stores[0], key, 0), follow(t, stores[1], key, 0)}
	var wg sync.WaitGroup
	for w := range 4 {
		s := stores[w%2]
		wg.Go(func() {
			for n := 0; n < appends; {
				head, err := s.Head(t.Context(), key)
				if err != nil {
					t.Error(err)
					return
				}
				if head.Epoch == "" {
					head.Epoch = fmt.Sprint("epoch of ", w)
				}
				list := entries(head.Seq+1, head.Seq+uint64(1+n%3), 10)
				for i := range list {
					list[i].Run = fmt.Sprintf("%d/%d/%d", w, n, i)
				}
				var conflict *thread.ConflictError
				switch err := s.Append(t.Context(), key, head, list); {
				case err == nil:
					n++
				case !errors.As(err, &conflict):
					t.Error(err)
					return
				case conflict.Head.Seq <= head.Seq && conflict.Head.Epoch == head.Epoch:
					t.Errorf("a conflict behind %v names %v", head, conflict.Head)
				}
				if n%10 != 9 {
					continue
				}
				// What is compacted is replaced by itself: nothing may change.
				upTo := head.Seq / 2
				err = s.Compact(t.Context(), key, head, 0, upTo, read(t, s, key, 0)[:upTo])
				if err != nil && !errors.As(err, &conflict) {
					t.Error(err)
				}
			}
		})
	}
	total := 4 * appends * 2 // 1, 2 and 3 entries in turn
	for _, tail := range tails {
		seen, piece := map[string]bool{}, ""
		for i, e := range tail.take(t, total) {
			if e.Seq != uint64(i)+1 || seen[e.Run] {
				t.Fatalf("entry %d has number %d and is %s", i, e.Seq, e.Run)
			}
			seen[e.Run] = true
			at := strings.LastIndexByte(e.Run, '/')
			if e.Run[at:] == "/0" {
				piece = e.Run[:at]
			} else if e.Run[:at] != piece {
				t.Fatalf("%s stands in the middle of %s", e.Run, piece)
			}
		}
	}
	wg.Wait()
	wantEntries(t, read(t, stores[0], key, 0), read(t, stores[1], key, 0))
}

// TestSharedView: what one store does is what the other one sees, at once.
func TestSharedView(t *testing.T) {
	server := start(t, t.TempDir(), 0)
	a, b := open(t, server.ClientURL()), open(t, server.ClientURL())
	head := grow(t, a, key, thread.Head{Epoch: "e"}, 10, 10)
	wantHead(t, b, key, head)
	head = grow(t, b, key, head, 12, 10)
	wantEntries(t, read(t, a, key, 9), entries(10, 12, 10))

	// A compaction does not move the head, so the other one's append goes on.
	if err := b.Compact(t.Context(), key, head, 0, 8, entries(8, 8, 3)); err != nil {
		t.Fatal(err)
	}
	head = grow(t, a, key, head, 13, 10)
	if err := a.Compact(t.Context(), key, head, 0, head.Seq, nil); err != nil {
		t.Fatal(err)
	}
	var conflict *thread.ConflictError
	if err := b.Append(t.Context(), key, head, entries(14, 14, 10)); !errors.As(err, &conflict) || conflict.Head != (thread.Head{}) {
		t.Fatalf("behind a log that was forgotten: %v", err)
	}
	wantEntries(t, read(t, b, key, 0), nil)
	wantHead(t, b, key, thread.Head{})
	next := grow(t, b, key, thread.Head{Epoch: "e2"}, 3, 10)
	wantHead(t, a, key, next)
	wantEntries(t, read(t, a, key, 0), entries(1, 3, 10))
}

// TestListWhileBusy: logs that are appended to, compacted and forgotten while
// somebody lists do not drop out of the list, and none is there twice.
func TestListWhileBusy(t *testing.T) {
	server := start(t, t.TempDir(), 0)
	a, b := open(t, server.ClientURL()), open(t, server.ClientURL())
	const logs = 60
	name := func(i int) thread.Key { return thread.Key{Agent: "a", ID: fmt.Sprint("log ", i)} }
	for i := range logs {
		grow(t, a, name(i), thread.Head{Epoch: "e"}, 1, 10)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	busy.Go(func() {
		for n := uint64(1); ctx.Err() == nil; n++ {
			for i := range logs {
				switch i % 3 {
				case 0:
					grow(t, b, name(i), thread.Head{Epoch: "e", Seq: n}, n+1, 10)
				case 1:
					if err := b.Compact(t.Context(), name(i), thread.Head{Epoch: "e", Seq: 1}, 0, 1, entries(1, 1, int(n%50))); err != nil {
						t.Error(err)
					}
				}
			}
		}
	})
	for range 30 {
		got, err := a.List(t.Context(), "a", "", thread.Listed{}, 1000)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, l := range got {
			if seen[l.ID] {
				t.Fatalf("%s is listed twice", l.ID)
			}
			seen[l.ID] = true
		}
		if len(got) != logs {
			t.Fatalf("%d logs are listed, want %d", len(got), logs)
		}
		keys, err := a.Stale(t.Context(), time.UnixMilli(1864540000000), 1000)
		if err != nil || len(keys) != logs {
			t.Fatalf("%d logs are old, %v, want %d", len(keys), err, logs)
		}
	}
	cancel()
	busy.Wait()
}

// TestRefusedWithoutReason: that the server says another message was the last
// one is no conflict where the log ends where the writer thinks (a cluster says
// so while a message is on its way).
func TestRefusedWithoutReason(t *testing.T) {
	server := start(t, t.TempDir(), 0)
	s := open(t, server.ClientURL())
	head := grow(t, s, key, thread.Head{Epoch: "e"}, 3, 10)
	s.Mistake(key, head)
	head = grow(t, s, key, head, 5, 10)
	s.Mistake(key, thread.Head{Epoch: "e", Seq: 9})
	wantEntries(t, read(t, s, key, 0), entries(1, 5, 10))
	s.Mistake(key, thread.Head{Epoch: "e", Seq: 9})
	var conflict *thread.ConflictError
	if err := s.Append(t.Context(), key, thread.Head{Epoch: "e", Seq: 9}, entries(10, 10, 10)); !errors.As(err, &conflict) || conflict.Head != head {
		t.Fatalf("behind a head that is none: %v", err)
	}
	s.Mistake(key, head)
	if err := s.Compact(t.Context(), key, head, 0, 2, nil); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, read(t, s, key, 0), entries(3, 5, 10))
}

// TestManyThreads: lists go beyond what a server answers for at once.
func TestManyThreads(t *testing.T) {
	server := start(t, t.TempDir(), 0)
	s := open(t, server.ClientURL())
	const logs = 1100
	var wg sync.WaitGroup
	for w := range uint64(10) {
		wg.Go(func() {
			for i := w; i < logs; i += 10 {
				e := entry(1, 10)
				e.Time = time.UnixMilli(int64(i)).UTC()
				if err := s.Append(t.Context(), thread.Key{Agent: "a", ID: fmt.Sprint(i)}, thread.Head{Epoch: "e"}, []thread.Entry{e}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	list, err := s.List(t.Context(), "a", "", thread.Listed{}, 2*logs)
	if err != nil || len(list) != logs {
		t.Fatalf("%d are listed, %v", len(list), err)
	}
	for i, l := range list {
		if want := fmt.Sprint(logs - 1 - i); l.ID != want {
			t.Fatalf("number %d in the list is %s, want %s", i, l.ID, want)
		}
	}
	old, err := s.Stale(t.Context(), time.UnixMilli(logs-50), 2*logs)
	if err != nil || len(old) != logs-50 || old[0].ID != "0" {
		t.Fatalf("%d are old, %v", len(old), err)
	}
}
