//go:build interop

package agui_interop

import (
	"flag"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/internal/streamgen"
	"github.com/lockstep-go/lockstep/jsondoc"
)

var update = flag.Bool("update", false, "write the interesting streams to agui/testdata/corpus.jsonl")

var whole = flag.Bool("whole", false, "print the whole stream where results differ")

// flavours are the kinds of stream that are compared.
var flavours = []struct {
	name string
	opts streamgen.Options
	n    int
}{
	{"legal", streamgen.Options{Events: 40}, 1200},
	{"unfinished", streamgen.Options{Events: 25, Unfinished: true}, 300},
	{"wild", streamgen.Options{Events: 30, Wild: 4}, 1500},
	{"malformed", streamgen.Options{Events: 15, Malformed: 8}, 1500},
}

// TestOrderAndReduction compares the verdict on each stream, and what it left
// behind, with the official client 1.0.0.
func TestOrderAndReduction(t *testing.T) {
	var kept corpus
	for _, f := range flavours {
		t.Run(f.name, func(t *testing.T) {
			n := streams(f.n)
			all := make([][]jsondoc.Value, n)
			lines := make([]jsondoc.Value, n)
			for i := range n {
				all[i] = streamgen.New(uint64(i), f.opts).Stream()
				lines[i] = jsondoc.Object(
					jsondoc.Member{Name: "id", Value: jsondoc.String(fmt.Sprintf("%s-%d", f.name, i))},
					jsondoc.Member{Name: "events", Value: jsondoc.Array(all[i]...)})
			}
			rejected, failed, bad := 0, 0, 0
			for i, answer := range node(t, lines, "peer.mjs", "1.0.0", "paced") {
				got, want := streamgen.Play(all[i]), result(answer)
				if want.Rejected >= 0 {
					rejected++
				}
				failed += len(want.FailedPatches)
				diff := streamgen.Differences(got, want)
				if len(diff) == 0 {
					kept.add(fmt.Sprintf("%s-%d", f.name, i), all[i], got)
					continue
				}
				if bad++; bad > 10 {
					continue
				}
				for _, d := range diff {
					t.Errorf("stream %d: %s", i, d)
				}
				if *whole {
					for j, e := range all[i] {
						t.Logf("%3d %s", j, e)
					}
				}
				if at := firstDifference(got.FailedPatches, want.FailedPatches); at >= 0 && at < len(all[i]) {
					t.Logf("state before it: %s\nevent %d: %s", streamgen.Play(all[i][:at]).State, at, all[i][at])
				} else if want.Rejected >= 0 {
					t.Logf("event %d: %s", want.Rejected, all[i][want.Rejected])
				}
			}
			t.Logf("%d streams, %d rejected, %d failed patches, %d disagreements", n, rejected, failed, bad)
			if f.name == "legal" && rejected > 0 {
				t.Errorf("%d legal streams were rejected", rejected)
			}
		})
	}
	if *update && !t.Failed() {
		kept.write(t, "../../agui/testdata/corpus.jsonl")
	}
}

// firstDifference returns the first index that only one of two ascending lists
// holds, -1 if they are the same.
func firstDifference(a, b []int) int {
	for i := 0; i < len(a) || i < len(b); i++ {
		switch {
		case i >= len(a):
			return b[i]
		case i >= len(b):
			return a[i]
		case a[i] != b[i]:
			return min(a[i], b[i])
		}
	}
	return -1
}
