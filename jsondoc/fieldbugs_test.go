package jsondoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Each test is a kind of mistake that was reported of another library or system.
// The comment names the report.

// refuse applies a patch that must not apply, and returns the error's reason.
func refuse(t *testing.T, doc, patch string) string {
	t.Helper()
	v := MustParse(doc)
	p, err := ParsePatch([]byte(patch))
	if err == nil {
		_, err = p.Apply(v, nil)
	}
	var pe *PatchError
	if !errors.As(err, &pe) {
		t.Errorf("%s on %s: error %v, want a *PatchError", patch, doc, err)
		return ""
	}
	if got := v.String(); got != MustParse(doc).String() {
		t.Errorf("%s on %s: the document became %s", patch, doc, got)
	}
	return pe.Reason
}

// accept applies a patch and compares the result's text.
func accept(t *testing.T, doc, patch, want string) {
	t.Helper()
	p, err := ParsePatch([]byte(patch))
	if err != nil {
		t.Errorf("%s: %v", patch, err)
		return
	}
	got, err := p.Apply(MustParse(doc), nil)
	if err != nil || got.String() != want {
		t.Errorf("%s on %s: %s, %v, want %s", patch, doc, got, err, want)
	}
}

// S1, CopilotKit/CopilotKit#4934: a delta replaced a key that was not there.
func TestDiffAddsWhatIsNew_S1(t *testing.T) {
	p := Diff(MustParse(`{}`), MustParse(`{"steps":[]}`), nil)
	if p.String() != `[{"op":"add","path":"/steps","value":[]}]` {
		t.Error(p)
	}
	refuse(t, `{}`, `[{"op":"replace","path":"/steps","value":[]}]`)
}

// S6, agno-agi/agno#10102: changes were looked for in language objects.
func TestDiffSeesJSONTypes_S6(t *testing.T) {
	for _, c := range [][2]string{{`1`, `true`}, {`0`, `false`}, {`"1"`, `1`}, {`[]`, `null`}, {`{}`, `[]`}, {`""`, `null`}, {`"null"`, `null`}} {
		a, b := MustParse(`{"v":`+c[0]+`}`), MustParse(`{"v":`+c[1]+`}`)
		want := `[{"op":"replace","path":"/v","value":` + c[1] + `}]`
		if p := Diff(a, b, nil); p.String() != want {
			t.Errorf("%s to %s: %s", a, b, p)
		}
		if Equal(a, b) {
			t.Errorf("%s equals %s", a, b)
		}
	}
	if p := Diff(MustParse(`{"a":1,"b":[{"c":1,"d":2}]}`), MustParse(`{"b":[{"d":2,"c":1}],"a":1}`), nil); p != nil {
		t.Errorf("another order of members is a change: %s", p)
	}
	// A value that a caller goes on changing is not the document's.
	list := []any{1, 2}
	before := MustFrom(map[string]any{"list": list})
	list[0] = 9
	after := MustFrom(map[string]any{"list": list})
	if p := Diff(before, after, nil); p.String() != `[{"op":"replace","path":"/list/0","value":9}]` {
		t.Error(p)
	}
}

// S8, mattbaird/jsonpatch#7 and #30, gomodules/jsonpatch#1: removes in ascending
// order, so that later indexes were wrong.
func TestDiffIndexesAreRightAtTheirTurn_S8(t *testing.T) {
	for _, c := range [][2]string{
		{`["a/16","b/24"]`, `["a/24"]`},
		{`[{"n":1},{"n":2},{"n":4}]`, `[{"n":1},{"n":3}]`},
		{`[1,2,3,4,5]`, `[]`}, {`[]`, `[1,2,3]`}, {`[1,2,3,4,5,6]`, `[2,4,6]`}, {`[1,2,3]`, `[3,2,1]`},
		{`[{"id":1},{"id":2},{"id":3}]`, `[{"id":3},{"id":4},{"id":1}]`},
	} {
		a, b := MustParse(c[0]), MustParse(c[1])
		p := Diff(a, b, nil)
		if got, err := p.Apply(a, nil); err != nil || !Equal(got, b) {
			t.Errorf("%s to %s: %s gives %s, %v", a, b, p, got, err)
		}
	}
}

