package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
)

// greeter is an agent whose model is a script; a provider package gives a real one.
func greeter(name string) *agent.Agent {
	return agenttest.New(agenttest.Turn(agenttest.Text("Hello."))).Agent(agent.Config{Name: name, Description: "Greets"})
}

// ask says what a request is answered with.
func ask(h http.Handler, method, path, token, body string) (status int, answer string) {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/merge-patch+json")
	req.Header.Set("Authorization", "Bearer "+token)
	res := httptest.NewRecorder()
	h.ServeHTTP(res, req)
	return res.Code, strings.TrimSpace(res.Body.String())
}

// One agent is one http.Handler. Any AG-UI client can run it.
func ExampleNew() {
	h, err := server.New(greeter("greeter"), &server.Options{State: state.Config{
		Initial: jsondoc.MustParse(`{"mood":"good"}`),
	}})
	if err != nil {
		log.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer http.DefaultClient.CloseIdleConnections()
	defer srv.Close()
	defer h.Close(context.Background()) // before the server: it ends running runs

	res, err := http.Post(srv.URL, "application/json", strings.NewReader(
		`{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"Hi"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	defer res.Body.Close()
	stream, err := io.ReadAll(res.Body)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(stream)) {
		if _, event, ok := strings.Cut(line, `data: {"type":"`); ok {
			kind, _, _ := strings.Cut(event, `"`)
			fmt.Println(kind)
		}
	}
	// Output:
	// RUN_STARTED
	// STATE_SNAPSHOT
	// TEXT_MESSAGE_START
	// TEXT_MESSAGE_CONTENT
	// TEXT_MESSAGE_END
	// RUN_FINISHED
}

// A configuration that cannot work is told at once.
func ExampleNew_mistake() {
	_, err := server.New(greeter("greeter"), &server.Options{State: state.Config{
		Predict: map[string]state.Prediction{"title": {Argument: "title"}},
	}})
	fmt.Println(err)
	// Output: state: Config.Predict["title"].Tool is empty; name the tool whose arguments feed the state
}

// Several agents under their paths, and the routes of the process.
func ExampleHost() {
	host := server.NewHost(nil)
	defer host.Close(context.Background())
	for _, name := range []string{"greeter", "critic"} {
		h, err := server.New(greeter(name), nil)
		if err != nil {
			log.Fatal(err)
		}
		if err := host.Handle("/"+name, h); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(ask(host, "GET", "/healthz", "", ""))
	fmt.Println(ask(host, "GET", "/agents", "", ""))
	// Output:
	// 200 ok
	// 200 {"agents":[{"path":"/greeter","name":"greeter","description":"Greets"},{"path":"/critic","name":"critic","description":"Greets"}]}
}

// Below a path of an ordinary mux, beside other handlers.
func ExampleHandler_ServeHTTP() {
	h, err := server.New(greeter("greeter"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(context.Background())
	mux := http.NewServeMux()
	mux.Handle("/api/greeter/", http.StripPrefix("/api/greeter", h))
	fmt.Println(ask(mux, "GET", "/api/greeter/threads", "", ""))
	// Output: 200 {"threads":[],"next":null}
}

// Threads belong to who asks. Another's is like one that does not exist.
func ExampleOptions_authenticate() {
	users := map[string]string{"Bearer a-token": "ann", "Bearer b-token": "bob"}
	threads := thread.New(memory.New(), nil)
	defer threads.Close(context.Background())
	h, err := server.New(greeter("greeter"), &server.Options{
		Threads: threads,
		Logger:  slog.New(slog.DiscardHandler),
		Authenticate: func(r *http.Request) (string, error) {
			if user, ok := users[r.Header.Get("Authorization")]; ok {
				return user, nil
			}
			return "", errors.New("no such token")
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(context.Background())
	status, _ := ask(h, "PATCH", "/threads/diary/state", "a-token", `{"entry":"Rain."}`)
	fmt.Println(status)
	fmt.Println(ask(h, "GET", "/threads/diary", "b-token", ""))
	fmt.Println(ask(h, "GET", "/threads/diary", "", ""))
	// Output:
	// 200
	// 404 {"errors":[{"path":"threadId","message":"there is no such thread"}]}
	// 401 {"errors":[{"path":"","message":"this request is not authenticated"}]}
}
