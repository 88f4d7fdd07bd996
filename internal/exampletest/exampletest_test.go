package exampletest

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// What must not get past the examples' tests does not.
func TestTake(t *testing.T) {
	const (
		started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`
		finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
		snapshot = `{"type":"STATE_SNAPSHOT","snapshot":{"a":1}}`
		delta    = `{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/a","value":2}]}`
		misses   = `{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/b","value":2}]}`
		args     = `{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}"}`
	)
	for _, tt := range []struct {
		name   string
		stream []string
		want   string // part of the error; empty: none
	}{
		{"a run", []string{started, snapshot, delta, finished}, ""},
		{"a delta that does not apply", []string{started, snapshot, misses, finished}, "/b"},
		{"a delta before a snapshot", []string{started, delta, snapshot, finished}, "W2"},
		{"no terminal event", []string{started, snapshot}, "ended before its run did"},
		{"nothing", nil, "ended before its run did"},
		{"an event out of order", []string{started, args, finished}, "TOOL_CALL_ARGS"},
		{"an event after the end", []string{started, finished, snapshot}, "STATE_SNAPSHOT"},
		{"no JSON", []string{started, `{"type":`, finished}, "agui"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var body strings.Builder
			for _, data := range tt.stream {
				body.WriteString("data: " + data + "\n\n")
			}
			var got error
			n := 0
			for _, err := range take(strings.NewReader(body.String()), agui.NewReducer(nil, jsondoc.MustParse(`{"a":0}`))) {
				if got != nil {
					t.Error("the sequence goes on after an error")
				}
				if got = err; err == nil {
					n++
				}
			}
			if tt.want == "" && (got != nil || n != len(tt.stream)) {
				t.Errorf("%d events, then %v", n, got)
			}
			if tt.want != "" && (got == nil || !strings.Contains(got.Error(), tt.want)) {
				t.Errorf("the error is %v, want one about %q", got, tt.want)
			}
		})
	}
}

// Random ids are numbered by kind, each the same wherever it comes; what looks
// like them and is none stays.
func TestNormal(t *testing.T) {
	s := &Server{ids: map[string]string{}, kinds: map[string]int{}}
	for _, tt := range []struct{ in, want string }{
		{`{"id":"msg-abcdefghijklmnopqrstuvwxyz"}`, `{"id":"msg-1"}`},
		{`{"id":"msg-zbcdefghijklmnopqrstuvwxyz","call":"draft-ABCDEFGHIJKLMNOPQRSTUVWXYZ"}`, `{"id":"msg-2","call":"draft-1"}`},
		{`{"id":"msg-abcdefghijklmnopqrstuvwxyz"}`, `{"id":"msg-1"}`},
		{`{"text":"well-known words"}`, `{"text":"well-known words"}`},
		{`{"position":"k3j5x7-12"}`, `{"position":"E-12"}`},
		{`{"inputTokens":937,"outputTokens":24,"totalTokens":961}`, `{"inputTokens":0,"outputTokens":0,"totalTokens":0}`},
	} {
		if got := string(s.normal([]byte(tt.in))); got != tt.want {
			t.Errorf("%s became %s, want %s", tt.in, got, tt.want)
		}
	}
}
