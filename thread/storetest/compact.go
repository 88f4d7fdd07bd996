package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/thread"
)

func testCompact(t *testing.T, s thread.Store) {
	ctx := t.Context()
	head := grow(t, s, key, thread.Head{Epoch: "e1"}, 20)
	list := func(seqs ...uint64) (out []thread.Entry) {
		for _, seq := range seqs {
			e := entry(seq)
			e.Run, e.Floor = "compacted", true
			out = append(out, e)
		}
		return out
	}
	// Nothing, which changes nothing.
	if err := s.Compact(ctx, key, head, 0, 0, nil); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, read(t, s, key, 0), entries(1, 20))

	if err := s.Compact(ctx, key, head, 0, 10, list(4, 10)); err != nil {
		t.Fatal(err)
	}
	wantHead(t, s, key, head)
	want := append(list(4, 10), entries(11, 20)...)
	for after := range uint64(21) {
		i := slices.IndexFunc(want, func(e thread.Entry) bool { return e.Seq > after })
		if i < 0 {
			i = len(want)
		}
		wantEntries(t, read(t, s, key, after), want[i:])
	}

	// What was compacted can be compacted further, to nothing as well.
	if err := s.Compact(ctx, key, head, 0, 12, list(4, 11)); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, read(t, s, key, 0), append(list(4, 11), entries(13, 20)...))
	if err := s.Compact(ctx, key, head, 0, 15, nil); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, read(t, s, key, 0), entries(16, 20))

	// Only behind a number: what is before it stays as it is.
	if err := s.Compact(ctx, key, head, 16, 18, list(18)); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, read(t, s, key, 0), slices.Concat(entries(16, 16), list(18), entries(19, 20)))

	// Other logs are left alone, and this one goes on.
	grow(t, s, thread.Key{Agent: "recipe", Principal: "ben", ID: key.ID}, thread.Head{Epoch: "e2"}, 3)
	head = grow(t, s, key, head, 22)
	if err := s.Compact(ctx, key, head, 0, 21, list(16)); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, read(t, s, key, 0), append(list(16), entries(22, 22)...))
	wantEntries(t, read(t, s, thread.Key{Agent: "recipe", Principal: "ben", ID: key.ID}, 0), entries(1, 3))
}

func testCompactRefuses(t *testing.T, s thread.Store) {
	ctx := t.Context()
	wantConflict(t, s.Compact(ctx, key, thread.Head{Epoch: "e1", Seq: 1}, 0, 1, nil), thread.Head{})
	head := grow(t, s, key, thread.Head{Epoch: "e1"}, 10)
	for _, other := range []thread.Head{{Epoch: "e1", Seq: 9}, {Epoch: "e1", Seq: 11}, {Epoch: "e2", Seq: 10}, {}} {
		wantConflict(t, s.Compact(ctx, key, other, 0, 5, nil), head)
	}
	for _, c := range []struct {
		upTo uint64
		list []thread.Entry
	}{
		{11, nil}, {5, entries(6, 6)}, {5, entries(0, 1)}, {5, []thread.Entry{entry(3), entry(3)}}, {5, []thread.Entry{entry(3), entry(2)}}, {0, entries(1, 1)},
	} {
		err := s.Compact(ctx, key, head, 0, c.upTo, c.list)
		var conflict *thread.ConflictError
		if err == nil || errors.As(err, &conflict) {
			t.Errorf("up to %d, %s: %v", c.upTo, numbers(c.list), err)
		}
	}
	wantEntries(t, read(t, s, key, 0), entries(1, 10))
}

// testCompactKeepsTheHead: where a log ends does not depend on its last entry
// being there.
func testCompactKeepsTheHead(t *testing.T, s thread.Store) {
	head := grow(t, s, key, thread.Head{Epoch: "e1"}, 10)
	if err := s.Compact(t.Context(), key, head, 0, 10, entries(7, 7)); err != nil {
		t.Fatal(err)
	}
	wantHead(t, s, key, head)
	wantEntries(t, read(t, s, key, 7), nil)
	wantConflict(t, s.Append(t.Context(), key, thread.Head{Epoch: "e1", Seq: 7}, entries(8, 8)), head)
	tail := follow(t, s, key, 7)
	grow(t, s, key, head, 11)
	wantEntries(t, tail.take(t, 1), entries(11, 11))
	wantEntries(t, read(t, s, key, 0), []thread.Entry{entry(7), entry(11)})

	// A log of no entries has a head all the same.
	empty := thread.Key{ID: "empty"}
	head = grow(t, s, empty, thread.Head{Epoch: "e2"}, 10)
	for _, upTo := range []uint64{10, 8} {
		list := entries(7, 7)
		if upTo == 8 {
			list = nil
		}
		if err := s.Compact(t.Context(), empty, head, 0, upTo, list); err != nil {
			t.Fatal(err)
		}
	}
	wantHead(t, s, empty, head)
	wantEntries(t, read(t, s, empty, 0), nil)
	grow(t, s, empty, head, 12)
	wantEntries(t, read(t, s, empty, 3), entries(11, 12))
}

