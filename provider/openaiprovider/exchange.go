package openaiprovider

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/provider/openaiprovider/internal/answer"
)

// finishGrace is how long an answer that has given its finish reason may be silent
// before it is taken as complete. What can still come is the usage and [DONE]; there
// are servers that send neither and keep the connection open.
const finishGrace = 10 * time.Second

// maxErrorBody is how much of an error answer is read, in bytes.
const maxErrorBody = 64 << 10

// exchange is one request and its answer.
//
// Nothing of it is ever asked for twice once the answer has begun: the SDK repeats a
// request only as long as there is no answer with a good status, and what is read after
// that is passed on as it comes.
type exchange struct {
	client  openai.Client
	limits  limits
	options []option.RequestOption
	// again is asked about a request that was refused: it may give another body to try
	// with.
	again func(*Failure) (body any, ok bool)

	decode    answer.Decoder
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
	idle, total time.Duration
	answer      answer.Limits
}

// run posts body to path and yields what the answer adds, as it arrives.
func (x *exchange) run(parent context.Context, path string, body any, decode answer.Decoder) iter.Seq2[*agent.ResponseUpdate, error] {
	return func(yield func(*agent.ResponseUpdate, error) bool) {
		x.decode = decode
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
		for update, err := range answer.Read(res.Body, x.limits.answer, decode) {
			if err != nil {
				fail(err)
				return
			}
			if !yield(update, nil) {
				return
			}
		}
		x.drain(res.Body)
	}
}

// drain reads what is left behind an answer's end, usually nothing but the body's own
// end mark. A connection can only be used again after that, and a new one costs a
// handshake per model call. Whoever keeps it open gets no more than a moment.
func (x *exchange) drain(body io.Reader) {
	x.silence = 50 * time.Millisecond
	_, _ = io.CopyN(io.Discard, body, 4<<10)
}

// post sends the request, with the client's retries, and returns the answer if its
// status is good.
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
	// The SDK reads the whole body of an error, however long it is, and fails on one
	// that is no JSON.
	x.errorBody, _ = io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader([]byte(`{"error":{}}`)))
	return res, nil
}

// watchedBody lets the idle timer run while a read waits for the server, and only then:
// a reader that takes its time is no fault of the server's.
type watchedBody struct {
	io.ReadCloser
	x *exchange
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if b.x.decode.Complete() {
		b.x.silence = min(b.x.silence, finishGrace)
	}
	b.x.idle.Reset(b.x.silence)
	defer b.x.idle.Stop()
	return b.ReadCloser.Read(p)
}
