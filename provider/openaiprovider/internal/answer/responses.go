package answer

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/message"
)

// SealMark stands between the id and the sealed text of a reasoning item in
// [message.TextReasoningContent.ProtectedData]. The service wants both back, and
// neither has a colon in it.
const SealMark = ":"

// responsesEvent is what is read of an event of the Responses API. See [chatChunk] for
// why not the SDK's types.
type responsesEvent struct {
	Type         string             `json:"type"`
	Object       string             `json:"object"` // "response" where the answer came in one piece
	ItemID       string             `json:"item_id"`
	OutputIndex  integer            `json:"output_index"`
	ContentIndex integer            `json:"content_index"`
	SummaryIndex integer            `json:"summary_index"`
	Delta        fragment           `json:"delta"`
	Text         fragment           `json:"text"`
	Refusal      string             `json:"refusal"`
	Name         string             `json:"name"`
	Arguments    fragment           `json:"arguments"`
	Item         *responsesItem     `json:"item"`
	Response     *responsesResponse `json:"response"`
	Error        json.RawMessage    `json:"error"`
}

type responsesResponse struct {
	ID                string          `json:"id"`
	CreatedAt         integer         `json:"created_at"`
	Status            string          `json:"status"`
	Error             json.RawMessage `json:"error"`
	Output            []responsesItem `json:"output"`
	Usage             *responsesUsage `json:"usage"`
	IncompleteDetails *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

type responsesItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments fragment        `json:"arguments"`
	Content   []responsesText `json:"content"`
	Summary   []responsesText `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
}

type responsesText struct {
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

type responsesUsage struct {
	InputTokens        int64 `json:"input_tokens"`
	OutputTokens       int64 `json:"output_tokens"`
	TotalTokens        int64 `json:"total_tokens"`
	InputTokensDetails struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputTokensDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// Responses turns the events of one Responses answer into updates. The API says most
// things three times (as deltas, when an item is done, and in the last event); servers
// that imitate it leave one or two of them out. So what was said is compared with what
// was passed on, and only the rest goes out. It has no clock, no goroutine and no I/O.
type Responses struct {
	id     string
	made   time.Time
	items  []*responsesOutput
	byKey  map[string]*responsesOutput // by item id, call id, and "#" and output index
	last   *responsesOutput
	calls  int // opened
	sent   int // of which something was passed on
	finish string
	usage  *responsesUsage
	done   bool
}

// responsesOutput is an item of the output while it is written.
type responsesOutput struct {
	call   *responsesCall
	said   map[string]*pair // the parts of which something was passed on
	sealed bool
	done   bool
	placed bool // an item id or an index said which it is
}

type responsesCall struct {
	stream   *Responses
	index    int // among those of which something was passed on
	id, name string
	text     strings.Builder // all arguments so far
	half     pair
	json     jsonScan
	sent     bool
}

// Event takes one event and returns what it adds; nil if that is nothing.
func (s *Responses) Event(name string, data []byte) (*agent.ResponseUpdate, error) {
	if bytes.Equal(data, doneMark) { // not of this API, but of some servers
		s.done = true
		return nil, nil
	}
	var ev responsesEvent
	if err := json.Unmarshal(data, &ev); err != nil {
		return nil, fmt.Errorf("an event is no JSON as expected: %w", err)
	}
	if ev.Type == "" {
		ev.Type = name
	}
	if ev.Type == "error" || said(ev.Error) && ev.Response == nil && ev.Object == "" {
		if said(ev.Error) {
			return nil, parseError(ev.Error)
		}
		return nil, parseError(data)
	}
	if ev.Type == "" && ev.Object == "response" {
		ev.Type, ev.Response = "response.completed", new(responsesResponse)
		if err := json.Unmarshal(data, ev.Response); err != nil {
			return nil, fmt.Errorf("the answer is no JSON as expected: %w", err)
		}
	}
	contents, err := s.contents(&ev)
	if err != nil || len(contents) == 0 {
		return nil, err
	}
	return s.update(contents), nil
}

func (s *Responses) contents(ev *responsesEvent) (message.Contents, error) {
	switch ev.Type {
	case "response.created", "response.in_progress":
		s.begin(ev.Response)
	case "response.output_item.added", "response.output_item.done":
		if ev.Item != nil {
			done := ev.Type == "response.output_item.done"
			// One that does not say which it is: the one that is open ends, and another
			// one begins.
			another := !done || s.last != nil && s.last.done
			return s.item(ev.Item, s.output(another, ev.OutputIndex, ev.Item.ID, ev.Item.CallID), done)
		}
	case "response.output_text.delta", "response.refusal.delta":
		return s.text(s.of(ev), part("text", ev.ContentIndex), ev.Delta, true), nil
	case "response.output_text.done", "response.refusal.done":
		return s.text(s.of(ev), part("text", ev.ContentIndex), fragment{text: ev.Text.text + ev.Refusal}, false), nil
	case "response.reasoning_text.delta":
		return s.reasoning(s.of(ev), part("thought", ev.ContentIndex), ev.Delta, true), nil
	case "response.reasoning_text.done":
		return s.reasoning(s.of(ev), part("thought", ev.ContentIndex), ev.Text, false), nil
	case "response.reasoning_summary_text.delta":
		return s.reasoning(s.of(ev), part("summary", ev.SummaryIndex), ev.Delta, true), nil
	case "response.reasoning_summary_text.done":
		return s.reasoning(s.of(ev), part("summary", ev.SummaryIndex), ev.Text, false), nil
	case "response.function_call_arguments.delta", "response.function_call_arguments.done":
		call, err := s.call(s.of(ev))
		if err != nil {
			return nil, err
		}
		call.name = cmp.Or(call.name, ev.Name)
		if ev.Type == "response.function_call_arguments.delta" {
			return call.fragment(call.half.join(ev.Delta)), nil
		}
		return call.whole(ev.Arguments.text), nil
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return s.end(ev)
	}
	return nil, nil // events of hosted tools and new ones: nothing that we show
}

// end takes the last event, which repeats the whole answer.
func (s *Responses) end(ev *responsesEvent) (message.Contents, error) {
	r := ev.Response
	if r == nil {
		r = new(responsesResponse)
	}
	s.begin(r)
	s.usage = r.Usage
	status := cmp.Or(r.Status, strings.TrimPrefix(ev.Type, "response."))
	if said(r.Error) {
		return nil, parseError(r.Error)
	}
	if status == "failed" || status == "cancelled" {
		return nil, &ServiceError{Type: status}
	}
	var contents message.Contents
	for i := range r.Output {
		item := &r.Output[i]
		out := s.output(true, integer{i, true}, item.ID, item.CallID)
		added, err := s.item(item, out, true)
		if err != nil {
			return nil, err
		}
		contents = append(contents, added...)
	}
	s.finish = agent.FinishReasonStop // or calls, see Close
	if status == "incomplete" {
		// Whatever the reason: the last call may be half of one.
		s.finish = agent.FinishReasonLength
		if r.IncompleteDetails != nil && r.IncompleteDetails.Reason == "content_filter" {
			s.finish = agent.FinishReasonContentFilter
		}
	}
	return contents, nil
}

func (s *Responses) begin(r *responsesResponse) {
	if r == nil {
		return
	}
	s.id = cmp.Or(s.id, r.ID)
	if s.made.IsZero() {
		s.made = r.CreatedAt.time()
	}
}

// output finds the item that has one of these ids (the item's own, then a call's) or
// this index, or makes one. Where nothing at all says which item it is, it is another
// one or the last.
func (s *Responses) output(another bool, index integer, ids ...string) *responsesOutput {
	n, indexed := index.n, index.set
	placed := indexed || ids[0] != ""
	keys := slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	if indexed {
		keys = append(keys, "#"+strconv.Itoa(n))
	}
	var out *responsesOutput
	for _, key := range keys {
		if out = s.byKey[key]; out != nil {
			break
		}
	}
	switch {
	case out != nil:
	case indexed && n >= 0 && n < len(s.items) && !s.items[n].placed:
		out = s.items[n] // a server that numbers nothing but the list at the end
	case len(keys) == 0 && !another && s.last != nil:
		out = s.last
	default:
		out = &responsesOutput{said: make(map[string]*pair)}
		s.items = append(s.items, out)
	}
	if s.byKey == nil {
		s.byKey = make(map[string]*responsesOutput)
	}
	for _, key := range keys {
		if s.byKey[key] == nil {
			s.byKey[key] = out
		}
	}
	out.placed = out.placed || placed
	s.last = out
	return out
}

func (s *Responses) of(ev *responsesEvent) *responsesOutput {
	return s.output(false, ev.OutputIndex, ev.ItemID)
}

// item takes a whole item, at its beginning or its end.
func (s *Responses) item(item *responsesItem, out *responsesOutput, done bool) (contents message.Contents, err error) {
	out.done = out.done || done
	switch item.Type {
	case "function_call":
		call, err := s.call(out)
		if err != nil {
			return nil, err
		}
		call.name = cmp.Or(call.name, item.Name)
		if !call.sent && item.CallID != "" {
			call.id = item.CallID
		}
		// The arguments of an item that begins are what is there already: nothing, or
		// all of it.
		return call.whole(item.Arguments.text), nil
	case "message":
		for i, p := range item.Content {
			contents = append(contents, s.text(out, "text"+strconv.Itoa(i), fragment{text: p.Text + p.Refusal}, false)...)
		}
	case "reasoning":
		for i, p := range item.Summary {
			contents = append(contents, s.reasoning(out, "summary"+strconv.Itoa(i), fragment{text: p.Text}, false)...)
		}
		for i, p := range item.Content {
			contents = append(contents, s.reasoning(out, "thought"+strconv.Itoa(i), fragment{text: p.Text}, false)...)
		}
		if done && item.Encrypted != "" && !out.sealed {
			out.sealed = true
			contents = append(contents, &message.TextReasoningContent{ProtectedData: item.ID + SealMark + item.Encrypted})
		}
	}
	return contents, nil
}

// pass is what a piece adds to a part: a delta always something, the whole only if
// nothing of the part was passed on before. first tells whether it is the part's first.
func (out *responsesOutput) pass(part string, f fragment, delta bool) (text string, first bool) {
	p := out.said[part]
	if p != nil && !delta {
		return "", false
	}
	if p != nil {
		return p.join(f), false
	}
	p = new(pair)
	if text = p.join(f); text != "" || f.tail != 0 {
		out.said[part] = p
	}
	return text, true
}

func (s *Responses) text(out *responsesOutput, part string, f fragment, delta bool) message.Contents {
	text, _ := out.pass(part, f, delta)
	return appendText(nil, text)
}

func (s *Responses) reasoning(out *responsesOutput, part string, f fragment, delta bool) message.Contents {
	another := len(out.said) > 0
	text, first := out.pass(part, f, delta)
	if first && another && text != "" {
		text = "\n\n" + text // each part of a summary is a paragraph
	}
	return appendThought(nil, text)
}

// part names a part of an item.
func part(kind string, index integer) string {
	return kind + strconv.Itoa(index.n) // none is the first
}

// call returns the call that an item is.
func (s *Responses) call(out *responsesOutput) (*responsesCall, error) {
	if out.call == nil {
		if s.calls == maxCalls {
			return nil, errTooManyCalls
		}
		out.call = &responsesCall{stream: s, id: "call_" + rand.Text()}
		s.calls++
	}
	return out.call, nil
}

// fragment adds the next piece of the arguments.
func (c *responsesCall) fragment(text string) message.Contents {
	restart := c.json.write(text)
	if restart {
		c.text.Reset()
	}
	c.text.WriteString(text)
	return c.pass(text, restart)
}

// whole compares all of the arguments with what is known, and adds what is missing.
func (c *responsesCall) whole(text string) message.Contents {
	if text != "" {
		c.half = pair{} // its other half is in text
	}
	if rest, ok := strings.CutPrefix(text, c.text.String()); ok {
		return c.fragment(rest)
	}
	if text == "" {
		return nil
	}
	c.json = jsonScan{}
	c.json.write(text)
	c.text.Reset()
	c.text.WriteString(text)
	return c.pass(text, true)
}

func (c *responsesCall) pass(text string, restart bool) message.Contents {
	if c.name == "" { // held back: nobody can do anything with arguments for they do not know what
		return nil
	}
	if !c.sent {
		text, restart = c.text.String(), false
		c.sent, c.index = true, c.stream.sent
		c.stream.sent++
	} else if text == "" {
		return nil
	}
	return message.Contents{&message.FunctionCallDelta{Index: c.index, CallID: c.id, Name: c.name, Arguments: text, Restart: restart}}
}

func (s *Responses) Complete() bool { return s.done || s.finish != "" }
func (s *Responses) Ended() bool    { return s.Complete() }

func (s *Responses) Close() (*agent.ResponseUpdate, error) {
	for _, out := range s.items {
		if out.call != nil && out.call.name == "" && strings.TrimSpace(out.call.text.String()) != "" {
			return nil, errNamelessCall
		}
	}
	var contents message.Contents
	if u := s.usage; u != nil {
		contents = append(contents, &message.UsageContent{Details: message.UsageDetails{
			InputTokenCount:       u.InputTokens,
			OutputTokenCount:      u.OutputTokens,
			TotalTokenCount:       cmp.Or(u.TotalTokens, u.InputTokens+u.OutputTokens),
			CachedInputTokenCount: u.InputTokensDetails.CachedTokens,
			ReasoningTokenCount:   u.OutputTokensDetails.ReasoningTokens,
		}})
	}
	update := s.update(contents)
	update.FinishReason = finishReason(s.finish, s.sent > 0)
	return update, nil
}

func (s *Responses) update(contents message.Contents) *agent.ResponseUpdate {
	return &agent.ResponseUpdate{Role: message.RoleAssistant, Contents: contents, ResponseID: s.id, CreatedAt: s.made}
}
