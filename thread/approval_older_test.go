package thread_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/run"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
)

// confirming is asking, in the way of older front ends.
func confirming() state.Config {
	cfg := asking()
	cfg.RequireConfirmation, cfg.ConfirmChanges = false, true
	return cfg
}

// confirms are the confirm_changes calls that nobody has answered in what the
// client holds.
func (s *stage) confirms() []string {
	var out []string
	answered := map[string]bool{}
	for _, m := range s.client.Messages() {
		if m.Role == agui.RoleTool {
			answered[m.ToolCallID] = true
		}
	}
	for _, m := range s.client.Messages() {
		for _, c := range m.ToolCalls {
			if c.Function.Name == run.ConfirmTool && !answered[c.ID] {
				out = append(out, c.ID)
			}
		}
	}
	return out
}

// results is the conversation's answers to a call.
func (s *stage) results(call string) []string {
	var out []string
	for _, m := range s.client.Messages() {
		if m.Role == agui.RoleTool && m.ToolCallID == call {
			out = append(out, m.Content.Text())
		}
	}
	return out
}

// confirm answers confirm_changes calls with tool messages, as a page does.
func (s *stage) confirm(texts map[string]string, more ...func(*agui.RunAgentInput)) played {
	s.t.Helper()
	return s.run(func(in *agui.RunAgentInput) {
		for call, text := range texts {
			in.Messages = append(in.Messages, agui.Message{ID: "answer-" + call, Role: agui.RoleTool, ToolCallID: call, Content: agui.Text(text)})
		}
		for _, f := range more {
			f(in)
		}
	})
}