// S10, evanphx/json-patch#171: panic on an add into what was just set to null.
func TestAddIntoNull_S10(t *testing.T) {
	why := refuse(t, `{"a":{"cmds":["x"]}}`,
		`[{"op":"replace","path":"/a/cmds","value":null},{"op":"add","path":"/a/cmds/0","value":"y"}]`)
	if !strings.Contains(why, "null") {
		t.Errorf("reason %q does not say what is there", why)
	}
}

// S11, evanphx/json-patch#200: panic on an add under a null root.
func TestAddUnderScalarRoot_S11(t *testing.T) {
	for _, doc := range []string{`null`, `1`, `"text"`, `true`} {
		refuse(t, doc, `[{"op":"add","path":"/version","value":"1"}]`)
		refuse(t, doc, `[{"op":"add","path":"/a/b","value":"1"}]`)
		accept(t, doc, `[{"op":"add","path":"","value":{}},{"op":"add","path":"/version","value":"1"}]`, `{"version":"1"}`)
	}
	if _, err := (Patch{{Op: "add", Path: "/a", Value: Null}}).Apply(Value{}, nil); err == nil {
		t.Error("an absent document has members")
	}
}

// S12, evanphx/json-patch#168: a missing value read as null, or worse.
func TestMissingMembersOfOperations_S12(t *testing.T) {
	for _, op := range []string{
		`{"op":"replace","path":""}`, `{"op":"add","path":"/a"}`, `{"op":"test","path":"/a"}`,
		`{"op":"move","path":"/a"}`, `{"op":"copy","path":"/a"}`, `{"op":"move","path":"/a","from":null}`,
		`{"op":"remove"}`, `{"op":"remove","path":null}`, `{"op":"remove","path":["a"]}`, `{"path":"/a","value":1}`,
		`{"op":"delete","path":"/a"}`, `{"op":"ADD","path":"/a","value":1}`, `{"op":1,"path":"/a"}`,
		`{"op":"add","path":"a","value":1}`, `{"op":"add","path":"/~2","value":1}`, `{"op":"add","path":"/a~","value":1}`,
		`null`, `[]`, `"add"`, `{}`,
	} {
		refuse(t, `{"a":1}`, `[`+op+`]`)
	}
	refuse(t, `{}`, `{}`)
	refuse(t, `{}`, `null`)
	accept(t, `{"a":1}`, `[{"op":"replace","path":"/a","value":null},{"op":"add","path":"/b","value":null,"more":1}]`, `{"a":null,"b":null}`)
	// The same for patches that never were text.
	for _, op := range []Operation{{Op: "add", Path: "/a"}, {Op: "replace"}, {Op: "test"}, {Op: "nop"}, {}, {Op: "remove", Path: "a"}, {Op: "move", From: "x", Path: "/a"}} {
		if _, err := (Patch{op}).Apply(MustParse(`{"a":1}`), nil); err == nil {
			t.Errorf("%+v applies", op)
		}
	}
}

// The same kind in the community Go SDK: omitempty dropped a value of null, and
// the paths "" and "" of from were taken for missing.
func TestNullValuesAndRootPaths_W3(t *testing.T) {
	p := Patch{{Op: "replace", Path: "", Value: Null}, {Op: "copy", From: "", Path: ""}}
	const want = `[{"op":"replace","path":"","value":null},{"op":"copy","from":"","path":""}]`
	if p.String() != want || p.Value().String() != want {
		t.Errorf("%s, %s", p, p.Value())
	}
	data, err := json.Marshal(p)
	if err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
	var q Patch
	if err := json.Unmarshal(data, &q); err != nil || !q[0].Value.IsNull() {
		t.Errorf("%v, %v", q, err)
	}
}

