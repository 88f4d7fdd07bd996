package postgres_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/pgtest"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
	"github.com/lockstep-go/lockstep/thread/postgres"
	"github.com/lockstep-go/lockstep/thread/storetest"
)

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main{M: m}) }

func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(context.Background(), url, nil)
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
	url := pgtest.URL(t)
	// One store for all tests, which run one after the other: to make tables and
	// connections for each takes longer than most of them.
	s := open(t, url)
	storetest.Run(t, func(t *testing.T) thread.Store {
		pgtest.Exec(t, url, "DELETE FROM lockstep_logs", "DELETE FROM lockstep_entries", "DELETE FROM lockstep_replaced")
		return s
	})
}

// TestDurable (T4): a process that is killed, on a server that is not.
func TestDurable(t *testing.T) {
	if os.Getenv(pgtest.Env) == "" {
		t.Setenv(pgtest.Env, pgtest.URL(t)) // the children use this one
	}
	base := os.Getenv(pgtest.Env)
	storetest.RunDurable(t, storetest.Durable{Open: func(path string) (storetest.Closer, error) {
		sum := sha256.Sum256([]byte(path))
		return postgres.OpenIn(base, "durable_"+hex.EncodeToString(sum[:8]))
	}})
}

var key = thread.Key{Agent: "recipe", Principal: "ann", ID: "thread-1"}

// entry makes the entry of a number; the same number makes the same entry.
func entry(seq uint64) thread.Entry {
	return thread.Entry{
		Seq: seq, Time: time.UnixMilli(1764540000000 + int64(seq)).UTC(), Run: "run-1", Author: "agent",
		Event: &agui.TextMessageContent{MessageID: "m1", Delta: fmt.Sprint("text ", seq)},
	}
}

func entries(from, to uint64) (out []thread.Entry) {
	for seq := from; seq <= to; seq++ {
		out = append(out, entry(seq))
	}
	return out
}

