package message_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
)

// note is a content of an application's own.
type note struct {
	message.ContentHeader
	Type string `json:"type"`
	Note string `json:"note"`
}

// The compiler keeps values out: only pointers are contents.
var (
	_ message.Content = (*message.TextContent)(nil)
	_ message.Content = (*note)(nil)
)

func TestValuesAreNoContents(t *testing.T) {
	if _, ok := any(message.TextContent{}).(message.Content); ok {
		t.Error("a TextContent value is a Content: a type switch on *TextContent would miss it")
	}
}

func TestJSONRoundTrip(t *testing.T) {
	m := &message.Message{
		ID: "m1", Role: message.RoleAssistant, AuthorName: "Cook",
		CreatedAt:            time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Source:               message.Source{Type: message.SourceTypeRepair},
		AdditionalProperties: map[string]any{"k": "v"},
		RawRepresentation:    make(chan int), // has no JSON form: must not be tried
		Contents: message.Contents{
			&message.TextContent{ContentHeader: message.ContentHeader{AdditionalProperties: map[string]any{"a": true}}, Text: "é🥕 <b>"},
			&message.TextContent{},
			&message.TextReasoningContent{Text: "hm", ProtectedData: "abc="},
			&message.DataContent{Name: "a.png", MediaType: "image/png", Data: []byte{0, 1, 2, 255}},
			&message.URIContent{URI: "https://example.com/a.png", MediaType: "image/png"},
			&message.HostedFileContent{FileID: "file-1", Name: "a.pdf", MediaType: "application/pdf", Provider: "openai"},
			&message.FunctionCallContent{CallID: "c1", Name: "f", Arguments: `{"n":9007199254740993}`, InformationalOnly: true},
			&message.FunctionCallDelta{CallID: "c1", Name: "f", Arguments: `{"`, Index: 2, Restart: true},
			&message.FunctionResultContent{CallID: "c1", Result: "text"},
			&message.FunctionResultContent{CallID: "c1", Result: jsondoc.MustParse(`{"n":9007199254740993,"b":1.0}`)},
			&message.FunctionResultContent{CallID: "c1"},
			&message.FunctionResultContent{CallID: "c1", Result: message.Contents{&message.TextContent{Text: "x"}}},
			&message.UsageContent{Details: message.UsageDetails{InputTokenCount: 1, AdditionalCounts: map[string]int64{"audio": 2}}},
			&message.ErrorContent{Message: "no", Details: "policy", ErrorCode: "Refusal"},
		},
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var got message.Message
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := *m
	want.RawRepresentation = nil
	sameDoc := cmp.Comparer(func(a, b jsondoc.Value) bool { return a.String() == b.String() })
	if d := cmp.Diff(&want, &got, ignoreUnexported, sameDoc); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	again, err := json.Marshal(&got)
	if err != nil || string(again) != string(data) {
		t.Errorf("encoded again it differs (%v):\n%s\n%s", err, data, again)
	}
}

func TestJSONOfErrors(t *testing.T) {
	in := message.Contents{
		&message.FunctionResultContent{CallID: "c1", Result: "Error: no.", Error: errors.New("db down")},
		&message.FunctionResultContent{CallID: "c2", Error: errors.New("")},
		&message.FunctionCallContent{CallID: "c3", Error: errors.New("cut")},
	}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var got message.Contents
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if r := got[0].(*message.FunctionResultContent); r.Result != "Error: no." || r.Error == nil || r.Error.Error() != "db down" {
		t.Errorf("got %+v", r)
	}
	if r := got[1].(*message.FunctionResultContent); r.Error == nil {
		t.Error("a failure with an empty text came back as a success")
	}
	if c := got[2].(*message.FunctionCallContent); c.Error == nil || c.Error.Error() != "cut" {
		t.Errorf("got %+v", c)
	}
}

// What a process does not know it passes on unchanged.
func TestJSONOfForeignContents(t *testing.T) {
	data, err := json.Marshal(message.Contents{&note{Type: "acme.note", Note: "hi"}})
	if err != nil {
		t.Fatal(err)
	}
	var got message.Contents
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	raw, ok := got[0].(*message.RawContent)
	if !ok {
		t.Fatalf("got a %T", got[0])
	}
	again, err := json.Marshal(got)
	if err != nil || string(again) != string(data) {
		t.Errorf("%v: %s, want %s (kept %s)", err, again, data, raw.JSON)
	}
}

func TestJSONRefusals(t *testing.T) {
	for name, cs := range map[string]message.Contents{
		"nil":                {nil},
		"no type":            {&note{Note: "x"}},
		"raw":                {&message.RawContent{JSON: []byte("{")}},
		"result has no JSON": {&message.FunctionResultContent{Result: func() {}}},
	} {
		t.Run(name, func(t *testing.T) {
			if data, err := json.Marshal(cs); err == nil {
				t.Errorf("encoded as %s", data)
			}
		})
	}
	for _, text := range []string{`{}`, `[1]`, `[{"type":"text","text":1}]`, `[null]x`} {
		var cs message.Contents
		if err := json.Unmarshal([]byte(text), &cs); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
}

type shown struct{ secret int }

func (shown) ResultText() string { return "only this" }

func TestResultText(t *testing.T) {
	type row struct {
		Tags []string       `json:"tags"`
		More map[string]int `json:"more"`
	}
	tests := []struct {
		name string
		in   message.FunctionResultContent
		want string
	}{
		{"nothing", message.FunctionResultContent{}, ""},
		{"string", message.FunctionResultContent{Result: `say "hi"`}, `say "hi"`},
		{"struct, nil slice and map", message.FunctionResultContent{Result: row{}}, `{"tags":[],"more":{}}`},
		{"not escaped", message.FunctionResultContent{Result: map[string]string{"a": "<é&🥕>"}}, `{"a":"<é&🥕>"}`},
		{"raw JSON", message.FunctionResultContent{Result: json.RawMessage(`{"n":9007199254740993}`)}, `{"n":9007199254740993}`},
		{"document", message.FunctionResultContent{Result: jsondoc.MustParse(`{"b":1.0,"a":null}`)}, `{"b":1.0,"a":null}`},
		{"says itself", message.FunctionResultContent{Result: shown{1}}, "only this"},
		{"contents", message.FunctionResultContent{Result: []message.Content{text("a"), &message.DataContent{MediaType: "image/png"}, text("b")}}, "a\n[image/png]\nb"},
		{"failed", message.FunctionResultContent{Error: errors.New("password wrong for bob")}, message.FailedText},
		{"failed with a text", message.FunctionResultContent{Result: "Error: no such city.", Error: errors.New("secret")}, "Error: no such city."},
		{"no JSON form", message.FunctionResultContent{Result: make(chan int)}, message.FailedText},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.in.Text(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDataURI(t *testing.T) {
	tests := []struct {
		in        string
		mediaType string
		data      string
	}{
		{"data:text/plain;base64,aGk=", "text/plain", "hi"},
		{"DATA:image/png;BASE64,aGk", "image/png", "hi"},
		{"data:,hello%20there", "text/plain;charset=US-ASCII", "hello there"},
		{"data:application/json,%7B%7D", "application/json", "{}"},
		{"data:text/plain;charset=utf-8;base64,w6k=", "text/plain;charset=utf-8", "é"},
		{"data:a/b;base64,_-8=", "a/b", "\xff\xef"},
	}
	for _, tt := range tests {
		c, err := message.ParseDataURI(tt.in)
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if c.MediaType != tt.mediaType || string(c.Data) != tt.data {
			t.Errorf("%s: got %q %q", tt.in, c.MediaType, c.Data)
		}
		back, err := message.ParseDataURI(c.URI())
		if err != nil || string(back.Data) != tt.data || back.MediaType != tt.mediaType {
			t.Errorf("%s: through URI(): %v %v", tt.in, back, err)
		}
	}
	for _, bad := range []string{"", "http://x", "data:", "data:text/plain", "data:text/plain;base64,***", "data:nonsense;;,x", "data:a/b,%zz"} {
		if c, err := message.ParseDataURI(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, c)
		}
	}
}

func FuzzParseDataURI(f *testing.F) {
	f.Add("data:text/plain;base64,aGk=")
	f.Add("data:,%41")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := message.ParseDataURI(s)
		if err != nil {
			return
		}
		back, err := message.ParseDataURI(c.URI())
		if err != nil || string(back.Data) != string(c.Data) {
			t.Fatalf("%q: %q does not come back: %v", s, c.Data, err)
		}
	})
}

func FuzzContentsJSON(f *testing.F) {
	f.Add(`[{"type":"text","text":"a"},{"type":"functionResult","result":{"a":1}},{"type":"x","y":[1]}]`)
	f.Fuzz(func(t *testing.T, s string) {
		var cs message.Contents
		if json.Unmarshal([]byte(s), &cs) != nil {
			return
		}
		data, err := json.Marshal(cs)
		if err != nil {
			t.Fatalf("%s was read and cannot be written: %v", s, err)
		}
		var again message.Contents
		if err := json.Unmarshal(data, &again); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if second, err := json.Marshal(again); err != nil || string(second) != string(data) {
			t.Fatalf("%s became %s (%v)", data, second, err)
		}
	})
}

func TestUsageAdds(t *testing.T) {
	m := message.NewAssistant(
		&message.UsageContent{Details: message.UsageDetails{InputTokenCount: 1, OutputTokenCount: 2, TotalTokenCount: 3, AdditionalCounts: map[string]int64{"a": 1}}},
		&message.UsageContent{Details: message.UsageDetails{InputTokenCount: 10, CachedInputTokenCount: 4, ReasoningTokenCount: 5, AdditionalCounts: map[string]int64{"a": 2, "b": 1}}},
	)
	want := message.UsageDetails{InputTokenCount: 11, OutputTokenCount: 2, TotalTokenCount: 3, CachedInputTokenCount: 4, ReasoningTokenCount: 5, AdditionalCounts: map[string]int64{"a": 3, "b": 1}}
	if d := cmp.Diff(want, m.Usage()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if want.IsZero() || !(message.UsageDetails{}).IsZero() {
		t.Error("IsZero")
	}
}

func TestClone(t *testing.T) {
	m := message.NewText("a")
	m.AdditionalProperties = map[string]any{"k": 1}
	c := m.WithSource(message.Source{Type: message.SourceTypeState})
	c.Contents[0] = text("b")
	c.AdditionalProperties["k"] = 2
	if m.String() != "a" || m.AdditionalProperties["k"] != 1 || m.Source.Type != message.SourceTypeExternal {
		t.Errorf("the original changed: %+v", m)
	}
	var none *message.Message
	if none.Clone() != nil || none.String() != "" || !none.Usage().IsZero() {
		t.Error("a nil message is not treated as none")
	}
	if !strings.Contains(c.String(), "b") {
		t.Error("the copy did not change")
	}
}