// S13, evanphx/json-patch#57 (CVE-2018-14632), #90, kubernetes/kubernetes#68442:
// indexes out of range, negative, or not digits at all.
func TestArrayIndexes_S13(t *testing.T) {
	for _, path := range []string{"/l/5", "/l/2", "/l/-1", "/l/01", "/l/00", "/l/+0", "/l/1e0", "/l/ 0", "/l/0x0", "/l/", "/l/a",
		"/l/18446744073709551616", "/l/9999999999", "/l/4294967296"} {
		for _, op := range []string{"add", "replace", "remove", "test"} {
			refuse(t, `{"l":[1]}`, fmt.Sprintf(`[{"op":%q,"path":%q,"value":1}]`, op, path))
		}
		refuse(t, `{"l":[1]}`, fmt.Sprintf(`[{"op":"copy","from":%q,"path":"/x"}]`, path))
		refuse(t, `{"l":[1]}`, fmt.Sprintf(`[{"op":"move","from":%q,"path":"/x"}]`, path))
	}
	for _, op := range []string{"replace", "remove", "test"} {
		refuse(t, `{"l":[1]}`, fmt.Sprintf(`[{"op":%q,"path":"/l/-","value":1}]`, op))
		refuse(t, `{"l":[1]}`, fmt.Sprintf(`[{"op":%q,"path":"/l/1","value":1}]`, op))
	}
	refuse(t, `{"l":[1]}`, `[{"op":"copy","from":"/l/-","path":"/x"}]`)
	refuse(t, `{"l":[[1]]}`, `[{"op":"add","path":"/l/-/0","value":1}]`)
	accept(t, `{"l":[1]}`, `[{"op":"add","path":"/l/-","value":2},{"op":"add","path":"/l/2","value":3},{"op":"add","path":"/l/0","value":0}]`, `{"l":[0,1,2,3]}`)
	// To an object they are names.
	accept(t, `{}`, `[{"op":"add","path":"/-1","value":1},{"op":"add","path":"/01","value":2},{"op":"add","path":"/-","value":3}]`, `{"-1":1,"01":2,"-":3}`)
}

// S14, evanphx/json-patch#189: numbers went through float64.
func TestNumbersKeepTheirText_S14(t *testing.T) {
	const doc = `{"id":9007199254740993,"a":1e21,"b":0.1,"c":-0,"d":1.0,"e":1E+2,"f":123456789012345678901234567890.123456789,"x":1}`
	accept(t, doc, `[{"op":"replace","path":"/x","value":2}]`, strings.Replace(doc, `"x":1`, `"x":2`, 1))
	v := MustParse(doc)
	var back Value
	if err := json.Unmarshal(v.AppendJSON(nil), &back); err != nil || back.String() != doc {
		t.Errorf("%s, %v", back, err)
	}
	for _, n := range []string{"9007199254740993", "1e21", "0.1", "-0", "1.0", "1E+2"} {
		if v, err := Number(n); err != nil || v.NumberText() != n || v.String() != n {
			t.Errorf("%s: %s, %v", n, v, err)
		}
	}
}

// S15, stefankoegl/python-json-patch#115, jg-rp/python-jsonpath#76 and #129,
// bruth/jsonpatch-js#20: a failing patch left its first operations applied.
func TestPatchesAreAtomic_S15(t *testing.T) {
	refuse(t, `{"a":{"b":[1,2]}}`, `[{"op":"add","path":"/language","value":"de"},{"op":"add","path":"/country","value":"US"},{"op":"remove","path":"/fish"}]`)
	refuse(t, `{"a":{"b":[1,2]}}`, `[{"op":"add","path":"/a/b/0","value":0},{"op":"add","path":"/a/b/0","value":0},{"op":"test","path":"/a/b/0","value":1}]`)
	doc := MustParse(`{"a":1}`)
	_, err := Patch{{Op: "add", Path: "/b", Value: Null}, {Op: "remove", Path: "/x/y"}}.Apply(doc, nil)
	var pe *PatchError
	if !errors.As(err, &pe) || pe.Index != 1 || pe.Op != "remove" || pe.Path != "/x/y" || pe.Reason == "" {
		t.Errorf("%#v", err)
	}
}

