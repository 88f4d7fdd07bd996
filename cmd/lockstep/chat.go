package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/ergochat/readline"
	"golang.org/x/term"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/jsondoc"
)

type chatCmd struct {
	URL    string `arg:"" optional:"" default:"http://127.0.0.1:8888/" help:"The agent's address."`
	Thread string `help:"Go on with this thread instead of a new one."`
	State  string `help:"State to begin with: a JSON file, or JSON."`
	Token  string `help:"Bearer token that the server asks for."`
}

// Help is kong's long help.
func (chatCmd) Help() string {
	return `Lines are messages to the agent. Commands:

    :state         show the state
    :thread [ID]   show the thread's id, or go on with another thread
    :help          this list
    :q, quit       leave

Example:

    lockstep chat http://127.0.0.1:8888/
    echo "Make me a carbonara" | lockstep chat`
}

func (c chatCmd) Run(ctx context.Context, io std) error {
	opts := &client.Options{}
	if c.Token != "" {
		opts.Header = map[string][]string{"Authorization": {"Bearer " + c.Token}}
	}
	s := &chat{client: client.New(c.URL, opts), out: io.out}
	s.thread = s.client.Thread(c.Thread)
	if c.State != "" {
		v, err := readJSON(c.State)
		if err != nil {
			return usageError{fmt.Errorf("--state: %w", err)}
		}
		s.thread.SetState(v)
	}
	lines, err := newLines(io)
	if err != nil {
		return err
	}
	defer lines.close()
	return s.loop(ctx, interruptible(ctx, lines))
}

// readJSON reads a file, or the text itself where it looks like JSON.
func readJSON(s string) (jsondoc.Value, error) {
	text := []byte(s)
	if t := strings.TrimSpace(s); !strings.HasPrefix(t, "{") && !strings.HasPrefix(t, "[") {
		var err error
		if text, err = os.ReadFile(s); err != nil {
			return jsondoc.Value{}, err
		}
	}
	return jsondoc.Parse(text, nil)
}

const chatPrompt = "User (:q to quit, :state to show state): "

// chat is one conversation on a terminal or a pipe.
type chat struct {
	client *client.Client
	thread *client.Thread
	out    io.Writer
}

func (s *chat) loop(ctx context.Context, in lines) error {
	failed := error(nil) // of the last run, for the exit code of a piped conversation
	for {
		line, err := in.next()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, readline.ErrInterrupt):
			fmt.Fprintln(s.out)
			if in.interactive() {
				return nil
			}
			return failed
		case err != nil:
			return err
		}
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch strings.ToLower(word) {
		case "":
		case ":q", "quit":
			if word != ":q" && strings.TrimSpace(rest) != "" {
				failed = s.say(ctx, &client.RunOptions{Text: line}) // "quit smoking, how?"
				break
			}
			if in.interactive() {
				return nil
			}
			return failed
		case ":help":
			fmt.Fprintln(s.out, chatCmd{}.Help())
		case ":state":
			s.showState()
		case ":thread":
			if rest = strings.TrimSpace(rest); rest != "" {
				s.thread = s.client.Thread(rest)
				failed = s.say(ctx, nil)
			} else {
				fmt.Fprintln(s.out, "thread", s.thread.ID())
			}
		default:
			if strings.HasPrefix(word, ":") {
				fmt.Fprintf(s.out, "unknown command %s; :help lists them\n", word)
				continue
			}
			failed = s.say(ctx, &client.RunOptions{Text: line})
		}
		if ctx.Err() != nil {
			return nil // interrupted; what ran was stopped with the connection
		}
	}
}

// say starts a run and shows what happens.
func (s *chat) say(ctx context.Context, o *client.RunOptions) error {
	fmt.Fprintln(s.out)
	v := &runView{out: s.out, before: s.thread.State()}
	var failed error
	for e, err := range s.thread.Run(ctx, o) {
		if err != nil {
			failed = err
			break
		}
		v.event(e, s.thread.State())
	}
	v.endLine()
	var said *client.RunError
	if failed != nil && !errors.As(failed, &said) {
		fmt.Fprintf(s.out, "[Error: %s]\n", printable(failed.Error(), false))
	}
	if !jsondoc.Equal(v.before, s.thread.State()) {
		s.showState()
	}
	return failed
}

func (s *chat) showState() {
	const rule = "============================================================"
	fmt.Fprintf(s.out, "\n%s\nCURRENT STATE\n%s\n\n%s\n%s\n\n", rule, rule, outline(s.thread.State()), rule)
}

