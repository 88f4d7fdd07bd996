package recording

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line: package agui reads 16 MB of data in a frame, and the
// writer's spellings need no more than twice that.
const maxLine = 32 << 20

// FormatError says what is wrong with a file and in which line, counted from 1.
type FormatError struct {
	Line   int
	Reason string
}

func (e *FormatError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Reader reads a recording, line by line. It is not safe for concurrent use.
type Reader struct {
	in     *bufio.Reader
	line   int
	header Header
}

// NewReader reads the header. The error is a [*FormatError], or what r returned.
func NewReader(r io.Reader) (*Reader, error) {
	rd := &Reader{in: bufio.NewReaderSize(r, 64<<10)}
	text, err := rd.next()
	if err == io.EOF {
		return nil, &FormatError{1, "the file is empty; lockstep record writes recordings"}
	}
	if err != nil {
		return nil, err
	}
	var head headerJSON
	if err := json.Unmarshal(text, &head); err != nil || head.Format != Format {
		return nil, rd.bad(`this is no recording: its first line lacks "format":"` + Format + `"; lockstep record writes recordings`)
	}
	if head.Version != Version {
		return nil, rd.bad(fmt.Sprintf("the recording has version %d; this program reads version %d", head.Version, Version))
	}
	rd.header = Header{URL: head.URL, Started: head.Started, Input: head.Input, Attached: head.Attached}
	return rd, nil
}

// Header returns the header.
func (r *Reader) Header() Header { return r.header }

// LineNumber is the number of the line that Next returned last, from 1. The
// header's is 1.
func (r *Reader) LineNumber() int { return r.line }

// Next returns the next line, at the end io.EOF. A last line that was cut is the
// end too: a recorder that is killed leaves one. Other errors are a
// [*FormatError], or what the source returned.
func (r *Reader) Next() (Line, error) {
	text, err := r.next()
	if err != nil {
		return Line{}, err
	}
	var in lineJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return Line{}, r.bad("this is no line of a recording: " + reason(err))
	}
	at, ok := duration(in.At)
	if !ok {
		return Line{}, r.bad(fmt.Sprintf(`"at" is %v; it is the milliseconds since the start`, in.At))
	}
	l := Line{At: at, ID: in.ID, CR: in.CR, Cut: in.Cut, Response: in.Response, End: in.End, Reason: in.Reason}
	kinds := 0
	if in.Event != nil {
		kinds++
		l.Data = in.Event
	}
	if in.Data != nil {
		kinds++
		l.Data = []byte(*in.Data)
	}
	if in.Base64 != nil {
		kinds++
		if l.Data, err = base64.StdEncoding.DecodeString(*in.Base64); err != nil {
			return Line{}, r.bad(`"base64" is not base64`)
		}
	}
	if in.Response != nil {
		kinds++
		if s := in.Response.Status; s < 100 || s > 999 {
			return Line{}, r.bad(fmt.Sprintf(`"status" is %d; an HTTP status has three digits`, s))
		}
	}
	if in.End != "" {
		kinds++
		switch in.End {
		case Closed, Broken, Open, Stopped, TimedOut:
		default:
			return Line{}, r.bad(fmt.Sprintf(`"end" is %q; want closed, broken, open, stopped or timeout`, in.End))
		}
	}
	if kinds != 1 {
		return Line{}, r.bad("a line has one of event, data, base64, response and end")
	}
	return l, nil
}

func (r *Reader) bad(why string) error { return &FormatError{r.line, why} }

func reason(err error) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("%v (byte %d of the line)", err, syntax.Offset)
	}
	return err.Error()
}

// next returns the next complete line.
func (r *Reader) next() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, &FormatError{r.line + 1, fmt.Sprintf("the line is longer than %d bytes", maxLine)}
		}
		line = append(line, part...)
		switch err {
		case nil:
			r.line++
			if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
				return line, nil
			}
		case bufio.ErrBufferFull:
		case io.EOF:
			// A line without an end was being written. Where it is whole all the
			// same, an editor has dropped the last line's end.
			if len(line) > 0 && json.Valid(line) {
				r.line++
				return line, nil
			}
			return nil, io.EOF
		default:
			return nil, err
		}
	}
}
