package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// cutter is a TCP proxy that breaks each connection after some bytes of the
// server's, the next after other ones.
type cutter struct {
	net.Listener
	to string

	mu   sync.Mutex
	cuts []int
	wait sync.WaitGroup
}

func newCutter(t *testing.T, to string, cuts ...int) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, to: to, cuts: cuts}
	c.wait.Go(c.serve)
	t.Cleanup(func() {
		l.Close()
		c.wait.Wait()
	})
	return c
}

func (c *cutter) serve() {
	for {
		near, err := c.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.to)
		if err != nil {
			near.Close()
			continue
		}
		c.mu.Lock()
		bytes := int64(1 << 40)
		if len(c.cuts) > 0 {
			bytes, c.cuts = int64(c.cuts[0]), c.cuts[1:]
		}
		c.mu.Unlock()
		end := func() { near.Close(); far.Close() }
		c.wait.Go(func() { _, _ = io.Copy(far, near); end() })
		c.wait.Go(func() { _, _ = io.CopyN(near, far, bytes); end() })
	}
}

// T3 over sockets: a run whose connections break again and again, and a follower
// of the same bad luck, get all of it.
func TestT3OverTCP(t *testing.T) {
	a, cfg := writer(0)
	srv := httptest.NewServer(handler(t, a, cfg))
	defer srv.Close()
	address := srv.Listener.Addr().String()
	straight := &http.Client{Transport: &http.Transport{}}
	defer straight.CloseIdleConnections()
	truth := client.New(srv.URL, &client.Options{HTTPClient: straight})
	say(t, truth.Thread("t"), "hello")

	cut := newCutter(t, address, 500, 700, 350, 3000, 900, 1, 220, 1500, 2500, 800, 400, 1200)
	hc := &http.Client{Transport: &http.Transport{}}
	defer hc.CloseIdleConnections()
	c := client.New("http://"+cut.Addr().String(), &client.Options{
		HTTPClient: hc, Reconnect: client.Reconnect{Min: time.Millisecond, Max: 2 * time.Millisecond, Tries: 50},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	th := c.Thread("t")
	var events []agui.Event
	for tries := 0; ; tries++ {
		var err error
		if events, err = collect(ctx, th, &client.RunOptions{Text: "write " + strings.Repeat("a long text ", 40), Attach: true}); err == nil {
			break
		}
		if len(events) > 0 || tries > 50 {
			t.Fatalf("after %s: %v", kinds(events), err)
		}
	}
	if !ends(events[len(events)-1]) {
		t.Errorf("the run's events are %s", kinds(events))
	}
	// What happens now is followed from where the run has ended, each event once.
	seen := map[string]bool{th.Position(): true}
	other := truth.Thread("t")
	for _, title := range []string{"one", "two", "three"} {
		if _, err := other.Merge(ctx, jsondoc.MustParse(`{"title":"`+title+`"}`)); err != nil {
			t.Fatal(err)
		}
	}
	end := hydrate(t, truth, "t")
	follow := func() (bool, error) {
		for u, err := range th.Follow(ctx) {
			if err != nil {
				return false, err // its first connection does not stand
			}
			if seen[u.Position] || u.Resync {
				t.Errorf("%s at %s came twice, or anew", u.Event.EventType(), u.Position)
			}
			if seen[u.Position] = true; u.Position == end.Position {
				return true, nil
			}
		}
		return false, nil
	}
	for tries := 0; ; tries++ {
		if there, err := follow(); there {
			break
		} else if tries > 50 || ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 1+3*3 {
		t.Errorf("%d events of three edits", len(seen)-1)
	}
	wantSame(t, th, end)
}

// roundTripper answers some requests with a fixed body, and then none any more.
type roundTripper struct {
	body string
	left int
}

func (rt *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	res := &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(rt.body)),
	}
	if rt.left--; rt.left < 0 {
		res.StatusCode = http.StatusGone
	}
	return res, nil
}

// Whatever a server sends: no panic, no endless loop, and what is known of the
// thread stays something that can be posted and read.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"id: e-1\ndata: " + foreignStart + "\n\nid: e-2\ndata: " + foreignEnd + "\n\n",
		"data: " + foreignStart + "\n\ndata: {\"type\":\"STATE_SNAPSHOT\",\"snapshot\":{\"a\":1}}\n\nid: e-9\ndata: " + foreignEnd + "\n\n",
		"id: e-5\ndata: {\"type\":\"STATE_DELTA\",\"delta\":[{\"op\":\"remove\",\"path\":\"/x\"}]}\n\n",
		"id: e-18446744073709551615\ndata: " + foreignStart + "\n\nid: e-0\ndata: " + foreignStart + "\n\n",
		": comment\n\n\x00\xff", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		c := client.New("http://agent.test/", &client.Options{
			HTTPClient: &http.Client{Transport: &roundTripper{body: body, left: 12}},
			Reconnect:  client.Reconnect{Min: 1, Max: 2, Tries: 2},
			MaxEvent:   1 << 16,
		})
		th := c.Thread("t")
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		for range 2 {
			for range th.Run(ctx, &client.RunOptions{Text: "hi"}) {
			}
		}
		for range th.Follow(ctx) {
		}
		if ctx.Err() != nil {
			t.Fatal("the stream has no end")
		}
		if _, err := agui.DecodeMessages([]byte("["+strings.TrimSuffix(strings.ReplaceAll(conversation(th.Messages()), "\n", ","), ",")+"]"), nil); err != nil {
			t.Fatalf("the messages cannot be read: %v\n%s", err, conversation(th.Messages()))
		}
		if _, err := jsondoc.Parse(th.State().AppendJSON(nil), nil); err != nil {
			t.Fatal(err)
		}
	})
}
