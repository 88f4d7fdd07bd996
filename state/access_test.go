package state

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"pgregory.net/rapid"
)

// S9: single items of an array cannot be server-only. Where the array is known
// that is said; where it comes later, all of it stays on the server.
func TestS9ItemsOfArrays(t *testing.T) {
	schema := MustParseSchema(`{"type":"object","properties":{
		"l":{"type":"array","items":{"type":"string"}},
		"users":{"type":"array","items":{"type":"object","properties":{"token":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}}}},
		"open":{"type":"object"},"rooms":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}}}`)
	initial := jsondoc.MustParse(`{"l":[],"users":[{"tags":["a"]}],"open":{"list":["x"]},"rooms":{"r":["x"]}}`)
	for pattern, at := range map[string]string{
		"/l/0": "/l", "/l/*": "/l", "/l/-": "/l", "/users/*": "/users", "/users/0": "/users",
		"/users/*/tags/*": "/users/*/tags", "/users/0/tags/1": "/users/0/tags", "/rooms/*/0": "/rooms/*",
		"/l": "", "/users/*/token": "", "/users/0/token": "", "/users/*/tags": "", "/rooms/*": "", "/open/0": "",
	} {
		for name, cfg := range map[string]Config{"schema": {Schema: schema, Initial: jsondoc.Object()}, "initial state": {Initial: initial}} {
			cfg.Access = Access{pattern: ServerOnly}
			_, err := NewModel(cfg)
			if at == "" && err != nil || at != "" && (err == nil || !strings.Contains(err.Error(), `is a list`)) {
				t.Errorf("%s by the %s: %v, want one about %q", pattern, name, err, at)
			}
		}
	}
	m, err := NewModel(Config{Access: Access{"/l/0": ServerOnly, "/m/*": ServerOnly, "/a/*/*": ServerOnly}})
	if err != nil {
		t.Fatal(err)
	}
	for state, want := range map[string]string{
		`{"l":["hush"],"x":1}`:          `{"x":1}`,
		`{"l":[],"m":[],"x":1}`:         `{"x":1}`,
		`{"l":{"0":"hush","1":"b"}}`:    `{"l":{"1":"b"}}`,
		`{"m":{"k":"hush"}}`:            `{"m":{}}`,
		`{"a":[["hush"],"b"]}`:          `{}`,
		`{"a":{"k":["hush"],"n":"b"}}`:  `{"a":{"n":"b"}}`,
		`{"a":[{"k":"hush"},{"n":1}]}`:  `{"a":[{},{}]}`,
		`{"l":"hello","m":1,"a":["b"]}`: `{"l":"hello","m":1,"a":["b"]}`,
	} {
		if got := m.Visible(jsondoc.MustParse(state)); got.String() != want {
			t.Errorf("of %s clients see %s, want %s", state, got, want)
		}
	}
	// Whatever a client does to such a place, what was there stays.
	now := jsondoc.MustParse(`{"l":["hush"],"x":1}`)
	doc := Doc{State: now, View: m.Visible(now)}
	for _, wanted := range []string{`{"x":2}`, `{"l":["mine"],"x":2}`, `{"l":[],"x":2}`} {
		edited, err := m.Edit(doc, doc, jsondoc.MustParse(wanted))
		if err != nil || !jsondoc.Equal(edited.State, jsondoc.MustParse(`{"l":["hush"],"x":2}`)) || edited.View.String() != `{"x":2}` {
			t.Errorf("%s makes %s, shown as %s: %v", wanted, edited.State, edited.View, err)
		}
	}
}

