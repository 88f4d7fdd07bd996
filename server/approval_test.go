package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// office is a server whose agent asks before it writes or plans: it calls what
// the user says ("write {…}", one a line) and answers with a text otherwise.
type office struct {
	t   *testing.T
	url string

	during func() // while a tool runs; nil: nothing

	mu  sync.Mutex
	ran []string
}

const (
	writeSchema = `{"type":"object","properties":{"document":{"type":"string"},"limit":{"type":"integer"}},"required":["document"],"additionalProperties":false}`
	planSchema  = `{"type":"object","properties":{"title":{"type":"string"},"steps":{"type":"array","items":{"type":"object","properties":{"description":{"type":"string"},"status":{"type":"string"}}}}},"required":["steps"],"additionalProperties":false}`
)

func newOffice(t *testing.T, change func(*server.Options)) *office {
	t.Helper()
	o := &office{t: t}
	tools := []tool.Tool{o.tool("write", writeSchema), o.tool("plan", planSchema)}
	brain := agenttest.New(agenttest.TurnFrom(func(p agenttest.Prompt) []agenttest.Step {
		last := p.Messages[len(p.Messages)-1]
		if last.Role != "user" {
			return []agenttest.Step{agenttest.Text("Done.")}
		}
		var steps []agenttest.Step
		for i, line := range strings.Split(last.Contents.Text(), "\n") {
			if name, args, ok := strings.Cut(line, " {"); ok {
				steps = append(steps, agenttest.Call(fmt.Sprintf("c%d", i+1), name, "{"+args))
			}
		}
		if steps == nil {
			steps = []agenttest.Step{agenttest.Text("Yes.")}
		}
		return steps
	}))
	brain.Repeat = true
	opts := &server.Options{State: state.Config{
		Initial: jsondoc.MustParse(`{"document":"old"}`),
		Predict: map[string]state.Prediction{
			"document": {Tool: "write", Argument: "document"},
			"steps":    {Tool: "plan", Argument: "steps"},
		},
		RequireConfirmation: true,
	}}
	if change != nil {
		change(opts)
	}
	o.url = listen(t, brain.Agent(agent.Config{Tools: tools, ToolLoop: &agent.ToolLoopConfig{MaxParallel: 1}}), opts, nil).URL
	return o
}

func (o *office) tool(name, schema string) tool.Tool {
	return functool.MustNew(functool.Config{Name: name, Schema: jsondoc.MustParse(schema)}, func(ctx context.Context, _ map[string]any) (string, error) {
		call, _ := tool.CallFromContext(ctx)
		o.mu.Lock()
		o.ran = append(o.ran, name+" "+call.Arguments)
		o.mu.Unlock()
		if o.during != nil {
			o.during()
		}
		return "Done.", nil
	})
}

// run posts a body and reads the run.
func (o *office) run(thread, body string) played {
	o.t.Helper()
	body = fmt.Sprintf(`{"threadId":%q,"runId":"r","protocolVersion":"1.0",%s}`, thread, body)
	status, _, text := post(o.t, o.url, "application/json", body)
	if status != http.StatusOK {
		o.t.Fatalf("%d for %s: %s", status, body, text)
	}
	var out played
	var order agui.Sequence
	for rec, err := range agui.ReadEvents(strings.NewReader(text), nil) {
		if err != nil {
			o.t.Fatal(err)
		}
		if err := order.Check(rec.Event); err != nil {
			o.t.Fatalf("W1: %v", err)
		}
		out = append(out, rec.Event)
	}
	return out
}

func userMessage(id, text string) string {
	return fmt.Sprintf(`{"id":%q,"role":"user","content":%s}`, id, jsondoc.String(text))
}

// ask starts a thread with calls that wait, and returns what they wait on.
func (o *office) ask(thread string, calls ...string) []agui.Interrupt {
	o.t.Helper()
	run := o.run(thread, `"messages":[`+userMessage("u1", strings.Join(calls, "\n"))+`]`)
	if got := run.outcome(); got != "interrupt" {
		o.t.Fatalf("the run ended with %s: %s", got, eventTypes(run))
	}
	return run[len(run)-1].(*agui.RunFinished).Outcome.Interrupts
}

func (o *office) wantRan(calls ...string) {
	o.t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Equal(o.ran, calls) {
		o.t.Errorf("T5: the tools ran %q, want %q", o.ran, calls)
	}
}

// hydrate is a member of GET P/threads/ID.
func (o *office) hydrate(thread, member string) string {
	o.t.Helper()
	_, text := get(o.t, o.url+"/threads/"+thread)
	v, ok := jsondoc.MustParse(text).Get(member)
	if !ok {
		o.t.Fatalf("no member %q in %s", member, text)
	}
	return v.String()
}

