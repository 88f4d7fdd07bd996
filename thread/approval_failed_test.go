package thread_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

// T5: a run that fails before it comes to the approved tool has not used the
// approval: the question is open again, as it was, and the same answer counts.
// What was refused with it stays refused.
func TestT5FailsBeforeTheTool(t *testing.T) {
	for name, fails := range map[string]func(ctx context.Context) error{
		"an error": func(context.Context) error { return errors.New("broken") },
		"a panic":  func(context.Context) error { panic("broken") },
	} {
		for how, older := range map[string]bool{"interrupt": false, "confirm_changes": true} {
			t.Run(name+", "+how, func(t *testing.T) {
				onStores(t, func(t *testing.T, store opener) {
					write := records("write", "document:string")
					cfg := asking()
					cfg.ConfirmChanges = older
					s := newStage(t, store, cfg, []tool.Tool{write}, agenttest.Turn(
						agenttest.Call("c1", "write", `{"document":"first"}`), agenttest.Call("c2", "write", `{"document":"second"}`),
					), says("Well."), says("Next."))
					s.say("write")
					ids := s.open()
					resume := append(resumes(ids[0], `{"approved":true}`), resumes(ids[1], `{"approved":false}`)...)
					act := s.act
					s.act = func(ctx context.Context, _ []*message.Message, _ ...agent.Option) updates {
						return func(yield func(*agent.ResponseUpdate, error) bool) { yield(nil, fails(ctx)) }
					}
					s.run(func(in *agui.RunAgentInput) { in.Resume = resume }).wants(t, agui.CodeInternal)
					write.wantRan(t)
					if open := s.open(); len(open) != 1 || open[0] != ids[0] {
						t.Fatalf("open is %v, want %s", open, ids[0])
					}
					s.shows(`{"document":"old"}`, `{"document":"first"}`)
					s.act = act
					s.restart()
					s.run(func(in *agui.RunAgentInput) { in.Resume = resume }).wants(t, "success")
					write.wantRan(t, `{"document":"first"}`)
					s.shows(`{"document":"first"}`, `{"document":"first"}`)
					s.reload()
					for _, id := range ids {
						if got := s.results(id); older && len(got) != 1 {
							t.Errorf("confirm_changes %s is answered with %q", id, got)
						}
					}
					s.say("and now").wants(t, "success")
					write.wantRan(t, `{"document":"first"}`)
				})
			})
		}
	}
}

// And one that fails after the tool has begun has used it.
func TestT5FailsAfterTheTool(t *testing.T) {
	write := records("write", "document:string")
	s := newStage(t, inMemory(), asking(), []tool.Tool{write}, proposes("c1", "new"), agenttest.Turn(agenttest.Fail(errors.New("broken"))), says("Well."))
	s.say("write")
	resume := s.entries(`{"approved":true}`)
	s.run(func(in *agui.RunAgentInput) { in.Resume = resume })
	write.wantRan(t, `{"document":"new"}`)
	if open := s.open(); len(open) != 0 {
		t.Errorf("open is %v", open)
	}
	s.shows(`{"document":"new"}`, `{"document":"new"}`)
	s.run(func(in *agui.RunAgentInput) { in.Resume = resume }).wants(t, "success")
	write.wantRan(t, `{"document":"new"}`)
	s.say("and now").wants(t, "success")
	s.agrees()
}

// T5: a run that somebody stops before it comes to the tool is over: nothing is
// run, nothing waits, and the conversation goes on.
func TestT5StoppedBeforeTheTool(t *testing.T) {
	write := records("write", "document:string")
	s := newStage(t, inMemory(), asking(), []tool.Tool{write}, proposes("c1", "new"), says("Well."))
	s.say("write")
	act, there := s.act, make(chan struct{})
	s.act = func(ctx context.Context, _ []*message.Message, _ ...agent.Option) updates {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			close(there)
			<-ctx.Done()
			yield(nil, context.Cause(ctx))
		}
	}
	in := s.post(func(in *agui.RunAgentInput) { in.Resume = s.entries(`{"approved":true}`) })
	r, err := s.begin(in)
	if err != nil {
		t.Fatal(err)
	}
	<-there
	r.Stop()
	s.read(r).wants(t, "cancelled")
	r.Wait()
	r.Leave()
	s.act = act
	if open := s.open(); len(open) != 0 {
		t.Errorf("open is %v", open)
	}
	s.shows(`{"document":"old"}`, `{"document":"old"}`)
	s.say("and now").wants(t, "success")
	write.wantRan(t)
	s.agrees()
}
