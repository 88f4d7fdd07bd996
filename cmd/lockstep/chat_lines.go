package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/ergochat/readline"
	"golang.org/x/term"
)

// lines are what a person or a pipe has to say.
type lines interface {
	// next asks with a prompt and returns the answer; io.EOF where there is none.
	next(prompt string) (string, error)
	interactive() bool
	close()
}

func newLines(io std) (lines, error) {
	if in, ok := io.in.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		rl, err := readline.New("")
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

func (w *waiting) next(prompt string) (string, error) {
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := w.lines.next(prompt)
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

func (t terminal) next(prompt string) (string, error) {
	t.rl.SetPrompt(prompt)
	return t.rl.ReadLine()
}
func (t terminal) interactive() bool { return true }
func (t terminal) close()            { t.rl.Close() }

type pipe struct {
	in  *bufio.Reader
	out io.Writer
}

func (p *pipe) next(prompt string) (string, error) {
	fmt.Fprint(p.out, prompt)
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