// open is the ids of the questions that the thread lists as open.
func (o *office) open(thread string) []string {
	o.t.Helper()
	var ids []string
	for _, i := range jsondoc.MustParse(o.hydrate(thread, "interrupts")).Items() {
		id, _ := i.Get("id")
		ids = append(ids, id.Str())
	}
	return ids
}

type played []agui.Event

// outcome is how a run ended: "success", "interrupt", "cancelled", or the code of
// its error.
func (p played) outcome() string {
	switch end := p[len(p)-1].(type) {
	case *agui.RunFinished:
		if end.Outcome == nil {
			return "success"
		}
		return string(end.Outcome.Type)
	case *agui.RunError:
		return end.Code
	}
	return "no end"
}

// Proposals that the tables below answer.
const (
	wrote   = `write {"document":"new","limit":5}`
	planned = `plan {"title":"t","steps":[{"description":"a","status":"enabled"},{"description":"b","status":"enabled"}]}`
)

// T5, G52, G53, H17: every shape of an answer to one call that waits. What is
// approved runs once with what the answer says; what is refused leaves
// everything as it was and can be answered again.
func TestT5AnswerShapes(t *testing.T) {
	const (
		no      = "rejected" // not run, and decided
		invalid = agui.CodeResumeInvalid
		unfit   = agui.CodeResumeInvalidResponse
	)
	for name, c := range map[string]struct{ proposed, payload, want string }{
		"approved":                  {wrote, `{"approved":true}`, wrote},
		"accepted":                  {wrote, `{"accepted":true}`, wrote},
		"approved as text":          {wrote, `"{\"approved\":true}"`, wrote},
		"accepted as text":          {wrote, `" {\"accepted\": true}\n"`, wrote},
		"both":                      {wrote, `{"approved":true,"accepted":true}`, wrote},
		"not approved":              {wrote, `{"approved":false}`, no},
		"not accepted":              {wrote, `{"accepted":false}`, no},
		"not accepted as text":      {wrote, `"{\"accepted\":false}"`, no},
		"both say no":               {wrote, `{"approved":false,"accepted":false}`, no},
		"yes and no":                {wrote, `{"approved":true,"accepted":false}`, invalid},
		"no and yes":                {wrote, `{"approved":false,"accepted":true}`, invalid},
		"a text for a boolean":      {wrote, `{"approved":"true"}`, invalid},
		"a number for a boolean":    {wrote, `{"approved":1}`, invalid},
		"null for a boolean":        {wrote, `{"approved":null}`, invalid},
		"a wrong one beside":        {wrote, `{"approved":true,"accepted":1}`, invalid},
		"neither":                   {wrote, `{}`, invalid},
		"only an edit":              {wrote, `{"editedArgs":{"document":"mine"}}`, invalid},
		"a list":                    {wrote, `[true]`, invalid},
		"true":                      {wrote, `true`, invalid},
		"false":                     {wrote, `false`, invalid},
		"a word":                    {wrote, `"yes"`, invalid},
		"text that is no JSON":      {wrote, `"{\"approved\":true"`, invalid},
		"a number":                  {wrote, `1`, invalid},
		"edited":                    {wrote, `{"approved":true,"editedArgs":{"document":"mine","limit":7}}`, `write {"document":"mine","limit":7}`},
		"edited, accepted":          {wrote, `{"accepted":true,"editedArgs":{"document":"mine","limit":7}}`, `write {"document":"mine","limit":7}`},
		"edited replaces":           {wrote, `{"approved":true,"editedArgs":{"document":"mine"}}`, `write {"document":"mine"}`},
		"edited, not approved":      {wrote, `{"approved":false,"editedArgs":{"document":"mine"}}`, no},
		"edited, invalid, no":       {wrote, `{"approved":false,"editedArgs":5}`, no},
		"H17 edited to null":        {wrote, `{"approved":true,"editedArgs":null}`, unfit},
		"H17 edited to nothing":     {wrote, `{"approved":true,"editedArgs":{}}`, unfit},
		"edited, one removed":       {wrote, `{"approved":true,"editedArgs":{"limit":7}}`, unfit},
		"edited, wrong type":        {wrote, `{"approved":true,"editedArgs":{"document":5}}`, unfit},
		"edited, unknown argument":  {wrote, `{"approved":true,"editedArgs":{"document":"x","colour":1}}`, unfit},
		"edited to a text":          {wrote, `{"approved":true,"editedArgs":"{\"document\":\"x\"}"}`, unfit},
		"edited to a list":          {wrote, `{"approved":true,"editedArgs":[]}`, unfit},
		"one argument":              {wrote, `{"approved":true,"document":"mine"}`, `write {"document":"mine","limit":5}`},
		"the other":                 {wrote, `{"accepted":true,"limit":9007199254740993}`, `write {"document":"new","limit":9007199254740993}`},
		"both arguments":            {wrote, `{"accepted":true,"limit":1,"document":""}`, `write {"document":"","limit":1}`},
		"an argument in a text":     {wrote, `"{\"accepted\":true,\"document\":\"mine\"}"`, `write {"document":"mine","limit":5}`},
		"G53 an argument's type":    {wrote, `{"approved":true,"limit":"7"}`, unfit},
		"G53 an argument, fraction": {wrote, `{"approved":true,"limit":7.5}`, unfit},
		"G53 an argument to true":   {wrote, `{"approved":true,"limit":true}`, unfit},
		"H17 an argument to null":   {wrote, `{"approved":true,"limit":null}`, unfit},
		"G53 no such argument":      {wrote, `{"approved":true,"colour":"red"}`, invalid},
		"an argument in capitals":   {wrote, `{"approved":true,"Document":"mine"}`, invalid},
		"a new argument":            {`write {"document":"new"}`, `{"approved":true,"limit":3}`, `write {"document":"new","limit":3}`},
		"the call as a step":        {wrote, `{"accepted":true,"steps":[{"description":"Execute write","status":"enabled"}]}`, wrote},
		"only the step":             {wrote, `{"steps":[{"description":"Execute write","status":"enabled"}]}`, wrote},
		"the step is off":           {wrote, `{"accepted":true,"steps":[{"description":"Execute write","status":"disabled"}]}`, no},
		"only the step, off":        {wrote, `{"steps":[{"description":"Execute write","status":"disabled"}]}`, no},
		"steps that are no list":    {wrote, `{"accepted":true,"steps":"x"}`, invalid},
		"some steps":                {planned, `{"accepted":true,"steps":[{"description":"a","status":"enabled"},{"description":"b","status":"disabled"}]}`, `plan {"title":"t","steps":[{"description":"a","status":"enabled"}]}`},
		"all steps":                 {planned, `{"accepted":true,"steps":[{"description":"a","status":"enabled"},{"description":"b","status":"enabled"}]}`, planned},
		"steps, not accepted":       {planned, `{"accepted":false,"steps":[{"description":"a","status":"enabled"}]}`, no},
		"only some steps":           {planned, `{"steps":[{"description":"b","status":"enabled"}]}`, `plan {"title":"t","steps":[{"description":"b","status":"enabled"}]}`},
		"steps of a wrong type":     {planned, `{"accepted":true,"steps":[5]}`, unfit},
		"the call repeated":         {wrote, `{"approved":true,"toolCall":{"callId":"c1","name":"write","arguments":{"limit":5,"document":"new"}}}`, wrote},
		"the call, short":           {wrote, `{"approved":true,"toolCall":{"call_id":"c1","name":"write"}}`, wrote},
		"the call, as text":         {wrote, `{"approved":true,"toolCall":{"call_id":"c1","name":"write","arguments":"{\"document\":\"new\",\"limit\":5}"}}`, wrote},
		"H13 other arguments":       {wrote, `{"approved":true,"toolCall":{"callId":"c1","name":"write","arguments":{"document":"evil","limit":5}}}`, invalid},
		"H13 another tool":          {wrote, `{"approved":true,"toolCall":{"callId":"c1","name":"plan","arguments":{"document":"new","limit":5}}}`, invalid},
		"H13 another call":          {wrote, `{"approved":true,"toolCall":{"callId":"c2","name":"write","arguments":{"document":"new","limit":5}}}`, invalid},
		"H13 no call":               {wrote, `{"approved":true,"toolCall":5}`, invalid},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, nil)
			open := o.ask("t", c.proposed)
			run := o.run("t", fmt.Sprintf(`"messages":[],"resume":[{"interruptId":%q,"status":"resolved","payload":%s}]`, open[0].ID, c.payload))
			switch c.want {
			case no:
				if run.outcome() != "success" {
					t.Errorf("it ended with %s", run.outcome())
				}
				o.wantRan()
			case invalid, unfit:
				if run.outcome() != c.want {
					t.Errorf("it ended with %s, want %s", run.outcome(), c.want)
				}
				if got := eventTypes(run); got != "RUN_STARTED STATE_SNAPSHOT RUN_ERROR" {
					t.Error(got)
				}
				o.wantRan()
				if ids := o.open("t"); len(ids) != 1 || ids[0] != open[0].ID {
					t.Fatalf("open is %v, want %s still", ids, open[0].ID)
				}
				// Still answerable, and what was wrong has left no trace.
				o.run("t", fmt.Sprintf(`"messages":[],"resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]`, open[0].ID))
				o.wantRan(c.proposed)
			default:
				if run.outcome() != "success" {
					t.Errorf("it ended with %s", run.outcome())
				}
				o.wantRan(c.want)
			}
			if ids := o.open("t"); len(ids) != 0 {
				t.Errorf("still open: %v", ids)
			}
		})
	}
}

