package agui

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Defaults of a [Writer] (promise W4).
const (
	DefaultWindow       = time.Millisecond
	DefaultKeepAlive    = 15 * time.Second
	DefaultWriteTimeout = 30 * time.Second
	flushSize           = 16 << 10
)

// WriterOptions configures a [Writer]. The zero value is the default.
type WriterOptions struct {
	// Version is the spelling WriteEvent uses.
	Version Version
	// Window is how long a frame may wait for others to share its flush; 0
	// means [DefaultWindow], negative flushes every frame at once.
	Window time.Duration
	// WriteTimeout bounds each flush, whatever the server's own WriteTimeout
	// says of the response as a whole; 0 means [DefaultWriteTimeout], negative
	// no bound.
	WriteTimeout time.Duration
	// KeepAlive is how long the stream may be silent before a comment is sent;
	// 0 means [DefaultKeepAlive], negative none.
	KeepAlive time.Duration
	// Format is another form of the stream than SSE; nil is SSE.
	Format *Format
}

// Format is a form in which events can be streamed.
type Format struct {
	// ContentType is sent as the response's.
	ContentType string
	// AppendFrame appends an event as a frame, or nothing if the version has no
	// spelling of it. If it fails, nothing of the event is sent.
	AppendFrame func(dst []byte, id string, e Event, v Version) ([]byte, error)
	// EndsRun reports whether the last of some frames holds a terminal event;
	// nil never tells, and WriteFrame waits for the window.
	EndsRun func(frames []byte) bool
	// KeepAlive is what is sent when the stream is silent; empty sends nothing.
	KeepAlive []byte
}

var sse = &Format{
	ContentType: "text/event-stream",
	AppendFrame: func(dst []byte, id string, e Event, v Version) ([]byte, error) {
		return AppendFrame(dst, id, e, v), nil
	},
	EndsRun:   endsRun,
	KeepAlive: []byte(": keep-alive\n\n"),
}

// ErrWriterClosed is returned for frames that come after Close.
var ErrWriterClosed = errors.New("agui: the SSE writer is closed")

// Writer sends events over an HTTP response. It is safe for concurrent use.
//
// Frames are coalesced: the first of a burst waits for at most the window, a
// terminal event or 16 KiB of frames flush at once. The window and the
// keep-alive are timers of the writer; they run until Close, which must be
// called before the handler returns.
//
// A failed write is final: every later call returns its error.
type Writer struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	opts WriterOptions

	mu        sync.Mutex
	buf       []byte
	armed     bool // the window's timer is running
	window    *time.Timer
	keepAlive *time.Timer
	last      time.Time // of the last flush
	err       error
}

// NewWriter begins a streamed response: it sets the headers that stop proxies from
// holding it back, and flushes them. If w cannot flush it fails without having
// written anything, so that the caller can still answer with an error: a stream
// that nobody sees before its end must not be mistaken for a live one. (A
// middleware whose Flush does nothing cannot be told from one that flushes.)
func NewWriter(w http.ResponseWriter, opts *WriterOptions) (*Writer, error) {
	sw := &Writer{w: w, rc: http.NewResponseController(w)}
	if opts != nil {
		sw.opts = *opts
	}
	if sw.opts.Format == nil {
		sw.opts.Format = sse
	}
	setDefault(&sw.opts.Window, DefaultWindow)
	setDefault(&sw.opts.KeepAlive, DefaultKeepAlive)
	setDefault(&sw.opts.WriteTimeout, DefaultWriteTimeout)

	h := w.Header()
	before := h.Clone()
	h.Set("Content-Type", sw.opts.Format.ContentType)
	h.Set("Cache-Control", "no-cache, no-transform") // no-transform: do not compress
	h.Set("X-Accel-Buffering", "no")                 // nginx and those that copied it
	h.Del("Content-Length")
	h.Del("Content-Encoding")
	if err := sw.flush(); err != nil {
		clear(h)
		for name, values := range before {
			h[name] = values
		}
		if errors.Is(err, http.ErrNotSupported) {
			return nil, fmt.Errorf("agui: this response cannot stream: %T has neither Flush nor Unwrap (a middleware such as http.TimeoutHandler hides it): %w", w, err)
		}
		return nil, fmt.Errorf("agui: the response could not be started: %w", err)
	}
	if sw.opts.KeepAlive > 0 && len(sw.opts.Format.KeepAlive) > 0 {
		// Under the lock: the timer may fire before the assignment otherwise.
		sw.mu.Lock()
		sw.keepAlive = time.AfterFunc(sw.opts.KeepAlive, sw.idle)
		sw.mu.Unlock()
	}
	return sw, nil
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// WriteEvent sends e, spelled in the writer's version, under id; an empty id
// sends none. An event that has no spelling in that version sends nothing.
func (w *Writer) WriteEvent(id string, e Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	buf, err := w.opts.Format.AppendFrame(w.buf, id, e, w.opts.Version)
	if err != nil {
		return err // of this event alone: the stream is as it was
	}
	w.buf = buf
	return w.queuedLocked(e.EventType().Terminal())
}

// WriteFrame sends frames of the writer's format, one or several. They are
// copied.
func (w *Writer) WriteFrame(frames []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.buf = append(w.buf, frames...)
	return w.queuedLocked(w.opts.Format.EndsRun != nil && w.opts.Format.EndsRun(frames))
}

// endsRun reports whether the last of the frames holds a terminal event. It
// looks at the bytes that AppendFrame writes and nothing else.
func endsRun(frames []byte) bool {
	frames = bytes.TrimSuffix(frames, []byte("\n\n"))
	last := frames[bytes.LastIndexByte(frames, '\n')+1:]
	rest, ok := bytes.CutPrefix(last, []byte(`data: {"type":"RUN_`))
	return ok && (bytes.HasPrefix(rest, []byte(`FINISHED"`)) || bytes.HasPrefix(rest, []byte(`ERROR"`)))
}

// Comment sends a keep-alive at once, and with it whatever is waiting.
func (w *Writer) Comment() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.buf = append(w.buf, w.opts.Format.KeepAlive...)
	return w.flushLocked()
}

