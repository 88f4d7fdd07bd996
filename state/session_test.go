package state

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// follower does what a driver and a viewer do: acknowledges every step and
// applies its events to a document under the strictest client's rules.
type follower struct {
	t    tester
	s    *Session
	view jsondoc.Value
	doc  jsondoc.Value // fold of the changes
	seen []jsondoc.Value
	log  []string
}

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

func follow(t tester, cfg Config, state string) *follower {
	t.Helper()
	m, err := NewModel(cfg)
	if err != nil {
		t.Fatal(err)
	}
	v := jsondoc.MustParse(state)
	f := &follower{t: t, doc: v, view: m.Visible(v)}
	f.s = m.NewSession(Doc{State: v, View: f.view})
	return f
}

func (f *follower) step(st Step) {
	f.t.Helper()
	for _, e := range st.Events {
		switch ev := e.Event.(type) {
		case *agui.StateSnapshot:
			f.view = ev.Snapshot
			f.log = append(f.log, "snapshot")
		case *agui.StateDelta:
			next, err := ev.Delta.Apply(f.view, clientRules)
			if err != nil {
				f.t.Fatalf("W2: %s does not apply to %s: %v", ev.Delta, f.view, err)
			}
			f.view = next
			f.log = append(f.log, "delta")
		case *agui.Custom:
			f.log = append(f.log, ev.Name+" "+ev.Value.String())
		}
		if e.Change != nil {
			next, err := e.Change.Apply(f.doc, nil)
			if err != nil {
				f.t.Fatalf("S1: change %s does not apply to %s: %v", e.Change, f.doc, err)
			}
			f.doc = next
		}
	}
	f.s.Ack()
	f.seen = append(f.seen, f.view)
	if got := f.s.Doc(); !jsondoc.Equal(got.View, f.view) || !jsondoc.Equal(got.State, f.doc) {
		f.t.Fatalf("S1: session has state %s view %s, the log's folds are %s and %s", got.State, got.View, f.doc, f.view)
	}
}

// edit is a person's edit, appended by somebody else: the view shows it above
// predictions, the state has it.
func (f *follower) edit(patch string) {
	f.t.Helper()
	p, err := jsondoc.ParsePatch([]byte(patch))
	if err != nil {
		f.t.Fatal(err)
	}
	if f.doc, err = p.Apply(f.doc, nil); err != nil {
		f.t.Fatal(err)
	}
	if f.view, err = p.Apply(f.view, nil); err != nil {
		f.t.Fatal(err)
	}
	f.s.Observe(Doc{State: f.doc, View: f.view})
}

func (f *follower) call(id, tool, args string, cut int) {
	f.t.Helper()
	f.step(f.s.CallStart(id, tool))
	now := time.Unix(0, 0)
	for len(args) > 0 {
		n := min(cut, len(args))
		f.step(f.s.Arguments(now, id, args[:n]))
		args = args[n:]
		now = now.Add(time.Second)
	}
	st, err := f.s.CallEnd(now, id, "")
	f.step(st)
	if err != nil {
		f.log = append(f.log, "invalid")
	}
}

func (f *follower) finish() {
	f.t.Helper()
	st, _ := f.s.Finish(nil, false)
	f.step(st)
}

func (f *follower) result(id string, failed error) error {
	st, _, err := f.s.Result(id, Returned{Failed: failed})
	f.step(st)
	return err
}

func (f *follower) want(state, view string) {
	f.t.Helper()
	if !jsondoc.Equal(f.doc, jsondoc.MustParse(state)) {
		f.t.Errorf("state is %s, want %s", f.doc, state)
	}
	if !jsondoc.Equal(f.view, jsondoc.MustParse(view)) {
		f.t.Errorf("view is %s, want %s", f.view, view)
	}
}

func document() Config {
	return Config{Predict: map[string]Prediction{"document": {Tool: "write", Argument: "document"}}}
}

var errTool = errors.New("the tool failed")

func TestPredictionBecomesState(t *testing.T) {
	f := follow(t, document(), `{"document":"old","other":1}`)
	f.call("c1", "write", `{"document":"Hello brave world"}`, 5)
	f.want(`{"document":"old","other":1}`, `{"document":"Hello brave world","other":1}`)
	if err := f.result("c1", nil); err != nil {
		t.Fatal(err)
	}
	f.want(`{"document":"Hello brave world","other":1}`, `{"document":"Hello brave world","other":1}`)
	if got := f.log[len(f.log)-1]; got != "snapshot" {
		t.Errorf("the last event is %s, want the result's snapshot", got)
	}
}

