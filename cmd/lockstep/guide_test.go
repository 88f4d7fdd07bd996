package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/agentsfile"
	"github.com/lockstep-go/lockstep/internal/recording"
	"github.com/lockstep-go/lockstep/jsondoc"
)

const repository = "../.."

// unchecked are the text blocks that are not checked here, by their first line, and
// why. Every other text block is the output of something in outputs.
var unchecked = map[string]string{
	"model chunk ─ provider ─▶ message.FunctionCallDelta": "a drawing",
	"jetstream { sync_interval: always }":                 "thread/nats has the server read it",
}

// outputs are the text blocks that say what a program prints, by their first
// line, and how that is made here.
var outputs = map[string]func(t *testing.T, block, url string){
	"User (:q to quit, :state to show state): Write a story about a dragon called Atlantis":                                   checkTranscript,
	`run 1, event 3, 14.2 ms, STATE_DELTA: patch: the patch does not apply: replace "/a": there is no such place at /delta/0`: checkFault,
}

// Everything that a newcomer may copy out of the README and the guides works. Each
// fenced block has a language, and each language a rule:
//
//	go       a whole program; it compiles
//	yaml     an agents file; it is served, and each agent of it answers
//	sh       runs in a POSIX shell against the demo agents; a refused request is a failure
//	console  commands that exist, with flags and files that exist; not run, because they do not end
//	json     parses; a recording and a RunAgentInput are read as what they are
//	js, ts   type-checked and run by clients/js/test/guides.test.mjs
//	text     the output of something, made anew in outputs, or in unchecked
func TestGuides(t *testing.T) {
	seen := map[string]int{}
	url := demoServer(t)
	folder := map[string]string{} // a page's snippets use each other's files
	for _, b := range guideSnippets(t) {
		if folder[b.file] == "" {
			folder[b.file] = t.TempDir()
		}
		seen[b.language]++
		switch b.language {
		case "go":
			t.Run(b.name(), func(t *testing.T) { checkProgram(t, b.text) })
		case "yaml":
			t.Run(b.name(), func(t *testing.T) { checkAgentsFile(t, b.text) })
		case "sh":
			t.Run(b.name(), func(t *testing.T) { runShell(t, b.text, url, folder[b.file]) })
		case "console":
			t.Run(b.name(), func(t *testing.T) { checkCommands(t, b.text) })
		case "json":
			t.Run(b.name(), func(t *testing.T) { checkJSON(t, b.text) })
		case "js", "ts":
			// The type checker and Node are not Go's; the test there walks the same files.
		case "text":
			if b.file == "clients/js/README.md" {
				continue // the output of the js block above it; clients/js/test compares it
			}
			first, _, _ := strings.Cut(b.text, "\n")
			if check := outputs[first]; check != nil {
				t.Run(b.name(), func(t *testing.T) { check(t, b.text, url) })
			} else if unchecked[first] == "" {
				t.Errorf("%s: nothing checks this text: %s", b.name(), first)
			}
		default:
			t.Errorf("%s: a block of language %q; want go, yaml, sh, console, json, js, ts or text", b.name(), b.language)
		}
	}
	for _, language := range []string{"go", "yaml", "sh", "console", "json", "js", "ts", "text"} {
		if seen[language] == 0 {
			t.Errorf("no %s block was found: does this test read the guides?", language)
		}
	}
}

// snippet is a fenced code block of a guide.
type snippet struct {
	file, language, text string
	line                 int // of its fence
}

func (b snippet) name() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// guides are the pages that people read, from the root of the repository.
func guides(t *testing.T) []string {
	t.Helper()
	pages, err := fs.Glob(os.DirFS(repository), "docs/*.md")
	if err != nil || len(pages) < 8 {
		t.Fatalf("%d pages in docs (%v)", len(pages), err)
	}
	return append(pages, "README.md", "clients/js/README.md")
}

