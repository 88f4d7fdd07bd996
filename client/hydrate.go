package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// Snapshot is a thread at one position, as Hydrate brings it.
type Snapshot struct {
	ThreadID string
	Position string
	Revision uint64
	// State is what viewers see: predictions and proposals included.
	State jsondoc.Value
	// Predicted are the places of State that are still predictions.
	Predicted  []jsondoc.Pointer
	Messages   []agui.Message
	Interrupts []agui.Interrupt // what the thread waits for
	Active     *ActiveRun       // nil: no run is active
}

// ActiveRun is a run that has not ended.
type ActiveRun struct {
	RunID     string    `json:"runId"`
	StartedAt time.Time `json:"startedAt"`
}

// Hydrate asks for the thread as it is now and brings State, Messages and
// Interrupts up to that, unless they are newer. No model is asked. Follow goes on
// from there. A thread that the server does not know is an [*HTTPError] of
// status 404.
func (t *Thread) Hydrate(ctx context.Context) (*Snapshot, error) {
	t.mu.Lock()
	was := t.view.at
	t.mu.Unlock()
	body, err := t.client.fetch(ctx, request{method: http.MethodGet, path: []string{"threads", t.id}})
	if err != nil {
		return nil, err
	}
	s, err := readSnapshot(body)
	if err != nil {
		return nil, err
	}
	at, ok := parsePosition(s.Position)
	if !ok {
		return s, nil
	}
	b := batch{events: s.events(), at: at, prelude: true}
	if at.epoch == was.epoch && at.seq < was.seq {
		b.back = was
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.view.apply(b) {
		t.view.revision = s.Revision
	}
	return s, nil
}

func readSnapshot(body []byte) (*Snapshot, error) {
	doc, err := jsondoc.Parse(body, nil)
	if err != nil {
		return nil, err
	}
	var head struct {
		ThreadID  string            `json:"threadId"`
		Position  string            `json:"position"`
		Revision  uint64            `json:"revision"`
		Predicted []jsondoc.Pointer `json:"predicted"`
		ActiveRun *ActiveRun        `json:"activeRun"`
	}
	if err := doc.Decode(&head); err != nil {
		return nil, err
	}
	s := &Snapshot{
		ThreadID: head.ThreadID, Position: head.Position, Revision: head.Revision,
		Predicted: head.Predicted, Active: head.ActiveRun,
	}
	s.State, _ = doc.Get("state")
	if v, ok := doc.Get("messages"); ok {
		if s.Messages, err = agui.DecodeMessages(v.AppendJSON(nil), nil); err != nil {
			return nil, err
		}
	}
	if v, ok := doc.Get("interrupts"); ok {
		if s.Interrupts, err = decodeInterrupts(v); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// decodeInterrupts reads a list of interrupts. They have no decoder of their
// own: on the wire they are always in an outcome.
func decodeInterrupts(list jsondoc.Value) ([]agui.Interrupt, error) {
	if list.Len() == 0 {
		return nil, nil
	}
	e, err := agui.DecodeEvent(jsondoc.Object(
		jsondoc.Member{Name: "type", Value: jsondoc.String(string(agui.TypeRunFinished))},
		jsondoc.Member{Name: "threadId", Value: jsondoc.String("")},
		jsondoc.Member{Name: "runId", Value: jsondoc.String("")},
		jsondoc.Member{Name: "outcome", Value: jsondoc.Object(
			jsondoc.Member{Name: "type", Value: jsondoc.String(string(agui.OutcomeInterrupt))},
			jsondoc.Member{Name: "interrupts", Value: list},
		)},
	).AppendJSON(nil), nil)
	if err != nil {
		return nil, err
	}
	return e.(*agui.RunFinished).Outcome.Interrupts, nil
}

// events are the snapshot in the form of a prelude.
func (s *Snapshot) events() []agui.Event {
	runID := "hydrate-" + s.Position
	if s.Active != nil {
		runID = s.Active.RunID
	}
	out := []agui.Event{
		&agui.RunStarted{ThreadID: s.ThreadID, RunID: runID},
		&agui.StateSnapshot{Snapshot: s.State},
		&agui.MessagesSnapshot{Messages: s.Messages},
	}
	end := &agui.RunFinished{ThreadID: s.ThreadID, RunID: runID}
	if len(s.Interrupts) > 0 {
		end.Outcome = &agui.Outcome{Type: agui.OutcomeInterrupt, Interrupts: s.Interrupts}
	}
	if s.Active == nil || end.Outcome != nil {
		out = append(out, end)
	}
	return out
}

func unknownThread(err error) bool {
	var answer *HTTPError
	return errors.As(err, &answer) && answer.Status == http.StatusNotFound
}

// Stop stops the thread's active run, whoever started it: its predictions are
// taken back and it ends with outcome cancelled. It is false where no run was
// active. It does not wait for the end.
func (t *Thread) Stop(ctx context.Context) (bool, error) {
	_, err := t.client.fetch(ctx, request{method: http.MethodDelete, path: []string{"threads", t.id, "run"}})
	if unknownThread(err) {
		return false, nil
	}
	return err == nil, err
}

// Forget deletes the thread on the server, and what is known of it here. Those
// who follow it hear nothing more of it until it is used again.
func (t *Thread) Forget(ctx context.Context) error {
	_, err := t.client.fetch(ctx, request{method: http.MethodDelete, path: []string{"threads", t.id}})
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.view, t.edit = view{}, edit{}
	return nil
}

// ThreadInfo is a thread in a list.
type ThreadInfo struct {
	ThreadID   string
	Updated    time.Time
	Title      string     // what the conversation began with; "" for none
	Active     *ActiveRun // nil: no run is active
	Interrupts []agui.Interrupt
}

// Threads lists the caller's threads, newest first. The list is asked for page
// by page as the loop goes on; what changes meanwhile may be in it twice or not
// at all. The sequence ends after its first error.
func (c *Client) Threads(ctx context.Context) iter.Seq2[ThreadInfo, error] {
	return func(yield func(ThreadInfo, error) bool) {
		after := ""
		for {
			list, next, err := c.page(ctx, after)
			if err != nil {
				yield(ThreadInfo{}, err)
				return
			}
			for _, info := range list {
				if !yield(info, nil) {
					return
				}
			}
			if next == "" || next == after {
				return
			}
			after = next
		}
	}
}

func (c *Client) page(ctx context.Context, after string) (list []ThreadInfo, next string, err error) {
	r := request{method: http.MethodGet, path: []string{"threads"}}
	if after != "" {
		r.query = url.Values{"after": {after}}
	}
	body, err := c.fetch(ctx, r)
	if err != nil {
		return nil, "", err
	}
	doc, err := jsondoc.Parse(body, nil)
	if err != nil {
		return nil, "", err
	}
	threads, _ := doc.Get("threads")
	for _, v := range threads.Items() {
		var one struct {
			ThreadID  string     `json:"threadId"`
			Updated   time.Time  `json:"updated"`
			Title     string     `json:"title"`
			ActiveRun *ActiveRun `json:"activeRun"`
		}
		if err := v.Decode(&one); err != nil {
			return nil, "", err
		}
		info := ThreadInfo{ThreadID: one.ThreadID, Updated: one.Updated, Title: one.Title, Active: one.ActiveRun}
		open, _ := v.Get("interrupts")
		if info.Interrupts, err = decodeInterrupts(open); err != nil {
			return nil, "", err
		}
		list = append(list, info)
	}
	cursor, _ := doc.Get("next")
	return list, cursor.Str(), nil
}
