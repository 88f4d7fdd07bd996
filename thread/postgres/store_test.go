package postgres_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/internal/pgtest"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/postgres"
	"github.com/lockstep-go/lockstep/thread/storetest"
)

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(pgtest.Main{M: m})
}

func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, nil)
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
	storetest.Run(t, func(t *testing.T) thread.Store { return open(t, pgtest.URL(t)) })
}