// runView prints a run's events as lines.
type runView struct {
	out     io.Writer
	before  jsondoc.Value // the state when the run began
	last    jsondoc.Value
	midline bool
	updates int // since the last other line
}

func (v *runView) line(format string, args ...any) {
	v.endLine()
	v.updates = 0
	for i, a := range args {
		args[i] = printable(fmt.Sprint(a), false)
	}
	fmt.Fprintf(v.out, "["+format+"]\n", args...)
}

func (v *runView) endLine() {
	if v.midline {
		fmt.Fprintln(v.out)
		v.midline = false
	}
}

func (v *runView) event(e agui.Event, state jsondoc.Value) {
	switch e := e.(type) {
	case *agui.RunStarted:
		v.line("Run Started")
	case *agui.ToolCallStart:
		v.line("Calling Tool: %s", e.ToolCallName)
	case *agui.ToolCallResult:
		v.line("Tool Result: %s", e.Content.Text())
	case *agui.TextMessageContent:
		fmt.Fprint(v.out, printable(e.Delta, true))
		v.midline = v.midline || e.Delta != ""
	case *agui.TextMessageEnd:
		v.endLine()
	case *agui.StateSnapshot, *agui.StateDelta:
		v.updated(state)
	case *agui.RunFinished:
		switch {
		case e.Outcome != nil && e.Outcome.Type == agui.OutcomeCancelled:
			v.line("Run Cancelled")
		case e.Outcome != nil && e.Outcome.Type == agui.OutcomeInterrupt:
			v.line("Run Paused")
		default:
			v.line("Run Finished")
		}
	case *agui.RunError:
		if e.Code != "" {
			v.line("Run Error: %s (%s)", e.Message, e.Code)
		} else {
			v.line("Run Error: %s", e.Message)
		}
	}
}

// updated says that the state moved. A prediction moves it many times a second,
// so a line is printed for the first move, the second, the fourth and so on.
func (v *runView) updated(state jsondoc.Value) {
	first := v.last.IsAbsent()
	moved := !jsondoc.Equal(v.last, state)
	v.last = state
	if first || !moved {
		return // the snapshot that a run begins with is where it starts from
	}
	v.updates++
	if v.updates&(v.updates-1) == 0 {
		v.endLine()
		fmt.Fprintln(v.out, "[State Updated]")
	}
}

// printable drops what would act on a terminal instead of being shown: control
// characters, line breaks too unless lines is set, and marks that turn the
// reading direction. What an agent says must not move the cursor.
func printable(s string, lines bool) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' && lines, r == '\t':
			return r
		case r == '\n':
			return ' '
		case unicode.IsControl(r), r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0x200E, r == 0x200F:
			return -1
		}
		return r
	}, s)
}

// lines are what a person or a pipe has to say.
type lines interface {
	next() (string, error)
	interactive() bool
	close()
}

func newLines(io std) (lines, error) {
	if in, ok := io.in.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		rl, err := readline.New("\n" + chatPrompt)
		if err != nil {
			return nil, err
		}
		return terminal{rl}, nil
	}
	return &pipe{in: bufio.NewReader(io.in), out: io.out}, nil
}

// interruptible lets a signal end the wait for a line. The read itself cannot be
// ended; it is left behind with the process.
func interruptible(ctx context.Context, in lines) lines {
	return &waiting{lines: in, ctx: ctx}
}

type waiting struct {
	lines
	ctx context.Context
}

func (w *waiting) next() (string, error) {
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := w.lines.next()
		got <- read{line, err}
	}()
	select {
	case r := <-got:
		return r.line, r.err
	case <-w.ctx.Done():
		return "", io.EOF
	}
}

type terminal struct{ rl *readline.Instance }

func (t terminal) next() (string, error) { return t.rl.ReadLine() }
func (t terminal) interactive() bool     { return true }
func (t terminal) close()                { t.rl.Close() }

type pipe struct {
	in  *bufio.Reader
	out io.Writer
}

func (p *pipe) next() (string, error) {
	fmt.Fprint(p.out, "\n"+chatPrompt)
	line, err := p.in.ReadString('\n')
	if err == io.EOF && line != "" {
		err = nil
	}
	if err == nil {
		fmt.Fprintln(p.out, strings.TrimRight(line, "\r\n")) // a pipe has no echo of its own
	}
	return line, err
}

func (p *pipe) interactive() bool { return false }
func (p *pipe) close()            {}
