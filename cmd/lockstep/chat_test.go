package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// talk has a conversation on a pipe and returns what was shown.
func talk(t *testing.T, wantCode int, url string, lines ...string) string {
	t.Helper()
	var out bytes.Buffer
	args := []string{"chat", url}
	if strings.HasPrefix(lines[0], "--") {
		args, lines = append(args, strings.Fields(lines[0])...), lines[1:]
	}
	code := run(t.Context(), args, std{strings.NewReader(strings.Join(lines, "\n") + "\n"), &out, io.Discard})
	if code != wantCode {
		t.Errorf("exit code %d, want %d; the conversation is\n%s", code, wantCode, out.String())
	}
	return out.String()
}

func wantIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, p := range parts {
		_, after, ok := strings.Cut(rest, p)
		if !ok {
			t.Fatalf("%q is not there, or not in this order, in\n%s", p, text)
		}
		rest = after
	}
}

// :edit changes the state at once, :undo takes back what the agent did, and what
// cannot be done is said in one line.
func TestChatEditAndUndo(t *testing.T) {
	url := demoServer(t)
	out := talk(t, 1, url+"/",
		"I want to make a classic Italian pasta carbonara",
		`:edit /recipe/title "Mine"`,
		`:edit /none/deeper 5`,
		`:edit /recipe/title Soup`,
		`:edit title "x"`,
		`:undo`,
		`:undo`,
	)
	wantIn(t, out, "[Run Finished]",
		"[State Updated]\n  /recipe/title: \"Classic Pasta Carbonara\" → \"Mine\"\n",
		"[Error: the server answered 422 Unprocessable Entity: /none",
		"[Error: /recipe/title: the value is no JSON (a text stands in quotation marks)",
		"[Error: want a place and its value",
		":undo\n[State Updated]\n",
		"  /recipe/title stays: it was changed since",
		"[Error: nothing was taken back: nothing that the agent changed is left to undo]",
	)
}

var threadID = regexp.MustCompile(`\nthread (thread-\w+)\n`)

// A run that asks: the change is shown as a difference, the answers do what they
// say, and a thread that waits asks again when it is opened.
func TestChatApproval(t *testing.T) {
	url := demoServer(t)
	const wish = `call create_document {"title": "Dragons", "content": "One\nTwo\nThree", "metadata": {}}`

	out := talk(t, 0, url+"/create_document", wish, "perhaps", "y", ":state")
	wantIn(t, out, "[Run Paused]", "Shall the document be changed as shown?",
		"  /document: (new)\n    + title: Dragons\n", "    +   Two\n",
		"Approve? [y/n/e(dit)]: perhaps\nAnswer y or n, or e to change", "Approve? [y/n/e(dit)]: y\n",
		"[Run Started]\n", "[Tool Result: Document created.]", "[Run Finished]", "CURRENT STATE", "  title: Dragons\n")
	if strings.Contains(out, `{"title"`) && strings.Count(out, `{"title"`) > 1 { // the wish itself
		t.Errorf("there is JSON in\n%s", out)
	}

	out = talk(t, 0, url+"/create_document", wish, ":q", ":q")
	wantIn(t, out, "Approve? [y/n/e(dit)]: :q\nThe question stays open.")

	out = talk(t, 0, url+"/create_document", wish, "n", ":state")
	wantIn(t, out, "Approve? [y/n/e(dit)]: n\n", "[Run Finished]", "CURRENT STATE\n", "{}\n")

	out = talk(t, 0, url+"/create_document", wish, "e", `/title "Lanterns"`, `/title Lanterns`, "", "y")
	wantIn(t, out, "  /title\n  /content\n", "edit: /title \"Lanterns\"\n", "the value is no JSON", "edit: \n",
		"  /title: \"Dragons\" → \"Lanterns\"\n", "[Tool Result: Document created.]", "  title: Lanterns\n")

	// Nobody answers: the thread waits on, and asks whoever opens it.
	out = talk(t, 0, url+"/create_document", ":thread", wish)
	wantIn(t, out, "Approve? [y/n/e(dit)]: ")
	id := threadID.FindStringSubmatch(out)
	if id == nil {
		t.Fatal(out)
	}
	out = talk(t, 0, url+"/create_document", "--thread "+id[1], "y")
	wantIn(t, out, "thread "+id[1]+", 2 messages", "  create_document\n", "    title: Dragons\n", "Approve? [y/n/e(dit)]: y", "[Tool Result: Document created.]")
	out = talk(t, 0, url+"/create_document", ":thread "+id[1])
	if strings.Contains(out, "Approve?") || !strings.Contains(out, "title: Dragons") {
		t.Errorf("it was answered, and the thread shows\n%s", out)
	}
	wantIn(t, talk(t, 0, url+"/", ":thread of-nobody"), "nothing is known of thread of-nobody yet")
}

