// Command twophase shows a model that writes the state as structured output
// instead of calling a tool, and then sums up what it has changed.
package main

import (
	"log"
	"net/http"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
)

type Recipe struct {
	Title       string   `json:"title"`
	Cuisine     string   `json:"cuisine" jsonschema:"such as Italian, Mexican or Japanese"`
	Ingredients []string `json:"ingredients" jsonschema:"with quantities"`
	Steps       []string `json:"steps"`
	PrepMinutes int      `json:"prep_time_minutes"`
	CookMinutes int      `json:"cook_time_minutes"`
	SkillLevel  string   `json:"skill_level" jsonschema:"beginner, intermediate or advanced"`
}

// State is the shared state, and the form of the model's first answer.
type State struct {
	Recipe Recipe `json:"recipe"`
}

func newHandler(o scripted.Options) (*server.Handler, error) {
	cook := scripted.NewAgent(scripted.AgentConfig{Options: o, Config: agent.Config{
		Name:         "twophase",
		Instructions: "You create and improve recipes.",
		Middlewares:  []agent.Middleware{state.TwoPhase[State](nil)},
	}})
	return server.New(cook, &server.Options{State: state.Config{Schema: state.SchemaFor[State]()}})
}

func main() {
	handler, err := newHandler(scripted.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Println("ask http://127.0.0.1:8080/ for a carbonara")
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