func testCompactForgets(t *testing.T, s thread.Store) {
	head := grow(t, s, key, thread.Head{Epoch: "e1"}, long)
	if err := s.Compact(t.Context(), key, head, 0, head.Seq, nil); err != nil {
		t.Fatal(err)
	}
	wantHead(t, s, key, thread.Head{})
	wantEntries(t, read(t, s, key, 0), nil)
	if list, err := s.List(t.Context(), key.Agent, key.Principal, thread.Listed{}, 10); err != nil || len(list) != 0 {
		t.Fatalf("%v, %v", list, err)
	}
	wantConflict(t, s.Compact(t.Context(), key, head, 0, head.Seq, nil), thread.Head{})
	wantConflict(t, s.Append(t.Context(), key, head, entries(long+1, long+1)), thread.Head{})

	// The next append makes another log.
	next := grow(t, s, key, thread.Head{Epoch: "e2"}, 2)
	wantHead(t, s, key, next)
	wantEntries(t, read(t, s, key, 0), entries(1, 2))
	wantConflict(t, s.Append(t.Context(), key, thread.Head{Epoch: "e1", Seq: 2}, entries(3, 3)), next)
}

// testCompactTailed: a tail goes on over a compaction, and ends when its log is
// forgotten.
func testCompactTailed(t *testing.T, s thread.Store) {
	ctx := t.Context()
	head := grow(t, s, key, thread.Head{Epoch: "e1"}, 10)
	tail, behind := follow(t, s, key, 0), follow(t, s, key, 10)
	wantEntries(t, tail.take(t, 10), entries(1, 10))
	if err := s.Compact(ctx, key, head, 0, 8, entries(8, 8)); err != nil {
		t.Fatal(err)
	}
	head = grow(t, s, key, head, 12)
	wantEntries(t, tail.take(t, 2), entries(11, 12))
	wantEntries(t, behind.take(t, 2), entries(11, 12))

	if err := s.Compact(ctx, key, head, 0, head.Seq, nil); err != nil {
		t.Fatal(err)
	}
	var conflict *thread.ConflictError
	if err := <-tail.ended; !errors.As(err, &conflict) {
		t.Errorf("the tail of a forgotten log ended with %v", err)
	}
	grow(t, s, key, thread.Head{Epoch: "e2"}, 20)
	if err := <-behind.ended; !errors.As(err, &conflict) {
		t.Errorf("the tail of a forgotten log ended with %v", err)
	}
}

