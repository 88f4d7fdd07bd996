//go:build !unix

package pgtest

import (
	"errors"
	"os"
	"syscall"
)

// Here no server is started: without a shell and signals it would outlive tests
// that are killed.

type (
	account struct{}
	guarded struct{}
	ending  int
)

const immediate ending = 0

func unprivileged(string) (*account, error) {
	return nil, errors.New("tests do not start PostgreSQL on this system; name a server in " + Env)
}

func (*account) attributes() *syscall.SysProcAttr { return nil }

func launch(string, *account, *os.File, []string) (*guarded, error) {
	return nil, errors.ErrUnsupported
}

func (*guarded) ended() bool { return true }
func (*guarded) end()        {}
func (*guarded) wait()       {}

func signal(int, ending) error { return errors.ErrUnsupported }
func freePort() (int, error)   { return 0, errors.ErrUnsupported }
