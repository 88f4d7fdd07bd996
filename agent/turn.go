package agent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
)

// idSet knows the ids that a conversation has used.
type idSet struct {
	calls, messages map[string]bool
}

func usedIDs(messages []*message.Message) idSet {
	s := idSet{calls: make(map[string]bool), messages: make(map[string]bool)}
	for _, m := range messages {
		if m == nil {
			continue
		}
		s.messages[m.ID] = true
		for _, call := range m.Contents.Calls() {
			s.calls[call.CallID] = true
		}
	}
	return s
}

// turn reads one answer of the model: it names what has no name, joins fragments to
// calls and keeps the messages. It is plain data, without goroutines or clocks.
type turn struct {
	ids   *idSet
	newID func() string

	calls    []*callState          // in the order in which they were opened
	byIndex  map[int]*callState    // the call that a fragment's index means now
	renamed  map[messageKey]string // the provider's message ids and ours
	last     map[message.Role]string
	response Response
	size     int // bytes of text, arguments and data
}

type messageKey struct {
	id   string
	role message.Role
}

// callState is a call that the model is writing or has written.
type callState struct {
	providerID string // as the provider says, may be empty
	id, name   string // as everybody else sees it
	messageID  string
	role       message.Role
	index      int
	arguments  strings.Builder
	held       bool // fragments wait for the name
	streamed   bool // fragments were passed on

	complete *message.FunctionCallContent // what the provider reported, or nil
	done     bool                         // the complete call was passed on
	answered bool                         // by the provider itself
}

func newTurn(ids *idSet, newID func() string) *turn {
	return &turn{ids: ids, newID: newID, byIndex: make(map[int]*callState),
		renamed: make(map[messageKey]string), last: make(map[message.Role]string)}
}

// take reads one update of the provider and returns what to pass on: nearly always
// that update with its ids filled in.
func (t *turn) take(u *ResponseUpdate) []*ResponseUpdate {
	if u == nil {
		return nil
	}
	out := *u
	out.Role = cmp.Or(u.Role, message.RoleAssistant)
	out.MessageID = t.messageID(u.MessageID, out.Role)
	out.Contents = make(message.Contents, 0, len(u.Contents))
	var before []*ResponseUpdate
	for _, c := range u.Contents {
		switch c := c.(type) {
		case nil:
		case *message.FunctionCallDelta:
			if d := t.fragment(c, &out); d != nil {
				out.Contents = append(out.Contents, d)
			}
		case *message.FunctionCallContent:
			if c.InformationalOnly {
				out.Contents = append(out.Contents, t.hosted(c))
			} else if d := t.whole(c, &out); d != nil {
				out.Contents = append(out.Contents, d)
			}
		case *message.FunctionResultContent:
			call, messageID, role, c := t.providerResult(c)
			if call != nil && messageID == out.MessageID {
				out.Contents = append(out.Contents, call)
			} else if call != nil {
				before = append(before, &ResponseUpdate{Role: role, MessageID: messageID, Contents: message.Contents{call}})
			}
			out.Contents = append(out.Contents, c)
		default:
			out.Contents = append(out.Contents, c)
		}
	}
	if len(u.Contents) > 0 && len(out.Contents) == 0 && u.FinishReason == "" && len(u.AdditionalProperties) == 0 {
		return before // all of it is held back
	}
	updates := append(before, &out)
	for _, u := range updates {
		t.response.Update(u)
		t.size += sizeOf(u.Contents)
	}
	return updates
}

// sizeOf counts the bytes that a model can make us keep.
func sizeOf(cs message.Contents) int {
	n := 0
	for _, c := range cs {
		switch c := c.(type) {
		case *message.TextContent:
			n += len(c.Text)
		case *message.TextReasoningContent:
			n += len(c.Text) + len(c.ProtectedData)
		case *message.FunctionCallDelta:
			n += len(c.Arguments)
		case *message.FunctionCallContent:
			n += len(c.Arguments)
		case *message.DataContent:
			n += len(c.Data)
		}
	}
	return n
}

