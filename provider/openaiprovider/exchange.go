package openaiprovider

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
)

// finishGrace is how long an answer that has given its finish reason may be silent before it is taken as complete. What can
// still come is the usage and [DONE]; there are servers that send neither and keep the connection open.
const finishGrace = 10 * time.Second

// maxErrorBody is how much of an error answer is read, in bytes.
const maxErrorBody = 64 << 10

// decoder turns the events of one answer into updates.
type decoder interface {
	// event takes one event and returns what it adds, or nil.
	event(name string, data []byte) (*agent.ResponseUpdate, error)
	// complete reports whether the answer has said that it is over, ended whether nothing more can come.
	complete() bool
	ended() bool
	// close returns the last update. It is called once, after an answer that was complete.
	close() (*agent.ResponseUpdate, error)
}

// exchange is one request and its answer.
//
// Nothing of it is ever asked for twice once the answer has begun: the SDK repeats a request only as long as there is no
// answer with a good status, and what is read after that is passed on as it comes.
type exchange struct {
	client  openai.Client
	limits  limits
	options []option.RequestOption
	// again is asked about a request that was refused: it may give another body to try with.
	again func(*Failure) (body any, ok bool)

	cancel    context.CancelCauseFunc
	idle      *time.Timer
	silence   time.Duration // what idle is set to
	endpoint  string
	status    int
	requestID string
	errorBody []byte
	secrets   []string
}

type limits struct {
	idle, total          time.Duration
	eventBytes, allBytes int
}

// run posts body to path and yields what the answer adds, as it arrives.
func (x *exchange) run(parent context.Context, path string, body any, decode decoder) iter.Seq2[*agent.ResponseUpdate, error] {
	return func(yield func(*agent.ResponseUpdate, error) bool) {
		ctx, stop := context.WithTimeoutCause(parent, x.limits.total, ErrTimeout)
		defer stop()
		ctx, x.cancel = context.WithCancelCause(ctx)
		defer x.cancel(nil)
		x.silence = x.limits.idle
		x.idle = time.AfterFunc(x.silence, func() { x.cancel(ErrIdle) })
		x.idle.Stop() // it runs while we wait for the server, see attempt and watchedBody
		defer x.idle.Stop()

		fail := func(err error) {
			if parent.Err() != nil {
				yield(nil, context.Cause(parent)) // who stopped the run wants its own error back
				return
			}
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			yield(nil, modelError(x.failure(err)))
		}
		res, err := x.post(ctx, path, body)
		if err != nil && x.again != nil && ctx.Err() == nil {
			if other, ok := x.again(x.failure(err)); ok {
				res, err = x.post(ctx, path, other)
			}
		}
		if err != nil {
			fail(err)
			return
		}
		defer res.Body.Close()
		for update, err := range x.read(res.Body, decode) {
			if err != nil {
				fail(err)
				return
			}
			if !yield(update, nil) {
				return
			}
		}
		update, err := decode.close()
		if err != nil {
			fail(err)
			return
		}
		if yield(update, nil) {
			x.drain(res.Body)
		}
	}
}

// drain reads what is left behind an answer's end, usually nothing but the body's own end mark. A connection can only be used again
// after that, and a new one costs a handshake per model call. Whoever keeps it open gets no more than a moment.
func (x *exchange) drain(body io.Reader) {
	x.silence = 20 * time.Millisecond
	_, _ = io.CopyN(io.Discard, body, 4<<10)
}

// post sends the request, with the client's retries, and returns the answer if its status is good.
func (x *exchange) post(ctx context.Context, path string, body any) (*http.Response, error) {
	var res *http.Response
	options := append([]option.RequestOption{option.WithMiddleware(x.attempt)}, x.options...)
	if err := x.client.Post(ctx, path, body, &res, options...); err != nil {
		return nil, err
	}
	if res == nil { // a middleware of the caller's swallowed it
		return nil, errors.New("no answer")
	}
	return res, nil
}

