package jsonstream

import (
	"os"
	"testing"
)

// TestRun prints the figures; it asserts nothing, so it only runs when asked for
// with -v, like `make bench`.
func TestRun(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("run with -v")
	}
	Run(os.Stdout)
}
