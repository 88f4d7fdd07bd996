package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
state are. It is written as things arrive, and only its owner can read it. An
earlier recording of that name is overwritten by the first event; where none
comes, it stays.

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
	file, err := openOutput(c.Out)
	if err != nil {
		return err
	}
	defer file.close() // again, after an error
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
		if run.events > 0 {
			err = file.begin()
		}
		if err == nil {
			err = w.Write(l)
		}
		if err != nil {
			return fmt.Errorf("writing %s: %w", c.Out, err)
		}
	}
	if run.head != nil && !file.earlier {
		err = file.begin() // a refusal, or an answer without events, is worth keeping
	}
	if err = errors.Join(err, file.close()); err != nil {
		return fmt.Errorf("writing %s: %w", c.Out, err)
	}
	switch {
	case file.begun:
		fmt.Fprintf(io.err, "%d events in %s\n", run.events, c.Out)
	case file.earlier:
		fmt.Fprintf(io.err, "no event came; %s is the recording that it was\n", c.Out)
	}
	if x.across && run.refused == nil && run.end != recording.Broken {
		return nil // watching has no end of its own
	}
	return run.err()
}

// output is the file of a recording. Nothing in it is touched before it is begun:
// what is written until then is held back, at most the header, a refusal and an
// end. So a server that is not there costs nobody an earlier recording, and leaves
// no file behind.
type output struct {
	file    *os.File
	earlier bool // a recording is there already
	made    bool // the file is there because it was opened
	begun   bool
	held    bytes.Buffer
}

// openOutput opens the file, so that a name that cannot be had is told before a run
// is started. Whatever else than a recording has that name stays: a mistyped name
// must not cost anybody a file.
func openOutput(name string) (*output, error) {
	_, err := os.Lstat(name)
	o := &output{made: errors.Is(err, fs.ErrNotExist)}
	if o.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, usageError{fmt.Errorf("--out: %w", err)}
	}
	info, err := o.file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		o.begun = true // a pipe or a device keeps what it is
	case info.Size() > 0:
		o.earlier = true
		_, err = recording.NewReader(bufio.NewReader(o.file))
		var other *recording.FormatError
		if errors.As(err, &other) {
			err = usageError{fmt.Errorf("%s exists and is no recording; choose another name", name)}
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--out: %w", err), o.close())
	}
	return o, nil
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	if !o.begun {
		return o.held.Write(p)
	}
	return o.file.Write(p)
}

// begin empties the file and writes what was held back.
func (o *output) begin() error {
	if o.begun {
		return nil
	}
	o.begun = true
	err := errors.Join(o.file.Truncate(0), o.file.Chmod(0o600))
	if err == nil {
		_, err = o.file.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = o.held.WriteTo(o.file)
	}
	return err
}

// close ends the file; one that was made for a recording that never began goes.
// Once more does nothing.
func (o *output) close() error {
	if o.file == nil {
		return nil
	}
	name, err := o.file.Name(), o.file.Close()
	o.file = nil
	if o.made && !o.begun {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}
