// Package exampletest answers, for tests: does an example show over HTTP what it says?
//
// An example's handler is served by net/http on connections in memory, inside a
// synctest bubble. Clients post to it as the protocol's own client does: with
// the history and the state that the events have made so far. Of every stream
// the order is checked, and every event is applied; a delta that does not apply
// fails the test. All streams together are compared with the example's
// testdata/events.jsonl, which -update writes anew.
//
// The bubble is what makes the files the same each time. Which frames of a
// prediction go out depends on the time that the model takes, and pieces that
// come while an append is under way are joined. In the bubble a model's pause
// ends when everything that it said before has reached the client, and takes
// exactly as long as it is meant to.
package exampletest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/server"
)

var update = flag.Bool("update", false, "write the examples' event files anew")

// eventsFile is where an example's events are, below its own folder.
var eventsFile = filepath.Join("testdata", "events.jsonl")

// URL is where the handler is, for HTTP clients that use [Server.Transport].
const URL = "http://example.test/"

// Server is an example that is being served.
type Server struct {
	Transport *http.Transport // reaches the handler, whatever the URL's host

	t      *testing.T
	events bytes.Buffer
	ids    map[string]string
	kinds  map[string]int
}

// Play serves the handler that open makes, lets play talk to it, closes it, and
// compares the streams of all clients, in the order in which they were read,
// with testdata/events.jsonl. Everything happens in a synctest bubble: time
// passes only while all wait, and a goroutine that is left over is a failure.
func Play(t *testing.T, open func() (*server.Handler, error), play func(*testing.T, *Server)) {
	t.Helper()
	log := slog.Default()
	slog.SetDefault(slog.New(&faults{t: t}))
	defer slog.SetDefault(log)
	synctest.Test(t, func(t *testing.T) {
		handler, err := open()
		if err != nil {
			t.Fatalf("the example's handler: %v", err)
		}
		l := newListener()
		srv := &http.Server{Handler: handler}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }()
		s := &Server{
			Transport: &http.Transport{DialContext: l.dial},
			t:         t, ids: map[string]string{}, kinds: map[string]int{},
		}
		defer func() {
			s.Transport.CloseIdleConnections()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := handler.Close(ctx); err != nil {
				t.Errorf("closing the handler: %v", err)
			}
			if err := srv.Shutdown(ctx); err != nil {
				t.Errorf("closing the server: %v", err)
			}
			if err := <-served; !errors.Is(err, http.ErrServerClosed) {
				t.Errorf("the server: %v", err)
			}
		}()
		play(t, s)
		s.compare()
	})
}