// T5, G51: the older way of asking, event by event: the proposal, a placeholder
// for its result, a confirm_changes call that is left unanswered, and no
// interrupt; a stock client would refuse to go on without a resume.
func TestConfirmChanges(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*stage, string) played
		ran    bool
		result string
		state  string
	}{
		"accepted": {func(s *stage, id string) played { return s.confirm(map[string]string{id: `{"accepted":true}`}) },
			true, `Done: {"document":"new text"}`, "new text"},
		"accepted, with the step": {func(s *stage, id string) played {
			return s.confirm(map[string]string{id: `{"accepted":true,"steps":[{"description":"Execute write","status":"enabled"}]}`})
		}, true, `Done: {"document":"new text"}`, "new text"},
		"the step switched off": {func(s *stage, id string) played {
			return s.confirm(map[string]string{id: `{"accepted":true,"steps":[{"description":"Execute write","status":"disabled"}]}`})
		}, false, "The user rejected this call. It was not run, and nothing was changed.", "old"},
		"not accepted": {func(s *stage, id string) played { return s.confirm(map[string]string{id: `{"accepted":false}`}) },
			false, "The user rejected this call. It was not run, and nothing was changed.", "old"},
		"a message instead": {func(s *stage, _ string) played { return s.say("no, something else") },
			false, "The user did not approve this call. It was not run, and nothing was changed.", "old"},
		"a resume": {func(s *stage, id string) played {
			return s.run(func(in *agui.RunAgentInput) { in.Resume = resumes(id, `{"accepted":true}`) })
		}, true, `Done: {"document":"new text"}`, "new text"},
		"a resume that names the call": {func(s *stage, _ string) played {
			return s.run(func(in *agui.RunAgentInput) { in.Resume = resumes("c1", `{"approved":true}`) })
		}, true, `Done: {"document":"new text"}`, "new text"},
		"a resume that says no": {func(s *stage, id string) played {
			return s.run(func(in *agui.RunAgentInput) { in.Resume = resumes(id, `{"approved":false}`) })
		}, false, "The user rejected this call. It was not run, and nothing was changed.", "old"},
		"a resume that cancels": {func(s *stage, id string) played {
			return s.run(func(in *agui.RunAgentInput) {
				in.Resume = []agui.ResumeEntry{{InterruptID: id, Status: agui.ResumeCancelled}}
			})
		}, false, "The user did not approve this call. It was not run, and nothing was changed.", "old"},
		"approved, by resume and by its message at once": {func(s *stage, id string) played {
			done := s.confirm(map[string]string{id: `{"accepted":true}`}, func(in *agui.RunAgentInput) { in.Resume = resumes(id, `{"approved":true}`) })
			if got := s.results(id); len(got) != 1 {
				s.t.Errorf("T5: the confirm_changes call has the answers %q", got)
			}
			return done
		}, true, `Done: {"document":"new text"}`, "new text"},
		"edited": {func(s *stage, id string) played {
			return s.confirm(map[string]string{id: `{"accepted":true,"document":"mine"}`})
		}, true, `Done: {"document":"mine"}`, "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			each := onStores
			if strings.Contains(name, ",") || strings.Contains(name, "resume") { // the same on a store, otherwise asked for
				each = func(t *testing.T, test func(*testing.T, opener)) { test(t, inMemory()) }
			}
			each(t, func(t *testing.T, store opener) {
				write := records("write", "document:string")
				s := newStage(t, store, confirming(), []tool.Tool{write}, proposes("c1", "new text"), says("Well."), says("Next."))
				asked := s.say("write")
				if got := asked.shape(); got != "RUN_STARTED STATE_SNAPSHOT CUSTOM TOOL_CALL_START TOOL_CALL_END CUSTOM TOOL_CALL_RESULT TOOL_CALL_START TOOL_CALL_END STATE_SNAPSHOT MESSAGES_SNAPSHOT RUN_FINISHED" {
					t.Error(got)
				}
				ids := s.confirms()
				if len(ids) != 1 {
					t.Fatalf("confirm_changes calls %v", ids)
				}
				id := ids[0]
				end := asked[len(asked)-1].(*agui.RunFinished)
				if end.Outcome == nil || end.Outcome.Type != agui.OutcomeSuccess || fmt.Sprint(end.Outcome.PendingToolCallIDs) != "["+id+"]" {
					t.Errorf("outcome %+v", end.Outcome)
				}
				custom := all[*agui.Custom](asked)[1]
				if custom.Name != "function_approval_request" || custom.Value.String() != `{"id":"`+id+`","function_call":{"call_id":"c1","name":"write","arguments":{"document":"new text"}}}` {
					t.Errorf("%s %s", custom.Name, custom.Value)
				}
				starts := all[*agui.ToolCallStart](asked)
				if starts[1].ToolCallName != "confirm_changes" || starts[1].ParentMessageID == "" || starts[1].ParentMessageID == starts[0].ParentMessageID {
					t.Errorf("the confirm_changes call is %+v", starts[1])
				}
				args := all[*agui.ToolCallArgs](asked)
				if got := args[len(args)-1].Delta; got != `{"function_name":"write","function_call_id":"c1","function_arguments":{"document":"new text"},"steps":[{"description":"Execute write","status":"enabled"}]}` {
					t.Error(got)
				}
				if got := s.results("c1"); len(got) != 1 || got[0] != "Waiting for approval." {
					t.Errorf("the call's result is %q", got)
				}
				if open := s.open(); len(open) != 1 || open[0] != id {
					t.Errorf("open is %v, want %s: hydrate lists it", open, id)
				}
				write.wantRan(t)
				s.shows(`{"document":"old"}`, `{"document":"new text"}`)

				s.restart()
				before := s.client.State()
				s.reload()
				if s.pending != nil || !jsondoc.Equal(s.client.State(), before) {
					t.Errorf("an attach shows %s and offers %v: the older way has no interrupts", s.client.State(), s.pending)
				}
				s.prompt()
				placeholder := all[*agui.ToolCallResult](asked)[0].MessageID
				done := c.answer(s, id)
				done.wants(t, "success")
				if c.ran {
					write.wantRan(t, strings.TrimPrefix(c.result, "Done: "))
				} else {
					write.wantRan(t)
				}
				s.shows(`{"document":"`+c.state+`"}`, `{"document":"`+c.state+`"}`)
				if got := s.results("c1"); len(got) != 1 || got[0] != c.result {
					t.Errorf("the call's result is %q, want %q", got, c.result)
				}
				for _, m := range s.client.Messages() {
					if m.ToolCallID == "c1" && m.ID != placeholder {
						t.Errorf("the result is message %s, not the placeholder %s", m.ID, placeholder)
					}
				}
				for _, r := range all[*agui.ToolCallResult](done) {
					if r.ToolCallID != id {
						t.Errorf("a second result of %s", r.ToolCallID)
					}
				}
				if n := done.count(agui.TypeMessagesSnapshot); n != 1 && !(n == 2 && name == "edited") { // the call as it ran, and its result
					t.Error(done.types())
				}
				if got := s.confirms(); len(got) != 0 {
					t.Errorf("the confirm_changes call has no answer in the conversation: %v", got)
				}
				told := s.prompt()
				if strings.Contains(told, "confirm_changes") || strings.Contains(told, "Waiting for") || strings.Count(told, c.result) != 1 {
					t.Errorf("the model was told\n%s", told)
				}
				// H1, H2: the page repeats its whole history, three times, and goes on.
				for i := range 3 {
					s.run(func(in *agui.RunAgentInput) { in.RunID = fmt.Sprint("again", i) }).wants(t, "success")
				}
				if got := s.prompt(); got != "" {
					t.Errorf("a history without news asked the model:\n%s", got)
				}
				s.say("and now").wants(t, "success")
				if n := len(write.ran()); n > 1 || !c.ran && n > 0 {
					t.Errorf("H1: it ran %d times", n)
				}
				s.shows(`{"document":"`+c.state+`"}`, `{"document":"`+c.state+`"}`)
			})
		})
	}
}

