package jsonstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// shape makes the text of arguments of at least size bytes.
type shape struct {
	name string
	text func(size int) string
}

const lorem = "Wash the carrots, cut them into pieces of a thumb's width and salt them. "

// shapes is the family over which the byte bounds are checked.
var shapes = []shape{
	{"recipe", recipe},
	{"leaves", func(size int) string { // documents of 70-byte leaves
		return object(size, func(i int) string {
			return fmt.Sprintf(`"section%d":%q`, i, (lorem + lorem)[i%70:][:70])
		})
	}},
	{"small ints", func(size int) string {
		return array(size, func(i int) string { return fmt.Sprint(i % 10) })
	}},
	{"ints", func(size int) string {
		return array(size, func(i int) string { return fmt.Sprint(i * 7919 % 100000) })
	}},
	{"short keys", func(size int) string {
		return object(size, func(i int) string { return fmt.Sprintf(`"%x":%d`, i, i%10) })
	}},
	{"long keys", func(size int) string {
		return object(size, func(i int) string {
			return fmt.Sprintf(`"%s%d":%d`, strings.Repeat("a long member name ", 5), i, i%10)
		})
	}},
	{"deep paths", deepPaths},
	{"deep arrays", func(size int) string {
		return strings.Repeat("[", min(size/3, 250)) + array(size, func(i int) string { return "1" }) + strings.Repeat("]", min(size/3, 250))
	}},
	{"long string", func(size int) string {
		return `"` + strings.Repeat(lorem, size/len(lorem)+1)[:size] + `"`
	}},
	{"long strings", func(size int) string {
		return array(size, func(i int) string { return `"` + strings.Repeat(lorem, 15)[:900+i%100] + `"` })
	}},
	{"short strings", func(size int) string {
		return array(size, func(i int) string { return fmt.Sprintf(`"%c"`, 'a'+i%26) })
	}},
	{"empty strings", func(size int) string {
		return array(size, func(int) string { return `""` })
	}},
	{"empty objects", func(size int) string {
		return array(size, func(int) string { return `{}` })
	}},
	{"matrix", func(size int) string {
		return array(size, func(i int) string { return fmt.Sprintf("[%d,%d,0]", i%10, i%7) })
	}},
	{"rows", func(size int) string {
		return array(size, func(i int) string { return fmt.Sprintf(`{"id":%d,"ok":true,"n":null}`, i) })
	}},
	{"escapes", func(size int) string {
		return array(size, func(i int) string { return `"` + strings.Repeat(`\u00e9\n\ud83d\ude00\u0001\/`, 1+i%20) + `"` })
	}},
	{"control characters", func(size int) string {
		return `"` + strings.Repeat(`\b\f\t`, size/6+1) + `"`
	}},
	{"runes", func(size int) string {
		return array(size, func(i int) string { return `"` + strings.Repeat("粥🥕é", 1+i%40) + `"` })
	}},
	{"pretty", func(size int) string {
		var b bytes.Buffer
		json.Indent(&b, []byte(recipe(size*2/3)), "", "    ")
		return b.String()
	}},
	{"keys with slashes", func(size int) string {
		return object(size, func(i int) string { return fmt.Sprintf(`"/~%d\"~":{"~/":%d}`, i, i) })
	}},
}

func array(size int, item func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < size-1; i++ {
		b.WriteByte(",["[btoi(i == 0)])
		b.WriteString(item(i))
	}
	return b.String() + "]"
}

func object(size int, member func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < size-1; i++ {
		b.WriteByte(",{"[btoi(i == 0)])
		b.WriteString(member(i))
	}
	return b.String() + "}"
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func recipe(size int) string {
	ingredients := array(size/3, func(i int) string {
		return fmt.Sprintf(`{"icon":"🥕","name":"%s","amount":"%d g"}`, []string{"Carrots", "Plain flour", "Salt", "Olive oil"}[i%4], i*50%900)
	})
	instructions := array(size*2/3, func(i int) string {
		return fmt.Sprintf(`"%s"`, (lorem + lorem + lorem)[i%60:][:50+i*13%90])
	})
	return `{"title":"Carrot cake","skill_level":"Intermediate","cooking_time":"45 min","special_preferences":["Vegetarian","Low Carb"],"ingredients":` +
		ingredients + `,"instructions":` + instructions + `}`
}

// deepPaths has its leaves below long chains of members.
func deepPaths(size int) string {
	return array(size, func(i int) string {
		var b strings.Builder
		for d := range 12 {
			fmt.Fprintf(&b, `{"level%d":`, d)
		}
		fmt.Fprintf(&b, `{"a":%d,"b":%d}`, i%10, i%7)
		return b.String() + strings.Repeat("}", 12)
	})
}

// fed is what came of feeding a text to a predictor.
type fed struct {
	text   string
	view   jsondoc.Value
	bytes  int // of all patches
	frames int
	args   jsondoc.Value
	err    error
	took   time.Duration // of the fake clock
}

// feed feeds text in pieces of cut bytes, at bytesPerSecond, or all at one
// instant for 0, and applies every patch strictly. each, if there is one, sees
// the view after each piece.
func feed(t testing.TB, p *Predictor, view jsondoc.Value, text string, cut, bytesPerSecond int, each func(view jsondoc.Value)) fed {
	t.Helper()
	f := fed{text: text, view: view}
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	if cut <= 0 {
		cut = len(text)
	}
	for i := 0; i < len(text); i += cut {
		if bytesPerSecond > 0 {
			f.took = time.Duration(i) * time.Second / time.Duration(bytesPerSecond)
		}
		f.apply(t, p.Feed(start.Add(f.took), text[i:min(i+cut, len(text))]))
		if each != nil {
			each(f.view)
		}
	}
	patch, args, err := p.End(start.Add(f.took))
	f.apply(t, patch)
	f.args, f.err = args, err
	return f
}

func (f *fed) apply(t testing.TB, patch jsondoc.Patch) {
	t.Helper()
	if patch == nil {
		return
	}
	if len(patch) == 0 {
		t.Fatal("an empty patch was sent; nil says that there is nothing")
	}
	view, err := patch.Apply(f.view, &jsondoc.ApplyOptions{ClientRules: true})
	if err != nil {
		t.Fatalf("a patch does not apply: %v\npatch: %.300s\nview: %.300s", err, patch, f.view)
	}
	f.view = view
	f.bytes += len(patch.AppendJSON(nil))
	f.frames++
}