// S3: whatever is not confirmed is taken back.
func TestS3TakenBack(t *testing.T) {
	for name, end := range map[string]func(*follower){
		"tool failure": func(f *follower) { f.call("c", "write", `{"document":"new"}`, 3); f.result("c", errTool) },
		"truncated":    func(f *follower) { f.call("c", "write", `{"document":"ne`, 3); f.result("c", errTool) },
		"run ends":     func(f *follower) { f.call("c", "write", `{"document":"new"}`, 3); f.finish() },
		"mid-arguments": func(f *follower) {
			f.step(f.s.CallStart("c", "write"))
			f.step(f.s.Arguments(time.Unix(0, 0), "c", `{"document":"ne`))
			f.finish()
		},
		"duplicate member": func(f *follower) {
			f.call("c", "write", `{"document":"a","document":"b"}`, 3)
			f.result("c", nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := follow(t, document(), `{"document":"old"}`)
			end(f)
			f.want(`{"document":"old"}`, `{"document":"old"}`)
		})
	}
}

// S4: the provider starts the arguments again.
func TestS4Restart(t *testing.T) {
	f := follow(t, document(), `{"document":"old"}`)
	now := time.Unix(0, 0)
	f.step(f.s.CallStart("c", "write"))
	f.step(f.s.Arguments(now, "c", `{"document":"first"`))
	f.want(`{"document":"old"}`, `{"document":"first"}`)
	f.step(f.s.CallStart("c", "write"))
	f.want(`{"document":"old"}`, `{"document":"old"}`)
	f.step(f.s.Arguments(now.Add(time.Second), "c", `{"document":"second"}`))
	st, err := f.s.CallEnd(now.Add(2*time.Second), "c", "")
	f.step(st)
	if err != nil {
		t.Fatal(err)
	}
	f.result("c", nil)
	f.want(`{"document":"second"}`, `{"document":"second"}`)
}

// Scenario 32: two calls of one turn write the same place; each result is seen.
func TestTwoCallsOnePlace(t *testing.T) {
	f := follow(t, document(), `{"document":"old"}`)
	f.call("c1", "write", `{"document":"First"}`, 4)
	f.call("c2", "write", `{"document":"Second"}`, 4)
	f.result("c1", nil)
	f.want(`{"document":"First"}`, `{"document":"First"}`)
	f.result("c2", nil)
	f.want(`{"document":"Second"}`, `{"document":"Second"}`)
	for _, line := range f.log {
		if strings.HasPrefix(line, "lockstep.conflict") {
			t.Errorf("the agent conflicts with itself: %s", line)
		}
	}
}

// R13: fragments of two calls interleave; each feeds its own place.
func TestR13Interleaved(t *testing.T) {
	f := follow(t, Config{Predict: map[string]Prediction{
		"a": {Tool: "write_a", Argument: "x"}, "b": {Tool: "write_b", Argument: "x"},
	}}, `{}`)
	now := time.Unix(0, 0)
	f.step(f.s.CallStart("1", "write_a"))
	f.step(f.s.CallStart("2", "write_b"))
	for _, p := range []struct{ id, text string }{
		{"1", `{"x":["o`}, {"2", `{"x":{"k":`}, {"1", `ne","two"]`}, {"2", `"v"}}`}, {"1", `}`},
	} {
		now = now.Add(time.Second)
		f.step(f.s.Arguments(now, p.id, p.text))
	}
	for _, id := range []string{"1", "2"} {
		st, err := f.s.CallEnd(now, id, "")
		if err != nil {
			t.Fatal(err)
		}
		f.step(st)
		f.result(id, nil)
	}
	f.want(`{"a":["one","two"],"b":{"k":"v"}}`, `{"a":["one","two"],"b":{"k":"v"}}`)
}

// R1: a tool that touches nothing makes no state event.
func TestR1UnrelatedTool(t *testing.T) {
	f := follow(t, document(), `{"document":"old"}`)
	for range 10 {
		f.call("c", "search", `{"q":"x"}`, 2)
		f.result("c", nil)
	}
	if len(f.log) != 0 {
		t.Errorf("events %v, want none", f.log)
	}
}

