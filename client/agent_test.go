package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// agent is a remote agent at the network's server.
func (n *network) agent(cfg agent.Config) *agent.Agent {
	o := client.Options{}
	n.steady(&o) // sets the transport
	return client.NewAgent(address, &client.AgentConfig{Config: cfg, Options: o})
}

// told writes a stream's contents one a line, adjacent texts and pieces of calls
// joined.
func told(t *testing.T, stream agent.ResponseStream) (string, error) {
	t.Helper()
	var lines []string
	add := func(kind, text string) {
		if n := len(lines); n > 0 && strings.HasPrefix(lines[n-1], kind+" ") && (kind == "text" || kind == "delta") {
			lines[n-1] += text
			return
		}
		lines = append(lines, kind+" "+text)
	}
	for u, err := range stream {
		if err != nil {
			return strings.Join(lines, "\n"), err
		}
		for _, c := range u.Contents {
			switch c := c.(type) {
			case *message.TextContent:
				add("text", c.Text)
			case *message.TextReasoningContent:
				add("reasoning", c.Text)
			case *message.FunctionCallDelta:
				add("delta", c.Arguments)
			case *message.FunctionCallContent:
				add("call", fmt.Sprint(c.Name, c.Arguments, map[bool]string{true: " (theirs)"}[c.InformationalOnly]))
			case *message.FunctionResultContent:
				add("result", c.Text())
			case *message.DataContent:
				if _, ok := c.RawRepresentation.(agui.Event); !ok || c.RawRepresentation != u.RawRepresentation {
					t.Errorf("raw representations %T and %T", c.RawRepresentation, u.RawRepresentation)
				}
				add(c.MediaType, string(c.Data))
			case *client.InterruptContent:
				add("asks", c.Interrupt.Message)
			case *message.ErrorContent:
				add("error", c.Message+" "+c.ErrorCode)
			case *message.UsageContent:
			default:
				add("other", fmt.Sprintf("%T", c))
			}
		}
		if u.FinishReason != "" {
			add("finish", u.FinishReason)
		}
	}
	return strings.Join(lines, "\n"), nil
}

func wantTold(t *testing.T, stream agent.ResponseStream, want string) {
	t.Helper()
	got, err := told(t, stream)
	if err != nil {
		t.Errorf("the stream ended with %v", err)
	}
	if d := cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// An endpoint as an agent: what it says, does and shows comes as contents, and a
// session is one thread.
func TestAgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, cfg := writer(0)
		cfg.Predict = nil
		cfg.Rules = []state.Rule{state.MapCall("write", func(*state.Mapping, state.ToolCall) ([]agui.Event, error) {
			return []agui.Event{&agui.StateDelta{Delta: set("/document", `"drafted"`)}}, nil
		})}
		n := newNetwork(t, handler(t, a, cfg))
		remote := n.agent(agent.Config{Name: "remote"})
		session := new(agent.Session)
		wantTold(t, remote.RunText(t.Context(), "write it", agent.WithSession(session)), `
application/json {"title":"","document":""}
text On it. 
delta {"document":"it"}
application/json-patch+json [{"op":"replace","path":"/document","value":"drafted"}]
call write{"document":"it"}
result Written.
application/json {"title":"","document":"drafted"}
text Written.
finish stop`)
		if st, err := client.SessionState(session); err != nil || st.String() != `{"title":"","document":"drafted"}` {
			t.Errorf("%s %v", st, err)
		}

		// The session goes on after it was stored, in another process.
		text, err := json.Marshal(session)
		if err != nil {
			t.Fatal(err)
		}
		restored := new(agent.Session)
		if err := json.Unmarshal(text, restored); err != nil {
			t.Fatal(err)
		}
		wantTold(t, n.agent(agent.Config{}).RunText(t.Context(), "hello", agent.WithSession(restored)), `
application/json {"title":"","document":"drafted"}
text I have heard: hello
finish stop`)
		truth := hydrate(t, n.steady(nil), restored.ServiceID())
		var roles []string
		for _, m := range truth.Messages {
			roles = append(roles, string(m.Role))
		}
		if got := strings.Join(roles, " "); got != "user assistant tool assistant user assistant" {
			t.Errorf("the thread has %s", got)
		}
	})
}

