package agui_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lockstep-go/lockstep/agui"
	"pgregory.net/rapid"
)

// frames reads a whole stream, copying what Next only lends.
func frames(r io.Reader, opts *agui.ReaderOptions) ([]string, error) {
	in := agui.NewReader(r, opts)
	var out []string
	for {
		f, err := in.Next()
		if err != nil {
			return out, err
		}
		out = append(out, fmt.Sprintf("id=%s own=%v event=%s data=%q", f.ID, f.OwnID, f.Event, f.Data))
	}
}

// readers cut a stream in different ways.
var readers = map[string]func(io.Reader) io.Reader{
	"whole":       func(r io.Reader) io.Reader { return r },
	"byte":        iotest.OneByteReader,
	"half":        iotest.HalfReader,
	"data+EOF":    iotest.DataErrReader,
	"empty reads": func(r io.Reader) io.Reader { return &stutter{r: iotest.OneByteReader(r)} },
}

// stutter returns nothing at every other read, as io.Reader allows.
type stutter struct {
	r    io.Reader
	turn bool
}

func (s *stutter) Read(p []byte) (int, error) {
	if s.turn = !s.turn; s.turn {
		return 0, nil
	}
	return s.r.Read(p)
}

func TestReaderGrammar(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"one", "data: a\n\n", []string{`id= own=false event= data="a"`}},
		{"no space", "data:a\n\n", []string{`id= own=false event= data="a"`}},
		{"two spaces", "data:  a\n\n", []string{`id= own=false event= data=" a"`}},
		{"lines are joined", "data: a\ndata: b\ndata:\n\n", []string{`id= own=false event= data="a\nb\n"`}},
		{"data without colon", "data\n\n", []string{`id= own=false event= data=""`}},
		{"empty data", "data:\n\ndata: b\n\n", []string{`id= own=false event= data=""`, `id= own=false event= data="b"`}},
		{"no data, no event", "id: 1\n\nevent: x\n\n:c\n\ndata: a\n\n", []string{`id=1 own=false event= data="a"`}},
		{"id stays", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", []string{
			`id=1 own=true event= data="a"`, `id=1 own=false event= data="b"`, `id= own=true event= data="c"`}},
		{"id with NUL is ignored", "id: 1\n\nid: 2\x003\ndata: a\n\n", []string{`id=1 own=false event= data="a"`}},
		{"event name goes", "event: x\ndata: a\n\ndata: b\n\n", []string{`id= own=false event=x data="a"`, `id= own=false event= data="b"`}},
		{"comments and unknown fields", ": hi\nfoo: bar\nDATA: no\n data: no\ndata: a\n\n", []string{`id= own=false event= data="a"`}},
		{"byte order mark", "\xEF\xBB\xBFdata: a\n\n\xEF\xBB\xBFdata: b\n\n", []string{`id= own=false event= data="a"`}},
		{"not a byte order mark", "\xEF\xBBdata: a\n\n", nil},
		{"cut frame is dropped", "data: a\n\ndata: b\n", []string{`id= own=false event= data="a"`}},
		{"cut line is dropped", "data: a\n\ndata: b", []string{`id= own=false event= data="a"`}},
		{"blank lines only", "\n\n\n", nil},
		{"colon in the data", "data: a: b\n\n", []string{`id= own=false event= data="a: b"`}},
	} {
		for _, ending := range []string{"\n", "\r\n", "\r"} {
			for how, cut := range readers {
				in := strings.ReplaceAll(c.in, "\n", ending)
				got, err := frames(cut(strings.NewReader(in)), nil)
				if err != io.EOF {
					t.Errorf("%s, %q, %s: %v", c.name, ending, how, err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s, %q, %s: (-want +got)\n%s", c.name, ending, how, diff)
				}
			}
		}
	}
}

