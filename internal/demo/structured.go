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

// StructuredState has no initial members: without state from the client the
// agent is an ordinary chat.
func StructuredState() state.Config {
	return state.Config{Schema: state.SchemaFor[RecipeResponse](), Initial: jsondoc.Object()}
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
