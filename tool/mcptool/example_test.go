package mcptool_test

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
	"github.com/lockstep-go/lockstep/tool/mcptool"
)

// A tool of this program becomes one of an MCP server, and that server's tools
// become tools of an agent.
func Example() {
	ctx := context.Background()
	forecast := functool.MustNew(functool.Config{Name: "forecast", Description: "Weather of a city"},
		func(_ context.Context, in struct {
			City string `json:"city"`
		}) (string, error) {
			return "It will rain in " + in.City + ".", nil
		})
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mcptool.AddTool(server, forecast)

	// In one process here; otherwise mcp.StreamableClientTransport or mcp.CommandTransport.
	ours, theirs := mcp.NewInMemoryTransports()
	serving, err := server.Connect(ctx, theirs, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer serving.Wait()
	session, err := mcptool.Connect(ctx, ours)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	tools, err := mcptool.Tools(ctx, session, &mcptool.Options{NeedsApproval: func(*mcp.Tool) bool { return true }})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range tools {
		fmt.Println(t.Name(), "|", t.Description(), "|", tool.NeedsApproval(t))
		if f, ok := tool.As[tool.FuncTool](t); ok {
			result, err := f.Call(ctx, `{"city":"Oslo"}`)
			fmt.Println(result, err)
		}
	}
	// Output:
	// forecast | Weather of a city | true
	// It will rain in Oslo. <nil>
}
