package thread_test

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
)

// asksToo is an agent that asks a question of its own in its first run, beside
// what it does otherwise.
func asksToo(next agent.RunFunc, id string, expires time.Time) agent.RunFunc {
	asked := false
	return func(ctx context.Context, ms []*message.Message, opts ...agent.Option) updates {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			for u, err := range next(ctx, ms, opts...) {
				if !yield(u, err) {
					return
				}
			}
			if asked {
				return
			}
			asked = true
			yield(&agent.ResponseUpdate{Contents: message.Contents{&message.InterruptRequestContent{
				ID: id, Message: "How many?", Expires: expires,
				ResponseSchema: jsondoc.MustParse(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`),
			}}}, nil)
		}
	}
}
