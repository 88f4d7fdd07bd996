package state

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// Access limits places of the state, named by JSON Pointer; a token "*" stands
// for any member or item. What no pattern names, clients read and write. Of
// two patterns that name one place the stricter counts, and a limit reaches
// everything below its place (S9).
type Access map[string]AccessLevel

// AccessLevel says what a client may do with a place.
type AccessLevel uint8

const (
	// ReadWrite lets clients read and write; it is the default.
	ReadWrite AccessLevel = iota
	// ReadOnly lets clients read. Their writes are dropped or refused.
	ReadOnly
	// ServerOnly never leaves the server and cannot be probed. It names
	// members of objects, not single items of arrays: an item that is not
	// there for some readers would give every index two meanings. A pattern of
	// items is refused where the schema or the initial state shows the array;
	// where only a state has one, the whole array stays on the server.
	ServerOnly
)

// access is the compiled form: a tree along the patterns' tokens.
type access struct {
	root           *rule
	hides, forbids bool // any ServerOnly, any ReadOnly
}

type rule struct {
	level   AccessLevel
	members map[string]*rule
	any     *rule // "*"
}

func newAccess(a Access) (access, error) {
	out := access{root: &rule{}}
	for _, pattern := range slices.Sorted(maps.Keys(a)) {
		p, err := jsondoc.ParsePointer(pattern)
		if err != nil || p == "" {
			return out, &AccessError{pattern, fmt.Sprintf("%q is not a JSON Pointer below the root, such as /secrets or /users/*/token", pattern)}
		}
		level := a[pattern]
		if level > ServerOnly {
			return out, &AccessError{pattern, fmt.Sprintf("unknown level %d", level)}
		}
		n := out.root
		for _, token := range p.Tokens() {
			n = n.grow(token)
		}
		n.level = max(n.level, level)
		out.hides = out.hides || level == ServerOnly
		out.forbids = out.forbids || level == ReadOnly
	}
	return out, nil
}

func (r *rule) grow(token string) *rule {
	if token == "*" {
		if r.any == nil {
			r.any = &rule{}
		}
		return r.any
	}
	if r.members == nil {
		r.members = map[string]*rule{}
	}
	if r.members[token] == nil {
		r.members[token] = &rule{}
	}
	return r.members[token]
}

// below gives the rules for one member: the named one and "*" can both apply.
func below(rules []*rule, token string) []*rule {
	var out []*rule
	for _, r := range rules {
		if n := r.members[token]; n != nil {
			out = append(out, n)
		}
		if r.any != nil {
			out = append(out, r.any)
		}
	}
	return out
}

func level(rules []*rule) AccessLevel {
	var l AccessLevel
	for _, r := range rules {
		l = max(l, r.level)
	}
	return l
}

// concealed reports whether a member of an object does not leave the server: it is
// server-only, or an array whose items are.
func concealed(member jsondoc.Value, rules []*rule) bool {
	return level(rules) == ServerOnly || unshowable(member, rules)
}

func unshowable(v jsondoc.Value, rules []*rule) bool {
	if v.Kind() != jsondoc.KindArray || len(rules) == 0 {
		return false
	}
	for _, r := range rules {
		if r.items() {
			return true
		}
	}
	for i, item := range v.Items() {
		if unshowable(item, below(rules, itoa(i))) {
			return true
		}
	}
	return false
}

// items reports whether a rule makes items server-only where its place is an
// array, be it an empty one.
func (r *rule) items() bool {
	if r.any != nil && r.any.level == ServerOnly {
		return true
	}
	for token, n := range r.members {
		if _, err := strconv.ParseUint(token, 10, 32); n.level == ServerOnly && (err == nil || token == "-") {
			return true
		}
	}
	return false
}

// AccessError says which of Config.Access's patterns cannot be.
type AccessError struct{ Pattern, Reason string }

