// Package storetest decides who may be a thread store. Run holds a store
// against the contract of thread.Store, RunDurable one that keeps its logs in
// files against crashes, and Faults is a store that fails the way stores do. Bench
// says what a thread costs on it.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
)

// Run runs the suite. open returns an empty store, which it closes itself by
// t.Cleanup where it has to be closed. Each test opens one.
func Run(t *testing.T, open func(t *testing.T) thread.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s thread.Store)
	}{
		{"Append", testAppend},
		{"AppendRefuses", testAppendRefuses},
		{"AppendConflict", testAppendConflict},
		{"AppendCancelled", testAppendCancelled},
		{"AppendOneWins", testAppendOneWins},
		{"AppendConcurrent", testAppendConcurrent},
		{"EntriesComeBack", testEntriesComeBack},
		{"OddKeys", testOddKeys},
		{"KeysAreApart", testKeysAreApart},
		{"BigEntries", testBigEntries},
		{"ManyLogs", testManyLogs},
		{"Read", testRead},
		{"ReadIsOneMoment", testReadIsOneMoment},
		{"ReadCancelled", testReadCancelled},
		{"ReadSlowly", testReadSlowly},
		{"Tail", testTail},
		{"TailWaitsForTheLog", testTailWaitsForTheLog},
		{"TailEnds", testTailEnds},
		{"TailNoSeam", testTailNoSeam},
		{"Compact", testCompact},
		{"CompactRefuses", testCompactRefuses},
		{"CompactKeepsTheHead", testCompactKeepsTheHead},
		{"CompactForgets", testCompactForgets},
		{"CompactTailed", testCompactTailed},
		{"List", testList},
		{"ListPages", testListPages},
		{"Stale", testStale},
		{"ListWhileAppending", testListWhileAppending},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

var key = thread.Key{Agent: "recipe", Principal: "ann", ID: "thread-1"}

// start is when the entries of the suite begin.
var start = time.UnixMilli(1764540000000).UTC()

// entry makes the entry of a number; the same number makes the same entry.
func entry(seq uint64) thread.Entry {
	return thread.Entry{
		Seq: seq, Time: start.Add(time.Duration(seq) * time.Millisecond), Run: "run-1", Author: "agent",
		Event: &agui.TextMessageContent{MessageID: "m1", Delta: fmt.Sprint("text ", seq)},
	}
}

// entries makes the entries from..to, both included.
func entries(from, to uint64) []thread.Entry {
	var out []thread.Entry
	for seq := from; seq <= to; seq++ {
		out = append(out, entry(seq))
	}
	return out
}

// grow appends the entries up to a number to a log, and returns where it ends.
func grow(t *testing.T, s thread.Store, k thread.Key, head thread.Head, to uint64) thread.Head {
	t.Helper()
	if err := s.Append(t.Context(), k, head, entries(head.Seq+1, to)); err != nil {
		t.Fatalf("appending %d to %d: %v", head.Seq+1, to, err)
	}
	return thread.Head{Epoch: head.Epoch, Seq: to}
}

// wantHead checks where a log ends.
func wantHead(t *testing.T, s thread.Store, k thread.Key, want thread.Head) {
	t.Helper()
	if got, err := s.Head(t.Context(), k); err != nil || got != want {
		t.Fatalf("the head is %v, %v, want %v", got, err, want)
	}
}

// wantConflict checks that an error is a conflict that names the true head.
func wantConflict(t *testing.T, err error, want thread.Head) {
	t.Helper()
	var conflict *thread.ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("%v is no conflict", err)
	}
	if conflict.Head != want {
		t.Fatalf("the conflict names %v, want %v", conflict.Head, want)
	}
}

// read reads a log behind a number.
func read(t *testing.T, s thread.Store, k thread.Key, after uint64) []thread.Entry {
	t.Helper()
	var out []thread.Entry
	for e, err := range s.Read(t.Context(), k, after) {
		if err != nil {
			t.Fatalf("reading %.40q behind %d: %v", k.ID, after, err)
		}
		out = append(out, e)
	}
	return out
}

// wantEntries compares entries in their stored form, which has every digit.
func wantEntries(t *testing.T, got, want []thread.Entry) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d entries (%s), want %d (%s)", len(got), numbers(got), len(want), numbers(want))
	}
	for i := range got {
		if g, w := text(got[i]), text(want[i]); g != w {
			t.Fatalf("entry %d\n got %.2000s\nwant %.2000s", i, g, w)
		}
	}
}

