package thread_test

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
)

// asking is the configuration of an agent that asks before it writes.
func asking() state.Config {
	return state.Config{
		Initial:             jsondoc.MustParse(`{"document":"old"}`),
		Predict:             map[string]state.Prediction{"document": {Tool: "write", Argument: "document"}},
		RequireConfirmation: true,
	}
}

// proposes is a turn that calls write.
func proposes(call, text string) agenttest.Script {
	return agenttest.Turn(agenttest.Call(call, "write", `{"document":"`+text+`"}`))
}

func says(text string) agenttest.Script { return agenttest.Turn(agenttest.Text(text)) }

// T5, S3, G51, G52: what is proposed streams, the run pauses before the tool,
// and approved it runs once, against the call that was shown.
func TestT5Approve(t *testing.T) {
	onStores(t, func(t *testing.T, store opener) {
		write := records("write", "document:string")
		cfg := asking()
		cfg.ConfirmWithin = 10 * time.Minute
		s := newStage(t, store, cfg, []tool.Tool{write}, proposes("c1", "new text"), says("Done."))

		began := time.Now()
		asked := s.say("write")
		if got := asked.shape(); asked.count(agui.TypeStateDelta) == 0 || got != "RUN_STARTED STATE_SNAPSHOT CUSTOM TOOL_CALL_START TOOL_CALL_END STATE_SNAPSHOT MESSAGES_SNAPSHOT RUN_FINISHED" {
			t.Error(got)
		}
		write.wantRan(t)
		s.shows(`{"document":"old"}`, `{"document":"new text"}`)
		if len(s.pending) != 1 {
			t.Fatalf("%d interrupts, want one", len(s.pending))
		}
		i := s.pending[0]
		if i.Reason != "tool_call" || i.ToolCallID != "c1" || i.Message != "Approve the changes that write proposes?" {
			t.Errorf("the interrupt is %+v", i)
		}
		if got, _ := i.ResponseSchema.At("/required/0"); got.Str() != "approved" {
			t.Errorf("response schema %s", i.ResponseSchema)
		}
		if got, _ := i.Metadata.At("/agent_framework/function_call"); got.String() != `{"call_id":"c1","name":"write","arguments":{"document":"new text"}}` {
			t.Errorf("metadata %s", i.Metadata)
		}
		if at, err := time.Parse(time.RFC3339, i.ExpiresAt); err != nil || at.Before(began.Add(cfg.ConfirmWithin-time.Second)) || at.After(time.Now().Add(cfg.ConfirmWithin)) {
			t.Errorf("it expires at %q: %v", i.ExpiresAt, err)
		}
		said := s.client.Messages()
		if len(said) != 2 || said[1].ToolCalls[0].Function.Arguments != `{"document":"new text"}` {
			t.Errorf("messages %+v", said)
		}

		s.restart() // on a durable store, or in one program: the same
		s.prompt()
		done := s.answer(`{"approved":true}`)
		done.wants(t, "success")
		if got := done.shape(); got != "RUN_STARTED STATE_SNAPSHOT CUSTOM TOOL_CALL_RESULT STATE_SNAPSHOT TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED" {
			t.Error(got)
		}
		if r := all[*agui.ToolCallResult](done)[0]; r.ToolCallID != "c1" || r.Content.Text() != `Done: {"document":"new text"}` {
			t.Errorf("result %+v", r)
		}
		write.wantRan(t, `{"document":"new text"}`)
		s.shows(`{"document":"new text"}`, `{"document":"new text"}`)
		if open := s.open(); len(open) != 0 {
			t.Errorf("still open: %v", open)
		}
		if got := s.prompt(); got == "" {
			t.Error("the model was not asked again")
		}
	})
}

// S3, S2: rejected or cancelled, the proposal goes from the wire with the run's
// first snapshot, the model is told, and a client that posts the rejected value
// back does not bring it back.
func TestT5RejectOrCancel(t *testing.T) {
	for name, payload := range map[string]string{"rejected": `{"approved":false}`, "cancelled": ""} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, store opener) {
				write := records("write", "document:string")
				s := newStage(t, store, asking(), []tool.Tool{write}, proposes("c1", "new"), says("All right."), says("Yes?"))
				s.say("write")
				s.restart()
				s.prompt()
				posted := s.client.State() // what is shown, the proposal included
				done := s.answer(payload)
				done.wants(t, "success")
				if got := done.shape(); got != "RUN_STARTED STATE_SNAPSHOT CUSTOM TOOL_CALL_RESULT TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED" {
					t.Error(got)
				}
				if posted.String() != `{"document":"new"}` {
					t.Errorf("the client posted %s", posted)
				}
				if first := all[*agui.StateSnapshot](done)[0]; first.Snapshot.String() != `{"document":"old"}` {
					t.Errorf("the first snapshot shows %s", first.Snapshot)
				}
				write.wantRan(t)
				s.shows(`{"document":"old"}`, `{"document":"old"}`)
				if got := s.prompt(); !contains(got, `-> The user`, `not run`, `{"document":"old"}`) {
					t.Errorf("the model was told:\n%s", got)
				}
				// A page that still has the rejected value, and posts it.
				s.run(func(in *agui.RunAgentInput) {
					in.State = jsondoc.MustParse(`{"document":"old","other":1}`)
					in.Messages = append(in.Messages, s.user("and now"))
				}).wants(t, "success")
				s.shows(`{"document":"old","other":1}`, `{"document":"old","other":1}`)
			})
		})
	}
}
