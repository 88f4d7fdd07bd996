package thread_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/run"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
	"github.com/lockstep-go/lockstep/thread/storetest"
	"github.com/lockstep-go/lockstep/tool"
)

// expiring is asking for ten minutes.
func expiring() state.Config {
	cfg := asking()
	cfg.ConfirmWithin = 10 * time.Minute
	return cfg
}

// T5: until a proposal expires it can be approved, from then on only cancelled,
// and what it showed is gone: noticed at the next request.
func TestT5ExpiryAtTheNextRequest(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		code  string
	}{
		"a moment before": {10*time.Minute - time.Millisecond, "success"},
		"at its end":      {10 * time.Minute, agui.CodeResumeExpired},
		"a day after":     {24 * time.Hour, agui.CodeResumeExpired},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				write := records("write", "document:string")
				s := newStage(t, inMemory(), expiring(), []tool.Tool{write}, proposes("c1", "new"), says("Well."), says("Next."))
				s.say("write")
				if want := time.Now().Add(10 * time.Minute).UTC().Format("2006-01-02T15:04:05.000Z"); s.pending[0].ExpiresAt != want {
					t.Errorf("it expires at %s, want %s", s.pending[0].ExpiresAt, want)
				}
				pending := s.pending
				time.Sleep(c.after)
				done := s.answer(`{"approved":true}`)
				done.wants(t, c.code)
				if c.code == "success" {
					write.wantRan(t, `{"document":"new"}`)
					return
				}
				write.wantRan(t)
				s.shows(`{"document":"old"}`, `{"document":"old"}`)
				if open := s.open(); len(open) != 0 {
					t.Errorf("open is %v", open)
				}
				// The client, which is told nothing else by an error, still knows
				// of it; the way out is to cancel, and a no is not one.
				s.pending = pending
				s.answer(`{"approved":false}`).wants(t, agui.CodeResumeExpired)
				s.pending = pending
				s.answer("").wants(t, "success")
				if s.pending != nil {
					t.Error("the client thinks that something is open")
				}
				s.say("and now").wants(t, "success")
				write.wantRan(t)
				s.shows(`{"document":"old"}`, `{"document":"old"}`)
			})
		})
	}
}

// The same with a real clock on every store, over a restart in which the proposal
// expires: it is not approved by a program that never saw it open.
func TestT5ExpiryOverRestarts(t *testing.T) {
	onStores(t, func(t *testing.T, store opener) {
		cfg := asking()
		cfg.ConfirmWithin = 20 * time.Millisecond
		write := records("write", "document:string")
		s := newStage(t, store, cfg, []tool.Tool{write}, proposes("c1", "new"), says("Next."))
		s.say("write")
		pending := s.pending
		if len(pending) != 1 {
			t.Fatalf("pending are %v", pending)
		}
		until, err := time.Parse(time.RFC3339, pending[0].ExpiresAt)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(until))
		s.restart()
		s.answer(`{"approved":true}`).wants(t, agui.CodeResumeExpired)
		s.restart()
		s.pending = pending
		s.answer(`{"approved":true}`).wants(t, agui.CodeResumeExpired)
		s.pending = pending
		s.answer("").wants(t, "success")
		write.wantRan(t)
		s.shows(`{"document":"old"}`, `{"document":"old"}`)
		s.say("and now").wants(t, "success")
	})
}

// While somebody watches, an expired proposal goes by itself, in a run of its
// own that a stock client takes; nothing is left running when the viewer goes.
func TestT5ExpiryWhileWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, inMemory(), expiring(), []tool.Tool{records("write", "document:string")}, proposes("c1", "new"))
		s.say("write")
		th := s.thread()
		defer th.Close()
		release := th.Watch()
		defer release()
		time.Sleep(10*time.Minute - time.Millisecond)
		synctest.Wait()
		before := th.Snapshot()
		if len(before.Open) != 1 {
			t.Fatalf("%d open before its time", len(before.Open))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		after := th.Snapshot()
		if len(after.Open) != 0 || after.View.String() != `{"document":"old"}` {
			t.Errorf("after a second %d are open and %s is shown", len(after.Open), after.View)
		}
		var seen played
		for p, err := range th.Follow(t.Context(), before.Position) {
			if err != nil {
				t.Fatal(err)
			}
			if p.Event != nil {
				seen = append(seen, p.Event)
				s.see(p.Event)
			}
			if p.Seq == after.Position.Seq {
				break
			}
		}
		if got := seen.types(); got != "RUN_STARTED STATE_SNAPSHOT RUN_FINISHED" {
			t.Error(got)
		}
		start := seen[0].(*agui.RunStarted)
		if !strings.HasPrefix(start.RunID, "edit-") || seen.outcome() != "success" {
			t.Errorf("run %s ended with %s", start.RunID, seen.outcome())
		}
		if by, _ := seen[1].(*agui.StateSnapshot).Metadata.At("/lockstep/by"); by.Str() != state.ByUser && by.Str() != state.BySystem {
			t.Errorf("metadata %s", seen[1].(*agui.StateSnapshot).Metadata)
		}
		s.shows(`{"document":"old"}`, `{"document":"old"}`)
	})
}

// The clock is set for whoever watches: also for one who came before there was
// a proposal, and anew for each that is made.
func TestT5ExpiryOfLaterProposals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, inMemory(), expiring(), []tool.Tool{records("write", "document:string")},
			proposes("c1", "one"), says("Well."), proposes("c2", "two"))
		th := s.thread()
		defer th.Close()
		release := th.Watch()
		s.say("write")
		time.Sleep(9 * time.Minute)
		s.answer(`{"approved":true}`)
		s.say("write")
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		if n := len(th.Snapshot().Open); n != 1 {
			t.Fatalf("%d open nine minutes after the second was asked", n)
		}
		release()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(th.Snapshot().Open); n != 1 {
			t.Errorf("%d open though nobody watches or asks", n)
		}
		defer th.Watch()()
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(th.Snapshot().Open); n != 0 {
			t.Errorf("%d open a second after somebody came", n)
		}
		if committed, view := s.state(); committed != `{"document":"one"}` || view != committed {
			t.Errorf("state %s, view %s", committed, view)
		}
	})
}

