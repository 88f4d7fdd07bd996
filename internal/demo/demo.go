// Package demo answers: which agents does the binary serve when it is given
// none? They are ordinary agents, made of the packages that users have.
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
	}
}
