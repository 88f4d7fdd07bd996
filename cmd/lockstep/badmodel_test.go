package main

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/internal/openaiwire"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// Whatever a model server does, from a refusal to a cut in the middle of the
// arguments: what is open is closed, what was predicted is taken back, the run
// ends with a code and a text that gives nothing away, and the next run works
// (P8, P9, R9, R12, S3, W5).
func TestBadModelServers(t *testing.T) {
	const secret = "secret-marker"
	written := `{"recipe":{"title":"Half a ` // and then something happens
	call := func(args string) openaiwire.Step {
		return openaiwire.Chunk(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"update_recipe","arguments":` + openaiwire.Quote(args) + `}}]}`)
	}
	more := func(args string) openaiwire.Step {
		return openaiwire.Chunk(`{"tool_calls":[{"index":0,"function":{"arguments":` + openaiwire.Quote(args) + `}}]}`)
	}
	begun := []openaiwire.Step{openaiwire.Chunk(`{"role":"assistant","content":"On it."}`), call(written), more(`soup","ski`)}
	body := func(text string) []openaiwire.Step { return []openaiwire.Step{openaiwire.Raw(text)} }
	for name, c := range map[string]struct {
		reply openaiwire.Reply
		end   agui.EventType
		code  string
	}{
		"500":               {openaiwire.Reply{Status: 500, Body: body(`{"error":{"message":"` + secret + `"}}`)}, agui.TypeRunError, agui.CodeModelError},
		"429":               {openaiwire.Reply{Status: 429, Body: body(`{"error":{"message":"` + secret + `"}}`)}, agui.TypeRunError, agui.CodeModelError},
		"401":               {openaiwire.Reply{Status: 401, Body: body(`{"error":{"message":"` + secret + `"}}`)}, agui.TypeRunError, agui.CodeModelError},
		"not JSON":          {openaiwire.Reply{Body: body("data: " + secret + "\n\n")}, agui.TypeRunError, agui.CodeModelError},
		"empty":             {openaiwire.Reply{}, agui.TypeRunError, agui.CodeModelError},
		"error in stream":   {openaiwire.Reply{Body: append(begun[:3:3], openaiwire.Data(`{"error":{"message":"`+secret+`"}}`))}, agui.TypeRunError, agui.CodeModelError},
		"closed in call":    {openaiwire.Reply{Body: append(begun[:3:3], openaiwire.Drop())}, agui.TypeRunError, agui.CodeModelError},
		"ends without word": {openaiwire.Reply{Body: begun}, agui.TypeRunError, agui.CodeModelError},
		"cut by length":     {openaiwire.Reply{Body: append(begun[:3:3], openaiwire.Finish("length"), openaiwire.Done())}, agui.TypeRunFinished, ""},
		"bad arguments":     {openaiwire.Reply{Body: append(begun[:3:3], openaiwire.Finish("tool_calls"), openaiwire.Done())}, agui.TypeRunFinished, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int32
			good := openaiwire.Turn{Text: "All is well."}
			wire := openaiwire.New(t, func(r *openaiwire.Request) openaiwire.Reply {
				// The client retries what has not begun; all its tries get the same.
				if conversation, err := r.Conversation(); err == nil && (strings.Contains(conversation.LastUser(), "again") || n.Add(1) > 3) {
					return openaiwire.Reply{Body: good.Steps(r)}
				}
				if last, err := r.Conversation(); err == nil && len(last.Messages) > 0 && last.Messages[len(last.Messages)-1].Role == "tool" {
					return openaiwire.Reply{Body: good.Steps(r)}
				}
				return c.reply
			})
			t.Setenv("OPENAI_BASE_URL", wire.URL+"/v1")
			t.Setenv("OPENAI_API_KEY", secret+"-key")
			url, stop := serve(t, "--model", "openai:m")
			defer stop()
			th := client.New(url+"/", nil).Thread("")
			th.SetState(jsondoc.MustParse(`{"recipe":{"title":"Old"}}`))
			var events []agui.Event
			for e, err := range th.Run(t.Context(), &client.RunOptions{Text: "A soup"}) {
				if err != nil {
					break
				}
				events = append(events, e)
				if text := string(agui.AppendEvent(nil, e, agui.V1)); strings.Contains(text, secret) {
					t.Errorf("W5: %s", text)
				}
			}
			last := events[len(events)-1]
			if last.EventType() != c.end {
				t.Errorf("ends with %s, want %s", agui.AppendEvent(nil, last, agui.V1), c.end)
			}
			if e, ok := last.(*agui.RunError); ok && e.Code != c.code {
				t.Errorf("code %s, want %s", e.Code, c.code)
			}
			if got := th.State().String(); got != `{"recipe":{"title":"Old"}}` {
				t.Errorf("S3: the state is %s", got)
			}
			finished := false
			for e, err := range th.Run(t.Context(), &client.RunOptions{Text: "Try again"}) {
				if err != nil {
					t.Fatal(err)
				}
				_, finished = e.(*agui.RunFinished)
			}
			if !finished {
				t.Error("the next run does not finish")
			}
		})
	}
}
