package agui

import (
	"time"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// OutcomeType says how a run or a subagent ended without failing.
type OutcomeType string

// The outcomes. There is none for failure: that is RUN_ERROR or SUBAGENT_ERROR.
const (
	OutcomeSuccess   OutcomeType = "success"
	OutcomeInterrupt OutcomeType = "interrupt" // of a run: it waits for answers
	OutcomeCancelled OutcomeType = "cancelled" // of a run: somebody stopped it
	OutcomeSuspended OutcomeType = "suspended" // of a subagent: it waits for answers
)

// Outcome says how a run ended.
type Outcome struct {
	Type OutcomeType // required
	// PendingToolCallIDs, of a success, are the client's own calls that wait
	// for its answer. Nil is left out; clients then take the calls of this run
	// that have no result.
	PendingToolCallIDs []string
	// Interrupts, of an interrupt, are what has to be answered; at least one.
	Interrupts []Interrupt
	Extra      jsondoc.Value // unknown members, see [DecodeOptions.KeepUnknown]
	// Unknown is the whole outcome where the type is not known. It is written
	// instead of everything else; clients read it as success.
	Unknown jsondoc.Value
}

// AppendJSON appends the outcome as JSON.
func (o *Outcome) AppendJSON(dst []byte) []byte {
	if !o.Unknown.IsAbsent() {
		return o.Unknown.AppendJSON(dst)
	}
	dst = append(dst, `{"type":`...)
	dst = appendString(dst, string(o.Type))
	switch o.Type {
	case OutcomeSuccess:
		dst = appendStrings(dst, "pendingToolCallIds", o.PendingToolCallIDs)
	case OutcomeInterrupt:
		dst = append(dst, `,"interrupts":`...)
		dst = appendInterrupts(dst, o.Interrupts)
	}
	dst = appendExtra(dst, o.Extra)
	return append(dst, '}')
}

func appendInterrupts(dst []byte, list []Interrupt) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = list[i].AppendJSON(dst)
	}
	return append(dst, ']')
}

func (o *Outcome) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "type":
		d.sameTag(string(o.Type))
	case "pendingToolCallIds":
		if o.Type != OutcomeSuccess {
			return false
		}
		o.PendingToolCallIDs = d.strings()
	case "interrupts":
		if o.Type != OutcomeInterrupt {
			return false
		}
		d.has |= 1
		o.Interrupts = list[Interrupt](d)
	default:
		return false
	}
	return true
}

func (o *Outcome) finish(d *decoder) {
	if o.Type != OutcomeInterrupt {
		return
	}
	d.require(1, "interrupts")
	if d.err == nil && len(o.Interrupts) == 0 {
		d.fail("must hold at least one interrupt")
		d.under("interrupts")
	}
}

func (o *Outcome) extra() *jsondoc.Value { return &o.Extra }

func knownOutcome(t string) bool {
	switch OutcomeType(t) {
	case OutcomeSuccess, OutcomeInterrupt, OutcomeCancelled:
		return true
	}
	return false
}

// outcome reads an optional outcome; one of unknown type reads as none, which
// is success, unless it is to be kept.
func (d *decoder) outcome() *Outcome {
	if d.null(nullTolerated) {
		return nil
	}
	name, whole, ok := d.union("type", knownOutcome)
	if !ok {
		if whole.IsAbsent() {
			return nil
		}
		return &Outcome{Type: OutcomeType(name), Unknown: whole}
	}
	o := &Outcome{Type: OutcomeType(name)}
	d.object(o)
	return o
}

// The reasons of interrupts that the protocol itself names. Others are spelled
// framework:name.
const (
	ReasonToolCall      = "tool_call"      // ToolCallID is set
	ReasonInputRequired = "input_required" // ResponseSchema is set
	ReasonConfirmation  = "confirmation"
)

// FormatTime is a time as the protocol's clients write and read it: ISO 8601 in
// UTC, with milliseconds, as JavaScript's toISOString gives it.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Interrupt is a question a run stopped at. Clients refuse to start another run
// of the thread that does not answer all of its open interrupts.
type Interrupt struct {
	ID             string        // required
	Reason         string        // required
	Message        string        // for people
	ToolCallID     string        // the call that waits for approval
	ResponseSchema jsondoc.Value // an object: the JSON Schema of the answer
	ExpiresAt      string        // ISO 8601; empty never expires
	Metadata       jsondoc.Value // an object with free keys; the place for anything else
	SubagentRunID  string        // who asks; empty means the parent agent
	Extra          jsondoc.Value // unknown members, see [DecodeOptions.KeepUnknown]
}

// AppendJSON appends the interrupt as JSON.
func (i *Interrupt) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendString(dst, i.ID)
	dst = appendMember(dst, "reason", i.Reason)
	dst = appendOptionalString(dst, "message", i.Message)
	dst = appendOptionalString(dst, "toolCallId", i.ToolCallID)
	dst = appendOptional(dst, "responseSchema", i.ResponseSchema)
	dst = appendOptionalString(dst, "expiresAt", i.ExpiresAt)
	dst = appendOptional(dst, "metadata", i.Metadata)
	dst = appendOptionalString(dst, "subagentRunId", i.SubagentRunID)
	dst = appendExtra(dst, i.Extra)
	return append(dst, '}')
}

