package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

// The order that the package comment promises.
func TestMiddlewareOrder(t *testing.T) {
	var log []string
	mw := func(name string) agent.Middleware {
		return agent.MiddlewareFunc(func(next agent.RunFunc, ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
			log = append(log, fmt.Sprint(name, len(messages)))
			return next(ctx, messages, opts...)
		})
	}
	model := agenttest.New(agenttest.Turn(agenttest.Call("c1", "weather", city("A"))), agenttest.Turn(agenttest.Text("ok")))
	a := agent.New(agent.ProviderConfig{Run: model.Run, Middlewares: []agent.Middleware{mw("provider1 "), nil, mw("provider2 ")}}, agent.Config{
		Tools:       []tool.Tool{weather(nil)},
		Middlewares: []agent.Middleware{mw("config1 "), mw("config2 "), nil},
		History:     mw("history "),
	})
	s := new(agent.Session)
	s.Append(message.NewText("before"), message.NewAssistant(&message.TextContent{Text: "yes?"}))
	_, err := a.RunText(t.Context(), "hi", agent.WithSession(s), agent.WithBeforeModel(func(_ context.Context, ms []*message.Message) ([]*message.Message, error) {
		log = append(log, fmt.Sprint("hook ", len(ms)))
		return ms, nil
	})).Collect()
	if err != nil {
		t.Fatal(err)
	}
	want := "config1 1, config2 1, hook 3, history 3, provider1 3, provider2 3, hook 5, history 5, provider1 5, provider2 5"
	check(t, strings.Join(log, ", "), want)
}

// The seed's middleware, word for word: a state snapshot beside the text.
func TestSeedMiddleware(t *testing.T) {
	stateSnapshotMiddleware := agent.MiddlewareFunc(func(next agent.RunFunc, ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			for update, err := range next(ctx, messages, opts...) {
				if err != nil {
					yield(nil, err)
					return
				}
				if update != nil && update.FinishReason != "" {
					if !yield(&agent.ResponseUpdate{Contents: message.Contents{
						&message.DataContent{MediaType: "application/json", Data: []byte(`{"done":true}`)},
					}}, nil) {
						return
					}
				}
				if !yield(update, nil) {
					return
				}
			}
		}
	})
	a := agenttest.New(agenttest.Turn(agenttest.Text("hi"))).Agent(agent.Config{
		Middlewares: []agent.Middleware{stateSnapshotMiddleware},
	})
	response, err := a.RunText(t.Context(), "hi").Collect()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for c := range response.Contents() {
		d, ok := c.(*message.DataContent)
		found = found || ok && string(d.Data) == `{"done":true}`
	}
	if !found {
		t.Error("the snapshot did not arrive")
	}
}

func TestSession(t *testing.T) {
	model := agenttest.New(
		agenttest.Turn(agenttest.Call("c1", "weather", city("A"))),
		agenttest.Turn(agenttest.Text("Rain.")),
		agenttest.Turn(agenttest.Text("half"), agenttest.Fail(errors.New("lost"))),
		agenttest.Turn(agenttest.Text("Yes.")),
	)
	model.Chunk = 2
	a := model.Agent(agent.Config{Tools: []tool.Tool{weather(nil)}})
	s, err := a.CreateSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run := func(text string) error {
		_, err := a.RunText(t.Context(), text, agent.WithSession(s)).Collect()
		return err
	}
	if err := run("one"); err != nil {
		t.Fatal(err)
	}
	// A session survives being written down between two runs.
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	s = new(agent.Session)
	if err := json.Unmarshal(data, s); err != nil {
		t.Fatal(err)
	}
	if err := run("lost"); err == nil {
		t.Fatal("the failure is gone")
	}
	if err := run("two"); err != nil {
		t.Fatal(err)
	}
	check(t, model.Prompts()[3].Text(), "user: one\nassistant: weather({\"city\":\"A\"})\ntool: -> rain in A\nassistant: Rain.\nuser: two\n")
	if n := len(s.Messages()); n != 6 {
		t.Errorf("%d messages are kept", n)
	}
	// A reader that goes away has not heard the answer out: nothing is kept.
	model = agenttest.New(agenttest.Turn(agenttest.Text("a"), agenttest.Text("b")))
	for range model.Agent(agent.Config{}).RunText(t.Context(), "x", agent.WithSession(s)) {
		break
	}
	if n := len(s.Messages()); n != 6 {
		t.Errorf("%d messages are kept after a break", n)
	}
}

