package thread_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
)

// T2: numbers are dense but in what was compacted. A store that lost an entry is
// not read as if that had never been said: the thread cannot be opened, whichever
// it is, the last one too. What was compacted has holes and opens.
func TestT2MissingEntry(t *testing.T) {
	store := memory.New()
	s := newSetupOn(t, store, document, thread.Options{})
	th := s.open("t")
	for i := range 3 {
		s.run(th, talks(1).Agent(agent.Config{}), input(fmt.Sprint("r", i), user(fmt.Sprint("u", i), "hello")))
	}
	th.Close()
	s.close()
	var entries []thread.Entry
	floor := uint64(0)
	for e, err := range store.Read(t.Context(), thread.Key{Agent: "a", ID: "t"}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if entries = append(entries, e); e.Floor {
			floor = e.Seq
		}
	}
	if floor == 0 || entries[len(entries)-1].Seq == uint64(len(entries)) {
		t.Fatalf("nothing was compacted: %d entries", len(entries))
	}
	open := func(without uint64) error {
		ts := thread.New(&lossy{Store: store, without: without}, nil)
		defer ts.Close(context.Background())
		th, err := ts.Open(t.Context(), thread.Key{Agent: "a", ID: "t"}, s.model)
		if err == nil {
			th.Close()
		}
		return err
	}
	if err := open(0); err != nil {
		t.Fatalf("the whole log: %v", err)
	}
	for _, e := range entries {
		if e.Seq <= floor {
			continue // the store's own matter: there is no telling from the numbers
		}
		if err := open(e.Seq); agui.RunErrorFor(err).Code != agui.CodeStoreUnavailable {
			t.Errorf("without entry %d: %v", e.Seq, err)
		}
	}
}

// lossy is a store that has lost an entry.
type lossy struct {
	*memory.Store
	without uint64
}

func (l *lossy) Read(ctx context.Context, key thread.Key, after uint64) iter.Seq2[thread.Entry, error] {
	return func(yield func(thread.Entry, error) bool) {
		for e, err := range l.Store.Read(ctx, key, after) {
			if e.Seq != l.without && !yield(e, err) {
				return
			}
		}
	}
}
