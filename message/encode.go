package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// The names of the kinds in the JSON form.
const (
	kindText      = "text"
	kindReasoning = "reasoning"
	kindData      = "data"
	kindURI       = "uri"
	kindFile      = "file"
	kindCall      = "functionCall"
	kindDelta     = "functionCallDelta"
	kindResult    = "functionResult"
	kindUsage     = "usage"
	kindError     = "error"
)

// wire is the JSON form of every kind that this package knows. One flat struct
// keeps the two directions in step.
type wire struct {
	Type          string          `json:"type"`
	Text          string          `json:"text,omitempty"`
	ProtectedData string          `json:"protectedData,omitempty"`
	Name          string          `json:"name,omitempty"`
	MediaType     string          `json:"mediaType,omitempty"`
	Data          []byte          `json:"data,omitempty"`
	URI           string          `json:"uri,omitempty"`
	FileID        string          `json:"fileId,omitempty"`
	Provider      string          `json:"provider,omitempty"`
	CallID        string          `json:"callId,omitempty"`
	Arguments     string          `json:"arguments,omitempty"`
	Index         int             `json:"index,omitempty"`
	Restart       bool            `json:"restart,omitempty"`
	Informational bool            `json:"informationalOnly,omitempty"`
	Result        json.RawMessage `json:"result,omitempty"`
	Contents      *Contents       `json:"contents,omitempty"`
	Error         string          `json:"error,omitempty"`
	Usage         *UsageDetails   `json:"usage,omitempty"`
	Message       string          `json:"message,omitempty"`
	Details       string          `json:"details,omitempty"`
	Code          string          `json:"code,omitempty"`
	Properties    map[string]any  `json:"additionalProperties,omitempty"`
}

// MarshalJSON encodes the list as an array of objects, each with a "type" member.
// A content of an application's own kind is encoded by encoding/json and has to
// become an object that has "type", too. Raw representations are left out. Of a
// result that is a [ResultText] only the text is kept.
func (cs Contents) MarshalJSON() ([]byte, error) {
	out := make([]json.RawMessage, 0, len(cs))
	for i, c := range cs {
		text, err := encodeContent(c)
		if err != nil {
			return nil, fmt.Errorf("message: content %d: %w", i, err)
		}
		out = append(out, text)
	}
	return json.Marshal(out)
}

func encodeContent(c Content) (json.RawMessage, error) {
	w := wire{}
	switch c := c.(type) {
	case nil:
		return nil, errors.New("is nil")
	case *TextContent:
		w = wire{Type: kindText, Text: c.Text}
	case *TextReasoningContent:
		w = wire{Type: kindReasoning, Text: c.Text, ProtectedData: c.ProtectedData}
	case *DataContent:
		w = wire{Type: kindData, Name: c.Name, MediaType: c.MediaType, Data: c.Data}
	case *URIContent:
		w = wire{Type: kindURI, URI: c.URI, MediaType: c.MediaType}
	case *HostedFileContent:
		w = wire{Type: kindFile, FileID: c.FileID, Name: c.Name, MediaType: c.MediaType, Provider: c.Provider}
	case *FunctionCallContent:
		w = wire{Type: kindCall, CallID: c.CallID, Name: c.Name, Arguments: c.Arguments, Informational: c.InformationalOnly, Error: errorText(c.Error)}
	case *FunctionCallDelta:
		w = wire{Type: kindDelta, CallID: c.CallID, Name: c.Name, Arguments: c.Arguments, Index: c.Index, Restart: c.Restart}
	case *FunctionResultContent:
		w = wire{Type: kindResult, CallID: c.CallID, Error: errorText(c.Error)}
		if err := encodeResultInto(&w, c.Result); err != nil {
			return nil, err
		}
	case *UsageContent:
		w = wire{Type: kindUsage, Usage: &c.Details}
	case *ErrorContent:
		w = wire{Type: kindError, Message: c.Message, Details: c.Details, Code: c.ErrorCode}
	case *RawContent:
		if !json.Valid(c.JSON) {
			return nil, errors.New("a raw content holds invalid JSON")
		}
		return bytes.Clone(c.JSON), nil
	default:
		return encodeForeign(c)
	}
	w.Properties = c.Header().AdditionalProperties
	return json.Marshal(w)
}

func encodeForeign(c Content) (json.RawMessage, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(text, &head); err != nil || head.Type == "" {
		return nil, fmt.Errorf(`%T has no JSON object with a "type" member`, c)
	}
	return text, nil
}

func encodeResultInto(w *wire, result any) error {
	switch r := result.(type) {
	case nil:
		return nil
	case Contents:
		w.Contents = &r
		return nil
	case []Content:
		cs := Contents(r)
		w.Contents = &cs
		return nil
	case ResultText:
		result = r.ResultText()
	case *TextContent:
		result = r.Text
	}
	text, err := encodeResult(result)
	w.Result = json.RawMessage(text)
	return err
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	if text := err.Error(); text != "" {
		return text
	}
	return "failed"
}

