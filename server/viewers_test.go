package server_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// recording is a store that remembers everything that was ever appended.
type recording struct {
	thread.Store
	mu      sync.Mutex
	entries []thread.Entry
}

func (s *recording) Append(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry) error {
	err := s.Store.Append(ctx, key, after, entries)
	if err == nil {
		s.mu.Lock()
		s.entries = append(s.entries, entries...)
		s.mu.Unlock()
	}
	return err
}

// shared is a recording that several servers of a test write at once.
type shared struct{ *recording }

func (shared) Shared() {}

// truth is the log with the view at each of its events.
type truth struct {
	seqs  []uint64 // of events, in order
	types map[uint64]agui.EventType
	views map[uint64]jsondoc.Value
}

func (s *recording) truth(t *testing.T) truth {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Two servers may note theirs the other way round.
	slices.SortFunc(s.entries, func(a, b thread.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	out := truth{types: map[uint64]agui.EventType{}, views: map[uint64]jsondoc.Value{}}
	view := agui.NewReducer(nil, jsondoc.Value{})
	for _, e := range s.entries {
		if e.Event != nil {
			if err := view.Apply(e.Event); err != nil {
				t.Fatal(err)
			}
			out.seqs = append(out.seqs, e.Seq)
			out.types[e.Seq] = e.Event.EventType()
		}
		out.views[e.Seq] = view.State()
	}
	return out
}

// segment is what a viewer got of one body behind its prelude or its position.
type segment struct {
	after uint64
	seqs  []uint64
	types []agui.EventType
	view  jsondoc.Value // at its end
}

// watcher is a viewer that comes and goes.
type watcher struct {
	urls     []string // of the thread, at each server
	random   *rand.Rand
	older    bool   // a client before 1.0, which knows no positions
	at       string // the position it has read up to
	opened   string // the position in an address that it used
	view     *agui.Reducer
	segments []segment
	preludes int
}

func seqOf(id string) uint64 {
	p, err := thread.ParsePosition(id)
	if err != nil {
		return 0
	}
	return p.Seq
}

// attach reads one body: at most so many events, and what a body without end
// must be told apart by is whether live is set.
func (w *watcher) attach(ctx context.Context, live bool, most int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	url := w.urls[w.random.IntN(len(w.urls))] + "/events?"
	if w.older {
		w.at = ""
	} else {
		url += "protocolVersion=1.0"
	}
	if !live {
		url += "&live=false"
	}
	header := http.Header{}
	if w.at != "" {
		switch w.random.IntN(5) {
		case 0: // as somebody who comes new
		case 1, 2:
			url += "&after=" + w.at
			w.opened = w.at
		default: // a browser's EventSource, which keeps its address
			if w.opened != "" {
				url += "&after=" + w.opened
			}
			header.Set("Last-Event-ID", w.at)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header = header
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("attach: %s", res.Status)
	}
	prelude, first, n := false, true, 0
	var order agui.Sequence
	one := segment{after: seqOf(w.at)}
	if w.at == "" {
		w.view = agui.NewReducer(nil, jsondoc.Value{})
	}
	for rec, err := range agui.ReadEvents(res.Body, &agui.EventsOptions{Bare: true}) {
		if ctx.Err() != nil {
			break // it leaves in the middle of something
		}
		if err != nil {
			return err
		}
		if first {
			first = false
			if prelude = !rec.OwnID; prelude {
				w.preludes++
				w.view = agui.NewReducer(nil, jsondoc.Value{})
			}
		}
		if prelude || w.at == "" {
			if err := order.Check(rec.Event); err != nil {
				return fmt.Errorf("W1: a body that begins with a prelude: %w", err)
			}
		}
		if err := w.view.Apply(rec.Event); err != nil {
			return fmt.Errorf("W2: %w", err)
		}
		if !rec.OwnID {
			continue // of the prelude
		}
		w.at = rec.ID
		if prelude && n == 0 {
			n++
			one.after = seqOf(rec.ID) // the prelude's last
			one.view = w.view.State()
			continue
		}
		n++
		one.seqs = append(one.seqs, seqOf(rec.ID))
		one.types = append(one.types, rec.Event.EventType())
		one.view = w.view.State()
		if live && n >= most {
			break
		}
	}
	if prelude && n == 0 {
		w.at = "" // cut inside the prelude: it is at no position
	}
	if n > 0 && !w.older { // an older client does not get every event
		w.segments = append(w.segments, one)
	}
	return nil
}

// check holds what the viewer got against the log.
func (w *watcher) check(t *testing.T, all truth) {
	t.Helper()
	for _, s := range w.segments {
		from, _ := slices.BinarySearch(all.seqs, s.after+1)
		end := s.after
		for i, seq := range s.seqs {
			if from+i >= len(all.seqs) || all.seqs[from+i] != seq {
				t.Fatalf("T3: behind %d came %v; the log has %v", s.after, s.seqs, all.seqs[from:min(from+len(s.seqs), len(all.seqs))])
			}
			if all.types[seq] != s.types[i] {
				t.Fatalf("T3: event %d is %s, the log has %s", seq, s.types[i], all.types[seq])
			}
			end = seq
		}
		if !jsondoc.Equal(s.view, all.views[end]) {
			t.Fatalf("T3: at %d the viewer has %s, the view is %s", end, s.view, all.views[end])
		}
	}
}

// busy is an agent that writes a document in small pieces, over and over.
func busy(delay time.Duration) *agent.Agent {
	write := functool.MustNew(functool.Config{Name: "write", Schema: jsondoc.MustParse(`{"type":"object"}`)}, func(_ context.Context, args map[string]any) (string, error) {
		if strings.Contains(fmt.Sprint(args), "fail") {
			return "", errors.New("this one fails")
		}
		return "ok", nil
	})
	m := agenttest.New(
		agenttest.Turn(agenttest.Reasoning("What shall I write?", ""), agenttest.Text("I write."), agenttest.Calls(
			agenttest.CallSpec{ID: "", Name: "write", Arguments: `{"document":{"title":"The fox","lines":["The quick","brown fox","jumps"]}}`})),
		agenttest.Turn(agenttest.Call("", "write", `{"document":{"title":"fail","lines":["none"]}}`)),
		agenttest.Turn(agenttest.Text("That is it.")))
	m.Chunk, m.Delay, m.Repeat = 5, delay, true
	return m.Agent(agent.Config{Tools: []tool.Tool{write}})
}

// T3, T6, S1: twenty viewers come, go and come back from where they were, while
// two people edit and an agent writes, run after run. At the end all have the
// same state as the server, and each saw every event once, in order, between the
// preludes it got. A few schedules; 500 with LOCKSTEP_LONG=1.
func TestT3Viewers(t *testing.T) { watchSchedules(t, 1) }

// The same with three servers on one store: whoever comes is sent to one of them.
func TestT3ViewersOfSeveralServers(t *testing.T) { watchSchedules(t, 3) }

func watchSchedules(t *testing.T, servers int) {
	schedules := 2
	if os.Getenv("LOCKSTEP_LONG") == "1" {
		schedules = 500
	}
	seed := rand.Uint64()
	for i := range schedules {
		watchAll(t, seed+uint64(i), servers)
		if t.Failed() {
			t.Fatalf("schedule %d", seed+uint64(i))
		}
	}
}

func watchAll(t *testing.T, seed uint64, servers int) {
	store := &recording{Store: memory.New()}
	var metrics thread.Metrics
	var agents, urls []string // of the agent and of the thread, at each server
	for range servers {
		var used thread.Store = store
		if servers > 1 {
			used = shared{store}
		}
		threads := thread.New(used, &thread.Options{Metrics: &metrics})
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			if err := threads.Close(ctx); err != nil {
				t.Error(err)
			}
		}()
		srv := listen(t, busy(300*time.Microsecond), &server.Options{Threads: threads, State: state.Config{
			Initial: jsondoc.MustParse(`{"people":{}}`),
			Predict: map[string]state.Prediction{"document": {Tool: "write", Argument: "document"}},
		}}, nil)
		agents, urls = append(agents, srv.URL), append(urls, srv.URL+"/threads/t")
	}

	var writers, viewers sync.WaitGroup
	var ended atomic.Bool
	watchers := make([]*watcher, 20)
	for i := range watchers {
		w := &watcher{urls: urls, random: rand.New(rand.NewPCG(seed, uint64(i))), older: i%5 == 4}
		watchers[i] = w
		viewers.Go(func() {
			for !ended.Load() {
				most := 1 + w.random.IntN(60)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(20+w.random.IntN(200))*time.Millisecond)
				err := w.attach(ctx, true, most)
				left := ctx.Err() != nil
				cancel()
				if err != nil && !left {
					t.Errorf("viewer %d: %v", i, err)
					return
				}
			}
		})
	}
	for who := range 2 {
		random := rand.New(rand.NewPCG(seed, uint64(100+who)))
		writers.Go(func() {
			for n := range 25 {
				body := fmt.Sprintf(`{"people":{"p%d":%d}}`, who, n)
				switch random.IntN(4) {
				case 0:
					body = fmt.Sprintf(`{"shared":%d}`, random.IntN(9))
				case 1:
					body = fmt.Sprintf(`{"document":{"title":"p%d, %d"}}`, who, n)
				}
				status, got := patch(t, urls[random.IntN(servers)], "", body)
				if status != http.StatusOK && status != http.StatusConflict {
					t.Errorf("%s: %d %+v", body, status, got)
				}
				time.Sleep(time.Duration(random.IntN(8)) * time.Millisecond) // spreads the schedule over real connections; nothing rests on it
			}
		})
	}
	writers.Go(func() {
		random := rand.New(rand.NewPCG(seed, 99))
		for n := range 5 {
			in := fmt.Sprintf(`{"threadId":"t","runId":"r%d","protocolVersion":"1.0","messages":[{"id":"u%d","role":"user","content":"write"}]}`, n, n)
			stop, at := random.IntN(3) == 0, random.IntN(servers)
			if stop {
				pause := time.Duration(random.IntN(20)) * time.Millisecond
				writers.Go(func() {
					time.Sleep(pause) // as above
					request(t, http.MethodDelete, urls[at]+"/run", "")
				})
			}
			if status, _, text := post(t, agents[random.IntN(servers)], "application/json", in); status != http.StatusOK || !strings.Contains(text, "RUN_FINISHED") {
				t.Errorf("run %d: %d %s", n, status, text)
			}
		}
	})
	writers.Wait()
	ended.Store(true)
	viewers.Wait()

	all := store.truth(t)
	end := hydrated(t, urls[0])
	var want string
	for i, w := range watchers {
		if err := w.attach(t.Context(), false, 0); err != nil {
			t.Fatalf("viewer %d: %v", i, err)
		}
		w.check(t, all)
		if got := w.view.State(); !jsondoc.Equal(got, jsondoc.MustParse(string(end.State))) {
			t.Errorf("viewer %d ends with %s, the server has %s", i, got, end.State)
		}
		if w.older {
			continue // it gets no reasoning messages
		}
		var messages strings.Builder
		for _, m := range w.view.Messages() {
			messages.Write(append(m.AppendJSON(nil), '\n'))
		}
		if want == "" {
			want = messages.String()
		} else if messages.String() != want {
			t.Errorf("viewer %d has the messages\n%sthe first one has\n%s", i, messages.String(), want)
		}
		if w.at != end.Position && seqOf(w.at) != all.seqs[len(all.seqs)-1] {
			t.Errorf("viewer %d is at %s, the thread at %s", i, w.at, end.Position)
		}
	}
	if n := metrics.RepairedDeltas.Load(); n > 0 {
		t.Errorf("W2: %d deltas had to be repaired", n)
	}
}
