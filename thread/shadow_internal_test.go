package thread

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
)

// noStore takes everything and remembers nothing: the fold is looked at.
type noStore struct{ Store }

func (noStore) Append(context.Context, Key, Head, []Entry) error { return nil }

// W2: a delta that does not apply to what viewers hold never goes out. It becomes
// a snapshot of what the view is to be, and is counted; one before any snapshot
// of its run becomes one too, and is not: nothing was wrong.
func TestW2Shadow(t *testing.T) {
	ts := New(noStore{}, nil)
	th := &Thread{threads: ts, writing: newTurn(), grown: make(chan struct{})}
	delta := func(patch string) agui.Event {
		p, err := jsondoc.ParsePatch([]byte(patch))
		if err != nil {
			t.Fatal(err)
		}
		return &agui.StateDelta{Delta: p}
	}
	for i, c := range []struct {
		event   agui.Event
		view    string
		want    string
		counted int64
	}{
		{&agui.RunStarted{ThreadID: "t", RunID: "r"}, ``, `RUN_STARTED`, 0},
		{delta(`[{"op":"add","path":"/a","value":1}]`), `{"a":1}`, `STATE_SNAPSHOT`, 0},
		{delta(`[{"op":"replace","path":"/a","value":2}]`), `{"a":2}`, `STATE_DELTA`, 0},
		{delta(`[{"op":"replace","path":"/none","value":2}]`), `{"a":2,"none":2}`, `STATE_SNAPSHOT`, 1},
		{delta(`[{"op":"remove","path":"/none"}]`), `{"a":2}`, `STATE_DELTA`, 1},
		{delta(`[{"op":"add","path":"/__proto__","value":1}]`), `{"a":3}`, `STATE_SNAPSHOT`, 2},
		{&agui.RunFinished{ThreadID: "t", RunID: "r"}, ``, `RUN_FINISHED`, 2},
	} {
		d := draft{run: "r", mark: state.Mark{By: state.ByAgent}, event: c.event}
		if c.view != "" {
			d.view = jsondoc.MustParse(c.view)
		}
		if err := th.commit(t.Context(), func(*fold) ([]draft, error) { return []draft{d}, nil }); err != nil {
			t.Fatal(err)
		}
		last := th.ring.list[len(th.ring.list)-1]
		if got := string(last.Event.EventType()); got != c.want {
			t.Errorf("step %d: %s, want %s", i, got, c.want)
		}
		if c.view != "" && !jsondoc.Equal(th.fold.doc.View, d.view) {
			t.Errorf("step %d: viewers hold %s, want %s", i, th.fold.doc.View, c.view)
		}
		if n := ts.opts.Metrics.RepairedDeltas.Load(); n != c.counted {
			t.Errorf("step %d: %d deltas counted, want %d", i, n, c.counted)
		}
	}
}
