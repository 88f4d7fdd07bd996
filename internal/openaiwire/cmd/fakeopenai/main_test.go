package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The program says where it listens, answers there, wants its key, and ends when it is
// told.
func TestRun(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"--cut", "3", "--key", "k"}, w) }()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	base, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok || !strings.HasPrefix(base, "http://127.0.0.1:") || !strings.HasSuffix(base, "/v1") {
		t.Fatalf("it says %q", line)
	}
	for key, want := range map[string]int{"Bearer k": 200, "Bearer x": 401} {
		req, _ := http.NewRequest(http.MethodPost, base+"/chat/completions", strings.NewReader(`{"stream":true,"messages":[{"role":"user","content":"hi"}]}`))
		req.Header.Set("Authorization", key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != want || want == 200 && !bytes.HasSuffix(body, []byte("[DONE]\n\n")) {
			t.Errorf("%s: %d %s", key, res.StatusCode, body)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range [][]string{{"--addr", "0.0.0.0:0"}, {"--addr", "nowhere"}, {"--no-such-flag"}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}

func TestRunEndsByItself(t *testing.T) {
	ended := make(chan error, 1)
	go func() { ended <- run(t.Context(), []string{"--for", "10ms"}, io.Discard) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("it is still running")
	}
}
