package agui

import "github.com/lockstep-go/lockstep/jsondoc"

// Role says who speaks in a message.
type Role string

// The roles of AG-UI 1.0.
const (
	RoleDeveloper Role = "developer"
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
	RoleActivity  Role = "activity"
	RoleReasoning Role = "reasoning"
)

func knownRole(r string) bool {
	switch Role(r) {
	case RoleDeveloper, RoleSystem, RoleUser, RoleAssistant, RoleTool, RoleActivity, RoleReasoning:
		return true
	}
	return false
}

// Message is one message of a conversation. It is the union of what the roles
// have; members that a role does not have are neither read nor written.
//
//	developer, system   Content (text), Name, EncryptedValue
//	user                Content (text or parts), Name, EncryptedValue
//	assistant           Content (text or absent), ToolCalls, Name, EncryptedValue
//	tool                Content (text or parts), ToolCallID, Error, EncryptedValue
//	activity            ActivityType, ActivityContent
//	reasoning           Content (text), EncryptedValue
//
// All have ID, Metadata and SubagentRunID.
type Message struct {
	ID   string // required and unique in the conversation
	Role Role   // required
	// Content is absent only for assistants, where it is not the same as "".
	Content Content
	Name    string
	// ToolCalls nil is left out; empty is written as [].
	ToolCalls       []ToolCall
	ToolCallID      string // the call that a tool message answers
	Error           string // why the tool failed
	ActivityType    string
	ActivityContent jsondoc.Value // an object
	EncryptedValue  string        // a provider's opaque reasoning
	Metadata        jsondoc.Value // an object with free keys
	SubagentRunID   string        // empty means the parent agent
	Extra           jsondoc.Value // unknown members, see [DecodeOptions.KeepUnknown]
	// Unknown is the whole message where the role is not known. It is written
	// instead of everything else; [Reducer] leaves such messages out.
	Unknown jsondoc.Value
}

// AppendJSON appends the message as JSON.
func (m *Message) AppendJSON(dst []byte) []byte {
	if !m.Unknown.IsAbsent() {
		return m.Unknown.AppendJSON(dst)
	}
	dst = append(dst, `{"id":`...)
	dst = appendString(dst, m.ID)
	dst = appendMember(dst, "role", string(m.Role))
	has := membersOf(m.Role)
	switch {
	case has.activity:
		dst = appendMember(dst, "activityType", m.ActivityType)
		dst = append(dst, `,"content":`...)
		dst = appendObject(dst, m.ActivityContent)
	case m.Role != RoleAssistant || !m.Content.IsAbsent():
		dst = append(dst, `,"content":`...)
		if has.parts {
			dst = m.Content.appendJSON(dst)
		} else {
			dst = appendString(dst, m.Content.Text())
		}
	}
	if has.name {
		dst = appendOptionalString(dst, "name", m.Name)
	}
	if has.calls && m.ToolCalls != nil {
		dst = append(dst, `,"toolCalls":[`...)
		for i := range m.ToolCalls {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = m.ToolCalls[i].AppendJSON(dst)
		}
		dst = append(dst, ']')
	}
	if has.result {
		dst = appendMember(dst, "toolCallId", m.ToolCallID)
		dst = appendOptionalString(dst, "error", m.Error)
	}
	if !has.activity {
		dst = appendOptionalString(dst, "encryptedValue", m.EncryptedValue)
	}
	dst = appendOptional(dst, "metadata", m.Metadata)
	dst = appendOptionalString(dst, "subagentRunId", m.SubagentRunID)
	dst = appendExtra(dst, m.Extra)
	return append(dst, '}')
}

// roleMembers says which members a role has.
type roleMembers struct{ parts, name, calls, result, activity bool }

func membersOf(r Role) roleMembers {
	switch r {
	case RoleUser:
		return roleMembers{parts: true, name: true}
	case RoleAssistant:
		return roleMembers{name: true, calls: true}
	case RoleTool:
		return roleMembers{parts: true, result: true}
	case RoleActivity:
		return roleMembers{activity: true}
	case RoleReasoning:
		return roleMembers{}
	}
	return roleMembers{name: true}
}

func appendMessages(dst []byte, list []Message) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = list[i].AppendJSON(dst)
	}
	return append(dst, ']')
}

// DecodeMessages reads an array of messages. The error is a [*DecodeError].
func DecodeMessages(data []byte, opts *DecodeOptions) ([]Message, error) {
	d := takeDecoder()
	defer d.release()
	d.reset(data, opts)
	d.space()
	list := d.messages()
	d.end()
	if d.err != nil {
		return nil, d.err
	}
	return list, nil
}

