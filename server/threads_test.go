package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// gated is an agent that writes a document and stops in the middle of it until
// the test lets it go on.
func gated(gate <-chan struct{}) (*agent.Agent, state.Config) {
	write := functool.MustNew(functool.Config{Name: "write"}, func(context.Context, struct {
		Document string `json:"document"`
	}) (string, error) {
		return "Written.", nil
	})
	m := agenttest.New(
		agenttest.Turn(agenttest.Text("On it."), begin("c1", "write", `{"document":"Hello`), agenttest.Do(func(ctx context.Context) error {
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}), begin("c1", "write", ` world"}`), agenttest.Finish(agent.FinishReasonToolCalls)),
		agenttest.Turn(agenttest.Text("Done.")),
	)
	m.Repeat = true
	return m.Agent(agent.Config{Tools: []tool.Tool{write}}), state.Config{
		Initial: jsondoc.MustParse(`{"document":"old"}`),
		Predict: map[string]state.Prediction{"document": {Tool: "write", Argument: "document"}},
	}
}

// begin is a piece of a call's arguments.
func begin(id, name, fragment string) agenttest.Step {
	return agenttest.Contents(&message.FunctionCallDelta{CallID: id, Name: name, Arguments: fragment})
}

// frames reads a stream of events; until says when to stop.
func frames(t *testing.T, ctx context.Context, url string, header http.Header, until func(agui.Event) bool) (events []agui.Event, ids []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for rec, err := range agui.ReadEvents(res.Body, &agui.EventsOptions{Bare: true}) {
		if err != nil {
			t.Fatalf("%v after %d events", err, len(events))
		}
		id := ""
		if rec.OwnID {
			id = rec.ID
		}
		events, ids = append(events, rec.Event), append(ids, id)
		if until != nil && until(rec.Event) {
			return events, ids
		}
	}
	return events, ids
}

func eventTypes(events []agui.Event) string {
	var out []string
	for _, e := range events {
		out = append(out, string(e.EventType()))
	}
	return strings.Join(out, " ")
}

func is[E agui.Event](e agui.Event) bool { _, ok := e.(E); return ok }

// T3: who attaches while a run is under way gets a prelude that a stock client
// accepts, then every event behind it, once; from a position on exactly the
// events after it; an unknown position is answered as none.
func TestT3Attach(t *testing.T) {
	gate := make(chan struct{})
	a, cfg := gated(gate)
	srv := listen(t, a, &server.Options{State: cfg}, nil)
	url := srv.URL + "/threads/t/events"

	run := open(t, t.Context(), srv.URL)
	defer run.Body.Close()
	lines := bufio.NewReader(run.Body)
	for { // until the prediction is out
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "STATE_DELTA") {
			break
		}
	}
	var order agui.Sequence
	view := agui.NewReducer(nil, jsondoc.Value{})
	released := false
	events, ids := frames(t, t.Context(), url+"?protocolVersion=1.0", nil, func(e agui.Event) bool {
		if err := order.Check(e); err != nil {
			t.Fatalf("W1: %v", err)
		}
		if err := view.Apply(e); err != nil {
			t.Fatalf("W2: %v", err)
		}
		if is[*agui.ToolCallStart](e) && !released {
			released = true
			if got := view.State().String(); got != `{"document":"Hello"}` {
				t.Errorf("the prelude shows %s", got)
			}
			close(gate)
		}
		return is[*agui.RunFinished](e)
	})
	if got := eventTypes(events[:4]); got != "RUN_STARTED STATE_SNAPSHOT MESSAGES_SNAPSHOT TOOL_CALL_START" {
		t.Errorf("prelude %s", got)
	}
	for i, id := range ids {
		if (id == "") != (i < 3) {
			t.Errorf("event %d has id %q: of the prelude only the last has one", i, id)
		}
	}
	if events[0].(*agui.RunStarted).RunID != "r" {
		t.Error("the prelude does not name the active run")
	}

	// From a position in the middle: exactly what follows, once each.
	rest, restIDs := frames(t, t.Context(), url+"?live=false&after="+ids[3], nil, nil)
	if want := eventTypes(events[4:]); eventTypes(rest) != want {
		t.Errorf("after the prelude's position\n%s\nwant\n%s", eventTypes(rest), want)
	}
	for i := range restIDs {
		if restIDs[i] != ids[4+i] {
			t.Errorf("position %s, want %s", restIDs[i], ids[4+i])
		}
	}
	if last, _ := frames(t, t.Context(), url+"?live=false", http.Header{"Last-Event-Id": {ids[len(ids)-1]}}, nil); len(last) != 0 {
		t.Errorf("events behind the last: %s", eventTypes(last))
	}
	// Idle: a whole run with the state and the messages; T12: so are positions
	// that are garbage, of another log, or not there yet.
	for _, position := range []string{"", "garbage", "other-3", ids[3] + "999999", "-", "0"} {
		idle, _ := frames(t, t.Context(), url+"?live=false&after="+position, nil, nil)
		if got := eventTypes(idle); got != "RUN_STARTED STATE_SNAPSHOT MESSAGES_SNAPSHOT RUN_FINISHED" {
			t.Errorf("position %q: %s", position, got)
		}
	}
	if unknown, _ := frames(t, t.Context(), srv.URL+"/threads/nobody/events?live=false", nil, nil); len(unknown) != 0 {
		t.Errorf("an unknown thread has a prelude: %s", eventTypes(unknown))
	}
}