func (i *Interrupt) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "id":
		d.has |= 1
		i.ID = d.string()
	case "reason":
		d.has |= 2
		i.Reason = d.string()
	case "message":
		i.Message = d.optionalString(nullRefused)
	case "toolCallId":
		i.ToolCallID = d.optionalString(nullRefused)
	case "responseSchema":
		i.ResponseSchema = d.openObject(nullRefused)
	case "expiresAt":
		i.ExpiresAt = d.optionalString(nullRefused)
	case "metadata":
		i.Metadata = d.openObject(nullRefused)
	case "subagentRunId":
		i.SubagentRunID = d.optionalString(nullRefused)
	default:
		return false
	}
	return true
}

func (i *Interrupt) finish(d *decoder) {
	d.require(1, "id")
	d.require(2, "reason")
}

func (i *Interrupt) extra() *jsondoc.Value { return &i.Extra }

// SubagentOutcome says how a subagent's invocation ended: success, or suspended
// on interrupts.
type SubagentOutcome struct {
	Type         OutcomeType // required
	InterruptIDs []string    // of a suspension; nil is left out
	Extra        jsondoc.Value
}

func (o *SubagentOutcome) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "type":
		d.sameTag(string(o.Type))
	case "interruptIds":
		if o.Type != OutcomeSuspended {
			return false
		}
		o.InterruptIDs = d.strings()
	default:
		return false
	}
	return true
}

func (o *SubagentOutcome) finish(*decoder) {}

func (o *SubagentOutcome) extra() *jsondoc.Value { return &o.Extra }

// subagentOutcome reads an optional outcome; one of unknown type reads as none.
func (d *decoder) subagentOutcome() *SubagentOutcome {
	if d.null(nullRefused) {
		return nil
	}
	known := func(t string) bool { return OutcomeType(t) == OutcomeSuccess || OutcomeType(t) == OutcomeSuspended }
	name, whole, ok := d.union("type", known)
	o := &SubagentOutcome{Type: OutcomeType(name)}
	switch {
	case ok:
		d.object(o)
	case whole.IsAbsent():
		return nil
	default:
		o.Extra = whole.Without("type")
	}
	return o
}

// TokenUsage counts what one model cost in this run. The last three counts are
// parts of the totals, not additions. Nil counts are unknown, not zero.
type TokenUsage struct {
	Provider          string
	Model             string
	InputTokens       *int64
	OutputTokens      *int64
	TotalTokens       *int64
	ReasoningTokens   *int64
	CachedInputTokens *int64
	CacheWriteTokens  *int64 // cacheWriteInputTokens on the wire
	Extra             jsondoc.Value
}

// AppendJSON appends the usage as JSON.
func (u *TokenUsage) AppendJSON(dst []byte) []byte {
	at := len(dst)
	dst = appendOptionalString(dst, "provider", u.Provider)
	dst = appendOptionalString(dst, "model", u.Model)
	dst = appendOptionalInt(dst, "inputTokens", u.InputTokens)
	dst = appendOptionalInt(dst, "outputTokens", u.OutputTokens)
	dst = appendOptionalInt(dst, "totalTokens", u.TotalTokens)
	dst = appendOptionalInt(dst, "reasoningTokens", u.ReasoningTokens)
	dst = appendOptionalInt(dst, "cachedInputTokens", u.CachedInputTokens)
	dst = appendOptionalInt(dst, "cacheWriteInputTokens", u.CacheWriteTokens)
	dst = appendExtra(dst, u.Extra)
	return closeObject(dst, at)
}

// closeObject makes an object of the members appended since at, each with a
// leading comma: the first comma becomes the brace.
func closeObject(dst []byte, at int) []byte {
	if len(dst) == at {
		return append(dst, '{', '}')
	}
	dst[at] = '{'
	return append(dst, '}')
}

func appendUsage(dst []byte, list []TokenUsage) []byte {
	if list == nil {
		return dst
	}
	dst = append(dst, `,"usage":[`...)
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = list[i].AppendJSON(dst)
	}
	return append(dst, ']')
}

func (u *TokenUsage) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "provider":
		u.Provider = d.optionalString(nullRefused)
	case "model":
		u.Model = d.optionalString(nullRefused)
	case "inputTokens":
		u.InputTokens = d.count()
	case "outputTokens":
		u.OutputTokens = d.count()
	case "totalTokens":
		u.TotalTokens = d.count()
	case "reasoningTokens":
		u.ReasoningTokens = d.count()
	case "cachedInputTokens":
		u.CachedInputTokens = d.count()
	case "cacheWriteInputTokens":
		u.CacheWriteTokens = d.count()
	default:
		return false
	}
	return true
}

func (u *TokenUsage) finish(*decoder) {}

func (u *TokenUsage) extra() *jsondoc.Value { return &u.Extra }
