package client_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

func TestMain(m *testing.M) {
	if os.Getenv("LOCKSTEP_LONG") != "1" {
		// Half of rapid's own number; -rapid.checks on the command line counts.
		if err := flag.Set("rapid.checks", "50"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// address is where a network's server is.
const address = "http://agent.test/"

// network is a server and its clients in one process, on connections in memory:
// inside a synctest bubble nothing depends on how busy the machine is, and no
// wait takes any time. What the server sends can be cut off after any byte.
type network struct {
	t       *testing.T
	conns   chan net.Conn
	mu      sync.Mutex
	handler http.Handler
	open    map[*conn]bool
	// cut says after how many bytes from the server a new connection breaks;
	// less than zero: never.
	cut func() int
}

func newNetwork(t *testing.T, h http.Handler) *network {
	t.Helper()
	n := &network{t: t, conns: make(chan net.Conn), handler: h, open: map[*conn]bool{}}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		h := n.handler
		n.mu.Unlock()
		h.ServeHTTP(w, r)
	}), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	l := &listener{n: n, done: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		n.breakAll()
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return n
}

// serve replaces what answers: a server that was started anew.
func (n *network) serve(h http.Handler) {
	n.mu.Lock()
	n.handler = h
	n.mu.Unlock()
	n.breakAll()
}

// breakAll breaks every open connection.
func (n *network) breakAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.open {
		c.Conn.Close()
	}
}

// steady is a client whose connections are never cut.
func (n *network) steady(o *client.Options) *client.Client { return n.client(o, nil) }

// shaky is a client whose connections are cut as n.cut says.
func (n *network) shaky(o *client.Options) *client.Client {
	return n.client(o, func() int { return n.cut() })
}

func (n *network) client(o *client.Options, cut func() int) *client.Client {
	if o == nil {
		o = &client.Options{}
	}
	tr := &http.Transport{ReadBufferSize: 1 << 20, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case n.conns <- buffered(theirs):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		c := &conn{Conn: ours, n: n, left: -1}
		if cut != nil {
			c.left = cut()
		}
		n.mu.Lock()
		n.open[c] = true
		n.mu.Unlock()
		return c, nil
	}}
	n.t.Cleanup(tr.CloseIdleConnections)
	o.HTTPClient = &http.Client{Transport: tr}
	return client.New(address, o)
}

// conn is a client's end of a connection.
type conn struct {
	net.Conn
	n    *network
	left int // bytes until it breaks; less than zero: never
}

func (c *conn) Read(p []byte) (int, error) {
	if c.left == 0 {
		c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	if c.left > 0 {
		p = p[:min(len(p), c.left)]
	}
	got, err := c.Conn.Read(p)
	if c.left > 0 {
		c.left -= got
	}
	return got, err
}

func (c *conn) Close() error {
	c.n.mu.Lock()
	delete(c.n.open, c)
	c.n.mu.Unlock()
	return c.Conn.Close()
}

// outgoing is the server's end of a connection. As with a socket, what is
// written is on its way before it is read: a handler that waits for a slow
// reader, with a lock that another goroutine wants, would stop a bubble's clock.
type outgoing struct {
	net.Conn
	mu     sync.Mutex
	more   sync.Cond
	queue  [][]byte
	closed bool
}

func buffered(c net.Conn) net.Conn {
	o := &outgoing{Conn: c}
	o.more.L = &o.mu
	go o.pump()
	return o
}

func (o *outgoing) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return 0, net.ErrClosed
	}
	o.queue = append(o.queue, bytes.Clone(p))
	o.more.Signal()
	return len(p), nil
}

// Close lets what was written reach the reader first.
func (o *outgoing) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.more.Signal()
	return nil
}

func (o *outgoing) pump() {
	defer o.Conn.Close()
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.closed {
			o.more.Wait()
		}
		if len(o.queue) == 0 {
			o.mu.Unlock()
			return
		}
		p := o.queue[0]
		o.queue = o.queue[1:]
		o.mu.Unlock()
		if _, err := o.Conn.Write(p); err != nil {
			o.mu.Lock()
			o.closed, o.queue = true, nil
			o.mu.Unlock()
			return
		}
	}
}

