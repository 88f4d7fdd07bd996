package main

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
)

// create_plan makes a snapshot, each update_plan_step a delta. A patch that does
// not apply becomes an error for the model; the stream goes on and the plan
// stays.
func TestPlan(t *testing.T) {
	open := func() (*server.Handler, error) { return newHandler(scripted.Options{Piece: 1000}) }
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		c := s.Client("ann")
		events := c.Say("Make a plan to go to Mars in 3 steps")
		if n := exampletest.Count(events, agui.TypeStateDelta); n != 3 {
			t.Errorf("%d deltas for three steps", n)
		}
		steps, _ := c.State().At("/steps")
		if steps.Len() != 3 {
			t.Errorf("the plan is %s", steps)
		}
		for _, step := range steps.Items() {
			if status, _ := step.Get("status"); status.Str() != "completed" {
				t.Errorf("left over: %s", step)
			}
		}

		events = c.Say(`call update_plan_step {"index": 9, "status": "completed"}`)
		if got := exampletest.Results(events); len(got) != 1 || !strings.Contains(got[0], "/steps/9/status") {
			t.Errorf("the model was told %q, want the place that is not there", got)
		}
		c.Want("/steps", steps.String())
	})
}
