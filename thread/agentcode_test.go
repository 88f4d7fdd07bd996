package thread_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
)

// note is a content of an application's own.
type note struct {
	message.ContentHeader
	text string
}

// The lines of the commit table that are about agent code: MapContent, and
// Update outside of a tool, commit at once and stay where the run fails later.
func TestAgentCodeCommitsAtOnce(t *testing.T) {
	type doc struct {
		Notes []string `json:"notes"`
		N     int      `json:"n"`
	}
	rule := state.MapContent(func(m *state.Mapping, c message.Content) ([]agui.Event, error) {
		n, ok := c.(*note)
		if !ok {
			return nil, nil
		}
		return []agui.Event{
			&agui.StateDelta{Delta: jsondoc.Patch{{Op: "add", Path: "/notes/-", Value: jsondoc.String(n.text)}}},
			&agui.Custom{Name: "note", Value: jsondoc.String(n.text)},
		}, nil
	})
	s := newSetup(t, state.Config{Initial: jsondoc.MustParse(`{"notes":[],"n":0}`), Rules: []state.Rule{rule}}, thread.Options{})
	defer s.close()
	th := s.open("t")
	defer th.Close()
	a := agent.New(agent.ProviderConfig{Run: func(ctx context.Context, _ []*message.Message, _ ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			for _, text := range []string{"one", "two"} {
				if !yield(&agent.ResponseUpdate{Contents: message.Contents{&note{text: text}}}, nil) {
					return
				}
				if err := state.From(ctx).Update(func(d *doc) { d.N = 10*d.N + len(d.Notes) }); err != nil {
					yield(nil, err)
					return
				}
			}
			yield(nil, errors.New("then it breaks"))
		}
	}}, agent.Config{})
	r, err := s.start(th, a, input("r", user("u", "go")))
	if err != nil {
		t.Fatal(err)
	}
	got := types(s.events(r))
	r.Wait()
	if want := "RUN_STARTED STATE_SNAPSHOT STATE_DELTA CUSTOM STATE_DELTA STATE_DELTA CUSTOM STATE_DELTA RUN_ERROR"; got != want {
		t.Errorf("events\n%s\nwant\n%s", got, want)
	}
	if d, rev, _ := th.Doc(); d.State.String() != `{"notes":["one","two"],"n":12}` || rev != 5 {
		t.Errorf("state %s at revision %d", d.State, rev)
	}
	if err := state.From(t.Context()).Update(func(*doc) {}); !errors.Is(err, state.ErrNoRun) {
		t.Errorf("outside of a run: %v", err)
	}
	if err := state.From(t.Context()).Update("no function"); err == nil {
		t.Error("anything is taken for a change")
	}
}
