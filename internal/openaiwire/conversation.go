package openaiwire

import (
	"encoding/json"
	"strings"
)

// Message is one entry of a conversation, the same for both wires.
type Message struct {
	Role   string // system, user, assistant, tool
	Text   string
	Calls  []Call // what an assistant message calls
	CallID string // whose result a tool message is
}

// Conversation is what a request says, the same for both wires.
type Conversation struct {
	Model    string
	Stream   bool
	Messages []Message // system and developer messages, and instructions, all have the role system
	Tools    []string  // the functions' names
}

// LastUser is the text of the newest user message.
func (c Conversation) LastUser() string {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if c.Messages[i].Role == "user" {
			return c.Messages[i].Text
		}
	}
	return ""
}

// System is the text of all system messages, in order.
func (c Conversation) System() string {
	var texts []string
	for _, m := range c.Messages {
		if m.Role == "system" {
			texts = append(texts, m.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// HasTool reports whether the request offers a function of that name.
func (c Conversation) HasTool(name string) bool {
	for _, t := range c.Tools {
		if t == name {
			return true
		}
	}
	return false
}

// Conversation reads the request's body.
func (r *Request) Conversation() (Conversation, error) {
	type function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	type entry struct {
		Type      string          `json:"type"`
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		ToolCalls []struct {
			ID       string   `json:"id"`
			Function function `json:"function"`
		} `json:"tool_calls"`
		ToolCallID string          `json:"tool_call_id"`
		CallID     string          `json:"call_id"`
		Name       string          `json:"name"`
		Arguments  string          `json:"arguments"`
		Output     json.RawMessage `json:"output"`
	}
	var body struct {
		Model        string  `json:"model"`
		Stream       bool    `json:"stream"`
		Instructions string  `json:"instructions"`
		Messages     []entry `json:"messages"`
		Input        []entry `json:"input"`
		Tools        []struct {
			Name     string   `json:"name"`
			Function function `json:"function"`
		} `json:"tools"`
	}
	if err := r.Decode(&body); err != nil {
		return Conversation{}, err
	}
	c := Conversation{Model: body.Model, Stream: body.Stream}
	for _, t := range body.Tools {
		c.Tools = append(c.Tools, t.Name+t.Function.Name)
	}
	if body.Instructions != "" {
		c.Messages = append(c.Messages, Message{Role: "system", Text: body.Instructions})
	}
	for _, e := range append(body.Messages, body.Input...) {
		switch e.Type {
		case "function_call":
			c.Messages = append(c.Messages, Message{Role: "assistant", Calls: []Call{{ID: e.CallID, Name: e.Name, Arguments: e.Arguments}}})
			continue
		case "function_call_output":
			c.Messages = append(c.Messages, Message{Role: "tool", CallID: e.CallID, Text: contentText(e.Output)})
			continue
		case "", "message":
		default: // reasoning and other items say nothing here
			continue
		}
		m := Message{Role: e.Role, Text: contentText(e.Content), CallID: e.ToolCallID}
		if m.Role == "developer" {
			m.Role = "system"
		}
		for _, call := range e.ToolCalls {
			m.Calls = append(m.Calls, Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
		c.Messages = append(c.Messages, m)
	}
	return c, nil
}

// contentText is the text of a content member, which is a string or a list of parts.
func contentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // neither a string nor parts: no text
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "")
}
