package thread_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
	"github.com/lockstep-go/lockstep/tool"
)

// tap keeps what was ever appended, whatever becomes of it.
type tap struct {
	thread.Store
	mu      sync.Mutex
	entries []thread.Entry
}

func (s *tap) Append(ctx context.Context, key thread.Key, after thread.Head, entries []thread.Entry) error {
	err := s.Store.Append(ctx, key, after, entries)
	if err == nil {
		s.mu.Lock()
		s.entries = append(s.entries, entries...)
		s.mu.Unlock()
	}
	return err
}

// states are the committed states from a position on, the one there first.
func (s *tap) states(from uint64) []jsondoc.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []jsondoc.Value
	doc := jsondoc.Null
	for _, e := range s.entries {
		if e.Seq > from && out == nil {
			out = append(out, doc)
		}
		if e.Change == nil {
			continue
		}
		next, err := e.Change.Apply(doc, nil)
		if err != nil {
			panic(err)
		}
		if doc = next; out != nil {
			out = append(out, doc)
		}
	}
	return append(out, doc)
}

// postPlan is one post of the client's, and what happens before it.
type postPlan struct {
	between  []string // what others do first
	edit     string   // what the user does to the document: "", "set", "add", "remove"
	place    int      // which place of the document, by number
	explicit bool     // the client names the position that it has read up to
	reads    int      // events of the run that it gets; -1: all
	attach   bool     // the run goes on without it
	script   []string // what the agent does
	chunk    int
}

func drawPost(t *rapid.T, i int) postPlan {
	step := rapid.SampledFrom([]string{"write", "draft", "update", "update", "talk"})
	return postPlan{
		between:  rapid.SliceOfN(rapid.SampledFrom([]string{"set", "add", "remove", "undo", "run", "run", "reload", "reload"}), 0, 3).Draw(t, fmt.Sprint("between", i)),
		edit:     rapid.SampledFrom([]string{"", "", "set", "set", "add", "remove"}).Draw(t, fmt.Sprint("edit", i)),
		place:    rapid.IntRange(0, 20).Draw(t, fmt.Sprint("place", i)),
		explicit: rapid.Bool().Draw(t, fmt.Sprint("explicit", i)),
		reads:    rapid.IntRange(-1, 40).Draw(t, fmt.Sprint("reads", i)),
		attach:   rapid.Bool().Draw(t, fmt.Sprint("attach", i)),
		script:   rapid.SliceOfN(step, 0, 3).Draw(t, fmt.Sprint("script", i)),
		chunk:    rapid.IntRange(3, 20).Draw(t, fmt.Sprint("chunk", i)),
	}
}

// S2: a client that posts its document back unchanged never changes the state,
// wherever its connection was cut, whatever others did meanwhile, and whether or
// not the thread was compacted or read anew; and one edit of its own arrives as
// exactly that edit. A place that was only ever predicted does not become state.
func TestS2PostedBack(t *testing.T) {
	for range rounds() {
		rapid.Check(t, func(rt *rapid.T) { drawPosts(t, rt) })
	}
}

func drawPosts(t *testing.T, rt *rapid.T) {
	var posts []postPlan
	for i := range rapid.IntRange(1, 4).Draw(rt, "posts") {
		posts = append(posts, drawPost(rt, i))
	}
	keep := rapid.Bool().Draw(rt, "keep")
	var err error
	synctest.Test(t, func(t *testing.T) { err = postBack(t, keep, posts) })
	if err != nil {
		rt.Fatal(err)
	}
}

