package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
)

// Defaults fill in what the client left out. What breaks the schema is told to
// the model with its place, and to the client as 422 (S8); the state stays.
func TestSchema(t *testing.T) {
	open := func() (*server.Handler, error) { return newHandler(scripted.Options{Piece: 1000}) }
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		c := s.Client("ann")
		c.SetState(`{"title": "Soup"}`)
		c.Say(`call set_servings {"servings": 6}`)
		const soup = `{"title": "Soup", "skill_level": "Beginner", "servings": 6, "ingredients": []}`
		c.Want("", soup)

		events := c.Say(`call set_servings {"servings": 0}`)
		if got := exampletest.Results(events); len(got) != 1 || !strings.Contains(got[0], "/servings") {
			t.Errorf("the model was told %q, want the place that is wrong", got)
		}
		c.Want("", soup)

		c.Edit("/skill_level", `"Wizard"`)
		if body := c.Refused("Hello", http.StatusUnprocessableEntity); !strings.Contains(body, `"/skill_level"`) {
			t.Errorf("the client was told %s, want the place that is wrong", body)
		}
		c.Edit("/skill_level", `"Advanced"`)
		c.Say("Hello")
		c.Want("/skill_level", `"Advanced"`)
	})
}
