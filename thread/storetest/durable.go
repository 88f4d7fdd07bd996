package storetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/thread"
)

// Closer is a store that is closed.
type Closer interface {
	thread.Store
	Close() error
}

// Durable is a store that keeps its logs in files.
type Durable struct {
	// Open opens the store in the file at path, which may not be there yet.
	Open func(path string) (Closer, error)
	// Log returns the file that holds the newest appends of the store at path.
	// A crash may cut it anywhere behind what was acknowledged, and damage it
	// there. It may be the file itself. Nil: the files are another program's,
	// which answers for them, and are not cut.
	Log func(path string) string
}

// RunDurable holds a store against crashes: processes that are killed, files
// that were not written to their end. The caller must be a test function of its
// own: it is run again in child processes, which are the ones that are killed.
// They are killed at 10 random points, at 200 with LOCKSTEP_LONG=1.
func RunDurable(t *testing.T, d Durable) {
	if path := os.Getenv(childPath); path != "" {
		os.Exit(child(d, path))
	}
	name := t.Name()
	t.Run("Reopen", func(t *testing.T) { testReopen(t, d) })
	t.Run("Kill", func(t *testing.T) { testKill(t, d, name) })
	if d.Log != nil {
		t.Run("CutLog", func(t *testing.T) { testCutLog(t, d, name) })
	}
}

func testReopen(t *testing.T, d Durable) {
	path := filepath.Join(t.TempDir(), "store")
	other := thread.Key{Agent: "recipe", Principal: "ann", ID: "thread-2"}
	with := func(f func(s thread.Store)) {
		t.Helper()
		s, err := d.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		f(s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatalf("closing again: %v", err)
		}
		if err := s.Append(t.Context(), key, thread.Head{Epoch: "e"}, entries(1, 1)); err == nil {
			t.Fatal("a closed store takes appends")
		}
		for _, err := range s.Read(t.Context(), key, 0) {
			if err == nil {
				t.Fatal("a closed store is read")
			}
		}
	}
	var head thread.Head
	with(func(s thread.Store) {
		head = grow(t, s, key, thread.Head{Epoch: "e1"}, long)
		next := grow(t, s, other, thread.Head{Epoch: "e2"}, 5)
		if err := s.Compact(t.Context(), other, next, 0, 4, entries(2, 2)); err != nil {
			t.Fatal(err)
		}
	})
	with(func(s thread.Store) {
		wantHead(t, s, key, head)
		wantEntries(t, read(t, s, key, 0), entries(1, long))
		wantHead(t, s, other, thread.Head{Epoch: "e2", Seq: 5})
		wantEntries(t, read(t, s, other, 0), []thread.Entry{entry(2), entry(5)})
		wantConflict(t, s.Append(t.Context(), key, thread.Head{Epoch: "e1", Seq: 1}, entries(2, 2)), head)
		head = grow(t, s, key, head, long+1)
		if err := s.Compact(t.Context(), other, thread.Head{Epoch: "e2", Seq: 5}, 0, 5, nil); err != nil {
			t.Fatal(err)
		}
	})
	with(func(s thread.Store) {
		wantHead(t, s, key, head)
		wantHead(t, s, other, thread.Head{})
		grow(t, s, other, thread.Head{Epoch: "e3"}, 1)
	})
}

const (
	childPath = "LOCKSTEP_STORETEST_CHILD"
	childTask = "LOCKSTEP_STORETEST_TASK"
)

// child is what a process does that will be killed. It ends by itself when its
// parent is gone.
func child(d Durable, path string) int {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	s, err := d.Open(path)
	if err == nil {
		if os.Getenv(childTask) == "fill" {
			err = childFill(s)
		} else {
			err = childWrite(s)
		}
	}
	fmt.Println("error", err)
	return 1
}

const childLogs = 4

// childKey is a log of a child's; the last one is compacted now and then.
func childKey(i int) thread.Key { return thread.Key{Agent: "child", ID: fmt.Sprint("log ", i)} }

// childEntry makes entries of several sizes, the same for the same number.
func childEntry(seq uint64) thread.Entry {
	e := entry(seq)
	e.Run = strings.Repeat("x", int(seq*seq%3001))
	return e
}

// childWrite appends to all logs at once until it is killed, and prints what
// was acknowledged.
func childWrite(s thread.Store) error {
	failed := make(chan error)
	for i := range childLogs {
		go func() {
			ctx, k := context.Background(), childKey(i)
			head, err := s.Head(ctx, k)
			if head.Epoch == "" {
				head.Epoch = fmt.Sprint("e", i)
			}
			for n := 0; err == nil; n++ {
				var list []thread.Entry
				for range 1 + n%4 {
					list = append(list, childEntry(head.Seq+uint64(len(list))+1))
				}
				if err = s.Append(ctx, k, head, list); err != nil {
					break
				}
				head.Seq += uint64(len(list))
				// One write, so that a kill leaves whole lines.
				_, err = os.Stdout.WriteString(fmt.Sprintf("%d %d\n", i, head.Seq))
				if i == childLogs-1 && n%5 == 4 && err == nil {
					floor := childEntry(head.Seq - 2)
					floor.Floor = true
					err = s.Compact(ctx, k, head, 0, head.Seq-2, []thread.Entry{floor})
				}
			}
			failed <- err
		}()
	}
	return <-failed
}

