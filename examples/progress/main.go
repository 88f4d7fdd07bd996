// Command progress shows tools that change the state themselves while they work,
// and what stays of it when they fail.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// State is the shared state.
type State struct {
	Percent int      `json:"percent"`
	Files   []string `json:"files"`
	Report  string   `json:"report"`
}

type job struct {
	Files []string `json:"files"`
}

// imports shows each file at once. Files and percent are Update: they become
// state with the result, and a broken file takes them back. The attempt is
// Progress: it stays.
func imports(ctx context.Context, in job) (state.Result, error) {
	shared := state.From(ctx)
	if err := shared.Progress(func(s *State) { s.Report = "importing" }); err != nil {
		return state.Result{}, err
	}
	for i, file := range in.Files {
		time.Sleep(300 * time.Millisecond) // the work
		if file == "broken.csv" {
			return state.Result{}, tool.Errorf("%s cannot be read", file)
		}
		if err := shared.Update(func(s *State) {
			s.Files = append(s.Files, file)
			s.Percent = 100 * (i + 1) / len(in.Files)
		}); err != nil {
			return state.Result{}, err
		}
	}
	text := fmt.Sprintf("%d files imported.", len(in.Files))
	return state.Result{Text: text, State: map[string]any{"report": text}}, nil
}

func newHandler(o scripted.Options) (*server.Handler, error) {
	run := functool.MustNew(functool.Config{Name: "import_files", Description: "Imports files, all or none."}, imports)
	a := scripted.NewAgent(scripted.AgentConfig{Options: o, Config: agent.Config{Name: "progress", Tools: []tool.Tool{run}}})
	return server.New(a, &server.Options{State: state.Config{Schema: state.SchemaFor[State]()}})
}

func main() {
	handler, err := newHandler(scripted.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Println(`say to http://127.0.0.1:8080/: call import_files {"files": ["a.csv", "b.csv"]}`)
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