// S8: arguments that would break the schema do not run and do not stay.
func TestS8SchemaBroken(t *testing.T) {
	cfg := document()
	cfg.Schema = MustParseSchema(`{"type":"object","properties":{"document":{"type":"string","maxLength":5}}}`)
	f := follow(t, cfg, `{"document":"old"}`)
	f.call("c", "write", `{"document":"far too long"}`, 4)
	if f.log[len(f.log)-1] != "invalid" {
		t.Error("CallEnd accepted arguments that break the schema")
	}
	err := f.result("c", nil)
	if err == nil || !strings.Contains(err.Error(), "/document") {
		t.Errorf("error %v does not name the place", err)
	}
	f.want(`{"document":"old"}`, `{"document":"old"}`)
}

// S6: an edit made while the agent works stays, and later frames leave it alone.
func TestS6EditDuringPrediction(t *testing.T) {
	recipe := Config{Predict: map[string]Prediction{"recipe": {Tool: "update", Argument: "recipe"}}}
	const before = `{"recipe":{"title":"Soup","time":"30","steps":["boil"]}}`
	now := time.Unix(0, 0)
	for _, c := range []struct {
		name, edit, want string
		policy           ConflictPolicy
		conflict         bool
	}{
		{"elsewhere", `[{"op":"replace","path":"/recipe/time","value":"5"}]`, `{"recipe":{"title":"Stew","time":"5","steps":["boil","fry"]}}`, ClientWins, false},
		{"same place, client", `[{"op":"replace","path":"/recipe/title","value":"Mine"}]`, `{"recipe":{"title":"Mine","time":"30","steps":["boil","fry"]}}`, ClientWins, true},
		{"same place, server", `[{"op":"replace","path":"/recipe/title","value":"Mine"}]`, `{"recipe":{"title":"Stew","time":"30","steps":["boil","fry"]}}`, AgentWins, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := recipe
			cfg.Conflict = c.policy
			f := follow(t, cfg, before)
			f.s.ModelCall()
			f.step(f.s.CallStart("c", "update"))
			f.step(f.s.Arguments(now, "c", `{"recipe":{"title":"Stew","time":"30",`))
			f.edit(c.edit)
			edited, _ := f.view.At(jsondoc.Pointer(strings.Split(c.edit, `"`)[7]))
			f.step(f.s.Arguments(now.Add(time.Second), "c", `"steps":["boil",`))
			if now, _ := f.view.At(jsondoc.Pointer(strings.Split(c.edit, `"`)[7])); !jsondoc.Equal(now, edited) {
				t.Errorf("a frame behind the edit shows %s, want the edit %s", now, edited)
			}
			f.step(f.s.Arguments(now.Add(2*time.Second), "c", `"fry"]}}`))
			st, err := f.s.CallEnd(now.Add(3*time.Second), "c", "")
			if err != nil {
				t.Fatal(err)
			}
			f.step(st)
			f.result("c", nil)
			f.want(c.want, c.want)
			conflict := strings.HasPrefix(f.log[len(f.log)-1], "lockstep.conflict")
			if conflict != c.conflict {
				t.Errorf("events %v: conflict reported %v, want %v", f.log, conflict, c.conflict)
			}
		})
	}
}

// S6: what was cut from the prompt, or hidden, counts as unchanged.
func TestS6CutIsNotDeleted(t *testing.T) {
	long := strings.Repeat("long text ", 200)
	var items []jsondoc.Value
	for i := range 60 {
		items = append(items, jsondoc.MustParse(`{"id":`+itoa(i)+`,"name":"item `+itoa(i)+`"}`))
	}
	doc := jsondoc.Object(
		jsondoc.Member{Name: "text", Value: jsondoc.String(long)},
		jsondoc.Member{Name: "list", Value: jsondoc.Array(items...)},
		jsondoc.Member{Name: "secret", Value: jsondoc.Int(1)},
	)
	cfg := Config{
		Predict: map[string]Prediction{"doc": {Tool: "write", Argument: "doc"}},
		Access:  Access{"/doc/secret": ServerOnly},
		Inject:  Injection{MaxBytes: 2000},
	}
	f := follow(t, cfg, jsondoc.Object(jsondoc.Member{Name: "doc", Value: doc}).String())
	shown := f.s.m.shown(f.s.m.Visible(f.s.ModelCall()))
	saw, _ := shown.At("/doc")
	if shown.Size() > 2000 || strings.Contains(shown.String(), "item 59") {
		t.Fatalf("the prompt is not cut: %d bytes", shown.Size())
	}
	// The model repeats what it saw, renames the first item and adds one.
	list, _ := saw.Get("list")
	var written []jsondoc.Value
	for i, v := range list.Items() {
		if i == 0 {
			v = v.With("name", jsondoc.String("renamed"))
		}
		written = append(written, v)
	}
	args := jsondoc.Object(jsondoc.Member{Name: "doc", Value: saw.With("list", jsondoc.Array(written...)).With("more", jsondoc.True)})
	f.call("c", "write", args.String(), 50)
	if err := f.result("c", nil); err != nil {
		t.Fatal(err)
	}
	want := doc.With("list", jsondoc.Array(append([]jsondoc.Value{items[0].With("name", jsondoc.String("renamed"))}, items[1:]...)...)).With("more", jsondoc.True)
	got, _ := f.doc.At("/doc")
	if !jsondoc.Equal(got, want) {
		t.Errorf("state %.300s…\nwant  %.300s…", got, want)
	}
	for _, line := range f.log {
		if strings.HasPrefix(line, "lockstep.conflict") {
			t.Errorf("nobody edited: %s", line)
		}
	}
}

