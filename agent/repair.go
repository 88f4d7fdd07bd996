package agent

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/message"
)

// unansweredText is what a model reads about a call that never got a result.
const unansweredText = "The call was not run: the conversation went on without it."

// repair makes a conversation that every vendor accepts, without touching the
// original:
//
//   - each call has exactly one result, right after the message with the call: a call
//     that was never answered gets a neutral one, later results for an answered call
//     are left out, results of calls that are not there, too;
//   - arguments are a JSON object and names are not empty: servers with prompt
//     templates parse them and fail on what a model wrote wrongly. What was wrong, the
//     result says;
//   - fragments, usage and messages without contents are left out.
//
// Calls of one id in several turns belong to the results that come before the next.
func repair(messages []*message.Message) []*message.Message {
	out := make([]*message.Message, 0, len(messages))
	results := pair(messages)
	for _, m := range messages {
		if m == nil {
			continue
		}
		kept, calls := keep(m)
		if len(kept.Contents) > 0 {
			out = append(out, kept)
		}
		for _, call := range calls {
			if r, ok := results[call]; ok {
				out = append(out, r)
				continue
			}
			out = append(out, &message.Message{
				Role:     message.RoleTool,
				Contents: message.Contents{&message.FunctionResultContent{CallID: call.CallID, Result: unansweredText}},
				Source:   message.Source{Type: message.SourceTypeRepair},
			})
		}
	}
	return out
}

// pair finds the result of each call and makes a message of each.
func pair(messages []*message.Message) map[*message.FunctionCallContent]*message.Message {
	found := make(map[*message.FunctionCallContent]*message.Message)
	open := make(map[string]*message.FunctionCallContent)
	for _, m := range messages {
		if m == nil {
			continue
		}
		for _, c := range m.Contents {
			switch c := c.(type) {
			case *message.FunctionCallContent:
				open[c.CallID] = c
			case *message.FunctionResultContent:
				call := open[c.CallID]
				if call == nil {
					continue
				}
				delete(open, c.CallID)
				if len(m.Contents) == 1 && m.Role == message.RoleTool {
					found[call] = m
					continue
				}
				one := *m
				one.Role, one.Contents = message.RoleTool, message.Contents{c}
				found[call] = &one
			}
		}
	}
	return found
}

// keep returns m without what a model is not told, and its calls. It copies m only
// if something changes.
func keep(m *message.Message) (*message.Message, []*message.FunctionCallContent) {
	var calls []*message.FunctionCallContent
	changed := false
	contents := make(message.Contents, 0, len(m.Contents))
	for _, c := range m.Contents {
		switch c := c.(type) {
		case nil, *message.FunctionCallDelta, *message.UsageContent, *message.FunctionResultContent:
			changed = true
			continue
		case *message.FunctionCallContent:
			if !c.InformationalOnly {
				calls = append(calls, c)
			}
			if sane := sanitize(c); sane != c {
				contents, changed = append(contents, sane), true
				continue
			}
		}
		contents = append(contents, c)
	}
	if !changed {
		return m, calls
	}
	kept := *m
	kept.Contents = slices.Clip(contents)
	return &kept, calls
}

// sanitize returns c, or a copy that vendors accept.
func sanitize(c *message.FunctionCallContent) *message.FunctionCallContent {
	_, err := parseArguments(c.Arguments)
	usable := err == nil && strings.TrimSpace(c.Arguments) != ""
	if usable && c.Name != "" {
		return c
	}
	sane := *c
	sane.Name = cmp.Or(sane.Name, "unnamed")
	if !usable {
		sane.Arguments = "{}"
	}
	return &sane
}
