package jsonstream

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// TestSuite reads the cases of nst/JSONTestSuite (MIT): y_ accepted, n_ refused,
// and of the free ones, i_, the verdict of jsondoc.Parse.
func TestSuite(t *testing.T) {
	files, err := filepath.Glob("../jsondoc/testdata/json-parsing/*.json")
	if err != nil || len(files) < 300 {
		t.Fatalf("%d cases, %v; want the suite in jsondoc/testdata", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, refused := jsondoc.Parse(data, nil)
		name := filepath.Base(file)
		// Duplicate members are grammatical and refused by a rule of ours.
		accept := name[0] == 'y' && !strings.HasPrefix(name, "y_object_duplicated_key")
		if name[0] != 'i' && accept != (refused == nil) {
			t.Fatalf("%s: jsondoc.Parse says %v", name, refused)
		}
		for _, size := range []int{1, 2, 3, 7, len(data) + 1} {
			got, err := parse(string(data), size, nil)
			if (err == nil) != (refused == nil) {
				t.Errorf("%s in pieces of %d: %v, jsondoc.Parse says %v", name, size, err, refused)
			} else if err == nil && !sameText(got, want) {
				t.Errorf("%s in pieces of %d: %s instead of %s", name, size, got, want)
			}
		}
	}
}

// Whatever jsondoc.Parse refuses End refuses, and what it accepts End accepts
// with the same value: over documents, all their prefixes, and damaged ones.
func TestEndAgreesWithParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := written(t, values(3).Draw(t, "value"))
		switch rapid.IntRange(0, 3).Draw(t, "damage") {
		case 1: // a byte is lost
			if len(text) > 0 {
				i := rapid.IntRange(0, len(text)-1).Draw(t, "lost")
				text = text[:i] + text[i+1:]
			}
		case 2: // something gets in
			i := rapid.IntRange(0, len(text)).Draw(t, "at")
			text = text[:i] + rapid.SampledFrom([]string{",", "]", "}", "{", "[", `"`, `\`, "0", "-", ".", "e", "t", ":", " ", "\x00", "\x80", "\xf0", `\ud800`, `"a":1,`, "/**/", "\ufeff"}).Draw(t, "in") + text[i:]
		case 3: // it ends early
			text = text[:rapid.IntRange(0, len(text)).Draw(t, "end")]
		}
		agrees(t, text, pieces(t, text))
	})
}

func agrees(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string, pieces []string) {
	t.Helper()
	want, refused := jsondoc.ParseString(text)
	p := NewParser(&ParserOptions{Watch: []jsondoc.Pointer{""}})
	for _, piece := range pieces {
		p.Feed(piece)
	}
	got, err := p.End()
	if (err == nil) != (refused == nil) {
		t.Fatalf("%q: End says %v, jsondoc.Parse %v", text, err, refused)
	}
	if err == nil && !sameText(got, want) {
		t.Fatalf("%q: End gives %s, jsondoc.Parse %s", text, got, want)
	}
	again, err2 := p.End()
	if !reflect.DeepEqual(err, err2) || !jsondoc.Same(got, again) {
		t.Fatalf("%q: End said %v, then %v", text, err, err2)
	}
	if err == nil {
		return
	}
	var e *Error
	if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(text) || e.Reason == "" || e.Kind == 0 {
		t.Fatalf("%q: no useful error: %#v", text, err)
	}
	if e.Kind == Truncated && e.Offset != len(text) {
		t.Fatalf("%q: truncated at %d", text, e.Offset)
	}
}

// encoding/json as a second opinion, on the value itself.
func TestValueAgreesWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := written(t, values(3).Draw(t, "value"))
		v, err := parse(text, rapid.SampledFrom([]int{1, 4, 1000}).Draw(t, "size"), nil)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var got, want any
		if err := unmarshal(v.String(), &got); err != nil {
			t.Fatal(err)
		}
		if err := unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %v instead of %v", text, got, want)
		}
	})
}

func unmarshal(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// S4: for every cut of every document the edits add up to the value, what shows
// in between is a prefix of it and of all that shows later, and where the cuts
// are makes no difference to what shows behind a byte.
func TestS4EveryCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(3).Draw(t, "value")
		text := written(t, v)
		cuts := pieces(t, text)

		p := NewParser(&ParserOptions{Watch: []jsondoc.Pointer{""}})
		var sum model
		var last jsondoc.Value
		at := 0
		for _, piece := range cuts {
			for _, e := range p.Feed(piece) {
				sum.apply(t, e)
			}
			at += len(piece)
			now, _ := p.Value()
			if s := prefixOf(now, v); s != "" {
				t.Fatalf("behind %q: %s", text[:at], s)
			}
			if s := prefixOf(last, now); s != "" {
				t.Fatalf("behind %q, taken back: %s", text[:at], s)
			}
			if got := sum.value(); !sameText(got, now) && !(got.IsAbsent() && now.IsAbsent()) {
				t.Fatalf("behind %q: the edits say %s, Value says %s", text[:at], got, now)
			}
			whole := NewParser(nil)
			whole.Feed(text[:at])
			if at1, _ := whole.Value(); !sameText(at1, now) && !(at1.IsAbsent() && now.IsAbsent()) {
				t.Fatalf("behind %q: %s in one piece, %s in pieces", text[:at], at1, now)
			}
			last = now
		}
		got, err := p.End()
		if err != nil {
			t.Fatal(err)
		}
		if !sameText(got, v) {
			t.Fatalf("%s instead of %s", got, v)
		}
	})
}

// model adds edits up. It knows nothing of the text.
type model struct {
	open []*modelNode
	root *modelNode
}

type modelNode struct {
	name     string
	index    int
	whole    jsondoc.Value // if complete
	kind     jsondoc.Kind
	text     string
	children []*modelNode
	path     jsondoc.Pointer
}

func (m *model) apply(t interface {
	Helper()
	Fatalf(string, ...any)
}, e Edit) {
	t.Helper()
	n := len(m.open)
	if n > 0 && m.open[n-1].path == e.Path() {
		// Something happened to the innermost open value.
		open := m.open[n-1]
		open.text += e.Text
		switch e.Kind {
		case Opened:
			t.Fatalf("%s opened twice", e.Path())
		case Complete:
			open.whole = e.Value
			if open.kind == jsondoc.KindString && open.text != e.Value.Str() {
				t.Fatalf("%s: the pieces of the string are %q, the string is %s", e.Path(), open.text, e.Value)
			}
			if open.kind != jsondoc.KindString && !sameText(e.Value, open.value(true)) {
				t.Fatalf("%s: %s complete, its children say %s", e.Path(), e.Value, open.value(true))
			}
			m.open = m.open[:n-1]
		}
		return
	}
	if e.Kind == Grew {
		t.Fatalf("%s grew and is not the innermost open value", e.Path())
	}
	node := &modelNode{name: e.Name, index: e.Index, kind: e.Value.Kind(), path: e.Path()}
	if n == 0 {
		if m.root != nil || e.Path() != "" {
			t.Fatalf("%q begins, and there is no open container", e.Path())
		}
		m.root = node
	} else {
		parent := m.open[n-1]
		want := parent.path.Child(e.Name)
		if parent.kind == jsondoc.KindArray {
			want = parent.path.Index(len(parent.children))
			if e.Index != len(parent.children) {
				t.Fatalf("item %d is reported as %d", len(parent.children), e.Index)
			}
		} else if e.Index != -1 {
			t.Fatalf("the member %q has the index %d", e.Name, e.Index)
		}
		if e.Path() != want {
			t.Fatalf("%q begins where %q is expected", e.Path(), want)
		}
		parent.children = append(parent.children, node)
	}
	if e.Kind == Opened {
		if e.Value.Len() != 0 || e.Value.Str() != "" {
			t.Fatalf("%s opened as %s", e.Path(), e.Value)
		}
		m.open = append(m.open, node)
		return
	}
	node.whole = e.Value
}

func (m *model) value() jsondoc.Value {
	if m.root == nil {
		return jsondoc.Value{}
	}
	return m.root.value(false)
}

func (n *modelNode) value(whole bool) jsondoc.Value {
	if !n.whole.IsAbsent() {
		return n.whole
	}
	switch n.kind {
	case jsondoc.KindString:
		if n.text == "" && !whole {
			return jsondoc.Value{}
		}
		return jsondoc.String(n.text)
	case jsondoc.KindArray:
		var items []jsondoc.Value
		for _, c := range n.children {
			if v := c.value(false); !v.IsAbsent() {
				items = append(items, v)
			}
		}
		return jsondoc.Array(items...)
	}
	var members []jsondoc.Member
	for _, c := range n.children {
		members = append(members, jsondoc.Member{Name: c.name, Value: c.value(false)})
	}
	return jsondoc.Object(members...)
}

// What is in a watched place is reported, nothing else, and for each watch.
func TestWatch(t *testing.T) {
	const text = `{"a":{"b":[1,"xy",{"c":null}]},"b":true,"a/b":"s"}`
	tests := []struct {
		watch []jsondoc.Pointer
		want  string
	}{
		{nil, ""},
		{[]jsondoc.Pointer{"/b"}, "0 complete /b true"},
		{[]jsondoc.Pointer{"/a~1b"}, `0 opened /a~1b "", 0 complete /a~1b "s"`},
		{[]jsondoc.Pointer{"/a/b/2", "/a/b/1"}, `1 opened /a/b/1 "", 1 complete /a/b/1 "xy", 0 opened /a/b/2 {}, 0 complete /a/b/2/c null, 0 complete /a/b/2 {"c":null}`},
		{[]jsondoc.Pointer{"/a/b/01", "/a/b/-", "/a/b/3", "/b/x", "/a/0"}, ""},
		{[]jsondoc.Pointer{"/a/b/2", "/a/b/2/c"}, `0 opened /a/b/2 {}, 0 complete /a/b/2/c null, 1 complete /a/b/2/c null, 0 complete /a/b/2 {"c":null}`},
	}
	for _, tt := range tests {
		var got []string
		p := NewParser(&ParserOptions{Watch: tt.watch})
		for _, e := range p.Feed(text) {
			got = append(got, strings.Join([]string{string(rune('0' + e.Watch)), e.Kind.String(), string(e.Path()), e.Value.String()}, " "))
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%v:\n got %s\nwant %s", tt.watch, s, tt.want)
		}
		if _, err := p.End(); err != nil {
			t.Error(err)
		}
	}
}

// Every watch sees exactly what a parser sees that watches everything, within its
// place.
func TestWatchesSeeTheirPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := written(t, values(3).Draw(t, "value"))
		cuts := pieces(t, text)
		all := edits(cuts, "")
		if len(all[0]) == 0 {
			return
		}
		var watch []jsondoc.Pointer
		for range rapid.IntRange(1, 4).Draw(t, "watches") {
			watch = append(watch, all[0][rapid.IntRange(0, len(all[0])-1).Draw(t, "at")].Path())
		}
		got := edits(cuts, watch...)
		for i, w := range watch {
			var want []Edit
			for _, e := range all[0] {
				if w.Contains(e.Path()) {
					want = append(want, e)
				}
			}
			if len(got[i]) != len(want) {
				t.Fatalf("%q: watch %q saw %d edits instead of %d", text, w, len(got[i]), len(want))
			}
			for j := range want {
				a, b := got[i][j], want[j]
				if a.Kind != b.Kind || a.Path() != b.Path() || a.Text != b.Text || a.Value.String() != b.Value.String() {
					t.Fatalf("%q: watch %q saw %v instead of %v", text, w, a, b)
				}
			}
		}
	})
}

func edits(pieces []string, watch ...jsondoc.Pointer) [][]Edit {
	p := NewParser(&ParserOptions{Watch: watch})
	out := make([][]Edit, len(watch))
	for _, piece := range pieces {
		for _, e := range p.Feed(piece) {
			out[e.Watch] = append(out[e.Watch], e)
		}
	}
	return out
}

func TestErrors(t *testing.T) {
	deep := strings.Repeat("[", 600)
	tests := []struct {
		text   string
		kind   ErrorKind
		offset int
		path   jsondoc.Pointer
		value  string // what is kept
	}{
		{"", Truncated, 0, "", "null"},
		{"  ", Truncated, 2, "", "null"},
		{`{"path":"/data/a","mode":"del`, Truncated, 29, "/mode", `{"path":"/data/a","mode":"del"}`},
		{`{"a":1`, Truncated, 6, "/a", `{}`},
		{`{"a":1,`, Truncated, 7, "", `{"a":1}`},
		{`{"a":[1,[2,`, Truncated, 11, "/a/1/1", `{"a":[1,[2]]}`},
		{`{"a":tru`, Truncated, 8, "/a", `{}`},
		{`{"a":trux`, Invalid, 8, "/a", `{}`},
		{`{"a":01}`, Invalid, 6, "/a", `{}`},
		{`{"a":-}`, Invalid, 6, "/a", `{}`},
		{`{"a":1.}`, Invalid, 7, "/a", `{}`},
		{`{"a":.5}`, Invalid, 5, "/a", `{}`},
		{`{"a":+5}`, Invalid, 5, "/a", `{}`},
		{`{"a":"x` + "\n" + `"}`, Invalid, 7, "/a", `{"a":"x"}`},
		{`{"a":"x\q"}`, Invalid, 8, "/a", `{"a":"x"}`},
		{`{"a":"x\u00g0"}`, Invalid, 11, "/a", `{"a":"x"}`},
		{`{"a":"x\ud83d"}`, Invalid, 13, "/a", `{"a":"x"}`},
		{`{"a":"x\ude00"}`, Invalid, 12, "/a", `{"a":"x"}`},
		{`{"a":"x\ud83d\u0041"}`, Invalid, 18, "/a", `{"a":"x"}`},
		{"{\"a\":\"x\xff\"}", Invalid, 7, "/a", `{"a":"x"}`},
		{"{\"a\":\"x\xf0\x9f\"}", Invalid, 7, "/a", `{"a":"x"}`},
		{"[1,]", Invalid, 3, "/1", `[1]`},
		{`{"a":1,}`, Invalid, 7, "", `{"a":1}`},
		{`{"a":1]`, Invalid, 6, "", `{"a":1}`},
		{`[1}`, Invalid, 2, "", `[1]`},
		{`{"a" 1}`, Invalid, 5, "/a", `{}`},
		{`{1:2}`, Invalid, 1, "", `{}`},
		{`{"a":1,"b":2,"a":3}`, Duplicate, 15, "", `{"a":1,"b":2}`},
		{`{"a":1,"\u0061":3}`, Duplicate, 14, "", `{"a":1}`},
		{`{"a":{"x":[]}} x`, Trailing, 15, "", `{"a":{"x":[]}}`},
		{`{"a":1}{"a":1}`, Trailing, 7, "", `{"a":1}`},
		{`{}{"a":1}`, Trailing, 2, "", `{}`},
		{`1 2`, Trailing, 2, "", `1`},
		{deep, TooDeep, 512, jsondoc.Pointer(strings.Repeat("/0", 512)), strings.Repeat("[", 512) + strings.Repeat("]", 512)},
	}
	for _, tt := range tests {
		for _, size := range []int{1, 2, len(tt.text) + 1} {
			p := NewParser(nil)
			for _, piece := range cut(tt.text, size) {
				p.Feed(piece)
			}
			v, _ := p.Value()
			end, err := p.End()
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%.40q: no error but %s", tt.text, end)
				continue
			}
			if e.Kind != tt.kind || e.Offset != tt.offset || e.Path != tt.path {
				t.Errorf("%.40q in pieces of %d: %v at %d in %.40q; want %v at %d in %q", tt.text, size, e.Kind, e.Offset, e.Path, tt.kind, tt.offset, tt.path)
			}
			if !end.IsAbsent() || v.String() != tt.value {
				t.Errorf("%.40q: End gives %s; %s was kept, want %s", tt.text, end, v, tt.value)
			}
			if after, _ := p.Value(); p.Feed(`}"]`) != nil && len(p.Feed(`"`)) > 0 || after.String() != tt.value {
				t.Errorf("%.40q: it went on after the end", tt.text)
			}
			if !strings.Contains(err.Error(), tt.kind.String()) {
				t.Errorf("%.40q: message %q does not say %q", tt.text, err, tt.kind)
			}
		}
	}
}

func TestErrStopsEarly(t *testing.T) {
	p := NewParser(&ParserOptions{Watch: []jsondoc.Pointer{""}})
	p.Feed(`[1,`)
	if p.Err() != nil {
		t.Fatal("an unfinished text is no error yet:", p.Err())
	}
	if got := p.Feed(`2,,3]`); len(got) != 1 || got[0].Value.String() != "2" {
		t.Fatalf("before the error came %v", got)
	}
	if p.Err() == nil {
		t.Fatal("no error")
	}
	if got := p.Feed(`4]`); len(got) != 0 {
		t.Fatalf("after the error came %v", got)
	}
}

// Limits hold wherever the text is cut, and what is within them is kept.
func TestLimits(t *testing.T) {
	for _, size := range []int{1, 3, 100} {
		p := NewParser(&ParserOptions{MaxBytes: 10})
		for _, piece := range cut(`["abcdefghijklm"]`, size) {
			p.Feed(piece)
		}
		v, _ := p.Value()
		var e *Error
		if _, err := p.End(); !errors.As(err, &e) || e.Kind != TooLong || e.Offset != 10 || v.String() != `["abcdefgh"]` {
			t.Errorf("pieces of %d: %v, kept %s", size, e, v)
		}
		if _, err := parse(`["abcdef"]`, size, &ParserOptions{MaxBytes: 10}); err != nil {
			t.Errorf("pieces of %d: ten bytes are within ten: %v", size, err)
		}
		if _, err := parse(`[[1]]`, size, &ParserOptions{MaxDepth: 2}); err != nil {
			t.Error(err)
		}
		if _, err := parse(`[[[1]]]`, size, &ParserOptions{MaxDepth: 2}); !errors.As(err, &e) || e.Kind != TooDeep || e.Offset != 2 {
			t.Error(e)
		}
	}
	// The worst that a small text can open.
	if _, err := parse(strings.Repeat(`{"":`, 1<<20), 4096, &ParserOptions{MaxDepth: 1 << 30}); err == nil {
		t.Error("a million levels were accepted")
	}
}

// Repeats: what some providers send in place of one value.
func TestRepeats(t *testing.T) {
	tests := []struct{ text, want string }{ // "" is an error
		{`{}{"a":1}`, `{"a":1}`},
		{`{} {} {"a":1}`, `{"a":1}`},
		{`{}`, `{}`},
		{`{}{}`, `{}`},
		{`{"a":1}{"a":1}`, `{"a":1}`},
		{`{"a":[{}]}` + "\n" + `{ "a" : [{}] } {"a":[{}]}`, `{"a":[{}]}`},
		{`{"a":"x"}{"a":"\u0078"}`, `{"a":"x"}`},
		{`[1][1]`, `[1]`},
		{`{"a":1}{"a":2}`, ""},
		{`{"a":1}{"a":1.0}`, ""},
		{`{"a":1}{"a":1,"b":2}`, ""},
		{`{"a":1}{}`, ""},
		{`{"a":1}{"a":1`, ""},
		{`{"a":1}{"a":1}x`, ""},
		{`{"a":1}{"a":1}{"a":2}`, ""},
		{`{"a":1}[1]`, ""},
		{`{"a":1},{"a":1}`, ""},
		{`{"a":1}{"a":x}`, ""},
		{`{}[1]`, ""},
		{`{}x`, ""},
		{`[]{"a":1}`, ""},
		{`1 1`, ""},
		{`"a""a"`, ""},
	}
	for _, tt := range tests {
		for _, size := range []int{1, 3, 100} {
			v, err := parse(tt.text, size, &ParserOptions{Repeats: true})
			if tt.want == "" {
				if err == nil {
					t.Errorf("%s in pieces of %d: %s, want an error", tt.text, size, v)
				}
				continue
			}
			if err != nil || v.String() != tt.want {
				t.Errorf("%s in pieces of %d: %s, %v; want %s", tt.text, size, v, err, tt.want)
			}
			if _, err := parse(tt.text, size, nil); (err == nil) != (tt.text == "{}") {
				t.Errorf("%s: %v without Repeats", tt.text, err)
			}
		}
	}
	// A thousand repetitions are read by one machine after the other.
	if _, err := parse(strings.Repeat(`{"a":1}`, 1000), 4, &ParserOptions{Repeats: true}); err != nil {
		t.Error(err)
	}
}

// A value can be asked for at any time, and what was given out stays as it was.
func TestValuesAreImmutable(t *testing.T) {
	const text = `{"a":[1,[2,"three"],{"b":"four five"}],"c":{"d":[[],{}]}}`
	p := NewParser(nil)
	var given []jsondoc.Value
	var then []string
	for i := range len(text) {
		p.Feed(text[i : i+1])
		v, _ := p.Value()
		given, then = append(given, v), append(then, v.String())
	}
	for i := range given {
		if given[i].String() != then[i] {
			t.Fatalf("behind %q: %s became %s", text[:i+1], then[i], given[i])
		}
	}
}

func TestSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := written(t, values(3).Draw(t, "value"))
		m := &machine{limits: (*ParserOptions)(nil).limits()}
		for i := range len(text) {
			m.feed(text[i : i+1])
			for j, size := range m.sizes(0, nil) {
				if v := m.partial(j); v.Size() != size {
					t.Fatalf("behind %q: level %d counted as %d bytes, is %s", text[:i+1], j, size, v)
				}
			}
		}
	})
}

