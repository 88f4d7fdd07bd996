// Command approval shows a change that waits for a person: the recipe is shown as
// it would be, the run pauses, and nothing has happened until somebody agrees.
package main

import (
	"context"
	"log"
	"net/http"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

type Recipe struct {
	Title        string   `json:"title"`
	SkillLevel   string   `json:"skill_level"`
	CookingTime  string   `json:"cooking_time"`
	Instructions []string `json:"instructions"`
}

type State struct {
	Recipe Recipe `json:"recipe"`
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
		// The run ends with an interrupt before the tool runs. Its words are the
		// strategy's; embed one to change a single text, or write your own.
		RequireConfirmation: true,
		Confirmation:        state.RecipeConfirmation{},
		ConfirmWithin:       24 * time.Hour,
	}})
}

func main() {
	handler, err := newHandler(scripted.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Println("ask http://127.0.0.1:8080/ for a carbonara, and say yes or no")
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
