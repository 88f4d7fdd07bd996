package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// A run whose connection breaks: with Attach it goes on and nothing of it is
// missing; without, it has been stopped, and its end is what comes.
func TestRunIsTakenUpAgain(t *testing.T) {
	for _, attach := range []bool{true, false} {
		t.Run(fmt.Sprint("attach ", attach), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := serveWriter(t, 20*time.Millisecond)
				var breaks []time.Duration
				th := n.steady(&client.Options{Reconnect: client.Reconnect{OnBreak: func(err error, wait time.Duration) {
					if err == nil {
						t.Error("nothing broke the connection")
					}
					breaks = append(breaks, wait)
				}}}).Thread("t")
				var events []agui.Event
				for e, err := range th.Run(t.Context(), &client.RunOptions{Text: "write " + strings.Repeat("a long text ", 9), Attach: attach}) {
					if err != nil {
						t.Fatal(err)
					}
					events = append(events, e)
					if _, ok := e.(*agui.StateDelta); ok && len(breaks) == 0 {
						n.breakAll()
						synctest.Wait()
					}
				}
				if len(breaks) == 0 {
					t.Error("OnBreak was not called")
				}
				end := events[len(events)-1].(*agui.RunFinished)
				if cancelled := end.Outcome != nil && end.Outcome.Type == agui.OutcomeCancelled; cancelled == attach {
					t.Errorf("the run ended with %+v", end.Outcome)
				}
				var order agui.Sequence
				for _, e := range events {
					if err := order.Check(e); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Second)
				wantSame(t, th, hydrate(t, n.steady(nil), "t"))
				var note Note
				if err := th.Decode(&note); err != nil || strings.HasPrefix(note.Document, "a long text") != attach {
					t.Errorf("S3: the state is %s (%v)", th.State(), err)
				}
			})
		})
	}
}

// A connection that breaks before the first event: the run is looked for where
// the thread was.
func TestRunIsFound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := serveWriter(t, 20*time.Millisecond)
		other := n.steady(nil).Thread("t")
		var broke []error
		th := n.shaky(&client.Options{Reconnect: client.Reconnect{OnBreak: func(err error, _ time.Duration) { broke = append(broke, err) }}}).Thread("t")
		say(t, other, "hello")
		n.cut = func() int { return -1 }
		if _, err := th.Hydrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		say(t, other, "hello again") // what th has not seen
		n.breakAll()
		// Headers are some 200 bytes; the first event has more than 100.
		n.cut = func() int { n.cut = func() int { return -1 }; return 300 }
		events, err := collect(t.Context(), th, &client.RunOptions{Text: "write it", RunID: "mine", Attach: true})
		if err != nil {
			t.Fatal(err)
		}
		var cut *agui.IncompleteError
		if len(broke) != 1 || !errors.As(broke[0], &cut) || cut.Events != 0 {
			t.Fatalf("the connection broke so: %v", broke)
		}
		if e, ok := events[0].(*agui.RunStarted); !ok || e.RunID != "mine" {
			t.Errorf("the run begins with %s", agui.AppendEvent(nil, events[0], agui.V1))
		}
		if !ends(events[len(events)-1]) || strings.Count(kinds(events), "RUN_STARTED") != 1 {
			t.Errorf("the run's events are %s", kinds(events))
		}
		wantSame(t, th, hydrate(t, n.steady(nil), "t"))
	})
}

// What others did since is in its place, although the run's own stream does not
// hold it.
func TestRunCatchesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := serveWriter(t, 0)
		ann, bob := n.steady(nil).Thread("t"), n.steady(nil).Thread("t")
		say(t, ann, "hello")
		say(t, bob, "write something") // its first sight of the thread
		wantSame(t, bob, hydrate(t, n.steady(nil), "t"))
		say(t, ann, "and I?")
		wantSame(t, ann, hydrate(t, n.steady(nil), "t"))
		if got := len(ann.Messages()); got < 7 {
			t.Errorf("%d messages", got)
		}
	})
}

