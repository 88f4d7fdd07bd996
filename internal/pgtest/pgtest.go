// Package pgtest gives tests a real PostgreSQL server. It starts one for a test
// binary when the first test asks for it, from the programs that are installed,
// with its files in a temporary directory. LOCKSTEP_TEST_POSTGRES names one
// that runs already instead, by its URL: its role must be allowed to make
// schemas.
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Env names the server to use instead of one that is started here.
const Env = "LOCKSTEP_TEST_POSTGRES"

var shared struct {
	sync.Mutex
	server *Server
	failed error
}

// Main is a *testing.M that ends the server behind the tests.
type Main struct{ M interface{ Run() int } }

// Run runs the tests.
func (m Main) Run() int {
	defer stop()
	return m.M.Run()
}

// URL returns the URL of a server whose search_path is a new, empty schema. The
// server is the same for all tests of the binary, whose TestMain uses Main.
func URL(t testing.TB) string {
	t.Helper()
	base := os.Getenv(Env)
	if base == "" {
		shared.Lock()
		if shared.server == nil && shared.failed == nil {
			shared.server, shared.failed = start(nil)
		}
		server, err := shared.server, shared.failed
		shared.Unlock()
		failed(t, err)
		base = server.URL()
	}
	return schema(t, base)
}

// stop ends the server that URL started, if it did.
func stop() {
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		shared.server.stop()
		shared.server = nil
	}
}

// schema makes a schema that lasts as long as the test.
func schema(t testing.TB, base string) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	Exec(t, base, "CREATE SCHEMA "+name)
	t.Cleanup(func() { Exec(t, base, "DROP SCHEMA IF EXISTS "+name+" CASCADE") })
	return With(base, "search_path", name)
}

// With returns a URL with a parameter set.
func With(base, name, value string) string {
	u, err := url.Parse(base)
	if err != nil {
		panic(err) // of this package's own making, or of whoever runs the tests
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// Exec runs statements on a connection of their own.
func Exec(t testing.TB, base string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, base)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

var errNone = errors.New("no PostgreSQL was found: install it (Debian: apt-get install postgresql), or name a server in " + Env)

// failed ends a test that gets no server. With -short it is skipped where there
// is none.
func failed(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errNone) && testing.Short() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Server is a server that was started here.
type Server struct {
	bin, dir, password string
	port               int
	user               *account
	settings           []string

	mu    sync.Mutex
	guard *guarded // nil while it does not run
}

// Start starts a server for one test, which may stop and restart it, with
// settings such as "fsync=on" (the default here is off). The test is skipped
// where Env names another server and none is installed here.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := start(settings)
	if errors.Is(err, errNone) && os.Getenv(Env) != "" {
		t.Skip("a server that can be restarted is needed, and none is installed")
	}
	failed(t, err)
	t.Cleanup(s.stop)
	return s
}

// URL is the server's. Its role may do everything.
func (s *Server) URL() string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword("lockstep", s.password),
		Host: "127.0.0.1:" + strconv.Itoa(s.port), Path: "/postgres", RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Crash ends the server without letting it finish anything, as if its machine's
// power had failed but for what the operating system has in memory.
func (s *Server) Crash(t testing.TB) {
	t.Helper()
	if err := s.end(immediate); err != nil {
		t.Fatal(err)
	}
}

// Up starts the server again, on the same port.
func (s *Server) Up(t testing.TB) {
	t.Helper()
	if err := s.up(); err != nil {
		t.Fatal(err)
	}
}

// find returns the directory of the newest server programs.
func find() (string, error) {
	var dirs []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin"} {
		found, _ := filepath.Glob(pattern) // the patterns are good ones
		dirs = append(dirs, found...)
	}
	slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		dirs = slices.Insert(dirs, 0, filepath.Dir(path))
	}
	for _, dir := range dirs {
		_, err1 := os.Stat(filepath.Join(dir, "initdb"))
		_, err2 := os.Stat(filepath.Join(dir, "postgres"))
		if err1 == nil && err2 == nil {
			return dir, nil
		}
	}
	return "", errNone
}

// version is the number in a path such as /usr/lib/postgresql/15/bin.
func version(dir string) int {
	n, _ := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(dir)) // 0 where there is none
	return n
}

// start makes a server's files and starts it.
func start(settings []string) (_ *Server, err error) {
	bin, err := find()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, password: rand.Text(), settings: settings}
	// Short: the path of the socket in it must fit into about 100 bytes.
	if s.dir, err = os.MkdirTemp("", "lockstep-pg-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(s.dir)
		}
	}()
	if s.user, err = unprivileged(s.dir); err != nil {
		return nil, err
	}
	secret := filepath.Join(s.dir, "password")
	if err = os.WriteFile(secret, []byte(s.password), 0o644); err != nil { // in a directory that only the server's user can enter
		return nil, err
	}
	// A password, because others on this machine can reach the port; in plain,
	// because a thousand rounds of hashing for each connection of a test are long.
	cmd := exec.Command(filepath.Join(bin, "initdb"), "-D", s.data(), "-U", "lockstep", "--pwfile", secret,
		"--auth=password", "--no-sync", "--encoding=UTF8", "--no-locale", "--wal-segsize=1")
	cmd.Dir, cmd.SysProcAttr = s.dir, s.user.attributes()
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	for try := 0; ; try++ {
		if s.port, err = freePort(); err != nil {
			return nil, err
		}
		// Somebody else may have taken the port in between.
		if err = s.up(); err == nil || try == 4 {
			return s, err
		}
	}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// up starts the server and waits until it takes connections.
func (s *Server) up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	// What is written when a transaction ends is as it is on a real server; only
	// it is not waited for that the disk has it.
	args := []string{
		filepath.Join(s.bin, "postgres"), "-D", s.data(), "-k", s.dir, "-h", "127.0.0.1", "-p", strconv.Itoa(s.port),
		"-c", "fsync=off", "-c", "max_connections=200", "-c", "shared_buffers=32MB",
	}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	guard, err := launch(s.dir, s.user, log, args)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		// Its last line says how far it is.
		text, _ := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
		lines := strings.Fields(string(text))
		if len(lines) > 0 && lines[len(lines)-1] == "ready" {
			s.guard = guard
			return nil
		}
		if guard.ended() || time.Now().After(deadline) {
			guard.end()
			said, _ := os.ReadFile(log.Name())
			return fmt.Errorf("postgres does not start:\n%s", said)
		}
	}
}

// end ends the server by a signal.
func (s *Server) end(how ending) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guard == nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return fmt.Errorf("postmaster.pid: %w", err)
	}
	if err := signal(pid, how); err != nil {
		return err
	}
	s.guard.wait()
	s.guard = nil
	return nil
}

// stop ends the server and removes its files.
func (s *Server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guard != nil {
		s.guard.end()
		s.guard = nil
	}
	_ = os.RemoveAll(s.dir) // of a temporary directory
}
