package jsonstream_test

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/jsonstream"
)

// A parser that watches one argument of a tool call.
func ExampleParser() {
	p := jsonstream.NewParser(&jsonstream.ParserOptions{Watch: []jsondoc.Pointer{"/steps"}})
	for _, fragment := range []string{`{"title":"Soup","ste`, `ps":["Wash","Cu`, `t"],"minutes":4`, `5}`} {
		for _, e := range p.Feed(fragment) {
			fmt.Printf("%s %s %q\n", e.Path(), e.Kind, e.Text)
		}
	}
	v, err := p.End()
	fmt.Println(v, err)
	// Output:
	// /steps opened ""
	// /steps/0 opened ""
	// /steps/0 complete "Wash"
	// /steps/1 opened ""
	// /steps/1 grew "Cu"
	// /steps/1 complete "t"
	// /steps complete ""
	// {"title":"Soup","steps":["Wash","Cut"],"minutes":45} <nil>
}

// What an unfinished text says already: nothing that it would have to take back.
func ExampleParser_Value() {
	p := jsonstream.NewParser(nil)
	p.Feed(`{"city":"Osl`)
	fmt.Println(p.Value())
	p.Feed(`o","days":1`) // it may become 10
	fmt.Println(p.Value())
	p.Feed(`0,"fl`)
	fmt.Println(p.Value())
	_, err := p.End()
	fmt.Println(err)
	// Output:
	// {"city":"Osl"} true
	// {"city":"Oslo"} true
	// {"city":"Oslo","days":10} true
	// jsonstream: truncated at byte 28, at the top: the text ends inside a member's name
}

// The document grows while the model writes the arguments of update_recipe.
func ExamplePredictor() {
	view := jsondoc.MustParse(`{"recipe":{"title":"Old"},"user":"ann"}`)
	p := jsonstream.NewPredictor(view, []jsonstream.Target{{Argument: "/recipe", Path: "/recipe"}}, nil)
	now := time.Now()
	for _, fragment := range []string{`{"recipe":{"title":"Carr`, `ot soup","minutes":2`, `0,"steps":["Wash`, ` them","Cut"`, `]}}`} {
		now = now.Add(50 * time.Millisecond)
		if patch := p.Feed(now, fragment); patch != nil {
			fmt.Println(patch)
		}
	}
	patch, args, err := p.End(now)
	fmt.Println(len(patch), args, err)
	// Output:
	// [{"op":"replace","path":"/recipe","value":{"title":"Carr"}}]
	// [{"op":"replace","path":"/recipe/title","value":"Carrot soup"}]
	// [{"op":"replace","path":"/recipe","value":{"title":"Carrot soup","minutes":20,"steps":["Wash"]}}]
	// [{"op":"replace","path":"/recipe/steps","value":["Wash them","Cut"]}]
	// 0 {"recipe":{"title":"Carrot soup","minutes":20,"steps":["Wash them","Cut"]}} <nil>
}

// With Keep a form does not flicker: old members stay until the new value names
// them or ends.
func ExampleTarget_keep() {
	view := jsondoc.MustParse(`{"form":{"name":"Ann","city":"Oslo","note":"call first"}}`)
	p := jsonstream.NewPredictor(view, []jsonstream.Target{{Path: "/form", Keep: true}}, nil)
	now := time.Now()
	for _, fragment := range []string{`{"name":"Ann","city":"Ber`, `gen"`, `}`} {
		now = now.Add(50 * time.Millisecond)
		patch := p.Feed(now, fragment)
		view, _ = patch.Apply(view, nil)
		fmt.Println(view)
	}
	// Output:
	// {"form":{"name":"Ann","city":"Ber","note":"call first"}}
	// {"form":{"name":"Ann","city":"Bergen","note":"call first"}}
	// {"form":{"name":"Ann","city":"Bergen"}}
}
