package agent

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/lockstep-go/lockstep/internal/schema"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// ResponseFormat is the form that an answer should have.
type ResponseFormat struct {
	// Kind is "text" (also "") or "json".
	Kind string
	// Name and Description tell the model what the format is for. Vendors want a
	// name of letters, digits, _ and -.
	Name        string
	Description string
	// Strict asks the vendor to enforce the schema.
	Strict bool
	// Schema is a JSON Schema. Absent with kind "json" means any JSON object.
	Schema jsondoc.Value
}

// FormatFor returns the format whose answers [Response.Unmarshal] can read into a T. Its
// schema is inferred from T's json and jsonschema tags; it fails for a type that has
// none, and for one that is no struct or map: vendors want an object.
func FormatFor[T any](name string) (ResponseFormat, error) {
	s, err := schema.For(reflect.TypeFor[T]())
	if err != nil {
		return ResponseFormat{}, fmt.Errorf("agent: format %s: %w", name, err)
	}
	doc := s.Document()
	if kind, _ := doc.Get("type"); kind.Str() != "object" {
		return ResponseFormat{}, fmt.Errorf("agent: format %s: %s is no object; wrap it in a struct", name, reflect.TypeFor[T]())
	}
	return ResponseFormat{Kind: "json", Name: name, Schema: doc}, nil
}

// Unmarshal reads the text of the run's last message that has one as JSON into what into
// points to. Models put such answers into a fenced block now and then; that is allowed.
func (r *Response) Unmarshal(into any) error {
	text := ""
	for _, m := range r.Messages {
		if t := m.String(); t != "" {
			text = t
		}
	}
	doc, err := jsondoc.ParseString(unfenced(text))
	if err != nil {
		return fmt.Errorf("agent: the answer is not JSON: %w", err)
	}
	if err := doc.Decode(into); err != nil {
		return fmt.Errorf("agent: the answer does not fit: %w", err)
	}
	return nil
}

// unfenced returns what stands between ``` and ``` if that is all there is.
func unfenced(s string) string {
	t := strings.TrimSpace(s)
	body, ok := strings.CutPrefix(t, "```")
	if !ok {
		return s
	}
	if body, ok = strings.CutSuffix(body, "```"); !ok {
		return s
	}
	_, body, _ = strings.Cut(body, "\n") // the line may name a language
	return body
}
