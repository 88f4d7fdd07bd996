//go:build interop

// Package agui_interop compares package agui with the official AG-UI packages.
// It needs Node 20 or newer and npm; run.sh runs it.
package agui_interop

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/lockstep-go/lockstep/internal/streamgen"
	"github.com/lockstep-go/lockstep/jsondoc"
)

func TestMain(m *testing.M) {
	if err := install(); err != nil {
		fmt.Fprintln(os.Stderr, "interop/agui:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// install fetches the pinned packages once.
func install() error {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is not installed; these tests need Node 20 or newer with npm", tool)
		}
	}
	if _, err := os.Stat("node_modules/.package-lock.json"); err == nil {
		return nil
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return nil
}

// streams says how many streams of a kind to compare: n, or INTEROP_STREAMS.
func streams(n int) int {
	if s := os.Getenv("INTEROP_STREAMS"); s != "" {
		if v, err := strconv.Atoi(s); err == nil && v > 0 {
			return v
		}
	}
	return n
}

// node runs a script over lines of JSON and returns its lines.
func node(t *testing.T, lines []jsondoc.Value, args ...string) []jsondoc.Value {
	t.Helper()
	var in bytes.Buffer
	for _, line := range lines {
		in.Write(line.AppendJSON(nil))
		in.WriteByte('\n')
	}
	cmd := exec.CommandContext(t.Context(), "node", args...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = &in, &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var out []jsondoc.Value
	r := bufio.NewReader(stdout)
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsondoc.Parse(line, &jsondoc.ParseOptions{KeepLast: true})
		if err != nil {
			t.Fatalf("node wrote %q: %v", line, err)
		}
		out = append(out, v)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("node %v: %v\n%s", args, err, stderr.Bytes())
	}
	if len(out) != len(lines) {
		t.Fatalf("node %v: %d answers to %d lines\n%s", args, len(out), len(lines), stderr.Bytes())
	}
	return out
}

// result reads what peer.mjs says of one stream.
func result(v jsondoc.Value) streamgen.Result {
	get := func(name string) jsondoc.Value { m, _ := v.Get(name); return m }
	rejected, _ := get("rejected").Int64()
	failed := []int{}
	for _, index := range get("failedPatches").Items() {
		n, _ := index.Int64()
		failed = append(failed, int(n))
	}
	state := get("state")
	if state.IsAbsent() {
		state = jsondoc.Null
	}
	return streamgen.Result{
		Rejected: int(rejected), Error: get("error").Str(), FailedPatches: failed,
		Messages: get("messages"), State: state, Interrupts: get("interrupts"),
	}
}
