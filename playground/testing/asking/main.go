// Command asking serves the page with agents whose own code asks questions, which
// no agents file can describe: for the page's tests. It listens on a loopback
// address, prints it as the binary does, and ends on SIGINT and SIGTERM, and by
// itself after ten minutes.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/playground"
	"github.com/lockstep-go/lockstep/server"
)

// booking has a field of every kind.
const booking = `{
	"type": "object",
	"required": ["name", "email", "guests", "from", "room"],
	"properties": {
		"name": {"type": "string", "minLength": 2, "description": "As it stands in the passport"},
		"email": {"type": "string", "format": "email"},
		"guests": {"type": "integer", "minimum": 1, "maximum": 6},
		"from": {"type": "string", "format": "date"},
		"room": {"enum": ["Single", "Double"]},
		"breakfast": {"type": "boolean"},
		"address": {"$ref": "#/$defs/address"},
		"wishes": {"type": "array", "maxItems": 3, "items": {"type": "string"}},
		"companions": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "age": {"type": "number"}}}}
	},
	"$defs": {"address": {"type": "object", "required": ["city"], "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"additionalProperties": false
}`

// asks is an agent that asks its questions when a person says something, and then
// repeats the answers.
func asks(name string, questions ...*message.InterruptRequestContent) *agent.Agent {
	run := func(_ context.Context, history []*message.Message, _ ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			var contents message.Contents
			for _, c := range history[len(history)-1].Contents {
				switch c := c.(type) {
				case *message.InterruptResponseContent:
					said := "nothing"
					if !c.Cancelled {
						said = c.Payload.String()
					}
					contents = append(contents, &message.TextContent{Text: fmt.Sprintf("To %s you said %s.\n\n", c.ID, said)})
				case *message.TextContent:
					for _, q := range questions {
						contents = append(contents, q)
					}
				}
			}
			yield(&agent.ResponseUpdate{Contents: contents}, nil)
		}
	}
	return agent.New(agent.ProviderConfig{Run: run}, agent.Config{Name: name, Description: "Asks before it answers"})
}

func question(id, text, schema string) *message.InterruptRequestContent {
	q := &message.InterruptRequestContent{ID: id, Message: text}
	if schema != "" {
		q.ResponseSchema = jsondoc.MustParse(schema)
	}
	return q
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "asking:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context) error {
	host := server.NewHost(playground.Home())
	var handlers []*server.Handler
	for _, a := range []*agent.Agent{
		asks("booking", question("booking", "Who is coming?", booking)),
		asks("survey",
			question("color", "Which colour?", `{"type": "string", "oneOf": [{"const": "red"}, {"const": "blue"}]}`),
			question("count", "How many?", `{"type": "integer", "minimum": 1}`),
			question("words", "Anything else?", ""),
		),
	} {
		h, err := server.New(a, nil)
		if err != nil {
			return err
		}
		handlers = append(handlers, h)
		if err := host.Handle("/"+a.Name(), h); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: host, ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(os.Stderr, "listening on http://%s\n", listener.Addr())
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	context.AfterFunc(ctx, func() {
		for _, h := range handlers {
			_ = h.Close(context.WithoutCancel(ctx)) // the process ends anyhow
		}
		_ = s.Close()
	})
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
