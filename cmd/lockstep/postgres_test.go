package main

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/pgtest"
)

// TestServePostgres: two servers on one database serve the same threads, and
// what one has made is there when both are gone.
func TestServePostgres(t *testing.T) {
	store := pgtest.URL(t)
	start := func() (string, func() int) {
		return serve(t, "--model", "scripted", "--store", store)
	}
	ask := func(url, message, want string) {
		t.Helper()
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"run", url + "/", "--thread", "kept", "--message", message}, std{strings.NewReader(""), &out, &errs})
		if code != 0 || !strings.Contains(out.String(), "RUN_FINISHED") || !strings.Contains(out.String(), want) {
			t.Fatalf("the run ended with %d: %s\n%s", code, errs.String(), out.String())
		}
	}
	thread := func(url string) string {
		t.Helper()
		res, err := http.Get(url + "/threads/kept")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", url, res.Status, err)
		}
		// The position moves when a server compacts the log, which changes nothing else.
		_, rest, _ := strings.Cut(string(body), `"revision"`)
		return rest
	}
	one, stopOne := start()
	other, stopOther := start()
	ask(one, "I want to make a classic Italian pasta carbonara", "Carbonara")
	if got, want := thread(other), thread(one); got != want || !strings.Contains(got, "Carbonara") {
		t.Errorf("one server has\n%s\nthe other\n%s", want, got)
	}
	ask(other, "Give me all the ingredients", "Spaghetti")
	last := thread(one)
	for _, stop := range []func() int{stopOne, stopOther} {
		if code := stop(); code != 0 {
			t.Errorf("serve ended with %d", code)
		}
	}
	again, stop := start()
	if got := thread(again); got != last {
		t.Errorf("kept is\n%s\nit was\n%s", got, last)
	}
	if code := stop(); code != 0 {
		t.Errorf("serve ended with %d", code)
	}
}
