package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs testdata/script: the commands as people and shells use them.
//
// Beside testscript's own commands there are
//
//	start NAME ARGS…   starts lockstep with ARGS, waits until it listens and sets $NAME to its address
//	                   and $NAME_addr to its host and port
//	stop NAME          sends it an interrupt; it has to end with 0. Its standard error is in the file NAME.err
//	canned NAME FILE [TYPE [STATUS]]   serves FILE as the answer to every request and sets $NAME
//	ends CODE ARGS…    runs lockstep with ARGS; it has to end with CODE
//	interrupt CODE FILE TEXT ARGS…  runs lockstep with ARGS until FILE contains TEXT and sends it an
//	                   interrupt; it has to end with CODE. Its standard error is in FILE.err
func TestScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside on Windows")
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, scriptEnv...)
			env.Values["servers"] = map[string]*started{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": scriptStart, "stop": scriptStop, "canned": scriptCanned, "ends": scriptEnds, "interrupt": scriptInterrupt,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// scriptEnv is added to every process's environment.
var scriptEnv = []string{
	"LOCKSTEP_STORE=memory", // the default is a file in the current folder
	// Nothing of the caller's own settings may decide what is tested.
	"OPENAI_API_KEY=", "OPENAI_BASE_URL=", "AZURE_OPENAI_ENDPOINT=", "FOUNDRY_PROJECT_ENDPOINT=",
	// The race detector makes each process sleep for a second before it exits.
	"GORACE=atexit_sleep_ms=0",
}

// started is a lockstep process.
type started struct {
	cmd    *exec.Cmd
	stderr *watched
	ended  chan error
}

// watched collects output and says when it contains something.
type watched struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	news chan struct{}
}

func newWatched() *watched { return &watched{news: make(chan struct{}, 1)} }

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p)
	select {
	case w.news <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// patience is how long a process may take for what takes it no time: it only has
// to be longer than any machine is busy.
const patience = time.Minute

func launch(ts *testscript.TestScript, args ...string) *started {
	// What testscript puts in the PATH is this binary under another name.
	self, err := os.Executable()
	ts.Check(err)
	s := &started{cmd: exec.Command(self, args...), stderr: newWatched(), ended: make(chan error, 1)}
	s.cmd.Args[0] = "lockstep"
	s.cmd.Dir = ts.MkAbs(".")
	s.cmd.Env = append(os.Environ(), scriptEnv...)
	s.cmd.Stderr = s.stderr
	ts.Check(s.cmd.Start())
	go func() { s.ended <- s.cmd.Wait() }()
	return s
}

func scriptStart(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME ARGS…")
	}
	s := launch(ts, args[1:]...)
	ts.Defer(func() { _ = s.cmd.Process.Kill() }) // it has ended, if all is well
	timeout := time.After(patience)
	for {
		if m := regexp.MustCompile(`(?m)^listening on (http://\S+)$`).FindStringSubmatch(s.stderr.String()); m != nil {
			ts.Setenv(args[0], m[1])
			ts.Setenv(args[0]+"_addr", strings.TrimPrefix(m[1], "http://"))
			break
		}
		select {
		case <-s.stderr.news:
		case err := <-s.ended:
			ts.Fatalf("%v ended: %v\n%s", args, err, s.stderr)
		case <-timeout:
			ts.Fatalf("%v does not listen\n%s", args, s.stderr)
		}
	}
	ts.Value("servers").(map[string]*started)[args[0]] = s
}

func scriptStop(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: stop NAME")
	}
	s := ts.Value("servers").(map[string]*started)[args[0]]
	if s == nil {
		ts.Fatalf("%s was not started", args[0])
	}
	ts.Check(s.cmd.Process.Signal(os.Interrupt))
	select {
	case err := <-s.ended:
		if err != nil {
			ts.Fatalf("%s ended with %v\n%s", args[0], err, s.stderr)
		}
	case <-time.After(patience):
		ts.Fatalf("%s does not end\n%s", args[0], s.stderr)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".err"), []byte(s.stderr.String()), 0o600))
}

func scriptCanned(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: canned NAME FILE [TYPE [STATUS]]")
	}
	body, media, status := []byte(ts.ReadFile(args[1])), "text/event-stream", http.StatusOK
	if len(args) > 2 {
		media = args[2]
	}
	if len(args) > 3 {
		if _, err := fmt.Sscan(args[3], &status); err != nil {
			ts.Fatalf("%q is no status", args[3])
		}
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	ts.Defer(srv.Close)
	ts.Setenv(args[0], srv.URL)
}

func scriptEnds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: ends CODE ARGS…")
	}
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec("lockstep", args[1:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("it ended with %d, want %s", code, args[0])
	}
}

func scriptInterrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: interrupt CODE FILE TEXT ARGS…")
	}
	code, file, text := args[0], ts.MkAbs(args[1]), args[2]
	s := launch(ts, args[3:]...)
	ts.Defer(func() { _ = s.cmd.Process.Kill() }) // it has ended, if all is well
	timeout := time.After(patience)
	for {
		got, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(got), text) {
			break
		}
		select {
		case err := <-s.ended:
			ts.Fatalf("it ended before %s contained %q: %v\n%s", file, text, err, s.stderr)
		case <-timeout:
			ts.Fatalf("%s does not contain %q\n%s", file, text, s.stderr)
		case <-time.After(10 * time.Millisecond): // a file cannot be waited for
		}
	}
	ts.Check(s.cmd.Process.Signal(os.Interrupt))
	select {
	case <-s.ended:
		if got := fmt.Sprint(s.cmd.ProcessState.ExitCode()); got != code {
			ts.Fatalf("it ended with %s, want %s\n%s", got, code, s.stderr)
		}
		ts.Check(os.WriteFile(file+".err", []byte(s.stderr.String()), 0o600))
	case <-time.After(patience):
		ts.Fatalf("it does not end\n%s", s.stderr)
	}
}
