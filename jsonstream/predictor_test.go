package jsonstream

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/jsondoc"
)

var clientRules = &jsondoc.ApplyOptions{ClientRules: true}

// place is a target's argument and where it goes.
type placing struct {
	args    jsondoc.Value
	view    jsondoc.Value
	targets []Target
}

// placings draws arguments, a document and targets that go together: targets name
// members that are there, deeper places, or nothing.
var placings = rapid.Custom(func(t *rapid.T) placing {
	var p placing
	p.args = objects(3).Draw(t, "args")
	p.view = objects(2).Draw(t, "view")
	if rapid.IntRange(0, 9).Draw(t, "odd view") == 0 {
		p.view = rapid.SampledFrom([]jsondoc.Value{{}, jsondoc.Null, jsondoc.Array()}).Draw(t, "no object")
	}
	if rapid.Bool().Draw(t, "alike") {
		// The document already has something of the arguments' shape.
		for name, v := range p.args.Members() {
			if old, ok := p.view.Get(name); ok && old.Kind() != v.Kind() && p.view.Kind() == jsondoc.KindObject {
				p.view = p.view.With(name, damaged(t, v))
			}
		}
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "targets") {
		if i > 0 {
			if len(p.targets) == 0 {
				break
			}
			if _, ok := locate(p.view, p.targets[0].Path); !ok {
				break
			}
		}
		target := Target{
			Argument: pointerInto(t, p.args),
			Path:     pointerInto(t, p.view),
			Whole:    rapid.IntRange(0, 3).Draw(t, "whole") == 0,
			Keep:     rapid.Bool().Draw(t, "keep"),
		}
		if rapid.Bool().Draw(t, "deeper") {
			target.Path = target.Path.Child(names.Draw(t, "token")).Child(names.Draw(t, "token"))
		}
		// What one target adds to an array may make the next one's index
		// possible, so only a single one is without a place.
		_, ok := locate(p.view, target.Path)
		if (ok || i == 0) && CheckTargets(append(p.targets[:len(p.targets):len(p.targets)], target)) == nil {
			p.targets = append(p.targets, target)
		}
	}
	return p
})

// damaged is v with something changed, as an older version of it.
func damaged(t *rapid.T, v jsondoc.Value) jsondoc.Value {
	if v.Kind() != jsondoc.KindObject {
		return rapid.SampledFrom([]jsondoc.Value{v, jsondoc.String("old")}).Draw(t, "old")
	}
	out := jsondoc.Object(jsondoc.Member{Name: "old", Value: jsondoc.True})
	for name, x := range v.Members() {
		if rapid.IntRange(0, 3).Draw(t, "drop") > 0 {
			out = out.With(name, damaged(t, x))
		}
	}
	return out
}

// pointerInto draws a pointer to a value in v.
func pointerInto(t *rapid.T, v jsondoc.Value) jsondoc.Pointer {
	var at jsondoc.Pointer
	for v.Len() > 0 && rapid.IntRange(0, 3).Draw(t, "stop") > 0 {
		n := rapid.IntRange(0, v.Len()-1).Draw(t, "child")
		if v.Kind() == jsondoc.KindArray {
			at, v = at.Index(n), v.Item(n)
			continue
		}
		for name, x := range v.Members() {
			if n--; n < 0 {
				at, v = at.Child(name), x
				break
			}
		}
	}
	return at
}

// kept says in what now is not between the old value and the final one: a
// prefix of the final value, laid over the old.
func kept(now, old, final jsondoc.Value) string {
	if old.Kind() != jsondoc.KindObject || final.Kind() != jsondoc.KindObject {
		return prefixOf(now, final)
	}
	for name, x := range now.Members() {
		was, wasThere := old.Get(name)
		will, willBe := final.Get(name)
		switch {
		case wasThere && sameText(x, was):
		case willBe:
			if s := kept(x, was, will); s != "" {
				return fmt.Sprintf("member %q: %s", name, s)
			}
		default:
			return fmt.Sprintf("member %q is neither old nor new", name)
		}
	}
	return ""
}

// The law of Predictor: whatever the arguments, the document, the targets, the
// cuts and the times, every patch applies strictly; each target's place shows a
// prefix of the final value (S4), laid over the old one with Keep; nothing else
// of the document changes; at the end the places hold the final values; and the
// bytes are within the budget (S5).
func TestS4S5Predictor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := placings.Draw(t, "case")
		text := written(t, c.args)
		checkPredictor(t, c, pieces(t, text), func() time.Duration {
			return rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond, 60 * time.Millisecond, -time.Second, time.Minute}).Draw(t, "pause")
		})
	})
}

