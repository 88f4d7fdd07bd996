package agent_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/message"
)

// What the layers add to a model's chunk: 4000 fragments of arguments, or of text, in one
// turn.
func BenchmarkChunk(b *testing.B) {
	const chunks = 4000
	piece := strings.Repeat("x", 12)
	for _, kind := range []string{"text", "arguments"} {
		b.Run(kind, func(b *testing.B) {
			run := func(context.Context, []*message.Message, ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
				return func(yield func(*agent.ResponseUpdate, error) bool) {
					for i := range chunks {
						var c message.Content = &message.TextContent{Text: piece}
						if kind == "arguments" {
							c = &message.FunctionCallDelta{CallID: "c1", Name: "f", Arguments: piece}
							if i == 0 {
								c = &message.FunctionCallDelta{CallID: "c1", Name: "f", Arguments: `{"a":"`}
							} else if i == chunks-1 {
								c = &message.FunctionCallDelta{CallID: "c1", Name: "f", Arguments: `"}`}
							}
						}
						if !yield(&agent.ResponseUpdate{Contents: message.Contents{c}}, nil) {
							return
						}
					}
				}
			}
			a := agent.New(agent.ProviderConfig{Run: run}, agent.Config{Name: "n"})
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for _, err := range a.RunText(context.Background(), "hi") {
					if err != nil {
						b.Fatal(err)
					}
					if n++; n == chunks { // the model's part; what follows is the unknown tool
						break
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chunks), "ns/chunk")
		})
	}
}
