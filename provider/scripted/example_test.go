package scripted_test

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/tool"
)

// An agent that needs no key and no network.
func ExampleNewAgent() {
	a := scripted.NewAgent(scripted.AgentConfig{
		Config:  agent.Config{Tools: []tool.Tool{getWeather}},
		Options: scripted.Options{Pace: -1}, // as fast as it goes
	})
	response, err := a.RunText(context.Background(), "How is the weather in Oslo?").Collect()
	fmt.Println(response, err)
	// Output: The weather in Oslo: sunny, 20°, humidity 50 %. <nil>
}
