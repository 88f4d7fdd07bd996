// Command cards shows generative UI: the state is a list of components to
// render, each put there by a tool, and only the agent may write it.
package main

import (
	"context"
	"fmt"
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

// Card is one component: a front end has a view for each kind.
type Card struct {
	Kind  string         `json:"kind"`
	Title string         `json:"title"`
	Props map[string]any `json:"props"`
}

// State is the shared state.
type State struct {
	Cards []Card `json:"cards"`
}

type place struct {
	Location string `json:"location"`
}

func weather(_ context.Context, in place) (state.Result, error) {
	degrees := 10 + len(in.Location)
	card := Card{Kind: "weather", Title: in.Location, Props: map[string]any{"celsius": degrees}}
	return state.Result{
		Text:  fmt.Sprintf("%d °C in %s. The user sees a card.", degrees, in.Location),
		Delta: jsondoc.Patch{{Op: "add", Path: "/cards/-", Value: jsondoc.MustFrom(card)}},
	}, nil
}

func newHandler(o scripted.Options) (*server.Handler, error) {
	get := functool.MustNew(functool.Config{Name: "get_weather", Description: "Shows the weather of a place."}, weather)
	a := scripted.NewAgent(scripted.AgentConfig{Options: o, Config: agent.Config{Name: "cards", Tools: []tool.Tool{get}}})
	return server.New(a, &server.Options{State: state.Config{
		Schema: state.SchemaFor[State](),
		Access: state.Access{"/cards": state.ReadOnly},
	}})
}

func main() {
	handler, err := newHandler(scripted.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Println("ask http://127.0.0.1:8080/ for the weather in Oslo, then in Rome")
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
