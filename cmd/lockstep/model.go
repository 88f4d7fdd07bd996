package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/internal/demo"
	"github.com/lockstep-go/lockstep/provider/openaiprovider"
	"github.com/lockstep-go/lockstep/provider/scripted"
)

// chooseModel reads --model, and without it the environment. name is for logs.
func chooseModel(flag string) (provider demo.Provider, name string, err error) {
	kind, model, _ := strings.Cut(flag, ":")
	if flag == "" {
		kind = "scripted"
		if os.Getenv("OPENAI_API_KEY") != "" || os.Getenv("OPENAI_BASE_URL") != "" {
			kind = "openai"
		}
	}
	switch kind {
	case "scripted":
		if model != "" {
			return nil, "", fmt.Errorf("--model scripted takes no name, got %q", flag)
		}
		return func(cfg agent.Config) (*agent.Agent, error) {
			return scripted.NewAgent(scripted.AgentConfig{Config: cfg}), nil
		}, "scripted", nil
	case "openai":
		if model = cmp.Or(model, os.Getenv("OPENAI_MODEL")); model == "" {
			return nil, "", fmt.Errorf("which model? Set OPENAI_MODEL or say --model openai:NAME")
		}
		var opts []option.RequestOption
		if os.Getenv("OPENAI_API_KEY") == "" {
			// Servers on one's own machine want none; the library insists on one.
			opts = append(opts, option.WithAPIKey("none"))
		}
		client := openai.NewClient(opts...) // reads OPENAI_BASE_URL and OPENAI_API_KEY
		return func(cfg agent.Config) (*agent.Agent, error) {
			return openaiprovider.NewAgent(client, openaiprovider.AgentConfig{Config: cfg, Model: model}), nil
		}, "openai:" + model, nil
	default:
		return nil, "", fmt.Errorf("--model %q: want scripted or openai:NAME", flag)
	}
}
