package openaiprovider_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/openaiwire"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/provider/openaiprovider"
	"github.com/lockstep-go/lockstep/tool"
)

// apis are both ways to make an agent, for tests of what they have in common.
var apis = map[string]func(t *testing.T, s *openaiwire.Server, cut int, config openaiprovider.AgentConfig, opts ...option.RequestOption) *agent.Agent{
	"chat": func(t *testing.T, s *openaiwire.Server, cut int, config openaiprovider.AgentConfig, opts ...option.RequestOption) *agent.Agent {
		return openaiprovider.NewChatCompletionsAgent(newClient(t, s, cut, opts...), config)
	},
	"responses": func(t *testing.T, s *openaiwire.Server, cut int, config openaiprovider.AgentConfig, opts ...option.RequestOption) *agent.Agent {
		return openaiprovider.NewResponsesAgent(newClient(t, s, cut, opts...), config)
	},
}

// head is the beginning of a turn: its first steps up to one that has mark in it.
func head(t *testing.T, steps []openaiwire.Step, mark string) []openaiwire.Step {
	t.Helper()
	for i, s := range steps {
		if strings.Contains(s.String(), mark) {
			return slices.Clip(steps[:i+1])
		}
	}
	t.Fatalf("no step has %q", mark)
	return nil
}

// mustFail wants a stream that ends with this code, and checks that what people see
// gives nothing away.
func mustFail(t *testing.T, stream agent.ResponseStream, code string) (*openaiprovider.Failure, *agent.Response) {
	t.Helper()
	r, err := stream.Collect()
	if err == nil {
		t.Fatalf("the run ended well, with %q", r)
	}
	var failure *openaiprovider.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("no Failure behind %v", err)
	}
	wire := agui.RunErrorFor(err)
	if wire.Code != code {
		t.Errorf("code %s, want %s (%v)", wire.Code, code, err)
	}
	if wire.Message != "The model could not answer. Please try again." && wire.Message != "The model did not answer in time. Please try again." {
		t.Errorf("people see %q", wire.Message)
	}
	noSecrets(t, err)
	return failure, r
}

// noSecrets looks for the key in everything that a log could make of an error.
func noSecrets(t *testing.T, err error) {
	t.Helper()
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Error("x", "err", err)
	slog.New(slog.NewJSONHandler(&log, nil)).Error("x", "err", err)
	for e := err; e != nil; e = errors.Unwrap(e) {
		fmt.Fprintf(&log, "%v %+v %#v %q\n", e, e, e, e)
	}
	var failure *openaiprovider.Failure
	if errors.As(err, &failure) {
		fmt.Fprintf(&log, "%+v %#v", *failure, *failure)
	}
	for _, secret := range []string{markerKey, markerKey[:8], "unknown"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("a log has the key: %s", log.String())
			return
		}
	}
}

// P8, R9 and the contract: an answer that ends with neither finish reason nor [DONE] is
// a lost model, wherever it breaks off, and whether the connection ends cleanly or not.
// What was said before stays said, once.
func TestLostModel(t *testing.T) {
	turn := openaiwire.Turn{Reasoning: "thinking", Text: "Hello", Calls: []openaiwire.Call{{ID: "c1", Name: "save", Arguments: `{"path":"/data/a"}`}}, Fragment: 4}
	for name, newAgent := range apis {
		steps := turn.Chat()
		if name == "responses" {
			steps = turn.Responses()
		}
		for place, part := range map[string][]openaiwire.Step{
			"before anything":     {},
			"after a comment":     {openaiwire.Comment("ping")},
			"in reasoning":        head(t, steps, "thin"),
			"in text":             head(t, steps, `"Hell"`),
			"in arguments":        head(t, steps, `{\"pa`),
			"inside a data line":  append(head(t, steps, `"Hell"`), openaiwire.Raw(`data: {"choices":[{"index":0,"delta":{"content":"x`)),
			"after all arguments": head(t, steps, `"\"}"`),
		} {
			for end, last := range map[string]openaiwire.Step{"cleanly": openaiwire.Raw(""), "broken": openaiwire.Drop()} {
				for _, cut := range openaiwire.Cuts {
					t.Run(fmt.Sprintf("%s,%s,%s,cut=%d", name, place, end, cut), func(t *testing.T) {
						s := openaiwire.New(t, openaiwire.Script(t, openaiwire.Reply{Body: append(slices.Clip(part), last), Cut: cut}))
						save := newCounter("save")
						// Two retries are allowed and must not be made: the script
						// knows one request.
						a := newAgent(t, s, cut, openaiprovider.AgentConfig{Model: "fake", Config: agent.Config{Tools: []tool.Tool{save}}}, option.WithMaxRetries(2))
						failure, r := mustFail(t, a.RunText(t.Context(), "hi"), agui.CodeModelError)
						if end == "cleanly" && !errors.Is(failure, openaiprovider.ErrBrokenOff) && place != "inside a data line" {
							t.Errorf("the failure is %v, want ErrBrokenOff", failure)
						}
						if len(save.arguments) > 0 {
							t.Error("the tool ran")
						}
						if place == "in text" && r.String() != "Hell" {
							t.Errorf("text %q, want what was said once", r)
						}
					})
				}
			}
		}
	}
}

