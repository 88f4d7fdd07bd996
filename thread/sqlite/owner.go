package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
)

// HeldError says that another process, or another Store of this one, has the
// file open. What is not known of the holder is zero: it may just be starting.
type HeldError struct {
	Path  string    // the file, symbolic links resolved
	PID   int       // the holder's process
	Host  string    // the name of its machine
	Since time.Time // when it opened the file
}

func (e *HeldError) Error() string {
	text := "sqlite: " + e.Path + " is in use by "
	if e.PID == 0 {
		text += "another process"
	} else {
		text += "process " + strconv.Itoa(e.PID)
		if e.Host != "" {
			text += " on " + e.Host
		}
		if !e.Since.IsZero() {
			text += " since " + e.Since.UTC().Format(time.RFC3339)
		}
	}
	return text + "; stop it, or use another file"
}

// owner holds a file for this process.
type owner struct {
	lock *flock.Flock
	text string // path of the file that says who we are
}

// note is what stands in the owner file.
type note struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// own takes the lock of the file at path, which is real (see realPath).
//
// The lock is the operating system's and lies on a file of its own: SQLite locks
// the database file itself in ways that differ by system. That file is never
// removed, because a second process may have it open and be about to lock it. Who
// holds it stands in yet another file, because Windows lets nobody read a locked
// one.
func own(path string) (*owner, error) {
	o := &owner{lock: flock.New(path+"-lock", flock.SetPermissions(0o600)), text: path + "-owner"}
	ok, err := o.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("sqlite: cannot lock %s: %w", path, err)
	}
	if !ok {
		held := &HeldError{Path: path}
		// A note that is not there yet, half written or of a dead process that
		// had the lock before makes the answer poorer, never another one.
		if data, err := os.ReadFile(o.text); err == nil {
			var n note
			if json.Unmarshal(data, &n) == nil {
				held.PID, held.Host, held.Since = n.PID, n.Host, n.Since
			}
		}
		return nil, held // TryLock closed what it could not lock
	}
	host, _ := os.Hostname() // its absence makes the note poorer
	data, err := json.Marshal(note{PID: os.Getpid(), Host: host, Since: time.Now().UTC().Truncate(time.Second)})
	if err == nil {
		err = os.WriteFile(o.text, append(data, '\n'), 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: cannot say who owns %s: %w", path, err), o.lock.Close())
	}
	return o, nil
}

// release gives the file back.
func (o *owner) release() error {
	return errors.Join(os.Remove(o.text), o.lock.Close())
}

// realPath resolves symbolic links, so that one file has one lock whatever it is
// called. The file itself need not exist, nor what a link to it points to.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range 40 { // as many links as Linux follows
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return real, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, filepath.Base(path))
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link: a file that is to be made
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		path = target
	}
	return "", fmt.Errorf("too many symbolic links at %s", path)
}
