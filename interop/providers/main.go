// Command providers serves the recipe agent through every provider of real
// models, each at a path of its own, against one model server: for the tests
// with the official client.
//
//	providers http://127.0.0.1:PORT/v1
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/internal/demo"
	"github.com/lockstep-go/lockstep/provider/azureprovider"
	"github.com/lockstep-go/lockstep/provider/foundryprovider"
	"github.com/lockstep-go/lockstep/provider/openaiprovider"
	"github.com/lockstep-go/lockstep/server"
)

// life bounds a server that nobody ends.
const life = 5 * time.Minute

// token is a credential that needs no cloud.
type token struct{}

func (token) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "test-token", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: providers BASE-URL")
	}
	base := os.Args[1]
	origin := strings.TrimSuffix(base, "/v1")
	recipe := demo.Agents()[0]
	client := openai.NewClient(option.WithBaseURL(base), option.WithAPIKey("test-key"))
	config := func(name string) agent.Config {
		cfg := recipe.Config
		cfg.Name = name
		return cfg
	}
	must := func(a *agent.Agent, err error) *agent.Agent {
		if err != nil {
			log.Fatal(err)
		}
		return a
	}
	host := server.NewHost(nil)
	for path, a := range map[string]*agent.Agent{
		"/chat":      openaiprovider.NewChatCompletionsAgent(client, openaiprovider.AgentConfig{Config: config("chat"), Model: "m"}),
		"/responses": openaiprovider.NewResponsesAgent(client, openaiprovider.AgentConfig{Config: config("responses"), Model: "m"}),
		"/azure":     must(azureprovider.NewAgent(origin, azureprovider.APIKey("test-key"), azureprovider.AgentConfig{Config: config("azure"), Deployment: "m"})),
		"/azure_old": must(azureprovider.NewAgent(origin, azureprovider.Token(token{}), azureprovider.AgentConfig{Config: config("azure_old"), Deployment: "m", APIVersion: "2024-06-01"})),
		"/foundry":   must(foundryprovider.New(origin+"/api/projects/p", token{}, foundryprovider.ModelDeployment("m"), foundryprovider.AgentConfig{Config: config("foundry")})),
	} {
		h, err := server.New(a, &server.Options{State: recipe.State, Logger: slog.Default()})
		if err != nil {
			log.Fatal(err)
		}
		if err := host.Handle(path, h); err != nil {
			log.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	time.AfterFunc(life, func() { os.Exit(1) })
	fmt.Fprintf(os.Stderr, "listening on http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, host))
}