func TestSessionAtTheVendor(t *testing.T) {
	model := agenttest.New(agenttest.Turn(agenttest.Text("a")), agenttest.Turn(agenttest.Text("b")))
	a := agent.New(agent.ProviderConfig{Run: model.Run, CreateSession: func(_ context.Context, s *agent.Session, _ ...agent.Option) error {
		s.SetServiceID("thread_1")
		return nil
	}}, agent.Config{})
	s, err := a.CreateSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two"} {
		if _, err := a.RunText(t.Context(), text, agent.WithSession(s)).Collect(); err != nil {
			t.Fatal(err)
		}
	}
	check(t, model.Prompts()[1].Text(), "user: two\n")
	if len(s.Messages()) != 0 {
		t.Error("the conversation is kept twice")
	}
}

func TestSessionValues(t *testing.T) {
	s := new(agent.Session)
	if err := s.Set("n", 3); err != nil {
		t.Fatal(err)
	}
	if err := s.Set("bad", func() {}); err == nil {
		t.Error("a function was kept")
	}
	var n int
	if ok, err := s.Get("n", &n); !ok || err != nil || n != 3 {
		t.Error(ok, err, n)
	}
	var text string
	if ok, err := s.Get("n", &text); ok || err == nil {
		t.Error("a number is no text")
	}
	if ok, err := s.Get("none", &n); ok || err != nil {
		t.Error(ok, err)
	}
	if !s.Delete("n") || s.Delete("n") {
		t.Error("Delete")
	}
}

func TestOptions(t *testing.T) {
	decl := func(name, d string) tool.Tool { return tool.NewDeclaration(name, d, jsondoc.Value{}) }
	opts := []agent.Option{
		agent.WithInstructions(" a "), nil,
		agent.WithTools(decl("x", "1"), nil, weather(nil)),
		agent.Options(agent.WithInstructions("b"), agent.Options(agent.WithTool(decl("x", "2")), agent.WithMaxOutputTokens(7))),
		agent.WithTool(decl("weather", "a client's")),
		agent.WithMaxOutputTokens(8), agent.WithStopSequences("x", "y"), agent.WithTemperature(0.5),
	}
	if n, ok := agent.GetOption(opts, agent.WithMaxOutputTokens); !ok || n != 8 {
		t.Errorf("the last of two does not count: %d", n)
	}
	if _, ok := agent.GetOption(opts, agent.WithTopP); ok {
		t.Error("an option that is not there was found")
	}
	if v, ok := agent.GetOption(opts, agent.WithTemperature); !ok || v != 0.5 {
		t.Error("options of one Go type are mixed up")
	}
	if got := slices.Collect(agent.AllOptions(opts, agent.WithInstructions)); !cmp.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
	if got := agent.Instructions(opts); got != "a\n\nb" {
		t.Errorf("got %q", got)
	}
	if got := agent.StopSequences(opts); !cmp.Equal(got, []string{"x", "y"}) {
		t.Errorf("got %q", got)
	}
	tools := agent.Tools(opts)
	if len(tools) != 2 || tools[0].Description() != "2" {
		t.Fatalf("got %v", tools)
	}
	if _, ok := tools[1].(tool.FuncTool); !ok {
		t.Error("a client took over a server's tool")
	}
	if s, ok := agent.GetOption([]agent.Option{agent.WithSession(nil)}, agent.WithSession); !ok || s != nil {
		t.Error("an option with nil is lost")
	}
}