func text(e thread.Entry) string { return string(thread.AppendEntry(nil, e)) }

func numbers(list []thread.Entry) string {
	if len(list) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d to %d", list[0].Seq, list[len(list)-1].Seq)
}

func testAppend(t *testing.T, s thread.Store) {
	wantHead(t, s, key, thread.Head{})
	wantEntries(t, read(t, s, key, 0), nil)

	// The first append makes the log, with the writer's epoch.
	head := grow(t, s, key, thread.Head{Epoch: "e1"}, 1)
	wantHead(t, s, key, head)
	head = grow(t, s, key, head, 4)
	head = grow(t, s, key, head, 5)
	wantHead(t, s, key, head)
	wantEntries(t, read(t, s, key, 0), entries(1, 5))

	// Of no entries only the head is checked, and nothing is made.
	if err := s.Append(t.Context(), key, head, nil); err != nil {
		t.Fatal(err)
	}
	other := thread.Key{ID: "other"}
	if err := s.Append(t.Context(), other, thread.Head{Epoch: "e2"}, nil); err != nil {
		t.Fatal(err)
	}
	wantHead(t, s, other, thread.Head{})
	wantHead(t, s, key, head)
}

func testAppendRefuses(t *testing.T, s thread.Store) {
	head := grow(t, s, key, thread.Head{Epoch: "e1"}, 2)
	for _, c := range []struct {
		name  string
		key   thread.Key
		after thread.Head
		list  []thread.Entry
	}{
		{"a hole", key, head, entries(4, 4)},
		{"a number again", key, head, entries(2, 3)},
		{"a hole in the middle", key, head, []thread.Entry{entry(3), entry(5)}},
		{"no number", key, head, []thread.Entry{{}}},
		{"no thread", thread.Key{Agent: "recipe"}, thread.Head{Epoch: "e1"}, entries(1, 1)},
		{"no epoch", thread.Key{ID: "new"}, thread.Head{}, entries(1, 1)},
	} {
		err := s.Append(t.Context(), c.key, c.after, c.list)
		var conflict *thread.ConflictError
		if err == nil || errors.As(err, &conflict) {
			t.Errorf("%s: %v, want an error that is no conflict", c.name, err)
		}
	}
	wantEntries(t, read(t, s, key, 0), entries(1, 2))
	wantHead(t, s, thread.Key{ID: "new"}, thread.Head{})
}

func testAppendConflict(t *testing.T, s thread.Store) {
	ctx := t.Context()
	wantConflict(t, s.Append(ctx, key, thread.Head{Epoch: "e1", Seq: 3}, entries(4, 4)), thread.Head{})
	head := grow(t, s, key, thread.Head{Epoch: "e1"}, 3)
	for _, after := range []thread.Head{
		{Epoch: "e1"}, {Epoch: "e1", Seq: 2}, {Epoch: "e1", Seq: 4}, {Epoch: "e2", Seq: 3}, {Epoch: "e2"}, {Epoch: "E1", Seq: 3},
	} {
		// All or none: the second entry would fit behind a head of 3.
		wantConflict(t, s.Append(ctx, key, after, entries(after.Seq+1, after.Seq+2)), head)
		wantConflict(t, s.Append(ctx, key, after, nil), head)
	}
	wantEntries(t, read(t, s, key, 0), entries(1, 3))
	grow(t, s, key, head, 4)
}

func testAppendCancelled(t *testing.T, s thread.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Append(ctx, key, thread.Head{Epoch: "e1"}, entries(1, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("appending: %v", err)
	}
	if _, err := s.Head(ctx, key); !errors.Is(err, context.Canceled) {
		t.Errorf("head: %v", err)
	}
	if _, err := s.List(ctx, key.Agent, key.Principal, thread.Listed{}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("list: %v", err)
	}
	if err := s.Compact(ctx, key, thread.Head{Epoch: "e1", Seq: 1}, 0, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("compacting: %v", err)
	}
	wantHead(t, s, key, thread.Head{})
}

// testAppendOneWins: of those who know one head exactly one gets on.
func testAppendOneWins(t *testing.T, s thread.Store) {
	head := thread.Head{Epoch: "e1"}
	for range 25 {
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() {
				e := entry(head.Seq + 1)
				e.Run = fmt.Sprint("writer ", i)
				errs[i] = s.Append(t.Context(), key, head, []thread.Entry{e})
			})
		}
		wg.Wait()
		winner := ""
		for i, err := range errs {
			switch {
			case err == nil && winner != "":
				t.Fatalf("%s and writer %d both appended behind %v", winner, i, head)
			case err == nil:
				winner = fmt.Sprint("writer ", i)
			default:
				wantConflict(t, err, thread.Head{Epoch: "e1", Seq: head.Seq + 1})
			}
		}
		got := read(t, s, key, head.Seq)
		if winner == "" || len(got) != 1 || got[0].Run != winner {
			t.Fatalf("%q won and the log has %v", winner, got)
		}
		head.Seq++
	}
}

