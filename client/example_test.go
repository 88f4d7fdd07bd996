package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
)

// exampleServer serves the writer of the tests: "write X" makes X the document.
func exampleServer(change func(*state.Config)) (url string, done func()) {
	a, cfg := writer(0)
	if change != nil {
		change(&cfg)
	}
	h, err := server.New(a, &server.Options{State: cfg, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	srv := httptest.NewServer(h)
	return srv.URL, func() {
		_ = h.Close(context.Background())
		srv.Close()
		http.DefaultClient.CloseIdleConnections()
	}
}

func ExampleThread_Run() {
	url, done := exampleServer(nil)
	defer done()
	thread := client.New(url, nil).Thread("")
	for event, err := range thread.Run(context.Background(), &client.RunOptions{Text: "write a poem"}) {
		if err != nil {
			log.Fatal(err)
		}
		switch e := event.(type) {
		case *agui.ToolCallResult:
			fmt.Println(e.Content.Text())
		case *agui.RunFinished:
			fmt.Println(thread.State())
		}
	}
	// Output:
	// Written.
	// {"title":"","document":"a poem"}
}

// Somebody who looks on sees what others do, from the beginning of the thread.
func ExampleThread_Follow() {
	url, done := exampleServer(nil)
	defer done()
	ctx := context.Background()
	thread := client.New(url, nil).Thread("shared")
	if _, err := thread.Merge(ctx, jsondoc.MustParse(`{"title":"Shared"}`)); err != nil {
		log.Fatal(err)
	}
	visitor := client.New(url, nil).Thread("shared")
	for update, err := range visitor.Follow(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(update.Event.EventType(), update.Resync)
		if _, idle := update.Event.(*agui.RunFinished); idle {
			break
		}
	}
	fmt.Println(visitor.State())
	// Output:
	// RUN_STARTED true
	// STATE_SNAPSHOT true
	// MESSAGES_SNAPSHOT true
	// RUN_FINISHED true
	// {"title":"Shared","document":""}
}

// The state as a Go type. An edit that somebody else's was in the way of says
// where, and what is there now.
func ExampleState_Update() {
	url, done := exampleServer(nil)
	defer done()
	ctx := context.Background()
	type note struct {
		Title string `json:"title"`
	}
	ann := client.StateOf[note](client.New(url, nil).Thread("shared"))
	bob := client.StateOf[note](client.New(url, nil).Thread("shared"))
	title := func(s string) func(*note) error {
		return func(n *note) error { n.Title = s; return nil }
	}
	if _, err := ann.Update(ctx, title("A draft")); err != nil {
		log.Fatal(err)
	}
	if _, err := bob.Update(ctx, title("Bob's")); err != nil {
		log.Fatal(err)
	}
	_, err := ann.Update(ctx, title("Ann's")) // she has not seen Bob's
	var conflict *client.ConflictError
	if errors.As(err, &conflict) {
		fmt.Println(conflict.Conflicts[0].Path, conflict.State)
	}
	// Output:
	// /title {"title":"Bob's","document":""}
}

// A run that waits for a person.
func ExampleApprove() {
	url, done := exampleServer(func(cfg *state.Config) { cfg.RequireConfirmation = true })
	defer done()
	ctx := context.Background()
	thread := client.New(url, nil).Thread("")
	o := &client.RunOptions{Text: "write a poem"}
	for o != nil {
		for _, err := range thread.Run(ctx, o) {
			if err != nil {
				log.Fatal(err)
			}
		}
		o = nil
		for _, interrupt := range thread.Interrupts() {
			fmt.Println(interrupt.Message)
			if o == nil {
				o = &client.RunOptions{}
			}
			o.Resume = append(o.Resume, client.Approve(interrupt))
		}
	}
	fmt.Println(thread.State())
	// Output:
	// Approve the changes that write proposes?
	// {"title":"","document":"a poem"}
}

// An endpoint as an agent. A carrier takes state along; state that comes is data.
func ExampleNewAgent() {
	url, done := exampleServer(nil)
	defer done()
	remote := client.NewAgent(url, nil)
	carrier, err := client.CarryState(Note{Title: "Mine"})
	if err != nil {
		log.Fatal(err)
	}
	ask := message.New(&message.TextContent{Text: "hello"}, carrier)
	for update, err := range remote.RunMessage(context.Background(), ask, agent.WithSession(new(agent.Session))) {
		if err != nil {
			log.Fatal(err)
		}
		for _, c := range update.Contents {
			if data, ok := c.(*message.DataContent); ok {
				fmt.Println(data.MediaType, string(data.Data))
			}
		}
		fmt.Print(update)
	}
	// Output:
	// application/json {"title":"Mine","document":""}
	// I have heard: hello
}

// A client reaches one agent and knows its threads.
func ExampleNew() {
	url, done := exampleServer(nil)
	defer done()
	ctx := context.Background()
	c := client.New(url, nil)
	if _, err := c.Thread("shared").Merge(ctx, jsondoc.MustParse(`{"title":"Shared"}`)); err != nil {
		log.Fatal(err)
	}
	for info, err := range c.Threads(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(info.ThreadID)
	}
	// A program that was started again goes on where the thread is.
	thread := c.Thread("shared")
	if _, err := thread.Hydrate(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(thread.State())
	// Output:
	// shared
	// {"title":"Shared","document":""}
}

// What the agent changed last is taken back; what people changed stays.
func ExampleThread_Undo() {
	url, done := exampleServer(nil)
	defer done()
	ctx := context.Background()
	thread := client.New(url, nil).Thread("")
	for _, err := range thread.Run(ctx, &client.RunOptions{Text: "write a poem"}) {
		if err != nil {
			log.Fatal(err)
		}
	}
	if _, err := thread.Merge(ctx, jsondoc.MustParse(`{"title":"Mine"}`)); err != nil {
		log.Fatal(err)
	}
	if _, err := thread.Undo(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(thread.State())
	// Output: {"title":"Mine","document":""}
}

// A person who says yes, but with other words.
func ExampleApproveEdited() {
	url, done := exampleServer(func(cfg *state.Config) { cfg.RequireConfirmation = true })
	defer done()
	ctx := context.Background()
	thread := client.New(url, nil).Thread("")
	for _, err := range thread.Run(ctx, &client.RunOptions{Text: "write a poem"}) {
		if err != nil {
			log.Fatal(err)
		}
	}
	answer := client.ApproveEdited(thread.Interrupts()[0], jsondoc.MustParse(`{"document":"a better poem"}`))
	for _, err := range thread.Run(ctx, &client.RunOptions{Resume: []agui.ResumeEntry{answer}}) {
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(thread.State())
	// Output: {"title":"","document":"a better poem"}
}
