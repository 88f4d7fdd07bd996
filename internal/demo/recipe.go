package demo

import (
	"context"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// Ingredient is one line of a recipe's shopping list.
type Ingredient struct {
	Icon   string `json:"icon" jsonschema:"an emoji for the ingredient, such as 🥕"`
	Name   string `json:"name" jsonschema:"the ingredient"`
	Amount string `json:"amount" jsonschema:"how much of it, such as 400 g"`
}

// Recipe is the state that the recipe agent shares with its user.
type Recipe struct {
	Title              string       `json:"title" jsonschema:"the name of the dish"`
	SkillLevel         string       `json:"skill_level" jsonschema:"Beginner, Intermediate or Advanced"`
	SpecialPreferences []string     `json:"special_preferences" jsonschema:"dietary preferences, such as Vegetarian"`
	CookingTime        string       `json:"cooking_time" jsonschema:"5 min, 15 min, 30 min, 45 min or 60+ min"`
	Ingredients        []Ingredient `json:"ingredients" jsonschema:"all ingredients"`
	Instructions       []string     `json:"instructions" jsonschema:"all steps, in order"`
}

// RecipeState makes update_recipe's argument the recipe, while it is written.
func RecipeState() state.Config {
	return state.Config{
		Schema: state.MustParseSchema(`{"recipe": {"type": "object", "description": "The current recipe"}}`),
		Predict: map[string]state.Prediction{
			"recipe": {Tool: "update_recipe", Argument: "recipe"},
		},
	}
}

const recipeInstructions = `You help people write recipes.

How you work:
- The current recipe is given to you as shared state. Build on it.
- To change the recipe, call update_recipe. Do not write recipes into your answer.
- Always pass the whole recipe: everything that is there already, plus your changes. Never drop an ingredient or a step unless you are asked to.
- When somebody only asks a question, answer it from the recipe and do not call the tool.
- After the call say in one or two sentences what you did, for example "Here's your recipe!".

A new recipe needs a title, a skill level (Beginner, Intermediate, Advanced), a cooking time (5 min, 15 min, 30 min, 45 min, 60+ min), ingredients with fitting emoji, and instructions. Leave special_preferences empty unless the user names one.

When you are asked to improve a recipe, keep what is there and make it better: finer ingredients, herbs and aromatics, clearer and more precise steps, a finishing touch. Adjust the skill level if it gets harder.`

func recipeAgent() agent.Config {
	return agent.Config{
		Name:         "recipe",
		Description:  "Creates and modifies recipes, with the recipe growing while it is written",
		Instructions: recipeInstructions,
		Tools:        []tool.Tool{updateRecipe},
	}
}

var updateRecipe = functool.MustNew(functool.Config{
	Name: "update_recipe",
	Description: "Writes the recipe that the user sees. Pass the complete recipe with all fields, also when only a little changes: " +
		"existing ingredients and instructions plus the changes. Never leave existing data out.",
}, func(context.Context, struct {
	Recipe Recipe `json:"recipe" jsonschema:"the complete recipe"`
}) (string, error) {
	return "Recipe updated.", nil
})
