package jsonstream

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// Public bug reports of this job, restated. Each test is named after the report
// and states what is right.

// documentView is a document with one field that a tool predicts.
func documentView() (jsondoc.Value, []Target) {
	return jsondoc.MustParse(`{"document":"old"}`), []Target{{Argument: "/document", Path: "/document"}}
}

// R2 (cacheplane/threadplane#653): each fragment was parsed by itself, so only
// arguments in one piece worked.
func TestFieldBugR2FragmentsBelongTogether(t *testing.T) {
	const text = `{"location":"Oslo","days":[1,2,3],"unit":{"temp":"C"}}`
	want := mustParse(t, text)
	for _, size := range []int{1, 2, 3, 7, len(text)} {
		view := jsondoc.Object()
		f := feed(t, NewPredictor(view, []Target{{Path: "/args"}}, nil), view, text, size, 40, nil)
		if got, _ := f.view.At("/args"); f.err != nil || !sameText(got, want) || !sameText(f.args, want) {
			t.Errorf("pieces of %d: %s, %v", size, f.view, f.err)
		}
	}
	view := jsondoc.Object()
	got, _ := seconds(t, view, []Target{{Argument: "/location", Path: "/location"}}, `{"loca`, `tion":"Oslo"`, `}`)
	if got != lines("-", `add /location = "Oslo"`, "-") {
		t.Error(got)
	}
}