func readGuide(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, page))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// guideSnippets are all code blocks of all guides. One that is only indented has no
// language, so nothing would check it: it is an error.
func guideSnippets(t *testing.T) (out []snippet) {
	t.Helper()
	for _, page := range guides(t) {
		var open *snippet
		n := 0
		for line := range strings.Lines(readGuide(t, page)) {
			n++
			language, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
			switch {
			case fence && open == nil:
				open = &snippet{file: page, language: language, line: n}
			case fence:
				out, open = append(out, *open), nil
			case open != nil:
				open.text += line
			case strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t"):
				t.Errorf("%s:%d: an indented block; put it between fences that say what it is", page, n)
			}
		}
		if open != nil {
			t.Errorf("%s: the block is not closed", open.name())
		}
	}
	return out
}

// checkProgram compiles and vets a Go program as one that uses this module.
func checkProgram(t *testing.T, text string) {
	file, args := filepath.Join(t.TempDir(), "main.go"), []string{"vet"}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = append(args, "-race") // so that the packages are in the build cache
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, file)...)
	cmd.Dir = repository
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func checkAgentsFile(t *testing.T, text string) {
	file := filepath.Join(t.TempDir(), "agents.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	agents, err := agentsfile.Load(file, nil)
	if err != nil || len(agents) == 0 {
		t.Fatalf("%d agents: %v", len(agents), err)
	}
	url, stop := serve(t, "--agents", file, "--model", "scripted")
	for _, a := range agents {
		var out, faults bytes.Buffer
		if code := run(t.Context(), []string{"run", url + a.Path, "--message", "Write a short story"}, std{strings.NewReader(""), &out, &faults}); code != 0 {
			t.Errorf("%s: exit code %d\n%s%s", a.Name, code, out.String(), faults.String())
		}
		if len(a.Config.Tools) > 0 && !strings.Contains(out.String(), "TOOL_CALL_START") {
			t.Errorf("%s has tools and uses none\n%s", a.Name, out.String())
		}
	}
	if code := stop(); code != 0 {
		t.Errorf("serve ended with %d", code)
	}
}

// runShell runs a snippet. testscript has put this binary into the PATH as
// lockstep.
func runShell(t *testing.T, text, url, dir string) {
	if runtime.GOOS == "windows" {
		t.Skip("the snippet is for a POSIX shell")
	}
	if _, err := exec.LookPath("curl"); err != nil && strings.Contains(text, "curl ") {
		t.Skip("curl is not installed")
	}
	// A person sees a refusal; curl alone would end with 0.
	const strict = "curl() { command curl --silent --show-error --fail-with-body \"$@\"; }\n"
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", strict+strings.ReplaceAll(text, "http://127.0.0.1:8888", url))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), scriptEnv...)
	out, err := cmd.CombinedOutput()
	if err != nil || bytes.Contains(out, []byte(`"RUN_ERROR"`)) {
		t.Errorf("%v\n%s\n%s", err, text, out)
	}
}

func checkJSON(t *testing.T, text string) {
	if strings.HasPrefix(text, `{"format":`) {
		r, err := recording.NewReader(strings.NewReader(text))
		for err == nil {
			_, err = r.Next()
		}
		if err != io.EOF {
			t.Errorf("the recording: %v", err)
		}
		return
	}
	v, err := jsondoc.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := v.Get("threadId"); ok {
		if _, err := agui.DecodeInput([]byte(text), nil); err != nil {
			t.Errorf("the input: %v", err)
		}
	}
}

// checkCommands says what of a console block does not exist.
func checkCommands(t *testing.T, text string) {
	for _, words := range shellCommands(strings.ReplaceAll(text, "\\\n", " ")) {
		if err := commandExists(words, true); err != nil {
			t.Errorf("%s: %v", strings.Join(words, " "), err)
		}
	}
}

// commandExists looks at a command of the guides. whole says that nothing may be
// missing; prose says `lockstep verify` and means the command with that name.
func commandExists(words []string, whole bool) error {
	for _, w := range words {
		if strings.HasPrefix(w, "examples/") || strings.HasPrefix(w, "./examples/") {
			if _, err := os.Stat(filepath.Join(repository, w)); err != nil {
				return err
			}
		}
	}
	switch line := strings.Join(words, " "); {
	case words[0] == "lockstep" || words[0] == "bin/lockstep":
		return parseCommand(words[1:], whole)
	case strings.HasPrefix(line, "go run ./cmd/lockstep "):
		return parseCommand(words[3:], whole)
	case strings.HasPrefix(line, "go run ./examples/") && len(words) == 3:
		return nil // it is there, and internal/exampletest runs it
	case strings.HasPrefix(line, "go test ./") && len(words) == 7 && words[5] == "-bench":
		return benchmarkExists(words[2], words[6])
	case words[0] == "make" && len(words) == 2:
		makefile, err := os.ReadFile(filepath.Join(repository, "Makefile"))
		if err == nil && !bytes.Contains(makefile, []byte("\n"+words[1]+":")) {
			err = fmt.Errorf("the Makefile has no target %s", words[1])
		}
		return err
	case line == "git clone https://github.com/lockstep-go/lockstep", line == "cd lockstep":
		return nil
	case words[0] == "sqlite3":
		return nil // thread/sqlite runs its SQL on an open store
	}
	return fmt.Errorf("this is no command that the test knows")
}

func benchmarkExists(dir, pattern string) error {
	files, err := filepath.Glob(filepath.Join(repository, dir, "*_test.go"))
	if err != nil {
		return err
	}
	var source []byte
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		source = append(source, text...)
	}
	for part := range strings.SplitSeq(pattern, "|") {
		if !regexp.MustCompile(`func Benchmark\w*` + part).Match(source) {
			return fmt.Errorf("%s has no benchmark of %s", dir, part)
		}
	}
	return nil
}

