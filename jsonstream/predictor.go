package jsonstream

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// Target says which argument of a call predicts which place of the document.
type Target struct {
	// Argument points at the value in the arguments: "/recipe", nested
	// "/plan/steps", "" for all arguments together.
	Argument jsondoc.Pointer
	// Path points at the place in the document. Missing parents are created.
	Path jsondoc.Pointer
	// Whole sends the whole value in each frame instead of what changed, for
	// front ends that only understand a replace of the field.
	Whole bool
	// Keep lays an object over the one that it replaces: old members stay until
	// the new object names them or ends, so that a form does not flicker.
	// Objects within objects are treated alike, everything else is replaced.
	Keep bool
}

// TargetValue is a target with the value that is known for it.
type TargetValue struct {
	Target
	Value    jsondoc.Value // absent while nothing is known
	Complete bool
}

// PredictorOptions configure a [Predictor]. Nil and the zero value are the
// defaults.
type PredictorOptions struct {
	// BytesPerSecond and FramesPerSecond are the rate at which growing strings
	// and replaced parents may be sent again although they grew by less than an
	// eighth. Zero is 64 KiB and 20; a negative value allows nothing by rate.
	BytesPerSecond  int
	FramesPerSecond int

	// FrameBytes is what the caller sends around each patch: the event, its
	// metadata, the transport's framing. It counts as if it were part of the
	// patch, so that many small patches are not cheap. Zero is 100; a negative
	// value is none.
	FrameBytes int

	// MaxDepth and MaxBytes limit the arguments, see [ParserOptions].
	MaxDepth int
	MaxBytes int
}

// Predictor turns the arguments of one tool call, while they are being written,
// into JSON Patches that let a document grow towards what the call will make of
// it. Package documentation says which patches and when. It is not safe for
// concurrent use, and each call has a Predictor of its own.
type Predictor struct {
	opts   PredictorOptions
	limits limits
	m      *machine
	tracks []track
	view   jsondoc.Value // where places are looked up; what was sent is not laid in
	budget budget
	outer  int // the deepest level that a target's value may be at
	before int // bytes of text before the last Restart
	ended  int // bytes of complete strings in it
	values []TargetValue
	asked  int // bytes of text when values were made
}

// NewPredictor returns a predictor for one call. view is the document that the
// patches will be applied to. Of targets whose Paths lie in one another the first
// counts and the others are never shown; [CheckTargets] finds them.
func NewPredictor(view jsondoc.Value, targets []Target, opts *PredictorOptions) *Predictor {
	p := &Predictor{view: view, asked: -1}
	if opts != nil {
		p.opts = *opts
	}
	p.limits = (&ParserOptions{MaxDepth: p.opts.MaxDepth, MaxBytes: p.opts.MaxBytes, Repeats: true}).limits()
	p.budget.rate, p.budget.perSecond = defaultRate, defaultFrames
	p.budget.around = defaultAround
	if n := p.opts.FrameBytes; n != 0 {
		p.budget.around = max(n, 0)
	}
	if r := p.opts.BytesPerSecond; r != 0 {
		p.budget.rate = float64(max(r, 0))
	}
	if r := p.opts.FramesPerSecond; r != 0 {
		p.budget.perSecond = float64(max(r, 0))
	}
	for i, t := range targets {
		tr := track{Target: t, matcher: newMatcher(t.Argument)}
		for _, o := range targets[:i] {
			tr.muted = tr.muted || overlap(o.Path, t.Path)
		}
		p.outer = max(p.outer, len(tr.tokens))
		p.tracks = append(p.tracks, tr)
		// A document may be no deeper than the text, wherever the value goes.
		p.limits.depth = min(p.limits.depth, max(1, documentDepth-len(t.Path.Tokens())+len(tr.tokens)))
	}
	p.m = &machine{limits: p.limits, watch: p}
	return p
}

// documentDepth is how deep jsondoc lets a document be that a patch is applied to.
const documentDepth = 512

// CheckTargets returns an error if a target's Path is no pointer or one that
// clients refuse, or if two Paths lie in one another, so that two arguments would
// write the same place.
func CheckTargets(targets []Target) error {
	for i, t := range targets {
		for _, p := range []jsondoc.Pointer{t.Argument, t.Path} {
			if _, err := jsondoc.ParsePointer(string(p)); err != nil {
				return err
			}
		}
		if refused(t.Path.Tokens()...) {
			return fmt.Errorf("jsonstream: clients refuse patches of %q, which would reach a prototype", t.Path)
		}
		for _, o := range targets[:i] {
			if overlap(o.Path, t.Path) {
				return fmt.Errorf("jsonstream: the arguments %q and %q would be shown at %q and %q, which lie in one another",
					o.Argument, t.Argument, o.Path, t.Path)
			}
		}
	}
	return nil
}

