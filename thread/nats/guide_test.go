package nats_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// TestGuideSetting: the setting that the operations guide gives is one of the
// server's, and makes it write every append to the disk.
func TestGuideSetting(t *testing.T) {
	guide, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	setting := regexp.MustCompile(`(?m)^jetstream \{.*\}`).Find(guide)
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, setting, 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !options.JetStream || !options.SyncAlways {
		t.Errorf("%q: JetStream %t, SyncAlways %t", setting, options.JetStream, options.SyncAlways)
	}
}
