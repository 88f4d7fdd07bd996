package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/demo"
	"github.com/lockstep-go/lockstep/internal/recording"
	"github.com/lockstep-go/lockstep/internal/verify"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/server"
)

// demoServer serves the demo agents with a scripted model that takes no time.
func demoServer(t *testing.T) string {
	t.Helper()
	host := server.NewHost(nil)
	for _, a := range demo.Agents() {
		made := scripted.NewAgent(scripted.AgentConfig{Config: a.Config, Options: scripted.Options{Pace: -1}})
		h, err := server.New(made, &server.Options{State: a.State})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range a.Paths {
			if err := host.Handle(path, h); err != nil {
				t.Fatal(err)
			}
		}
	}
	srv := httptest.NewServer(host)
	t.Cleanup(func() {
		srv.Close()
		_ = host.Close(context.Background())
	})
	return srv.URL
}

// Every demo agent's stream is right, over several runs of a thread in which the
// state is sent back (W1, W2).
func TestVerifyDemoAgents(t *testing.T) {
	url := demoServer(t)
	for _, a := range demo.Agents() {
		for _, path := range a.Paths {
			args := []string{
				"verify", url + path, "--message", "Make me a carbonara", "--message", "Give me a plan to make brownies",
				"--message", "Weather in Paris", "--message", "With less salt, please",
			}
			var out, errs bytes.Buffer
			if code := run(t.Context(), args, std{strings.NewReader(""), &out, &errs}); code != 0 || out.Len() > 0 || strings.Count(errs.String(), "RUN_FINISHED") != 4 {
				t.Errorf("%s: code %d\n%s%s", path, code, &out, &errs)
			}
		}
	}
}

// What is recorded of a run is what was sent: verify has nothing to say, and a
// replay gives the same events under other ids.
func TestRecordReplayRun(t *testing.T) {
	url := demoServer(t)
	file := filepath.Join(t.TempDir(), "run.jsonl")
	do := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, std{strings.NewReader(""), &out, &errs}); code != 0 {
			t.Fatalf("%v: code %d\n%s%s", args, code, &out, &errs)
		}
		return out.String()
	}
	do("record", url+"/", "--message", "Make me a carbonara", "--thread", "t", "--out", file)
	do("verify", file)
	var recorded strings.Builder
	for _, l := range readAll(t, file) {
		if l.Data != nil {
			recorded.Write(append(l.Data, '\n'))
		}
	}
	play := httptest.NewServer(&replayer{file: file})
	defer play.Close()
	replayed := do("run", play.URL+"/any", "--message", "hi", "--thread", "other")
	var got, want agui.Reducer
	reduce(t, &got, replayed)
	reduce(t, &want, recorded.String())
	if got.State().String() != want.State().String() || strings.Count(replayed, "\n") != strings.Count(recorded.String(), "\n") {
		t.Errorf("replayed\n%s\nrecorded\n%s", replayed, &recorded)
	}
	if strings.Contains(replayed, `"threadId":"t"`) || !strings.Contains(replayed, `"threadId":"other"`) {
		t.Error("the ids are not the posted ones")
	}
}

func reduce(t *testing.T, r *agui.Reducer, events string) {
	t.Helper()
	for line := range strings.Lines(events) {
		e, err := agui.DecodeEvent([]byte(line), nil)
		if err == nil {
			err = r.Apply(e)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
	}
}

func readAll(t *testing.T, file string) (lines []recording.Line) {
	t.Helper()
	r, closeFile, err := openRecording(file)
	if err != nil {
		t.Fatal(err)
	}
	defer closeFile()
	for {
		l, err := r.Next()
		if err == io.EOF {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
}

// handler answers every POST with what write writes.
func handler(t *testing.T, write func(w http.ResponseWriter, r *http.Request)) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(write))
	t.Cleanup(srv.Close)
	return srv.URL
}

func exchangeAll(t *testing.T, ctx context.Context, x *exchange) (lines []recording.Line) {
	t.Helper()
	for l, err := range x.lines(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

const (
	runStarted  = "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n"
	runFinished = "data: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n"
)

// How a body can end, and what is seen of it.
func TestExchangeEnds(t *testing.T) {
	stream := func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
	}
	for _, c := range []struct {
		name   string
		serve  func(w http.ResponseWriter, r *http.Request)
		grace  time.Duration
		stop   error // the cause, when the first event has come
		want   recording.End
		events int
	}{
		{"closed", func(w http.ResponseWriter, _ *http.Request) { stream(w, runStarted+runFinished) }, time.Hour, nil, recording.Closed, 2},
		{"left open after the end", func(w http.ResponseWriter, r *http.Request) {
			stream(w, runStarted+runFinished)
			<-r.Context().Done()
		}, time.Millisecond, nil, recording.Open, 2},
		{"broken", func(w http.ResponseWriter, _ *http.Request) {
			stream(w, runStarted)
			panic(http.ErrAbortHandler)
		}, time.Hour, nil, recording.Broken, 1},
		{"too long", func(w http.ResponseWriter, r *http.Request) {
			stream(w, runStarted)
			<-r.Context().Done()
		}, time.Hour, errTimeout, recording.TimedOut, 1},
		{"stopped", func(w http.ResponseWriter, r *http.Request) {
			stream(w, runStarted)
			<-r.Context().Done()
		}, time.Hour, context.Canceled, recording.Stopped, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			x := post(handler(t, c.serve), "", &agui.RunAgentInput{ThreadID: "t", RunID: "r"})
			x.grace = c.grace
			events := 0
			var last recording.Line
			for l, err := range x.lines(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				if last = l; l.Data != nil {
					if events++; c.stop != nil {
						cancel(c.stop)
					}
				}
			}
			if last.End != c.want || events != c.events {
				t.Errorf("%d events, then %q (%s); want %d, then %q", events, last.End, last.Reason, c.events, c.want)
			}
		})
	}
}

// A server whose answers no client could split is told so.
func TestVerifySeesCarriageReturns(t *testing.T) {
	url := handler(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.ReplaceAll(runStarted+runFinished, "\n", "\r\n"))
	})
	in := &agui.RunAgentInput{ThreadID: "t", RunID: "r"}
	c := verify.New(&verify.Options{Input: in})
	var faults []verify.Fault
	for _, l := range exchangeAll(t, t.Context(), post(url, "", in)) {
		faults = append(faults, c.Line(l)...)
	}
	if len(faults) != 1 || faults[0].Kind != verify.Framing || faults[0].Event != 1 {
		t.Errorf("%v", faults)
	}
}