// Items that may only be read stay where they are: no edit changes, adds or
// removes one.
func TestS9ReadOnlyItems(t *testing.T) {
	m, err := NewModel(Config{Access: Access{"/l/0": ReadOnly, "/all/*": ReadOnly}})
	if err != nil {
		t.Fatal(err)
	}
	now := jsondoc.MustParse(`{"l":["a","b"],"all":["c"]}`)
	doc := Doc{State: now, View: now}
	for wanted, want := range map[string]string{
		`{"l":["a","x","y"],"all":["c"]}`: `{"l":["a","x","y"],"all":["c"]}`,
		`{"l":["x","b"],"all":["c"]}`:     "",
		`{"l":[],"all":["c"]}`:            "",
		`{"l":["a","b"],"all":[]}`:        "",
		`{"l":["a","b"],"all":["c","d"]}`: "",
	} {
		edited, err := m.Edit(doc, doc, jsondoc.MustParse(wanted))
		if err != nil || (want == "") != (len(edited.Dropped) > 0) {
			t.Errorf("%s: dropped %v, %v", wanted, edited.Dropped, err)
		}
		if want != "" && edited.State.String() != want {
			t.Errorf("%s makes %s", wanted, edited.State)
		}
		if first, _ := edited.State.At("/l/0"); first.Str() != "a" && edited.Changed {
			t.Errorf("%s makes %s", wanted, edited.State)
		}
	}
}

// A patch of the server's own reaches server-only places, keeps those that it does
// not name, and fails without a word about them.
func TestS9PatchesOfTools(t *testing.T) {
	m, err := NewModel(Config{Access: Access{"/secret": ServerOnly, "/users/*/token": ServerOnly}})
	if err != nil {
		t.Fatal(err)
	}
	state := jsondoc.MustParse(`{"secret":{"k":1},"users":[{"id":"a","token":"t"}],"x":1}`)
	for _, c := range []struct{ patch, want string }{
		{`[{"op":"replace","path":"/secret/k","value":2}]`, `{"secret":{"k":2},"users":[{"id":"a","token":"t"}],"x":1}`},
		{`[{"op":"replace","path":"/x","value":2},{"op":"remove","path":"/secret/k"},{"op":"add","path":"/secret/n","value":3},{"op":"replace","path":"/users/0","value":{"id":"a","n":1}}]`, `{"secret":{"n":3},"users":[{"id":"a","n":1,"token":"t"}],"x":2}`},
		{`[{"op":"copy","from":"/secret/k","path":"/y"},{"op":"replace","path":"/users/0/token","value":"u"}]`, `{"secret":{"k":1},"users":[{"id":"a","token":"u"}],"x":1,"y":1}`},
		{`[{"op":"test","path":"/secret/k","value":1},{"op":"remove","path":"/secret"}]`, `{"users":[{"id":"a","token":"t"}],"x":1}`},
		{`[{"op":"replace","path":"","value":{"x":3}}]`, `{"x":3,"secret":{"k":1}}`},
		{`[{"op":"remove","path":"/x"},{"op":"replace","path":"/secret/none","value":1}]`, ""},
		{`[{"op":"test","path":"/secret/k","value":2}]`, ""},
		{`[{"op":"replace","path":"/users/0/token/x","value":2}]`, ""},
	} {
		p, err := jsondoc.ParsePatch([]byte(c.patch))
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.apply(state, p)
		switch {
		case c.want == "" && (err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "token") || !jsondoc.Same(got, state)):
			t.Errorf("%s makes %s: %v", c.patch, got, err)
		case c.want != "" && (err != nil || !jsondoc.Equal(got, jsondoc.MustParse(c.want))):
			t.Errorf("%s makes %s, want %s: %v", c.patch, got, c.want, err)
		}
	}
}

