package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/internal/agentsfile"
	"github.com/lockstep-go/lockstep/internal/demo"
	"github.com/lockstep-go/lockstep/playground"
	"github.com/lockstep-go/lockstep/server"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/thread"
	"github.com/lockstep-go/lockstep/thread/memory"
	"github.com/lockstep-go/lockstep/thread/nats"
	"github.com/lockstep-go/lockstep/thread/postgres"
	"github.com/lockstep-go/lockstep/thread/sqlite"
)

type serveCmd struct {
	Addr   string `default:"127.0.0.1:8888" help:"Address to listen on; port 0 takes a free one."`
	Agents string `help:"A YAML file of agents to serve instead of the demo agents." placeholder:"FILE"`
	Model  string `help:"scripted, openai:NAME, azure:DEPLOYMENT or foundry:DEPLOYMENT. Without it: by what the environment has, else scripted."`

	Store       string        `default:"sqlite:lockstep.db" help:"Where threads are kept: memory, sqlite:FILE, postgres://USER:PASSWORD@HOST/DATABASE, or nats://HOST (JetStream)."`
	Retain      time.Duration `help:"Forget threads that nothing was appended to for this long, such as 720h; 0 keeps them." placeholder:"TIME"`
	RetainRuns  int           `help:"Keep at least this many runs of a thread apart and condense older ones; 0 keeps all." placeholder:"N"`
	Linger      string        `default:"10s" help:"How long a run that was posted to be attached to goes on while nobody watches it: a time, 0 for not at all, or forever."`
	Token       *string       `help:"Requests need this bearer token."`
	AllowOrigin origins       `help:"Browsers on pages of this origin may use the server; repeatable, or several with commas between them." placeholder:"ORIGIN"`
}

// Help is kong's long help.
func (serveCmd) Help() string {
	return `Serves the agents of --agents, else the demo agents. Threads are kept in a file, lockstep.db unless --store
names another: they survive restarts and crashes. One process at a time has it.
Several processes share a PostgreSQL database or a NATS server (docs/operations.md).

Example:

    lockstep serve --addr 127.0.0.1:8888 --model scripted --store memory
    lockstep serve --agents agents.yaml
    LOCKSTEP_STORE=postgres://lockstep:PASSWORD@db.example/lockstep lockstep serve
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

// served is an agent to be served.
type served struct {
	paths    []string
	config   agent.Config
	state    state.Config
	provider demo.Provider
	at       func(error) error // says where the agent comes from
}

// agents are those of --agents, else the demo agents.
func (c serveCmd) agents(standard demo.Provider) ([]served, error) {
	var out []served
	if c.Agents == "" {
		for _, a := range demo.Agents() {
			out = append(out, served{a.Paths, a.Config, a.State, standard, func(err error) error {
				return fmt.Errorf("agent %s: %w", a.Config.Name, err)
			}})
		}
		return out, nil
	}
	list, err := agentsfile.Load(c.Agents, func(model string) error {
		if _, _, err := chooseModel(model); err != nil {
			return fmt.Errorf("%q: %w", model, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, a := range list {
		at := func(err error) error { return a.Fault(err) }
		provider := standard
		if a.Model != "" {
			if provider, _, err = chooseModel(a.Model); err != nil {
				return nil, at(err)
			}
		}
		out = append(out, served{[]string{a.Path}, a.Config, a.State, provider, at})
	}
	return out, nil
}

// together is several errors as one: those of an agents file in its own words.
func together(wrong []error) error {
	var list agentsfile.Errors
	for _, err := range wrong {
		var one *agentsfile.Error
		if !errors.As(err, &one) {
			return errors.Join(wrong...)
		}
		list = append(list, one)
	}
	return list
}

// openStore opens what --store names.
func openStore(ctx context.Context, log *slog.Logger, s string) (thread.Store, func() error, error) {
	kind, rest, _ := strings.Cut(s, ":")
	switch {
	case s == "memory":
		return memory.New(), func() error { return nil }, nil
	case kind == "sqlite" && rest != "":
		store, err := sqlite.Open(rest, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("--store %s: %w", s, err)
		}
		return store, store.Close, nil
	case kind == "postgres" || kind == "postgresql":
		store, err := postgres.Open(ctx, s, &postgres.Options{Logger: log})
		if err != nil {
			return nil, nil, fmt.Errorf("--store: %w", err) // which shows no password
		}
		return store, store.Close, nil
	case kind == "nats" || kind == "tls":
		store, err := nats.Open(ctx, s, &nats.Options{Logger: log})
		if err != nil {
			return nil, nil, fmt.Errorf("--store: %w", err)
		}
		return store, store.Close, nil
	}
	if scheme, _, ok := strings.Cut(s, "://"); ok {
		s = scheme + "://…" // there may be a password behind it
	}
	return nil, nil, fmt.Errorf("--store %q: want memory, sqlite:FILE, postgres://USER:PASSWORD@HOST/DATABASE or nats://HOST", s)
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
		if c.Model == "" {
			return usageError{fmt.Errorf("--model: %w", err)}
		}
		return usageError{fmt.Errorf("--model %q: %w", c.Model, err)}
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
	if c.Retain < 0 || c.RetainRuns < 0 {
		return usageError{errors.New("--retain and --retain-runs are not less than 0")}
	}
	// Everything that can be wrong is looked at before a file is made.
	agents, err := c.agents(provider)
	if err != nil {
		return usageError{err}
	}
	if _, port, err := net.SplitHostPort(c.Addr); err != nil {
		return usageError{fmt.Errorf("--addr %q: want HOST:PORT", c.Addr)}
	} else if _, err := net.LookupPort("tcp", port); err != nil {
		return usageError{fmt.Errorf("--addr %q: %q is no port", c.Addr, port)}
	}
	store, closeStore, err := openStore(ctx, log, c.Store)
	if err != nil {
		return usageError{err}
	}
	defer closeStore()
	counts := &thread.Metrics{}
	threads := thread.New(store, &thread.Options{
		Logger: log, Metrics: counts, Retention: thread.Retention{Age: c.Retain, Runs: c.RetainRuns},
	})
	host := server.NewHost(playground.Home())
	var wrong []error // all of it at once
	for _, a := range agents {
		a.config.Logger = log // what tools fail of
		made, err := a.provider(a.config)
		if err != nil {
			wrong = append(wrong, a.at(err))
			continue
		}
		h, err := server.New(made, &server.Options{State: a.state, Threads: threads, Logger: log, Linger: linger})
		if err != nil {
			wrong = append(wrong, a.at(err))
			continue
		}
		for _, path := range a.paths {
			if err := host.Handle(path, h); err != nil {
				wrong = append(wrong, a.at(err))
			}
		}
	}
	if len(wrong) > 0 {
		return usageError{together(wrong)}
	}

	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics(counts))
	mux.Handle("/", host)
	guarded, err := sameOrigin(c.AllowOrigin, requireToken(token, mux))
	if err != nil {
		return usageError{err}
	}
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", c.Addr, err)
	}
	srv := &http.Server{
		Handler:           allowOrigins(c.AllowOrigin, guarded),
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
