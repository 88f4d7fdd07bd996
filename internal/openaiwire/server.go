package openaiwire

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// maxBody bounds one request that the fake server reads, in bytes.
const maxBody = 64 << 20

// Request is what a client sent, as the server saw it.
type Request struct {
	Method   string
	Path     string // as sent, percent-escapes kept
	RawQuery string
	Host     string
	Peer     string // the client's address: the same for requests over one connection
	Header   http.Header
	Body     []byte

	// Gone is closed when the exchange is over: the reply was written, or the client
	// went away. A test that cancels waits on it to see that the connection was given
	// up.
	Gone <-chan struct{}

	aborted chan struct{}
}

// Aborted reports whether the client went away before the reply was complete. It is
// meaningful once Gone is closed.
func (r *Request) Aborted() bool {
	select {
	case <-r.aborted:
		return true
	default:
		return false
	}
}

// Decode reads the request's body into v, which is what [json.Unmarshal] takes.
func (r *Request) Decode(v any) error { return json.Unmarshal(r.Body, v) }

// Responses reports whether the request is one of the Responses API; otherwise it is a
// Chat Completions request.
func (r *Request) Responses() bool { return strings.HasSuffix(r.Path, "/responses") }

// Handler is an [http.Handler] that answers POST requests whose path ends in
// /chat/completions or /responses, whatever comes before: OpenAI's own paths, Azure's
// deployments and Foundry's projects alike. Anything else gets 404.
type Handler struct {
	// Answer is asked once for each request; it may be called from several goroutines.
	Answer func(*Request) Reply

	mu       sync.Mutex
	requests []*Request
}

// Requests returns what came in so far, in the order in which it came.
func (h *Handler) Requests() []*Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*Request(nil), h.requests...)
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	if r.Method != http.MethodPost || !strings.HasSuffix(path, "/chat/completions") && !strings.HasSuffix(path, "/responses") {
		http.Error(w, `{"error":{"message":"no such route","type":"invalid_request_error"}}`, http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	gone := make(chan struct{})
	req := &Request{
		Method: r.Method, Path: path, RawQuery: r.URL.RawQuery, Host: r.Host, Peer: r.RemoteAddr, Header: r.Header.Clone(), Body: body,
		Gone: gone, aborted: make(chan struct{}),
	}
	h.mu.Lock()
	h.requests = append(h.requests, req)
	h.mu.Unlock()

	defer close(gone)
	if err := h.Answer(req).write(w, r); err != nil {
		close(req.aborted)
	}
}

// Server is a [Handler] on a port of 127.0.0.1.
type Server struct {
	*Handler
	// URL is the server's address without a path: "http://127.0.0.1:PORT".
	URL string
	// TLS is the certificate-trusting client of a server that [NewTLS] made.
	TLS *http.Client
}

// BaseURL is what an OpenAI client wants as its base URL.
func (s *Server) BaseURL() string { return s.URL + "/v1/" }

// New starts a server that lives until the test ends.
func New(t testing.TB, answer func(*Request) Reply) *Server {
	t.Helper()
	return start(t, answer, false)
}

// NewTLS is [New] with HTTPS; its TLS field is a client that trusts it.
func NewTLS(t testing.TB, answer func(*Request) Reply) *Server {
	t.Helper()
	return start(t, answer, true)
}

func start(t testing.TB, answer func(*Request) Reply, secure bool) *Server {
	h := &Handler{Answer: answer}
	hs := httptest.NewUnstartedServer(h)
	s := &Server{Handler: h}
	if secure {
		hs.StartTLS()
		s.TLS = hs.Client()
	} else {
		hs.Start()
	}
	s.URL = hs.URL
	t.Cleanup(func() {
		hs.CloseClientConnections() // a reply that hangs would keep Close waiting
		hs.Close()
	})
	return s
}

// Script answers the first request with the first reply, and so on. A request after the
// last one fails the test: a client that asks more often than the script knows has
// retried what it should not have.
func Script(t testing.TB, replies ...Reply) func(*Request) Reply {
	var mu sync.Mutex
	next := 0
	return func(r *Request) Reply {
		mu.Lock()
		defer mu.Unlock()
		if next == len(replies) {
			t.Errorf("request %d to %s: the script has only %d replies", next+1, r.Path, len(replies))
			return Reply{Status: http.StatusTeapot, Body: []Step{Raw(fmt.Sprintf(`{"error":{"message":"only %d replies"}}`, len(replies)))}}
		}
		next++
		return replies[next-1]
	}
}
