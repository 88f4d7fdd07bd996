package main

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/lockstep-go/lockstep/internal/recording"
)

// blocks are the code blocks of a language in a Markdown file.
func blocks(t *testing.T, file, language string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	inside, block := false, ""
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.TrimSpace(line) == "```"+language:
			inside, block = true, ""
		case inside && strings.HasPrefix(line, "```"):
			inside = false
			out = append(out, block)
		case inside:
			block += line
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no %s block", file, language)
	}
	return out
}

// The guide's snippets work: those in sh are run against the demo agents, those
// of the console, which do not end or need a paused run, are at least commands
// that exist.
func TestToolsGuide(t *testing.T) {
	const guide = "../../docs/tools.md"
	for _, block := range blocks(t, guide, "console") {
		for line := range strings.Lines(block) {
			args := shellWords(strings.TrimSpace(line))
			if len(args) == 0 || args[0] != "lockstep" {
				t.Errorf("%q is no command of ours", line)
				continue
			}
			parser, err := kong.New(&cli{}, kong.Exit(func(int) {}))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.Parse(args[1:]); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	for _, block := range blocks(t, guide, "json") {
		r, err := recording.NewReader(strings.NewReader(block))
		for err == nil {
			_, err = r.Next()
		}
		if err.Error() != "EOF" {
			t.Errorf("the recording in the guide: %v", err)
		}
	}
	if runtime.GOOS == "windows" {
		t.Skip("the other snippets are for a POSIX shell")
	}
	dir, url := t.TempDir(), demoServer(t)
	for _, block := range blocks(t, guide, "sh") {
		// testscript has put this binary into the PATH as lockstep.
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", strings.ReplaceAll(block, "http://127.0.0.1:8888", url))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), scriptEnv...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s\n%s", err, block, out)
		}
	}
}

// shellWords splits a line at spaces outside quotes.
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
