// Package answer answers one question: what does a model's answer say? It reads the
// body of an answer on OpenAI's wire, event by event, and makes updates of it. It has
// no clock, no goroutine and no network, and knows no SDK.
package answer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
)

// Decoder turns the events of one answer into updates. [Chat] and [Responses] are
// decoders.
type Decoder interface {
	// Event takes one event and returns what it adds, or nil.
	Event(name string, data []byte) (*agent.ResponseUpdate, error)
	// Complete reports whether the answer has said that it is over, Ended whether
	// nothing more can come.
	Complete() bool
	Ended() bool
	// Close returns the last update. It is called once, after an answer that was
	// complete.
	Close() (*agent.ResponseUpdate, error)
}

// Limits bounds an answer, in bytes.
type Limits struct {
	Event int // one event
	Body  int // all of it
}

var (
	// ErrTooLong says that an answer is over a limit.
	ErrTooLong = errors.New("the answer is too long")
	// ErrBrokenOff says that an answer ended without saying that it was over.
	ErrBrokenOff = errors.New("the answer broke off")
)

// Read yields what an answer's body says, event by event, and at last why the model
// stopped and what it cost. The sequence ends without an error if and only if the
// answer was complete.
func Read(body io.Reader, limits Limits, decode Decoder) iter.Seq2[*agent.ResponseUpdate, error] {
	return func(yield func(*agent.ResponseUpdate, error) bool) {
		r := bufio.NewReader(&cappedReader{body, limits.Body})
		next := frames(r, limits.Event)
		if wholeJSON(r) {
			next = oneObject(r, limits.Event)
		}
		for !decode.Ended() {
			name, data, err := next()
			if err != nil {
				if decode.Complete() && !errors.Is(err, ErrTooLong) {
					break // it said so itself: the connection's end adds nothing
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
			update, err := decode.Event(name, data)
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) && decode.Complete() {
				break // cut off behind the end
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if update != nil && !yield(update, nil) {
				return
			}
		}
		update, err := decode.Close()
		yield(update, err)
	}
}

// frames reads a body as server-sent events. A last event whose empty line is missing
// counts, against the grammar: there are gateways that leave it out, the last event is
// the one that matters most, and JSON tells by itself whether it is whole.
//
// The SDK's decoder is not used. It cannot tell [DONE] from a dead connection, takes
// "error":null for an error, and puts no bound on an event of many lines.
func frames(r io.Reader, limit int) func() (name string, data []byte, err error) {
	frames := agui.NewReader(r, &agui.ReaderOptions{
		MaxLine: limit, MaxFrame: limit, KeepUnterminated: true,
	})
	return func() (string, []byte, error) {
		frame, err := frames.Next()
		var limit *agui.LimitError
		if errors.As(err, &limit) {
			err = fmt.Errorf("%w: %w", ErrTooLong, err)
		}
		return frame.Event, bytes.TrimSpace(frame.Data), err
	}
}

// cappedReader fails when more was read than is allowed.
type cappedReader struct {
	r    io.Reader
	left int
}

func (c *cappedReader) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, ErrTooLong
	}
	n, err := c.r.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// wholeJSON reports whether the body is one JSON object and not a stream: what was
// asked for, or what a server without streaming answers. Its Content-Type is not asked,
// because it is wrong as often as the rest.
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

// oneObject is a reader of events for a body that is one JSON object: an event with all
// of it, then the end mark.
func oneObject(r io.Reader, limit int) func() (name string, data []byte, err error) {
	calls := 0
	return func() (string, []byte, error) {
		if calls++; calls > 1 {
			return "", doneMark, nil
		}
		data, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
		if err != nil {
			return "", nil, err
		}
		if len(data) > limit {
			return "", nil, fmt.Errorf("one object is over %d bytes: %w", limit, ErrTooLong)
		}
		return "", bytes.TrimSpace(data), nil
	}
}