// Every option comes back through the function that made it, and through no other.
func TestEveryOption(t *testing.T) {
	type probe struct {
		name string
		opt  agent.Option
		get  func([]agent.Option) (any, bool)
		want any
	}
	probes := []probe{
		{"stream", agent.Stream(true), func(o []agent.Option) (any, bool) { return get(o, agent.Stream) }, true},
		{"parallel", agent.WithParallelToolCalls(true), func(o []agent.Option) (any, bool) { return get(o, agent.WithParallelToolCalls) }, true},
		{"model", agent.WithModel("m"), func(o []agent.Option) (any, bool) { return get(o, agent.WithModel) }, "m"},
		{"effort", agent.WithReasoningEffort("low"), func(o []agent.Option) (any, bool) { return get(o, agent.WithReasoningEffort) }, "low"},
		{"instructions", agent.WithInstructions("i"), func(o []agent.Option) (any, bool) { return get(o, agent.WithInstructions) }, "i"},
		{"tokens", agent.WithMaxOutputTokens(1), func(o []agent.Option) (any, bool) { return get(o, agent.WithMaxOutputTokens) }, 1},
		{"iterations", agent.WithMaxIterations(1), func(o []agent.Option) (any, bool) { return get(o, agent.WithMaxIterations) }, 1},
		{"seed", agent.WithSeed(1), func(o []agent.Option) (any, bool) { return get(o, agent.WithSeed) }, int64(1)},
		{"timeout", agent.WithToolTimeout(1), func(o []agent.Option) (any, bool) { return get(o, agent.WithToolTimeout) }, time.Duration(1)},
		{"temperature", agent.WithTemperature(1), func(o []agent.Option) (any, bool) { return get(o, agent.WithTemperature) }, 1.0},
		{"topP", agent.WithTopP(1), func(o []agent.Option) (any, bool) { return get(o, agent.WithTopP) }, 1.0},
		{"mode", agent.WithToolMode("none"), func(o []agent.Option) (any, bool) { return get(o, agent.WithToolMode) }, tool.ToolModeNone},
	}
	for i, p := range probes {
		for k, q := range probes {
			v, ok := q.get([]agent.Option{p.opt})
			if ok != (i == k) || ok && v != p.want {
				t.Errorf("%s read as %s: %v %v", p.name, q.name, v, ok)
			}
		}
	}
}

func get[T any](opts []agent.Option, setter func(T) agent.Option) (any, bool) {
	return agent.GetOption(opts, setter)
}

func TestNoProvider(t *testing.T) {
	_, err := agent.New(agent.ProviderConfig{}, agent.Config{}).RunText(t.Context(), "hi").Collect()
	if err == nil || !strings.Contains(err.Error(), "ProviderConfig.Run") {
		t.Errorf("got %v", err)
	}
}

func TestDisableFuncAutoCall(t *testing.T) {
	model := agenttest.New(agenttest.Turn(agenttest.Text("hm"), agenttest.Call("c1", "weather", city("A"))))
	model.Chunk = 1
	response, err := model.Agent(agent.Config{Tools: []tool.Tool{weather(nil)}, DisableFuncAutoCall: true}).RunText(t.Context(), "hi").Collect()
	if err != nil {
		t.Fatal(err)
	}
	calls := response.Pending()
	if len(calls) != 1 || calls[0].Arguments != city("A") || response.String() != "hm" {
		t.Errorf("got %+v", response)
	}
	if a := agent.New(agent.ProviderConfig{ProviderName: "p"}, agent.Config{Name: "n", Description: "d", Tools: []tool.Tool{weather(nil)}}); a.Name() != "n" || a.Description() != "d" || a.ProviderName() != "p" || a.ID() == "" || len(a.Tools()) != 1 {
		t.Errorf("got %+v", a)
	}
}

// Collect keeps what came before an error: the caller decides what it is worth.
func TestCollectError(t *testing.T) {
	lost := errors.New("lost")
	model := agenttest.New(agenttest.Turn(agenttest.Text("ab"), agenttest.Fail(lost)))
	model.Chunk = 1
	response, err := model.Agent(agent.Config{}).RunText(t.Context(), "hi").Collect()
	if !errors.Is(err, lost) || response.String() != "ab" || len(response.Messages[0].Contents) != 1 {
		t.Errorf("%v %+v", err, response)
	}
}

