package agui

import (
	"crypto/rand"
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// The event types before 1.0 that were replaced by REASONING_*.
const (
	typeThinkingStart       EventType = "THINKING_START"
	typeThinkingEnd         EventType = "THINKING_END"
	typeThinkingTextStart   EventType = "THINKING_TEXT_MESSAGE_START"
	typeThinkingTextContent EventType = "THINKING_TEXT_MESSAGE_CONTENT"
	typeThinkingTextEnd     EventType = "THINKING_TEXT_MESSAGE_END"
)

// Upgrader turns retired THINKING_* events into the REASONING_* events that
// replaced them. Those name no message, so it makes ids up and remembers them:
// one Upgrader serves one stream. The zero value is ready.
type Upgrader struct {
	// NewID makes an id; nil means a random one.
	NewID func() string

	span, message string
}

// Upgrade returns the modern form of e, or e itself. A continuation that
// nothing opened gets an id that nothing opened, so that [Sequence] refuses it,
// as the official client does. An event whose delta is missing or no string
// stays [Unknown].
func (u *Upgrader) Upgrade(e Event) Event {
	old, ok := e.(*Unknown)
	if !ok || !strings.HasPrefix(string(old.Type), "THINKING_") {
		return e
	}
	base, err := oldBase(old)
	if err != nil {
		return e
	}
	switch old.Type {
	case typeThinkingStart:
		u.span = u.newID()
		return &ReasoningStart{Base: base, MessageID: u.span}
	case typeThinkingTextStart:
		u.message = u.newID()
		return &ReasoningMessageStart{Base: base, MessageID: u.message}
	case typeThinkingTextContent:
		delta, ok := old.JSON.Get("delta")
		if !ok || !isString(delta) {
			return e
		}
		return &ReasoningMessageContent{Base: base, MessageID: u.orNew(u.message), Delta: delta.Str()}
	case typeThinkingTextEnd:
		id := u.orNew(u.message)
		u.message = ""
		return &ReasoningMessageEnd{Base: base, MessageID: id}
	case typeThinkingEnd:
		id := u.orNew(u.span)
		u.span = ""
		return &ReasoningEnd{Base: base, MessageID: id}
	}
	return e
}

func (u *Upgrader) orNew(id string) string {
	if id == "" {
		return u.newID()
	}
	return id
}

func (u *Upgrader) newID() string {
	if u.NewID != nil {
		return u.NewID()
	}
	return rand.Text()
}

// oldBase reads the common members of an event that was kept whole.
func oldBase(old *Unknown) (Base, error) {
	holder := Custom{}
	doc := old.JSON.With("type", jsonType).With("name", jsonType).With("value", jsonType)
	err := decodeInto(doc.AppendJSON(nil), &holder, nil)
	return holder.Base, err
}

// jsonType stands in for the members that the holder of oldBase requires.
var jsonType = jsondoc.String(string(TypeCustom))

func isString(v jsondoc.Value) bool { return v.Kind() == jsondoc.KindString }
