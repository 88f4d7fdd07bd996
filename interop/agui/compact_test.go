//go:build interop

package agui_interop

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/streamgen"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// TestCompaction: to the official client a compacted stream, alone and followed
// by what came after the cut, is the stream it was made of.
func TestCompaction(t *testing.T) {
	n := streams(300)
	var lines []jsondoc.Value
	for seed := range n {
		events := streamgen.New(uint64(seed), streamgen.Options{Events: 40}).Events()
		cut := len(events) * (seed % 7) / 6
		for i, variant := range [][]agui.Event{
			events,
			agui.Compact(events),
			append(agui.Compact(events[:cut]), events[cut:]...),
		} {
			docs := make([]jsondoc.Value, len(variant))
			for j, e := range variant {
				docs[j] = jsondoc.MustParse(string(agui.AppendEvent(nil, e, agui.V1)))
			}
			lines = append(lines, jsondoc.Object(
				jsondoc.Member{Name: "id", Value: jsondoc.String(fmt.Sprint(seed, "-", i))},
				jsondoc.Member{Name: "events", Value: jsondoc.Array(docs...)}))
		}
	}
	answers := node(t, lines, "peer.mjs", "1.0.0", "paced")
	bad := 0
	for i := 0; i < len(answers); i += 3 {
		want := result(answers[i])
		for j := 1; j < 3; j++ {
			got := result(answers[i+j])
			got.FailedPatches = want.FailedPatches // those are dropped
			if diff := streamgen.Differences(got, want); len(diff) > 0 {
				if bad++; bad < 6 {
					t.Errorf("seed %d, variant %d: %q", i/3, j, diff)
				}
			}
		}
	}
	t.Logf("%d streams, %d disagreements", n, bad)
}
