package thread

import (
	"context"
	"errors"
	"iter"
	"sort"
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
	return p.Run == key && isTerminal(p.Event)
}

func isTerminal(e agui.Event) bool {
	switch e.(type) {
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
	if seq >= head {
		return nil, true
	}
	// Numbers are dense but where the log was compacted.
	i := sort.Search(len(r.list), func(i int) bool { return r.list[i].Seq > seq })
	if i == 0 && (len(r.list) == 0 || r.list[0].Seq != seq+1) {
		return nil, false
	}
	return r.list[i:len(r.list):len(r.list)], true
}

// gone is the end of a log that was forgotten. Viewers that had not come to it
// yet still see how its last run ended.
type gone struct {
	head Head
	ring ring
}

func (g gone) behind(epoch string, seq uint64) []*Published {
	if g.head.Epoch != epoch {
		return nil
	}
	list, _ := g.ring.behind(seq, g.head.Seq)
	return list
}

// ErrForgotten ends the bodies of a thread's viewers when the thread is
// forgotten.
var ErrForgotten = errors.New("thread: the thread was forgotten")

// ErrTooOld ends the body of a viewer that is so slow that what it would read
// next was compacted. It attaches again and gets a prelude.
var ErrTooOld = errors.New("thread: what follows the position was compacted")

// Follow yields the entries behind a position, then new ones as they come,
// until the reader stops or ctx is done, whose error ends it; or the thread is
// forgotten (ErrForgotten), or what comes next was compacted (ErrTooOld), or the
// store failed for good, or everything was read and the Threads is closed
// (ErrClosed). A reader that is slow reads later; it holds nobody up (T6).
func (t *Thread) Follow(ctx context.Context, after Position) iter.Seq2[*Published, error] {
	return func(yield func(*Published, error) bool) {
		seq, over := after.Seq, false
		for {
			t.mu.Lock()
			if seq == 0 && after.Epoch == t.unborn {
				after.Epoch = t.fold.head.Epoch
			}
			if t.fold.head.Epoch != after.Epoch {
				rest := t.gone.behind(after.Epoch, seq)
				t.mu.Unlock()
				for _, p := range rest {
					if !yield(p, nil) {
						return
					}
				}
				yield(nil, ErrForgotten)
				return
			}
			if seq < t.fold.floor {
				t.mu.Unlock()
				yield(nil, ErrTooOld)
				return
			}
			list, ok := t.ring.behind(seq, t.fold.head.Seq)
			grown, broken := t.grown, t.broken
			t.mu.Unlock()
			if !ok {
				for e, err := range t.threads.store.Read(ctx, t.key, seq) {
					if err != nil {
						yield(nil, storeError(err))
						return
					}
					if e.Seq != seq+1 { // compacted since
						t.mu.Lock()
						t.stale = t.threads.shared // by another process: the floor is not known here
						t.mu.Unlock()
						yield(nil, ErrTooOld)
						return
					}
					if !yield(&Published{Entry: e, epoch: after.Epoch}, nil) {
						return
					}
					seq = e.Seq
				}
				continue
			}
			for _, p := range list {
				if !yield(p, nil) {
					return
				}
				seq = p.Seq
			}
			if len(list) > 0 {
				continue
			}
			if broken != nil {
				yield(nil, broken)
				return
			}
			if over {
				yield(nil, ErrClosed)
				return
			}
			select {
			case <-grown:
			case <-t.threads.base.Done():
				over = true // once what the runs ended with is read
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
		}
	}
}
