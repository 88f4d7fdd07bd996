package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
)

func set(path, value string) jsondoc.Patch {
	return jsondoc.Patch{{Op: "replace", Path: jsondoc.Pointer(path), Value: jsondoc.MustParse(value)}}
}

// S6: an edit during a run is kept beside what the agent writes; one of a place
// that only a prediction has is a conflict. Both viewers see the same in the end.
func TestEditDuringARun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := serveWriter(t, 50*time.Millisecond)
		th := n.steady(nil).Thread("t")
		say(t, th, "hello")
		edited := false
		for e, err := range th.Run(t.Context(), &client.RunOptions{Text: "write a text of some length"}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.(*agui.StateDelta); !ok || edited {
				continue
			}
			edited = true
			done, err := th.Patch(t.Context(), set("/title", `"Mine"`))
			if err != nil || done.Position == "" || done.Revision == 0 {
				t.Errorf("%+v, %v", done, err)
			}
			if got, _ := th.State().At("/title"); got.Str() != "Mine" {
				t.Errorf("the edit does not show: %s", th.State())
			}
		}
		if !edited {
			t.Fatal("nothing was predicted")
		}
		if got := th.State().String(); got != `{"title":"Mine","document":"a text of some length"}` {
			t.Errorf("S6: the state is %s", got)
		}
		wantSame(t, th, hydrate(t, n.steady(nil), "t"))
	})
}

// Edits made on what was shown, whatever has happened since: merged where they
// can be, a conflict with its places where not.
func TestConflicts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := serveWriter(t, 0)
		ann, bob := n.steady(nil).Thread("t"), n.steady(nil).Thread("t")
		if _, err := ann.Merge(t.Context(), jsondoc.MustParse(`{"title":"One"}`)); err != nil {
			t.Fatal(err) // a thread that nobody knew
		}
		if _, err := bob.Hydrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := ann.Patch(t.Context(), set("/title", `"Ann's"`)); err != nil {
			t.Fatal(err)
		}
		done, err := bob.Patch(t.Context(), set("/document", `"Bob's"`))
		if err != nil || !done.Merged || bob.State().String() != `{"title":"Ann's","document":"Bob's"}` {
			t.Errorf("%+v %v: %s", done, err, bob.State())
		}
		ann.SetState(ann.State().With("document", jsondoc.String("waits"))) // made before she sees Bob's
		_, err = ann.Patch(t.Context(), set("/document", `"Ann's too"`))
		var conflict *client.ConflictError
		if !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Path != "/document" {
			t.Fatalf("the error is %v", err)
		}
		if got, _ := conflict.State.At("/document"); got.Str() != "Bob's" || conflict.Position != bob.Position() || !strings.Contains(err.Error(), `"/document"`) {
			t.Errorf("%s at %s: %v", conflict.State, conflict.Position, err)
		}
		var answer *client.HTTPError
		if !errors.As(err, &answer) || answer.Status != http.StatusConflict {
			t.Errorf("the answer is %v", answer)
		}
		// What waits for a run takes a later edit along and does not undo it.
		if _, err := ann.Patch(t.Context(), set("/title", `"Ann again"`)); err != nil {
			t.Fatal(err)
		}
		if got := ann.State().String(); got != `{"title":"Ann again","document":"waits"}` {
			t.Errorf("what waits is %s", got)
		}
		events := say(t, ann, "hello")
		report, found := client.ConflictReport{}, false
		for _, e := range events {
			if r, ok := client.ConflictFrom(e); ok {
				report, found = r, true
			}
		}
		if !found || len(report.Paths) != 1 || report.Paths[0] != "/document" || report.Policy == "" {
			t.Errorf("the conflict in the run is reported as %+v", report)
		}
		if got := ann.State().String(); got != `{"title":"Ann again","document":"waits"}` {
			t.Errorf("the state is %s", got)
		}
	})
}

