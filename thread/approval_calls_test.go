package thread_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
)

// T5: a tool that always needs approval waits for it on a thread that keeps no
// state, and there are no state events then.
func TestT5ApprovalWithoutState(t *testing.T) {
	for name, c := range map[string]struct{ payload, ran, told string }{
		"approved": {`{"approved":true}`, `{"file":"x"}`, `-> Done: {"file":"x"}`},
		"accepted": {`{"accepted":true}`, `{"file":"x"}`, `-> Done: {"file":"x"}`},
		"rejected": {`{"approved":false}`, "", "-> The user rejected this call."},
		"cancel":   {"", "", "-> The user did not approve this call."},
	} {
		t.Run(name, func(t *testing.T) {
			remove := records("remove", "file:string")
			s := newStage(t, inMemory(), state.Config{}, []tool.Tool{tool.ApprovalRequiredFunc(remove)},
				agenttest.Turn(agenttest.Text("Shall I?"), agenttest.Call("c1", "remove", `{"file":"x"}`)), says("So be it."))
			asked := s.say("remove x")
			asked.wants(t, "interrupt")
			if got := asked.shape(); got != "RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END TOOL_CALL_START TOOL_CALL_END MESSAGES_SNAPSHOT RUN_FINISHED" {
				t.Error(got)
			}
			if got := s.pending[0].Message; got != "Run remove?" {
				t.Errorf("the question is %q", got)
			}
			s.prompt()
			done := s.answer(c.payload)
			done.wants(t, "success")
			if got := done.shape(); got != "RUN_STARTED TOOL_CALL_RESULT TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED" {
				t.Error(got)
			}
			if ran := strings.Join(remove.ran(), " "); ran != c.ran {
				t.Errorf("ran with %q, want %q", ran, c.ran)
			}
			if got := s.prompt(); !strings.Contains(got, c.told) {
				t.Errorf("the model was told\n%s", got)
			}
			if s.pending != nil || len(s.open()) != 0 {
				t.Error("something is still open")
			}
		})
	}
}

// T5, H7: several calls of one turn, two of them of one tool, and one that needs
// no approval: that one runs at once, the others wait, each decision goes to its
// own call, and the model is asked again when all have a result.
func TestT5SeveralCalls(t *testing.T) {
	for name, c := range map[string]struct {
		payloads []string
		ran      []string
		state    string
		told     []string
	}{
		"both": {[]string{`{"approved":true}`, `{"approved":true}`},
			[]string{`{"document":"first"}`, `{"document":"second"}`}, `{"document":"second"}`, []string{`Done: {"document":"first"}`, `Done: {"document":"second"}`}},
		"the first": {[]string{`{"approved":true}`, `{"approved":false}`},
			[]string{`{"document":"first"}`}, `{"document":"first"}`, []string{`Done: {"document":"first"}`, "The user rejected this call"}},
		"the second": {[]string{"", `{"approved":true}`},
			[]string{`{"document":"second"}`}, `{"document":"second"}`, []string{"The user did not approve this call", `Done: {"document":"second"}`}},
		"none": {[]string{`{"approved":false}`, `{"approved":false}`},
			nil, `{"document":"old"}`, []string{"The user rejected this call"}},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, store opener) {
				write, look := records("write", "document:string"), records("look")
				s := newStage(t, store, asking(), []tool.Tool{write, look},
					agenttest.Turn(agenttest.Calls(
						agenttest.CallSpec{ID: "c1", Name: "write", Arguments: `{"document":"first"}`},
						agenttest.CallSpec{ID: "c2", Name: "look", Arguments: `{}`},
						agenttest.CallSpec{ID: "c3", Name: "write", Arguments: `{"document":"second"}`},
					)), says("Done."), says("Yes."))
				asked := s.say("write")
				asked.wants(t, "interrupt")
				look.wantRan(t, `{}`)
				write.wantRan(t)
				if len(s.pending) != 2 || s.pending[0].ToolCallID != "c1" || s.pending[1].ToolCallID != "c3" {
					t.Fatalf("pending %+v", s.pending)
				}
				s.shows(`{"document":"old"}`, `{"document":"second"}`)
				if len(s.brain.Prompts()) != 1 {
					t.Error("the model was asked again before the decision")
				}

				s.restart()
				s.prompt()
				done := s.answer(c.payloads...)
				done.wants(t, "success")
				write.wantRan(t, c.ran...)
				look.wantRan(t, `{}`)
				s.shows(c.state, c.state)
				if n := done.count(agui.TypeToolCallStart); n != 0 {
					t.Errorf("%d calls were started again", n)
				}
				if got := s.prompt(); !contains(got, c.told...) || !strings.Contains(got, `Done: {}`) {
					t.Errorf("the model was told\n%s", got)
				}
				// H2: the conversation is whole in the next turn too; the model
				// refuses one that is not.
				s.say("and?").wants(t, "success")
				s.agrees()
			})
		})
	}
}

