package main

import (
	"cmp"
	"context"
	"log"
	"net/http"
	"os"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/model"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

var writeNote = functool.MustNew(functool.Config{
	Name:        "write_note",
	Description: "Writes the note that the user sees. Pass the whole note.",
}, func(context.Context, struct {
	Note string `json:"note" jsonschema:"the whole note"`
}) (string, error) {
	return "Note written.", nil
})

// handler serves an agent that thinks with m.
func handler(m model.BaseChatModel) (*server.Handler, error) {
	a := agent.New(agent.ProviderConfig{ProviderName: "eino", Run: Model(m)}, agent.Config{
		Name:         "notes",
		Instructions: "You keep the user's note.",
		Tools:        []tool.Tool{writeNote},
	})
	return server.New(a, &server.Options{State: state.Config{
		Predict: map[string]state.Prediction{"note": {Tool: "write_note", Argument: "note"}},
	}})
}

func main() {
	m, err := openai.NewChatModel(context.Background(), &openai.ChatModelConfig{
		APIKey:  os.Getenv("OPENAI_API_KEY"),
		BaseURL: os.Getenv("OPENAI_BASE_URL"),
		Model:   cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-5-mini"),
	})
	if err != nil {
		log.Fatal(err)
	}
	h, err := handler(m)
	if err != nil {
		log.Fatal(err)
	}
	log.Println("listening on http://127.0.0.1:8888")
	log.Fatal(http.ListenAndServe("127.0.0.1:8888", h))
}
