// Package message answers one question: what do people, models and tools say
// to each other?
//
// A [Message] has a role and a list of contents. A [Content] is one piece of
// it: text, reasoning, data, a tool call, a tool's result, usage, an error.
// Contents are always pointers to structs; look at them with a type switch:
//
//	for _, c := range m.Contents {
//		switch c := c.(type) {
//		case *message.TextContent:
//			fmt.Print(c.Text)
//		case *message.FunctionCallContent:
//			fmt.Print(c.Name, c.Arguments)
//		}
//	}
//
// The names are those of Microsoft Agent Framework for Go, so that code written
// for it reads the same here. What differs:
//
//   - [FunctionCallDelta] is ours. That framework hands a tool call over when it
//     is complete; a user interface wants to see arguments while a model is still
//     writing them.
//   - [DataContent.Data] holds the bytes, not their base64 text.
//   - Any struct that embeds [ContentHeader] is a content, so applications can add
//     kinds of their own. Whoever does not know a kind leaves it alone.
//   - Approval requests are no contents: see package agent, where a gate decides
//     about a call and a held call is one without a result.
//
// Messages and contents are plain values. They are not safe for concurrent
// writing, and whoever gets one from somebody else treats it as read-only:
// copy with [Message.Clone], then change the copy.
package message
