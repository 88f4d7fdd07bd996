package thread_test

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/run"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/tool"
)

// H4, H12, T5: what is open is offered again wherever a client may look after it
// has forgotten: by an attach, by a post without news, by a reload of the
// program; with the same id, text, schema and time. Another thread shows nothing
// of it.
func TestH4OfferedAgain(t *testing.T) {
	onStores(t, func(t *testing.T, store opener) {
		write := records("write", "document:string")
		cfg := expiring()
		s := newStage(t, store, cfg, []tool.Tool{write}, agenttest.Turn(
			agenttest.Call("c1", "write", `{"document":"first"}`), agenttest.Call("c2", "write", `{"document":"second"}`),
		), says("Well."))
		s.say("write")
		text := func(list []agui.Interrupt) string {
			var out []byte
			for _, i := range list {
				out = append(i.AppendJSON(out), '\n')
			}
			return string(out)
		}
		want := text(s.pending)
		again := func(where string) {
			t.Helper()
			if got := text(s.pending); got != want {
				t.Errorf("%s offers\n%swant\n%s", where, got, want)
			}
			s.shows(`{"document":"old"}`, `{"document":"second"}`)
			s.agrees()
		}
		s.run(nil).wants(t, "interrupt")
		again("a post without news")
		s.run(func(in *agui.RunAgentInput) { in.Messages, in.State = nil, jsondoc.Value{} }).wants(t, "interrupt")
		s.reload()
		again("an attach")
		s.restart()
		s.reload()
		again("an attach after a restart")
		th := s.thread()
		if got := text(run.Interrupts(th.Snapshot().Open)); got != want {
			t.Errorf("the snapshot has\n%s", got)
		}
		th.Close()
		s.run(nil).wants(t, "interrupt")
		again("a post without news after a restart")
		pending := s.pending
		for range 5 { // a page that does not know what to do
			s.say("hello?").wants(t, agui.CodeResumeRequired)
			s.reload()
			again("an attach after a refusal")
		}
		if _, err := s.edit(`[{"op":"add","path":"/other","value":1}]`); err != nil {
			t.Fatal(err)
		}
		s.restart()
		s.reload()
		if got := text(s.pending); got != want {
			t.Errorf("after an edit it offers\n%s", got)
		}
		if fmt.Sprint(s.open()) != fmt.Sprint([]string{pending[0].ID, pending[1].ID}) {
			t.Errorf("open is %v", s.open())
		}
		elsewhere, err := s.threads.Open(t.Context(), thread.Key{Agent: "a", ID: "other"}, s.model)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(elsewhere.Snapshot().Open); n != 0 {
			t.Errorf("H12: another thread shows %d of it", n)
		}
		elsewhere.Close()
		write.wantRan(t)
		s.answer(`{"approved":true}`, "").wants(t, "success")
		write.wantRan(t, `{"document":"first"}`)
		s.shows(`{"document":"first","other":1}`, `{"document":"first","other":1}`)
	})
}

// T5, S3: a run with a proposal is not compacted, however much is said behind
// it: what it proposes is the same after a restart.
func TestT5ProposalBehindOldRuns(t *testing.T) {
	onStores(t, func(t *testing.T, store opener) {
		write := records("write", "document:string")
		turns := []agenttest.Script{says("Hi."), says("Hi."), says("Hi."), proposes("c1", "new"), says("Well.")}
		s := newStage(t, store, asking(), []tool.Tool{write}, turns...)
		for range 3 {
			s.say("hi")
		}
		s.say("write")
		for i := range 5 {
			if _, err := s.edit(fmt.Sprintf(`[{"op":"add","path":"/n","value":%d}]`, i)); err != nil {
				t.Fatal(err)
			}
			s.reload()
			s.say("and?").wants(t, agui.CodeResumeRequired)
		}
		s.restart()
		s.reload()
		s.shows(`{"document":"old","n":4}`, `{"document":"new","n":4}`)
		s.answer(`{"approved":true}`).wants(t, "success")
		write.wantRan(t, `{"document":"new"}`)
		s.shows(`{"document":"new","n":4}`, `{"document":"new","n":4}`)
		// And when it is decided and compacted, it stays decided.
		for i := range 4 {
			s.brain = agenttest.New(says("Hi."), says("Hi."))
			s.act = runOf(s.brain.Agent(agentConfig(s.tools)))
			s.say(fmt.Sprint("hi ", i))
		}
		s.restart()
		s.reload()
		s.run(func(in *agui.RunAgentInput) { in.Resume = resumes("c1", `{"approved":true}`) }).wants(t, "success")
		s.run(func(in *agui.RunAgentInput) { in.Resume = resumes("c1", `{"approved":false}`) }).wants(t, agui.CodeResumeNotFound)
		write.wantRan(t, `{"document":"new"}`)
	})
}

// T7: a person who cancels and asks otherwise from further back leaves the call
// behind; the approved one is not left behind by a shorter history.
func TestT7BranchWithAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		payload string
		cut     bool
	}{
		"cancelled": {"", true}, "rejected": {`{"approved":false}`, true}, "approved": {`{"approved":true}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			write := records("write", "document:string")
			s := newStage(t, inMemory(), asking(), []tool.Tool{write}, says("Hi."), proposes("c1", "new"), says("Well."), says("Next."))
			s.say("hi")
			s.say("write")
			s.run(func(in *agui.RunAgentInput) {
				in.Resume = s.entries(c.payload)
				in.Messages = append(in.Messages[:2:2], s.user("write it otherwise"))
			}).wants(t, "success")
			s.reload()
			var called bool
			for _, m := range s.client.Messages() {
				called = called || len(m.ToolCalls) > 0
			}
			if called == c.cut {
				t.Errorf("the call is in the conversation: %v, want %v", called, !c.cut)
			}
			if c.cut {
				write.wantRan(t)
				s.shows(`{"document":"old"}`, `{"document":"old"}`)
			} else {
				write.wantRan(t, `{"document":"new"}`)
				s.shows(`{"document":"new"}`, `{"document":"new"}`)
			}
			s.say("and now").wants(t, "success")
			s.agrees()
		})
	}
}
