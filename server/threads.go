package server

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/run"
	"github.com/lockstep-go/lockstep/thread"
)

// open opens the thread that a route names.
func (h *Handler) open(w http.ResponseWriter, r *http.Request) (*thread.Thread, string, bool) {
	id := r.PathValue("id")
	if id == "" {
		fail(w, http.StatusNotFound, problem{Path: "threadId", Message: "a thread id is a non-empty string"})
		return nil, "", false
	}
	t, err := h.threads.Open(r.Context(), h.key(r, id), h.model)
	if err != nil {
		h.refuse(w, r, err)
		return nil, "", false
	}
	return t, id, true
}

// hydrate answers GET P/threads/{id}: everything that a client needs to show the
// thread, and the position to attach with. The model is not called.
func (h *Handler) hydrate(w http.ResponseWriter, r *http.Request) {
	t, id, ok := h.open(w, r)
	if !ok {
		return
	}
	defer t.Close()
	s := t.Snapshot()
	if !s.Known() {
		fail(w, http.StatusNotFound, problem{Path: "threadId", Message: "there is no such thread"})
		return
	}
	view := s.View
	if view.IsAbsent() {
		view = jsondoc.Object()
	}
	active := activeRun(s)
	predicted := []jsondoc.Value{}
	for _, p := range h.model.Predicted(s.State, view) {
		predicted = append(predicted, jsondoc.String(string(p)))
	}
	messages := []jsondoc.Value{}
	for _, m := range s.Messages {
		messages = append(messages, agui.Document(&m))
	}
	body := jsondoc.Object(
		jsondoc.Member{Name: "threadId", Value: jsondoc.String(id)},
		jsondoc.Member{Name: "position", Value: jsondoc.String(s.Position.String())},
		jsondoc.Member{Name: "oldest", Value: jsondoc.String(s.Oldest().String())},
		jsondoc.Member{Name: "revision", Value: jsondoc.Int(int64(s.Revision))},
		jsondoc.Member{Name: "state", Value: view},
		jsondoc.Member{Name: "predicted", Value: jsondoc.Array(predicted...)},
		jsondoc.Member{Name: "messages", Value: jsondoc.Array(messages...)},
		jsondoc.Member{Name: "interrupts", Value: interrupts(s)},
		jsondoc.Member{Name: "activeRun", Value: active},
	)
	w.Header().Set("ETag", `"`+s.Position.String()+`"`)
	replyDoc(w, http.StatusOK, body)
}

// activeRun is the run that is active, or null.
func activeRun(s thread.Snapshot) jsondoc.Value {
	if s.Active == nil {
		return jsondoc.Null
	}
	return jsondoc.Object(
		jsondoc.Member{Name: "runId", Value: jsondoc.String(s.Active.RunID)},
		jsondoc.Member{Name: "startedAt", Value: jsondoc.String(agui.FormatTime(s.Active.Started))},
	)
}

// interrupts are the open ones.
func interrupts(s thread.Snapshot) jsondoc.Value {
	list := []jsondoc.Value{}
	for _, i := range run.Interrupts(s.Open) {
		list = append(list, agui.Document(&i))
	}
	return jsondoc.Array(list...)
}

// events answers GET P/threads/{id}/events: everything on the thread from a
// position on, or from a prelude on, live and across runs.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) {
	t, id, ok := h.open(w, r)
	if !ok {
		return
	}
	defer t.Close()
	query := r.URL.Query()
	version := agui.VersionFor(query.Get("protocolVersion"))
	live := query.Get("live") != "false"
	// The header wins: a browser's EventSource reconnects with the address that it
	// was opened with, and says in the header how far it has come since.
	position := cmp.Or(r.Header.Get("Last-Event-ID"), query.Get("after"))

	defer t.Watch()()
	s := t.Snapshot()
	after, bare := s.After(position)
	out := h.stream(w, r, &agui.WriterOptions{KeepAlive: h.opts.KeepAlive, Version: version})
	if out == nil {
		return
	}
	defer out.Close()
	if !bare {
		// Frames made for one viewer have no id, except the last, which names
		// the position that all of them stand for.
		prelude := s.Prelude(id)
		for i, e := range prelude {
			at := ""
			if i == len(prelude)-1 {
				at = s.Position.String()
			}
			if err := out.WriteEvent(at, e); err != nil {
				return
			}
		}
		after = s.Position
	}
	if !live && s.Active == nil && after == s.Position {
		return
	}
	running := s.Active != nil
	for p, err := range t.Follow(r.Context(), after) {
		if lost := (*thread.LostError)(nil); errors.As(err, &lost) {
			farewell(out, err)
		}
		if err != nil {
			return
		}
		if frame := p.Frame(version); len(frame) > 0 {
			if err := out.WriteFrame(frame); err != nil {
				return
			}
		}
		switch p.Event.(type) {
		case *agui.RunStarted:
			running = true
		case *agui.RunError:
			running = false
			if version == agui.V0 {
				return // a client before 1.0 takes nothing after it, and attaches again
			}
		case *agui.RunFinished:
			running = false
		}
		if !live && !running && p.Seq >= s.Position.Seq {
			return
		}
	}
}

