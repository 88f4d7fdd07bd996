package openaiprovider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/openai/openai-go/v3/option"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/internal/openaiwire"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/provider/openaiprovider"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// The recipe conversation over both APIs, at every cut: the model writes a recipe by a
// tool call in fragments, hears of its result and closes; in the second turn it changes
// what the state says.
func TestRecipe(t *testing.T) {
	type input struct {
		Recipe openaiwire.Recipe `json:"recipe"`
	}
	for api, newAgent := range apis {
		for _, cut := range openaiwire.Cuts {
			t.Run(fmt.Sprint(api, ",cut=", cut), func(t *testing.T) {
				model := &openaiwire.RecipeModel{Cut: cut, Check: openaiwire.RequireKey(markerKey)}
				s := openaiwire.New(t, model.Answer)
				var state openaiwire.Recipe
				update := functool.MustNew(functool.Config{Name: openaiwire.RecipeTool, Description: "Writes the whole recipe."}, func(_ context.Context, in input) (string, error) {
					state = in.Recipe
					return "Recipe updated.", nil
				})
				a := newAgent(t, s, cut, openaiprovider.AgentConfig{Model: "fake", Config: agent.Config{Tools: []tool.Tool{update}}}, option.WithMaxRetries(0))

				r, err := a.RunText(t.Context(), "I want to make a classic Italian pasta carbonara").Collect()
				if err != nil {
					t.Fatal(err)
				}
				if fmt.Sprint(state) != fmt.Sprint(openaiwire.Carbonara()) || r.String() != "Here's your recipe!" {
					t.Fatalf("%q, and the tool got %+v", r, state)
				}
				if u := r.Usage(); u.TotalTokenCount != 100+180+120+6 {
					t.Errorf("usage %+v", u)
				}

				state.Ingredients[0].Amount = "500 g" // a person's edit
				shown, err := json.Marshal(map[string]any{"recipe": state})
				if err != nil {
					t.Fatal(err)
				}
				deltas := 0
				for u, err := range a.Run(t.Context(), []*message.Message{message.NewSystem("The state: " + string(shown)), message.NewText("make it vegetarian")}) {
					if err != nil {
						t.Fatal(err)
					}
					for _, c := range u.Contents {
						if _, ok := c.(*message.FunctionCallDelta); ok {
							deltas++
						}
					}
				}
				if state.Title != "Vegetarian Classic Pasta Carbonara" || state.Ingredients[0].Amount != "500 g" || state.Ingredients[1].Name != "Smoked tofu" {
					t.Errorf("the tool got %+v", state)
				}
				if deltas < 20 {
					t.Errorf("only %d fragments", deltas)
				}
			})
		}
	}
}
