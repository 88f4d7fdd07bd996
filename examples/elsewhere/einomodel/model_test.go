package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/openai"

	"github.com/lockstep-go/lockstep/internal/openaiwire"
)

// A run through the whole server with eino's model for OpenAI: the state grows while the
// model writes, Lockstep runs the tool, and eino's model gets its result.
func TestServed(t *testing.T) {
	var second *openaiwire.Request
	replies := []openaiwire.Reply{
		{Body: []openaiwire.Step{
			openaiwire.Chunk(`{"role":"assistant","content":"Let me write. "}`),
			openaiwire.Chunk(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"write_note","arguments":""}}]}`),
			openaiwire.Chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"note\":\"Buy"}}]}`),
			openaiwire.Chunk(`{"tool_calls":[{"index":0,"function":{"arguments":" milk and bread\"}"}}]}`),
			openaiwire.Finish("tool_calls"), openaiwire.Done(),
		}},
		{Body: []openaiwire.Step{openaiwire.Chunk(`{"content":"Noted."}`), openaiwire.Finish("stop"), openaiwire.Done()}},
	}
	script := openaiwire.Script(t, replies...)
	server := openaiwire.New(t, func(r *openaiwire.Request) openaiwire.Reply { second = r; return script(r) })
	m, err := openai.NewChatModel(t.Context(), &openai.ChatModelConfig{APIKey: "test", BaseURL: server.BaseURL(), Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := handler(m)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	web := httptest.NewServer(h)
	defer web.Close()
	body := `{"threadId":"t","runId":"r","state":{},"messages":[{"id":"u","role":"user","content":"Note: milk and bread"}],"tools":[],"context":[],"forwardedProps":{}}`
	response, err := http.Post(web.URL, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	events, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, part := range []string{
		`"RUN_STARTED"`, `"Let me write. "`, `"TOOL_CALL_START"`, `"STATE_DELTA"`, `Buy milk and bread`, `"Note written."`, `"Noted."`, `"RUN_FINISHED"`,
	} {
		i := strings.Index(string(events[at:]), part)
		if i < 0 {
			t.Fatalf("%s is missing or comes too early in\n%s", part, events)
		}
		at += i
	}
	if got := string(second.Body); !strings.Contains(got, "Note written.") || !strings.Contains(got, "You keep the user's note.") {
		t.Errorf("the model was told\n%s", got)
	}
}