// R3 (assistant-ui/assistant-ui#6355, vercel/ai#15866, pydantic/jiter#207): a cut
// within an escape made the value vanish.
func TestFieldBugR3CutInEscape(t *testing.T) {
	for _, text := range []string{`{"a":"x\`, `{"a":"x\u`, `{"a":"x\uD8`, `{"a":"x\uD83D`, `{"a":"x\uD83D\`, `{"a":"x\uD83D\uDE0`} {
		p := NewParser(nil)
		for _, c := range []byte(text) {
			p.Feed(string(c))
		}
		if v, _ := p.Value(); v.String() != `{"a":"x"}` {
			t.Errorf("%s shows %s", text, v)
		}
	}
	// Every prefix of a document that is escaped down to ASCII.
	const text = `{"emoji":"\ud83e\udd55 \u7ca5 caf\u00e9","\u7ca5":["\ud83d\ude00","\\\"\/\n"]}`
	final := mustParse(t, text)
	var last jsondoc.Value
	p := NewParser(nil)
	for i := range len(text) {
		p.Feed(text[i : i+1])
		v, _ := p.Value()
		if s := prefixOf(v, final); s != "" {
			t.Fatalf("behind %s: %s", text[:i+1], s)
		}
		if s := prefixOf(last, v); s != "" {
			t.Fatalf("behind %s, taken back: %s", text[:i+1], s)
		}
		last = v
	}
}

// R4 (ggml-org/llama.cpp#16526, vllm-project/vllm#53739): half of a surrogate pair,
// or of a character in UTF-8, came out as U+FFFD.
func TestFieldBugR4SplitCharacters(t *testing.T) {
	for _, pieces := range [][]string{
		{`{"document":"a\uD83D`, `\uDE00b"}`},
		{`{"document":"a\uD83D\uDE`, `00b"}`},
		{"{\"document\":\"a\xf0", "\x9f\x98\x80b\"}"},
		{"{\"document\":\"a\xf0\x9f", "\x98", "\x80b\"}"},
	} {
		view, targets := documentView()
		p := NewPredictor(view, targets, nil)
		now := time.Time{}
		f := fed{view: view}
		for i, piece := range pieces {
			now = now.Add(time.Second)
			f.apply(t, p.Feed(now, piece))
			got, _ := f.view.Get("document")
			want := "a"
			if i == len(pieces)-1 {
				want = "a😀b"
			}
			if got.Str() != want || !utf8.ValidString(f.view.String()) || strings.ContainsRune(f.view.String(), utf8.RuneError) {
				t.Errorf("%q, behind piece %d: %s", pieces, i, f.view)
			}
		}
	}
}

// R5 (assistant-ui/assistant-ui#5524): a lone minus as an array's first item made
// all arguments collapse.
func TestFieldBugR5LoneMinus(t *testing.T) {
	for text, want := range map[string]string{
		`{"x":"kept","a":[-`:   `{"x":"kept","a":[]}`,
		`{"x":"kept","a":[[-`:  `{"x":"kept","a":[[]]}`,
		`{"x":"kept","a":[1,-`: `{"x":"kept","a":[1]}`,
		`{"x":"kept","a":-`:    `{"x":"kept"}`,
	} {
		p := NewParser(nil)
		p.Feed(text)
		if v, _ := p.Value(); v.String() != want || p.Err() != nil {
			t.Errorf("%s shows %s, %v", text, v, p.Err())
		}
	}
}

// R6 (pydantic/jiter#146, BoundaryML/baml#403, josdejong/jsonrepair#91): a number
// showed, vanished and showed again as it was written; half of it counted.
func TestFieldBugR6NumbersShowWhole(t *testing.T) {
	for text, number := range map[string]string{`{"price":-12.50e+3}`: "-12.50e+3", `{"price":1.0 }`: "1.0", `{"price":123}`: "123", `{"price":0}`: "0", `{"price":1E-2}`: "1E-2"} {
		p := NewParser(nil)
		for i := range len(text) {
			p.Feed(text[i : i+1])
			v, _ := p.Value()
			got, there := v.Get("price")
			if ended := i > len(`{"price":`+number)-1; there != ended || there && got.NumberText() != number {
				t.Errorf("behind %s: %s", text[:i+1], v)
			}
		}
	}
}

// R9 (earendil-works/pi#5964): truncated arguments that a lenient parser completed
// were executed.
func TestFieldBugR9TruncatedIsAnError(t *testing.T) {
	view := jsondoc.Object()
	f := feed(t, NewPredictor(view, []Target{{Path: "/call"}}, nil), view, `{"path":"/data/a","mode":"del`, 4, 40, nil)
	if e, _ := f.err.(*Error); e == nil || e.Kind != Truncated || !f.args.IsAbsent() {
		t.Errorf("%s, %v", f.args, f.err)
	}
}

// R10 (charmbracelet/fantasy#289): the first text that was valid counted as all of
// it, though more came.
func TestFieldBugR10TheEndIsTheEnd(t *testing.T) {
	for _, tt := range []struct {
		pieces []string
		want   string
	}{
		{[]string{`{}`, ` `, `{"a":1}`}, `{"a":1}`},
		{[]string{`{"a":1}`, ` `}, `{"a":1}`},
		{[]string{`{"a":1}`, "\n", ""}, `{"a":1}`},
		{[]string{`1`, `2`}, `12`},
		{[]string{`[1]`, `,`}, ""},
		{[]string{`{"a":1}`, `{"a":2}`}, ""},
	} {
		p := NewPredictor(jsondoc.Object(), []Target{{Path: "/x"}}, nil)
		view := fed{view: jsondoc.Object()}
		now := time.Time{}
		for _, piece := range tt.pieces {
			now = now.Add(time.Second)
			view.apply(t, p.Feed(now, piece))
		}
		patch, args, err := p.End(now)
		view.apply(t, patch)
		if tt.want == "" {
			if err == nil {
				t.Errorf("%q is %s", tt.pieces, args)
			}
			continue
		}
		if got, _ := view.view.Get("x"); err != nil || args.String() != tt.want || got.String() != tt.want {
			t.Errorf("%q: %s, %v, shown %s", tt.pieces, args, err, view.view)
		}
	}
}

// R13 (ag-ui-protocol/ag-ui#1016): the arguments of two calls at the same time got
// mixed up. Each call has a predictor of its own; their patches mix as they come.
func TestFieldBugR13ParallelCalls(t *testing.T) {
	view := fed{view: mustParse(t, `{"sum":{},"difference":{"a":0}}`)}
	add := NewPredictor(view.view, []Target{{Path: "/sum"}}, nil)
	sub := NewPredictor(view.view, []Target{{Path: "/difference"}}, nil)
	now := time.Time{}
	a, b := cut(`{"a":1,"b":2,"note":"first and more"}`, 3), cut(`{"a":5,"b":3,"note":"second and more"}`, 3)
	for i := range max(len(a), len(b)) {
		now = now.Add(10 * time.Millisecond)
		if i < len(a) {
			view.apply(t, add.Feed(now, a[i]))
		}
		if i < len(b) {
			view.apply(t, sub.Feed(now, b[i]))
		}
	}
	for _, p := range []*Predictor{add, sub} {
		patch, _, err := p.End(now)
		if err != nil {
			t.Fatal(err)
		}
		view.apply(t, patch)
	}
	want := `{"sum":{"a":1,"b":2,"note":"first and more"},"difference":{"a":5,"b":3,"note":"second and more"}}`
	if view.view.String() != want {
		t.Errorf("%s", view.view)
	}
}

// R15 (ag-ui-protocol/ag-ui#2245, cubeplexai/cubeloop#108): arguments came in one
// piece, or with an empty one at the end.
func TestFieldBugR15AnyNumberOfPieces(t *testing.T) {
	for _, pieces := range [][]string{{`{"document":"all of it"}`}, {"", `{"document":"all of it"}`, "", ""}, {`{"document":"all`, "", ` of it"}`, ""}} {
		view, targets := documentView()
		_, got := seconds(t, view, targets, pieces...)
		if got.String() != `{"document":"all of it"}` {
			t.Errorf("%q: %s", pieces, got)
		}
	}
}

// M17 (agno-agi/agent-ui#151): repeated fragments were taken for the same text sent
// again, and eaten.
func TestFieldBugM17RepeatedFragments(t *testing.T) {
	view, targets := documentView()
	got, end := seconds(t, view, targets, `{"document":"`, `na`, ` na`, ` na`, `na`, `na`, `"}`)
	want := lines("-", `replace /document = "na"`, `replace /document = "na na"`, `replace /document = "na na na"`,
		`replace /document = "na na nana"`, `replace /document = "na na nanana"`, "-")
	if got != want || end.String() != `{"document":"na na nanana"}` {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// F2 (assistant-ui/assistant-ui#7149): each fragment made the arguments be parsed
// from the start. 500 KB in pieces of one byte are read in one go, and the patches
// are proportional to the text.
func TestFieldBugF2OneByteAtATime(t *testing.T) {
	size := 500_000
	if underRace {
		size = 50_000
	}
	for _, text := range []string{
		`{"document":"` + strings.Repeat("x", size) + `"}`,
		`{"document":{"a":{"b":["` + strings.Repeat(`word","`, size/7) + `"]}}}`,
	} {
		view, targets := documentView()
		start := time.Now()
		f := feed(t, NewPredictor(view, targets, nil), view, text, 1, 0, nil)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%v for %d bytes", took, len(text))
		}
		if f.err != nil || f.bytes > 12*len(text) {
			t.Errorf("%d bytes of patches for %d of arguments, %v", f.bytes, len(text), f.err)
		}
	}
	// At the speed of a model, which is when patches are many.
	view, targets := documentView()
	text := `{"document":"` + strings.Repeat("x", 20_000) + `"}`
	start := time.Now()
	feed(t, NewPredictor(view, targets, nil), view, text, 1, 400, nil)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("%v", took)
	}
}

// Linear time: twice the text takes about twice as long, for every shape that
// could tempt a reader to look back.
func TestLinear(t *testing.T) {
	if testing.Short() || underRace {
		t.Skip("measures time")
	}
	for _, s := range shapes {
		cost := func(size int) time.Duration {
			pieces := cut(s.text(size), 4)
			best := time.Hour
			for range 3 {
				view := jsondoc.Object()
				p := NewPredictor(view, []Target{{Path: "/x"}}, nil)
				start := time.Now()
				for _, piece := range pieces {
					p.Feed(time.Time{}, piece)
				}
				if _, _, err := p.End(time.Time{}); err != nil {
					t.Fatal(err)
				}
				best = min(best, time.Since(start))
			}
			return best
		}
		small, large := cost(8<<10), cost(128<<10)
		// 16 times the text: quadratic would be 256 times the time. The rest is
		// for noise, and for memory that no longer fits into a cache.
		if large > 128*small {
			t.Errorf("%s: %v for 8 KB, %v for 128 KB", s.name, small, large)
		}
		t.Logf("%-20s %8v for 8 KB, %8v for 128 KB, %.1f ns/byte", s.name, small, large, float64(large)/(128<<10))
	}
}
