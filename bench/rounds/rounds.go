// Package rounds measures things side by side. On a machine that others use, too,
// one figure says little; what can be trusted is the ratio of two things that
// were measured in turns, each at its best.
package rounds

import (
	"fmt"
	"io"
	"time"
)

const (
	// turn is about how long a function runs before the next one does. A machine
	// that runs other programs is quiet for moments only; each function has to
	// meet one, so turns are short and many.
	turn = 100 * time.Microsecond
	// share is how long a function's turns take together, if it has least turns.
	share = 150 * time.Millisecond
	least = 7
)

// Best returns the least time that one call of each function took, on average
// over a turn. The functions take turns, one round after the other. What garbage
// collection costs is not in the figures, nor is whatever else comes now and then.
func Best(fs ...func()) []time.Duration { return BestOf(least, fs...) }

// BestOf is Best with more rounds, for functions that take so long that few of
// their turns meet a quiet moment.
func BestOf(rounds int, fs ...func()) []time.Duration {
	calls := make([]int, len(fs))
	for i, f := range fs {
		once := time.Duration(1 << 62)
		for range 5 {
			start := time.Now()
			f()
			once = min(once, time.Since(start))
		}
		calls[i] = max(1, int(turn/max(once, 50)))
	}
	best := make([]time.Duration, len(fs))
	budget := share * time.Duration(len(fs))
	for start, round := time.Now(), 0; round < rounds || time.Since(start) < budget; round++ {
		for i, f := range fs {
			start := time.Now()
			for range calls[i] {
				f()
			}
			if d := time.Since(start) / time.Duration(calls[i]); round == 0 || d < best[i] {
				best[i] = d
			}
		}
	}
	return best
}

// Ratio returns a divided by b.
func Ratio(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }

// Line prints one result in the form that `make bench` collects.
func Line(w io.Writer, name string, ratio float64, unit, peer string) {
	fmt.Fprintf(w, "bench %s %.2f %s vs %s\n", name, ratio, unit, peer)
}
