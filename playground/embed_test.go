package playground

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func get(t *testing.T, h http.Handler, path, encoding string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestHandler(t *testing.T) {
	script := strings.Repeat("console.log('a page');\n", 200)
	h := handler(fstest.MapFS{
		"index.html":         {Data: []byte("<!doctype html><title>Lockstep</title>")},
		"assets/index-1a.js": {Data: []byte(script)},
		"secret.txt":         {Data: []byte("not a file of the page")},
	})
	for _, c := range []struct {
		path   string
		status int
		kind   string
		cache  string
	}{
		{"/", 200, "text/html; charset=utf-8", "no-cache"},
		{"/assets/index-1a.js", 200, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		{"/assets/none.js", 404, "", ""},
		{"/secret.txt", 404, "", ""},
		{"/assets/../secret.txt", 404, "", ""},
		{"/assets/", 404, "", ""},
	} {
		res := get(t, h, c.path, "identity")
		if res.StatusCode != c.status {
			t.Errorf("GET %s: %d, want %d", c.path, res.StatusCode, c.status)
		}
		if c.status != 200 {
			continue
		}
		for name, want := range map[string]string{"Content-Type": c.kind, "Cache-Control": c.cache, "X-Content-Type-Options": "nosniff", "Content-Encoding": ""} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("GET %s: %s is %q, want %q", c.path, name, got, want)
			}
		}
		if csp := res.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("GET %s: policy %q", c.path, csp)
		}
	}

	for range 2 { // packed once, served twice
		res := get(t, h, "/assets/index-1a.js", "gzip, br")
		if res.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("headers %v, want gzip", res.Header)
		}
		z, err := gzip.NewReader(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err != nil || string(got) != script {
			t.Errorf("unpacked: %d bytes, %v; want %d", len(got), err, len(script))
		}
	}
}

func TestHandlerWithoutAPage(t *testing.T) {
	if h := handler(fstest.MapFS{"README": {}}); h != nil {
		t.Error("a handler without an index.html")
	}
}

// TestBuiltPage holds for the page that is embedded right now, if one is: it
// needs no exception from the policy.
func TestBuiltPage(t *testing.T) {
	h := Handler()
	if h == nil {
		t.Skip("the page is not built; make page builds it")
	}
	body, _ := io.ReadAll(get(t, h, "/", "identity").Body)
	inline := regexp.MustCompile(`<script(?:\s[^>]*)?>[^<\s]|<style|\son[a-z]+=|\sstyle=|https?://`)
	if found := inline.Find(body); found != nil {
		t.Errorf("the policy forbids %q in the page", found)
	}
	files := regexp.MustCompile(`(?:src|href)="(/[^"]+)"`).FindAllSubmatch(body, -1)
	if len(files) == 0 {
		t.Fatalf("the page names no files: %s", body)
	}
	for _, f := range files {
		if res := get(t, h, string(f[1]), "identity"); res.StatusCode != http.StatusOK {
			t.Errorf("GET %s: %d", f[1], res.StatusCode)
		}
	}
}