func (s *Server) compare() {
	s.t.Helper()
	if s.events.Len() == 0 || s.t.Failed() {
		return
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(eventsFile), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(eventsFile, s.events.Bytes(), 0o644); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(eventsFile)
	if err != nil {
		s.t.Fatalf("%v (-update writes it)", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(s.events.String(), "\n")); diff != "" {
		s.t.Errorf("%s (-want +got, -update writes it anew):\n%s", eventsFile, diff)
	}
}

var (
	randomID = regexp.MustCompile(`\b([a-z]+)-[a-zA-Z2-7]{26}\b`)
	epoch    = regexp.MustCompile(`"position":"[^"-]+-`)
	tokens   = regexp.MustCompile(`("(?:input|output|total)Tokens":)[0-9]+`)
)

// normal numbers random ids in the order in which they are met, writes every
// epoch as E and every count of tokens as 0: it would change with each word that
// is put before the model.
func (s *Server) normal(event []byte) []byte {
	event = randomID.ReplaceAllFunc(event, func(id []byte) []byte {
		known, ok := s.ids[string(id)]
		if !ok {
			kind, _, _ := strings.Cut(string(id), "-")
			s.kinds[kind]++
			known = kind + "-" + strconv.Itoa(s.kinds[kind])
			s.ids[string(id)] = known
		}
		return []byte(known)
	})
	event = tokens.ReplaceAll(event, []byte(`${1}0`))
	return epoch.ReplaceAll(event, []byte(`"position":"E-`))
}

// Client is one front end. It belongs to one goroutine.
type Client struct {
	// Thread is the thread's id.
	Thread string
	// Base is the position that the client says its state is an edit of. Empty,
	// as in every stock client, says nothing.
	Base string
	// Position is that of the newest state event it read.
	Position string

	s        *Server
	name     string
	runs     int
	messages []agui.Message
	state    jsondoc.Value
}

// Client opens the page of one more person: it has shown nothing yet. Name is
// part of its messages' ids. All clients are on one thread.
func (s *Server) Client(name string) *Client {
	return &Client{Thread: "thread", s: s, name: name, state: jsondoc.Object()}
}

// State is the state that the client shows.
func (c *Client) State() jsondoc.Value { return c.state }

// SetState is what a page does that writes its own copy of the state: it is sent
// along with the next message.
func (c *Client) SetState(text string) { c.state = jsondoc.MustParse(text) }

// Edit changes one place of the client's copy.
func (c *Client) Edit(path jsondoc.Pointer, text string) {
	c.s.t.Helper()
	next, err := c.state.SetAt(path, jsondoc.MustParse(text))
	if err != nil {
		c.s.t.Fatal(err)
	}
	c.state = next
}

// Want fails the test unless the place of the client's state has this value.
// Numbers are compared by value.
func (c *Client) Want(path jsondoc.Pointer, text string) {
	c.s.t.Helper()
	got, _ := c.state.At(path)
	if !jsondoc.Equal(got, jsondoc.MustParse(text)) {
		c.s.t.Errorf("%s has at %q\n%s\nwant\n%s", c.name, path, got, text)
	}
}

// Say sends a message and reads the run that answers to its end.
func (c *Client) Say(text string) []agui.Event {
	c.s.t.Helper()
	res := c.post(text)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		c.s.t.Fatalf("%q is answered by %s %s", text, res.Status, body)
	}
	return c.read(res.Body)
}

// Answer answers an interrupt and reads the run that goes on to its end.
func (c *Client) Answer(interruptID, payload string) []agui.Event {
	c.s.t.Helper()
	res := c.send(agui.ResumeEntry{InterruptID: interruptID, Status: agui.ResumeResolved, Payload: jsondoc.MustParse(payload)})
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		c.s.t.Fatalf("the answer is answered by %s %s", res.Status, body)
	}
	return c.read(res.Body)
}

// Refused sends a message that must be answered by status before any run, and
// returns the answer's body.
func (c *Client) Refused(text string, status int) string {
	c.s.t.Helper()
	res := c.post(text)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		c.s.t.Fatalf("%q is answered by %s %s (%v), want %d", text, res.Status, body, err, status)
	}
	c.messages = c.messages[:len(c.messages)-1] // it was not taken
	return string(body)
}

func (c *Client) post(text string) *http.Response {
	c.s.t.Helper()
	c.messages = append(c.messages, agui.Message{
		ID: fmt.Sprintf("%s-%d", c.name, c.runs+1), Role: agui.RoleUser, Content: agui.Text(text),
	})
	return c.send()
}

func (c *Client) send(resume ...agui.ResumeEntry) *http.Response {
	c.s.t.Helper()
	c.runs++
	in := agui.RunAgentInput{
		ThreadID: c.Thread, RunID: fmt.Sprintf("run-%s-%d", c.name, c.runs), ProtocolVersion: agui.ProtocolVersion,
		State: c.state, Messages: c.messages, Tools: []agui.Tool{}, Context: []agui.Context{}, Resume: resume,
	}
	if c.Base != "" {
		in.ForwardedProps = jsondoc.MustFrom(map[string]any{"lockstep": map[string]any{"base": c.Base}})
	}
	hc := &http.Client{Transport: c.s.Transport}
	res, err := hc.Post(URL, "application/json", bytes.NewReader(in.AppendJSON(nil)))
	if err != nil {
		c.s.t.Fatal(err)
	}
	return res
}

