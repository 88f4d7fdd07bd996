package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"strings"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// An agent with a tool. The model is a script here; a provider package gives a real one.
func Example() {
	forecast := functool.MustNew(functool.Config{Name: "forecast", Description: "Weather of a city"},
		func(_ context.Context, in struct {
			City string `json:"city" jsonschema:"English name of the city"`
		}) (string, error) {
			return "It will rain in " + in.City + ".", nil
		})
	model := agenttest.New(
		agenttest.Turn(agenttest.Call("c1", "forecast", `{"city": "Oslo"}`)),
		agenttest.Turn(agenttest.Text("Take an umbrella.")),
	)
	a := agent.New(agent.ProviderConfig{Run: model.Run}, agent.Config{
		Instructions: "You know the weather.",
		Tools:        []tool.Tool{forecast},
	})
	for update, err := range a.RunText(context.Background(), "How is Oslo?") {
		if err != nil {
			log.Fatal(err)
		}
		for _, c := range update.Contents {
			switch c := c.(type) {
			case *message.FunctionCallContent:
				fmt.Println("calls", c.Name, c.Arguments)
			case *message.FunctionResultContent:
				fmt.Println("gets", c.Text())
			case *message.TextContent:
				fmt.Println("says", c.Text)
			}
		}
	}
	// Output:
	// calls forecast {"city": "Oslo"}
	// gets It will rain in Oslo.
	// says Take an umbrella.
}

// Any function of the type RunFunc is a model, or a whole agent from elsewhere.
func ExampleNew() {
	shout := func(_ context.Context, messages []*message.Message, _ ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			for _, word := range strings.Fields(messages[len(messages)-1].String()) {
				u := &agent.ResponseUpdate{Contents: message.Contents{&message.TextContent{Text: strings.ToUpper(word) + "! "}}}
				if !yield(u, nil) {
					return
				}
			}
		}
	}
	response, err := agent.New(agent.ProviderConfig{Run: shout}, agent.Config{}).RunText(context.Background(), "good morning").Collect()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response)
	// Output: GOOD! MORNING!
}

// A gate asks a person. The run ends with the call unanswered; another run, with the
// conversation so far and a gate that has the person's answer, goes on.
func ExampleWithGate() {
	remove := functool.MustNew(functool.Config{Name: "delete_file"}, func(_ context.Context, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return in.Name + " is gone.", nil
	})
	model := agenttest.New(
		agenttest.Turn(agenttest.Call("c1", "delete_file", `{"name":"old.txt"}`)),
		agenttest.Turn(agenttest.Text("Done.")),
	)
	a := model.Agent(agent.Config{Tools: []tool.Tool{tool.ApprovalRequiredFunc(remove)}})
	ctx := context.Background()
	conversation := []*message.Message{message.NewText("Remove old.txt, please.")}

	first, err := a.Run(ctx, conversation).Collect()
	if err != nil {
		log.Fatal(err)
	}
	for _, call := range first.Pending() {
		fmt.Println("Allow", call.Name, call.Arguments, "?")
	}

	conversation = append(conversation, first.Messages...)
	second, err := a.Run(ctx, conversation, agent.WithGate(func(context.Context, *message.FunctionCallContent) agent.Decision {
		return agent.RunCall() // the person said yes
	})).Collect()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(second.Messages[0].Contents[0].(*message.FunctionResultContent).Text(), second)
	// Output:
	// Allow delete_file {"name":"old.txt"} ?
	// old.txt is gone. Done.
}

// A middleware sees everything on its way. This one counts what the model writes.
func ExampleMiddlewareFunc() {
	count := agent.MiddlewareFunc(func(next agent.RunFunc, ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			n := 0
			for update, err := range next(ctx, messages, opts...) {
				n += len(update.String())
				if !yield(update, err) {
					return
				}
			}
			fmt.Println(n, "bytes")
		}
	})
	model := agenttest.New(agenttest.Turn(agenttest.Text("Hello there.")))
	a := model.Agent(agent.Config{Middlewares: []agent.Middleware{count}})
	if _, err := a.RunText(context.Background(), "Hi").Collect(); err != nil {
		log.Fatal(err)
	}
	// Output: 12 bytes
}

// A middleware sees each call of a tool, may change its arguments and what comes
// of it, or answer itself.
func ExampleWithFunctionMiddleware() {
	double := functool.MustNew(functool.Config{Name: "double"}, func(_ context.Context, in struct {
		N int `json:"n"`
	}) (int, error) {
		return 2 * in.N, nil
	})
	model := agenttest.New(
		agenttest.Turn(agenttest.Call("c1", "double", `{"n":2}`)),
		agenttest.Turn(agenttest.Text("There.")),
	)
	audit := func(next func(context.Context, *agent.FunctionInvocationContext) (any, error), ctx context.Context, call *agent.FunctionInvocationContext) (any, error) {
		result, err := next(ctx, call)
		fmt.Println(call.Function.Name(), call.Arguments, "=", result, err)
		return result, err
	}
	a := model.Agent(agent.Config{Tools: []tool.Tool{double}})
	if _, err := a.RunText(context.Background(), "Double it", agent.WithFunctionMiddleware(audit)).Collect(); err != nil {
		log.Fatal(err)
	}
	// Output: double {"n":2} = 4 <nil>
}

// An answer that is a Go value: the model is told its schema.
func ExampleFormatFor() {
	type city struct {
		Name       string `json:"name"`
		Population int    `json:"population"`
	}
	format, err := agent.FormatFor[city]("city")
	if err != nil {
		log.Fatal(err)
	}
	model := agenttest.New(agenttest.Turn(agenttest.Text(`{"name":"Oslo","population":717710}`)))
	response, err := model.Agent(agent.Config{}).RunText(context.Background(), "A city?", agent.WithResponseFormat(format)).Collect()
	if err != nil {
		log.Fatal(err)
	}
	var c city
	fmt.Println(response.Unmarshal(&c), c)
	// Output: <nil> {Oslo 717710}
}

// A long conversation costs no more than its newest part.
func ExampleNewHistoryBound() {
	model := agenttest.New(agenttest.Turn(agenttest.Text("Tea.")))
	a := model.Agent(agent.Config{Middlewares: []agent.Middleware{agent.NewHistoryBound(&agent.HistoryBound{MaxMessages: 1})}})
	_, err := a.Run(context.Background(), []*message.Message{
		message.NewText("Good morning."),
		message.NewAssistant(&message.TextContent{Text: "Good morning!"}),
		message.NewText("Tea or coffee?"),
	}).Collect()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(model.Prompts()[0].Text())
	// Output: user: Tea or coffee?
}

// The loop that runs tools, around any model. Agents have one already.
func ExampleNewToolLoop() {
	again := agenttest.TurnFrom(func(agenttest.Prompt) []agenttest.Step {
		return []agenttest.Step{agenttest.Call("", "look", `{}`)}
	})
	look := functool.MustNew(functool.Config{Name: "look"}, func(context.Context, struct{}) (string, error) { return "Nothing.", nil })
	run := agent.Chain(agenttest.New(again, again, again).Run, agent.NewToolLoop(&agent.ToolLoopConfig{MaxIterations: 2}))
	for _, err := range run(context.Background(), []*message.Message{message.NewText("Look!")}, agent.WithTool(look)) {
		var limit *agent.LimitError
		if errors.As(err, &limit) {
			fmt.Println(err)
		}
	}
	// Output: agent: the model was asked 2 times and still calls tools; raise the limit with WithMaxIterations
}
