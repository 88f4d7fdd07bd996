package jsondoc

import (
	"slices"
	"strings"
	"testing"
)

func TestParsePointer(t *testing.T) {
	for _, s := range []string{"", "/", "/a", "//", "/a~0b~1c", "/é/😀", "/~01"} {
		p, err := ParsePointer(s)
		if err != nil || string(p) != s {
			t.Errorf("%q: %q, %v", s, p, err)
		}
		if again := Path(p.Tokens()...); again != p {
			t.Errorf("%q: the tokens %q make %q", s, p.Tokens(), again)
		}
	}
	for _, s := range []string{"a", "a/b", "#/a", "/~", "/~2", "/a~", "/a/~b", "/\xff"} {
		if p, err := ParsePointer(s); err == nil {
			t.Errorf("%q is the pointer %q", s, p.Tokens())
		}
	}
}

func TestPointerParts(t *testing.T) {
	p := Path("a/b", "m~n", "", "0")
	if p != "/a~1b/m~0n//0" || !slices.Equal(p.Tokens(), []string{"a/b", "m~n", "", "0"}) {
		t.Error(p, p.Tokens())
	}
	if p := Pointer("").Child("x").Index(3).Child("~1"); p != "/x/3/~01" || p.Tokens()[2] != "~1" {
		t.Error(p)
	}
	parent, token, ok := p.Parent()
	if !ok || parent != "/a~1b/m~0n/" || token != "0" {
		t.Error(parent, token, ok)
	}
	if parent, token, ok = Pointer("/a~1b").Parent(); !ok || parent != "" || token != "a/b" {
		t.Error(parent, token, ok)
	}
	if _, _, ok = Pointer("").Parent(); ok || Pointer("").Tokens() != nil {
		t.Error("the root has a parent or tokens")
	}
	for _, c := range []struct {
		p, q Pointer
		want bool
	}{{"", "", true}, {"", "/a", true}, {"/a", "/a", true}, {"/a", "/a/b", true}, {"/a", "/ab", false}, {"/a", "", false}, {"/a/b", "/a", false}, {"/a", "/a/", true}} {
		if c.p.Contains(c.q) != c.want {
			t.Errorf("%q contains %q: %v", c.p, c.q, !c.want)
		}
	}
}

func TestAtFindsOnlyWhatIsThere(t *testing.T) {
	doc := MustParse(`{"l":[1,[2]],"o":{"":{"":3}},"s":"text"}`)
	for p, want := range map[Pointer]string{"/l/1/0": "2", "/o//": "3", "/s": `"text"`} {
		if got, ok := doc.At(p); !ok || got.String() != want {
			t.Errorf("%q: %s, %v", p, got, ok)
		}
	}
	for _, p := range []Pointer{"/l/2", "/l/-", "/l/01", "/l/-1", "/s/0", "/o/x", "l", "/l/1/0/0", "x/l"} {
		if got, ok := doc.At(p); ok || !got.IsAbsent() {
			t.Errorf("%q: %s", p, got)
		}
	}
}

func TestSetAt(t *testing.T) {
	for _, c := range []struct{ doc, at, want string }{
		{`{}`, "", `7`}, {`{}`, "/a", `{"a":7}`}, {`{}`, "/a/0/b", `{"a":{"0":{"b":7}}}`}, {`{"a":1}`, "/a", `{"a":7}`},
		{`[1,2]`, "/0", `[7,2]`}, {`[1]`, "/1", `[1,7]`}, {`[1]`, "/-", `[1,7]`}, {`[[]]`, "/0/-", `[[7]]`}, {`[]`, "/-/a", `[{"a":7}]`},
		{`{"a":null}`, "/a/b", ``}, {`[]`, "/1", ``}, {`[]`, "/a", ``}, {`[1]`, "/01", ``}, {`1`, "/a", ``}, {`{}`, "a", ``}, {`{}`, "/~", ``},
	} {
		got, err := MustParse(c.doc).SetAt(Pointer(c.at), Int(7))
		if (err != nil) != (c.want == "") || err == nil && got.String() != c.want {
			t.Errorf("%s at %q: %s, %v, want %s", c.doc, c.at, got, err, c.want)
		}
	}
	if got, err := (Value{}).SetAt("/a/b", True); err != nil || got.String() != `{"a":{"b":true}}` {
		t.Error(got, err)
	}
	if _, err := MustParse(`{}`).SetAt("/a", Value{}); err == nil {
		t.Error("an absent value is set")
	}
	if _, err := MustParse(`{}`).SetAt(Pointer(strings.Repeat("/a", 20000)), True); err == nil {
		t.Error("20000 levels are set")
	}
}