// Carriers become state, whatever stands beside them; ordinary JSON is a
// document; text is never lost; the older way still works.
func TestStateCarrier(t *testing.T) {
	carry := func(v any) *client.StateCarrier {
		c, err := client.CarryState(v)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	title := func(s string) *client.StateCarrier { return carry(map[string]string{"title": s}) }
	document := &message.DataContent{MediaType: "application/json", Data: []byte(`{"title":"a document"}`)}
	older := &message.Message{Role: message.RoleSystem, Contents: message.Contents{
		&message.TextContent{Text: "Mind the state."}, &message.DataContent{MediaType: "application/json; charset=utf-8", Data: []byte(`{"title":"older"}`)},
	}}
	for _, c := range []struct {
		name  string
		in    []*message.Message
		state string // as posted; "" for none
		said  string // roles and texts of what is posted
	}{
		{"beside text", []*message.Message{message.New(&message.TextContent{Text: "Update."}, title("x"))}, `{"title":"x"}`, "user Update."},
		{"of its own", []*message.Message{message.NewText("Update."), message.New(title("x"))}, `{"title":"x"}`, "user Update."},
		{"in front", []*message.Message{message.New(title("x")), message.NewText("Update.")}, `{"title":"x"}`, "user Update."},
		{"the last counts", []*message.Message{message.New(title("x")), message.New(&message.TextContent{Text: "Update."}, title("y"))}, `{"title":"y"}`, "user Update."},
		{"a document is a document", []*message.Message{message.New(&message.TextContent{Text: "Read."}, document)}, "", "user Read.+document"},
		{"an empty object", []*message.Message{message.New(&message.TextContent{Text: "Update."}, carry(struct{}{}))}, `{}`, "user Update."},
		{"the older way", []*message.Message{older, message.NewText("Update.")}, `{"title":"older"}`, "system Mind the state.|user Update."},
		{"nothing", []*message.Message{message.NewText("Hi.")}, "", "user Hi."},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := &foreign{scripts: []string{foreignStart + `{"type":"STATE_SNAPSHOT","snapshot":{"title":"theirs"}}` + "\n" + foreignEnd, foreignStart + foreignEnd}}
				n := newNetwork(t, f)
				remote := n.agent(agent.Config{})
				session := new(agent.Session)
				before, err := json.Marshal(c.in)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := remote.Run(t.Context(), c.in, agent.WithSession(session)).Collect(); err != nil {
					t.Fatal(err)
				}
				in := f.posts[0]
				got := ""
				if !in.State.IsAbsent() {
					got = in.State.String()
				}
				if got != c.state {
					t.Errorf("posted state %q, want %q", got, c.state)
				}
				var said []string
				for _, m := range in.Messages {
					one := string(m.Role) + " " + m.Content.Text()
					for _, p := range m.Content.Parts() {
						if p.Type != agui.PartText {
							one += "+" + string(p.Type)
						}
					}
					said = append(said, one)
				}
				if s := strings.Join(said, "|"); s != c.said {
					t.Errorf("posted %s, want %s", s, c.said)
				}
				if after, _ := json.Marshal(c.in); string(after) != string(before) {
					t.Error("the caller's messages were changed")
				}
				// A carrier is for one run: later the state is the agent's.
				if _, err := remote.RunText(t.Context(), "Go on.", agent.WithSession(session)).Collect(); err != nil {
					t.Fatal(err)
				}
				if !f.posts[1].State.IsAbsent() {
					t.Errorf("the next run posts %s", f.posts[1].State)
				}
			})
		})
	}
	bubble(t, func(t *testing.T) {
		bad := &message.Message{Role: message.RoleSystem, Contents: message.Contents{&message.DataContent{MediaType: "application/json", Data: []byte(`{`)}}}
		n := newNetwork(t, &foreign{})
		if _, err := n.agent(agent.Config{}).RunMessage(t.Context(), bad).Collect(); err == nil {
			t.Error("half a document became state")
		}
	})
}

