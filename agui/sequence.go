package agui

import (
	"cmp"
	"fmt"
	"slices"
)

// SequenceError says why an event may not come where it comes. An official
// client ends the run there.
type SequenceError struct {
	Event  EventType
	Reason string
}

func (e *SequenceError) Error() string { return "agui: " + string(e.Event) + ": " + e.Reason }

func refuse(e Event, reason string) error {
	return &SequenceError{Event: e.EventType(), Reason: reason}
}

// Sequence checks the order of a stream by the rules of the official client.
// The zero value is ready; one serves one stream, which may hold several runs.
// It is not safe for concurrent use.
//
//   - The first event is RUN_STARTED, or RUN_ERROR alone. A client learns from
//     it which run this is; an error may come before there is one.
//   - RUN_STARTED does not come while a run is open, and nothing else comes
//     after a terminal event, except RUN_ERROR after RUN_FINISHED. RUN_STARTED
//     begins afresh.
//   - What is opened is opened once at a time, and continued and closed only
//     while open: text messages, tool calls, reasoning messages and spans by
//     id, steps by owner and name. An id may be opened again later.
//   - A subagent's id is used for one invocation, and its parent was started in
//     the same run.
//   - An event that names a subagent agrees with whoever opened the message,
//     call or activity; one that names none agrees with anybody.
//   - RUN_FINISHED comes when nothing is open. RUN_ERROR may cut.
//
// What the client does not check is legal here too: content that continues
// nothing in the history, results without a call, several things open at a
// time, a missing terminal event.
type Sequence struct {
	lanes    lanes
	scratch  []Event
	phase    phase
	threadID string
	runID    string

	count      uint64 // openers so far, to close in the opposite order
	texts      map[string]entity
	calls      map[string]entity
	reasoning  map[string]entity
	activities map[string]entity
	steps      map[stepKey]uint64
	subagents  map[string]uint64 // 0: it ended
	openCount  openCount
	// The text and the call that the last event continued: open still, since
	// every other event forgets them. Empty for none, or for an empty id.
	hotText, hotCall string
}

type phase uint8

const (
	phaseNone phase = iota // nothing came yet
	phaseRunning
	phaseFinished
	phaseErrored
)

// entity is what is known of an id: who owns it, kept for the whole run because
// continuations may come after the end, and since when it is open.
type entity struct {
	owner string
	open  uint64 // opener's number, 0 if closed
	span  uint64 // the same for a reasoning span of that id
}

type stepKey struct{ owner, name string }

// openCount counts what RUN_FINISHED must not leave open.
type openCount struct{ steps, texts, reasoning, spans, calls, subagents int }

// Check says whether e may come next and, if so, counts it as come. The error
// is a [*SequenceError]; a refused event leaves no trace, so the caller may go
// on with another one. Unknown events are passed over.
func (s *Sequence) Check(e Event) error {
	// Most of a stream is content of an open message: it is looked up and that
	// is all. Whatever is not quite so simple takes the long way.
	switch e := e.(type) {
	case *TextMessageContent:
		if e.SubagentRunID == "" && s.simple() && (s.hotText != "" && e.MessageID == s.hotText || s.texts[e.MessageID].open != 0) {
			s.hotText = e.MessageID
			return nil
		}
	case *ToolCallArgs:
		if e.SubagentRunID == "" && s.simple() && (s.hotCall != "" && e.ToolCallID == s.hotCall || s.calls[e.ToolCallID].open != 0) {
			s.hotCall = e.ToolCallID
			return nil
		}
	}
	if s.lanes.idle(e) {
		if err := s.verify(e); err != nil {
			return err
		}
		s.commit(e)
		return nil
	}
	events, change, err := s.lanes.plan(s.scratch[:0], e)
	if err != nil {
		return err
	}
	s.scratch = events
	defer clear(events)
	// The ends that e implies are counted before e is looked at, as the client
	// does: what e says may depend on them.
	var ended []uint64
	for i, x := range events {
		if err := s.verify(x); err != nil {
			for j, number := range ended {
				s.reopen(events[j], number)
			}
			return err
		}
		if i < len(events)-1 {
			ended = append(ended, s.openNumber(x))
		}
		s.commit(x)
	}
	s.lanes.apply(change)
	return nil
}

// simple reports whether a run is open and no chunk stream is.
func (s *Sequence) simple() bool { return s.phase == phaseRunning && len(s.lanes.open) == 0 }

