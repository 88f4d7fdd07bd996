package nats

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// defaultPrefix names the stream and its subjects where the URL does not.
const defaultPrefix = "lockstep"

// address is what a store's URL says.
type address struct {
	servers  []string // one URL each, with the user that the store's URL names
	shown    string   // for people: no password, no parameters
	prefix   string   // name of the stream and first token of its subjects
	replicas int      // copies of the stream; 0: says nothing
	creds    string   // a file of credentials; empty: none
}

var prefixForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// parseAddress reads nats://USER:PASSWORD@HOST:PORT,HOST:PORT?NAME=VALUE. No
// error holds the password, so none wraps one of package url, which quotes what
// it could not read.
func parseAddress(text string) (address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || !slices.Contains([]string{"nats", "tls"}, scheme) {
		return address{}, errors.New("nats: the store's URL begins with nats:// or tls://")
	}
	if strings.Contains(rest, "#") {
		return address{}, errors.New("nats: the store's URL has a # in it; write it as %23")
	}
	rest, query, _ := strings.Cut(rest, "?")
	rest = strings.TrimSuffix(rest, "/")
	user, hosts := "", rest
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		user, hosts = rest[:i+1], rest[i+1:]
	}
	a := address{prefix: defaultPrefix}
	var shown []string
	for host := range strings.SplitSeq(hosts, ",") {
		u, err := url.Parse(scheme + "://" + user + host)
		if err != nil || u.Hostname() == "" || u.Path != "" {
			return address{}, fmt.Errorf("nats: %q in the store's URL is not HOST or HOST:PORT", host)
		}
		if u.Port() == "" {
			u.Host = net.JoinHostPort(u.Hostname(), "4222")
		}
		if p, err := strconv.Atoi(u.Port()); err != nil || p < 1 || p > 65535 {
			return address{}, fmt.Errorf("nats: %q in the store's URL: %s is no port", host, u.Port())
		}
		a.servers = append(a.servers, u.String())
		shown = append(shown, u.Host)
	}
	a.shown = scheme + "://" + strings.Join(shown, ",")
	values, err := url.ParseQuery(query)
	if err != nil {
		return address{}, errors.New("nats: the parameters of the store's URL cannot be read; they are NAME=VALUE, joined by &")
	}
	for name, list := range values {
		value := list[len(list)-1]
		switch name {
		case "prefix":
			if !prefixForm.MatchString(value) {
				return address{}, fmt.Errorf("nats: prefix=%s in the store's URL: want 1 to 64 letters, digits, - or _", value)
			}
			a.prefix = value
		case "replicas":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > 5 {
				return address{}, fmt.Errorf("nats: replicas=%s in the store's URL: want a number from 1 to 5", value)
			}
			a.replicas = n
		case "creds":
			if value == "" {
				return address{}, errors.New("nats: creds= in the store's URL names no file")
			}
			a.creds = value
		default:
			return address{}, fmt.Errorf("nats: the store's URL has a parameter %q; there are prefix, replicas and creds", name)
		}
	}
	return a, nil
}
