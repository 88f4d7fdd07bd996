package state_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// play serves an agent whose model says the turns, runs it once, prints its state
// events and, in the end, the state.
func play(cfg state.Config, tools []tool.Tool, turns ...agenttest.Script) {
	model := agenttest.New(turns...)
	h, err := server.New(model.Agent(agent.Config{Tools: tools}), &server.Options{State: cfg, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer http.DefaultClient.CloseIdleConnections()
	defer srv.Close()
	defer h.Close(context.Background())
	thread := client.New(srv.URL, nil).Thread("")
	for event, err := range thread.Run(context.Background(), &client.RunOptions{Text: "Please."}) {
		if err != nil {
			log.Fatal(err)
		}
		switch e := event.(type) {
		case *agui.StateDelta:
			fmt.Println("delta", e.Delta)
		case *agui.Custom:
			fmt.Println(e.Name, e.Value)
		}
	}
	fmt.Println("state", thread.State())
}

// quick is a tool that answers a text.
func quick[In any](name, answer string) tool.Tool {
	return functool.MustNew(functool.Config{Name: name}, func(context.Context, In) (string, error) { return answer, nil })
}

// The arguments are the state: it grows while the model writes them.
func ExamplePrediction() {
	type document struct {
		Text string `json:"text"`
	}
	play(state.Config{
		Schema:  state.SchemaFor[document](),
		Predict: map[string]state.Prediction{"text": {Tool: "write", Argument: "text"}},
	},
		[]tool.Tool{quick[document]("write", "Written.")},
		agenttest.Turn(agenttest.Call("c1", "write", `{"text":"A poem"}`)),
		agenttest.Turn(agenttest.Text("There.")),
	)
	// Output:
	// PredictState [{"state_key":"text","tool":"write","tool_argument":"text"}]
	// delta [{"op":"replace","path":"/text","value":"A poem"}]
	// state {"text":"A poem"}
}

// A tool computes the state. What it changes is shown at once and stays if the
// tool succeeds.
func ExampleFrom() {
	type counter struct {
		N int `json:"n"`
	}
	add := functool.MustNew(functool.Config{Name: "add"}, func(ctx context.Context, in struct {
		By int `json:"by"`
	}) (string, error) {
		err := state.From(ctx).Update(func(c *counter) { c.N += in.By })
		return "Added.", err
	})
	play(state.Config{Schema: state.SchemaFor[counter](), Initial: jsondoc.MustFrom(counter{N: 1})},
		[]tool.Tool{add},
		agenttest.Turn(agenttest.Call("c1", "add", `{"by":5}`)),
		agenttest.Turn(agenttest.Text("There.")),
	)
	// Output:
	// delta [{"op":"replace","path":"/n","value":6}]
	// state {"n":6}
}

// Steps that stay, whatever becomes of the tool.
func ExampleProgress() {
	type job struct {
		Done []string `json:"done"`
	}
	work := functool.MustNew(functool.Config{Name: "work"}, func(ctx context.Context, _ struct{}) (string, error) {
		for _, step := range []string{"fetched", "parsed"} {
			if err := state.Progress(ctx, func(j *job) { j.Done = append(j.Done, step) }); err != nil {
				return "", err
			}
		}
		return "", tool.Errorf("the last step failed")
	})
	play(state.Config{Schema: state.SchemaFor[job]()},
		[]tool.Tool{work},
		agenttest.Turn(agenttest.Call("c1", "work", `{}`)),
		agenttest.Turn(agenttest.Text("It failed.")),
	)
	// Output:
	// delta [{"op":"add","path":"/done/0","value":"fetched"}]
	// delta [{"op":"add","path":"/done/1","value":"parsed"}]
	// state {"done":["fetched","parsed"]}
}

// A tool's answer that has state with it.
func ExampleResult() {
	weather := functool.MustNew(functool.Config{Name: "weather"}, func(context.Context, struct{}) (state.Result, error) {
		return state.Result{Text: "Sunny.", State: map[string]any{"weather": map[string]any{"sky": "clear", "celsius": 21}}}, nil
	})
	play(state.Config{},
		[]tool.Tool{weather},
		agenttest.Turn(agenttest.Call("c1", "weather", `{}`)),
		agenttest.Turn(agenttest.Text("There.")),
	)
	// Output:
	// state {"weather":{"celsius":21,"sky":"clear"}}
}

// A tool that knows nothing of state returns a patch of it.
func ExampleMapResultAsStateDelta() {
	play(state.Config{
		Initial: jsondoc.MustParse(`{"steps":[{"text":"pack","done":false}]}`),
		Rules:   []state.Rule{state.MapResultAsStateDelta("tick")},
	},
		[]tool.Tool{quick[struct{}]("tick", `[{"op":"replace","path":"/steps/0/done","value":true}]`)},
		agenttest.Turn(agenttest.Call("c1", "tick", `{}`)),
		agenttest.Turn(agenttest.Text("There.")),
	)
	// Output:
	// delta [{"op":"replace","path":"/steps/0/done","value":true}]
	// state {"steps":[{"text":"pack","done":true}]}
}

// Members of a result are set, the others stay.
func ExampleMapResultAsStateMerge() {
	play(state.Config{
		Initial: jsondoc.MustParse(`{"user":"Ann","city":""}`),
		Rules:   []state.Rule{state.MapResultAsStateMerge("locate")},
	},
		[]tool.Tool{quick[struct{}]("locate", `{"city":"Oslo"}`)},
		agenttest.Turn(agenttest.Call("c1", "locate", `{}`)),
		agenttest.Turn(agenttest.Text("There.")),
	)
	// Output:
	// state {"user":"Ann","city":"Oslo"}
}

// Whatever else a result should say to front ends.
func ExampleMapResult() {
	play(state.Config{
		Rules: []state.Rule{state.MapResult("search", func(_ *state.Mapping, r state.ToolResult) ([]agui.Event, error) {
			return []agui.Event{
				&agui.StateSnapshot{Snapshot: jsondoc.Object(jsondoc.Member{Name: "hits", Value: r.Value})},
				&agui.Custom{Name: "example.searched", Value: jsondoc.String(r.Name)},
			}, nil
		})},
	},
		[]tool.Tool{quick[struct{}]("search", `["a","b"]`)},
		agenttest.Turn(agenttest.Call("c1", "search", `{}`)),
		agenttest.Turn(agenttest.Text("There.")),
	)
	// Output:
	// example.searched "search"
	// state {"hits":["a","b"]}
}

// State of a complete call, before its tool has run.
func ExampleMapCall() {
	play(state.Config{
		Initial: jsondoc.MustParse(`{"booking":null}`),
		Rules: []state.Rule{state.MapCall("book", func(_ *state.Mapping, c state.ToolCall) ([]agui.Event, error) {
			return []agui.Event{&agui.StateDelta{Delta: jsondoc.Patch{{Op: "replace", Path: "/booking", Value: c.Arguments}}}}, nil
		})},
	},
		[]tool.Tool{quick[struct {
			Seats int `json:"seats"`
		}]("book", "Booked.")},
		agenttest.Turn(agenttest.Call("c1", "book", `{"seats":4}`)),
		agenttest.Turn(agenttest.Text("There.")),
	)
	// Output:
	// delta [{"op":"replace","path":"/booking","value":{"seats":4}}]
	// state {"booking":{"seats":4}}
}

// A model that writes the state as its answer instead of calling a tool; asked
// again, it says what it did.
func ExampleTwoPhase() {
	type note struct {
		Title string `json:"title"`
	}
	model := agenttest.New(
		agenttest.Turn(agenttest.Text(`{"title":"Soup"}`)),
		agenttest.Turn(agenttest.Text("I have given it a title.")),
	)
	a := model.Agent(agent.Config{Middlewares: []agent.Middleware{state.TwoPhase[note](nil)}})
	h, err := server.New(a, &server.Options{State: state.Config{Schema: state.SchemaFor[note]()}})
	if err != nil {
		log.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer http.DefaultClient.CloseIdleConnections()
	defer srv.Close()
	defer h.Close(context.Background())
	thread := client.New(srv.URL, nil).Thread("")
	for event, err := range thread.Run(context.Background(), &client.RunOptions{Text: "A title, please."}) {
		if err != nil {
			log.Fatal(err)
		}
		if text, ok := event.(*agui.TextMessageContent); ok {
			fmt.Print(text.Delta)
		}
	}
	fmt.Println()
	fmt.Println(thread.State())
	// Output:
	// I have given it a title.
	// {"title":"Soup"}
}

// level may only have two values.
type level string

func (level) Enum() []string { return []string{"Beginner", "Advanced"} }

// A Go type is a schema that lets other members through.
func ExampleSchemaFor() {
	type recipe struct {
		Title string `json:"title" jsonschema:"what it is called"`
		Level level  `json:"level"`
	}
	m, err := state.NewModel(state.Config{Schema: state.SchemaFor[recipe]()})
	if err != nil {
		log.Fatal(err)
	}
	before := m.First(jsondoc.Null)
	fmt.Println(before)
	fmt.Println(m.Check(before, jsondoc.MustParse(`{"title":"Soup","level":"Advanced","stars":5}`)))
	fmt.Println(m.Check(before, jsondoc.MustParse(`{"title":"Soup","level":"Expert"}`)))
	// Output:
	// {"title":""}
	// <nil>
	// /level: value must be one of 'Beginner', 'Advanced'
}

// JSON Schema as it is, or in the short form: a member of the state is its schema.
func ExampleParseSchema() {
	s, err := state.ParseSchema([]byte(`{"count": {"type": "integer", "minimum": 0}}`))
	if err != nil {
		log.Fatal(err)
	}
	m, err := state.NewModel(state.Config{Schema: s})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Check(jsondoc.Object(), jsondoc.MustParse(`{"count":-1}`)))
	_, err = state.ParseSchema([]byte(`{"type": "object", "properties": {"count": {"type": "number?"}}}`))
	fmt.Println(err != nil)
	// Output:
	// /count: minimum: got -1, want 0
	// true
}

// What clients may not see is not in the view, and what they may not write stays.
func ExampleAccess() {
	m, err := state.NewModel(state.Config{Access: state.Access{
		"/total":     state.ReadOnly,
		"/*/_secret": state.ServerOnly,
	}})
	if err != nil {
		log.Fatal(err)
	}
	held := jsondoc.MustParse(`{"total":9,"cart":{"items":[],"_secret":"margin 40 %"}}`)
	shown := m.Visible(held)
	fmt.Println(shown)

	now := state.Doc{State: held, View: shown}
	edited, err := m.Edit(now, now, jsondoc.MustParse(`{"total":0,"cart":{"items":["tea"]}}`))
	fmt.Println(edited.State, edited.Dropped, err)
	// Output:
	// {"total":9,"cart":{"items":[]}}
	// {"total":9,"cart":{"items":["tea"],"_secret":"margin 40 %"}} [/total] <nil>
}

// An agent's run in terms of state, without a server: what the model writes is
// shown, and committed with the result.
func ExampleSession() {
	m, err := state.NewModel(state.Config{
		Initial: jsondoc.MustParse(`{"text":""}`),
		Predict: map[string]state.Prediction{"text": {Tool: "write", Argument: "text"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	doc := m.First(jsondoc.Null)
	session := m.NewSession(state.Doc{State: doc, View: doc})
	appended := func(s state.Step) { // where a driver appends the step to its log
		for _, e := range s.Events {
			fmt.Printf("%s predicted=%t: %s, view %s\n", e.Event.EventType(), e.Mark.Predicted, session.Doc().State, s.View())
		}
		session.Ack()
	}
	session.ModelCall()
	now := time.Now()
	appended(session.CallStart("c1", "write"))
	appended(session.Arguments(now, "c1", `{"text":"A po`))
	appended(session.Arguments(now.Add(time.Second), "c1", `em"}`))
	end, err := session.CallEnd(now.Add(time.Second), "c1", `{"text":"A poem"}`)
	if err != nil {
		log.Fatal(err)
	}
	appended(end)
	result, _, err := session.Result("c1", state.Returned{Text: "Written."})
	if err != nil {
		log.Fatal(err)
	}
	appended(result)
	fmt.Println(session.Doc().State)
	// Output:
	// STATE_DELTA predicted=true: {"text":""}, view {"text":"A po"}
	// STATE_DELTA predicted=true: {"text":""}, view {"text":"A poem"}
	// STATE_SNAPSHOT predicted=false: {"text":""}, view {"text":"A poem"}
	// {"text":"A poem"}
}

// The words around an approval.
func ExampleConfirmationTexts() {
	words := state.ConfirmationTexts{Ask: "Shall the letter read like this?", Yes: "The letter is ready."}
	p := state.Proposal{Tool: "write_letter"}
	fmt.Printf("%q %q %q\n", words.Prompt(p), words.Approved(p), words.Rejected(p))
	// Output: "Shall the letter read like this?" "The letter is ready." ""
}
