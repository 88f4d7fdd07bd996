package streamgen

import (
	"fmt"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// value makes a JSON value that is not null, so that it may stand anywhere.
func (g *Generator) value(depth int) jsondoc.Value {
	switch n := g.rng.IntN(9); {
	case n == 0:
		return jsondoc.Bool(g.chance(50))
	case n <= 2:
		return jsondoc.Int(int64(g.rng.IntN(1000) - 500))
	case n <= 4:
		return jsondoc.String(g.text())
	case n <= 6 && depth > 0:
		return g.object(depth)
	case n == 7 && depth > 0:
		items := make([]jsondoc.Value, g.rng.IntN(4))
		for i := range items {
			items[i] = g.inner(depth - 1)
		}
		return jsondoc.Array(items...)
	}
	return jsondoc.MustParse(g.pick("0", "-1", "1.5", "1e3", "0.1", "true", `""`, "[]", "{}"))
}

// inner makes a value that may be null too.
func (g *Generator) inner(depth int) jsondoc.Value {
	if g.chance(12) {
		return jsondoc.Null
	}
	return g.value(depth)
}

func (g *Generator) object(depth int) jsondoc.Value {
	o := jsondoc.Object()
	for range g.rng.IntN(4) {
		o = o.With(g.key(), g.inner(depth-1))
	}
	return o
}

// key makes a member's name: mostly ordinary, sometimes one that a pointer or a
// JavaScript object trips over.
func (g *Generator) key() string {
	if g.chance(80) {
		return g.pick("a", "b", "list", "recipe", "title")
	}
	return g.pick("", "0", "01", "-", "a/b", "m~n", "~1", "ключ", "constructor", "toString", "length")
}

// ownKey is key without the names that every JavaScript object inherits: the
// official client's library finds them where they are not, package jsondoc does
// not.
func (g *Generator) ownKey() string {
	for {
		if k := g.key(); k != "constructor" && k != "toString" && k != "length" {
			return k
		}
	}
}

// state makes a whole state: mostly an object.
func (g *Generator) state() jsondoc.Value {
	switch {
	case g.chance(80):
		return g.object(3)
	case g.chance(30):
		return jsondoc.Null
	}
	return g.value(2)
}

// pointers lists the places of a document, root included.
func pointers(v jsondoc.Value, at jsondoc.Pointer, out []jsondoc.Pointer) []jsondoc.Pointer {
	out = append(out, at)
	switch v.Kind() {
	case jsondoc.KindObject:
		for name, m := range v.Members() {
			out = pointers(m, at.Child(name), out)
		}
	case jsondoc.KindArray:
		for i, item := range v.Items() {
			out = pointers(item, at.Index(i), out)
		}
	}
	return out
}

// patch makes a patch that mostly fits doc.
func (g *Generator) patch(doc jsondoc.Value) jsondoc.Patch {
	p := jsondoc.Patch{}
	for range g.rng.IntN(4) {
		op := g.operation(doc)
		p = append(p, op)
		if next, err := (jsondoc.Patch{op}).Apply(doc, nil); err == nil {
			doc = next
		}
	}
	return p
}

// objectPatch is patch without operations on the root, so that an object stays
// one.
func (g *Generator) objectPatch(doc jsondoc.Value) jsondoc.Patch {
	p := g.patch(doc)
	out := p[:0]
	for _, op := range p {
		if op.Path != "" && op.From != "" || op.Path != "" && op.Op != "move" {
			out = append(out, op)
		}
	}
	return out
}

func (g *Generator) operation(doc jsondoc.Value) jsondoc.Operation {
	places := pointers(doc, "", nil)
	place := func() jsondoc.Pointer {
		p := places[g.rng.IntN(len(places))]
		switch {
		case g.chance(35):
			p = p.Child(g.ownKey())
		case g.chance(10):
			p = p.Child("-")
		case g.chance(10):
			p = p.Index(g.rng.IntN(5))
		}
		return p
	}
	op := jsondoc.Operation{Op: g.pick("add", "add", "replace", "replace", "remove", "move", "copy", "test"), Path: place()}
	if g.chance(60) && op.Op != "add" { // mostly a place that is there
		op.Path = places[g.rng.IntN(len(places))]
	}
	switch op.Op {
	case "add", "replace":
		op.Value = g.inner(2)
	case "test":
		op.Value = g.inner(1)
		if have, ok := doc.At(op.Path); ok && g.chance(70) {
			op.Value = have
		}
	case "move", "copy":
		op.From = places[g.rng.IntN(len(places))]
		if g.chance(15) {
			op.From = place()
		}
		if op.Op == "move" && op.From.Contains(op.Path) {
			// Into itself. The official client's library makes a cyclic
			// document of some of these, which nothing can be compared with.
			op.Op = "copy"
		}
		if _, ok := doc.At(op.From); !ok && op.Path == "" {
			op.Path = "/a" // a missing place to the root: no error there
		}
	}
	switch doc.Kind() {
	case jsondoc.KindBool, jsondoc.KindNumber, jsondoc.KindString:
		// The official client's library sets members of a scalar without an
		// error and without an effect. Package jsondoc says that there is no
		// such place, as RFC 6902 does.
		op.Path, op.From = "", ""
	}
	return op
}

func (g *Generator) messages(most int) []agui.Message {
	out := []agui.Message{}
	used := map[string]bool{}
	for range g.rng.IntN(most + 1) {
		m := g.message()
		if used[m.ID] && !g.chance(g.opts.Wild) {
			continue // ids are unique, except where anything goes
		}
		used[m.ID] = true
		out = append(out, m)
	}
	return out
}

func (g *Generator) message() agui.Message {
	m := agui.Message{ID: g.messageID(), Metadata: g.metadata(), SubagentRunID: g.owner(), Content: agui.Text(g.text())}
	enc := g.maybe(10, "enc")
	switch g.rng.IntN(8) {
	case 0:
		m.Role, m.EncryptedValue, m.Name = agui.RoleSystem, enc, g.maybe(20, "sys")
	case 1:
		m.Role, m.EncryptedValue = agui.RoleDeveloper, enc
	case 2, 3:
		m.Role, m.EncryptedValue, m.Name = agui.RoleUser, enc, g.maybe(20, "Bob")
		if g.chance(30) {
			m.Content = agui.Parts(g.part(), g.part())
		}
	case 4:
		m.Role, m.EncryptedValue = agui.RoleAssistant, enc
		if g.chance(40) {
			m.Content = agui.Content{}
		}
		if g.chance(60) {
			m.ToolCalls = []agui.ToolCall{}
			for range g.rng.IntN(3) {
				id := g.callID()
				if len(m.ToolCalls) > 0 && m.ToolCalls[0].ID == id {
					continue
				}
				m.ToolCalls = append(m.ToolCalls, agui.ToolCall{ID: id, Function: agui.Function{Name: "f", Arguments: "{}"}, Metadata: g.metadata()})
			}
		}
	case 5:
		m.ID = g.pick("t1", "t2")
		m.Role, m.ToolCallID, m.Error = agui.RoleTool, g.callID(), g.maybe(20, "bad")
		if g.chance(20) {
			m.Content = agui.Parts(g.part())
		}
	case 6:
		m.ID = g.activityID()
		m.Role, m.ActivityType, m.ActivityContent, m.Content = agui.RoleActivity, g.pick("PLAN", "SEARCH"), g.object(2), agui.Content{}
	default:
		m.ID = g.spanID()
		m.Role, m.EncryptedValue = agui.RoleReasoning, enc
	}
	return m
}

func (g *Generator) part() agui.ContentPart {
	p := agui.ContentPart{Type: agui.PartText, Text: g.text(), ID: g.maybe(10, "p1")}
	if g.chance(60) {
		p = agui.ContentPart{Type: agui.PartType(g.pick("image", "audio", "video", "document"))}
		switch g.rng.IntN(3) {
		case 0:
			p.Source = &agui.Source{Type: agui.SourceData, Value: "aGk=", MimeType: "image/png"}
		case 1:
			p.Source = &agui.Source{Type: agui.SourceURL, Value: "https://example.com/a", MimeType: g.maybe(50, "text/plain")}
		default:
			p.Source = &agui.Source{Type: agui.SourceFile, Value: "file-1", Provider: g.maybe(50, "openai")}
		}
	}
	if g.chance(20) {
		p.Metadata = g.value(1)
	}
	return p
}

// activityScope makes the metadata by which a snapshot says which activities
// it speaks for, malformed spellings included.
func (g *Generator) activityScope() jsondoc.Value {
	scope := g.pick(`null`, `["PLAN"]`, `["PLAN","SEARCH"]`, `[]`, `"PLAN"`, `[1]`)
	whole := fmt.Sprintf(`{"@ag-ui/client":{"authoritativeActivityTypes":%s}}`, scope)
	if g.chance(20) {
		whole = g.pick(`{"@ag-ui/client":{}}`, `{"@ag-ui/client":[]}`, `{"@ag-ui/client":null}`)
	}
	return jsondoc.MustParse(whole)
}