// S16, stefankoegl/python-json-patch#103: 1 and 1.0, true and 1. The rule here:
// equal means the same value, a difference of the text is still a change.
func TestOneNumberRule_S16(t *testing.T) {
	one, oneZero := MustParse(`{"v":1}`), MustParse(`{"v":1.0}`)
	if !Equal(one, oneZero) || EqualBy(one, oneZero, ByText) || !EqualBy(one, oneZero, ByDouble) {
		t.Error("1 and 1.0 are equal by value, not by text")
	}
	if p := Diff(one, oneZero, nil); p.String() != `[{"op":"replace","path":"/v","value":1.0}]` {
		t.Error(p)
	}
	if p := Diff(one, oneZero, &DiffOptions{Numbers: ByValue}); p != nil {
		t.Error(p)
	}
	accept(t, `{"v":1}`, `[{"op":"test","path":"/v","value":10e-1}]`, `{"v":1}`)
	refuse(t, `{"v":1}`, `[{"op":"test","path":"/v","value":true}]`)
	refuse(t, `{"v":1}`, `[{"op":"test","path":"/v","value":"1"}]`)
	refuse(t, `{"v":0}`, `[{"op":"test","path":"/v","value":null}]`)
	refuse(t, `{"v":9007199254740993}`, `[{"op":"test","path":"/v","value":9007199254740992}]`)
	big, rounded := MustParse(`[9007199254740993,-0,1e21]`), MustParse(`[9007199254740992,0,1000000000000000000000]`)
	if p := Diff(big, rounded, &DiffOptions{Numbers: ByDouble}); p != nil {
		t.Errorf("what a JavaScript client echoes is a change: %s", p)
	}
}

// S17, evanphx/json-patch#132: nulls vanished from arrays on the merge path.
func TestNullsStay_S17(t *testing.T) {
	for _, c := range [][3]string{
		{`{"l":[1]}`, `{"l":[1,null,3]}`, `{"l":[1,null,3]}`},
		{`{}`, `{"l":[null],"o":[{"a":null}]}`, `{"l":[null],"o":[{"a":null}]}`},
		{`{"a":null,"b":1}`, `{"b":2}`, `{"a":null,"b":2}`},
	} {
		if got := MergePatch(MustParse(c[0]), MustParse(c[1])); got.String() != c[2] {
			t.Errorf("%s merged into %s: %s", c[1], c[0], got)
		}
	}
	accept(t, `{"l":[1,null,3],"o":{"a":null}}`, `[{"op":"add","path":"/l/1","value":null},{"op":"remove","path":"/o/a"}]`, `{"l":[1,null,null,3],"o":{}}`)
	merged, conflicts, err := Merge(MustParse(`{"l":[1,null,3],"n":1}`), MustParse(`{"l":[1,null,3],"n":null}`), MustParse(`{"l":[1,null,3,null],"n":1}`), nil)
	if err != nil || conflicts != nil || merged.String() != `{"l":[1,null,3,null],"n":null}` {
		t.Errorf("%s, %v, %v", merged, conflicts, err)
	}
	set := Diff(MustParse(`{"a":1}`), MustParse(`{"a":null}`), nil)
	del := Diff(MustParse(`{"a":1}`), MustParse(`{}`), nil)
	if set.String() != `[{"op":"replace","path":"/a","value":null}]` || del.String() != `[{"op":"remove","path":"/a"}]` {
		t.Errorf("set to null %s, deleted %s", set, del)
	}
}

// S19,
// dharmafly/jsonpatch.js#21: a copy from a place that is missing.
func TestCopyFromNowhere_S19(t *testing.T) {
	for _, from := range []string{"/none", "/a/b", "/l/1", "/l/-", "/none/x"} {
		refuse(t, `{"a":1,"l":[1]}`, `[{"op":"copy","from":"`+from+`","path":"/dest"}]`)
		refuse(t, `{"a":1,"l":[1]}`, `[{"op":"move","from":"`+from+`","path":"/dest"}]`)
	}
}

