package storetest

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/lockstep-go/lockstep/thread"
)

// long is more than a store reads at a time.
const long = 1200

func testRead(t *testing.T, s thread.Store) {
	head := grow(t, s, key, thread.Head{Epoch: "e1"}, long)
	for _, after := range []uint64{0, 1, long / 2, long - 1, long, long + 1, 1 << 62, 1<<64 - 1} {
		want := []thread.Entry(nil)
		if after < long {
			want = entries(after+1, long)
		}
		wantEntries(t, read(t, s, key, after), want)
	}
	// A loop that is left early leaves nothing behind that is in the way.
	for e, err := range s.Read(t.Context(), key, 5) {
		if err != nil || e.Seq != 6 {
			t.Fatal(e, err)
		}
		break
	}
	// The sequence can be ranged over again.
	again := s.Read(t.Context(), key, long-1)
	for range 2 {
		n := 0
		for _, err := range again {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		if n != 1 {
			t.Fatalf("%d entries, want 1", n)
		}
	}
	grow(t, s, key, head, long+1)
}

// testReadIsOneMoment: what happens to a log while somebody reads it is not
// half in what they read.
func testReadIsOneMoment(t *testing.T, s thread.Store) {
	ctx := t.Context()
	for _, c := range []struct {
		name   string
		change func(k thread.Key, head thread.Head) error
	}{
		{"append", func(k thread.Key, head thread.Head) error {
			return s.Append(ctx, k, head, entries(head.Seq+1, head.Seq+10))
		}},
		{"compact", func(k thread.Key, head thread.Head) error {
			return s.Compact(ctx, k, head, 0, long-5, []thread.Entry{entry(3), entry(long - 7)})
		}},
		{"forget", func(k thread.Key, head thread.Head) error {
			if err := s.Compact(ctx, k, head, 0, head.Seq, nil); err != nil {
				return err
			}
			return s.Append(ctx, k, thread.Head{Epoch: "next"}, entries(1, long+50))
		}},
		{"compact twice", func(k thread.Key, head thread.Head) error {
			return errors.Join(
				s.Compact(ctx, k, head, 0, long/2, []thread.Entry{entry(1)}),
				s.Compact(ctx, k, head, 0, long, []thread.Entry{entry(1)}))
		}},
	} {
		for _, at := range []uint64{1, long / 2} {
			k := thread.Key{Agent: c.name, ID: "t"}
			head, err := s.Head(ctx, k)
			if err != nil {
				t.Fatal(err)
			}
			if head.Seq > 0 {
				if err := s.Compact(ctx, k, head, 0, head.Seq, nil); err != nil {
					t.Fatal(err)
				}
			}
			head = grow(t, s, k, thread.Head{Epoch: "e1"}, long)
			var got []thread.Entry
			for e, err := range s.Read(ctx, k, 0) {
				if err != nil {
					t.Fatalf("%s at %d: %v", c.name, at, err)
				}
				if got = append(got, e); e.Seq == at {
					if err := c.change(k, head); err != nil {
						t.Fatalf("%s at %d: %v", c.name, at, err)
					}
				}
			}
			wantEntries(t, got, entries(1, long))
		}
	}
}

func testReadCancelled(t *testing.T, s thread.Store) {
	grow(t, s, key, thread.Head{Epoch: "e1"}, long)
	for _, at := range []int{0, 1, long / 2} {
		ctx, cancel := context.WithCancel(t.Context())
		if at == 0 {
			cancel()
		}
		n, last := 0, error(nil)
		for e, err := range s.Read(ctx, key, 0) {
			if last != nil {
				t.Fatalf("the sequence goes on behind its error with %v, %v", e, err)
			}
			if last = err; err != nil {
				continue
			}
			if n++; n == at {
				cancel()
			}
		}
		if n != at || !errors.Is(last, context.Canceled) {
			t.Errorf("cancelled at %d: %d entries, %v", at, n, last)
		}
		cancel()
	}
}

// testReadSlowly: readers that take their time hold up neither writers nor
// other readers, however many they are.
func testReadSlowly(t *testing.T, s thread.Store) {
	head := grow(t, s, key, thread.Head{Epoch: "e1"}, long)
	var stops []func()
	for range 40 {
		next, stop := iter.Pull2(s.Read(t.Context(), key, 0))
		if e, err, ok := next(); !ok || err != nil || e.Seq != 1 {
			t.Fatal(e, err, ok)
		}
		stops = append(stops, stop)
	}
	head = grow(t, s, key, head, long+1)
	wantHead(t, s, key, head)
	wantEntries(t, read(t, s, key, long), entries(long+1, long+1))
	for _, stop := range stops {
		stop()
	}
}

func testTail(t *testing.T, s thread.Store) {
	head := grow(t, s, key, thread.Head{Epoch: "e1"}, 3)
	tail := follow(t, s, key, 1)
	wantEntries(t, tail.take(t, 2), entries(2, 3))
	head = grow(t, s, key, head, 4)
	wantEntries(t, tail.take(t, 1), entries(4, 4))
	grow(t, s, key, head, 10)
	wantEntries(t, tail.take(t, 6), entries(5, 10))
	if err := tail.cancelled(); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// tailing is a Tail that somebody ranges over.
type tailing struct {
	entries chan thread.Entry
	ended   chan error
	cancel  context.CancelFunc
}

func follow(t *testing.T, s thread.Store, k thread.Key, after uint64) *tailing {
	ctx, cancel := context.WithCancel(t.Context())
	f := &tailing{entries: make(chan thread.Entry), ended: make(chan error, 1), cancel: cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range s.Tail(ctx, k, after) {
			if err != nil {
				f.ended <- err
				continue // nothing may follow: a second error would not fit
			}
			select {
			case f.entries <- e:
			case <-ctx.Done(): // the next round ends with its error
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return f
}

// take takes the next entries. It waits as long as the test may run.
func (f *tailing) take(t *testing.T, n int) []thread.Entry {
	t.Helper()
	var out []thread.Entry
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

func (f *tailing) cancelled() error {
	f.cancel()
	return <-f.ended
}

func testTailWaitsForTheLog(t *testing.T, s thread.Store) {
	first, late := follow(t, s, key, 0), follow(t, s, key, 2)
	grow(t, s, thread.Key{ID: "another"}, thread.Head{Epoch: "e0"}, 3)
	head := grow(t, s, key, thread.Head{Epoch: "e1"}, 2)
	wantEntries(t, first.take(t, 2), entries(1, 2))
	grow(t, s, key, head, 4)
	wantEntries(t, first.take(t, 2), entries(3, 4))
	wantEntries(t, late.take(t, 2), entries(3, 4))
}

func testTailEnds(t *testing.T, s thread.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, k := range []thread.Key{key, {ID: "unknown"}} {
		if k == key {
			grow(t, s, k, thread.Head{Epoch: "e1"}, 1)
		}
		n := 0
		for e, err := range s.Tail(ctx, k, 0) {
			if n++; !errors.Is(err, context.Canceled) {
				t.Errorf("%v, %v of a context that has ended", e, err)
			}
		}
		if n != 1 {
			t.Errorf("it ended with %d errors", n)
		}
	}
	// Breaking out ends it, too.
	for range s.Tail(t.Context(), key, 0) {
		break
	}
}

// testTailNoSeam: a tail that begins anywhere while others append yields
// everything behind its beginning once, in order.
func testTailNoSeam(t *testing.T, s thread.Store) {
	const total, writers, readers = 300, 3, 6
	var appending, reading sync.WaitGroup
	began := make(chan struct{}, total)
	for range writers {
		appending.Go(func() {
			for {
				head, err := s.Head(t.Context(), key)
				if err != nil || head.Seq >= total {
					if err != nil {
						t.Error(err)
					}
					return
				}
				if head.Epoch == "" {
					head.Epoch = "e1"
				}
				var conflict *thread.ConflictError
				err = s.Append(t.Context(), key, head, entries(head.Seq+1, min(head.Seq+2, total)))
				if err != nil && !errors.As(err, &conflict) {
					t.Error(err)
					return
				}
				if err == nil {
					began <- struct{}{}
				}
			}
		})
	}
	for r := range readers {
		for range r * 10 {
			<-began // so that they begin at different places
		}
		reading.Go(func() {
			after := uint64(r * 7)
			want := after + 1
			for e, err := range s.Tail(t.Context(), key, after) {
				if err != nil || e.Seq != want {
					t.Errorf("tail behind %d: entry %d, want %d, %v", after, e.Seq, want, err)
					return
				}
				if want++; e.Seq == total {
					return
				}
			}
		})
	}
	appending.Wait()
	reading.Wait()
}
