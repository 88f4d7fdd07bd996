package thread

import (
	"context"
	"iter"
	"sync"

	"github.com/lockstep-go/lockstep/agui"
)

// Published is an entry on its way to viewers. It is encoded once per spelling,
// whoever reads it.
type Published struct {
	Entry
	epoch  string
	frames [2]frame
}

type frame struct {
	once sync.Once
	text []byte
}

// Position is the entry's place in the log.
func (p *Published) Position() Position { return Position{Epoch: p.epoch, Seq: p.Seq} }

// Frame is the SSE frame of the entry's event in the given spelling, its id the
// entry's position. It is empty where there is no event, or none that a client
// of that version takes. The caller must not change it.
func (p *Published) Frame(v agui.Version) []byte {
	if p.Event == nil {
		return nil
	}
	f := &p.frames[0]
	if v == agui.V0 {
		f = &p.frames[1]
	}
	f.once.Do(func() { f.text = agui.AppendFrame(nil, p.Position().String(), p.Event, v) })
	return f.text
}

// Terminal reports whether the entry ends the run of that key.
func (p *Published) Terminal(key string) bool {
	if p.Run != key {
		return false
	}
	switch p.Event.(type) {
	case *agui.RunFinished, *agui.RunError:
		return true
	}
	return false
}

// ring is the newest part of a log, in memory. What is older is in the store.
type ring struct{ list []*Published }

const ringSize = 4096

func (r *ring) push(p *Published) {
	if len(r.list) >= 2*ringSize {
		r.list = append(r.list[:0:0], r.list[len(r.list)-ringSize:]...)
	}
	r.list = append(r.list, p)
}

// behind returns what follows seq; ok is false where the ring does not reach
// back that far.
func (r *ring) behind(seq, head uint64) (list []*Published, ok bool) {
	n := head - seq
	if n > uint64(len(r.list)) {
		return nil, false
	}
	tail := r.list[uint64(len(r.list))-n:]
	return tail[:len(tail):len(tail)], true
}

// Follow yields the entries behind a position, then new ones as they come,
// until the reader stops or ctx is done, whose error ends it. A reader that is
// slow reads later; it holds nobody up.
func (t *Thread) Follow(ctx context.Context, after uint64) iter.Seq2[*Published, error] {
	return func(yield func(*Published, error) bool) {
		for {
			t.mu.Lock()
			list, ok := t.ring.behind(after, t.fold.head.Seq)
			grown, epoch := t.grown, t.fold.head.Epoch
			t.mu.Unlock()
			if !ok {
				for e, err := range t.threads.store.Read(ctx, t.key, after) {
					if err != nil {
						yield(nil, storeError(err))
						return
					}
					if !yield(&Published{Entry: e, epoch: epoch}, nil) {
						return
					}
					after = e.Seq
				}
				continue
			}
			for _, p := range list {
				if !yield(p, nil) {
					return
				}
				after = p.Seq
			}
			if len(list) > 0 {
				continue
			}
			select {
			case <-grown:
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
		}
	}
}
