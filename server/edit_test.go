package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/sqlite"
)

const (
	patchJSON = "application/json-patch+json"
	mergeJSON = "application/merge-patch+json"
)

// request makes a request and returns the whole answer.
func request(t *testing.T, method, url, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(text)
}

// edited is what PATCH and undo answer, and hydrate's position.
type edited struct {
	Position  string
	Revision  int
	Merged    bool
	Conflicts []struct {
		Path      string
		Predicted bool
	}
	State    json.RawMessage
	Errors   []struct{ Path, Message string }
	Messages []json.RawMessage
}

// patch sends a JSON Patch, or a Merge Patch where it is an object.
func patch(t *testing.T, url, base, body string) (int, edited) {
	t.Helper()
	media := patchJSON
	if !strings.HasPrefix(body, "[") {
		media = mergeJSON
	}
	header := []string{"Content-Type", media}
	if base != "" {
		header = append(header, "If-Match", base)
	}
	status, _, text := request(t, http.MethodPatch, url+"/state", body, header...)
	return status, decode(t, text)
}

func decode(t *testing.T, text string) edited {
	t.Helper()
	var out edited
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// hydrated is what a thread shows.
func hydrated(t *testing.T, url string) edited {
	t.Helper()
	status, _, text := request(t, http.MethodGet, url, "")
	if status != http.StatusOK {
		t.Fatalf("hydrate: %d %s", status, text)
	}
	return decode(t, text)
}

func wantState(t *testing.T, url, want string) {
	t.Helper()
	if got := hydrated(t, url).State; !jsondoc.Equal(jsondoc.MustParse(string(got)), jsondoc.MustParse(want)) {
		t.Errorf("the state is %s, want %s", got, want)
	}
}

// quoted is an entity tag.
func quoted(s string) string { return `"` + s + `"` }

var editable = state.Config{
	Initial: jsondoc.MustParse(`{"title":"A","notes":{"a":1},"list":[{"id":"x","n":1},{"id":"y","n":2}],"total":3,"secrets":{"k":1}}`),
	Schema: state.MustParseSchema(`{"type":"object","properties":{
		"title":{"type":"string","maxLength":20},"notes":{"type":"object"},
		"list":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}}}}`),
	Access: state.Access{"/total": state.ReadOnly, "/secrets": state.ServerOnly},
}

// What an edit was made on (S2, interface section 3): a position, a revision, or
// what is there.
func TestPatchBase(t *testing.T) {
	srv := listen(t, speaker("Hi."), &server.Options{State: editable}, nil)
	prepare := func(t *testing.T, id string) (url string, bases map[string]string) {
		url = srv.URL + "/threads/" + id
		status, first := patch(t, url, "", `[{"op":"replace","path":"/title","value":"B"}]`)
		if status != http.StatusOK {
			t.Fatal(status)
		}
		_, second := patch(t, url, "", `[{"op":"replace","path":"/notes/a","value":2}]`)
		epoch, seq, _ := strings.Cut(second.Position, "-")
		return url, map[string]string{
			"first": first.Position, "second": second.Position,
			"first revision": fmt.Sprint(first.Revision), "second revision": fmt.Sprint(second.Revision),
			"future": second.Position + "0", "future revision": fmt.Sprint(second.Revision + 1),
			"other epoch": "zzzzzzzzzzzz-" + seq, "before all": epoch + "-0",
		}
	}
	const (
		title = `[{"op":"replace","path":"/title","value":"mine"}]`
		notes = `[{"op":"replace","path":"/notes/a","value":9}]`
	)
	for name, c := range map[string]struct {
		base   func(map[string]string) string
		body   string
		status int
		merged bool
	}{
		"none":                              {func(map[string]string) string { return "" }, notes, 200, false},
		"star":                              {func(map[string]string) string { return "*" }, notes, 200, false},
		"newest position":                   {func(b map[string]string) string { return quoted(b["second"]) }, notes, 200, false},
		"newest, weak":                      {func(b map[string]string) string { return "W/" + quoted(b["second"]) }, notes, 200, false},
		"newest, bare":                      {func(b map[string]string) string { return b["second"] }, notes, 200, false},
		"newest revision":                   {func(b map[string]string) string { return quoted(b["second revision"]) }, notes, 200, false},
		"newest revision, bare":             {func(b map[string]string) string { return b["second revision"] }, notes, 200, false},
		"older position, another place":     {func(b map[string]string) string { return quoted(b["first"]) }, title, 200, true},
		"older revision, another place":     {func(b map[string]string) string { return b["first revision"] }, title, 200, true},
		"older position, merge patch":       {func(b map[string]string) string { return quoted(b["first"]) }, `{"title":"mine"}`, 200, true},
		"older position, the same place":    {func(b map[string]string) string { return quoted(b["first"]) }, notes, 409, false},
		"older revision, the same place":    {func(b map[string]string) string { return b["first revision"] }, notes, 409, false},
		"older position, inside of it":      {func(b map[string]string) string { return quoted(b["first"]) }, `[{"op":"remove","path":"/notes"}]`, 409, false},
		"older, the same place and value":   {func(b map[string]string) string { return quoted(b["first"]) }, `{"notes":{"a":2}}`, 200, true},
		"unreadable":                        {func(map[string]string) string { return quoted("what?") }, notes, 409, false},
		"empty tag":                         {func(map[string]string) string { return `""` }, notes, 409, false},
		"two tags":                          {func(b map[string]string) string { return quoted(b["first"]) + ", " + quoted(b["second"]) }, notes, 409, false},
		"negative revision":                 {func(map[string]string) string { return "-1" }, notes, 409, false},
		"other epoch":                       {func(b map[string]string) string { return quoted(b["other epoch"]) }, notes, 409, false},
		"future position":                   {func(b map[string]string) string { return quoted(b["future"]) }, notes, 409, false},
		"future revision":                   {func(b map[string]string) string { return b["future revision"] }, notes, 409, false},
		"the position before there was any": {func(b map[string]string) string { return quoted(b["before all"]) }, notes, 409, false},
	} {
		t.Run(name, func(t *testing.T) {
			url, bases := prepare(t, fmt.Sprintf("%x", name))
			before := hydrated(t, url)
			status, got := patch(t, url, c.base(bases), c.body)
			if status != c.status || got.Merged != c.merged {
				t.Fatalf("%d, %+v", status, got)
			}
			after := hydrated(t, url)
			if got.Position != after.Position || got.Revision != after.Revision {
				t.Errorf("the answer says %s at %d, the thread %s at %d", got.Position, got.Revision, after.Position, after.Revision)
			}
			if status == http.StatusOK {
				return
			}
			if after.Position != before.Position || !bytes.Equal(after.State, before.State) {
				t.Errorf("a refused edit: %s %s became %s %s", before.Position, before.State, after.Position, after.State)
			}
			if !bytes.Equal(got.State, before.State) {
				t.Errorf("the answer shows %s, the thread is %s", got.State, before.State)
			}
			if same := strings.Contains(name, "the same place") || strings.Contains(name, "inside"); same != (len(got.Conflicts) == 1 && strings.HasPrefix(got.Conflicts[0].Path, "/notes")) {
				t.Errorf("conflicts %+v", got.Conflicts)
			}
		})
	}
}

// What was shown at the end of a run is a base for ever, however many runs have
// come since; what was shown inside one, until it is compacted and the program is
// started again.
func TestPatchOldBases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	serve := func(lines ...string) (*httptest.Server, func()) {
		store, err := sqlite.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		threads := thread.New(store, nil)
		srv := listen(t, speaker(lines...), &server.Options{State: editable, Threads: threads}, nil)
		return srv, func() {
			srv.CloseClientConnections()
			if err := errors.Join(threads.Close(context.Background()), store.Close()); err != nil {
				t.Error(err)
			}
		}
	}
	srv, end := serve("One.", "Two.", "Three.", "Four.")
	url := func() string { return srv.URL + "/threads/t" }
	_, first := patch(t, url(), "", `{"title":"B"}`)
	_, second := patch(t, url(), "", `{"title":"C"}`)
	run := func(i int) {
		post(t, srv.URL, "application/json", fmt.Sprintf(`{"threadId":"t","runId":"r%d","messages":[{"id":"u%d","role":"user","content":"hi"}]}`, i, i))
	}
	run(0)
	ended := hydrated(t, url())
	for i := range 3 {
		run(i + 1)
	}
	old := []string{quoted(first.Position), fmt.Sprint(first.Revision), quoted(second.Position), fmt.Sprint(second.Revision), quoted(ended.Position)}
	notes := func(n int) string { return fmt.Sprintf(`{"notes":{"a":%d}}`, n) }
	for i, base := range old {
		// Each is of other places than the title, which has changed since the first.
		if status, got := patch(t, url(), base, fmt.Sprintf(`{"own%d":true}`, i)); status != http.StatusOK || !got.Merged {
			t.Errorf("base %s: %d %+v", base, status, got)
		}
	}
	for _, base := range old[:2] {
		if status, got := patch(t, url(), base, `{"title":"X"}`); status != http.StatusConflict || len(got.Conflicts) != 1 || got.Conflicts[0].Path != "/title" {
			t.Errorf("the same place at %s: %d %+v", base, status, got)
		}
	}
	inside := first.Position[:strings.LastIndex(first.Position, "-")+1] + strconv.Itoa(sequence(t, ended.Position)-1)
	if status, got := patch(t, url(), quoted(inside), notes(1)); status != http.StatusOK {
		t.Errorf("inside a run, in memory: %d %+v", status, got)
	}
	end()
	srv, end = serve("Five.")
	defer end()
	for i, base := range old {
		if status, got := patch(t, url(), base, fmt.Sprintf(`{"again%d":true}`, i)); status != http.StatusOK || !got.Merged {
			t.Errorf("after a restart, base %s: %d %+v", base, status, got)
		}
	}
	for _, base := range old[:2] {
		if status, got := patch(t, url(), base, `{"title":"X"}`); status != http.StatusConflict || len(got.Conflicts) != 1 || got.Conflicts[0].Path != "/title" {
			t.Errorf("after a restart, the same place at %s: %d %+v", base, status, got)
		}
	}
	if status, got := patch(t, url(), quoted(inside), notes(2)); status != http.StatusConflict || len(got.Conflicts) > 0 {
		t.Errorf("inside a run, after a restart: %d %+v", status, got)
	}
}