// parseCommand parses arguments of lockstep without running anything. Unless they
// are whole, only the command and its flags have to exist.
func parseCommand(args []string, whole bool) error {
	parser, err := kong.New(&cli{}, kong.Exit(func(int) {}))
	if err != nil {
		return err
	}
	if !whole {
		if len(args) == 0 {
			return nil
		}
		i := slices.IndexFunc(parser.Model.Children, func(n *kong.Node) bool { return n.Name == args[0] })
		if i < 0 {
			return fmt.Errorf("there is no command %s", args[0])
		}
		for _, a := range args[1:] {
			name, flag := strings.CutPrefix(a, "--")
			if flag && !slices.ContainsFunc(parser.Model.Children[i].Flags, func(f *kong.Flag) bool { return f.Name == name }) {
				return fmt.Errorf("%s has no flag %s", args[0], a)
			}
		}
		return nil
	}
	_, err = parser.Parse(args)
	return err
}

// The commands, flags and variables that sentences name exist too, and what a
// page links to is there.
func TestGuideSentences(t *testing.T) {
	parser, err := kong.New(&cli{}, kong.DefaultEnvars("LOCKSTEP"), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, command := range parser.Model.Children {
		for _, flag := range command.Flags {
			known["--"+flag.Name] = true
			known["LOCKSTEP_"+strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))] = true
		}
	}
	name := regexp.MustCompile(`^--[a-z-]+|^LOCKSTEP_[A-Z_]+$`)
	command := regexp.MustCompile(`^(bin/)?lockstep [a-z]|^make [a-z-]+$|^go (run|test) \./`)
	link := regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`)
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchors := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	found := 0
	for _, page := range guides(t) {
		text := regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(readGuide(t, page), "")
		for _, span := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1) {
			code := strings.Join(strings.Fields(span[1]), " ")
			if n := name.FindString(code); n != "" {
				found++
				if !known[n] {
					t.Errorf("%s: there is no %s", page, n)
				}
			}
			if command.MatchString(code) {
				found++
				for _, words := range shellCommands(code) {
					if err := commandExists(words, false); err != nil {
						t.Errorf("%s: %s: %v", page, code, err)
					}
				}
			}
		}
		for _, l := range link.FindAllStringSubmatch(regexp.MustCompile("`[^`]*`").ReplaceAllString(text, ""), -1) {
			to := page
			if l[1] != "" {
				to = filepath.Join(filepath.Dir(page), l[1])
			}
			if _, err := os.Stat(filepath.Join(repository, to)); err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if l[2] == "" {
				continue
			}
			anchors := map[string]bool{}
			for _, h := range heading.FindAllStringSubmatch(readGuide(t, filepath.ToSlash(to)), -1) {
				anchors["#"+strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
			}
			if !anchors[l[2]] {
				t.Errorf("%s: %s has no heading %s; it has %v", page, to, l[2], slices.Sorted(maps.Keys(anchors)))
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d names were found: does this test read the guides?", found)
	}
}

// checkTranscript holds a conversation against what chat prints. The guide's ends
// with … where there is more.
func checkTranscript(t *testing.T, block, url string) {
	said := regexp.MustCompile(`state\): (.*)`).FindStringSubmatch(block)
	if said == nil {
		t.Fatal("nobody says anything")
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"chat", url + "/predictive_state_updates"}, std{strings.NewReader(said[1] + "\n:q\n"), &out, io.Discard}); code != 0 {
		t.Errorf("exit code %d", code)
	}
	want, more := strings.CutSuffix(block, "…\n")
	if got := strings.TrimPrefix(out.String(), "\n"); !more || !strings.HasPrefix(got, want) {
		t.Errorf("chat prints\n%s\nand not\n%s", got, block)
	}
}

