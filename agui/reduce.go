package agui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// Reduction is what a client holds after some events.
type Reduction struct {
	Messages []Message
	State    jsondoc.Value
	// Interrupts are those of the last outcome; empty after a success, a
	// cancellation or a resumed run. RUN_ERROR leaves them.
	Interrupts []Interrupt
	// PendingToolCallIDs are the calls that the newest finished run left to
	// the client: those its outcome names, else those without a result.
	PendingToolCallIDs []string
	// Result is what the newest finished run returned; absent for none.
	Result jsondoc.Value
}

// DeltaError says that a patch did not apply. The state, or the activity, is
// what it was; later events may still apply. An official client goes on in the
// same way and tells nobody.
type DeltaError struct {
	Event     EventType // STATE_DELTA or ACTIVITY_DELTA
	MessageID string    // of the activity
	Err       error     // a [*jsondoc.PatchError]
}

func (e *DeltaError) Error() string { return fmt.Sprintf("agui: %s: %v", e.Event, e.Err) }

// Unwrap returns the patch's error.
func (e *DeltaError) Unwrap() error { return e.Err }

// Reducer makes messages and state of events by the official client's rules.
// The zero value starts from no messages and the state {}. It does not check
// the order: that is [Sequence]'s. It is not safe for concurrent use.
//
//   - A text or reasoning message is made by its START, at the end, unless the
//     id exists; then content is appended to that message, whatever its role,
//     except to an activity.
//   - A tool call joins the assistant message its parentMessageId names. Else a
//     new assistant message is made, with the parent's id, or with the call's
//     if there is none or it names another role. A call id that exists is only
//     renamed.
//   - A tool result is placed behind the assistant message with the call and
//     behind the tool messages that follow it; at the end if there is none.
//   - MESSAGES_SNAPSHOT replaces known messages where they are, removes those it
//     does not name, except reasoning and activities if it has none of those,
//     and appends new ones. So it cannot reorder.
//   - Metadata of an event is merged into its message or call, key by key.
//   - RUN_STARTED's input adds its unknown messages; its state is not used.
type Reducer struct {
	lanes    lanes
	scratch  []Event
	list     []*entry
	byID     map[string]*entry  // the first message of that id
	last     *entry             // what textOf found last; nil when the list has changed
	calls    map[string]callRef // the first call of that id
	state    jsondoc.Value
	outcome  Reduction // Interrupts, PendingToolCallIDs and Result
	called   []string  // tool calls started in this run
	answered map[string]bool
}

// entry is one message. Its text grows in a builder: appending to a string
// would copy a long message once for each of its deltas.
type entry struct {
	Message
	text strings.Builder
	args []*strings.Builder // by tool call
}

type callRef struct {
	in    *entry
	index int
}

// NewReducer starts from a history and a state; an absent or null state is {},
// as it is in a client that was given none. The messages are copied.
func NewReducer(messages []Message, state jsondoc.Value) *Reducer {
	r := &Reducer{}
	if present(state) {
		r.state = state
	}
	for i := range messages {
		r.insert(len(r.list), &messages[i])
	}
	return r
}

// State returns the state, sharing its structure.
func (r *Reducer) State() jsondoc.Value {
	if r.state.IsAbsent() {
		return emptyObject
	}
	return r.state
}

var emptyObject = jsondoc.Object()

// Messages returns the messages. The slice is the caller's; what it holds is not
// changed by later events.
func (r *Reducer) Messages() []Message {
	out := make([]Message, len(r.list))
	for i, e := range r.list {
		out[i] = e.Message
		out[i].ToolCalls = slices.Clone(e.ToolCalls)
	}
	return out
}

// Message returns the message with this id, the first one where an id was given
// twice. What it holds is not changed by later events.
func (r *Reducer) Message(id string) (Message, bool) {
	e := r.byID[id]
	if e == nil {
		return Message{}, false
	}
	m := e.Message
	m.ToolCalls = slices.Clone(m.ToolCalls)
	return m, true
}

// Reduction returns everything, as the caller's own.
func (r *Reducer) Reduction() Reduction {
	out := r.outcome
	out.Messages, out.State = r.Messages(), r.State()
	return out
}

