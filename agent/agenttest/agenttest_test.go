package agenttest_test

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
)

func collect(m *agenttest.Model, text string) (string, error) {
	r, err := m.Agent(agent.Config{}).RunText(context.Background(), text).Collect()
	return r.String(), err
}

func TestScriptEnds(t *testing.T) {
	m := agenttest.New(agenttest.Turn(agenttest.Text("a")))
	if s, err := collect(m, "x"); s != "a" || err != nil {
		t.Error(s, err)
	}
	if _, err := collect(m, "x"); err == nil || !strings.Contains(err.Error(), "2. time") {
		t.Errorf("got %v", err)
	}
	m = agenttest.New(agenttest.Turn(agenttest.Text("a")), agenttest.Turn(agenttest.Text("b")))
	m.Repeat = true
	got := ""
	for range 5 {
		s, err := collect(m, "x")
		if err != nil {
			t.Fatal(err)
		}
		got += s
	}
	if got != "ababa" || len(m.Prompts()) != 5 {
		t.Errorf("got %q", got)
	}
}

func TestTurnFrom(t *testing.T) {
	m := agenttest.New(agenttest.TurnFrom(func(p agenttest.Prompt) []agenttest.Step {
		return []agenttest.Step{agenttest.Text("you said " + p.Messages[0].String())}
	}))
	if s, err := collect(m, "x"); s != "you said x" || err != nil {
		t.Error(s, err)
	}
}

func TestSteps(t *testing.T) {
	stop := errors.New("stop")
	m := agenttest.New(
		agenttest.Turn(agenttest.Text("a"), agenttest.Do(func(context.Context) error { return nil }), agenttest.Text("b"), agenttest.Do(func(context.Context) error { return stop }), agenttest.Text("c")),
	)
	if s, err := collect(m, "x"); s != "ab" || !errors.Is(err, stop) {
		t.Error(s, err)
	}
}

// Delays pass on the bubble's clock: before every piece, and where the script waits.
func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := agenttest.New(agenttest.Turn(agenttest.Text("abcd"), agenttest.Wait(time.Minute), agenttest.Text("e")))
		m.Chunk, m.Delay = 2, time.Second
		start := time.Now()
		if s, err := collect(m, "x"); s != "abcde" || err != nil {
			t.Error(s, err)
		}
		if took := time.Since(start); took != time.Minute+3*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestPieces(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 3, ""},
		{"abc", 0, "abc"},
		{"abcdefg", 3, "abc|def|g"},
		{"é🥕x", 1, "é|🥕|x"},
		{"aé🥕", 2, "aé|🥕"},
	} {
		if got := strings.Join(agenttest.Pieces(tt.s, tt.n), "|"); got != tt.want {
			t.Errorf("%q by %d: %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}

func TestCheckConversation(t *testing.T) {
	call := func(ids ...string) *message.Message {
		m := message.NewAssistant()
		for _, id := range ids {
			m.Contents = append(m.Contents, &message.FunctionCallContent{CallID: id, Name: "f"})
		}
		return m
	}
	res := func(id string) *message.Message { return message.NewResult(id, "r") }
	user := message.NewText("x")
	hosted := message.NewAssistant(&message.FunctionCallContent{CallID: "h", Name: "f", InformationalOnly: true})
	good := [][]*message.Message{
		{user},
		{user, call("a", "b"), res("b"), res("a"), user},
		{call("a"), res("a"), call("a"), res("a")},
		{user, hosted},
	}
	for i, ms := range good {
		if err := agenttest.CheckConversation(ms); err != nil {
			t.Errorf("good %d: %v", i, err)
		}
	}
	onUser := message.New(&message.FunctionCallContent{CallID: "a", Name: "f"})
	wrongRole := message.New(&message.FunctionResultContent{CallID: "a"})
	bad := map[string][]*message.Message{
		"no result":                   {call("a")},
		"a message in between":        {call("a"), user, res("a")},
		"a result of nothing":         {res("a")},
		"two results":                 {call("a"), res("a"), res("a")},
		"an id twice":                 {call("a", "a"), res("a"), res("a")},
		"no id":                       {call(""), res("")},
		"nil":                         {nil},
		"empty":                       {message.New()},
		"a user's call":               {onUser, res("a")},
		"a result in another's mouth": {call("a"), wrongRole},
	}
	for name, ms := range bad {
		if err := agenttest.CheckConversation(ms); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	// A model without a loop in front shows that it minds, unless it is lenient.
	m := agenttest.New(agenttest.Turn(agenttest.Text("a")))
	ask := func() error {
		_, err := m.Agent(agent.Config{DisableFuncAutoCall: true}).Run(t.Context(), []*message.Message{call("a")}).Collect()
		return err
	}
	if ask() == nil {
		t.Error("the model does not mind")
	}
	if m.Lenient = true; ask() != nil {
		t.Error("the lenient model minds")
	}
}

func TestSequence(t *testing.T) {
	next := agenttest.Sequence("id")
	if got := fmt.Sprint(next(), next()); got != "id1id2" {
		t.Error(got)
	}
}

// How to test an agent of one's own: script the model, look at what it was told.
func Example() {
	model := agenttest.New(
		agenttest.Turn(agenttest.Reasoning("The user wants a rhyme.", ""), agenttest.Text("Roses are red.")),
	)
	model.Chunk = 3 // as hostile as real streams are
	a := model.Agent(agent.Config{Instructions: "You rhyme."})
	response, err := a.RunText(context.Background(), "Rhyme!").Collect()
	fmt.Println(response, err)
	fmt.Print(model.Prompts()[0].Text())
	fmt.Println(agent.Instructions(model.Prompts()[0].Options))
	// Output:
	// Roses are red. <nil>
	// user: Rhyme!
	// You rhyme.
}
