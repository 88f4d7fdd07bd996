package jsonstream

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// long reports whether the long versions of tests run, see the Makefile's test-long.
func long() bool { return os.Getenv("LOCKSTEP_LONG") == "1" }

// prefixOf says in what a is not a prefix of b, "" if it is one. All children but
// the last must be the same in both: only the end of a value is still open.
func prefixOf(a, b jsondoc.Value) string {
	if a.IsAbsent() {
		return ""
	}
	if a.Kind() != b.Kind() {
		return fmt.Sprintf("%.60s is no beginning of %.60s", a, b)
	}
	switch a.Kind() {
	case jsondoc.KindString:
		if !strings.HasPrefix(b.Str(), a.Str()) || !utf8.ValidString(a.Str()) {
			return fmt.Sprintf("%.60s is no beginning of %.60s", a, b)
		}
	case jsondoc.KindArray:
		if a.Len() > b.Len() {
			return fmt.Sprintf("%d items are more than %d", a.Len(), b.Len())
		}
		for i, x := range a.Items() {
			if i < a.Len()-1 && !sameText(x, b.Item(i)) {
				return fmt.Sprintf("item %d is %.60s instead of %.60s", i, x, b.Item(i))
			}
			if s := prefixOf(x, b.Item(i)); s != "" {
				return fmt.Sprintf("item %d: %s", i, s)
			}
		}
	case jsondoc.KindObject:
		if a.Len() > b.Len() {
			return fmt.Sprintf("%d members are more than %d", a.Len(), b.Len())
		}
		var names []string
		for name := range b.Members() {
			names = append(names, name)
		}
		i := 0
		for name, x := range a.Members() {
			y, _ := b.Get(name)
			if names[i] != name {
				return fmt.Sprintf("member %d is %q instead of %q", i, name, names[i])
			}
			if i++; i < a.Len() && !sameText(x, y) {
				return fmt.Sprintf("member %q is %.60s instead of %.60s", name, x, y)
			}
			if s := prefixOf(x, y); s != "" {
				return fmt.Sprintf("member %q: %s", name, s)
			}
		}
	default:
		if !sameText(a, b) {
			return fmt.Sprintf("%s instead of %s", a, b)
		}
	}
	return ""
}

// Generators.

var names = rapid.OneOf(
	rapid.SampledFrom([]string{"a", "b", "c", "id", "title", "items", "", "a/b", "m~n", "~1", "__proto__", "constructor", "prototype", "0", "-", "toString", "ключ", "\"q\"", "\n"}),
	rapid.StringN(0, 6, 20),
)

var texts = rapid.OneOf(
	rapid.SampledFrom([]string{"", "x", "Hello, world", "粥🥕", "line\nline", `back\slash "quote"`, "\u2028\u0001\u007f", strings.Repeat("long ", 60)}),
	rapid.String(),
)

var numbers = rapid.OneOf(
	rapid.SampledFrom([]string{"0", "-0", "1", "12", "255", "256", "-1", "1.0", "-12.50e+3", "1E400", "9007199254740993", "0.1", "1e-7"}),
	rapid.Map(rapid.Int64(), func(n int64) string { return fmt.Sprint(n) }),
)

// values draws a document of some size.
func values(depth int) *rapid.Generator[jsondoc.Value] {
	return rapid.Custom(func(t *rapid.T) jsondoc.Value {
		kind := rapid.IntRange(0, 9).Draw(t, "kind")
		if depth == 0 {
			kind = kind % 4
		}
		switch kind {
		case 0, 1:
			return jsondoc.String(texts.Draw(t, "text"))
		case 2:
			v, err := jsondoc.Number(numbers.Draw(t, "number"))
			if err != nil {
				t.Fatal(err)
			}
			return v
		case 3:
			return rapid.SampledFrom([]jsondoc.Value{jsondoc.Null, jsondoc.True, jsondoc.False}).Draw(t, "literal")
		case 4, 5, 6:
			return jsondoc.Array(rapid.SliceOfN(values(depth-1), 0, 6).Draw(t, "items")...)
		}
		return objects(depth).Draw(t, "object")
	})
}

func objects(depth int) *rapid.Generator[jsondoc.Value] {
	return rapid.Custom(func(t *rapid.T) jsondoc.Value {
		var members []jsondoc.Member
		for range rapid.IntRange(0, 6).Draw(t, "members") {
			members = append(members, jsondoc.Member{
				Name:  names.Draw(t, "name"),
				Value: values(max(depth-1, 0)).Draw(t, "value"),
			})
		}
		return jsondoc.Object(members...)
	})
}

// written draws one of the many texts of a value: white space, escapes.
func written(t *rapid.T, v jsondoc.Value) string {
	w := writer{t: t, loose: rapid.Bool().Draw(t, "loose"), escape: rapid.IntRange(0, 2).Draw(t, "escape")}
	w.space()
	w.value(v)
	w.space()
	return w.b.String()
}

type writer struct {
	t      *rapid.T
	b      strings.Builder
	loose  bool
	escape int // 0: as little as possible, 1: all that is not ASCII, 2: everything
}

func (w *writer) space() {
	if w.loose {
		w.b.WriteString(rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r\n  "}).Draw(w.t, "space"))
	}
}

func (w *writer) value(v jsondoc.Value) {
	switch v.Kind() {
	case jsondoc.KindArray:
		w.b.WriteByte('[')
		w.space()
		for i, x := range v.Items() {
			w.comma(i)
			w.value(x)
			w.space()
		}
		w.b.WriteByte(']')
	case jsondoc.KindObject:
		w.b.WriteByte('{')
		w.space()
		i := 0
		for name, x := range v.Members() {
			w.comma(i)
			i++
			w.text(name)
			w.space()
			w.b.WriteByte(':')
			w.space()
			w.value(x)
			w.space()
		}
		w.b.WriteByte('}')
	case jsondoc.KindString:
		w.text(v.Str())
	default:
		w.b.WriteString(v.String())
	}
}

func (w *writer) comma(i int) {
	if i > 0 {
		w.b.WriteByte(',')
		w.space()
	}
}

func (w *writer) text(s string) {
	if w.escape == 0 {
		w.b.WriteString(jsondoc.String(s).String())
		return
	}
	w.b.WriteByte('"')
	for _, r := range s {
		switch {
		case w.escape == 1 && r < 0x80 && r >= 0x20 && r != '"' && r != '\\':
			w.b.WriteRune(r)
		case r == '/':
			w.b.WriteString(`\/`)
		case r >= 0x10000:
			fmt.Fprintf(&w.b, `\u%04x\u%04X`, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
		default:
			fmt.Fprintf(&w.b, `\u%04x`, r)
		}
	}
	w.b.WriteByte('"')
}

// pieces cuts a text at drawn places.
func pieces(t *rapid.T, text string) []string {
	most := rapid.SampledFrom([]int{1, 2, 3, 7, 64, 1 << 20}).Draw(t, "piece")
	var out []string
	for len(text) > 0 {
		n := min(len(text), rapid.IntRange(0, most).Draw(t, "cut"))
		if most < 4 || most > 1000 {
			n = min(len(text), most)
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

func cut(text string, n int) []string {
	var out []string
	for i := 0; i < len(text); i += n {
		out = append(out, text[i:min(i+n, len(text))])
	}
	return out
}

func parse(text string, size int, opts *ParserOptions) (jsondoc.Value, error) {
	p := NewParser(opts)
	for _, piece := range cut(text, size) {
		p.Feed(piece)
	}
	return p.End()
}

func mustParse(t testing.TB, text string) jsondoc.Value {
	t.Helper()
	v, err := jsondoc.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
