package functool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

type ingredient struct {
	Name   string `json:"name" jsonschema:"name of the ingredient"`
	Amount string `json:"amount,omitempty"`
}

type recipe struct {
	Title       string         `json:"title"`
	Servings    int            `json:"servings,omitempty"`
	Ingredients []ingredient   `json:"ingredients"`
	Notes       map[string]any `json:"notes,omitempty"`
}

func TestSchema(t *testing.T) {
	f := functool.MustNew(functool.Config{Name: "update_recipe", Description: "d"}, func(context.Context, recipe) (string, error) { return "", nil })
	got := f.Schema()
	for pointer, want := range map[jsondoc.Pointer]string{
		"/type":                                  `"object"`,
		"/properties/ingredients/type":           `"array"`, // not ["null","array"]
		"/properties/notes/type":                 `"object"`,
		"/properties/servings/type":              `"integer"`,
		"/properties/ingredients/items/required": `["name"]`,
		"/required":                              `["title","ingredients"]`,
		"/properties/ingredients/items/properties/name/description": `"name of the ingredient"`,
	} {
		v, _ := got.At(pointer)
		if v.String() != want {
			t.Errorf("%s is %s, want %s\n%s", pointer, v, want, got)
		}
	}
	if f.Name() != "update_recipe" || f.Description() != "d" {
		t.Error("name or description")
	}
}

// Wrong arguments are told to the model with place and reason; the function does not run.
func TestInputIsChecked(t *testing.T) {
	ran := 0
	f := functool.MustNew(functool.Config{Name: "f"}, func(context.Context, recipe) (string, error) { ran++; return "ok", nil })
	good := []string{
		`{"title":"a","ingredients":[]}`,
		` {"title":"a","servings":2,"ingredients":[{"name":"x"}],"notes":{"a":null}} `,
	}
	for _, args := range good {
		if got, err := f.Call(t.Context(), args); err != nil || got != "ok" {
			t.Errorf("%s: %v %v", args, got, err)
		}
	}
	if ran != len(good) {
		t.Fatalf("it ran %d times", ran)
	}
	tests := []struct {
		args string
		want []string // parts of what the model is shown
	}{
		{`{"title":1,"ingredients":[]}`, []string{"/title", "string"}},
		{`{"title":"a","ingredients":null}`, []string{"/ingredients", "array"}},
		{`{"title":"a","ingredients":[{"name":"x"},{"name":7}]}`, []string{"/ingredients/1/name", "string"}},
		{`{"ingredients":[]}`, []string{"title", "missing"}},
		{`{"title":"a","ingredients":[],"servings":"two"}`, []string{"/servings", "integer"}},
		{`{"title":"a","ingredients":[],"oops":1}`, []string{"oops"}},
		{`{"title":"a","ingredients":[],"servings":1.5}`, []string{"/servings"}},
		{`{"title":"a","ingredients":[],"servings":99999999999999999999}`, []string{"fit"}},
		{`[]`, []string{"object"}},
		{`null`, []string{"object"}},
		{`{`, []string{"not JSON"}},
		{``, []string{"title"}},
	}
	for _, tt := range tests {
		_, err := f.Call(t.Context(), tt.args)
		text, shown := tool.Shown(err)
		if !shown {
			t.Errorf("%s: the model is not told: %v", tt.args, err)
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the model reads %q, which lacks %q", tt.args, text, part)
			}
		}
	}
	if ran != len(good) {
		t.Error("it ran with wrong arguments")
	}
}

type custom struct{ n int }

func (c custom) ResultText() string { return fmt.Sprint("custom ", c.n) }

func TestResults(t *testing.T) {
	call := func(f tool.FuncTool, err error) (any, error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f.Call(t.Context(), "{}")
	}
	cfg := functool.Config{Name: "f"}
	type in struct{}
	tests := []struct {
		name string
		f    func() (any, error)
		want string
	}{
		{"string", func() (any, error) {
			return call(functool.New(cfg, func(context.Context, in) (string, error) { return `{"a":1}`, nil }))
		}, `{"a":1}`},
		{"struct", func() (any, error) {
			return call(functool.New(cfg, func(context.Context, in) (recipe, error) { return recipe{Title: "é"}, nil }))
		}, `{"title":"é","ingredients":[]}`},
		{"pointer", func() (any, error) {
			return call(functool.New(cfg, func(context.Context, in) (*recipe, error) { return &recipe{Servings: 2}, nil }))
		}, `{"title":"","servings":2,"ingredients":[]}`},
		{"number", func() (any, error) {
			return call(functool.New(cfg, func(context.Context, in) (int, error) { return 42, nil }))
		}, `42`},
		{"nothing", func() (any, error) {
			return call(functool.New(cfg, func(context.Context, in) (any, error) { return nil, nil }))
		}, ``},
		{"raw", func() (any, error) {
			return call(functool.New(cfg, func(context.Context, in) (json.RawMessage, error) {
				return json.RawMessage(`{"n":9007199254740993}`), nil
			}))
		}, `{"n":9007199254740993}`},
		{"says itself", func() (any, error) {
			return call(functool.New(cfg, func(context.Context, in) (custom, error) { return custom{7}, nil }))
		}, `custom 7`},
		{"contents", func() (any, error) {
			return call(functool.New(cfg, func(context.Context, in) ([]message.Content, error) {
				return []message.Content{&message.TextContent{Text: "x"}}, nil
			}))
		}, `x`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.f()
			if err != nil {
				t.Fatal(err)
			}
			if text := (&message.FunctionResultContent{Result: got}).Text(); text != tt.want {
				t.Errorf("got %s, want %s", text, tt.want)
			}
		})
	}
	if _, err := call(functool.New(cfg, func(context.Context, in) (chan int, error) { return make(chan int), nil })); err == nil {
		t.Error("a channel became a result")
	}
}

