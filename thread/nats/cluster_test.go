package nats_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/nats"
	"github.com/lockstep-go/lockstep/thread/storetest"
)

// cluster is three servers.
type cluster struct {
	options [3]*server.Options
	servers [3]*server.Server
}

// startCluster starts three servers that know each other.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv("LOCKSTEP_LONG") == "" {
		t.Skip("LOCKSTEP_LONG is not set")
	}
	c := &cluster{}
	ports := freePorts(t, 6)
	for i := range c.options {
		c.options[i] = child{Name: fmt.Sprint("node-", i), Port: ports[i], Together: ports[3+i], Dir: t.TempDir(), Others: ports[3:]}.options()
		c.start(t, i)
	}
	t.Cleanup(func() {
		for _, s := range c.servers {
			stop(s)
		}
	})
	return c
}

func (c *cluster) start(t *testing.T, i int) {
	t.Helper()
	s, err := server.NewServer(c.options[i])
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	c.servers[i] = s
}

// url names all servers.
func (c *cluster) url(prefix string) string {
	var hosts []string
	for _, o := range c.options {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", o.Port))
	}
	return "nats://" + strings.Join(hosts, ",") + "?replicas=3&prefix=" + prefix
}

// open opens a store, which takes until the servers have elected who leads.
func (c *cluster) open(t *testing.T, prefix string) *nats.Store {
	t.Helper()
	for {
		s, err := nats.Open(context.Background(), c.url(prefix), nil)
		if err == nil {
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			return s
		}
		t.Log(err)
		time.Sleep(500 * time.Millisecond)
	}
}

// TestCluster: three servers that keep the entries thrice are a store like one.
func TestCluster(t *testing.T) {
	c := startCluster(t)
	n := 0
	storetest.Run(t, func(t *testing.T) thread.Store {
		n++
		return c.open(t, fmt.Sprintf("test-%d", n))
	})
}

// traffic is two processes that write to one log, and a tail of it.
type traffic struct {
	stores  [2]*nats.Store
	tail    *following
	wrote   atomic.Int64 // appends that are known to be stored
	writers sync.WaitGroup
	enough  chan struct{}
}

func startTraffic(t *testing.T, a, b *nats.Store) *traffic {
	tr := &traffic{stores: [2]*nats.Store{a, b}, tail: follow(t, b, key, 0), enough: make(chan struct{})}
	for w, s := range tr.stores {
		tr.writers.Go(func() { tr.write(t, w, s) })
	}
	return tr
}

