package foundryprovider_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/openai/openai-go/v3/option"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/internal/openaiwire"
	"github.com/lockstep-go/lockstep/provider/foundryprovider"
)

// A model of a Foundry project. A credential of package azidentity gives the
// tokens; here it is a made-up one.
func ExampleNew() {
	service := httptest.NewTLSServer(&openaiwire.Handler{Answer: func(r *openaiwire.Request) openaiwire.Reply {
		return openaiwire.Reply{Body: openaiwire.Turn{Text: "Grüezi!"}.Steps(r)}
	}})
	defer service.Close()
	endpoint := service.URL + "/api/projects/demo" // https://NAME.services.ai.azure.com/api/projects/PROJECT
	a, err := foundryprovider.New(endpoint, new(tokenSource), foundryprovider.ModelDeployment("gpt-5-mini"), foundryprovider.AgentConfig{
		Config: agent.Config{Instructions: "Be brief."},
		// Only because the example's certificate is its own.
		OpenAIOptions: []option.RequestOption{option.WithHTTPClient(service.Client())},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.RunText(context.Background(), "Hello").Collect())
	// Output: Grüezi! <nil>
}

// NewAgent has no error: what is wrong is what every run says.
func ExampleNewAgent() {
	a := foundryprovider.NewAgent("https://example.services.ai.azure.com/api/projects/demo", nil, foundryprovider.ModelDeployment("m"), foundryprovider.AgentConfig{})
	_, err := a.RunText(context.Background(), "Hello").Collect()
	fmt.Println(err)
	// Output: model_error: The model is not set up.: foundryprovider: the credential is nil: give one of package azidentity, or another azcore.TokenCredential
}
