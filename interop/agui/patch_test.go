//go:build interop

package agui_interop

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/internal/streamgen"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// TestPatchFaults pins where the official client's patch library departs from
// RFC 6902 and package jsondoc does not follow: the generated streams avoid
// these, and a server that checks its deltas with jsondoc never sends them. If
// one of them changes there, this test says so.
func TestPatchFaults(t *testing.T) {
	for _, c := range []struct {
		fault, state, patch, theirs string // theirs: the state there, "" if refused
	}{
		{"a member of a scalar is set without effect", `7`, `[{"op":"add","path":"/a","value":1}]`, `7`},
		{"and of a string", `"x"`, `[{"op":"add","path":"/a","value":1}]`, `"x"`},
		{"an inherited name is there to be removed", `{"a":1}`, `[{"op":"remove","path":"/toString"}]`, `{"a":1}`},
		{"and to be replaced", `{"a":1}`, `[{"op":"replace","path":"/constructor","value":1}]`, `{"a":1,"constructor":1}`},
		{"a missing place can be copied to the root", `{"a":1}`, `[{"op":"copy","from":"/zzz","path":""}]`, `{"a":1}`},
	} {
		events := []jsondoc.Value{
			jsondoc.MustParse(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`),
			jsondoc.MustParse(fmt.Sprintf(`{"type":"STATE_SNAPSHOT","snapshot":%s}`, c.state)),
			jsondoc.MustParse(fmt.Sprintf(`{"type":"STATE_DELTA","delta":%s}`, c.patch)),
		}
		line := jsondoc.Object(
			jsondoc.Member{Name: "id", Value: jsondoc.String(c.fault)},
			jsondoc.Member{Name: "events", Value: jsondoc.Array(events...)})
		theirs := result(node(t, []jsondoc.Value{line}, "peer.mjs", "1.0.0", "paced")[0])
		if len(theirs.FailedPatches) > 0 || !jsondoc.Equal(theirs.State, jsondoc.MustParse(c.theirs)) {
			t.Errorf("%s: the official client now has %s, failed %v", c.fault, theirs.State, theirs.FailedPatches)
		}
		ours := streamgen.Play(events)
		if len(ours.FailedPatches) != 1 || !jsondoc.Equal(ours.State, jsondoc.MustParse(c.state)) {
			t.Errorf("%s: we have %s, failed %v; want a refusal", c.fault, ours.State, ours.FailedPatches)
		}
	}
}