// On a Lockstep server a carried state is an edit of what the session was shown:
// what others did since stays.
func TestCarrierIsAnEdit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := serveWriter(t, 0)
		remote, session := n.agent(agent.Config{}), new(agent.Session)
		if _, err := remote.RunText(t.Context(), "write the first", agent.WithSession(session)).Collect(); err != nil {
			t.Fatal(err)
		}
		shown, err := client.SessionState(session)
		if err != nil {
			t.Fatal(err)
		}
		other := n.steady(nil).Thread(session.ServiceID())
		say(t, other, "write the second")
		m := message.New(&message.TextContent{Text: "hello"}, &client.StateCarrier{State: shown.With("title", jsondoc.String("Mine"))})
		if _, err := remote.RunMessage(t.Context(), m, agent.WithSession(session)).Collect(); err != nil {
			t.Fatal(err)
		}
		if st, _ := client.SessionState(session); st.String() != `{"title":"Mine","document":"the second"}` {
			t.Errorf("S2: the state is %s", st)
		}
	})
}

// Tools that are here are offered to the server and run here; the answer goes
// back on the same thread.
func TestAgentTools(t *testing.T) {
	bubble(t, func(t *testing.T) {
		served := functool.MustNew(functool.Config{Name: "served"}, func(context.Context, struct{}) (string, error) { return "from there", nil })
		m := agenttest.New(
			agenttest.Turn(agenttest.Calls(agenttest.CallSpec{ID: "c1", Name: "served", Arguments: "{}"}, agenttest.CallSpec{ID: "c2", Name: "here", Arguments: `{"city":"Oslo"}`})),
			agenttest.TurnFrom(func(p agenttest.Prompt) []agenttest.Step {
				return []agenttest.Step{agenttest.Text(fmt.Sprintf("%q", p.Messages[len(p.Messages)-1].Contents[0].(*message.FunctionResultContent).Text()))}
			}),
		)
		n := newNetwork(t, handler(t, m.Agent(agent.Config{Tools: []tool.Tool{served}}), state.Config{}))
		ran := 0
		here := functool.MustNew(functool.Config{Name: "here", Description: "knows"}, func(_ context.Context, in struct {
			City string `json:"city"`
		}) (string, error) {
			ran++
			return "rain in " + in.City, nil
		})
		remote, session := n.agent(agent.Config{Tools: []tool.Tool{here}}), new(agent.Session)
		got, err := told(t, remote.RunText(t.Context(), "weather?", agent.WithSession(session)))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`call served{}`, `result from there`, `call here{"city":"Oslo"}`, `result rain in Oslo`, `text "rain in Oslo"`} {
			if !strings.Contains(got, want+"\n") {
				t.Errorf("%q is not in\n%s", want, got)
			}
		}
		if ran != 1 {
			t.Errorf("the tool ran %d times", ran)
		}
		truth := hydrate(t, n.steady(nil), session.ServiceID())
		if got := conversation(truth.Messages); strings.Count(got, `"role":"tool"`) != 2 || strings.Count(got, `"role":"user"`) != 1 {
			t.Errorf("the thread has\n%s", got)
		}
	})
}

// A question reaches the caller, and its answer the server.
func TestAgentInterrupt(t *testing.T) {
	for _, yes := range []bool{true, false} {
		t.Run(fmt.Sprint(yes), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, cfg := writer(0)
				cfg.RequireConfirmation = true
				cfg.Confirmation = state.ConfirmationTexts{Ask: "Shall I?", Yes: "Done.", No: "As you like."}
				n := newNetwork(t, handler(t, a, cfg))
				remote, session := n.agent(agent.Config{}), new(agent.Session)
				response, err := remote.RunText(t.Context(), "write it", agent.WithSession(session)).Collect()
				if err != nil {
					t.Fatal(err)
				}
				var asked *client.InterruptContent
				for c := range response.Contents() {
					if i, ok := c.(*client.InterruptContent); ok {
						asked = i
					}
				}
				if asked == nil || asked.Interrupt.Message != "Shall I?" || response.FinishReason != client.FinishReasonInterrupt {
					t.Fatalf("%+v; finish %s", asked, response.FinishReason)
				}
				if len(response.Pending()) != 0 {
					t.Error("the server's call is taken for ours")
				}
				if _, err := json.Marshal(response.Messages); err != nil {
					t.Error(err)
				}
				answer, want, says := client.Approve(asked.Interrupt), "it", "Done."
				if !yes {
					answer, want, says = client.Reject(asked.Interrupt), "", "As you like."
				}
				response, err = remote.Run(t.Context(), nil, agent.WithSession(session), client.WithResume(answer)).Collect()
				if err != nil || response.String() != says {
					t.Errorf("%q %v", response, err)
				}
				if st, _ := client.SessionState(session); st.String() != `{"title":"","document":"`+want+`"}` {
					t.Errorf("the state is %s", st)
				}
				if response, err = remote.RunText(t.Context(), "hello", agent.WithSession(session)).Collect(); err != nil || response.String() != "I have heard: hello" {
					t.Errorf("%q %v", response, err)
				}
			})
		})
	}
}

