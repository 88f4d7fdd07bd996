//go:build interop

package agui_interop

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/internal/streamgen"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// corpus collects streams worth keeping: one for each reason of rejection, and
// some accepted ones.
type corpus struct {
	streams  map[string][]jsondoc.Value
	order    []string
	accepted map[string]int
}

// details are what two rejections for the same reason differ in.
var details = regexp.MustCompile(`"[^"]*"|\d+`)

func (c *corpus) add(name string, events []jsondoc.Value, got streamgen.Result) {
	if c.streams == nil {
		c.streams, c.accepted = map[string][]jsondoc.Value{}, map[string]int{}
	}
	key := reason(got)
	if got.Rejected >= 0 {
		events = events[:got.Rejected+1]
	} else {
		kind := "accepted"
		if len(got.FailedPatches) > 0 {
			kind = "patches"
		}
		if c.accepted[kind]++; c.accepted[kind] > 30 {
			return
		}
		key = kind + name
	}
	have, ok := c.streams[key]
	if !ok {
		c.order = append(c.order, key)
	}
	if !ok || len(events) < len(have) {
		c.streams[key] = events
	}
}

func reason(r streamgen.Result) string { return details.ReplaceAllString(r.Error, "_") }

// prune removes events from a rejected stream as long as the rejection stays.
func prune(events []jsondoc.Value) []jsondoc.Value {
	want := streamgen.Play(events)
	if want.Rejected < 0 {
		return events
	}
	for i := len(events) - 2; i >= 0; i-- {
		fewer := slices.Delete(slices.Clone(events), i, i+1)
		got := streamgen.Play(fewer)
		if got.Rejected == len(fewer)-1 && reason(got) == reason(want) {
			events = fewer
		}
	}
	return events
}

// write prunes the streams, asks the official client about each again, and
// writes what it said.
func (c *corpus) write(t *testing.T, path string) {
	t.Helper()
	var lines []jsondoc.Value
	for _, key := range c.order {
		lines = append(lines, jsondoc.Object(
			jsondoc.Member{Name: "id", Value: jsondoc.Int(int64(len(lines)))},
			jsondoc.Member{Name: "events", Value: jsondoc.Array(prune(c.streams[key])...)}))
	}
	var out bytes.Buffer
	for i, answer := range node(t, lines, "peer.mjs", "1.0.0", "paced") {
		events, _ := lines[i].Get("events")
		out.Write(answer.With("events", events).AppendJSON(nil))
		out.WriteByte('\n')
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d streams, %d bytes written to %s", len(lines), out.Len(), path)
}
