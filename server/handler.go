package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/agui/aguipb"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
)

// Options configures New. Nil means: no state of its own, threads in memory.
type Options struct {
	// State says when what the agent does becomes state.
	State state.Config

	// Name is the agent's name in thread keys; handlers with one name share
	// threads. Empty: the agent's own name, else "agent".
	Name string

	// Description is for lists of agents. Empty: the agent's own.
	Description string

	// Authenticate says who makes a request: whose threads it sees and makes.
	// An error is answered with 401. It is asked once for each request of every
	// route. Nil: everybody is one and the same principal, so whoever reaches
	// the server sees all threads.
	Authenticate func(*http.Request) (principal string, err error)

	// Threads keeps the conversations, shared by handlers of one process. Nil:
	// in memory, the handler's own, ended by Handler.Close.
	Threads *thread.Threads

	// MaxBody bounds a request's body in bytes. Zero means 8 MB.
	MaxBody int64

	// KeepAlive is how long a stream may be silent before it gets a comment.
	// Zero means 15 s, which is also the most.
	KeepAlive time.Duration

	// Linger is how long a run that was posted with
	// forwardedProps.lockstep.attach goes on while nobody watches its thread.
	// Zero means 10 s; Forever, without an end; a negative time, not at all.
	Linger time.Duration

	// Logger takes what must not go on the wire. Nil: slog.Default().
	Logger *slog.Logger
}

// Forever is Options.Linger without an end.
const Forever = time.Duration(math.MaxInt64)

const (
	bodyTime         = 30 * time.Second
	maxThreadID      = 64 << 10
	defaultLinger    = 10 * time.Second
	defaultMaxBody   = 8 << 20
	defaultKeepAlive = 15 * time.Second
)

// Handler serves one agent. It is safe for concurrent use.
type Handler struct {
	agent   *agent.Agent
	model   *state.Model
	opts    Options
	threads *thread.Threads
	own     bool
	mux     *http.ServeMux
}

// New makes the handler for an agent. The error names what is wrong with the
// configuration.
func New(a *agent.Agent, opts *Options) (*Handler, error) {
	if a == nil {
		return nil, errors.New("server: New needs an agent")
	}
	h := &Handler{agent: a}
	if opts != nil {
		h.opts = *opts
	}
	o := &h.opts
	model, err := state.NewModel(o.State)
	if err != nil {
		return nil, err
	}
	h.model = model
	o.Name = cmp.Or(o.Name, a.Name(), "agent")
	o.Description = cmp.Or(o.Description, a.Description())
	if o.MaxBody <= 0 {
		o.MaxBody = defaultMaxBody
	}
	switch {
	case o.KeepAlive < 0 || o.KeepAlive > defaultKeepAlive:
		return nil, fmt.Errorf("server: Options.KeepAlive is %v; an idle stream needs a comment every %v at least", o.KeepAlive, defaultKeepAlive)
	case o.KeepAlive == 0:
		o.KeepAlive = defaultKeepAlive
	}
	switch {
	case o.Linger == 0:
		o.Linger = defaultLinger
	case o.Linger == Forever:
		o.Linger = -1
	case o.Linger < 0:
		o.Linger = 0
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	h.threads = o.Threads
	if h.threads == nil {
		h.own = true
		h.threads = thread.New(memory.New(), &thread.Options{Logger: o.Logger})
	}
	h.mux = http.NewServeMux()
	h.mux.HandleFunc("POST /{$}", h.post)
	h.mux.HandleFunc("GET /capabilities", h.capabilities)
	h.mux.HandleFunc("GET /threads", h.list)
	h.mux.HandleFunc("GET /threads/{id}", h.hydrate)
	h.mux.HandleFunc("DELETE /threads/{id}", h.forget)
	h.mux.HandleFunc("GET /threads/{id}/events", h.events)
	h.mux.HandleFunc("PATCH /threads/{id}/state", h.edit)
	h.mux.HandleFunc("POST /threads/{id}/undo", h.undo)
	h.mux.HandleFunc("DELETE /threads/{id}/run", h.stop)
	h.mux.HandleFunc("/", h.notFound)
	return h, nil
}

// Close ends the handler's own threads: running runs get their terminal event.
// Call it when the process shuts down, before the HTTP server's Shutdown, which
// waits for the runs' streams to end. Threads that were given in Options are
// their owner's to close.
func (h *Handler) Close(ctx context.Context) error {
	if !h.own {
		return nil
	}
	return h.threads.Close(ctx)
}

// ServeHTTP serves the routes below the handler's own root. Mount it at a path
// with http.StripPrefix, or use a Host.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.opts.Authenticate != nil {
		principal, err := h.opts.Authenticate(r)
		if err != nil {
			h.opts.Logger.Info("a request was not authenticated", "error", err)
			fail(w, http.StatusUnauthorized, problem{Message: "this request is not authenticated"})
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), principalKey{}, principal))
	}
	if r.URL.Path == "" {
		// What StripPrefix leaves of the path itself. The mux would redirect,
		// and a redirected POST loses its body in many clients.
		r2 := new(http.Request)
		*r2 = *r
		u := *r.URL
		u.Path, u.RawPath = "/", ""
		r2.URL = &u
		r = r2
	}
	h.mux.ServeHTTP(w, r)
}

