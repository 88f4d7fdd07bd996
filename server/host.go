package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// Host serves several agents and the routes of the process: GET /agents,
// /healthz, /readyz, and GET / for a browser. Handle everything before serving;
// a Host is then safe for concurrent use.
type Host struct {
	mux    *http.ServeMux
	agents []hosted
	paths  map[string]*Handler
}

type hosted struct {
	Path        string `json:"path"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// NewHost returns a Host whose GET / and GET /assets/… answer with home, or with
// one line of text where home is nil.
func NewHost(home http.Handler) *Host {
	h := &Host{mux: http.NewServeMux(), paths: map[string]*Handler{}}
	if home == nil {
		home = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprintln(w, "Lockstep is running. POST an AG-UI RunAgentInput here, or GET /agents for the other agents.")
		})
	}
	h.mux.Handle("GET /{$}", home)
	h.mux.Handle("GET /assets/", home)
	ok := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "ok")
	}
	h.mux.HandleFunc("GET /healthz", ok)
	h.mux.HandleFunc("GET /readyz", ok)
	h.mux.HandleFunc("GET /agents", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusOK, map[string]any{"agents": h.agents})
	})
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if a := h.paths["/"]; a != nil && (r.URL.Path == "/" || r.URL.Path == "/capabilities" || strings.HasPrefix(r.URL.Path, "/threads")) {
			a.ServeHTTP(w, r)
			return
		}
		fail(w, http.StatusNotFound, problem{Path: r.URL.Path, Message: "there is no agent at this path; GET /agents lists them"})
	})
	return h
}

// reserved are the first path segments that cannot be an agent's.
var reserved = []string{"agents", "healthz", "readyz", "metrics", "threads", "capabilities", "assets"}

// Handle serves an agent at a path such as /recipe, or at / itself.
func (h *Host) Handle(path string, a *Handler) error {
	if err := checkPath(path); err != nil {
		return err
	}
	first, _, _ := strings.Cut(path[1:], "/")
	if slices.Contains(reserved, first) {
		return fmt.Errorf("server: path %q: %q is a route of the server", path, first)
	}
	if h.paths[path] != nil {
		return fmt.Errorf("server: two agents at path %q", path)
	}
	h.paths[path] = a
	h.agents = append(h.agents, hosted{Path: path, Name: a.opts.Name, Description: a.opts.Description})
	if path != "/" {
		h.mux.Handle(path, http.StripPrefix(path, a))
		h.mux.Handle(path+"/", http.StripPrefix(path, a))
	}
	return nil
}

// checkPath reports why nothing can be served at a path. http.ServeMux would panic
// for some of them, read braces as wildcards, and never match the others.
func checkPath(path string) error {
	rest, rooted := strings.CutPrefix(path, "/")
	if !rooted {
		return fmt.Errorf("server: path %q: a path begins with /, such as /recipe", path)
	}
	if rest == "" {
		return nil
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("server: path %q: %q is no part of a path such as /recipe", path, part)
		}
		for _, r := range part {
			if strings.ContainsRune("{}?#%\\", r) || unicode.IsSpace(r) || !unicode.IsPrint(r) {
				return fmt.Errorf("server: path %q: %q cannot be in it; letters, digits, - and _ can", path, r)
			}
		}
	}
	return nil
}

// ServeHTTP serves the host's routes.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// Close closes the handlers that were handled. ctx bounds the wait.
func (h *Host) Close(ctx context.Context) error {
	var errs []error
	for _, a := range h.paths {
		errs = append(errs, a.Close(ctx))
	}
	return errors.Join(errs...)
}