// stop answers DELETE P/threads/{id}/run.
func (h *Handler) stop(w http.ResponseWriter, r *http.Request) {
	t, _, ok := h.open(w, r)
	if !ok {
		return
	}
	defer t.Close()
	if !t.Stop() {
		fail(w, http.StatusNotFound, problem{Message: "no run is active on this thread"})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// forget answers DELETE P/threads/{id}.
func (h *Handler) forget(w http.ResponseWriter, r *http.Request) {
	t, _, ok := h.open(w, r)
	if !ok {
		return
	}
	defer t.Close()
	if err := t.Forget(r.Context()); err != nil {
		h.refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// How many threads a list has: unless asked for, and at most.
const (
	defaultPage = 50
	maxPage     = 200
)

// list answers GET P/threads: the caller's, newest first.
func (h *Handler) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit := defaultPage
	if s := query.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			fail(w, http.StatusBadRequest, problem{Path: "limit", Message: "a number from 1 on"})
			return
		}
		limit = min(n, maxPage)
	}
	after, err := parseCursor(query.Get("after"))
	if err != nil {
		fail(w, http.StatusBadRequest, problem{Path: "after", Message: "want the next of an earlier answer"})
		return
	}
	key := h.key(r, "")
	page, err := h.threads.List(r.Context(), key.Agent, key.Principal, after, limit+1)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	next := jsondoc.Null
	if len(page) > limit {
		page = page[:limit]
		next = jsondoc.String(cursor(page[limit-1]))
	}
	threads := []jsondoc.Value{}
	for _, one := range page {
		t, err := h.threads.Open(r.Context(), h.key(r, one.ID), h.model)
		if err != nil {
			h.refuse(w, r, err)
			return
		}
		s := t.Snapshot()
		t.Close()
		if !s.Known() {
			continue // forgotten meanwhile
		}
		threads = append(threads, jsondoc.Object(
			jsondoc.Member{Name: "threadId", Value: jsondoc.String(one.ID)},
			jsondoc.Member{Name: "updated", Value: jsondoc.String(agui.FormatTime(one.Updated))},
			jsondoc.Member{Name: "title", Value: jsondoc.String(title(s.Messages))},
			jsondoc.Member{Name: "activeRun", Value: activeRun(s)},
			jsondoc.Member{Name: "interrupts", Value: interrupts(s)},
		))
	}
	replyDoc(w, http.StatusOK, jsondoc.Object(
		jsondoc.Member{Name: "threads", Value: jsondoc.Array(threads...)},
		jsondoc.Member{Name: "next", Value: next},
	))
}

// A cursor is opaque to clients: the time of a page's last thread, and its id.
func cursor(l thread.Listed) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", l.Updated.UnixMilli(), l.ID))
}

func parseCursor(s string) (thread.Listed, error) {
	if s == "" {
		return thread.Listed{}, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return thread.Listed{}, err
	}
	ms, id, _ := strings.Cut(string(text), " ")
	n, err := strconv.ParseInt(ms, 10, 64)
	return thread.Listed{ID: id, Updated: time.UnixMilli(n).UTC()}, err
}

// maxTitle bounds a title, in characters.
const maxTitle = 80

// title is what the conversation began with.
func title(messages []agui.Message) string {
	for _, m := range messages {
		if m.Role != agui.RoleUser {
			continue
		}
		words := strings.Join(strings.Fields(m.Content.Text()), " ")
		if text := []rune(words); len(text) > maxTitle {
			return string(text[:maxTitle-1]) + "…"
		}
		return words
	}
	return ""
}
