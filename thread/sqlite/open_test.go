package sqlite_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/sqlite"
)

// statements changes a file behind the store's back.
func statements(t *testing.T, path string, list ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOpenRefuses: a file that is not ours is named, and left as it is.
func TestOpenRefuses(t *testing.T) {
	ours := func(t *testing.T, path string, list ...string) {
		t.Helper()
		if err := open(t, path).Close(); err != nil {
			t.Fatal(err)
		}
		statements(t, path, list...)
	}
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		want string
	}{
		{"text", func(t *testing.T, path string) { write(t, path, "dear diary, this is no database\n") }, "is not an SQLite database"},
		{"short text", func(t *testing.T, path string) { write(t, path, "x") }, "is not an SQLite database"},
		{"a header and nothing else", func(t *testing.T, path string) { write(t, path, "SQLite format 3\x00") }, "cannot"},
		{"a header and nonsense", func(t *testing.T, path string) {
			write(t, path, "SQLite format 3\x00"+strings.Repeat("nonsense", 1000))
		}, "cannot"},
		{"another program's", func(t *testing.T, path string) { statements(t, path, "CREATE TABLE logs (id)") }, "is the database of another program"},
		{"another program's, marked", func(t *testing.T, path string) { statements(t, path, "PRAGMA application_id = 1") }, "is the database of another program"},
		{"a newer one", func(t *testing.T, path string) {
			ours(t, path, "UPDATE lockstep SET value = 7 WHERE name = 'schema'")
		}, "was written by a newer Lockstep (schema 7, this one knows 1)"},
		{"one without a version", func(t *testing.T, path string) { ours(t, path, "DELETE FROM lockstep") }, "does not say its schema's version"},
		{"one without its tables", func(t *testing.T, path string) { ours(t, path, "DROP TABLE entries") }, "no such table: entries"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lockstep.db")
			c.make(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the first one has let go of the lock
				_, err = sqlite.Open(path, nil)
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
					t.Errorf("got %v\nwant %s and the path", err, c.want)
				}
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file was changed, %v", err)
			}
		})
	}
	dir := t.TempDir()
	for path, want := range map[string]string{
		"":                                  "needs a file name",
		dir:                                 dir,
		filepath.Join(dir, "no", "such.db"): filepath.Join(dir, "no"),
	} {
		if _, err := sqlite.Open(path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOddPaths: no character of a path means anything but itself.
func TestOddPaths(t *testing.T) {
	for _, name := range []string{"a b.db", "ünïcödé 🍝.db", "100%25.db", "a#b.db", "a&_pragma=x.db", "a'b.db", "file:x.db", "a?mode=memory.db"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Skip("no such names here:", err)
			}
			for n := range uint64(2) {
				s := open(t, path)
				if err := s.Append(t.Context(), thread.Key{ID: "t"}, thread.Head{Epoch: "e", Seq: n}, []thread.Entry{{Seq: n + 1}}); err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if info, err := os.Stat(path); err != nil || info.Size() == 0 {
				t.Errorf("the store is not in %s: %v", path, err)
			}
		})
	}
}

// TestDamaged: a damaged file gives errors that name it, wherever it is damaged,
// and never another entry than was appended.
func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lockstep.db")
	s := open(t, path)
	key, want := thread.Key{ID: "t"}, []thread.Entry(nil)
	for seq := range uint64(400) {
		want = append(want, thread.Entry{
			Seq: seq + 1, Time: time.UnixMilli(1764540000000).UTC(),
			Event: &agui.TextMessageContent{MessageID: "m", Delta: strings.Repeat("word ", 20)},
		})
	}
	if err := s.Append(t.Context(), key, thread.Head{Epoch: "e"}, want); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	failures := 0
	for at := 50; at < len(whole); at += len(whole)/24 + 1 {
		damaged := filepath.Join(t.TempDir(), "lockstep.db")
		text := bytes.Clone(whole)
		for i := at; i < min(at+40, len(text)); i++ {
			text[i] = 0xff
		}
		write(t, damaged, string(text))
		s, err := sqlite.Open(damaged, nil)
		if err != nil {
			if failures++; !strings.Contains(err.Error(), damaged) {
				t.Errorf("damaged at %d: %v", at, err)
			}
			continue
		}
		n, failed := 0, false
		for e, err := range s.Read(t.Context(), key, 0) {
			if err != nil {
				if failures++; !strings.Contains(err.Error(), damaged) {
					t.Errorf("damaged at %d: %v", at, err)
				}
				failed = true
				break
			}
			if got, want := string(thread.AppendEntry(nil, e)), string(thread.AppendEntry(nil, want[n])); got != want {
				t.Errorf("damaged at %d: entry %d is\n%s", at, n+1, got)
			}
			n++
		}
		if !failed && n != len(want) {
			t.Errorf("damaged at %d: %d entries and no error", at, n)
		}
		_ = s.Close() // a damaged file need not close well
	}
	if failures < 8 {
		t.Errorf("only %d damages were noticed", failures)
	}
}
