package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/internal/pgtest"
)

func TestMain(m *testing.M) {
	// In a script the test binary is the lockstep command.
	testscript.Main(leakChecked{m}, map[string]func(){"lockstep": main})
}

// leakChecked runs the tests and then looks for goroutines that they left.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	code := pgtest.Main{M: l.m}.Run()
	if code != 0 {
		return code
	}
	http.DefaultClient.CloseIdleConnections()
	err := goleak.Find(goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
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
		code <- run(ctx, append([]string{"serve", "--addr", "127.0.0.1:0", "--store", "sqlite:" + filepath.Join(t.TempDir(), "threads.db")}, args...), std{strings.NewReader(""), io.Discard, w})
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
	const nobody = "http://127.0.0.1:1/"
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.jsonl"), filepath.Join(dir, "bad.jsonl")
	const head = `{"format":"lockstep-recording","version":1,"url":"","started":"2026-01-02T03:04:05Z"}` + "\n"
	for name, text := range map[string]string{good: head, bad: head + "oops\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	resume := func(s string) []string { return []string{"run", nobody, "--thread", "t", "--resume", s} }
	for _, c := range []struct {
		args []string
		code int
		err  string
	}{
		{nil, exitUsage, "(try lockstep --help)"},
		{[]string{"nonsense"}, exitUsage, "nonsense"},
		{[]string{"version", "more"}, exitUsage, "unexpected argument more (try lockstep version --help)"},
		{[]string{"chat", nobody, "--message", "hi"}, exitUsage, "unknown flag --message (try lockstep chat --help)"},
		{[]string{"replay"}, exitUsage, `expected "<file>" (try lockstep replay --help)`},
		{[]string{"verify"}, exitUsage, "(try lockstep verify --help)"},
		{[]string{"record"}, exitUsage, "(try lockstep record --help)"},
		{[]string{"serve", "--addr"}, exitUsage, "(try lockstep serve --help)"},
		{[]string{"serve", "--retain", "-1h"}, exitUsage, "--retain"},
		{[]string{"serve", "--store", "nowhere"}, exitUsage, "--store"},
		{[]string{"serve", "--model", "magic"}, exitUsage, "magic"},
		{[]string{"serve", "--addr", "127.0.0.1:99999"}, exitUsage, "99999"},
		{[]string{"serve", "--addr", "nonsense"}, exitUsage, "HOST:PORT"},
		{[]string{"serve", "--token", ""}, exitUsage, "--token"},
		{[]string{"serve", "--linger", "soon"}, exitUsage, "--linger"},
		{[]string{"chat", "--state", "{broken", "http://127.0.0.1:1/"}, exitUsage, "--state"},
		{[]string{"chat", "nowhere"}, exitUsage, "is no address"},
		{[]string{"chat", "http://u:secret@/"}, exitUsage, `"http:///" is no address`},
		{[]string{"chat", nobody + "?key=secret"}, exitFailed, "cannot reach " + nobody + ":"},
		{[]string{"record", nobody, "--message", "hi", "--out", good}, exitFailed, "cannot reach"},
		{[]string{"run"}, exitUsage, `expected "<url>"`},
		{[]string{"run", "ftp://127.0.0.1/"}, exitUsage, "is no address"},
		{[]string{"run", "http://u:secret@/"}, exitUsage, `"http:///" is no address`},
		{[]string{"run", nobody, "--state", "{broken"}, exitUsage, "--state"},
		{[]string{"run", nobody, "--state", filepath.Join(dir, "missing.json")}, exitUsage, "missing.json"},
		{[]string{"run", nobody, "--resume", `[{"interruptId":"i","status":"cancelled"}]`}, exitUsage, "--thread ID"},
		{resume(`{"interruptId":"i","status":"maybe"}`), exitUsage, `must be one of resolved, cancelled at "/0/status"`},
		{resume(`[{"interruptId":"i"}]`), exitUsage, `required member is missing at "/0/status"`},
		{resume(`{"interruptId":"i","status":"resolved","accepted":true}`), exitUsage, "members go into payload"},
		{resume(`[]`), exitUsage, "there is no entry"},
		{[]string{"record", nobody}, exitUsage, "--out=FILE"},
		{[]string{"record", nobody, "--out", filepath.Join(dir, "no", "such")}, exitUsage, "--out"},
		{[]string{"record", nobody, "--out", good, "--attach", "t", "--message", "hi", "--state", "{}"}, exitUsage, "--message, --state starts a run"},
		{[]string{"replay", filepath.Join(dir, "missing.jsonl")}, exitUsage, "missing.jsonl"},
		{[]string{"replay", bad}, exitUsage, "bad.jsonl: line 2"},
		{[]string{"replay", good, "--speed=-1"}, exitUsage, "--speed -1"},
		{[]string{"replay", good, "--speed=NaN"}, exitUsage, "--speed NaN"},
		{[]string{"replay", good, "--addr", "nonsense"}, exitUsage, "HOST:PORT"},
		{[]string{"verify", bad}, exitUsage, "bad.jsonl: line 2"},
		{[]string{"verify", good, "--thread", "t"}, exitUsage, "--thread starts a run"},
		{[]string{"verify", "ftp://127.0.0.1/"}, exitUsage, "is no address"},
		{[]string{"verify", nobody, "--limit", "0s"}, exitUsage, "--limit"},
		{[]string{"run", nobody + "?key=secret", "--message", "hi"}, exitFailed, "cannot reach " + nobody + ":"},
		{[]string{"verify", nobody}, exitFailed, "cannot reach"},
		{[]string{"version"}, 0, ""},
		{[]string{"run", "--help"}, 0, ""},
		{[]string{"record", "--help"}, 0, ""},
		{[]string{"replay", "--help"}, 0, ""},
		{[]string{"verify", "--help"}, 0, ""},
		{[]string{"version", "--help"}, 0, ""},
		{[]string{"serve", "--help"}, 0, ""},
		{[]string{"chat", "--help"}, 0, ""},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), c.args, std{strings.NewReader(""), &out, &errs})
		if code != c.code || !strings.Contains(errs.String(), c.err) || strings.Contains(errs.String(), "secret") {
			t.Errorf("%v: code %d (want %d): %s", c.args, code, c.code, errs.String())
		}
		if code != 0 && strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%v: not one line: %s", c.args, errs.String())
		}
		if len(c.args) > 0 && strings.Contains(c.args[len(c.args)-1], "help") && !strings.Contains(out.String(), "Example:") {
			t.Errorf("%v shows no example: %s", c.args, out.String())
		}
	}
}

