package nats_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/nats"
)

// TestOpenRefuses: what cannot be a store is said, in one line, without the
// password.
func TestOpenRefuses(t *testing.T) {
	good := start(t, t.TempDir(), 0)
	other := func(change func(o *server.Options)) string {
		o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}
		change(o)
		s, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() { stop(s) })
		if !s.ReadyForConnections(30 * time.Second) {
			t.Fatal("the server does not get ready")
		}
		return s.ClientURL()
	}
	open(t, good.ClientURL()+"?prefix=once")
	conn, err := natsgo.Connect(good.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "once")
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	with := func(change func(c *jetstream.StreamConfig)) string {
		changed++
		name := fmt.Sprint("changed-", changed)
		c := stream.CachedInfo().Config
		c.Name, c.Subjects = name, []string{name + ".log.>", name + ".data.>"}
		c.RePublish = &jetstream.RePublish{Source: ">", Destination: name + ".new.>", HeadersOnly: true}
		change(&c)
		if _, err := js.CreateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		return good.ClientURL() + "?prefix=" + name
	}
	open(t, with(func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 })) // a limit is the operator's
	secret := strings.Replace(other(func(o *server.Options) { o.Username, o.Password = "ann", "right" }), "nats://", "nats://ann:hidden-word@", 1)
	for _, c := range []struct{ url, want string }{
		{"", "begins with nats://"},
		{"http://127.0.0.1", "begins with nats://"},
		{"nats://", `"" in the store's URL is not HOST`},
		{"nats://ann:hidden-word@127.0.0.1:99999", "no port"},
		{"nats://ann:hidden-word@127.0.0.1:x", "is not HOST"},
		{"nats://ann:hidden-word@127.0.0.1:1,,b", "is not HOST"},
		{"nats://ann:hidden-word@127.0.0.1/path", "is not HOST"},
		{"nats://ann:hidden%zzword@127.0.0.1", "is not HOST"},
		{"nats://ann:hidden-word#x@127.0.0.1", "%23"},
		{"nats://ann:hidden-word@127.0.0.1?replica=3", `parameter "replica"; there are prefix, replicas and creds`},
		{"nats://ann:hidden-word@127.0.0.1?replicas=6", "replicas=6"},
		{"nats://ann:hidden-word@127.0.0.1?replicas=x", "replicas=x"},
		{"nats://ann:hidden-word@127.0.0.1?prefix=a.b", "prefix=a.b"},
		{"nats://ann:hidden-word@127.0.0.1?prefix=", "prefix="},
		{"nats://ann:hidden-word@127.0.0.1?creds=", "names no file"},
		{"nats://ann:hidden-word@127.0.0.1?%zz", "cannot be read"},
		{"nats://ann:hidden-word@127.0.0.1:1", "nats://127.0.0.1:1"},
		{good.ClientURL() + "?creds=/nowhere/at/all", "/nowhere/at/all"},
		{secret, "Authorization"},
		{other(func(o *server.Options) { o.JetStream = false }), "JetStream does not answer"},
		{other(func(o *server.Options) { o.MaxPayload = 20 << 10 }), "max_payload"},
		{good.ClientURL() + "?prefix=once&replicas=3", "has 1 replicas and the store's URL asks for 3"},
		{with(func(c *jetstream.StreamConfig) { c.Metadata = nil }), "is not Lockstep's"},
		{with(func(c *jetstream.StreamConfig) { c.Metadata = map[string]string{"lockstep.layout": "2"} }), "layout 2"},
		{with(func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }), "max age"},
		{with(func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 5 }), "max messages per subject"},
		{with(func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }), "discard new"},
		{with(func(c *jetstream.StreamConfig) { c.AllowRollup = false }), "allow rollup"},
		{with(func(c *jetstream.StreamConfig) { c.DenyDelete = true }), "deny"},
		{with(func(c *jetstream.StreamConfig) { c.AllowDirect = false }), "allow direct"},
		{with(func(c *jetstream.StreamConfig) { c.RePublish = nil }), "republish"},
		{with(func(c *jetstream.StreamConfig) { c.Subjects = c.Subjects[:1] }), "has the subjects"},
		{with(func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy }), "retention"},
	} {
		s, err := nats.Open(t.Context(), c.url, nil)
		if err == nil {
			_ = s.Close()
			t.Errorf("%s is opened", c.url)
			continue
		}
		if text := err.Error(); !strings.Contains(text, c.want) || strings.Contains(text, "hidden") || strings.Contains(text, "\n") {
			t.Errorf("%s: %v, want %q", c.url, err, c.want)
		}
	}
}

