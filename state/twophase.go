package state

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
)

// TwoPhaseOptions are the texts of TwoPhase. Nil, or an empty text, means the
// standard one.
type TwoPhaseOptions struct {
	Name        string // of the response format; "state" if empty
	Description string // of the response format
	Ask         string // asks for the new state
	Summarize   string // asks for the summary
	Unchanged   string // asks for an answer instead, where the new state is the old one
	Failed      string // what the user reads where the model's state is not usable
}

const (
	askState  = "Answer with the new state only, as one JSON object of the required form. Keep everything of the current state that is not to change."
	askWords  = "Say in at most two sentences what changed in the state. Do not show JSON."
	askReply  = "The state did not change. Answer the user from it in at most two sentences. Do not show JSON."
	badFormat = "I could not write the new state in the right form, so everything stays as it was."
)

// TwoPhase is a middleware for models that write state as structured output
// instead of calling a tool. The model is asked twice: for the new state, in
// the form of T's schema, and for a short summary, or for an answer where the
// state is the one that was there. The text of the first answer is withheld; it
// is streamed as predicted state while it is written, and what it names is
// committed when it is whole and fits (STATE_SNAPSHOT). Calls that the model
// makes in between pass through.
//
// Where there is no state to work on, the agent is run as it is: the thread has
// none, or {}, and the client posted none, or {}. What a thread begins with
// counts, so an agent with an initial state, its own ([Config].Initial) or its
// schema's, is asked twice from the first message on, whatever the client posts.
func TwoPhase[T any](o *TwoPhaseOptions) agent.Middleware {
	return TwoPhaseSchema(SchemaFor[T](), o)
}

// TwoPhaseSchema is TwoPhase for a schema that is not a Go type.
func TwoPhaseSchema(s *Schema, o *TwoPhaseOptions) agent.Middleware {
	t := &twoPhase{schema: s}
	if o != nil {
		t.o = *o
	}
	for text, standard := range map[*string]string{&t.o.Name: "state", &t.o.Ask: askState, &t.o.Summarize: askWords, &t.o.Unchanged: askReply, &t.o.Failed: badFormat} {
		if *text == "" {
			*text = standard
		}
	}
	props, _ := s.Document().Get("properties")
	for name := range props.Members() {
		t.members = append(t.members, name)
	}
	return t
}

type twoPhase struct {
	schema  *Schema
	members []string
	o       TwoPhaseOptions
}

// Run implements agent.Middleware.
func (t *twoPhase) Run(next agent.RunFunc, ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
	return func(yield func(*agent.ResponseUpdate, error) bool) {
		h := From(ctx)
		current, err := h.Value()
		if current.Len() == 0 {
			current = h.Posted() // an agent that keeps no state yet
		}
		if err != nil || current.Kind() != jsondoc.KindObject || current.Len() == 0 {
			for u, err := range next(ctx, messages, opts...) {
				if !yield(u, err) {
					return
				}
			}
			return
		}
		answer, ok := t.write(h, next, current, messages, opts, yield)
		if !ok {
			return
		}
		written, err := h.Value()
		if err != nil {
			yield(nil, err)
			return
		}
		// The model is shown the new state only. It cannot tell by itself that
		// this is the old one, and would make up a change.
		ask := t.o.Summarize
		if jsondoc.Equal(current, written) {
			ask = t.o.Unchanged
		}
		second := append(messages[:len(messages):len(messages)], message.NewAssistant(&message.TextContent{Text: answer}), message.NewSystem(ask))
		for u, err := range next(ctx, second, opts...) {
			if !yield(u, err) {
				return
			}
		}
	}
}

// write is the first phase: the state's text, and whether to go on to the
// second.
func (t *twoPhase) write(h *Handle, next agent.RunFunc, current jsondoc.Value, messages []*message.Message, opts []agent.Option, yield func(*agent.ResponseUpdate, error) bool) (string, bool) {
	// The run puts the current state before every model call and drops messages
	// of this source, so that it is there once (S7). Where it is configured not
	// to, this one stays.
	state := message.NewSystem(fmt.Sprintf("The current state:\n%s%s\n```", StateBlock, current))
	state.Source = message.Source{Type: message.SourceTypeState}
	first := append(messages[:len(messages):len(messages)], state, message.NewSystem(t.o.Ask))
	format := agent.WithResponseFormat(agent.ResponseFormat{
		Kind: "json", Name: t.o.Name, Description: t.o.Description, Schema: t.schema.Document(),
	})
	draft := Draft{ID: "draft-" + rand.Text(), Members: t.members}
	text, of := "", ""
	for u, err := range next(h.ctx, first, append(opts[:len(opts):len(opts)], format)...) {
		if err != nil {
			yield(nil, err)
			return "", false
		}
		if u == nil {
			continue
		}
		rest := *u
		rest.Contents = nil
		for _, c := range u.Contents {
			piece, ok := c.(*message.TextContent)
			if !ok {
				rest.Contents = append(rest.Contents, c)
				continue
			}
			if u.MessageID != of && text != "" {
				// What was said before a tool call is not the state.
				text, draft.Restart = "", true
			}
			of = u.MessageID
			text += piece.Text
			draft.Fragment = piece.Text
			if err := h.driver.Draft(h.ctx, draft); err != nil {
				yield(nil, err)
				return "", false
			}
			draft.Restart = false
		}
		if len(rest.Contents) > 0 && !yield(&rest, nil) {
			return "", false
		}
	}
	draft.Fragment, draft.End = "", true
	if v, err := jsondoc.ParseString(text); err != nil {
		draft.Refused = err
	} else {
		draft.Refused = t.schema.Validate(v)
	}
	err := h.driver.Draft(h.ctx, draft)
	var bad *DraftError
	switch {
	case err == nil:
		return text, true
	case asDraftError(err, &bad):
		yield(&agent.ResponseUpdate{Role: message.RoleAssistant, MessageID: rand.Text(), Contents: message.Contents{&message.TextContent{Text: t.o.Failed}}}, nil)
	default:
		yield(nil, err)
	}
	return "", false
}