// postBack plays posts one after the other. The error names the first that is
// read wrongly.
func postBack(t *testing.T, keep bool, posts []postPlan) error {
	w := newStudio(t, keep)
	defer w.close()
	c := &stockClient{studio: w, view: agui.NewReducer(nil, jsondoc.Value{})}
	if err := c.post(postPlan{reads: -1, chunk: 20}, jsondoc.MustParse(`{"document":"first","notes":{"a":1,"b":2},"list":["x","y"]}`)); err != nil {
		return err
	}
	for i, p := range posts {
		for _, what := range p.between {
			w.others(what)
		}
		before := w.doc()
		wanted, place := c.edited(p)
		want := w.expect(c, before, p.edit, p.explicit && c.last.Seq > 0, place, wanted)
		from := position(w.th).Seq
		if err := c.post(p, wanted); err != nil {
			return fmt.Errorf("post %d: %w", i, err)
		}
		after := w.firstSnapshot(from)
		ok := false
		for _, one := range want {
			ok = ok || jsondoc.Equal(after, one)
		}
		if !ok {
			return fmt.Errorf("post %d, edit %q of %q: the state %s became\n%s\nwant\n%s\nthe client posted\n%s", i, p.edit, place, before, after, want, wanted)
		}
	}
	return nil
}

// studio is a thread with an agent that predicts.
type studio struct {
	t     *testing.T
	store *tap
	s     *setup
	th    *thread.Thread
	n     int // for values that nobody had before
}

func newStudio(t *testing.T, keep bool) *studio {
	w := &studio{t: t, store: &tap{Store: memory.New()}}
	w.s = newSetupOn(t, w.store, state.Config{
		Initial: jsondoc.Object(),
		Predict: map[string]state.Prediction{
			"document": {Tool: "write", Argument: "document"},
			"draft":    {Tool: "draft", Argument: "draft"},
			"recipe":   {Tool: "update", Argument: "recipe", Keep: keep},
		},
	}, thread.Options{})
	w.th = w.s.open("t")
	return w
}

func (w *studio) close() {
	w.th.Close()
	w.s.close()
}

func (w *studio) doc() jsondoc.Value {
	doc, _, _ := w.th.Doc()
	return doc.State
}

func (w *studio) fresh() string {
	w.n++
	return fmt.Sprint("value ", w.n)
}

// agent is one that does a script, a second a piece.
func (w *studio) agent(script []string, chunk int) *agent.Agent {
	var turns []agenttest.Script
	for _, s := range script {
		w.n++
		id := fmt.Sprint("c", w.n)
		switch s {
		case "write":
			turns = append(turns, agenttest.Turn(agenttest.Call(id, "write", `{"document":"`+w.fresh()+`"}`)))
		case "draft":
			turns = append(turns, agenttest.Turn(agenttest.Call(id, "draft", `{"draft":{"idea":"`+w.fresh()+`","more":{"x":1}}}`)))
		case "update":
			turns = append(turns, agenttest.Turn(agenttest.Text("Cooking."), agenttest.Call(id, "update", fmt.Sprintf(
				`{"recipe":{"title":"%s","serves":%d,"time":{"prep":%d,"cook":5},"steps":["cut","%s"]}}`, w.fresh(), w.n, w.n%3, w.fresh()))))
		default:
			turns = append(turns, agenttest.Turn(agenttest.Text("Thinking aloud."), agenttest.Call(id, "nothing", `{}`)))
		}
	}
	m := agenttest.New(append(turns, agenttest.Turn(agenttest.Text("That is that.")))...)
	m.Chunk, m.Delay = chunk, time.Second
	fails := toolOf("draft", func(context.Context) (any, error) { return nil, fmt.Errorf("no room for drafts") })
	fine := func(name string) tool.Tool {
		return toolOf(name, func(context.Context) (any, error) { return "ok", nil })
	}
	return m.Agent(agent.Config{Tools: []tool.Tool{writer("ok", nil), fails, fine("update"), fine("nothing")}})
}