// TestReaderMixedEndings is the stream that readers in the field got wrong.
func TestReaderMixedEndings(t *testing.T) {
	parts := []string{"data: A\r\n", "data: B\r", "\n", "data: C\r\n", "\n"}
	readers := make([]io.Reader, len(parts))
	for i, p := range parts {
		readers[i] = strings.NewReader(p)
	}
	got, err := frames(io.MultiReader(readers...), nil)
	if err != io.EOF || len(got) != 1 || !strings.HasSuffix(got[0], `data="A\nB\nC"`) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestReaderDeliversAtOnce: a frame that ends with CR is delivered without
// waiting for the LF that may follow.
func TestReaderDeliversAtOnce(t *testing.T) {
	r, w := io.Pipe()
	go func() { _, _ = w.Write([]byte("data: a\r\r")) }()
	f, err := agui.NewReader(r, nil).Next()
	if err != nil || string(f.Data) != "a" {
		t.Errorf("got %q, %v", f.Data, err)
	}
	_ = w.Close()
}

// plainFrames is the grammar written down line by line: slow, whole, obvious.
func plainFrames(s string) (out []string) {
	s = strings.TrimPrefix(s, "\xEF\xBB\xBF")
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(s, "\n")
	id, event, own := "", "", false
	var data []string
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			if data != nil {
				out = append(out, fmt.Sprintf("id=%s own=%v event=%s data=%q", id, own, event, strings.Join(data, "\n")))
			}
			event, own, data = "", false, nil
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data = append(data, value)
		case "event":
			event = value
		case "id":
			if !strings.Contains(value, "\x00") {
				id, own = value, true
			}
		}
	}
	return out
}

// TestReaderAgainstGrammar compares with the plain reading, whatever the bytes
// and however they are cut.
func TestReaderAgainstGrammar(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"data", "data:", "data: ", "id: ", "id", "event:", ":", "x", "1", " ", "\n", "\n", "\n\n", "\r", "\r\n", "\r\n\r\n", "\x00", "é", "\xEF\xBB\xBF",
	})
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), "")
		want := plainFrames(in)
		cuts := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 8).Draw(t, "cuts")
		got, err := frames(&cutReader{rest: in, sizes: cuts}, nil)
		if err != io.EOF {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: (-want +got)\n%s", in, diff)
		}
	})
}

// cutReader hands out pieces of the given sizes, over and over.
type cutReader struct {
	rest  string
	sizes []int
	turn  int
}

func (r *cutReader) Read(p []byte) (int, error) {
	if r.rest == "" {
		return 0, io.EOF
	}
	n := min(r.sizes[r.turn%len(r.sizes)], len(r.rest), len(p))
	r.turn++
	copy(p, r.rest[:n])
	r.rest = r.rest[n:]
	return n, nil
}

