package verify

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/agui"
)

// Kind says which rule was broken, and thereby what a client does about it.
type Kind string

const (
	// Transport: HTTP status, content type, a body that broke or stays open.
	Transport Kind = "transport"
	// Framing: server-sent events that official clients cannot split, or that
	// others drop.
	Framing Kind = "framing"
	// JSON: data that is no JSON. The official client ends the run.
	JSON Kind = "json"
	// Schema: a member that is missing or of another type. The official client
	// ends the run.
	Schema Kind = "schema"
	// Unknown: a type, a member or a tag that AG-UI 1.0 does not describe, or that
	// it retired. The official client drops or rewrites it and logs a warning;
	// 0.0.x ones may end the run.
	Unknown Kind = "unknown"
	// Order: an event that may not come where it comes. The official client ends
	// the run.
	Order Kind = "order"
	// Terminal: no terminal event, two, or something after it. Without one the
	// official client says that all went well.
	Terminal Kind = "terminal"
	// Patch: a delta that does not apply. The official client logs a warning and
	// keeps what it had.
	Patch Kind = "patch"
	// Snapshot: a STATE_DELTA before any STATE_SNAPSHOT of its run. It builds on
	// what the server believes the client to have.
	Snapshot Kind = "snapshot"
	// Identity: an id that names another run or thread, or something else than
	// it should. The official client goes on, with the wrong thing.
	Identity Kind = "identity"
)

// Fault is one thing that is wrong with a stream.
type Fault struct {
	// Event is the event's number, from 1. For what is wrong with the answer or
	// with the end it is that of the last event before, 0 for none.
	Event int
	At    time.Duration // since the request was sent
	// Subject is the event's type as it was sent, or "response", or "end".
	Subject string
	Kind    Kind
	Path    string // JSON Pointer into the event; empty for all of it
	Reason  string
}

// String is the fault as one line: number, time, subject, kind and reason.
func (f Fault) String() string {
	where := ""
	if f.Path != "" {
		where = " at " + clip(f.Path, 400)
	}
	return fmt.Sprintf("event %d, %.1f ms, %s: %s: %s%s", f.Event, float64(f.At)/float64(time.Millisecond), clip(f.Subject, 60), f.Kind, f.Reason, where)
}

// clip shortens what a foreign server chose.
func clip(s string, most int) string {
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// unnamed is the subject of an event without a readable type.
const unnamed = "(no type)"

func subject(t agui.EventType) string {
	if t == "" {
		return unnamed
	}
	return string(t)
}
