package answer

import (
	"io"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/openaiwire"
)

// BenchmarkRead reads an answer of 2000 fragments of 4 bytes each.
func BenchmarkRead(b *testing.B) {
	turn := openaiwire.Turn{Calls: []openaiwire.Call{{ID: "c1", Name: "f", Arguments: `{"text":"` + strings.Repeat("abcd", 1998) + `"}`}}, Fragment: 4}
	for name, steps := range map[string][]openaiwire.Step{"chat": turn.Chat(), "responses": turn.Responses()} {
		b.Run(name, func(b *testing.B) {
			var body strings.Builder
			for _, s := range steps {
				body.WriteString(s.String())
			}
			b.SetBytes(int64(body.Len()))
			b.ReportAllocs()
			for b.Loop() {
				var d Decoder = new(Chat)
				if name == "responses" {
					d = new(Responses)
				}
				for _, err := range Read(io.Reader(strings.NewReader(body.String())), Limits{Event: 1 << 20, Body: 1 << 24}, d) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2000, "ns/fragment")
		})
	}
}