// openNumber returns since when the stream is open that e, made of a chunk,
// ends; 0 if e ends none.
func (s *Sequence) openNumber(e Event) uint64 {
	switch e := e.(type) {
	case *TextMessageEnd:
		return s.texts[e.MessageID].open
	case *ToolCallEnd:
		return s.calls[e.ToolCallID].open
	case *ReasoningMessageEnd:
		return s.reasoning[e.MessageID].open
	}
	return 0
}

// reopen takes back a counted end. (A start made of a chunk is never taken
// back: the content behind it cannot be refused.)
func (s *Sequence) reopen(e Event, number uint64) {
	set := func(of map[string]entity, id string, count *int) {
		known := of[id]
		known.open = number
		of[id] = known
		*count++
	}
	switch e := e.(type) {
	case *TextMessageEnd:
		set(s.texts, e.MessageID, &s.openCount.texts)
	case *ToolCallEnd:
		set(s.calls, e.ToolCallID, &s.openCount.calls)
	case *ReasoningMessageEnd:
		set(s.reasoning, e.MessageID, &s.openCount.reasoning)
	}
}

// verify checks e against what came so far.
func (s *Sequence) verify(e Event) error {
	if _, unknown := e.(*Unknown); unknown {
		return nil
	}
	if err := s.verifyPhase(e); err != nil {
		return err
	}
	switch e := e.(type) {
	case *TextMessageStart:
		return s.verifyOpen(e, s.texts[e.MessageID].open, s.texts, e.MessageID, "text message")
	case *TextMessageContent:
		return s.verifyContinue(e, s.texts[e.MessageID].open, s.texts, e.MessageID, "text message")
	case *TextMessageEnd:
		return s.verifyContinue(e, s.texts[e.MessageID].open, s.texts, e.MessageID, "text message")
	case *ToolCallStart:
		return s.verifyCall(e)
	case *ToolCallArgs:
		return s.verifyContinue(e, s.calls[e.ToolCallID].open, s.calls, e.ToolCallID, "tool call")
	case *ToolCallEnd:
		return s.verifyContinue(e, s.calls[e.ToolCallID].open, s.calls, e.ToolCallID, "tool call")
	case *ReasoningStart:
		return s.verifyOpen(e, s.reasoning[e.MessageID].span, s.reasoning, e.MessageID, "reasoning span")
	case *ReasoningEnd:
		return s.verifyContinue(e, s.reasoning[e.MessageID].span, s.reasoning, e.MessageID, "reasoning span")
	case *ReasoningMessageStart:
		return s.verifyOpen(e, s.reasoning[e.MessageID].open, s.reasoning, e.MessageID, "reasoning message")
	case *ReasoningMessageContent:
		return s.verifyContinue(e, s.reasoning[e.MessageID].open, s.reasoning, e.MessageID, "reasoning message")
	case *ReasoningMessageEnd:
		return s.verifyContinue(e, s.reasoning[e.MessageID].open, s.reasoning, e.MessageID, "reasoning message")
	case *ReasoningEncryptedValue:
		if e.Subtype == SubtypeToolCall {
			return s.verifyOwner(e, s.calls, e.EntityID, "tool call")
		}
		if _, ok := s.texts[e.EntityID]; ok {
			return s.verifyOwner(e, s.texts, e.EntityID, "message")
		}
		return s.verifyOwner(e, s.reasoning, e.EntityID, "message")
	case *ActivityDelta:
		return s.verifyOwner(e, s.activities, e.MessageID, "activity")
	case *StepStarted:
		if s.steps[stepKey{e.SubagentRunID, e.StepName}] != 0 {
			return refuse(e, fmt.Sprintf("step %q of %s is open already", e.StepName, ownerName(e.SubagentRunID)))
		}
	case *StepFinished:
		return s.verifyStepFinished(e)
	case *SubagentStarted:
		return s.verifySubagentStarted(e)
	case *SubagentFinished, *SubagentError:
		if id := e.Common().SubagentRunID; s.subagents[id] == 0 {
			return refuse(e, fmt.Sprintf("subagent %q is not running", id))
		}
	case *RunFinished:
		return s.verifyFinished(e)
	}
	return nil
}