// P9: whatever a server calls an error is one, in the middle of a stream too, and its
// text stays here.
func TestServiceErrors(t *testing.T) {
	prompt := "a very private question"
	leak := "key " + markerKey + " Bearer " + markerKey + " or sk-unknown-1234, Basic unknown1234 eyJunknown.eyJunknown unknown0123456789abcdefghijklmnopq and the prompt " + prompt
	status := func(n int, body string) openaiwire.Reply {
		return openaiwire.Reply{Status: n, Header: http.Header{"X-Request-Id": {"req_7"}}, Body: []openaiwire.Step{openaiwire.Raw(body)}}
	}
	object := `{"error":{"message":` + openaiwire.Quote(leak) + `,"type":"server_error","code":"boom","param":null}}`
	text := openaiwire.Turn{Text: "Hello"}
	stream := func(api string, last ...openaiwire.Step) openaiwire.Reply {
		steps := text.Chat()
		if api == "responses" {
			steps = text.Responses()
		}
		return openaiwire.Reply{Body: append(head(t, steps, "Hello"), last...)}
	}
	for api, newAgent := range apis {
		for _, tt := range []struct {
			name   string
			reply  openaiwire.Reply
			code   string
			status int
			detail string
		}{
			{"500", status(500, object), agui.CodeModelError, 500, "boom"},
			{"429", status(429, object), agui.CodeModelError, 429, "boom"},
			{"401", status(401, object), agui.CodeModelError, 401, "boom"},
			{"504 is a timeout", status(504, object), agui.CodeModelTimeout, 504, ""},
			{"a page of HTML", status(502, "<html>"+leak+"</html>"), agui.CodeModelError, 502, "<html>"},
			{"no body", status(503, ""), agui.CodeModelError, 503, ""},
			{"a body without an error", status(400, `{"detail":"bad model"}`), agui.CodeModelError, 400, "bad model"},
			{"a very long body", status(400, strings.Repeat("no ", 1<<15)), agui.CodeModelError, 400, "no n…"},
			{"an error that is a string", stream(api, openaiwire.Data(`{"error":`+openaiwire.Quote(leak)+`}`)), agui.CodeModelError, 200, "and the prompt"},
			{"in the middle of a stream", stream(api, openaiwire.Data(object), openaiwire.Done()), agui.CodeModelError, 200, "boom"},
			{"an error event", stream(api, openaiwire.Event("error", object)), agui.CodeModelError, 200, "boom"},
			{"a code that is a number", stream(api, openaiwire.Data(`{"error":{"code":529,"message":"overloaded"}}`)), agui.CodeModelError, 200, "529: overloaded"},
			{"with a good status and no stream", openaiwire.Reply{Body: []openaiwire.Step{openaiwire.Raw(object)}}, agui.CodeModelError, 200, "boom"},
			{"no JSON", stream(api, openaiwire.Data("oops "+markerKey)), agui.CodeModelError, 200, "no JSON"},
		} {
			for _, cut := range openaiwire.Cuts {
				t.Run(fmt.Sprintf("%s,%s,cut=%d", api, tt.name, cut), func(t *testing.T) {
					tt.reply.Cut = cut
					if tt.name == "a very long body" {
						tt.reply.Cut = 0
					}
					s := openaiwire.New(t, openaiwire.Script(t, tt.reply))
					failure, r := mustFail(t, newAgent(t, s, cut, openaiprovider.AgentConfig{Model: "fake"}).RunText(t.Context(), prompt), tt.code)
					if failure.Status != tt.status {
						t.Errorf("status %d, want %d", failure.Status, tt.status)
					}
					if !strings.Contains(failure.Error(), tt.detail) {
						t.Errorf("the log says %.200q, want %q in it", failure, tt.detail)
					}
					if tt.status >= 400 && failure.RequestID != "req_7" {
						t.Errorf("request id %q", failure.RequestID)
					}
					if len(failure.Message) > 1100 {
						t.Errorf("a message of %d bytes", len(failure.Message))
					}
					if tt.status == 200 && tt.name != "with a good status and no stream" && r.String() != "Hello" {
						t.Errorf("text %q", r)
					}
				})
			}
		}
	}
}

