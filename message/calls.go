package message

import "slices"

// Unanswered returns the calls in a conversation that have no result after them, in
// order. A result answers the nearest call before it that has its id, so ids may
// repeat from turn to turn. Calls that the provider runs itself are left out.
func Unanswered(messages []*Message) []*FunctionCallContent {
	var open []*FunctionCallContent
	for _, m := range messages {
		if m == nil {
			continue
		}
		for _, c := range m.Contents {
			switch c := c.(type) {
			case *FunctionCallContent:
				if !c.InformationalOnly {
					open = append(open, c)
				}
			case *FunctionResultContent:
				for i, call := range slices.Backward(open) {
					if call.CallID == c.CallID {
						open = slices.Delete(open, i, i+1)
						break
					}
				}
			}
		}
	}
	return open
}

// CoalesceContents joins what a stream has cut: adjacent texts, adjacent pieces of
// reasoning, and the fragments of each call. A call that was also reported complete
// stands where its first fragment was. The argument is not changed; contents that
// need no joining are shared with the result.
//
// A piece of reasoning that carries ProtectedData ends its content: what follows is
// another.
func CoalesceContents(cs Contents) Contents {
	complete := make(map[string]*FunctionCallContent)
	for _, c := range cs {
		if call, ok := c.(*FunctionCallContent); ok {
			complete[call.CallID] = call
		}
	}
	out := make(Contents, 0, len(cs))
	fragments := make(map[string]*FunctionCallContent) // by call id
	byIndex := make(map[int]string)                    // call id of the fragments that name none
	own := make(map[Content]bool)                      // made here, may be appended to
	placed := make(map[*FunctionCallContent]bool)
	for _, c := range cs {
		switch c := c.(type) {
		case *TextContent:
			if last, ok := lastOf[*TextContent](out); ok && joinable(&c.ContentHeader) {
				if !own[last] {
					last = &TextContent{ContentHeader: last.ContentHeader, Text: last.Text}
					out[len(out)-1], own[last] = last, true
				}
				last.Text += c.Text
				continue
			}
		case *TextReasoningContent:
			if last, ok := lastOf[*TextReasoningContent](out); ok && last.ProtectedData == "" && joinable(&c.ContentHeader) {
				if !own[last] {
					last = &TextReasoningContent{ContentHeader: last.ContentHeader, Text: last.Text}
					out[len(out)-1], own[last] = last, true
				}
				last.Text += c.Text
				last.ProtectedData = c.ProtectedData
				continue
			}
		case *FunctionCallContent:
			if placed[c] {
				continue
			}
			placed[c] = true
		case *FunctionCallDelta:
			id := c.CallID
			if id == "" {
				id = byIndex[c.Index]
			} else {
				byIndex[c.Index] = id
			}
			if call := complete[id]; call != nil {
				if !placed[call] {
					placed[call] = true
					out = append(out, call)
				}
				continue
			}
			call := fragments[id]
			if call == nil {
				call = &FunctionCallContent{CallID: id, Name: c.Name}
				fragments[id] = call
				out = append(out, call)
			}
			if call.Name == "" {
				call.Name = c.Name
			}
			if c.Restart {
				call.Arguments = ""
			}
			call.Arguments += c.Arguments
			continue
		}
		out = append(out, c)
	}
	return out
}

func lastOf[T Content](cs Contents) (T, bool) {
	if len(cs) == 0 {
		var none T
		return none, false
	}
	last, ok := cs[len(cs)-1].(T)
	return last, ok
}

// joinable reports whether a piece may be absorbed by the one before it: nothing
// that an application has attached to it would be lost.
func joinable(h *ContentHeader) bool { return len(h.AdditionalProperties) == 0 }