// overlap reports whether one place is within the other, or may turn out to be:
// the token "-" becomes an index.
func overlap(p, q jsondoc.Pointer) bool {
	a, b := p.Tokens(), q.Tokens()
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i] == "-" || b[i] == "-"
		}
	}
	return true
}

// Feed reads the next piece of the arguments' text, which may be cut anywhere,
// and returns the patch to apply to the view now, or nil if there is nothing to
// show yet. now is the time at which the piece came; only differences count.
//
// The patch applies, under RFC 6902 and the official client's rules, to the view
// with all patches before it. A text that turns out to be wrong stops the
// predictor: Feed returns nil from then on, Err and End say why.
func (p *Predictor) Feed(now time.Time, fragment string) jsondoc.Patch {
	p.budget.advance(now, p.before+p.m.offset)
	p.m.feed(fragment)
	return p.frame()
}

// End says that the arguments are whole. It returns the last patch, with all that
// was held back, and the arguments. If they are not a JSON value the error, an
// [*Error], says why; there is no patch then, and what was shown has to be taken
// back by the caller, who knows what was there before.
func (p *Predictor) End(now time.Time) (jsondoc.Patch, jsondoc.Value, error) {
	p.budget.advance(now, p.before+p.m.offset)
	p.asked = -1
	v, err := p.m.end()
	if err != nil {
		return nil, jsondoc.Value{}, err
	}
	return p.frame(), v, nil
}

// Err returns the error that stopped the predictor, nil while the text can still
// become a value.
func (p *Predictor) Err() error {
	if p.m.err == nil {
		return nil
	}
	return p.m.err
}

// frame makes the patch for what is known now, as far as the rules allow it.
func (p *Predictor) frame() jsondoc.Patch {
	if p.m.err != nil {
		return nil // what is left to do is to take all of it back
	}
	var ops jsondoc.Patch
	var optional cost
	for i := range p.tracks {
		t := &p.tracks[i]
		switch {
		case t.state == rebased:
			ops = p.resync(t, ops)
		case t.due:
			if c := t.cost(p.m, p.view); c.total() > 0 {
				p.budget.charge(c)
				ops = p.send(t, ops)
			}
			t.due = false
		}
	}
	text, strings := p.before+p.m.offset, p.ended+p.m.stringBytes
	if p.budget.idle(text, strings) {
		return ops
	}
	for i := range p.tracks {
		optional = optional.plus(p.tracks[i].cost(p.m, p.view))
	}
	if optional.total() == 0 || !p.budget.allow(optional, text, strings) {
		return ops
	}
	for i := range p.tracks {
		if t := &p.tracks[i]; t.cost(p.m, p.view).total() > 0 {
			ops = p.send(t, ops)
		}
	}
	return ops
}

// send appends a track's operations. The first one makes the place and its
// parents, which other tracks may have to find.
func (p *Predictor) send(t *track, ops jsondoc.Patch) jsondoc.Patch {
	first := t.state == unplaced
	ops = t.send(p.m, ops)
	if first {
		if v, err := ops[len(ops)-1:].Apply(p.view, nil); err == nil {
			p.view = v
		}
	}
	return ops
}

// resync brings the place of a track up to date after Rebase.
func (p *Predictor) resync(t *track, ops jsondoc.Patch) jsondoc.Patch {
	if !t.shows(p.m) {
		return ops
	}
	old, there := p.view.At(t.spot.place)
	if !there {
		s, ok := locate(p.view, t.Path)
		if !ok {
			return ops
		}
		t.spot = s
	}
	t.lay(old)
	v := t.now(p.m)
	t.chain = t.chain[:0]
	whole := t.spot.operation(v)
	switch {
	case there && sameText(old, v):
	case !there || t.Whole:
		ops = append(ops, whole)
	default:
		ops = append(ops, difference(old, v, whole)...)
	}
	if !there {
		if next, err := (jsondoc.Patch{whole}).Apply(p.view, nil); err == nil {
			p.view = next
		}
	}
	t.was(p.m, v)
	return ops
}

