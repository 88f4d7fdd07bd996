package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/lockstep-go/lockstep/internal/demo"
	"github.com/lockstep-go/lockstep/playground"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
)

type serveCmd struct {
	Addr  string `default:"127.0.0.1:8888" help:"Address to listen on; port 0 takes a free one."`
	Model string `help:"scripted, openai:NAME, azure:DEPLOYMENT or foundry:DEPLOYMENT. Without it: by what the environment has, else scripted."`

	Linger      string   `default:"10s" help:"How long a run that was posted to be attached to goes on while nobody watches it: a time, 0 for not at all, or forever."`
	Token       *string  `help:"Requests need this bearer token."`
	AllowOrigin []string `help:"Browsers on pages of this origin may use the server; repeatable." placeholder:"ORIGIN" sep:"none"`
}

// Help is kong's long help.
func (serveCmd) Help() string {
	return `Serves the demo agents. Threads are kept in memory.

Example:

    lockstep serve --addr 127.0.0.1:8888 --model scripted
    OPENAI_BASE_URL=http://127.0.0.1:11434/v1 lockstep serve --model openai:qwen3

Without --model: openai where OPENAI_API_KEY or OPENAI_BASE_URL is set (name
from OPENAI_MODEL), else azure where AZURE_OPENAI_ENDPOINT is set (with
AZURE_OPENAI_DEPLOYMENT_NAME, AZURE_OPENAI_API_VERSION, and AZURE_OPENAI_API_KEY
or Entra ID), else foundry where FOUNDRY_PROJECT_ENDPOINT is set (with
FOUNDRY_MODEL), else scripted.`
}

// parseLinger reads --linger into server.Options.Linger.
func parseLinger(s string) (time.Duration, error) {
	if s == "forever" {
		return server.Forever, nil
	}
	d, err := time.ParseDuration(s)
	if s != "0" && (err != nil || d < 0) {
		return 0, fmt.Errorf("--linger %q: want a time such as 10s, 0 or forever", s)
	}
	if d == 0 {
		return -1, nil
	}
	return d, nil
}

// shutdownTime is how long running runs get to write their terminal events, and
// drainTime how long their readers get to read them.
const (
	shutdownTime = 10 * time.Second
	drainTime    = 3 * time.Second
)

func (c serveCmd) Run(ctx context.Context, io std) error {
	log := slog.New(slog.NewTextHandler(io.err, nil))
	provider, model, err := chooseModel(c.Model)
	if err != nil {
		return usageError{err}
	}
	token := ""
	if c.Token != nil {
		if token = *c.Token; token == "" {
			return usageError{errors.New("--token is empty, which would leave the server open; leave it out if that is meant")}
		}
	}
	linger, err := parseLinger(c.Linger)
	if err != nil {
		return usageError{err}
	}
	threads := thread.New(memory.New(), &thread.Options{Logger: log})
	host := server.NewHost(playground.Home())
	for _, a := range demo.Agents() {
		a.Config.Logger = log // what tools fail of
		made, err := provider(a.Config)
		if err != nil {
			return usageError{err}
		}
		h, err := server.New(made, &server.Options{State: a.State, Threads: threads, Logger: log, Linger: linger})
		if err != nil {
			return usageError{fmt.Errorf("agent %s: %w", a.Config.Name, err)}
		}
		for _, path := range a.Paths {
			if err := host.Handle(path, h); err != nil {
				return usageError{err}
			}
		}
	}

	if _, port, err := net.SplitHostPort(c.Addr); err != nil {
		return usageError{fmt.Errorf("--addr %q: want HOST:PORT", c.Addr)}
	} else if _, err := net.LookupPort("tcp", port); err != nil {
		return usageError{fmt.Errorf("--addr %q: %q is no port", c.Addr, port)}
	}
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", c.Addr, err)
	}
	srv := &http.Server{
		Handler:           allowOrigins(c.AllowOrigin, requireToken(token, host)),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	fmt.Fprintf(io.err, "listening on http://%s\n", listener.Addr())
	log.Info("serving", "model", model)

	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	log.Info("stopping")
	end, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	// First the runs: their viewers' bodies end with them, and only then has
	// the HTTP server nothing left to wait for.
	err = threads.Close(end)
	idle, cancelIdle := context.WithTimeout(end, drainTime)
	defer cancelIdle()
	if srv.Shutdown(idle) != nil {
		// Somebody does not read, or does not finish a request. The runs are
		// over and logged; there is nothing left to wait for.
		_ = srv.Close()
	}
	<-served
	return err
}