// The same with the question of older front ends.
func TestChatOlderApproval(t *testing.T) {
	url := demoServer(t)
	const wish = "Write a story about a dragon called Atlantis"
	out := talk(t, 0, url+"/predictive_state_updates", wish, "e", "y")
	wantIn(t, out, "[Calling Tool: write_document_local]", "[Calling Tool: confirm_changes]", "[Run Finished]",
		"  /document: (was empty)\n    + # Atlantis", "Approve? [y/n]: e\nThis cannot be edited here", "Approve? [y/n]: y\n", "[Run Started]", "The document is updated.", "CURRENT STATE", "Atlantis")
	out = talk(t, 0, url+"/predictive_state_updates", wish, "n", ":state")
	wantIn(t, out, "Approve? [y/n]: n\n", "The document stays as it was", "CURRENT STATE")
	if _, after, _ := strings.Cut(out, "CURRENT STATE"); strings.Contains(after, "Atlantis") {
		t.Errorf("it was rejected, and the state is\n%s", after)
	}
	out = talk(t, 0, url+"/predictive_state_updates", ":thread", wish)
	id := threadID.FindStringSubmatch(out)
	if id == nil {
		t.Fatal(out)
	}
	out = talk(t, 0, url+"/predictive_state_updates", "--thread "+id[1], "y")
	if strings.Count(out, "Approve?") != 1 {
		t.Errorf("one question is asked so:\n%s", out)
	}
	wantIn(t, out, "Approve?", "y\n", "The document is updated.")
}

// Differences are what a person reads before saying yes.
func TestDifference(t *testing.T) {
	story := strings.Repeat("a line that stays\\n", 3)
	for _, c := range []struct{ name, before, after, want string }{
		{"nothing", `{"a":1}`, `{"a":1}`, ""},
		{"a value", `{"a":1,"b":[1,2]}`, `{"a":"x","b":[1,2]}`, `/a: 1 → "x"`},
		{"members", `{"a":1}`, `{"b":null,"c":[]}`, "/a: removed (was 1)\n/b: null (new)\n/c: [] (new)"},
		{"items", `{"l":[{"id":1},{"id":2},{"id":3}]}`, `{"l":[{"id":3},{"id":1}]}`, "/l/1: removed (was {id})\n/l/1: moved to /l/0"},
		{"a tree", `{}`, `{"recipe":{"title":"Soup","steps":["boil","eat"],"deep":{"x":{"y":1}}}}`,
			"/recipe: (new)\n  + title: Soup\n  + steps: [boil, eat]\n  + deep:\n  +   x:\n  +     y: 1"},
		{"a tree for a value", `{"a":1}`, `{"a":{"b":2}}`, "/a: 1 →\n  + b: 2"},
		{"a value for a tree", `{"a":{"b":2,"c":3}}`, `{"a":1}`, "/a: {b, c} → 1"},
		{"a list for a list of another kind", `{"a":[1,2]}`, `{"a":5}`, "/a: a list of 2 → 5"},
		{"lines of a text", `{"d":"` + story + `old\nend"}`, `{"d":"` + story + `new\nnewer\nend"}`, "/d:\n  - old\n  + new\n  + newer"},
		{"a long line", `{"d":"` + strings.Repeat("word ", 30) + `old"}`, `{"d":"` + strings.Repeat("word ", 30) + `new"}`, "/d:\n  - …word word word word old\n  + …word word word word new"},
		{"a new long text", `{}`, `{"d":"one\ntwo"}`, "/d: (new)\n  + one\n  + two"},
		{"what acts on a terminal", `{"a":"x"}`, `{"a":"\u001b[2Jy\u202e"}`, `/a: "x" → "\u001b[2Jy"`},
		{"the root", `[1]`, `{"a":1}`, "(all): a list of 1 →\n  + a: 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(difference(jsondoc.MustParse(c.before), jsondoc.MustParse(c.after)), "\n")
			if got != c.want {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
		})
	}
	long := make([]string, 500)
	for i := range long {
		long[i] = strings.Repeat("x", 1000)
	}
	lines := difference(jsondoc.Value{}, jsondoc.MustFrom(map[string]any{"d": strings.Join(long, "\n"), "l": long}))
	if len(lines) > 2*mostLines+4 {
		t.Errorf("%d lines of difference", len(lines))
	}
	for _, line := range lines {
		if len([]rune(line)) > 2*briefWidth+10 {
			t.Errorf("a line of %d characters", len([]rune(line)))
		}
	}
}

// A server of another make has no threads: an edit goes out with the next
// message, and everything else says what is wrong in one line.
func TestChatForeignServer(t *testing.T) {
	var posted []*agui.RunAgentInput
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		in, err := agui.DecodeInput(body, nil)
		if err != nil {
			t.Error(err)
			return
		}
		posted = append(posted, in)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}

data: {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"confirmation"}]}}

`)
	}))
	defer srv.Close()
	out := talk(t, 0, srv.URL, `--state {"a":1}`, `:edit /b "x"`, "hello", "n", "maybe")
	wantIn(t, out, "[Edit goes out with the next message]\n  /b: \"x\" (new)\n", "hello", "[Run Paused]", "The agent asks before it goes on.", "Approve? [y/n]: n\n", "[Run Paused]", "Approve? [y/n]: maybe\nAnswer y or n.\n", "Approve? [y/n]: ")
	if len(posted) != 2 || posted[0].State.String() != `{"a":1,"b":"x"}` || len(posted[1].Resume) != 1 || posted[1].Resume[0].Payload.String() != `{"approved":false}` {
		t.Errorf("%d posts", len(posted))
	}
	out = talk(t, 1, srv.URL, ":undo")
	wantIn(t, out, "[Error: the server answered 404 Not Found")
}