// The forms that only the Responses API has for a failure.
func TestResponsesErrors(t *testing.T) {
	for name, step := range map[string]openaiwire.Step{
		"error event": openaiwire.Event("error", `{"type":"error","code":"boom","message":"no","param":null,"sequence_number":3}`),
		"failed":      openaiwire.Event("response.failed", `{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"boom","message":"no"}}}`),
		"cancelled":   openaiwire.Event("response.cancelled", `{"type":"response.cancelled","response":{"id":"r","status":"cancelled"}}`),
	} {
		for _, cut := range openaiwire.Cuts {
			t.Run(fmt.Sprint(name, ",cut=", cut), func(t *testing.T) {
				s := openaiwire.New(t, openaiwire.Script(t, openaiwire.Reply{Body: []openaiwire.Step{step}, Cut: cut}))
				failure, _ := mustFail(t, apis["responses"](t, s, cut, openaiprovider.AgentConfig{Model: "fake"}).RunText(t.Context(), "hi"), agui.CodeModelError)
				if want := map[string]string{"cancelled": "cancelled"}[name]; failure.Code != "boom" && failure.Type != want {
					t.Errorf("failure %+v", failure)
				}
			})
		}
	}
}

func TestRefusedConnection(t *testing.T) {
	s := openaiwire.New(t, openaiwire.Script(t))
	for name, newAgent := range apis {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, s, 0, openaiprovider.AgentConfig{Model: "fake"}, option.WithBaseURL("http://127.0.0.1:1/v1/?api_key="+markerKey))
			failure, _ := mustFail(t, a.RunText(t.Context(), "hi"), agui.CodeModelError)
			if failure.Status != 0 || !strings.HasPrefix(failure.Endpoint, "127.0.0.1:1/v1") || failure.Err == nil {
				t.Errorf("failure %+v", failure)
			}
		})
	}
}

// A request is repeated as long as no answer has begun, and never after.
func TestRetries(t *testing.T) {
	for name, newAgent := range apis {
		t.Run(name, func(t *testing.T) {
			busy := openaiwire.Reply{Status: 429, Header: http.Header{"Retry-After-Ms": {"1"}}, Body: []openaiwire.Step{openaiwire.Raw(`{"error":{"message":"busy"}}`)}}
			good := openaiwire.Turn{Text: "Hello, once.", Fragment: 2}
			answer := 0
			s := openaiwire.New(t, func(r *openaiwire.Request) openaiwire.Reply {
				if answer++; answer < 3 {
					return busy
				}
				return openaiwire.Reply{Body: good.Steps(r)}
			})
			a := newAgent(t, s, 0, openaiprovider.AgentConfig{Model: "fake"}, option.WithMaxRetries(2))
			r, err := a.RunText(t.Context(), "hi").Collect()
			if err != nil || r.String() != "Hello, once." {
				t.Fatalf("%q, %v", r, err)
			}
			if n := len(s.Requests()); n != 3 {
				t.Errorf("%d requests, want 3", n)
			}
			if first, last := s.Requests()[0].Body, s.Requests()[2].Body; !bytes.Equal(first, last) {
				t.Errorf("the last attempt asked something else:\n%s\n%s", first, last)
			}
		})
	}
}

