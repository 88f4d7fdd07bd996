package jsondoc

import (
	"flag"
	"os"
	"testing"
)

// long says that there is time: LOCKSTEP_LONG=1 is what `make test-long` sets.
func long() bool { return os.Getenv("LOCKSTEP_LONG") != "" }

func TestMain(m *testing.M) {
	flag.Parse()
	if long() {
		if err := flag.Set("rapid.checks", "3000"); err != nil {
			panic(err)
		}
	}
	// A failure is printed with its seed; there is no need for a file.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
