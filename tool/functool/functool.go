// Package functool makes tools of Go functions.
//
//	type Input struct {
//		City string `json:"city" jsonschema:"the city's English name"`
//		Days int    `json:"days,omitempty"`
//	}
//
//	var forecast = functool.MustNew(functool.Config{
//		Name:        "forecast",
//		Description: "Weather of the next days",
//	}, func(ctx context.Context, in Input) (Output, error) { … })
//
// The schema that the model sees is inferred from the input type: names and
// optionality from the json tags, descriptions from the jsonschema tags. Slices and
// maps are not nullable. An input type that is no struct becomes the one member
// "arg0" of an object, because arguments are always an object.
//
// Arguments are checked against the schema before the function runs. What is wrong
// with them is told to the model, each place as a JSON Pointer with a reason, so that
// it can call again.
//
// The result is what the function returns: a string, message contents and results
// that say themselves what they show (message.ResultText) as they are, everything else
// as a JSON document, nil slices as []. The document is made when the function returns.
//
// An error's text is not shown to anybody but the log; see package tool.
package functool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/lockstep-go/lockstep/internal/schema"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

// Config names a tool.
type Config struct {
	// Name is what the model calls it: letters, digits, _ and -, at most 64.
	Name string
	// Description tells the model what it is for.
	Description string
	// Schema replaces the schema that is inferred from the input type. Absent: no.
	Schema jsondoc.Value
}

// HandlerFor is a function that a tool runs.
type HandlerFor[In, Out any] func(ctx context.Context, in In) (Out, error)

// New makes a tool of h. It fails if the name is not one that vendors accept, or if
// no schema can be inferred from In: channels, functions, recursive types.
func New[In, Out any](cfg Config, h HandlerFor[In, Out]) (tool.FuncTool, error) {
	if err := checkName(cfg.Name); err != nil {
		return nil, err
	}
	if h == nil {
		return nil, fmt.Errorf("functool: %s: the function is nil", cfg.Name)
	}
	t := reflect.TypeFor[In]()
	wrapped := !isObject(t)
	if wrapped {
		t = reflect.TypeFor[wrapper[In]]()
	}
	var s *schema.Schema
	var err error
	if cfg.Schema.IsAbsent() {
		s, err = schema.For(t)
	} else {
		s, err = schema.Compile(cfg.Schema)
	}
	if err != nil {
		return nil, fmt.Errorf("functool: %s: %w", cfg.Name, err)
	}
	return &funcTool{cfg: cfg, schema: s, call: func(ctx context.Context, args jsondoc.Value) (any, error) {
		var in wrapper[In]
		var into any = &in.Arg0
		if wrapped {
			into = &in
		}
		if err := args.Decode(into); err != nil {
			return nil, &tool.Error{Message: unfit(err), Err: err}
		}
		out, err := h(ctx, in.Arg0)
		if err != nil {
			return nil, err
		}
		return result(out)
	}}, nil
}

// unfit says what does not fit, in the words of the arguments and not of the Go
// type: a number that is too large for its field passes the schema.
func unfit(err error) string {
	var bad *json.UnmarshalTypeError
	if errors.As(err, &bad) {
		return fmt.Sprintf("the arguments do not fit: /%s: %s is out of range or of another kind", strings.ReplaceAll(bad.Field, ".", "/"), bad.Value)
	}
	return "the arguments do not fit the tool"
}

// MustNew is New for tools that are made when the program starts. It panics where
// New fails.
func MustNew[In, Out any](cfg Config, h HandlerFor[In, Out]) tool.FuncTool {
	t, err := New(cfg, h)
	if err != nil {
		panic(err)
	}
	return t
}

type wrapper[T any] struct {
	Arg0 T `json:"arg0"`
}

func isObject(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Map
}

func checkName(name string) error {
	if name == "" {
		return errors.New("functool: a tool needs a name")
	}
	if len(name) > 64 {
		return fmt.Errorf("functool: the name %q has more than 64 characters", name)
	}
	for _, r := range name {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return fmt.Errorf("functool: the name %q has a %q; vendors accept letters, digits, _ and -", name, r)
		}
	}
	return nil
}

type funcTool struct {
	cfg    Config
	schema *schema.Schema
	call   func(context.Context, jsondoc.Value) (any, error)
}

func (t *funcTool) Name() string          { return t.cfg.Name }
func (t *funcTool) Description() string   { return t.cfg.Description }
func (t *funcTool) Schema() jsondoc.Value { return t.schema.Document() }

// Call checks args, runs the function and returns its result.
func (t *funcTool) Call(ctx context.Context, args string) (any, error) {
	doc := jsondoc.Object()
	if strings.TrimSpace(args) != "" {
		var err error
		if doc, err = jsondoc.ParseString(args); err != nil {
			return nil, &tool.Error{Message: "the arguments are not JSON: " + err.Error(), Err: err}
		}
	}
	if err := t.schema.Validate(doc); err != nil {
		return nil, &tool.Error{Message: "the arguments do not fit the schema: " + err.Error(), Err: err}
	}
	return t.call(ctx, doc)
}

// result turns what the function returned into an immutable value. The function may go
// on changing what it has returned a pointer to, and a type without a JSON form must
// fail here and not in the middle of a stream. Results that say themselves what they
// show stay what they are.
func result(out any) (any, error) {
	switch out := out.(type) {
	case nil, string, jsondoc.Value, message.ResultText, message.Content, []message.Content, message.Contents:
		return out, nil
	}
	doc, err := jsondoc.From(out)
	if err != nil {
		return nil, fmt.Errorf("the result has no JSON form: %w", err)
	}
	return doc, nil
}
