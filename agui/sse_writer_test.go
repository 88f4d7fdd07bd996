package agui_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lockstep-go/lockstep/agui"
)

// recorder is a response that notes when what was flushed, and under which
// deadline. Its clock is the bubble's.
type recorder struct {
	mu        sync.Mutex
	began     time.Time
	header    http.Header
	buf       []byte
	flushes   []string // "at: bytes"
	deadlines []string
	fail      error
}

func newRecorder() *recorder { return &recorder{header: http.Header{}, began: time.Now()} }

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(int)     {}
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return 0, r.fail
	}
	r.buf = append(r.buf, p...)
	return len(p), nil
}

func (r *recorder) FlushError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushes = append(r.flushes, fmt.Sprintf("%v: %s", time.Since(r.began), r.buf))
	r.buf = nil
	return r.fail
}

func (r *recorder) SetWriteDeadline(at time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := "none"
	if !at.IsZero() {
		text = at.Sub(r.began).String()
	}
	r.deadlines = append(r.deadlines, text)
	return nil
}

func (r *recorder) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.flushes)
}

func content(delta string) agui.Event {
	return &agui.TextMessageContent{MessageID: "m", Delta: delta}
}

func frame(id string, e agui.Event) string { return string(agui.AppendFrame(nil, id, e, agui.V1)) }

// TestWriterCoalesces carries promise W4: what comes within a millisecond
// shares a flush, a terminal event goes at once, silence is broken every 15 s.
func TestWriterCoalesces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := newRecorder()
		w, err := agui.NewWriter(rec, nil)
		if err != nil {
			t.Fatal(err)
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(w.WriteEvent("e-1", content("a")))
		time.Sleep(600 * time.Microsecond)
		must(w.WriteFrame([]byte(frame("e-2", content("b")))))
		time.Sleep(600 * time.Microsecond) // the window of the first is over
		must(w.WriteEvent("e-3", content("c")))
		must(w.WriteEvent("e-4", &agui.RunFinished{ThreadID: "t", RunID: "r"}))
		time.Sleep(20 * time.Second)
		must(w.WriteFrame([]byte(frame("", content("d")) + frame("e-5", &agui.RunError{Message: "m"}))))
		must(w.WriteEvent("", content("e")))
		must(w.Flush())
		must(w.Flush()) // nothing is waiting: nothing is flushed
		must(w.Comment())
		must(w.WriteEvent("", content("f")))
		must(w.Close())
		time.Sleep(time.Minute)
		want := []string{
			"0s: ",
			"1ms: " + frame("e-1", content("a")) + frame("e-2", content("b")),
			"1.2ms: " + frame("e-3", content("c")) + frame("e-4", &agui.RunFinished{ThreadID: "t", RunID: "r"}),
			"15.0012s: : keep-alive\n\n",
			"20.0012s: " + frame("", content("d")) + frame("e-5", &agui.RunError{Message: "m"}),
			"20.0012s: " + frame("", content("e")),
			"20.0012s: : keep-alive\n\n",
			"20.0012s: " + frame("", content("f")),
		}
		if diff := cmp.Diff(want, rec.seen()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if err := w.WriteEvent("", content("g")); !errors.Is(err, agui.ErrWriterClosed) {
			t.Errorf("after Close: %v", err)
		}
		must(w.Close())
		wantHeader := http.Header{
			"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache, no-transform"}, "X-Accel-Buffering": {"no"},
		}
		if diff := cmp.Diff(wantHeader, rec.header); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWriterOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := newRecorder()
		w, err := agui.NewWriter(rec, &agui.WriterOptions{Window: -1, KeepAlive: -1, WriteTimeout: 5 * time.Second, Version: agui.V0})
		if err != nil {
			t.Fatal(err)
		}
		_ = w.WriteEvent("e-1", content("a"))
		_ = w.WriteEvent("e-2", &agui.SubagentStarted{Base: agui.Base{SubagentRunID: "s"}, Name: "n"}) // no V0 spelling
		time.Sleep(time.Hour)
		_ = w.WriteEvent("e-3", content("b"))
		_ = w.Close()
		want := []string{"0s: ", "0s: " + frame("e-1", content("a")), "1h0m0s: " + frame("e-3", content("b"))}
		if diff := cmp.Diff(want, rec.seen()); diff != "" {
			t.Error(diff)
		}
		// Each flush has its own deadline, and none is left while it is silent.
		wantDeadlines := []string{"5s", "none", "5s", "none", "1h0m5s", "none"}
		if diff := cmp.Diff(wantDeadlines, rec.deadlines); diff != "" {
			t.Error(diff)
		}
	})
}

// TestWriterFlushesLargeBuffers: a burst does not wait for the window.
func TestWriterFlushesLargeBuffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := newRecorder()
		w, err := agui.NewWriter(rec, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if err := w.WriteEvent("", content(strings.Repeat("x", 1000))); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(rec.seen()); n < 5 || n > 8 {
			t.Errorf("100 KB took %d flushes before the window was over", n)
		}
		_ = w.Close()
	})
}

