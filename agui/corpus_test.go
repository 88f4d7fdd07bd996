package agui_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/lockstep-go/lockstep/internal/streamgen"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// TestCorpus replays streams that went through the official client 1.0.0 and
// compares: where it rejected the run, which patches did not apply, and the
// messages, state and interrupts it held in the end. interop/agui made the file.
func TestCorpus(t *testing.T) {
	data, err := os.ReadFile("testdata/corpus.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	count, rejected := 0, 0
	for line := range bytes.Lines(data) {
		doc, err := jsondoc.Parse(line, &jsondoc.ParseOptions{KeepLast: true})
		if err != nil {
			t.Fatal(err)
		}
		get := func(name string) jsondoc.Value { v, _ := doc.Get(name); return v }
		want := streamgen.Result{Messages: get("messages"), State: get("state"), Interrupts: get("interrupts"), Error: get("error").Str()}
		if err := get("failedPatches").Decode(&want.FailedPatches); err != nil {
			t.Fatal(err)
		}
		if err := get("rejected").Decode(&want.Rejected); err != nil {
			t.Fatal(err)
		}
		if want.State.IsAbsent() {
			want.State = jsondoc.Null
		}
		var events []jsondoc.Value
		for _, e := range get("events").Items() {
			events = append(events, e)
		}
		count++
		if want.Rejected >= 0 {
			rejected++
		}
		for _, d := range streamgen.Differences(streamgen.Play(events), want) {
			t.Errorf("stream %s: %s\n%s", get("id"), d, get("events"))
		}
	}
	if count < 200 || rejected < 100 {
		t.Errorf("the corpus has only %d streams, %d of them rejected", count, rejected)
	}
}
