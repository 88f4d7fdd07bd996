package sqlite_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/sqlite"
)

// wantHeld checks that a file is held, and by whom.
func wantHeld(t *testing.T, path string, pid int) {
	t.Helper()
	s, err := sqlite.Open(path, nil)
	if err == nil {
		_ = s.Close()
		t.Fatalf("%s is opened although it is held", path)
	}
	var held *sqlite.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("%v is no HeldError", err)
	}
	host, _ := os.Hostname()
	if held.PID != pid || held.Host != host || held.Since.IsZero() || time.Since(held.Since) < 0 || filepath.Base(held.Path) != "lockstep.db" {
		t.Errorf("held by %+v, want process %d on %s", held, pid, host)
	}
	if want := fmt.Sprintf("process %d", pid); !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), held.Path) {
		t.Errorf("%q does not say who holds what", err)
	}
}

func TestHeldError(t *testing.T) {
	since := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, err := range map[string]*sqlite.HeldError{
		"sqlite: /a.db is in use by another process; stop it, or use another file":                                &sqlite.HeldError{Path: "/a.db"},
		"sqlite: /a.db is in use by process 7; stop it, or use another file":                                      &sqlite.HeldError{Path: "/a.db", PID: 7},
		"sqlite: /a.db is in use by process 7 on node-1 since 2030-01-02T03:04:05Z; stop it, or use another file": &sqlite.HeldError{Path: "/a.db", PID: 7, Host: "node-1", Since: since},
	} {
		if err.Error() != want {
			t.Errorf("got  %s\nwant %s", err, want)
		}
	}
}

// TestOneOwner: one file has one owner, by whatever name.
func TestOneOwner(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lockstep.db")
	s := open(t, path)
	wantHeld(t, path, os.Getpid())
	t.Run("by another way", func(t *testing.T) {
		wantHeld(t, filepath.Join(dir, "..", filepath.Base(dir), "lockstep.db"), os.Getpid())
	})
	t.Run("by a link", func(t *testing.T) {
		links := t.TempDir()
		for link, target := range map[string]string{"to-file.db": path, "to-dir": dir, "to-link.db": filepath.Join(links, "to-file.db")} {
			if err := os.Symlink(target, filepath.Join(links, link)); err != nil {
				t.Skip("no symbolic links here:", err)
			}
		}
		for _, name := range []string{"to-file.db", "to-link.db", "to-dir/lockstep.db"} {
			wantHeld(t, filepath.Join(links, name), os.Getpid())
		}
	})
	// The one who was refused has taken nothing from the one who holds it.
	if err := s.Append(t.Context(), thread.Key{ID: "t"}, thread.Head{Epoch: "e"}, []thread.Entry{{Seq: 1}}); err != nil {
		t.Fatal(err)
	}
	wantHeld(t, path, os.Getpid())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDanglingLink: a link to a file that is not there yet makes that file, and
// the lock is that file's.
func TestDanglingLink(t *testing.T) {
	dir, links := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "lockstep.db")
	for link, target := range map[string]string{"a.db": path, "b.db": "a.db"} {
		if err := os.Symlink(target, filepath.Join(links, link)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	open(t, filepath.Join(links, "b.db"))
	wantHeld(t, path, os.Getpid())
	loop := filepath.Join(links, "loop.db")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(loop, nil); err == nil || !strings.Contains(err.Error(), loop) {
		t.Errorf("a link to itself: %v", err)
	}
}

// TestStaleOwner: what a dead process left behind blocks nobody.
func TestStaleOwner(t *testing.T) {
	for name, text := range map[string]string{"of a dead process": `{"pid":1,"host":"elsewhere","since":"2020-01-01T00:00:00Z"}`, "half written": `{"pid":`, "empty": ""} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lockstep.db")
			for _, side := range []string{"-owner", "-lock"} {
				if err := os.WriteFile(path+side, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			open(t, path)
			wantHeld(t, path, os.Getpid())
		})
	}
}

const holdPath = "LOCKSTEP_SQLITE_HOLD"

// TestHeldByAnotherProcess: the second process is told who holds the file, and
// gets it as soon as that one is killed.
func TestHeldByAnotherProcess(t *testing.T) {
	if path := os.Getenv(holdPath); path != "" {
		_, err := sqlite.Open(path, nil)
		fmt.Println("opened", err)
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
		os.Exit(3)                           // without Close
	}
	path := filepath.Join(t.TempDir(), "lockstep.db")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^TestHeldByAnotherProcess$")
	cmd.Env = append(os.Environ(), holdPath+"="+path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if line != "opened <nil>\n" {
		t.Errorf("the other process says %q, %v", line, err)
	}
	wantHeld(t, path, cmd.Process.Pid)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	open(t, path)
	wantHeld(t, path, os.Getpid())
}

// TestFileModes: nobody else reads what people talk about.
func TestFileModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such modes there")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "lockstep.db")
	s := open(t, path)
	if err := s.Append(t.Context(), thread.Key{ID: "t"}, thread.Head{Epoch: "e"}, []thread.Entry{{Seq: 1}}); err != nil {
		t.Fatal(err)
	}
	want := []string{"lockstep.db", "lockstep.db-lock", "lockstep.db-owner", "lockstep.db-shm", "lockstep.db-wal"}
	wantFiles := func(want []string) {
		t.Helper()
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range files {
			got = append(got, f.Name())
			if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v, %v", f.Name(), info.Mode(), err)
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("the files are %q, want %q", got, want)
		}
	}
	wantFiles(want)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantFiles(want[:2])
}