// The third policy: a conflict makes the call fail, and nothing is committed.
func TestS6Reject(t *testing.T) {
	cfg := document()
	cfg.Conflict = RejectResult
	f := follow(t, cfg, `{"document":"old"}`)
	f.s.ModelCall()
	f.call("c", "write", `{"document":"the agent's"}`, 9)
	f.edit(`[{"op":"replace","path":"/document","value":"mine"}]`)
	if err := f.result("c", nil); !errors.Is(err, ErrConflict) {
		t.Errorf("error %v, want ErrConflict", err)
	}
	f.want(`{"document":"mine"}`, `{"document":"mine"}`)
}

// R11: a quick tool that ends beside a prediction does not wipe it, whatever
// snapshot its result makes.
func TestR11SnapshotBesidePrediction(t *testing.T) {
	f := follow(t, document(), `{"document":"old","n":1}`)
	now := time.Unix(0, 0)
	f.step(f.s.CallStart("slow", "write"))
	f.step(f.s.CallStart("quick", "other"))
	shown := 0
	for i, text := range []string{`{"document":"a tale `, `of two `, `cities`} {
		now = now.Add(time.Second)
		f.step(f.s.Arguments(now, "slow", text))
		if i == 1 {
			if _, err := f.s.CallEnd(now, "quick", `{}`); err != nil {
				t.Fatal(err)
			}
			st, _, err := f.s.Result("quick", Returned{Tool: "other", Value: Result{State: map[string]any{"n": 2}}})
			if err != nil {
				t.Fatal(err)
			}
			f.step(st)
		}
		doc, _ := f.view.Get("document")
		if len(doc.Str()) < shown {
			t.Errorf("the prediction shrank to %q", doc.Str())
		}
		shown = len(doc.Str())
	}
	f.want(`{"document":"old","n":2}`, `{"document":"a tale of two cities","n":2}`)
}

// A proposal that met a longer log is made anew, on the new documents.
func TestRedo(t *testing.T) {
	f := follow(t, document(), `{"document":"old","n":1}`)
	f.call("c", "write", `{"document":"new"}`, 100)
	st, _, err := f.s.Result("c", Returned{})
	if err != nil || len(st.Events) == 0 {
		t.Fatal(st, err)
	}
	f.edit(`[{"op":"replace","path":"/n","value":2}]`)
	f.step(f.s.Redo())
	f.want(`{"document":"new","n":2}`, `{"document":"new","n":2}`)
}