// write appends until it is enough. Each of its entries has a name of its own,
// which is used once.
func (tr *traffic) write(t *testing.T, w int, s *nats.Store) {
	head := func() thread.Head {
		for {
			if head, err := s.Head(t.Context(), key); err == nil {
				return head
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	for n := 0; ; {
		select {
		case <-tr.enough:
			return
		default:
		}
		at := head()
		if at.Epoch == "" {
			at.Epoch = "e"
		}
		e := entry(at.Seq+1, 10)
		e.Run = fmt.Sprint(w, "/", n)
		err := s.Append(t.Context(), key, at, []thread.Entry{e})
		// Whatever it says, an attempt before this one may have been stored: the
		// next one with this name would be at the same place, or finds it there.
		if err != nil && (head().Seq < e.Seq || !holds(t, s, e)) {
			continue
		}
		n++
		tr.wrote.Add(1)
	}
}

// end ends the traffic and looks what became of it.
func (tr *traffic) end(t *testing.T) {
	t.Helper()
	close(tr.enough)
	tr.writers.Wait()
	head, err := tr.stores[0].Head(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	got := tr.tail.take(t, int(head.Seq))
	for i, e := range got {
		if e.Seq != uint64(i)+1 || seen[e.Run] {
			t.Fatalf("entry %d has number %d and is %s, there before: %v", i, e.Seq, e.Run, seen[e.Run])
		}
		seen[e.Run] = true
	}
	wantEntries(t, read(t, tr.stores[0], key, 0), got)
	if int64(head.Seq) < tr.wrote.Load() {
		t.Fatalf("%d entries, and %d were acknowledged", head.Seq, tr.wrote.Load())
	}
}

// TestClusterRolls (T4): servers of a cluster are stopped and started one after
// the other, the leader among them, while two processes write. What was
// acknowledged is there, once, and a tail sees all of it.
func TestClusterRolls(t *testing.T) {
	c := startCluster(t)
	tr := startTraffic(t, c.open(t, "roll"), c.open(t, "roll"))
	for i := range c.servers {
		progress(t, &tr.wrote)
		begin := time.Now()
		stop(c.servers[i])
		progress(t, &tr.wrote)
		t.Logf("without server %d: %v", i, time.Since(begin))
		c.start(t, i)
		progress(t, &tr.wrote)
		// The next one goes when this one has what it missed: without two
		// nothing goes on.
		for !c.servers[i].JetStreamIsCurrent() {
			time.Sleep(50 * time.Millisecond)
		}
	}
	tr.end(t)
}

const childServer = "LOCKSTEP_NATS_SERVER"

// runServer runs the server of a child process until its parent is gone.
func runServer(options string) {
	var c child
	err := json.Unmarshal([]byte(options), &c)
	if err == nil {
		var s *server.Server
		if s, err = server.NewServer(c.options()); err == nil {
			s.Start()
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// child is a server of a cluster in a process of its own.
type child struct {
	Name           string
	Port, Together int // for clients, and for the other servers
	Dir            string
	Others         []int // ports of all servers for each other
}

func (c child) options() *server.Options {
	o := &server.Options{
		ServerName: c.Name, Host: "127.0.0.1", Port: c.Port, Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: c.Together},
		JetStream: true, StoreDir: c.Dir, NoLog: true, NoSigs: true,
	}
	for _, p := range c.Others {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", p)})
	}
	return o
}

// freePorts are ports that nobody had a moment ago.
func freePorts(t *testing.T, n int) (out []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		out = append(out, l.Addr().(*net.TCPAddr).Port)
	}
	return out
}

// TestClusterKilled (T4): the server that leads the stream is killed while two
// processes write. They go on when another one leads, and nothing is lost.
func TestClusterKilled(t *testing.T) {
	if os.Getenv("LOCKSTEP_LONG") == "" {
		t.Skip("LOCKSTEP_LONG is not set")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ports := freePorts(t, 6)
	c, running := &cluster{}, map[string]*exec.Cmd{}
	run := func(i int, dir string) {
		one := child{Name: fmt.Sprint("node-", i), Port: ports[i], Together: ports[3+i], Dir: dir, Others: ports[3:]}
		text, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), childServer+"="+string(text))
		cmd.Stderr = os.Stderr
		if _, err := cmd.StdinPipe(); err != nil { // what it notices our end by
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running[one.Name], c.options[i] = cmd, one.options()
	}
	for i := range c.options {
		run(i, t.TempDir())
	}
	t.Cleanup(func() {
		for _, cmd := range running {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	tr := startTraffic(t, c.open(t, "kill"), c.open(t, "kill"))
	for range 3 {
		progress(t, &tr.wrote)
		leader := leaderOf(t, c.url(""), "kill")
		begin := time.Now()
		if err := running[leader].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = running[leader].Wait() // it says that it was killed
		progress(t, &tr.wrote)
		t.Logf("%s was killed, and went without for %v", leader, time.Since(begin))
		for i, o := range c.options {
			if o.ServerName == leader {
				run(i, o.StoreDir)
			}
		}
		time.Sleep(3 * time.Second) // for it to get what it missed
	}
	tr.end(t)
}

// leaderOf is the server that leads a stream.
func leaderOf(t *testing.T, url, name string) string {
	t.Helper()
	servers, _, _ := strings.Cut(url, "?")
	conn, err := natsgo.Connect(strings.ReplaceAll(servers, ",", ",nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for {
		stream, err := js.Stream(t.Context(), name)
		if err == nil && stream.CachedInfo().Cluster.Leader != "" {
			return stream.CachedInfo().Cluster.Leader
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// holds reports whether the log has an entry, when it can be read.
func holds(t *testing.T, s thread.Store, e thread.Entry) bool {
	for {
		for got, err := range s.Read(t.Context(), key, e.Seq-1) {
			if err == nil {
				return got.Run == e.Run
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}
