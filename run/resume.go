package run

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/schema"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
)

// Answer is what a client answers to one interrupt.
type Answer struct {
	ID        string // empty: the only open one (an older shape)
	Cancelled bool
	Payload   jsondoc.Value
}

// Same is a text that two answers to one interrupt share if and only if they say
// the same.
func (a Answer) Same() string {
	if a.Cancelled {
		return agui.ResumeCancelled
	}
	return agui.ResumeResolved + " " + string(fromText(a.Payload).Canonical())
}

// fromText reads a payload that is the JSON text of an object or array, as some
// front ends send it.
func fromText(v jsondoc.Value) jsondoc.Value {
	if v.Kind() != jsondoc.KindString {
		return v
	}
	if s := strings.TrimSpace(v.Str()); strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
		if parsed, err := jsondoc.ParseString(s); err == nil {
			return parsed
		}
	}
	return v
}

func invalid(format string, args ...any) error {
	return agui.NewError(agui.CodeResumeInvalid, fmt.Sprintf(format, args...), nil)
}

// ReadResume finds the answers in an input: in its resume, or where older front
// ends put them (forwardedProps.command.resume, forwardedProps.resume). raw is the
// member resume as it was posted, where that is no list of ResumeEntry; else
// absent. Nothing of it is checked against what is open. An empty list is given back
// as one, not as nil. The error is an
// *agui.Error with code APPROVAL_RESUME_INVALID.
func ReadResume(in *agui.RunAgentInput, raw jsondoc.Value) ([]Answer, error) {
	if in.Resume != nil && raw.IsAbsent() {
		list := make([]jsondoc.Value, len(in.Resume))
		for i := range in.Resume {
			list[i] = agui.Document(&in.Resume[i])
		}
		raw = jsondoc.Array(list...)
	}
	bare := false // it may be a payload alone
	for _, place := range []jsondoc.Pointer{"/command/resume", "/resume"} {
		if raw.IsAbsent() || raw.IsNull() {
			raw, _ = in.ForwardedProps.At(place)
			bare = true
		}
	}
	if raw.IsAbsent() || raw.IsNull() {
		return nil, nil
	}
	raw = fromText(raw)
	for _, name := range []string{"interrupts", "interrupt"} {
		if list, ok := raw.Get(name); ok && list.Kind() == jsondoc.KindArray {
			raw = list
		}
	}
	var entries []jsondoc.Value
	switch {
	case raw.Kind() == jsondoc.KindArray:
		for _, e := range raw.Items() {
			entries = append(entries, e)
		}
	case raw.Kind() == jsondoc.KindObject && (!bare || answerID(raw) != ""):
		entries = []jsondoc.Value{raw}
	case bare:
		return []Answer{{Payload: raw}}, nil
	}
	if raw.Kind() == jsondoc.KindArray && len(entries) == 0 {
		return []Answer{}, nil
	}
	if len(entries) == 0 {
		return nil, invalid("resume is a list of {interruptId, status, payload} with at least one entry.")
	}
	var out []Answer
	known := map[string]bool{}
	for i, e := range entries {
		a, err := readAnswer(i, e)
		if err != nil {
			return nil, err
		}
		if known[a.ID] {
			return nil, invalid("resume answers one interrupt twice (entry %d).", i)
		}
		known[a.ID] = true
		out = append(out, a)
	}
	return out, nil
}

var idNames = []string{"interruptId", "interrupt_id", "id", "toolCallId"}

func answerID(e jsondoc.Value) string {
	for _, name := range idNames {
		if v, _ := e.Get(name); v.Str() != "" {
			return v.Str()
		}
	}
	return ""
}

func readAnswer(i int, e jsondoc.Value) (Answer, error) {
	a := Answer{ID: answerID(e)}
	if a.ID == "" {
		return a, invalid("resume entry %d names no interruptId.", i)
	}
	status := agui.ResumeResolved
	if v, ok := e.Get("status"); ok {
		status = v.Str()
	}
	switch status {
	case agui.ResumeResolved:
	case agui.ResumeCancelled:
		a.Cancelled = true
		return a, nil
	default:
		return a, invalid("the status of resume entry %d is %q or %q.", i, agui.ResumeResolved, agui.ResumeCancelled)
	}
	rest := e
	for _, name := range append([]string{"status", "type", "metadata"}, idNames...) {
		rest = rest.Without(name)
	}
	for _, name := range []string{"payload", "value", "response"} {
		if v, ok := e.Get(name); ok {
			a.Payload = v
			return a, nil
		}
	}
	if rest.Len() > 0 {
		a.Payload = rest
	}
	return a, nil
}

