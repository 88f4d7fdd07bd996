// Command schema shows a state that has a schema and typed defaults: what a
// client leaves out is filled in, what breaks the schema is refused.
package main

import (
	"context"
	"log"
	"net/http"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// Recipe is the state. A schema of its members' types alone would be
// state.SchemaFor[Recipe](); this one has more to say.
type Recipe struct {
	Title       string   `json:"title"`
	SkillLevel  string   `json:"skill_level"`
	Servings    int      `json:"servings"`
	Ingredients []string `json:"ingredients"`
}

var schema = state.MustParseSchema(`{
	"type": "object",
	"required": ["title", "skill_level", "servings", "ingredients"],
	"properties": {
		"title":       {"type": "string"},
		"skill_level": {"enum": ["Beginner", "Intermediate", "Advanced"]},
		"servings":    {"type": "integer", "minimum": 1, "maximum": 20},
		"ingredients": {"type": "array", "items": {"type": "string"}}
	}
}`)

func newHandler(o scripted.Options) (*server.Handler, error) {
	type servings struct {
		Servings int `json:"servings"`
	}
	scale := functool.MustNew(functool.Config{Name: "set_servings", Description: "Sets how many people eat."},
		func(_ context.Context, in servings) (state.Result, error) {
			return state.Result{Text: "Scaled.", State: in}, nil
		})
	cook := scripted.NewAgent(scripted.AgentConfig{Options: o, Config: agent.Config{Name: "schema", Tools: []tool.Tool{scale}}})
	return server.New(cook, &server.Options{State: state.Config{
		Schema:  schema,
		Initial: jsondoc.MustFrom(Recipe{Title: "Untitled", SkillLevel: "Beginner", Servings: 4}),
	}})
}

func main() {
	handler, err := newHandler(scripted.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Println(`say to http://127.0.0.1:8080/: call set_servings {"servings": 6}, then with 0`)
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
