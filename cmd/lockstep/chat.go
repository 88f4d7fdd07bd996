package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ergochat/readline"

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

    :state            show the state
    :edit PATH JSON   change the state, such as :edit /recipe/title "Soup"
    :undo             take back what the agent changed last
    :thread [ID]      show the thread's id, or go on with another thread
    :help             this list
    :q, quit          leave

Where the agent asks before it does something, the answer is y, n, or e to
change what it proposes.

The exit code is 0 after :q, and on a terminal. Where a pipe ends without :q it is
1 if the last message, edit or undo failed. It is 1 before the first line where
nobody listens at the address, and 2 where that is no address. Whether an agent is
there is seen with the first message.

Example:

    lockstep chat http://127.0.0.1:8888/
    echo "Make me a carbonara" | lockstep chat`
}

func (c chatCmd) Run(ctx context.Context, io std) error {
	u, err := checkURL(c.URL)
	if err != nil {
		return err
	}
	s := &chat{client: client.New(c.URL, &client.Options{Token: c.Token}), out: io.out}
	s.thread = s.client.Thread(c.Thread)
	if c.State != "" {
		v, err := readJSON(c.State)
		if err != nil {
			return usageError{fmt.Errorf("--state: %w", err)}
		}
		s.thread.SetState(v)
	}
	if err := reachable(ctx, u); ctx.Err() != nil {
		return nil // interrupted, as at the prompt
	} else if err != nil {
		return err
	}
	in, err := newLines(io)
	if err != nil {
		return err
	}
	defer in.close()
	s.in = interruptible(ctx, in)
	return s.loop(ctx, c.Thread != "")
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

const chatPrompt = "\nUser (:q to quit, :state to show state): "

// chat is one conversation on a terminal or a pipe.
type chat struct {
	client *client.Client
	thread *client.Thread
	in     lines
	out    io.Writer
	before jsondoc.Value // the state before the run that asks
}

// loop reads lines until the end. known says that the thread may exist.
func (s *chat) loop(ctx context.Context, known bool) error {
	failed := error(nil) // of the last run, for the exit code of a piped conversation
	if known {
		failed = s.open(ctx)
	}
	for {
		line, err := s.in.next(chatPrompt)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, readline.ErrInterrupt):
			fmt.Fprintln(s.out)
			if s.in.interactive() {
				return nil
			}
			return failed
		case err != nil:
			return err
		}
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		switch strings.ToLower(word) {
		case "":
		case ":q", "quit":
			if word != ":q" && rest != "" {
				failed = s.say(ctx, &client.RunOptions{Text: line}) // "quit smoking, how?"
				break
			}
			return nil // whoever says goodbye has seen what failed
		case ":help":
			fmt.Fprintln(s.out, chatCmd{}.Help())
		case ":state":
			s.showState()
		case ":edit":
			failed = s.edit(ctx, rest)
		case ":undo":
			failed = s.undo(ctx)
		case ":thread":
			if rest == "" {
				fmt.Fprintln(s.out, "thread", s.thread.ID())
				break
			}
			s.thread = s.client.Thread(rest)
			failed = s.open(ctx)
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

// open shows a thread that may exist, and asks what it waits for.
func (s *chat) open(ctx context.Context) error {
	snapshot, err := s.thread.Hydrate(ctx)
	var answer *client.HTTPError
	if errors.As(err, &answer) && answer.Status == 404 {
		fmt.Fprintf(s.out, "nothing is known of thread %s yet\n", printable(s.thread.ID(), false))
		return nil
	}
	if err != nil {
		return s.failed(err)
	}
	fmt.Fprintf(s.out, "thread %s, %d messages\n", printable(s.thread.ID(), false), len(snapshot.Messages))
	s.showState()
	s.before = jsondoc.Value{}
	next, err := s.ask()
	if err != nil || next == nil {
		return err
	}
	return s.say(ctx, next)
}

// edit is a person's own change of the state, made at once.
func (s *chat) edit(ctx context.Context, rest string) error {
	path, value, err := readEdit(rest)
	if err != nil {
		return s.failed(err)
	}
	before := s.thread.State()
	op := jsondoc.Operation{Op: "replace", Path: path, Value: value}
	if _, there := before.At(path); !there {
		op.Op = "add"
	}
	_, err = s.thread.Patch(ctx, jsondoc.Patch{op})
	var conflict *client.ConflictError
	var answer *client.HTTPError
	switch {
	case errors.As(err, &conflict):
		s.failed(err)
		for _, c := range conflict.Conflicts {
			now, _ := conflict.State.At(c.Path)
			fmt.Fprintf(s.out, "  %s is now %s\n", printable(string(c.Path), false), printable(brief(now), false))
		}
		return err
	case errors.As(err, &answer) && (answer.Status == 404 || answer.Status == 405) && len(answer.Problems) == 0:
		// A server of another make takes state with a run only.
		next, err := before.SetAt(path, value)
		if err != nil {
			return s.failed(err)
		}
		s.thread.SetState(next)
		fmt.Fprintln(s.out, "[Edit goes out with the next message]")
	case err != nil:
		return s.failed(err)
	default:
		fmt.Fprintln(s.out, "[State Updated]")
	}
	s.showDifference(before, s.thread.State())
	return nil
}

// readEdit reads PATH JSON.
func readEdit(s string) (jsondoc.Pointer, jsondoc.Value, error) {
	path, text, _ := strings.Cut(strings.TrimSpace(s), " ")
	p, err := jsondoc.ParsePointer(path)
	if err != nil || path == "" {
		return p, jsondoc.Value{}, errors.New(`want a place and its value, such as /recipe/title "Soup"`)
	}
	v, err := jsondoc.ParseString(strings.TrimSpace(text))
	if err != nil {
		return p, v, fmt.Errorf("%s: the value is no JSON (a text stands in quotation marks): %w", path, err)
	}
	return p, v, nil
}

// undo takes back what the agent changed last.
func (s *chat) undo(ctx context.Context) error {
	before := s.thread.State()
	done, err := s.thread.Undo(ctx)
	if err != nil {
		return s.failed(err)
	}
	fmt.Fprintln(s.out, "[State Updated]")
	s.showDifference(before, s.thread.State())
	for _, c := range done.Conflicts {
		fmt.Fprintf(s.out, "  %s stays: it was changed since\n", printable(string(c.Path), false))
	}
	return nil
}

// failed tells of an error and returns it.
func (s *chat) failed(err error) error {
	fmt.Fprintf(s.out, "[Error: %s]\n", plain(err))
	return err
}

func (s *chat) showState() {
	const rule = "============================================================"
	fmt.Fprintf(s.out, "\n%s\nCURRENT STATE\n%s\n\n%s\n%s\n\n", rule, rule, outline(s.thread.State()), rule)
}

func (s *chat) showDifference(before, after jsondoc.Value) {
	for _, line := range difference(before, after) {
		fmt.Fprintln(s.out, "  "+line)
	}
}
