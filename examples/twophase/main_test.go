package main

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
)

// The structured answer is withheld as text and grows as state; then there is a
// snapshot, and a summary of at most two sentences.
func TestTwoPhase(t *testing.T) {
	open := func() (*server.Handler, error) { return newHandler(scripted.Options{Piece: 1000}) }
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		c := s.Client("ann")
		events := c.Say("I want to make a classic Italian pasta carbonara")
		state := exampletest.Until(events, agui.TypeTextMessageStart)
		if n := exampletest.Count(state, agui.TypeStateDelta); n < 10 {
			t.Errorf("%d deltas, that is not while it is written", n)
		}
		if last := state[len(state)-1]; last.EventType() != agui.TypeStateSnapshot {
			t.Errorf("%s is the last event of the first phase", last.EventType())
		}
		c.Want("/recipe/cuisine", `"Italian"`)
		c.Want("/recipe/cook_time_minutes", `25`)
		summary := exampletest.Text(events)
		if n := strings.Count(summary, "."); summary == "" || n > 2 || strings.Contains(summary, "{") {
			t.Errorf("the summary is %q", summary)
		}
	})
}