// A result is what it was when the function returned.
func TestResultIsACopy(t *testing.T) {
	shared := &recipe{Title: "before"}
	f := functool.MustNew(functool.Config{Name: "f"}, func(context.Context, struct{}) (*recipe, error) { return shared, nil })
	got, err := f.Call(t.Context(), "{}")
	if err != nil {
		t.Fatal(err)
	}
	shared.Title = "after"
	if text := (&message.FunctionResultContent{Result: got}).Text(); !strings.Contains(text, "before") {
		t.Errorf("got %s", text)
	}
}

// Arguments are an object even if the function takes something else.
func TestOtherInputs(t *testing.T) {
	f := functool.MustNew(functool.Config{Name: "weather"}, func(_ context.Context, location string) (string, error) { return "rain in " + location, nil })
	if got, err := f.Call(t.Context(), `{"arg0":"Oslo"}`); err != nil || got != "rain in Oslo" {
		t.Errorf("%v %v", got, err)
	}
	if _, err := f.Call(t.Context(), `{"arg0":1}`); err == nil {
		t.Error("a number is no text")
	}
	list := functool.MustNew(functool.Config{Name: "sum"}, func(_ context.Context, in []int) (int, error) {
		n := 0
		for _, i := range in {
			n += i
		}
		return n, nil
	})
	if got, err := list.Call(t.Context(), `{"arg0":[1,2,3]}`); err != nil || fmt.Sprint(got) != "6" {
		t.Errorf("%v %v", got, err)
	}
	m := functool.MustNew(functool.Config{Name: "any"}, func(_ context.Context, in map[string]any) (int, error) { return len(in), nil })
	if got, err := m.Call(t.Context(), `{"a":1,"b":[]}`); err != nil || fmt.Sprint(got) != "2" {
		t.Errorf("%v %v", got, err)
	}
	doc := functool.MustNew(functool.Config{
		Name:   "raw",
		Schema: jsondoc.MustParse(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`),
	}, func(_ context.Context, in jsondoc.Value) (string, error) { return in.String(), nil })
	if got, err := doc.Call(t.Context(), `{"n":9007199254740993,"x":1.0}`); err != nil || got != `{"n":9007199254740993,"x":1.0}` {
		t.Errorf("%v %v", got, err)
	}
	if _, err := doc.Call(t.Context(), `{}`); err == nil {
		t.Error("the given schema does not count")
	}
}

func TestNewRefuses(t *testing.T) {
	ok := func(context.Context, struct{}) (string, error) { return "", nil }
	for _, name := range []string{"", "get weather", "größe", strings.Repeat("a", 65), "a.b"} {
		if _, err := functool.New(functool.Config{Name: name}, ok); err == nil {
			t.Errorf("the name %q was accepted", name)
		}
	}
	if _, err := functool.New(functool.Config{Name: "f"}, func(context.Context, struct{ C chan int }) (string, error) { return "", nil }); err == nil {
		t.Error("a channel has a schema")
	}
	if _, err := functool.New[struct{}, string](functool.Config{Name: "f"}, nil); err == nil {
		t.Error("no function is a function")
	}
	if _, err := functool.New(functool.Config{Name: "f", Schema: jsondoc.MustParse(`{"type":"nonsense"}`)}, ok); err == nil {
		t.Error("a broken schema was accepted")
	}
	defer func() {
		if recover() == nil {
			t.Error("MustNew does not panic")
		}
	}()
	functool.MustNew(functool.Config{}, ok)
}

// The function's error is the function's; only a tool.Error is for the model.
func TestErrors(t *testing.T) {
	secret := errors.New("secret")
	f := functool.MustNew(functool.Config{Name: "f"}, func(context.Context, struct{}) (string, error) { return "", secret })
	_, err := f.Call(t.Context(), "{}")
	if text, shown := tool.Shown(err); shown || !errors.Is(err, secret) || strings.Contains(text, "secret") {
		t.Errorf("%v: %q", err, text)
	}
}

func FuzzCall(f *testing.F) {
	f.Add(`{"title":"a","ingredients":[{"name":"x"}]}`)
	f.Add(`{"title":1}`)
	f.Add(`{"title":"a","ingredients":[],"servings":1e400}`)
	tl := functool.MustNew(functool.Config{Name: "f"}, func(_ context.Context, in recipe) (recipe, error) { return in, nil })
	f.Fuzz(func(t *testing.T, args string) {
		got, err := tl.Call(context.Background(), args)
		if err != nil {
			if _, shown := tool.Shown(err); !shown {
				t.Fatalf("%q: the model is not told: %v", args, err)
			}
			return
		}
		// What came in fits the schema, and so does what went out.
		if _, err := tl.Call(context.Background(), (&message.FunctionResultContent{Result: got}).Text()); err != nil {
			t.Fatalf("%q became %v, which is refused: %v", args, got, err)
		}
	})
}
