// Package agentsfile answers: which agents does a YAML file describe?
//
// Load reads the file, says with line and key what is wrong with it, and gives
// each agent as what a Go program would write: an agent.Config and a
// state.Config. The keys are the JSON Schema of Schema; editors complete with it
// what Load accepts.
package agentsfile
