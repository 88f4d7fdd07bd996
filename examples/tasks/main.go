// Command tasks shows a state of several members, each written by a tool of its own.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

type TaskStep struct {
	Description string `json:"description"`
	Status      string `json:"status,omitempty" jsonschema:"pending if not given"`
	Duration    string `json:"estimated_duration,omitempty" jsonschema:"such as 5 min"`
}

type steps struct {
	Steps []TaskStep `json:"steps"`
}

type preferences struct {
	Preferences map[string]any `json:"preferences"`
}

func newHandler(o scripted.Options) (*server.Handler, error) {
	generate := functool.MustNew(functool.Config{Name: "generate_task_steps", Description: "Writes the steps of a task."},
		func(_ context.Context, in steps) (string, error) {
			return fmt.Sprintf("Generated %d steps.", len(in.Steps)), nil
		})
	prefer := functool.MustNew(functool.Config{Name: "update_preferences", Description: "Writes the user's preferences."},
		func(context.Context, preferences) (string, error) { return "Preferences updated.", nil })
	planner := scripted.NewAgent(scripted.AgentConfig{Options: o, Config: agent.Config{Name: "tasks", Tools: []tool.Tool{generate, prefer}}})
	return server.New(planner, &server.Options{State: state.Config{
		// The short form of a schema: the state's members, each with its own.
		Schema: state.MustParseSchema(`{
			"steps":       {"type": "array",  "description": "The steps of the task"},
			"preferences": {"type": "object", "description": "What the user likes"}
		}`),
		Predict: map[string]state.Prediction{
			"steps":       {Tool: "generate_task_steps", Argument: "steps"},
			"preferences": {Tool: "update_preferences", Argument: "preferences"},
		},
	}})
}

func main() {
	handler, err := newHandler(scripted.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Println("ask http://127.0.0.1:8080/ to plan a party, then say that you prefer short tasks")
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
