package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/recording"
	"github.com/lockstep-go/lockstep/internal/verify"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// exchange is one request to an agent and what comes of it. It goes below package
// client, which hands out events it could read: these commands are about what was
// really sent.
type exchange struct {
	method string
	url    string
	body   []byte
	token  string
	// across says that the stream goes on across runs, so a terminal event does
	// not end it.
	across bool
	// grace is how long the body may stay open after the terminal event.
	grace time.Duration
}

// Why an exchange was ended from here: the causes of its context. A caller who
// sets a time limit gives errTimeout as its cause; without one it was stopped.
var (
	errLeftOpen = errors.New("the body is still open after the terminal event")
	errTimeout  = errors.New("no end in the time that was given")
)

// maxRefusal is how much of a refusal's body is read.
const maxRefusal = 64 << 10

// lines sends the request and yields what arrives, when it arrives: the answer,
// the events, the end. An error means that there was no answer, and is the last.
func (x *exchange) lines(ctx context.Context) iter.Seq2[recording.Line, error] {
	return func(yield func(recording.Line, error) bool) {
		inner, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		start := time.Now()
		res, err := x.send(inner)
		if err != nil {
			if ctx.Err() != nil {
				yield(x.end(inner, time.Since(start), err), nil)
			} else {
				yield(recording.Line{}, err)
			}
			return
		}
		defer res.Body.Close()
		head := &recording.Response{Status: res.StatusCode, ContentType: res.Header.Get("Content-Type")}
		if res.StatusCode/100 != 2 {
			text, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // what there is of it
			head.Body = strings.ToValidUTF8(string(text), "\uFFFD")
			if yield(recording.Line{At: time.Since(start), Response: head}, nil) {
				yield(recording.Line{At: time.Since(start), End: recording.Closed}, nil)
			}
			return
		}
		if !yield(recording.Line{At: time.Since(start), Response: head}, nil) {
			return
		}

		// The timer is the only thing that can end a body that nobody closes.
		patience := time.AfterFunc(time.Hour, func() { cancel(errLeftOpen) })
		patience.Stop()
		defer patience.Stop()
		body := &crReader{r: res.Body}
		frames := agui.NewReader(body, &agui.ReaderOptions{KeepUnterminated: true})
		for {
			frame, err := frames.Next()
			at := time.Since(start)
			if err != nil {
				yield(x.end(inner, at, err), nil)
				return
			}
			l := recording.Line{At: at, Data: bytes.Clone(frame.Data), CR: body.take(), Cut: frame.Cut}
			if frame.OwnID {
				l.ID = frame.ID
			}
			if !x.across {
				switch typ := eventType(l.Data); {
				case typ.Terminal():
					patience.Reset(x.grace)
				case typ == agui.TypeRunStarted:
					patience.Stop()
				}
			}
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (x *exchange) send(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, x.method, x.url, bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	if x.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "text/event-stream")
	if x.token != "" {
		req.Header.Set("Authorization", "Bearer "+x.token)
	}
	res, err := http.DefaultClient.Do(req)
	var failed *url.Error
	if errors.As(err, &failed) {
		return nil, unreachable(x.url, failed.Err)
	}
	return res, err
}

// end says why nothing more comes.
func (x *exchange) end(ctx context.Context, at time.Duration, err error) recording.Line {
	l := recording.Line{At: at}
	switch cause := context.Cause(ctx); {
	case err == io.EOF:
		l.End = recording.Closed
	case errors.Is(cause, errLeftOpen):
		l.End = recording.Open
	case errors.Is(cause, errTimeout):
		l.End = recording.TimedOut
	case ctx.Err() != nil:
		l.End = recording.Stopped
	default:
		l.End, l.Reason = recording.Broken, err.Error()
	}
	return l
}

// crReader notes carriage returns, which the SSE reader takes for line ends and
// official clients do not.
type crReader struct {
	r    io.Reader
	seen bool
}

func (c *crReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.seen = c.seen || bytes.IndexByte(p[:n], '\r') >= 0
	return n, err
}

func (c *crReader) take() bool {
	seen := c.seen
	c.seen = false
	return seen
}

// eventType reads the type of an event that may be broken; "" where there is none.
func eventType(data []byte) agui.EventType {
	doc, err := jsondoc.Parse(data, &jsondoc.ParseOptions{KeepLast: true, ReplaceInvalid: true})
	if err != nil {
		return ""
	}
	typ, _ := doc.Get("type")
	return agui.EventType(typ.Str())
}

// checkURL accepts what an exchange can be had with.
func checkURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, usageError{fmt.Errorf("%q is no address such as http://127.0.0.1:8888/", recording.Address(raw))}
	}
	return u, nil
}

// post is the exchange of a run.
func post(address, token string, in *agui.RunAgentInput) *exchange {
	return &exchange{method: http.MethodPost, url: address, token: token, body: in.AppendJSON(nil), grace: verify.CloseTime}
}

// attach is the exchange of somebody who watches a thread of a Lockstep server.
func attach(u *url.URL, token, thread string) *exchange {
	at := *u
	base := strings.TrimSuffix(at.EscapedPath(), "/")
	at.RawPath = base + "/threads/" + url.PathEscape(thread) + "/events"
	at.Path = strings.TrimSuffix(at.Path, "/") + "/threads/" + thread + "/events"
	query := at.Query()
	query.Set("protocolVersion", agui.ProtocolVersion)
	at.RawQuery = query.Encode()
	return &exchange{method: http.MethodGet, url: at.String(), token: token, across: true}
}
