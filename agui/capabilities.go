package agui

import "github.com/lockstep-go/lockstep/jsondoc"

// Capabilities is what an agent says of itself. Every member is optional, and
// so is every group: a nil pointer means unknown, which is not no.
type Capabilities struct {
	Identity       *IdentityCapabilities
	Transport      *TransportCapabilities
	Tools          *ToolsCapabilities
	Output         *OutputCapabilities
	State          *StateCapabilities
	MultiAgent     *MultiAgentCapabilities
	Reasoning      *ReasoningCapabilities
	Multimodal     *MultimodalCapabilities
	Execution      *ExecutionCapabilities
	HumanInTheLoop *HumanInTheLoopCapabilities
	Custom         jsondoc.Value // an object with free keys
	Extra          jsondoc.Value // unknown members, see [DecodeOptions.KeepUnknown]
}

// IdentityCapabilities says who the agent is.
type IdentityCapabilities struct {
	Name, Type, Description, Version, Provider, DocumentationURL string

	Metadata jsondoc.Value // an object with free keys
	Extra    jsondoc.Value
}

// TransportCapabilities says how events travel.
type TransportCapabilities struct {
	Streaming         *bool // SSE
	Websocket         *bool
	HTTPBinary        *bool // protobuf
	PushNotifications *bool
	Resumable         *bool
	Extra             jsondoc.Value
}

// ToolsCapabilities says what the agent can call.
type ToolsCapabilities struct {
	Supported      *bool
	Items          []Tool // the agent's own tools; nil is left out
	ParallelCalls  *bool
	ClientProvided *bool // takes the client's tools
	Extra          jsondoc.Value
}

// OutputCapabilities says what the agent writes.
type OutputCapabilities struct {
	StructuredOutput   *bool
	SupportedMimeTypes []string // nil is left out
	Extra              jsondoc.Value
}

// StateCapabilities says what the agent does with state.
type StateCapabilities struct {
	Snapshots       *bool // sends STATE_SNAPSHOT
	Deltas          *bool // sends STATE_DELTA
	Memory          *bool // remembers beyond the thread
	PersistentState *bool // keeps the state between the runs of a thread
	Extra           jsondoc.Value
}

// MultiAgentCapabilities says how the agent works with others.
type MultiAgentCapabilities struct {
	Supported  *bool
	Delegation *bool
	Handoffs   *bool
	Subagents  []SubagentInfo // nil is left out; "subAgents" before 1.0
	Extra      jsondoc.Value
}

// SubagentInfo names a subagent.
type SubagentInfo struct {
	Name        string // required
	Description string
	Extra       jsondoc.Value
}

// ReasoningCapabilities says what the agent shows of its reasoning.
type ReasoningCapabilities struct {
	Supported *bool
	Streaming *bool
	Encrypted *bool
	Extra     jsondoc.Value
}

// MultimodalCapabilities says what beside text goes in and out.
type MultimodalCapabilities struct {
	Input  *MultimodalInput
	Output *MultimodalOutput
	Extra  jsondoc.Value
}

// MultimodalInput says which media the agent takes.
type MultimodalInput struct {
	Image, Audio, Video, PDF, File *bool

	Extra jsondoc.Value
}

// MultimodalOutput says which media the agent makes.
type MultimodalOutput struct {
	Image, Audio *bool

	Extra jsondoc.Value
}

// ExecutionCapabilities says what the agent may run, and for how long.
type ExecutionCapabilities struct {
	CodeExecution    *bool
	Sandboxed        *bool
	MaxIterations    *int64
	MaxExecutionTime *int64 // milliseconds
	Extra            jsondoc.Value
}

// HumanInTheLoopCapabilities says where a person can step in.
type HumanInTheLoopCapabilities struct {
	Supported        *bool
	Approvals        *bool
	Interventions    *bool
	Feedback         *bool
	Interrupts       *bool // ends runs with interrupts and takes resumes
	ApproveWithEdits *bool // takes editedArgs
	Extra            jsondoc.Value
}

