package agui

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// Default bounds of a [Reader]. Official clients give up on a frame of more
// than 10 MiB, so no server that wants to be understood sends more.
const (
	DefaultMaxLine  = 16 << 20
	DefaultMaxFrame = 16 << 20
	maxFieldSize    = 64 << 10 // of an id or an event name
)

// ReaderOptions bounds and configures a [Reader]. The zero value is the default.
type ReaderOptions struct {
	MaxLine  int // bytes in a line; 0 means [DefaultMaxLine]
	MaxFrame int // bytes of data in a frame; 0 means [DefaultMaxFrame]
	// KeepUnterminated delivers a last frame that the stream's end cut short of
	// its blank line. The grammar says to drop it, since nobody knows whether
	// it is whole; where the data can tell (JSON objects can) it may be kept.
	KeepUnterminated bool
	// OnComment is called with the text of each comment line, which is valid
	// during the call only. Keep-alives are comments.
	OnComment func(text []byte)
}

// Frame is one server-sent event.
type Frame struct {
	// ID is the stream's last event id when the frame ended. It stays from
	// frame to frame until the stream sets another.
	ID string
	// OwnID says that this frame set the id itself.
	OwnID bool
	// Event is the event's name; empty where the frame has none. AG-UI uses none.
	Event string
	// Cut says that the stream ended before the frame's blank line, see
	// [ReaderOptions.KeepUnterminated].
	Cut bool
	// Data is the frame's data, lines joined with LF. It is valid until the
	// next call of Next.
	Data []byte
}

// LimitError says that a stream exceeds a bound of its reader. Nothing more can
// be read from it.
type LimitError struct {
	What  string // "line", "frame", "id" or "event name"
	Limit int    // bytes
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("agui: an SSE %s is longer than %d bytes", e.What, e.Limit)
}

// Reader splits a stream into frames by the grammar of the HTML standard
// (WHATWG, "Server-sent events"), however the bytes are cut and whichever line
// ending is used. It is not safe for concurrent use. It never reads more than
// its buffer ahead and never starts a goroutine: to interrupt it, close what it
// reads from.
type Reader struct {
	src     io.Reader
	opts    ReaderOptions
	buf     []byte
	start   int // of the current line
	scanned int // everything before it holds no line ending
	end     int
	skipLF  bool // the line ended with CR; an LF right after belongs to it
	begun   bool // the byte order mark was looked for
	readErr error

	data    []byte
	hasData bool
	ownID   bool
	id      string
	event   string
	retry   time.Duration
}

// NewReader returns a Reader on r. Nil options are the defaults.
func NewReader(r io.Reader, opts *ReaderOptions) *Reader {
	rd := &Reader{src: r}
	if opts != nil {
		rd.opts = *opts
	}
	if rd.opts.MaxLine <= 0 {
		rd.opts.MaxLine = DefaultMaxLine
	}
	if rd.opts.MaxFrame <= 0 {
		rd.opts.MaxFrame = DefaultMaxFrame
	}
	return rd
}

// LastID returns the last event id so far: what a reconnecting client sends as
// Last-Event-ID. A frame without data sets it too, so it may be ahead of the
// last Frame.
func (r *Reader) LastID() string { return r.id }

// Retry returns the reconnection time that the stream asked for; 0 if it did not.
func (r *Reader) Retry() time.Duration { return r.retry }

// Next returns the next frame. At the stream's end the error is io.EOF; a frame
// that was cut short by it is dropped, see [ReaderOptions.KeepUnterminated].
// Other errors are a [*LimitError] or what the source returned. After an error
// every call returns it again.
func (r *Reader) Next() (Frame, error) {
	for {
		line, err := r.line()
		if err != nil {
			if r.hasData && err == io.EOF && r.opts.KeepUnterminated {
				f := r.frame()
				f.Cut = true
				return f, nil
			}
			return Frame{}, err
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				return Frame{}, r.stop(err)
			}
			continue
		}
		if r.hasData {
			return r.frame(), nil
		}
		// No data, no event; but the name is forgotten, as the grammar says.
		r.event, r.ownID = "", false
	}
}

// frame hands out what was collected and prepares for the next frame.
func (r *Reader) frame() Frame {
	f := Frame{ID: r.id, OwnID: r.ownID, Event: r.event, Data: r.data}
	r.hasData, r.ownID, r.event = false, false, ""
	return f
}

