package message

import "strings"

// FunctionResultContent is what a tool answered to one call.
type FunctionResultContent struct {
	ContentHeader
	// CallID is the id of the call.
	CallID string
	// Result is what the model and the user interface get to see; [FunctionResultContent.Text]
	// says in which form. Of a failed call it is a sentence that gives nothing away.
	Result any
	// Error is set if and only if the call failed or was refused. It is the real
	// reason, for logs and for code; its text goes to nobody outside.
	Error error
}

// GetCallID returns CallID.
func (c *FunctionResultContent) GetCallID() string { return c.CallID }

// ResultText is implemented by results that show the model something else than
// their JSON.
type ResultText interface {
	// ResultText is the text for the model and the user interface.
	ResultText() string
}

// FailedText is what is shown for a failed call whose Result is nil.
const FailedText = "Error: the tool failed."

// Text is the result as models and user interfaces get it: a string as it is,
// a [ResultText] its text, contents the text among them, everything else as JSON
// (nil slices and maps as [] and {}, as jsondoc.From makes it). nil is "" for a
// success and [FailedText] for a failure. A result that has no JSON form counts as
// failed. Text never contains c.Error's text.
func (c *FunctionResultContent) Text() string {
	switch r := c.Result.(type) {
	case nil:
		if c.Error != nil {
			return FailedText
		}
		return ""
	case string:
		return r
	case ResultText:
		return r.ResultText()
	case *TextContent:
		return r.Text
	case Contents:
		return textOf(r)
	case []Content:
		return textOf(r)
	}
	text, err := encodeResult(c.Result)
	if err != nil {
		return FailedText
	}
	return text
}

// textOf keeps text parts and names the others: a model that only takes text
// should at least know that there was more.
func textOf(cs []Content) string {
	var parts []string
	for _, c := range cs {
		switch c := c.(type) {
		case *TextContent:
			parts = append(parts, c.Text)
		case *ErrorContent:
			parts = append(parts, c.Message)
		case *DataContent:
			parts = append(parts, "["+c.MediaType+"]")
		case *URIContent:
			parts = append(parts, c.URI)
		}
	}
	return strings.Join(parts, "\n")
}
