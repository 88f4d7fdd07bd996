package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/recording"
	"github.com/lockstep-go/lockstep/internal/verify"
	"github.com/lockstep-go/lockstep/jsondoc"
	lockrun "github.com/lockstep-go/lockstep/run"
)

type verifyCmd struct {
	Target string `arg:"" name:"url|file" help:"The agent's address, or a recording."`
	asking `embed:""`
	Limit  time.Duration `default:"5m" help:"How long one run may take."`
}

// Help is kong's long help.
func (verifyCmd) Help() string {
	return `Checks what any AG-UI server sends, or what lockstep record kept, against AG-UI
1.0: the order of events, the schema of each, whether every patch applies to the
state and the activities that a client has, that state begins with a snapshot,
that there is one terminal event and nothing after it, unknown types and members,
the framing, the content type, and that the body is closed.

A server is asked twice or more on one thread, as a stock client does: each run
sends the history and state that the client holds after the run before. The first
--message is the first run's, and so on; runs for which there is none get a
greeting and thanks. Where a run pauses, the next one cancels what it asked.

Each fault is one line on standard output: the event's number, the milliseconds
since the request, the event's type, the kind of fault, the reason. The exit code
is 1 if there are any. RUN_ERROR is no fault of the stream.

Example:

    lockstep verify http://127.0.0.1:8888/ --message "Make me a carbonara" --message "With less salt"
    lockstep verify run.jsonl`
}

// The messages of runs that were given none.
const (
	greeting = "Hello!"
	thanks   = "Thank you."
)

func (c verifyCmd) Run(ctx context.Context, io std) error {
	out := &report{std: io}
	var err error
	if strings.Contains(c.Target, "://") {
		err = c.server(ctx, out)
	} else {
		err = c.file(ctx, out)
	}
	switch {
	case err != nil:
		return err
	case out.faults == 1:
		return errors.New("1 fault")
	case out.faults > 0:
		return fmt.Errorf("%d faults", out.faults)
	}
	fmt.Fprintln(io.err, "no faults")
	return nil
}

// report prints faults.
type report struct {
	std
	prefix string
	faults int
}

// take checks one line and prints what is wrong with it.
func (r *report) take(c *verify.Checker, l recording.Line) error {
	for _, f := range c.Line(l) {
		r.faults++
		if _, err := fmt.Fprintln(r.out, printable(r.prefix+f.String(), false)); err != nil {
			return err
		}
	}
	return nil
}

// server checks what a server answers.
func (c verifyCmd) server(ctx context.Context, out *report) error {
	if _, err := checkURL(c.Target); err != nil {
		return err
	}
	if c.Limit <= 0 {
		return usageError{fmt.Errorf("--limit %s: want a time such as 5m", c.Limit)}
	}
	in, err := c.input()
	if err != nil {
		return err
	}
	if in.State.IsAbsent() {
		in.State = jsondoc.Object() // what a stock client begins with
	}
	texts := c.Message
	if len(texts) == 0 && c.Resume == "" {
		texts = []string{greeting}
	}
	for n := 1; ; n++ {
		if n <= len(texts) {
			said(in, texts[n-1])
		} else if n > 1 && in.Resume == nil {
			said(in, thanks)
		}
		out.prefix = fmt.Sprintf("run %d, ", n)
		checker, err := c.exchange(ctx, out, in)
		if err != nil {
			return err
		}
		if n >= 2 && n >= len(texts) || checker.Runs() == 0 {
			return nil // or the server answers no run: another would say the same
		}
		in = next(in, checker.Held())
	}
}

// exchange checks one run.
func (c verifyCmd) exchange(ctx context.Context, out *report, in *agui.RunAgentInput) (*verify.Checker, error) {
	checker := verify.New(&verify.Options{Input: in})
	ctx, cancel := context.WithTimeoutCause(ctx, c.Limit, errTimeout)
	defer cancel()
	last := recording.Line{}
	for l, err := range post(c.Target, c.Token, in).lines(ctx) {
		if err != nil {
			return nil, err
		}
		if err := out.take(checker, l); err != nil {
			return nil, err
		}
		last = l
	}
	if last.End == recording.Stopped {
		return nil, errors.New("stopped")
	}
	fmt.Fprintf(out.err, "%s%s\n", out.prefix, summary(checker, last.At))
	return checker, nil
}

// next is the input of a stock client's next run: the whole history without
// activities, the state, and an answer to everything that the last run asked.
func next(in *agui.RunAgentInput, held agui.Reduction) *agui.RunAgentInput {
	out := *in
	out.RunID, out.State, out.Resume = lockrun.NewID("run"), held.State, nil
	if out.State.IsNull() {
		out.State = jsondoc.Value{}
	}
	out.Messages = []agui.Message{}
	for _, m := range held.Messages {
		if m.Role != agui.RoleActivity {
			out.Messages = append(out.Messages, m)
		}
	}
	for _, i := range held.Interrupts {
		out.Resume = append(out.Resume, agui.ResumeEntry{InterruptID: i.ID, Status: agui.ResumeCancelled})
	}
	return &out
}

// summary says what there was, for people.
func summary(c *verify.Checker, took time.Duration) string {
	how := "no terminal event"
	switch e := c.Terminal().(type) {
	case *agui.RunFinished:
		how = string(agui.TypeRunFinished)
		if e.Outcome != nil {
			how += " (" + string(e.Outcome.Type) + ")"
		}
	case *agui.RunError:
		how = printable(string(agui.TypeRunError)+" ("+e.Code+")", false)
	}
	return fmt.Sprintf("%d events in %.2f s, %s", c.Events(), took.Seconds(), how)
}

// file checks a recording.
func (c verifyCmd) file(ctx context.Context, out *report) error {
	if used := c.given(); len(used) > 0 {
		return usageError{fmt.Errorf("%s starts a run, but %s is no address such as http://127.0.0.1:8888/", strings.Join(used, ", "), c.Target)}
	}
	r, closeFile, err := openRecording(c.Target)
	if err != nil {
		return err
	}
	defer closeFile()
	opts := &verify.Options{}
	if in := r.Header().Input; in != nil {
		if opts.Input, err = agui.DecodeInput(in, nil); err != nil {
			return usageError{fmt.Errorf("%s: line 1: input: %w", c.Target, err)}
		}
	}
	checker := verify.New(opts)
	last := recording.Line{}
	for ctx.Err() == nil {
		l, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return badRecording(c.Target, err)
		}
		if err := out.take(checker, l); err != nil {
			return err
		}
		last = l
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("stopped")
	case last.End == "":
		fmt.Fprintln(out.err, "the recorder was ended before the stream was: nothing is said about its end")
	}
	runs := ""
	if n := checker.Runs(); n > 1 {
		runs = fmt.Sprintf("%d runs, ", n)
	}
	fmt.Fprintf(out.err, "%s%s\n", runs, summary(checker, last.At))
	return nil
}

// openRecording opens a file. What is wrong with it is bad usage: the file's name
// is the argument.
func openRecording(name string) (*recording.Reader, func(), error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, usageError{err}
	}
	r, err := recording.NewReader(f)
	if err != nil {
		f.Close()
		return nil, nil, badRecording(name, err)
	}
	return r, func() { f.Close() }, nil
}

func badRecording(name string, err error) error {
	return usageError{fmt.Errorf("%s: %w", name, err)}
}
