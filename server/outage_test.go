package server_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
	"github.com/lockstep-go/lockstep/thread/storetest"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// A store that goes and does not come back, on the wire: the run's stream and a
// viewer's end with everything closed, the prediction taken back and RUN_ERROR
// store_unavailable; requests get 503; and all works again when the store does.
func TestStoreGoes(t *testing.T) {
	store := storetest.NewFaults(memory.New())
	threads := thread.New(store, &thread.Options{StoreWait: 200 * time.Millisecond})
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := threads.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	gate := make(chan struct{})
	a, cfg := gated(gate)
	srv := listen(t, a, &server.Options{State: cfg, Threads: threads}, nil)
	url := srv.URL + "/threads/t"

	s := newStream(t, srv.URL, body)
	s.until(is[*agui.StateDelta])
	attached, viewed := make(chan struct{}), make(chan []agui.Event)
	go func() {
		first := true
		events, _ := frames(t, t.Context(), url+"/events?protocolVersion=1.0", nil, func(e agui.Event) bool {
			if is[*agui.ToolCallStart](e) && first { // the prelude's last
				close(attached)
				first = false
			}
			return false
		})
		viewed <- events
	}()
	<-attached
	store.Down(true)
	close(gate) // the agent goes on, and nothing of it can be stored
	s.until(nil)
	for who, events := range map[string][]agui.Event{"the run's stream": s.events, "a viewer": <-viewed} {
		var order agui.Sequence
		view := agui.NewReducer(nil, jsondoc.Value{})
		for _, e := range events {
			if err := order.Check(e); err != nil {
				t.Errorf("W1: %s: %v", who, err)
			}
			if err := view.Apply(e); err != nil {
				t.Errorf("W2: %s: %v", who, err)
			}
		}
		end, ok := events[len(events)-1].(*agui.RunError)
		if !ok || end.Code != agui.CodeStoreUnavailable {
			t.Errorf("%s ends with %+v", who, events[len(events)-1])
		}
		if !strings.HasSuffix(eventTypes(events), "TOOL_CALL_END STATE_SNAPSHOT RUN_ERROR") || view.State().String() != `{"document":"old"}` {
			t.Errorf("%s is left with %s: %s", who, view.State(), eventTypes(events))
		}
	}
	for _, c := range []struct{ method, path, contentType, body string }{
		{"GET", "/threads/t", "", ""}, {"GET", "/threads/t/events", "", ""}, {"PATCH", "/threads/t/state", mergeJSON, `{"a":1}`},
		{"POST", "/threads/t/undo", "", ""}, {"DELETE", "/threads/t", "", ""}, {"POST", "/", "application/json", body}, {"GET", "/threads", "", ""},
	} {
		if status, _, text := request(t, c.method, srv.URL+c.path, c.body, "Content-Type", c.contentType); status != http.StatusServiceUnavailable || strings.Contains(text, "storetest") {
			t.Errorf("%s %s without a store: %d %s", c.method, c.path, status, text)
		}
	}

	store.Down(false)
	wantState(t, url, `{"document":"old"}`) // the dead run is ended in the log as well
	status, _, text := post(t, srv.URL, "application/json", strings.Replace(body, `"id":"u"`, `"id":"u2"`, 1))
	if status != http.StatusOK || !strings.Contains(text, "RUN_FINISHED") {
		t.Errorf("the next run: %d %s", status, text)
	}
	events, _ := frames(t, t.Context(), url+"/events?protocolVersion=1.0&live=false", nil, nil)
	var order agui.Sequence
	for _, e := range events {
		if err := order.Check(e); err != nil {
			t.Errorf("W1: %v", err)
		}
	}
}

// T6: who does not read its body delays nobody, whatever is sent meanwhile; and
// when it reads on, nothing is missing.
func TestT6BodyNobodyReads(t *testing.T) {
	write := functool.MustNew(functool.Config{Name: "write"}, func(context.Context, struct {
		Document string `json:"document"`
	}) (string, error) {
		return "Written.", nil
	})
	text := strings.Repeat("a long text that fills every buffer on the way ", 5000) // and it is sent again as it grows
	m := agenttest.New(agenttest.Turn(agenttest.Call("c1", "write", `{"document":"`+text+`"}`)), agenttest.Turn(agenttest.Text("Done.")))
	m.Chunk = 16 << 10
	srv := listen(t, m.Agent(agent.Config{Tools: []tool.Tool{write}}), &server.Options{State: state.Config{
		Initial: jsondoc.MustParse(`{"document":""}`),
		Predict: map[string]state.Prediction{"document": {Tool: "write", Argument: "document"}},
	}}, nil)
	url := srv.URL + "/threads/t"
	if status, _ := patch(t, url, "", `{"mine":1}`); status != http.StatusOK {
		t.Fatal(status)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/events?protocolVersion=1.0", nil)
	if err != nil {
		t.Fatal(err)
	}
	// Its connection takes little that is not read.
	narrow := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(128 << 10)
		}
		return c, err
	}}
	defer narrow.CloseIdleConnections()
	slow, err := (&http.Client{Transport: narrow}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Body.Close()
	lines := bufio.NewReader(slow.Body)
	if _, err := lines.ReadString('\n'); err != nil { // it is attached, and then it does not read
		t.Fatal(err)
	}

	s := newStream(t, srv.URL, body)
	s.until(nil)
	if !is[*agui.RunFinished](s.events[len(s.events)-1]) {
		t.Fatalf("the run ends with %s", s.events[len(s.events)-1].EventType())
	}
	// An edit and another viewer do not wait for it either.
	if status, _ := patch(t, url, "", `{"mine":2}`); status != http.StatusOK {
		t.Error(status)
	}
	want := hydrated(t, url)
	view := agui.NewReducer(nil, jsondoc.Value{})
	for rec, err := range agui.ReadEvents(lines, &agui.EventsOptions{Bare: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := view.Apply(rec.Event); err != nil {
			t.Fatalf("W2: %v", err)
		}
		if rec.ID == want.Position {
			break
		}
	}
	if !jsondoc.Equal(view.State(), jsondoc.MustParse(string(want.State))) {
		t.Error("the slow viewer ends with another state")
	}
}