// What the server refuses it says with path and reason, and nothing changes.
func TestRefusedEdits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, cfg := writer(0)
		cfg.Access = state.Access{"/title": state.ReadOnly}
		n := newNetwork(t, handler(t, a, cfg))
		th := n.steady(nil).Thread("t")
		say(t, th, "hello")
		before := th.Position()
		for _, c := range []struct {
			patch  jsondoc.Patch
			status int
			path   string
		}{
			{set("/title", `"x"`), http.StatusForbidden, "/title"},
			{set("/document", `5`), http.StatusUnprocessableEntity, "/document"},
			{set("/none", `5`), http.StatusUnprocessableEntity, "/none"},
		} {
			_, err := th.Patch(t.Context(), c.patch)
			var answer *client.HTTPError
			if !errors.As(err, &answer) || answer.Status != c.status || len(answer.Problems) != 1 || answer.Problems[0].Path != c.path || !strings.Contains(err.Error(), c.path) {
				t.Errorf("%s: %v (%+v)", c.patch, err, answer)
			}
		}
		if _, err := th.Undo(t.Context()); err == nil {
			t.Error("there was something to undo")
		} else if conflict := (*client.ConflictError)(nil); !errors.As(err, &conflict) || conflict.Reason == "" {
			t.Errorf("undo: %v", err)
		}
		if th.Position() != before {
			t.Errorf("the thread has moved from %s to %s", before, th.Position())
		}
	})
}

// Undo takes back what the agent did and keeps what people did.
func TestUndo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := serveWriter(t, 0)
		th := n.steady(nil).Thread("t")
		say(t, th, "write the first")
		say(t, th, "write the second")
		if _, err := th.Merge(t.Context(), jsondoc.MustParse(`{"title":"Mine"}`)); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"the first", ""} {
			done, err := th.Undo(t.Context())
			if err != nil || len(done.Conflicts) != 0 || done.Position != th.Position() {
				t.Fatalf("%+v, %v", done, err)
			}
			if got := th.State().String(); got != `{"title":"Mine","document":"`+want+`"}` {
				t.Errorf("the state is %s", got)
			}
		}
		wantSame(t, th, hydrate(t, n.steady(nil), "t"))
	})
}

// An edit that was made on something the server has compacted meanwhile is made
// on what is there now; where both changed one place it is not.
func TestEditOnAForgottenBase(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := serveWriter(t, 0)
		old, clash, busy := n.steady(nil).Thread("t"), n.steady(nil).Thread("t"), n.steady(nil).Thread("t")
		say(t, busy, "write the first")
		for _, th := range []*client.Thread{old, clash} {
			if _, err := th.Hydrate(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 12 {
			say(t, busy, fmt.Sprintf("write number %d", i))
		}
		done, err := old.Patch(t.Context(), set("/title", `"Old"`))
		if err != nil || !done.Merged || old.State().String() != `{"title":"Old","document":"number 11"}` {
			t.Errorf("%+v %v: %s", done, err, old.State())
		}
		_, err = clash.Patch(t.Context(), set("/title", `"Clash"`))
		var conflict *client.ConflictError
		if !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Path != "/title" {
			t.Errorf("the error is %v", err)
		}
	})
}