// TestWriterErrorIsFinal: a failed flush, the timer's too, is what every later
// call returns.
func TestWriterErrorIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := newRecorder()
		w, err := agui.NewWriter(rec, nil)
		if err != nil {
			t.Fatal(err)
		}
		broken := errors.New("broken pipe")
		rec.fail = broken
		if err := w.WriteEvent("", content("a")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
		for _, err := range []error{w.WriteEvent("", content("b")), w.WriteFrame(nil), w.Comment(), w.Flush(), w.Close(), w.Close()} {
			if !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// Wrappers as middleware writes them.
type (
	withoutUnwrap struct{ http.ResponseWriter }
	withUnwrap    struct{ http.ResponseWriter }
	onlyFlusher   struct{ http.ResponseWriter }
)

func (w withUnwrap) Unwrap() http.ResponseWriter { return w.ResponseWriter }
func (w onlyFlusher) Flush()                     { w.ResponseWriter.(http.Flusher).Flush() }

// TestWriterNeedsFlush: what cannot flush is refused before anything is
// written, so that the handler can answer with an error; what hides it behind
// Unwrap, or only has the old Flush, works.
func TestWriterNeedsFlush(t *testing.T) {
	stream := func(wrap func(http.ResponseWriter) http.ResponseWriter) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
			rw.Header().Set("Content-Type", "text/plain")
			w, err := agui.NewWriter(wrap(rw), nil)
			if err != nil {
				http.Error(rw, err.Error(), http.StatusInternalServerError)
				return
			}
			_ = w.WriteEvent("", content("a"))
			_ = w.Flush()
			<-req.Context().Done() // the frame must be there before the handler ends
			_ = w.Close()
		})
	}
	for _, c := range []struct {
		name    string
		handler http.Handler
		ok      bool
	}{
		{"bare", stream(func(w http.ResponseWriter) http.ResponseWriter { return w }), true},
		{"unwrap", stream(func(w http.ResponseWriter) http.ResponseWriter { return withUnwrap{w} }), true},
		{"old flusher", stream(func(w http.ResponseWriter) http.ResponseWriter { return onlyFlusher{w} }), true},
		{"hidden", stream(func(w http.ResponseWriter) http.ResponseWriter { return withoutUnwrap{w} }), false},
		{"timeout handler", http.TimeoutHandler(stream(func(w http.ResponseWriter) http.ResponseWriter { return w }), time.Minute, "late"), false},
	} {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, " http2=", http2), func(t *testing.T) {
				s := httptest.NewUnstartedServer(c.handler)
				s.EnableHTTP2 = http2
				s.StartTLS()
				defer s.Close()
				defer s.Client().CloseIdleConnections()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
				res, err := s.Client().Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if !c.ok {
					body, _ := io.ReadAll(res.Body)
					if res.StatusCode != 500 || !strings.Contains(string(body), "cannot stream") || res.Header.Get("X-Accel-Buffering") != "" {
						t.Errorf("%d %v %s", res.StatusCode, res.Header, body)
					}
					return
				}
				if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
					t.Errorf("content type %q", got)
				}
				line, err := bufio.NewReader(res.Body).ReadString('\n')
				if err != nil || line != strings.TrimSuffix(frame("", content("a")), "\n") {
					t.Errorf("%q, %v", line, err)
				}
			})
		}
	}
}

// TestWriterOutlivesWriteTimeout: the server's WriteTimeout is meant for
// responses that end; a stream goes on, silence included.
func TestWriterOutlivesWriteTimeout(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprint("http2=", http2), func(t *testing.T) {
			failed := make(chan error, 1)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
				w, err := agui.NewWriter(rw, nil)
				if err != nil {
					failed <- err
					return
				}
				for range 4 {
					time.Sleep(600 * time.Millisecond) // past WriteTimeout, which net/http takes from the real clock and a real connection
					_ = w.WriteEvent("", content("a"))
				}
				_ = w.WriteEvent("", &agui.RunError{Message: "end"})
				failed <- w.Close()
			}))
			s.EnableHTTP2 = http2
			s.Config.WriteTimeout = 2 * time.Second // the handshake has to fit in
			s.StartTLS()
			defer s.Close()
			defer s.Client().CloseIdleConnections()
			res, err := s.Client().Get(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil || strings.Count(string(body), "data:") != 5 {
				t.Errorf("%v after %q", err, body)
			}
			if err := <-failed; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWriterDeadViewer: a viewer that reads nothing costs one write timeout,
// not a goroutine for ever.
func TestWriterDeadViewer(t *testing.T) {
	failed := make(chan error, 1)
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		w, err := agui.NewWriter(rw, &agui.WriterOptions{WriteTimeout: 100 * time.Millisecond})
		for err == nil {
			err = w.WriteEvent("", content(strings.Repeat("x", 64<<10)))
		}
		_ = w.Close()
		failed <- err
	}))
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case err := <-failed:
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the handler is still writing")
	}
}

// TestWriterConcurrent: whoever writes, frames stay whole and in one piece.
func TestWriterConcurrent(t *testing.T) {
	rec := newRecorder()
	w, err := agui.NewWriter(rec, &agui.WriterOptions{Window: 50 * time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				_ = w.WriteEvent("", content(fmt.Sprint(i, "-", j)))
				if j%40 == 0 {
					_ = w.Comment()
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := ""
	for _, f := range rec.seen() {
		_, text, _ := strings.Cut(f, ": ")
		whole += text
	}
	n := 0
	for rec, err := range agui.ReadEvents(strings.NewReader(whole), &agui.EventsOptions{Bare: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Event.EventType() == agui.TypeTextMessageContent {
			n++
		}
	}
	if n != 800 {
		t.Errorf("%d events arrived", n)
	}
}