// S8: what is made up for a state that nobody has given fits its schema, as far as
// it goes.
func TestS8MadeUpDefaults(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string"},"n":{"type":"integer"},"l":{"type":"array","items":{}},"o":{"type":"object"},"b":{"type":"boolean"}}}`:             `{"a":"","n":0,"l":[],"o":{},"b":false}`,
		`{"type":"object","required":["lvl"],"properties":{"lvl":{"enum":["a","b"]},"n":{"type":"integer","minimum":3},"s":{"type":"string","minLength":1}}}`:                    `{}`,
		`{"type":"object","properties":{"l":{"type":"array","minItems":1,"items":{}},"d":{"type":"string","pattern":"^x"},"ok":{"type":"string"}}}`:                              `{"ok":""}`,
		`{"type":"object","properties":{"o":{"type":"object","required":["q","r"],"properties":{"q":{"type":"string","minLength":1},"r":{"type":"string"}}},"x":{"default":5}}}`: `{"x":5}`,
		`{"type":"object","properties":{"o":{"type":"object","minProperties":1}}}`:                                                                                               `{}`,
	} {
		m, err := NewModel(Config{Schema: MustParseSchema(schema)})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.First(jsondoc.Value{}); !jsondoc.Equal(got, jsondoc.MustParse(want)) {
			t.Errorf("%s begins with %s, want %s", schema, got, want)
		}
	}
}

// S9: whatever an agent's patch does, nothing that was server-only becomes visible
// but by an operation that moves or copies it.
func TestS9PatchesReveal(t *testing.T) {
	m, err := NewModel(Config{Access: Access{"/s": ServerOnly, "/o/s": ServerOnly, "/l/*": ServerOnly}})
	if err != nil {
		t.Fatal(err)
	}
	const hush = `"hush"`
	state := jsondoc.MustParse(`{"s":{"k":"hush"},"o":{"s":"hush","t":1},"l":["hush"],"x":1}`)
	rapid.Check(t, func(t *rapid.T) {
		paths := rapid.SampledFrom([]string{"/s", "/s/k", "/o", "/o/s", "/o/t", "/l", "/l/0", "/l/-", "/x", "/y"})
		values := rapid.SampledFrom([]string{`1`, `{}`, `[]`, `{"s":2,"k":3}`})
		var p jsondoc.Patch
		for range rapid.IntRange(1, 4).Draw(t, "operations") {
			op := jsondoc.Operation{Op: rapid.SampledFrom([]string{"add", "replace", "remove", "test"}).Draw(t, "op"), Path: jsondoc.Pointer(paths.Draw(t, "path"))}
			if op.Op != "remove" {
				op.Value = jsondoc.MustParse(values.Draw(t, "value"))
			}
			p = append(p, op)
		}
		next, err := m.apply(state, p)
		if err != nil {
			if !jsondoc.Same(next, state) {
				t.Fatalf("%v, and yet %s", err, next)
			}
			return
		}
		if shown := m.Visible(next); strings.Contains(shown.String(), hush) {
			t.Fatalf("%s shows %s", p, shown)
		}
	})
}

// A patch of 1000 operations is applied, one of 1001 is an error, whoever of the
// agent's side made it.
func TestOperationsOfTools(t *testing.T) {
	m, err := NewModel(Config{Rules: []Rule{MapResultAsStateDelta("patch")}})
	if err != nil {
		t.Fatal(err)
	}
	for n, ok := range map[int]bool{1000: true, 1001: false} {
		p := make(jsondoc.Patch, n)
		for i := range p {
			p[i] = jsondoc.Operation{Op: "add", Path: "/x", Value: jsondoc.Int(int64(i))}
		}
		s := m.NewSession(Doc{State: jsondoc.Object()})
		if _, err := s.Emitted(jsondoc.Value{}, p); (err == nil) != ok {
			t.Errorf("%d operations of agent code: %v", n, err)
		}
		if _, err := s.mapResult(&call{id: "c", tool: "patch"}, Returned{Text: p.String()}); (err == nil) != ok {
			t.Errorf("%d operations of a mapped result: %v", n, err)
		}
		if _, err := s.mapResult(&call{id: "c", tool: "other"}, Returned{Value: Result{Delta: p}}); (err == nil) != ok {
			t.Errorf("%d operations of a Result: %v", n, err)
		}
		delta := &agui.StateDelta{Delta: p}
		if _, _, err := sorted(jsondoc.Object(), []agui.Event{delta}); (err == nil) != ok {
			t.Errorf("%d operations of a mapper: %v", n, err)
		}
	}
}
