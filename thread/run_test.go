package thread_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQuick(t *testing.T) {
	write := functool.MustNew(functool.Config{Name: "write"}, func(ctx context.Context, in struct {
		Document string `json:"document"`
	}) (string, error) {
		return "Written.", nil
	})
	turn := 0
	model := func(ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			turn++
			for _, m := range messages {
				b, _ := json.Marshal(m)
				t.Log(turn, string(b))
			}
			if turn == 1 {
				for _, f := range []string{`{"docu`, `ment":"Hello`, ` world"}`} {
					if !yield(&agent.ResponseUpdate{Contents: message.Contents{&message.FunctionCallDelta{CallID: "c1", Name: "write", Arguments: f}}}, nil) {
						return
					}
				}
				yield(&agent.ResponseUpdate{FinishReason: "tool_calls"}, nil)
				return
			}
			yield(&agent.ResponseUpdate{Contents: message.Contents{&message.TextContent{Text: "Done."}}}, nil)
		}
	}
	a := agent.New(agent.ProviderConfig{Run: model}, agent.Config{Tools: []tool.Tool{write}})
	ts := thread.New(memory.New(), nil)
	defer ts.Close(context.Background())
	th, err := ts.Open(t.Context(), thread.Key{ID: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	m, err := state.NewModel(state.Config{Predict: map[string]state.Prediction{"document": {Tool: "write", Argument: "document"}}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := th.Run(t.Context(), thread.Request{
		Input: &agui.RunAgentInput{ThreadID: "t", RunID: "r", Messages: []agui.Message{{ID: "u1", Role: agui.RoleUser, Content: agui.Text("hi")}}},
		Agent: func(ctx context.Context, ms []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
			return iter.Seq2[*agent.ResponseUpdate, error](a.Run(ctx, ms, opts...))
		},
		Model: m,
	})
	if err != nil {
		t.Fatal(err)
	}
	for p, err := range run.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		t.Log(string(p.Frame(agui.V1)))
	}
	run.Wait()
}