// Decide reads an answer to a proposal. The error is an *agui.Error: nothing has
// been decided then.
func Decide(p state.Proposal, a Answer, tools []tool.Tool) (Decision, error) {
	d := Decision{Proposal: p, Cancelled: a.Cancelled}
	if a.Cancelled {
		return d, nil
	}
	payload := fromText(a.Payload)
	if payload.IsAbsent() || payload.IsNull() {
		return d, invalid("a resolved interrupt needs a payload.")
	}
	if p.Call == "" {
		if p.Ask.Schema.Kind() == jsondoc.KindObject && fits(p.Ask.Schema, a.Payload) == nil {
			payload = a.Payload // a text that was asked for, though it looks like JSON
		}
		if err := fits(p.Ask.Schema, payload); err != nil {
			return d, agui.NewError(agui.CodeResumeInvalidResponse, "The answer does not fit the interrupt's response schema: "+err.Error(), err)
		}
		d.Approved, d.Payload = true, payload
		return d, nil
	}
	var declared jsondoc.Value
	for _, t := range tools {
		if t.Name() == p.Tool {
			if dt, ok := tool.As[tool.Declared](t); ok {
				declared = dt.Schema()
			}
		}
	}
	edited, err := d.read(payload, declared)
	if err != nil || !d.Approved || edited.IsAbsent() {
		return d, err
	}
	if edited.Kind() != jsondoc.KindObject {
		return d, agui.NewError(agui.CodeResumeInvalidResponse, "editedArgs is an object with all arguments of the call.", nil)
	}
	if err := fits(declared, edited); err != nil {
		return d, agui.NewError(agui.CodeResumeInvalidResponse, "The edited arguments do not fit the tool's schema: "+err.Error(), err)
	}
	d.Arguments = edited
	return d, nil
}

// read takes the payload of an approval apart. edited is the whole arguments
// where the answer changes any.
func (d *Decision) read(payload, declared jsondoc.Value) (edited jsondoc.Value, err error) {
	if payload.Kind() != jsondoc.KindObject {
		return edited, invalid("the answer to a tool's proposal is an object such as {\"approved\": true}.")
	}
	said := 0
	for _, name := range []string{"approved", "accepted"} {
		v, ok := payload.Get(name)
		if !ok {
			continue
		}
		if v.Kind() != jsondoc.KindBool {
			return edited, invalid("%q is true or false.", name)
		}
		if said++; said == 2 && v.Bool() != d.Approved {
			return edited, invalid("the answer says both yes and no.")
		}
		d.Approved = v.Bool()
	}
	properties, _ := declared.Get("properties")
	argument := func(name string) bool {
		_, is := d.Proposal.Arguments.Get(name)
		_, can := properties.Get(name)
		return is || can
	}
	steps, hasSteps := payload.Get("steps")
	if hasSteps && steps.Kind() != jsondoc.KindArray {
		return edited, invalid("\"steps\" is a list.")
	}
	chosen := enabled(steps)
	switch {
	case said == 0 && !hasSteps:
		return edited, invalid("the answer says neither \"approved\" nor \"accepted\".")
	case said == 0:
		d.Approved = chosen.Len() > 0
	case hasSteps && !argument("steps") && steps.Len() > 0 && chosen.Len() == 0:
		d.Approved = false // the one step that there is, the call itself, is switched off
	}
	if !d.Approved {
		return jsondoc.Value{}, nil
	}
	all, whole := payload.Get("editedArgs")
	if whole {
		edited = all
	}
	for name, v := range payload.Members() {
		switch name {
		case "approved", "accepted", "editedArgs":
			continue
		case "steps":
			if !argument("steps") {
				continue
			}
			v = chosen
		case "toolCall":
			if !argument(name) {
				if !d.names(v) {
					return edited, invalid("the answer's toolCall is not the call that was proposed.")
				}
				continue
			}
		}
		if !argument(name) {
			return edited, invalid("%q is no argument of %s.", name, d.Proposal.Tool)
		}
		if whole {
			continue
		}
		if edited.IsAbsent() {
			edited = d.Proposal.Arguments
		}
		edited = edited.With(name, v)
	}
	if jsondoc.Equal(edited, d.Proposal.Arguments) {
		edited = jsondoc.Value{}
	}
	return edited, nil
}

// names reports whether a toolCall that the client repeats is the proposal's
// own. Some clients send it along; it never replaces the server's copy.
func (d *Decision) names(v jsondoc.Value) bool {
	id, _ := v.Get("callId")
	id2, _ := v.Get("call_id")
	name, _ := v.Get("name")
	if cmp.Or(id.Str(), id2.Str()) != d.Proposal.Call || name.Str() != d.Proposal.Tool {
		return false
	}
	args, ok := v.Get("arguments")
	return !ok || jsondoc.Equal(fromText(args), d.Proposal.Arguments)
}

// enabled is the steps that a person left switched on.
func enabled(steps jsondoc.Value) jsondoc.Value {
	var out []jsondoc.Value
	for _, s := range steps.Items() {
		if status, _ := s.Get("status"); status.Str() != "disabled" {
			out = append(out, s)
		}
	}
	return jsondoc.Array(out...)
}

// fits checks a value against a schema; a schema that cannot be read checks
// nothing: it is the operator's, and was not needed to run the tool before.
func fits(document, v jsondoc.Value) error {
	if document.Kind() != jsondoc.KindObject {
		return nil
	}
	s, err := schema.Compile(document)
	if err != nil {
		return nil
	}
	err = s.Validate(v)
	var bad *schema.Error
	if errors.As(err, &bad) && len(bad.Violations) > 0 {
		return fmt.Errorf("%s: %s", cmp.Or(string(bad.Violations[0].Path), "/"), bad.Violations[0].Reason)
	}
	return err
}
