package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// HTTPError is an answer with another status than success: the request did
// nothing.
type HTTPError struct {
	Status int
	Body   string // at most 64 KB of it
	// Problems are what a Lockstep server says is wrong; nil where the body
	// says nothing of the kind.
	Problems []Problem
	// RunID is that of the run that is active, where that is the reason (409).
	RunID string
	// RetryAfter is how long the server asks to wait; zero where it does not.
	RetryAfter time.Duration

	whole []byte // the body, where an edit may want more of it
}

// Problem is one thing that is wrong with a request.
type Problem struct {
	// Path is a JSON Pointer into what was sent, or names a header or a route.
	Path    string `json:"path"`
	Message string `json:"message"`
	Offset  int    `json:"offset"` // the body's byte, where it is no JSON
}

func newHTTPError(res *http.Response, body []byte) *HTTPError {
	e := &HTTPError{Status: res.StatusCode, Body: string(body[:min(len(body), maxRefusal)]), whole: body}
	var said struct {
		Errors []Problem `json:"errors"`
		RunID  string    `json:"runId"`
	}
	if json.Unmarshal(body, &said) == nil {
		e.Problems, e.RunID = said.Errors, said.RunID
	}
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e
}

// maxSaid is how much of a body is part of the error's text.
const maxSaid = 300

// Error names the status and what the server said; of another server's body, the
// beginning.
func (e *HTTPError) Error() string {
	s := fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
	said := strings.TrimSpace(e.Body)
	if len(said) > maxSaid { // mostly a web page
		said = strings.ToValidUTF8(said[:maxSaid], "") + "…"
	}
	if len(e.Problems) > 0 {
		var lines []string
		for _, p := range e.Problems {
			if p.Path != "" {
				p.Message = p.Path + ": " + p.Message
			}
			lines = append(lines, p.Message)
		}
		said = strings.Join(lines, "; ")
	}
	if said != "" {
		s += ": " + said
	}
	if e.RunID != "" {
		s += " (run " + e.RunID + ")"
	}
	return s
}

// RunError is a run that the server ended with RUN_ERROR.
type RunError struct{ Event *agui.RunError }

// Error is the event's message and code.
func (e *RunError) Error() string {
	if e.Event.Code == "" {
		return e.Event.Message
	}
	return e.Event.Message + " (" + e.Event.Code + ")"
}

// Conflict is a place that an edit or an undo could not have.
type Conflict struct {
	Path jsondoc.Pointer `json:"path"`
	// Predicted says that nothing but an agent's prediction is there yet.
	Predicted bool `json:"predicted"`
}

// ConflictError is an edit or an undo that was not made: somebody else's change
// was in the way, or what it was made on is not known to the server any more
// (then there are no Conflicts). Nothing was changed.
type ConflictError struct {
	Reason    string
	Conflicts []Conflict
	// Position, Revision and State are what the thread is like now.
	Position string
	Revision uint64
	State    jsondoc.Value

	answer *HTTPError
	undo   bool
}

// Error names what was not done, the reason and the places.
func (e *ConflictError) Error() string {
	s := "the edit was not made: " + e.Reason
	if e.undo {
		s = "nothing was taken back: " + e.Reason
	}
	for i, c := range e.Conflicts {
		s += map[bool]string{true: ": ", false: ", "}[i == 0] + strconv.Quote(string(c.Path))
	}
	return s
}

// Unwrap returns the [*HTTPError] that the server answered with.
func (e *ConflictError) Unwrap() error { return e.answer }

// asConflict reads a 409 that says what was in the way.
func asConflict(err error) error {
	var answer *HTTPError
	if !errors.As(err, &answer) || answer.Status != http.StatusConflict || answer.RunID != "" {
		return err
	}
	body, failed := jsondoc.Parse(answer.whole, nil)
	if failed != nil {
		return err // another server's
	}
	e := &ConflictError{answer: answer}
	var head struct {
		Message   string     `json:"message"`
		Conflicts []Conflict `json:"conflicts"`
		Position  string     `json:"position"`
		Revision  uint64     `json:"revision"`
	}
	if body.Decode(&head) != nil {
		return err
	}
	e.Reason, e.Conflicts, e.Position, e.Revision = head.Message, head.Conflicts, head.Position, head.Revision
	e.State, _ = body.Get("state")
	return e
}

// ConflictReport is what a lockstep.conflict event says: two people, or a person
// and the agent, changed the same places, and somebody's value had to go.
type ConflictReport struct {
	Paths  []jsondoc.Pointer `json:"paths"`
	Policy string            `json:"policy"` // client, server or reject: whose value stays
}

// ConflictFrom reads a lockstep.conflict event; ok is false for any other.
func ConflictFrom(e agui.Event) (report ConflictReport, ok bool) {
	c, ok := e.(*agui.Custom)
	if !ok || c.Name != "lockstep.conflict" || c.Value.Decode(&report) != nil {
		return ConflictReport{}, false
	}
	return report, true
}

// NotEventsError is a successful answer that is no stream of events, such as a
// web page's: what is at the address is most likely no agent.
type NotEventsError struct {
	ContentType string // without parameters; empty where there is none
}

// Error says what came instead.
func (e *NotEventsError) Error() string {
	what := e.ContentType
	if what == "" {
		what = "no content type"
	}
	return "the server answered with " + what + " and not with text/event-stream; is that an AG-UI endpoint?"
}

// errNoPositions says that a stream is not one of a Lockstep server's thread.
var errNoPositions = fmt.Errorf("client: %d events came and none had a position: that is no thread of a Lockstep server", maxPrelude)

// noRoute reports whether an error says that a server has no threads route:
// it is an AG-UI server of another make.
func noRoute(err error) bool {
	var status *HTTPError
	var other *NotEventsError
	if errors.As(err, &status) {
		switch status.Status {
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
			return true
		}
	}
	return errors.As(err, &other)
}

// final reports whether trying again cannot help: the server has refused, or
// what it sends is against the protocol.
func final(err error) bool {
	var status *HTTPError
	if errors.As(err, &status) {
		switch status.Status {
		case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
			return false
		case http.StatusNotImplemented:
			return true
		}
		return status.Status < 500
	}
	var (
		decode   *agui.DecodeError
		sequence *agui.SequenceError
		limit    *agui.LimitError
		other    *NotEventsError
	)
	return errors.As(err, &decode) || errors.As(err, &sequence) || errors.As(err, &limit) || errors.As(err, &other) || errors.Is(err, errNoPositions)
}