func sequence(t *testing.T, position string) int {
	t.Helper()
	n, err := strconv.Atoi(position[strings.LastIndex(position, "-")+1:])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Edits that are refused, each with a place and a reason; nothing of them is
// kept.
func TestPatchRefused(t *testing.T) {
	srv := listen(t, speaker("Hi."), &server.Options{State: editable}, nil)
	url := srv.URL + "/threads/t"
	if status, _ := patch(t, url, "", `{"title":"B"}`); status != http.StatusOK {
		t.Fatal(status)
	}
	before := hydrated(t, url)
	double := `[{"op":"add","path":"/list/-","value":"` + strings.Repeat("x", 1<<10) + `"}`
	for range 14 {
		double += `,{"op":"copy","from":"/list","path":"/list/-"}`
	}
	many := strings.Repeat(`{"op":"test","path":"/title","value":"B"},`, 1001)
	for name, c := range map[string]struct {
		media, body string
		status      int
		path        string // of the error or the conflict
	}{
		"read-only, replaced":        {patchJSON, `[{"op":"replace","path":"/total","value":4}]`, 403, "/total"},
		"read-only, removed":         {patchJSON, `[{"op":"remove","path":"/total"}]`, 403, "/total"},
		"read-only, moved away":      {patchJSON, `[{"op":"move","from":"/total","path":"/other"}]`, 403, "/total"},
		"read-only, dropped at root": {patchJSON, `[{"op":"replace","path":"","value":{"title":"x"}}]`, 403, "/total"},
		"read-only, merged":          {mergeJSON, `{"total":4}`, 403, "/total"},
		"read-only, merged away":     {mergeJSON, `{"total":null}`, 403, "/total"},
		"read-only beside an edit":   {mergeJSON, `{"total":4,"title":"x"}`, 403, "/total"},
		"schema":                     {mergeJSON, `{"title":7}`, 422, "/title"},
		"schema, inside":             {patchJSON, `[{"op":"replace","path":"/list/1/n","value":"many"}]`, 422, "/list/1/n"},
		"test":                       {patchJSON, `[{"op":"test","path":"/title","value":"A"},{"op":"replace","path":"/title","value":"x"}]`, 409, "/title"},
		"test of nothing":            {patchJSON, `[{"op":"test","path":"/none","value":1}]`, 409, "/none"},
		"no such place":              {patchJSON, `[{"op":"replace","path":"/none","value":1}]`, 422, "/none"},
		"no such parent":             {patchJSON, `[{"op":"add","path":"/none/x","value":1}]`, 422, "/none/x"},
		"atomic":                     {patchJSON, `[{"op":"replace","path":"/title","value":"x"},{"op":"remove","path":"/none"}]`, 422, "/none"},
		"into itself":                {patchJSON, `[{"op":"move","from":"/notes","path":"/notes/b"}]`, 400, ""},
		"1001 operations":            {patchJSON, "[" + strings.TrimSuffix(many, ",") + "]", 422, ""},
		"doubled and doubled again":  {patchJSON, double + "]", 422, ""},
		"a scalar":                   {patchJSON, `[{"op":"replace","path":"","value":5}]`, 422, ""},
		"null":                       {patchJSON, `[{"op":"replace","path":"","value":null}]`, 422, ""},
		"removed":                    {patchJSON, `[{"op":"remove","path":""}]`, 422, ""},
		"a scalar, merged":           {mergeJSON, `5`, 422, ""},
		"null, merged":               {mergeJSON, `null`, 422, ""},
		"an array, merged":           {mergeJSON, `[]`, 422, ""},
		"not JSON":                   {patchJSON, `[{"op":`, 400, ""},
		"no patch":                   {patchJSON, `{"op":"add"}`, 400, ""},
		"unknown operation":          {patchJSON, `[{"op":"append","path":"/title","value":"x"}]`, 400, ""},
		"no value":                   {patchJSON, `[{"op":"add","path":"/title"}]`, 400, ""},
		"no pointer":                 {patchJSON, `[{"op":"add","path":"title","value":"x"}]`, 400, ""},
		"an empty body":              {patchJSON, ``, 400, ""},
		"plain JSON":                 {"application/json", `{"title":"x"}`, 415, "Content-Type"},
		"no media type":              {"", `{"title":"x"}`, 415, "Content-Type"},
	} {
		t.Run(name, func(t *testing.T) {
			status, header, text := request(t, http.MethodPatch, url+"/state", c.body, "Content-Type", c.media)
			if status != c.status {
				t.Fatalf("%d, want %d: %s", status, c.status, text)
			}
			ownWords(t, text)
			got := decode(t, text)
			path := "nowhere"
			if len(got.Errors) > 0 && got.Errors[0].Message != "" {
				path = got.Errors[0].Path
			} else if len(got.Conflicts) > 0 {
				path = got.Conflicts[0].Path
			}
			if c.path != "" && path != c.path || path == "nowhere" {
				t.Errorf("the place is %q, want %q: %s", path, c.path, text)
			}
			if status == 415 && !strings.Contains(header.Get("Accept-Patch"), patchJSON) {
				t.Errorf("Accept-Patch is %q", header.Get("Accept-Patch"))
			}
			if after := hydrated(t, url); after.Position != before.Position || !bytes.Equal(after.State, before.State) {
				t.Errorf("%s %s became %s %s", before.Position, before.State, after.Position, after.State)
			}
		})
	}
}

// packageName finds an error's package, which tells a client nothing.
var packageName = regexp.MustCompile(`\b(jsondoc|jsonstream|agui|tool|agent|state|run|thread|server|schema|memory|sqlite): `)

// ownWords demands that an answer is worded for people who do not know the code.
func ownWords(t *testing.T, text string) {
	t.Helper()
	if m := packageName.FindString(text); m != "" {
		t.Errorf("the answer names a package, %q: %s", m, text)
	}
}

// What an edit is on the wire while the thread is idle: a run of its own, which
// every client takes, and the answer's position is that of its end. One that
// changes nothing is not logged.
func TestPatchIdle(t *testing.T) {
	srv := listen(t, speaker("Hi."), &server.Options{State: editable}, nil)
	url := srv.URL + "/threads/t"
	status, created := patch(t, url, "", `{"title":"B","notes":{"a":null,"b":9007199254740993}}`)
	if status != http.StatusOK || created.Merged || created.Revision != 1 {
		t.Fatalf("%d %+v", status, created)
	}
	_, got := patch(t, url, "", `[{"op":"add","path":"/notes/c","value":null}]`)
	epoch, _, _ := strings.Cut(got.Position, "-")
	events, ids := frames(t, t.Context(), url+"/events?protocolVersion=1.0&live=false&after="+created.Position, nil, nil)
	if text := eventTypes(events); text != "RUN_STARTED STATE_SNAPSHOT RUN_FINISHED" {
		t.Fatalf("the edit is %s", text)
	}
	if ids[2] != got.Position {
		t.Errorf("the answer's position is %s, RUN_FINISHED has %s", got.Position, ids[2])
	}
	started := events[0].(*agui.RunStarted)
	if id := strings.TrimPrefix(ids[0], epoch+"-"); started.RunID != "edit-"+id {
		t.Errorf("the run is %s, its first position %s", started.RunID, ids[0])
	}
	snapshot := events[1].(*agui.StateSnapshot)
	mark, _ := snapshot.Metadata.At("/lockstep")
	if by, _ := mark.Get("by"); by.Str() != "user" {
		t.Errorf("the snapshot's mark is %s", mark)
	}
	if want := `{"title":"B","notes":{"b":9007199254740993,"c":null},"list":[{"id":"x","n":1},{"id":"y","n":2}],"total":3}`; snapshot.Snapshot.String() != want {
		t.Errorf("the snapshot is %s, want %s", snapshot.Snapshot, want)
	}
	for _, query := range []string{"protocolVersion=1.0", ""} {
		var order agui.Sequence
		all, _ := frames(t, t.Context(), url+"/events?live=false&"+query, nil, nil)
		for _, e := range all {
			if err := order.Check(e); err != nil {
				t.Errorf("W1: %v", err)
			}
		}
	}
	for _, same := range []string{`{}`, `{"title":"B"}`, `{"none":null}`, `[]`, `[{"op":"test","path":"/title","value":"B"}]`, `[{"op":"replace","path":"/title","value":"B"}]`} {
		if status, again := patch(t, url, "", same); status != http.StatusOK || again.Position != got.Position || again.Revision != got.Revision || again.Merged {
			t.Errorf("%s: %d %+v", same, status, again)
		}
	}
}

// S9: a server-only place answers like one that is not there, byte for byte,
// whatever is tried with it. (What is written to either is read back by nobody
// from the one.)
func TestS9PatchCannotProbe(t *testing.T) {
	const members = `"title":{"type":"string"},"users":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"token":{"type":"string"}}%s}},"secrets":{"type":"object","required":["k"],"properties":{"k":{"type":"integer"}}}`
	for schema, cfg := range map[string]string{
		"open":   `{"type":"object","properties":{` + fmt.Sprintf(members, "") + `}}`,
		"closed": `{"type":"object","additionalProperties":false,"properties":{` + fmt.Sprintf(members, `,"additionalProperties":false`) + `}}`,
		"nested": `{"type":"object","$defs":{"u":{"type":"object","unevaluatedProperties":false,"properties":{"id":true,"token":true}}},"unevaluatedProperties":false,"allOf":[{"properties":{"title":true,"secrets":true}},{"properties":{"users":{"items":{"$ref":"#/$defs/u"}}}}]}`,
	} {
		config := state.Config{
			Initial: jsondoc.MustParse(`{"title":"A","users":[{"id":"u1","token":"t1"}],"secrets":{"k":1}}`),
			Schema:  state.MustParseSchema(cfg),
			Access:  state.Access{"/secrets": state.ServerOnly, "/users/*/token": state.ServerOnly},
		}
		srv := listen(t, speaker("Hi."), &server.Options{State: config}, nil)
		n := 0
		ask := func(t *testing.T, body, hidden, absent string) string {
			n++
			url := fmt.Sprintf("%s/threads/t%d", srv.URL, n)
			_, first := patch(t, url, "", `{"title":"B"}`)
			epoch, _, _ := strings.Cut(first.Position, "-")
			media := patchJSON
			if !strings.HasPrefix(body, "[") {
				media = mergeJSON
			}
			status, header, text := request(t, http.MethodPatch, url+"/state", body, "Content-Type", media)
			if state := string(hydrated(t, url).State); strings.Contains(state, "secrets") || strings.Contains(state, "token") {
				t.Errorf("%s: S9: %s", body, state)
			}
			all := fmt.Sprint(status, header.Get("ETag"), header.Get("Content-Type"), text)
			all = strings.ReplaceAll(all, epoch, "EPOCH")
			return strings.ReplaceAll(all, absent, hidden)
		}
		for _, c := range []struct{ body, hidden, absent string }{
			{`[{"op":"test","path":"/X","value":{"k":1}}]`, "secrets", "absents"},
			{`[{"op":"test","path":"/X/k","value":1}]`, "secrets", "absents"},
			{`[{"op":"test","path":"/X","value":null}]`, "secrets", "absents"},
			{`[{"op":"replace","path":"/X","value":{"k":2}}]`, "secrets", "absents"},
			{`[{"op":"replace","path":"/X/k","value":2}]`, "secrets", "absents"},
			{`[{"op":"remove","path":"/X"}]`, "secrets", "absents"},
			{`[{"op":"remove","path":"/X/k"}]`, "secrets", "absents"},
			{`[{"op":"copy","from":"/X","path":"/title"}]`, "secrets", "absents"},
			{`[{"op":"copy","from":"/X/k","path":"/title"}]`, "secrets", "absents"},
			{`[{"op":"move","from":"/X","path":"/title"}]`, "secrets", "absents"},
			{`[{"op":"move","from":"/title","path":"/X/k"}]`, "secrets", "absents"},
			{`[{"op":"add","path":"/X/k","value":2}]`, "secrets", "absents"},
			{`[{"op":"add","path":"/X","value":{"k":2}}]`, "secrets", "absents"},
			{`[{"op":"add","path":"/X","value":{}}]`, "secrets", "absents"},
			{`[{"op":"add","path":"/X","value":5}]`, "secrets", "absents"},
			{`[{"op":"add","path":"/X","value":{"k":2}},{"op":"test","path":"/X/k","value":2}]`, "secrets", "absents"},
			{`[{"op":"add","path":"/X","value":{"k":2}},{"op":"test","path":"/X/k","value":1}]`, "secrets", "absents"},
			{`[{"op":"add","path":"/X","value":1},{"op":"copy","from":"/X","path":"/title"}]`, "secrets", "absents"},
			{`[{"op":"add","path":"/X","value":1},{"op":"replace","path":"/title","value":7}]`, "secrets", "absents"},
			{`[{"op":"add","path":"/X","value":1},{"op":"remove","path":"/X"}]`, "secrets", "absents"},
			{`[{"op":"move","from":"/title","path":"/X"}]`, "secrets", "absents"},
			{`{"X":{"k":2}}`, "secrets", "absents"},
			{`{"X":{"k":null}}`, "secrets", "absents"},
			{`{"X":null}`, "secrets", "absents"},
			{`{"X":"text","title":"C"}`, "secrets", "absents"},
			{`[{"op":"test","path":"/users/0/X","value":"t1"}]`, "token", "nokey"},
			{`[{"op":"replace","path":"/users/0/X","value":"t2"}]`, "token", "nokey"},
			{`[{"op":"remove","path":"/users/0/X"}]`, "token", "nokey"},
			{`[{"op":"copy","from":"/users/0/X","path":"/title"}]`, "token", "nokey"},
			{`[{"op":"add","path":"/users/0/X","value":"t2"}]`, "token", "nokey"},
			{`[{"op":"add","path":"/users/0/X","value":7}]`, "token", "nokey"},
			{`[{"op":"add","path":"/users/-","value":{"id":"u2","X":"t2"}}]`, "token", "nokey"},
		} {
			body := func(name string) string { return strings.ReplaceAll(c.body, "X", name) }
			a, b := ask(t, body(c.hidden), c.hidden, c.absent), ask(t, body(c.absent), c.hidden, c.absent)
			if a != b {
				t.Errorf("%s schema, %s:\n%s\nand for a place that is not there\n%s", schema, body(c.hidden), a, b)
			}
		}
	}
}

// S9: what nobody may see is not changed by trying, nor by a posted state.
func TestS9HiddenStays(t *testing.T) {
	var seen []string
	m := agenttest.New(agenttest.TurnFrom(func(p agenttest.Prompt) []agenttest.Step {
		seen = append(seen, p.Text())
		return []agenttest.Step{agenttest.Text("Hi.")}
	}))
	m.Repeat = true
	cfg := editable
	cfg.Inject = state.Injection{Mode: state.InjectAll}
	srv := listen(t, m.Agent(agent.Config{}), &server.Options{State: cfg}, nil)
	url := srv.URL + "/threads/t"
	for _, body := range []string{`{"title":"B"}`, `{"secrets":{"k":2}}`, `[{"op":"add","path":"/secrets","value":null}]`, `[{"op":"replace","path":"","value":{"title":"C","total":3}}]`} {
		if status, got := patch(t, url, "", body); status != http.StatusOK {
			t.Errorf("%s: %d %+v", body, status, got)
		}
	}
	run := `{"threadId":"t","runId":"r","state":{"title":"D","secrets":{"k":3},"total":9},"messages":[{"id":"u","role":"user","content":"hi"}]}`
	if status, _, text := post(t, srv.URL, "application/json", run); status != http.StatusOK || strings.Contains(text, "secrets") {
		t.Errorf("%d %s", status, text)
	}
	if len(seen) != 1 || !strings.Contains(seen[0], `"secrets":{"k":1}`) || !strings.Contains(seen[0], `"title":"D"`) || !strings.Contains(seen[0], `"total":3`) {
		t.Errorf("the model sees %s", seen)
	}
	// A first post as well: neither place is the client's to write.
	if status, _, text := post(t, srv.URL, "application/json", strings.ReplaceAll(run, `"t"`, `"first"`)); status != http.StatusOK || strings.Contains(text, "secrets") {
		t.Errorf("%d %s", status, text)
	}
	if !strings.Contains(seen[1], `"secrets":{"k":1}`) || !strings.Contains(seen[1], `"total":3`) {
		t.Errorf("S9: the model sees %s", seen[1])
	}
}