// difference turns old into v by the shorter of single operations and whole. The
// operations have to get the order of members right, which Diff does not look at.
func difference(old, v jsondoc.Value, whole jsondoc.Operation) jsondoc.Patch {
	patch := jsondoc.Diff(old, v, nil)
	if next, err := patch.Apply(old, nil); err != nil || !sameText(next, v) {
		return jsondoc.Patch{whole}
	}
	for i := range patch {
		op := &patch[i]
		op.Path = whole.Path + op.Path
		if op.From != "" || op.Op == "move" || op.Op == "copy" {
			op.From = whole.Path + op.From
		}
		if refused(op.Path.Tokens()...) || refused(op.From.Tokens()...) {
			return jsondoc.Patch{whole}
		}
	}
	if len(patch.AppendJSON(nil)) > len((jsondoc.Patch{whole}).AppendJSON(nil)) {
		return jsondoc.Patch{whole}
	}
	return patch
}

// Values returns what each target's place has to hold by what is known now,
// whether it was sent or not, in the order of the targets. With Keep that is the
// value laid over the old one.
//
// The cost is that of [Parser.Value]; asking again without news costs nothing.
// The slice is valid until the next call.
func (p *Predictor) Values() []TargetValue {
	if p.asked == p.m.offset && p.values != nil {
		return p.values
	}
	p.values = p.values[:0]
	for i := range p.tracks {
		t := &p.tracks[i]
		if t.state == unplaced && t.phase != waiting {
			t.arrive(p.m, p.view)
		}
		p.values = append(p.values, TargetValue{Target: t.Target, Value: t.now(p.m), Complete: t.phase == complete})
	}
	p.asked = p.m.offset
	return p.values
}

// Value returns the value of target i as [Predictor.Values] does, and false while
// nothing is known of it.
func (p *Predictor) Value(i int) (jsondoc.Value, bool) {
	v := p.Values()[i].Value
	return v, !v.IsAbsent()
}

// Rebase tells that somebody else changed the document: view is what it is now,
// with whatever of this predictor's patches is still in it. The following
// patches apply to it. The next one brings the targets' places up to date, at
// whatever cost, which is the difference between the places and their values.
// With Keep, values lie over what view has at their places from now on.
//
// Patches of this predictor itself need no Rebase. Each costs as much time as the
// targets' values are long.
func (p *Predictor) Rebase(view jsondoc.Value) {
	p.view = view
	for i := range p.tracks {
		switch t := &p.tracks[i]; {
		case t.phase == waiting:
			t.state = unplaced
		case t.state != unplaced:
			t.state = rebased
			old, _ := view.At(t.spot.place)
			t.lay(old)
		default:
			t.due = t.phase == complete
		}
	}
	p.asked = -1
	p.budget.retry()
}

// Restart forgets the arguments, because the provider begins them again. The view
// is as it was: the next patch replaces what was shown. A caller who took that
// back calls Rebase with the result, before or after.
func (p *Predictor) Restart() {
	p.before += p.m.offset
	p.ended += p.m.stringBytes
	p.m = &machine{limits: p.limits, watch: p}
	for i := range p.tracks {
		t := &p.tracks[i]
		t.phase, t.value, t.due, t.depth = waiting, jsondoc.Value{}, false, 0
		t.chain, t.tail = t.chain[:0], tail{}
		switch t.state {
		case synced:
			t.state = lost
		case rebased: // the view is known, and so is what its place has
			t.state = unplaced
		}
	}
	p.asked = -1
	p.budget.retry()
}

// begin implements observer.
func (p *Predictor) begin(kind jsondoc.Kind) {
	if len(p.m.stack) > p.outer {
		return
	}
	for i := range p.tracks {
		if t := &p.tracks[i]; t.matcher.begin(p.m) {
			t.phase, t.level, t.kind = growing, len(p.m.stack), kind
			t.base = jsondoc.Value{}
			if t.state == lost && kind == jsondoc.KindObject {
				t.base = t.old
			}
		}
	}
}

// end implements observer.
func (p *Predictor) end(v jsondoc.Value) {
	level := len(p.m.stack)
	for i := range p.tracks {
		t := &p.tracks[i]
		if t.phase == growing {
			t.closed(level, v)
		}
		if level <= p.outer && t.matcher.end(p.m) {
			t.phase, t.value, t.due = complete, v, true
		}
	}
}
