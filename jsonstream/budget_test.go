package jsonstream

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// S5: bytes are bounded over the whole family of shapes, cuts and speeds. In a
// burst the patches, with what is sent around them, have at most 12 times the
// bytes of the arguments; over time at most 64 KiB more for each second.
func TestS5ByteBounds(t *testing.T) {
	sizes := []int{500, 8 << 10}
	if underRace {
		sizes = []int{500, 2 << 10}
	}
	if long() {
		sizes = []int{500, 2 << 10, 32 << 10, 256 << 10}
	}
	view := mustParse(t, `{"old":1}`)
	for _, s := range shapes {
		for _, size := range sizes {
			text := s.text(size)
			for _, cut := range []int{1, 4, 64, 0} {
				for _, speed := range []int{0, 400, 4000} {
					if slow := speed > 0 && size > 500; slow && (speed == 400 || cut != 4) && (!long() || size > 32<<10) {
						continue
					}
					for _, tt := range []struct {
						text    string
						targets []Target
					}{
						{text, []Target{{Argument: "", Path: "/recipe"}}},
						{`{"args":` + text + `}`, []Target{{Argument: "/args", Path: "/a/field", Whole: true}}},
						{`{"args":{"inner":` + text + `}}`, []Target{{Argument: "/args", Path: "/old", Keep: true}}},
					} {
						f := feed(t, NewPredictor(view, tt.targets, nil), view, tt.text, cut, speed, nil)
						if f.err != nil {
							t.Fatalf("%s: %v", s.name, f.err)
						}
						want, _ := f.args.At(tt.targets[0].Argument)
						got, _ := f.view.At(tt.targets[0].Path)
						if !sameText(got, want) {
							t.Fatalf("%s: ends as %.200s", s.name, got)
						}
						what := fmt.Sprintf("%s of %d bytes in pieces of %d at %d bytes/s (whole: %v)", s.name, len(tt.text), cut, speed, tt.targets[0].Whole)
						bytes := f.bytes + f.frames*defaultAround
						if most := 12*len(tt.text) + int(f.took.Seconds()*defaultRate); bytes > most {
							t.Errorf("%s: %d bytes, more than %d", what, bytes, most)
						}
						if speed > 0 || tt.targets[0].Whole || cut != 4 || s.name != "recipe" && s.name != "leaves" {
							continue
						}
						if f.bytes > 5*len(tt.text) {
							t.Errorf("%s: %d bytes, more than 5 times", what, f.bytes)
						}
					}
				}
			}
		}
	}
}

// The bounds of the reference figures, for documents of 70-byte leaves and for
// one long string: 16 chunks of 4 bytes together at most 5 times, the long string
// at most 12 times.
func TestS5ReferenceFigures(t *testing.T) {
	view := jsondoc.Object()
	for _, size := range []int{2 << 10, 32 << 10, 256 << 10} {
		for _, tt := range []struct {
			shape string
			cut   int
			most  int
		}{{"leaves", 64, 5}, {"leaves", 4, 5}, {"recipe", 4, 5}, {"long string", 4, 12}} {
			for _, s := range shapes {
				if s.name != tt.shape {
					continue
				}
				text := s.text(size)
				f := feed(t, NewPredictor(view, []Target{{Path: "/x"}}, nil), view, text, tt.cut, 0, nil)
				if f.bytes > tt.most*len(text) {
					t.Errorf("%s of %d bytes in pieces of %d: %d bytes of patches", tt.shape, len(text), tt.cut, f.bytes)
				}
				t.Logf("%-12s %7d bytes in pieces of %2d: %.2f times the bytes in %d patches", tt.shape, len(text), tt.cut, float64(f.bytes)/float64(len(text)), f.frames)
			}
		}
	}
}

// S5: a change goes out with its chunk at the speed at which models write: after
// each piece the view is all that is known. Only the first piece comes when no
// time has passed, and may be too small to pay for a patch.
func TestS5LiveTypingShowsEachStep(t *testing.T) {
	view := mustParse(t, `{"x":{"kept":1}}`)
	for _, s := range shapes {
		for _, keep := range []bool{false, true} {
			text := s.text(1000)
			p := NewPredictor(view, []Target{{Path: "/x", Keep: keep}}, nil)
			steps := 0
			feed(t, p, view, text, 3, 50, func(view jsondoc.Value) {
				known, ok := p.Value(0)
				if !ok {
					return
				}
				if steps++; steps == 1 {
					return
				}
				if shown, _ := view.At("/x"); !sameText(shown, known) {
					t.Fatalf("%s: %.300s is shown, %.300s is known", s.name, shown, known)
				}
			})
			if steps < len(text)/3-2 {
				t.Errorf("%s: something was known after %d of %d pieces", s.name, steps, len(text)/3)
			}
		}
	}
}