// The state as a Go type: only the difference is sent, and what the type does
// not know stays.
func TestTypedState(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type half struct {
			Title string `json:"title"`
		}
		n := serveWriter(t, 0)
		ann, bob := n.steady(nil).Thread("t"), n.steady(nil).Thread("t")
		say(t, ann, "write a document")
		s := client.StateOf[half](bob) // which has seen nothing yet
		done, err := s.Update(t.Context(), func(h *half) error {
			if h.Title != "" {
				t.Errorf("the title is %q", h.Title)
			}
			h.Title = "Typed"
			return nil
		})
		if err != nil || done.Revision == 0 || bob.State().String() != `{"title":"Typed","document":"a document"}` {
			t.Errorf("%+v %v: %s", done, err, bob.State())
		}
		if same, err := s.Update(t.Context(), func(*half) error { return nil }); err != nil || same.Position != done.Position || same.Revision != done.Revision {
			t.Errorf("a change that changes nothing: %+v %v", same, err)
		}
		why := errors.New("no")
		if _, err := s.Update(t.Context(), func(*half) error { return why }); !errors.Is(err, why) {
			t.Errorf("%v", err)
		}
		if v, err := s.Get(); err != nil || v.Title != "Typed" {
			t.Errorf("%+v %v", v, err)
		}
		if err := s.Set(func(h *half) error { h.Title = "Later"; return nil }); err != nil {
			t.Error(err)
		}
		say(t, bob, "hello")
		if got := bob.State().String(); got != `{"title":"Later","document":"a document"}` {
			t.Errorf("the state is %s", got)
		}
		wrong := client.StateOf[[]int](bob)
		if _, err := wrong.Get(); err == nil || !strings.Contains(err.Error(), "does not fit") {
			t.Errorf("%v", err)
		}
		if _, err := wrong.Update(t.Context(), func(*[]int) error { return nil }); err == nil {
			t.Error("an object became a list")
		}
	})
}

// The thread as it is, the list of threads, and no thread any more.
func TestThreads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := serveWriter(t, 20*time.Millisecond)
		c := n.steady(nil)
		ids := map[string]bool{}
		for i := range 60 { // more than a page
			id := fmt.Sprintf("thread %d/ä?%%", i)
			ids[id] = true
			say(t, c.Thread(id), "Hello there")
			time.Sleep(time.Second)
		}
		last := time.Now()
		for info, err := range c.Threads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if !ids[info.ThreadID] || info.Title != "Hello there" || info.Active != nil || info.Updated.After(last) {
				t.Errorf("%+v", info)
			}
			delete(ids, info.ThreadID)
			last = info.Updated
		}
		if len(ids) != 0 {
			t.Errorf("%d threads are not in the list: %v", len(ids), ids)
		}
		for range c.Threads(t.Context()) {
			break
		}

		const id = "thread 7/ä?%"
		th := c.Thread(id)
		watch(t, th)
		synctest.Wait()
		if _, err := th.Start(t.Context(), &client.RunOptions{Text: "write " + strings.Repeat("much ", 100), RunID: "long"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second + 10*time.Millisecond) // between two pieces
		synctest.Wait()
		s := hydrate(t, c, id)
		if s.ThreadID != id || s.Active == nil || s.Active.RunID != "long" || time.Since(s.Active.StartedAt) > 2*time.Second || len(s.Predicted) != 1 || s.Predicted[0] != "/document" || s.Position != th.Position() {
			t.Errorf("%+v", s)
		}
		late := c.Thread(id)
		if _, err := late.Hydrate(t.Context()); err != nil || late.ActiveRun() != "long" {
			t.Errorf("%v: active run %q", err, late.ActiveRun())
		}
		watch(t, late)
		synctest.Wait()
		if stopped, err := th.Stop(t.Context()); err != nil || !stopped {
			t.Errorf("%v %v", stopped, err)
		}
		time.Sleep(time.Second)
		wantSame(t, late, hydrate(t, c, id))

		if err := th.Forget(t.Context()); err != nil || th.Position() != "" || len(th.Messages()) != 0 {
			t.Errorf("%v: position %q", err, th.Position())
		}
		var gone *client.HTTPError
		if _, err := c.Thread(id).Hydrate(t.Context()); !errors.As(err, &gone) || gone.Status != http.StatusNotFound {
			t.Errorf("a thread that was forgotten: %v", err)
		}
	})
}

