package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/internal/demo"
	"github.com/lockstep-go/lockstep/provider/azureprovider"
	"github.com/lockstep-go/lockstep/provider/foundryprovider"
	"github.com/lockstep-go/lockstep/provider/openaiprovider"
	"github.com/lockstep-go/lockstep/provider/scripted"
)

// chooseModel reads --model, and without it the environment: openai, azure,
// foundry, in this order, where their first variable is set; else scripted. name
// is for logs and holds no secret. An error does not say where flag comes from:
// an agents file has models too.
func chooseModel(flag string) (provider demo.Provider, name string, err error) {
	kind, model, _ := strings.Cut(flag, ":")
	if flag == "" {
		switch {
		case os.Getenv("OPENAI_API_KEY") != "" || os.Getenv("OPENAI_BASE_URL") != "":
			kind = "openai"
		case os.Getenv("AZURE_OPENAI_ENDPOINT") != "":
			kind = "azure"
		case os.Getenv("FOUNDRY_PROJECT_ENDPOINT") != "":
			kind = "foundry"
		default:
			kind = "scripted"
		}
	}
	switch kind {
	case "scripted":
		if model != "" {
			return nil, "", fmt.Errorf("scripted takes no name")
		}
		provider = scriptedModel
	case "openai":
		if model = cmp.Or(model, os.Getenv("OPENAI_MODEL")); model == "" {
			return nil, "", fmt.Errorf("which model? Set OPENAI_MODEL or write openai:NAME")
		}
		provider = openaiModel(model)
	case "azure":
		if model = cmp.Or(model, os.Getenv("AZURE_OPENAI_DEPLOYMENT_NAME")); model == "" {
			return nil, "", fmt.Errorf("which deployment? Set AZURE_OPENAI_DEPLOYMENT_NAME or write azure:DEPLOYMENT")
		}
		provider, err = azureModel(model)
	case "foundry":
		if model = cmp.Or(model, os.Getenv("FOUNDRY_MODEL")); model == "" {
			return nil, "", fmt.Errorf("which deployment? Set FOUNDRY_MODEL or write foundry:DEPLOYMENT")
		}
		provider, err = foundryModel(model)
	default:
		return nil, "", fmt.Errorf("want scripted, openai:NAME, azure:DEPLOYMENT or foundry:DEPLOYMENT")
	}
	if model != "" {
		kind += ":" + model
	}
	return provider, kind, err
}

func scriptedModel(cfg agent.Config) (*agent.Agent, error) {
	return scripted.NewAgent(scripted.AgentConfig{Config: cfg}), nil
}

// openaiModel speaks Chat Completions, so that Ollama, vLLM, llama.cpp and
// gateways work through OPENAI_BASE_URL.
func openaiModel(model string) demo.Provider {
	var opts []option.RequestOption
	if os.Getenv("OPENAI_API_KEY") == "" {
		// Servers on one's own machine want none; the library insists on one.
		opts = append(opts, option.WithAPIKey("none"))
	}
	client := openai.NewClient(opts...) // reads OPENAI_BASE_URL and OPENAI_API_KEY
	return func(cfg agent.Config) (*agent.Agent, error) {
		return openaiprovider.NewChatCompletionsAgent(client, openaiprovider.AgentConfig{Config: cfg, Model: model}), nil
	}
}

func azureModel(deployment string) (demo.Provider, error) {
	endpoint := os.Getenv("AZURE_OPENAI_ENDPOINT")
	if endpoint == "" {
		return nil, fmt.Errorf("AZURE_OPENAI_ENDPOINT is not set; it is the resource's address, such as https://NAME.openai.azure.com")
	}
	credential := azureprovider.APIKey(os.Getenv("AZURE_OPENAI_API_KEY"))
	if os.Getenv("AZURE_OPENAI_API_KEY") == "" {
		token, err := azidentity.NewDefaultAzureCredential(nil)
		if err != nil {
			return nil, fmt.Errorf("AZURE_OPENAI_API_KEY is not set, and Entra ID gives no credential: %w", err)
		}
		credential = azureprovider.Token(token)
	}
	return func(cfg agent.Config) (*agent.Agent, error) {
		return azureprovider.NewAgent(endpoint, credential, azureprovider.AgentConfig{
			Config: cfg, Deployment: deployment, APIVersion: os.Getenv("AZURE_OPENAI_API_VERSION"),
		})
	}, nil
}

func foundryModel(deployment string) (demo.Provider, error) {
	endpoint := os.Getenv("FOUNDRY_PROJECT_ENDPOINT")
	if endpoint == "" {
		return nil, fmt.Errorf("FOUNDRY_PROJECT_ENDPOINT is not set; it is the project's address, such as https://NAME.services.ai.azure.com/api/projects/PROJECT")
	}
	token, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, fmt.Errorf("no credential from Entra ID: %w", err)
	}
	return func(cfg agent.Config) (*agent.Agent, error) {
		return foundryprovider.New(endpoint, token, foundryprovider.ModelDeployment(deployment), foundryprovider.AgentConfig{Config: cfg})
	}, nil
}