// childFill makes appends one after the other, prints them and waits to be
// killed.
func childFill(s thread.Store) error {
	heads := [childLogs]uint64{}
	for n := range 80 {
		i := n * n % childLogs
		after := thread.Head{Epoch: fmt.Sprint("e", i), Seq: heads[i]}
		var list []thread.Entry
		for range 1 + n%3 {
			heads[i]++
			list = append(list, childEntry(heads[i]))
		}
		if err := s.Append(context.Background(), childKey(i), after, list); err != nil {
			return err
		}
		fmt.Println(i, heads[i])
	}
	fmt.Println("done")
	select {}
}

// acknowledged is an append that a child said was stored.
type acknowledged struct {
	log  int
	head uint64
}

// kill runs a child until it has acknowledged so many appends or is done, kills
// it, and returns all that it acknowledged.
func kill(t *testing.T, name, task, path string, after int) []acknowledged {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^"+name+"$")
	cmd.Env = append(os.Environ(), childPath+"="+path, childTask+"="+task)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe() // what the child notices its parent's end by
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
	end := func() { _ = cmd.Process.Kill() }
	defer func() { end(); _ = cmd.Wait() }()
	if after == 0 {
		end()
	}
	var out []acknowledged
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		var a acknowledged
		if lines.Text() == "done" {
			end()
			continue
		}
		if n, err := fmt.Sscan(lines.Text(), &a.log, &a.head); n != 2 {
			t.Fatalf("the child says %q: %v", lines.Text(), err)
		}
		if out = append(out, a); len(out) == after {
			end() // what it says until it is dead counts, too
		}
	}
	return out
}

// wantLogs checks the logs of a child: dense, every entry as it was appended.
// It returns where they end.
func wantLogs(t *testing.T, d Durable, path string) (heads [childLogs]uint64) {
	t.Helper()
	s, err := d.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i := range heads {
		head, err := s.Head(t.Context(), childKey(i))
		if err != nil {
			t.Fatal(err)
		}
		heads[i] = head.Seq
		got := read(t, s, childKey(i), 0)
		if head.Seq == 0 {
			wantEntries(t, got, nil)
			continue
		}
		first := uint64(1)
		if i == childLogs-1 && len(got) > 0 && got[0].Floor {
			first = got[0].Seq
			got[0].Floor = false // else it is the entry of its number
		}
		var want []thread.Entry
		for seq := first; seq <= head.Seq; seq++ {
			want = append(want, childEntry(seq))
		}
		wantEntries(t, got, want)
	}
	return heads
}

// testKill (T4): whenever a process is killed, everything that it acknowledged
// is there, and nothing that is half of an append.
func testKill(t *testing.T, d Durable, name string) {
	kills := 10
	if os.Getenv("LOCKSTEP_LONG") != "" {
		kills = 200
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	path := ""
	var acked [childLogs]uint64
	for n := range kills {
		if n%20 == 0 { // a new store: its first moments are points to be killed at, too
			path, acked = filepath.Join(t.TempDir(), "store"), [childLogs]uint64{}
		}
		for _, a := range kill(t, name, "write", path, rng.IntN(40)) {
			acked[a.log] = a.head
		}
		for i, head := range wantLogs(t, d, path) {
			if head < acked[i] {
				t.Fatalf("log %d ends at %d, but %d was acknowledged", i, head, acked[i])
			}
			acked[i] = head
		}
	}
	t.Logf("%d kills, the last store has logs of %d entries", kills, acked)
}

// testCutLog: whatever part of the newest appends reached the disk before the
// power failed, the store is what it was after one of them.
func testCutLog(t *testing.T, d Durable, name string) {
	cuts := 12
	if os.Getenv("LOCKSTEP_LONG") != "" {
		cuts = 200
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "store")
	acked := kill(t, name, "fill", path, -1)
	states := map[[childLogs]uint64]int{{}: 0}
	var heads [childLogs]uint64
	for i, a := range acked {
		heads[a.log] = a.head
		states[heads] = i + 1
	}
	// Nobody has the files open now: they can be copied.
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(d.Log(path))
	if err != nil {
		t.Fatal(err)
	}
	met := map[int]bool{}
	for n := range cuts {
		copied := filepath.Join(t.TempDir(), "store")
		part := append([]byte(nil), log...)
		switch at := rng.IntN(len(log)); {
		case n == 0: // as it was left
		case n%2 == 0: // something else from there on
			for i := at; i < min(at+100, len(part)); i++ {
				part[i] ^= 0xa5
			}
		default:
			part = part[:at]
		}
		if d.Log(path) != path {
			if err := os.WriteFile(copied, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(d.Log(copied), part, 0o600); err != nil {
			t.Fatal(err)
		}
		after, ok := states[wantLogs(t, d, copied)]
		if !ok {
			t.Fatalf("cut %d: the store is not what it was after any append", n)
		}
		if n == 0 && after != len(acked) {
			t.Fatalf("%d of %d appends are there", after, len(acked))
		}
		met[after] = true
	}
	if len(met) < 3 {
		t.Errorf("all cuts led to one of %d states: nothing was cut", len(met))
	}
}