func textError(s string) error {
	if s == "" {
		return nil
	}
	return errors.New(s)
}

// UnmarshalJSON decodes what MarshalJSON wrote. An object of an unknown type
// becomes a [RawContent]. A result that is no string becomes a jsondoc.Value, so that
// numbers keep their digits.
func (cs *Contents) UnmarshalJSON(text []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil {
		return err
	}
	if items == nil {
		*cs = nil
		return nil
	}
	out := make(Contents, 0, len(items))
	for i, item := range items {
		c, err := decodeContent(item)
		if err != nil {
			return fmt.Errorf("message: content %d: %w", i, err)
		}
		out = append(out, c)
	}
	*cs = out
	return nil
}

func decodeContent(text json.RawMessage) (Content, error) {
	var head struct {
		Type       string         `json:"type"`
		Properties map[string]any `json:"additionalProperties"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, err
	}
	h := ContentHeader{AdditionalProperties: head.Properties}
	switch head.Type {
	case kindText, kindReasoning, kindData, kindURI, kindFile, kindCall, kindDelta, kindResult, kindUsage, kindError:
	default:
		return &RawContent{ContentHeader: h, JSON: bytes.Clone(text)}, nil
	}
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return nil, err
	}
	switch w.Type {
	case kindText:
		return &TextContent{ContentHeader: h, Text: w.Text}, nil
	case kindReasoning:
		return &TextReasoningContent{ContentHeader: h, Text: w.Text, ProtectedData: w.ProtectedData}, nil
	case kindData:
		return &DataContent{ContentHeader: h, Name: w.Name, MediaType: w.MediaType, Data: w.Data}, nil
	case kindURI:
		return &URIContent{ContentHeader: h, URI: w.URI, MediaType: w.MediaType}, nil
	case kindFile:
		return &HostedFileContent{ContentHeader: h, FileID: w.FileID, Name: w.Name, MediaType: w.MediaType, Provider: w.Provider}, nil
	case kindCall:
		return &FunctionCallContent{ContentHeader: h, CallID: w.CallID, Name: w.Name, Arguments: w.Arguments, InformationalOnly: w.Informational, Error: textError(w.Error)}, nil
	case kindDelta:
		return &FunctionCallDelta{ContentHeader: h, CallID: w.CallID, Name: w.Name, Arguments: w.Arguments, Index: w.Index, Restart: w.Restart}, nil
	case kindResult:
		return &FunctionResultContent{ContentHeader: h, CallID: w.CallID, Result: decodeResult(w), Error: textError(w.Error)}, nil
	case kindUsage:
		u := &UsageContent{ContentHeader: h}
		if w.Usage != nil {
			u.Details = *w.Usage
		}
		return u, nil
	}
	return &ErrorContent{ContentHeader: h, Message: w.Message, Details: w.Details, ErrorCode: w.Code}, nil
}

func decodeResult(w wire) any {
	switch {
	case w.Contents != nil:
		return *w.Contents
	case len(w.Result) == 0:
		return nil
	}
	var s string
	if w.Result[0] == '"' && json.Unmarshal(w.Result, &s) == nil {
		return s
	}
	doc, err := jsondoc.Parse(w.Result, &jsondoc.ParseOptions{KeepLast: true, ReplaceInvalid: true, MaxDepth: 10_000})
	if err != nil {
		return json.RawMessage(bytes.Clone(w.Result))
	}
	return doc
}

type messageJSON struct {
	ID                   string         `json:"id,omitempty"`
	Role                 Role           `json:"role"`
	AuthorName           string         `json:"authorName,omitempty"`
	Contents             Contents       `json:"contents"`
	CreatedAt            *time.Time     `json:"createdAt,omitempty"`
	Source               *Source        `json:"source,omitempty"`
	AdditionalProperties map[string]any `json:"additionalProperties,omitempty"`
}

// MarshalJSON encodes the message; see [Contents.MarshalJSON].
func (m *Message) MarshalJSON() ([]byte, error) {
	w := messageJSON{ID: m.ID, Role: m.Role, AuthorName: m.AuthorName, Contents: m.Contents, AdditionalProperties: m.AdditionalProperties}
	if !m.CreatedAt.IsZero() {
		w.CreatedAt = &m.CreatedAt
	}
	if m.Source != (Source{}) {
		w.Source = &m.Source
	}
	return json.Marshal(w)
}

// UnmarshalJSON decodes what MarshalJSON wrote.
func (m *Message) UnmarshalJSON(text []byte) error {
	var w messageJSON
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*m = Message{ID: w.ID, Role: w.Role, AuthorName: w.AuthorName, Contents: w.Contents, AdditionalProperties: w.AdditionalProperties}
	if w.CreatedAt != nil {
		m.CreatedAt = *w.CreatedAt
	}
	if w.Source != nil {
		m.Source = *w.Source
	}
	return nil
}

// encodeResult is the JSON of a tool's result.
func encodeResult(v any) (string, error) {
	doc, err := jsondoc.From(v)
	if err != nil {
		return "", err
	}
	return doc.String(), nil
}
