// Package verify answers: what is wrong with this stream?
//
// A [Checker] is given what arrived, line by line, and says which rules of AG-UI
// 1.0 it breaks: those at which the official client ends the run, and those about
// which it only logs a warning, or says nothing and shows something wrong.
//
// One mistake is meant to be one fault. So an event that may not come is counted
// as if what it lacks had come before (an opened message, RUN_STARTED), and of an
// event with a broken member the readable rest is used for what follows.
//
// The rules are those of the published 1.0.0 packages: what their schema refuses,
// what their order check refuses, how their patch library applies. Two are
// stricter than any client, since streams that break them leave it to luck what
// is shown: a run's first state event is a snapshot, and a run has one terminal
// event, which is its last.
package verify

import (
	"errors"
	"fmt"
	"mime"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/recording"
	"github.com/lockstep-go/lockstep/jsondoc"
)

const (
	// CloseTime is how long a server may take to close the body after the
	// terminal event. Until then the official client's run is pending.
	CloseTime = 5 * time.Second
	// maxClientFrame is where the official client gives up on a frame, in
	// characters.
	maxClientFrame = 10 << 20
	// maxDeviations bounds the faults of one event.
	maxDeviations = 20
)

// Options says what is known of the stream beside what arrives.
type Options struct {
	// Input is what was posted: whose answer the stream is, and the history and
	// state that its client has. Nil for a stream that was attached to.
	Input *agui.RunAgentInput
}

// Checker checks one stream. It is not safe for concurrent use.
type Checker struct {
	input *agui.RunAgentInput
	seq   agui.Sequence
	older agui.Upgrader
	held  *agui.Reducer // what a client holds

	number  int           // of events
	at      time.Duration // of the last line
	refused bool          // the answer was a refusal: no events are missing
	crs     bool          // carriage returns were told

	runs       int
	open       bool // a run is
	ended      bool // its terminal event came; nothing but RUN_STARTED may follow
	runID      string
	terminal   agui.Event
	terminalAt time.Duration
	snapshot   bool // of the state, in this run
	unsure     bool // a state event was unreadable: patches cannot be judged
	salvaged   bool // the current event is the readable rest of a broken one
	unnamed    bool // the run's RUN_STARTED was: its ids may not be readable

	faults []Fault // of the current line
	total  int
}

// New returns a Checker for one stream. Nil options are the defaults.
func New(opts *Options) *Checker {
	c := &Checker{}
	if opts != nil {
		c.input = opts.Input
	}
	var (
		history []agui.Message
		state   jsondoc.Value
	)
	if c.input != nil {
		history, state = c.input.Messages, c.input.State
	}
	c.held = agui.NewReducer(history, state)
	return c
}

// Line takes what arrived next and returns what is wrong with it.
func (c *Checker) Line(l recording.Line) []Fault {
	c.faults = nil
	c.at = l.At
	switch {
	case l.Response != nil:
		c.response(l.Response)
	case l.End != "":
		c.end(l)
	default:
		c.event(l)
	}
	c.total += len(c.faults)
	return c.faults
}

// Events, Runs and Faults count what there was so far.
func (c *Checker) Events() int { return c.number }

// Runs is how many RUN_STARTED events there were.
func (c *Checker) Runs() int { return c.runs }

// Faults is how many faults were found.
func (c *Checker) Faults() int { return c.total }

// Terminal is the terminal event of the newest run; nil if there is none.
func (c *Checker) Terminal() agui.Event { return c.terminal }

// Held is what a client holds after the stream: with what the next run is asked.
func (c *Checker) Held() agui.Reduction { return c.held.Reduction() }

func (c *Checker) fault(subject string, kind Kind, path, format string, args ...any) {
	c.faults = append(c.faults, Fault{
		Event: c.number, At: c.at, Subject: subject, Kind: kind, Path: path, Reason: fmt.Sprintf(format, args...),
	})
}

// response checks the answer's head.
func (c *Checker) response(r *recording.Response) {
	if r.Status/100 != 2 {
		c.refused = true
		text := strings.Join(strings.Fields(r.Body), " ")
		c.fault("response", Transport, "", "status %d: %s", r.Status, clip(text, 300))
		return
	}
	if media, _, err := mime.ParseMediaType(r.ContentType); err != nil || media != "text/event-stream" {
		what := fmt.Sprintf("the content type is %q", clip(r.ContentType, 100))
		if r.ContentType == "" {
			what = "there is no content type"
		}
		c.fault("response", Transport, "", "%s; events that were asked for as text/event-stream come as that", what)
	}
}

