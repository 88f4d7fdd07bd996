package main

import (
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
)

// All arguments are one member of the state, nested ones too, and it grows like
// any other. PredictState leaves the argument out, as front ends know it.
func TestWildcard(t *testing.T) {
	open := func() (*server.Handler, error) { return newHandler(scripted.Options{Piece: 120}) }
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		c := s.Client("ann")
		events := c.Say("Create a document about a dragon called Atlantis")
		states := exampletest.States(t, exampletest.Until(events, agui.TypeToolCallEnd))
		if last := states[len(states)-1]; len(states) < 5 || !jsondoc.Equal(last, c.State()) {
			t.Errorf("%d states before the tool ran, the last one %s", len(states), last)
		}
		c.Want("/document/metadata/language", `"en"`)
		for _, e := range events {
			if e, ok := e.(*agui.Custom); ok && e.Value.String() != `[{"state_key":"document","tool":"create_document"}]` {
				t.Errorf("%s is %s", e.Name, e.Value)
			}
		}
	})
}
