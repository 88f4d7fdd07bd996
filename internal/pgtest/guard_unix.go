//go:build unix

package pgtest

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is who runs the server; nil: whoever runs the tests.
type account struct{ uid, gid uint32 }

// unprivileged finds somebody to run the server where root runs the tests, which
// PostgreSQL refuses to work for, and gives them the directory.
func unprivileged(dir string) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return &account{uint32(uid), uint32(gid)}, os.Chown(dir, int(uid), int(gid))
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

func (a *account) attributes() *syscall.SysProcAttr {
	if a == nil {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: a.uid, Gid: a.gid}}
}

// guarded is a server and the shell that ends it when the tests are gone,
// however they ended.
type guarded struct {
	life io.Closer // the shell's standard input: the server runs until it is closed
	done chan struct{}
}

// launch starts a program under a shell.
func launch(dir string, user *account, log *os.File, args []string) (*guarded, error) {
	// The server gets SIGINT, which ends it without waiting for its clients, and
	// its files go, too. The shell itself must outlive an interrupt that is meant
	// for the tests.
	const script = `trap '' INT TERM
"$@" & server=$!
(cat > /dev/null; : > gone; kill -INT $server 2> /dev/null) <&3 3<&- & guard=$!
exec 3<&-
wait $server
if [ -e gone ]; then rm -rf "$PWD"; else kill -KILL $guard; fi`
	cmd := exec.Command("sh", append([]string{"-c", script + "\n", "sh"}, args...)...)
	cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = dir, user.attributes(), log, log
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd.ExtraFiles = []*os.File{r} // 3
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	g := &guarded{life: w, done: make(chan struct{})}
	go func() {
		defer close(g.done)
		_ = cmd.Wait() // how it ended is in the log
		_ = w.Close()
	}()
	return g, nil
}

func (g *guarded) ended() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// end ends the server and waits for it.
func (g *guarded) end() {
	_ = g.life.Close()
	<-g.done
}

// wait waits for a server that was ended otherwise.
func (g *guarded) wait() { <-g.done }

// ending is how a server is ended.
type ending = syscall.Signal

const immediate = syscall.SIGQUIT

func signal(pid int, how ending) error { return syscall.Kill(pid, how) }

// freePort is a port that nobody listened on a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
