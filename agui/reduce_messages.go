package agui

import (
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// This file holds what events do to tool calls, results, activities and the
// list of messages as a whole; see [Reducer] for the rules.

func (r *Reducer) startCall(e *ToolCallStart) {
	if !slices.Contains(r.called, e.ToolCallID) {
		r.called = append(r.called, e.ToolCallID)
	}
	if c, ok := r.calls[e.ToolCallID]; ok {
		call := &c.in.ToolCalls[c.index]
		call.Function.Name = e.ToolCallName
		mergeMetadata(&call.Metadata, e.Metadata)
		return
	}
	m := r.assistantFor(e)
	call := ToolCall{ID: e.ToolCallID, Type: toolCallFunction, Function: Function{Name: e.ToolCallName}}
	mergeMetadata(&call.Metadata, e.Metadata)
	m.ToolCalls = append(m.ToolCalls, call)
	r.note(m)
}

// assistantFor returns the assistant message a call belongs to, made if needed.
func (r *Reducer) assistantFor(e *ToolCallStart) *entry {
	id := e.ToolCallID
	if e.ParentMessageID != "" {
		parent := r.byID[e.ParentMessageID]
		switch {
		case parent == nil:
			id = e.ParentMessageID
		case parent.Role == RoleAssistant:
			return parent
		}
	}
	fresh := Message{ID: id, Role: RoleAssistant, ToolCalls: []ToolCall{}}
	if r.byID[id] == nil {
		fresh.SubagentRunID = e.SubagentRunID
	}
	return r.insert(len(r.list), &fresh)
}

func (r *Reducer) appendArgs(e *ToolCallArgs) {
	c, ok := r.calls[e.ToolCallID]
	if !ok {
		return
	}
	for len(c.in.args) <= c.index {
		c.in.args = append(c.in.args, nil)
	}
	if c.in.args[c.index] == nil {
		c.in.args[c.index] = new(strings.Builder)
	}
	call := &c.in.ToolCalls[c.index]
	call.Function.Arguments = grow(c.in.args[c.index], call.Function.Arguments, e.Delta)
	mergeMetadata(&call.Metadata, e.Metadata)
}

func (r *Reducer) result(e *ToolCallResult) {
	if r.answered == nil {
		r.answered = map[string]bool{}
	}
	r.answered[e.ToolCallID] = true
	m := Message{ID: e.MessageID, Role: RoleTool, ToolCallID: e.ToolCallID, Content: e.Content, SubagentRunID: e.SubagentRunID}
	if m.Content.IsAbsent() {
		m.Content = Text("")
	}
	mergeMetadata(&m.Metadata, e.Metadata)
	at := len(r.list)
	if c, ok := r.calls[e.ToolCallID]; ok {
		// From the end: a result mostly belongs to a late message.
		for i := len(r.list) - 1; i >= 0; i-- {
			if r.list[i] == c.in {
				at = i + 1
			}
		}
		for at < len(r.list) && r.list[at].Role == RoleTool {
			at++
		}
	}
	r.insert(at, &m)
}

func (r *Reducer) encrypted(e *ReasoningEncryptedValue) {
	if e.Subtype == SubtypeToolCall {
		if c, ok := r.calls[e.EntityID]; ok {
			c.in.ToolCalls[c.index].EncryptedValue = e.EncryptedValue
		}
		return
	}
	if m := r.textOf(e.EntityID); m != nil {
		m.EncryptedValue = e.EncryptedValue
	}
}

func (r *Reducer) activity(e *ActivitySnapshot) {
	replace := e.Replace == nil || *e.Replace
	fresh := Message{
		ID: e.MessageID, Role: RoleActivity, ActivityType: e.ActivityType,
		ActivityContent: e.Content, SubagentRunID: e.SubagentRunID,
	}
	m := r.byID[e.MessageID]
	switch {
	case m == nil:
		m = r.insert(len(r.list), &fresh)
	case m.Role == RoleActivity:
		if replace {
			fresh.Metadata = m.Metadata // it stays
			m = r.replace(m, &fresh)
		}
	case replace:
		m = r.replace(m, &fresh)
	default:
		return
	}
	mergeMetadata(&m.Metadata, e.Metadata)
}

func (r *Reducer) activityDelta(e *ActivityDelta) error {
	m := r.byID[e.MessageID]
	if m == nil || m.Role != RoleActivity {
		return nil
	}
	mergeMetadata(&m.Metadata, e.Metadata)
	content, err := knownOperations(e.Patch).Apply(m.ActivityContent, clientPatch)
	if err != nil {
		return &DeltaError{Event: TypeActivityDelta, MessageID: e.MessageID, Err: err}
	}
	changed := m.Message
	changed.ActivityType, changed.ActivityContent = e.ActivityType, content
	r.replace(m, &changed)
	return nil
}

// replace puts another message into the first place that holds m. An entry may
// be in two places, after a snapshot of a history with an id twice, and then
// the other one stays as it is.
func (r *Reducer) replace(m *entry, by *Message) *entry {
	n := &entry{Message: *by}
	r.last = nil
	r.list[slices.Index(r.list, m)] = n
	if len(m.ToolCalls) > 0 || slices.Contains(r.list, m) {
		r.index() // the calls it had are gone, or only in its other place
	} else {
		r.byID[n.ID] = n
	}
	return n
}

// snapshot restates the conversation.
func (r *Reducer) snapshot(e *MessagesSnapshot) {
	last := make(map[string]*entry, len(e.Messages)) // of an id given twice
	fresh := make([]*entry, 0, len(e.Messages))
	hasReasoning, hasActivity := false, false
	for i := range e.Messages {
		m := &e.Messages[i]
		if !m.Unknown.IsAbsent() {
			continue
		}
		n := &entry{Message: *m}
		n.ToolCalls = slices.Clone(m.ToolCalls)
		fresh = append(fresh, n)
		last[m.ID] = n
		hasReasoning = hasReasoning || m.Role == RoleReasoning
		hasActivity = hasActivity || m.Role == RoleActivity
	}
	owns := activityOwner(e.Metadata, hasActivity)
	kept := make([]*entry, 0, len(fresh))
	there := make(map[string]bool, len(r.list))
	for _, m := range r.list {
		switch n := last[m.ID]; {
		case n != nil:
			m = n
		case m.Role == RoleReasoning && !hasReasoning:
		case m.Role == RoleActivity && !owns(m.ActivityType):
		default:
			continue
		}
		kept = append(kept, m)
		there[m.ID] = true
	}
	for _, n := range fresh {
		if !there[n.ID] {
			kept = append(kept, n)
		}
	}
	r.list = kept
	r.index()
}

// activityOwner says which activities a snapshot removes by not naming them:
// all if it holds any activity, none otherwise, unless its metadata says so
// itself, by a convention of the official client's package.
func activityOwner(metadata jsondoc.Value, hasActivity bool) func(activityType string) bool {
	all := func(yes bool) func(string) bool { return func(string) bool { return yes } }
	if metadata.Kind() != jsondoc.KindObject {
		return all(hasActivity)
	}
	client, ok := metadata.Get("@ag-ui/client")
	if !ok {
		return all(hasActivity)
	}
	if client.Kind() != jsondoc.KindObject {
		return all(false)
	}
	types, ok := client.Get("authoritativeActivityTypes")
	switch {
	case !ok:
		return all(hasActivity)
	case types.IsNull():
		return all(true)
	case types.Kind() != jsondoc.KindArray:
		return all(false)
	}
	owned := map[string]bool{}
	for _, t := range types.Items() {
		if t.Kind() != jsondoc.KindString {
			return all(false)
		}
		owned[t.Str()] = true
	}
	return func(t string) bool { return owned[t] }
}
