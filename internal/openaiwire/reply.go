package openaiwire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Whole as [Reply.Cut] writes everything between two pauses in one piece.
const Whole = -1

// Cuts are the byte cuts at which every quirk of the wire is tested.
var Cuts = []int{1, 3, 7, Whole}

// Reply is one answer of the server.
type Reply struct {
	// Status is the HTTP status; 0 means 200.
	Status int
	// Header is added to the answer's header. Content-Type is text/event-stream for 200
	// and application/json otherwise, unless it says something else.
	Header http.Header
	// Body is what is written, in order.
	Body []Step
	// Cut is the size of the pieces in bytes, each flushed: 0 flushes step by step,
	// [Whole] not before a pause.
	Cut int
	// CRLF ends lines with \r\n instead of \n.
	CRLF bool
}

// Step is one thing the server does while it answers. Make it with the functions of
// this package.
type Step struct {
	bytes []byte
	act   func(context.Context) error
}

var errDrop = errors.New("drop the connection")

// Raw writes text as it stands.
func Raw(text string) Step { return Step{bytes: []byte(text)} }

// Data writes one event: "data: ", the text, an empty line.
func Data(text string) Step { return Raw("data: " + text + "\n\n") }

// Event writes one event with a name.
func Event(name, text string) Step { return Raw("event: " + name + "\ndata: " + text + "\n\n") }

// Comment writes a comment line and the empty line that gateways put behind it.
func Comment(text string) Step { return Raw(": " + text + "\n\n") }

// Retry writes a reconnection time, as an event of its own without data.
func Retry(ms int) Step { return Raw(fmt.Sprintf("retry: %d\n\n", ms)) }

// Done writes the end mark of Chat Completions.
func Done() Step { return Data("[DONE]") }

// Sleep pauses, with everything before it flushed.
func Sleep(d time.Duration) Step {
	return Step{act: func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

// Wait pauses until c is closed, with everything before it flushed.
func Wait(c <-chan struct{}) Step {
	return Step{act: func(ctx context.Context) error {
		select {
		case <-c:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

// Hang says nothing more until the client goes away.
func Hang() Step {
	return Step{act: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}
}

// Drop breaks the connection: the client sees an unexpected end and not a finished
// body.
func Drop() Step { return Step{act: func(context.Context) error { return errDrop }} }

// write sends the reply. Its error says that the reply did not reach its end.
func (r Reply) write(w http.ResponseWriter, req *http.Request) error {
	header := w.Header()
	if r.Status == 0 || r.Status == http.StatusOK {
		header.Set("Content-Type", "text/event-stream")
	} else {
		header.Set("Content-Type", "application/json")
	}
	for name, values := range r.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	w.WriteHeader(max(r.Status, http.StatusOK))
	out := http.NewResponseController(w)

	var pending []byte
	flush := func() error {
		for len(pending) > 0 {
			n := len(pending)
			if r.Cut > 0 {
				n = min(n, r.Cut)
			}
			if _, err := w.Write(pending[:n]); err != nil {
				return err
			}
			if err := out.Flush(); err != nil {
				return err
			}
			pending = pending[n:]
		}
		return req.Context().Err()
	}
	for _, step := range r.Body {
		piece := step.bytes
		if r.CRLF {
			piece = bytes.ReplaceAll(piece, []byte("\n"), []byte("\r\n"))
		}
		pending = append(pending, piece...)
		if r.Cut == Whole && step.act == nil {
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		if step.act == nil {
			continue
		}
		if err := out.Flush(); err != nil { // a pause before the first byte still sends the header
			return err
		}
		switch err := step.act(req.Context()); {
		case errors.Is(err, errDrop):
			panic(http.ErrAbortHandler)
		case err != nil:
			return err
		}
	}
	return flush()
}

// Len is how many bytes the steps write.
func Len(steps []Step) int {
	n := 0
	for _, s := range steps {
		n += len(s.bytes)
	}
	return n
}

// String is what the step writes; empty for a step that does something else.
func (s Step) String() string { return string(s.bytes) }