func TestHistoryBound(t *testing.T) {
	user := func(s string) *message.Message { return message.NewText(s) }
	say := func(s string) *message.Message { return message.NewAssistant(&message.TextContent{Text: s}) }
	sys := message.NewSystem
	call := func(id string) *message.Message {
		return message.NewAssistant(&message.FunctionCallContent{CallID: id, Name: "f", Arguments: "{}"})
	}
	res := func(id string) *message.Message { return message.NewResult(id, "r"+id) }
	history := []*message.Message{
		sys("s1"), say("hello"), user("u1"), call("a"), res("a"), say("a1"), user("u2"), sys("s2"), user("u2b"), say("a2"),
		user("u3"), call("b"), res("b"), call("c"), res("c"), sys("state"),
	}
	one := func(*message.Message) int { return 1 }
	tests := []struct {
		bound agent.HistoryBound
		want  string
	}{
		{agent.HistoryBound{Estimate: one}, "s1 hello u1 f ra a1 u2 s2 u2b a2 u3 f rb f rc state"},
		{agent.HistoryBound{MaxTokens: -1}, "s1 hello u1 f ra a1 u2 s2 u2b a2 u3 f rb f rc state"},
		{agent.HistoryBound{MaxMessages: 16}, "s1 hello u1 f ra a1 u2 s2 u2b a2 u3 f rb f rc state"},
		{agent.HistoryBound{MaxMessages: 15}, "s1 u1 f ra a1 u2 s2 u2b a2 u3 f rb f rc state"},
		{agent.HistoryBound{MaxTokens: 14, Estimate: one}, "s1 u2 s2 u2b a2 u3 f rb f rc state"},
		{agent.HistoryBound{MaxMessages: 10}, "s1 s2 u3 f rb f rc state"},
		{agent.HistoryBound{MaxMessages: 7}, "s1 s2 u3 f rc state"},
		{agent.HistoryBound{MaxMessages: 1}, "s1 s2 u3 f rc state"},
		{agent.HistoryBound{MaxTokens: 1}, "s1 s2 u3 f rc state"},
	}
	for _, tt := range tests {
		var got []string
		run := agent.Chain(func(_ context.Context, ms []*message.Message, _ ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
			for _, m := range ms {
				s := m.String()
				for _, c := range m.Contents {
					switch c := c.(type) {
					case *message.FunctionCallContent:
						s = c.Name
					case *message.FunctionResultContent:
						s = c.Text()
					}
				}
				got = append(got, s)
			}
			return nil
		}, agent.NewHistoryBound(&tt.bound))
		run(t.Context(), history)
		check(t, strings.Join(got, " "), tt.want)
	}
}

// Any conversation that vendors accept is still one after it was cut, it fits if it
// can, and the newest question is there.
func TestHistoryBoundKeepsCallsAndResults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var history []*message.Message
		id := 0
		for range rapid.IntRange(1, 20).Draw(t, "parts") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				history = append(history, message.NewSystem("sys"))
			case 1:
				history = append(history, message.NewText("question"))
			case 2:
				history = append(history, message.NewAssistant(&message.TextContent{Text: "answer"}))
			default:
				m := message.NewAssistant()
				var results []*message.Message
				for range rapid.IntRange(1, 3).Draw(t, "calls") {
					id++
					m.Contents = append(m.Contents, &message.FunctionCallContent{CallID: fmt.Sprint(id), Name: "f", Arguments: "{}"})
					results = append(results, message.NewResult(fmt.Sprint(id), "r"))
				}
				history = append(append(history, m), results...)
			}
		}
		limit := rapid.IntRange(1, 30).Draw(t, "limit")
		var got []*message.Message
		agent.Chain(func(_ context.Context, ms []*message.Message, _ ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
			got = ms
			return nil
		}, agent.NewHistoryBound(&agent.HistoryBound{MaxMessages: limit}))(t.Context(), history)
		if err := agenttest.CheckConversation(got); err != nil {
			t.Fatal(err)
		}
		lastUser := func(ms []*message.Message) *message.Message {
			for _, m := range slices.Backward(ms) {
				if m.Role == message.RoleUser {
					return m
				}
			}
			return nil
		}
		if lastUser(got) != lastUser(history) {
			t.Fatal("the newest question is gone")
		}
		if len(history) <= limit && len(got) != len(history) {
			t.Fatal("something that fits was left out")
		}
	})
}

func TestEstimateTokens(t *testing.T) {
	for _, tt := range []struct {
		m    *message.Message
		want int
	}{
		{nil, 0},
		{message.NewText(""), 4},
		{message.NewText("abc"), 5},
		{message.NewText("粥粥"), 6},
		{message.New(&message.DataContent{Data: make([]byte, 1<<20)}), 1004},
		{message.NewResult("c", map[string]int{"a": 1}), 7},
		{message.NewAssistant(&message.FunctionCallContent{Name: "f", Arguments: "{}"}), 5},
	} {
		if got := agent.EstimateTokens(tt.m); got != tt.want {
			t.Errorf("%v: got %d, want %d", tt.m, got, tt.want)
		}
	}
}