// messageID maps a provider's message id to one that the conversation has not used
// before this turn. No id means the message that is being written.
func (t *turn) messageID(provided string, role message.Role) string {
	if provided == "" && t.last[role] != "" {
		return t.last[role]
	}
	key := messageKey{provided, role}
	id, ok := t.renamed[key]
	if !ok {
		if id = provided; id == "" || t.ids.messages[id] {
			id = "msg_" + t.newID()
		}
		t.ids.messages[id] = true
		t.renamed[key] = id
	}
	t.last[role] = id
	return id
}

// open begins a call.
func (t *turn) open(providerID, name string, index int, u *ResponseUpdate) *callState {
	st := &callState{providerID: providerID, id: providerID, name: name, index: index, messageID: u.MessageID, role: u.Role}
	if st.id == "" || t.ids.calls[st.id] {
		// Some servers number the calls of every turn from the start; user interfaces
		// key calls by id.
		st.id = "call_" + t.newID()
	}
	t.ids.calls[st.id] = true
	t.calls = append(t.calls, st)
	return st
}

// fragment reads one fragment and returns what to pass on, nil for nothing yet.
func (t *turn) fragment(c *message.FunctionCallDelta, u *ResponseUpdate) *message.FunctionCallDelta {
	st := t.byIndex[c.Index]
	if st == nil || c.CallID != "" && st.providerID != "" && c.CallID != st.providerID {
		st = t.open(c.CallID, c.Name, c.Index, u)
		t.byIndex[c.Index] = st
	}
	if st.providerID == "" {
		st.providerID = c.CallID
	}
	if st.done {
		return nil // late: the call was already handed over
	}
	if c.Restart {
		st.arguments.Reset()
	}
	st.arguments.WriteString(c.Arguments)
	if st.name == "" {
		if st.name = c.Name; st.name == "" {
			st.held = true
			return nil
		}
	}
	d := &message.FunctionCallDelta{
		ContentHeader: c.ContentHeader,
		CallID:        st.id, Name: st.name, Arguments: c.Arguments,
		Index: c.Index, Restart: c.Restart && st.streamed,
	}
	if st.held {
		st.held = false
		d.Arguments = st.arguments.String()
	}
	st.streamed = true
	return d
}

// whole reads a complete call. It returns a fragment to pass on if what was
// streamed so far turns out not to be what the call says.
func (t *turn) whole(c *message.FunctionCallContent, u *ResponseUpdate) *message.FunctionCallDelta {
	var st *callState
	for _, s := range t.calls {
		if c.CallID == "" || s.providerID != c.CallID {
			continue
		}
		if s.complete == nil {
			st = s
			break
		}
		if s.complete.Name == c.Name && s.complete.Arguments == c.Arguments {
			return nil // said twice
		}
	}
	if st == nil {
		st = t.open(c.CallID, c.Name, len(t.calls), u)
	}
	st.complete = c
	st.name = cmp.Or(c.Name, st.name)
	if !st.streamed {
		st.arguments.Reset()
		st.arguments.WriteString(c.Arguments)
		return nil
	}
	if st.arguments.String() == c.Arguments {
		return nil
	}
	st.arguments.Reset()
	st.arguments.WriteString(c.Arguments)
	return &message.FunctionCallDelta{CallID: st.id, Name: st.name, Arguments: c.Arguments, Index: st.index, Restart: true}
}

// hosted settles a call of which the provider says, after its fragments, that it runs it
// itself. It returns the call under the id that the fragments had.
func (t *turn) hosted(c *message.FunctionCallContent) *message.FunctionCallContent {
	for _, st := range t.calls {
		if st.done || st.providerID != c.CallID {
			continue
		}
		st.done, st.answered = true, true
		if st.id != c.CallID {
			renamed := *c
			renamed.CallID = st.id
			return &renamed
		}
		break
	}
	return c
}

