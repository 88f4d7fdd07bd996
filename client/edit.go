package client

import (
	"context"
	"net/http"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// Edited is what became of an edit or an undo.
type Edited struct {
	Position string
	Revision uint64
	// Merged says that the state had moved since the edit's base, and both
	// changes were kept.
	Merged bool
	// Conflicts, of an undo, are places that were changed since; they stay as
	// they are.
	Conflicts []Conflict
}

// Patch changes the state on the server, at any time, during a run too, and
// creates an unknown thread. The patch is made on State as it is now: where the
// state has moved on the server, both changes are kept, or the error is a
// [*ConflictError] with the places. An [*HTTPError] of status 403 names places
// that may only be read, one of 422 what the schema does not allow or which
// operation does not apply.
//
// When Patch returns without an error, State shows the edit, unless the
// connection broke in between. A state that SetState left for the next run is
// changed, too.
func (t *Thread) Patch(ctx context.Context, p jsondoc.Patch) (Edited, error) {
	t.mu.Lock()
	base := t.view.base()
	t.mu.Unlock()
	return t.patch(ctx, p, base)
}

func (t *Thread) patch(ctx context.Context, p jsondoc.Patch, base string) (Edited, error) {
	return t.send(ctx, "application/json-patch+json", p.AppendJSON(nil), base, func(doc jsondoc.Value) jsondoc.Value {
		if out, err := p.Apply(doc, nil); err == nil {
			return out
		}
		return doc
	})
}

// Merge is Patch for a JSON Merge Patch (RFC 7396).
func (t *Thread) Merge(ctx context.Context, patch jsondoc.Value) (Edited, error) {
	t.mu.Lock()
	base := t.view.base()
	t.mu.Unlock()
	return t.send(ctx, "application/merge-patch+json", patch.AppendJSON(nil), base, func(doc jsondoc.Value) jsondoc.Value {
		return jsondoc.MergePatch(doc, patch)
	})
}

// send sends an edit and waits for the view to show it. again makes the same
// change in the state that waits for the next run: it would take the edit back
// otherwise.
func (t *Thread) send(ctx context.Context, media string, body []byte, base string, again func(jsondoc.Value) jsondoc.Value) (Edited, error) {
	header := map[string]string{"Content-Type": media}
	if base != "" {
		header["If-Match"] = `"` + base + `"`
	}
	done, err := t.change(ctx, request{method: http.MethodPatch, path: []string{"threads", t.id, "state"}, header: header, body: body})
	if err != nil {
		return done, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.edit.state.IsAbsent() {
		t.edit.state = again(t.edit.state)
	}
	return done, nil
}

// Undo takes back what the agent changed in the newest run where it changed
// something that is not undone yet; once more, and it goes further back. Edits
// are never taken back. The error is a [*ConflictError] while a run is active or
// a proposal is open, and where nothing is left.
func (t *Thread) Undo(ctx context.Context) (Edited, error) {
	return t.change(ctx, request{method: http.MethodPost, path: []string{"threads", t.id, "undo"}})
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
		_ = t.catchUp(ctx, at) // the edit is made; whoever reads next sees it
	}
	return done, nil
}