func (m *Message) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "id":
		d.has |= 1
		m.ID = d.string()
	case "role":
		d.sameTag(string(m.Role))
	default:
		return m.roleMember(d, key)
	}
	return true
}

// roleMember reads the members that depend on the role, which messages puts in
// before it reads the object.
func (m *Message) roleMember(d *decoder, key []byte) bool {
	has := membersOf(m.Role)
	switch string(key) {
	case "content":
		d.has |= 2
		m.content(d, has)
	case "metadata":
		m.Metadata = d.openObject(nullRefused)
	case "subagentRunId":
		m.SubagentRunID = d.optionalString(nullRefused)
	case "name":
		if !has.name {
			return false
		}
		m.Name = d.optionalString(nullRefused)
	case "encryptedValue":
		if has.activity {
			return false
		}
		m.EncryptedValue = d.optionalString(nullRefused)
	case "toolCalls":
		if !has.calls {
			return false
		}
		m.ToolCalls = optionalList[ToolCall](d)
	case "toolCallId":
		if !has.result {
			return false
		}
		d.has |= 4
		m.ToolCallID = d.string()
	case "error":
		if !has.result {
			return false
		}
		m.Error = d.optionalString(nullRefused)
	case "activityType":
		if !has.activity {
			return false
		}
		d.has |= 8
		m.ActivityType = d.string()
	default:
		return false
	}
	return true
}

func (m *Message) content(d *decoder, has roleMembers) {
	switch {
	case has.activity:
		m.ActivityContent = d.requiredObject()
	case has.parts:
		m.Content = d.content()
	case m.Role == RoleAssistant && d.null(nullRefused):
		m.Content = Content{}
	default:
		m.Content = Text(d.string())
	}
}

func (m *Message) finish(d *decoder) {
	d.require(1, "id")
	if m.Role != RoleAssistant {
		d.require(2, "content")
	}
	switch m.Role {
	case RoleTool:
		d.require(4, "toolCallId")
	case RoleActivity:
		d.require(8, "activityType")
	}
}

func (m *Message) extra() *jsondoc.Value { return &m.Extra }

// ToolCall is one call in an assistant message. It has no owner of its own: it
// belongs to whoever wrote the message.
type ToolCall struct {
	ID             string
	Type           string // "function"; empty is written as that
	Function       Function
	EncryptedValue string
	Metadata       jsondoc.Value // an object with free keys
	Extra          jsondoc.Value // unknown members, see [DecodeOptions.KeepUnknown]
}

// Function is the function a tool call calls.
type Function struct {
	Name      string
	Arguments string // JSON text, possibly unfinished
}

const toolCallFunction = "function"

// AppendJSON appends the call as JSON.
func (c *ToolCall) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendString(dst, c.ID)
	kind := c.Type
	if kind == "" {
		kind = toolCallFunction
	}
	dst = appendMember(dst, "type", kind)
	dst = append(dst, `,"function":{"name":`...)
	dst = appendString(dst, c.Function.Name)
	dst = appendMember(dst, "arguments", c.Function.Arguments)
	dst = append(dst, '}')
	dst = appendOptionalString(dst, "encryptedValue", c.EncryptedValue)
	dst = appendOptional(dst, "metadata", c.Metadata)
	dst = appendExtra(dst, c.Extra)
	return append(dst, '}')
}

func (c *ToolCall) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "id":
		d.has |= 1
		c.ID = d.string()
	case "type":
		d.has |= 2
		c.Type = d.oneOf(nullNever, toolCallFunction)
	case "function":
		d.has |= 4
		d.object(&c.Function)
	case "encryptedValue":
		c.EncryptedValue = d.optionalString(nullRefused)
	case "metadata":
		c.Metadata = d.openObject(nullRefused)
	default:
		return false
	}
	return true
}

func (c *ToolCall) finish(d *decoder) {
	d.require(1, "id")
	if d.strict() { // there is only one type, and older peers left it out
		d.require(2, "type")
	}
	d.require(4, "function")
	c.Type = toolCallFunction
}

func (c *ToolCall) extra() *jsondoc.Value { return &c.Extra }

func (f *Function) member(d *decoder, key []byte) bool {
	switch string(key) {
	case "name":
		d.has |= 1
		f.Name = d.string()
	case "arguments":
		d.has |= 2
		f.Arguments = d.string()
	default:
		return false
	}
	return true
}

func (f *Function) finish(d *decoder) {
	d.require(1, "name")
	d.require(2, "arguments")
}

// extra has no place: nothing was ever seen beside name and arguments.
func (f *Function) extra() *jsondoc.Value { return nil }
