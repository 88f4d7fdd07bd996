// Package client answers: how do I reach an agent?
//
// A Client knows an AG-UI endpoint; a Thread is one conversation with it. The
// thread keeps messages and state as the protocol's own client would, applies
// every event before it hands it out, and sends the state back with the next
// run. Against a Lockstep server it names the position that its state is an
// edit of, so that nothing has to be guessed.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// Options configures a Client. Nil means the defaults.
type Options struct {
	// HTTPClient sends the requests. Nil: http.DefaultClient. A client with a
	// Timeout ends runs that take longer.
	HTTPClient *http.Client
	// Header is added to every request, for authentication.
	Header http.Header
}

// Client reaches one agent. It is immutable and safe for concurrent use.
type Client struct {
	url  string
	opts Options
}

// New returns a client for the agent at url.
func New(url string, opts *Options) *Client {
	c := &Client{url: url}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.HTTPClient == nil {
		c.opts.HTTPClient = http.DefaultClient
	}
	return c
}

// Thread returns a conversation with the agent. An empty id is a new one's:
// a random id is made. Nothing is sent.
func (c *Client) Thread(id string) *Thread {
	if id == "" {
		id = newID("thread")
	}
	t := &Thread{client: c, id: id}
	return t
}

func newID(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()) }

// Thread is a conversation: its id, messages and state. It is safe for
// concurrent use; runs of one thread take turns.
type Thread struct {
	client *Client
	id     string

	running sync.Mutex
	mu      sync.Mutex
	reduced agui.Reducer
	edited  jsondoc.Value // SetState's, until the next run; absent: none
	base    string        // position of the newest event
}

// ID is the thread's id.
func (t *Thread) ID() string { return t.id }

// State is the state as last shown, or as set since; {} before anybody has said
// what it is. To see the state of a thread that exists, Run(ctx, nil): it asks
// the server and no model.
func (t *Thread) State() jsondoc.Value {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.edited.IsAbsent() {
		return t.edited
	}
	return t.reduced.State()
}

// Decode reads the state into a Go value.
func (t *Thread) Decode(into any) error { return t.State().Decode(into) }

// SetState changes the state here. It reaches the server with the next run.
func (t *Thread) SetState(v jsondoc.Value) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.edited = v
}

// Messages are the conversation so far.
func (t *Thread) Messages() []agui.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reduced.Messages()
}

// RunOptions is what a run is started with. Nil asks nothing: a server that
// knows the thread answers with its state and messages.
type RunOptions struct {
	Text           string         // a user message, before Messages
	Messages       []agui.Message // new ones; ids are made where they lack
	Tools          []agui.Tool    // that this client answers itself
	Context        []agui.Context
	ForwardedProps jsondoc.Value // an object; member lockstep is ours
	Resume         []agui.ResumeEntry
	RunID          string // empty: a random one
}

// HTTPError is a run that was refused before it started.
type HTTPError struct {
	Status int
	Body   string // at most 64 KB of it
}

func (e *HTTPError) Error() string {
	return fmt.Sprintf("the server answered %d %s: %s", e.Status, http.StatusText(e.Status), strings.TrimSpace(e.Body))
}

// RunError is a run that the server ended with RUN_ERROR.
type RunError struct{ Event *agui.RunError }

func (e *RunError) Error() string {
	if e.Event.Code == "" {
		return e.Event.Message
	}
	return e.Event.Message + " (" + e.Event.Code + ")"
}

// Run runs the agent and yields its events, each applied to the thread's
// messages and state before it is handed out. The sequence ends after its first
// error: *HTTPError, *RunError (its event was yielded before), an error that is
// agui.ErrIncomplete for a stream that was cut, or one of transport or
// protocol. A delta that does not apply is not an error: the state stays, and
// the next snapshot mends it. Breaking out closes the connection, which stops
// the run.
func (t *Thread) Run(ctx context.Context, o *RunOptions) iter.Seq2[agui.Event, error] {
	return func(yield func(agui.Event, error) bool) {
		t.running.Lock()
		defer t.running.Unlock()
		if o == nil {
			o = &RunOptions{}
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		edited := t.edit()
		body, err := t.post(ctx, o)
		if err != nil {
			t.restore(edited) // it has not reached anybody
			yield(nil, err)
			return
		}
		defer body.Close()
		for rec, err := range agui.ReadEvents(body, &agui.EventsOptions{Sequence: new(agui.Sequence)}) {
			if err != nil {
				yield(nil, err)
				return
			}
			t.mu.Lock()
			_ = t.reduced.Apply(rec.Event) // a delta that does not apply leaves the state
			if rec.ID != "" {
				t.base = rec.ID
			}
			t.mu.Unlock()
			if !yield(rec.Event, nil) {
				return
			}
			if failed, ok := rec.Event.(*agui.RunError); ok {
				yield(nil, &RunError{Event: failed})
				return
			}
		}
	}
}

// edit is the state that SetState left for the next run.
func (t *Thread) edit() jsondoc.Value {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.edited
}

// restore puts an edit back, unless there is a newer one.
func (t *Thread) restore(v jsondoc.Value) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.edited.IsAbsent() {
		t.edited = v
	}
}

// post sends the run's input and returns the body of its answer.
func (t *Thread) post(ctx context.Context, o *RunOptions) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.client.url, bytes.NewReader(t.input(o).AppendJSON(nil)))
	if err != nil {
		return nil, err
	}
	for name, values := range t.client.opts.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	res, err := t.client.opts.HTTPClient.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 != 2 {
		defer res.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
		return nil, &HTTPError{Status: res.StatusCode, Body: string(text)}
	}
	return res.Body, nil
}

// input makes the run's RunAgentInput and adds the new messages to the thread's.
func (t *Thread) input(o *RunOptions) *agui.RunAgentInput {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := make([]agui.Message, 0, len(o.Messages)+1)
	if o.Text != "" {
		fresh = append(fresh, agui.Message{Role: agui.RoleUser, Content: agui.Text(o.Text)})
	}
	fresh = append(fresh, o.Messages...)
	for i := range fresh {
		if fresh[i].ID == "" {
			fresh[i].ID = newID("msg")
		}
	}
	in := &agui.RunAgentInput{
		ThreadID: t.id, RunID: o.RunID, ProtocolVersion: agui.ProtocolVersion,
		Messages: append(t.reduced.Messages(), fresh...),
		Tools:    o.Tools, Context: o.Context, Resume: o.Resume,
		ForwardedProps: o.ForwardedProps,
	}
	if in.RunID == "" {
		in.RunID = newID("run")
	}
	// What was said is part of the conversation, also where the server does not
	// repeat it in RUN_STARTED.
	_ = t.reduced.Apply(&agui.RunStarted{Input: &agui.RunAgentInput{Messages: fresh}})
	if in.ForwardedProps.Kind() != jsondoc.KindObject {
		in.ForwardedProps = jsondoc.Object()
	}
	state := t.reduced.State()
	if !t.edited.IsAbsent() {
		state = t.edited
	}
	if !state.IsNull() {
		in.State = state
	}
	if t.base != "" {
		in.ForwardedProps = in.ForwardedProps.With("lockstep", jsondoc.Object(
			jsondoc.Member{Name: "base", Value: jsondoc.String(t.base)},
		))
	}
	t.edited = jsondoc.Value{}
	return in
}
