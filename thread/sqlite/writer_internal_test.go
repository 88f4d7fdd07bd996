package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	driver "modernc.org/sqlite"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/thread"
)

func openTest(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "lockstep.db"), nil)
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

func entry(seq uint64, text string) thread.Entry {
	return thread.Entry{Seq: seq, Event: &agui.TextMessageContent{MessageID: "m", Delta: text}}
}

func head(seq uint64) thread.Head { return thread.Head{Epoch: "e", Seq: seq} }

// hold keeps the writer busy until the returned function is called.
func hold(s *Store) (release func()) {
	held, end, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_ = s.do(background, &request{
			work:   func() (error, error) { return nil, nil },
			around: func(func() error) error { close(held); <-end; return nil },
		})
	}()
	<-held
	return func() { close(end); <-done }
}

// commits counts the transactions that changed something from now on.
func commits(t *testing.T, s *Store) *int {
	t.Helper()
	n := new(int)
	err := s.writer.conn.Raw(func(c any) error {
		c.(driver.HookRegisterer).RegisterCommitHook(func() int32 { *n++; return 0 })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// exec changes the file on the writer's own connection, while it is idle.
func change(t *testing.T, s *Store, statement string) {
	t.Helper()
	if _, err := s.writer.conn.ExecContext(background, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// TestAppendsShareACommit: what comes in during a commit is taken along by the
// next one, in the order in which it came.
func TestAppendsShareACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t)
		n := commits(t, s)
		release := hold(s)
		errs := make(chan error)
		for i := range 40 {
			go func() {
				errs <- s.Append(background, thread.Key{ID: fmt.Sprint(i % 20)}, head(uint64(i/20)), []thread.Entry{entry(uint64(i/20)+1, "x")})
			}()
			synctest.Wait() // it waits for the writer now
		}
		release()
		for range 40 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if *n != 1 {
			t.Errorf("40 appends took %d commits", *n)
		}
		// A lone one waits for nobody.
		if err := s.Append(background, thread.Key{ID: "0"}, head(2), []thread.Entry{entry(3, "x")}); err != nil || *n != 2 {
			t.Errorf("%v, %d commits", err, *n)
		}
	})
}

// TestAppendsFailAlone: one that is refused, or that cannot be stored, takes no
// other along.
func TestAppendsFailAlone(t *testing.T) {
	for _, broken := range []bool{false, true} {
		t.Run(fmt.Sprint("broken ", broken), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := openTest(t)
				change(t, s, "CREATE TRIGGER too_large BEFORE INSERT ON entries WHEN length(NEW.data) > 5000 BEGIN SELECT RAISE(ROLLBACK, 'too large'); END")
				n := commits(t, s)
				release := hold(s)
				type result struct {
					name string
					err  error
				}
				results := make(chan result)
				var all []string
				appendTo := func(name, id string, after uint64, text string) {
					all = append(all, name)
					go func() {
						results <- result{name, s.Append(background, thread.Key{ID: id}, head(after), []thread.Entry{entry(after+1, "x"), entry(after+2, text)})}
					}()
					synctest.Wait()
				}
				appendTo("first", "a", 0, "x")
				appendTo("conflict", "a", 0, "x")
				appendTo("second", "a", 2, "x")
				if broken {
					appendTo("broken", "b", 0, strings.Repeat("x", 6000))
					appendTo("behind broken", "b", 2, "x")
				}
				appendTo("other", "c", 0, "x")
				release()
				for range all {
					r := <-results
					var conflict *thread.ConflictError
					isConflict := errors.As(r.err, &conflict)
					switch r.name {
					case "conflict":
						if !isConflict || conflict.Head != head(2) {
							t.Errorf("%s: %v", r.name, r.err)
						}
					case "behind broken":
						if !isConflict || conflict.Head != (thread.Head{}) {
							t.Errorf("%s: %v", r.name, r.err)
						}
					case "broken":
						if r.err == nil || isConflict || !strings.Contains(r.err.Error(), "too large") || !strings.Contains(r.err.Error(), s.path) {
							t.Errorf("%s: %v", r.name, r.err)
						}
					default:
						if r.err != nil {
							t.Errorf("%s: %v", r.name, r.err)
						}
					}
				}
				if !broken && *n != 1 {
					t.Errorf("%d commits, want one", *n)
				}
				for id, want := range map[string]uint64{"a": 4, "b": 0, "c": 2} {
					got, err := s.Head(background, thread.Key{ID: id})
					if err != nil || got.Seq != want {
						t.Errorf("%s ends at %v, %v, want %d", id, got, err, want)
					}
				}
			})
		})
	}
}

