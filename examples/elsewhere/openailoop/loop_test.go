package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/lockstep-go/lockstep/internal/openaiwire"
)

// A run through the whole server: the note grows in the state while the foreign loop's
// model writes it, the loop's own result is the one that counts, and the model is asked
// by the loop only.
func TestServed(t *testing.T) {
	model := openaiwire.New(t, openaiwire.Script(t,
		openaiwire.Reply{Body: []openaiwire.Step{
			openaiwire.Chunk(`{"role":"assistant","content":"Let me write. "}`),
			openaiwire.Chunk(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"write_note","arguments":""}}]}`),
			openaiwire.Chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"note\":\"Buy"}}]}`),
			openaiwire.Chunk(`{"tool_calls":[{"index":0,"function":{"arguments":" milk and bread\"}"}}]}`),
			openaiwire.Finish("tool_calls"), openaiwire.Done(),
		}},
		openaiwire.Reply{Body: []openaiwire.Step{openaiwire.Chunk(`{"content":"Noted."}`), openaiwire.Finish("stop"), openaiwire.Done()}},
	))
	var kept string
	h, err := handler(&loop{
		client: openai.NewClient(option.WithBaseURL(model.BaseURL()), option.WithAPIKey("test")),
		model:  "m",
		notes:  func(n string) error { kept = n; return nil },
	})
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
	if kept != "Buy milk and bread" {
		t.Errorf("kept %q", kept)
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
	if n := strings.Count(string(events), `"TOOL_CALL_RESULT"`); n != 1 {
		t.Errorf("%d results", n)
	}
}
