package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// sleeper is a tool that takes its time; it heeds its context.
func sleeper(name string) tool.FuncTool {
	return functool.MustNew(functool.Config{Name: name}, func(ctx context.Context, in struct {
		Seconds int `json:"seconds"`
	}) (string, error) {
		select {
		case <-time.After(time.Duration(in.Seconds) * time.Second):
			return fmt.Sprint("slept ", in.Seconds), nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
}

// Calls of one turn run at the same time, and each result comes as its tool ends.
func TestParallel(t *testing.T) {
	turns := []agenttest.Script{
		agenttest.Turn(agenttest.Call("c1", "sleep", `{"seconds":3}`), agenttest.Call("c2", "sleep", `{"seconds":1}`), agenttest.Call("c3", "sleep", `{"seconds":2}`)),
		agenttest.Turn(agenttest.Text("ok")),
	}
	for _, tt := range []struct {
		parallel int
		took     time.Duration
		order    string
	}{
		{0, 3 * time.Second, "c2 c3 c1"},
		{2, 3 * time.Second, "c2 c1 c3"}, // c3 starts when c2 ends, and ends with c1
		{1, 6 * time.Second, "c1 c2 c3"},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := agenttest.New(turns...).Agent(agent.Config{Tools: []tool.Tool{sleeper("sleep")}, ToolLoop: &agent.ToolLoopConfig{MaxParallel: tt.parallel}})
			start := time.Now()
			var order []string
			at := map[string]time.Duration{}
			for u, err := range a.RunText(t.Context(), "hi") {
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range u.Contents {
					if r, ok := c.(*message.FunctionResultContent); ok {
						order = append(order, r.CallID)
						at[r.CallID] = time.Since(start)
					}
				}
			}
			if took := time.Since(start); took != tt.took {
				t.Errorf("%d at a time: took %v, want %v", tt.parallel, took, tt.took)
			}
			if tt.parallel == 2 {
				if at["c2"] != time.Second || at["c1"] != 3*time.Second || at["c3"] != 3*time.Second {
					t.Errorf("results came at %v", at)
				}
				return // c1 and c3 end in the same instant: either order is right
			}
			if got := strings.Join(order, " "); got != tt.order {
				t.Errorf("%d at a time: order %s, want %s", tt.parallel, got, tt.order)
			}
		})
	}
}

// A tool that takes too long gets an answer in time, whether it listens or not.
func TestToolTimeout(t *testing.T) {
	for _, heeds := range []bool{true, false} {
		t.Run(fmt.Sprint("heeds=", heeds), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stuck := functool.MustNew(functool.Config{Name: "stuck"}, func(ctx context.Context, _ struct{}) (string, error) {
					if heeds {
						<-ctx.Done()
						return "", ctx.Err()
					}
					time.Sleep(time.Hour)
					return "late", nil
				})
				model := agenttest.New(
					agenttest.Turn(agenttest.Call("c1", "stuck", "{}"), agenttest.Call("c2", "sleep", `{"seconds":1}`)),
					agenttest.Turn(agenttest.Text("ok")),
				)
				a := model.Agent(agent.Config{Tools: []tool.Tool{stuck, sleeper("sleep")}})
				start := time.Now()
				got := trace(a.RunText(t.Context(), "hi", agent.WithToolTimeout(10*time.Second)))
				check(t, got, `delta:c1:{} delta:c2:{"seconds":1} call:c1:stuck{} call:c2:sleep{"seconds":1} result:c2:slept 1 failed:c1:timeout text:ok`)
				if took := time.Since(start); took > 10*time.Second+100*time.Millisecond {
					t.Errorf("took %v", took)
				}
				if prompt := model.Prompts()[1].Text(); !strings.Contains(prompt, "did not answer within 10s") {
					t.Errorf("the model does not know why:\n%s", prompt)
				}
				time.Sleep(2 * time.Hour) // the stuck tool ends some day
			})
		})
	}
}

// A tool that answers in the moment in which its time is over has one result, whichever
// it is; what it did counts if it was first.
func TestAnswerAtTheDeadline(t *testing.T) {
	for range 50 { // the scheduler decides who is first
		synctest.Test(t, func(t *testing.T) {
			punctual := functool.MustNew(functool.Config{Name: "punctual"}, func(context.Context, struct{}) (string, error) {
				time.Sleep(10 * time.Second)
				return "done", nil
			})
			model := agenttest.New(
				agenttest.Turn(agenttest.Call("c1", "punctual", "{}"), agenttest.Call("c2", "punctual", "{}"), agenttest.Call("c3", "sleep", `{"seconds":10}`)),
				agenttest.Turn(agenttest.Text("ok")),
			)
			a := model.Agent(agent.Config{Tools: []tool.Tool{punctual, sleeper("sleep")}})
			results := map[string]int{}
			for u, err := range a.RunText(t.Context(), "hi", agent.WithToolTimeout(10*time.Second)) {
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range u.Contents {
					if r, ok := c.(*message.FunctionResultContent); ok {
						results[r.CallID]++
						if r.Error != nil && !errors.Is(r.Error, agent.ErrToolTimeout) || r.Error == nil && !strings.HasPrefix(r.Text(), "done") && !strings.HasPrefix(r.Text(), "slept") {
							t.Errorf("%s: %v %q", r.CallID, r.Error, r.Text())
						}
					}
				}
			}
			if len(results) != 3 || results["c1"] != 1 || results["c2"] != 1 || results["c3"] != 1 {
				t.Errorf("results: %v", results)
			}
		})
	}
}