func (e *AccessError) Error() string {
	return fmt.Sprintf("state: Config.Access[%q]: %s", e.Pattern, e.Reason)
}

// checkItems refuses patterns that make single items of an array server-only.
func (a Access) checkItems(schema, initial jsondoc.Value) error {
	var list func(s, v jsondoc.Value, r *rule, at jsondoc.Pointer) jsondoc.Pointer
	list = func(s, v jsondoc.Value, r *rule, at jsondoc.Pointer) jsondoc.Pointer {
		items, isList := s.Get("items")
		if (isList || v.Kind() == jsondoc.KindArray) && r.items() {
			return cmp.Or(at, "/")
		}
		properties, _ := s.Get("properties")
		for _, token := range slices.Sorted(maps.Keys(r.members)) {
			inner, _ := properties.Get(token)
			if inner.IsAbsent() && isList {
				inner = items
			}
			value, _ := v.At(jsondoc.Path(token))
			if found := list(inner, value, r.members[token], at.Child(token)); found != "" {
				return found
			}
		}
		if r.any == nil {
			return ""
		}
		more, _ := s.Get("additionalProperties")
		inside := []jsondoc.Value{items, more}
		for _, p := range properties.Members() {
			inside = append(inside, p)
		}
		for _, inner := range inside {
			if found := list(inner, jsondoc.Value{}, r.any, at.Child("*")); found != "" {
				return found
			}
		}
		var values []jsondoc.Value
		for _, m := range v.Members() {
			values = append(values, m)
		}
		for _, item := range v.Items() {
			values = append(values, item)
		}
		for _, value := range values {
			if found := list(jsondoc.Value{}, value, r.any, at.Child("*")); found != "" {
				return found
			}
		}
		return ""
	}
	for _, pattern := range slices.Sorted(maps.Keys(a)) {
		if a[pattern] != ServerOnly {
			continue
		}
		one, err := newAccess(Access{pattern: ServerOnly})
		if err != nil {
			return err
		}
		if at := list(schema, initial, one.root, ""); at != "" {
			return &AccessError{pattern, fmt.Sprintf("%s is a list, and single items cannot be server-only; name the list, or a member of its items such as %s/*/token", at, at)}
		}
	}
	return nil
}

// Visible is what clients may see of a state. It shares structure with the
// state; without server-only places it is the state.
func (m *Model) Visible(state jsondoc.Value) jsondoc.Value {
	if !m.access.hides {
		return state
	}
	return hide(state, []*rule{m.access.root})
}

func hide(v jsondoc.Value, rules []*rule) jsondoc.Value {
	if len(rules) == 0 {
		return v
	}
	switch v.Kind() {
	case jsondoc.KindObject:
		out := v
		for name, member := range v.Members() {
			at := below(rules, name)
			if concealed(member, at) {
				out = out.Without(name)
			} else if shown := hide(member, at); !jsondoc.Same(shown, member) {
				out = out.With(name, shown)
			}
		}
		return out
	case jsondoc.KindArray:
		items := make([]jsondoc.Value, 0, v.Len())
		changed := false
		for i, item := range v.Items() {
			shown := hide(item, below(rules, itoa(i)))
			changed = changed || !jsondoc.Same(shown, item)
			items = append(items, shown)
		}
		if changed {
			return jsondoc.Array(items...)
		}
	}
	return v
}

// ShownResult is the text of a tool's result as clients get it. Where the result
// becomes state by a rule it is without server-only members: the log of the
// conversation would show what the state hides (S9).
func (m *Model) ShownResult(tool, text string) string {
	rule, mapped := m.rules.states[tool]
	if !mapped || !m.access.hides {
		return text
	}
	v, err := jsondoc.ParseString(text)
	if err != nil {
		return text // it did not become state either
	}
	if !rule.delta {
		return m.Visible(v).String()
	}
	p, err := jsondoc.PatchFrom(v)
	if err != nil {
		return text
	}
	shown := jsondoc.Patch{}
	for _, op := range p {
		rules := m.rulesAt(op.Path)
		if m.hiddenOp(op) || unshowable(op.Value, rules) {
			continue
		}
		op.Value = hide(op.Value, rules)
		shown = append(shown, op)
	}
	return shown.String()
}

