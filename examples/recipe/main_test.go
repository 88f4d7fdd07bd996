package main

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
)

// The recipe grows while the tool is called: what is shown is always a beginning
// of what comes (S4), and it is all there before the tool has run. A second
// message changes the recipe that is there.
func TestRecipe(t *testing.T) {
	open := func() (*server.Handler, error) { return newHandler(scripted.Options{Piece: 60}) }
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		c := s.Client("ann")
		events := c.Say("I want to make a classic Italian pasta carbonara")
		final := c.State()
		states := exampletest.States(t, exampletest.Until(events, agui.TypeToolCallEnd))[1:] // but for the empty one
		if len(states) < 10 {
			t.Errorf("the recipe came in %d steps, that is not while it is written", len(states))
		}
		items := 0
		for _, state := range states {
			title, _ := state.At("/recipe/title")
			whole, _ := final.At("/recipe/title")
			if !strings.HasPrefix(whole.Str(), title.Str()) {
				t.Errorf("the title was %s on the way to %s", title, whole)
			}
			ingredients, _ := state.At("/recipe/ingredients")
			if ingredients.Len() < items {
				t.Errorf("an ingredient went away: %s", ingredients)
			}
			items = ingredients.Len()
		}
		if last := states[len(states)-1]; !jsondoc.Equal(last, final) {
			t.Errorf("before the tool ran the state was\n%s\nafterwards\n%s", last, final)
		}
		c.Want("/recipe/title", `"Classic Pasta Carbonara"`)
		c.Want("/recipe/skill_level", `"Intermediate"`)

		steps, _ := final.At("/recipe/instructions")
		c.Say("Please make it vegetarian")
		c.Want("/recipe/special_preferences", `["Vegetarian"]`)
		if now, _ := c.State().At("/recipe/instructions"); now.Len() != steps.Len() {
			t.Errorf("%d instructions became %d", steps.Len(), now.Len())
		}
		if strings.Contains(c.State().String(), "uanciale") {
			t.Error("that is not vegetarian")
		}
	})
}
