package agui

import (
	"os"
	"testing"
)

// TestRun prints the figures of this room alone.
func TestRun(t *testing.T) {
	if os.Getenv("BENCH") == "" {
		t.Skip("set BENCH=1 to measure")
	}
	Run(os.Stdout)
}
