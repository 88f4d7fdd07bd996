package agui

import (
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// Compact returns a stream that is at most as long and comes to the same:
//
//  1. It is legal if events is.
//  2. It reduces to the same messages, state and interrupts, from any history
//     and state.
//  3. It may be cut anywhere: what follows events may follow it, with the same
//     end. So the log of a running run can be compacted while the run goes on.
//
// Deltas of one text, reasoning message or tool call are joined where the first
// of them stands. State events become one per run: a snapshot of what they come
// to, or one delta where there was no snapshot and that is shorter; where the
// state they start from is not known they stay. Activities become their last
// content. Everything else stays, in its order: openers and ends, steps,
// subagents, results, snapshots of messages, RAW and CUSTOM.
//
// Provider events (rawEvent) of joined events are dropped; of their metadata the
// merge is kept, of state events' metadata the last. Patches that did not apply
// are dropped. Chunks are joined only where they are neighbours: what stands
// between them may end their stream.
//
// The events given are not changed; the result may share them.
func Compact(events []Event) []Event {
	c := compactor{out: make([]Event, 0, len(events))}
	var l lanes
	for i, e := range events {
		if l.idle(e) {
			c.plain(e)
			continue
		}
		_, change, err := l.plan(nil, e)
		if err != nil { // not legal: the rest is anybody's guess
			c.settle()
			return append(c.done(), events[i:]...)
		}
		l.apply(change)
		c.chunked(e)
	}
	c.settle()
	return c.done()
}

// compactor joins events into earlier ones. Whatever stands between two events
// and might see their order is a barrier: what came before it is closed for
// joining.
type compactor struct {
	out        []Event // nil where an event went into another
	texts      map[string]*joined
	calls      map[string]*joined
	activities map[string]*ActivitySnapshot // our own copies, in out

	state   jsondoc.Value // after the events so far, if known
	known   bool
	pending stateRun
	chunk   Event // our own copy of the last event of out, if it is a chunk
}

// joined is an event in out that collects deltas.
type joined struct {
	event Event // our own copy
	delta *string
	text  strings.Builder
}

// stateRun are the state events since the last barrier.
type stateRun struct {
	at          []int // in out
	hasSnapshot bool
	fromKnown   bool          // the state was known before the first of them
	applied     jsondoc.Patch // operations of the deltas that applied, in order
	last        Base          // of the last of them
}

func (c *compactor) done() []Event {
	return slices.DeleteFunc(c.out, func(e Event) bool { return e == nil })
}

// plain takes an event that stands where no chunk stream is open.
func (c *compactor) plain(e Event) {
	c.chunk = nil
	switch e := e.(type) {
	case *TextMessageContent:
		c.content(e.MessageID, e, e.Delta)
		return
	case *ReasoningMessageContent:
		c.content(e.MessageID, e, e.Delta)
		return
	case *ToolCallArgs:
		c.args(e)
		return
	case *StateSnapshot, *StateDelta:
		c.stateEvent(e)
		return
	case *ActivitySnapshot:
		c.activity(e)
		return
	case *ActivityDelta:
		c.activityDelta(e)
		return
	case *RunStarted, *RunFinished, *RunError:
		c.settle()
	case *MessagesSnapshot:
		c.closeMessages()
	case *TextMessageStart:
		c.barrier(e.MessageID)
	case *TextMessageEnd:
		c.barrier(e.MessageID)
	case *ReasoningMessageStart:
		c.barrier(e.MessageID)
	case *ReasoningMessageEnd:
		c.barrier(e.MessageID)
	case *ToolCallStart:
		c.barrier(e.ToolCallID)
		c.barrier(e.ParentMessageID)
		delete(c.calls, e.ToolCallID)
	case *ToolCallEnd:
		delete(c.calls, e.ToolCallID)
	case *ToolCallResult:
		c.barrier(e.MessageID)
	}
	c.out = append(c.out, e)
}

// barrier closes what goes to the message with this id.
func (c *compactor) barrier(id string) {
	delete(c.texts, id)
	delete(c.activities, id)
}

func (c *compactor) closeMessages() {
	clear(c.texts)
	clear(c.calls)
	clear(c.activities)
}

// settle closes everything.
func (c *compactor) settle() {
	c.closeMessages()
	c.settleState()
	c.chunk = nil
}

// content joins a delta of a text or reasoning message to the one before. Both
// kinds go to the same message if they name the same id, so one of a kind is a
// barrier to the other.
func (c *compactor) content(id string, e Event, delta string) {
	delete(c.activities, id)
	if j := c.texts[id]; j != nil && j.event.EventType() == e.EventType() {
		j.add(e, delta)
		return
	}
	if c.texts == nil {
		c.texts = map[string]*joined{}
	}
	j := newJoined(e)
	c.texts[id] = j
	c.out = append(c.out, j.event)
}

func (c *compactor) args(e *ToolCallArgs) {
	if j := c.calls[e.ToolCallID]; j != nil {
		j.add(e, e.Delta)
		return
	}
	if c.calls == nil {
		c.calls = map[string]*joined{}
	}
	j := newJoined(e)
	c.calls[e.ToolCallID] = j
	c.out = append(c.out, j.event)
}

func newJoined(e Event) *joined {
	switch e := e.(type) {
	case *TextMessageContent:
		own := *e
		return &joined{event: &own, delta: &own.Delta}
	case *ReasoningMessageContent:
		own := *e
		return &joined{event: &own, delta: &own.Delta}
	default:
		own := *e.(*ToolCallArgs)
		return &joined{event: &own, delta: &own.Delta}
	}
}

func (j *joined) add(e Event, delta string) {
	*j.delta = grow(&j.text, *j.delta, delta)
	absorb(j.event.Common(), e.Common())
}

// absorb makes base stand for a later event too.
func absorb(base, later *Base) {
	mergeMetadata(&base.Metadata, later.Metadata)
	base.RawEvent = jsondoc.Value{}
	if base.SubagentRunID == "" {
		base.SubagentRunID = later.SubagentRunID
	}
}

func (c *compactor) stateEvent(e Event) {
	p := &c.pending
	if len(p.at) == 0 {
		p.fromKnown = c.known
	}
	p.at = append(p.at, len(c.out))
	p.last = *e.Common()
	c.out = append(c.out, e)
	if _, ok := e.(*StateSnapshot); ok {
		p.hasSnapshot, p.applied = true, nil
	}
	if patch := c.fold(e); !p.hasSnapshot {
		p.applied = append(p.applied, patch...)
	}
}

// fold applies a state event to the state, if that is known, and returns the
// operations that took effect.
func (c *compactor) fold(e Event) jsondoc.Patch {
	switch e := e.(type) {
	case *StateSnapshot:
		c.state, c.known = e.Snapshot, true
		if c.state.IsAbsent() {
			c.state = jsondoc.Null
		}
	case *StateDelta:
		if !c.known {
			return nil
		}
		patch := knownOperations(e.Delta)
		if next, err := patch.Apply(c.state, clientPatch); err == nil {
			c.state = next
			return patch
		}
	}
	return nil
}

// settleState puts one event in the place of the state events since the last
// barrier.
func (c *compactor) settleState() {
	p := c.pending
	c.pending = stateRun{}
	if len(p.at) == 0 {
		return
	}
	if !p.hasSnapshot && !p.fromKnown {
		for _, i := range p.at { // whether they apply is not known
			if d, ok := c.out[i].(*StateDelta); ok && len(d.Delta) == 0 {
				c.out[i] = nil
			}
		}
		return
	}
	for _, i := range p.at {
		c.out[i] = nil
	}
	last := p.at[len(p.at)-1]
	base := p.last
	if len(p.at) > 1 {
		base.RawEvent = jsondoc.Value{}
	}
	switch {
	case p.hasSnapshot:
		c.out[last] = &StateSnapshot{Base: base, Snapshot: c.state}
	case len(p.applied) == 0: // nothing took effect
	case len(p.applied.AppendJSON(nil)) < c.state.Size():
		c.out[last] = &StateDelta{Base: base, Delta: p.applied}
	default:
		c.out[last] = &StateSnapshot{Base: base, Snapshot: c.state}
	}
}

func (c *compactor) activity(e *ActivitySnapshot) {
	delete(c.texts, e.MessageID)
	own := c.activities[e.MessageID]
	replaces := e.Replace == nil || *e.Replace
	switch {
	case own == nil && replaces:
		if c.activities == nil {
			c.activities = map[string]*ActivitySnapshot{}
		}
		fresh := *e
		c.activities[e.MessageID] = &fresh
		c.out = append(c.out, &fresh)
	case own == nil: // what is there, and whether, is not known
		c.out = append(c.out, e)
	default:
		if replaces {
			own.ActivityType, own.Content, own.SubagentRunID = e.ActivityType, e.Content, e.SubagentRunID
		}
		mergeMetadata(&own.Metadata, e.Metadata)
		own.RawEvent = jsondoc.Value{}
	}
}

func (c *compactor) activityDelta(e *ActivityDelta) {
	delete(c.texts, e.MessageID)
	own := c.activities[e.MessageID]
	if own == nil {
		c.out = append(c.out, e)
		return
	}
	content, err := knownOperations(e.Patch).Apply(own.Content, clientPatch)
	if err == nil && content.Kind() != jsondoc.KindObject {
		// A snapshot cannot say this: its content is an object.
		delete(c.activities, e.MessageID)
		c.out = append(c.out, e)
		return
	}
	if err == nil {
		own.ActivityType, own.Content = e.ActivityType, content
	}
	mergeMetadata(&own.Metadata, e.Metadata)
	own.RawEvent = jsondoc.Value{}
}

// chunked takes an event that opens, continues or closes a chunk stream, or
// stands while one is open. It stays where it is; only a chunk right behind one
// that it certainly continues is joined.
func (c *compactor) chunked(e Event) {
	last := c.chunk
	c.settle()
	c.fold(e)
	if last != nil && joinChunks(last, e) {
		c.chunk = last
		return
	}
	if own := copyChunk(e); own != nil {
		c.chunk, e = own, own
	}
	c.out = append(c.out, e)
}

func copyChunk(e Event) Event {
	switch e := e.(type) {
	case *TextMessageChunk:
		own := *e
		return &own
	case *ToolCallChunk:
		own := *e
		return &own
	case *ReasoningMessageChunk:
		own := *e
		return &own
	}
	return nil
}

// joinChunks joins b to a if it says nothing but more text for the same stream.
func joinChunks(a, b Event) bool {
	ba, bb := a.Common(), b.Common()
	if present(ba.RawEvent) || present(bb.RawEvent) {
		return false // it makes a content event of its own
	}
	aID, aDelta := chunkParts(a)
	bID, bDelta := chunkParts(b)
	if a.EventType() != b.EventType() || *bDelta == nil {
		return false
	}
	// The same id, or both continue whatever is open; and no doubt whose it is.
	sameTag := ba.SubagentRunID == bb.SubagentRunID
	if aID != bID || !sameTag && (aID == "" || bb.SubagentRunID != "") {
		return false
	}
	text := **bDelta
	if *aDelta != nil {
		var joined strings.Builder
		text = grow(&joined, **aDelta, text)
	}
	*aDelta = &text
	mergeMetadata(&ba.Metadata, bb.Metadata)
	return true
}

func chunkParts(e Event) (id string, delta **string) {
	switch e := e.(type) {
	case *TextMessageChunk:
		return e.MessageID, &e.Delta
	case *ToolCallChunk:
		return e.ToolCallID, &e.Delta
	case *ReasoningMessageChunk:
		return e.MessageID, &e.Delta
	}
	var none *string
	return "", &none
}
