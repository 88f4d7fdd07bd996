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

// The document is shown when the call is complete, before the result; what a
// failing call has shown is taken back (S3).
func TestMapCall(t *testing.T) {
	open := func() (*server.Handler, error) { return newHandler(scripted.Options{Piece: 1000}) }
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		c := s.Client("ann")
		events := c.Say("Write a story about a dragon called Atlantis")
		story, _ := c.State().At("/document")
		if !strings.Contains(story.Str(), "Atlantis") {
			t.Errorf("the document is %s", story)
		}
		states := exampletest.States(t, exampletest.Until(events, agui.TypeToolCallResult))
		if shown := states[len(states)-1]; !jsondoc.Equal(shown, c.State()) {
			t.Errorf("before the result clients saw %s", shown)
		}

		events = c.Say(`call write_document {"document": ""}`)
		states = exampletest.States(t, exampletest.Until(events, agui.TypeToolCallResult))
		if shown, _ := states[len(states)-1].At("/document"); shown.Str() != "" {
			t.Errorf("before the result clients saw %s", shown)
		}
		c.Want("/document", story.String())
	})
}