// S5: what was held back goes with the first piece that the rules allow.
func TestS5HeldBack(t *testing.T) {
	const doc = "/doc"
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	after := func(d time.Duration) time.Time { return start.Add(d) }
	view := jsondoc.Object()
	p := NewPredictor(view, []Target{{Argument: "/text", Path: doc}}, nil)
	f := fed{view: view}
	shown := func() int {
		v, _ := f.view.At(doc)
		return len(v.Str())
	}
	grow := func(at time.Time, n int) {
		b := make([]byte, n)
		for i := range b {
			b[i] = 'a' + byte(i%26)
		}
		f.apply(t, p.Feed(at, string(b)))
	}

	// A long burst is shown as it grows by an eighth, not piece by piece.
	f.apply(t, p.Feed(start, `{"text":"`))
	for range 5000 {
		grow(start, 4)
	}
	v, _ := p.Value(0)
	if have := shown(); have < len(v.Str())*8/9-200 || have == len(v.Str()) {
		t.Errorf("a burst of %d bytes shows %d", len(v.Str()), have)
	}
	if f.frames > 60 {
		t.Errorf("%d patches for a burst that is a long string", f.frames)
	}
	// After a second all of it goes out, with the next piece: there are no timers.
	grow(after(time.Second), 1)
	if shown() != 20001 {
		t.Errorf("%d bytes are shown after a second", shown())
	}
	// That took a third of what the rate allows a second.
	frames := f.frames
	for i := range 100 {
		grow(after(time.Second+time.Duration(i)*10*time.Millisecond), 4)
	}
	if n := f.frames - frames; n < 3 || n > 5 {
		t.Errorf("%d patches of 20 KB in a second, at 64 KiB a second", n)
	}
	// The end of the value is always shown, and at once.
	f.apply(t, p.Feed(after(2*time.Second), `"`))
	if shown() != 20401 {
		t.Errorf("%d bytes are shown at the end of the string", shown())
	}
}

// Twenty frames a second at most for what is sent again, once the first second's
// worth is used up; single operations that add are not held back by that.
func TestS5FramesPerSecond(t *testing.T) {
	view := jsondoc.Object()
	word := fed{view: view}
	p := NewPredictor(view, []Target{{Path: "/s"}}, nil)
	start := time.Time{}
	word.apply(t, p.Feed(start, `"`))
	for i := range 2000 { // 200 pieces a second
		word.apply(t, p.Feed(start.Add(time.Duration(i)*5*time.Millisecond), "x"))
	}
	eighths := 60
	if word.frames < 200 || word.frames > 20+200+eighths {
		t.Errorf("%d patches in ten seconds for a string", word.frames)
	}

	list := fed{view: view}
	p = NewPredictor(view, []Target{{Path: "/l"}}, nil)
	list.apply(t, p.Feed(start, `[`))
	for i := range 2000 {
		list.apply(t, p.Feed(start.Add(time.Duration(i)*5*time.Millisecond), `{"a":1},`))
	}
	if list.frames < 1990 {
		t.Errorf("%d patches in ten seconds for 2000 items", list.frames)
	}
}

// What the budget counts is what is sent.
func TestCostIsExact(t *testing.T) {
	view := mustParse(t, `{"old":{"a":{"b":1},"c":[1],"~":2}}`)
	for _, s := range shapes {
		for _, target := range []Target{{Path: "/old"}, {Path: "/new"}, {Path: "/a/b~1\"/c"}, {Path: "/old", Keep: true}, {Path: "/old", Whole: true}} {
			text := s.text(3000)
			p := NewPredictor(view, []Target{target}, &PredictorOptions{BytesPerSecond: -1})
			f := feed(t, p, view, text, 4, 0, nil)
			if got, want := p.budget.spent, f.bytes+f.frames*defaultAround; got != want {
				t.Errorf("%s to %+v: counted %d bytes, sent %d", s.name, target, got, want)
			}
			if p.budget.patches != f.bytes {
				t.Errorf("%s to %+v: counted %d bytes of patches, sent %d", s.name, target, p.budget.patches, f.bytes)
			}
		}
	}
}

// Options: no rate, a caller's frames.
func TestRateOptions(t *testing.T) {
	view := jsondoc.Object()
	text := shapes[8].text(4000)
	count := func(opts *PredictorOptions) int {
		return feed(t, NewPredictor(view, []Target{{Path: "/s"}}, opts), view, text, 4, 100, nil).frames
	}
	none := count(&PredictorOptions{BytesPerSecond: -1})
	slow := count(&PredictorOptions{FramesPerSecond: 1})
	heavy := count(&PredictorOptions{BytesPerSecond: 2 << 10})
	normal := count(nil)
	if none > 40 || slow < none+20 || slow > 150 || heavy <= none || heavy >= normal || normal < 700 {
		t.Errorf("%d patches without a rate, %d at one frame a second, %d at 2 KiB a second, %d by default", none, slow, heavy, normal)
	}
}

// Bad or merely odd input costs memory in proportion to its length.
func TestMemoryIsProportional(t *testing.T) {
	key := strings.Repeat("k", 4000)
	texts := map[string]string{
		"long names in one another": strings.Repeat(`{"`+key+`":`, 500) + "1" + strings.Repeat("}", 500),
		"cut off there":             strings.Repeat(`{"`+key+`":`, 500),
		"levels":                    strings.Repeat(strings.Repeat(`[`, 500)+strings.Repeat("]", 500)[:499]+",", 1),
		"levels without end":        strings.Repeat(`{"":`, 200_000),
		"nothing":                   strings.Repeat(" ", 1<<20),
		"one number":                strings.Repeat("1", 1<<20),
		"one string":                `"` + strings.Repeat(`\u0000`, 1<<17) + `"`,
		"a thousand repetitions":    strings.Repeat(`{"a":[1,2,3]}`, 1000),
	}
	for name, text := range texts {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		view := jsondoc.Object()
		p := NewPredictor(view, []Target{{Path: "/x"}}, nil)
		for i, piece := range cut(text, 1000) {
			p.Feed(time.Time{}.Add(time.Duration(i)*10*time.Millisecond), piece)
		}
		_, _, _ = p.End(time.Time{})
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(100*len(text)+1<<20) {
			t.Errorf("%s: %d bytes were allocated for a text of %d", name, n, len(text))
		} else {
			t.Logf("%-26s %9d bytes allocated for %8d", name, n, len(text))
		}
	}
}