// Apply applies one event. The error is a [*DeltaError] for a patch that does
// not apply and a [*SequenceError] for a chunk that continues nothing. Nothing
// is changed in either case, except that an ACTIVITY_DELTA's metadata is merged
// as the official client does.
func (r *Reducer) Apply(e Event) error {
	if r.lanes.idle(e) {
		return r.apply(e)
	}
	events, change, err := r.lanes.plan(r.scratch[:0], e)
	if err != nil {
		return err
	}
	r.scratch = events
	r.lanes.apply(change)
	for _, x := range events {
		if failed := r.apply(x); failed != nil {
			err = failed // only e itself can fail, and it is the last
		}
	}
	clear(events)
	return err
}

// Reduce applies events one after the other and returns what they make of from.
// Patches that did not apply are listed in errs and left out.
func Reduce(from Reduction, events []Event) (to Reduction, errs []error) {
	r := NewReducer(from.Messages, from.State)
	r.outcome = from
	for _, e := range events {
		if err := r.Apply(e); err != nil {
			errs = append(errs, err)
		}
	}
	return r.Reduction(), errs
}

func (r *Reducer) apply(e Event) error {
	switch e := e.(type) {
	case *TextMessageStart:
		r.startText(e.MessageID, Message{ID: e.MessageID, Role: cmpRole(e.Role), Name: e.Name, SubagentRunID: e.SubagentRunID}, e.Metadata)
	case *TextMessageContent:
		r.appendText(e.MessageID, e.Delta, e.Metadata)
	case *TextMessageEnd:
		r.mergeText(e.MessageID, e.Metadata)
	case *ReasoningMessageStart:
		r.startText(e.MessageID, Message{ID: e.MessageID, Role: RoleReasoning, SubagentRunID: e.SubagentRunID}, e.Metadata)
	case *ReasoningMessageContent:
		r.appendText(e.MessageID, e.Delta, e.Metadata)
	case *ReasoningMessageEnd:
		r.mergeText(e.MessageID, e.Metadata)
	case *ReasoningEncryptedValue:
		r.encrypted(e)
	case *ToolCallStart:
		r.startCall(e)
	case *ToolCallArgs:
		r.appendArgs(e)
	case *ToolCallEnd:
		if c, ok := r.calls[e.ToolCallID]; ok {
			mergeMetadata(&c.in.ToolCalls[c.index].Metadata, e.Metadata)
		}
	case *ToolCallResult:
		r.result(e)
	case *StateSnapshot:
		r.state = e.Snapshot
		if r.state.IsAbsent() {
			r.state = jsondoc.Null
		}
	case *StateDelta:
		state, err := knownOperations(e.Delta).Apply(r.State(), clientPatch)
		if err != nil {
			return &DeltaError{Event: TypeStateDelta, Err: err}
		}
		r.state = state
	case *MessagesSnapshot:
		r.snapshot(e)
	case *ActivitySnapshot:
		r.activity(e)
	case *ActivityDelta:
		return r.activityDelta(e)
	case *RunStarted:
		r.called, r.answered = nil, nil
		if e.Input != nil {
			for i := range e.Input.Messages {
				if m := &e.Input.Messages[i]; r.byID[m.ID] == nil {
					r.insert(len(r.list), m)
				}
			}
		}
	case *RunFinished:
		r.finished(e)
	}
	return nil
}

// clientPatch are the patch rules of fast-json-patch, which official clients use.
var clientPatch = &jsondoc.ApplyOptions{ClientRules: true}

// knownOperations leaves out what [DecodeOptions.KeepUnknown] kept: the official
// client drops operations that it does not know and applies the others.
func knownOperations(p jsondoc.Patch) jsondoc.Patch {
	for i := range p {
		if !knownOperation(p[i].Op) {
			return slices.DeleteFunc(slices.Clone(p), func(op jsondoc.Operation) bool { return !knownOperation(op.Op) })
		}
	}
	return p
}

func cmpRole(r Role) Role {
	if r == "" {
		return RoleAssistant
	}
	return r
}

// insert puts a copy of m at index i of the list. Messages of unknown role are
// left out, as the official client leaves them out.
func (r *Reducer) insert(i int, m *Message) *entry {
	if !m.Unknown.IsAbsent() {
		return nil
	}
	e := &entry{Message: *m}
	e.ToolCalls = slices.Clone(m.ToolCalls)
	r.list = slices.Insert(r.list, i, e)
	r.last = nil
	if r.byID == nil {
		r.byID, r.calls = map[string]*entry{}, map[string]callRef{}
	}
	if r.byID[m.ID] != nil && i < len(r.list)-1 {
		r.index() // a second message of that id, perhaps before the first
		return e
	}
	r.note(e)
	return e
}

