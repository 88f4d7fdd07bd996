package streamgen

import "github.com/lockstep-go/lockstep/jsondoc"

// damage changes one thing in an event's JSON: a member is lost, nulled, of
// another kind, unknown, or of an unknown tag. Often the event stays readable;
// which damage is fatal is exactly the question.
func (g *Generator) damage(doc jsondoc.Value) jsondoc.Value {
	places := pointers(doc, "", nil)
	p := places[g.rng.IntN(len(places))]
	if p == "" || p == "/type" && !g.chance(20) {
		return set(doc, "", doc.With(g.pick("surprise", "thread_id", "subagentRunId"), jsondoc.Int(1)))
	}
	switch g.rng.IntN(6) {
	case 0, 1:
		return set(doc, p, jsondoc.Null)
	case 2:
		return set(doc, p, g.inner(2))
	case 3:
		parent, _, _ := p.Parent()
		if at, ok := doc.At(parent); ok && at.Kind() == jsondoc.KindObject {
			return set(doc, parent, at.With("surprise", g.inner(1)))
		}
		return doc
	case 4:
		changed, err := (jsondoc.Patch{{Op: "remove", Path: p}}).Apply(doc, nil)
		if err != nil {
			return doc
		}
		return changed
	}
	return set(doc, p, jsondoc.String(g.pick("unheard-of", "tool", "user", "file", "interrupt", "cancelled", "reasoning")))
}

// set replaces a value. An empty string is not put anywhere: where a string is
// optional, package agui reads it as absent and the official client does not.
func set(doc jsondoc.Value, p jsondoc.Pointer, v jsondoc.Value) jsondoc.Value {
	if v.Kind() == jsondoc.KindString && v.Str() == "" {
		v = jsondoc.String("e")
	}
	changed, err := (jsondoc.Patch{{Op: "replace", Path: p, Value: v}}).Apply(doc, nil)
	if err != nil {
		return doc
	}
	return changed
}