// T5, G53, H17: what a person writes instead of the proposed arguments is what
// the tool runs with and what becomes state, from the first snapshot on.
func TestT5Edited(t *testing.T) {
	for name, c := range map[string]struct{ payload, want string }{
		"all":             {`{"approved":true,"editedArgs":{"document":"mine"}}`, "mine"},
		"one":             {`{"accepted":true,"document":"mine"}`, "mine"},
		"all before one":  {`{"approved":true,"document":"no","editedArgs":{"document":"mine"}}`, "mine"},
		"the same":        {`{"approved":true,"editedArgs":{"document":"new"}}`, "new"},
		"in a JSON text":  {`"{\"approved\":true,\"document\":\"mine\"}"`, "mine"},
		"quotes and more": {`{"approved":true,"document":"\"\\ 粥 9007199254740993"}`, `\"\\ 粥 9007199254740993`},
	} {
		t.Run(name, func(t *testing.T) {
			write := records("write", "document:string")
			s := newStage(t, inMemory(), asking(), []tool.Tool{write}, proposes("c1", "new"), says("Done."), says("Next."))
			s.say("write")
			s.prompt()
			done := s.answer(c.payload)
			done.wants(t, "success")
			want := `{"document":"` + c.want + `"}`
			write.wantRan(t, want)
			s.shows(want, want)
			if first := all[*agui.StateSnapshot](done)[0]; first.Snapshot.String() != want {
				t.Errorf("the first snapshot shows %s", first.Snapshot)
			}
			// The model, this client and those that come later read the call as it ran.
			call := "write(" + want + ")"
			if got := s.prompt(); !strings.Contains(got, want) || want != `{"document":"new"}` && strings.Contains(got, `{"document":"new"}`) {
				t.Errorf("the model was told:\n%s", got)
			}
			for i, when := range []string{"now", "after a reload"} {
				if i > 0 {
					s.reload()
				}
				var said []string
				for _, m := range s.client.Messages() {
					for _, c := range m.ToolCalls {
						said = append(said, c.Function.Name+"("+c.Function.Arguments+")")
					}
				}
				if !slices.Equal(said, []string{call}) {
					t.Errorf("%s the client has the calls %v, want %s", when, said, call)
				}
			}
			s.say("and now")
			if got := s.prompt(); !strings.Contains(got, want) {
				t.Errorf("later the model was told:\n%s", got)
			}
		})
	}
}