func (c *Client) read(body io.Reader) []agui.Event {
	c.s.t.Helper()
	reduced := agui.NewReducer(c.messages, c.state)
	var events []agui.Event
	for rec, err := range take(body, reduced) {
		if err != nil {
			c.s.t.Fatalf("event %d: %v", len(events)+1, err)
		}
		c.s.events.Write(c.s.normal(rec.Data))
		c.s.events.WriteByte('\n')
		if p, ok := rec.Event.Common().Metadata.At("/lockstep/position"); ok {
			c.Position = p.Str()
		}
		events = append(events, rec.Event)
	}
	c.messages, c.state = reduced.Messages(), reduced.State()
	return events
}

// take reads a run's stream as the official client does, and is stricter: an
// event out of order, a delta that does not apply or that comes before any
// snapshot of the run (W2), and a stream without a terminal event are errors.
func take(body io.Reader, reduced *agui.Reducer) iter.Seq2[agui.Received, error] {
	return func(yield func(agui.Received, error) bool) {
		var order agui.Sequence
		snapshot := false
		for rec, err := range agui.ReadEvents(body, &agui.EventsOptions{Sequence: &order}) {
			if err == nil {
				err = reduced.Apply(rec.Event)
			}
			switch rec.Event.(type) {
			case *agui.StateSnapshot:
				snapshot = true
			case *agui.StateDelta:
				if err == nil && !snapshot {
					err = errors.New("W2: a delta before any snapshot of the run")
				}
			}
			if err != nil {
				yield(agui.Received{}, fmt.Errorf("%w (%s)", err, rec.Data))
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// Text is what the assistant said in a run.
func Text(events []agui.Event) string {
	var b strings.Builder
	for _, e := range events {
		if e, ok := e.(*agui.TextMessageContent); ok {
			b.WriteString(e.Delta)
		}
	}
	return b.String()
}

// Results are the texts of a run's tool results, as clients get them.
func Results(events []agui.Event) []string {
	var texts []string
	for _, e := range events {
		if e, ok := e.(*agui.ToolCallResult); ok {
			texts = append(texts, e.Content.Text())
		}
	}
	return texts
}

// Kinds are a run's events by type, in order, each run of one type named once.
func Kinds(events []agui.Event) string {
	var kinds []string
	for _, e := range events {
		if k := string(e.EventType()); len(kinds) == 0 || kinds[len(kinds)-1] != k {
			kinds = append(kinds, k)
		}
	}
	return strings.Join(kinds, " ")
}

// Count is how many events of a run are of one type.
func Count(events []agui.Event, kind agui.EventType) int {
	n := 0
	for _, e := range events {
		if e.EventType() == kind {
			n++
		}
	}
	return n
}

// Until returns the events before the first of a type, all if there is none.
func Until(events []agui.Event, kind agui.EventType) []agui.Event {
	for i, e := range events {
		if e.EventType() == kind {
			return events[:i]
		}
	}
	return events
}

// States are the states that a client showed during a run, one for each state
// event, from the state it began with.
func States(t *testing.T, events []agui.Event) []jsondoc.Value {
	t.Helper()
	var states []jsondoc.Value
	var reduced agui.Reducer
	for _, e := range events {
		if err := reduced.Apply(e); err != nil {
			t.Fatal(err)
		}
		switch e.(type) {
		case *agui.StateSnapshot, *agui.StateDelta:
			states = append(states, reduced.State())
		}
	}
	return states
}

// faults is a log in which nothing may be an error. Above all, the library says
// there when a delta had to be replaced by a snapshot, which no stream shows.
type faults struct{ t *testing.T }

func (*faults) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }
func (h *faults) WithAttrs([]slog.Attr) slog.Handler         { return h }
func (h *faults) WithGroup(string) slog.Handler              { return h }

func (h *faults) Handle(_ context.Context, r slog.Record) error {
	h.t.Errorf("logged: %s", r.Message)
	r.Attrs(func(a slog.Attr) bool {
		h.t.Logf("  %s", a)
		return true
	})
	return nil
}

// listener accepts connections that are made in memory: a goroutine that waits
// on a socket would stop a bubble's clock for good.
type listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newListener() *listener { return &listener{conns: make(chan net.Conn), done: make(chan struct{})} }

func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *listener) Addr() net.Addr { return memory{} }

type memory struct{}

func (memory) Network() string { return "memory" }
func (memory) String() string  { return "memory" }
