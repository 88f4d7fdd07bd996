package exampletest

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// elsewhere are exported makers whose documentation is not a function of their own,
// and where it is.
var elsewhere = map[string]string{
	"agent/agenttest.New":        "the package's example",
	"agui.NewReducer":            "the zero Reducer, in ExampleReadEvents",
	"agui.NewError":              "ExampleRunErrorFor",
	"jsonstream.NewParser":       "ExampleParser",
	"jsonstream.NewPredictor":    "ExamplePredictor",
	"message.NewAssistant":       "ExampleUnanswered",
	"message.NewDataContent":     "ExampleNew and ExampleDataContent",
	"message.NewResult":          "ExampleUnanswered",
	"message.NewText":            "ExampleUnanswered",
	"message.NewSystem":          "like NewText",
	"run.NewID":                  "one line, for package thread",
	"provider/scripted.New":      "ExampleNewAgent, whose model it is",
	"server.NewHost":             "ExampleHost",
	"state.NewContext":           "for package thread",
	"state.NewModel":             "ExampleSchemaFor and ExampleSession",
	"state.NewSchema":            "ExampleParseSchema, for text",
	"thread/storetest.NewFaults": "its use is a test; package thread's are such",
}

// compiled are packages whose examples cannot run everywhere, and why.
var compiled = map[string]string{
	"thread/postgres": "an example has no test that starts a database for it",
}

// Every package that people import has an example that runs, and so has everything
// in it that makes something: New…, Open….
func TestExamplesInDocumentation(t *testing.T) {
	used := map[string]bool{}
	for path, pkg := range publicPackages(t) {
		ran, has := 0, map[string]bool{}
		for _, e := range pkg.examples {
			if e.Output != "" || e.EmptyOutput || compiled[path] != "" {
				ran++
				name, _, _ := strings.Cut(e.Name, "_")
				has[name] = true
			} else {
				t.Errorf("%s: Example%s has no output to check", path, e.Name)
			}
		}
		if ran == 0 && path != "thread/storetest" { // which is run by tests and cannot be called otherwise
			t.Errorf("%s has no example", path)
		}
		for _, name := range pkg.makers {
			key := path + "." + name
			if elsewhere[key] != "" {
				used[key] = true
				if has[name] {
					t.Errorf("%s has an example: take it out of elsewhere", key)
				}
			} else if !has[name] {
				t.Errorf("%s has no example", key)
			}
		}
	}
	for key := range elsewhere {
		if !used[key] {
			t.Errorf("elsewhere names %s, which is not there", key)
		}
	}
}

// maker are the names of functions that make something.
var maker = regexp.MustCompile(`^(New|Open)($|\p{Lu})`)

type public struct {
	examples []*doc.Example
	makers   []string // exported functions New… and Open…
}

// publicPackages are the packages that programs import, by their folder.
func publicPackages(t *testing.T) map[string]public {
	t.Helper()
	out := map[string]public{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if name := d.Name(); rel != "." && (strings.HasPrefix(name, ".") || slices.Contains([]string{"internal", "testdata", "node_modules", "cmd", "examples", "interop", "bench", "playground", "clients"}, name)) {
			return filepath.SkipDir
		}
		files, err := filepath.Glob(filepath.Join(path, "*.go"))
		if err != nil {
			return err
		}
		var tests []*ast.File
		p := public{}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			if strings.HasSuffix(file, "_test.go") {
				tests = append(tests, f)
				continue
			}
			for _, d := range f.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && maker.MatchString(f.Name.Name) {
					p.makers = append(p.makers, f.Name.Name)
				}
			}
		}
		if len(files) > len(tests) && rel != "." {
			p.examples = doc.Examples(tests...)
			out[rel] = p
		}
		return nil
	})
	if err != nil || len(out) < 15 {
		t.Fatalf("%d packages (%v)", len(out), err)
	}
	return out
}
