package thread_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
)

// newSetupOn is newSetup on a store of the test's.
func newSetupOn(t *testing.T, store thread.Store, cfg state.Config, opts thread.Options) *setup {
	t.Helper()
	s := newSetup(t, cfg, opts)
	opts.Metrics = &s.metrics
	s.store, s.threads = store, thread.New(store, &opts)
	return s
}

// run starts a run, reads it to its end and waits until nothing of it is left.
func (s *setup) run(th *thread.Thread, a *agent.Agent, in *agui.RunAgentInput) []agui.Event {
	s.t.Helper()
	r, err := s.start(th, a, in)
	if err != nil {
		s.t.Fatal(err)
	}
	events := s.events(r)
	r.Leave()
	r.Wait()
	return events
}

// talks is a model that answers its n-th call with "A<n>".
func talks(n int) *agenttest.Model {
	var list []agenttest.Script
	for i := range n {
		list = append(list, agenttest.Turn(agenttest.Text(fmt.Sprintf("A%d", i+1))))
	}
	return agenttest.New(list...)
}

// talk is a conversation in one line: user one | assistant A1.
func talk(messages []agui.Message) string {
	var out []string
	for _, m := range messages {
		text := string(m.Role) + " " + m.Content.Text()
		for _, c := range m.ToolCalls {
			text += c.Function.Name + "(" + c.Function.Arguments + ")"
		}
		out = append(out, strings.TrimSpace(text))
	}
	return strings.Join(out, " | ")
}

// asked is what a model was asked, in the same form, without what the server
// adds.
func asked(p agenttest.Prompt) string {
	var out []string
	for _, m := range p.Messages {
		if m.Role != message.RoleSystem {
			one := agenttest.Prompt{Messages: []*message.Message{m}}
			out = append(out, strings.Replace(strings.TrimSpace(one.Text()), ": ", " ", 1))
		}
	}
	return strings.Join(out, " | ")
}

// withBase names the position that the posted state is an edit of.
func withBase(in *agui.RunAgentInput, p thread.Position) *agui.RunAgentInput {
	in.ForwardedProps = jsondoc.MustParse(`{"lockstep":{"base":"` + p.String() + `"}}`)
	return in
}

// position is where the log ends.
func position(th *thread.Thread) thread.Position {
	_, _, p := th.Doc()
	return p
}

// reload is the thread as another process finds it in the store.
func reload(t *testing.T, store thread.Store, m *state.Model, key thread.Key) thread.Snapshot {
	t.Helper()
	threads := thread.New(store, nil)
	defer closeThreads(t, threads)
	th, err := threads.Open(t.Context(), key, m)
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	return th.Snapshot()
}

func closeThreads(t *testing.T, threads *thread.Threads) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := threads.Close(ctx); err != nil {
		t.Error(err)
	}
}

// sameThread checks that a log, read again, comes to what the thread is.
func sameThread(t *testing.T, got, want thread.Snapshot) {
	t.Helper()
	if got.Position != want.Position || got.Revision != want.Revision {
		t.Errorf("read again: %v at revision %d, want %v at %d", got.Position, got.Revision, want.Position, want.Revision)
	}
	if !jsondoc.Equal(got.State, want.State) || !jsondoc.Equal(got.View, want.View) {
		t.Errorf("read again: state %s, view %s, want %s, %s", got.State, got.View, want.State, want.View)
	}
	if a, b := encoded(got.Messages), encoded(want.Messages); a != b {
		t.Errorf("read again: messages\n%s\nwant\n%s", a, b)
	}
	if a, b := fmt.Sprint(got.Open), fmt.Sprint(want.Open); a != b {
		t.Errorf("read again: proposals %s, want %s", a, b)
	}
	if (got.Active == nil) != (want.Active == nil) {
		t.Errorf("read again: active run %v, want %v", got.Active, want.Active)
	}
}

func encoded(messages []agui.Message) string {
	var out strings.Builder
	for _, m := range messages {
		out.Write(append(m.AppendJSON(nil), '\n'))
	}
	return out.String()
}

var aKey = thread.Key{Agent: "a", ID: "t"}
