// Package golden answers, for tests: what does a whole conversation look like?
//
// A conversation is a txtar file: what the client posts, what the model says,
// the events that come of it and the state at the end. Every package that a run
// passes through plays the same files (testdata/runs); -update writes events
// and state anew.
//
//	-- config.json --   state.Config and the tools, see config
//	-- input.json --    a RunAgentInput, or a list of them, one a turn
//	-- model --         what the model says, see script
//	-- events --        one event a line, a blank line between turns
//	-- state --         the final state
//	-- other-client --  present where our own client would post something else
//
// The comment at the top says what the file pins.
package golden

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

var update = flag.Bool("update", false, "write the golden conversations anew")

// Conversation is one file.
type Conversation struct {
	Name   string
	State  state.Config
	Agent  *agent.Agent
	Model  *agenttest.Model
	Inputs []*agui.RunAgentInput // nil where only a server takes it
	Bodies [][]byte              // the same, as posted

	path    string
	archive *txtar.Archive
}

// Each plays every conversation of dir (testdata/runs of the repository).
func Each(t *testing.T, dir string, play func(*testing.T, *Conversation)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations in %s (%v)", dir, err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			c, err := load(path)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			c.Name = name
			play(t, c)
		})
	}
}

func load(path string) (*Conversation, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	c := &Conversation{path: path, archive: archive}
	var tools []tool.Tool
	if text := c.section("config.json"); text != nil {
		if tools, err = c.config(text); err != nil {
			return nil, fmt.Errorf("config.json: %w", err)
		}
	}
	doc, err := jsondoc.Parse(c.section("input.json"), nil)
	if err != nil {
		return nil, fmt.Errorf("input.json: %w", err)
	}
	list := []jsondoc.Value{doc}
	if doc.Kind() == jsondoc.KindArray {
		list = list[:0]
		for _, one := range doc.Items() {
			list = append(list, one)
		}
	}
	for _, one := range list {
		in, err := agui.DecodeInput([]byte(one.String()), nil)
		if err != nil && !c.Has("other-client") {
			return nil, fmt.Errorf("input.json: %w", err)
		}
		c.Inputs = append(c.Inputs, in)
		c.Bodies = append(c.Bodies, []byte(one.String()))
	}
	if c.Model, err = script(c.section("model")); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	c.Agent = agent.New(agent.ProviderConfig{ProviderName: "golden", Run: paced(c.Model.Run)}, agent.Config{
		Name: "golden", Tools: tools,
		ToolLoop: &agent.ToolLoopConfig{MaxParallel: 1}, // results in the order of the calls
	})
	return c, nil
}

// paced makes the model wait after each chunk until the thread has logged it.
// Chunks that come while an append is under way are joined (T2), and when that
// is the case is a matter of luck. The hook before a model call is answered
// behind everything that was said before it.
func paced(model agent.RunFunc) agent.RunFunc {
	return func(ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		logged, _ := agent.GetOption(opts, agent.WithBeforeModel)
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			for u, err := range model(ctx, messages, opts...) {
				if !yield(u, err) {
					return
				}
				if logged != nil {
					_, _ = logged(ctx, nil) // it fails when the run was stopped, which the model sees itself
				}
			}
		}
	}
}

// Has reports whether the file has a section of that name.
func (c *Conversation) Has(section string) bool { return c.section(section) != nil }