// others is what somebody else does to the thread.
func (w *studio) others(what string) {
	places := leaves(w.doc())
	at := places[w.n%len(places)]
	var patch jsondoc.Patch
	switch what {
	case "set":
		patch = jsondoc.Patch{{Op: "replace", Path: at, Value: jsondoc.String(w.fresh())}}
	case "add":
		w.n++
		patch = jsondoc.Patch{{Op: "add", Path: jsondoc.Path(fmt.Sprint("theirs", w.n)), Value: jsondoc.Int(int64(w.n))}}
	case "remove":
		if len(places) < 4 {
			return
		}
		patch = jsondoc.Patch{{Op: "remove", Path: at}}
	case "undo":
		_, _ = w.th.Undo(w.t.Context()) // there may be nothing to undo
		return
	case "run":
		w.n++
		w.s.run(w.th, w.agent([]string{"update"}, 20), input(fmt.Sprint("other", w.n), user(fmt.Sprint("other", w.n), "cook")))
		synctest.Wait()
		return
	case "reload":
		w.th.Close()
		closeThreads(w.t, w.s.threads)
		w.s.threads = thread.New(w.store, &thread.Options{Metrics: &w.s.metrics})
		w.th = w.s.open("t")
		return
	}
	_, err := w.th.Edit(w.t.Context(), thread.Edit{Patch: patch})
	if err != nil && len(w.th.Snapshot().Open) == 0 { // else the place may be a proposal's
		w.t.Errorf("%s: %v", patch, err)
	}
}

// leaves are the places of a document that hold no object, arrays as a whole.
func leaves(v jsondoc.Value) []jsondoc.Pointer {
	var out []jsondoc.Pointer
	var walk func(v jsondoc.Value, at jsondoc.Pointer)
	walk = func(v jsondoc.Value, at jsondoc.Pointer) {
		if v.Kind() == jsondoc.KindObject {
			for name, m := range v.Members() {
				walk(m, at.Child(name))
			}
			return
		}
		out = append(out, at)
	}
	walk(v, "")
	return out
}

// objects are the places that hold one, the root included.
func objects(v jsondoc.Value) []jsondoc.Pointer {
	var out []jsondoc.Pointer
	var walk func(v jsondoc.Value, at jsondoc.Pointer)
	walk = func(v jsondoc.Value, at jsondoc.Pointer) {
		if v.Kind() == jsondoc.KindObject {
			out = append(out, at)
			for name, m := range v.Members() {
				walk(m, at.Child(name))
			}
		}
	}
	walk(v, "")
	return out
}

// firstSnapshot is the state with which the first run behind a position began.
func (w *studio) firstSnapshot(from uint64) jsondoc.Value {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	for _, e := range w.store.entries {
		if s, ok := e.Event.(*agui.StateSnapshot); ok && e.Seq > from {
			return s.Snapshot
		}
	}
	return jsondoc.Value{}
}

// expect is what the state may be once the client's post is read.
func (w *studio) expect(c *stockClient, before jsondoc.Value, edit string, explicit bool, place jsondoc.Pointer, wanted jsondoc.Value) []jsondoc.Value {
	with := func(doc jsondoc.Value, p jsondoc.Pointer, v jsondoc.Value) jsondoc.Value {
		out, err := doc.SetAt(p, v)
		if err != nil {
			return doc
		}
		return out
	}
	without := func(doc jsondoc.Value, p jsondoc.Pointer) jsondoc.Value {
		out, err := jsondoc.Patch{{Op: "remove", Path: p}}.Apply(doc, nil)
		if err != nil {
			return doc
		}
		return out
	}
	had := func(p jsondoc.Pointer, since uint64) bool { // part of the state since then
		for _, s := range w.store.states(since) {
			if _, ok := s.At(p); ok {
				return true
			}
		}
		return false
	}
	ever := func(p jsondoc.Pointer) bool { return had(p, c.since) }
	if edit == "" {
		return []jsondoc.Value{before}
	}
	v, _ := wanted.At(place)
	parent := place[:strings.LastIndexByte(string(place), '/')]
	_, has := before.At(place)
	_, room := before.At(parent)
	switch {
	case edit == "remove" && !room && had(parent, c.known):
		// As below.
	case edit == "remove" && c.cut:
		return []jsondoc.Value{without(before, place), before} // a value that was not there yet is an echo
	case edit == "remove":
		return []jsondoc.Value{without(before, place)}
	case has:
		return []jsondoc.Value{with(before, place, v)}
	case room && edit == "add" && ever(parent):
		return []jsondoc.Value{with(before, place, v)}
	case !had(parent, c.known) || edit == "set" && !had(place, c.known):
		return []jsondoc.Value{before} // only ever predicted
	}
	// What holds the place was removed by others: the edit brings it back, whole.
	top := place
	for room := false; !room; {
		parent := top[:strings.LastIndexByte(string(top), '/')]
		if _, room = before.At(parent); !room {
			top = parent
		}
	}
	whole, _ := wanted.At(top)
	back := []jsondoc.Value{with(before, top, whole)}
	if c.cut {
		back = append(back, with(before, place, v)) // or alone: what else it held is an echo
	}
	named := w.store.states(c.last.Seq)[0]
	inside := place
	if edit == "add" {
		inside = parent
	}
	if _, there := named.At(inside); (explicit || c.cut) && !there {
		back = append(back, before) // a prediction, committed and taken back since
	}
	if edit != "add" && !ever(place) || !ever(parent) || c.cut && edit == "remove" {
		back = append(back, before) // unless a prediction is what the client saw there
	}
	return back
}