// S20, json-c/json-c#931: a copy was the same object, edits showed in both, and a
// copy into itself made a cycle.
func TestCopiesAreDeep_S20(t *testing.T) {
	accept(t, `{"a":{"x":1}}`, `[{"op":"copy","from":"/a","path":"/b"},{"op":"replace","path":"/b/x","value":2}]`, `{"a":{"x":1},"b":{"x":2}}`)
	accept(t, `{"a":{"x":1}}`, `[{"op":"add","path":"/a/y","value":[1]},{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/a/y/-","value":2},{"op":"add","path":"/b/y/0","value":0}]`,
		`{"a":{"x":1,"y":[1,2]},"b":{"x":1,"y":[0,1]}}`)
	accept(t, `{"a":{"x":1}}`, `[{"op":"copy","from":"/a","path":"/a/c"},{"op":"replace","path":"/a/x","value":2}]`, `{"a":{"x":2,"c":{"x":1}}}`)
	accept(t, `{"a":1}`, `[{"op":"copy","from":"","path":"/b"},{"op":"copy","from":"","path":"/c"},{"op":"replace","path":"/c/b/a","value":2}]`,
		`{"a":1,"b":{"a":1},"c":{"a":1,"b":{"a":2}}}`)
	// One value given to two operations is not shared either.
	list := MustParse(`{"l":[]}`)
	got, err := Patch{{Op: "add", Path: "/p", Value: list}, {Op: "add", Path: "/q", Value: list}, {Op: "add", Path: "/q/l/-", Value: Int(1)}}.Apply(MustParse(`{}`), nil)
	if err != nil || got.String() != `{"p":{"l":[]},"q":{"l":[1]}}` || list.String() != `{"l":[]}` {
		t.Errorf("%s, %v, %s", got, err, list)
	}
}

// A kin of S20 (billion laughs): what each copy doubles is not stored twice, but
// would be written twice. The size is bounded, and known without writing.
func TestCopiesCannotGrowWithoutBound(t *testing.T) {
	var p Patch
	for range 200 {
		p = append(p, Operation{Op: "copy", From: "", Path: "/a"}, Operation{Op: "copy", From: "", Path: "/b"})
	}
	_, err := p.Apply(MustParse(`{"x":"0123456789"}`), nil)
	var pe *PatchError
	if !errors.As(err, &pe) || !strings.Contains(pe.Reason, "bytes") && !strings.Contains(pe.Reason, "levels") {
		t.Errorf("%v", err)
	}
	_, err = p[:40].Apply(MustParse(`{"x":"0123456789"}`), &ApplyOptions{MaxSize: 1000})
	if !errors.As(err, &pe) || !strings.Contains(pe.Reason, "1000") {
		t.Errorf("%v", err)
	}
	// Depth doubles as well.
	deep := Patch{{Op: "add", Path: "/a", Value: MustParse(`{}`)}}
	at := Pointer("/a")
	for range 9 {
		deep = append(deep, Operation{Op: "copy", From: "/a", Path: at + "/a"})
		at += at
	}
	if _, err := deep.Apply(MustParse(`{}`), nil); !errors.As(err, &pe) || !strings.Contains(pe.Reason, "levels") {
		t.Errorf("%v", err)
	}
}

// X1, Starcounter-Jack/JSON-Patch#216 and #262 and others: names that mean
// something to JavaScript. Here they are data; ClientRules refuses the paths.
func TestPrototypeNamesAreData_X1(t *testing.T) {
	accept(t, `{}`, `[{"op":"add","path":"/__proto__","value":{}},{"op":"add","path":"/__proto__/x","value":1},{"op":"add","path":"/constructor","value":{"prototype":{}}},{"op":"add","path":"/constructor/prototype/x","value":1}]`,
		`{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}`)
	refuse(t, `{}`, `[{"op":"remove","path":"/toString"}]`)
	for _, path := range []string{"/__proto__", "/__proto__/x", "/a/__proto__", "/constructor/prototype", "/constructor/prototype/x", "/a/constructor/prototype"} {
		doc := MustParse(`{"m":1,"a":{"__proto__":{},"constructor":{"prototype":{}}},"__proto__":{},"constructor":{"prototype":{}}}`)
		for _, op := range []Operation{
			{Op: "add", Path: Pointer(path), Value: Null}, {Op: "copy", From: Pointer(path), Path: "/b"}, {Op: "move", From: "/m", Path: Pointer(path)},
		} {
			var pe *PatchError
			if _, err := (Patch{op}).Apply(doc, &ApplyOptions{ClientRules: true}); !errors.As(err, &pe) || !strings.Contains(pe.Reason, "clients") {
				t.Errorf("%+v under ClientRules: %v", op, err)
			}
		}
	}
	for _, path := range []string{"/prototype", "/constructor", "/constructor/x", "/x/prototype", "/constructor/x/prototype"} {
		if err := (Operation{Op: "remove", Path: Pointer(path)}).clientCheck(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
