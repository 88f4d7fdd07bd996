// Command fakeopenai is a model server without a model: it holds the recipe
// conversation over OpenAI's wire (Chat Completions and Responses), so that a whole
// system can be tried end to end with no key and no network.
//
//	fakeopenai --addr 127.0.0.1:0 --cut 3
//
// It prints one line on standard output, "listening on http://127.0.0.1:PORT/v1", which
// is the base URL for a client. It ends on SIGINT and SIGTERM, and by itself after
// --for.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/lockstep-go/lockstep/internal/openaiwire"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fakeopenai:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("fakeopenai", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:0", "address to listen on; a loopback address")
	cut := flags.Int("cut", 0, "bytes in one write: 0 = chunk by chunk, -1 = everything at once")
	pause := flags.Duration("pause", 0, "wait between two chunks")
	key := flags.String("key", "", "the key that requests must carry; none if empty")
	life := flags.Duration("for", 10*time.Minute, "end after this time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	if ip, ok := listener.Addr().(*net.TCPAddr); !ok || !ip.IP.IsLoopback() {
		_ = listener.Close()
		return fmt.Errorf("--addr %s: a test server listens on a loopback address only", *addr)
	}
	model := &openaiwire.RecipeModel{Cut: *cut, Pause: *pause}
	if *key != "" {
		model.Check = openaiwire.RequireKey(*key)
	}
	server := &http.Server{Handler: &openaiwire.Handler{Answer: model.Answer}, ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(out, "listening on http://%s/v1\n", listener.Addr())

	ctx, cancel := context.WithTimeout(ctx, *life)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
