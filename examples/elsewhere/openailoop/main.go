package main

import (
	"cmp"
	"log"
	"net/http"
	"os"

	"github.com/openai/openai-go/v3"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
)

// handler serves the loop with a state that its tool's argument fills while it is
// written.
func handler(l *loop) (*server.Handler, error) {
	a := agent.New(agent.ProviderConfig{ProviderName: "my own", Run: l.run}, agent.Config{Name: "notes"})
	return server.New(a, &server.Options{State: state.Config{
		Predict: map[string]state.Prediction{"note": {Tool: "write_note", Argument: "note"}},
	}})
}

// The key and the address are OPENAI_API_KEY and OPENAI_BASE_URL.
func main() {
	h, err := handler(&loop{
		client: openai.NewClient(),
		model:  cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-5-mini"),
		notes:  func(string) error { return nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Println("listening on http://127.0.0.1:8888")
	log.Fatal(http.ListenAndServe("127.0.0.1:8888", h))
}
