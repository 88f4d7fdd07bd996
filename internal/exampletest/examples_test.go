package exampletest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// examples are the programs that are part of this module. examples/document is
// the README's, which a test of its own runs; examples/elsewhere is a module.
func examples(t *testing.T) []string {
	t.Helper()
	mains, err := filepath.Glob(filepath.Join(root, "examples", "*", "main.go"))
	if err != nil || len(mains) < 15 {
		t.Fatalf("%d examples (%v)", len(mains), err)
	}
	var names []string
	for _, main := range mains {
		if name := filepath.Base(filepath.Dir(main)); name != "document" {
			names = append(names, name)
		}
	}
	return names
}

// Each example is one screen that begins with what it shows, is on the address
// that they all have, is tested, and stands in the table.
func TestExamples(t *testing.T) {
	table := read(t, "docs/seeds.md")
	for _, name := range examples(t) {
		program := read(t, "examples/"+name+"/main.go")
		if !bytes.HasPrefix(program, []byte("// Command "+name+" shows ")) {
			t.Errorf("examples/%s does not begin with what it shows", name)
		}
		if n := bytes.Count(program, []byte("\n")); n > 75 {
			t.Errorf("examples/%s has %d lines: it shows too much", name, n)
		}
		if !bytes.Contains(program, []byte("127.0.0.1:8080")) {
			t.Errorf("examples/%s is not on 127.0.0.1:8080", name)
		}
		if !bytes.Contains(read(t, "examples/"+name+"/main_test.go"), []byte("exampletest.Play(")) {
			t.Errorf("examples/%s is not tested over HTTP", name)
		}
		if !bytes.Contains(table, []byte("](../examples/"+name+"/main.go)")) {
			t.Errorf("docs/seeds.md does not name examples/%s", name)
		}
	}
}

var (
	link = regexp.MustCompile(`\]\(([^)#:]+)\)`)
	code = regexp.MustCompile("`[^`]*`")
)

// What docs/seeds.md points at is there.
func TestSeedsTable(t *testing.T) {
	links := link.FindAllSubmatch(code.ReplaceAll(read(t, "docs/seeds.md"), nil), -1)
	if len(links) < 40 {
		t.Errorf("only %d links", len(links))
	}
	for _, l := range links {
		if _, err := os.Stat(filepath.Join(root, "docs", string(l[1]))); err != nil {
			t.Errorf("docs/seeds.md: %v", err)
		}
	}
	for row := range strings.Lines(string(read(t, "docs/seeds.md"))) {
		if n := strings.Count(row, "|"); strings.HasPrefix(row, "|") && n != 4 && n != 5 {
			t.Errorf("a row with %d bars: %s", n, row)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
