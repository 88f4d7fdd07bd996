// Package rounds measures things side by side. On a machine that others use, too,
// one figure says little; what can be trusted is the ratio of two things that
// were measured in turns, each at its best.
package rounds

import (
	"fmt"
	"io"
	"runtime"
	"time"
)

// Count is how many turns each function gets.
const Count = 21

// slice is about how long one turn takes: short, so that on a busy machine some
// turns are not interrupted.
const slice = 8 * time.Millisecond

// Best returns, for each function, the least time that one call took. The
// functions take turns; before each turn garbage is collected, so that none pays
// for another's.
func Best(fs ...func()) []time.Duration {
	calls := make([]int, len(fs))
	for i, f := range fs {
		f()
		start := time.Now()
		f()
		once := max(time.Since(start), time.Microsecond/10)
		calls[i] = max(1, int(slice/once))
	}
	best := make([]time.Duration, len(fs))
	for round := range Count {
		for i, f := range fs {
			runtime.GC()
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
