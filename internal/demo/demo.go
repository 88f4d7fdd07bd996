// Package demo answers: which agents does the binary serve when it is given
// none? They are ordinary agents, made of the packages that users have, and
// they behave as the AG-UI dojo's pages expect.
package demo

import (
	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/state"
)

// Provider makes an agent that thinks with some model.
type Provider func(agent.Config) (*agent.Agent, error)

// Agent is one demo agent and where it is served.
type Agent struct {
	Paths  []string
	Config agent.Config
	State  state.Config
}

// Agents are the demo agents, in the order in which lists show them.
func Agents() []Agent {
	return []Agent{
		{Paths: []string{"/", "/shared_state"}, Config: recipeAgent(), State: RecipeState()},
		{Paths: []string{"/predictive_state_updates"}, Config: writeAgent(), State: WriteState()},
		{Paths: []string{"/create_document"}, Config: createAgent(), State: CreateState()},
		{Paths: []string{"/agentic_generative_ui"}, Config: planAgent(), State: PlanState()},
		{Paths: []string{"/task_planner"}, Config: taskAgent(), State: TaskState()},
		{Paths: []string{"/recipe_structured"}, Config: structuredAgent(), State: StructuredState()},
		{Paths: []string{"/backend_tool_rendering"}, Config: weatherAgent()},
		{Paths: []string{"/human_in_the_loop"}, Config: clientAgent("human_in_the_loop", "Plans a task in steps that the user chooses from",
			"You plan tasks. When you are asked for a plan, call generate_task_steps with about five to ten short steps, all enabled. The user chooses; then say which steps you go ahead with.")},
		{Paths: []string{"/tool_based_generative_ui"}, Config: clientAgent("tool_based_generative_ui", "Writes haiku that the page shows as cards",
			"You write haiku. Always call generate_haiku; do not write the poem into your answer.")},
		{Paths: []string{"/agentic_chat"}, Config: clientAgent("agentic_chat", "Chats, and uses the tools that the page offers",
			"You are a friendly assistant. Use the tools that you are offered where they help.")},
	}
}

// clientAgent is an agent that has only the tools that the page provides.
func clientAgent(name, description, instructions string) agent.Config {
	return agent.Config{Name: name, Description: description, Instructions: instructions}
}