func testList(t *testing.T, s thread.Store) {
	ctx := t.Context()
	add := func(k thread.Key, at time.Duration) {
		t.Helper()
		head, err := s.Head(ctx, k)
		if err != nil {
			t.Fatal(err)
		}
		if head.Epoch == "" {
			head.Epoch = "e"
		}
		e := entry(head.Seq + 1)
		e.Time = start.Add(at)
		if err := s.Append(ctx, k, head, []thread.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(agent, principal string, ids ...string) []thread.Listed {
		t.Helper()
		list, err := s.List(ctx, agent, principal, thread.Listed{}, 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range list {
			got = append(got, one.ID)
		}
		if !slices.Equal(got, ids) {
			t.Fatalf("%s's logs are %q, want %q", principal, got, ids)
		}
		return list
	}
	want("recipe", "ann")
	add(thread.Key{Agent: "recipe", Principal: "ann", ID: "old"}, 0)
	add(thread.Key{Agent: "recipe", Principal: "ann", ID: "new"}, time.Second)
	add(thread.Key{Agent: "recipe", Principal: "ben", ID: "ben's"}, 2*time.Second)
	add(thread.Key{Agent: "writer", Principal: "ann", ID: "document"}, 3*time.Second)
	add(thread.Key{Agent: "recipe", ID: "nobody's"}, 3*time.Second)
	want("recipe", "ann", "new", "old")
	want("recipe", "ben", "ben's")
	want("writer", "ann", "document")
	want("recipe", "", "nobody's")
	want("", "ann")
	want("recipe", "an")

	// An append brings a log to the front; a clock that went back does not take
	// it away from there. Times are whole milliseconds, in UTC.
	at := 4*time.Second + 123*time.Millisecond
	add(thread.Key{Agent: "recipe", Principal: "ann", ID: "old"}, at+456*time.Microsecond)
	add(thread.Key{Agent: "recipe", Principal: "ann", ID: "old"}, time.Millisecond)
	list := want("recipe", "ann", "old", "new")
	if got := list[0].Updated; got != start.Add(at) {
		t.Errorf("updated at %v, want %v", got, start.Add(at))
	}
	// Logs of one moment are in the order of their IDs.
	add(thread.Key{Agent: "recipe", Principal: "ann", ID: "b"}, at)
	add(thread.Key{Agent: "recipe", Principal: "ann", ID: "a"}, at)
	want("recipe", "ann", "a", "b", "old", "new")

	// Compacting is no append.
	head, err := s.Head(ctx, thread.Key{Agent: "recipe", Principal: "ann", ID: "old"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(ctx, thread.Key{Agent: "recipe", Principal: "ann", ID: "old"}, head, 0, 2, nil); err != nil {
		t.Fatal(err)
	}
	want("recipe", "ann", "a", "b", "old", "new")
}

func testListPages(t *testing.T, s thread.Store) {
	const logs = 50
	var want []string
	for i := range logs {
		id := fmt.Sprintf("log %02d", i)
		e := entry(1)
		e.Time = start.Add(-time.Duration(i/4) * time.Second) // four of each moment
		if err := s.Append(t.Context(), thread.Key{Agent: "a", ID: id}, thread.Head{Epoch: "e"}, []thread.Entry{e}); err != nil {
			t.Fatal(err)
		}
		want = append(want, id)
	}
	for _, limit := range []int{1, 3, 4, 7, logs - 1, logs, logs + 1} {
		var got []string
		for after := (thread.Listed{}); ; {
			page := list(t, s, "a", after, limit)
			for _, one := range page {
				got = append(got, one.ID)
			}
			if len(page) < limit {
				break
			}
			after = page[len(page)-1]
		}
		if !slices.Equal(got, want) {
			t.Fatalf("by %d: %q", limit, got)
		}
	}
}

// testListWhileAppending: a log on an earlier page does not come again, and one
// whose cursor was forgotten is no end.
func testListWhileAppending(t *testing.T, s thread.Store) {
	const logs = 12
	heads := map[string]thread.Head{}
	touch := func(i int, at time.Duration) {
		t.Helper()
		k := thread.Key{Agent: "a", ID: fmt.Sprint("log ", i)}
		head := heads[k.ID]
		head.Epoch = "e"
		e := entry(head.Seq + 1)
		e.Time = start.Add(at)
		if err := s.Append(t.Context(), k, head, []thread.Entry{e}); err != nil {
			t.Fatal(err)
		}
		head.Seq++
		heads[k.ID] = head
	}
	for i := range logs {
		touch(i, time.Duration(i)*time.Second)
	}
	seen := map[string]bool{}
	after := thread.Listed{}
	for page := 0; ; page++ {
		got := list(t, s, "a", after, 3)
		for _, one := range got {
			if seen[one.ID] {
				t.Fatalf("%s came twice", one.ID)
			}
			seen[one.ID] = true
		}
		if len(got) < 3 {
			break
		}
		after = got[2]
		touch(logs-1-3*page, time.Duration(100+page)*time.Second) // of this page, to the front
		touch(logs-2-3*page, -time.Hour)                          // of this page, by a clock that went back
		if err := s.Compact(t.Context(), thread.Key{Agent: "a", ID: after.ID}, heads[after.ID], 0, heads[after.ID].Seq, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != logs {
		t.Fatalf("%d of %d logs were listed", len(seen), logs)
	}
}

func list(t *testing.T, s thread.Store, agent string, after thread.Listed, limit int) []thread.Listed {
	t.Helper()
	got, err := s.List(t.Context(), agent, "", after, limit)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) > limit {
		t.Fatalf("%d logs, the limit is %d", len(got), limit)
	}
	return got
}
