package client

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"mime"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/message"
)

// namer gives messages ids. A server knows a message by its id: one that comes
// again under another is said twice.
type namer struct {
	// stable makes ids of what is said, for callers that pass their whole history
	// each time. Else ids are random: two people may say the same.
	stable bool
	said   map[string]int
}

func (n *namer) name(m *message.Message) {
	if m.ID != "" {
		return
	}
	m.ID = newID("msg")
	if !n.stable {
		return
	}
	text, err := json.Marshal(m.Contents)
	if err != nil {
		return // somebody's own content without a JSON form
	}
	key := string(m.Role) + string(text)
	if n.said == nil {
		n.said = map[string]int{}
	}
	n.said[key]++
	sum := sha256.Sum256([]byte(key + strings.Repeat("#", n.said[key])))
	m.ID = "msg-" + hex.EncodeToString(sum[:12])
}

// unknownTo are the messages that a thread does not have yet.
func unknownTo(t *Thread, messages []*message.Message) []agui.Message {
	ids, calls, answered := map[string]bool{}, map[string]bool{}, map[string]bool{}
	note := func(m *agui.Message) {
		ids[m.ID] = true
		for _, c := range m.ToolCalls {
			calls[c.ID] = true
		}
		if m.Role == agui.RoleTool {
			answered[m.ToolCallID] = true
		}
	}
	for _, m := range t.Messages() {
		note(&m)
	}
	var out []agui.Message
	for _, m := range messages {
		if m.Source.Type == message.SourceTypeRepair {
			continue // made up for a model; the server has its own ways
		}
		for _, one := range convert(m) {
			if ids[one.ID] && one.Role != agui.RoleTool || one.Role == agui.RoleTool && answered[one.ToolCallID] {
				continue
			}
			if len(one.ToolCalls) > 0 && !slices.ContainsFunc(one.ToolCalls, func(c agui.ToolCall) bool { return !calls[c.ID] }) {
				continue // the thread has them in a message of another id
			}
			if ids[one.ID] {
				one.ID = newID("msg")
			}
			note(&one)
			out = append(out, one)
		}
	}
	return out
}

// convert is a message as AG-UI has it: one, or one for each result in it.
// Contents that no such message can hold are left out.
func convert(m *message.Message) []agui.Message {
	out := agui.Message{ID: m.ID, Name: m.AuthorName}
	switch m.Role {
	case message.RoleUser:
		out.Role, out.Content = agui.RoleUser, userContent(m.Contents)
	case message.RoleSystem:
		out.Role, out.Content = agui.RoleSystem, agui.Text(m.Contents.Text())
	case message.RoleTool:
		var list []agui.Message
		for _, c := range m.Contents {
			if result, ok := c.(*message.FunctionResultContent); ok {
				one := toolMessage(m.ID, result)
				if len(list) > 0 {
					one.ID = newID("msg")
				}
				list = append(list, one)
			}
		}
		return list
	default:
		out.Role = agui.RoleAssistant
		if text := m.Contents.Text(); text != "" {
			out.Content = agui.Text(text)
		}
		for _, c := range m.Contents.Calls() {
			out.ToolCalls = append(out.ToolCalls, agui.ToolCall{ID: c.CallID, Function: agui.Function{Name: c.Name, Arguments: c.Arguments}})
		}
		if out.Content.IsAbsent() && len(out.ToolCalls) == 0 {
			return nil
		}
	}
	return []agui.Message{out}
}

// toolMessage is a tool's answer. An error's own text never leaves.
func toolMessage(id string, c *message.FunctionResultContent) agui.Message {
	out := agui.Message{ID: id, Role: agui.RoleTool, ToolCallID: c.CallID, Content: agui.Text(c.Text())}
	if c.Error != nil {
		out.Error = c.Text()
	}
	return out
}

// userContent is a text, or parts where there is more than text.
func userContent(cs message.Contents) agui.Content {
	var parts []agui.ContentPart
	plain := true
	for _, c := range cs {
		p := agui.ContentPart{}
		switch c := c.(type) {
		case *message.TextContent:
			p.Type, p.Text = agui.PartText, c.Text
		case *message.DataContent:
			p.Type = partType(c.TopLevelMediaType())
			p.Source = &agui.Source{Type: agui.SourceData, Value: base64.StdEncoding.EncodeToString(c.Data), MimeType: c.MediaType}
		case *message.URIContent:
			p.Type = partType(c.TopLevelMediaType())
			p.Source = &agui.Source{Type: agui.SourceURL, Value: c.URI, MimeType: c.MediaType}
		case *message.HostedFileContent:
			p.Type = partType(c.TopLevelMediaType())
			p.Source = &agui.Source{Type: agui.SourceFile, Value: c.FileID, MimeType: c.MediaType, Provider: c.Provider}
		default:
			continue
		}
		plain = plain && p.Type == agui.PartText
		parts = append(parts, p)
	}
	if plain {
		return agui.Text(cs.Text())
	}
	return agui.Parts(parts...)
}

func partType(top string) agui.PartType {
	switch top {
	case "image", "audio", "video":
		return agui.PartType(top)
	}
	return agui.PartDocument
}

// isMedia reports whether a media type is this one, whatever its parameters.
func isMedia(got, want string) bool {
	media, _, err := mime.ParseMediaType(got)
	return err == nil && media == want
}
