package jsondoc_test

import (
	"fmt"

	"github.com/lockstep-go/lockstep/jsondoc"
)

func ExamplePatch_Apply() {
	doc := jsondoc.MustParse(`{"title":"Soup","steps":["boil"]}`)
	patch, err := jsondoc.ParsePatch([]byte(`[
		{"op": "replace", "path": "/title", "value": "Lentil soup"},
		{"op": "add", "path": "/steps/-", "value": "serve"}
	]`))
	if err != nil {
		panic(err)
	}
	next, err := patch.Apply(doc, nil)
	fmt.Println(next, err)

	// All operations apply or none.
	_, err = jsondoc.Patch{
		{Op: "remove", Path: "/title"},
		{Op: "replace", Path: "/steps/7", Value: jsondoc.String("eat")},
	}.Apply(doc, nil)
	fmt.Println(err)
	fmt.Println(doc)
	// Output:
	// {"title":"Lentil soup","steps":["boil","serve"]} <nil>
	// patch operation 1 (replace "/steps/7"): "7" is no index of an array of 1 items
	// {"title":"Soup","steps":["boil"]}
}

func ExampleDiff() {
	a := jsondoc.MustParse(`{"tasks":[{"id":1,"text":"shop"},{"id":2,"text":"cook"},{"id":3,"text":"eat"}]}`)
	b := jsondoc.MustParse(`{"tasks":[{"id":3,"text":"eat"},{"id":1,"text":"shop","done":true},{"id":2,"text":"cook"}]}`)
	for _, op := range jsondoc.Diff(a, b, nil) {
		fmt.Println(jsondoc.Patch{op})
	}
	// Output:
	// [{"op":"move","from":"/tasks/2","path":"/tasks/0"}]
	// [{"op":"add","path":"/tasks/1/done","value":true}]
}

func ExampleMerge() {
	base := jsondoc.MustParse(`{"title":"Soup","servings":2,"tags":["warm"]}`)
	ours := jsondoc.MustParse(`{"title":"Lentil soup","servings":2,"tags":["warm","red"]}`)
	theirs := jsondoc.MustParse(`{"title":"Pea soup","servings":4,"tags":["warm","green"]}`)

	merged, conflicts, err := jsondoc.Merge(base, ours, theirs, &jsondoc.MergeOptions{Policy: jsondoc.Theirs})
	fmt.Println(merged, err)
	for _, c := range conflicts {
		fmt.Printf("%s was %s, we have %s, they have %s\n", c.Path, c.Base, c.Ours, c.Theirs)
	}
	// Output:
	// {"title":"Pea soup","servings":4,"tags":["warm","green","red"]} <nil>
	// /title was "Soup", we have "Lentil soup", they have "Pea soup"
}

func ExampleMergePatch() {
	doc := jsondoc.MustParse(`{"title":"Soup","author":{"name":"Ann","mail":"ann@example.com"}}`)
	patch := jsondoc.MustParse(`{"title":"Stew","author":{"mail":null}}`)
	fmt.Println(jsondoc.MergePatch(doc, patch))
	// Output: {"title":"Stew","author":{"name":"Ann"}}
}

func ExampleParse() {
	// Numbers keep their digits and members their order.
	doc, err := jsondoc.Parse([]byte(`{"id": 9007199254740993, "a": 1.0}`), nil)
	fmt.Println(doc, err)

	_, err = jsondoc.Parse([]byte(`{"user": {"name": "Ann", "name": "Bob"}}`), nil)
	fmt.Println(err)
	// Output:
	// {"id":9007199254740993,"a":1.0} <nil>
	// member "name" appears twice at byte 25 in "/user/name"
}

func ExampleFrom() {
	type recipe struct {
		Title string   `json:"title"`
		Steps []string `json:"steps"`
		Notes string   `json:"notes,omitempty"`
	}
	doc, err := jsondoc.From(recipe{Title: "Soup"})
	fmt.Println(doc, err)
	// Output: {"title":"Soup","steps":[]} <nil>
}

func ExampleValue_At() {
	doc := jsondoc.MustParse(`{"list":[{"a/b":1}]}`)
	v, ok := doc.At("/list/0/a~1b")
	fmt.Println(v, ok)
	// Output: 1 true
}

// A pointer is made of tokens, whatever they contain.
func ExamplePath() {
	doc := jsondoc.MustParse(`{"a/b":{"~":[1,2]}}`)
	at := jsondoc.Path("a/b", "~", "1")
	fmt.Println(at)
	v, ok := doc.At(at)
	fmt.Println(v, ok)
	// Output:
	// /a~1b/~0/1
	// 2 true
}

// Patches come from outside: what is no patch is told with its place.
func ExampleParsePatch() {
	_, err := jsondoc.ParsePatch([]byte(`[{"op":"add","path":"/a","value":null},{"op":"put","path":"/b"}]`))
	fmt.Println(err)
	// Output: patch operation 1 (put "/b"): unknown operation "put"
}

// Bytes in, bytes out: members that the patch does not touch keep their spelling.
func ExamplePatch_ApplyBytes() {
	patch := jsondoc.Patch{{Op: "replace", Path: "/n", Value: jsondoc.Int(2)}}
	out, err := patch.ApplyBytes([]byte(`{"n":1,"other":{ "caf\u00e9": 1.50e+3 }}`), nil)
	fmt.Println(string(out), err)
	// Output: {"n":2,"other":{ "caf\u00e9": 1.50e+3 }} <nil>
}

// Documents are made of values. Numbers keep their digits, and are compared by
// what they say.
func ExampleObject() {
	v := jsondoc.Object(
		jsondoc.Member{Name: "title", Value: jsondoc.String("Soup")},
		jsondoc.Member{Name: "steps", Value: jsondoc.Array(jsondoc.String("boil"), jsondoc.Null)},
	)
	fmt.Println(v, v.Kind())
	n, err := jsondoc.Number("9007199254740993.10") // digit for digit
	fmt.Println(n, err)
	fmt.Println(jsondoc.Equal(jsondoc.MustParse("1.0"), jsondoc.Int(1)))
	// Output:
	// {"title":"Soup","steps":["boil",null]} object
	// 9007199254740993.10 <nil>
	// true
}
