package streamgen

import (
	"errors"
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// Result is what became of a stream: what package agui makes of it, or what an
// official client did.
type Result struct {
	// Rejected is the index of the event that ended the run, -1 if none did.
	Rejected      int
	Error         string
	FailedPatches []int // indexes of the deltas that did not apply
	Messages      jsondoc.Value
	State         jsondoc.Value
	Interrupts    jsondoc.Value
}

// Play reads, checks and applies a stream as the official client would, up to
// the event that it would reject.
func Play(events []jsondoc.Value) Result {
	var (
		seq agui.Sequence
		red agui.Reducer
		old agui.Upgrader
		res = Result{Rejected: -1, FailedPatches: []int{}}
	)
	for i, doc := range events {
		e, err := agui.DecodeEvent(doc.AppendJSON(nil), &agui.DecodeOptions{Strict: true})
		if err == nil {
			e = old.Upgrade(e)
			err = seq.Check(e)
		}
		if err != nil {
			res.Rejected, res.Error = i, err.Error()
			break
		}
		var failed *agui.DeltaError
		if err := red.Apply(e); errors.As(err, &failed) {
			res.FailedPatches = append(res.FailedPatches, i)
		}
	}
	all := red.Reduction()
	snapshot := agui.AppendEvent(nil, &agui.MessagesSnapshot{Messages: all.Messages}, agui.V1)
	res.Messages, _ = jsondoc.MustParse(string(snapshot)).Get("messages")
	res.State = all.State
	list := make([]jsondoc.Value, len(all.Interrupts))
	for i := range list {
		list[i] = agui.Document(&all.Interrupts[i])
	}
	res.Interrupts = jsondoc.Array(list...)
	return res
}

// Differences lists in what two results disagree. Numbers are compared as
// JavaScript compares them.
func Differences(got, want Result) []string {
	var out []string
	if got.Rejected != want.Rejected {
		out = append(out, fmt.Sprintf("rejected at %d (%s), want %d (%s)", got.Rejected, got.Error, want.Rejected, want.Error))
	}
	if !slices.Equal(got.FailedPatches, want.FailedPatches) {
		out = append(out, fmt.Sprintf("deltas %v did not apply, want %v", got.FailedPatches, want.FailedPatches))
	}
	for _, c := range []struct {
		what      string
		got, want jsondoc.Value
	}{
		{"messages", got.Messages, want.Messages},
		{"state", got.State, want.State},
		{"interrupts", got.Interrupts, want.Interrupts},
	} {
		if !jsondoc.EqualBy(c.got, c.want, jsondoc.ByDouble) {
			out = append(out, fmt.Sprintf("%s\n   got %s\n  want %s", c.what, c.got, c.want))
		}
	}
	return out
}
