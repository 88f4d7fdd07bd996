package thread_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
	"github.com/lockstep-go/lockstep/tool"
)

// town is a thread, the programs that serve it one after the other (in each of
// its places, where several share the store), and the people who answer it.
type town struct {
	t     *testing.T
	unit  time.Duration // of the schedule's time
	store thread.Store
	model *state.Model
	brain *agenttest.Model
	write *recorder

	mu       sync.Mutex
	places   []place
	programs []*thread.Threads // all there were
	rng      *rand.Rand
	rough    bool              // somebody stopped a run, left it, or ended its program
	started  map[string]int    // how often the log said that a call\'s tool starts
	answers  map[string]string // what was answered, and what came of it
}

// place is where a program lives.
type place struct {
	now   *thread.Threads // of the living program
	alive context.Context
	life  *mortal
}

func newTown(t *testing.T, seed uint64, store thread.Store, unit time.Duration, places int) *town {
	cfg := asking()
	m, err := state.NewModel(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := &town{t: t, unit: unit, places: make([]place, places), store: store, model: m, rng: rand.New(rand.NewPCG(seed, 8)), write: records("write", "document:string"), answers: map[string]string{}, started: map[string]int{}}
	w.brain = agenttest.New(agenttest.TurnFrom(func(p agenttest.Prompt) []agenttest.Step {
		last := p.Messages[len(p.Messages)-1]
		calls, ok := strings.CutPrefix(last.Contents.Text(), "write ")
		if last.Role != "user" || !ok {
			return []agenttest.Step{agenttest.Text("Well.")}
		}
		var steps []agenttest.Step
		for _, id := range strings.Fields(calls) {
			steps = append(steps, agenttest.Call(id, "write", `{"document":"of `+id+`"}`))
		}
		return steps
	}))
	w.brain.Repeat = true
	w.write.do = func(ctx context.Context, args string) (any, error) {
		d := w.any(4)
		select {
		case <-time.After(time.Duration(d) * w.unit / 2):
			return "Done: " + args, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.places {
		w.begin(i)
	}
	return w
}

// any is a random number below n.
func (w *town) any(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

// begin starts a program. Callers hold mu.
func (w *town) begin(at int) {
	var program *thread.Threads
	alive, die := context.WithCancel(context.Background())
	life := &mortal{Store: w.store, after: -1, died: func() {
		go func() { // whoever watches over it starts it anew
			die()
			_ = program.Close(alive) // nothing of it waits for anything
			w.mu.Lock()
			defer w.mu.Unlock()
			w.rough = true
			if w.places[at].now == program {
				w.begin(at)
			}
		}()
	}, took: func(entries []thread.Entry) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, e := range entries {
			if e.Started != "" {
				w.started[e.Started]++ // not read from the log: compaction drops it
			}
		}
	}}
	var store thread.Store = life
	if len(w.places) > 1 {
		store = shared{life}
	}
	program = thread.New(store, &thread.Options{Wait: 2 * w.unit, Lease: w.lease()})
	w.places[at] = place{program, alive, life}
	w.programs = append(w.programs, program)
}

func (w *town) lease() time.Duration { return 3 * w.unit }

// somewhere is any of the places.
func (w *town) somewhere() (int, place) {
	at := w.any(len(w.places))
	w.mu.Lock()
	defer w.mu.Unlock()
	return at, w.places[at]
}

// connect opens the thread in a living program. The context ends when that is
// killed: nobody's connection outlives it.
func (w *town) connect() (context.Context, *thread.Thread, error) {
	_, p := w.somewhere()
	th, err := p.now.Open(p.alive, thread.Key{Agent: "a", ID: "t"}, w.model)
	return p.alive, th, err
}

func (w *town) roughly() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rough = true
}

// restart ends a program as a deployment does, and starts the next.
func (w *town) restart(at int) {
	w.roughly()
	w.mu.Lock()
	old := w.places[at].now
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	_ = old.Close(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.places[at].now == old {
		w.begin(at)
	}
}

func (w *town) kill() {
	after, stored := w.any(6), w.any(2) == 0
	_, p := w.somewhere()
	p.life.kill(after, stored)
}

func (w *town) stop() {
	w.roughly()
	if _, th, err := w.connect(); err == nil {
		th.Stop()
		th.Close()
	}
}

// post runs an input and says how it ended: an outcome, "busy", or "lost" where
// the program went away under it. leave ends the connection after a while.
func (w *town) post(in *agui.RunAgentInput, leave time.Duration) string {
	ctx, th, err := w.connect()
	if err != nil {
		return "lost"
	}
	defer th.Close()
	r, err := th.Run(ctx, thread.Request{Input: in, Agent: runOf(w.brain.Agent(agentConfig([]tool.Tool{w.write}))), Tools: []tool.Tool{w.write}})
	var busy *thread.BusyError
	switch {
	case errors.As(err, &busy):
		return "busy"
	case err != nil:
		return "lost"
	}
	defer r.Wait()
	defer r.Leave()
	if leave > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, leave)
		defer cancel()
	}
	var seen played
	for p, err := range r.Events(ctx) {
		if err != nil {
			if ctx.Err() != nil {
				w.roughly() // a deadline of leave's, or a killed program
			}
			return "lost"
		}
		if p.Event != nil {
			seen = append(seen, p.Event)
		}
	}
	return seen.outcome()
}

// log is what the store has of answers to each call.
func (w *town) log() map[string][]thread.Answered {
	said := map[string][]thread.Answered{}
	for e, err := range w.store.Read(context.Background(), thread.Key{Agent: "a", ID: "t"}, 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		if e.Answer.ID != "" {
			said[e.Settled] = append(said[e.Settled], e.Answer)
		}
	}
	return said
}

// live plays one schedule and checks what has become of the approvals.
func (w *town) live(calm bool) {
	t := w.t
	calls := []string{"c1", "c2", "c3"}[:1+w.any(3)]
	ask := input("r1", user("u1", "write "+strings.Join(calls, " ")))
	if got := w.post(ask, 0); got != "interrupt" {
		t.Fatalf("the first run ended with %s", got)
	}
	_, th, err := w.connect()
	if err != nil {
		t.Fatal(err)
	}
	asked := th.Snapshot().Open
	th.Close()

	payload := func(call string, kind int) string {
		switch kind {
		case 0:
			return `{"approved":true}`
		case 1:
			return `{"approved":false}`
		case 2:
			return `{"approved":true,"editedArgs":{"document":"edited ` + call + `"}}`
		}
		return "" // cancelled
	}
	var people sync.WaitGroup
	for n := range 2 + w.any(4) {
		kinds := make([]int, len(asked))
		for i := range kinds {
			kinds[i] = w.any(4)
		}
		if w.any(2) == 0 { // most people agree
			clear(kinds)
		}
		var resume []agui.ResumeEntry
		var say string
		for i, p := range asked {
			e := agui.ResumeEntry{InterruptID: p.Ask.ID, Status: agui.ResumeCancelled}
			if text := payload(p.Call, kinds[i]); text != "" {
				e.Status, e.Payload = agui.ResumeResolved, jsondoc.MustParse(text)
			}
			resume, say = append(resume, e), say+string(e.AppendJSON(nil))
		}
		at, tries := time.Duration(w.any(8))*w.unit/2, 1+w.any(3)
		var leave time.Duration
		if !calm && w.any(4) == 0 {
			leave = time.Duration(1+w.any(4)) * w.unit / 2
		}
		people.Go(func() {
			time.Sleep(at) // in a bubble, or to spread the schedule of the file store, whose writer is outside of one
			for try := range tries {
				in := input(fmt.Sprint("a", n, "-", try))
				in.Resume = resume
				out := w.post(in, leave)
				w.mu.Lock()
				w.answers[fmt.Sprint(n, "-", try, " ", say)] = out
				w.mu.Unlock()
				time.Sleep(w.unit / 2) // as above
			}
		})
	}
	if !calm {
		for range 1 + w.any(3) {
			at, what := time.Duration(w.any(10))*w.unit/2, w.any(4)
			people.Go(func() {
				time.Sleep(at) // as above
				switch what {
				case 0:
					at, _ := w.somewhere()
					w.restart(at)
				case 1, 2:
					w.kill()
				case 3:
					w.stop()
				}
			})
		}
	}
	people.Wait()
	w.check(asked, calm)
}

// check ends the schedule: whatever is open is approved, by a program that
// nothing happens to, and then everything has to add up.
func (w *town) check(asked []state.Proposal, calm bool) {
	t := w.t
	for at := range w.places {
		w.mu.Lock()
		life := w.places[at].life
		w.mu.Unlock()
		life.kill(-1, false)
		w.restart(at)
	}
	if len(w.places) > 1 {
		time.Sleep(w.lease()) // of a run that a killed one left; in a bubble
	}
	_, th, err := w.connect()
	if err != nil {
		t.Fatal(err)
	}
	open := th.Snapshot().Open
	th.Close()
	if len(open) > 0 {
		in := input("last")
		for _, p := range open {
			in.Resume = append(in.Resume, resumes(p.Ask.ID, `{"approved":true}`)...)
		}
		if got := w.post(in, 0); got != "success" {
			t.Errorf("what was left could not be answered: %s", got)
		}
	}
	said := w.log()
	ran := map[string]int{}
	for _, args := range w.write.ran() {
		ran[args]++
	}
	for _, p := range asked {
		own, edited := `{"document":"of `+p.Call+`"}`, `{"document":"edited `+p.Call+`"}`
		n := ran[own] + ran[edited]
		answers := said[p.Call]
		last := thread.Answered{}
		if len(answers) > 0 {
			last = answers[len(answers)-1]
		}
		switch {
		case n > 1:
			t.Errorf("%s ran %d times", p.Call, n)
		case w.started[p.Call] > 1:
			t.Errorf("%s was started %d times", p.Call, w.started[p.Call])
		case last.ID == "":
			t.Errorf("%s was never decided", p.Call)
		case n == 1 && !last.Approved:
			t.Errorf("%s ran and was refused: %+v", p.Call, answers)
		case n == 1 && ran[edited] == 1 != strings.Contains(last.Said, "edited"):
			t.Errorf("%s ran with other arguments than were approved: %+v", p.Call, answers)
		case n == 1 && w.started[p.Call] == 0:
			t.Errorf("%s ran before its start was in the log", p.Call)
		case n == 0 && last.Approved && !w.rough:
			t.Errorf("%s was approved and did not run: %+v", p.Call, answers)
		case len(answers) > 1 && slices.ContainsFunc(answers[:len(answers)-1], func(a thread.Answered) bool { return !a.Approved }):
			t.Errorf("%s was refused and decided again: %+v", p.Call, answers)
		}
	}
	if calm {
		w.checkCalm(asked, said)
	}
	// Never stuck, and what is shown is what there is.
	if got := w.post(input("end", user("u-end", "and now")), 0); got != "success" {
		t.Errorf("the next run ended with %s", got)
	}
	if _, th, err = w.connect(); err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	if doc, _, _ := th.Doc(); !jsondoc.Equal(doc.View, doc.State) {
		t.Errorf("S3: state %s, view %s", doc.State, doc.View)
	} else if got, _ := doc.State.Get("document"); got.Str() != "old" && ran[`{"document":`+got.String()+`}`] != 1 {
		t.Errorf("S3: the state is %s, and nothing ran that made it", doc.State)
	}
}

// checkCalm checks the answers of people whom nothing got in the way but each
// other: whoever says what was decided hears so, everybody else does not.
func (w *town) checkCalm(asked []state.Proposal, said map[string][]thread.Answered) {
	for say, out := range w.answers {
		same := true
		for _, p := range asked {
			e := agui.ResumeEntry{InterruptID: p.Ask.ID, Status: agui.ResumeCancelled}
			if _, text, resolved := strings.Cut(said[p.Call][0].Said, agui.ResumeResolved+" "); resolved {
				e.Status, e.Payload = agui.ResumeResolved, jsondoc.MustParse(text)
			}
			same = same && strings.Contains(say, string(e.AppendJSON(nil)))
		}
		switch {
		case out == "busy" || same && out == "success" || !same && out == agui.CodeResumeNotFound:
		default:
			w.t.Errorf("answer %s ended with %s", say, out)
		}
	}
}

// end ends every program there was.
func (w *town) end() {
	w.mu.Lock()
	programs := slices.Clone(w.programs)
	w.mu.Unlock()
	for _, p := range programs {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		if err := p.Close(ctx); err != nil {
			w.t.Error(err)
		}
		cancel()
	}
}

// report says what a schedule was, where it failed.
func (w *town) report(seed uint64) {
	if !w.t.Failed() {
		return
	}
	w.t.Logf("seed %d; the tool ran %q; answers:", seed, w.write.ran())
	for _, say := range slices.Sorted(maps.Keys(w.answers)) {
		w.t.Logf("  %s: %s", say, w.answers[say])
	}
	for e, err := range w.store.Read(context.Background(), thread.Key{Agent: "a", ID: "t"}, 0) {
		if err == nil {
			w.t.Logf("  %s", thread.AppendEntry(nil, e))
		}
	}
}

// T5, H16, T4: an approval is one approval. Over random schedules of answers that
// agree and do not, retries, stops, cut connections, restarts and kills at any
// append, each tool runs at most once, only if it was approved, with what was
// approved; exactly once where nothing ended its run; and nothing is ever stuck.
func TestT5ExactlyOnce(t *testing.T) {
	schedules := uint64(100)
	if os.Getenv("LOCKSTEP_LONG") != "" {
		schedules = 1000
	}
	for seed := range schedules {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTown(t, seed, memory.New(), time.Second, 1)
				defer w.report(seed)
				defer w.end()
				w.live(seed%4 == 0)
			})
		})
	}
}

// The same where three programs share a store, and whoever answers comes to any of
// them.
func TestT5ExactlyOnceInSeveralProcesses(t *testing.T) {
	schedules := uint64(100)
	if os.Getenv("LOCKSTEP_LONG") != "" {
		schedules = 1000
	}
	for seed := range schedules {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTown(t, 2000+seed, memory.New(), time.Second, 3)
				defer w.report(2000 + seed)
				defer w.end()
				w.live(seed%4 == 0)
			})
		})
	}
}

// The same on a file, in real time.
func TestT5ExactlyOnceInAFile(t *testing.T) {
	schedules := uint64(4)
	if os.Getenv("LOCKSTEP_LONG") != "" {
		schedules = 60
	}
	for seed := range schedules {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newTown(t, 1000+seed, inFile(t)(t), 4*time.Millisecond, 1)
			defer w.report(seed)
			defer w.end()
			w.live(seed%4 == 0)
		})
	}
}