// Servers of other makes: chunks, reasoning, subjects of their own, errors.
func TestAgentOfAnotherMake(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &foreign{scripts: []string{
			foreignStart + `{"type":"STEP_STARTED","stepName":"s"}
{"type":"CUSTOM","name":"PredictState","value":[]}
{"type":"REASONING_START","messageId":"th"}
{"type":"REASONING_MESSAGE_START","messageId":"th","role":"reasoning"}
{"type":"REASONING_MESSAGE_CONTENT","messageId":"th","delta":"Hm."}
{"type":"REASONING_MESSAGE_END","messageId":"th"}
{"type":"REASONING_END","messageId":"th"}
{"type":"TEXT_MESSAGE_CHUNK","messageId":"a1","role":"assistant","delta":"Hel"}
{"type":"TEXT_MESSAGE_CHUNK","messageId":"a1","delta":"lo"}
{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"ask_user","delta":"{}"}
{"type":"STEP_FINISHED","stepName":"s"}
{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":{"ok":true},"usage":[{"model":"m","inputTokens":3,"outputTokens":4}]}`,
			foreignStart + foreignEnd,
			foreignStart + `{"type":"RUN_ERROR","message":"No.","code":"c"}`,
		}}
		n := newNetwork(t, f)
		remote := n.agent(agent.Config{Instructions: "Be short."})
		session := new(agent.Session)
		var raw []string
		var all agent.Response
		for u, err := range remote.RunText(t.Context(), "Hi", agent.WithSession(session), client.WithThread("mine")) {
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := u.RawRepresentation.(agui.Event); ok {
				raw = append(raw, string(e.EventType()))
			}
			all.Update(u)
		}
		if all.Coalesce(); all.String() != "Hello" || all.Usage().InputTokenCount != 3 || fmt.Sprint(all.AdditionalProperties["result"]) != `{"ok":true}` {
			t.Errorf("%q, %+v, %v", all.String(), all.Usage(), all.AdditionalProperties)
		}
		if got := strings.Join(raw, " "); !strings.Contains(got, "CUSTOM") || !strings.Contains(got, "STEP_STARTED") || !strings.Contains(got, "RUN_STARTED") {
			t.Errorf("events %s", got)
		}
		in := f.posts[0]
		if in.ThreadID != "mine" || len(in.Messages) != 2 || in.Messages[0].Role != agui.RoleSystem || in.Messages[0].Content.Text() != "Be short." {
			t.Errorf("posted %s", in.AppendJSON(nil))
		}
		// Its call of a front end's tool is answered by a message.
		if _, err := remote.RunMessage(t.Context(), message.NewResult("c1", map[string]bool{"ok": true}), agent.WithSession(session)).Collect(); err != nil {
			t.Fatal(err)
		}
		in = f.posts[1]
		if last := in.Messages[len(in.Messages)-1]; last.Role != agui.RoleTool || last.ToolCallID != "c1" || last.Content.Text() != `{"ok":true}` || last.ID == "" {
			t.Errorf("posted %s", in.AppendJSON(nil))
		}
		got, err := told(t, remote.RunText(t.Context(), "fail", agent.WithSession(session)))
		var failed *client.RunError
		if !errors.As(err, &failed) || got != "error No. c" {
			t.Errorf("%q %v", got, err)
		}
	})
}

