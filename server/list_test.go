package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
)

// byHeader takes a request's principal from a header of the test's.
func byHeader(r *http.Request) (string, error) {
	if name := r.Header.Get("X-User"); name != "" {
		return name, nil
	}
	return "", errors.New("no such user: secret detail")
}

type listed struct {
	Threads []struct {
		ThreadID, Updated, Title string
		ActiveRun                *struct{ RunID, StartedAt string }
		Interrupts               []json.RawMessage
	}
	Next *string
}

func list(t *testing.T, url, who, query string) listed {
	t.Helper()
	status, _, text := request(t, http.MethodGet, url+"/threads"+query, "", "X-User", who)
	if status != http.StatusOK {
		t.Fatalf("list: %d %s", status, text)
	}
	var out listed
	if err := json.Unmarshal([]byte(text), &out); err != nil || out.Threads == nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

func (l listed) ids() string {
	var out []string
	for _, one := range l.Threads {
		out = append(out, one.ThreadID)
	}
	return strings.Join(out, " ")
}

// run posts a message as somebody.
func run(t *testing.T, url, who, thread, message, text string) {
	t.Helper()
	body := fmt.Sprintf(`{"threadId":%q,"runId":"r","messages":[{"id":%q,"role":"user","content":%q}]}`, thread, message, text)
	status, _, answer := request(t, http.MethodPost, url, body, "Content-Type", "application/json", "X-User", who)
	if status != http.StatusOK || !strings.Contains(answer, "RUN_FINISHED") {
		t.Fatalf("%d %s", status, answer)
	}
	nextMillisecond()
}

// nextMillisecond waits until a thread's time is later than those before: within
// a millisecond they are listed by name.
func nextMillisecond() {
	for begun := time.Now().UnixMilli(); time.Now().UnixMilli() == begun; {
		time.Sleep(100 * time.Microsecond) // the loop waits for the clock itself, over a real connection
	}
}

func repeating(text string) *agent.Agent {
	m := agenttest.New(agenttest.Turn(agenttest.Text(text)))
	m.Repeat = true
	return m.Agent(agent.Config{})
}

// The list of threads: the caller's own, the newest first, by pages.
func TestList(t *testing.T) {
	srv := listen(t, repeating("Hi."), &server.Options{State: state.Config{Initial: jsondoc.Object()}, Authenticate: byHeader}, nil)
	if got := list(t, srv.URL, "ann", ""); len(got.Threads) != 0 || got.Next != nil {
		t.Errorf("nobody has threads: %+v", got)
	}
	for i := range 5 {
		run(t, srv.URL, "ann", fmt.Sprint("t", i), "u", fmt.Sprintf("  Question\n\n %d  ", i))
	}
	run(t, srv.URL, "bob", "t1", "u", "Bob's")
	run(t, srv.URL, "ann", "t2", "u2", "A second question")
	request(t, http.MethodPatch, srv.URL+"/threads/edited/state", `{"a":1}`, "Content-Type", mergeJSON, "X-User", "ann")
	nextMillisecond()
	run(t, srv.URL, "ann", "long", "u", strings.Repeat("é", 100))

	all := list(t, srv.URL, "ann", "")
	if got := all.ids(); got != "long edited t2 t4 t3 t1 t0" || all.Next != nil {
		t.Errorf("ann's threads: %s, next %v", got, all.Next)
	}
	for i, want := range []string{strings.Repeat("é", 79) + "…", "", "Question 2", "Question 4"} {
		if all.Threads[i].Title != want {
			t.Errorf("the title of %s is %q, want %q", all.Threads[i].ThreadID, all.Threads[i].Title, want)
		}
	}
	for i, one := range all.Threads {
		if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`).MatchString(one.Updated) || i > 0 && one.Updated > all.Threads[i-1].Updated {
			t.Errorf("%s was updated at %s", one.ThreadID, one.Updated)
		}
		if one.ActiveRun != nil || one.Interrupts == nil || len(one.Interrupts) > 0 {
			t.Errorf("%+v", one)
		}
	}
	if got := list(t, srv.URL, "bob", "").ids(); got != "t1" {
		t.Errorf("bob's threads: %s", got)
	}

	// By pages, while a thread of a later page moves to the front: none is
	// returned twice, and none of the others is left out.
	var pages []string
	after := ""
	for i := 0; ; i++ {
		page := list(t, srv.URL, "ann", "?limit=3"+after)
		pages = append(pages, page.ids())
		if page.Next == nil {
			break
		}
		if after = "&after=" + *page.Next; i == 0 {
			run(t, srv.URL, "ann", "t3", "u3", "Up again")
		}
	}
	if got := strings.Join(pages, " | "); got != "long edited t2 | t4 t1 t0" {
		t.Errorf("the pages are %s", got)
	}
	if got := list(t, srv.URL, "ann", "?limit=1").ids(); got != "t3" {
		t.Errorf("the newest is %s", got)
	}
	for _, bad := range []string{"?limit=0", "?limit=-1", "?limit=many", "?after=%20%20", "?after=!!!", "?after=bm90aGluZw"} {
		if status, _, text := request(t, http.MethodGet, srv.URL+"/threads"+bad, "", "X-User", "ann"); status != http.StatusBadRequest || !strings.Contains(text, `"path":"`) {
			t.Errorf("%s: %d %s", bad, status, text)
		}
	}
}