// TestOpenAtOnce: processes that open a new store at the same time share it.
func TestOpenAtOnce(t *testing.T) {
	server := start(t, t.TempDir(), 0)
	type opened struct {
		store *nats.Store
		err   error
	}
	all := make(chan opened)
	for range 8 {
		go func() {
			s, err := nats.Open(t.Context(), server.ClientURL(), nil)
			all <- opened{s, err}
		}()
	}
	for range 8 {
		if o := <-all; o.err != nil {
			t.Error(o.err)
		} else if err := o.store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSmallMessages: a server that takes small messages only keeps large entries
// and keys all the same, or says why it cannot.
func TestSmallMessages(t *testing.T) {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, MaxPayload: 64 << 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { stop(s) })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not get ready")
	}
	store := open(t, s.ClientURL())
	k := thread.Key{Agent: "a", Principal: "p", ID: strings.Repeat("long ", 4<<10)}
	head := grow(t, store, k, thread.Head{Epoch: "e"}, 3, 300_000)
	head = grow(t, store, k, head, 4, 10)
	if err := store.Compact(t.Context(), k, head, 0, 1, nil); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, read(t, store, k, 0), append(entries(2, 3, 300_000), entry(4, 10)))
	list, err := store.List(t.Context(), "a", "p", thread.Listed{}, 10)
	if err != nil || len(list) != 1 || list[0].ID != k.ID {
		t.Fatalf("%d are listed, %v", len(list), err)
	}
	k.ID = strings.Repeat("longer ", 20<<10)
	if err := store.Append(t.Context(), k, thread.Head{Epoch: "e"}, entries(1, 1, 1)); err == nil || !strings.Contains(err.Error(), "max_payload") {
		t.Fatalf("a key that no message has room for: %v", err)
	}
}

// TestLargeEntry: entries may be larger than any message.
func TestLargeEntry(t *testing.T) {
	t.Parallel()
	server := start(t, t.TempDir(), 0)
	a, b := open(t, server.ClientURL()), open(t, server.ClientURL())
	head := grow(t, a, key, thread.Head{Epoch: "e"}, 1, 10)
	head = grow(t, b, key, head, 2, 5<<20)
	if err := a.Compact(t.Context(), key, head, 0, 1, nil); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, read(t, b, key, 0), entries(2, 2, 5<<20))
	if err := b.Compact(t.Context(), key, head, 0, 2, nil); err != nil {
		t.Fatal(err)
	}
	if left := stored(t, server.ClientURL(), "lockstep"); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// TestManySegments: a log that is compacted over and over stays a short list of
// segments, and what was compacted once is not stored again each time.
func TestManySegments(t *testing.T) {
	server := start(t, t.TempDir(), 0)
	s := open(t, server.ClientURL())
	head, want := thread.Head{Epoch: "e"}, []thread.Entry(nil)
	for range 60 {
		floor := head.Seq
		head = grow(t, s, key, head, floor+20, 500)
		kept := entries(floor+11, floor+20, 500)
		if err := s.Compact(t.Context(), key, head, floor, head.Seq, kept); err != nil {
			t.Fatal(err)
		}
		want = append(want, kept...)
	}
	wantEntries(t, read(t, s, key, 0), want)
	wantEntries(t, read(t, s, key, 1000), want[500:])
	left := stored(t, server.ClientURL(), "lockstep")
	if len(left) < 3 || len(left) > 10 {
		t.Errorf("the log of %d KB is kept in %d places", len(text(want))>>10, len(left))
	}
}

// TestMessagesRemoved (T2): a log with missing entries is an error, never a
// shorter log.
func TestMessagesRemoved(t *testing.T) {
	server := start(t, t.TempDir(), 0)
	s := open(t, server.ClientURL())
	s.SetLag(50 * time.Millisecond)
	conn, err := natsgo.Connect(server.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "lockstep")
	if err != nil {
		t.Fatal(err)
	}
	head := thread.Head{Epoch: "e"}
	for range 5 {
		head = grow(t, s, key, head, head.Seq+1, 10)
	}
	if err := stream.DeleteMsg(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, read(t, s, key, 5), nil)
	wantEntries(t, read(t, s, key, 4), entries(5, 5, 10))
	n := 0
	for e, err := range s.Read(t.Context(), key, 0) {
		n++
		if err == nil {
			t.Fatalf("entry %d of a log with missing entries", e.Seq)
		}
		if !strings.Contains(err.Error(), "missing") || !strings.Contains(err.Error(), key.ID) {
			t.Errorf("%v does not say what is wrong", err)
		}
	}
	if n != 1 {
		t.Fatalf("%d errors", n)
	}
	if err := s.Compact(t.Context(), key, head, 0, 1, nil); err == nil {
		t.Fatal("a log with missing entries is compacted")
	}
}
