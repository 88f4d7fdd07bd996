package jsonstream

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// The figures that count are the ratios of bench/jsonstream; these are for work on
// the parser.

func BenchmarkParse(b *testing.B) {
	for _, shape := range []int{0, 1, 3} {
		for _, size := range []int{2 << 10, 32 << 10, 256 << 10} {
			text := shapes[shape].text(size)
			pieces := cut(text, 4)
			name := fmt.Sprintf("%s/%dKB", shapes[shape].name, size>>10)
			b.Run(name+"/4-byte pieces", func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					p := NewParser(nil)
					for _, piece := range pieces {
						p.Feed(piece)
					}
					if _, err := p.End(); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(name+"/jsondoc.Parse", func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if _, err := jsondoc.ParseString(text); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(name+"/json.Unmarshal", func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					var v any
					if err := json.Unmarshal([]byte(text), &v); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkPredict(b *testing.B) {
	for _, shape := range []int{0, 1, 8} {
		for _, pause := range []time.Duration{0, 10 * time.Millisecond} {
			text := shapes[shape].text(32 << 10)
			pieces := cut(text, 4)
			b.Run(fmt.Sprintf("%s/pause %v", shapes[shape].name, pause), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					now := time.Time{}
					p := NewPredictor(jsondoc.Object(), []Target{{Path: "/x"}}, nil)
					for _, piece := range pieces {
						now = now.Add(pause)
						p.Feed(now, piece)
					}
					if _, _, err := p.End(now); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
