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

// attach reads one connection to a thread's events and hands on what is new. It
// returns when the connection has ended (nil for a clean end), when take returns
// false (errLeft), or when the cursor was reset.
func (c *Client) attach(ctx context.Context, id string, cur *cursor, take func(batch) bool) error {
	header := map[string]string{"Accept": "text/event-stream", "Cache-Control": "no-store"}
	if !cur.at.zero() {
		header["Last-Event-ID"] = cur.at.String()
	}
	body, err := c.stream(ctx, request{
		method: http.MethodGet, path: []string{"threads", id, "events"}, header: header,
		query: url.Values{"protocolVersion": {agui.ProtocolVersion}},
	})
	if err != nil {
		return err
	}
	defer body.Close()
	body.watch(c.opts.Idle)
	cur.attached()
	for rec, err := range agui.ReadEvents(body, &agui.EventsOptions{Bare: true}) {
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
	// errEnded is what OnBreak gets for a connection that the server ended.
	errEnded = errors.New("client: the server has ended the stream")
)

// follow reads a thread's events from the cursor on, over as many connections as
// it takes. tries bounds how many in a row may bring nothing; below 0 there is
// no bound. Who eager is wants the first connection to stand, or its error.
// The sequence ends after its first error. A reader that sets cur.at to zero
// gets the thread from a prelude on.
func (c *Client) follow(ctx context.Context, id string, cur *cursor, tries int, eager bool) iter.Seq2[batch, error] {
	return func(yield func(batch, error) bool) {
		for fails := 1; ; fails++ {
			was, reset := cur.at, false
			err := c.attach(ctx, id, cur, func(b batch) bool {
				eager = false
				return yield(b, nil)
			})
			switch {
			case errors.Is(err, errLeft):
				return
			case ctx.Err() != nil:
				yield(batch{}, context.Cause(ctx))
				return
			case errors.Is(err, errReset):
				reset = true
			case err == nil:
				err, eager = errEnded, false
			case eager, final(err):
				yield(batch{}, err)
				return
			}
			if cur.at != was && !reset {
				fails = 1 // it has brought something
			}
			if tries >= 0 && fails > tries {
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
