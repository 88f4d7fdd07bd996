package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/agui"
)

// Options configures a Client. Nil means the defaults.
type Options struct {
	// HTTPClient sends the requests. Nil: http.DefaultClient. A client with a
	// Timeout ends runs that take longer.
	HTTPClient *http.Client
	// Header is added to every request.
	Header http.Header
	// Token is sent as Authorization: Bearer, unless Header has an
	// Authorization of its own. Empty: none.
	Token string
	// Reconnect says how connections that break are taken up again.
	Reconnect Reconnect
	// Idle is how long a Lockstep server's stream may be silent before it
	// counts as broken. Such a server sends a comment every 15 s at least. Zero
	// means 45 s, less than zero never. Other servers may be silent for ever.
	Idle time.Duration
	// MaxEvent bounds the bytes of one event; a stream that exceeds it is given
	// up. Zero means 16 MB. Official clients take 10.
	MaxEvent int
}

// Reconnect is a policy. The zero value is the default.
type Reconnect struct {
	// Min and Max bound the wait between two tries. It is random, between half
	// and all of a time that doubles with each try that brings nothing. Zero
	// means 100 ms and 10 s. A server's Retry-After is waited for.
	Min, Max time.Duration
	// Tries is how many tries in a row may bring nothing before a run is given
	// up. Zero means 8, less than zero any number. Follow tries until its
	// context ends.
	Tries int
	// OnBreak is called before each wait, with what broke the connection and
	// how long the wait is: to log it, or to show that the thread is offline.
	// Several readers may call it at a time. Nil: nobody is told.
	OnBreak func(err error, wait time.Duration)
}

const (
	defaultMin   = 100 * time.Millisecond
	defaultMax   = 10 * time.Second
	defaultTries = 8
	defaultIdle  = 45 * time.Second

	maxAnswer  = 64 << 20 // bytes of a document
	maxRefusal = 64 << 10 // bytes of a refusal that are shown
)

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
	o := &c.opts
	if o.HTTPClient == nil {
		o.HTTPClient = http.DefaultClient
	}
	if o.Reconnect.Min <= 0 {
		o.Reconnect.Min = defaultMin
	}
	if o.Reconnect.Max <= 0 {
		o.Reconnect.Max = defaultMax
	}
	if o.Reconnect.Tries == 0 {
		o.Reconnect.Tries = defaultTries
	}
	if o.Idle == 0 {
		o.Idle = defaultIdle
	}
	header := maps.Clone(o.Header)
	if o.Token != "" && header.Get("Authorization") == "" {
		if header == nil {
			header = http.Header{}
		}
		header.Set("Authorization", "Bearer "+o.Token)
	}
	o.Header = header
	return c
}

// Capabilities asks what the agent can do. The protocol names no route for it;
// servers that have one mostly have this one.
func (c *Client) Capabilities(ctx context.Context) (*agui.Capabilities, error) {
	body, err := c.fetch(ctx, request{method: http.MethodGet, path: []string{"capabilities"}})
	if err != nil {
		return nil, err
	}
	return agui.DecodeCapabilities(body, nil)
}

func newID(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()) }

// request is one request below the agent's path.
type request struct {
	method string
	path   []string // segments below the agent's path; none: the path itself
	query  url.Values
	header map[string]string
	body   []byte
}

// address is where a request goes. The agent's own query stays.
func (c *Client) address(r request) (string, error) {
	u, err := url.Parse(c.url)
	if err != nil {
		return "", fmt.Errorf("client: the agent's address: %w", err)
	}
	if len(r.path) == 0 {
		return u.String(), nil
	}
	whole, raw := strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.EscapedPath(), "/")
	for _, segment := range r.path {
		whole += "/" + segment
		raw += "/" + url.PathEscape(segment)
	}
	u.Path, u.RawPath = whole, raw
	if len(r.query) > 0 {
		q := u.Query()
		maps.Copy(q, r.query)
		u.RawQuery = q.Encode()
	}
	return u.String(), nil
}

// reading is how streams are read.
func (c *Client) reading(bare bool) *agui.EventsOptions {
	return &agui.EventsOptions{Bare: bare, Reader: agui.ReaderOptions{MaxLine: c.opts.MaxEvent, MaxFrame: c.opts.MaxEvent}}
}

// do sends a request and returns its answer, whose body the caller closes. An
// answer that is no success is an [*HTTPError].
func (c *Client) do(ctx context.Context, r request) (*http.Response, error) {
	address, err := c.address(r)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	if r.body == nil {
		req.Body, req.GetBody = http.NoBody, nil
	}
	maps.Copy(req.Header, c.opts.Header.Clone())
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	res, err := c.opts.HTTPClient.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 != 2 {
		defer res.Body.Close()
		bound := int64(maxRefusal)
		if res.StatusCode == http.StatusConflict {
			bound = maxAnswer // it shows the state
		}
		text, _ := io.ReadAll(io.LimitReader(res.Body, bound)) // what came is better than nothing
		return nil, newHTTPError(res, text)
	}
	return res, nil
}

// fetch sends a request and returns the body of its answer.
func (c *Client) fetch(ctx context.Context, r request) ([]byte, error) {
	res, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("client: the answer is larger than %d bytes", maxAnswer)
	}
	return body, nil
}

// stream sends a request that is answered by events. idle starts the watch over
// the stream's silence; before that there is none.
func (c *Client) stream(ctx context.Context, r request) (*watched, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	res, err := c.do(ctx, r)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if media = strings.TrimSpace(media); !strings.EqualFold(media, "text/event-stream") {
		res.Body.Close()
		cancel(nil)
		return nil, &NotEventsError{ContentType: media}
	}
	return &watched{body: res.Body, cancel: cancel}, nil
}

// errIdle is why a silent stream is given up.
var errIdle = errors.New("client: the stream has been silent for too long")

// watched is a stream's body. Once watch is called, a read that takes too long
// ends the stream. Only reads are timed: a program that takes its time between
// two events must not lose its connection.
type watched struct {
	body   io.ReadCloser
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer
}

func (w *watched) watch(idle time.Duration) {
	if idle > 0 {
		w.idle = idle
	}
}

func (w *watched) Read(p []byte) (int, error) {
	if w.idle > 0 {
		if w.timer == nil {
			w.timer = time.AfterFunc(w.idle, func() { w.cancel(errIdle) })
		} else {
			w.timer.Reset(w.idle)
		}
		defer w.timer.Stop()
	}
	return w.body.Read(p)
}

// Close ends the request.
func (w *watched) Close() error {
	w.cancel(nil)
	return w.body.Close()
}
