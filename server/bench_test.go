package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
)

// Attaching to a thread of a hundred runs, over HTTP: from the request to the
// end of the prelude.
func BenchmarkAttach(b *testing.B) {
	h, err := server.New(scripted.NewAgent(scripted.AgentConfig{Config: agent.Config{Name: "a"}, Options: scripted.Options{Pace: -1}}),
		&server.Options{State: state.Config{Initial: jsondoc.Object()}})
	if err != nil {
		b.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	defer h.Close(context.Background())
	get := func(r *http.Response, err error) int {
		if err != nil {
			b.Fatal(err)
		}
		defer r.Body.Close()
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			b.Fatal(r.Status, err)
		}
		return int(n)
	}
	for i := range 100 {
		body := fmt.Sprintf(`{"threadId":"t","runId":"r%d","messages":[{"id":"u%d","role":"user","content":"hello"}]}`, i, i)
		get(http.Post(srv.URL, "application/json", strings.NewReader(body)))
	}
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(get(http.Get(srv.URL + "/threads/t/events?live=false"))))
	}
}

// An edit, from its append to the last of the viewers having its frame. The
// frame is made once, so a thousand viewers cost what it takes to wake them.
func BenchmarkViewers(b *testing.B) {
	for _, viewers := range []int{1, 1000} {
		b.Run(fmt.Sprint(viewers), func(b *testing.B) {
			model, err := state.NewModel(state.Config{Initial: jsondoc.Object()})
			if err != nil {
				b.Fatal(err)
			}
			ts := thread.New(memory.New(), nil)
			defer ts.Close(context.Background())
			th, err := ts.Open(b.Context(), thread.Key{ID: "t"}, model)
			if err != nil {
				b.Fatal(err)
			}
			defer th.Close()
			ctx, cancel := context.WithCancel(b.Context())
			var gone, seen sync.WaitGroup
			at := th.Snapshot().Position
			for range viewers {
				gone.Go(func() {
					for p, err := range th.Follow(ctx, at) {
						if err != nil {
							return
						}
						if len(p.Frame(0)) > 0 && p.Terminal(p.Run) {
							seen.Done()
						}
					}
				})
			}
			var n int64
			for b.Loop() {
				n++
				seen.Add(viewers)
				patch := jsondoc.Patch{{Op: "add", Path: "/n", Value: jsondoc.Int(n)}}
				if _, err := th.Edit(ctx, thread.Edit{Patch: patch}); err != nil {
					b.Fatal(err)
				}
				seen.Wait()
			}
			cancel()
			gone.Wait()
		})
	}
}