func (s *Sequence) verifyPhase(e Event) error {
	typ := e.EventType()
	switch s.phase {
	case phaseNone:
		if typ != TypeRunStarted && typ != TypeRunError {
			return refuse(e, "the first event of a stream must be RUN_STARTED")
		}
	case phaseRunning:
		if typ == TypeRunStarted {
			return refuse(e, fmt.Sprintf("run %q is still open; it needs RUN_FINISHED or RUN_ERROR first", s.runID))
		}
	case phaseFinished:
		if typ != TypeRunStarted && typ != TypeRunError {
			return refuse(e, "the run has finished; only RUN_STARTED or RUN_ERROR may follow")
		}
	case phaseErrored:
		if typ != TypeRunStarted {
			return refuse(e, "the run has failed; only RUN_STARTED may follow")
		}
	}
	return nil
}

func (s *Sequence) verifyOpen(e Event, open uint64, of map[string]entity, id, what string) error {
	if open != 0 {
		return refuse(e, fmt.Sprintf("%s %q is open already", what, id))
	}
	return s.verifyOwner(e, of, id, what)
}

func (s *Sequence) verifyContinue(e Event, open uint64, of map[string]entity, id, what string) error {
	if open == 0 {
		return refuse(e, fmt.Sprintf("%s %q is not open", what, id))
	}
	return s.verifyOwner(e, of, id, what)
}

// verifyOwner checks that e does not claim for one agent what another opened.
// The client would put the text of one into the message of the other.
func (s *Sequence) verifyOwner(e Event, of map[string]entity, id, what string) error {
	tag := e.Common().SubagentRunID
	if tag == "" {
		return nil
	}
	if known, ok := of[id]; ok && known.owner != tag {
		return refuse(e, fmt.Sprintf("subagentRunId %q, but %s %q belongs to %s", tag, what, id, ownerName(known.owner)))
	}
	return nil
}

func ownerName(id string) string {
	if id == "" {
		return "the parent agent"
	}
	return fmt.Sprintf("subagent %q", id)
}

// verifyCall checks a tool call against the message it belongs to: it has no
// owner of its own there, so the two must agree.
func (s *Sequence) verifyCall(e *ToolCallStart) error {
	known, again := s.calls[e.ToolCallID]
	if known.open != 0 {
		return refuse(e, fmt.Sprintf("tool call %q is open already", e.ToolCallID))
	}
	parent, hasParent := entity{}, false
	if e.ParentMessageID != "" {
		parent, hasParent = s.texts[e.ParentMessageID]
	}
	if hasParent && e.SubagentRunID != "" && parent.owner != e.SubagentRunID {
		return refuse(e, fmt.Sprintf("subagentRunId %q, but its message %q belongs to %s", e.SubagentRunID, e.ParentMessageID, ownerName(parent.owner)))
	}
	if err := s.verifyOwner(e, s.calls, e.ToolCallID, "tool call"); err != nil {
		return err
	}
	if again && hasParent && e.SubagentRunID == "" && parent.owner != known.owner {
		return refuse(e, fmt.Sprintf("tool call %q belongs to %s, its message %q to %s", e.ToolCallID, ownerName(known.owner), e.ParentMessageID, ownerName(parent.owner)))
	}
	return nil
}

func (s *Sequence) verifyStepFinished(e *StepFinished) error {
	if s.steps[stepKey{e.SubagentRunID, e.StepName}] != 0 {
		return nil
	}
	for other, open := range s.steps {
		if open != 0 && other.name == e.StepName {
			return refuse(e, fmt.Sprintf("step %q is open under %s, not %s", e.StepName, ownerName(other.owner), ownerName(e.SubagentRunID)))
		}
	}
	return refuse(e, fmt.Sprintf("step %q is not open", e.StepName))
}

func (s *Sequence) verifySubagentStarted(e *SubagentStarted) error {
	if open, used := s.subagents[e.SubagentRunID]; open != 0 {
		return refuse(e, fmt.Sprintf("subagent %q is running already", e.SubagentRunID))
	} else if used {
		return refuse(e, fmt.Sprintf("subagent %q has ended in this run; an id is for one invocation", e.SubagentRunID))
	}
	if _, started := s.subagents[e.ParentSubagentRunID]; e.ParentSubagentRunID != "" && !started {
		return refuse(e, fmt.Sprintf("its parent %q was not started in this run", e.ParentSubagentRunID))
	}
	return nil
}