// note makes e's ids findable, unless an earlier message has them.
func (r *Reducer) note(e *entry) {
	if r.byID[e.ID] == nil {
		r.byID[e.ID] = e
	}
	for i := range e.ToolCalls {
		if _, ok := r.calls[e.ToolCalls[i].ID]; !ok {
			r.calls[e.ToolCalls[i].ID] = callRef{e, i}
		}
	}
}

// index finds everything anew.
func (r *Reducer) index() {
	r.last = nil
	r.byID, r.calls = make(map[string]*entry, len(r.list)), map[string]callRef{}
	for _, e := range r.list {
		r.note(e)
	}
}

// textOf returns the message that streamed text with this id goes to; none if
// there is none or it is an activity.
func (r *Reducer) textOf(id string) *entry {
	if r.last != nil && r.last.ID == id {
		return r.last
	}
	if e := r.byID[id]; e != nil && e.Role != RoleActivity {
		r.last = e
		return e
	}
	return nil
}

func (r *Reducer) startText(id string, fresh Message, metadata jsondoc.Value) {
	if r.byID[id] == nil {
		fresh.Content = Text("")
		r.insert(len(r.list), &fresh)
	}
	r.mergeText(id, metadata)
}

func (r *Reducer) mergeText(id string, metadata jsondoc.Value) {
	if e := r.textOf(id); e != nil {
		mergeMetadata(&e.Metadata, metadata)
	}
}

func (r *Reducer) appendText(id, delta string, metadata jsondoc.Value) {
	e := r.textOf(id)
	if e == nil {
		return
	}
	have := ""
	if !e.Content.IsParts() { // a text replaces parts, as in the client
		have = e.Content.text
	}
	e.Content.text = grow(&e.text, have, delta)
	if e.Content.kind != contentText {
		e.Content.kind, e.Content.parts = contentText, nil
	}
	mergeMetadata(&e.Metadata, metadata)
}

// grow appends delta to have, which is what b holds unless something else has
// set it meanwhile. Strings handed out before stay what they were.
func grow(b *strings.Builder, have, delta string) string {
	if b.Len() != len(have) {
		b.Reset()
		b.WriteString(have)
	}
	if joined, ok := joinHalves(have, delta); ok {
		b.Reset()
		b.WriteString(joined)
		return b.String()
	}
	b.WriteString(delta)
	return b.String()
}

// joinHalves joins two texts where the first ends and the second begins with
// half of the same character.
func joinHalves(a, b string) (string, bool) {
	if len(a) < 3 || len(b) < 3 || a[len(a)-3] != 0xED || b[0] != 0xED {
		return "", false
	}
	high, ok1 := surrogateHalf(a[len(a)-3:])
	low, ok2 := surrogateHalf(b)
	if !ok1 || !ok2 || high >= 0xDC00 || low < 0xDC00 {
		return "", false
	}
	r := (high-0xD800)<<10 | (low - 0xDC00) + 0x10000
	return a[:len(a)-3] + string(r) + b[3:], true
}

// mergeMetadata sets in target what more holds, key by key. A value is replaced
// as a whole, never merged into.
func mergeMetadata(target *jsondoc.Value, more jsondoc.Value) {
	if more.Kind() != jsondoc.KindObject {
		return
	}
	if target.Kind() != jsondoc.KindObject {
		*target = more
		return
	}
	// Of a repeated name Object keeps the first one's place and the last value.
	members := make([]jsondoc.Member, 0, target.Len()+more.Len())
	for _, from := range []jsondoc.Value{*target, more} {
		for key, v := range from.Members() {
			members = append(members, jsondoc.Member{Name: key, Value: v})
		}
	}
	*target = jsondoc.Object(members...)
}

func (r *Reducer) finished(e *RunFinished) {
	r.outcome = Reduction{}
	switch {
	case e.Outcome != nil && e.Outcome.Type == OutcomeInterrupt:
		r.outcome.Interrupts = slices.Clone(e.Outcome.Interrupts)
		return
	case e.Outcome != nil && e.Outcome.Type == OutcomeCancelled:
		return
	case e.Outcome != nil && len(e.Outcome.PendingToolCallIDs) > 0:
		r.outcome.PendingToolCallIDs = slices.Clone(e.Outcome.PendingToolCallIDs)
	default:
		for _, id := range r.called {
			if !r.answered[id] {
				r.outcome.PendingToolCallIDs = append(r.outcome.PendingToolCallIDs, id)
			}
		}
	}
	r.outcome.Result = e.Result
}