// T5, G52: wherever an answer is put, and however its entry is spelled.
func TestT5AnswerPlaces(t *testing.T) {
	for name, body := range map[string]string{
		"resume":                     `"resume":[{"interruptId":"I","status":"resolved","payload":{"approved":true}}]`,
		"metadata":                   `"resume":[{"interruptId":"I","status":"resolved","payload":{"approved":true},"metadata":{"by":"me"}}]`,
		"value":                      `"resume":[{"interruptId":"I","status":"resolved","value":{"approved":true}}]`,
		"response":                   `"resume":[{"interruptId":"I","status":"resolved","response":{"approved":true}}]`,
		"members of the entry":       `"resume":[{"interruptId":"I","status":"resolved","approved":true}]`,
		"members, with a type":       `"resume":[{"interruptId":"I","type":"approval","accepted":true}]`,
		"no status":                  `"resume":[{"interruptId":"I","payload":{"approved":true}}]`,
		"interrupt_id":               `"resume":[{"interrupt_id":"I","status":"resolved","payload":{"approved":true}}]`,
		"id":                         `"resume":[{"id":"I","value":{"approved":true}}]`,
		"toolCallId":                 `"resume":[{"toolCallId":"c1","payload":{"approved":true}}]`,
		"the call's id as id":        `"resume":[{"interruptId":"c1","status":"resolved","payload":{"approved":true}}]`,
		"interrupts":                 `"resume":{"interrupts":[{"id":"I","value":{"approved":true}}]}`,
		"interrupt":                  `"resume":{"interrupt":[{"id":"I","value":{"approved":true}}]}`,
		"one entry":                  `"resume":{"interruptId":"I","status":"resolved","payload":{"approved":true}}`,
		"a list as text":             `"resume":"[{\"interruptId\":\"I\",\"payload\":{\"approved\":true}}]"`,
		"command.resume":             `"forwardedProps":{"command":{"resume":[{"interruptId":"I","payload":{"approved":true}}]}}`,
		"command.resume, one":        `"forwardedProps":{"command":{"resume":{"id":"I","accepted":true}}}`,
		"command.resume, payload":    `"forwardedProps":{"command":{"resume":{"approved":true}}}`,
		"command.resume, text":       `"forwardedProps":{"command":{"resume":"{\"accepted\":true}"}}`,
		"command.resume, wrapped":    `"forwardedProps":{"command":{"resume":{"interrupts":[{"id":"I","value":{"accepted":true}}]}}}`,
		"forwardedProps.resume":      `"forwardedProps":{"resume":[{"interruptId":"I","payload":{"approved":true}}]}`,
		"forwardedProps, payload":    `"forwardedProps":{"resume":{"approved":true}}`,
		"null here, an answer there": `"resume":null,"forwardedProps":{"command":{"resume":{"approved":true}}}`,
		"here before there":          `"resume":[{"interruptId":"I","status":"resolved","payload":{"approved":true}}],"forwardedProps":{"command":{"resume":{"approved":false}}}`,
		"beside a new text":          `"messages":[` + userMessage("u2", "and more") + `],"resume":[{"interruptId":"I","status":"resolved","payload":{"approved":true}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, nil)
			open := o.ask("t", wrote)
			body := strings.ReplaceAll(body, `"I"`, `"`+open[0].ID+`"`)
			body = strings.ReplaceAll(body, `\"I\"`, `\"`+open[0].ID+`\"`)
			if !strings.Contains(body, `"messages"`) {
				body += `,"messages":[]`
			}
			run := o.run("t", body)
			if run.outcome() != "success" {
				t.Errorf("it ended with %s: %s", run.outcome(), agui.AppendEvent(nil, run[len(run)-1], agui.V1))
			}
			o.wantRan(wrote)
			// T5: the same request again is the same answer: nothing runs.
			again := o.run("t", body)
			if named := strings.Contains(body, open[0].ID) || strings.Contains(body, "c1"); named && again.outcome() != "success" {
				t.Errorf("again: it ended with %s", again.outcome())
			}
			o.wantRan(wrote)
		})
	}
}

// get reads a resource.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}