func (m *Model) rulesAt(at jsondoc.Pointer) []*rule {
	rules := []*rule{m.access.root}
	for _, token := range at.Tokens() {
		rules = below(rules, token)
	}
	return rules
}

// restore puts the server-only members of old back into the changed visible
// document: those of objects that are still there, array items matched as in
// jsondoc.Merge. What was removed with its object stays removed.
func (m *Model) restore(old, visible jsondoc.Value) jsondoc.Value {
	if !m.access.hides {
		return visible
	}
	whole, _, err := jsondoc.Merge(m.Visible(old), visible, old, &jsondoc.MergeOptions{Policy: jsondoc.Ours})
	if err != nil { // only a rejecting policy can fail
		return visible
	}
	return whole
}

// protect undoes what a client changed in read-only places: where both
// documents have the place's parent, the old member comes back. It reports the
// places that had been changed.
func (m *Model) protect(old, changed jsondoc.Value) (jsondoc.Value, []jsondoc.Pointer) {
	if !m.access.forbids {
		return changed, nil
	}
	var touched []jsondoc.Pointer
	out := protect(old, changed, []*rule{m.access.root}, "", &touched)
	return out, touched
}

func protect(old, now jsondoc.Value, rules []*rule, at jsondoc.Pointer, touched *[]jsondoc.Pointer) jsondoc.Value {
	if len(rules) == 0 || jsondoc.Same(old, now) {
		return now
	}
	if level(rules) == ReadOnly {
		if !jsondoc.Equal(old, now) {
			*touched = append(*touched, at)
		}
		return old
	}
	switch {
	case old.Kind() == jsondoc.KindObject && now.Kind() == jsondoc.KindObject:
		for name, was := range old.Members() {
			r := below(rules, name)
			if len(r) == 0 {
				continue
			}
			is, there := now.Get(name)
			switch {
			case there:
				if kept := protect(was, is, r, at.Child(name), touched); !jsondoc.Same(kept, is) {
					now = now.With(name, kept)
				}
			case level(r) == ReadOnly:
				*touched = append(*touched, at.Child(name))
				now = now.With(name, was)
			}
		}
		for name := range now.Members() {
			if _, was := old.Get(name); !was && level(below(rules, name)) == ReadOnly {
				*touched = append(*touched, at.Child(name))
				now = now.Without(name)
			}
		}
	case old.Kind() == jsondoc.KindArray && now.Kind() == jsondoc.KindArray:
		items := make([]jsondoc.Value, 0, now.Len())
		changed := false
		for i, item := range now.Items() {
			kept := item
			if i < old.Len() {
				kept = protect(old.Item(i), item, below(rules, itoa(i)), at.Index(i), touched)
			}
			if i >= old.Len() && level(below(rules, itoa(i))) == ReadOnly {
				*touched = append(*touched, at.Index(i))
				changed = true
				continue
			}
			changed = changed || !jsondoc.Same(kept, item)
			items = append(items, kept)
		}
		for i := now.Len(); i < old.Len() && level(below(rules, itoa(i))) == ReadOnly; i++ {
			*touched = append(*touched, at.Index(i))
			items, changed = append(items, old.Item(i)), true
		}
		if changed {
			return jsondoc.Array(items...)
		}
	}
	return now
}

// Hidden reports whether a place, or one above it, is server-only.
func (m *Model) Hidden(at jsondoc.Pointer) bool {
	rules := []*rule{m.access.root}
	for _, token := range at.Tokens() {
		if rules = below(rules, token); level(rules) == ServerOnly {
			return true
		}
	}
	return false
}

