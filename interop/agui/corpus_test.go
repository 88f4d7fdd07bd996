//go:build interop

package agui_interop

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"github.com/lockstep-go/lockstep/internal/streamgen"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// corpus collects streams worth keeping: the shortest for each reason of
// rejection, and some accepted ones.
type corpus struct {
	byReason map[string]jsondoc.Value
	order    []string
	accepted map[string]int
}

var quoted = regexp.MustCompile(`"[^"]*"|\d+`)

func (c *corpus) add(name string, events []jsondoc.Value, got, want streamgen.Result) {
	if c.byReason == nil {
		c.byReason, c.accepted = map[string]jsondoc.Value{}, map[string]int{}
	}
	reason := ""
	if want.Rejected >= 0 {
		events = events[:want.Rejected+1]
		reason = quoted.ReplaceAllString(got.Error, "_")
	} else {
		kind := "accepted"
		if len(want.FailedPatches) > 0 {
			kind = "patches"
		}
		if c.accepted[kind]++; c.accepted[kind] > 60 {
			return
		}
		reason = kind + name
	}
	entry := jsondoc.Object(
		jsondoc.Member{Name: "id", Value: jsondoc.String(name)},
		jsondoc.Member{Name: "rejected", Value: jsondoc.Int(int64(want.Rejected))},
		jsondoc.Member{Name: "error", Value: jsondoc.String(want.Error)},
		jsondoc.Member{Name: "failedPatches", Value: jsondoc.MustFrom(want.FailedPatches)},
		jsondoc.Member{Name: "messages", Value: want.Messages},
		jsondoc.Member{Name: "state", Value: want.State},
		jsondoc.Member{Name: "interrupts", Value: want.Interrupts},
		jsondoc.Member{Name: "events", Value: jsondoc.Array(events...)},
	)
	have, ok := c.byReason[reason]
	if !ok {
		c.order = append(c.order, reason)
	}
	if !ok || entry.Size() < have.Size() {
		c.byReason[reason] = entry
	}
}

func (c *corpus) write(t *testing.T, path string) {
	t.Helper()
	var out bytes.Buffer
	for _, reason := range c.order {
		out.Write(c.byReason[reason].AppendJSON(nil))
		out.WriteByte('\n')
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d streams, %d bytes written to %s", len(c.order), out.Len(), path)
}