// A token goes with every request, the agent's own path and query stay, and
// capabilities arrive.
func TestRequests(t *testing.T) {
	a, cfg := writer(0)
	h := handler(t, a, cfg)
	host := server.NewHost(nil)
	if err := host.Handle("/deep/agent", h); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer marker" || r.URL.Query().Get("tenant") != "x" || r.Header.Get("X-Own") != "own" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		host.ServeHTTP(w, r)
	}))
	defer srv.Close()
	hc := srv.Client()
	c := client.New(srv.URL+"/deep/agent/?tenant=x", &client.Options{HTTPClient: hc, Token: "marker", Header: http.Header{"X-Own": {"own"}}})
	th := c.Thread("a/b")
	say(t, th, "hello")
	if _, err := th.Merge(t.Context(), jsondoc.MustParse(`{"title":"x"}`)); err != nil {
		t.Error(err)
	}
	caps, err := c.Capabilities(t.Context())
	if err != nil || caps.Identity.Name != "writer" {
		t.Errorf("%+v %v", caps, err)
	}
	for _, err := range c.Threads(t.Context()) {
		if err != nil {
			t.Error(err)
		}
	}
	own := client.New(srv.URL+"/deep/agent?tenant=x", &client.Options{HTTPClient: hc, Token: "not this", Header: http.Header{"X-Own": {"own"}, "Authorization": {"Bearer marker"}}})
	if _, err := own.Capabilities(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := client.New("http://[::1", nil).Capabilities(t.Context()); err == nil || !strings.Contains(err.Error(), "address") {
		t.Errorf("an address that is none: %v", err)
	}
	hc.CloseIdleConnections()
}

// Many at once on one Thread: runs take turns, edits and readers do not wait.
func TestAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := serveWriter(t, 5*time.Millisecond)
		th := n.steady(nil).Thread("t")
		say(t, th, "hello")
		watchers := []*watcher{watch(t, th), watch(t, th), watch(t, n.steady(nil).Thread("t"))}
		synctest.Wait()
		done := make(chan struct{})
		work := []func(int){
			func(i int) { say(t, th, fmt.Sprintf("write number %d", i)) },
			func(i int) {
				if _, err := th.Merge(t.Context(), jsondoc.MustParse(fmt.Sprintf(`{"title":"t%d"}`, i))); err != nil {
					if conflict := (*client.ConflictError)(nil); !errors.As(err, &conflict) {
						t.Error(err)
					}
				}
			},
			func(int) { _ = th.State(); _ = th.Messages(); _ = th.Interrupts() },
			func(int) {
				if _, err := th.Hydrate(t.Context()); err != nil {
					t.Error(err)
				}
			},
		}
		for _, f := range work {
			go func() {
				defer func() { done <- struct{}{} }()
				for i := range 6 {
					f(i)
					time.Sleep(3 * time.Millisecond)
				}
			}()
		}
		for range work {
			<-done
		}
		settle()
		truth := hydrate(t, n.steady(nil), "t")
		_, beginnings := watchers[2].resyncs()
		for _, w := range watchers {
			wantSame(t, w.thread, truth)
			if beginnings == 1 { // else the witness has missed something itself
				w.wantGapless(t, watchers[2])
			}
		}
	})
}