// Issue 6: cancellation stops model and tools within 100 ms.
func TestCancel(t *testing.T) {
	stubborn := functool.MustNew(functool.Config{Name: "stubborn"}, func(context.Context, struct{}) (string, error) {
		time.Sleep(time.Minute)
		return "late", nil
	})
	tests := []struct {
		name  string
		turns []agenttest.Script
		want  string
	}{
		{"in the model", []agenttest.Script{agenttest.Turn(agenttest.Text("a"), agenttest.Hang())}, "text:a error:canceled"},
		{"in the model's arguments", []agenttest.Script{agenttest.Turn(agenttest.Call("c1", "sleep", `{"sec`), agenttest.Hang())}, `delta:c1:{"sec error:canceled`},
		{"in a tool", []agenttest.Script{agenttest.Turn(agenttest.Call("c1", "sleep", `{"seconds":60}`))},
			`delta:c1:{"seconds":60} call:c1:sleep{"seconds":60} error:canceled`},
		{"in a tool that does not listen", []agenttest.Script{agenttest.Turn(agenttest.Call("c1", "stubborn", `{}`))},
			`delta:c1:{} call:c1:stubborn{} error:canceled`},
		{"between tools: what is done is reported", []agenttest.Script{agenttest.Turn(agenttest.Call("c1", "sleep", `{"seconds":4}`), agenttest.Call("c2", "sleep", `{"seconds":6}`))},
			`delta:c1:{"seconds":4} delta:c2:{"seconds":6} call:c1:sleep{"seconds":4} call:c2:sleep{"seconds":6} result:c1:slept 4 error:canceled`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(5*time.Second, cancel)
				a := agenttest.New(tt.turns...).Agent(agent.Config{Tools: []tool.Tool{sleeper("sleep"), stubborn}})
				start := time.Now()
				check(t, trace(a.RunText(ctx, "hi")), tt.want)
				if took := time.Since(start) - 5*time.Second; took < 0 || took > 100*time.Millisecond {
					t.Errorf("it stopped %v after the cancellation", took)
				}
				time.Sleep(2 * time.Minute)
			})
		})
	}
}

// A tool that has finished its work when the run is stopped is reported, not lost.
func TestCancelKeepsWhatHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		finishes := functool.MustNew(functool.Config{Name: "finishes"}, func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			time.Sleep(20 * time.Millisecond) // cleans up, and has done it
			return "paid", nil
		})
		time.AfterFunc(time.Second, cancel)
		a := agenttest.New(agenttest.Turn(agenttest.Call("c1", "finishes", "{}"))).Agent(agent.Config{Tools: []tool.Tool{finishes}})
		check(t, trace(a.RunText(ctx, "hi")), "delta:c1:{} call:c1:finishes{} result:c1:paid error:canceled")
	})
}

// Whoever breaks out of the stream stops everything; goleak watches that nothing stays.
func TestBreakStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := false
		long := functool.MustNew(functool.Config{Name: "long"}, func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			stopped = true
			return "", ctx.Err()
		})
		model := agenttest.New(agenttest.Turn(agenttest.Call("c1", "long", "{}"), agenttest.Call("c2", "sleep", `{"seconds":1}`)))
		a := model.Agent(agent.Config{Tools: []tool.Tool{long, sleeper("sleep")}})
		for u, err := range a.RunText(t.Context(), "hi") {
			if err != nil {
				t.Fatal(err)
			}
			if u.Role == message.RoleTool {
				break
			}
		}
		synctest.Wait()
		if !stopped {
			t.Error("the tool still runs")
		}
	})
}

// Wherever a reader goes away or a run is cancelled, everything stops, each call has at
// most one result, and no tool runs twice. goleak and the bubble watch the goroutines.
func TestStopAnywhere(t *testing.T) {
	script := func() *agenttest.Model {
		m := agenttest.New(
			agenttest.Turn(agenttest.Text("abc"), agenttest.Calls(
				agenttest.CallSpec{ID: "c1", Name: "sleep", Arguments: `{"seconds":2}`},
				agenttest.CallSpec{ID: "c2", Name: "sleep", Arguments: `{"seconds":1}`},
				agenttest.CallSpec{ID: "c3", Name: "nope", Arguments: `{}`})),
			agenttest.Turn(agenttest.Call("c4", "sleep", `{"seconds":1}`)),
			agenttest.Turn(agenttest.Text("done")),
		)
		m.Chunk, m.Delay = 4, 100*time.Millisecond
		return m
	}
	for _, how := range []string{"break", "cancel"} {
		total := 0
		for stop := 0; stop == 0 || stop <= total; stop++ {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				a := script().Agent(agent.Config{Tools: []tool.Tool{sleeper("sleep")}})
				results := map[string]int{}
				n := 0
				for u, err := range a.RunText(ctx, "hi") {
					if err != nil {
						if how == "break" || stop == 0 || !errors.Is(err, context.Canceled) {
							t.Errorf("%s after %d: %v", how, stop, err)
						}
						break
					}
					for _, c := range u.Contents {
						if r, ok := c.(*message.FunctionResultContent); ok {
							results[r.CallID]++
						}
					}
					if n++; n == stop {
						if how == "break" {
							break
						}
						cancel()
					}
				}
				if stop == 0 {
					total = n
				}
				for id, n := range results {
					if n != 1 {
						t.Errorf("%s after %d: call %s has %d results", how, stop, id, n)
					}
				}
				synctest.Wait()
			})
		}
		if total < 10 {
			t.Fatalf("only %d places were tried", total)
		}
	}
}
