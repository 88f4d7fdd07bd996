package thread_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
)

// asksToo is an agent that asks a question of its own in its first run, beside
// what it does otherwise.
func asksToo(next agent.RunFunc, id string, expires time.Time) agent.RunFunc {
	asked := false
	return func(ctx context.Context, ms []*message.Message, opts ...agent.Option) updates {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			for u, err := range next(ctx, ms, opts...) {
				if !yield(u, err) {
					return
				}
			}
			if asked {
				return
			}
			asked = true
			yield(&agent.ResponseUpdate{Contents: message.Contents{&message.InterruptRequestContent{
				ID: id, Message: "How many?", Expires: expires,
				ResponseSchema: jsondoc.MustParse(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`),
			}}}, nil)
		}
	}
}

// clerk is agent code that asks what questions has, once each run, and notes the
// answers that it gets.
type clerk struct {
	questions [][]*message.InterruptRequestContent
	runs      int
	heard     []string // answers, as "id payload" or "id cancelled"
	fails     error
}

func (c *clerk) run(_ context.Context, ms []*message.Message, _ ...agent.Option) updates {
	return func(yield func(*agent.ResponseUpdate, error) bool) {
		if len(ms) > 0 {
			for _, one := range ms[len(ms)-1].Contents {
				if a, ok := one.(*message.InterruptResponseContent); ok && a.Cancelled {
					c.heard = append(c.heard, a.ID+" cancelled")
				} else if ok {
					c.heard = append(c.heard, a.ID+" "+a.Payload.String())
				}
			}
		}
		n := c.runs
		c.runs++
		contents := message.Contents{&message.TextContent{Text: "Hm."}}
		if n < len(c.questions) {
			for _, q := range c.questions[n] {
				contents = append(contents, q)
			}
		}
		for _, one := range contents {
			if !yield(&agent.ResponseUpdate{Contents: message.Contents{one}}, nil) {
				return
			}
		}
		if c.fails != nil {
			yield(nil, c.fails)
		}
	}
}

// asks sets up a thread whose agent is c.
func (c *clerk) stage(t *testing.T, cfg state.Config) *stage {
	s := newStage(t, inMemory(), cfg, nil)
	s.act = c.run
	return s
}

func question(id, schema string) *message.InterruptRequestContent {
	q := &message.InterruptRequestContent{ID: id, Message: "Which?"}
	if schema != "" {
		q.ResponseSchema = jsondoc.MustParse(schema)
	}
	return q
}

// T5: a question of agent code's pauses the run as it is asked; the answer is
// checked against its schema and reaches the agent as the end of the
// conversation.
func TestT5Question(t *testing.T) {
	const (
		object = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`
		text   = `{"type":"string"}`
	)
	for name, c := range map[string]struct {
		schema, payload string // an empty payload cancels
		want            string // what the agent hears, or the code
	}{
		"fits":                   {object, `{"n":9007199254740993}`, `q1 {"n":9007199254740993}`},
		"fits, as text":          {object, `"{\"n\":1}"`, `q1 {"n":1}`},
		"a member is missing":    {object, `{}`, agui.CodeResumeInvalidResponse},
		"a wrong type":           {object, `{"n":"1"}`, agui.CodeResumeInvalidResponse},
		"a member too many":      {object, `{"n":1,"approved":true}`, agui.CodeResumeInvalidResponse},
		"no object":              {object, `true`, agui.CodeResumeInvalidResponse},
		"a list as text":         {object, `"[1]"`, agui.CodeResumeInvalidResponse},
		"text that is no JSON":   {object, `"{n"`, agui.CodeResumeInvalidResponse},
		"null":                   {object, `null`, agui.CodeResumeInvalid},
		"cancelled":              {object, "", "q1 cancelled"},
		"a text":                 {text, `"hello"`, `q1 "hello"`},
		"a text that looks like": {text, `"{\"n\":1}"`, `q1 "{\"n\":1}"`},
		"a text, but an object":  {text, `{"n":1}`, agui.CodeResumeInvalidResponse},
		"an empty text":          {text, `""`, `q1 ""`},
		"anything: no":           {"", `false`, `q1 false`},
		"anything: a list":       {"", `[1,null]`, `q1 [1,null]`},
		"anything: JSON text":    {"", `"{\"approved\":false}"`, `q1 {"approved":false}`},
	} {
		t.Run(name, func(t *testing.T) {
			agent := &clerk{questions: [][]*message.InterruptRequestContent{{question("q1", c.schema)}}}
			s := agent.stage(t, state.Config{})
			asked := s.say("go")
			if got := asked.shape(); got != "RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END MESSAGES_SNAPSHOT RUN_FINISHED" {
				t.Error(got)
			}
			if len(s.pending) != 1 {
				t.Fatalf("pending %+v", s.pending)
			}
			if i := s.pending[0]; i.ID != "q1" || i.Reason != "input_required" || i.Message != "Which?" || i.ToolCallID != "" || i.ResponseSchema.IsAbsent() != (c.schema == "") {
				t.Errorf("the interrupt is %+v", i)
			}
			done := s.answer(c.payload)
			if agent.runs == 1 {
				done.wants(t, c.want)
				if n := len(s.open()); n != 1 {
					t.Errorf("%d are open", n)
				}
				s.pending = asked[len(asked)-1].(*agui.RunFinished).Outcome.Interrupts
				s.answer("").wants(t, "success")
				return
			}
			done.wants(t, "success")
			if got := fmt.Sprint(agent.heard); got != "["+c.want+"]" {
				t.Errorf("the agent heard %s, want %s", got, c.want)
			}
			s.agrees()
			// It is answered once: later runs do not tell it again.
			s.say("more").wants(t, "success")
			if len(agent.heard) != 1 {
				t.Errorf("the agent heard %v", agent.heard)
			}
		})
	}
}

// What a question says beside its text goes out as it is, and what it leaves out
// is filled in.
func TestT5QuestionMembers(t *testing.T) {
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	agent := &clerk{questions: [][]*message.InterruptRequestContent{{
		{Reason: "confirmation", Message: "Sure?", Expires: expires, Metadata: jsondoc.MustParse(`{"a":1}`)},
		{},
		{ID: "q", Reason: "shop:size"},
		{ID: "q", Message: "the same id again"},
	}}}
	s := agent.stage(t, state.Config{ConfirmWithin: time.Minute})
	s.say("go")
	if len(s.pending) != 4 {
		t.Fatalf("pending %+v", s.pending)
	}
	ids := map[string]bool{}
	for _, i := range s.pending {
		ids[i.ID] = true
	}
	if len(ids) != 4 || ids[""] {
		t.Errorf("ids %v: each names one question", ids)
	}
	a, b, c := s.pending[0], s.pending[1], s.pending[2]
	if a.Reason != "confirmation" || a.Message != "Sure?" || a.ExpiresAt != expires.Format("2006-01-02T15:04:05.000Z") || a.Metadata.String() != `{"a":1}` {
		t.Errorf("the first is %+v", a)
	}
	if at, err := time.Parse(time.RFC3339, b.ExpiresAt); b.Reason != "input_required" || err != nil || time.Until(at) > time.Minute {
		t.Errorf("the second is %+v", b)
	}
	if c.ID != "q" || c.Reason != "shop:size" {
		t.Errorf("the third is %+v", c)
	}
	s.answer("1", "2", "3", "4").wants(t, "success")
	if len(agent.heard) != 4 {
		t.Errorf("the agent heard %v", agent.heard)
	}
}

// Agent code that asks under one id again and again gets each answer for itself,
// and the answer to an earlier time is not taken for the next.
func TestT5QuestionAgain(t *testing.T) {
	one := []*message.InterruptRequestContent{question("q1", "")}
	agent := &clerk{questions: [][]*message.InterruptRequestContent{one, one, one}}
	s := agent.stage(t, state.Config{})
	s.say("go").wants(t, "interrupt")
	s.answer("1").wants(t, "interrupt")
	s.answer("1").wants(t, "interrupt")
	s.answer("2").wants(t, "success")
	if got := fmt.Sprint(agent.heard); got != "[q1 1 q1 1 q1 2]" {
		t.Errorf("the agent heard %s", got)
	}
}

// A run that fails or is stopped asks nothing, whatever it was about to.
func TestT5QuestionOfAFailedRun(t *testing.T) {
	agent := &clerk{questions: [][]*message.InterruptRequestContent{{question("q1", "")}}, fails: errors.New("broken")}
	s := agent.stage(t, state.Config{})
	s.say("go").wants(t, agui.CodeInternal)
	if n := len(s.open()); n != 0 {
		t.Errorf("%d are open", n)
	}
	agent.fails = nil
	s.say("again").wants(t, "success")
}

// A question beside calls that wait: one resume answers all, the tool runs, the
// agent hears the answer, and a strategy's text does not keep it from it.
func TestT5QuestionBesideCalls(t *testing.T) {
	for name, older := range map[string]bool{"interrupts": false, "confirm_changes": true} {
		t.Run(name, func(t *testing.T) {
			write := records("write", "document:string")
			cfg := asking()
			cfg.ConfirmChanges = older
			cfg.Confirmation = state.DocumentWriterConfirmation{}
			s := newStage(t, inMemory(), cfg, []tool.Tool{write}, proposes("c1", "new"), says("Heard."))
			s.act = asksToo(s.act, "q1", time.Time{})
			s.say("go").wants(t, "interrupt")
			if older {
				// The question is an interrupt, the call a confirm_changes: the
				// page's answer to it comes with the resume.
				if len(s.pending) != 1 || s.pending[0].ID != "q1" {
					t.Fatalf("pending %+v", s.pending)
				}
				id := s.confirms()[0]
				s.confirm(map[string]string{id: `{"accepted":true}`}).wants(t, agui.CodeResumeMissingInterrupt)
				s.confirm(map[string]string{id: `{"accepted":true}`}, func(in *agui.RunAgentInput) {
					in.Resume = resumes("q1", `{"x":3}`)
				}).wants(t, "success")
			} else {
				s.answer(`{"x":3}`, `{"approved":true}`).wants(t, "success")
			}
			write.wantRan(t, `{"document":"new"}`)
			if n := len(s.brain.Prompts()); n != 2 {
				t.Errorf("the model was asked %d times", n)
			}
			last := s.brain.Prompts()[1].Messages
			if a, ok := last[len(last)-1].Contents[0].(*message.InterruptResponseContent); !ok || a.Payload.String() != `{"x":3}` {
				t.Errorf("the conversation ends with %+v", last[len(last)-1])
			}
			s.shows(`{"document":"new"}`, `{"document":"new"}`)
		})
	}
}
