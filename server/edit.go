package server

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/thread"
)

// edit answers PATCH P/threads/{id}/state: a person's change of the state, as
// JSON Patch or JSON Merge Patch, at any time.
func (h *Handler) edit(w http.ResponseWriter, r *http.Request) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != patchType && media != mergeType {
		w.Header().Set("Accept-Patch", patchType+", "+mergeType)
		fail(w, http.StatusUnsupportedMediaType, problem{Path: "Content-Type", Message: "send " + patchType + " or " + mergeType})
		return
	}
	body, ok := h.readBody(w, r)
	if !ok {
		return
	}
	e := thread.Edit{Base: etag(r.Header.Get("If-Match"))}
	if media == patchType {
		e.Patch, err = jsondoc.ParsePatch(body)
		if e.Patch == nil {
			e.Patch = jsondoc.Patch{}
		}
	} else {
		e.Merge, err = jsondoc.Parse(body, nil)
	}
	if err != nil {
		fail(w, http.StatusBadRequest, patchProblem(err))
		return
	}
	t, _, ok := h.open(w, r)
	if !ok {
		return
	}
	defer t.Close()
	done, err := t.Edit(r.Context(), e)
	if err != nil {
		h.refuseEdit(w, r, err)
		return
	}
	w.Header().Set("ETag", `"`+done.Position.String()+`"`)
	replyDoc(w, http.StatusOK, jsondoc.Object(
		jsondoc.Member{Name: "position", Value: jsondoc.String(done.Position.String())},
		jsondoc.Member{Name: "revision", Value: jsondoc.Int(int64(done.Revision))},
		jsondoc.Member{Name: "merged", Value: jsondoc.Bool(done.Merged)},
	))
}

// Media types of the two kinds of patches (RFC 6902, RFC 7396).
const (
	patchType = "application/json-patch+json"
	mergeType = "application/merge-patch+json"
)

// etag is the one entity tag of an If-Match header, without its quotes. A star
// stands for whatever is there.
func etag(header string) string {
	s := strings.TrimPrefix(strings.TrimSpace(header), "W/")
	if s == "*" {
		return ""
	}
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
		if s == "" {
			return `""` // an empty tag names nothing
		}
	}
	return s
}

func patchProblem(err error) problem {
	var syntax *jsondoc.SyntaxError
	if errors.As(err, &syntax) {
		return problem{Path: string(syntax.Path), Message: syntax.Reason, Offset: int(syntax.Offset)}
	}
	return problem{Message: err.Error()}
}

// undo answers POST P/threads/{id}/undo.
func (h *Handler) undo(w http.ResponseWriter, r *http.Request) {
	t, _, ok := h.open(w, r)
	if !ok {
		return
	}
	defer t.Close()
	if !t.Snapshot().Known() {
		fail(w, http.StatusNotFound, problem{Path: "threadId", Message: "there is no such thread"})
		return
	}
	done, err := t.Undo(r.Context())
	if err != nil {
		h.refuseEdit(w, r, err)
		return
	}
	replyDoc(w, http.StatusOK, jsondoc.Object(
		jsondoc.Member{Name: "position", Value: jsondoc.String(done.Position.String())},
		jsondoc.Member{Name: "revision", Value: jsondoc.Int(int64(done.Revision))},
		jsondoc.Member{Name: "conflicts", Value: conflicts(done.Conflicts)},
	))
}

func conflicts(list []thread.Conflict) jsondoc.Value {
	out := make([]jsondoc.Value, len(list))
	for i, c := range list {
		out[i] = jsondoc.Object(jsondoc.Member{Name: "path", Value: jsondoc.String(string(c.Path))})
		if c.Predicted {
			out[i] = out[i].With("predicted", jsondoc.True)
		}
	}
	return jsondoc.Array(out...)
}

// refuseEdit answers an edit or an undo that was not made.
func (h *Handler) refuseEdit(w http.ResponseWriter, r *http.Request, err error) {
	var refused *thread.RefusedError
	var readOnly *thread.ReadOnlyError
	var patch *thread.PatchError
	switch {
	case errors.As(err, &refused):
		replyDoc(w, http.StatusConflict, jsondoc.Object(
			jsondoc.Member{Name: "message", Value: jsondoc.String(refused.Reason)},
			jsondoc.Member{Name: "conflicts", Value: conflicts(refused.Conflicts)},
			jsondoc.Member{Name: "position", Value: jsondoc.String(refused.Position.String())},
			jsondoc.Member{Name: "revision", Value: jsondoc.Int(int64(refused.Revision))},
			jsondoc.Member{Name: "state", Value: refused.View},
		))
	case errors.As(err, &readOnly):
		a := answer{}
		for _, p := range readOnly.Paths {
			a.Errors = append(a.Errors, problem{Path: string(p), Message: "this place may only be read"})
		}
		failWith(w, http.StatusForbidden, a)
	case errors.As(err, &patch):
		failWith(w, http.StatusUnprocessableEntity, answer{Errors: []problem{editProblem(patch.Err)}})
	default:
		h.refuse(w, r, err)
	}
}

// editProblem says which operation does not apply, and why.
func editProblem(err error) problem {
	var apply *jsondoc.PatchError
	if errors.As(err, &apply) && apply.Index >= 0 {
		return problem{Path: string(apply.Path), Message: fmt.Sprintf("operation %d (%s): %s", apply.Index, apply.Op, apply.Reason)}
	}
	return problem{Message: err.Error()}
}
