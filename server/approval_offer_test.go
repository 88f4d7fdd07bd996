package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
)

// H4, H12: what is open is told by hydrate, by the list of threads and by the end
// of an attach's prelude, in both spellings; and no other thread shows it.
func TestH4OfferedAgain(t *testing.T) {
	o := newOffice(t, func(opts *server.Options) { opts.State.ConfirmWithin = time.Hour })
	o.run("other", `"messages":[`+userMessage("u1", "hi")+`]`)
	open := o.ask("t", `write {"document":"first"}`, planned)
	var want []string
	for _, i := range open {
		want = append(want, string(i.AppendJSON(nil)))
	}
	same := func(where string, list jsondoc.Value) {
		t.Helper()
		if got := list.String(); got != "["+strings.Join(want, ",")+"]" {
			t.Errorf("%s has\n%s\nwant\n%s", where, got, strings.Join(want, ","))
		}
	}
	same("hydrate", jsondoc.MustParse(o.hydrate("t", "interrupts")))
	if got := o.hydrate("t", "predicted"); got != `["/document","/steps"]` {
		t.Errorf("predicted %s", got)
	}
	if got := o.hydrate("other", "interrupts"); got != "[]" {
		t.Errorf("H12: another thread has %s", got)
	}
	_, text := get(t, o.url+"/threads")
	threads, _ := jsondoc.MustParse(text).Get("threads")
	for _, one := range threads.Items() {
		id, _ := one.Get("threadId")
		list, _ := one.Get("interrupts")
		if id.Str() == "t" {
			same("the list", list)
		} else if list.Len() != 0 {
			t.Errorf("H12: %s lists %s", id, list)
		}
	}
	for _, version := range []string{"?protocolVersion=1.0&live=false", "?live=false"} {
		events, _ := frames(t, t.Context(), o.url+"/threads/t/events"+version, nil, nil)
		if got := eventTypes(events); got != "RUN_STARTED STATE_SNAPSHOT MESSAGES_SNAPSHOT RUN_FINISHED" {
			t.Error(got)
		}
		end := events[len(events)-1].(*agui.RunFinished)
		if end.Outcome == nil || end.Outcome.Type != agui.OutcomeInterrupt || len(end.Outcome.Interrupts) != 2 {
			t.Fatalf("%s ends with %+v", version, end.Outcome)
		}
		for i, one := range end.Outcome.Interrupts {
			if got := string(one.AppendJSON(nil)); got != want[i] {
				t.Errorf("%s offers\n%s\nwant\n%s", version, got, want[i])
			}
		}
	}
}

// A PATCH beside a proposal: what is only proposed is refused as predicted, any
// other place is edited, and the run that tells those who watch repeats the
// questions. An undo is refused, with the question still open.
func TestEditBesideAProposal(t *testing.T) {
	o := newOffice(t, nil)
	open := o.ask("t", planned)
	patch := func(body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, o.url+"/threads/t/state", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json-patch+json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	at := o.hydrate("t", "position")
	status, text := patch(`[{"op":"remove","path":"/steps/0"}]`)
	conflicts, _ := jsondoc.MustParse(text).Get("conflicts")
	if status != http.StatusConflict || conflicts.Len() != 1 || !strings.Contains(conflicts.String(), `"predicted":true`) {
		t.Errorf("%d %s", status, text)
	}
	if got := o.hydrate("t", "position"); got != at {
		t.Errorf("a refused edit moved the thread to %s", got)
	}
	if status, text = patch(`[{"op":"add","path":"/note","value":"mine"}]`); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	moved, _ := jsondoc.MustParse(text).Get("position")
	events, ids := frames(t, t.Context(), o.url+"/threads/t/events?protocolVersion=1.0&live=false&after="+jsondoc.MustParse(at).Str(), nil, nil)
	if got := eventTypes(events); got != "RUN_STARTED STATE_SNAPSHOT RUN_FINISHED" || ids[len(ids)-1] != moved.Str() {
		t.Fatalf("%s, ends at %s, want %s", got, ids[len(ids)-1], moved)
	}
	end := events[2].(*agui.RunFinished)
	if end.Outcome == nil || len(end.Outcome.Interrupts) != 1 || end.Outcome.Interrupts[0].ID != open[0].ID {
		t.Errorf("the edit's run ended with %+v", end.Outcome)
	}
	if got, _ := events[1].(*agui.StateSnapshot).Snapshot.Get("steps"); got.Len() != 2 {
		t.Errorf("the proposal is not shown: %s", got)
	}
	if status, _, text := post(t, o.url+"/threads/t/undo", "application/json", ""); status != http.StatusConflict {
		t.Errorf("undo: %d %s", status, text)
	}
	run := o.run("t", fmt.Sprintf(`"messages":[],"resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]`, open[0].ID))
	if run.outcome() != "success" {
		t.Errorf("it ended with %s", run.outcome())
	}
	o.wantRan(planned)
	state := jsondoc.MustParse(o.hydrate("t", "state"))
	if note, _ := state.Get("note"); note.Str() != "mine" {
		t.Errorf("the state is %s", state)
	}
	if status, _, text := post(t, o.url+"/threads/t/undo", "application/json", ""); status != http.StatusOK {
		t.Errorf("undo: %d %s", status, text)
	}
}

// A thread that is forgotten takes its questions with it.
func TestForgottenQuestions(t *testing.T) {
	o := newOffice(t, nil)
	open := o.ask("t", wrote)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, o.url+"/threads/t", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		t.Fatal(res.Status)
	}
	run := o.run("t", fmt.Sprintf(`"messages":[],"resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]`, open[0].ID))
	if run.outcome() != agui.CodeResumeNotFound {
		t.Errorf("it ended with %s", run.outcome())
	}
	o.wantRan()
}

