// Package playground answers: what does a browser get? It holds the built page:
// chat, live state, approvals, and the events behind them.
//
// The page is built by Vite (`make page`) and embedded as files. A program that
// was compiled without it works all the same: Handler is nil then, and Home says
// how to build it.
package playground

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed all:dist
var dist embed.FS

// policy lets the page load its own files, talk to its own server, and nothing
// else: what an agent writes can neither run nor fetch anything.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the page at / and its files below /assets/. It is nil where the
// page was not built before this program was. It is safe for concurrent use.
func Handler() http.Handler {
	built, err := fs.Sub(dist, "dist/www")
	if err != nil {
		return nil
	}
	return handler(built)
}

// Home is Handler, or where there is no page one line that says how to get one.
func Home() http.Handler {
	if h := Handler(); h != nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r) // files of the page, which is not there
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "Lockstep is running, without its page: `make page` builds it (Node 20 is needed), then start this again. GET /agents lists the agents.\n")
	})
}

func handler(built fs.FS) http.Handler {
	if _, err := fs.Stat(built, "index.html"); err != nil {
		return nil
	}
	return &page{files: built}
}

// kinds are written down here: what package mime says depends on the machine.
var kinds = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

type page struct {
	files  fs.FS
	packed sync.Map // name → func() []byte, the file as gzip
}

// ServeHTTP serves one file.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	data, err := fs.ReadFile(p.files, name)
	if err != nil || name != "index.html" && !strings.HasPrefix(name, "assets/") {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Vary", "Accept-Encoding")
	h.Set("Content-Type", cmp.Or(kinds[path.Ext(name)], "application/octet-stream"))
	if name == "index.html" {
		// It names its files by their content, so it alone can become old.
		h.Set("Cache-Control", "no-cache")
	} else {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if len(data) > 1024 && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && r.Header.Get("Range") == "" {
		h.Set("Content-Encoding", "gzip")
		data = p.gzipped(name, data)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// gzipped packs a file when it is asked for the first time.
func (p *page) gzipped(name string, data []byte) []byte {
	pack, _ := p.packed.LoadOrStore(name, sync.OnceValue(func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(data) // a buffer takes everything
		_ = z.Close()
		return b.Bytes()
	}))
	return pack.(func() []byte)()
}
