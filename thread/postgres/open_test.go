package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/internal/pgtest"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/postgres"
)

// secret is a password that must not come out again.
const secret = "hunter2secret"

// wantRefusal checks that Open fails with one line that has all parts.
func wantRefusal(t *testing.T, url string, parts ...string) {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, nil)
	if err == nil {
		_ = s.Close()
		t.Fatalf("%s is opened", url)
	}
	for _, part := range parts {
		if !contains(err, part) {
			t.Errorf("%v\ndoes not say %q", err, part)
		}
	}
	for _, part := range []string{secret, "hunter2", "\n"} {
		if contains(err, part) {
			t.Errorf("%v\nsays %q", err, part)
		}
	}
}

// TestURLRefused: what is no URL of a database is refused before anybody is
// asked, and never shown: nobody can tell what in it is the password.
func TestURLRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "begins with neither postgres://",
		"mysql://u:" + secret + "@h/d": "begins with neither postgres://",
		"host=h password=" + secret:    "begins with neither postgres://",
		"postgres://u:hunter2/" + secret + "@h/d":                      "cannot be read",
		"postgres://u:12/" + secret + "@h/d":                           "cannot be read",
		"postgres://u:12?" + secret + "@h/d":                           "cannot be read",
		"postgres://u:12#" + secret + "@h/d":                           "cannot be read",
		"postgres://u:p@12/" + secret + "@h/d":                         "cannot be read",
		"postgres://u:" + secret + "%@h/d":                             "cannot be read",
		"postgres://u:" + secret + "@h:port/d":                         "cannot be read",
		"postgres://u:" + secret + "@h:99999/d":                        "h:99999/d cannot be used",
		"postgres://u:" + secret + "@h/d?sslmode=maybe":                "sslmode",
		"postgres://u:" + secret + "@h/d?connect_timeout=" + "soon":    "h/d cannot be used",
		"postgres://u@h/d?password=" + secret + "&pool_max_conns=many": "h/d cannot be used",
	} {
		wantRefusal(t, text, "postgres: the store's URL", want)
	}
}

// TestOpenRefuses: each thing that can be wrong with a server has a line that
// names the server and says what to look at.
func TestOpenRefuses(t *testing.T) {
	base := pgtest.URL(t)
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(u *url.URL)) string {
		u := *at
		f(&u)
		return u.String()
	}
	// A port that nobody listens on: it is taken by somebody who does not.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("password", func(t *testing.T) {
		wantRefusal(t, change(func(u *url.URL) { u.User = url.UserPassword("lockstep", secret) }), at.Host+"/postgres", "password authentication failed", "pg_hba.conf")
	})
	t.Run("database", func(t *testing.T) {
		wantRefusal(t, change(func(u *url.URL) { u.Path = "/nosuch" }), at.Host+"/nosuch", "createdb nosuch")
	})
	t.Run("server", func(t *testing.T) {
		wantRefusal(t, change(func(u *url.URL) { u.Host, u.User = nobody, url.UserPassword("lockstep", secret) }), nobody, "check the host and port")
	})
	t.Run("schema", func(t *testing.T) {
		wantRefusal(t, pgtest.With(base, "search_path", "nosuch"), at.Host, "search_path")
	})
	t.Run("rights", func(t *testing.T) {
		wantRefusal(t, pgtest.With(base, "search_path", "pg_catalog"), at.Host, "permission denied", "CREATE")
	})
	t.Run("newer", func(t *testing.T) {
		if err := open(t, base).Close(); err != nil {
			t.Fatal(err)
		}
		pgtest.Exec(t, base, "UPDATE lockstep_schema SET version = 7")
		wantRefusal(t, base, at.Host, "newer Lockstep (schema 7, this one knows 1)")
		pgtest.Exec(t, base, "DELETE FROM lockstep_schema")
		wantRefusal(t, base, at.Host, "lockstep_schema is empty")
		pgtest.Exec(t, base, "DROP TABLE lockstep_schema")
		wantRefusal(t, base, at.Host, `"lockstep_logs" already exists`)
	})
	t.Run("no answer", func(t *testing.T) {
		// Somebody who listens and says nothing.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err = postgres.Open(ctx, "postgres://u:"+secret+"@"+l.Addr().String()+"/d?sslmode=disable", nil)
		if err == nil || !errors.Is(err, context.DeadlineExceeded) || !contains(err, l.Addr().String()+"/d does not answer") || contains(err, secret) {
			t.Errorf("%v", err)
		}
	})
}

// TestOpenAtOnce: processes that start at the same time do not get into each
// other's way, and make one set of tables.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	base := pgtest.URL(t)
	var wg sync.WaitGroup
	stores := make([]*postgres.Store, 8)
	for i := range stores {
		wg.Go(func() {
			s, err := postgres.Open(t.Context(), base, &postgres.Options{Connections: 2})
			if err != nil {
				t.Error(err)
				return
			}
			stores[i] = s
		})
	}
	wg.Wait()
	for i, s := range stores {
		if s == nil {
			continue
		}
		grow(t, s, key, thread.Head{Epoch: "e", Seq: uint64(i)}, uint64(i)+1)
		if i == 0 {
			if n := s.Count(t, "lockstep_schema"); n != 1 {
				t.Errorf("lockstep_schema has %d rows", n)
			}
		}
	}
	for _, s := range stores {
		if s != nil {
			wantEntries(t, read(t, s, key, 0), entries(1, uint64(len(stores))))
			_ = s.Close()
		}
	}
}

// TestRights: the rights that doc.go names are enough once the tables are there.
func TestRights(t *testing.T) {
	t.Parallel()
	base := pgtest.URL(t)
	if err := open(t, base).Close(); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	schema := at.Query().Get("search_path")
	role := "role_" + strings.TrimPrefix(schema, "test_")
	pgtest.Exec(t, base, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", role, secret))
	t.Cleanup(func() { pgtest.Exec(t, base, "DROP OWNED BY "+role, "DROP ROLE "+role) })
	pgtest.Exec(t, base, "GRANT USAGE ON SCHEMA "+schema+" TO "+role)
	at.User = url.UserPassword(role, secret)
	wantRefusal(t, at.String(), "permission denied", role, "SELECT, INSERT, UPDATE and DELETE")
	pgtest.Exec(t, base, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "+schema+" TO "+role)
	s := open(t, at.String())
	f := follow(t, s, key, 0)
	head := grow(t, s, key, thread.Head{Epoch: "e"}, 20)
	f.want(t, 1, 20)
	if err := s.Compact(t.Context(), key, head, 0, 10, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, read(t, s, key, 0), entries(11, 20))
}

// TestPlans: nothing that is asked all the time reads a whole table.
func TestPlans(t *testing.T) {
	t.Parallel()
	base := pgtest.URL(t)
	s := open(t, base)
	pgtest.Exec(t, base,
		`INSERT INTO lockstep_logs (key, owner, agent, principal, thread, epoch, seq, updated)
			SELECT sha256(int4send(i)), sha256(int4send(i % 50)), '', '', int4send(i), 'e', 10, 1764540000000 + i FROM generate_series(1, 3000) i`,
		`INSERT INTO lockstep_entries SELECT log, n, 0, n, '{}' FROM lockstep_logs, generate_series(1, 10) n`,
		`INSERT INTO lockstep_replaced SELECT log, 1, 0, 1, now() FROM lockstep_logs`,
		"ANALYZE")
	for statement, args := range postgres.Statements() {
		if plan := s.Explain(t, statement, args...); strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s\n%s", statement, plan)
		}
	}
}