// TestReaderLimits: endless lines, frames, ids and names end with an error of
// their own, and cost no more memory than the bound.
func TestReaderLimits(t *testing.T) {
	const limit = 1 << 20
	for _, c := range []struct {
		what, head, again string
	}{
		{"line", "data: ", strings.Repeat("x", 1000)},
		{"line", ":", strings.Repeat("x", 1000)},
		{"frame", "data: x\n", "data: " + strings.Repeat("y", 100) + "\n"},
		{"frame", "data\n", "data\n"},
		{"id", "id: " + strings.Repeat("9", 70<<10) + "\n", ""},
		{"event name", "event: " + strings.Repeat("e", 70<<10) + "\n", ""},
	} {
		src := &endless{head: c.head, again: c.again}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		in := agui.NewReader(src, &agui.ReaderOptions{MaxLine: limit, MaxFrame: limit})
		_, err := in.Next()
		runtime.ReadMemStats(&after)
		var got *agui.LimitError
		if !errors.As(err, &got) || got.What != c.what {
			t.Errorf("%s: %v", c.what, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 8*limit {
			t.Errorf("%s: %d bytes were allocated under a bound of %d", c.what, used, limit)
		}
		if src.read > 6*limit {
			t.Errorf("%s: %d bytes were read", c.what, src.read)
		}
		if _, again := in.Next(); !errors.Is(again, err) {
			t.Errorf("%s: then %v", c.what, again)
		}
	}
}

// endless is head, then again for ever.
type endless struct {
	head, again, rest string
	read              int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.head != "" {
		e.rest, e.head = e.head, ""
	}
	if e.rest == "" {
		if e.again == "" {
			return 0, io.EOF
		}
		e.rest = e.again
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	e.read += n
	return n, nil
}

// TestReaderLargeFrame: what the default bounds allow is read, far beyond what
// a line scanner would.
func TestReaderLargeFrame(t *testing.T) {
	want := strings.Repeat("0123456789", 500<<10) // 5 MB
	for how, cut := range readers {
		if how == "byte" || how == "empty reads" || how == "data+EOF" {
			continue
		}
		in := agui.NewReader(cut(strings.NewReader("data: "+want+"\n\n")), nil)
		f, err := in.Next()
		if err != nil || string(f.Data) != want {
			t.Errorf("%s: %d bytes, %v", how, len(f.Data), err)
		}
	}
	in := agui.NewReader(strings.NewReader("data: "+strings.Repeat("x", agui.DefaultMaxLine)+"\n\n"), nil)
	var limit *agui.LimitError
	if _, err := in.Next(); !errors.As(err, &limit) {
		t.Errorf("one byte too many: %v", err)
	}
}

func TestReaderUnterminated(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"data: a\n", []string{`id= own=false event= data="a"`}},
		{"data: a", []string{`id= own=false event= data="a"`}},
		{"id: 7\ndata: a", []string{`id=7 own=true event= data="a"`}},
		{"data: a\nid: 7", []string{`id= own=false event= data="a"`}}, // half an id would be another position
		{"data: a\ndat", []string{`id= own=false event= data="a"`}},
		{"id: 7\n", nil},
	} {
		for how, cut := range readers {
			got, err := frames(cut(strings.NewReader(c.in)), &agui.ReaderOptions{KeepUnterminated: true})
			if err != io.EOF {
				t.Errorf("%q, %s: %v", c.in, how, err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q, %s: (-want +got)\n%s", c.in, how, diff)
			}
		}
	}
}

func TestReaderErrors(t *testing.T) {
	broken := errors.New("connection reset")
	in := agui.NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), &agui.ReaderOptions{KeepUnterminated: true})
	if f, err := in.Next(); err != nil || string(f.Data) != "a" {
		t.Fatalf("%q, %v", f.Data, err)
	}
	for range 2 {
		if _, err := in.Next(); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := agui.NewReader(idle{}, nil).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that reads nothing for ever: %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestReaderRetryAndComments(t *testing.T) {
	var comments []string
	in := agui.NewReader(strings.NewReader("retry: 1500\nretry: 1x\nretry: -1\nretry:\n: keep-alive\n:\ndata: a\n\n"), &agui.ReaderOptions{
		OnComment: func(text []byte) { comments = append(comments, string(text)) },
	})
	if _, err := in.Next(); err != nil {
		t.Fatal(err)
	}
	if in.Retry() != 1500*time.Millisecond {
		t.Errorf("retry is %v", in.Retry())
	}
	if diff := cmp.Diff([]string{"keep-alive", ""}, comments); diff != "" {
		t.Error(diff)
	}
}

// TestReadEvents: what a client makes of streams that end well and badly.
func TestReadEvents(t *testing.T) {
	const started, finished = "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n", "data: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n"
	reset := errors.New("reset")
	for _, c := range []struct {
		name   string
		in     io.Reader
		opts   *agui.EventsOptions
		events int
		check  func(error) bool
	}{
		{"complete", strings.NewReader(started + finished), nil, 2, isNil},
		{"two runs", strings.NewReader(started + finished + started + finished), nil, 4, isNil},
		{"error ends it too", strings.NewReader(started + "data: {\"type\":\"RUN_ERROR\",\"message\":\"m\"}\n\n"), nil, 2, isNil},
		{"last blank line missing", strings.NewReader(started + strings.TrimSuffix(finished, "\n\n")), nil, 2, isNil},
		{"empty", strings.NewReader(""), nil, 0, incomplete(0, "")},
		{"comments only", strings.NewReader(": hi\n\n"), nil, 0, incomplete(0, "")},
		{"cut between frames", strings.NewReader(started), nil, 1, incomplete(1, agui.TypeRunStarted)},
		{"cut inside a frame", strings.NewReader(started + finished[:40]), nil, 1, incomplete(1, agui.TypeRunStarted)},
		{"cut inside a frame, bare", strings.NewReader(started + finished[:40]), &agui.EventsOptions{Bare: true}, 1, isNil},
		{"second run cut", strings.NewReader(started + finished + started), nil, 3, incomplete(3, agui.TypeRunStarted)},
		{"reset", io.MultiReader(strings.NewReader(started), iotest.ErrReader(reset)), nil, 1, func(err error) bool {
			return errors.Is(err, agui.ErrIncomplete) && errors.Is(err, reset)
		}},
		{"reset after the end", io.MultiReader(strings.NewReader(started+finished), iotest.ErrReader(reset)), nil, 2, func(err error) bool {
			return errors.Is(err, reset) && !errors.Is(err, agui.ErrIncomplete)
		}},
		{"bare", strings.NewReader(started), &agui.EventsOptions{Bare: true}, 1, isNil},
		{"bare and empty", strings.NewReader(""), &agui.EventsOptions{Bare: true}, 0, isNil},
		{"DONE", strings.NewReader(started + finished + "data: [DONE]\n\n"), nil, 2, isDecodeError},
		{"out of order", strings.NewReader(started + started), &agui.EventsOptions{Sequence: new(agui.Sequence)}, 1, func(err error) bool {
			var e *agui.SequenceError
			return errors.As(err, &e) && e.Event == agui.TypeRunStarted
		}},
		{"too long", strings.NewReader(started + "data: " + strings.Repeat("x", 100)), &agui.EventsOptions{Reader: agui.ReaderOptions{MaxLine: 90}}, 1, func(err error) bool {
			var e *agui.LimitError
			return errors.Is(err, agui.ErrIncomplete) && errors.As(err, &e)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, ended := 0, false
			var last error
			for rec, err := range agui.ReadEvents(c.in, c.opts) {
				if ended {
					t.Fatal("the sequence goes on after an error")
				}
				if err != nil {
					last, ended = err, true
					continue
				}
				if n++; rec.Event == nil || !bytes.Contains(rec.Data, []byte(rec.Event.EventType())) {
					t.Errorf("event %d: %v from %q", n, rec.Event, rec.Data)
				}
			}
			if n != c.events || !c.check(last) {
				t.Errorf("%d events, then %v", n, last)
			}
		})
	}
}

func isNil(err error) bool { return err == nil }

func isDecodeError(err error) bool {
	var e *agui.DecodeError
	return errors.As(err, &e)
}

func incomplete(events int, last agui.EventType) func(error) bool {
	return func(err error) bool {
		var e *agui.IncompleteError
		return errors.Is(err, agui.ErrIncomplete) && errors.As(err, &e) && e.Events == events && e.Last == last && e.Err == nil
	}
}

// TestReadEventsPositions: ids are delivered as Last-Event-ID needs them, and
// breaking out reads no further.
func TestReadEventsPositions(t *testing.T) {
	src := "id: e-1\ndata: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\ndata: {\"type\":\"CUSTOM\",\"name\":\"n\",\"value\":1}\n\nid: e-2\ndata: {\"type\":\"RAW\",\"event\":1}\n\n"
	var got []string
	for rec, err := range agui.ReadEvents(strings.NewReader(src), &agui.EventsOptions{Bare: true}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %v", rec.Event.EventType(), rec.ID, rec.OwnID))
		if rec.Event.EventType() == agui.TypeRaw {
			break
		}
	}
	if diff := cmp.Diff([]string{"RUN_STARTED e-1 true", "CUSTOM e-1 false", "RAW e-2 true"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestThinking: retired reasoning events arrive as their successors.
func TestThinking(t *testing.T) {
	var src []byte
	for _, text := range []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
		`{"type":"THINKING_START","title":"Hm"}`,
		`{"type":"THINKING_TEXT_MESSAGE_START","timestamp":5}`,
		`{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"so","metadata":{"k":1}}`,
		`{"type":"THINKING_TEXT_MESSAGE_END"}`,
		`{"type":"THINKING_END"}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`,
	} {
		src = append(src, "data: "+text+"\n\n"...)
	}
	n := 0
	opts := &agui.EventsOptions{Sequence: new(agui.Sequence), NewID: func() string { n++; return fmt.Sprint("id", n) }}
	var got []string
	for rec, err := range agui.ReadEvents(bytes.NewReader(src), opts) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(agui.AppendEvent(nil, rec.Event, agui.V1)))
	}
	want := []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
		`{"type":"REASONING_START","messageId":"id1"}`,
		`{"type":"REASONING_MESSAGE_START","messageId":"id2","role":"reasoning","timestamp":5}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"id2","delta":"so","metadata":{"k":1}}`,
		`{"type":"REASONING_MESSAGE_END","messageId":"id2"}`,
		`{"type":"REASONING_END","messageId":"id1"}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var u agui.Upgrader
	a, _ := u.Upgrade(&agui.Unknown{Type: "THINKING_END"}).(*agui.ReasoningEnd)
	b, _ := u.Upgrade(&agui.Unknown{Type: "THINKING_END"}).(*agui.ReasoningEnd)
	if a == nil || b == nil || a.MessageID == "" || a.MessageID == b.MessageID {
		t.Errorf("made-up ids are %v and %v", a, b)
	}
}
