package client_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// odd answers the next attach with frames of its own instead of h's, as a server
// with a fault would. EPOCH stands for the epoch that the client knows.
type odd struct {
	h      http.Handler
	frames atomic.Pointer[string]
}

func (o *odd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	frames := (*string)(nil)
	if strings.HasSuffix(r.URL.Path, "/events") {
		frames = o.frames.Swap(nil)
	}
	if frames == nil {
		o.h.ServeHTTP(w, r)
		return
	}
	epoch, _, _ := strings.Cut(r.Header.Get("Last-Event-ID"), "-")
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, strings.ReplaceAll(*frames, "EPOCH", epoch))
}

func (o *odd) next(frames string) { o.frames.Store(&frames) }

func serveOdd(t *testing.T) (*network, *odd) {
	t.Helper()
	a, cfg := writer(0)
	o := &odd{h: handler(t, a, cfg)}
	return newNetwork(t, o), o
}

// A patch that does not apply: whoever follows reads the thread anew and has the
// server's state again.
func TestTornState(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n, o := serveOdd(t)
		th := n.steady(nil).Thread("t")
		say(t, th, "write it")
		o.next("id: EPOCH-1000\ndata: " + `{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/none/at/all","value":1}]}` + "\n\n")
		w := watch(t, th)
		time.Sleep(time.Second)
		wantSame(t, w.thread, hydrate(t, n.steady(nil), "t"))
		say(t, n.steady(nil).Thread("t"), "write it again")
		settle()
		wantSame(t, w.thread, hydrate(t, n.steady(nil), "t"))
	})
}

// A log that was put back, as from a backup: the client is ahead of it, notices
// on whatever it does next, and has the server's state again.
func TestLogPutBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for name, next := range map[string]func(*client.Thread){
			"follow":  func(th *client.Thread) { watch(t, th); time.Sleep(time.Second) },
			"run":     func(th *client.Thread) { say(t, th, "write more") },
			"hydrate": func(th *client.Thread) { _, _ = th.Hydrate(t.Context()) },
			"edit": func(th *client.Thread) {
				if _, err := th.Merge(t.Context(), jsondoc.MustParse(`{"title":"x"}`)); err != nil {
					t.Error(err)
				}
			},
		} {
			n, o := serveOdd(t)
			th := n.steady(nil).Thread("t")
			say(t, th, "write it")
			o.next("id: EPOCH-1000\ndata: " + foreignStart + "\n\nid: EPOCH-1001\ndata: " + `{"type":"STATE_SNAPSHOT","snapshot":{"title":"","document":"lost"}}` + "\n\nid: EPOCH-1002\ndata: " + foreignEnd + "\n\n")
			ctx, cancel := context.WithCancel(t.Context())
			for u, err := range th.Follow(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				if ends(u.Event) {
					break
				}
			}
			cancel()
			if got, _ := th.State().At("/document"); got.Str() != "lost" {
				t.Fatalf("%s: the state is %s", name, th.State())
			}
			next(th)
			truth := hydrate(t, n.steady(nil), "t")
			if th.Position() != truth.Position {
				t.Errorf("%s: at %s, the server at %s", name, th.Position(), truth.Position)
			}
			wantSame(t, th, truth)
			say(t, th, "write again")
			wantSame(t, th, hydrate(t, n.steady(nil), "t"))
		}
	})
}

// A stream that has nothing to say stays; one that is silent altogether is
// taken up again. A reader that takes its time is not cut off.
func TestIdle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, cfg := writer(0)
		h := handler(t, a, cfg)
		var connections atomic.Int32
		var silent atomic.Bool
		n := newNetwork(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/events") {
				h.ServeHTTP(w, r)
				return
			}
			connections.Add(1)
			if silent.Swap(false) {
				w.Header().Set("Content-Type", "text/event-stream")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
				return
			}
			h.ServeHTTP(w, r)
		}))
		th := n.steady(nil).Thread("t")
		say(t, th, "hello")
		w := watch(t, th)
		time.Sleep(time.Hour)
		if got := connections.Load(); got != 1 {
			t.Errorf("%d connections in an hour with comments", got)
		}
		silent.Store(true)
		n.breakAll()
		time.Sleep(time.Minute)
		if got := connections.Load(); got != 3 {
			t.Errorf("%d connections, the second of which was silent", got)
		}
		say(t, n.steady(nil).Thread("t"), "hello")
		settle()
		wantSame(t, w.thread, hydrate(t, n.steady(nil), "t"))

		for range th.Run(t.Context(), &client.RunOptions{Text: "hello"}) {
			time.Sleep(5 * time.Minute)
		}
		if got := len(th.Messages()); got != 6 {
			t.Errorf("%d messages", got)
		}
	})
}
