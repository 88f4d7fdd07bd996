package message

import (
	"slices"
	"strings"
)

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
// A piece that carries additional properties is not joined to the one before it,
// and a piece of reasoning that carries ProtectedData ends its content: what follows
// is another.
func CoalesceContents(cs Contents) Contents {
	j := joiner{
		out:       make(Contents, 0, len(cs)),
		complete:  make(map[string]*FunctionCallContent),
		placed:    make(map[*FunctionCallContent]bool),
		fragments: make(map[string]*joinedCall),
		byIndex:   make(map[int]string),
	}
	for _, c := range cs {
		if call, ok := c.(*FunctionCallContent); ok {
			j.complete[call.CallID] = call
		}
	}
	for _, c := range cs {
		switch c := c.(type) {
		case nil:
		case *TextContent:
			j.text(c)
		case *TextReasoningContent:
			j.reasoning(c)
		case *FunctionCallContent:
			j.place(c)
		case *FunctionCallDelta:
			j.fragment(c)
		default:
			j.flush()
			j.out = append(j.out, c)
		}
	}
	j.flush()
	for _, f := range j.fragments {
		f.call.Arguments = f.arguments.String()
	}
	return j.out
}

// joiner keeps text in builders until it is complete: a long answer in small pieces
// must not be copied once per piece.
type joiner struct {
	out  Contents
	run  []Content       // the adjacent texts, or pieces of reasoning, seen last
	join strings.Builder // their text

	complete  map[string]*FunctionCallContent // calls that were reported, by id
	placed    map[*FunctionCallContent]bool
	fragments map[string]*joinedCall // calls of which there are only fragments
	byIndex   map[int]string         // the id that an index means, for fragments that name none
}

type joinedCall struct {
	call      *FunctionCallContent
	arguments strings.Builder
}

func (j *joiner) text(c *TextContent) {
	if len(j.run) > 0 {
		if _, ok := j.run[0].(*TextContent); !ok || len(c.AdditionalProperties) > 0 {
			j.flush()
		}
	}
	j.run = append(j.run, c)
	j.join.WriteString(c.Text)
}

func (j *joiner) reasoning(c *TextReasoningContent) {
	if n := len(j.run); n > 0 {
		last, ok := j.run[n-1].(*TextReasoningContent)
		if !ok || last.ProtectedData != "" || len(c.AdditionalProperties) > 0 {
			j.flush()
		}
	}
	j.run = append(j.run, c)
	j.join.WriteString(c.Text)
}

// flush puts what was joined in its place.
func (j *joiner) flush() {
	if len(j.run) == 0 {
		return
	}
	if len(j.run) == 1 {
		j.out = append(j.out, j.run[0])
	} else {
		switch first := j.run[0].(type) {
		case *TextContent:
			j.out = append(j.out, &TextContent{ContentHeader: first.ContentHeader, Text: j.join.String()})
		case *TextReasoningContent:
			last := j.run[len(j.run)-1].(*TextReasoningContent)
			j.out = append(j.out, &TextReasoningContent{ContentHeader: first.ContentHeader, Text: j.join.String(), ProtectedData: last.ProtectedData})
		}
	}
	j.run = j.run[:0]
	j.join.Reset()
}

func (j *joiner) place(call *FunctionCallContent) {
	if !j.placed[call] {
		j.placed[call] = true
		j.flush()
		j.out = append(j.out, call)
	}
}

func (j *joiner) fragment(c *FunctionCallDelta) {
	id := c.CallID
	if id == "" {
		id = j.byIndex[c.Index]
	} else {
		j.byIndex[c.Index] = id
	}
	if call := j.complete[id]; call != nil {
		j.place(call)
		return
	}
	f := j.fragments[id]
	if f == nil {
		f = &joinedCall{call: &FunctionCallContent{CallID: id}}
		j.fragments[id] = f
		j.place(f.call)
	}
	if f.call.Name == "" {
		f.call.Name = c.Name
	}
	if c.Restart {
		f.arguments.Reset()
	}
	f.arguments.WriteString(c.Arguments)
}
