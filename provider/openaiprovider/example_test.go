package openaiprovider_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/openaiwire"
	"github.com/lockstep-go/lockstep/provider/openaiprovider"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// Any server that speaks Chat Completions will do; this one holds a conversation about
// recipes.
func ExampleNewChatCompletionsAgent() {
	model := httptest.NewServer(&openaiwire.Handler{Answer: new(openaiwire.RecipeModel).Answer})
	defer model.Close()

	update := functool.MustNew(functool.Config{Name: "update_recipe", Description: "Writes the whole recipe."},
		func(_ context.Context, in struct {
			Recipe openaiwire.Recipe `json:"recipe"`
		}) (string, error) {
			fmt.Println("the tool got:", in.Recipe.Title)
			return "Recipe updated.", nil
		})

	client := openai.NewClient(option.WithBaseURL(model.URL+"/v1/"), option.WithAPIKey("none"))
	a := openaiprovider.NewChatCompletionsAgent(client, openaiprovider.AgentConfig{
		Model:  "recipes",
		Config: agent.Config{Tools: []tool.Tool{update}},
	})
	for u, err := range a.RunText(context.Background(), "I want to make a carbonara") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(u)
	}
	// Output:
	// the tool got: Classic Pasta Carbonara
	// Here's your recipe!
}

// What a person sees of a failure is always the same; what the log says comes from the
// Failure behind it.
func ExampleFailure() {
	model := httptest.NewServer(&openaiwire.Handler{Answer: func(*openaiwire.Request) openaiwire.Reply {
		return openaiwire.Reply{Status: 401, Body: []openaiwire.Step{openaiwire.Raw(`{"error":{"code":"invalid_api_key","message":"Incorrect API key: sk-example-1"}}`)}}
	}})
	defer model.Close()

	client := openai.NewClient(option.WithBaseURL(model.URL+"/v1/"), option.WithAPIKey("sk-example-1"))
	_, err := openaiprovider.NewChatCompletionsAgent(client, openaiprovider.AgentConfig{Model: "m"}).RunText(context.Background(), "hi").Collect()

	wire := agui.RunErrorFor(err)
	fmt.Println(wire.Code, "|", wire.Message)
	var f *openaiprovider.Failure
	if errors.As(err, &f) {
		fmt.Println(f.Status, f.Code, "|", f.Message)
	}
	// Output:
	// model_error | The model could not answer. Please try again.
	// 401 invalid_api_key | Incorrect API key: [redacted]
}

// The Responses API, which the service itself offers; what only it has is a raw
// parameter.
func ExampleNewResponsesAgent() {
	model := httptest.NewServer(&openaiwire.Handler{Answer: func(r *openaiwire.Request) openaiwire.Reply {
		return openaiwire.Reply{Body: openaiwire.Turn{Text: "Grüezi!"}.Steps(r)}
	}})
	defer model.Close()
	client := openai.NewClient(option.WithBaseURL(model.URL+"/v1/"), option.WithAPIKey("none"))
	a := openaiprovider.NewResponsesAgent(client, openaiprovider.AgentConfig{Model: "m"})
	only := openaiprovider.ResponsesNewParams(responses.ResponseNewParams{ServiceTier: responses.ResponseNewParamsServiceTierFlex})
	fmt.Println(a.RunText(context.Background(), "Hello", only).Collect())
	// Output: Grüezi! <nil>
}

// NewAgent takes the API that most servers have.
func ExampleNewAgent() {
	model := httptest.NewServer(&openaiwire.Handler{Answer: func(r *openaiwire.Request) openaiwire.Reply {
		return openaiwire.Reply{Body: openaiwire.Turn{Text: "Grüezi from " + r.Path}.Steps(r)}
	}})
	defer model.Close()
	client := openai.NewClient(option.WithBaseURL(model.URL+"/v1/"), option.WithAPIKey("none"))
	a := openaiprovider.NewAgent(client, openaiprovider.AgentConfig{Model: "m"})
	fmt.Println(a.RunText(context.Background(), "Hello").Collect())
	// Output: Grüezi from /v1/chat/completions <nil>
}