// end checks what is missing when nothing more comes.
func (c *Checker) end(l recording.Line) {
	if c.refused || l.End == recording.Stopped {
		return
	}
	why := ""
	switch l.End {
	case recording.Broken:
		why = ": the connection broke (" + clip(l.Reason, 200) + ")"
	case recording.TimedOut:
		why = ": nothing more came in the time that it was given"
	}
	switch {
	case c.open:
		c.fault("end", Terminal, "", "run %q ends without RUN_FINISHED or RUN_ERROR%s", clip(c.runID, 100), why)
	case !c.ended && c.number > 0:
		c.fault("end", Terminal, "", "none of the events belongs to a run%s", why)
	case !c.ended:
		c.fault("end", Terminal, "", "there is no event at all%s", why)
	case l.End == recording.Broken:
		c.fault("end", Transport, "", "the connection broke after the terminal event (%s)", clip(l.Reason, 200))
	case c.input == nil: // a thread's stream goes on across runs
	case l.End == recording.Open:
		c.fault("end", Transport, "", "the body is still open %s after the terminal event; the official client's run stays pending until it is closed", seconds(l.At-c.terminalAt))
	case l.At-c.terminalAt > CloseTime:
		c.fault("end", Transport, "", "the body was closed only %s after the terminal event; the official client's run was pending until then", seconds(l.At-c.terminalAt))
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// event checks one event, as its bytes came.
func (c *Checker) event(l recording.Line) {
	c.number++
	doc, ok := c.document(l)
	if !ok {
		return
	}
	typ, _ := doc.Get("type")
	name := subject(agui.EventType(typ.Str()))
	c.frame(name, l)
	e := c.decode(doc, l.Data, name)
	if e == nil {
		return
	}
	if !c.order(e) {
		return
	}
	c.apply(e)
}

// document reads the data as JSON.
func (c *Checker) document(l recording.Line) (jsondoc.Value, bool) {
	doc, err := jsondoc.Parse(l.Data, &jsondoc.ParseOptions{KeepLast: true, ReplaceInvalid: true})
	var syntax *jsondoc.SyntaxError
	switch {
	case err == nil:
		return doc, true
	case l.Cut:
		c.fault(unnamed, Framing, "", "the body was cut in the middle of an event: %q", tail(l.Data))
	case errors.As(err, &syntax):
		c.fault(unnamed, JSON, "", "the data is not JSON: %s at byte %d: %q", syntax.Reason, syntax.Offset, clip(string(l.Data), 60))
	default:
		c.fault(unnamed, JSON, "", "the data is not JSON: %v", err)
	}
	return doc, false
}

func tail(data []byte) string {
	if len(data) > 60 {
		return "…" + string(data[len(data)-60:])
	}
	return string(data)
}

// frame checks how the event was framed.
func (c *Checker) frame(name string, l recording.Line) {
	if l.CR && !c.crs {
		c.crs = true
		c.fault(name, Framing, "", "there is a carriage return; official clients split frames at LF LF only")
	}
	if l.Cut {
		c.fault(name, Framing, "", "the body ends without the blank line that ends an event; readers that keep to the standard drop this one")
	}
	if !utf8.Valid(l.Data) {
		c.fault(name, Framing, "", "the data is not UTF-8; clients show U+FFFD instead")
	}
	if len(l.Data) > maxClientFrame && utf8.RuneCount(l.Data) > maxClientFrame {
		c.fault(name, Framing, "", "the event has %d bytes; the official client gives up above 10 MiB", len(l.Data))
	}
}

// decode checks the event against the schema. Of one that breaks it, as much is
// returned as is needed to follow the stream; nil for nothing.
func (c *Checker) decode(doc jsondoc.Value, data []byte, name string) agui.Event {
	deviations := 0
	c.salvaged = false
	opts := &agui.DecodeOptions{Strict: true, Report: func(d agui.Deviation) {
		if openOperation(d) {
			return
		}
		if deviations++; deviations <= maxDeviations {
			c.fault(name, Unknown, d.Path, "%s", deviation(d, name))
		}
	}}
	e, err := agui.DecodeEvent(data, opts)
	if deviations > maxDeviations {
		c.fault(name, Unknown, "", "and %d more of this kind", deviations-maxDeviations)
	}
	if err != nil {
		var d *agui.DecodeError
		if errors.As(err, &d) {
			c.fault(name, Schema, d.Path, "%s", d.Reason)
		} else {
			c.fault(name, Schema, "", "%v", err)
		}
		e, c.salvaged = salvage(doc, data), true
		switch agui.EventType(name) {
		case agui.TypeStateSnapshot:
			c.snapshot, c.unsure = true, true
		case agui.TypeStateDelta:
			c.unsure = true
		}
	}
	if e == nil {
		return nil
	}
	return c.older.Upgrade(e)
}

// openOperation reports whether d is about a further member of a patch operation.
// Operations are open objects: RFC 6902 has such members ignored, and the official
// client keeps them.
func openOperation(d agui.Deviation) bool {
	return d.Reason == "unknown member" && strings.Count(d.Path, "/") == 3 &&
		(d.Event == agui.TypeStateDelta && strings.HasPrefix(d.Path, "/delta/") ||
			d.Event == agui.TypeActivityDelta && strings.HasPrefix(d.Path, "/patch/"))
}

// deviation words what the decoder reported.
func deviation(d agui.Deviation, name string) string {
	switch {
	case d.Reason == "unknown event type" && strings.HasPrefix(name, "THINKING_"):
		return "retired event type; REASONING_* took its place"
	case d.Reason == "unknown event type":
		return "unknown event type; types are upper snake case, and there are " + fmt.Sprint(len(agui.EventTypes()))
	case d.Reason == "null for an optional member":
		return "null for an optional member; leave it out"
	}
	return d.Reason
}

// salvage makes an event of what is readable of a broken one: the members that
// tell what it opens, continues or ends.
func salvage(doc jsondoc.Value, data []byte) agui.Event {
	if e, err := agui.DecodeEvent(data, nil); err == nil {
		return e
	}
	var members []jsondoc.Member
	for _, m := range []struct {
		name     string
		fallback bool // an empty one will do
	}{
		{"type", false}, {"messageId", false}, {"toolCallId", false}, {"stepName", false}, {"subagentRunId", false},
		{"threadId", true}, {"runId", true}, {"message", true}, {"toolCallName", true}, {"name", true}, {"delta", true},
	} {
		v, _ := doc.Get(m.name)
		switch {
		case v.Kind() == jsondoc.KindString:
		case m.fallback:
			v = jsondoc.String("")
		default:
			continue
		}
		members = append(members, jsondoc.Member{Name: m.name, Value: v})
	}
	e, err := agui.DecodeEvent(jsondoc.Object(members...).AppendJSON(nil), nil)
	if err != nil {
		return nil
	}
	return e
}

var versionGrammar = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$`)