// Flush sends what is waiting.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	return w.flushLocked()
}

// Close sends what is waiting and ends the writer; it does not end the
// response, which ends with its handler. It returns the first error of the
// stream, nil if all was sent. Calling it again is harmless.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		_ = w.flushLocked() // sets w.err
	}
	if w.window != nil {
		w.window.Stop()
	}
	if w.keepAlive != nil {
		w.keepAlive.Stop()
	}
	err := w.err
	if errors.Is(err, ErrWriterClosed) {
		return nil
	}
	if err == nil {
		w.err = ErrWriterClosed
	}
	return err
}

// queuedLocked decides when what was just queued goes out.
func (w *Writer) queuedLocked(terminal bool) error {
	if len(w.buf) == 0 {
		return nil
	}
	if terminal || len(w.buf) >= flushSize || w.opts.Window < 0 {
		return w.flushLocked()
	}
	if w.armed {
		return nil
	}
	w.armed = true
	if w.window == nil {
		w.window = time.AfterFunc(w.opts.Window, w.windowOver)
	} else {
		w.window.Reset(w.opts.Window)
	}
	return nil
}

// windowOver runs in the timer's goroutine.
func (w *Writer) windowOver() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && w.armed {
		_ = w.flushLocked() // the next call returns it
	}
}

// idle runs in the timer's goroutine. The timer is not set anew by each flush:
// it comes when the silence could be over, and looks whether it is.
func (w *Writer) idle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	if silent := time.Since(w.last); silent < w.opts.KeepAlive {
		w.keepAlive.Reset(w.opts.KeepAlive - silent)
		return
	}
	w.buf = append(w.buf, w.opts.Format.KeepAlive...)
	if w.flushLocked() == nil {
		w.keepAlive.Reset(w.opts.KeepAlive)
	}
}

func (w *Writer) flushLocked() error {
	if w.armed {
		w.armed = false
		w.window.Stop()
	}
	if len(w.buf) == 0 {
		return nil
	}
	w.err = w.flush()
	return w.err
}

// flush writes the buffer, under a deadline of its own. The deadline is taken
// off afterwards: HTTP/2 resets a stream whose deadline passes while it is
// silent, and the server's WriteTimeout counts from the request's beginning.
func (w *Writer) flush() error {
	deadlines := w.setDeadline(w.opts.WriteTimeout)
	if len(w.buf) > 0 {
		if _, err := w.w.Write(w.buf); err != nil {
			return err
		}
		if w.buf = w.buf[:0]; cap(w.buf) > 4*flushSize {
			w.buf = nil // one large snapshot must not stay for ever
		}
	}
	if err := w.rc.Flush(); err != nil {
		return err
	}
	w.last = time.Now()
	if deadlines && w.opts.WriteTimeout > 0 {
		w.setDeadline(-1)
	}
	return nil
}

// setDeadline sets the deadline of the next write, none if d is negative. It
// reports whether the response has deadlines: a recorder has none.
func (w *Writer) setDeadline(d time.Duration) bool {
	var at time.Time
	if d > 0 {
		at = time.Now().Add(d)
	}
	return w.rc.SetWriteDeadline(at) == nil
}
