// Package jsondoc compares the room jsondoc with the libraries that do the same:
// github.com/evanphx/json-patch/v5, github.com/wI2L/jsondiff and encoding/json.
package jsondoc

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	evanphx "github.com/evanphx/json-patch/v5"
	doc "github.com/lockstep-go/lockstep/jsondoc"
	"github.com/wI2L/jsondiff"

	"github.com/lockstep-go/lockstep/bench/rounds"
)

// Run measures and prints one line for each figure. It takes about half a minute.
func Run(w io.Writer) {
	apply(w)
	applyBySize(w)
	diff(w)
	parse(w)
}

// items makes the text of a document of about that many bytes: a title and a list
// of items of some 280 bytes, or of 80 bytes if small.
func items(size int, small bool) []byte {
	var b strings.Builder
	b.WriteString(`{"title":"A list of things","version":7,"items":[`)
	for i := 0; b.Len() < size-100; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		if small {
			fmt.Fprintf(&b, `{"id":"item-%d","name":"thing number %d","at":{"x":%d,"y":2.5}}`, i, i, i*17)
			continue
		}
		fmt.Fprintf(&b, `{"id":"item-%d","name":"thing number %d","text":"a sentence of about seventy bytes, as one finds it in a document %d",`+
			`"tags":["red","green","b%d"],"done":%v,"price":%d.25,"at":{"x":%d,"y":2.5},"note":null,"more":{"by":"somebody","when":"2026-01-02T03:04:05Z"}}`,
			i, i, i, i%7, i%3 == 0, i, i*17)
	}
	b.WriteString(`],"end":true}`)
	return []byte(b.String())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// deep is a patch that replaces one value deep in the document.
func deep(text []byte) (v doc.Value, p doc.Patch) {
	v, err := doc.Parse(text, nil)
	check(err)
	list, _ := v.Get("items")
	path := doc.Path("items").Index(list.Len() / 2).Child("at").Child("x")
	return v, doc.Patch{{Op: "replace", Path: path, Value: doc.Int(-1)}}
}

func apply(w io.Writer) {
	text := items(100_000, false)
	v, p := deep(text)
	theirs, err := evanphx.DecodePatch(p.AppendJSON(nil))
	check(err)
	var tree map[string]any
	check(json.Unmarshal(text, &tree))

	live := func() {
		_, err := p.Apply(v, nil)
		check(err)
	}
	best := rounds.Best(
		live,
		func() {
			_, err := theirs.Apply(text)
			check(err)
		},
		func() {
			data, err := json.Marshal(tree)
			check(err)
			data, err = theirs.Apply(data)
			check(err)
			var next map[string]any
			check(json.Unmarshal(data, &next))
		},
		func() {
			_, err := p.ApplyBytes(text, nil)
			check(err)
		},
	)
	rounds.Line(w, "jsondoc-replace-live-100KB", rounds.Ratio(best[1], best[0]), "x-faster", "evanphx-v5-bytes")
	rounds.Line(w, "jsondoc-replace-live-100KB", rounds.Ratio(best[2], best[0]), "x-faster", "marshal-evanphx-v5-unmarshal")
	rounds.Line(w, "jsondoc-replace-bytes-100KB", rounds.Ratio(best[1], best[3]), "x-faster", "evanphx-v5-bytes")
	rounds.Line(w, "jsondoc-replace-live-100KB-allocs", testing.AllocsPerRun(100, live), "allocations", "none")
}

func applyBySize(w io.Writer) {
	shapes := []string{"items-of-280B", "items-of-80B"}
	var fs []func()
	for _, shape := range shapes {
		for _, size := range []int{1_000, 1_000_000} {
			v, p := deep(items(size, shape == "items-of-80B"))
			fs = append(fs, func() {
				_, err := p.Apply(v, nil)
				check(err)
			})
		}
	}
	best := rounds.Best(fs...)
	for i, shape := range shapes {
		rounds.Line(w, "jsondoc-replace-live-1MB-"+shape, rounds.Ratio(best[2*i+1], best[2*i]), "x-time", "the-same-at-1KB")
		rounds.Line(w, "jsondoc-replace-live-1MB-"+shape+"-allocs", testing.AllocsPerRun(100, fs[2*i+1]), "allocations", "none")
	}
}

