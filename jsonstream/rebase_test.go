package jsonstream

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// Rebase and Restart at any moment: patches still apply strictly, to what the
// caller said the view is, and the places still end as the arguments say.
func TestRebaseAndRestart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := placings.Draw(t, "case")
		view := c.view
		var now time.Time
		p := NewPredictor(view, c.targets, nil)
		apply := func(patch jsondoc.Patch) {
			if patch == nil {
				return
			}
			next, err := patch.Apply(view, clientRules)
			if err != nil || len(patch) == 0 {
				t.Fatalf("%s does not apply to %s: %v", patch, view, err)
			}
			view = next
		}
		feed := func(args jsondoc.Value, most int) {
			cuts := pieces(t, written(t, args))
			for _, piece := range cuts[:min(len(cuts), most)] {
				now = now.Add(rapid.SampledFrom([]time.Duration{0, 60 * time.Millisecond}).Draw(t, "pause"))
				apply(p.Feed(now, piece))
				if rapid.IntRange(0, 7).Draw(t, "somebody edits") == 0 {
					view = edited(t, view, c.targets)
					p.Rebase(view)
				}
			}
		}
		if rapid.Bool().Draw(t, "restart") {
			feed(objects(2).Draw(t, "first arguments"), rapid.IntRange(0, 30).Draw(t, "of them"))
			switch rapid.IntRange(0, 2).Draw(t, "taken back") {
			case 0:
				view = c.view
				p.Rebase(view)
				p.Restart()
			case 1:
				view = c.view
				p.Restart()
				p.Rebase(view)
			default:
				p.Restart()
			}
		}
		feed(c.args, 1<<20)
		patch, args, err := p.End(now)
		if err != nil || !sameText(args, c.args) {
			t.Fatalf("%s, %v instead of %s", args, err, c.args)
		}
		apply(patch)
		for i, target := range c.targets {
			want, there := c.args.At(target.Argument)
			at := p.tracks[i].spot.place
			got, placed := view.At(at)
			if _, possible := locate(view, target.Path); !there || !possible && (!placed || p.tracks[i].state == unplaced) {
				continue
			}
			if target.Keep && !jsondoc.Equal(got, want) || !target.Keep && !sameText(got, want) {
				t.Fatalf("target %d ends as %s instead of %s", i, got, want)
			}
		}
	})
}

// edited is what the view may have become when somebody else changed it.
func edited(t *rapid.T, view jsondoc.Value, targets []Target) jsondoc.Value {
	at := pointerInto(t, view)
	if i := rapid.IntRange(0, len(targets)).Draw(t, "at target"); i < len(targets) {
		at = targets[i].Path
		if v, ok := view.At(at); ok {
			at += pointerInto(t, v)
		}
	}
	if _, ok := view.At(at); ok && at != "" && rapid.Bool().Draw(t, "remove") {
		if v, err := (jsondoc.Patch{{Op: "remove", Path: at}}).Apply(view, nil); err == nil {
			return v
		}
	}
	if v, err := view.SetAt(at, values(1).Draw(t, "edit")); err == nil {
		return v
	}
	return view
}

// The next patch after Rebase is what differs, not the whole value.
func TestRebaseSendsTheDifference(t *testing.T) {
	view := mustParse(t, `{"doc":{},"other":1}`)
	p := NewPredictor(view, []Target{{Argument: "", Path: "/doc"}}, nil)
	now := time.Time{}
	feed := func(text string) jsondoc.Patch {
		now = now.Add(100 * time.Millisecond)
		patch := p.Feed(now, text)
		next, err := patch.Apply(view, clientRules)
		if err != nil {
			t.Fatal(err)
		}
		view = next
		return patch
	}
	feed(`{"title":"a title","list":["one is long enough that it is not sent again for nothing","two`)

	// A change elsewhere costs nothing.
	view = view.With("other", jsondoc.Int(2))
	p.Rebase(view)
	if got := feed(`"`); got != nil {
		t.Errorf("after a change elsewhere: %s", got)
	}
	// One in the place is taken back by what differs.
	view, _ = view.SetAt("/doc/title", jsondoc.String("mine"))
	p.Rebase(view)
	if got := feed(`,"three`).String(); got != `[{"op":"replace","path":"/doc/title","value":"a title"},{"op":"add","path":"/doc/list/2","value":"three"}]` {
		t.Errorf("after a change in the place: %s", got)
	}
	// Then small steps again.
	if got := feed(` and`).String(); got != `[{"op":"replace","path":"/doc/list/2","value":"three and"}]` {
		t.Errorf("after that: %s", got)
	}
	// The place is gone: it is made again.
	view = view.Without("doc")
	p.Rebase(view)
	if got := feed(` a half`).String(); got != `[{"op":"add","path":"/doc","value":{"title":"a title","list":["one is long enough that it is not sent again for nothing","two","three and a half"]}}]` {
		t.Errorf("after it was removed: %s", got)
	}
}

// S4: if a provider starts a call's arguments again, the overlay is taken back and
// grows anew.
func TestS4Restart(t *testing.T) {
	before := mustParse(t, `{"doc":"old"}`)
	p := NewPredictor(before, []Target{{Argument: "/doc", Path: "/doc"}}, nil)
	now := time.Time{}
	if got := p.Feed(now, `{"doc":"a first att`).String(); got != `[{"op":"replace","path":"/doc","value":"a first att"}]` {
		t.Fatal(got)
	}
	p.Restart()
	p.Rebase(before)
	if v, ok := p.Value(0); ok {
		t.Fatalf("%s is left of the first attempt", v)
	}
	now = now.Add(time.Second)
	if got := p.Feed(now, `{"doc":"a se`).String(); got != `[{"op":"replace","path":"/doc","value":"a se"}]` {
		t.Fatal(got)
	}
	if got := p.Feed(now.Add(time.Second), `cond one"}`).String(); got != `[{"op":"replace","path":"/doc","value":"a second one"}]` {
		t.Fatal(got)
	}
	if _, args, err := p.End(now); err != nil || args.String() != `{"doc":"a second one"}` {
		t.Fatal(args, err)
	}
}

// With Keep, what somebody edits among the old members stays until it is named.
func TestRebaseUnderKeep(t *testing.T) {
	view := mustParse(t, `{"form":{"name":"Ann","city":"Oslo","note":"call first"}}`)
	p := NewPredictor(view, []Target{{Path: "/form", Keep: true}}, nil)
	now := time.Time{}
	feed := func(text string) {
		now = now.Add(time.Second)
		next, err := p.Feed(now, text).Apply(view, clientRules)
		if err != nil {
			t.Fatal(err)
		}
		view = next
	}
	feed("")
	feed(`{"name":"Bo`)
	view, _ = view.SetAt("/form/note", jsondoc.String("never call"))
	p.Rebase(view)
	if v, _ := p.Value(0); v.String() != `{"name":"Bo","city":"Oslo","note":"never call"}` {
		t.Error(v)
	}
	feed(`b","city":"Ber`)
	if got := view.String(); got != `{"form":{"name":"Bob","city":"Ber","note":"never call"}}` {
		t.Error(got)
	}
	feed(`gen"}`)
	if got := view.String(); got != `{"form":{"name":"Bob","city":"Bergen"}}` {
		t.Error(got)
	}
}
