package sqlite_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/storetest"
)

const backupOf, backupWith = "LOCKSTEP_SQLITE_BACKUP_OF", "LOCKSTEP_SQLITE_BACKUP_WITH"

// TestBackup: the command that the operations guide gives makes a store of an open
// one, with all that was acknowledged, and the open one goes on. Another process
// runs it, as the shell does.
func TestBackup(t *testing.T) {
	if path := os.Getenv(backupOf); path != "" {
		statements(t, path, os.Getenv(backupWith))
		return
	}
	guide, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^sqlite3 \S+ "(.*)"\r?$`).FindSubmatch(guide)
	if command == nil {
		t.Fatal("the guide has no command")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "threads.db")
	s, key, ctx := open(t, path), thread.Key{Agent: "writer", ID: "t"}, t.Context()
	if err := s.Append(ctx, key, thread.Head{Epoch: "e"}, storetest.Batch(0, 100)); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, program, "-test.run=^TestBackup$")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), backupOf+"="+path, backupWith+"="+string(command[1]))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := s.Append(ctx, key, thread.Head{Epoch: "e", Seq: 100}, storetest.Batch(100, 1)); err != nil {
		t.Errorf("the store does not go on: %v", err)
	}
	copied := open(t, filepath.Join(dir, "backup.db"))
	if head, err := copied.Head(ctx, key); err != nil || head != (thread.Head{Epoch: "e", Seq: 100}) {
		t.Errorf("the copy ends at %v, %v", head, err)
	}
	n := uint64(0)
	for e, err := range copied.Read(ctx, key, 0) {
		if n++; err != nil || e.Seq != n {
			t.Fatalf("entry %d of the copy is %d, %v", n, e.Seq, err)
		}
	}
	if n != 100 {
		t.Errorf("the copy has %d entries", n)
	}
}
