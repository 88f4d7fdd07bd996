// Package streamgen makes event streams for tests: legal ones, nearly legal
// ones, and ones with malformed events. The same seed makes the same stream.
//
// Ids come from small pools that overlap between kinds, so that events meet:
// what no generator of fresh ids would ever try, such as a tool call inside a
// message that an activity replaced, happens all the time.
package streamgen

import (
	"fmt"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// Options says what kind of stream to make.
type Options struct {
	// Events is about how many events a stream has.
	Events int
	// Wild is the chance, in percent, of an event that need not be legal.
	Wild int
	// Malformed is the chance, in percent, of an event whose JSON is damaged.
	Malformed int
	// Unfinished leaves the last run open.
	Unfinished bool
	// OneRun ends after the first terminal event.
	OneRun bool
}

// Generator makes one stream.
type Generator struct {
	rng  *rand.Rand
	opts Options
	seq  agui.Sequence
	red  agui.Reducer
	runs int
}

// New returns a generator for one stream.
func New(seed uint64, opts Options) *Generator {
	return &Generator{rng: rand.New(rand.NewPCG(seed, 0x5eed)), opts: opts}
}

// Stream returns the JSON of a stream. Without Wild and Malformed it is legal.
func (g *Generator) Stream() []jsondoc.Value {
	var out []jsondoc.Value
	g.generate(func(e agui.Event) {
		doc := jsondoc.MustParse(string(agui.AppendEvent(nil, e, agui.V1)))
		if g.chance(g.opts.Malformed) {
			doc = g.damage(doc)
		}
		out = append(out, doc)
		// What a reader makes of it is what later patches have to fit.
		if e, err := agui.DecodeEvent(doc.AppendJSON(nil), &agui.DecodeOptions{Strict: true}); err == nil {
			_ = g.red.Apply(e)
		}
	})
	return out
}

// Events returns the events of a stream. Without Wild it is legal.
func (g *Generator) Events() []agui.Event {
	var out []agui.Event
	g.generate(func(e agui.Event) {
		out = append(out, e)
		_ = g.red.Apply(e)
	})
	return out
}

func (g *Generator) generate(emit func(agui.Event)) {
	sent := 0
	try := func(e agui.Event) bool {
		if g.seq.Check(e) != nil && !g.chance(g.opts.Wild) {
			return false
		}
		sent++
		emit(e)
		return true
	}
	if !g.chance(g.opts.Wild) {
		try(g.runStarted())
	}
	for sent < g.opts.Events {
		if e := g.event(); try(e) && e.EventType().Terminal() && g.opts.OneRun {
			return
		}
	}
	if g.seq.Running() && !g.opts.Unfinished {
		for _, e := range g.seq.Close() {
			try(e)
		}
		try(g.terminal())
	}
}

func (g *Generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

func (g *Generator) pick(list ...string) string { return list[g.rng.IntN(len(list))] }

// maybe returns one of the strings, or mostly none.
func (g *Generator) maybe(percent int, list ...string) string {
	if g.chance(percent) {
		return g.pick(list...)
	}
	return ""
}

func (g *Generator) messageID() string { return g.pick("m1", "m2", "m3", "m4", "x") }
func (g *Generator) callID() string    { return g.pick("c1", "c2", "c3", "x") }
func (g *Generator) spanID() string    { return g.pick("r1", "r2", "m1", "x") }
func (g *Generator) activityID() string {
	return g.pick("a1", "a2", "a3", "m1", "x")
}
func (g *Generator) owner() string { return g.maybe(25, "s1", "s2") }

func (g *Generator) base() agui.Base {
	b := agui.Base{SubagentRunID: g.owner(), Metadata: g.metadata(), RawEvent: g.rawEvent()}
	if g.chance(5) {
		b.Timestamp = int64(g.rng.IntN(1 << 40))
	}
	return b
}

// run is base for events that belong to the run as a whole.
func (g *Generator) run() agui.Base {
	b := g.base()
	b.SubagentRunID = ""
	return b
}

func (g *Generator) metadata() jsondoc.Value {
	if !g.chance(15) {
		return jsondoc.Value{}
	}
	switch g.rng.IntN(4) {
	case 0:
		return jsondoc.Object()
	case 1:
		return jsondoc.Object(jsondoc.Member{Name: g.pick("k", "l"), Value: jsondoc.Null})
	}
	return jsondoc.Object(
		jsondoc.Member{Name: g.pick("k", "l", "ag-ui"), Value: g.value(1)},
		jsondoc.Member{Name: "n", Value: jsondoc.Int(int64(g.rng.IntN(9)))})
}

func (g *Generator) rawEvent() jsondoc.Value {
	if !g.chance(5) {
		return jsondoc.Value{}
	}
	return g.value(1)
}

func (g *Generator) text() string {
	return g.pick("", "Hi", " there", "ünïcödé ", "\"q\"\n", "🍝", "{\"a\":", "1}", "\u2028")
}

func (g *Generator) delta() *string {
	if g.chance(20) {
		return nil
	}
	s := g.text()
	return &s
}

func (g *Generator) runStarted() *agui.RunStarted {
	g.runs++
	e := &agui.RunStarted{Base: g.run(), ThreadID: "t", RunID: fmt.Sprint("run", g.runs)}
	if g.chance(60) {
		e.ProtocolVersion = agui.ProtocolVersion
	}
	if g.chance(25) {
		e.Input = &agui.RunAgentInput{
			ThreadID: "t", RunID: e.RunID, Messages: g.messages(3), State: g.value(1),
			Tools: []agui.Tool{{Name: "f", Description: "a tool", Parameters: jsondoc.MustParse(`{"type":"object"}`)}},
		}
		if g.chance(50) {
			e.Input.Context = []agui.Context{{Description: "d", Value: "v"}}
		}
		if g.chance(30) {
			e.Input.Resume = []agui.ResumeEntry{{InterruptID: "i1", Status: agui.ResumeResolved, Payload: g.value(1)}}
		}
	}
	return e
}

func (g *Generator) terminal() agui.Event {
	if g.chance(25) {
		e := &agui.RunError{Base: g.run(), Message: "It failed."}
		e.Code = g.maybe(50, "model_error")
		return e
	}
	e := &agui.RunFinished{Base: g.run(), ThreadID: "t", RunID: fmt.Sprint("run", g.runs)}
	if g.chance(20) {
		e.Result = g.value(1)
	}
	if g.chance(10) {
		e.Usage = []agui.TokenUsage{{Provider: "p", Model: "m", InputTokens: new(int64(3)), TotalTokens: new(int64(0))}}
	}
	switch g.rng.IntN(5) {
	case 0:
		e.Outcome = &agui.Outcome{Type: agui.OutcomeSuccess}
	case 1:
		e.Outcome = &agui.Outcome{Type: agui.OutcomeSuccess, PendingToolCallIDs: []string{}}
		if g.chance(50) {
			e.Outcome.PendingToolCallIDs = []string{"c1"}
		}
	case 2:
		e.Outcome = &agui.Outcome{Type: agui.OutcomeInterrupt, Interrupts: []agui.Interrupt{{
			ID: "i1", Reason: agui.ReasonConfirmation, Message: g.maybe(50, "Sure?"), ToolCallID: g.maybe(50, "c1"),
			SubagentRunID: g.owner(), Metadata: g.metadata(), ExpiresAt: g.maybe(30, "2030-01-01T00:00:00Z"),
		}}}
	case 3:
		e.Outcome = &agui.Outcome{Type: agui.OutcomeCancelled}
	}
	return e
}

// event makes any event, with no regard to what is legal.
func (g *Generator) event() agui.Event {
	b := g.base()
	switch n := g.rng.IntN(100); {
	case n < 8:
		return &agui.TextMessageStart{Base: b, MessageID: g.messageID(), Role: agui.Role(g.maybe(30, "user", "assistant", "system", "developer")), Name: g.maybe(10, "Ann")}
	case n < 16:
		return &agui.TextMessageContent{Base: b, MessageID: g.messageID(), Delta: g.text()}
	case n < 22:
		return &agui.TextMessageEnd{Base: b, MessageID: g.messageID()}
	case n < 27:
		return &agui.TextMessageChunk{Base: b, MessageID: g.maybe(60, "m1", "m2", "x"), Role: agui.Role(g.maybe(15, "user", "assistant")), Name: g.maybe(5, "Ann"), Delta: g.delta()}
	case n < 33:
		return &agui.ToolCallStart{Base: b, ToolCallID: g.callID(), ToolCallName: g.pick("f", "g"), ParentMessageID: g.maybe(50, "m1", "m2", "x", "a1", "c1")}
	case n < 39:
		return &agui.ToolCallArgs{Base: b, ToolCallID: g.callID(), Delta: g.text()}
	case n < 44:
		return &agui.ToolCallEnd{Base: b, ToolCallID: g.callID()}
	case n < 48:
		return &agui.ToolCallChunk{Base: b, ToolCallID: g.maybe(60, "c1", "c2", "x"), ToolCallName: g.maybe(70, "f", "g"), ParentMessageID: g.maybe(20, "m1"), Delta: g.delta()}
	case n < 53:
		return g.toolResult(b)
	case n < 57:
		return &agui.StateSnapshot{Base: b, Snapshot: g.state()}
	case n < 64:
		return &agui.StateDelta{Base: b, Delta: g.patch(g.red.State())}
	case n < 67:
		b.SubagentRunID = ""
		if g.chance(20) {
			b.Metadata = g.activityScope()
		}
		return &agui.MessagesSnapshot{Base: b, Messages: g.messages(5)}
	case n < 72:
		return g.activity(b)
	case n < 82:
		return g.reasoning(b)
	case n < 86:
		if g.chance(50) {
			return &agui.StepStarted{Base: b, StepName: g.pick("plan", "act")}
		}
		return &agui.StepFinished{Base: b, StepName: g.pick("plan", "act")}
	case n < 92:
		return g.subagent(b)
	case n < 94:
		return &agui.Raw{Base: b, Event: g.value(2), Source: g.maybe(30, "openai")}
	case n < 96:
		return &agui.Custom{Base: b, Name: g.pick("PredictState", "other"), Value: g.value(2)}
	case n < 98:
		return g.terminal()
	case n < 99:
		return &agui.Unknown{Type: "FUTURE_EVENT", JSON: jsondoc.MustParse(`{"type":"FUTURE_EVENT","a":1}`)}
	default:
		return g.runStarted()
	}
}

func (g *Generator) toolResult(b agui.Base) agui.Event {
	e := &agui.ToolCallResult{Base: b, MessageID: g.pick("t1", "t2", "t3", "m1"), ToolCallID: g.callID(), Content: agui.Text(g.text())}
	e.Role = agui.Role(g.maybe(40, "tool"))
	if g.chance(20) {
		e.Content = agui.Parts(g.part(), g.part())
	}
	return e
}

func (g *Generator) activity(b agui.Base) agui.Event {
	if g.chance(45) {
		content := jsondoc.Object()
		id := g.activityID()
		for _, m := range g.red.Messages() {
			if m.ID == id && m.Role == agui.RoleActivity {
				content = m.ActivityContent
			}
		}
		return &agui.ActivityDelta{Base: b, MessageID: id, ActivityType: g.pick("PLAN", "SEARCH"), Patch: g.objectPatch(content)}
	}
	e := &agui.ActivitySnapshot{Base: b, MessageID: g.activityID(), ActivityType: g.pick("PLAN", "SEARCH"), Content: g.object(2)}
	if g.chance(40) {
		e.Replace = new(g.chance(40))
	}
	return e
}

func (g *Generator) reasoning(b agui.Base) agui.Event {
	switch g.rng.IntN(8) {
	case 0:
		return &agui.ReasoningStart{Base: b, MessageID: g.spanID()}
	case 1:
		return &agui.ReasoningEnd{Base: b, MessageID: g.spanID()}
	case 2:
		return &agui.ReasoningMessageStart{Base: b, MessageID: g.spanID()}
	case 3, 4:
		return &agui.ReasoningMessageContent{Base: b, MessageID: g.spanID(), Delta: g.text()}
	case 5:
		return &agui.ReasoningMessageEnd{Base: b, MessageID: g.spanID()}
	case 6:
		return &agui.ReasoningMessageChunk{Base: b, MessageID: g.maybe(60, "r1", "r2", "x"), Delta: g.delta()}
	}
	if g.chance(50) {
		return &agui.ReasoningEncryptedValue{Base: b, Subtype: agui.SubtypeToolCall, EntityID: g.callID(), EncryptedValue: "enc"}
	}
	return &agui.ReasoningEncryptedValue{Base: b, Subtype: agui.SubtypeMessage, EntityID: g.pick("m1", "m2", "r1", "a1", "x"), EncryptedValue: "enc"}
}

func (g *Generator) subagent(b agui.Base) agui.Event {
	b.SubagentRunID = g.pick("s1", "s2", "s3")
	switch g.rng.IntN(5) {
	case 0, 1:
		return &agui.SubagentStarted{
			Base: b, Name: "helper", Description: g.maybe(30, "helps"), ParentSubagentRunID: g.maybe(25, "s1", "s2"),
			ParentToolCallID: g.maybe(20, "c1"), ParentMessageID: g.maybe(20, "m1"),
		}
	case 2:
		return &agui.SubagentError{Base: b, Message: "no", Code: g.maybe(30, "x")}
	}
	e := &agui.SubagentFinished{Base: b}
	if g.chance(30) {
		e.Result = g.value(1)
	}
	switch g.rng.IntN(3) {
	case 0:
		e.Outcome = &agui.SubagentOutcome{Type: agui.OutcomeSuccess}
	case 1:
		e.Outcome = &agui.SubagentOutcome{Type: agui.OutcomeSuspended, InterruptIDs: []string{"i1"}}
	}
	return e
}