// A run that is under way is in the list.
func TestListActive(t *testing.T) {
	gate := make(chan struct{})
	a, cfg := gated(gate)
	srv := listen(t, a, &server.Options{State: cfg, Authenticate: byHeader}, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("X-User", "ann")
			h.ServeHTTP(w, r)
		})
	})
	s := newStream(t, srv.URL, body)
	s.until(is[*agui.StateDelta])
	got := list(t, srv.URL, "ann", "")
	if len(got.Threads) != 1 || got.Threads[0].ActiveRun == nil || got.Threads[0].ActiveRun.RunID != "r" || got.Threads[0].Title != "hi" {
		t.Errorf("%+v", got)
	}
	close(gate)
	s.until(nil)
	if got = list(t, srv.URL, "ann", ""); got.Threads[0].ActiveRun != nil {
		t.Errorf("%+v", got.Threads[0].ActiveRun)
	}
}

// S9, principals: what one person has is nothing to another, on every route:
// the answers for an id of somebody else's are those for one that nobody has,
// byte for byte, and nothing of it is touched.
func TestPrincipals(t *testing.T) {
	srv := listen(t, repeating("Hi."), &server.Options{State: state.Config{Initial: jsondoc.MustParse(`{"a":1}`)}, Authenticate: byHeader}, nil)
	run(t, srv.URL, "ann", "anns-thread", "u", "Mine")
	_, _, before := request(t, http.MethodGet, srv.URL+"/threads/anns-thread", "", "X-User", "ann")
	var position struct{ Position string }
	if err := json.Unmarshal([]byte(before), &position); err != nil {
		t.Fatal(err)
	}
	random := regexp.MustCompile(`[a-z2-7]{12,26}|\d{4}-\d\d-\d\dT[^"]*Z`)
	for _, c := range []struct{ method, path, contentType, body string }{
		{"GET", "/threads/ID", "", ""},
		{"GET", "/threads/ID/events?live=false", "", ""},
		{"GET", "/threads/ID/events?live=false&after=" + position.Position, "", ""},
		{"POST", "/threads/ID/undo", "", ""},
		{"DELETE", "/threads/ID/run", "", ""},
		{"PATCH", "/threads/ID/state", patchJSON, `[{"op":"test","path":"/a","value":2}]`},
		{"PATCH", "/threads/ID/state", mergeJSON, `{"a":2}`},
		{"GET", "/threads/ID", "", ""},
		{"POST", "/threads/ID/undo", "", ""},
		{"DELETE", "/threads/ID", "", ""},
		{"GET", "/threads/ID", "", ""},
		{"DELETE", "/threads/ID", "", ""},
		{"POST", "/", "application/json", `{"threadId":"ID","runId":"r","messages":[{"id":"u","role":"user","content":"hello"}]}`},
		{"POST", "/", "application/json", `{"threadId":"ID","runId":"r","resume":[{"interruptId":"i","status":"resolved","payload":{"approved":true}}],"messages":[]}`},
		{"GET", "/threads/ID/events?live=false", "", ""},
		{"GET", "/threads", "", ""},
	} {
		ask := func(id string) string {
			url := srv.URL + strings.ReplaceAll(c.path, "ID", id)
			status, header, text := request(t, c.method, url, strings.ReplaceAll(c.body, "ID", id), "Content-Type", c.contentType, "X-User", "user-"+id)
			all := fmt.Sprint(status, header.Get("Content-Type"), header.Get("ETag"), text)
			return strings.ReplaceAll(random.ReplaceAllString(all, "RANDOM"), id, "ID")
		}
		// Two people who have nothing; ann has a thread of the first one's id.
		if a, b := ask("anns-thread"), ask("nobodys-one"); a != b {
			t.Errorf("%s %s:\n%s\nfor an id of somebody else's, and for nobody's\n%s", c.method, c.path, a, b)
		}
	}
	if _, _, after := request(t, http.MethodGet, srv.URL+"/threads/anns-thread", "", "X-User", "ann"); after != before {
		t.Errorf("ann's thread was\n%s\nand is\n%s", before, after)
	}

	for _, c := range []struct{ method, path string }{
		{"POST", "/"}, {"GET", "/capabilities"}, {"GET", "/threads"}, {"GET", "/threads/anns-thread"}, {"GET", "/threads/anns-thread/events"},
		{"PATCH", "/threads/anns-thread/state"}, {"POST", "/threads/anns-thread/undo"}, {"DELETE", "/threads/anns-thread/run"}, {"DELETE", "/threads/anns-thread"}, {"GET", "/nowhere"},
	} {
		status, _, text := request(t, c.method, srv.URL+c.path, "{}", "Content-Type", "application/json")
		if status != http.StatusUnauthorized || strings.Contains(text, "secret") || !strings.Contains(text, `"errors"`) {
			t.Errorf("%s %s by nobody: %d %s", c.method, c.path, status, text)
		}
	}
}

