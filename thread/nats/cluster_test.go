package nats_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

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
	ports := make([]int, 6)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
	}
	var routes []*url.URL
	for _, p := range ports[3:] {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", p)})
	}
	for i := range c.options {
		c.options[i] = &server.Options{
			ServerName: fmt.Sprint("node-", i), Host: "127.0.0.1", Port: ports[i],
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: ports[3+i]}, Routes: routes,
			JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		}
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

// TestClusterRolls (T4): servers of a cluster are stopped and started one after
// the other, the leader among them, while two processes write. What was
// acknowledged is there, once, and a tail sees all of it.
func TestClusterRolls(t *testing.T) {
	c := startCluster(t)
	a, b := c.open(t, "roll"), c.open(t, "roll")
	var wrote atomic.Int64
	var writers sync.WaitGroup
	enough := make(chan struct{})
	tail := follow(t, b, key, 0)
	for w, s := range []*nats.Store{a, b} {
		writers.Go(func() {
			for n := 0; ; {
				select {
				case <-enough:
					return
				default:
				}
				head, err := s.Head(t.Context(), key)
				if err != nil {
					time.Sleep(20 * time.Millisecond)
					continue
				}
				if head.Epoch == "" {
					head.Epoch = "e"
				}
				e := entry(head.Seq+1, 10)
				e.Run = fmt.Sprint(w, "/", n)
				var conflict *thread.ConflictError
				switch err := s.Append(t.Context(), key, head, []thread.Entry{e}); {
				case err == nil:
					n++
					wrote.Add(1)
				case errors.As(err, &conflict):
				default: // stored or not: the log says
					for {
						head, readErr := s.Head(t.Context(), key)
						if readErr != nil {
							time.Sleep(20 * time.Millisecond)
							continue
						}
						if head.Seq >= e.Seq && holds(t, s, e) {
							n++
							wrote.Add(1)
						}
						break
					}
				}
			}
		})
	}
	for i := range c.servers {
		progress(t, &wrote)
		begin := time.Now()
		stop(c.servers[i])
		progress(t, &wrote)
		t.Logf("without server %d: %v", i, time.Since(begin))
		c.start(t, i)
		progress(t, &wrote)
		// The next one may go when this one has what it missed: three seconds
		// without it are no matter, two servers missing are.
		for !c.servers[i].JetStreamIsCurrent() {
			time.Sleep(50 * time.Millisecond)
		}
	}
	close(enough)
	writers.Wait()
	head, err := a.Head(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	got := tail.take(t, int(head.Seq))
	for i, e := range got {
		if e.Seq != uint64(i)+1 || seen[e.Run] {
			t.Fatalf("entry %d has number %d and is %s", i, e.Seq, e.Run)
		}
		seen[e.Run] = true
	}
	wantEntries(t, read(t, a, key, 0), got)
	if int64(head.Seq) < wrote.Load() {
		t.Fatalf("%d entries, and %d were acknowledged", head.Seq, wrote.Load())
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
