package demo

import (
	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
)

// RecipeResponse is what the model of the structured agent answers with, and
// the agent's state.
type RecipeResponse struct {
	Recipe struct {
		Title           string   `json:"title"`
		Cuisine         string   `json:"cuisine" jsonschema:"such as Italian"`
		Ingredients     []string `json:"ingredients" jsonschema:"each with its amount"`
		Steps           []string `json:"steps"`
		PrepTimeMinutes int      `json:"prep_time_minutes"`
		CookTimeMinutes int      `json:"cook_time_minutes"`
		SkillLevel      string   `json:"skill_level" jsonschema:"beginner, intermediate or advanced"`
	} `json:"recipe"`
}

// StructuredState begins with an empty recipe, so that there is a state to work
// on from the first message. The model has to give every member of a recipe; a
// page may post some of them, because an initial state fills in whole top-level
// members and nothing inside the recipe.
func StructuredState() state.Config {
	whole := state.SchemaFor[RecipeResponse]()
	lenient, err := jsondoc.Patch{{Op: "remove", Path: jsondoc.Path("properties", "recipe", "required")}}.Apply(whole.Document(), nil)
	if err != nil {
		panic(err) // the type is part of this program
	}
	schema, err := state.NewSchema(lenient)
	if err != nil {
		panic(err)
	}
	return state.Config{Schema: schema, Initial: whole.Initial()}
}

func structuredAgent() agent.Config {
	return agent.Config{
		Name:         "recipe_structured",
		Description:  "Writes recipes as structured output instead of by a tool, then a short summary",
		Instructions: "You help people write recipes. A recipe has a title, a cuisine, ingredients with amounts, steps, times in minutes, and a skill level (beginner, intermediate, advanced). Always give all of them.",
		Middlewares: []agent.Middleware{state.TwoPhase[RecipeResponse](&state.TwoPhaseOptions{
			Name: "recipe_response", Description: "The whole recipe",
		})},
	}
}
