package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
)

// The DataContent that the middleware adds is a snapshot, in every run, and
// nothing of it is in the answer.
func TestMiddleware(t *testing.T) {
	open := func() (*server.Handler, error) { return newHandler(scripted.Options{Piece: 1000}) }
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		c := s.Client("ann")
		for range 2 {
			events := c.Say("Hello")
			c.Want("/words", strconv.Itoa(len(strings.Fields(exampletest.Text(events)))))
			if strings.Contains(exampletest.Text(events), "words") {
				t.Errorf("the state is in the answer: %s", exampletest.Text(events))
			}
		}
	})
}