// Without a session the caller has the history. Messages without ids get the
// same one each time, so that a server that keeps threads knows them again.
func TestAgentWithoutSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := serveWriter(t, 0)
		remote := n.agent(agent.Config{})
		history := []*message.Message{message.NewText("yes"), message.NewText("yes")}
		for i := range 3 {
			response, err := remote.Run(t.Context(), history, client.WithThread("t")).Collect()
			if err != nil {
				t.Fatal(err)
			}
			history = append(append(history, response.Messages...), message.NewText("yes"))
			truth := hydrate(t, n.steady(nil), "t")
			if want := 3 + 2*i; len(truth.Messages) != want {
				t.Fatalf("after run %d the thread has %d messages, want %d:\n%s", i, len(truth.Messages), want, conversation(truth.Messages))
			}
		}
		free, err := remote.RunText(t.Context(), "hello").Collect()
		if err != nil || free.String() != "I have heard: hello" {
			t.Errorf("%q %v", free, err)
		}
	})
}

// What a message holds is what is posted.
func TestConvertedMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &foreign{scripts: []string{foreignStart + foreignEnd}}
		n := newNetwork(t, f)
		remote := n.agent(agent.Config{})
		in := []*message.Message{
			{ID: "s", Role: message.RoleSystem, Contents: message.Contents{&message.TextContent{Text: "sys"}}},
			{ID: "u", Role: message.RoleUser, AuthorName: "Ann", Contents: message.Contents{
				&message.TextContent{Text: "look"},
				&message.DataContent{MediaType: "image/png", Data: []byte("png")},
				&message.URIContent{URI: "https://example.test/a.mp3", MediaType: "audio/mpeg"},
				&message.HostedFileContent{FileID: "f", Provider: "p"},
				&message.RawContent{JSON: []byte(`{"type":"x"}`)},
			}},
			{ID: "a", Role: message.RoleAssistant, Contents: message.Contents{
				&message.TextReasoningContent{Text: "hm"}, &message.TextContent{Text: "I see"}, &message.FunctionCallContent{CallID: "c", Name: "f", Arguments: `{"x":1}`},
				&message.FunctionCallContent{CallID: "d", Name: "g", Arguments: `{}`},
			}},
			{ID: "r", Role: message.RoleTool, Contents: message.Contents{
				&message.FunctionResultContent{CallID: "c", Result: 5}, &message.FunctionResultContent{CallID: "d", Error: errors.New("secret")},
			}},
			{ID: "again", Role: message.RoleUser, Contents: message.Contents{&message.TextContent{Text: "go "}, &message.TextContent{Text: "on"}}},
			nil,
		}
		if _, err := remote.Run(t.Context(), in, client.WithThread("t")).Collect(); err != nil {
			t.Fatal(err)
		}
		want := `{"id":"s","role":"system","content":"sys"}
{"id":"u","role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"data","value":"cG5n","mimeType":"image/png"}},{"type":"audio","source":{"type":"url","value":"https://example.test/a.mp3","mimeType":"audio/mpeg"}},{"type":"document","source":{"type":"file","value":"f","provider":"p"}}],"name":"Ann"}
{"id":"a","role":"assistant","content":"I see","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"d","type":"function","function":{"name":"g","arguments":"{}"}}]}
{"id":"r","role":"tool","content":"5","toolCallId":"c"}
{"id":"?","role":"tool","content":"Error: the tool failed.","toolCallId":"d","error":"Error: the tool failed."}
{"id":"again","role":"user","content":"go on"}
`
		got := f.posts[0].Messages
		for i := range got {
			if strings.HasPrefix(got[i].ID, "msg-") {
				got[i].ID = "?"
			}
		}
		if d := cmp.Diff(want, conversation(got)); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
}

// A remote agent behind a server of ours: two hops, and the user interface sees
// the far state.
func TestAgentBehindAServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		far := serveWriter(t, 0)
		near := newNetwork(t, handler(t, far.agent(agent.Config{Name: "proxy"}), state.Config{}))
		th := near.steady(nil).Thread("t")
		say(t, th, "write it")
		if got := th.State().String(); got != `{"title":"","document":"it"}` {
			t.Errorf("the state at the near end is %s", got)
		}
		time.Sleep(time.Second)
		wantSame(t, th, hydrate(t, near.steady(nil), "t"))
	})
}