// A decision has a text of its own, or the model speaks: the texts of a strategy,
// each once; the model where it has none, where the tool failed, and where the
// person asked something.
func TestConfirmationTexts(t *testing.T) {
	texts := state.ConfirmationTexts{Ask: "Shall I?", Yes: "Written.", No: "Left alone."}
	for name, c := range map[string]struct {
		words    state.ConfirmationStrategy
		payloads []string
		fails    bool
		text     string // beside the answer
		said     string
		asked    bool // the model
	}{
		"approved":            {words: texts, payloads: []string{`{"approved":true}`, `{"approved":true}`}, said: "Written."},
		"rejected":            {words: texts, payloads: []string{`{"approved":false}`, ""}, said: "Left alone."},
		"one of each":         {words: texts, payloads: []string{`{"approved":true}`, `{"approved":false}`}, said: "Written.\n\nLeft alone."},
		"no text for a yes":   {words: state.ConfirmationTexts{No: "Left alone."}, payloads: []string{`{"approved":true}`, `{"approved":true}`}, said: "Model.", asked: true},
		"and for one of two":  {words: state.ConfirmationTexts{No: "Left alone."}, payloads: []string{`{"approved":true}`, `{"approved":false}`}, said: "Model.", asked: true},
		"but for a no":        {words: state.ConfirmationTexts{No: "Left alone."}, payloads: []string{`{"approved":false}`, `{"approved":false}`}, said: "Left alone."},
		"no strategy":         {payloads: []string{`{"approved":true}`, `{"approved":false}`}, said: "Model.", asked: true},
		"the tool fails":      {words: texts, payloads: []string{`{"approved":true}`, `{"approved":true}`}, fails: true, said: "Model.", asked: true},
		"with a new question": {words: texts, payloads: []string{`{"approved":true}`, `{"approved":true}`}, text: "why?", said: "Model.", asked: true},
		"the default":         {words: state.DefaultConfirmation{}, payloads: []string{`{"approved":true}`, `{"approved":true}`}, said: "The changes have been made."},
	} {
		t.Run(name, func(t *testing.T) {
			write := records("write", "document:string")
			if c.fails {
				write.do = func(context.Context, string) (any, error) { return nil, errors.New("disk full") }
			}
			cfg := asking()
			cfg.Confirmation = c.words
			s := newStage(t, inMemory(), cfg, []tool.Tool{write}, agenttest.Turn(
				agenttest.Call("c1", "write", `{"document":"first"}`), agenttest.Call("c2", "write", `{"document":"second"}`),
			), says("Model."), says("Next."))
			s.say("write")
			if _, is := c.words.(state.ConfirmationTexts); is && c.words == texts && s.pending[0].Message != "Shall I?" {
				t.Errorf("the question is %q", s.pending[0].Message)
			}
			done := s.run(func(in *agui.RunAgentInput) {
				in.Resume = s.entries(c.payloads...)
				if c.text != "" {
					in.Messages = append(in.Messages, s.user(c.text))
				}
			})
			done.wants(t, "success")
			var said strings.Builder
			for _, e := range all[*agui.TextMessageContent](done) {
				said.WriteString(e.Delta)
			}
			if said.String() != c.said {
				t.Errorf("%q was said, want %q", said.String(), c.said)
			}
			if asked := len(s.brain.Prompts()) > 1; asked != c.asked {
				t.Errorf("the model was asked: %v, want %v", asked, c.asked)
			}
			if c.fails {
				s.shows(`{"document":"old"}`, `{"document":"old"}`)
			}
			// H2: what was said is part of a conversation that a model takes.
			s.say("next").wants(t, "success")
			s.agrees()
		})
	}
}