// DELETE P/threads/{id}: bodies of viewers end, and the thread is unknown.
func TestForgetOverHTTP(t *testing.T) {
	gate := make(chan struct{})
	a, cfg := gated(gate)
	srv := listen(t, a, &server.Options{State: cfg}, nil)
	url := srv.URL + "/threads/t"
	s := newStream(t, srv.URL, body)
	s.until(is[*agui.StateDelta]) // the run is under way
	viewer := make(chan string)
	attached := make(chan struct{})
	go func() {
		first := true
		events, _ := frames(t, t.Context(), url+"/events?protocolVersion=1.0", nil, func(agui.Event) bool {
			if first {
				close(attached)
				first = false
			}
			return false
		})
		viewer <- eventTypes(events)
	}()
	<-attached
	if status, _, text := request(t, http.MethodDelete, url, ""); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, text)
	}
	if got := <-viewer; !strings.HasPrefix(got, "RUN_STARTED STATE_SNAPSHOT MESSAGES_SNAPSHOT") {
		t.Errorf("the viewer got %s", got)
	}
	s.until(nil)
	if end, ok := s.events[len(s.events)-1].(*agui.RunFinished); !ok || end.Outcome == nil || end.Outcome.Type != agui.OutcomeCancelled {
		t.Errorf("the run's own stream ends with %+v", s.events[len(s.events)-1])
	}
	s.close()
	if status, _, _ := request(t, http.MethodGet, url, ""); status != http.StatusNotFound {
		t.Errorf("hydrate: %d", status)
	}
	if status, _, _ := request(t, http.MethodDelete, url, ""); status != http.StatusNoContent {
		t.Errorf("forgotten twice: %d", status)
	}
	if got := list(t, srv.URL, "", ""); len(got.Threads) != 0 {
		t.Errorf("listed: %+v", got)
	}
	close(gate)
	if status, _, text := post(t, srv.URL, "application/json", body); status != http.StatusOK || !strings.Contains(text, "RUN_FINISHED") {
		t.Errorf("the next run: %d %s", status, text)
	}
	wantState(t, url, `{"document":"old"}`)
}
