package main

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/exampletest"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
)

// Each file is shown when it is done. If the tool fails, its updates are taken
// back and its progress stays.
func TestProgress(t *testing.T) {
	open := func() (*server.Handler, error) { return newHandler(scripted.Options{Piece: 1000}) }
	exampletest.Play(t, open, func(t *testing.T, s *exampletest.Server) {
		c := s.Client("ann")
		events := c.Say(`call import_files {"files": ["a.csv", "b.csv"]}`)
		var percents []string
		for _, state := range exampletest.States(t, events) {
			percent, _ := state.At("/percent")
			percents = append(percents, percent.String())
		}
		if got := strings.Join(percents, " "); got != "0 0 50 100 100" {
			t.Errorf("percent was %s", got)
		}
		c.Want("", `{"percent": 100, "files": ["a.csv", "b.csv"], "report": "2 files imported."}`)

		events = c.Say(`call import_files {"files": ["c.csv", "broken.csv"]}`)
		states := exampletest.States(t, exampletest.Until(events, agui.TypeToolCallResult))
		if files, _ := states[len(states)-1].At("/files"); files.Len() != 3 {
			t.Errorf("before the failure the files were %s", files)
		}
		if got := exampletest.Results(events); len(got) != 1 || got[0] != "Error: broken.csv cannot be read" {
			t.Errorf("the model was told %q", got)
		}
		c.Want("", `{"percent": 100, "files": ["a.csv", "b.csv"], "report": "importing"}`)
	})
}
