package server

import (
	"net/http"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/thread"
)

// open opens the thread that a route names.
func (h *Handler) open(w http.ResponseWriter, r *http.Request) (*thread.Thread, string, bool) {
	id := r.PathValue("id")
	if id == "" {
		fail(w, http.StatusNotFound, problem{Path: "threadId", Message: "a thread id is a non-empty string"})
		return nil, "", false
	}
	t, err := h.threads.Open(r.Context(), thread.Key{Agent: h.opts.Name, ID: id})
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
	predicted := []jsondoc.Value{}
	for _, p := range h.model.Predicted(s.State, view) {
		predicted = append(predicted, jsondoc.String(string(p)))
	}
	messages := []jsondoc.Value{}
	for _, m := range s.Messages {
		messages = append(messages, jsondoc.MustParse(string(m.AppendJSON(nil))))
	}
	active := jsondoc.Null
	if s.Active != nil {
		active = jsondoc.Object(
			jsondoc.Member{Name: "runId", Value: jsondoc.String(s.Active.RunID)},
			jsondoc.Member{Name: "startedAt", Value: jsondoc.String(s.Active.Started.Format("2006-01-02T15:04:05.000Z"))},
		)
	}
	body := jsondoc.Object(
		jsondoc.Member{Name: "threadId", Value: jsondoc.String(id)},
		jsondoc.Member{Name: "position", Value: jsondoc.String(s.Position.String())},
		jsondoc.Member{Name: "revision", Value: jsondoc.Int(int64(s.Revision))},
		jsondoc.Member{Name: "state", Value: view},
		jsondoc.Member{Name: "predicted", Value: jsondoc.Array(predicted...)},
		jsondoc.Member{Name: "messages", Value: jsondoc.Array(messages...)},
		jsondoc.Member{Name: "interrupts", Value: jsondoc.Array()},
		jsondoc.Member{Name: "activeRun", Value: active},
	)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body.AppendJSON(nil)) // the client has gone
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
	position := r.Header.Get("Last-Event-ID")
	if p := query.Get("after"); p != "" {
		position = p
	}

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
		after = s.Position.Seq
	}
	if !live && s.Active == nil && after == s.Position.Seq {
		return
	}
	running := s.Active != nil
	for p, err := range t.Follow(r.Context(), after) {
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