// H19: of two that wait one expires; the batch that approves both is refused and
// says why, and nothing of it counts. With the expired one cancelled the other
// is decided.
func TestH19OneOfTwoExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		write, plan := records("write", "document:string"), records("plan", "steps:array")
		cfg := asking()
		cfg.Predict["steps"] = state.Prediction{Tool: "plan", Argument: "steps"}
		s := newStage(t, inMemory(), cfg, []tool.Tool{write, plan}, agenttest.Turn(
			agenttest.Call("c1", "write", `{"document":"new"}`), agenttest.Call("c2", "plan", `{"steps":["a"]}`),
		), says("Well."), says("Next."))
		s.act = asksToo(s.act, "q1", time.Now().Add(time.Minute))
		s.say("both")
		if len(s.pending) != 3 {
			t.Fatalf("pending %+v", s.pending)
		}
		pending := s.pending
		answers := func(question string) []string {
			var out []string
			for _, i := range pending {
				if i.ToolCallID == "" {
					out = append(out, question)
				} else {
					out = append(out, `{"approved":true}`)
				}
			}
			return out
		}
		time.Sleep(2 * time.Minute)
		s.answer(answers(`{"x":1}`)...).wants(t, agui.CodeResumeExpired)
		write.wantRan(t)
		plan.wantRan(t)
		if n := len(s.open()); n != 2 {
			t.Fatalf("%d are open", n)
		}
		s.pending = pending // an error tells the client nothing of them
		s.answer(answers("")...).wants(t, "success")
		write.wantRan(t, `{"document":"new"}`)
		plan.wantRan(t, `{"steps":["a"]}`)
		s.shows(`{"document":"new","steps":["a"]}`, `{"document":"new","steps":["a"]}`)
	})
}

// The edit of a person's that lay over an expired proposal is told of, like one
// over a rejected one.
func TestT5ExpiryTellsOfEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := expiring()
		cfg.Initial = jsondoc.Object()
		s := newStage(t, inMemory(), cfg, []tool.Tool{records("write", "document:string")}, proposes("c1", "new"), says("Well."))
		s.say("write")
		// A post without news: only the edit of what is proposed.
		s.run(func(in *agui.RunAgentInput) { in.State = jsondoc.MustParse(`{"document":"mine"}`) }).wants(t, "interrupt")
		s.shows(`{}`, `{"document":"mine"}`)
		th := s.thread()
		defer th.Close()
		_, _, at := th.Doc()
		defer th.Watch()()
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		var seen played
		_, _, head := th.Doc()
		for p, err := range th.Follow(t.Context(), at) {
			if err != nil {
				t.Fatal(err)
			}
			if p.Event != nil {
				seen = append(seen, p.Event)
				s.see(p.Event)
			}
			if p.Seq == head.Seq {
				break
			}
		}
		if got := seen.types(); got != "RUN_STARTED STATE_SNAPSHOT CUSTOM RUN_FINISHED" {
			t.Error(got)
		}
		for _, e := range all[*agui.Custom](seen) {
			if e.Name != "lockstep.conflict" || e.Value.String() != `{"paths":["/document"],"policy":"reject"}` {
				t.Errorf("%s %s", e.Name, e.Value)
			}
		}
		s.shows(`{}`, `{}`)
	})
}

// In the older way too: when the time is over, the placeholder says so and the
// page's late answer, which its history keeps, blocks nothing.
func TestConfirmChangesExpires(t *testing.T) {
	for name, late := range map[string]bool{"a late answer": true, "no answer": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				write := records("write", "document:string")
				cfg := confirming()
				cfg.ConfirmWithin = 10 * time.Minute
				s := newStage(t, inMemory(), cfg, []tool.Tool{write}, proposes("c1", "new"), says("Well."), says("Next."))
				s.say("write")
				id := s.confirms()[0]
				time.Sleep(time.Hour)
				if late {
					s.confirm(map[string]string{id: `{"accepted":true}`})
				}
				write.wantRan(t)
				s.prompt()
				s.say("and now").wants(t, "success")
				write.wantRan(t)
				s.shows(`{"document":"old"}`, `{"document":"old"}`)
				if told := s.prompt(); !strings.Contains(told, "did not approve this call in time") || strings.Contains(told, "Waiting for approval") || strings.Contains(told, "accepted") {
					t.Errorf("the model was told\n%s", told)
				}
				s.reload()
				if got := s.results("c1"); len(got) != 1 || got[0] != run.ExpiredText {
					t.Errorf("the page shows %q", got)
				}
			})
		})
	}
}

// The store is down when the time is over: who watches sees the proposal go once
// it is back.
func TestT5ExpiryWhileTheStoreIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := storetest.NewFaults(memory.New())
		s := newStage(t, func(*testing.T) thread.Store { return faults }, expiring(), []tool.Tool{records("write", "document:string")}, proposes("c1", "new"))
		s.say("write")
		th := s.thread()
		defer th.Close()
		defer th.Watch()()
		time.Sleep(9 * time.Minute)
		faults.Down(true)
		time.Sleep(5 * time.Minute)
		if n := len(th.Snapshot().Open); n != 1 {
			t.Errorf("%d open while nothing can be stored", n)
		}
		faults.Down(false)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := len(th.Snapshot().Open); n != 0 {
			t.Errorf("%d open after the store has come back", n)
		}
	})
}