func (s *Sequence) verifyFinished(e *RunFinished) error {
	n := s.openCount
	for _, left := range []struct {
		count int
		what  string
	}{
		{n.steps, "steps"},
		{n.texts, "text messages"},
		{n.reasoning, "reasoning messages"},
		{n.spans, "reasoning spans"},
		{n.calls, "tool calls"},
		{n.subagents, "subagents"},
	} {
		if left.count > 0 {
			return refuse(e, fmt.Sprintf("%d %s are still open: %s", left.count, left.what, s.openNames()))
		}
	}
	return nil
}

// openNames lists what is open, for an error text.
func (s *Sequence) openNames() string {
	text := ""
	for i, item := range s.Open() {
		if i == 10 {
			return text + ", …"
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s %q", item.Opener, item.ID)
	}
	return text
}

// commit counts an event that was verified.
func (s *Sequence) commit(e Event) {
	s.hotText, s.hotCall = "", ""
	switch e := e.(type) {
	case *TextMessageStart:
		s.texts = s.opened(s.texts, e.MessageID, e.SubagentRunID)
		s.openCount.texts++
	case *TextMessageEnd:
		closed(s.texts, e.MessageID)
		s.openCount.texts--
	case *ToolCallStart:
		owner := e.SubagentRunID
		if owner == "" && e.ParentMessageID != "" {
			owner = s.texts[e.ParentMessageID].owner
		}
		s.calls = s.opened(s.calls, e.ToolCallID, owner)
		s.openCount.calls++
	case *ToolCallEnd:
		closed(s.calls, e.ToolCallID)
		s.openCount.calls--
	case *ToolCallResult:
		s.texts = owned(s.texts, e.MessageID, e.SubagentRunID, true)
	case *ReasoningMessageStart:
		s.reasoning = s.opened(s.reasoning, e.MessageID, e.SubagentRunID)
		s.openCount.reasoning++
	case *ReasoningMessageEnd:
		closed(s.reasoning, e.MessageID)
		s.openCount.reasoning--
	case *ReasoningStart:
		s.reasoning = owned(s.reasoning, e.MessageID, e.SubagentRunID, false)
		s.count++
		span := s.reasoning[e.MessageID]
		span.span = s.count
		s.reasoning[e.MessageID] = span
		s.openCount.spans++
	case *ReasoningEnd:
		span := s.reasoning[e.MessageID]
		span.span = 0
		s.reasoning[e.MessageID] = span
		s.openCount.spans--
	case *ActivitySnapshot:
		s.activities = owned(s.activities, e.MessageID, e.SubagentRunID, e.Replace == nil || *e.Replace)
	case *StepStarted:
		if s.steps == nil {
			s.steps = map[stepKey]uint64{}
		}
		s.count++
		s.steps[stepKey{e.SubagentRunID, e.StepName}] = s.count
		s.openCount.steps++
	case *StepFinished:
		delete(s.steps, stepKey{e.SubagentRunID, e.StepName})
		s.openCount.steps--
	case *SubagentStarted:
		if s.subagents == nil {
			s.subagents = map[string]uint64{}
		}
		s.count++
		s.subagents[e.SubagentRunID] = s.count
		s.openCount.subagents++
	case *SubagentFinished, *SubagentError:
		s.subagents[e.Common().SubagentRunID] = 0
		s.openCount.subagents--
	case *MessagesSnapshot:
		s.seed(e.Messages, true)
	case *RunStarted:
		*s = Sequence{lanes: s.lanes, scratch: s.scratch, phase: phaseRunning, threadID: e.ThreadID, runID: e.RunID}
		if e.Input != nil {
			s.seed(e.Input.Messages, false)
		}
	case *RunFinished:
		s.phase = phaseFinished
	case *RunError:
		s.phase = phaseErrored
	}
}

// opened notes that id is open. Its first owner stays: an untagged opener of a
// known id does not make it the parent's.
func (s *Sequence) opened(of map[string]entity, id, owner string) map[string]entity {
	of = owned(of, id, owner, false)
	s.count++
	known := of[id]
	known.open = s.count
	of[id] = known
	return of
}

// owned notes the owner of id; a known one only if it is to be replaced.
func owned(of map[string]entity, id, owner string, replace bool) map[string]entity {
	if of == nil {
		of = map[string]entity{}
	}
	known, ok := of[id]
	if !ok || replace {
		known.owner = owner
		of[id] = known
	}
	return of
}

func closed(of map[string]entity, id string) {
	known := of[id]
	known.open = 0
	of[id] = known
}

// seed notes the owners of messages that were not streamed. A snapshot restates
// the conversation, so its owners replace; an echoed input only fills in.
func (s *Sequence) seed(messages []Message, replace bool) {
	for i := range messages {
		m := &messages[i]
		if !m.Unknown.IsAbsent() {
			continue
		}
		switch m.Role {
		case RoleReasoning:
			s.reasoning = owned(s.reasoning, m.ID, m.SubagentRunID, replace)
		case RoleActivity:
			s.activities = owned(s.activities, m.ID, m.SubagentRunID, replace)
		default:
			s.texts = owned(s.texts, m.ID, m.SubagentRunID, replace)
		}
		for j := range m.ToolCalls {
			s.calls = owned(s.calls, m.ToolCalls[j].ID, m.SubagentRunID, replace)
		}
	}
}

// Running reports whether a run is open: RUN_STARTED came and no terminal event.
func (s *Sequence) Running() bool { return s.phase == phaseRunning }

// Run returns the ids of the newest run, empty before there is one.
func (s *Sequence) Run() (threadID, runID string) { return s.threadID, s.runID }

// OpenItem is something that was opened and not closed.
type OpenItem struct {
	Opener        EventType // TypeTextMessageStart, TypeStepStarted, …
	ID            string    // a step's is its name
	SubagentRunID string    // its owner; a subagent's own id for a subagent
	Chunked       bool      // opened by a chunk: it ends by itself before a terminal event
	number        uint64
}

// Open lists what is open, in the order it was opened.
func (s *Sequence) Open() []OpenItem {
	var list []OpenItem
	chunked := func(kind chunkKind, id string) bool {
		for i := range s.lanes.open {
			if l := &s.lanes.open[i]; l.kind == kind && l.id == id {
				return true
			}
		}
		return false
	}
	for id, e := range s.texts {
		if e.open != 0 {
			list = append(list, OpenItem{TypeTextMessageStart, id, e.owner, chunked(chunkText, id), e.open})
		}
	}
	for id, e := range s.calls {
		if e.open != 0 {
			list = append(list, OpenItem{TypeToolCallStart, id, e.owner, chunked(chunkTool, id), e.open})
		}
	}
	for id, e := range s.reasoning {
		if e.open != 0 {
			list = append(list, OpenItem{TypeReasoningMessageStart, id, e.owner, chunked(chunkReasoning, id), e.open})
		}
		if e.span != 0 {
			list = append(list, OpenItem{TypeReasoningStart, id, e.owner, false, e.span})
		}
	}
	for step, number := range s.steps {
		list = append(list, OpenItem{TypeStepStarted, step.name, step.owner, false, number})
	}
	for id, number := range s.subagents {
		if number != 0 {
			list = append(list, OpenItem{TypeSubagentStarted, id, id, false, number})
		}
	}
	slices.SortFunc(list, func(a, b OpenItem) int { return cmp.Compare(a.number, b.number) })
	return list
}

// UnfinishedSubagent is the fixed text of the SUBAGENT_ERROR that [Sequence.Close]
// makes.
const UnfinishedSubagent = "The subagent did not finish."

// Close returns the events that have to come before RUN_FINISHED: an end for
// everything that is open, the last opened first. A subagent that is cut did
// not finish, so it gets SUBAGENT_ERROR. What chunks opened is left out: it ends
// by itself (or, where other events have taken its message over, nothing can
// end the run legally). The events are not counted; they go through Check like
// any other.
func (s *Sequence) Close() []Event {
	if s.phase != phaseRunning {
		return nil
	}
	open := s.Open()
	var ends []Event
	for _, item := range slices.Backward(open) {
		base := Base{SubagentRunID: item.SubagentRunID}
		switch {
		case item.Chunked:
		case item.Opener == TypeTextMessageStart:
			ends = append(ends, &TextMessageEnd{Base: base, MessageID: item.ID})
		case item.Opener == TypeToolCallStart:
			ends = append(ends, &ToolCallEnd{Base: base, ToolCallID: item.ID})
		case item.Opener == TypeReasoningMessageStart:
			ends = append(ends, &ReasoningMessageEnd{Base: base, MessageID: item.ID})
		case item.Opener == TypeReasoningStart:
			ends = append(ends, &ReasoningEnd{Base: base, MessageID: item.ID})
		case item.Opener == TypeStepStarted:
			ends = append(ends, &StepFinished{Base: base, StepName: item.ID})
		case item.Opener == TypeSubagentStarted:
			ends = append(ends, &SubagentError{Base: base, Message: UnfinishedSubagent})
		}
	}
	return ends
}
