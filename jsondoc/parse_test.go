package jsondoc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestSyntaxErrorsSayWhereAndWhat(t *testing.T) {
	for _, c := range []struct {
		text, why string
		offset    int
		path      Pointer
	}{
		{``, "text ends where a value should be", 0, ""},
		{` `, "text ends where a value should be", 1, ""},
		{`{"a":[1,2,}`, `'}' where a value should be`, 10, "/a/2"},
		{`{"a":{"b/c":tru}}`, "malformed literal, wanted true", 12, "/a/b~1c"},
		{`{"a":1 "b":2}`, `'"' where a comma or the object's end should be`, 7, ""},
		{`[1 2]`, `'2' where a comma or the array's end should be`, 3, ""},
		{`{"a" 1}`, `'1' where a colon should be`, 5, ""},
		{`{"a":1,}`, `'}' where a member's name should be`, 7, ""},
		{`{a:1}`, `'a' where a member's name should be`, 1, ""},
		{`[1`, "text ends where a comma or the array's end should be", 2, ""},
		{`{} {}`, "text after the end of the document", 3, ""},
		{`[01]`, `'1' where a comma or the array's end should be`, 2, ""},
		{`[-]`, "malformed number", 1, "/0"},
		{`[1.]`, "malformed number", 1, "/0"},
		{`["a`, "string without an end", 1, "/0"},
		{`["a\`, "string without an end", 3, "/0"},
		{"[\"a\nb\"]", "control character 0x0a must be escaped", 3, "/0"},
		{`["\x"]`, "unknown escape", 2, "/0"},
		{`["\u12G4"]`, `\u without four hexadecimal digits`, 2, "/0"},
		{"[\"ab\xffc\"]", "byte 0xff is not UTF-8", 4, "/0"},
		{"[\xff]", "byte 0xff where a value should be", 1, "/0"},
		{`{"\ud800":1}`, `\ud800 is half of a surrogate pair`, 2, ""},
		{`{"x":"\udc00\ud800"}`, `\udc00 is half of a surrogate pair`, 6, "/x"},
		{`{"a":{"b":1,"b":2}}`, `member "b" appears twice`, 12, "/a/b"},
		{`{"a":1,"\u0061":2}`, `member "a" appears twice`, 7, "/a"},
		{`[{"a":1},{"a":1,"a":1}]`, `member "a" appears twice`, 16, "/1/a"},
	} {
		_, err := ParseString(c.text)
		var se *SyntaxError
		if !errors.As(err, &se) {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if !strings.Contains(se.Reason, c.why) || se.Offset != c.offset || se.Path != c.path {
			t.Errorf("%s: %q at %d in %q, want %q at %d in %q", c.text, se.Reason, se.Offset, se.Path, c.why, c.offset, c.path)
		}
		if !strings.Contains(err.Error(), fmt.Sprint(c.offset)) {
			t.Errorf("%s: the error's text %q has no offset", c.text, err)
		}
	}
}

func TestParseOptions(t *testing.T) {
	for _, c := range []struct {
		text string
		opts ParseOptions
		want string // "" for an error
	}{
		{`{"a":1,"b":2,"a":{"c":3,"c":4}}`, ParseOptions{KeepLast: true}, `{"a":{"c":4},"b":2}`},
		{"[\"a\xffb\xed\xa0\x80\"]", ParseOptions{ReplaceInvalid: true}, "[\"a\uFFFDb\uFFFD\uFFFD\uFFFD\"]"},
		{`["\ud83d","\ude00\ud83d\ude00","\ud83dx","\ud83d\n"]`, ParseOptions{ReplaceInvalid: true}, "[\"\uFFFD\",\"\uFFFD😀\",\"\uFFFDx\",\"\uFFFD\\n\"]"},
		{"{\"\xff\":1,\"\xfe\":2}", ParseOptions{ReplaceInvalid: true}, ""},
		{"{\"\xff\":1,\"\xfe\":2}", ParseOptions{ReplaceInvalid: true, KeepLast: true}, "{\"\uFFFD\":2}"},
		{`[[[]]]`, ParseOptions{MaxDepth: 3}, `[[[]]]`},
		{`[[[]]]`, ParseOptions{MaxDepth: 2}, ""},
		{`{"a":[{}]}`, ParseOptions{MaxDepth: 2}, ""},
		{`[1,2]`, ParseOptions{MaxBytes: 5}, `[1,2]`},
		{`[1,2]`, ParseOptions{MaxBytes: 4}, ""},
		{strings.Repeat("[", 512) + strings.Repeat("]", 512), ParseOptions{}, strings.Repeat("[", 512) + strings.Repeat("]", 512)},
		{strings.Repeat("[", 513) + strings.Repeat("]", 513), ParseOptions{}, ""},
		{strings.Repeat("[", 1<<20), ParseOptions{MaxDepth: 1 << 30}, ""},
		{strings.Repeat(`{"a":`, 1<<20), ParseOptions{MaxDepth: 1 << 30}, ""},
	} {
		got, err := Parse([]byte(c.text), &c.opts)
		if (err != nil) != (c.want == "") || err == nil && got.String() != c.want {
			t.Errorf("%.40s %+v: %.60s, %v", c.text, c.opts, got, err)
		}
		if err == nil {
			checkShape(t, got)
		}
	}
}

func TestParseDoesNotKeepTheData(t *testing.T) {
	data := []byte(`{"name":"text","list":["item",12.5,"a\tb"],"long":"` + strings.Repeat("x", 1000) + `"}`)
	v, err := Parse(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := string(data)
	for i := range data {
		data[i] = '?'
	}
	if v.String() != want {
		t.Error(v)
	}
}

func TestParseWideObjects(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `,"name%d":%d`, i, i)
	}
	text := "{" + b.String()[1:] + "}"
	v := MustParse(text)
	if v.String() != text || v.Len() != 1000 {
		t.Errorf("%d members", v.Len())
	}
	checkShape(t, v)
	for i := range 1000 {
		if x, ok := v.Get(fmt.Sprint("name", i)); !ok || x.String() != fmt.Sprint(i) {
			t.Fatalf("name%d is %s, %v", i, x, ok)
		}
	}
	for _, name := range []string{"name0", "name7", "name40", "name999"} {
		if _, err := ParseString(text[:len(text)-1] + `,"` + name + `":0}`); err == nil || !strings.Contains(err.Error(), "twice") {
			t.Errorf("repeated %s: %v", name, err)
		}
	}
	if got, err := Parse([]byte(text[:len(text)-1]+`,"name7":"last"}`), &ParseOptions{KeepLast: true}); err != nil || got.Len() != 1000 || got.n.box.at(7).Str() != "last" {
		t.Errorf("%d members, %v", got.Len(), err)
	}
}

// Like changes what is shared, never what is read.
func TestParseLike(t *testing.T) {
	like := MustParse(`{"a":[{"x":1,"y":"why"},{"x":2,"y":"zed"}],"b":{"c":"text"},"n":12345}`)
	read := func(text string) Value {
		t.Helper()
		v, err := Parse([]byte(text), &ParseOptions{Like: like})
		if err != nil || v.String() != MustParse(text).String() {
			t.Fatalf("%s: %s, %v", text, v, err)
		}
		checkShape(t, v)
		return v
	}
	if v := read(like.String()); !Same(v, like) {
		t.Error("the same text is another document")
	}
	v := read(`{"a":[{"x":1,"y":"why"},{"x":3,"y":"zed"}],"b":{"c":"text"},"n":12345}`)
	for p, want := range map[Pointer]bool{"": false, "/a": false, "/a/0": true, "/a/1": false, "/a/1/y": true, "/b": true, "/n": true} {
		x, _ := v.At(p)
		y, _ := like.At(p)
		if Same(x, y) != want {
			t.Errorf("%q is shared: %v", p, !want)
		}
	}
	for _, text := range []string{
		`{}`, `[]`, `1`, `{"a":[]}`, `{"a":{}}`, `{"b":{"c":"text"},"a":1}`, `{"a":[{"x":1}],"b":{},"z":0}`, `{"a":[{"y":"why","x":1}]}`,
		`{"a":[{"x":1,"y":"why"},{"x":2,"y":"zed"},{"x":2,"y":"zed"}],"b":{"c":"text"},"n":12345.0}`, `{"\u0061":[]}`, `{"a":[null,[1]],"b":null,"n":"12345"}`,
	} {
		read(text)
	}
	// A model whose names need escapes does not match raw bytes.
	like = Object(Member{`a\nb`, Int(1)}, Member{`c`, Int(2)})
	if v := read(`{"a\nb":1,"c":2}`); v.n.box.shape.names[0] != "a\nb" {
		t.Errorf("the name is %q", v.n.box.shape.names[0])
	}
}