func TestEmitted(t *testing.T) {
	f := follow(t, document(), `{"document":"old","n":1}`)
	st, err := f.s.Emitted(jsondoc.MustParse(`{"document":"x"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	f.step(st)
	f.want(`{"document":"x"}`, `{"document":"x"}`)
	p, _ := jsondoc.ParsePatch([]byte(`[{"op":"add","path":"/k","value":null}]`))
	if st, err = f.s.Emitted(jsondoc.Value{}, p); err != nil {
		t.Fatal(err)
	}
	f.step(st)
	f.want(`{"document":"x","k":null}`, `{"document":"x","k":null}`)
	bad, _ := jsondoc.ParsePatch([]byte(`[{"op":"replace","path":"/none","value":1}]`))
	if _, err := f.s.Emitted(jsondoc.Value{}, bad); err == nil {
		t.Error("a patch that does not apply was accepted")
	}
}

// The laws of a session, whatever happens in whatever order: every delta
// applies, the folds agree with the session (follower.step checks both), and
// when everything has ended the view is the state.
func TestSessionLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{Predict: map[string]Prediction{
			"doc":  {Tool: "write", Argument: "doc"},
			"plan": {Tool: "plan", Argument: "*"},
			"/a/b": {Tool: "nested", Argument: "/x/y", Keep: rapid.Bool().Draw(t, "keep")},
		}}
		f := follow(t, cfg, rapid.SampledFrom([]string{`{}`, `{"doc":"old"}`, `{"doc":{"t":"a","l":[1]},"a":{"b":{"k":1}}}`, `{"a":5}`}).Draw(t, "state"))
		texts := map[string][]string{
			"write":  {`{"doc":"Hello w\u00f6rld"}`, `{"doc":{"t":"Stew","l":[1,2,3],"n":null}}`, `{"doc":`, `{}`},
			"plan":   {`{"steps":["one","two"],"x":{"y":12.5}}`, `{"steps":[]}`, `nope`},
			"nested": {`{"x":{"y":{"k":2,"m":"text"}}}`, `{"x":{}}`, `{"x":{"y":"s"}}`},
		}
		type live struct{ id, rest string }
		var open, ended []*live
		now := time.Unix(0, 0)
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"start": func(t *rapid.T) {
				tool := rapid.SampledFrom([]string{"write", "plan", "nested", "other"}).Draw(t, "tool")
				text := `{"q":1}`
				if tool != "other" {
					text = rapid.SampledFrom(texts[tool]).Draw(t, "args")
				}
				n++
				c := &live{id: string(rune('A' + n)), rest: text}
				open = append(open, c)
				f.s.ModelCall()
				f.step(f.s.CallStart(c.id, tool))
			},
			"feed": func(t *rapid.T) {
				if len(open) == 0 {
					t.Skip()
				}
				c := rapid.SampledFrom(open).Draw(t, "call")
				k := rapid.IntRange(1, len(c.rest)+1).Draw(t, "n")
				k = min(k, len(c.rest))
				now = now.Add(time.Duration(rapid.IntRange(0, 500).Draw(t, "ms")) * time.Millisecond)
				f.step(f.s.Arguments(now, c.id, c.rest[:k]))
				c.rest = c.rest[k:]
				if c.rest == "" {
					st, _ := f.s.CallEnd(now, c.id, "")
					f.step(st)
					open = remove(open, c)
					ended = append(ended, c)
				}
			},
			"result": func(t *rapid.T) {
				if len(ended) == 0 {
					t.Skip()
				}
				c := rapid.SampledFrom(ended).Draw(t, "call")
				ended = remove(ended, c)
				var failed error
				if rapid.Bool().Draw(t, "fails") {
					failed = errTool
				}
				st, _, _ := f.s.Result(c.id, Returned{Failed: failed})
				if rapid.Bool().Draw(t, "conflict") && len(st.Events) > 0 {
					f.userEdit(t)
					st = f.s.Redo()
				}
				f.step(st)
			},
			"edit": func(t *rapid.T) { f.userEdit(t) },
		})
		f.finish()
		if !jsondoc.Equal(f.view, f.doc) {
			t.Fatalf("S3: after the run the view is %s, the state %s", f.view, f.doc)
		}
	})
}

// userEdit is an edit as PATCH makes it: read on the view, kept in both.
func (f *follower) userEdit(t *rapid.T) {
	wanted := f.view
	switch rapid.IntRange(0, 2).Draw(t, "edit") {
	case 0:
		wanted = wanted.With("mine", jsondoc.Int(int64(rapid.IntRange(0, 9).Draw(t, "v"))))
	case 1:
		wanted = wanted.Without("doc")
	case 2:
		if v, err := wanted.SetAt("/doc/t", jsondoc.String("edited")); err == nil {
			wanted = v
		}
	}
	e, err := f.s.m.Edit(Doc{State: f.doc, View: f.view}, Doc{State: f.doc, View: f.view}, wanted)
	if err != nil {
		t.Fatal(err)
	}
	f.doc, f.view = e.State, e.View
	f.s.Observe(e.Doc)
}

func remove[T comparable](list []T, x T) []T {
	var out []T
	for _, y := range list {
		if y != x {
			out = append(out, y)
		}
	}
	return out
}
