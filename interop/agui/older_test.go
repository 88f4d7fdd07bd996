//go:build interop

package agui_interop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/streamgen"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// TestSpelling sends legal streams as bytes through the HTTP agents of the
// official clients: as 1.0 to 1.0.0, spelled for older clients to 0.0.58 and
// 0.0.59. None may be rejected (promise W1).
func TestSpelling(t *testing.T) {
	for _, peer := range []struct {
		version string
		spell   agui.Version
		n       int
	}{{"1.0.0", agui.V1, 400}, {"0.0.58", agui.V0, 1200}, {"0.0.59", agui.V0, 1200}} {
		t.Run(peer.version, func(t *testing.T) {
			n := streams(peer.n)
			bodies := make([]string, n)
			lines := make([]jsondoc.Value, n)
			for i := range n {
				bodies[i] = body(t, streamgen.New(uint64(i), streamgen.Options{Events: 40, OneRun: i%2 == 0}).Events(), peer.spell)
				lines[i] = jsondoc.Object(
					jsondoc.Member{Name: "id", Value: jsondoc.Int(int64(i))},
					jsondoc.Member{Name: "body", Value: jsondoc.String(bodies[i])})
			}
			bad := 0
			for i, answer := range node(t, lines, "peer.mjs", peer.version, "http") {
				got := result(answer)
				if got.Rejected < 0 {
					continue
				}
				if bad++; bad <= 5 {
					t.Errorf("stream %d was rejected: %s\n%s", i, got.Error, bodies[i])
				}
			}
			t.Logf("%d streams, %d rejected", n, bad)
		})
	}
}

// TestSpellingMatters makes sure that the test above can fail: the same streams
// in the 1.0 spelling are rejected by 0.0.58.
func TestSpellingMatters(t *testing.T) {
	lines := make([]jsondoc.Value, 60)
	for i := range lines {
		events := streamgen.New(uint64(i), streamgen.Options{Events: 40}).Events()
		lines[i] = jsondoc.Object(
			jsondoc.Member{Name: "id", Value: jsondoc.Int(int64(i))},
			jsondoc.Member{Name: "body", Value: jsondoc.String(body(t, events, agui.V1))})
	}
	rejected := 0
	for _, answer := range node(t, lines, "peer.mjs", "0.0.58", "http") {
		if result(answer).Rejected >= 0 {
			rejected++
		}
	}
	if rejected < len(lines)/2 {
		t.Errorf("0.0.58 rejected only %d of %d streams in the 1.0 spelling", rejected, len(lines))
	}
}

// body spells a stream as a server would: chunks expanded and the stream ended
// at RUN_ERROR where the peer is an older client.
func body(t *testing.T, events []agui.Event, v agui.Version) string {
	t.Helper()
	var (
		out    []byte
		expand agui.Expander
	)
	for i, e := range events {
		list := []agui.Event{e}
		if v == agui.V0 {
			var err error
			if list, err = expand.Expand(nil, e); err != nil {
				t.Fatal(err)
			}
		}
		for _, x := range list {
			out = agui.AppendFrame(out, fmt.Sprint("e-", i), x, v)
		}
		if i%7 == 0 {
			out = append(out, ": keep-alive\n\n"...)
		}
		if v == agui.V0 && e.EventType() == agui.TypeRunError {
			break
		}
	}
	if strings.Contains(string(out), "\r") {
		t.Fatal("a CR was written: official clients would see one frame only")
	}
	return string(out)
}
