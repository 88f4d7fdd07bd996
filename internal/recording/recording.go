// Package recording answers: how is a stream kept in a file?
//
// A recording is text, one JSON object a line. The first line is the [Header].
// The others are [Line]s, in the order in which things arrived:
//
//	{"format":"lockstep-recording","version":1,"url":"http://127.0.0.1:8888/","started":"2026-01-02T03:04:05Z","input":{…}}
//	{"at":3.1,"response":{"status":200,"contentType":"text/event-stream"}}
//	{"at":3.4,"id":"k7-1","event":{"type":"RUN_STARTED",…}}
//	{"at":9.8,"data":"[DONE]"}
//	{"at":9.9,"end":"closed"}
//
// An event is kept as the bytes that came: white space, the order of members and
// what is wrong with it included, since a faulty server is what one records. Data
// that is no JSON, or has line breaks or white space around it, is kept as a string
// under data; data that is not even UTF-8, or would become too long a string, in
// base64 under base64.
//
// Each line is written whole and at once, so the file of a recorder that was
// killed can be read up to where it was. Headers of requests, tokens, and the
// credentials and query of the address are never written.
package recording

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"
)

// Format and Version begin every recording.
const (
	Format  = "lockstep-recording"
	Version = 1
)

// Header says where a recording comes from.
type Header struct {
	URL     string    // see [Address]
	Started time.Time // of the request; UTC in the file
	// Input is the RunAgentInput that was posted; nil where nothing was.
	Input json.RawMessage
	// Attached is the thread that was attached to instead; empty for a run.
	Attached string
}

// Line is one thing that happened: an answer, an event or the end. Exactly one of
// Response, Data and End is set.
type Line struct {
	At       time.Duration // since the request was sent
	Response *Response
	// Data is an event's data as it came, whatever it is.
	Data []byte
	// ID is the id that the event's own frame set; empty for none.
	ID string
	// CR says that a carriage return was seen since the event before. Official
	// clients split at LF LF only.
	CR bool
	// Cut says that the body ended before the event's blank line.
	Cut bool
	End End
	// Reason, of a broken body, is what the connection said.
	Reason string
}

// Response is what was answered before the first event.
type Response struct {
	Status      int    `json:"status"`
	ContentType string `json:"contentType"`
	// Body is the beginning of the body of a refusal. A stream's is its events.
	Body string `json:"body,omitempty"`
}

// End says why nothing more came.
type End string

const (
	Closed   End = "closed"  // the server closed the body
	Broken   End = "broken"  // the connection broke
	Open     End = "open"    // the server left the body open after the terminal event
	Stopped  End = "stopped" // whoever read it stopped
	TimedOut End = "timeout" // the run took longer than whoever read it wanted to wait
)

// Address is an address without what may be secret in it: user, password, query
// and fragment.
func Address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

// headerJSON and lineJSON are the two kinds of line. Times are milliseconds.
type headerJSON struct {
	Format   string          `json:"format"`
	Version  int             `json:"version"`
	URL      string          `json:"url"`
	Started  time.Time       `json:"started"`
	Attached string          `json:"attach,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
}

type lineJSON struct {
	At       float64         `json:"at"`
	ID       string          `json:"id,omitempty"`
	CR       bool            `json:"cr,omitempty"`
	Cut      bool            `json:"cut,omitempty"`
	Response *Response       `json:"response,omitempty"`
	End      End             `json:"end,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Data     *string         `json:"data,omitempty"`
	Base64   *string         `json:"base64,omitempty"`
	Event    json.RawMessage `json:"event,omitempty"`
}

// Writer writes a recording. It is not safe for concurrent use.
type Writer struct {
	w   io.Writer
	buf bytes.Buffer
}

// NewWriter writes the header and returns a writer for the lines. Each line is
// one call of w.Write.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	r := &Writer{w: w}
	if h.Input != nil && (bytes.ContainsAny(h.Input, "\r\n") || !json.Valid(h.Input)) {
		return nil, fmt.Errorf("recording: the input must be JSON on one line")
	}
	head := headerJSON{Format: Format, Version: Version, URL: Address(h.URL), Started: h.Started.UTC(), Attached: h.Attached}
	return r, r.line(head, "input", h.Input)
}

// maxString is how long data may be that is written as a string, where a byte may
// become six.
const maxString = 5 << 20

// Write writes one line.
func (r *Writer) Write(l Line) error {
	out := lineJSON{
		At: float64(l.At.Round(time.Microsecond)) / float64(time.Millisecond),
		ID: l.ID, CR: l.CR, Cut: l.Cut, Response: l.Response, End: l.End, Reason: l.Reason,
	}
	switch {
	case l.Data == nil:
	case utf8.Valid(l.Data) && json.Valid(l.Data) && !bytes.ContainsAny(l.Data, "\r\n") && len(bytes.Trim(l.Data, " \t")) == len(l.Data) && json.Valid(slices.Concat([]byte("["), l.Data, []byte("]"))):
		// White space around a value is not of it to who reads the line. The second
		// look is for depth, of which the line adds one.
		return r.line(out, "event", l.Data)
	case utf8.Valid(l.Data) && len(l.Data) <= maxString:
		out.Data = new(string(l.Data))
	default:
		out.Base64 = new(base64.StdEncoding.EncodeToString(l.Data))
	}
	return r.line(out, "", nil)
}

// line writes v as an object whose last member is name with the bytes raw. They
// are not given to the encoder, which would rewrite them.
func (r *Writer) line(v any, name string, raw []byte) error {
	r.buf.Reset()
	enc := json.NewEncoder(&r.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	if raw != nil {
		r.buf.Truncate(r.buf.Len() - len("}\n"))
		fmt.Fprintf(&r.buf, `,%q:`, name)
		r.buf.Write(raw)
		r.buf.WriteString("}\n")
	}
	_, err := r.w.Write(r.buf.Bytes())
	return err
}

// duration reads the file's milliseconds. What no clock can have said is refused.
func duration(ms float64) (time.Duration, bool) {
	if math.IsNaN(ms) || ms < 0 || ms > 366*24*60*60*1000 {
		return 0, false
	}
	return time.Duration(ms * float64(time.Millisecond)), true
}
