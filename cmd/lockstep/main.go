// Command lockstep serves agents over AG-UI and talks to them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit codes, as the documentation promises them.
const (
	exitFailed = 1 // the run or check failed, or the address is in use
	exitUsage  = 2 // bad usage or configuration
)

type cli struct {
	Serve   serveCmd   `cmd:"" help:"Serve agents over HTTP."`
	Chat    chatCmd    `cmd:"" help:"Talk to an agent and watch its state."`
	Run     runCmd     `cmd:"" help:"Start one run of any agent and print its events."`
	Record  recordCmd  `cmd:"" help:"Keep a run or a thread in a file, with arrival times."`
	Replay  replayCmd  `cmd:"" help:"Serve a recording as an agent."`
	Verify  verifyCmd  `cmd:"" help:"Check what any AG-UI server sends, or a recording."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// std are the streams of a command; tests give their own.
type std struct {
	in       io.Reader
	out, err io.Writer
}

// usageError is bad usage or configuration: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], std{os.Stdin, os.Stdout, os.Stderr}))
}

func run(ctx context.Context, args []string, io std) int {
	var c cli
	exited, code := false, 0
	parser, err := kong.New(&c,
		kong.Name("lockstep"),
		kong.Description("Agents and user interfaces on the same state, over AG-UI."),
		kong.DefaultEnvars("LOCKSTEP"),
		kong.Writers(io.out, io.err),
		kong.Exit(func(n int) { exited, code = true, n }),
		kong.UsageOnError(),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(io),
	)
	if err != nil {
		fmt.Fprintln(io.err, "lockstep:", err)
		return exitUsage
	}
	k, err := parser.Parse(args)
	if exited { // --help
		return code
	}
	if err != nil {
		help := "lockstep --help"
		var bad *kong.ParseError
		if errors.As(err, &bad) && bad.Context != nil && bad.Context.Selected() != nil {
			help = "lockstep " + bad.Context.Selected().Name + " --help"
		}
		fmt.Fprintf(io.err, "lockstep: %s (try %s)\n", printable(err.Error(), false), help)
		return exitUsage
	}
	err = k.Run()
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		// One line, whatever was joined.
		fmt.Fprintln(io.err, "lockstep:", strings.ReplaceAll(err.Error(), "\n", "; "))
		return exitUsage
	default:
		fmt.Fprintln(io.err, "lockstep:", plain(err))
		return exitFailed
	}
}

type versionCmd struct{}

// Help is kong's long help.
func (versionCmd) Help() string { return "Example:\n\n    lockstep version" }

func (versionCmd) Run(io std) error {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	fmt.Fprintln(io.out, "lockstep", version)
	return nil
}