// H16, T1, T5: while the approved tool runs, whoever answers is told that a run is
// active, whatever the answer; after it, the same answer is the same answer and
// another one is not found.
func TestH16AnswersDuringTheRun(t *testing.T) {
	threads := thread.New(memory.New(), &thread.Options{Wait: 10 * time.Millisecond})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := threads.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	begun, gate := make(chan struct{}), make(chan struct{})
	o := newOffice(t, func(opts *server.Options) { opts.Threads = threads })
	o.during = func() { close(begun); <-gate }
	open := o.ask("t", wrote)
	body := func(run, payload string) string {
		return fmt.Sprintf(`{"threadId":"t","runId":%q,"protocolVersion":"1.0","messages":[],"resume":[{"interruptId":%q,"status":"resolved","payload":%s}]}`, run, open[0].ID, payload)
	}
	var first sync.WaitGroup
	first.Go(func() {
		if status, _, text := post(t, o.url, "application/json", body("first", `{"approved":true}`)); status != http.StatusOK || !strings.Contains(text, `"runId":"first"`) {
			t.Errorf("%d %s", status, text)
		}
	})
	<-begun
	for _, payload := range []string{`{"approved":true}`, `{"approved":false}`, `{}`} {
		status, _, text := post(t, o.url, "application/json", body("second", payload))
		if status != http.StatusConflict || !strings.Contains(text, `"runId":"first"`) {
			t.Errorf("%s during the run: %d %s", payload, status, text)
		}
	}
	close(gate)
	first.Wait()
	o.during = nil
	for payload, want := range map[string]string{`{"approved":true}`: `"RUN_FINISHED"`, `{"approved":false}`: agui.CodeResumeNotFound} {
		if status, _, text := post(t, o.url, "application/json", body("later", payload)); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s after the run: %d %s", payload, status, text)
		}
	}
	o.wantRan(wrote)
}

// H16: two people answer in the same moment, one yes and one no: one of them
// decides, the other is told that it was not his to decide.
func TestH16YesAndNo(t *testing.T) {
	o := newOffice(t, nil)
	for i := range 20 {
		name := fmt.Sprint("t", i)
		open := o.ask(name, wrote)
		before := len(o.ran)
		var people sync.WaitGroup
		ends := make([]string, 2)
		for n, payload := range []string{`{"approved":true}`, `{"approved":false}`} {
			people.Go(func() {
				ends[n] = o.run(name, fmt.Sprintf(`"messages":[],"resume":[{"interruptId":%q,"status":"resolved","payload":%s}]`, open[0].ID, payload)).outcome()
			})
		}
		people.Wait()
		ran := len(o.ran) - before
		switch {
		case ends[0] == "success" && ends[1] == agui.CodeResumeNotFound && ran == 1:
		case ends[0] == agui.CodeResumeNotFound && ends[1] == "success" && ran == 0:
		default:
			t.Fatalf("yes ended with %s, no with %s, and the tool ran %d times", ends[0], ends[1], ran)
		}
	}
}
