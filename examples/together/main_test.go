package main

import (
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
)

// Two people and an agent. What Bob changes on an older view is merged with what
// the agent has written meanwhile (S2); where both changed one place the later
// edit stays and the place is named.
func TestTogether(t *testing.T) {
	open := func() (*server.Handler, error) { return newHandler(scripted.Options{Piece: 200}) }
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		ann, bob := s.Client("ann"), s.Client("bob")
		bob.Say("Hello")
		bob.Base = bob.Position // what Bob's page shows from now on

		ann.Say("Write a story about a dragon called Atlantis")
		story, _ := ann.State().At("/document")

		bob.Edit("/title", `"Lanterns"`)
		events := bob.Say("Hello")
		bob.Want("/title", `"Lanterns"`)
		bob.Want("/document", story.String())
		if got := conflicts(events); got != "" {
			t.Errorf("a conflict at %s, though nobody else changed the title", got)
		}

		ann.Base = ann.Position // Ann has not seen the title yet
		ann.Edit("/title", `"Atlantis"`)
		events = ann.Say("Hello")
		ann.Want("", `{"title": "Atlantis", "document": `+story.String()+`}`)
		if got := conflicts(events); got != `{"paths":["/title"],"policy":"client"}` {
			t.Errorf("the conflict is %s", got)
		}
	})
}

// conflicts is what lockstep.conflict says, "" if there is none.
func conflicts(events []agui.Event) string {
	for _, e := range events {
		if e, ok := e.(*agui.Custom); ok && e.Name == "lockstep.conflict" {
			return e.Value.String()
		}
	}
	return ""
}
