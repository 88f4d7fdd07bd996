package thread

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/run"
	"github.com/lockstep-go/lockstep/state"
)

// Edit is a person's change of the state, made apart from any run.
type Edit struct {
	// Patch is the change as RFC 6902; nil: Merge has it.
	Patch jsondoc.Patch
	// Merge is the change as RFC 7396.
	Merge jsondoc.Value
	// Base is what the edit was made on: a position, a bare revision, or empty
	// for what the thread shows now.
	Base string
}

// Edited is what became of an edit or an undo.
type Edited struct {
	Position  Position
	Revision  uint64
	Merged    bool       // the state had moved since the base and both were kept
	Conflicts []Conflict // of an undo: places that were changed since and stay
}

// Conflict is a place that an edit could not have.
type Conflict struct {
	Path      jsondoc.Pointer
	Predicted bool // nothing but a prediction is there
}

// RefusedError says that an edit was not made, and what the thread is like.
// Nothing has been logged.
type RefusedError struct {
	Reason    string
	Conflicts []Conflict // empty: the base is not one of this log's
	Position  Position
	Revision  uint64
	View      jsondoc.Value
}

func (e *RefusedError) Error() string { return "thread: the state stays as it is: " + e.Reason }

// ReadOnlyError says that an edit was not made because it changes places that
// clients may only read.
type ReadOnlyError struct{ Paths []jsondoc.Pointer }

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("thread: %q may only be read", string(e.Paths[0]))
}

// PatchError says that an edit's patch does not apply to its base.
type PatchError struct{ Err error }

func (e *PatchError) Error() string { return "thread: the patch does not apply: " + e.Err.Error() }
func (e *PatchError) Unwrap() error { return e.Err }

// Most operations of one patch, and the most bytes of what a patch makes
// (interface limits; a patch can double a document with each of its copies).
const (
	maxOperations = 1000
	maxResult     = 4 << 20
)

// Edit changes the state, also while a run is active, and creates an unknown
// thread. It fails with *RefusedError where another edit changed the same place
// since the base, or the agent did and the policy is to reject, or the place is
// only predicted; with *ReadOnlyError, *PatchError, or *state.SchemaError.
func (t *Thread) Edit(ctx context.Context, e Edit) (Edited, error) {
	if len(e.Patch) > maxOperations {
		return Edited{}, &PatchError{fmt.Errorf("it has %d operations; %d is the most", len(e.Patch), maxOperations)}
	}
	var out Edited
	err := t.commit(ctx, func(f *fold) ([]draft, error) {
		var drafts []draft
		var err error
		out, drafts, err = t.edit(f, e)
		return drafts, err
	})
	if err == nil {
		t.threads.opts.Metrics.Edits.Add(1)
	}
	return out, err
}

func (t *Thread) edit(f *fold, e Edit) (Edited, []draft, error) {
	stay := Edited{Position: f.head, Revision: f.revision}
	now := f.doc
	if now.State.IsAbsent() {
		now.State = t.model.First(jsondoc.Value{})
		now.View = t.model.Visible(now.State)
	}
	base, at, err := f.editBase(e.Base, now)
	if err != nil {
		return stay, nil, f.refused(err.Error(), nil)
	}
	wanted, err := e.apply(base.View)
	if failed := (*jsondoc.PatchError)(nil); errors.As(err, &failed) && failed.Op == "test" {
		return stay, nil, f.refused("a test of the patch failed", []Conflict{{Path: failed.Path}})
	}
	if err != nil {
		return stay, nil, err
	}
	edited, err := t.model.Edit(now, base, wanted)
	if err != nil {
		return stay, nil, err
	}
	if len(edited.Dropped) > 0 {
		return stay, nil, &ReadOnlyError{Paths: edited.Dropped}
	}
	var lost []Conflict
	for _, p := range edited.Predicted {
		lost = append(lost, Conflict{Path: p, Predicted: true})
	}
	overruled, err := t.overruled(f, base, at, wanted)
	if err != nil {
		return stay, nil, err
	}
	if t.model.Config().Conflict == state.RejectResult {
		overruled = edited.Conflicts
	}
	for _, p := range overruled {
		lost = append(lost, Conflict{Path: p})
	}
	if len(lost) > 0 {
		reason := "the place was changed by somebody else since"
		if len(edited.Predicted) > 0 {
			reason = "the place is only predicted or proposed: there is nothing to edit yet"
		}
		return stay, nil, f.refused(reason, lost)
	}
	conflicts := edited.Conflicts
	if len(conflicts) > 0 && t.model.Config().Conflict == state.AgentWins {
		if edited, err = t.model.EditAround(now, base, wanted, conflicts); err != nil {
			return stay, nil, err
		}
	}
	// Of an edit that had to give way everywhere nothing was kept.
	merged := edited.Merged && (edited.Changed || len(conflicts) == 0)
	if !edited.Changed && !edited.Concealed && len(conflicts) == 0 && jsondoc.Equal(edited.View, now.View) && f.head.Seq > 0 {
		stay.Merged = merged
		return stay, nil, nil
	}
	mark := state.Mark{By: state.ByUser}
	key := run.NewID("edit")
	d := draft{run: key, mark: mark, view: edited.View, change: state.Change(f.doc.State, edited.State)}
	if edited.Concealed && d.change == nil {
		d.change = jsondoc.Patch{} // counts as the change that it would be elsewhere
	}
	var after []draft
	if len(conflicts) > 0 {
		after = append(after, draft{run: key, mark: mark, event: state.ConflictEvent(conflicts, t.model.Config().Conflict)})
	}
	out := Edited{Revision: f.revision, Merged: merged}
	if d.change != nil {
		out.Revision++
	}
	var drafts []draft
	if f.active != nil {
		out.Position = Position{Epoch: f.head.Epoch, Seq: f.head.Seq + 1}
		if drafts = after; d.change != nil || !jsondoc.Equal(edited.View, now.View) || len(after) == 0 {
			d.event = &agui.StateDelta{Delta: jsondoc.Diff(now.View, edited.View, nil)}
			drafts = append([]draft{d}, after...)
		}
	} else {
		d.event = &agui.StateSnapshot{Snapshot: edited.View}
		drafts = t.ownRun(f, key, append([]draft{d}, after...), f.open)
		out.Position = Position{Epoch: f.head.Epoch, Seq: f.head.Seq + uint64(len(drafts))}
	}
	return out, drafts, nil
}