// providerResult notes that the provider has run a call itself. It returns the
// complete call if it was not passed on yet, and the result under the call's id.
func (t *turn) providerResult(c *message.FunctionResultContent) (call *message.FunctionCallContent, messageID string, role message.Role, result *message.FunctionResultContent) {
	for _, st := range t.calls {
		if st.answered || st.providerID != c.CallID {
			continue
		}
		st.answered = true
		if !st.done {
			st.done = true
			call = st.content(nil)
		}
		if st.id != c.CallID {
			renamed := *c
			renamed.CallID = st.id
			c = &renamed
		}
		return call, st.messageID, st.role, c
	}
	return nil, "", "", c
}

// content is the complete call.
func (st *callState) content(err error) *message.FunctionCallContent {
	call := &message.FunctionCallContent{CallID: st.id, Name: st.name, Arguments: st.arguments.String(), Error: err}
	if st.complete != nil {
		call.ContentHeader = st.complete.ContentHeader
		if st.complete.Error != nil {
			call.Error = st.complete.Error
		}
	}
	return call
}

// end closes the turn: it returns the complete calls, as updates to pass on and, for
// those that are to be dealt with, as a list.
func (t *turn) end() (updates []*ResponseUpdate, calls []*message.FunctionCallContent) {
	truncated := t.cut()
	for i, st := range t.calls {
		if st.done {
			continue
		}
		st.done = true
		var err error
		if truncated && i == len(t.calls)-1 {
			// Even if the arguments look complete: the model did not say so.
			err = ErrTruncated
		} else {
			_, err = parseArguments(st.arguments.String())
		}
		call := st.content(err)
		calls = append(calls, call)
		if n := len(updates); n > 0 && updates[n-1].MessageID == st.messageID {
			updates[n-1].Contents = append(updates[n-1].Contents, call)
			continue
		}
		updates = append(updates, &ResponseUpdate{Role: st.role, MessageID: st.messageID, Contents: message.Contents{call}})
	}
	for _, u := range updates {
		t.response.Update(u)
	}
	return updates, calls
}

// cut reports whether the model was stopped before it was done.
func (t *turn) cut() bool {
	return t.response.FinishReason == FinishReasonLength || t.response.FinishReason == FinishReasonContentFilter
}

// messages returns what the turn adds to the conversation.
func (t *turn) messages() []*message.Message {
	t.response.Coalesce()
	return slices.DeleteFunc(t.response.Messages, func(m *message.Message) bool { return len(m.Contents) == 0 })
}

// parseArguments reads the arguments of a call. Models leave empty arguments out, so
// "" is {}. The error is an ErrInvalidArguments.
func parseArguments(text string) (jsondoc.Value, error) {
	if strings.TrimSpace(text) == "" {
		return jsondoc.Object(), nil
	}
	v, err := jsondoc.ParseString(text)
	if err != nil {
		return v, &argumentsError{cause: err}
	}
	if v.Kind() != jsondoc.KindObject {
		return v, &argumentsError{cause: fmt.Errorf("it is %s", v.Kind())}
	}
	return v, nil
}

// argumentsError says where the arguments stop being a JSON object.
type argumentsError struct{ cause error }

func (e *argumentsError) Error() string   { return ErrInvalidArguments.Error() + ": " + e.cause.Error() }
func (e *argumentsError) Unwrap() []error { return []error{ErrInvalidArguments, e.cause} }

// problemText is what the model reads about a call that cannot run as it is.
func problemText(err error) string {
	var args *argumentsError
	switch {
	case errors.Is(err, ErrTruncated):
		return "Error: the answer was cut off before this call was complete, most likely by its length limit, so the call was not run. Call again with shorter arguments."
	case errors.As(err, &args):
		return "Error: the arguments are not a JSON object, so the call was not run (" + args.cause.Error() + "). Call again with valid arguments."
	}
	return "Error: the call could not be read, so it was not run. Call again."
}