// checkFault has verify look at a server that has the fault that the guide shows.
// Only the time is another.
func checkFault(t *testing.T, block, _ string) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		in, err := agui.DecodeInput(body, nil)
		if err != nil {
			t.Error(err)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range []agui.Event{
			&agui.RunStarted{ThreadID: in.ThreadID, RunID: in.RunID},
			&agui.StateSnapshot{Snapshot: jsondoc.Object()},
			&agui.StateDelta{Delta: jsondoc.Patch{{Op: "replace", Path: "/a", Value: jsondoc.Int(1)}}},
			&agui.RunFinished{ThreadID: in.ThreadID, RunID: in.RunID},
		} {
			_, _ = w.Write(agui.AppendFrame(nil, "", e, agui.V1))
		}
	}))
	defer srv.Close()
	var out bytes.Buffer
	code := run(t.Context(), []string{"verify", srv.URL}, std{strings.NewReader(""), &out, io.Discard})
	first, _, _ := strings.Cut(regexp.MustCompile(`[0-9.]+ ms`).ReplaceAllString(out.String(), "14.2 ms"), "\n")
	if code != exitFailed || first != strings.TrimSpace(block) {
		t.Errorf("exit code %d and\n%s", code, out.String())
	}
}

// shellCommands splits lines into commands and their words, as far as the guides
// need a shell: quotes, &&, comments, variables set for one command.
func shellCommands(text string) (commands [][]string) {
	for line := range strings.Lines(text) {
		var words []string
		for _, w := range append(shellWords(strings.TrimSpace(line)), "&&") {
			switch {
			case w == "&&" && len(words) > 0:
				commands, words = append(commands, words), nil
			case w == "&&", len(words) == 0 && regexp.MustCompile(`^[A-Z_]+=`).MatchString(w):
			default:
				words = append(words, w)
			}
		}
	}
	return commands
}

// shellWords splits a line at spaces outside quotes, up to a comment.
func shellWords(line string) (words []string) {
	word, quote, begun := "", rune(0), false
	for _, r := range line + " " {
		switch {
		case r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == '#' && word == "" && !begun:
			return words
		case r == ' ':
			if begun || word != "" {
				words = append(words, word)
			}
			word, begun = "", false
		default:
			word += string(r)
		}
	}
	return words
}