func (m *Model) hiddenOp(op jsondoc.Operation) bool {
	return m.Hidden(op.Path) || op.From != "" && m.Hidden(op.From)
}

// maxOperations is how many operations a patch of an agent's or a tool's may have.
const maxOperations = 1000

func limited(p jsondoc.Patch) error {
	if len(p) > maxOperations {
		return fmt.Errorf("the patch has %d operations; %d is the most", len(p), maxOperations)
	}
	return nil
}

// apply applies a patch of the server's own. Operations on server-only places
// count; all others keep, like every change, the server-only members of what they
// replace. An error says nothing about places that clients do not see: it is a
// tool's result, and they get it.
func (m *Model) apply(before jsondoc.Value, p jsondoc.Patch) (jsondoc.Value, error) {
	state := before
	for done := 0; done < len(p); {
		n := done
		for n < len(p) && !(m.access.hides && m.hiddenOp(p[n])) {
			n++
		}
		if n > done {
			visible, err := p[done:n].Apply(orEmpty(m.Visible(state)), clientRules)
			if failed := (*jsondoc.PatchError)(nil); errors.As(err, &failed) && failed.Index >= 0 {
				failed.Index += done
			}
			if err != nil {
				return before, err
			}
			state, done = m.restore(state, visible), n
			continue
		}
		next, err := p[n:n+1].Apply(orEmpty(state), clientRules)
		if err != nil {
			return before, fmt.Errorf("operation %d does not apply", n)
		}
		state, done = next, n+1
	}
	return state, nil
}

// PublicSchema is the schema as clients get it, without server-only members. It
// is absent where there is no schema.
func (m *Model) PublicSchema() jsondoc.Value {
	if m.cfg.Schema == nil {
		return jsondoc.Value{}
	}
	doc := m.cfg.Schema.Document()
	if !m.access.hides {
		return doc
	}
	return hideInSchema(doc, []*rule{m.access.root})
}

// hideInSchema drops the properties that rules hide. Behind a reference nothing
// is dropped, so the definitions are dropped as a whole where anything is
// hidden at all: a schema that says too little is better than one that names
// what nobody may know.
func hideInSchema(s jsondoc.Value, rules []*rule) jsondoc.Value {
	if s.Kind() != jsondoc.KindObject || len(rules) == 0 {
		return s
	}
	out := s.Without("$defs").Without("definitions")
	for _, name := range []string{"$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "examples", "default", "const", "enum", "patternProperties", "dependentSchemas", "dependentRequired"} {
		out = out.Without(name)
	}
	if props, ok := out.Get("properties"); ok {
		shown := props
		required, _ := out.Get("required")
		for name, p := range props.Members() {
			at := below(rules, name)
			if _, list := p.Get("items"); level(at) == ServerOnly || list && slices.ContainsFunc(at, (*rule).items) {
				shown = shown.Without(name)
				required = without(required, name)
			} else {
				shown = shown.With(name, hideInSchema(p, at))
			}
		}
		out = out.With("properties", shown)
		if !required.IsAbsent() {
			out = out.With("required", required)
		}
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if inner, ok := out.Get(name); ok {
			var at []*rule
			for _, r := range rules {
				if r.any != nil {
					at = append(at, r.any)
				}
			}
			out = out.With(name, hideInSchema(inner, at))
		}
	}
	return out
}

func without(list jsondoc.Value, s string) jsondoc.Value {
	var out []jsondoc.Value
	for _, item := range list.Items() {
		if item.Str() != s {
			out = append(out, item)
		}
	}
	return jsondoc.Array(out...)
}

// ReadOnlyPaths lists the patterns that clients may read and not write, for
// capabilities. Server-only ones appear nowhere.
func (m *Model) ReadOnlyPaths() []string {
	out := []string{}
	for _, pattern := range slices.Sorted(maps.Keys(m.cfg.Access)) {
		if m.cfg.Access[pattern] == ReadOnly {
			out = append(out, pattern)
		}
	}
	return out
}
