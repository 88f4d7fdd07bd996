package agui

import "github.com/lockstep-go/lockstep/jsondoc"

// This file makes the types of this package ordinary citizens of encoding/json,
// so that one inside a struct of somebody else's is stored and logged as what it
// is on the wire. The methods that write have value receivers: encoding/json
// does not look for pointer methods on what it cannot address. Reading is
// lenient and keeps unknown members. Events can be written only: what an event
// is stands inside it, so [DecodeEvent] reads them.

// Document is one of this package's values as a JSON document, for what is put
// together from such.
func Document(v interface{ AppendJSON(dst []byte) []byte }) jsondoc.Value {
	doc, err := jsondoc.Parse(v.AppendJSON(nil), nil)
	if err != nil {
		panic(err) // what AppendJSON writes is JSON
	}
	return doc
}

// MarshalJSON returns what AppendJSON appends.
func (m Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (c ToolCall) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (p ContentPart) MarshalJSON() ([]byte, error) { return p.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (s Source) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (in RunAgentInput) MarshalJSON() ([]byte, error) { return in.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (t Tool) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (c Context) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (r ResumeEntry) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (i Interrupt) MarshalJSON() ([]byte, error) { return i.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (o Outcome) MarshalJSON() ([]byte, error) { return o.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (u TokenUsage) MarshalJSON() ([]byte, error) { return u.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (c Capabilities) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends, and null for an absent content.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.IsAbsent() {
		return []byte("null"), nil
	}
	return c.AppendJSON(nil), nil
}

// unmarshal reads data as one value.
func unmarshal[T any](data []byte, into *T, read func(d *decoder) T) error {
	d := takeDecoder()
	defer d.release()
	d.reset(data, &DecodeOptions{KeepUnknown: true})
	d.space()
	v := read(d)
	d.end()
	if d.err == nil {
		*into = v
	}
	return d.failure()
}

// readObject reads an object of a type that has no variants.
func readObject[T any, P interface {
	*T
	object
}](d *decoder) (v T) {
	d.object(P(&v))
	return v
}

// UnmarshalJSON reads a message.
func (m *Message) UnmarshalJSON(data []byte) error {
	return unmarshal(data, m, func(d *decoder) Message {
		v, _ := d.message()
		if d.err == nil && v.Role == "" {
			d.require(1<<31, "role")
		}
		return v
	})
}

// UnmarshalJSON reads a content: a string, an array of parts, or null.
func (c *Content) UnmarshalJSON(data []byte) error {
	return unmarshal(data, c, func(d *decoder) Content {
		if d.null(nullTolerated) {
			return Content{}
		}
		return d.content()
	})
}

// UnmarshalJSON reads an outcome.
func (o *Outcome) UnmarshalJSON(data []byte) error {
	return unmarshal(data, o, func(d *decoder) Outcome {
		if v := d.outcome(); v != nil {
			return *v
		}
		return Outcome{Type: OutcomeSuccess} // null is the older spelling of it
	})
}

// UnmarshalJSON reads a tool call.
func (c *ToolCall) UnmarshalJSON(data []byte) error { return unmarshal(data, c, readObject[ToolCall]) }

// UnmarshalJSON reads an input.
func (in *RunAgentInput) UnmarshalJSON(data []byte) error {
	return unmarshal(data, in, readObject[RunAgentInput])
}

// UnmarshalJSON reads a tool.
func (t *Tool) UnmarshalJSON(data []byte) error { return unmarshal(data, t, readObject[Tool]) }

// UnmarshalJSON reads a context.
func (c *Context) UnmarshalJSON(data []byte) error { return unmarshal(data, c, readObject[Context]) }

// UnmarshalJSON reads a resume entry.
func (r *ResumeEntry) UnmarshalJSON(data []byte) error {
	return unmarshal(data, r, readObject[ResumeEntry])
}

// UnmarshalJSON reads an interrupt.
func (i *Interrupt) UnmarshalJSON(data []byte) error {
	return unmarshal(data, i, readObject[Interrupt])
}

// UnmarshalJSON reads a usage.
func (u *TokenUsage) UnmarshalJSON(data []byte) error {
	return unmarshal(data, u, readObject[TokenUsage])
}

// UnmarshalJSON reads capabilities.
func (c *Capabilities) UnmarshalJSON(data []byte) error {
	return unmarshal(data, c, func(d *decoder) (v Capabilities) {
		d.object(asObject{&v})
		return v
	})
}

func marshal(e Event) ([]byte, error) { return AppendEvent(nil, e, V1), nil }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *RunStarted) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *RunFinished) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *RunError) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *StepStarted) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *StepFinished) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *TextMessageStart) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *TextMessageContent) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *TextMessageEnd) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *TextMessageChunk) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *ToolCallStart) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *ToolCallArgs) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *ToolCallEnd) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *ToolCallChunk) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *ToolCallResult) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *StateSnapshot) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *StateDelta) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *MessagesSnapshot) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *ActivitySnapshot) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *ActivityDelta) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *ReasoningStart) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *ReasoningEnd) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *ReasoningMessageStart) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *ReasoningMessageContent) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *ReasoningMessageEnd) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *ReasoningMessageChunk) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *ReasoningEncryptedValue) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *SubagentStarted) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *SubagentFinished) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *SubagentError) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *Raw) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *Custom) MarshalJSON() ([]byte, error) { return marshal(e) }

// MarshalJSON returns the event as [AppendEvent] writes it in V1.
func (e *Unknown) MarshalJSON() ([]byte, error) { return marshal(e) }