// TestAppendIsFinishedOnceTaken: a context ends the wait for the writer, and not
// what the writer has begun.
func TestAppendIsFinishedOnceTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t)
		key := thread.Key{ID: "t"}
		release := hold(s)
		ctx, cancel := context.WithCancel(background)
		waiting := make(chan error, 1)
		go func() { waiting <- s.Append(ctx, key, head(0), []thread.Entry{entry(1, "waiting")}) }()
		synctest.Wait()
		cancel()
		if err := <-waiting; !errors.Is(err, context.Canceled) {
			t.Errorf("an append that waited: %v", err)
		}
		release()
		if got, err := s.Head(background, key); err != nil || got.Seq != 0 {
			t.Errorf("it was stored all the same: %v, %v", got, err)
		}

		taken, end := make(chan struct{}), make(chan struct{})
		ctx, cancel = context.WithCancel(background)
		done := make(chan error, 1)
		go func() {
			done <- s.do(ctx, &request{
				key: key,
				work: func() (error, error) {
					rows, _ := encode([]thread.Entry{entry(1, "taken")})
					return s.writer.append(key, head(0), rows)
				},
				around: func(transaction func() error) error { close(taken); <-end; return transaction() },
			})
		}()
		<-taken
		cancel()
		synctest.Wait()
		select {
		case err := <-done:
			t.Errorf("nobody waited for an append that was taken up: %v", err)
		default:
		}
		close(end)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got, err := s.Head(background, key); err != nil || got.Seq != 1 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// TestClose: what was taken up is finished, what waits is refused, tails end.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t)
		key := thread.Key{ID: "t"}
		if err := s.Append(background, key, head(0), []thread.Entry{entry(1, "x")}); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 3)
		go func() {
			for _, err := range s.Tail(background, key, 1) {
				ended <- err
			}
		}()
		release := hold(s)
		go func() { ended <- s.Append(background, key, head(1), []thread.Entry{entry(2, "x")}) }()
		synctest.Wait()
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		for range 2 {
			if err := <-ended; !errors.Is(err, ErrClosed) {
				t.Errorf("%v", err)
			}
		}
		release()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if _, err := s.Head(background, key); !errors.Is(err, ErrClosed) {
			t.Errorf("head of a closed store: %v", err)
		}
		if _, err := s.List(background, "", "", thread.Listed{}, 1); !errors.Is(err, ErrClosed) {
			t.Errorf("list of a closed store: %v", err)
		}
	})
}

// TestNoRoom: a store that cannot write refuses, stores nothing of what it
// refuses, is read all the same, and goes on when it can.
func TestNoRoom(t *testing.T) {
	for _, c := range []struct{ name, begin, end string }{
		{"full", "PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000"}, // as small as it is
		{"read-only", "PRAGMA query_only = 1", "PRAGMA query_only = 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, key := openTest(t), thread.Key{ID: "t"}
			if err := s.Append(background, key, head(0), []thread.Entry{entry(1, "x")}); err != nil {
				t.Fatal(err)
			}
			var rows int
			if err := s.writer.conn.QueryRowContext(background, c.begin).Scan(&rows); err != nil && c.name == "full" {
				t.Fatal(err)
			}
			big := strings.Repeat("x", 1<<20)
			for range 3 {
				err := s.Append(background, key, head(1), []thread.Entry{entry(2, "small"), entry(3, big)})
				var conflict *thread.ConflictError
				if err == nil || errors.As(err, &conflict) || !strings.Contains(err.Error(), s.path) {
					t.Fatalf("got %v, want an error that names the file", err)
				}
				if got, err := s.Head(background, key); err != nil || got != head(1) {
					t.Fatalf("the head is %v, %v", got, err)
				}
				n := 0
				for _, err := range s.Read(background, key, 0) {
					if n++; err != nil {
						t.Fatal(err)
					}
				}
				if n != 1 {
					t.Fatalf("%d entries, want 1", n)
				}
			}
			if err := s.Compact(background, key, head(1), 0, 1, []thread.Entry{entry(1, big)}); err == nil {
				t.Error("a compaction that grows was stored")
			}
			_ = s.writer.conn.QueryRowContext(background, c.end).Scan(&rows) // one of them says nothing
			if err := s.Append(background, key, head(1), []thread.Entry{entry(2, big)}); err != nil {
				t.Errorf("there is room again: %v", err)
			}
		})
	}
}

// TestSnapshotsEnd: what a compaction kept for its readers goes with the last of
// them.
func TestSnapshotsEnd(t *testing.T) {
	s, key := openTest(t), thread.Key{ID: "t"}
	var list []thread.Entry
	for seq := uint64(1); seq <= 3*pageRows; seq++ {
		list = append(list, entry(seq, "x"))
	}
	if err := s.Append(background, key, head(0), list); err != nil {
		t.Fatal(err)
	}
	compacted := false
	n := 0
	for e, err := range s.Read(background, key, 0) {
		if n++; err != nil {
			t.Fatal(err)
		}
		if compacted {
			continue
		}
		for range s.Read(background, key, 0) { // another reader under way, which leaves
			break
		}
		if err := s.Compact(background, key, head(list[len(list)-1].Seq), 0, e.Seq+10, nil); err != nil {
			t.Fatal(err)
		}
		compacted = true
		for v := range s.reader.logs[key].views {
			if v.snapshot == nil || v.snapshot.users != 1 {
				t.Errorf("the reader has %+v", v.snapshot)
			}
		}
	}
	if n != len(list) {
		t.Errorf("%d entries, want %d", n, len(list))
	}
	if len(s.reader.logs) != 0 || len(s.reader.free) != 0 {
		t.Errorf("%d logs are being read by nobody, %d connections are in use", len(s.reader.logs), len(s.reader.free))
	}
}

// TestManyLogsInUse: a log whose end is not remembered is looked up.
func TestManyLogsInUse(t *testing.T) {
	s := openTest(t)
	first := thread.Key{ID: "first"}
	if err := s.Append(background, first, head(0), []thread.Entry{entry(1, "x")}); err != nil {
		t.Fatal(err)
	}
	for i := range cachedLogs + 100 {
		s.writer.keep(thread.Key{ID: fmt.Sprint("other ", i)}, logEnd{id: 1000 + int64(i)})
	}
	if len(s.writer.logs) != cachedLogs {
		t.Errorf("%d logs are remembered, want %d", len(s.writer.logs), cachedLogs)
	}
	delete(s.writer.logs, first)
	if err := s.Append(background, first, head(1), []thread.Entry{entry(2, "x")}); err != nil {
		t.Error(err)
	}
}
