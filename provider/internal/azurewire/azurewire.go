// Package azurewire answers one question: how does an OpenAI client reach a service of
// Azure? It is what azureprovider and foundryprovider have in common.
package azurewire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/openai/openai-go/v3/azure"
	"github.com/openai/openai-go/v3/option"
)

// ParseEndpoint reads the address of a resource or a project, without a slash at its
// end. Its error never repeats what was given: people paste addresses with keys in
// them.
func ParseEndpoint(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	if raw == "" {
		return nil, errors.New("the endpoint is empty")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the endpoint is not an address like https://NAME.openai.azure.com")
	case u.User != nil:
		return nil, errors.New("the endpoint has a user name or password in it: give credentials as such")
	case u.Scheme == "http" && !loopback(u):
		return nil, fmt.Errorf("the endpoint at %s is not https: credentials would be sent in the clear", u.Host)
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/"), RawPath: strings.TrimRight(u.RawPath, "/")}, nil
}

// loopback uses the same list as the SDK, which checks again before it sends anything.
func loopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Dated are the options for a dated API version, where the path names the deployment:
// the SDK's own way.
func Dated(endpoint *url.URL, version string) []option.RequestOption {
	return append(local(endpoint), azure.WithEndpoint(endpoint.String(), version))
}

type pathKey struct{}

// V1 are the options for a service whose paths are OpenAI's own, below base, with
// version as api-version unless it is empty.
//
// The SDK checks credentials, origins and redirects for Azure only where WithEndpoint
// was used, and that rewrites paths to the dated form. So the path is put aside before
// and put back after.
func V1(base *url.URL, version string) []option.RequestOption {
	root := *base
	root.Path += "/"
	if root.RawPath != "" {
		root.RawPath += "/"
	}
	options := append(local(base),
		option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			return next(req.WithContext(context.WithValue(req.Context(), pathKey{}, [2]string{req.URL.Path, req.URL.RawPath})))
		}),
		azure.WithEndpoint(root.String(), "v1"),
		option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			if path, ok := req.Context().Value(pathKey{}).([2]string); ok {
				req.URL.Path, req.URL.RawPath = path[0], path[1]
			}
			return next(req)
		}),
	)
	if version == "" {
		return append(options, option.WithQueryDel("api-version"))
	}
	return append(options, option.WithQuery("api-version", version))
}

// local lets a plain http endpoint through, which ParseEndpoint accepts on this machine
// only.
func local(endpoint *url.URL) []option.RequestOption {
	if endpoint.Scheme == "http" {
		return []option.RequestOption{azure.WithUnsafeAllowHTTP()}
	}
	return nil
}
