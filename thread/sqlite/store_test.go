package sqlite_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/sqlite"
	"github.com/lockstep-go/lockstep/thread/storetest"
)

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) thread.Store { return open(t, filepath.Join(t.TempDir(), "lockstep.db")) })
}

func TestDurable(t *testing.T) {
	storetest.RunDurable(t, storetest.Durable{
		Open: func(path string) (storetest.Closer, error) { return sqlite.Open(path, nil) },
		Log:  func(path string) string { return path + "-wal" },
	})
}