// stockClient keeps what an official client keeps.
type stockClient struct {
	*studio
	view  *agui.Reducer
	last  thread.Position // of the newest event it got
	since uint64          // where its newest run began, for what it has seen of it
	known uint64          // where the newest run began that it read to the end
	cut   bool            // it did not see that run's end
	posts int
}

// edited is the client's document with the user's edit in it.
func (c *stockClient) edited(p postPlan) (jsondoc.Value, jsondoc.Pointer) {
	doc := c.view.State()
	switch p.edit {
	case "set":
		at := leaves(doc)
		place := at[p.place%len(at)]
		out, err := doc.SetAt(place, jsondoc.String(c.fresh()))
		if err != nil {
			c.t.Fatal(err)
		}
		return out, place
	case "add":
		at := objects(doc)
		place := at[p.place%len(at)].Child("mine" + fmt.Sprint(c.posts))
		out, err := doc.SetAt(place, jsondoc.String(c.fresh()))
		if err != nil {
			c.t.Fatal(err)
		}
		return out, place
	case "remove":
		at := leaves(doc)
		place := at[p.place%len(at)]
		out, err := jsondoc.Patch{{Op: "remove", Path: place}}.Apply(doc, nil)
		if err != nil {
			c.t.Fatal(err)
		}
		return out, place
	}
	return doc, ""
}

// post asks the agent something and reads so many events.
func (c *stockClient) post(p postPlan, doc jsondoc.Value) error {
	c.posts++
	ask := user(fmt.Sprint("u", c.posts), "go on")
	in := input(fmt.Sprint("r", c.posts), append(c.view.Messages(), ask)...)
	in.State = doc
	if p.explicit && c.last.Seq > 0 {
		withBase(in, c.last)
	}
	// An official client's own document and history have what it posts.
	c.view = agui.NewReducer(in.Messages, doc)
	before := position(c.th).Seq
	c.since = before
	r, err := c.th.Run(c.t.Context(), thread.Request{Input: in, Agent: runOf(c.agent(p.script, p.chunk)), Attach: p.attach, Linger: -1})
	if err != nil {
		return err
	}
	n := 0
	c.cut = false
	synced := false
	for e, err := range r.Events(c.t.Context()) {
		if err != nil {
			return err
		}
		if e.Event == nil {
			continue
		}
		if n == p.reads {
			c.cut = true
			break
		}
		n++
		if _, is := e.Event.(*agui.StateSnapshot); is {
			if !synced {
				c.since = e.Seq
			}
			synced = true
		}
		if synced { // before, its document is not the one of that position
			c.last = e.Position()
		}
		if err := c.view.Apply(e.Event); err != nil {
			return fmt.Errorf("W2: %w", err)
		}
	}
	if !c.cut {
		c.known = before
	}
	if !synced {
		c.last = thread.Position{} // what it posted may not be an edit of that any more
	}
	r.Leave()
	r.Wait()
	synctest.Wait() // the log is compacted, or not
	return nil
}

// rounds is how often a property is checked: more in the long version.
func rounds() int {
	if os.Getenv("LOCKSTEP_LONG") == "1" {
		return 50
	}
	return 1
}
