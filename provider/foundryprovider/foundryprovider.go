// Package foundryprovider answers one question: how does a model of a Microsoft Foundry
// project think?
//
//	a := foundryprovider.NewAgent(endpoint, token, foundryprovider.ModelDeployment(model), foundryprovider.AgentConfig{
//		Config: agent.Config{Middlewares: []agent.Middleware{…}},
//	})
//
// The names are those of Microsoft Agent Framework for Go. The endpoint is the
// project's (https://NAME.services.ai.azure.com/api/projects/PROJECT), the token an
// azcore.TokenCredential; package azidentity makes them, which this module imports in
// its binary only. Requests go to the project's /openai/v1/, by the Responses API
// unless [AgentConfig.ChatCompletions] says otherwise. What holds for answers,
// failures, retries and time limits is said in package openaiprovider.
//
// The token is asked for [DefaultScope] and sent over https only, or over plain http to
// this machine's loopback addresses, which is for tests; it does not follow a redirect
// to another origin. The environment's OPENAI_… variables are not read.
//
// # What was not tried
//
// The tests check path, headers, token and scope against a local server. Nothing here
// has been run against a real project. From published sources, and so far only from
// there, come the path below the project and the scope. Agents that live in the service
// are not supported, only model deployments.
package foundryprovider

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/azure"
	"github.com/openai/openai-go/v3/option"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/provider/internal/azurewire"
	"github.com/lockstep-go/lockstep/provider/openaiprovider"
)

// DefaultScope is the scope of tokens for Foundry projects in the public cloud.
const DefaultScope = "https://ai.azure.com/.default"

const providerName = "foundry"

// AgentConfig sets up an agent. The zero value is fine.
type AgentConfig struct {
	agent.Config

	// Instructions come after those of Config.
	Instructions string
	// ChatCompletions uses Chat Completions in place of the Responses API.
	ChatCompletions bool
	// Scopes replaces [DefaultScope], for other clouds.
	Scopes []string

	// IdleTimeout, Timeout, ReasoningSummary and EncryptedReasoning are those of
	// [openaiprovider.AgentConfig].
	IdleTimeout        time.Duration
	Timeout            time.Duration
	ReasoningSummary   string
	EncryptedReasoning bool

	// OpenAIOptions are further options of the client. A custom HTTP client has to be
	// an *http.Client.
	OpenAIOptions []option.RequestOption
}

// AgentTarget is what thinks: a [ModelDeployment].
type AgentTarget interface{ target() string }

// ModelDeployment is the name of a model's deployment in the project.
type ModelDeployment string

func (m ModelDeployment) target() string { return strings.TrimSpace(string(m)) }

// NewAgent makes an agent on a model of a project. If endpoint, credential or target
// cannot be used, every run of the agent fails and says why; [New] says so at once.
func NewAgent(endpoint string, credential azcore.TokenCredential, target AgentTarget, config AgentConfig) *agent.Agent {
	a, err := New(endpoint, credential, target, config)
	if err == nil {
		return a
	}
	return agent.New(agent.ProviderConfig{
		ProviderName: providerName,
		Run: func(context.Context, []*message.Message, ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
			return func(yield func(*agent.ResponseUpdate, error) bool) {
				yield(nil, agui.NewError(agui.CodeModelError, "The model is not set up.", err))
			}
		},
	}, config.Config)
}

// New is [NewAgent] with an error for what cannot be used.
func New(endpoint string, credential azcore.TokenCredential, target AgentTarget, config AgentConfig) (*agent.Agent, error) {
	u, err := azurewire.ParseEndpoint(endpoint)
	switch {
	case err != nil:
		return nil, fmt.Errorf("foundryprovider: %w", err)
	case credential == nil:
		return nil, errors.New("foundryprovider: the credential is nil: give one of package azidentity, or another azcore.TokenCredential")
	case target == nil || target.target() == "":
		return nil, errors.New("foundryprovider: no target: the name of a model's deployment is needed, as ModelDeployment(name)")
	}
	scopes := config.Scopes
	if len(scopes) == 0 {
		scopes = []string{DefaultScope}
	}
	const below = "/openai/v1"
	if !strings.HasSuffix(u.Path, below) {
		if u.RawPath != "" {
			u.RawPath += below
		}
		u.Path += below
	}
	options := append(azurewire.V1(u, ""), azure.WithTokenCredential(credential, azure.WithTokenCredentialScopes(scopes)))
	client := openai.NewClient(append(options, config.OpenAIOptions...)...)
	inner := openaiprovider.AgentConfig{
		Config: config.Config, Model: target.target(), Instructions: config.Instructions, ProviderName: providerName,
		IdleTimeout: config.IdleTimeout, Timeout: config.Timeout,
		ReasoningSummary: config.ReasoningSummary, EncryptedReasoning: config.EncryptedReasoning,
	}
	if config.ChatCompletions {
		return openaiprovider.NewChatCompletionsAgent(client, inner), nil
	}
	return openaiprovider.NewResponsesAgent(client, inner), nil
}