func TestTimeouts(t *testing.T) {
	hang := openaiwire.Hang()
	text := openaiwire.Turn{Text: "Hello"}
	ping := func(n int) (steps []openaiwire.Step) {
		for range n {
			steps = append(steps, openaiwire.Comment("ping"), openaiwire.Sleep(20*time.Millisecond))
		}
		return append(steps, hang)
	}
	for name, newAgent := range apis {
		steps := text.Chat()
		if name == "responses" {
			steps = text.Responses()
		}
		begun := head(t, steps, "Hello")
		for _, tt := range []struct {
			name   string
			steps  []openaiwire.Step
			config openaiprovider.AgentConfig
			want   error
		}{
			{"silent from the start", []openaiwire.Step{hang}, openaiprovider.AgentConfig{IdleTimeout: 50 * time.Millisecond}, openaiprovider.ErrIdle},
			{"silent in the middle", append(begun, hang), openaiprovider.AgentConfig{IdleTimeout: 50 * time.Millisecond}, openaiprovider.ErrIdle},
			{"busy for too long", ping(1000), openaiprovider.AgentConfig{IdleTimeout: time.Minute, Timeout: 100 * time.Millisecond}, openaiprovider.ErrTimeout},
		} {
			t.Run(name+","+tt.name, func(t *testing.T) {
				s := openaiwire.New(t, openaiwire.Script(t, openaiwire.Reply{Body: tt.steps}))
				tt.config.Model = "fake"
				// Retries are allowed: a server that was silent once is not asked
				// again.
				a := newAgent(t, s, 0, tt.config, option.WithMaxRetries(2))
				failure, _ := mustFail(t, a.RunText(t.Context(), "hi"), agui.CodeModelTimeout)
				if !errors.Is(failure, tt.want) {
					t.Errorf("failure %v, want %v", failure, tt.want)
				}
				gone(t, s.Requests()[0])
			})
		}
	}
}

// A service that stays busy until our time is over did not answer in time; why is in the log.
func TestTimeoutBetweenRetries(t *testing.T) {
	for name, newAgent := range apis {
		s := openaiwire.New(t, func(*openaiwire.Request) openaiwire.Reply {
			return openaiwire.Reply{Status: 429, Header: http.Header{"Retry-After": {"30"}}, Body: []openaiwire.Step{openaiwire.Raw(`{"error":{"message":"busy"}}`)}}
		})
		a := newAgent(t, s, 0, openaiprovider.AgentConfig{Model: "fake", Timeout: 100 * time.Millisecond}, option.WithMaxRetries(2))
		failure, _ := mustFail(t, a.RunText(t.Context(), "hi"), agui.CodeModelTimeout)
		if !errors.Is(failure, openaiprovider.ErrTimeout) || failure.Status != 429 || failure.Message != "busy" {
			t.Errorf("%s: %+v", name, failure)
		}
	}
}

// gone waits until the server has seen that the client went away.
func gone(t *testing.T, r *openaiwire.Request) {
	t.Helper()
	select {
	case <-r.Gone:
		if !r.Aborted() {
			t.Error("the server could finish its answer: the connection was kept")
		}
	case <-time.After(5 * time.Second):
		t.Error("the connection is still open")
	}
}

