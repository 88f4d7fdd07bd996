// Command plan shows state that is made of tool results: what create_plan
// returns replaces the state, what update_plan_step returns is a patch of it.
package main

import (
	"context"
	"log"
	"net/http"
	"strconv"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

type Step struct {
	Description string `json:"description"`
	Status      string `json:"status" jsonschema:"pending or completed"`
}

// Plan is the shared state.
type Plan struct {
	Steps []Step `json:"steps"`
}

type create struct {
	Steps []string `json:"steps" jsonschema:"what is to be done, in order"`
}

type update struct {
	Index  int    `json:"index" jsonschema:"from 0"`
	Status string `json:"status" jsonschema:"pending or completed"`
}

func newHandler(o scripted.Options) (*server.Handler, error) {
	createPlan := functool.MustNew(functool.Config{Name: "create_plan", Description: "Makes a plan of several steps."},
		func(_ context.Context, in create) (Plan, error) {
			var plan Plan
			for _, text := range in.Steps {
				plan.Steps = append(plan.Steps, Step{Description: text, Status: "pending"})
			}
			return plan, nil
		})
	updateStep := functool.MustNew(functool.Config{Name: "update_plan_step", Description: "Updates a step of the plan."},
		func(_ context.Context, in update) (jsondoc.Patch, error) {
			path := jsondoc.Path("steps", strconv.Itoa(in.Index), "status")
			return jsondoc.Patch{{Op: "replace", Path: path, Value: jsondoc.String(in.Status)}}, nil
		})
	planner := scripted.NewAgent(scripted.AgentConfig{Options: o, Config: agent.Config{Name: "plan", Tools: []tool.Tool{createPlan, updateStep}}})
	return server.New(planner, &server.Options{State: state.Config{Rules: []state.Rule{
		state.MapResultAsStateSnapshot("create_plan"),
		state.MapResultAsStateDelta("update_plan_step"),
	}}})
}

func main() {
	handler, err := newHandler(scripted.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Println("ask http://127.0.0.1:8080/ for a plan to go to Mars in 5 steps")
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", handler))
}