// A server that has lost its threads gets the conversation back with the next
// run; who follows has what it has.
func TestServerWithoutMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, cfg := writer(5 * time.Millisecond)
		n := newNetwork(t, handler(t, a, cfg))
		th := n.steady(nil).Thread("t")
		w := watch(t, n.steady(nil).Thread("t"))
		synctest.Wait()
		say(t, th, "write the first")
		settle()
		wantSame(t, w.thread, hydrate(t, n.steady(nil), "t"))
		old := th.Position()

		b, cfg := writer(5 * time.Millisecond)
		n.serve(handler(t, b, cfg))
		time.Sleep(time.Minute)
		if got := w.thread.State().String(); !strings.Contains(got, "the first") {
			t.Errorf("what was known is gone: %s", got)
		}
		say(t, th, "hello")
		say(t, th, "write the second")
		settle()
		truth := hydrate(t, n.steady(nil), "t")
		wantSame(t, th, truth)
		wantSame(t, w.thread, truth)
		if th.Position() == old || len(truth.Messages) < 7 {
			t.Errorf("at %s, %d messages", th.Position(), len(truth.Messages))
		}
	})
}

// A refused run changes nothing: the message is not part of the conversation and
// the edit waits on.
func TestRefusedRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := serveWriter(t, 30*time.Millisecond)
		ann, bob := n.steady(nil).Thread("t"), n.steady(nil).Thread("t")
		if _, err := ann.Start(t.Context(), &client.RunOptions{Text: "write " + strings.Repeat("much ", 500)}); err != nil {
			t.Fatal(err)
		}
		watch(t, ann)
		synctest.Wait()
		bob.SetState(jsondoc.MustParse(`{"title":"Bob's","document":""}`))
		_, err := collect(t.Context(), bob, &client.RunOptions{Text: "and me"})
		var busy *client.HTTPError
		if !errors.As(err, &busy) || busy.Status != http.StatusConflict || busy.RunID == "" || !strings.Contains(err.Error(), busy.RunID) {
			t.Fatalf("the error is %v", err)
		}
		if len(bob.Messages()) != 0 || bob.State().String() != `{"title":"Bob's","document":""}` {
			t.Errorf("%d messages, state %s", len(bob.Messages()), bob.State())
		}
		if _, err := collect(t.Context(), bob, &client.RunOptions{Text: "and me", Supersede: true}); err != nil {
			t.Fatal(err)
		}
		if got, _ := bob.State().At("/title"); got.Str() != "Bob's" {
			t.Errorf("the edit did not arrive: %s", bob.State())
		}
		if bob.SetState(jsondoc.Value{}); bob.State().IsAbsent() {
			t.Error("taking an edit back takes the state away")
		}
	})
}

// SetState is an edit of what was shown when it was made, not of what is shown
// when it is sent.
func TestSetStateKeepsItsBase(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := serveWriter(t, 0)
		ann, bob := n.steady(nil).Thread("t"), n.steady(nil).Thread("t")
		say(t, ann, "write the first")
		watch(t, ann)
		synctest.Wait()
		ann.SetState(ann.State().With("title", jsondoc.String("Ann's")))
		say(t, bob, "write the second")
		settle() // ann's view has moved, her edit has not
		say(t, ann, "hello")
		if got := ann.State().String(); got != `{"title":"Ann's","document":"the second"}` {
			t.Errorf("S2: the state is %s", got)
		}
	})
}

