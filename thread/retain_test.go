package thread_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
	"github.com/lockstep-go/lockstep/tool"
)

// A log that keeps a few runs apart folds to the same as one that keeps all: the
// state, its revision, the view and the messages; and what is kept apart can be
// undone.
func TestRetentionOfRuns(t *testing.T) {
	const runs = 30
	logs := map[int]int{}
	said := map[int]string{}
	for _, keep := range []int{0, 3} {
		store := memory.New()
		s := newSetup(t, document, thread.Options{Retention: thread.Retention{Runs: keep}})
		s.threads = thread.New(store, &thread.Options{Retention: thread.Retention{Runs: keep}})
		th := s.open("t")
		var list []agui.Message
		for i := range runs {
			model := agenttest.New(agenttest.Turn(agenttest.Call(fmt.Sprint("c", i), "write", fmt.Sprintf(`{"document":"version %d"}`, i))), agenttest.Turn(agenttest.Text("Done.")))
			list = append(list, user(fmt.Sprint("u", i), fmt.Sprint("message ", i)))
			r, err := s.start(th, model.Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil)}}), input(fmt.Sprint("r", i), list[len(list)-1]))
			if err != nil {
				t.Fatal(err)
			}
			s.events(r)
			r.Leave()
			r.Wait()
		}
		live := th.Snapshot()
		th.Close()
		s.close()
		for _, err := range store.Read(t.Context(), thread.Key{Agent: "a", ID: "t"}, 0) {
			if err != nil {
				t.Fatal(err)
			}
			logs[keep]++
		}
		s.threads = thread.New(store, nil)
		th = s.open("t")
		read := th.Snapshot()
		if read.Position != live.Position || read.Revision != live.Revision || !jsondoc.Equal(read.State, live.State) || !jsondoc.Equal(read.View, live.View) {
			t.Errorf("keep %d: read again %v revision %d %s, live %v revision %d %s", keep, read.Position, read.Revision, read.State, live.Position, live.Revision, live.State)
		}
		text := ""
		for _, m := range read.Messages {
			text += string(m.Role) + " " + m.Content.Text() + "\n"
		}
		said[keep] = text
		for i := runs - 1; i > runs-4; i-- {
			if _, err := th.Undo(t.Context()); err != nil {
				t.Fatalf("keep %d: undo: %v", keep, err)
			}
			if doc, _, _ := th.Doc(); doc.State.String() != fmt.Sprintf(`{"document":"version %d"}`, i-1) {
				t.Errorf("keep %d: after undo the state is %s", keep, doc.State)
			}
		}
		th.Close()
		s.close()
	}
	if logs[3]*2 > logs[0] {
		t.Errorf("%d entries are left of %d", logs[3], logs[0])
	}
	if said[3] != said[0] {
		t.Errorf("the messages differ:\n%s\nall:\n%s", said[3], said[0])
	}
}

// Threads are forgotten when nothing was appended for their age, whoever they
// belong to, and never while somebody has them.
func TestRetentionOfThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, document, thread.Options{Retention: thread.Retention{Age: 24 * time.Hour}})
		defer s.close()
		patch, _ := jsondoc.ParsePatch([]byte(`[{"op":"add","path":"/document","value":"x"}]`))
		edit := func(id string) *thread.Thread {
			th := s.open(id)
			if _, err := th.Edit(t.Context(), thread.Edit{Patch: patch}); err != nil {
				t.Fatal(err)
			}
			return th
		}
		edit("old").Close()
		used := edit("used")
		time.Sleep(23 * time.Hour)
		edit("new").Close()
		time.Sleep(5 * time.Hour)
		known := func(id string) bool {
			th := s.open(id)
			defer th.Close()
			return th.Snapshot().Known()
		}
		if known("old") || !known("new") || !known("used") {
			t.Errorf("old %v, new %v, used %v", known("old"), known("new"), known("used"))
		}
		used.Close()
		time.Sleep(48 * time.Hour)
		if known("used") || known("new") {
			t.Errorf("used %v, new %v, two days later", known("used"), known("new"))
		}
		// What was forgotten begins anew, and who waits on it is told.
		th := edit("old")
		defer th.Close()
		at := th.Snapshot().Position
		go func() { _ = th.Forget(context.Background()) }()
		for _, err := range th.Follow(t.Context(), at) {
			if !errors.Is(err, thread.ErrForgotten) {
				t.Errorf("%v", err)
			}
			break
		}
	})
}
