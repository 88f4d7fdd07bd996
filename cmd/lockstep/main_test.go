package main

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

// lineWriter hands the first line that matches to a channel.
type lineWriter struct {
	buf   bytes.Buffer
	want  *regexp.Regexp
	found chan string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.buf.Write(p)
	if m := w.want.FindStringSubmatch(w.buf.String()); m != nil {
		select {
		case w.found <- m[1]:
		default:
		}
	}
	return len(p), nil
}

// serve starts the command and returns its address, and a function that stops it
// and returns its exit code.
func serve(t *testing.T, args ...string) (url string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &lineWriter{want: regexp.MustCompile(`(?m)^listening on (http://\S+)$`), found: make(chan string, 1)}
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...), std{strings.NewReader(""), io.Discard, w})
	}()
	select {
	case url = <-w.found:
	case c := <-code:
		cancel()
		t.Fatalf("serve ended with %d: %s", c, w.buf.String())
	case <-time.After(20 * time.Second):
		cancel()
		t.Fatal("serve does not listen")
	}
	return url, func() int { cancel(); return <-code }
}

// The interaction that interface.md section 7 shows, on a pipe.
func TestChatOnAPipe(t *testing.T) {
	url, stop := serve(t, "--model", "scripted")
	var out bytes.Buffer
	code := run(t.Context(), []string{"chat", url + "/"}, std{
		strings.NewReader("I want to make a classic Italian pasta carbonara\n:state\n:nonsense\n:thread\n:q\n"), &out, io.Discard,
	})
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	want := regexp.MustCompile(`(?s)^
User \(:q to quit, :state to show state\): I want to make a classic Italian pasta carbonara

\[Run Started\]
\[Calling Tool: update_recipe\]
(\[State Updated\]
){2,}\[Tool Result: Recipe updated\.\]
Here's your recipe!
\[Run Finished\]

={60}
CURRENT STATE
={60}

recipe:
  title: Classic Pasta Carbonara
.*
  ingredients:
    - 🍝 · .*
  instructions:
    1\. .*
={60}
.*:state.*CURRENT STATE.*unknown command :nonsense.*thread thread-`)
	if !want.MatchString(out.String()) {
		t.Errorf("the conversation is\n%s", out.String())
	}
	if c := stop(); c != 0 {
		t.Errorf("serve ended with %d", c)
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		err  string
	}{
		{[]string{"nonsense"}, exitUsage, "nonsense"},
		{[]string{"serve", "--model", "magic"}, exitUsage, "magic"},
		{[]string{"serve", "--addr", "127.0.0.1:99999"}, exitFailed, "99999"},
		{[]string{"chat", "--state", "{broken", "http://127.0.0.1:1/"}, exitUsage, "--state"},
		{[]string{"version"}, 0, ""},
		{[]string{"serve", "--help"}, 0, ""},
		{[]string{"chat", "--help"}, 0, ""},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), c.args, std{strings.NewReader(""), &out, &errs})
		if code != c.code || !strings.Contains(errs.String(), c.err) {
			t.Errorf("%v: code %d (want %d): %s", c.args, code, c.code, errs.String())
		}
		if strings.Contains(c.args[len(c.args)-1], "help") && !strings.Contains(out.String(), "Example:") {
			t.Errorf("%v shows no example: %s", c.args, out.String())
		}
	}
}

// A piped conversation whose run failed ends with 1.
func TestChatFailureIsTold(t *testing.T) {
	var out bytes.Buffer
	code := run(t.Context(), []string{"chat", "http://127.0.0.1:1/"}, std{strings.NewReader("hi\n"), &out, io.Discard})
	if code != exitFailed || !strings.Contains(out.String(), "[Error: ") {
		t.Errorf("code %d: %s", code, out.String())
	}
}