func resumes(id, payload string) []agui.ResumeEntry {
	return []agui.ResumeEntry{{InterruptID: id, Status: agui.ResumeResolved, Payload: jsondoc.MustParse(payload)}}
}

// The dojo's page writes what its editor shows into the state: the new document
// when it is confirmed, the old one when it is not. Neither is an edit of its
// own, and the decision stands.
func TestConfirmChangesDojo(t *testing.T) {
	for name, c := range map[string]struct{ accepted, posted, want string }{
		"confirm": {"true", "new text", "new text"},
		"reject":  {"false", "old", "old"},
		// An editor that shows Markdown as plain text: what the person saw.
		"confirm, as plain text": {"true", "new  text", "new  text"},
	} {
		t.Run(name, func(t *testing.T) {
			write := records("write", "document:string")
			cfg := confirming()
			cfg.Initial = jsondoc.MustParse(`{"document":""}`)
			s := newStage(t, inMemory(), cfg, []tool.Tool{write},
				proposes("c0", "old"), says("First."), proposes("c1", "new text"), says("Well."), says("Next."))
			s.say("write")
			s.confirm(map[string]string{s.confirms()[0]: `{"accepted":true}`})
			s.shows(`{"document":"old"}`, `{"document":"old"}`)
			s.say("again")
			s.shows(`{"document":"old"}`, `{"document":"new text"}`)
			done := s.confirm(map[string]string{s.confirms()[0]: `{"accepted":` + c.accepted + `}`}, func(in *agui.RunAgentInput) {
				in.State = jsondoc.MustParse(`{"document":"` + c.posted + `"}`)
			})
			done.wants(t, "success")
			s.shows(`{"document":"`+c.want+`"}`, `{"document":"`+c.want+`"}`)
			for _, e := range all[*agui.StateSnapshot](done) {
				if name == "reject" && e.Snapshot.String() != `{"document":"old"}` {
					t.Errorf("the rejected document came back: %s", e.Snapshot)
				}
			}
			s.say("and now").wants(t, "success")
			s.shows(`{"document":"`+c.want+`"}`, `{"document":"`+c.want+`"}`)
		})
	}
}

// Two writes at once are asked about side by side; each answer goes to its own,
// also when they come one after the other, and a message is a no to what is
// left.
func TestConfirmChangesTwo(t *testing.T) {
	for name, c := range map[string]struct {
		first, second string // answers; empty: none
		text          string
		ran           []string
		want          string // outcome
		left          int    // open after
	}{
		"yes, yes":       {first: "true", second: "true", ran: []string{`{"document":"first"}`, `{"document":"second"}`}, want: "success"},
		"yes, no":        {first: "true", second: "false", ran: []string{`{"document":"first"}`}, want: "success"},
		"no, yes":        {first: "false", second: "true", ran: []string{`{"document":"second"}`}, want: "success"},
		"no, no":         {first: "false", second: "false", want: "success"},
		"only one":       {first: "true", want: agui.CodeResumeMissingInterrupt, left: 2},
		"one, a text":    {first: "true", text: "and the other not", ran: []string{`{"document":"first"}`}, want: "success"},
		"none, a text":   {text: "neither", want: "success"},
		"both, a text":   {first: "true", second: "true", text: "thanks", ran: []string{`{"document":"first"}`, `{"document":"second"}`}, want: "success"},
		"nothing at all": {want: "success", left: 2},
	} {
		t.Run(name, func(t *testing.T) {
			write := records("write", "document:string")
			s := newStage(t, inMemory(), confirming(), []tool.Tool{write}, agenttest.Turn(
				agenttest.Call("c1", "write", `{"document":"first"}`), agenttest.Call("c2", "write", `{"document":"second"}`),
			), says("Well."), says("Next."))
			s.say("write twice")
			ids := s.confirms()
			if len(ids) != 2 {
				t.Fatalf("confirm_changes calls %v", ids)
			}
			answers := map[string]string{}
			for i, a := range []string{c.first, c.second} {
				if a != "" {
					answers[ids[i]] = `{"accepted":` + a + `}`
				}
			}
			done := s.confirm(answers, func(in *agui.RunAgentInput) {
				if c.text != "" {
					in.Messages = append(in.Messages, s.user(c.text))
				}
			})
			done.wants(t, c.want)
			write.wantRan(t, c.ran...)
			if n := len(s.open()); n != c.left {
				t.Errorf("%d questions are open, want %d", n, c.left)
			}
			if c.want == agui.CodeResumeMissingInterrupt {
				// The second dialogue is answered: the page's history has both.
				s.confirm(map[string]string{ids[1]: `{"accepted":false}`}).wants(t, "success")
				write.wantRan(t, `{"document":"first"}`)
			}
			if c.left == 0 || c.want != "success" {
				s.say("and now").wants(t, "success")
				s.agrees()
			}
		})
	}
}