type principalKey struct{}

// key names a thread of the request's principal.
func (h *Handler) key(r *http.Request, id string) thread.Key {
	principal, _ := r.Context().Value(principalKey{}).(string)
	return thread.Key{Agent: h.opts.Name, Principal: principal, ID: id}
}

func (h *Handler) notFound(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" {
		w.Header().Set("Allow", "POST")
		fail(w, http.StatusMethodNotAllowed, problem{Message: "an agent takes POST with an AG-UI RunAgentInput"})
		return
	}
	fail(w, http.StatusNotFound, problem{Path: r.URL.Path, Message: "there is nothing at this path"})
}

// post runs the agent: RunAgentInput in, events out.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	input, resume, ok := h.readInput(w, r)
	if !ok {
		return
	}
	ctx := r.Context()
	t, err := h.threads.Open(ctx, h.key(r, input.ThreadID), h.model)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	defer t.Close()
	run, err := t.Run(ctx, thread.Request{
		Input: input, Resume: resume, Agent: h.run, Tools: h.agent.Tools(),
		Attach: forwarded(input, "attach"), Linger: h.opts.Linger, Supersede: forwarded(input, "supersede"),
	})
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	defer run.Leave()

	version := agui.VersionFor(input.ProtocolVersion)
	options := &agui.WriterOptions{KeepAlive: h.opts.KeepAlive, Version: version}
	binary := aguipb.Accepts(r.Header.Get("Accept"))
	if binary {
		options.Format = aguipb.Format()
	}
	out := h.stream(w, r, options)
	if out == nil {
		return
	}
	defer out.Close()
	for p, err := range run.Events(ctx) {
		if err != nil {
			// The client has gone, or there is nobody to end the run: the
			// stream says so by itself.
			if ctx.Err() == nil {
				farewell(out, err)
			}
			return
		}
		if binary && p.Event != nil {
			err = out.WriteEvent("", p.Event) // a protobuf frame has no id
		} else if frame := p.Frame(version); len(frame) > 0 {
			err = out.WriteFrame(frame)
		}
		if err != nil {
			return
		}
	}
}

// farewell ends a run for a viewer that the log cannot tell.
func farewell(out *agui.Writer, err error) {
	events := []agui.Event{agui.RunErrorFor(err)}
	if lost := (*thread.LostError)(nil); errors.As(err, &lost) {
		events = lost.Events
	}
	for _, e := range events {
		if out.WriteEvent("", e) != nil {
			return // it has gone
		}
	}
}

