package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// Edited is what became of an edit or an undo.
type Edited struct {
	Position string `json:"position"`
	Revision uint64 `json:"revision"`
	// Merged says that the state had moved since the edit's base, and both
	// changes were kept.
	Merged bool `json:"merged"`
	// Conflicts, of an undo, are places that were changed since; they stay as
	// they are.
	Conflicts []Conflict `json:"conflicts"`
}

// Patch changes the state on the server, at any time, during a run too, and
// creates an unknown thread. The patch is made on the state as it was last
// shown: where it has moved on the server, both changes are kept, or the error
// is a [*ConflictError] with the places. An [*HTTPError] of status 403 names
// places that may only be read, one of 422 what the schema does not allow or
// which operation does not apply.
//
// When Patch returns without an error, State shows the edit, unless the
// connection broke in between. A state that SetState left for the next run is
// changed, too.
func (t *Thread) Patch(ctx context.Context, p jsondoc.Patch) (Edited, error) {
	return t.send(ctx, patchType, p.AppendJSON(nil), t.shown(), func(doc jsondoc.Value) (jsondoc.Value, error) {
		return p.Apply(doc, nil)
	})
}

// Merge is Patch for a JSON Merge Patch (RFC 7396).
func (t *Thread) Merge(ctx context.Context, patch jsondoc.Value) (Edited, error) {
	return t.send(ctx, mergeType, patch.AppendJSON(nil), t.shown(), func(doc jsondoc.Value) (jsondoc.Value, error) {
		return jsondoc.MergePatch(doc, patch), nil
	})
}

const (
	patchType = "application/json-patch+json"
	mergeType = "application/merge-patch+json"
)

// shown is a state that an edit is made on.
type shown struct {
	doc      jsondoc.Value
	base     string // its position; empty where the server is not to be told
	revision uint64
}

func (t *Thread) shown() shown {
	t.mu.Lock()
	defer t.mu.Unlock()
	return shown{doc: t.view.reduced.State(), base: t.view.base(), revision: t.view.revision}
}

// send sends an edit and waits for the view to show it. apply is what the edit
// does.
func (t *Thread) send(ctx context.Context, media string, body []byte, on shown, apply func(jsondoc.Value) (jsondoc.Value, error)) (Edited, error) {
	done, err := t.patch(ctx, media, body, on.base)
	var conflict *ConflictError
	if errors.As(err, &conflict) && len(conflict.Conflicts) == 0 && on.base != "" {
		// The server does not know any more what was shown here. This side does.
		done, err = t.rebase(ctx, on, apply, conflict)
	}
	if err != nil {
		return done, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.edit.state.IsAbsent() {
		// Or what waits for the next run would take the edit back.
		if again, err := apply(t.edit.state); err == nil {
			t.edit.state = again
		}
	}
	return done, nil
}

// rebase makes an edit on the state as it is now, by the merge that the server
// would have made. Where both changed one place it is not made.
func (t *Thread) rebase(ctx context.Context, on shown, apply func(jsondoc.Value) (jsondoc.Value, error), refused *ConflictError) (Edited, error) {
	wanted, err := apply(on.doc)
	if err != nil {
		return Edited{}, refused
	}
	s, err := t.Hydrate(ctx)
	if err != nil {
		return Edited{}, err
	}
	next, conflicts, err := jsondoc.Merge(on.doc, wanted, s.State, nil)
	if err != nil || len(conflicts) > 0 {
		e := &ConflictError{
			Reason: "the place was changed by somebody else", answer: refused.answer,
			Position: s.Position, Revision: s.Revision, State: s.State,
		}
		for _, c := range conflicts {
			e.Conflicts = append(e.Conflicts, Conflict{Path: c.Path})
		}
		return Edited{}, e
	}
	done, err := t.patch(ctx, patchType, jsondoc.Diff(s.State, next, nil).AppendJSON(nil), s.Position)
	done.Merged = true
	return done, err
}

// patch sends a PATCH.
func (t *Thread) patch(ctx context.Context, media string, body []byte, base string) (Edited, error) {
	header := map[string]string{"Content-Type": media}
	if base != "" {
		header["If-Match"] = `"` + base + `"`
	}
	return t.change(ctx, request{method: http.MethodPatch, path: []string{"threads", t.id, "state"}, header: header, body: body})
}

// Undo takes back what the agent changed in the newest run where it changed
// something that is not undone yet; once more, and it goes further back. Edits
// are never taken back. The error is a [*ConflictError] while a run is active or
// a proposal is open, and where nothing is left.
func (t *Thread) Undo(ctx context.Context) (Edited, error) {
	done, err := t.change(ctx, request{method: http.MethodPost, path: []string{"threads", t.id, "undo"}})
	var refused *ConflictError
	if errors.As(err, &refused) {
		refused.undo = true
	}
	return done, err
}

// change sends a request that changes the state, and reads the thread up to
// where it did.
func (t *Thread) change(ctx context.Context, r request) (Edited, error) {
	body, err := t.client.fetch(ctx, r)
	if err != nil {
		return Edited{}, asConflict(err)
	}
	var done Edited
	doc, err := jsondoc.Parse(body, nil)
	if err == nil {
		err = doc.Decode(&done)
	}
	if err != nil {
		return Edited{}, err
	}
	if at, ok := parsePosition(done.Position); ok {
		_ = t.catchUp(ctx, at, false) // the edit is made; whoever reads next sees it
	}
	return done, nil
}
