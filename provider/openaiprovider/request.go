package openaiprovider

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"regexp"
	"strings"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

var errNoModel = errors.New("no model: set AgentConfig.Model, or agent.WithModel for one run")

// functionTool is a tool as both APIs declare it.
type functionTool struct {
	name, description string
	parameters        map[string]any
}

func function(t tool.Tool) (functionTool, error) {
	d, ok := tool.As[tool.Declared](t)
	if !ok {
		return functionTool{}, fmt.Errorf("tool %q has no schema, so the model cannot be told how to call it: it should implement tool.Declared", t.Name())
	}
	parameters, err := schemaMembers(d.Schema())
	if err != nil {
		return functionTool{}, fmt.Errorf("tool %q: %w", t.Name(), err)
	}
	if parameters == nil { // several servers want an object schema also where there are no arguments
		parameters = map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return functionTool{name: t.Name(), description: t.Description(), parameters: parameters}, nil
}

// schemaMembers is a schema as the SDK takes it. Its members keep their JSON text and
// with it their order: models write the members of an object in the order in which the
// schema lists them.
func schemaMembers(schema jsondoc.Value) (map[string]any, error) {
	if schema.IsAbsent() || schema.IsNull() {
		return nil, nil
	}
	if schema.Kind() != jsondoc.KindObject {
		return nil, fmt.Errorf("its schema is %s and not an object", schema.Kind())
	}
	members := make(map[string]any, schema.Len())
	for name, v := range schema.Members() {
		members[name] = json.RawMessage(v.AppendJSON(nil))
	}
	return members, nil
}

// jsonFormat is a structured answer as both APIs ask for it.
type jsonFormat struct {
	name, description string
	schema            map[string]any // nil: any object
	strict            bool
}

func responseFormat(opts []agent.Option) (f jsonFormat, ok bool, err error) {
	format, ok := agent.GetOption(opts, agent.WithResponseFormat)
	if !ok || format.Kind == "" || format.Kind == "text" {
		return f, false, nil
	}
	if format.Kind != "json" {
		return f, false, fmt.Errorf("the response format %q is neither text nor json", format.Kind)
	}
	f = jsonFormat{name: cmp.Or(format.Name, "response"), description: format.Description, strict: format.Strict}
	schema := format.Schema
	if f.strict {
		schema = strictSchema(schema)
	}
	if f.schema, err = schemaMembers(schema); err != nil {
		return f, false, fmt.Errorf("response format: %w", err)
	}
	return f, true, nil
}

// strictSchema makes a schema one that strict mode accepts: every object is closed and
// all of its members are required. That is what the service wants; it fills members
// that have nothing to say with what their own schema allows.
func strictSchema(schema jsondoc.Value) jsondoc.Value {
	switch schema.Kind() {
	case jsondoc.KindArray:
		items := make([]jsondoc.Value, 0, schema.Len())
		for _, item := range schema.Items() {
			items = append(items, strictSchema(item))
		}
		return jsondoc.Array(items...)
	case jsondoc.KindObject:
	default:
		return schema
	}
	out := schema
	for name, v := range schema.Members() {
		switch name {
		case "properties", "$defs", "definitions": // schemas by name, where a name may be "properties"
			inner := v
			for member, s := range v.Members() {
				inner = inner.With(member, strictSchema(s))
			}
			out = out.With(name, inner)
		case "items", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems", "not":
			out = out.With(name, strictSchema(v))
		}
	}
	properties, ok := schema.Get("properties")
	if !ok || properties.Kind() != jsondoc.KindObject {
		return out
	}
	var required []jsondoc.Value
	for name := range properties.Members() {
		required = append(required, jsondoc.String(name))
	}
	return out.With("required", jsondoc.Array(required...)).With("additionalProperties", jsondoc.Bool(false))
}

// historyArguments is the arguments of an earlier call as they go back to the model:
// always a JSON object. Many servers parse the history and refuse the whole
// conversation for one call that the model wrote badly. (Behind a tool loop that is
// repaired already; an agent without one comes here.)
func historyArguments(arguments string) string {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &object) != nil || object == nil {
		return "{}"
	}
	return arguments
}

// detail is how closely a model should look at an image, which callers say in a
// content's additional properties.
func detail(c message.Content) string {
	word, _ := c.Header().AdditionalProperties["detail"].(string)
	return word
}

// audioFormat is the name that the APIs have for a media type, or empty if they take no
// such audio.
func audioFormat(mediaType string) string {
	switch base, _, _ := mime.ParseMediaType(mediaType); base {
	case "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "wav"
	case "audio/mpeg", "audio/mp3":
		return "mp3"
	}
	return ""
}

// isText reports whether data of this type is best shown to the model as it is.
func isText(mediaType string) bool {
	base, _, _ := mime.ParseMediaType(mediaType)
	return strings.HasPrefix(base, "text/") || base == "application/json" || strings.HasSuffix(base, "+json") ||
		base == "application/xml" || base == "application/yaml"
}

var notInFileNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileName is the name that a file has to have for the APIs, which tell its type by its
// end.
func fileName(name, mediaType string) string {
	if name != "" {
		return name
	}
	_, sub, _ := strings.Cut(mediaType, "/")
	sub, _, _ = strings.Cut(sub, ";")
	return "file." + cmp.Or(notInFileNames.ReplaceAllString(sub, ""), "bin")
}