// stream begins a stream of events, or answers the request and returns nil.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, o *agui.WriterOptions) *agui.Writer {
	out, err := agui.NewWriter(w, o)
	if err == nil {
		return out
	}
	if r.Context().Err() == nil { // else the client has gone already
		h.opts.Logger.Error("the response cannot be streamed", "error", err)
		fail(w, http.StatusInternalServerError, problem{Message: "this server cannot stream: a middleware hides the connection's Flush"})
	}
	return nil
}

// forwarded reads a switch of forwardedProps.lockstep.
func forwarded(in *agui.RunAgentInput, name string) bool {
	v, _ := in.ForwardedProps.At(jsondoc.Path("lockstep", name))
	return v.Bool()
}

// run adapts the agent's method to the function type that package thread takes.
func (h *Handler) run(ctx context.Context, messages []*message, opts ...agent.Option) updates {
	return updates(h.agent.Run(ctx, messages, opts...))
}

// readBody reads a request's body. Where it cannot it answers the request
// itself.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		fail(w, http.StatusUnsupportedMediaType, problem{Path: "Content-Encoding", Message: "send the body as it is, not encoded"})
		return nil, false
	}
	// A body that does not come must not hold the server up, nor its shutdown.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // not every writer can; then the server's own timeouts hold
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.opts.MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		fail(w, http.StatusRequestEntityTooLarge, problem{Message: fmt.Sprintf("the body is larger than %d bytes; a thread that the server knows needs only the new messages", tooLarge.Limit)})
		return nil, false
	case err != nil:
		fail(w, http.StatusBadRequest, problem{Message: "the body could not be read"})
		return nil, false
	}
	if !utf8.Valid(body) {
		// Not replaced by U+FFFD, as a viewer's stream would be: two thread ids
		// must not become one.
		fail(w, http.StatusBadRequest, problem{Message: "the body is not UTF-8"})
		return nil, false
	}
	return body, true
}

// readInput reads the request's body. Where it is no RunAgentInput it answers
// the request itself.
func (h *Handler) readInput(w http.ResponseWriter, r *http.Request) (input *agui.RunAgentInput, resume jsondoc.Value, ok bool) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := params["charset"]; err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		fail(w, http.StatusUnsupportedMediaType, problem{Path: "Content-Type", Message: "send application/json in UTF-8"})
		return nil, resume, false
	}
	body, ok := h.readBody(w, r)
	if !ok {
		return nil, resume, false
	}
	input, err = agui.DecodeInput(body, nil)
	if rest, raw, found := withoutResume(body, input, err); found {
		body, resume = rest, raw
		input, err = agui.DecodeInput(body, nil)
	}
	if err != nil {
		if named, ok := nameMessages(body, err); ok {
			input, err = agui.DecodeInput(named, nil)
		}
	}
	if err != nil {
		fail(w, http.StatusBadRequest, inputProblem(err))
		return nil, resume, false
	}
	if input.ThreadID == "" || len(input.ThreadID) > maxThreadID {
		fail(w, http.StatusBadRequest, problem{Path: "/threadId", Message: "a thread id is a non-empty string of at most 64 KB"})
		return nil, resume, false
	}
	if loneSurrogate.Match(body) {
		// Half a character, as a front end makes it that cuts a text inside an
		// emoji. As U+FFFD two names could become one; so it is told instead.
		var bad *jsondoc.SyntaxError
		if _, err := jsondoc.Parse(body, &jsondoc.ParseOptions{KeepLast: true}); errors.As(err, &bad) {
			fail(w, http.StatusBadRequest, problem{Path: string(bad.Path), Message: bad.Reason, Offset: int(bad.Offset)})
			return nil, resume, false
		}
	}
	switch input.State.Kind() {
	case jsondoc.KindAbsent, jsondoc.KindNull, jsondoc.KindObject:
	default:
		fail(w, http.StatusUnprocessableEntity, problem{Path: "/state", Message: "the state is an object, or null for none"})
		return nil, resume, false
	}
	return input, resume, true
}

