package server_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/internal/golden"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve puts a conversation's agent behind a real HTTP server.
func serve(t *testing.T, c *golden.Conversation) (*httptest.Server, *thread.Metrics) {
	t.Helper()
	metrics := &thread.Metrics{}
	log := slog.New(slog.DiscardHandler)
	threads := thread.New(memory.New(), &thread.Options{NewID: golden.NewID(), Metrics: metrics, Logger: log})
	h, err := server.New(c.Agent, &server.Options{State: c.State, Threads: threads, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), golden.Timeout)
		defer cancel()
		if err := threads.Close(ctx); err != nil {
			t.Error(err)
		}
		srv.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return srv, metrics
}

// The golden conversations over HTTP: the wire is what the files say, every
// stream keeps the protocol's order (W1), every delta applies (W2), and no
// delta had to be mended.
func TestGolden(t *testing.T) {
	golden.Each(t, "../testdata/runs", func(t *testing.T, c *golden.Conversation) {
		srv, metrics := serve(t, c)
		var turns [][][]byte
		var final jsondoc.Value
		for i, in := range c.Bodies {
			res, err := http.Post(srv.URL, "application/json", bytes.NewReader(in))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s %v", res.Status, body, err)
			}
			var events [][]byte
			reduced := agui.NewReducer(nil, posted(c.Inputs[i]))
			var order agui.Sequence
			for rec, err := range agui.ReadEvents(bytes.NewReader(body), &agui.EventsOptions{Sequence: &order}) {
				if err != nil {
					t.Fatalf("W1: %v\n%s", err, body)
				}
				if err := reduced.Apply(rec.Event); err != nil {
					t.Fatalf("W2: %v\n%s", err, body)
				}
				events = append(events, bytes.Clone(rec.Data))
			}
			turns, final = append(turns, events), reduced.State()
		}
		c.Compare(t, turns, final)
		if n := metrics.RepairedDeltas.Load(); n != 0 {
			t.Errorf("W2: %d deltas had to be replaced by snapshots", n)
		}
		for _, turn := range turns {
			for _, e := range turn {
				if strings.Contains(string(e), "a secret of the transport's") {
					t.Errorf("W5: an error's own text is on the wire: %s", e)
				}
			}
		}
	})
}

func posted(in *agui.RunAgentInput) jsondoc.Value {
	if in == nil {
		return jsondoc.Value{}
	}
	return in.State
}

// The same conversations through our client: its state is the files' state.
func TestGoldenClient(t *testing.T) {
	golden.Each(t, "../testdata/runs", func(t *testing.T, c *golden.Conversation) {
		if c.Has("other-client") {
			t.Skip("the file is about a client that does less than ours")
		}
		srv, _ := serve(t, c)
		th := client.New(srv.URL, nil).Thread(c.Inputs[0].ThreadID)
		var turns [][][]byte
		for _, in := range c.Inputs {
			if in.State.Kind() == jsondoc.KindObject {
				th.SetState(in.State)
			}
			known := map[string]bool{}
			for _, m := range th.Messages() {
				known[m.ID] = true
			}
			o := &client.RunOptions{RunID: in.RunID, Tools: in.Tools, Context: in.Context, Resume: in.Resume}
			for _, m := range in.Messages {
				if !known[m.ID] {
					o.Messages = append(o.Messages, m)
				}
			}
			var events [][]byte
			for e, err := range th.Run(t.Context(), o) {
				if err != nil {
					break // the event of a RUN_ERROR has been seen
				}
				events = append(events, agui.AppendEvent(nil, e, agui.V1))
			}
			turns = append(turns, events)
		}
		c.Compare(t, turns, th.State())
	})
}
