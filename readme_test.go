package lockstep_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The program in the README is the example, to the letter.
func TestReadmeProgram(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("examples/document/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(readme, []byte("```go\n"))
	block, _, _ := bytes.Cut(rest, []byte("```"))
	if !bytes.Equal(block, program) {
		t.Error("the README's program is not examples/document/main.go")
	}
	if n := bytes.Count(program, []byte("\n")); n > 40 {
		t.Errorf("the program has %d lines, 40 are enough", n)
	}
}

// And it works: built, started, asked over HTTP, its state grows.
func TestReadmeProgramRuns(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "document")
	// On a free port: the address is the only thing that is not as in the README.
	source, err := os.ReadFile("examples/document/main.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("examples", "document", "testrun")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	source = bytes.ReplaceAll(source, []byte("127.0.0.1:8080"), []byte("127.0.0.1:"+port))
	if err := os.WriteFile(filepath.Join(dir, "main.go"), source, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", bin, "./"+dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if line, err := bufio.NewReader(stderr).ReadString('\n'); err != nil || !strings.Contains(line, "http://127.0.0.1:"+port) {
		t.Fatalf("%q %v", line, err)
	}
	const ask = `{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[{"id":"u","role":"user","content":"Write a story about a dragon called Atlantis"}]}`
	var res *http.Response
	for {
		if res, err = http.Post("http://127.0.0.1:"+port+"/", "application/json", strings.NewReader(ask)); err == nil {
			break
		}
		select { // it says where it is before it listens
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	deltas := 0
	var last struct{ Snapshot struct{ Document string } }
	for line := range strings.Lines(string(body)) {
		data, ok := strings.CutPrefix(line, "data: ")
		switch {
		case ok && strings.Contains(data, `"STATE_DELTA"`):
			deltas++
		case ok && strings.Contains(data, `"STATE_SNAPSHOT"`):
			if err := json.Unmarshal([]byte(data), &last); err != nil {
				t.Fatal(err)
			}
		}
	}
	if deltas < 5 || !strings.Contains(last.Snapshot.Document, "Atlantis") {
		t.Errorf("%d deltas, and the document is %q", deltas, last.Snapshot.Document)
	}
}
