// Package azureprovider answers one question: how does a model of Azure OpenAI think?
//
//	a, err := azureprovider.NewAgent("https://NAME.openai.azure.com", azureprovider.APIKey(key), azureprovider.AgentConfig{
//		Deployment: "gpt-5-mini",
//		Config:     agent.Config{Instructions: "Be brief."},
//	})
//
// With Entra ID, pass [Token] of an azcore.TokenCredential; package azidentity makes
// them, which this module imports in its binary only. What holds for answers, failures,
// retries and time limits is said in package openaiprovider.
//
// # Versions
//
// Without an API version, or with "v1", requests go to /openai/v1/, where Azure's paths
// are OpenAI's own and the deployment is the request's model. "preview" goes there too,
// with api-version=preview. A dated version such as "2024-10-21" goes to
// /openai/deployments/NAME/chat/completions?api-version=…; versions before 2024-08-01
// refuse stream_options and are not sent any.
//
// Credentials are sent over https only, or over plain http to this machine's loopback
// addresses, which is for tests; they do not follow a redirect to another origin. The
// environment's OPENAI_… variables are not read.
//
// # What was not tried
//
// The tests check paths, queries, headers, tokens and scopes against a local server.
// Nothing here has been run against the real service. From the service's published
// reference, and so far only from there, come: the v1 paths, the scope of tokens, and
// the version from which stream_options are accepted.
package azureprovider

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/azure"
	"github.com/openai/openai-go/v3/option"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/provider/internal/azurewire"
	"github.com/lockstep-go/lockstep/provider/openaiprovider"
)

// DefaultScope is the scope of tokens for Azure OpenAI in the public cloud.
const DefaultScope = "https://cognitiveservices.azure.com/.default"

// AgentConfig sets up an agent. Only Deployment is needed.
type AgentConfig struct {
	agent.Config

	// Deployment is the name of the model's deployment, unless a run has
	// [agent.WithModel].
	Deployment string
	// APIVersion is "", "v1", "preview", or a dated version; see the package comment.
	APIVersion string
	// Instructions come after those of Config.
	Instructions string
	// Responses uses the Responses API in place of Chat Completions.
	Responses bool
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

// Credential is an API key or a token credential: see [APIKey] and [Token]. The zero
// value is refused.
type Credential struct {
	key   string
	token azcore.TokenCredential
}

// APIKey authenticates with a key of the resource.
func APIKey(key string) Credential { return Credential{key: strings.TrimSpace(key)} }

// Token authenticates with Entra ID. The credential has to cache its tokens, as those
// of azidentity do.
func Token(credential azcore.TokenCredential) Credential { return Credential{token: credential} }

// String and GoString keep the key out of logs.
func (c Credential) String() string {
	if c.token != nil {
		return "token credential"
	}
	return "API key"
}

// GoString is String.
func (c Credential) GoString() string { return c.String() }

// NewAgent makes an agent on a deployment. The endpoint is the resource's address;
// /openai and what follows is ignored. It fails for an endpoint, a version or a
// credential that cannot be used.
func NewAgent(endpoint string, credential Credential, config AgentConfig) (*agent.Agent, error) {
	u, err := azurewire.ParseEndpoint(endpoint)
	if err != nil {
		return nil, fmt.Errorf("azureprovider: %w", err)
	}
	if config.Deployment == "" {
		return nil, errors.New("azureprovider: Deployment is empty: the name of a model's deployment is needed")
	}
	if i := strings.Index(u.Path+"/", "/openai/"); i >= 0 { // portals show addresses with the API's path in them
		u.Path, u.RawPath = u.Path[:i], ""
	}
	options, err := version(u, config.APIVersion)
	if err != nil {
		return nil, err
	}
	switch {
	case credential.token != nil:
		scopes := config.Scopes
		if len(scopes) == 0 {
			scopes = []string{DefaultScope}
		}
		options = append(options, azure.WithTokenCredential(credential.token, azure.WithTokenCredentialScopes(scopes)))
	case credential.key != "":
		options = append(options, azure.WithAPIKey(credential.key))
	default:
		return nil, errors.New("azureprovider: no credential: give APIKey(…) with a key that is not empty, or Token(…)")
	}
	client := openai.NewClient(append(options, config.OpenAIOptions...)...)
	inner := openaiprovider.AgentConfig{
		Config: config.Config, Model: config.Deployment, Instructions: config.Instructions, ProviderName: "azure",
		IdleTimeout: config.IdleTimeout, Timeout: config.Timeout,
		ReasoningSummary: config.ReasoningSummary, EncryptedReasoning: config.EncryptedReasoning,
		OmitStreamOptions: dated(config.APIVersion) && config.APIVersion < "2024-08-01",
	}
	if config.Responses {
		return openaiprovider.NewResponsesAgent(client, inner), nil
	}
	return openaiprovider.NewChatCompletionsAgent(client, inner), nil
}

// dated reports whether a version is a date, perhaps with -preview behind it.
func dated(version string) bool {
	if len(version) < len(time.DateOnly) {
		return false
	}
	_, err := time.Parse(time.DateOnly, version[:len(time.DateOnly)])
	return err == nil
}

func version(u *url.URL, version string) ([]option.RequestOption, error) {
	if dated(version) {
		return azurewire.Dated(u, version), nil
	}
	switch version = cmp.Or(version, "v1"); version {
	case "v1":
		version = ""
	case "preview", "latest":
	default:
		return nil, fmt.Errorf("azureprovider: the API version %q is none of v1, preview, or a date like 2024-10-21", version)
	}
	base := *u
	base.Path, base.RawPath = base.Path+"/openai/v1", ""
	return azurewire.V1(&base, version), nil
}