func checkPredictor(t rapid.TB, c placing, cuts []string, pause func() time.Duration) {
	p := NewPredictor(c.view, c.targets, nil)
	view, now := c.view, time.Time{}
	bytes, size := 0, 0
	var passed time.Duration
	step := func(what string, patch jsondoc.Patch) {
		t.Helper()
		if patch == nil {
			return
		}
		next, err := patch.Apply(view, clientRules)
		if err != nil || len(patch) == 0 {
			t.Fatalf("%s: the patch %s does not apply to %s: %v", what, patch, view, err)
		}
		if sameText(view, next) {
			t.Fatalf("%s: the patch %s changes nothing in %s", what, patch, view)
		}
		bytes += len(patch.AppendJSON(nil))
		checkPlaces(t, what+": "+patch.String(), c, view, next)
		view = next
		for i, target := range c.targets {
			shown, ok := view.At(resolved(c.view, target.Path))
			known, _ := p.Value(i)
			if _, reachable := locate(c.view, target.Path); ok && reachable && !known.IsAbsent() && !target.Keep {
				before, was := c.view.At(target.Path)
				if was && sameText(before, shown) {
					continue
				}
				if s := prefixOf(shown, known); s != "" {
					t.Fatalf("%s: target %d shows what is not known: %s", what, i, s)
				}
			}
		}
	}
	for _, piece := range cuts {
		d := pause()
		if now = now.Add(d); d > 0 {
			passed += d
		}
		size += len(piece)
		step(fmt.Sprintf("behind %d bytes", size), p.Feed(now, piece))
	}
	patch, args, err := p.End(now)
	if err != nil || !sameText(args, c.args) {
		t.Fatalf("End: %s, %v; want %s", args, err, c.args)
	}
	step("at the end", patch)
	for i, target := range c.targets {
		want, there := c.args.At(target.Argument)
		if _, reachable := locate(c.view, target.Path); !there || !reachable {
			continue
		}
		got, _ := view.At(resolved(c.view, target.Path))
		if target.Keep && !jsondoc.Equal(got, want) || !target.Keep && !sameText(got, want) {
			t.Fatalf("target %d ends as %s instead of %s", i, got, want)
		}
		if v, ok := p.Value(i); !ok || !sameText(v, want) || !p.Values()[i].Complete {
			t.Fatalf("target %d: Value is %s instead of %s", i, v, want)
		}
	}
	// S5. Each target's last patch has to go out whatever it costs, and each
	// place that shows the same arguments adds them once.
	most := 12*size + int(passed.Seconds()*defaultRate)
	for _, target := range c.targets {
		v, _ := c.args.At(target.Argument)
		most += v.Size() + replaceFrame + 2*len(target.Path) + 50
	}
	if bytes > most {
		t.Fatalf("%d bytes of patches for %d of arguments in %v, more than %d", bytes, size, passed, most)
	}
}

// resolved is where a target's value ends up: "-" is an index by then.
func resolved(view jsondoc.Value, p jsondoc.Pointer) jsondoc.Pointer {
	if s, ok := locate(view, p); ok {
		return s.place
	}
	return p
}

// checkPlaces checks that a patch only touched the targets' places, and left
// prefixes there.
func checkPlaces(t rapid.TB, what string, c placing, before, after jsondoc.Value) {
	t.Helper()
	for _, op := range jsondoc.Diff(before, after, nil) {
		inside := false
		for _, target := range c.targets {
			s, ok := locate(c.view, target.Path)
			inside = inside || ok && (s.path.Contains(op.Path) || s.place.Contains(op.Path))
		}
		if !inside {
			t.Fatalf("%s changed %s", what, op.Path)
		}
	}
	for i, target := range c.targets {
		final, there := c.args.At(target.Argument)
		s, ok := locate(c.view, target.Path)
		if !ok {
			continue
		}
		old, _ := c.view.At(s.place)
		now, _ := after.At(s.place)
		if sameText(old, now) {
			continue
		}
		if !there {
			if now.IsAbsent() {
				continue
			}
			t.Fatalf("%s: target %d has no argument and shows %s", what, i, now)
		}
		wrong := prefixOf(now, final)
		if target.Keep {
			wrong = kept(now, old, final)
		}
		if wrong != "" {
			t.Fatalf("%s: target %d shows %s: %s", what, i, now, wrong)
		}
	}
}
