// Package jsonstream measures reading and predicting of JSON that comes in small
// pieces: against one encoding/json.Unmarshal of the whole text, which is the
// least that a reader without prediction has to do, and in bytes on the wire
// against the bytes of the text.
package jsonstream

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/bench/rounds"
	doc "github.com/lockstep-go/lockstep/jsondoc"
	stream "github.com/lockstep-go/lockstep/jsonstream"
)

// Run measures and prints one line for each figure. It takes about a quarter of a
// minute.
func Run(w io.Writer) {
	speed(w)
	bytes(w)
}

var sizes = []struct {
	name  string
	bytes int
}{{"2KB", 2 << 10}, {"32KB", 32 << 10}, {"256KB", 256 << 10}}

// chunk is about a token.
const chunk = 4

func speed(w io.Writer) {
	for _, shape := range []struct {
		name string
		text func(int) string
	}{{"leaves", leaves}, {"recipe", recipe}, {"ints", ints}} {
		var perByte [3]float64
		for i, size := range sizes {
			text := shape.text(size.bytes)
			whole := []byte(text)
			pieces := cut(text, chunk)
			best := rounds.Best(
				func() { parse(pieces, nil) },
				func() { parse(pieces, &stream.ParserOptions{Watch: []doc.Pointer{""}}) },
				func() { predict(pieces, time.Time{}, 0) },
				func() {
					var v any
					check(json.Unmarshal(whole, &v))
				},
			)
			line := func(what string, d time.Duration) {
				rounds.Line(w, fmt.Sprintf("jsonstream/%s/%s/%s", what, shape.name, size.name), rounds.Ratio(d, best[3]), "x time", "encoding/json.Unmarshal of the whole text")
			}
			line("parse-4-byte-chunks", best[0])
			line("parse-and-report-edits", best[1])
			line("predict-in-a-burst", best[2])
			perByte[i] = float64(best[0]) / float64(len(text))
		}
		rounds.Line(w, "jsonstream/linear/"+shape.name, perByte[2]/perByte[0], "x time per byte", "2KB text")
	}
	// What parsing again from the start for each chunk costs, for the smaller sizes.
	for _, size := range sizes[:2] {
		text := leaves(size.bytes)
		pieces := cut(text, chunk)
		best := rounds.Best(func() { parse(pieces, nil) })
		start, n := time.Now(), 0
		const step = 16 // one prefix of 16 is measured
		for i := 0; i < len(pieces); i += step {
			p := stream.NewParser(nil)
			p.Feed(text[:min((i+1)*chunk, len(text))])
			p.Value()
			n++
		}
		again := time.Since(start) * step
		rounds.Line(w, "jsonstream/incremental/"+size.name, rounds.Ratio(again, best[0]), "x faster", "parsing all again for each chunk")
	}
}

// bytes prints what patches cost on the wire, all at one instant and at the speed
// of a model. The peer is the text itself; deltas have at most 12 times its bytes,
// recipes and documents of 70-byte leaves at most 5 times.
func bytes(w io.Writer) {
	for _, shape := range []struct {
		name string
		text func(int) string
	}{{"recipe", recipe}, {"leaves", leaves}, {"ints", ints}, {"long-string", longString}} {
		for _, size := range sizes {
			pieces := cut(shape.text(size.bytes), chunk)
			name := func(how string) string {
				return fmt.Sprintf("jsonstream/delta-bytes/%s/%s/%s", how, shape.name, size.name)
			}
			n, frames := predict(pieces, time.Time{}, 0)
			rounds.Line(w, name("burst"), float64(n)/float64(length(pieces)), fmt.Sprintf("x bytes in %d deltas", frames), "the arguments' bytes")
			if size.bytes > 32<<10 {
				continue
			}
			n, frames = predict(pieces, time.Time{}, time.Second*chunk/400)
			rounds.Line(w, name("400-bytes-per-second"), float64(n)/float64(length(pieces)), fmt.Sprintf("x bytes in %d deltas", frames), "the arguments' bytes")
		}
	}
}

func parse(pieces []string, opts *stream.ParserOptions) {
	p := stream.NewParser(opts)
	for _, piece := range pieces {
		p.Feed(piece)
	}
	_, err := p.End()
	check(err)
}

// predict feeds pieces, pause apart, and returns the bytes of the patches and how
// many they are.
func predict(pieces []string, now time.Time, pause time.Duration) (n, patches int) {
	p := stream.NewPredictor(doc.Object(), []stream.Target{{Path: "/recipe"}}, nil)
	add := func(patch doc.Patch) {
		if patch != nil {
			n += len(patch.AppendJSON(nil))
			patches++
		}
	}
	for _, piece := range pieces {
		now = now.Add(pause)
		add(p.Feed(now, piece))
	}
	patch, _, err := p.End(now)
	check(err)
	add(patch)
	return n, patches
}

func cut(text string, size int) []string {
	var out []string
	for i := 0; i < len(text); i += size {
		out = append(out, text[i:min(i+size, len(text))])
	}
	return out
}

func length(pieces []string) int {
	n := 0
	for _, p := range pieces {
		n += len(p)
	}
	return n
}

const sentence = "Wash the carrots, cut them into pieces of a thumb's width and salt them. "

// leaves is a document of 70-byte strings.
func leaves(size int) string {
	return list(size, "{", "}", func(i int) string {
		return fmt.Sprintf(`"section%d":%q`, i, (sentence + sentence)[i%70:][:70])
	})
}

func recipe(size int) string {
	return `{"title":"Carrot cake","skill_level":"Intermediate","cooking_time":"45 min","special_preferences":["Vegetarian"],"ingredients":` +
		list(size/3, "[", "]", func(i int) string {
			return fmt.Sprintf(`{"icon":"🥕","name":"Ingredient %d","amount":"%d g"}`, i, i*50%900)
		}) + `,"instructions":` +
		list(size*2/3, "[", "]", func(i int) string { return `"` + (sentence + sentence)[i%60:][:50+i*13%40] + `"` }) + `}`
}

func ints(size int) string {
	return list(size, "[", "]", func(i int) string { return fmt.Sprint(i * 7919 % 1000) })
}

func longString(size int) string {
	return `"` + strings.Repeat(sentence, size/len(sentence)+1)[:size] + `"`
}

func list(size int, open, end string, item func(i int) string) string {
	var b strings.Builder
	b.WriteString(open)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(item(i))
	}
	return b.String() + end
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
