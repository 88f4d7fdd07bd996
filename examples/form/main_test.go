package main

import (
	"testing"

	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
)

// While the model writes the form, each field has its old value or the beginning
// of its new one: never none.
func TestForm(t *testing.T) {
	open := func() (*server.Handler, error) { return newHandler(scripted.Options{Piece: 20}) }
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		c := s.Client("ann")
		c.SetState(`{"form": {"name": "", "email": "", "street": "", "city": "Oslo", "notes": "ring twice"}}`)
		events := c.Say(`call fill_form {"form": {"name": "Ann Lee", "email": "", "street": "1 Main Street", "city": "Oslo", "notes": "ring twice"}}`)
		states := exampletest.States(t, events)
		if len(states) < 4 {
			t.Errorf("the form came in %d steps, that is not while it is written", len(states))
		}
		for _, state := range states {
			form, _ := state.At("/form")
			city, _ := form.Get("city")
			notes, _ := form.Get("notes")
			if form.Len() != 5 || city.Str() != "Oslo" || notes.Str() != "ring twice" {
				t.Errorf("the form flickers: %s", form)
			}
		}
		c.Want("/form", `{"name": "Ann Lee", "email": "", "street": "1 Main Street", "city": "Oslo", "notes": "ring twice"}`)

		// A person goes on where the agent stopped, and the agent after that.
		c.Edit("/form/email", `"ann@example.com"`)
		events = c.Say(`call fill_form {"form": {"name": "Ann B. Lee", "email": "ann@example.com", "street": "1 Main Street", "city": "Oslo", "notes": ""}}`)
		if got := exampletest.Results(events); len(got) != 1 || got[0] != "The form is complete." {
			t.Errorf("the model was told %q", got)
		}
		c.Want("/form/name", `"Ann B. Lee"`)
		c.Want("/form/notes", `""`)
	})
}
