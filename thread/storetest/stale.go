package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/thread"
)

// testStale: logs are found by their age, whoever they belong to, the oldest
// first; one that is appended to is young again.
func testStale(t *testing.T, s thread.Store) {
	ctx := t.Context()
	add := func(k thread.Key, after thread.Head, at time.Duration) {
		t.Helper()
		e := entry(after.Seq + 1)
		e.Time = start.Add(at)
		if err := s.Append(ctx, k, after, []thread.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(before time.Duration, limit int, keys ...thread.Key) {
		t.Helper()
		got, err := s.Stale(ctx, start.Add(before), limit)
		if err != nil || !slices.Equal(got, keys) {
			t.Fatalf("before %v, at most %d: %v, %v, want %v", before, limit, got, err, keys)
		}
	}
	a, b, c := thread.Key{Agent: "a", ID: "t"}, thread.Key{Agent: "b", Principal: "ann", ID: "t"}, thread.Key{Agent: "a", ID: "u\x00é"}
	want(time.Hour, 10)
	add(a, thread.Head{Epoch: "e"}, 3*time.Minute)
	add(b, thread.Head{Epoch: "e"}, time.Minute)
	add(c, thread.Head{Epoch: "e"}, 2*time.Minute)
	want(time.Minute, 10) // before, not at
	want(time.Minute+time.Millisecond, 10, b)
	want(time.Hour, 10, b, c, a)
	want(time.Hour, 2, b, c)
	add(b, thread.Head{Epoch: "e", Seq: 1}, 4*time.Minute)
	want(time.Hour, 10, c, a, b)
}