func FuzzParser(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,"\ud83d\ude00\n"],"":null}`, `[[[]]`, `{"a":1,"a":2}`, "\"\xf0\x9f\"", `{}{}`, `1e5`, `"\u00`, ` true `} {
		f.Add(s, uint8(1), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, a, b uint8) {
		if len(text) > 2000 {
			t.Skip("Value after each piece is quadratic")
		}
		var cuts []string
		rest := text
		for n := int(a); len(rest) > 0; n = (n*7 + int(b)) % 23 {
			k := min(n, len(rest))
			if n == 0 {
				k = 1
			}
			cuts = append(cuts, rest[:k])
			rest = rest[k:]
		}
		agrees(t, text, cuts)
		p := NewParser(&ParserOptions{Watch: []jsondoc.Pointer{""}, Repeats: true})
		var sum model
		var last jsondoc.Value
		for _, piece := range cuts {
			for _, e := range p.Feed(piece) {
				sum.apply(t, e)
				if !utf8.ValidString(e.Text) {
					t.Fatalf("%q: half a character in %q", text, e.Text)
				}
			}
			v, _ := p.Value()
			if s := prefixOf(last, v); s != "" {
				t.Fatalf("%q: taken back: %s", text, s)
			}
			last = v
		}
		if v, err := p.End(); err == nil {
			if s := prefixOf(last, v); s != "" {
				t.Fatalf("%q: taken back at the end: %s", text, s)
			}
		}
	})
}
