package postgres_test

import (
	"context"
	"log"
	"net/http"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/postgres"
)

// A server of which any number of processes run at once, on one database.
func ExampleOpen() {
	ctx := context.Background()
	store, err := postgres.Open(ctx, "postgres://lockstep@db.example/lockstep", nil) // the password is in PGPASSWORD
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	threads := thread.New(store, nil)
	defer threads.Close(ctx) // before the store
	handler, err := server.New(scripted.NewAgent(scripted.AgentConfig{Config: agent.Config{Name: "chat"}}), &server.Options{Threads: threads})
	if err != nil {
		log.Fatal(err)
	}
	log.Println(http.ListenAndServe("127.0.0.1:8080", handler))
}
