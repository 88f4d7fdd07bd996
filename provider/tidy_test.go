package provider_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program that serves an agent of its own gets no vendor's SDK: neither in
// what it compiles nor, after go mod tidy, in its go.mod.
func TestProgramsWithoutVendors(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":  "module example.com/app\n\ngo 1.26.0\n\nrequire " + strings.TrimSuffix(module, "/") + " v0.0.0\n\nreplace " + strings.TrimSuffix(module, "/") + " => " + root + "\n",
		"go.sum":  string(sums), // what is known already need not be asked for
		"main.go": "package main\n\nimport (\n\t_ \"" + module + "server\"\n\t_ \"" + module + "state\"\n\t_ \"" + module + "thread/memory\"\n)\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("mod", "tidy")
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	deps := run("list", "-deps", ".")
	if !strings.Contains(deps, module+"server") {
		t.Fatalf("not the program's dependencies:\n%s", deps)
	}
	for _, vendor := range vendors {
		if strings.Contains(deps, vendor) {
			t.Errorf("the program compiles %s…", vendor)
		}
		if strings.Contains(string(mod), vendor) {
			t.Errorf("go.mod has %s…:\n%s", vendor, mod)
		}
	}
}