// withoutResume takes the member resume out of a body that cannot be decoded
// because of it, or of which the protocol's list does not have all: how an answer
// may be written is more than that list, and one that is written wrongly is a
// refused resume, not a bad request.
func withoutResume(body []byte, in *agui.RunAgentInput, why error) (rest []byte, resume jsondoc.Value, found bool) {
	if why == nil {
		// An entry without its payload may have it under an older name.
		if !slices.ContainsFunc(in.Resume, func(e agui.ResumeEntry) bool {
			return e.Status == agui.ResumeResolved && (e.Payload.IsAbsent() || e.Payload.IsNull())
		}) {
			return nil, resume, false
		}
	} else if d := (*agui.DecodeError)(nil); !errors.As(why, &d) || !strings.HasPrefix(string(d.Path), "/resume") {
		return nil, resume, false
	}
	doc, err := jsondoc.Parse(body, &jsondoc.ParseOptions{KeepLast: true})
	if err != nil {
		return nil, resume, false
	}
	resume, found = doc.Get("resume")
	return doc.Without("resume").AppendJSON(nil), resume, found
}

// loneSurrogate finds bodies that may hold one, so that others are not read
// twice.
var loneSurrogate = regexp.MustCompile(`\\u[dD][89a-fA-F]`)

// nameMessages gives messages the ids that the protocol requires and some older
// clients do not send. An id is made of place and content, so that a client that
// repeats its history next time repeats the ids too.
func nameMessages(body []byte, why error) ([]byte, bool) {
	var d *agui.DecodeError
	if !errors.As(why, &d) || !strings.HasPrefix(d.Path, "/messages/") || !strings.HasSuffix(d.Path, "/id") {
		return nil, false
	}
	doc, err := jsondoc.Parse(body, nil)
	if err != nil {
		return nil, false
	}
	list, _ := doc.Get("messages")
	items := make([]jsondoc.Value, 0, list.Len())
	for i, m := range list.Items() {
		if id, _ := m.Get("id"); m.Kind() == jsondoc.KindObject && id.Str() == "" {
			h := sha256.Sum256(m.Without("id").Canonical())
			m = m.With("id", jsondoc.String(fmt.Sprintf("unnamed-%d-%x", i, h[:8])))
		}
		items = append(items, m)
	}
	return doc.With("messages", jsondoc.Array(items...)).AppendJSON(nil), true
}

func inputProblem(err error) problem {
	var d *agui.DecodeError
	if errors.As(err, &d) {
		return problem{Path: string(d.Path), Message: d.Reason, Offset: d.Offset}
	}
	return problem{Message: "the body is not a RunAgentInput"}
}

// refuse answers a run that did not start.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var busy *thread.BusyError
	var schema *state.SchemaError
	switch {
	case r.Context().Err() != nil:
		// Nobody is there to be told.
	case errors.As(err, &busy):
		failWith(w, http.StatusConflict, answer{
			Errors: []problem{{Message: "another run is active on this thread"}},
			RunID:  busy.RunID,
		})
	case errors.As(err, &schema):
		a := answer{}
		for _, v := range schema.Violations {
			a.Errors = append(a.Errors, problem{Path: string(v.Path), Message: v.Reason})
		}
		failWith(w, http.StatusUnprocessableEntity, a)
	case errors.Is(err, thread.ErrClosed):
		fail(w, http.StatusServiceUnavailable, problem{Message: "the server is shutting down"})
	default:
		h.opts.Logger.Error("a run could not be started", "error", err)
		status := http.StatusInternalServerError
		e := agui.RunErrorFor(err)
		if e.Code == agui.CodeStoreUnavailable {
			status = http.StatusServiceUnavailable
		}
		fail(w, status, problem{Message: e.Message})
	}
}