// grow appends the entries up to a number, and returns where the log ends.
func grow(t testing.TB, s thread.Store, k thread.Key, head thread.Head, to uint64) thread.Head {
	t.Helper()
	if err := s.Append(context.Background(), k, head, entries(head.Seq+1, to)); err != nil {
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

// seeds are how many random histories are tried.
func seeds() int {
	if os.Getenv("LOCKSTEP_LONG") != "" {
		return 400
	}
	return 8
}

// TestHistories (T2): whatever is appended, compacted, forgotten and swept, from
// two processes, the log is what it is in memory; and a reader that began in
// between sees the log of its beginning.
func TestHistories(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	stores := []*postgres.Store{open(t, url), open(t, url)}
	for n := range seeds() {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("%d seed %d", n, seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			k, model := thread.Key{ID: fmt.Sprint("log ", n)}, memory.New()
			head := thread.Head{Epoch: "e0"}
			type reading struct {
				want []thread.Entry
				next func() (thread.Entry, error, bool)
				stop func()
			}
			var readings []reading
			defer func() {
				for _, r := range readings {
					r.stop()
				}
			}()
			for step := range 25 {
				s := stores[rng.IntN(2)]
				both := func(f func(s thread.Store) error) {
					t.Helper()
					a, b := f(s), f(model)
					if (a == nil) != (b == nil) {
						t.Fatalf("step %d: %v, in memory %v", step, a, b)
					}
				}
				switch what := rng.IntN(10); {
				case what < 4 || head.Seq == 0:
					to := head.Seq + 1 + rng.Uint64N(60)
					both(func(s thread.Store) error {
						return s.Append(t.Context(), k, head, entries(head.Seq+1, to))
					})
					head.Seq = to
				case what < 7:
					upTo := 1 + rng.Uint64N(head.Seq)
					after := rng.Uint64N(upTo)
					var list []thread.Entry
					for seq := after + 1; seq <= upTo; seq++ {
						if rng.IntN(8) == 0 {
							e := entry(seq)
							e.Run, e.Floor = fmt.Sprint("compacted in step ", step), true
							list = append(list, e)
						}
					}
					if after == 0 && upTo == head.Seq && len(list) == 0 {
						continue
					}
					both(func(s thread.Store) error { return s.Compact(t.Context(), k, head, after, upTo, list) })
				case what < 8:
					both(func(s thread.Store) error { return s.Compact(t.Context(), k, head, 0, head.Seq, nil) })
					head = thread.Head{Epoch: fmt.Sprint("e", step)}
				case what < 9 && len(readings) == 0: // what is being read is kept
					if err := s.Sweep(t.Context(), 0); err != nil {
						t.Fatal(err)
					}
				default:
					after := rng.Uint64N(head.Seq + 2)
					next, stop := iter.Pull2(s.Read(t.Context(), k, after))
					r := reading{want: read(t, model, k, after), next: next, stop: stop}
					if e, err, ok := next(); ok != (len(r.want) > 0) || err != nil || ok && text([]thread.Entry{e}) != text(r.want[:1]) {
						t.Fatalf("step %d: behind %d is %v, %v, %v, want %.300s", step, after, e, err, ok, text(r.want))
					} else if ok {
						r.want = r.want[1:]
						readings = append(readings, r)
					}
				}
				for range 2 {
					after := rng.Uint64N(head.Seq + 2)
					wantEntries(t, read(t, stores[rng.IntN(2)], k, after), read(t, model, k, after))
				}
				if len(readings) > 0 && rng.IntN(3) == 0 {
					r := readings[0]
					readings = readings[1:]
					var got []thread.Entry
					for e, err, ok := r.next(); ok; e, err, ok = r.next() {
						if err != nil {
							t.Fatalf("step %d: a reader of before: %v", step, err)
						}
						got = append(got, e)
					}
					r.stop()
					wantEntries(t, got, r.want)
				}
			}
		})
	}
}

// TestSweep: what was compacted or forgotten is gone from the tables when its
// time has come, and nothing else. A reader who needs it gets an error.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.URL(t))
	ctx := t.Context()
	gone := thread.Key{ID: "gone"}
	head := grow(t, s, key, thread.Head{Epoch: "e"}, 1000)
	next, stop := iter.Pull2(s.Read(ctx, key, 0))
	defer stop()
	if e, err, _ := next(); e.Seq != 1 || err != nil {
		t.Fatal(e, err)
	}
	if err := s.Compact(ctx, key, head, 0, 900, []thread.Entry{entry(500)}); err != nil {
		t.Fatal(err)
	}
	// More than one statement cleans up behind.
	for i := range uint64(40) {
		if err := s.Compact(ctx, key, head, 900+i, 901+i, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(ctx, gone, grow(t, s, gone, thread.Head{Epoch: "e"}, 100), 0, 100, nil); err != nil {
		t.Fatal(err)
	}
	want := append([]thread.Entry{entry(500)}, entries(941, 1000)...)
	for _, c := range []struct {
		age                     time.Duration
		logs, entries, replaced int
	}{
		{time.Hour, 1, 1000 + 2 + 40 + 100, 42}, // 500, 900 and 40 that stand for one number each
		{0, 1, 2 + 40 + 60, 0},
		{0, 1, 2 + 40 + 60, 0},
	} {
		if err := s.Sweep(ctx, c.age); err != nil {
			t.Fatal(err)
		}
		var got [3]int
		for i, table := range []string{"logs", "entries", "replaced"} {
			got[i] = s.Count(t, "lockstep_"+table)
		}
		if got != [3]int{c.logs, c.entries, c.replaced} {
			t.Errorf("behind a sweep of what is older than %v there are %v rows, want %v", c.age, got, c)
		}
		wantEntries(t, read(t, s, key, 0), want)
		wantEntries(t, read(t, s, gone, 0), nil)
	}
	for {
		e, err, ok := next()
		if !ok {
			t.Fatal("a reader was told nothing of what it missed")
		}
		if err != nil {
			break
		}
		if e.Seq > 900 {
			t.Fatalf("a reader got entry %d", e.Seq)
		}
	}
}

// TestDamaged: what is missing or changed in the tables is an error that names
// the thread, never a shorter log or something that nobody said.
func TestDamaged(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	for i, statement := range []string{
		"DELETE FROM lockstep_entries WHERE log = $ AND seq = 1",
		"DELETE FROM lockstep_entries WHERE log = $ AND seq = 60",
		"DELETE FROM lockstep_entries WHERE log = $ AND seq > 90",
		"DELETE FROM lockstep_entries WHERE log = $",
		"UPDATE lockstep_entries SET data = '{' WHERE log = $ AND seq = 60",
		"UPDATE lockstep_entries SET data = (SELECT data FROM lockstep_entries WHERE log = $ AND seq = 59) WHERE log = $ AND seq = 60",
		"UPDATE lockstep_logs SET seq = 101 WHERE log = $",
		"UPDATE lockstep_logs SET log = DEFAULT WHERE log = $",
	} {
		k := thread.Key{ID: fmt.Sprint("thread ", i)}
		grow(t, s, k, thread.Head{Epoch: "e"}, 100)
		pgtest.Exec(t, url, strings.ReplaceAll(statement, "$", fmt.Sprintf("(SELECT log FROM lockstep_logs WHERE thread = '%s')", k.ID)))
		n, last := uint64(0), error(nil)
		for e, err := range s.Read(t.Context(), k, 0) {
			if last = err; err != nil {
				break
			}
			if n++; text([]thread.Entry{e}) != text(entries(n, n)) {
				t.Errorf("%s: entry %d is\n%s", statement, n, text([]thread.Entry{e}))
			}
		}
		if last == nil || !contains(last, "missing") && !contains(last, "damaged") || !contains(last, k.ID) {
			t.Errorf("%s: %d entries and %v", statement, n, last)
		}
	}
}

// TestClose: a store that is closed ends what waits, and takes nothing more.
func TestClose(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.URL(t))
	grow(t, s, key, thread.Head{Epoch: "e"}, 1)
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for _, err := range s.Tail(context.Background(), key, 0) {
			if err != nil {
				ended <- err
				return
			}
			close(began)
		}
	}()
	<-began
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, headErr := s.Head(t.Context(), key)
	_, listErr := s.List(t.Context(), "", "", thread.Listed{}, 1)
	_, staleErr := s.Stale(t.Context(), time.Now(), 1)
	for what, err := range map[string]error{
		"tail": <-ended, "head": headErr, "list": listErr, "stale": staleErr,
		"append":  s.Append(t.Context(), key, thread.Head{Epoch: "e", Seq: 1}, entries(2, 2)),
		"compact": s.Compact(t.Context(), key, thread.Head{Epoch: "e", Seq: 1}, 0, 1, nil),
	} {
		if !errors.Is(err, postgres.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
