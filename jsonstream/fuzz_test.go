package jsonstream

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// FuzzPredictor feeds any arguments to any document: every patch applies, and what
// the places end as is what the arguments say. Bits of how choose cuts, pauses and
// the target.
func FuzzPredictor(f *testing.F) {
	f.Add(`{"a":{"b":[1,"xy",{"__proto__":1}]},"c":"long text"}`, `{"x":{"b":1,"c":{}}}`, uint32(1))
	f.Add(`{}{"a":"\ud83d\ude00"}`, `{"x":null}`, uint32(77))
	f.Add(`{"constructor":{"prototype":{"a":[1]},"b":2}}`, `[]`, uint32(1<<20+5))
	f.Add(`[[[[1]],2],3]`, `{"x":{"y":{"z":1}}}`, uint32(0xffff))
	f.Fuzz(func(t *testing.T, args, doc string, how uint32) {
		if len(args) > 2000 || len(doc) > 2000 {
			t.Skip("a patch after each piece is quadratic")
		}
		view, err := jsondoc.ParseString(doc)
		if err != nil {
			view = jsondoc.Value{}
		}
		arguments := []jsondoc.Pointer{"", "/a", "/constructor", "/a/b/0"}
		paths := []jsondoc.Pointer{"/x", "", "/x/c", "/p/q~1r"}
		target := Target{Argument: arguments[how&3], Path: paths[how>>2&3], Whole: how>>4&3 == 0, Keep: how>>6&1 == 0}
		p := NewPredictor(view, []Target{target}, nil)
		now := time.Time{}
		check := func(patch jsondoc.Patch) {
			if patch == nil {
				return
			}
			next, err := patch.Apply(view, clientRules)
			if err != nil {
				t.Fatalf("%s does not apply to %s: %v", patch, view, err)
			}
			view = next
		}
		rest := args
		for n := int(how>>8&15) + 1; len(rest) > 0; n = (n*5+int(how>>12))%17 + 1 {
			k := min(n, len(rest))
			now = now.Add(time.Duration(how>>16) * time.Millisecond * time.Duration(n%3))
			check(p.Feed(now, rest[:k]))
			rest = rest[k:]
		}
		patch, v, err := p.End(now)
		if err != nil {
			if patch != nil || !v.IsAbsent() {
				t.Fatalf("%v, and %s, %s", err, patch, v)
			}
			return
		}
		check(patch)
		want, there := v.At(target.Argument)
		s, ok := locate(view, target.Path)
		if !there || !ok {
			return
		}
		got, _ := view.At(s.place)
		if target.Keep && !jsondoc.Equal(got, want) || !target.Keep && !sameText(got, want) {
			t.Fatalf("%s ends as %s instead of %s", args, got, want)
		}
	})
}
