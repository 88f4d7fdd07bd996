package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/agui/aguipb"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"pgregory.net/rapid"
)

// listen serves an agent over real HTTP.
func listen(t *testing.T, a *agent.Agent, opts *server.Options, wrap func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	if opts == nil {
		opts = &server.Options{}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	h, err := server.New(a, opts)
	if err != nil {
		t.Fatal(err)
	}
	var handler http.Handler = h
	if wrap != nil {
		handler = wrap(h)
	}
	srv := httptest.NewServer(handler)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
		srv.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return srv
}

const body = `{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[{"id":"u","role":"user","content":"hi"}]}`

func post(t *testing.T, url, contentType, body string) (int, http.Header, string) {
	t.Helper()
	res, err := http.Post(url, contentType, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(text)
}

func speaker(texts ...string) *agent.Agent {
	var turns []agenttest.Script
	for _, text := range texts {
		turns = append(turns, agenttest.Turn(agenttest.Text(text)))
	}
	return agenttest.New(turns...).Agent(agent.Config{})
}

// Bad input is a 4xx with path and reason, before any event; nothing of it is
// kept.
func TestBadInput(t *testing.T) {
	cfg := state.Config{Schema: state.MustParseSchema(`{"type":"object","properties":{"count":{"type":"integer"}}}`)}
	srv := listen(t, speaker("fine"), &server.Options{State: cfg, MaxBody: 1 << 17}, nil)
	for name, c := range map[string]struct {
		contentType, body string
		status            int
		path              string
	}{
		"malformed":        {"application/json", `{"threadId":"t",`, 400, ""},
		"no threadId":      {"application/json", `{"runId":"r","messages":[]}`, 400, "threadId"},
		"empty threadId":   {"application/json", `{"threadId":"","runId":"r","messages":[]}`, 400, "threadId"},
		"array":            {"application/json", `[]`, 400, ""},
		"null":             {"application/json", `null`, 400, ""},
		"empty":            {"application/json", ``, 400, ""},
		"wrong type":       {"application/json", `{"threadId":"t","runId":"r","messages":"x"}`, 400, "/messages"},
		"no content type":  {"", body, 415, "Content-Type"},
		"text":             {"text/plain", body, 415, "Content-Type"},
		"form":             {"application/x-www-form-urlencoded", body, 415, "Content-Type"},
		"too large":        {"application/json", `{"threadId":"` + strings.Repeat("x", 1<<17) + `"`, 413, ""},
		"deep":             {"application/json", `{"threadId":"t","runId":"r","messages":[],"state":` + strings.Repeat(`{"":`, 6000), 400, ""},
		"bad UTF-8":        {"application/json", "{\"threadId\":\"t\xff\",\"runId\":\"r\",\"messages\":[]}", 400, ""},
		"charset":          {"application/json; charset=utf-16", body, 415, "Content-Type"},
		"half a character": {"application/json", `{"threadId":"t","runId":"r","messages":[],"state":{"a\ud800":1,"a\ud801":2}}`, 400, ""},
		"long threadId":    {"application/json", `{"threadId":"` + strings.Repeat("x", 65<<10) + `","runId":"r","messages":[]}`, 400, "threadId"},
		"state an array":   {"application/json", `{"threadId":"t","runId":"r","state":[1],"messages":[]}`, 422, "/state"},
		"no messages":      {"application/json", `{"threadId":"t","runId":"r"}`, 400, "messages"},
		"X9 S8 schema":     {"application/json", `{"threadId":"t","runId":"r","state":{"count":"x"},"messages":[]}`, 422, "/count"},
	} {
		t.Run(name, func(t *testing.T) {
			status, header, text := post(t, srv.URL, c.contentType, c.body)
			if status != c.status {
				t.Fatalf("status %d, want %d: %s", status, c.status, text)
			}
			ownWords(t, text)
			var answer struct {
				Errors []struct{ Path, Message string }
			}
			if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Errors) == 0 || answer.Errors[0].Message == "" {
				t.Fatalf("%v: %s", err, text)
			}
			if !strings.Contains(answer.Errors[0].Path, c.path) {
				t.Errorf("path %q, want one with %q", answer.Errors[0].Path, c.path)
			}
			if got := header.Get("Content-Type"); got != "application/json" {
				t.Errorf("content type %q", got)
			}
		})
	}
	if status, _, text := post(t, srv.URL, "application/json; charset=utf-8", body); status != 200 || !strings.Contains(text, "RUN_FINISHED") {
		t.Errorf("after all that: %d %s", status, text)
	}
	if status, _, _ := post(t, srv.URL+"/nowhere", "application/json", body); status != 404 {
		t.Errorf("unknown path: %d", status)
	}
	res, err := http.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 405 || res.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %s, Allow %q", res.Status, res.Header.Get("Allow"))
	}
}

