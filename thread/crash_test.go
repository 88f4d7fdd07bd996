package thread_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/sqlite"
)

const (
	crashChild = "LOCKSTEP_CRASH_CHILD" // the store's file, in a process that is to be killed
	crashText  = "The quick brown fox jumps over the lazy dog."
)

// T4: a process that is killed at a random point of a run, with a store on disk:
// no acknowledged edit is missing, no viewer was shown what is not in the log,
// nothing half-predicted is state, and the thread works on.
func TestT4Kill(t *testing.T) {
	if path := os.Getenv(crashChild); path != "" {
		os.Exit(crash(path))
	}
	kills := 3
	if os.Getenv("LOCKSTEP_LONG") == "1" {
		kills = 200
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	m, err := state.NewModel(crashConfig)
	if err != nil {
		t.Fatal(err)
	}
	for range kills {
		path := filepath.Join(t.TempDir(), "threads.db")
		after := rng.IntN(80)
		c, shown := runCrash(t, path, after)
		store, err := sqlite.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		head, err := store.Head(t.Context(), aKey)
		if err != nil {
			t.Fatal(err)
		}
		if head.Seq < shown {
			t.Errorf("a viewer was shown entry %d, the log ends at %d", shown, head.Seq)
		}
		c.check(t, store, m, head)
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Fatalf("killed after %d lines: %+v, shown up to %d", after, c, shown)
		}
	}
}

// runCrash runs a child until it has said so many lines, kills it, and returns
// what it had done by then.
func runCrash(t *testing.T, path string, after int) (crashed, uint64) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^TestT4Kill$")
	cmd.Env = append(os.Environ(), crashChild+"="+path)
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
	kill := func() { _ = cmd.Process.Kill() }
	defer func() { kill(); _ = cmd.Wait() }()
	c, shown, n := crashed{old: "old", whole: crashText}, uint64(0), 0
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		var what string
		var number uint64
		if _, err := fmt.Sscan(lines.Text(), &what, &number); err != nil {
			t.Fatalf("the child says %q: %v", lines.Text(), err)
		}
		switch what {
		case "try":
			c.tried = int(number)
		case "edited":
			c.edits = int(number)
		case "shown":
			shown = number
		case "done":
			kill()
		}
		if n++; n >= after {
			kill() // what it says until it is dead counts, too
		}
	}
	return c, shown
}

// crash is what the process does that is killed: an agent writes, a user edits,
// and it says what was acknowledged. It ends by itself when its parent is gone.
func crash(path string) int {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	say := func(what string, n uint64) {
		_, _ = os.Stdout.WriteString(fmt.Sprintf("%s %d\n", what, n)) // one write: whole lines
	}
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	store, err := sqlite.Open(path, nil)
	if err != nil {
		return fail(err)
	}
	m, err := state.NewModel(crashConfig)
	if err != nil {
		return fail(err)
	}
	ctx := context.Background()
	th, err := thread.New(store, nil).Open(ctx, aKey, m)
	if err != nil {
		return fail(err)
	}
	in := input("r", user("u", "go"))
	in.State = jsondoc.MustParse(`{"document":"old"}`)
	r, err := th.Run(ctx, thread.Request{Input: in, Agent: runOf(crashAgentEvery(crashText, 4*time.Millisecond))})
	if err != nil {
		return fail(err)
	}
	ended := make(chan error, 1)
	go func() {
		var err error
		for p, e := range r.Events(ctx) {
			if err = e; err == nil {
				say("shown", p.Seq)
			}
		}
		ended <- err
	}()
	for n := uint64(1); ; n++ {
		select {
		case err := <-ended:
			if err != nil {
				return fail(err)
			}
			say("done", 0)
			select {}
		case <-time.After(10 * time.Millisecond):
		}
		say("try", n)
		if _, err := th.Edit(ctx, thread.Edit{Patch: jsondoc.Patch{{Op: "add", Path: "/mine", Value: jsondoc.Int(int64(n))}}}); err != nil {
			return fail(err)
		}
		say("edited", n)
	}
}
