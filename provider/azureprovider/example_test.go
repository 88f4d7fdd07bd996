package azureprovider_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/openai/openai-go/v3/option"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/internal/openaiwire"
	"github.com/lockstep-go/lockstep/provider/azureprovider"
)

// A deployment of Azure OpenAI, by key. With Entra ID, Token of a credential of
// package azidentity takes the key's place.
func ExampleNewAgent() {
	service := httptest.NewTLSServer(&openaiwire.Handler{Answer: func(r *openaiwire.Request) openaiwire.Reply {
		return openaiwire.Reply{Body: openaiwire.Turn{Text: "Grüezi!"}.Steps(r)}
	}})
	defer service.Close()
	endpoint := service.URL // https://NAME.openai.azure.com
	a, err := azureprovider.NewAgent(endpoint, azureprovider.APIKey("a-key"), azureprovider.AgentConfig{
		Deployment: "my-deployment",
		Config:     agent.Config{Instructions: "Be brief."},
		// Only because the example's certificate is its own.
		OpenAIOptions: []option.RequestOption{option.WithHTTPClient(service.Client())},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.RunText(context.Background(), "Hello").Collect())
	// Output: Grüezi! <nil>
}

// Keys stay out of logs.
func ExampleAPIKey() {
	fmt.Println(azureprovider.APIKey("a-key"))
	_, err := azureprovider.NewAgent("http://example.com", azureprovider.APIKey("a-key"), azureprovider.AgentConfig{Deployment: "d"})
	fmt.Println(err)
	// Output:
	// API key
	// azureprovider: the endpoint at example.com is not https: credentials would be sent in the clear
}