// Breaking out stops the run; with Attach it goes on until somebody stops it.
func TestBreakingOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := serveWriter(t, 20*time.Millisecond)
		begin := func(attach bool) *client.Thread {
			th := n.steady(nil).Thread("")
			watch(t, th)
			synctest.Wait()
			for e, err := range th.Run(t.Context(), &client.RunOptions{Text: "write " + strings.Repeat("much ", 500), Attach: attach}) {
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := e.(*agui.StateDelta); ok {
					break
				}
			}
			time.Sleep(time.Second)
			return th
		}
		if th := begin(false); th.ActiveRun() != "" {
			t.Error("the run goes on")
		}
		th := begin(true)
		if th.ActiveRun() == "" {
			t.Fatal("the run has ended")
		}
		if stopped, err := th.Stop(t.Context()); !stopped || err != nil {
			t.Errorf("stopped %v, %v", stopped, err)
		}
		time.Sleep(time.Second)
		if stopped, err := th.Stop(t.Context()); stopped || err != nil || th.ActiveRun() != "" {
			t.Errorf("stopped twice: %v, %v; active %q", stopped, err, th.ActiveRun())
		}
	})
}

// Contexts end everything, and who waits for its turn, too.
func TestContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := serveWriter(t, 20*time.Millisecond)
		th := n.steady(nil).Thread("t")
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		seen := 0
		for _, err := range th.Run(ctx, &client.RunOptions{Text: "write " + strings.Repeat("much ", 500)}) {
			if seen++; err != nil {
				if !errors.Is(err, context.Canceled) && !errors.Is(err, cause) {
					t.Errorf("the run ended with %v", err)
				}
				break
			}
			if seen == 5 {
				for _, err := range th.Run(canceled(), nil) {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("a run that waits for its turn ended with %v", err)
					}
				}
				cancel(cause)
			}
		}
		for _, err := range th.Follow(canceled()) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("following ended with %v", err)
			}
		}
		// While it waits for the next try.
		n.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
		for _, err := range th.Follow(t.Context()) {
			var status *client.HTTPError
			if !errors.As(err, &status) || status.Status != http.StatusBadGateway {
				t.Errorf("a server that is not there: %v", err)
			}
		}
	})
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// foreign is an AG-UI server of another make: it answers each post with the
// frames of the next script and has no other route.
type foreign struct {
	scripts []string
	posts   []*agui.RunAgentInput
	gets    atomic.Int32
}

func (f *foreign) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/" {
		f.gets.Add(1)
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	in, err := agui.DecodeInput(body, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.posts = append(f.posts, in)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	script := f.scripts[0]
	f.scripts = f.scripts[1:]
	for line := range strings.SplitSeq(strings.TrimSpace(script), "\n") {
		if line == "CUT" {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(w, "data: %s\n\n", line)
		_ = http.NewResponseController(w).Flush()
	}
}

const (
	foreignStart = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}` + "\n"
	foreignEnd   = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}` + "\n"
	foreignText  = `{"type":"TEXT_MESSAGE_START","messageId":"a1","role":"assistant"}
{"type":"TEXT_MESSAGE_CONTENT","messageId":"a1","delta":"Hello"}
{"type":"TEXT_MESSAGE_END","messageId":"a1"}
`
)

