package run_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/run"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
)

// code is an error's code on the wire; empty for none.
func code(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var e *agui.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *agui.Error", err)
	}
	return e.Code
}

// written is answers as a table writes them: "id payload", "id cancelled".
func written(answers []run.Answer) string {
	if answers == nil {
		return "none"
	}
	var out []string
	for _, a := range answers {
		switch {
		case a.Cancelled:
			out = append(out, a.ID+" cancelled")
		case a.Payload.IsAbsent():
			out = append(out, a.ID+" nothing")
		default:
			out = append(out, a.ID+" "+a.Payload.String())
		}
	}
	return strings.Join(out, ", ")
}

// Where answers are read, in which order, and how an entry may be spelled.
func TestReadResume(t *testing.T) {
	const invalid = agui.CodeResumeInvalid
	for name, c := range map[string]struct{ input, want string }{
		"none":                           {`{}`, "none"},
		"null":                           {`{"resume":null}`, "none"},
		"an empty list":                  {`{"resume":[]}`, ""},
		"resolved and cancelled":         {`{"resume":[{"interruptId":"a","status":"resolved","payload":{"x":1}},{"interruptId":"b","status":"cancelled"}]}`, `a {"x":1}, b cancelled`},
		"cancelled with a payload":       {`{"resume":[{"interruptId":"a","status":"cancelled","payload":{"x":1}}]}`, `a cancelled`},
		"payload before value":           {`{"resume":[{"id":"a","response":1,"value":2,"payload":3}]}`, `a 3`},
		"value before response":          {`{"resume":[{"id":"a","response":1,"value":2}]}`, `a 2`},
		"interruptId before others":      {`{"resume":[{"toolCallId":"d","id":"c","interrupt_id":"b","interruptId":"a","payload":1}]}`, `a 1`},
		"an empty id is none":            {`{"resume":[{"interruptId":"","id":"c","payload":1}]}`, `c 1`},
		"remaining members":              {`{"resume":[{"id":"a","type":"t","metadata":{},"approved":true,"x":null}]}`, `a {"approved":true,"x":null}`},
		"nothing but the id":             {`{"resume":[{"id":"a"}]}`, `a nothing`},
		"a null payload":                 {`{"resume":[{"id":"a","payload":null}]}`, `a null`},
		"false is a payload":             {`{"resume":[{"id":"a","payload":false}]}`, `a false`},
		"an entry without a list":        {`{"resume":{"id":"a","payload":1}}`, `a 1`},
		"interrupts":                     {`{"resume":{"interrupts":[{"id":"a","value":1}]}}`, `a 1`},
		"interrupts in a text":           {`{"resume":"{\"interrupts\":[{\"id\":\"a\",\"value\":1}]}"}`, `a 1`},
		"command before resume":          {`{"forwardedProps":{"resume":[{"id":"b","value":2}],"command":{"resume":[{"id":"a","value":1}]}}}`, `a 1`},
		"resume before command":          {`{"resume":[{"id":"a","value":1}],"forwardedProps":{"command":{"resume":[{"id":"b","value":2}]}}}`, `a 1`},
		"an empty list is an answer":     {`{"resume":[],"forwardedProps":{"command":{"resume":[{"id":"b","value":2}]}}}`, ""},
		"null command, then resume":      {`{"forwardedProps":{"resume":[{"id":"b","value":2}],"command":{"resume":null}}}`, `b 2`},
		"a bare payload":                 {`{"forwardedProps":{"command":{"resume":{"approved":true}}}}`, ` {"approved":true}`},
		"a bare text":                    {`{"forwardedProps":{"command":{"resume":"Tuesday"}}}`, ` "Tuesday"`},
		"a bare JSON text":               {`{"forwardedProps":{"resume":"{\"approved\":true}"}}`, ` {"approved":true}`},
		"a bare false":                   {`{"forwardedProps":{"resume":false}}`, ` false`},
		"a bare empty list":              {`{"forwardedProps":{"resume":[]}}`, ""},
		"a bare payload with an id":      {`{"forwardedProps":{"command":{"resume":{"id":"a","approved":true}}}}`, `a {"approved":true}`},
		"forwardedProps that are none":   {`{"forwardedProps":5}`, "none"},
		"a command that is none":         {`{"forwardedProps":{"command":5}}`, "none"},
		"a number":                       {`{"resume":5}`, invalid},
		"a text":                         {`{"resume":"yes"}`, invalid},
		"an object without an id":        {`{"resume":{"approved":true}}`, invalid},
		"interrupts that are none":       {`{"resume":{"interrupts":{}}}`, invalid},
		"an entry that is none":          {`{"resume":[5]}`, invalid},
		"an entry that is null":          {`{"resume":[null]}`, invalid},
		"an entry that is a list":        {`{"resume":[[{"id":"a"}]]}`, invalid},
		"an entry without an id":         {`{"resume":[{"payload":1}]}`, invalid},
		"an id that is no text":          {`{"resume":[{"id":5,"payload":1}]}`, invalid},
		"a bad status":                   {`{"resume":[{"id":"a","status":"done","payload":1}]}`, invalid},
		"a status in capitals":           {`{"resume":[{"id":"a","status":"Resolved","payload":1}]}`, invalid},
		"a status that is no text":       {`{"resume":[{"id":"a","status":null,"payload":1}]}`, invalid},
		"one twice":                      {`{"resume":[{"id":"a","payload":1},{"interruptId":"a","payload":1}]}`, invalid},
		"one wrong among right ones":     {`{"resume":[{"id":"a","payload":1},{"payload":1}]}`, invalid},
		"a bare list without ids":        {`{"forwardedProps":{"resume":[{"approved":true}]}}`, invalid},
		"a member of the same spelling":  {`{"forwardedProps":{"lockstep":{"resume":[{"id":"a","payload":1}]}}}`, "none"},
		"a bare payload with interrupts": {`{"forwardedProps":{"resume":{"interrupts":5,"approved":true}}}`, ` {"interrupts":5,"approved":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			doc := jsondoc.MustParse(c.input)
			raw, _ := doc.Get("resume")
			props, _ := doc.Get("forwardedProps")
			answers, err := run.ReadResume(&agui.RunAgentInput{ForwardedProps: props}, raw)
			got := written(answers)
			if err != nil {
				got = code(t, err)
			}
			if got != c.want {
				t.Errorf("%s: %q (%v), want %q", c.input, got, err, c.want)
			}
		})
	}
}

// An input whose resume is well formed says the same as its JSON.
func TestReadResumeOfAnInput(t *testing.T) {
	in := &agui.RunAgentInput{Resume: []agui.ResumeEntry{
		{InterruptID: "a", Status: agui.ResumeResolved, Payload: jsondoc.MustParse(`{"n":9007199254740993}`)},
		{InterruptID: "b", Status: agui.ResumeCancelled},
	}}
	answers, err := run.ReadResume(in, jsondoc.Value{})
	if got := written(answers); err != nil || got != `a {"n":9007199254740993}, b cancelled` {
		t.Errorf("%s, %v", got, err)
	}
	if answers, err = run.ReadResume(&agui.RunAgentInput{Resume: []agui.ResumeEntry{}}, jsondoc.Value{}); err != nil || answers == nil || len(answers) != 0 {
		t.Errorf("an empty list is read as %v, %v", answers, err)
	}
}

// T5: two answers are the same if and only if they say the same: in whatever
// order, and as an object or as its text.
func TestT5SameAnswer(t *testing.T) {
	payload := rapid.SampledFrom([]string{
		`{"approved":true}`, `{"approved":false}`, `{"accepted":true}`, `{"approved":true,"document":"a"}`, `{"document":"a","approved":true}`,
		`{"approved":true,"n":1}`, `{"approved":true,"n":1.0}`, `{"approved":true,"n":null}`, `null`, `"x"`, `[1]`, `{}`,
		`"{\"approved\":true}"`, `"{\"document\":\"a\",\"approved\":true}"`, `"[1]"`,
	})
	rapid.Check(t, func(t *rapid.T) {
		a := run.Answer{ID: "a", Payload: jsondoc.MustParse(payload.Draw(t, "a")), Cancelled: rapid.Bool().Draw(t, "a cancels")}
		b := run.Answer{ID: "b", Payload: jsondoc.MustParse(payload.Draw(t, "b")), Cancelled: rapid.Bool().Draw(t, "b cancels")}
		unfolded := func(v jsondoc.Value) jsondoc.Value {
			if s := v.Str(); strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
				return jsondoc.MustParse(s)
			}
			return v
		}
		same := a.Cancelled && b.Cancelled ||
			!a.Cancelled && !b.Cancelled && jsondoc.Equal(unfolded(a.Payload), unfolded(b.Payload))
		if got := a.Same() == b.Same(); got != same {
			t.Errorf("%s and %s count as the same: %v, want %v", written([]run.Answer{a}), written([]run.Answer{b}), got, same)
		}
	})
	if (run.Answer{}).Same() == (run.Answer{Cancelled: true}).Same() {
		t.Error("an answer without a payload counts as none")
	}
}

// paper is a proposal, and the tool that it calls.
func paper() (state.Proposal, []tool.Tool) {
	return state.Proposal{
			Call: "c1", Tool: "write", Arguments: jsondoc.MustParse(`{"document":"new","limit":5}`),
			Ask: state.Ask{ID: "i1", Reason: run.ReasonToolCall},
		}, []tool.Tool{tool.NewDeclaration("write", "", jsondoc.MustParse(
			`{"type":"object","properties":{"document":{"type":"string"},"limit":{"type":"integer"}},"required":["document"],"additionalProperties":false}`))}
}

// Where a tool has no schema that can be read, an edit may name the arguments
// that the proposal has; where it is gone, too.
func TestDecideWithoutASchema(t *testing.T) {
	p, _ := paper()
	for name, tools := range map[string][]tool.Tool{
		"gone":       nil,
		"no schema":  {tool.NewDeclaration("write", "", jsondoc.Value{})},
		"not usable": {tool.NewDeclaration("write", "", jsondoc.MustParse(`{"type":5}`))},
	} {
		t.Run(name, func(t *testing.T) {
			for payload, want := range map[string]string{
				`{"approved":true}`:                             "",
				`{"approved":true,"limit":"many"}`:              "",
				`{"approved":true,"colour":"red"}`:              agui.CodeResumeInvalid,
				`{"approved":true,"editedArgs":{"colour":"x"}}`: "",
				`{"approved":true,"editedArgs":null}`:           agui.CodeResumeInvalidResponse,
			} {
				d, err := run.Decide(p, run.Answer{ID: "i1", Payload: jsondoc.MustParse(payload)}, tools)
				if got := code(t, err); got != want || err == nil && !d.Approved {
					t.Errorf("%s: %q, approved %v; want %q", payload, got, d.Approved, want)
				}
			}
		})
	}
}

// FuzzResume reads an input's resume and decides with every answer in it: of
// foreign bytes come answers that name what they answer, decisions that fit, or
// errors with a code.
func FuzzResume(f *testing.F) {
	for _, seed := range []string{
		`{"resume":[{"interruptId":"i1","status":"resolved","payload":{"approved":true,"editedArgs":{"document":"x"}}}]}`,
		`{"resume":{"interrupts":[{"id":"i1","value":"{\"accepted\":true,\"steps\":[{\"status\":\"disabled\"}]}"}]}}`,
		`{"forwardedProps":{"command":{"resume":{"accepted":true,"limit":null,"toolCall":{"callId":"c1"}}}}}`,
		`{"resume":"[[[","forwardedProps":{"resume":[]}}`,
	} {
		f.Add(seed)
	}
	p, tools := paper()
	question := state.Proposal{Ask: state.Ask{ID: "q1", Schema: jsondoc.MustParse(`{"type":"object"}`)}}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := jsondoc.ParseString(text)
		if err != nil {
			return
		}
		raw, _ := doc.Get("resume")
		props, _ := doc.Get("forwardedProps")
		answers, err := run.ReadResume(&agui.RunAgentInput{ForwardedProps: props}, raw)
		if err != nil {
			if got := code(t, err); got != agui.CodeResumeInvalid {
				t.Errorf("code %s", got)
			}
			return
		}
		seen := map[string]bool{}
		for _, a := range answers {
			if seen[a.ID] || a.ID == "" && len(answers) > 1 {
				t.Errorf("answers %s", written(answers))
			}
			seen[a.ID] = true
			if a.Same() == "" {
				t.Error("an answer that says nothing")
			}
			if _, err := run.Decide(question, a, nil); err != nil {
				code(t, err)
			}
			d, err := run.Decide(p, a, tools)
			if err != nil {
				if got := code(t, err); got != agui.CodeResumeInvalid && got != agui.CodeResumeInvalidResponse {
					t.Errorf("code %s", got)
				}
				continue
			}
			document, there := d.Arguments.Get("document")
			switch {
			case d.Arguments.IsAbsent():
			case !d.Approved || d.Cancelled:
				t.Errorf("%s is a refusal with arguments %s", written(answers), d.Arguments)
			case !there || document.Kind() != jsondoc.KindString:
				t.Errorf("%s makes arguments %s", written(answers), d.Arguments)
			}
		}
	})
}

// What a proposal's question looks like to a client, and which questions make a
// run's outcome.
func TestInterrupts(t *testing.T) {
	p, _ := paper()
	p.Ask.Message, p.Expires = "Sure?", time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.FixedZone("", 3600))
	older := p
	older.Call, older.Ask = "c2", state.Ask{ID: "k2", Confirm: "k2", Reason: run.ReasonToolCall}
	client := state.Proposal{Call: "c3", Tool: "theirs"}
	question := state.Proposal{Ask: state.Ask{ID: "q", Reason: run.ReasonInput, Metadata: jsondoc.MustParse(`{"a":1}`)}}

	list := run.Interrupts([]state.Proposal{p, client, older, question})
	if len(list) != 3 || list[0].ID != "i1" || list[1].ID != "k2" || list[2].ID != "q" {
		t.Fatalf("%+v", list)
	}
	if got := string(list[0].AppendJSON(nil)); got != `{"id":"i1","reason":"tool_call","message":"Sure?","toolCallId":"c1","expiresAt":"2026-01-02T02:04:05.006Z","metadata":{"agent_framework":{"type":"function_approval_request","function_call":{"call_id":"c1","name":"write","arguments":{"document":"new","limit":5}}}}}` {
		t.Error(got)
	}
	if got := string(list[2].AppendJSON(nil)); got != `{"id":"q","reason":"input_required","metadata":{"a":1}}` {
		t.Error(got)
	}
	for want, open := range map[int][]state.Proposal{0: {older, client}, 1: {older, question}, 2: {p, question}} {
		o := run.Interrupted(open)
		if want == 0 {
			if o != nil {
				t.Errorf("%+v", o)
			}
		} else if o == nil || o.Type != agui.OutcomeInterrupt || len(o.Interrupts) != want {
			t.Errorf("%+v, want %d", o, want)
		}
	}
}

// What is said for decisions: each text once, and nothing at all where the model
// is to speak for one of them.
func TestClosing(t *testing.T) {
	p, _ := paper()
	yes, no := run.Decision{Proposal: p, Approved: true}, run.Decision{Proposal: p}
	question := run.Decision{Approved: true}
	texts := state.ConfirmationTexts{Yes: "Y", No: "N"}
	for name, c := range map[string]struct {
		words state.ConfirmationStrategy
		what  []run.Decision
		want  string
	}{
		"none":            {texts, nil, ""},
		"no strategy":     {nil, []run.Decision{yes}, ""},
		"yes":             {texts, []run.Decision{yes}, "Y"},
		"twice":           {texts, []run.Decision{no, yes, no, yes}, "N\n\nY"},
		"one without":     {state.ConfirmationTexts{Yes: "Y"}, []run.Decision{yes, no}, ""},
		"with a question": {texts, []run.Decision{yes, question}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := run.Closing(c.words, c.what); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
