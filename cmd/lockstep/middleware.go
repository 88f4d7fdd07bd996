package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// requireToken lets requests through that carry the bearer token. Health checks
// stay open: those who make them seldom have secrets. So do the page's own files:
// the page asks for the token.
func requireToken(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open(r) {
			next.ServeHTTP(w, r)
			return
		}
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		ok := strings.EqualFold(scheme, "Bearer") // schemes have no case (RFC 9110)
		// Hashed, so that the comparison takes as long for any length.
		got := sha256.Sum256([]byte(given))
		if !ok || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintln(w, `{"errors":[{"path":"Authorization","message":"this server needs a bearer token"}]}`)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func open(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	switch r.URL.Path {
	case "/", "/healthz", "/readyz":
		return true
	}
	return strings.HasPrefix(r.URL.Path, "/assets/")
}

// origins are those whose pages may use a server, as flags and the environment name
// them: an environment variable is there once, so each may be a list.
type origins []string

// AfterApply is kong's hook. Kong has cut at the commas; people put spaces behind them.
func (o *origins) AfterApply() error {
	var list origins
	for _, one := range *o {
		if one = strings.TrimSpace(one); one != "" {
			list = append(list, one)
		}
	}
	*o = list
	return nil
}

// sameOrigin refuses what a browser sends from pages of other origins than those
// that are allowed. CORS only keeps them from reading answers; a POST without a
// body would be carried out.
func sameOrigin(origins []string, next http.Handler) (http.Handler, error) {
	if slices.Contains(origins, "*") {
		return next, nil
	}
	p := http.NewCrossOriginProtection()
	for _, o := range origins {
		if err := p.AddTrustedOrigin(o); err != nil {
			return nil, fmt.Errorf("--allow-origin %q: want SCHEME://HOST[:PORT] or *", o)
		}
	}
	p.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintln(w, `{"errors":[{"path":"Origin","message":"pages of this origin may not use the server; see --allow-origin"}]}`)
	}))
	return p.Handler(next), nil
}

// allowOrigins answers CORS for the given origins, and for no others. "*" allows
// all of them.
func allowOrigins(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		w.Header().Add("Vary", "Origin")
		if origin == "" || !slices.Contains(origins, origin) && !slices.Contains(origins, "*") {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", "ETag")
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, PATCH, DELETE")
		if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
			w.Header().Set("Access-Control-Allow-Headers", asked)
		}
		w.Header().Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	})
}
