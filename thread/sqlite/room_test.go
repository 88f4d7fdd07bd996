//go:build linux || darwin

package sqlite_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/thread"
)

// TestWritesFail: the operating system refuses to let files grow in the middle
// of an append. What was acknowledged stays, what was not is not there, and the
// store goes on when it may grow again; after a restart, too.
func TestWritesFail(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Skip(err)
	}
	signal.Ignore(syscall.SIGXFSZ) // which would end the process; without it writes fail with EFBIG
	defer signal.Reset(syscall.SIGXFSZ)

	path := filepath.Join(t.TempDir(), "lockstep.db")
	s := open(t, path)
	key, head := thread.Key{ID: "t"}, thread.Head{Epoch: "e"}
	add := func(size int) error {
		e := thread.Entry{Seq: head.Seq + 1, Event: &agui.TextMessageContent{MessageID: "m", Delta: strings.Repeat("x", size)}}
		err := s.Append(t.Context(), key, head, []thread.Entry{e})
		if err == nil {
			head.Seq++
		}
		return err
	}
	want := func() {
		t.Helper()
		n := uint64(0)
		for e, err := range s.Read(t.Context(), key, 0) {
			if n++; err != nil || e.Seq != n {
				t.Fatalf("entry %d: %d, %v", n, e.Seq, err)
			}
		}
		if got, err := s.Head(t.Context(), key); n != head.Seq || got != head || err != nil {
			t.Fatalf("%d entries and the head %v, %v, want %v", n, got, err, head)
		}
	}
	if err := add(1000); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		small := limit
		small.Cur = min(uint64(info.Size())+20_000, limit.Max)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
			t.Fatal(err)
		}
		failed := 0
		for range 20 {
			if err := add(3000); err != nil {
				if failed++; !strings.Contains(err.Error(), path) {
					t.Errorf("%v does not name the file", err)
				}
			}
		}
		want()
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		if failed == 0 {
			t.Fatalf("round %d: no append failed", round)
		}
		if err := add(3000); err != nil {
			t.Fatalf("round %d: files may grow again: %v", round, err)
		}
		want()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	want()
}
