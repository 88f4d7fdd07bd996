package functool_test

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// A Go function becomes a tool: its schema comes from the input type, and arguments that
// do not fit are told to the model with place and reason.
func Example() {
	type input struct {
		Location string `json:"location" jsonschema:"English name of the city"`
		Days     int    `json:"days,omitempty"`
	}
	forecast := functool.MustNew(functool.Config{Name: "forecast", Description: "Weather of the next days"},
		func(_ context.Context, in input) (map[string]any, error) {
			return map[string]any{"location": in.Location, "rain": true}, nil
		})
	fmt.Println(forecast.Schema())

	result, err := forecast.Call(context.Background(), `{"location": "Oslo"}`)
	fmt.Println(result, err)

	_, err = forecast.Call(context.Background(), `{"location": "Oslo", "days": "two"}`)
	fmt.Println(tool.Shown(err))
	// Output:
	// {"type":"object","properties":{"location":{"type":"string","description":"English name of the city"},"days":{"type":"integer"}},"required":["location"],"additionalProperties":false}
	// {"location":"Oslo","rain":true} <nil>
	// Error: the arguments do not fit the schema: /days: got string, want integer true
}

// An error of New says what vendors would not take.
func ExampleNew() {
	_, err := functool.New(functool.Config{Name: "forecast for tomorrow"}, func(context.Context, struct{}) (string, error) { return "", nil })
	fmt.Println(err)
	// Output: functool: the name "forecast for tomorrow" has a ' '; vendors accept letters, digits, _ and -
}
