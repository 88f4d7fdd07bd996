package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// With a token the page's own files and the health checks stay open, metrics do
// not; what a page of another origin sends is refused before it does anything.
func TestWhoMayWhat(t *testing.T) {
	url, stop := serve(t, "--token", "marker", "--allow-origin", "http://app.example")
	defer func() {
		if code := stop(); code != 0 {
			t.Errorf("serve ended with %d", code)
		}
	}()
	for _, c := range []struct {
		method, path string
		header       []string
		want         int
	}{
		{"GET", "/", nil, 200}, {"GET", "/healthz", nil, 200}, {"GET", "/readyz", nil, 200}, {"GET", "/assets/none.js", nil, 404},
		{"POST", "/", nil, 401}, {"GET", "/metrics", nil, 401}, {"GET", "/threads", nil, 401}, {"GET", "/capabilities", nil, 401},
		{"GET", "/metrics", []string{"Authorization", "Bearer marker"}, 200},
		{"POST", "/threads/t/undo", []string{"Authorization", "Bearer marker", "Sec-Fetch-Site", "cross-site", "Origin", "http://evil.example"}, 403},
		{"POST", "/threads/t/undo", []string{"Authorization", "Bearer marker", "Sec-Fetch-Site", "cross-site", "Origin", "http://app.example"}, 404},
		{"POST", "/threads/t/undo", []string{"Authorization", "Bearer marker", "Sec-Fetch-Site", "same-origin"}, 404},
		{"POST", "/threads/t/undo", []string{"Authorization", "Bearer marker"}, 404},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(c.header); i += 2 {
			req.Header.Set(c.header[i], c.header[i+1])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s %s %v: %d %s, want %d", c.method, c.path, c.header, res.StatusCode, body, c.want)
		}
		if c.path == "/metrics" && c.want == 200 && !strings.Contains(string(body), "lockstep_runs_total 0") {
			t.Errorf("metrics:\n%s", body)
		}
	}
}