// The second run sends what a stock client would: history, state, and an answer
// to everything that the first run asked.
func TestVerifyAsksLikeAClient(t *testing.T) {
	var inputs []*agui.RunAgentInput
	url := handler(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		in, err := agui.DecodeInput(body, &agui.DecodeOptions{Strict: true})
		if err != nil {
			t.Error(err)
			return
		}
		inputs = append(inputs, in)
		out, err := agui.NewWriter(w, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer out.Close()
		outcome := &agui.Outcome{Type: agui.OutcomeInterrupt, Interrupts: []agui.Interrupt{{ID: "i1", Reason: agui.ReasonConfirmation}}}
		if len(inputs) > 1 {
			outcome = nil
		}
		for _, e := range []agui.Event{
			&agui.RunStarted{ThreadID: in.ThreadID, RunID: in.RunID},
			&agui.StateSnapshot{Snapshot: in.State.With("n", in.State)},
			&agui.TextMessageStart{MessageID: fmt.Sprint("m", len(inputs))}, &agui.TextMessageContent{MessageID: fmt.Sprint("m", len(inputs)), Delta: "So?"}, &agui.TextMessageEnd{MessageID: fmt.Sprint("m", len(inputs))},
			&agui.ActivitySnapshot{MessageID: fmt.Sprint("a", len(inputs)), ActivityType: "PLAN", Content: in.State},
			&agui.RunFinished{ThreadID: in.ThreadID, RunID: in.RunID, Outcome: outcome},
		} {
			if err := out.WriteEvent("", e); err != nil {
				t.Error(err)
			}
		}
	})
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"verify", url, "--message", "Hi"}, std{strings.NewReader("not read"), &out, &errs}); code != 0 {
		t.Fatalf("code %d\n%s%s", code, &out, &errs)
	}
	if len(inputs) != 2 || inputs[0].ThreadID != inputs[1].ThreadID || inputs[0].RunID == inputs[1].RunID {
		t.Fatalf("%d runs", len(inputs))
	}
	second := inputs[1]
	if second.State.String() != `{"n":{}}` || len(second.Messages) != 2 || second.Messages[0].Content.Text() != "Hi" || second.Messages[1].ID != "m1" {
		t.Errorf("the second run sends %s", second.AppendJSON(nil))
	}
	if len(second.Resume) != 1 || second.Resume[0].InterruptID != "i1" || second.Resume[0].Status != agui.ResumeCancelled {
		t.Errorf("it answers %+v", second.Resume)
	}
}

// Times: a replay at the recorded speed takes as long as the run took.
func TestReplayKeepsTheTimes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := recording.NewWriter(f, recording.Header{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []recording.Line{
		{Response: &recording.Response{Status: 200, ContentType: "text/event-stream"}},
		{Data: []byte(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)},
		{At: 400 * time.Millisecond, Data: []byte(`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)},
		{At: 400 * time.Millisecond, End: recording.Open},
	} {
		if err := w.Write(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(&replayer{file: file, speed: 4})
	defer srv.Close()
	x := post(srv.URL, "", &agui.RunAgentInput{ThreadID: "mine", RunID: "r1"})
	x.grace = time.Millisecond
	lines := exchangeAll(t, t.Context(), x)
	// Busy machines are late, never early.
	if len(lines) != 4 || lines[2].At < 100*time.Millisecond || lines[3].End != recording.Open {
		t.Errorf("%+v", lines)
	}
}

// A run that fails is no fault of the stream.
func TestVerifyRunError(t *testing.T) {
	fail := func() agenttest.Script { return agenttest.Turn(agenttest.Fail(errors.New("no model today"))) }
	a := agenttest.New(fail(), fail()).Agent(agent.Config{Name: "a"})
	h, err := server.New(a, nil)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer h.Close(context.Background())
	defer srv.Close()
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"verify", srv.URL}, std{strings.NewReader(""), &out, &errs}); code != 0 || !strings.Contains(errs.String(), "RUN_ERROR (internal)") && !strings.Contains(errs.String(), "RUN_ERROR (model_error)") {
		t.Errorf("code %d\n%s%s", code, &out, &errs)
	}
}

// run prints what came: on one line, and nothing that acts on a terminal.
func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		`{ "type":"A", "a":1.0 }`:             `{ "type":"A", "a":1.0 }`,
		"{\n  \"type\": \"A\"\r\n}":           `{"type":"A"}`,
		"{\"a\":\"\u009b2J\u202egnp.🍝\x7f\"}": "{\"a\":\"\\u009b2J\\u202egnp.🍝\\u007f\"}",
		"{\"a\":\"\xff\"}":                    "{\"a\":\"\xff\"}",
	} {
		got, err := oneLine([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, want %q (%v)", in, got, want, err)
		}
	}
	for _, bad := range []string{"", "[DONE]", "{}{}", "{\n"} {
		if got, err := oneLine([]byte(bad)); err == nil {
			t.Errorf("%q: %q", bad, got)
		}
	}
}