// Servers of other makes: no positions, no metadata, no routes.
func TestForeignServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &foreign{scripts: []string{
			foreignStart + foreignText + `{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}` + "\n" + `{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]}` + "\n" + foreignEnd,
			foreignStart + foreignEnd,
			foreignStart + `{"type":"TEXT_MESSAGE_START","messageId":"a2","role":"assistant"}` + "\nCUT",
			foreignStart + `{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/none"}]}` + "\n" + `{"type":"RUN_ERROR","message":"no","code":"c"}`,
		}}
		n := newNetwork(t, f)
		th := n.steady(nil).Thread("t")
		say(t, th, "Hi")
		if got := conversation(th.Messages()); !strings.Contains(got, `"Hi"`) || !strings.Contains(got, `"Hello"`) || th.State().String() != `{"n":2}` {
			t.Errorf("%s%s", got, th.State())
		}
		th.SetState(jsondoc.MustParse(`{"n":3}`))
		say(t, th, "again")
		if th.State().String() != `{"n":3}` {
			t.Errorf("a state that nobody contradicts is %s", th.State())
		}
		if in := f.posts[1]; in.State.String() != `{"n":3}` || len(in.Messages) != 3 || in.ForwardedProps.String() != `{}` {
			t.Errorf("posted %s", in.AppendJSON(nil))
		}
		_, err := collect(t.Context(), th, &client.RunOptions{Text: "and cut"})
		if !errors.Is(err, agui.ErrIncomplete) {
			t.Errorf("a stream that was cut: %v", err)
		}
		events, err := collect(t.Context(), th, &client.RunOptions{Text: "fail"})
		var failed *client.RunError
		if !errors.As(err, &failed) || failed.Error() != "no (c)" || kinds(events) != "RUN_STARTED STATE_DELTA RUN_ERROR" || th.State().String() != `{"n":3}` {
			t.Errorf("%v after %s; %s", err, kinds(events), th.State())
		}
		if f.gets.Load() != 0 {
			t.Errorf("%d requests to routes that it need not have", f.gets.Load())
		}
		for _, err := range th.Follow(t.Context()) {
			var answer *client.HTTPError
			if !errors.As(err, &answer) || answer.Status != http.StatusNotFound {
				t.Errorf("following such a server: %v", err)
			}
		}
	})
}

// Ids that only look like positions are not taken for some for long.
func TestForeignIDs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		run := 0
		n := newNetwork(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				// A server of single-page applications answers everything.
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<!doctype html>")
				return
			}
			run++
			w.Header().Set("Content-Type", "text/event-stream")
			for i, line := range strings.Split(strings.TrimSpace(foreignStart+strings.ReplaceAll(foreignText, "a1", fmt.Sprint("a", run))+foreignEnd), "\n") {
				fmt.Fprintf(w, "id: run%d-%d\ndata: %s\n\n", run, i+40, line)
			}
		}))
		th := n.steady(nil).Thread("t")
		for range 3 {
			if got := kinds(say(t, th, "Hi")); got != "RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED" {
				t.Errorf("events %s", got)
			}
		}
		if len(th.Messages()) != 6 || th.Position() != "" {
			t.Errorf("%d messages, position %q", len(th.Messages()), th.Position())
		}
	})
}

// Answers that are no streams, streams that are against the protocol, and frames
// beyond every bound are told, and tried once only.
func TestBadStreams(t *testing.T) {
	events := func(lines string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for line := range strings.SplitSeq(lines, "\n") {
				fmt.Fprintf(w, "id: e-1\ndata: %s\n\n", line)
			}
		}
	}
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"a page": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
		}, "text/html"},
		"401":          {func(w http.ResponseWriter, r *http.Request) { http.Error(w, "who are you", http.StatusUnauthorized) }, "401 Unauthorized: who are you"},
		"no event":     {events(`{"type":"RUN_STARTED"`), "agui"},
		"wrong order":  {events(strings.TrimSpace(foreignEnd) + "\n" + strings.TrimSpace(foreignStart) + "\n" + strings.TrimSpace(foreignStart)), "RUN_"},
		"a huge frame": {events(strings.Repeat(" ", 1<<16) + strings.TrimSpace(foreignStart)), "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				asked := 0
				n := newNetwork(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked++
					c.h(w, r)
				}))
				th := n.steady(&client.Options{MaxEvent: 1 << 16}).Thread("t")
				if _, err := collect(t.Context(), th, nil); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("Run: %v, want %s", err, c.want)
				}
				if asked != 1 {
					t.Errorf("Run asked %d times", asked)
				}
				if name == "wrong order" {
					return // every frame has one id: to a follower that is one event
				}
				for _, err := range th.Follow(t.Context()) {
					if err == nil || !strings.Contains(err.Error(), c.want) {
						t.Errorf("Follow: %v, want %s", err, c.want)
					}
				}
				if asked != 2 {
					t.Errorf("both asked %d times", asked)
				}
			})
		})
	}
}