// testAppendConcurrent: writers that read the head and try again all get on,
// each append is there once, in one piece, and the numbers are dense.
func testAppendConcurrent(t *testing.T, s thread.Store) {
	const writers, appends = 6, 15
	keys := []thread.Key{key, {Agent: "recipe", Principal: "ann", ID: "thread-2"}}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := 0; n < appends; {
				k := keys[(w+n)%len(keys)]
				head, err := s.Head(t.Context(), k)
				if err != nil {
					t.Error(err)
					return
				}
				if head.Epoch == "" {
					head.Epoch = fmt.Sprint("epoch of ", w)
				}
				list := entries(head.Seq+1, head.Seq+uint64(1+n%3))
				for i := range list {
					list[i].Run = fmt.Sprintf("%d/%d/%d", w, n, i)
				}
				var conflict *thread.ConflictError
				switch err := s.Append(t.Context(), k, head, list); {
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
	seen, total := map[string]bool{}, 0
	for _, k := range keys {
		piece := ""
		for i, e := range read(t, s, k, 0) {
			if e.Seq != uint64(i)+1 || seen[e.Run] {
				t.Fatalf("entry %d has number %d and is %s, there before: %v", i, e.Seq, e.Run, seen[e.Run])
			}
			seen[e.Run] = true
			total++
			at := strings.LastIndexByte(e.Run, '/')
			if begins := e.Run[at:] == "/0"; begins {
				piece = e.Run[:at]
			} else if e.Run[:at] != piece {
				t.Fatalf("%s stands in the middle of %s", e.Run, piece)
			}
		}
	}
	if want := writers * appends * 2; total != want { // 1, 2 and 3 entries in turn
		t.Fatalf("%d entries, want %d", total, want)
	}
}

// testEntriesComeBack: every field, and what JSON easily loses.
func testEntriesComeBack(t *testing.T, s thread.Store) {
	want := []thread.Entry{
		{Seq: 1},
		{Seq: 2, Time: start, Run: "r\x00\u2028\"", Author: "system", Left: 1 << 62, Settled: "call", Undoes: "run", Floor: true},
		{Seq: 3, Event: &agui.StateSnapshot{Snapshot: jsondoc.Null}, Change: jsondoc.Patch{}},
		{
			Seq: 4, Event: &agui.StateDelta{Delta: jsondoc.Patch{{Op: "add", Path: "/a", Value: jsondoc.Null}}},
			Change: jsondoc.Patch{{Op: "add", Path: "", Value: jsondoc.MustParse(`{"z":1.0,"a":123456789012345678901234567890,"":null,"🍝":[1e400]}`)}},
		},
		{Seq: 5, Lease: &thread.Lease{Owner: "node", Until: start.Add(time.Hour)}},
		{Seq: 6, Lease: &thread.Lease{}},
		{Seq: 7, Proposal: &state.Proposal{Call: "c", Tool: "f", Arguments: jsondoc.Null, Expires: start}},
		{Seq: 8, Proposal: &state.Proposal{Arguments: jsondoc.MustParse(`{"b":1,"a":2}`), Base: jsondoc.MustParse(`{"/x":null}`)}},
		{Seq: 9, Event: &agui.Unknown{Type: "LATER", JSON: jsondoc.MustParse(`{"n":1.50,"type":"LATER"}`)}},
	}
	if err := s.Append(t.Context(), key, thread.Head{Epoch: "e1"}, want); err != nil {
		t.Fatal(err)
	}
	got := read(t, s, key, 0)
	wantEntries(t, got, want)
	for i := range got {
		if (got[i].Change == nil) != (want[i].Change == nil) || !got[i].Time.Equal(want[i].Time) {
			t.Errorf("entry %d: change %v at %v, want %v at %v", i+1, got[i].Change, got[i].Time, want[i].Change, want[i].Time)
		}
		if p := got[i].Proposal; p != nil && p.Base.IsAbsent() != want[i].Proposal.Base.IsAbsent() {
			t.Errorf("entry %d: base %v, want %v", i+1, p.Base.Kind(), want[i].Proposal.Base.Kind())
		}
	}
}

// testOddKeys: any non-empty string is an ID.
func testOddKeys(t *testing.T, s thread.Store) {
	long := strings.Repeat("ünï/", 64<<10/6)
	ids := []string{
		"a", "A", "a ", " a", "a/b", "a%2Fb", "../../etc/passwd", "a\x00b", "a\x00", "\x00", "ключ", "é", "e\u0301", "🍝",
		"'; DROP TABLE logs; --", "\n", "?x=1#y", "\xff\xfe", "null", "0", "-1", long, long + "x",
	}
	for i, id := range ids {
		k := thread.Key{Agent: id, Principal: id, ID: id}
		head := grow(t, s, k, thread.Head{Epoch: fmt.Sprint("e", i)}, 1)
		grow(t, s, k, head, uint64(i)+2)
	}
	for i, id := range ids {
		k := thread.Key{Agent: id, Principal: id, ID: id}
		wantHead(t, s, k, thread.Head{Epoch: fmt.Sprint("e", i), Seq: uint64(i) + 2})
		wantEntries(t, read(t, s, k, 0), entries(1, uint64(i)+2))
		list, err := s.List(t.Context(), id, id, thread.Listed{}, 10)
		if err != nil || len(list) != 1 || list[0].ID != id {
			t.Fatalf("%.40q is listed as %d logs, %v", id, len(list), err)
		}
		if err := s.Compact(t.Context(), k, thread.Head{Epoch: fmt.Sprint("e", i), Seq: uint64(i) + 2}, 0, uint64(i)+2, nil); err != nil {
			t.Fatal(err)
		}
		wantHead(t, s, k, thread.Head{})
	}
}

// testKeysAreApart: agent, principal and ID all tell logs apart.
func testKeysAreApart(t *testing.T, s thread.Store) {
	keys := []thread.Key{{ID: "t"}, {Agent: "t", ID: "t"}, {Principal: "t", ID: "t"}, {Agent: "t", Principal: "t", ID: "t"}, {Agent: "tt", ID: "t"}, {Agent: "t", ID: "tt"}}
	for i, k := range keys {
		grow(t, s, k, thread.Head{Epoch: "e"}, uint64(i)+1)
	}
	for i, k := range keys {
		wantHead(t, s, k, thread.Head{Epoch: "e", Seq: uint64(i) + 1})
		wantEntries(t, read(t, s, k, 0), entries(1, uint64(i)+1))
	}
}

func testBigEntries(t *testing.T, s thread.Store) {
	big := jsondoc.Object(jsondoc.Member{Name: "text", Value: jsondoc.String(strings.Repeat("0123456789abcde\n", 4<<20/16))})
	want := entries(1, 5)
	want[1].Event = &agui.StateSnapshot{Snapshot: big}
	want[2].Change = jsondoc.Patch{{Op: "replace", Path: "", Value: jsondoc.String(strings.Repeat("x", 600<<10))}}
	if err := s.Append(t.Context(), key, thread.Head{Epoch: "e1"}, want); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, read(t, s, key, 0), want)
}

func testManyLogs(t *testing.T, s thread.Store) {
	const logs, rounds = 120, 3
	k := func(i int) thread.Key { return thread.Key{Agent: "a", ID: fmt.Sprint("log ", i)} }
	for round := range rounds {
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := w; i < logs; i += 4 {
					head := thread.Head{Epoch: fmt.Sprint("e", i), Seq: uint64(2 * round)}
					if err := s.Append(t.Context(), k(i), head, entries(head.Seq+1, head.Seq+2)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}
	for i := range logs {
		wantHead(t, s, k(i), thread.Head{Epoch: fmt.Sprint("e", i), Seq: 2 * rounds})
		wantEntries(t, read(t, s, k(i), 0), entries(1, 2*rounds))
	}
}