// H10: what a person says beside an answer is said, and the approved tool runs
// all the same; so it does where the page puts a placeholder for its result into
// the history, or answers under the paused run's id.
func TestH10ApprovedToolRuns(t *testing.T) {
	for name, change := range map[string]func(*stage, *agui.RunAgentInput){
		"new text":               func(s *stage, in *agui.RunAgentInput) { in.Messages = append(in.Messages, s.user("and more")) },
		"empty text":             func(s *stage, in *agui.RunAgentInput) { in.Messages = append(in.Messages, s.user("")) },
		"the paused run's id":    func(s *stage, in *agui.RunAgentInput) { in.RunID = "r1" },
		"a parent run":           func(s *stage, in *agui.RunAgentInput) { in.ParentRunID = "r1" },
		"only the first message": func(s *stage, in *agui.RunAgentInput) { in.Messages = in.Messages[:1] },
		"no messages":            func(s *stage, in *agui.RunAgentInput) { in.Messages = nil },
		"no messages, no state":  func(s *stage, in *agui.RunAgentInput) { in.Messages, in.State = nil, jsondoc.Value{} },
		"only the new message":   func(s *stage, in *agui.RunAgentInput) { in.Messages = []agui.Message{s.user("and more")} },
		"an older one and a new": func(s *stage, in *agui.RunAgentInput) { in.Messages = append(in.Messages[:1:1], s.user("and more")) },
		"H18 a placeholder":      func(s *stage, in *agui.RunAgentInput) { in.Messages = append(in.Messages, result("c1", "Approved.")) },
		"H18 the payload, posted": func(s *stage, in *agui.RunAgentInput) {
			in.Messages = append(in.Messages, result("c1", `{"approved":true}`))
		},
		"a placeholder and text": func(s *stage, in *agui.RunAgentInput) {
			in.Messages = append(in.Messages, result("c1", ""), s.user("and more"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			write := records("write", "document:string")
			s := newStage(t, inMemory(), asking(), []tool.Tool{write}, proposes("c1", "new"), says("Done."), says("Yes."))
			s.say("write")
			entries := s.entries(`{"approved":true}`)
			s.run(func(in *agui.RunAgentInput) {
				in.Resume = entries
				change(s, in)
			}).wants(t, "success")
			write.wantRan(t, `{"document":"new"}`)
			if committed, _ := s.state(); committed != `{"document":"new"}` {
				t.Errorf("the state is %s", committed)
			}
			s.reload()
			s.say("and?").wants(t, "success")
			write.wantRan(t, `{"document":"new"}`)
			s.agrees()
		})
	}
}

func result(call, text string) agui.Message {
	return agui.Message{ID: "posted-" + call, Role: agui.RoleTool, ToolCallID: call, Content: agui.Text(text)}
}

// agrees checks that the client has the conversation that the log has (H3).
func (s *stage) agrees() {
	s.t.Helper()
	th := s.thread()
	defer th.Close()
	write := func(list []agui.Message) string {
		var out strings.Builder
		for _, m := range list {
			out.Write(m.AppendJSON(nil))
			out.WriteByte('\n')
		}
		return out.String()
	}
	if got, want := write(s.client.Messages()), write(th.Messages()); got != want {
		s.t.Errorf("H3: the client has\n%swant\n%s", got, want)
	}
}

// A tool that a middleware brings is asked about like one of the agent's own: it
// must not run because nobody knew of it before.
func TestT5ToolOfAMiddleware(t *testing.T) {
	for name, always := range map[string]bool{"predicted": false, "always": true} {
		t.Run(name, func(t *testing.T) {
			write := records("write", "document:string")
			var brought tool.Tool = write
			cfg := asking()
			if always {
				brought, cfg = tool.ApprovalRequiredFunc(write), state.Config{}
			}
			s := newStage(t, inMemory(), cfg, nil, proposes("c1", "new"), says("Done."))
			s.act = runOf(s.brain.Agent(agent.Config{Middlewares: []agent.Middleware{bring(brought)}}))
			s.say("write").wants(t, "interrupt")
			write.wantRan(t)
			s.answer(`{"approved":true}`).wants(t, "success")
			write.wantRan(t, `{"document":"new"}`)
		})
	}
}

// bring is a middleware that offers one tool more.
func bring(more tool.Tool) agent.Middleware {
	return agent.MiddlewareFunc(func(next agent.RunFunc, ctx context.Context, ms []*message.Message, opts ...agent.Option) updates {
		return next(ctx, ms, append(opts, agent.WithTool(more))...)
	})
}
