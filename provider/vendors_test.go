// Package provider_test checks what the packages below may import. There is no package
// here.
package provider_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/lockstep-go/lockstep/"

// vendors are the SDKs, by the beginning of their import paths.
var vendors = []string{"github.com/openai/", "github.com/Azure/", "github.com/AzureAD/"}

// Who does not use a vendor's model compiles nothing of the vendor: its SDK is in its
// provider's package and in what is built of everything (the binary, examples, tests
// across packages), and Azure's core not even in openaiprovider.
func TestVendorsStayInTheirPackages(t *testing.T) {
	// The result depends on every source file. go test sees that only if the test looks
	// at them itself; without this it would go on repeating an old result.
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "list", "-e", "-f", `{{.ImportPath}} {{join .Deps " "}}`, module+"...").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	checked := 0
	for line := range strings.Lines(string(out)) {
		path, deps, _ := strings.Cut(strings.TrimSpace(line), " ")
		room := strings.TrimPrefix(path, module)
		allowed := []string{}
		switch top, _, _ := strings.Cut(room, "/"); {
		case top == "cmd" || top == "examples" || top == "interop":
			continue
		case strings.HasPrefix(room, "provider/openaiprovider"):
			allowed = vendors[:1]
		case strings.HasPrefix(room, "provider/azureprovider"), strings.HasPrefix(room, "provider/foundryprovider"), strings.HasPrefix(room, "provider/internal/"):
			allowed = vendors[:2]
		}
		checked++
		for _, dep := range strings.Fields(deps) {
			for i, vendor := range vendors {
				if strings.HasPrefix(dep, vendor) && i >= len(allowed) {
					t.Errorf("%s compiles %s", room, dep)
				}
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d packages checked:\n%s", checked, out)
	}
}
