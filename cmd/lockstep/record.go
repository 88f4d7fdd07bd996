package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/internal/recording"
)

type recordCmd struct {
	URL    string `arg:"" help:"The agent's address."`
	asking `embed:""`
	Attach string `help:"Watch this thread of a Lockstep server instead of starting a run." placeholder:"THREAD"`
	Out    string `required:"" help:"The recording: a new file, or a recording to overwrite." placeholder:"FILE"`
}

// Help is kong's long help.
func (recordCmd) Help() string {
	return `Starts one run of any AG-UI agent, as lockstep run does, or watches a thread of a
Lockstep server, and writes what arrives and when it arrives to a file: for
lockstep replay, lockstep verify, or a bug report.

The file is JSON lines: a header with the address (without user, password and
query), the time and the posted input; then each event as it came, with the
milliseconds since the request. Tokens and headers are not in it; messages and
state are. It is written as things arrive, and only its owner can read it.

Watching ends with Ctrl-C, or when the server closes the stream. A run's exit code
is that of lockstep run.

Example:

    lockstep record http://127.0.0.1:8888/ --message "Make me a carbonara" --out run.jsonl
    lockstep record http://127.0.0.1:8888/ --attach thread-1 --out thread.jsonl`
}

func (c recordCmd) Run(ctx context.Context, io std) error {
	u, err := checkURL(c.URL)
	if err != nil {
		return err
	}
	header := recording.Header{URL: c.URL, Started: time.Now()}
	var x *exchange
	if c.Attach != "" {
		if used := c.given(); len(used) > 0 {
			return usageError{fmt.Errorf("%s starts a run; --attach watches a thread and starts none", strings.Join(used, ", "))}
		}
		x = attach(u, c.Token, c.Attach)
		header.Attached = c.Attach
	} else {
		in, err := c.question(io.in)
		if err != nil {
			return err
		}
		x = post(c.URL, c.Token, in)
		header.Input = x.body
	}
	file, err := create(c.Out)
	if err != nil {
		return err
	}
	defer file.Close() // again, after an error
	// Not buffered: a recorder that is killed leaves what came.
	w, err := recording.NewWriter(file, header)
	if err != nil {
		return err
	}
	var run outcome
	for l, err := range x.lines(ctx) {
		if err != nil {
			return err
		}
		run.line(l)
		if err := w.Write(l); err != nil {
			return fmt.Errorf("writing %s: %w", c.Out, err)
		}
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("writing %s: %w", c.Out, err)
	}
	fmt.Fprintf(io.err, "%d events in %s\n", run.events, c.Out)
	if x.across && run.refused == nil && run.end != recording.Broken {
		return nil // watching has no end of its own
	}
	return run.err()
}

// create opens the file of a recording. Whatever else has that name stays: a
// mistyped name must not cost anybody a file.
func create(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, usageError{fmt.Errorf("--out: %w", err)}
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return f, err // a pipe or a device keeps what it is
	}
	if info.Size() > 0 {
		_, err := recording.NewReader(bufio.NewReader(f))
		var other *recording.FormatError
		if errors.As(err, &other) {
			f.Close()
			return nil, usageError{fmt.Errorf("--out: %s exists and is no recording; choose another name", name)}
		} else if err != nil {
			f.Close()
			return nil, fmt.Errorf("--out: %w", err)
		}
	}
	err = errors.Join(f.Truncate(0), f.Chmod(0o600))
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("--out: %w", err)
	}
	return f, nil
}
