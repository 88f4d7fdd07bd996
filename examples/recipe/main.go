// Command recipe shows predicted state: a nested recipe that grows in the user
// interface while the model still writes the arguments of a tool call.
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

type Ingredient struct {
	Icon   string `json:"icon" jsonschema:"an emoji, such as 🥕"`
	Name   string `json:"name"`
	Amount string `json:"amount" jsonschema:"with its unit"`
}

type Recipe struct {
	Title        string       `json:"title"`
	SkillLevel   string       `json:"skill_level" jsonschema:"Beginner, Intermediate or Advanced"`
	Preferences  []string     `json:"special_preferences,omitempty" jsonschema:"such as Vegetarian"`
	CookingTime  string       `json:"cooking_time" jsonschema:"such as 30 min"`
	Ingredients  []Ingredient `json:"ingredients"`
	Instructions []string     `json:"instructions" jsonschema:"one step an item"`
}

// State is the shared state, and what the tool is called with.
type State struct {
	Recipe Recipe `json:"recipe" jsonschema:"the whole recipe, old parts included"`
}

func newHandler(o scripted.Options) (*server.Handler, error) {
	update := functool.MustNew(functool.Config{Name: "update_recipe", Description: "Writes the recipe anew."},
		func(context.Context, State) (string, error) { return "Recipe updated.", nil })
	cook := scripted.NewAgent(scripted.AgentConfig{Options: o, Config: agent.Config{
		Name:         "recipe",
		Instructions: "You write and change recipes. Always call update_recipe with the whole recipe.",
		Tools:        []tool.Tool{update},
	}})
	return server.New(cook, &server.Options{State: state.Config{
		Schema:  state.SchemaFor[State](),
		Predict: map[string]state.Prediction{"recipe": {Tool: "update_recipe", Argument: "recipe"}},
	}})
}

func main() {
	handler, err := newHandler(scripted.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Println("ask http://127.0.0.1:8080/ for a carbonara, then to make it vegetarian")
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
