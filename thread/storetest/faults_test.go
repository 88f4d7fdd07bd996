package storetest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
	"github.com/lockstep-go/lockstep/thread/storetest"
)

// TestFaultsNone: without faults it is a store like any other.
func TestFaultsNone(t *testing.T) {
	storetest.Run(t, func(*testing.T) thread.Store { return storetest.NewFaults(memory.New()) })
}

func TestFaultsAppend(t *testing.T) {
	key, head := thread.Key{ID: "t"}, thread.Head{Epoch: "e"}
	for _, c := range []struct {
		fault  storetest.Fault
		stored uint64 // where the log ends
		want   func(err error) bool
	}{
		{storetest.None, 2, func(err error) bool { return err == nil }},
		{storetest.Lost, 2, unavailable},
		{storetest.Failed, 1, unavailable},
		{storetest.Conflict, 1, conflictAt(1)},
		{storetest.Overtaken, 2, conflictAt(2)},
	} {
		s := storetest.NewFaults(memory.New())
		s.Next(storetest.None, c.fault)
		if err := s.Append(t.Context(), key, head, []thread.Entry{{Seq: 1}}); err != nil {
			t.Fatal(err)
		}
		err := s.Append(t.Context(), key, thread.Head{Epoch: "e", Seq: 1}, []thread.Entry{{Seq: 2, Run: "ours"}})
		if !c.want(err) {
			t.Errorf("fault %d: %v", c.fault, err)
		}
		if got, err := s.Head(t.Context(), key); err != nil || got.Seq != c.stored {
			t.Errorf("fault %d: the log ends at %v, %v", c.fault, got, err)
		}
		for e := range s.Read(t.Context(), key, 1) {
			if ours := e.Run == "ours"; ours == (c.fault == storetest.Overtaken) {
				t.Errorf("fault %d: the second entry is %+v", c.fault, e)
			}
		}
		if c.fault != storetest.None && s.Met(c.fault) != 1 {
			t.Errorf("fault %d was met %d times", c.fault, s.Met(c.fault))
		}
	}
}

func unavailable(err error) bool { return errors.Is(err, storetest.ErrUnavailable) }

func conflictAt(seq uint64) func(error) bool {
	return func(err error) bool {
		var conflict *thread.ConflictError
		return errors.As(err, &conflict) && conflict.Head == thread.Head{Epoch: "e", Seq: seq}
	}
}

// TestFaultsChance: the same seed fails the same appends, about as often as
// asked.
func TestFaultsChance(t *testing.T) {
	run := func() (met [2]int) {
		s := storetest.NewFaults(memory.New())
		s.Chance(7, map[storetest.Fault]int{storetest.Failed: 20, storetest.Conflict: 30})
		for range 1000 {
			_ = s.Append(t.Context(), thread.Key{ID: "t"}, thread.Head{Epoch: "e"}, nil)
		}
		return [2]int{s.Met(storetest.Failed), s.Met(storetest.Conflict)}
	}
	met := run()
	if met != run() {
		t.Error("another run with the same seed is another one")
	}
	if met[0] < 150 || met[0] > 250 || met[1] < 250 || met[1] > 350 {
		t.Errorf("of 1000 appends %d failed and %d conflicted, want about 200 and 300", met[0], met[1])
	}
}

func TestFaultsDownAndSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := thread.Key{ID: "t"}
		s := storetest.NewFaults(memory.New())
		if err := s.Append(t.Context(), key, thread.Head{Epoch: "e"}, []thread.Entry{{Seq: 1}}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		tail := make(chan error, 4)
		go func() {
			for _, err := range s.Tail(ctx, key, 1) {
				tail <- err
			}
			close(tail)
		}()
		synctest.Wait()
		s.Delay(time.Second)
		begin := time.Now()
		if _, err := s.Head(t.Context(), key); err != nil || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		s.Delay(0)
		s.Down(true)
		_, headErr := s.Head(t.Context(), key)
		_, listErr := s.List(t.Context(), "", "", thread.Listed{}, 1)
		var readErr error
		for _, readErr = range s.Read(t.Context(), key, 0) {
		}
		for _, err := range []error{
			headErr, listErr, readErr,
			s.Append(t.Context(), key, thread.Head{Epoch: "e", Seq: 1}, []thread.Entry{{Seq: 2}}),
			s.Compact(t.Context(), key, thread.Head{Epoch: "e", Seq: 1}, 0, 1, nil),
		} {
			if !unavailable(err) {
				t.Errorf("down: %v", err)
			}
		}
		s.Down(false)
		if err := s.Append(t.Context(), key, thread.Head{Epoch: "e", Seq: 1}, []thread.Entry{{Seq: 2}}); err != nil {
			t.Fatal(err)
		}
		if err := <-tail; err != nil {
			t.Errorf("a tail that slept while the store was down: %v", err)
		}
		s.Next(storetest.Lost)
		if err := s.Append(t.Context(), key, thread.Head{Epoch: "e", Seq: 2}, []thread.Entry{{Seq: 3}}); !unavailable(err) {
			t.Errorf("lost: %v", err)
		}
		if err := <-tail; err != nil {
			t.Errorf("what is stored is not followed: %v", err)
		}
		cancel()
		if err := <-tail; !errors.Is(err, context.Canceled) {
			t.Errorf("the tail ended with %v", err)
		}
		if err, more := <-tail; more {
			t.Errorf("the tail goes on behind its end: %v", err)
		}
	})
}
