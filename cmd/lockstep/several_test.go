package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/internal/openaiwire"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// T1, T3, T4 with real processes on a real store that they share: what one drives
// is seen, edited and stopped at another; one that is killed loses its run to the
// others, and nothing that was acknowledged.
func severalProcesses(t *testing.T, store string) {
	quick, slow := &openaiwire.RecipeModel{}, &openaiwire.RecipeModel{Pause: 200 * time.Millisecond}
	model := openaiwire.New(t, func(r *openaiwire.Request) openaiwire.Reply {
		if c, err := r.Conversation(); err == nil && strings.Contains(c.LastUser(), "slowly") {
			return slow.Answer(r)
		}
		return quick.Answer(r)
	})
	begin := func() (*exec.Cmd, *client.Client) {
		return serveBinary(t, []string{"OPENAI_BASE_URL=" + model.BaseURL(), "OPENAI_API_KEY=none"}, "--store", store, "--model", "openai:fake")
	}
	first, a := begin()
	_, b := begin()
	ctx := t.Context()

	// A run at the first, a viewer at the second.
	running := make(chan error, 1)
	here, leave := context.WithCancel(ctx)
	defer leave()
	go func() {
		_, err := last(a.Thread("t").Run(here, &client.RunOptions{Text: "slowly: a recipe for carbonara", Attach: true}))
		running <- err
	}()
	viewer := b.Thread("t")
	see := follow(t, viewer)
	see("the recipe to grow", func(agui.Event) bool {
		title, ok := viewer.State().At("/recipe/title")
		return ok && title.Str() != ""
	})
	if _, err := viewer.Merge(ctx, jsondoc.MustParse(`{"recipe":{"cooking_time":"a day"}}`)); err != nil {
		var conflict *client.ConflictError
		if !errors.As(err, &conflict) {
			t.Fatal(err)
		}
	}
	if _, err := viewer.Merge(ctx, jsondoc.MustParse(`{"mine":"kept"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := last(b.Thread("t").Run(ctx, &client.RunOptions{Text: "me too"})); err == nil || !strings.Contains(err.Error(), "409") {
		t.Errorf("T1: a second run, at the other process, got %v", err)
	}

	// The first is killed.
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	leave()
	<-running
	see("the end of the lost run", func(e agui.Event) bool {
		lost, ok := e.(*agui.RunError)
		return ok && lost.Code == agui.CodeOwnerLost
	})
	if got := viewer.State().String(); strings.Contains(got, "Carbonara") || !strings.Contains(got, `"mine":"kept"`) {
		t.Errorf("T4: after the process was lost the state is %s", got)
	}

	// The thread goes on at the second, and is stopped at a third.
	_, c := begin()
	go func() {
		_, err := last(b.Thread("t").Run(ctx, &client.RunOptions{Text: "slowly: a recipe for carbonara, again"}))
		running <- err
	}()
	see("the next run to begin", func(e agui.Event) bool { _, ok := e.(*agui.RunStarted); return ok && viewer.ActiveRun() != "" })
	if stopped, err := c.Thread("t").Stop(ctx); err != nil || !stopped {
		t.Errorf("a stop at a third process: %v, %v", stopped, err)
	}
	see("the stopped run's end", func(e agui.Event) bool {
		end, ok := e.(*agui.RunFinished)
		return ok && end.Outcome != nil && end.Outcome.Type == agui.OutcomeCancelled
	})
	if err := <-running; err != nil {
		t.Errorf("the stopped run ended with %v", err)
	}
	third := c.Thread("t")
	if _, err := last(third.Run(ctx, &client.RunOptions{Text: "a recipe for carbonara"})); err != nil {
		t.Fatal(err)
	}
	see("the last run's end", func(e agui.Event) bool { _, ok := e.(*agui.RunFinished); return ok })
	want, err := third.Hydrate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !jsondoc.Equal(viewer.State(), want.State) || !strings.Contains(want.State.String(), "Carbonara") || !strings.Contains(want.State.String(), `"mine":"kept"`) {
		t.Errorf("S1: the viewer has %s, the third process %s", viewer.State(), want.State)
	}
}

// last reads a run to its end.
func last(events func(func(agui.Event, error) bool)) (agui.Event, error) {
	var last agui.Event
	for e, err := range events {
		if err != nil {
			return last, err
		}
		last = e
	}
	return last, nil
}

// follow follows a thread for the test's time, and returns how to wait for an
// event of it.
func follow(t *testing.T, thread *client.Thread) (see func(what string, is func(agui.Event) bool)) {
	ctx, cancel := context.WithCancel(t.Context())
	events, gone := make(chan agui.Event), make(chan struct{})
	go func() {
		defer close(gone)
		for u, err := range thread.Follow(ctx) {
			if err != nil {
				if ctx.Err() == nil {
					t.Errorf("the viewer's stream ended: %v", err)
				}
				return
			}
			select {
			case events <- u.Event:
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-gone })
	return func(what string, is func(agui.Event) bool) {
		t.Helper()
		timeout := time.After(patience)
		for {
			select {
			case e := <-events:
				if is(e) {
					return
				}
			case <-timeout:
				t.Fatalf("waited in vain for %s", what)
			}
		}
	}
}

// serveBinary starts this program as a process of its own.
func serveBinary(t *testing.T, env []string, args ...string) (*exec.Cmd, *client.Client) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := newWatched()
	cmd := exec.Command(self, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	cmd.Args[0] = "lockstep"
	cmd.Env = append(append(os.Environ(), scriptEnv...), env...)
	cmd.Stderr, cmd.Dir = out, t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			t.Errorf("a server does not end:\n%s", out)
		}
	})
	timeout := time.After(patience)
	for {
		if m := regexp.MustCompile(`(?m)^listening on (http://\S+)$`).FindStringSubmatch(out.String()); m != nil {
			return cmd, client.New(m[1]+"/", nil)
		}
		select {
		case <-out.news:
		case <-ended:
			t.Fatalf("the server ended:\n%s", out)
		case <-timeout:
			t.Fatalf("the server does not listen:\n%s", out)
		}
	}
}