// AppendJSON appends the capabilities as JSON.
func (c *Capabilities) AppendJSON(dst []byte) []byte { return appendGroup(dst, c) }

// DecodeCapabilities reads capabilities. The error is a [*DecodeError].
func DecodeCapabilities(data []byte, opts *DecodeOptions) (*Capabilities, error) {
	c := &Capabilities{}
	if err := decodeInto(data, asObject{c}, opts); err != nil {
		return nil, err
	}
	return c, nil
}

// group is an object of optional members, given as a table: these objects are
// read once per agent, so one walk over a table serves instead of a method each.
type group interface{ fields() []field }

// field is one member: its name and a pointer to where it is kept.
type field struct {
	name string
	at   any
}

// extraField names the table entry that takes unknown members.
const extraField = ""

func (c *Capabilities) fields() []field {
	return []field{
		{"identity", subgroup(&c.Identity)}, {"transport", subgroup(&c.Transport)}, {"tools", subgroup(&c.Tools)},
		{"output", subgroup(&c.Output)}, {"state", subgroup(&c.State)}, {"multiAgent", subgroup(&c.MultiAgent)},
		{"reasoning", subgroup(&c.Reasoning)}, {"multimodal", subgroup(&c.Multimodal)},
		{"execution", subgroup(&c.Execution)}, {"humanInTheLoop", subgroup(&c.HumanInTheLoop)},
		{"custom", &c.Custom}, {extraField, &c.Extra},
	}
}

func (c *IdentityCapabilities) fields() []field {
	return []field{
		{"name", &c.Name}, {"type", &c.Type}, {"description", &c.Description}, {"version", &c.Version},
		{"provider", &c.Provider}, {"documentationUrl", &c.DocumentationURL},
		{"metadata", &c.Metadata}, {extraField, &c.Extra},
	}
}

func (c *TransportCapabilities) fields() []field {
	return []field{
		{"streaming", &c.Streaming}, {"websocket", &c.Websocket}, {"httpBinary", &c.HTTPBinary},
		{"pushNotifications", &c.PushNotifications}, {"resumable", &c.Resumable}, {extraField, &c.Extra},
	}
}

func (c *ToolsCapabilities) fields() []field {
	return []field{
		{"supported", &c.Supported}, {"items", &c.Items}, {"parallelCalls", &c.ParallelCalls},
		{"clientProvided", &c.ClientProvided}, {extraField, &c.Extra},
	}
}

func (c *OutputCapabilities) fields() []field {
	return []field{
		{"structuredOutput", &c.StructuredOutput}, {"supportedMimeTypes", &c.SupportedMimeTypes},
		{extraField, &c.Extra},
	}
}

func (c *StateCapabilities) fields() []field {
	return []field{
		{"snapshots", &c.Snapshots}, {"deltas", &c.Deltas}, {"memory", &c.Memory},
		{"persistentState", &c.PersistentState}, {extraField, &c.Extra},
	}
}

func (c *MultiAgentCapabilities) fields() []field {
	return []field{
		{"supported", &c.Supported}, {"delegation", &c.Delegation}, {"handoffs", &c.Handoffs},
		{"subagents", &c.Subagents}, {extraField, &c.Extra},
	}
}

func (c *ReasoningCapabilities) fields() []field {
	return []field{
		{"supported", &c.Supported}, {"streaming", &c.Streaming}, {"encrypted", &c.Encrypted}, {extraField, &c.Extra},
	}
}

func (c *MultimodalCapabilities) fields() []field {
	return []field{{"input", subgroup(&c.Input)}, {"output", subgroup(&c.Output)}, {extraField, &c.Extra}}
}

func (c *MultimodalInput) fields() []field {
	return []field{
		{"image", &c.Image}, {"audio", &c.Audio}, {"video", &c.Video}, {"pdf", &c.PDF}, {"file", &c.File},
		{extraField, &c.Extra},
	}
}

func (c *MultimodalOutput) fields() []field {
	return []field{{"image", &c.Image}, {"audio", &c.Audio}, {extraField, &c.Extra}}
}

