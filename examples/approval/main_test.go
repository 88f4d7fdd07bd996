package main

import (
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
)

// What is proposed is shown and nothing more (S3); a no takes it back, a yes
// runs the tool once, with what the person made of the arguments (T5).
func TestApproval(t *testing.T) {
	open := func() (*server.Handler, error) { return newHandler(scripted.Options{Piece: 200}) }
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		c := s.Client("ann")
		before := c.State().String()
		asked := interrupt(t, c.Say("I want to make a classic Italian pasta carbonara"))
		if want := "Shall the recipe become “Classic Pasta Carbonara”, as shown?"; asked.Message != want {
			t.Errorf("the question is %q, want %q", asked.Message, want)
		}
		c.Want("/recipe/title", `"Classic Pasta Carbonara"`)

		events := c.Answer(asked.ID, `{"approved": false}`)
		c.Want("/recipe/title", `""`)
		if got := exampletest.Text(events); got != "The recipe stays as it was. What would you like to have different?" {
			t.Errorf("after the no: %q (before: %s)", got, before)
		}

		asked = interrupt(t, c.Say("I want to make a classic Italian pasta carbonara"))
		events = c.Answer(asked.ID, `{"approved": true, "recipe": {"title": "Mine", "skill_level": "Beginner", "cooking_time": "5 min", "instructions": []}}`)
		c.Want("/recipe/title", `"Mine"`)
		if got := exampletest.Results(events); len(got) != 1 || got[0] != "Recipe updated." {
			t.Errorf("the tool answered %q", got)
		}
		if n := exampletest.Count(events, agui.TypeToolCallStart); n != 0 {
			t.Errorf("the call was shown again, %d times", n)
		}
	})
}

func interrupt(t *testing.T, events []agui.Event) agui.Interrupt {
	t.Helper()
	done, ok := events[len(events)-1].(*agui.RunFinished)
	if !ok || done.Outcome == nil || len(done.Outcome.Interrupts) != 1 {
		t.Fatalf("the run does not end with an interrupt: %s", exampletest.Kinds(events))
	}
	return done.Outcome.Interrupts[0]
}