func diff(w io.Writer) {
	text := items(100_000, false)
	a, p := deep(text)
	shared, err := p.Apply(a, nil)
	check(err)
	list, _ := a.Get("items")
	many := a
	for i := range 100 {
		at := doc.Path("items").Index(i * list.Len() / 100).Child("name")
		many, err = many.SetAt(at, doc.String(fmt.Sprint("changed ", i)))
		check(err)
	}
	apart := func(v doc.Value) (doc.Value, any, []byte) {
		data := v.AppendJSON(nil)
		v, err := doc.Parse(data, nil)
		check(err)
		var tree any
		check(json.Unmarshal(data, &tree))
		return v, tree, data
	}
	_, aTree, aText := apart(a)
	one, oneTree, oneText := apart(shared)
	hundred, hundredTree, _ := apart(many)
	theirs := func(b any, opts ...jsondiff.Option) func() {
		return func() {
			_, err := jsondiff.CompareWithoutMarshal(aTree, b, opts...)
			check(err)
		}
	}
	best := rounds.Best(
		func() { doc.Diff(a, shared, nil) },
		func() { doc.Diff(a, one, nil) },
		theirs(oneTree),
		func() { doc.Diff(a, hundred, nil) },
		theirs(hundredTree),
		func() {
			x, err := doc.Parse(aText, nil)
			check(err)
			y, err := doc.Parse(oneText, nil)
			check(err)
			doc.Diff(x, y, nil)
		},
		func() {
			_, err := jsondiff.CompareJSON(aText, oneText)
			check(err)
		},
		func() {
			y, err := doc.Parse(oneText, &doc.ParseOptions{Like: a})
			check(err)
			doc.Diff(a, y, nil)
		},
	)
	const values, bytes = "wI2L-jsondiff-values", "wI2L-jsondiff-bytes"
	rounds.Line(w, "jsondoc-diff-shared-100KB", rounds.Ratio(best[2], best[0]), "x-faster", values)
	rounds.Line(w, "jsondoc-diff-apart-1-change", rounds.Ratio(best[1], best[2]), "x-time", values)
	rounds.Line(w, "jsondoc-diff-apart-100-changes", rounds.Ratio(best[3], best[4]), "x-time", values)
	rounds.Line(w, "jsondoc-diff-bytes", rounds.Ratio(best[5], best[6]), "x-time", bytes)
	rounds.Line(w, "jsondoc-diff-bytes-like-the-old", rounds.Ratio(best[7], best[6]), "x-time", bytes)

	lcs, err := jsondiff.CompareWithoutMarshal(aTree, hundredTree, jsondiff.LCS())
	check(err)
	rounds.Line(w, "jsondoc-diff-100-changes-operations", float64(len(doc.Diff(a, hundred, nil)))/float64(len(lcs)), "x-operations", "wI2L-jsondiff-LCS")
}

func parse(w io.Writer) {
	for _, size := range []int{1_000, 100_000} {
		text := items(size, false)
		v, err := doc.Parse(text, nil)
		check(err)
		var tree any
		check(json.Unmarshal(text, &tree))
		var buf []byte
		best := rounds.Best(
			func() {
				_, err := doc.Parse(text, nil)
				check(err)
			},
			func() {
				var x any
				check(json.Unmarshal(text, &x))
			},
			func() { buf = v.AppendJSON(buf[:0]) },
			func() {
				_, err := json.Marshal(tree)
				check(err)
			},
		)
		name := fmt.Sprintf("%dKB", size/1000)
		rounds.Line(w, "jsondoc-parse-"+name, rounds.Ratio(best[1], best[0]), "x-faster", "json.Unmarshal-into-any")
		rounds.Line(w, "jsondoc-append-"+name, rounds.Ratio(best[3], best[2]), "x-faster", "json.Marshal-of-any")
	}
}
