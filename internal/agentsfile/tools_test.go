package agentsfile

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

func hook(t *testing.T, spec string) tool.FuncTool {
	t.Helper()
	list, err := parseAgents("agents.yaml", []byte("agents:\n  a:\n    tools:\n      t:\n        http: "+spec+"\n"), fakeEnv, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := tool.As[tool.FuncTool](list[0].Config.Tools[0])
	return f
}

func TestWebhook(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Error("a redirect to another host was followed")
	}))
	defer elsewhere.Close()
	hang := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/echo":
			body, _ := io.ReadAll(r.Body)
			_, _ = io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization")+" "+string(body))
		case "/away":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case "/here":
			http.Redirect(w, r, "/echo", http.StatusTemporaryRedirect)
		case "/slow":
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		case "/large":
			_, _ = io.WriteString(w, strings.Repeat("x", maxAnswer+1))
		case "/binary":
			_, _ = w.Write([]byte{0xff, 0xfe})
		default:
			http.Error(w, "a secret of the server", http.StatusTeapot)
		}
	}))
	defer srv.Close()
	defer close(hang)
	const args = `{"q":"../../?x=http://evil.example/#@","n":1.50}`
	for _, c := range []struct{ name, spec, want, fails, shown string }{
		{"post", `{url: "` + srv.URL + `/echo?v=1", headers: {Authorization: "Bearer ${TOKEN}"}}`, "POST /echo?v=1 Bearer test-marker " + args, "", ""},
		{"get", `{url: "` + srv.URL + `/echo?v=1", method: GET}`, "GET /echo?n=1.50&q=..%2F..%2F%3Fx%3Dhttp%3A%2F%2Fevil.example%2F%23%40&v=1  ", "", ""},
		{"a redirect on the same host", `{url: "` + srv.URL + `/here"}`, "POST /echo  " + args, "", ""},
		{"a redirect away", `{url: "` + srv.URL + `/away"}`, "", "another host", message.FailedText},
		{"too slow", `{url: "` + srv.URL + `/slow", timeout: 50ms}`, "", "deadline", message.FailedText},
		{"too large", `{url: "` + srv.URL + `/large"}`, "", "more than", message.FailedText},
		{"binary", `{url: "` + srv.URL + `/binary"}`, "", "not answer with text", message.FailedText},
		{"a status", `{url: "` + srv.URL + `/nothing"}`, "", "418", "Error: the tool's server answered with status 418"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			got, err := hook(t, c.spec).Call(ctx, args)
			if c.fails == "" {
				if err != nil || got != c.want {
					t.Errorf("got  %v (%v)\nwant %s", got, err, c.want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("error %v, want one with %q", err, c.fails)
			}
			if text, _ := tool.Shown(err); text != c.shown {
				t.Errorf("the model is told %q, want %q", text, c.shown)
			}
		})
	}
}