func (c *ExecutionCapabilities) fields() []field {
	return []field{
		{"codeExecution", &c.CodeExecution}, {"sandboxed", &c.Sandboxed}, {"maxIterations", &c.MaxIterations},
		{"maxExecutionTime", &c.MaxExecutionTime}, {extraField, &c.Extra},
	}
}

func (c *HumanInTheLoopCapabilities) fields() []field {
	return []field{
		{"supported", &c.Supported}, {"approvals", &c.Approvals}, {"interventions", &c.Interventions},
		{"feedback", &c.Feedback}, {"interrupts", &c.Interrupts}, {"approveWithEdits", &c.ApproveWithEdits},
		{extraField, &c.Extra},
	}
}

func (s *SubagentInfo) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "name":
		d.has |= 1
		s.Name = d.string()
	case "description":
		s.Description = d.optionalString(nullRefused)
	default:
		return false
	}
	return true
}

func (s *SubagentInfo) finish(d *decoder)     { d.require(1, "name") }
func (s *SubagentInfo) extra() *jsondoc.Value { return &s.Extra }

// optionalGroup reaches a group through the pointer that may be nil.
type optionalGroup struct {
	get func() group // nil if the group is absent
	set func() group // makes the group
}

func subgroup[T any, P interface {
	*T
	group
}](at *P) optionalGroup {
	return optionalGroup{
		get: func() group {
			if *at == nil {
				return nil
			}
			return *at
		},
		set: func() group { *at = new(T); return *at },
	}
}

func appendGroup(dst []byte, g group) []byte {
	start := len(dst)
	for _, f := range g.fields() {
		switch at := f.at.(type) {
		case *string:
			dst = appendOptionalString(dst, f.name, *at)
		case **bool:
			dst = appendBool(dst, f.name, *at)
		case **int64:
			dst = appendOptionalInt(dst, f.name, *at)
		case *[]string:
			dst = appendStrings(dst, f.name, *at)
		case *[]Tool:
			if *at != nil {
				dst = appendTools(appendName(dst, f.name), *at)
			}
		case *[]SubagentInfo:
			dst = appendSubagents(dst, f.name, *at)
		case optionalGroup:
			if sub := at.get(); sub != nil {
				dst = appendGroup(appendName(dst, f.name), sub)
			}
		case *jsondoc.Value:
			if f.name == extraField {
				dst = appendExtra(dst, *at)
			} else {
				dst = appendOptional(dst, f.name, *at)
			}
		}
	}
	return closeObject(dst, start)
}

func appendSubagents(dst []byte, name string, list []SubagentInfo) []byte {
	if list == nil {
		return dst
	}
	dst = append(appendName(dst, name), '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"name":`...)
		dst = appendString(dst, list[i].Name)
		dst = appendOptionalString(dst, "description", list[i].Description)
		dst = appendExtra(dst, list[i].Extra)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// asObject reads a group by its table.
type asObject struct{ group }

func (o asObject) member(d *decoder, key []byte) bool {
	name := string(key)
	if name == "subAgents" && !d.opts.Strict {
		name = "subagents"
	}
	for _, f := range o.fields() {
		if f.name != name || name == extraField {
			continue
		}
		switch at := f.at.(type) {
		case *string:
			*at = d.optionalString(nullRefused)
		case **bool:
			*at = d.optionalBool()
		case **int64:
			*at = d.count()
		case *[]string:
			*at = d.strings()
		case *[]Tool:
			*at = optionalList[Tool](d)
		case *[]SubagentInfo:
			*at = optionalList[SubagentInfo](d)
		case *jsondoc.Value:
			*at = d.openObject(nullRefused)
		case optionalGroup:
			if !d.null(nullRefused) {
				d.object(asObject{at.set()})
			}
		}
		return true
	}
	return false
}

func (o asObject) finish(*decoder) {}

func (o asObject) extra() *jsondoc.Value {
	for _, f := range o.fields() {
		if f.name == extraField {
			return f.at.(*jsondoc.Value)
		}
	}
	return nil
}