func (c *Conversation) section(name string) []byte {
	for _, f := range c.archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// config reads the state configuration, in the words of state.Config, and the
// tools: {"name": {"result": any}} or {"name": {"error": "text"}}.
func (c *Conversation) config(text []byte) ([]tool.Tool, error) {
	var in struct {
		Schema  jsondoc.Value
		Initial jsondoc.Value
		Predict map[string]state.Prediction
		Access  map[string]string
		Policy  string
		Tools   map[string]struct {
			Result jsondoc.Value
			Error  string
		}
	}
	doc, err := jsondoc.Parse(text, nil)
	if err != nil {
		return nil, err
	}
	if err := doc.Decode(&in); err != nil {
		return nil, err
	}
	c.State = state.Config{Initial: in.Initial, Predict: in.Predict}
	if !in.Schema.IsAbsent() {
		if c.State.Schema, err = state.NewSchema(in.Schema); err != nil {
			return nil, err
		}
	}
	switch in.Policy {
	case "", "client":
	case "server":
		c.State.Conflict = state.AgentWins
	case "reject":
		c.State.Conflict = state.RejectResult
	default:
		return nil, fmt.Errorf("unknown policy %q", in.Policy)
	}
	for pattern, level := range in.Access {
		if c.State.Access == nil {
			c.State.Access = state.Access{}
		}
		c.State.Access[pattern] = map[string]state.AccessLevel{"read": state.ReadOnly, "server": state.ServerOnly}[level]
	}
	var tools []tool.Tool
	for name, def := range in.Tools {
		tools = append(tools, functool.MustNew(functool.Config{Name: name, Schema: jsondoc.MustParse(`{"type":"object"}`)},
			func(context.Context, map[string]any) (any, error) {
				if def.Error != "" {
					return nil, errors.New(def.Error)
				}
				if def.Result.Kind() == jsondoc.KindString {
					return def.Result.Str(), nil
				}
				return def.Result, nil
			}))
	}
	return tools, nil
}

// script reads what the model says: one step a line, "---" between turns.
//
//	text TEXT          reasoning TEXT       usage IN OUT
//	call ID NAME ARGS  whole ID NAME ARGS   (ARGS is the rest of the line)
//	calls: ID NAME ARGS | ID NAME ARGS      (their fragments interleave)
//	finish REASON      nofinish             fail     hang
//	cut N              (before the first turn: bytes in a fragment)
func script(text []byte) (*agenttest.Model, error) {
	var turns []agenttest.Script
	var steps []agenttest.Step
	chunk := 0
	for n, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		bad := func(want string) error { return fmt.Errorf("line %d: want %q, got %q", n+1, want, line) }
		switch word {
		case "":
		case "---":
			turns = append(turns, agenttest.Turn(steps...))
			steps = nil
		case "cut":
			var err error
			if chunk, err = strconv.Atoi(rest); err != nil {
				return nil, bad("cut N")
			}
		case "text":
			steps = append(steps, agenttest.Text(rest))
		case "reasoning":
			steps = append(steps, agenttest.Reasoning(rest, ""))
		case "call", "whole", "calls:":
			var specs []agenttest.CallSpec
			for one := range strings.SplitSeq(rest, " | ") {
				f := strings.SplitN(one, " ", 3)
				if len(f) != 3 {
					return nil, bad(word + " ID NAME ARGS")
				}
				specs = append(specs, agenttest.CallSpec{ID: f[0], Name: f[1], Arguments: f[2]})
			}
			if word == "whole" {
				steps = append(steps, agenttest.WholeCall(specs[0].ID, specs[0].Name, specs[0].Arguments))
			} else {
				steps = append(steps, agenttest.Calls(specs...))
			}
		case "usage":
			var in, out int64
			if _, err := fmt.Sscan(rest, &in, &out); err != nil {
				return nil, bad("usage IN OUT")
			}
			steps = append(steps, agenttest.Usage(in, out))
		case "finish":
			steps = append(steps, agenttest.Finish(rest))
		case "nofinish":
			steps = append(steps, agenttest.NoFinish())
		case "fail":
			steps = append(steps, agenttest.Fail(agui.NewError(agui.CodeModelError, "The model did not answer.", errors.New("a secret of the transport's"))))
		case "hang":
			steps = append(steps, agenttest.Hang())
		default:
			return nil, bad("a step")
		}
	}
	turns = append(turns, agenttest.Turn(steps...))
	m := agenttest.New(turns...)
	m.Chunk = chunk
	return m, nil
}

// NewID makes ids that are the same in every run of a conversation.
func NewID() func(prefix string) string {
	var mu sync.Mutex
	n := map[string]int{}
	return func(prefix string) string {
		mu.Lock()
		defer mu.Unlock()
		n[prefix]++
		return fmt.Sprintf("%s-%d", prefix, n[prefix])
	}
}

// Timeout bounds one conversation.
const Timeout = 30 * time.Second

// Compare checks what a conversation came to: the events of each turn, as JSON,
// and the state at the end. Epochs are written as E.
func (c *Conversation) Compare(t *testing.T, turns [][][]byte, final jsondoc.Value) {
	t.Helper()
	var events bytes.Buffer
	for i, turn := range turns {
		if i > 0 {
			events.WriteByte('\n')
		}
		for _, e := range turn {
			events.Write(normal(t, e))
			events.WriteByte('\n')
		}
	}
	got := map[string]string{"events": events.String(), "state": final.String() + "\n"}
	if *update {
		c.write(t, got)
		return
	}
	for _, name := range []string{"events", "state"} {
		if diff := cmp.Diff(string(c.section(name)), got[name]); diff != "" {
			t.Errorf("%s of %s (-want +got, -update writes it anew):\n%s", name, c.path, diff)
		}
	}
}

// normal replaces the random epoch in metadata.lockstep.position.
func normal(t *testing.T, event []byte) []byte {
	v, err := jsondoc.Parse(event, nil)
	if err != nil {
		t.Fatalf("the event is not JSON: %s", event)
	}
	if p, ok := v.At("/metadata/lockstep/position"); ok {
		s := p.Str()
		if v, err = v.SetAt("/metadata/lockstep/position", jsondoc.String("E"+s[strings.LastIndexByte(s, '-'):])); err != nil {
			t.Fatal(err)
		}
	}
	return []byte(v.String())
}

func (c *Conversation) write(t *testing.T, got map[string]string) {
	t.Helper()
	for _, name := range []string{"events", "state"} {
		data := []byte(got[name])
		found := false
		for i := range c.archive.Files {
			if c.archive.Files[i].Name == name {
				c.archive.Files[i].Data, found = data, true
			}
		}
		if !found {
			c.archive.Files = append(c.archive.Files, txtar.File{Name: name, Data: data})
		}
	}
	if err := os.WriteFile(c.path, txtar.Format(c.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}
