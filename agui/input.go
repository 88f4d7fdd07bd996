package agui

import "github.com/lockstep-go/lockstep/jsondoc"

// RunAgentInput is what a client posts to start a run.
type RunAgentInput struct {
	ThreadID string // required
	RunID    string // required; the client's own label
	// ProtocolVersion is what the client speaks; empty is a client before 1.0,
	// to which events are spelled [V0].
	ProtocolVersion string
	ParentRunID     string // official clients never send it
	// State is the client's copy. Absent means it has none; null is read as
	// absent, because official clients leave a null state out.
	State    jsondoc.Value
	Messages []Message // the whole history, oldest first; nil is written as []
	// Tools are those the client runs. Nil is left out; clients before 1.0
	// require the member.
	Tools   []Tool
	Context []Context // nil is left out, as with Tools
	// ForwardedProps is whatever the application wants to hand through; absent
	// or null is left out.
	ForwardedProps jsondoc.Value
	Resume         []ResumeEntry // answers to open interrupts; nil is left out
	Extra          jsondoc.Value // unknown members, see [DecodeOptions.KeepUnknown]
}

// AppendJSON appends the input as JSON, members in the order official clients
// use.
func (in *RunAgentInput) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"threadId":`...)
	dst = appendString(dst, in.ThreadID)
	dst = appendMember(dst, "runId", in.RunID)
	dst = appendOptionalString(dst, "protocolVersion", in.ProtocolVersion)
	dst = appendOptionalString(dst, "parentRunId", in.ParentRunID)
	dst = appendOptional(dst, "state", in.State)
	dst = append(dst, `,"messages":`...)
	dst = appendMessages(dst, in.Messages)
	if in.Tools != nil {
		dst = append(dst, `,"tools":`...)
		dst = appendTools(dst, in.Tools)
	}
	if in.Context != nil {
		dst = append(dst, `,"context":[`...)
		for i := range in.Context {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = in.Context[i].AppendJSON(dst)
		}
		dst = append(dst, ']')
	}
	dst = appendOptional(dst, "forwardedProps", in.ForwardedProps)
	if in.Resume != nil {
		dst = append(dst, `,"resume":[`...)
		for i := range in.Resume {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = in.Resume[i].AppendJSON(dst)
		}
		dst = append(dst, ']')
	}
	dst = appendExtra(dst, in.Extra)
	return append(dst, '}')
}

func (in *RunAgentInput) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "threadId":
		d.has |= 1
		in.ThreadID = d.string()
	case "runId":
		d.has |= 2
		in.RunID = d.string()
	case "messages":
		d.has |= 4
		in.Messages = d.messages()
	case "protocolVersion":
		in.ProtocolVersion = d.optionalString(nullRefused)
	case "parentRunId":
		in.ParentRunID = d.optionalString(nullRefused)
	case "state":
		in.State = d.anyNotNull(nullTolerated)
	case "tools":
		in.Tools = optionalList[Tool](d)
	case "context":
		in.Context = optionalList[Context](d)
	case "forwardedProps":
		in.ForwardedProps = d.anyNotNull(nullTolerated)
	case "resume":
		in.Resume = optionalList[ResumeEntry](d)
	default:
		return false
	}
	return true
}

func (in *RunAgentInput) finish(d *decoder) {
	d.require(1, "threadId")
	d.require(2, "runId")
	d.require(4, "messages")
}

func (in *RunAgentInput) extra() *jsondoc.Value { return &in.Extra }

// Tool is a tool that the client runs.
type Tool struct {
	Name        string        // required
	Description string        // required
	Parameters  jsondoc.Value // a JSON Schema; absent or null is left out
	Metadata    jsondoc.Value // an object with free keys
	Extra       jsondoc.Value // unknown members, see [DecodeOptions.KeepUnknown]
}

// AppendJSON appends the tool as JSON.
func (t *Tool) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"name":`...)
	dst = appendString(dst, t.Name)
	dst = appendMember(dst, "description", t.Description)
	dst = appendOptional(dst, "parameters", t.Parameters)
	dst = appendOptional(dst, "metadata", t.Metadata)
	dst = appendExtra(dst, t.Extra)
	return append(dst, '}')
}

func appendTools(dst []byte, list []Tool) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = list[i].AppendJSON(dst)
	}
	return append(dst, ']')
}

func (t *Tool) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "name":
		d.has |= 1
		t.Name = d.string()
	case "description":
		d.has |= 2
		t.Description = d.string()
	case "parameters":
		t.Parameters = d.anyNotNull(nullTolerated)
	case "metadata":
		t.Metadata = d.openObject(nullRefused)
	default:
		return false
	}
	return true
}

func (t *Tool) finish(d *decoder) {
	d.require(1, "name")
	d.require(2, "description")
}

func (t *Tool) extra() *jsondoc.Value { return &t.Extra }

// Context is something the application tells the agent beside the messages.
type Context struct {
	Description string        // required
	Value       string        // required; a string, JSON text included
	Extra       jsondoc.Value // unknown members, see [DecodeOptions.KeepUnknown]
}

// AppendJSON appends the context as JSON.
func (c *Context) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"description":`...)
	dst = appendString(dst, c.Description)
	dst = appendMember(dst, "value", c.Value)
	dst = appendExtra(dst, c.Extra)
	return append(dst, '}')
}

func (c *Context) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "description":
		d.has |= 1
		c.Description = d.string()
	case "value":
		d.has |= 2
		c.Value = d.string()
	default:
		return false
	}
	return true
}

func (c *Context) finish(d *decoder) {
	d.require(1, "description")
	d.require(2, "value")
}

func (c *Context) extra() *jsondoc.Value { return &c.Extra }

// The two ways in which an interrupt is answered.
const (
	ResumeResolved  = "resolved"  // with an answer, a refusal included
	ResumeCancelled = "cancelled" // with none
)

// ResumeEntry answers one interrupt.
type ResumeEntry struct {
	InterruptID string        // required
	Status      string        // required; [ResumeResolved] or [ResumeCancelled]
	Payload     jsondoc.Value // the answer; absent or null is left out
	Metadata    jsondoc.Value // an object with free keys
	Extra       jsondoc.Value // unknown members, see [DecodeOptions.KeepUnknown]
}

// AppendJSON appends the entry as JSON.
func (r *ResumeEntry) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"interruptId":`...)
	dst = appendString(dst, r.InterruptID)
	dst = appendMember(dst, "status", r.Status)
	dst = appendOptional(dst, "payload", r.Payload)
	dst = appendOptional(dst, "metadata", r.Metadata)
	dst = appendExtra(dst, r.Extra)
	return append(dst, '}')
}

func (r *ResumeEntry) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "interruptId":
		d.has |= 1
		r.InterruptID = d.string()
	case "status":
		d.has |= 2
		r.Status = d.oneOf(nullNever, ResumeResolved, ResumeCancelled)
	case "payload":
		r.Payload = d.anyNotNull(nullTolerated)
	case "metadata":
		r.Metadata = d.openObject(nullRefused)
	default:
		return false
	}
	return true
}

func (r *ResumeEntry) finish(d *decoder) {
	d.require(1, "interruptId")
	d.require(2, "status")
}

func (r *ResumeEntry) extra() *jsondoc.Value { return &r.Extra }
