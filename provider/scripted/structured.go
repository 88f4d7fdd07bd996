package scripted

import (
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// structured answers in JSON where the run asks for it.
func structured(v *view) []act {
	if v.format == nil {
		return nil
	}
	current := currentRecipe(v)
	topic := dishName(v)
	if topic == "" && blank(current) {
		topic = at(current, "title").Str() // a title is all that there is
	}
	doc := sample(v.format.Schema, topic)
	wanted := at(doc, "recipe")
	c := changeOf(v)
	if current.Kind() != jsondoc.KindObject || wanted.Kind() != jsondoc.KindObject || c == nil && wantsRecipe(v) {
		return []act{{say: doc.String()}}
	}
	// The recipe that is there is changed, or stays: what is not asked for is not lost.
	switch {
	case c == nil:
	case blank(current):
		current = c.apply(wanted) // a vegetarian one, where there is none yet
	default:
		current = c.apply(filled(current, wanted))
	}
	return []act{{say: conform(v.format.Schema, doc.With("recipe", filled(current, wanted))).String()}}
}

// filled is r with the members that it lacks of what is wanted, empty.
func filled(r, wanted jsondoc.Value) jsondoc.Value {
	for name, v := range wanted.Members() {
		if _, ok := r.Get(name); ok {
			continue
		}
		switch v.Kind() {
		case jsondoc.KindString:
			r = r.With(name, jsondoc.String(""))
		case jsondoc.KindNumber:
			r = r.With(name, jsondoc.Int(0))
		case jsondoc.KindArray:
			r = r.With(name, jsondoc.Array())
		}
	}
	return r
}

// unchanged is what a request for the summary says where there is nothing to sum up.
const unchanged = "did not change"

// summary says in words, in two sentences at most, what the model has just answered in
// JSON, or answers from it.
func summary(v *view) []act {
	if v.draft.IsAbsent() {
		return nil
	}
	r := at(v.draft, "recipe")
	if r.Len() == 0 {
		return say("The new state is written.")
	}
	same := strings.Contains(v.system, unchanged)
	if c := changeOf(v); c != nil {
		if same {
			return say("%s", c.none)
		}
		return say("%s", c.done)
	}
	if wantsRecipe(v) {
		return say("Here's your recipe! %s", describe(r))
	}
	if greeting.MatchString(v.lower) {
		return say("Hello! %s", whoAmI)
	}
	for _, answer := range []func() []act{
		func() []act { return hello(v) },
		func() []act { return ingredientsAnswer(v, r) },
		func() []act { return recipeAnswer(v, r) },
		func() []act { return smallTalk(v) },
	} {
		if acts := answer(); acts != nil {
			return acts
		}
	}
	if same {
		return say("I am a scripted model and have no rule for that, so the recipe stays as it is. Ask me for a dish, to improve it, or to make it vegetarian.")
	}
	return say("Here's your recipe! %s", describe(r))
}

// sample makes a value that fits a schema, the same for the same schema and topic.
// Members with names that it knows get sensible values.
func sample(schema jsondoc.Value, topic string) jsondoc.Value {
	left := maxSampleValues
	v := sampleAt(schema, schema, "", topic, 0, &left)
	if v.Kind() != jsondoc.KindObject {
		return jsondoc.Object()
	}
	return v
}

// A schema that refers to itself several times grows with every level.
const (
	maxSampleDepth  = 8
	maxSampleValues = 2000
)

func sampleAt(root, s jsondoc.Value, name, topic string, depth int, left *int) jsondoc.Value {
	if *left--; depth > maxSampleDepth || *left < 0 {
		return jsondoc.Null
	}
	if ref, ok := s.Get("$ref"); ok {
		if target, ok := strings.CutPrefix(ref.Str(), "#"); ok {
			if p, err := jsondoc.ParsePointer(target); err == nil {
				if r, ok := root.At(p); ok {
					return sampleAt(root, r, name, topic, depth+1, left)
				}
			}
		}
		return jsondoc.Null
	}
	if c, ok := s.Get("const"); ok {
		return c
	}
	if e, ok := s.Get("enum"); ok && e.Len() > 0 {
		return e.Item(0)
	}
	if d, ok := s.Get("default"); ok {
		return d
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := s.Get(k); ok && list.Len() > 0 {
			return sampleAt(root, list.Item(0), name, topic, depth+1, left)
		}
	}
	kind, _ := s.Get("type")
	if kind.Kind() == jsondoc.KindArray {
		for _, k := range kind.Items() {
			if kind = k; k.Str() != "null" {
				break
			}
		}
	}
	switch kind.Str() {
	case "string":
		return jsondoc.String(sampleText(name, topic))
	case "integer", "number":
		return sampleNumber(s, name)
	case "boolean":
		return jsondoc.True
	case "null":
		return jsondoc.Null
	case "array":
		return sampleArray(root, s, name, topic, depth, left)
	}
	props, ok := s.Get("properties")
	if !ok && kind.Str() == "" {
		if name == "" {
			return jsondoc.Object()
		}
		return jsondoc.String(sampleText(name, topic))
	}
	var members []jsondoc.Member
	for n, p := range props.Members() {
		members = append(members, member(n, sampleAt(root, p, n, topic, depth+1, left)))
	}
	return jsondoc.Object(members...)
}

func sampleNumber(s jsondoc.Value, name string) jsondoc.Value {
	n := int64(1)
	switch {
	case strings.Contains(name, "prep"):
		n = 10
	case strings.Contains(name, "cook") || strings.Contains(name, "minutes"):
		n = 25
	case strings.Contains(name, "serving"):
		n = 4
	case name == "index":
		n = 0
	}
	if low, ok := s.Get("minimum"); ok {
		if least, ok := low.Int64(); ok && n < least {
			n = least
		}
	}
	if high, ok := s.Get("maximum"); ok {
		if most, ok := high.Int64(); ok && n > most {
			n = most
		}
	}
	return jsondoc.Int(n)
}

func sampleArray(root, s jsondoc.Value, name, topic string, depth int, left *int) jsondoc.Value {
	item, _ := s.Get("items")
	itemType, _ := item.Get("type")
	_, enum := item.Get("enum")
	d := dish(topic)
	if itemType.Str() == "string" && !enum {
		switch {
		case strings.Contains(name, "ingredient"):
			var list []string
			for _, i := range d.ingredients {
				list = append(list, i.text())
			}
			return texts(list...)
		case strings.Contains(name, "step") || strings.Contains(name, "instruction"):
			return texts(d.instructions...)
		}
	}
	if itemType.Str() == "object" && strings.Contains(name, "ingredient") {
		var list []jsondoc.Value
		for _, i := range d.ingredients {
			v := sampleAt(root, item, "ingredient", topic, depth+1, left)
			for n, known := range map[string]string{"icon": i.icon, "name": i.name, "amount": i.amount} {
				if _, ok := v.Get(n); ok {
					v = v.With(n, jsondoc.String(known))
				}
			}
			list = append(list, v)
		}
		return jsondoc.Array(list...)
	}
	n := 2
	if least, ok := s.Get("minItems"); ok {
		if m, ok := least.Int64(); ok && int(m) > n && m < 100 {
			n = int(m)
		}
	}
	if most, ok := s.Get("maxItems"); ok {
		if m, ok := most.Int64(); ok && int(m) < n {
			n = max(int(m), 0)
		}
	}
	list := make([]jsondoc.Value, n)
	for i := range list {
		list[i] = sampleAt(root, item, strings.TrimSuffix(name, "s"), topic, depth+1, left)
	}
	return jsondoc.Array(list...)
}

// sampleText is a text for a member of that name.
func sampleText(name, topic string) string {
	d := dish(topic)
	switch strings.ToLower(name) {
	case "title", "name":
		return d.title
	case "cuisine":
		return d.cuisine
	case "skill_level", "difficulty":
		return d.skill
	case "cooking_time":
		return d.time
	case "location", "city", "place":
		return "San Francisco"
	case "message", "summary":
		return "Here is " + d.title + "."
	}
	return "example " + strings.ReplaceAll(strings.ToLower(name), "_", " ")
}

// conform makes v fit a tool's schema, as a model does that reads it: the state may be
// half a recipe, or have members that the tool does not take. What fits stays as it is.
func conform(root, v jsondoc.Value) jsondoc.Value { return conformAt(root, root, v, "", 0) }

func conformAt(root, s, v jsondoc.Value, name string, depth int) jsondoc.Value {
	s = resolve(root, s)
	if depth > maxSampleDepth || s.Kind() != jsondoc.KindObject {
		return v
	}
	kind, _ := s.Get("type")
	switch kind.Str() {
	case "object":
		if v.Kind() == jsondoc.KindString {
			if _, ok := at(s, "properties").Get("name"); ok { // a plain list of names
				v = jsondoc.Object(text("name", v.Str()))
			}
		}
		if v.Kind() != jsondoc.KindObject {
			v = jsondoc.Object()
		}
		return conformObject(root, s, v, depth)
	case "array":
		var items []jsondoc.Value
		if v.Kind() == jsondoc.KindArray {
			for _, item := range v.Items() {
				items = append(items, conformAt(root, at(s, "items"), item, strings.TrimSuffix(name, "s"), depth+1))
			}
		}
		return jsondoc.Array(items...)
	case "string":
		if v.Kind() != jsondoc.KindString {
			return jsondoc.String(sampleText(name, ""))
		}
	case "integer", "number":
		if v.Kind() != jsondoc.KindNumber {
			return sampleNumber(s, name)
		}
	case "boolean":
		if v.Kind() != jsondoc.KindBool {
			return jsondoc.False
		}
	}
	return v
}

func conformObject(root, s, v jsondoc.Value, depth int) jsondoc.Value {
	props := at(s, "properties")
	for name, p := range props.Members() {
		if have, ok := v.Get(name); ok {
			v = v.With(name, conformAt(root, p, have, name, depth+1))
		}
	}
	for _, r := range at(s, "required").Items() {
		if _, ok := v.Get(r.Str()); !ok {
			v = v.With(r.Str(), conformAt(root, at(props, r.Str()), jsondoc.Null, r.Str(), depth+1))
		}
	}
	if extra, ok := s.Get("additionalProperties"); ok && extra.Kind() == jsondoc.KindBool && !extra.Bool() {
		for name := range v.Members() {
			if _, known := props.Get(name); !known {
				v = v.Without(name)
			}
		}
	}
	return v
}
