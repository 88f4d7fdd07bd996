package main

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// The numbers grow while the orders are counted, and a client that writes them
// is not believed.
func TestDashboard(t *testing.T) {
	exampletest.Play(t, newHandler, func(t *testing.T, s *exampletest.Server) {
		c := s.Client("ann")
		const counted = `{"orders": 4, "revenue": 440, "regions": {"north": 160, "south": 80, "east/west": 200}}`
		events := c.Say("Count the orders")
		var revenue []string
		for _, state := range exampletest.States(t, events)[1:] { // but for {}
			at, _ := state.At("/revenue")
			revenue = append(revenue, at.String())
		}
		if got := strings.Join(revenue, " "); got != "0 120 200 240 440" {
			t.Errorf("the revenue was %s", got)
		}
		c.Want("", counted)

		c.Edit("/revenue", `1000000`)
		events = c.Say("Count them again")
		if before := exampletest.States(t, events)[0]; !jsondoc.Equal(before, jsondoc.MustParse(counted)) {
			t.Errorf("the second run begins with %s", before)
		}
		c.Want("", counted)
	})
}