// --token and --allow-origin.
func TestServeGuards(t *testing.T) {
	url, stop := serve(t, "--model", "scripted", "--token", "marker", "--allow-origin", "https://page.example", "--allow-origin", "http://127.0.0.1:5173")
	defer stop()
	do := func(method, path string, headers map[string]string) *http.Response {
		req, err := http.NewRequest(method, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range headers {
			req.Header.Set(k, v)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	for _, c := range []struct {
		path, auth string
		status     int
	}{
		{"/agents", "", 401}, {"/agents", "Bearer wrong", 401}, {"/agents", "marker", 401}, {"/agents", "Bearer marker", 200}, {"/agents", "bearer marker", 200}, {"/healthz", "", 200},
		// The page is open, what an agent has at the same paths is not.
		{"/", "", 200}, {"/assets/none.js", "", 404}, {"/capabilities", "", 401}, {"/threads", "", 401},
	} {
		if res := do("GET", c.path, map[string]string{"Authorization": c.auth}); res.StatusCode != c.status {
			t.Errorf("GET %s with %q: %d, want %d", c.path, c.auth, res.StatusCode, c.status)
		}
	}
	preflight := map[string]string{"Origin": "https://page.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,x-any"}
	res := do("OPTIONS", "/", preflight)
	if res.StatusCode != 204 || res.Header.Get("Access-Control-Allow-Origin") != "https://page.example" || res.Header.Get("Access-Control-Allow-Headers") != "content-type,x-any" {
		t.Errorf("preflight: %d %v", res.StatusCode, res.Header)
	}
	preflight["Origin"] = "https://other.example"
	if res = do("OPTIONS", "/", preflight); res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a foreign origin is allowed: %v", res.Header)
	}
}

// Several origins in one flag, and in the environment, which has each name once.
func TestAllowOriginList(t *testing.T) {
	const list = "https://a.example, http://127.0.0.1:5173,"
	allowed := func(t *testing.T, args ...string) {
		url, stop := serve(t, args...)
		defer stop()
		for origin, want := range map[string]string{"https://a.example": "https://a.example", "http://127.0.0.1:5173": "http://127.0.0.1:5173", "https://b.example": ""} {
			req, err := http.NewRequest(http.MethodPost, url+"/nowhere", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Origin", origin)
			req.Header.Set("Sec-Fetch-Site", "cross-site")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if got := res.Header.Get("Access-Control-Allow-Origin"); got != want || (res.StatusCode == http.StatusForbidden) != (want == "") {
				t.Errorf("%s: %d, allowed is %q", origin, res.StatusCode, got)
			}
		}
	}
	t.Run("flag", func(t *testing.T) { allowed(t, "--model", "scripted", "--allow-origin", list) })
	t.Run("environment", func(t *testing.T) {
		t.Setenv("LOCKSTEP_ALLOW_ORIGIN", list)
		allowed(t, "--model", "scripted")
	})
}

// The model is chosen by the environment where no flag says it.
func TestChooseModel(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_DEPLOYMENT_NAME", "AZURE_OPENAI_API_KEY", "FOUNDRY_PROJECT_ENDPOINT", "FOUNDRY_MODEL"} {
		t.Setenv(name, "")
	}
	for _, c := range []struct {
		flag string
		env  map[string]string
		want string // the name, or a part of the error
	}{
		{"", nil, "scripted"},
		{"", map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, "OPENAI_MODEL"},
		{"", map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_MODEL": "m"}, "openai:m"},
		{"", map[string]string{"OPENAI_API_KEY": "key-marker", "OPENAI_MODEL": "m", "AZURE_OPENAI_ENDPOINT": "https://x.example"}, "openai:m"},
		{"", map[string]string{"AZURE_OPENAI_ENDPOINT": "https://x.example", "AZURE_OPENAI_DEPLOYMENT_NAME": "d", "AZURE_OPENAI_API_KEY": "key-marker"}, "azure:d"},
		{"", map[string]string{"FOUNDRY_PROJECT_ENDPOINT": "https://x.example/api/projects/p", "FOUNDRY_MODEL": "d"}, "foundry:d"},
		{"azure:d", nil, "AZURE_OPENAI_ENDPOINT"},
		{"foundry:d", nil, "FOUNDRY_PROJECT_ENDPOINT"},
		{"scripted:x", nil, "takes no name"},
		{"magic", nil, "want scripted, openai:NAME"},
	} {
		t.Run(c.flag+c.want, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			_, name, err := chooseModel(c.flag)
			if name != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%q, %v; want %q", name, err, c.want)
			}
		})
	}
}

// A piped conversation whose run failed ends with 1.
func TestChatFailureIsTold(t *testing.T) {
	// Somebody listens, so there is a prompt, and nobody answers.
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer srv.Close()
	var out bytes.Buffer
	code := run(t.Context(), []string{"chat", srv.URL + "/?key=secret"}, std{strings.NewReader("hi\n"), &out, io.Discard})
	if code != exitFailed || !strings.Contains(out.String(), "[Error: cannot reach "+srv.URL+"/: EOF") {
		t.Errorf("code %d: %s", code, out.String())
	}
}

// What an agent says is shown and does not act on the terminal.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[2Jb\x07":      "a[2Jb",
		"two\nlines\t\r":     "two\nlines\t",
		"\u202egnp.exe":      "gnp.exe",
		"🥕 粥":                "🥕 粥",
		"\x1b]52;c;aGk=\x07": "]52;c;aGk=",
	} {
		if got := printable(in, true); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
	if got := printable("x\n[Run Finished]", false); got != "x [Run Finished]" {
		t.Errorf("%q", got)
	}
}

// A signal ends chat at its prompt.
func TestChatInterrupted(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	defer out.Close()
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, []string{"chat", srv.URL}, std{in, io.Discard, io.Discard}) }()
	cancel()
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("chat does not end")
	}
}