// ownRun puts what changes the view while no run is active into a run of its
// own, so that stock clients take it.
//
// open are the proposals that are open behind it.
func (t *Thread) ownRun(f *fold, key string, inside []draft, open []state.Proposal) []draft {
	runID := ownRunID(f.head.Seq + 1)
	mark := inside[0].mark
	drafts := []draft{{run: key, mark: mark, event: &agui.RunStarted{
		ThreadID: t.key.ID, RunID: runID, ProtocolVersion: agui.ProtocolVersion,
		Input: &agui.RunAgentInput{ThreadID: t.key.ID, RunID: runID, Messages: []agui.Message{}, Tools: []agui.Tool{}, Context: []agui.Context{}},
	}}}
	drafts = append(drafts, inside...)
	return append(drafts, draft{run: key, mark: mark, event: &agui.RunFinished{ThreadID: t.key.ID, RunID: runID, Outcome: run.Interrupted(open)}})
}

// ownRunID names a run that nobody posted by the number of its RUN_STARTED.
func ownRunID(seq uint64) string { return "edit-" + strconv.FormatUint(seq, 10) }

// apply is what the edit makes of a view.
func (e Edit) apply(view jsondoc.Value) (jsondoc.Value, error) {
	if view.IsAbsent() {
		view = jsondoc.Object()
	}
	var out jsondoc.Value
	if e.Patch != nil {
		var err error
		if out, err = e.Patch.Apply(view, nil); err != nil {
			return out, &PatchError{err}
		}
	} else {
		out = jsondoc.MergePatch(view, e.Merge)
	}
	switch {
	case out.Kind() != jsondoc.KindObject:
		return out, &PatchError{errors.New("the state is an object; it cannot become " + out.Kind().String())}
	case out.Size() > maxResult && out.Size() > view.Size():
		return out, &PatchError{fmt.Errorf("the result would have %d bytes; %d is the most", out.Size(), maxResult)}
	}
	return out, nil
}

// editBase finds the documents that an edit was made on, and where they were
// left behind.
func (f *fold) editBase(base string, now state.Doc) (state.Doc, uint64, error) {
	if base == "" {
		return now, f.head.Seq, nil
	}
	if strings.Contains(base, "-") {
		pos, err := ParsePosition(base)
		if err != nil || pos.Epoch != f.head.Epoch || pos.Seq > f.head.Seq {
			return state.Doc{}, 0, fmt.Errorf("%q is no position of this thread", base)
		}
		if pos == f.head {
			return now, pos.Seq, nil
		}
		if doc, ok := f.known(pos); ok {
			return doc, pos.Seq, nil
		}
		return state.Doc{}, 0, fmt.Errorf("what was shown at %q is not known any more", base)
	}
	revision, err := strconv.ParseUint(base, 10, 64)
	if err != nil || revision > f.revision {
		return state.Doc{}, 0, fmt.Errorf("%q is neither a position nor a revision of this thread", base)
	}
	if revision == f.revision {
		return now, f.head.Seq, nil
	}
	doc, seq, ok := f.docOf(revision)
	if !ok {
		return state.Doc{}, 0, fmt.Errorf("what was shown at revision %q is not known any more", base)
	}
	return doc, seq, nil
}

