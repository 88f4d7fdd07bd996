// Command form shows an agent that fills in a form while it collects the data:
// fields keep what they have until the model writes them.
package main

import (
	"context"
	"log"
	"net/http"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// Form is what a person and the agent fill in together.
type Form struct {
	Name   string `json:"name"`
	Email  string `json:"email"`
	Street string `json:"street"`
	City   string `json:"city"`
	Notes  string `json:"notes"`
}

// State is the shared state, and what the tool is called with.
type State struct {
	Form Form `json:"form" jsonschema:"the whole form, with what was there before"`
}

func newHandler(o scripted.Options) (*server.Handler, error) {
	fill := functool.MustNew(functool.Config{Name: "fill_form", Description: "Fills in the form."},
		func(_ context.Context, in State) (string, error) {
			if in.Form.Email == "" {
				return "The form is not complete: ask for the email address.", nil
			}
			return "The form is complete.", nil
		})
	a := scripted.NewAgent(scripted.AgentConfig{Options: o, Config: agent.Config{
		Name:         "form",
		Instructions: "Help to fill in the form. Call fill_form with all fields each time you learn one.",
		Tools:        []tool.Tool{fill},
	}})
	return server.New(a, &server.Options{State: state.Config{
		Schema: state.SchemaFor[State](),
		Predict: map[string]state.Prediction{
			"form": {Tool: "fill_form", Argument: "form", Keep: true}, // without Keep the form would be empty at first
		},
	}})
}

func main() {
	handler, err := newHandler(scripted.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Println("say to http://127.0.0.1:8080/: call fill_form")
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