type listener struct {
	n    *network
	done chan struct{}
	once sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.n.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

// bubble runs a test in which time passes only while everybody waits.
func bubble(t *testing.T, f func(*testing.T)) { synctest.Test(t, f) }

// settle waits until every follower has what there is. One that was still
// reading what has been compacted meanwhile comes back a little later.
func settle() {
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

// Note is the state of the tests' agent.
type Note struct {
	Title    string `json:"title"`
	Document string `json:"document"`
}

// writer is an agent that writes what it is asked to: "write X" calls a tool
// that the document is predicted from, in small pieces with time between them;
// anything else is answered with a text.
func writer(delay time.Duration) (*agent.Agent, state.Config) {
	write := functool.MustNew(functool.Config{Name: "write"}, func(context.Context, struct {
		Document string `json:"document"`
	}) (string, error) {
		return "Written.", nil
	})
	calls := agenttest.Sequence("call")
	m := agenttest.New(agenttest.TurnFrom(func(p agenttest.Prompt) []agenttest.Step {
		last := p.Messages[len(p.Messages)-1]
		if text, ok := strings.CutPrefix(last.String(), "write "); ok && last.Role == "user" {
			return []agenttest.Step{
				agenttest.Text("On it. "),
				agenttest.Call(calls(), "write", `{"document":`+jsondoc.String(text).String()+`}`),
			}
		}
		if last.Role == "tool" {
			return []agenttest.Step{agenttest.Text("Written.")}
		}
		return []agenttest.Step{agenttest.Text("I have heard: " + last.String())}
	}))
	m.Chunk, m.Delay, m.Repeat = 5, delay, true
	return m.Agent(agent.Config{Name: "writer", Tools: []tool.Tool{write}}), state.Config{
		Schema:  state.SchemaFor[Note](),
		Predict: map[string]state.Prediction{"document": {Tool: "write", Argument: "document"}},
	}
}

// handler serves an agent until the test ends.
func handler(t *testing.T, a *agent.Agent, cfg state.Config) *server.Handler {
	t.Helper()
	h, err := server.New(a, &server.Options{State: cfg, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return h
}

// serveWriter is a network with the writer.
func serveWriter(t *testing.T, delay time.Duration) *network {
	t.Helper()
	a, cfg := writer(delay)
	return newNetwork(t, handler(t, a, cfg))
}

// say runs a thread to the end and returns its events.
func say(t *testing.T, th *client.Thread, text string) []agui.Event {
	t.Helper()
	events, err := collect(t.Context(), th, &client.RunOptions{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func collect(ctx context.Context, th *client.Thread, o *client.RunOptions) ([]agui.Event, error) {
	var events []agui.Event
	for e, err := range th.Run(ctx, o) {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

func kinds(events []agui.Event) string {
	var out []string
	for _, e := range events {
		if k := string(e.EventType()); len(out) == 0 || out[len(out)-1] != k {
			out = append(out, k)
		}
	}
	return strings.Join(out, " ")
}

// conversation is a thread's messages as JSON, one a line.
func conversation(messages []agui.Message) string {
	var out []byte
	for i := range messages {
		out = append(messages[i].AppendJSON(out), '\n')
	}
	return string(out)
}

// wantSame fails unless a thread shows what the server has.
func wantSame(t *testing.T, th *client.Thread, truth *client.Snapshot) {
	t.Helper()
	if !jsondoc.Equal(th.State(), truth.State) {
		t.Errorf("the client's state is\n%s\nthe server's\n%s", th.State(), truth.State)
	}
	if got, want := conversation(th.Messages()), conversation(truth.Messages); got != want {
		t.Errorf("the client's messages are\n%s\nthe server's\n%s", got, want)
	}
}

func hydrate(t *testing.T, c *client.Client, id string) *client.Snapshot {
	t.Helper()
	s, err := c.Thread(id).Hydrate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
