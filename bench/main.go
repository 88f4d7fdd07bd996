// Command bench measures Lockstep side by side with what others use for the same
// job, and prints ratios: `make bench`.
package main

import (
	"io"
	"os"

	"github.com/lockstep-go/lockstep/bench/agui"
	"github.com/lockstep-go/lockstep/bench/jsondoc"
	"github.com/lockstep-go/lockstep/bench/jsonstream"
)

// The rooms that are measured. Each prints lines of the form
//
//	bench <name> <ratio> <unit> vs <peer>
var rooms = []func(io.Writer){
	jsondoc.Run,
	agui.Run,
	jsonstream.Run,
}

func main() {
	for _, run := range rooms {
		run(os.Stdout)
	}
}