// The answers to interrupts, as both kinds of servers take them.
func TestAnswers(t *testing.T) {
	newer := agui.Interrupt{ID: "i", ResponseSchema: jsondoc.MustParse(`{"properties":{"approved":{},"accepted":{},"editedArgs":{}}}`)}
	older := agui.Interrupt{ID: "i", ResponseSchema: jsondoc.MustParse(`{"properties":{"accepted":{}}}`)}
	silent := agui.Interrupt{ID: "i"}
	args := jsondoc.MustParse(`{"document":"x","accepted":"no"}`)
	for _, c := range []struct {
		got  agui.ResumeEntry
		want string
	}{
		{client.Approve(newer), `{"interruptId":"i","status":"resolved","payload":{"approved":true}}`},
		{client.Approve(older), `{"interruptId":"i","status":"resolved","payload":{"accepted":true}}`},
		{client.Approve(silent), `{"interruptId":"i","status":"resolved","payload":{"approved":true}}`},
		{client.Reject(newer), `{"interruptId":"i","status":"resolved","payload":{"approved":false}}`},
		{client.Reject(older), `{"interruptId":"i","status":"resolved","payload":{"accepted":false}}`},
		{client.ApproveEdited(newer, args), `{"interruptId":"i","status":"resolved","payload":{"approved":true,"editedArgs":{"document":"x","accepted":"no"}}}`},
		{client.ApproveEdited(older, args), `{"interruptId":"i","status":"resolved","payload":{"accepted":true,"document":"x"}}`},
		{client.Answer(silent, jsondoc.MustParse(`[1]`)), `{"interruptId":"i","status":"resolved","payload":[1]}`},
		{client.Cancel(newer), `{"interruptId":"i","status":"cancelled"}`},
	} {
		if got := string(c.got.AppendJSON(nil)); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for at, want := range map[string]bool{"": false, "soon": false, "2026-01-02T03:04:05Z": true, "2026-01-02T03:04:06.5+00:00": false, "2026-01-02T03:04:05.9+01:00": true} {
		if got := client.Expired(agui.Interrupt{ExpiresAt: at}, now); got != want {
			t.Errorf("%q: expired %v", at, got)
		}
	}
}

// Questions reach the thread, the answers go with the next run, and whoever
// attaches later is asked, too.
func TestInterrupts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked := `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i1","reason":"tool_call","toolCallId":"c","message":"Really?"}]}}`
		f := &foreign{scripts: []string{
			foreignStart + asked,
			foreignStart + foreignEnd,
			foreignStart + `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"confirm_changes"}
{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}
{"type":"TOOL_CALL_END","toolCallId":"c1"}
` + foreignEnd,
			foreignStart + foreignEnd,
		}}
		n := newNetwork(t, f)
		th := n.steady(nil).Thread("t")
		say(t, th, "do it")
		open := th.Interrupts()
		if len(open) != 1 || open[0].Message != "Really?" || len(th.Confirmations()) != 0 {
			t.Fatalf("%+v", open)
		}
		if _, err := collect(t.Context(), th, &client.RunOptions{Resume: []agui.ResumeEntry{client.Approve(open[0])}}); err != nil {
			t.Fatal(err)
		}
		if in := f.posts[1]; len(in.Resume) != 1 || in.Resume[0].Payload.String() != `{"approved":true}` || len(th.Interrupts()) != 0 {
			t.Errorf("posted %s; %d interrupts", in.AppendJSON(nil), len(th.Interrupts()))
		}
		say(t, th, "the older way")
		calls := th.Confirmations()
		if len(calls) != 1 || calls[0].ID != "c1" {
			t.Fatalf("%+v", calls)
		}
		if _, err := collect(t.Context(), th, &client.RunOptions{Messages: []agui.Message{client.Confirm(calls[0], true)}}); err != nil {
			t.Fatal(err)
		}
		last := f.posts[3].Messages[len(f.posts[3].Messages)-1]
		if last.Role != agui.RoleTool || last.ToolCallID != "c1" || last.Content.Text() != `{"accepted":true}` || len(th.Confirmations()) != 0 {
			t.Errorf("posted %s", f.posts[3].AppendJSON(nil))
		}
	})
}

// A model that fails ends the run with an error, and the thread goes on.
func TestRunError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := agenttest.New(agenttest.Turn(agenttest.Text("Half"), agenttest.Fail(errors.New("secret"))), agenttest.Turn(agenttest.Text("Whole")))
		n := newNetwork(t, handler(t, m.Agent(agent.Config{}), state.Config{}))
		th := n.steady(nil).Thread("t")
		w := watch(t, th)
		synctest.Wait()
		events, err := collect(t.Context(), th, &client.RunOptions{Text: "go"})
		var failed *client.RunError
		if !errors.As(err, &failed) || failed.Event.Code != agui.CodeInternal || events[len(events)-1] != agui.Event(failed.Event) {
			t.Errorf("%v after %s", err, kinds(events))
		}
		settle() // what was read by everybody may be compacted
		say(t, th, "again")
		settle()
		if got := kinds(w.events()); strings.Count(got, "RUN_STARTED") != 2 || !strings.Contains(got, "RUN_ERROR RUN_STARTED") {
			t.Errorf("who follows sees %s, then %v", got, w.err)
		}
		wantSame(t, th, hydrate(t, n.steady(nil), "t"))
	})
}