// What a page cannot take back must not block the conversation for ever: a tool
// message is in its history with every later run. One that does not say yes is a
// no.
func TestConfirmChangesUnclear(t *testing.T) {
	for name, text := range map[string]string{
		"empty":          "",
		"an error":       "Error: the dialogue was closed",
		"a word":         "CONFIRM",
		"no verdict":     `{}`,
		"a wrong type":   `{"accepted":"true"}`,
		"a list":         `[]`,
		"yes and no":     `{"accepted":true,"approved":false}`,
		"unfit edit":     `{"accepted":true,"document":5}`,
		"unknown member": `{"accepted":true,"colour":"red"}`,
		"null":           `null`,
	} {
		t.Run(name, func(t *testing.T) {
			write := records("write", "document:string")
			s := newStage(t, inMemory(), confirming(), []tool.Tool{write}, proposes("c1", "new"), says("Well."), says("Next."))
			s.say("write")
			s.confirm(map[string]string{s.confirms()[0]: text}).wants(t, "success")
			write.wantRan(t)
			s.shows(`{"document":"old"}`, `{"document":"old"}`)
			if len(s.open()) != 0 {
				t.Error("it is still open")
			}
			s.say("and now").wants(t, "success")
			write.wantRan(t)
			s.agrees()
		})
	}
}

// By a resume, which a client can take back, an unclear answer is told as it is
// everywhere, and the question stays.
func TestConfirmChangesUnclearResume(t *testing.T) {
	write := records("write", "document:string")
	s := newStage(t, inMemory(), confirming(), []tool.Tool{write}, proposes("c1", "new"), says("Well."))
	s.say("write")
	id := s.confirms()[0]
	for payload, want := range map[string]string{
		`{}`: agui.CodeResumeInvalid, `{"accepted":true,"document":5}`: agui.CodeResumeInvalidResponse,
	} {
		s.run(func(in *agui.RunAgentInput) { in.Resume = resumes(id, payload) }).wants(t, want)
	}
	s.run(func(in *agui.RunAgentInput) { in.Resume = resumes("nope", `{"accepted":true}`) }).wants(t, agui.CodeResumeNotFound)
	write.wantRan(t)
	s.confirm(map[string]string{id: `{"accepted":true}`}).wants(t, "success")
	write.wantRan(t, `{"document":"new"}`)
}

// The tool of a confirmed call fails: the model hears of it, in the place of the
// placeholder, and the document stays.
func TestConfirmChangesToolFails(t *testing.T) {
	write := records("write", "document:string")
	write.do = func(context.Context, string) (any, error) { return nil, errors.New("secret: disk full") }
	cfg := confirming()
	cfg.Confirmation = state.DocumentWriterConfirmation{}
	s := newStage(t, inMemory(), cfg, []tool.Tool{write}, proposes("c1", "new"), says("It did not work."))
	s.say("write")
	s.prompt()
	s.confirm(map[string]string{s.confirms()[0]: `{"accepted":true}`}).wants(t, "success")
	s.shows(`{"document":"old"}`, `{"document":"old"}`)
	if got := s.results("c1"); len(got) != 1 || strings.Contains(got[0], "secret") || got[0] == "Waiting for approval." {
		t.Errorf("the result is %q", got)
	}
	if got := s.prompt(); got == "" || strings.Contains(got, "Waiting") {
		t.Errorf("the model was told %q", got)
	}
}