// overruled are the places of an edit that other people changed since its base.
// They are found by making the edit on what those changes alone have made of the
// base, so that an item is told from others whatever moved around it.
func (t *Thread) overruled(f *fold, base state.Doc, behind uint64, wanted jsondoc.Value) ([]jsondoc.Pointer, error) {
	theirs, moved := base.State, false
	for _, c := range f.changes {
		if c.seq > behind && c.author == state.ByUser {
			next, _, err := jsondoc.Merge(c.before, c.after, theirs, &jsondoc.MergeOptions{Policy: jsondoc.Ours})
			if err != nil {
				return nil, err
			}
			theirs, moved = next, true
		}
	}
	if !moved {
		return nil, nil
	}
	edited, err := t.model.Edit(state.Doc{State: theirs, View: t.model.Visible(theirs)}, base, wanted)
	if schema := (*state.SchemaError)(nil); errors.As(err, &schema) {
		err = nil // of a state that nobody has
	}
	return edited.Conflicts, err
}

func (f *fold) refused(reason string, conflicts []Conflict) error {
	view := f.doc.View
	if view.IsAbsent() {
		view = jsondoc.Object()
	}
	return &RefusedError{Reason: reason, Conflicts: conflicts, Position: f.head, Revision: f.revision, View: view}
}

// Reasons why there is nothing that an undo could do.
var (
	errBusy    = errors.New("a run is active on this thread; stop it first")
	errOpen    = errors.New("a proposal waits for its decision; answer it first")
	errNothing = errors.New("nothing that the agent changed is left to undo")
)

// Undo takes back what the agent changed in the newest run where it changed
// something that is not undone yet. Places that were changed since keep their
// later value and are listed. It fails with *RefusedError while a run is active
// or a proposal is open, and where nothing is left.
func (t *Thread) Undo(ctx context.Context) (Edited, error) {
	var out Edited
	err := t.commit(ctx, func(f *fold) ([]draft, error) {
		switch {
		case f.active != nil:
			return nil, f.refused(errBusy.Error(), nil)
		case len(f.open) > 0:
			return nil, f.refused(errOpen.Error(), nil)
		}
		undoes, back, conflicts := f.undo()
		if undoes == "" {
			return nil, f.refused(errNothing.Error(), nil)
		}
		if err := t.model.Check(f.doc.State, back); err != nil {
			return nil, err
		}
		key, mark := run.NewID("undo"), state.Mark{By: state.ByUser}
		view := t.model.NewSession(state.Doc{State: back}).Doc().View
		d := draft{run: key, mark: mark, view: view, change: state.Change(f.doc.State, back), undoes: undoes, event: &agui.StateSnapshot{Snapshot: view}}
		drafts := t.ownRun(f, key, []draft{d}, nil)
		out = Edited{Position: Position{Epoch: f.head.Epoch, Seq: f.head.Seq + uint64(len(drafts))}, Revision: f.revision}
		if d.change != nil {
			out.Revision++
		}
		for _, p := range conflicts {
			if !t.model.Hidden(p) {
				out.Conflicts = append(out.Conflicts, Conflict{Path: p})
			}
		}
		return drafts, nil
	})
	if err == nil {
		t.threads.opts.Metrics.Edits.Add(1)
	}
	return out, err
}

// undo finds the run to take back, and what the state is without it. Its changes
// are taken back from the last to the first, each by a merge in which what came
// later stays.
func (f *fold) undo() (runKey string, back jsondoc.Value, conflicts []jsondoc.Pointer) {
	for _, c := range slices.Backward(f.changes) {
		if c.author == state.ByAgent && c.run != "" && !f.undone[c.run] {
			runKey = c.run
			break
		}
	}
	if runKey == "" {
		return "", f.doc.State, nil
	}
	back = f.doc.State
	for _, c := range slices.Backward(f.changes) {
		if c.author != state.ByAgent || c.run != runKey {
			continue
		}
		before := c.before
		if before.IsAbsent() {
			before = jsondoc.Object()
		}
		next, cs, err := jsondoc.Merge(c.after, back, before, &jsondoc.MergeOptions{Policy: jsondoc.Ours})
		if err != nil {
			continue
		}
		back = next
		for _, one := range cs {
			if !slices.Contains(conflicts, one.Path) {
				conflicts = append(conflicts, one.Path)
			}
		}
	}
	return runKey, back, conflicts
}