// attempt is the middleware that watches each attempt of the SDK.
func (x *exchange) attempt(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	x.endpoint = req.URL.Host + req.URL.Path
	x.status, x.requestID, x.errorBody = 0, "", nil
	x.remember(req)
	x.idle.Reset(x.silence)
	res, err := next(req)
	x.idle.Stop()
	if err != nil || res == nil {
		return res, err
	}
	x.remember(res.Request) // credentials that were added after this middleware
	x.status = res.StatusCode
	for _, name := range []string{"X-Request-Id", "Apim-Request-Id", "X-Ms-Request-Id"} {
		if id := res.Header.Get(name); id != "" {
			x.requestID = id
			break
		}
	}
	res.Body = &watchedBody{ReadCloser: res.Body, x: x}
	if res.StatusCode < http.StatusBadRequest {
		return res, nil
	}
	// The SDK reads the whole body of an error, however long it is, and fails on one that is no JSON.
	x.errorBody, _ = io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader([]byte(`{"error":{}}`)))
	return res, nil
}

// watchedBody lets the idle timer run while a read waits for the server, and only then: a reader that takes its time is no fault
// of the server's.
type watchedBody struct {
	io.ReadCloser
	x *exchange
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.x.idle.Reset(b.x.silence)
	defer b.x.idle.Stop()
	return b.ReadCloser.Read(p)
}

// read yields the updates of a body. The sequence ends without an error if the answer was complete.
func (x *exchange) read(body io.Reader, decode decoder) iter.Seq2[*agent.ResponseUpdate, error] {
	return func(yield func(*agent.ResponseUpdate, error) bool) {
		r := bufio.NewReader(&cappedReader{body, x.limits.allBytes})
		next := x.frames(r)
		if wholeJSON(r) {
			next = x.oneObject(r)
		}
		for !decode.ended() {
			name, data, err := next()
			if err != nil {
				if decode.complete() && !errors.Is(err, errTooLong) {
					return // it said so itself: the connection's end adds nothing
				}
				if errors.Is(err, io.EOF) {
					err = ErrBrokenOff
				}
				yield(nil, err)
				return
			}
			if len(data) == 0 {
				continue
			}
			update, err := decode.event(name, data)
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) && decode.complete() {
				return // cut off behind the end
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if decode.complete() {
				x.silence = min(x.silence, finishGrace)
			}
			if update != nil && !yield(update, nil) {
				return
			}
		}
	}
}

// frames reads a body as server-sent events. A last event whose empty line is missing counts, against the grammar: there are
// gateways that leave it out, the last event is the one that matters most, and JSON tells by itself whether it is whole.
//
// The SDK's decoder is not used. It cannot tell [DONE] from a dead connection, takes "error":null for an error, and puts
// no bound on an event of many lines.
func (x *exchange) frames(r io.Reader) func() (name string, data []byte, err error) {
	frames := agui.NewReader(r, &agui.ReaderOptions{
		MaxLine: x.limits.eventBytes, MaxFrame: x.limits.eventBytes, KeepUnterminated: true,
	})
	return func() (string, []byte, error) {
		frame, err := frames.Next()
		var limit *agui.LimitError
		if errors.As(err, &limit) {
			err = fmt.Errorf("%w: %w", errTooLong, err)
		}
		return frame.Event, bytes.TrimSpace(frame.Data), err
	}
}

// errTooLong says that an answer is over a limit of ours.
var errTooLong = errors.New("the answer is too long")

// cappedReader fails when more was read than is allowed.
type cappedReader struct {
	r    io.Reader
	left int
}

func (c *cappedReader) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTooLong
	}
	n, err := c.r.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// wholeJSON reports whether the body is one JSON object and not a stream: what was asked for, or what a server without
// streaming answers. Its Content-Type is not asked, because it is wrong as often as the rest.
func wholeJSON(r *bufio.Reader) bool {
	for n := 1; n <= r.Size(); n++ {
		head, err := r.Peek(n)
		if err != nil {
			return false
		}
		switch head[n-1] {
		case ' ', '\t', '\r', '\n':
		default:
			return head[n-1] == '{'
		}
	}
	return false
}

// oneObject is a reader of events for a body that is one JSON object: an event with all of it, then the end mark.
func (x *exchange) oneObject(r io.Reader) func() (name string, data []byte, err error) {
	calls := 0
	return func() (string, []byte, error) {
		if calls++; calls > 1 {
			return "", doneMark, nil
		}
		data, err := io.ReadAll(io.LimitReader(r, int64(x.limits.eventBytes)+1))
		if err != nil {
			return "", nil, err
		}
		if len(data) > x.limits.eventBytes {
			return "", nil, fmt.Errorf("one object is over %d bytes: %w", x.limits.eventBytes, errTooLong)
		}
		return "", bytes.TrimSpace(data), nil
	}
}
