package client

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/lockstep-go/lockstep/agui"
)

// post sends a run's input and returns the body of its answer.
func (c *Client) post(ctx context.Context, in *agui.RunAgentInput) (*watched, error) {
	return c.stream(ctx, request{
		method: http.MethodPost,
		header: map[string]string{"Content-Type": "application/json", "Accept": "text/event-stream"},
		body:   in.AppendJSON(nil),
	})
}

// following says how a thread's events are read.
type following struct {
	// live goes on for ever. Else the end of what there is, or of the run that
	// is active, is the end; so nobody waits for what will never come.
	live bool
	// tries bounds how many connections in a row may bring nothing; below 0
	// there is no bound.
	tries int
	// eager wants the first connection to stand, or its error.
	eager bool
}

// attach reads one connection to a thread's events and hands on what is new. It
// returns when the connection has ended (nil for a clean end), when take returns
// false (errLeft), or when the cursor was reset. stands is called when the server
// has taken the request.
func (c *Client) attach(ctx context.Context, id string, cur *cursor, live bool, stands func(), take func(batch) bool) error {
	header := map[string]string{"Accept": "text/event-stream", "Cache-Control": "no-store"}
	if !cur.at.zero() {
		header["Last-Event-ID"] = cur.at.String()
	}
	query := url.Values{"protocolVersion": {agui.ProtocolVersion}}
	if !live {
		query.Set("live", "false")
	}
	body, err := c.stream(ctx, request{method: http.MethodGet, path: []string{"threads", id, "events"}, header: header, query: query})
	if err != nil {
		return err
	}
	defer body.Close()
	stands()
	body.watch(c.opts.Idle)
	cur.attached()
	for rec, err := range agui.ReadEvents(body, c.reading(true)) {
		if err != nil {
			return err
		}
		b, err := cur.take(rec)
		if err != nil {
			return err
		}
		if len(b.events) == 0 {
			continue
		}
		if !take(b) {
			return errLeft
		}
		if cur.at.zero() {
			return errReset
		}
	}
	return nil
}

var (
	errLeft  = errors.New("client: the reader has left")
	errReset = errors.New("client: a patch did not apply; the thread is read anew")
	errEnded = errors.New("client: the server has ended the stream")
)

// follow reads a thread's events from the cursor on, over as many connections as
// it takes. The sequence ends after its first error; errEnded is that of a
// sequence that is not live. A reader that resets the cursor gets the thread from
// a prelude on.
func (c *Client) follow(ctx context.Context, id string, cur *cursor, o following) iter.Seq2[batch, error] {
	return func(yield func(batch, error) bool) {
		for fails := 1; ; fails++ {
			was, reset := cur.at, false
			err := c.attach(ctx, id, cur, o.live, func() { o.eager = false }, func(b batch) bool { return yield(b, nil) })
			switch {
			case errors.Is(err, errLeft):
				return
			case ctx.Err() != nil:
				yield(batch{}, context.Cause(ctx))
				return
			case errors.Is(err, errReset):
				reset = true
			case err == nil && !o.live && cur.at == was:
				if was.zero() {
					yield(batch{}, errEnded) // there is nothing
					return
				}
				// There is nothing behind this place, or what was behind it has
				// just become too old to be read from here.
				cur.reset()
				err, reset = errEnded, true
			case err == nil:
				err = errEnded
			case o.eager, final(err):
				yield(batch{}, err)
				return
			}
			if cur.at != was && !reset {
				fails = 1 // it has brought something
			}
			if o.tries >= 0 && fails > o.tries {
				yield(batch{}, err)
				return
			}
			if err := c.wait(ctx, fails, err); err != nil {
				yield(batch{}, err)
				return
			}
		}
	}
}

// wait lets the time before the next try pass. It returns ctx's error if that
// ends first.
func (c *Client) wait(ctx context.Context, fails int, why error) error {
	d := c.opts.Reconnect.delay(fails, rand.Float64())
	var answer *HTTPError
	if errors.As(why, &answer) {
		d = max(d, min(answer.RetryAfter, time.Minute))
	}
	if c.opts.Reconnect.OnBreak != nil {
		c.opts.Reconnect.OnBreak(why, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// delay is the wait before the next try after so many that brought nothing. luck
// is between 0 and 1: many clients that lose one server must not all come back
// at the same moment.
func (r Reconnect) delay(fails int, luck float64) time.Duration {
	d := r.Min
	for range fails - 1 {
		if d >= r.Max/2 {
			d = r.Max
			break
		}
		d *= 2
	}
	d = min(d, r.Max)
	return d/2 + time.Duration(luck*float64(d-d/2))
}