// Hydrate: state, messages, what is predicted, the active run, a position; 404
// for a thread that is not there. Stop: 204, or 404.
func TestHydrateAndStop(t *testing.T) {
	gate := make(chan struct{})
	a, cfg := gated(gate)
	srv := listen(t, a, &server.Options{State: cfg}, nil)
	get := func(id string) (int, map[string]any) {
		res, err := http.Get(srv.URL + "/threads/" + id)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var v map[string]any
		if err := json.NewDecoder(res.Body).Decode(&v); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, v
	}
	stop := func() int {
		req, _ := http.NewRequest(http.MethodDelete, srv.URL+"/threads/t/run", nil)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if status, _ := get("t"); status != 404 {
		t.Errorf("unknown thread: %d", status)
	}
	if status := stop(); status != 404 {
		t.Errorf("nothing to stop: %d", status)
	}
	run := open(t, t.Context(), srv.URL)
	lines := bufio.NewReader(run.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "STATE_DELTA") {
			break
		}
	}
	status, v := get("t")
	if status != 200 || v["activeRun"].(map[string]any)["runId"] != "r" || v["state"].(map[string]any)["document"] != "Hello" || v["predicted"].([]any)[0] != "/document" {
		t.Errorf("%d %v", status, v)
	}
	if status := stop(); status != 204 {
		t.Errorf("stop: %d", status)
	}
	rest, err := io.ReadAll(lines)
	run.Body.Close()
	if err != nil || !strings.Contains(string(rest), `"outcome":{"type":"cancelled"}`) {
		t.Errorf("%v %s", err, rest)
	}
	if _, v = get("t"); v["activeRun"] != nil || v["state"].(map[string]any)["document"] != "old" || len(v["predicted"].([]any)) != 0 {
		t.Errorf("after the stop: %v", v)
	}
	for _, id := range []string{"a%2Fb", "%20", "%F0%9F%A5%95"} {
		body := strings.Replace(body, `"t"`, map[string]string{"a%2Fb": `"a/b"`, "%20": `" "`, "%F0%9F%A5%95": `"🥕"`}[id], 1)
		ctx, cancel := context.WithCancel(t.Context())
		res := openBody(t, ctx, srv.URL, body)
		if status, v := get(id); status != 200 || v["threadId"] == "" {
			t.Errorf("thread %s: %d %v", id, status, v)
		}
		cancel()
		res.Body.Close()
	}
}

// A run that was posted to be attached to outlives the one who posted it, for
// the linger time.
func TestLinger(t *testing.T) {
	gate := make(chan struct{})
	a, cfg := gated(gate)
	srv := listen(t, a, &server.Options{State: cfg, Linger: 5 * time.Second}, nil)
	attached := strings.Replace(body, `"runId"`, `"forwardedProps":{"lockstep":{"attach":true}},"runId"`, 1)
	ctx, cancel := context.WithCancel(t.Context())
	res := openBody(t, ctx, srv.URL, attached)
	cancel()
	res.Body.Close()
	began := time.Now()
	events, _ := frames(t, t.Context(), srv.URL+"/threads/t/events?protocolVersion=1.0&live=false", nil, func(e agui.Event) bool {
		if is[*agui.ToolCallStart](e) { // still there, and this viewer keeps it there
			close(gate)
		}
		return is[*agui.RunFinished](e)
	})
	if end := events[len(events)-1].(*agui.RunFinished); end.Outcome != nil {
		t.Errorf("the run was ended: %+v after %v", end.Outcome, time.Since(began))
	}

	// And nobody comes back: it is stopped.
	ctx, cancel = context.WithCancel(t.Context())
	gate2 := make(chan struct{})
	a, cfg = gated(gate2)
	srv = listen(t, a, &server.Options{State: cfg, Linger: 50 * time.Millisecond}, nil)
	res = openBody(t, ctx, srv.URL, attached)
	cancel()
	res.Body.Close()
	for deadline := time.Now().Add(5 * time.Second); ; {
		res, err := http.Get(srv.URL + "/threads/t")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if strings.Contains(string(text), `"activeRun":null`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the run goes on: %s", text)
		}
	}
}