// A connection is used again after an answer that was complete, also if the server is
// a little slow to end the body. (Not every time: a busy machine may be slower still.)
func TestConnectionIsKept(t *testing.T) {
	const runs = 8
	for name, newAgent := range apis {
		s := openaiwire.New(t, func(r *openaiwire.Request) openaiwire.Reply {
			return openaiwire.Reply{Body: append((openaiwire.Turn{Text: "Hello"}).Steps(r), openaiwire.Sleep(2*time.Millisecond))}
		})
		a := newAgent(t, s, 0, openaiprovider.AgentConfig{Model: "fake"})
		peers := map[string]bool{}
		for range runs {
			if _, err := a.RunText(t.Context(), "hi").Collect(); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range s.Requests() {
			peers[r.Peer] = true
		}
		if len(peers) == runs {
			t.Errorf("%s: a new connection for each call of the model", name)
		}
	}
}

// A server that has everything said and keeps the connection open costs a moment, not
// the run.
func TestOpenEnd(t *testing.T) {
	for name, newAgent := range apis {
		t.Run(name, func(t *testing.T) {
			turn := openaiwire.Turn{Text: "Hello", Input: 1, Output: 2}
			s := openaiwire.New(t, func(r *openaiwire.Request) openaiwire.Reply {
				return openaiwire.Reply{Body: append(turn.Steps(r), openaiwire.Hang())}
			})
			begin := time.Now()
			r, err := newAgent(t, s, 0, openaiprovider.AgentConfig{Model: "fake"}).RunText(t.Context(), "hi").Collect()
			if err != nil || r.String() != "Hello" || r.Usage().TotalTokenCount != 3 {
				t.Errorf("%q, %v, %v", r, r.Usage(), err)
			}
			if d := time.Since(begin); d > 2*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
	t.Run("chat, without [DONE] and with a long patience", func(t *testing.T) {
		if os.Getenv("LOCKSTEP_LONG") == "" {
			t.Skip("takes ten seconds: set LOCKSTEP_LONG=1")
		}
		s := openaiwire.New(t, openaiwire.Script(t, openaiwire.Reply{Body: []openaiwire.Step{openaiwire.Chunk(`{"content":"Hello"}`), openaiwire.Finish("stop"), openaiwire.Hang()}}))
		begin := time.Now()
		r, err := apis["chat"](t, s, 0, openaiprovider.AgentConfig{Model: "fake"}).RunText(t.Context(), "hi").Collect()
		if d := time.Since(begin); err != nil || r.String() != "Hello" || d > 15*time.Second {
			t.Errorf("%q, %v after %v", r, err, d)
		}
	})
	t.Run("chat, without [DONE]", func(t *testing.T) {
		s := openaiwire.New(t, openaiwire.Script(t, openaiwire.Reply{Body: []openaiwire.Step{openaiwire.Chunk(`{"content":"Hello"}`), openaiwire.Finish("stop"), openaiwire.Hang()}}))
		a := apis["chat"](t, s, 0, openaiprovider.AgentConfig{Model: "fake", IdleTimeout: 50 * time.Millisecond})
		if r, err := a.RunText(t.Context(), "hi").Collect(); err != nil || r.String() != "Hello" {
			t.Errorf("%q, %v", r, err)
		}
	})
}

// A run that is stopped gives the connection up at once, however it is stopped, and
// gets its own error back.
func TestStop(t *testing.T) {
	reason := errors.New("the person closed the page")
	for name, newAgent := range apis {
		for how, at := range map[string]bool{"before the answer": false, "in the answer": true} {
			t.Run(name+",cancelled "+how, func(t *testing.T) {
				s := openaiwire.New(t, func(r *openaiwire.Request) openaiwire.Reply {
					var steps []openaiwire.Step
					if at {
						steps = head(t, (openaiwire.Turn{Text: "Hello"}).Steps(r), "Hello")
					}
					return openaiwire.Reply{Body: append(steps, openaiwire.Hang())}
				})
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				a := newAgent(t, s, 0, openaiprovider.AgentConfig{Model: "fake"}, option.WithMaxRetries(2))
				var stopped time.Time
				stop := func() { stopped = time.Now(); cancel(reason) }
				if !at {
					time.AfterFunc(50*time.Millisecond, func() { cancel(reason) })
					stopped = time.Now().Add(50 * time.Millisecond)
				}
				var last error
				for _, err := range a.RunText(ctx, "hi") {
					if last = err; err == nil {
						stop()
					}
				}
				if !errors.Is(last, reason) && !errors.Is(last, context.Canceled) {
					t.Errorf("the stream ended with %v", last)
				}
				if d := time.Since(stopped); d > 100*time.Millisecond {
					t.Errorf("it took %v to stop", d)
				}
				gone(t, s.Requests()[0])
			})
		}
		t.Run(name+",broken out of", func(t *testing.T) {
			s := openaiwire.New(t, func(r *openaiwire.Request) openaiwire.Reply {
				return openaiwire.Reply{Body: append(head(t, (openaiwire.Turn{Text: "Hello"}).Steps(r), "Hello"), openaiwire.Hang())}
			})
			for u, err := range newAgent(t, s, 0, openaiprovider.AgentConfig{Model: "fake"}).RunText(t.Context(), "hi") {
				if err != nil || u.String() != "Hello" {
					t.Fatal(u, err)
				}
				break
			}
			gone(t, s.Requests()[0])
		})
	}
}

// R15: a fragment is passed on with the chunk it came in. The server does not go on
// before it was seen.
func TestNoLatency(t *testing.T) {
	for name, newAgent := range apis {
		t.Run(name, func(t *testing.T) {
			turn := openaiwire.Turn{Calls: []openaiwire.Call{{ID: "c1", Name: "f", Arguments: `{"a":[1,2,3]}`}}, Fragment: 1}
			seen := make([]chan struct{}, 64)
			for i := range seen {
				seen[i] = make(chan struct{})
			}
			s := openaiwire.New(t, func(r *openaiwire.Request) openaiwire.Reply {
				var steps []openaiwire.Step
				n := 0
				for _, step := range turn.Steps(r) {
					steps = append(steps, step)
					if strings.Contains(step.String(), `"c1"`) && n == 0 || isFragment(step) {
						steps = append(steps, openaiwire.Wait(seen[n]))
						n++
					}
				}
				return openaiwire.Reply{Body: steps}
			})
			n := 0
			for u, err := range newAgent(t, s, 0, openaiprovider.AgentConfig{Model: "fake", IdleTimeout: 5 * time.Second, Config: agent.Config{DisableFuncAutoCall: true}}).RunText(t.Context(), "hi") {
				if err != nil {
					t.Fatalf("after %d fragments: %v", n, err)
				}
				for _, c := range u.Contents {
					if _, ok := c.(*message.FunctionCallDelta); ok {
						close(seen[n])
						n++
					}
				}
			}
			if want := 1 + len(`{"a":[1,2,3]}`); n != want {
				t.Errorf("%d fragments, want %d", n, want)
			}
		})
	}
}

func isFragment(s openaiwire.Step) bool {
	text := s.String()
	return strings.Contains(text, `"function":{"arguments":`) || strings.Contains(text, `arguments.delta`)
}

// Memory: an event, a line and a whole answer have bounds, and a run that meets one
// fails.
func TestBounds(t *testing.T) {
	big := strings.Repeat("x", 3000)
	endless := make([]openaiwire.Step, 0, 64)
	for range 64 {
		endless = append(endless, openaiwire.Comment(strings.Repeat("y", 900)))
	}
	for name, steps := range map[string][]openaiwire.Step{
		"a long event":      {openaiwire.Chunk(`{"content":"` + big + `"}`), openaiwire.Done()},
		"a line for ever":   {openaiwire.Raw("data: " + big + big)},
		"an event for ever": {openaiwire.Raw(strings.Repeat("data: xxxxxxxxxxxxxxxx\n", 1000))},
		"comments for ever": endless,
		"a long object":     {openaiwire.Raw(`{"choices":[{"message":{"content":"` + big + `"}}]}`)},
	} {
		for api, newAgent := range apis {
			for _, cut := range openaiwire.Cuts {
				t.Run(fmt.Sprintf("%s,%s,cut=%d", api, name, cut), func(t *testing.T) {
					s := openaiwire.New(t, openaiwire.Script(t, openaiwire.Reply{Body: steps}))
					failure, _ := mustFail(t, newAgent(t, s, cut, openaiprovider.AgentConfig{Model: "fake", MaxEventBytes: 2000}).RunText(t.Context(), "hi"), agui.CodeModelError)
					if !strings.Contains(failure.Error(), "too long") {
						t.Errorf("failure %v", failure)
					}
				})
			}
		}
	}
}
