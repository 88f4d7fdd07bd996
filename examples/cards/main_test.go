package main

import (
	"testing"

	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
)

// Each question adds a component. A client cannot write the components, and what
// is its own stays.
func TestCards(t *testing.T) {
	open := func() (*server.Handler, error) { return newHandler(scripted.Options{Piece: 1000}) }
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		c := s.Client("ann")
		c.Say("What is the weather in Oslo?")
		const oslo = `{"kind": "weather", "title": "Oslo", "props": {"celsius": 14}}`
		c.Want("/cards", `[`+oslo+`]`)

		c.SetState(`{"cards": [], "theme": "dark"}`)
		c.Say("What is the weather in Lisbon?")
		c.Want("", `{"cards": [`+oslo+`, {"kind": "weather", "title": "Lisbon", "props": {"celsius": 16}}], "theme": "dark"}`)
	})
}