// field takes one non-empty line.
func (r *Reader) field(line []byte) error {
	name, value := line, []byte(nil)
	if i := bytes.IndexByte(line, ':'); i >= 0 {
		name, value = line[:i], line[i+1:]
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
	}
	switch string(name) {
	case "data":
		return r.dataLine(value)
	case "": // a comment
		if r.opts.OnComment != nil {
			r.opts.OnComment(value)
		}
	case "id":
		if bytes.IndexByte(value, 0) >= 0 {
			return nil // the grammar says to ignore it
		}
		if len(value) > maxFieldSize {
			return &LimitError{What: "id", Limit: maxFieldSize}
		}
		if r.id != string(value) {
			r.id = string(value)
		}
		r.ownID = true
	case "event":
		if len(value) > maxFieldSize {
			return &LimitError{What: "event name", Limit: maxFieldSize}
		}
		r.event = string(value)
	case "retry":
		r.setRetry(value)
	}
	return nil
}

func (r *Reader) dataLine(value []byte) error {
	if !r.hasData {
		r.data = r.data[:0]
	} else {
		if len(r.data) >= r.opts.MaxFrame {
			return &LimitError{What: "frame", Limit: r.opts.MaxFrame}
		}
		r.data = append(r.data, '\n')
	}
	r.hasData = true
	if len(r.data)+len(value) > r.opts.MaxFrame {
		return &LimitError{What: "frame", Limit: r.opts.MaxFrame}
	}
	r.data = append(r.data, value...)
	return nil
}

// setRetry takes ASCII digits only, as milliseconds; absurd values are ignored.
func (r *Reader) setRetry(value []byte) {
	if len(value) == 0 || len(value) > 12 {
		return
	}
	var ms int64
	for _, c := range value {
		if c < '0' || c > '9' {
			return
		}
		ms = ms*10 + int64(c-'0')
	}
	r.retry = time.Duration(ms) * time.Millisecond
}

// line returns the next line without its ending. It is valid until the next
// call.
func (r *Reader) line() ([]byte, error) {
	for {
		if r.skipLF && r.start < r.end {
			if r.buf[r.start] == '\n' {
				r.start++
			}
			r.skipLF = false
			r.scanned = max(r.scanned, r.start)
		}
		if r.begun || r.bom() {
			if at := r.ending(); at >= 0 {
				line := r.buf[r.start:at]
				r.skipLF = r.buf[at] == '\r'
				r.start, r.scanned = at+1, at+1
				if len(line) > r.opts.MaxLine {
					return nil, r.stop(&LimitError{What: "line", Limit: r.opts.MaxLine})
				}
				return line, nil
			}
		}
		if r.end-r.start > r.opts.MaxLine {
			return nil, r.stop(&LimitError{What: "line", Limit: r.opts.MaxLine})
		}
		if r.readErr != nil {
			return r.rest()
		}
		r.fill()
	}
}

// bom drops a byte order mark at the stream's beginning; false means that it
// cannot be told yet.
func (r *Reader) bom() bool {
	const mark = "\xEF\xBB\xBF"
	have := r.buf[r.start:r.end]
	if len(have) < len(mark) && r.readErr == nil && string(have) == mark[:len(have)] {
		return false
	}
	r.begun = true
	if len(have) >= len(mark) && string(have[:len(mark)]) == mark {
		r.start += len(mark)
		r.scanned = r.start
	}
	return true
}

// ending returns the index of the first line ending, -1 if there is none yet.
func (r *Reader) ending() int {
	window := r.buf[r.scanned:r.end]
	lf := bytes.IndexByte(window, '\n')
	if lf >= 0 {
		window = window[:lf]
	}
	if cr := bytes.IndexByte(window, '\r'); cr >= 0 {
		return r.scanned + cr
	}
	if lf >= 0 {
		return r.scanned + lf
	}
	r.scanned = r.end
	return -1
}

// stop makes err the reader's last word.
func (r *Reader) stop(err error) error {
	r.readErr = err
	r.start, r.scanned, r.end = 0, 0, 0
	r.hasData = false
	return err
}

// rest deals with what is left when the source has ended: a line without an
// ending. Only data can be told whole or not by its reader; an id could be half
// a position.
func (r *Reader) rest() ([]byte, error) {
	line := r.buf[r.start:r.end]
	r.start, r.scanned, r.end = 0, 0, 0
	if r.readErr == io.EOF && r.opts.KeepUnterminated && bytes.HasPrefix(line, []byte("data:")) {
		return line, nil
	}
	return nil, r.readErr
}

// fill reads once more, making room first.
func (r *Reader) fill() {
	if r.start > 0 {
		copy(r.buf, r.buf[r.start:r.end])
		r.end -= r.start
		r.scanned -= r.start
		r.start = 0
	}
	if r.end == len(r.buf) {
		grown := make([]byte, max(16<<10, 2*len(r.buf)))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.readErr = err
		if n > 0 || err != nil {
			return
		}
	}
	r.readErr = io.ErrNoProgress
}
