package nats

import (
	"time"

	"github.com/lockstep-go/lockstep/thread"
)

// SetPatience makes a store finish at once what others left undone.
func (s *Store) SetPatience(d time.Duration) { s.patience = d }

// SetLag sets how long messages may be missing before a log counts as damaged.
func (s *Store) SetLag(d time.Duration) { s.lag = d }

// Mistake makes a store believe that a log ends at a message that is not its
// last one, which the server refuses as it would refuse a true one while
// another is on its way.
func (s *Store) Mistake(key thread.Key, head thread.Head) {
	s.ends.put(s.subjects(key).log, end{at: 1 << 40, back: []uint64{1 << 40}, head: head})
}
