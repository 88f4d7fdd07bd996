package main

import (
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
)

// Each tool writes its own member while it is called and leaves the other one
// alone.
func TestTasks(t *testing.T) {
	open := func() (*server.Handler, error) { return newHandler(scripted.Options{Piece: 60}) }
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		c := s.Client("ann")
		events := c.Say("Plan a party")
		steps, _ := c.State().At("/steps")
		if steps.Len() < 2 || exampletest.Count(events, agui.TypeStateDelta) < 2 {
			t.Errorf("%s in %s", steps, exampletest.Kinds(events))
		}
		c.Want("/preferences", `{}`)

		events = c.Say("I prefer short tasks")
		if exampletest.Count(events, agui.TypeStateDelta) == 0 {
			t.Errorf("the preferences were not shown while they were written: %s", exampletest.Kinds(events))
		}
		c.Want("/preferences/prefers", `"short tasks"`)
		c.Want("/steps", steps.String())
	})
}