// T1 on the wire: 409 with the active run's id, before any event.
func TestBusy(t *testing.T) {
	a := agenttest.New(agenttest.Turn(agenttest.Hang())).Agent(agent.Config{})
	srv := listen(t, a, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := open(t, ctx, srv.URL)
	defer first.Body.Close()
	second := strings.Replace(body, `"r"`, `"r2"`, 1)
	status, _, text := post(t, srv.URL, "application/json", second)
	if status != 409 || !strings.Contains(text, `"runId":"r"`) {
		t.Errorf("%d %s", status, text)
	}
}

// open posts a run and waits for its first event.
func open(t *testing.T, ctx context.Context, url string) *http.Response {
	t.Helper()
	return openBody(t, ctx, url, body)
}

func openBody(t *testing.T, ctx context.Context, url, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "RUN_STARTED") {
			res.Body = struct {
				io.Reader
				io.Closer
			}{lines, res.Body} // what was read ahead is still to be had
			return res
		}
	}
}

// T9: when the one who posted has gone, the model is cancelled within a second
// and the thread is free.
func TestDisconnectStopsTheModel(t *testing.T) {
	begun, cancelled := make(chan struct{}), make(chan struct{})
	a := agenttest.New(
		agenttest.Turn(agenttest.Text("I am"), agenttest.Do(func(ctx context.Context) error {
			close(begun)
			<-ctx.Done()
			close(cancelled)
			return ctx.Err()
		})),
		agenttest.Turn(agenttest.Text("next")),
	).Agent(agent.Config{})
	srv := listen(t, a, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	res := open(t, ctx, srv.URL)
	<-begun // a model that was stopped before it got here has nothing to cancel
	cancel()
	res.Body.Close()
	select {
	case <-cancelled:
	case <-time.After(time.Second):
		t.Fatal("the model still runs a second after the client has gone")
	}
	status, _, text := post(t, srv.URL, "application/json", strings.NewReplacer(`"r"`, `"r2"`, `"u"`, `"u2"`).Replace(body))
	if status != 200 || !strings.Contains(text, "next") {
		t.Errorf("the next run: %d %s", status, text)
	}
}

// W1: RUN_STARTED does not wait for the model.
func TestW1StartedAtOnce(t *testing.T) {
	release := make(chan struct{})
	a := agenttest.New(agenttest.Turn(agenttest.Do(func(ctx context.Context) error {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	}), agenttest.Text("hi"))).Agent(agent.Config{})
	srv := listen(t, a, nil, nil)
	res := open(t, t.Context(), srv.URL) // would hang
	close(release)
	rest, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || !bytes.Contains(rest, []byte("RUN_FINISHED")) {
		t.Errorf("%v %s", err, rest)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

type plainWriter struct{ http.ResponseWriter }

type unwrapper struct{ http.ResponseWriter }

func (u unwrapper) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// T2, T3, G5 of the field bugs: a middleware that hides Flush is an error at the
// start, not silence; one that can be unwrapped streams.
func TestMiddlewares(t *testing.T) {
	wrapped := func(w func(http.ResponseWriter) http.ResponseWriter) func(http.Handler) http.Handler {
		return func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { h.ServeHTTP(w(rw), r) })
		}
	}
	for name, c := range map[string]struct {
		wrap   func(http.Handler) http.Handler
		status int
	}{
		"hidden":         {wrapped(func(w http.ResponseWriter) http.ResponseWriter { return plainWriter{w} }), 500},
		"TimeoutHandler": {func(h http.Handler) http.Handler { return http.TimeoutHandler(h, time.Minute, "late") }, 500},
		"Unwrap":         {wrapped(func(w http.ResponseWriter) http.ResponseWriter { return unwrapper{w} }), 200},
	} {
		t.Run(name, func(t *testing.T) {
			srv := listen(t, speaker("hello"), nil, c.wrap)
			status, _, text := post(t, srv.URL, "application/json", body)
			if status != c.status {
				t.Errorf("status %d, want %d: %s", status, c.status, text)
			}
			if status == 500 && !strings.Contains(text, "Flush") {
				t.Errorf("the reason is not told: %s", text)
			}
		})
	}
}

// A Host serves agents under their paths and refuses names of its own.
func TestHost(t *testing.T) {
	host := server.NewHost(nil)
	one, err := server.New(speaker("one"), &server.Options{Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/one"} {
		if err := host.Handle(path, one); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"", "/agents", "/threads/x", "/healthz", "one", "/one", "/a/", "/{x}", "//a", "/a//b", "/./a", "/a/..", "/a?b", "/a#b", "/my agent", "/a\tb", "/a%20b"} {
		if err := host.Handle(path, one); err == nil {
			t.Errorf("path %q was accepted", path)
		}
	}
	srv := httptest.NewServer(host)
	defer srv.Close()
	defer host.Close(context.Background())
	defer http.DefaultClient.CloseIdleConnections()
	for path, want := range map[string]string{"/": "Lockstep", "/capabilities": `"name":"one"`, "/healthz": "ok", "/readyz": "ok", "/agents": `"path":"/one"`} {
		res, err := http.Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 200 || !strings.Contains(string(text), want) {
			t.Errorf("GET %s: %d %s", path, res.StatusCode, text)
		}
	}
	for _, path := range []string{"/one/", "/nowhere"} {
		status, _, _ := post(t, srv.URL+path, "application/json", body)
		if want := map[string]int{"/one/": 200, "/nowhere": 404}[path]; status != want {
			t.Errorf("POST %s: %d, want %d", path, status, want)
		}
	}
}

// Whatever path a Host accepts, the agent answers there.
func TestHostPaths(t *testing.T) {
	one, err := server.New(speaker("one"), &server.Options{Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	answers := func(t rapid.TB, path string) bool {
		host := server.NewHost(nil)
		if err := host.Handle(path, one); err != nil {
			return false
		}
		w := httptest.NewRecorder()
		at := &url.URL{Path: strings.TrimSuffix(path, "/") + "/capabilities"}
		host.ServeHTTP(w, httptest.NewRequest("GET", at.String(), nil))
		if w.Code != 200 || !strings.Contains(w.Body.String(), `"name":"one"`) {
			t.Fatalf("GET %s of path %q: %d %s", at, path, w.Code, w.Body)
		}
		return true
	}
	for _, path := range []string{"/", "/a", "/a/b", "/café", "/日本/語", "/a.b~c-d_e:f@g;h=i&j+k!", "/..a"} {
		if !answers(t, path) {
			t.Errorf("path %q was refused", path)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		answers(t, "/"+rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z{}%20:;.,/ +~$é]{1,8}`)).Draw(t, "path"))
	})
}

// What an agent can do, and nothing of what it hides (S9).
func TestCapabilities(t *testing.T) {
	cfg := state.Config{
		Schema: state.MustParseSchema(`{"type":"object","required":["secrets","open"],"properties":{
			"secrets":{"type":"string","default":"hidden-marker"},"open":{"type":"integer"},
			"users":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"token":{"type":"string"}}}}}}`),
		Access: state.Access{"/secrets": state.ServerOnly, "/users/*/token": state.ServerOnly, "/open": state.ReadOnly},
	}
	srv := listen(t, speaker(), &server.Options{Name: "cap", State: cfg}, nil)
	res, err := http.Get(srv.URL + "/capabilities")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(res.Body)
	res.Body.Close()
	var c struct {
		Identity struct{ Name string }
		State    struct{ Snapshots, Deltas bool }
		Custom   struct {
			StateSchema struct {
				Required   []string
				Properties map[string]json.RawMessage
			}
			StateAccess []string
		}
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	if c.Identity.Name != "cap" || !c.State.Snapshots || len(c.Custom.StateSchema.Properties) != 2 || len(c.Custom.StateSchema.Required) != 1 || len(c.Custom.StateAccess) != 1 || c.Custom.StateAccess[0] != "/open" {
		t.Errorf("%s", text)
	}
	for _, hidden := range []string{"secrets", "token", "hidden-marker"} {
		if strings.Contains(string(text), hidden) {
			t.Errorf("S9: %q in %s", hidden, text)
		}
	}
	if _, err := server.New(speaker(), &server.Options{KeepAlive: -1}); err == nil {
		t.Error("a negative KeepAlive was accepted")
	}
}

// Protobuf where the Accept header names it, and SSE for everybody else.
func TestProtobuf(t *testing.T) {
	srv := listen(t, speaker("Hello, protobuf.", "Hello, SSE."), nil, nil)
	for i, accept := range []string{"text/event-stream, application/vnd.ag-ui.event+proto", "*/*"} {
		req, err := http.NewRequest(http.MethodPost, srv.URL, strings.NewReader(strings.Replace(body, `"u"`, `"u`+accept[:1]+`"`, 1)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", accept)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		read := aguipb.ReadEvents
		if want := []string{"application/vnd.ag-ui.event+proto", "text/event-stream"}[i]; res.Header.Get("Content-Type") != want {
			t.Errorf("Accept %s: content type %q, want %q", accept, res.Header.Get("Content-Type"), want)
		}
		if i == 1 {
			read = agui.ReadEvents
		}
		text := ""
		for rec, err := range read(res.Body, &agui.EventsOptions{Sequence: new(agui.Sequence)}) {
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := rec.Event.(*agui.TextMessageContent); ok {
				text += c.Delta
			}
		}
		res.Body.Close()
		if want := []string{"Hello, protobuf.", "Hello, SSE."}[i]; text != want {
			t.Errorf("Accept %s: text %q, want %q", accept, text, want)
		}
	}
}
