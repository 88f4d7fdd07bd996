package main

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/client"
	"github.com/lockstep-go/lockstep/internal/recording"
)

// plain is an error's text as all commands say it: on one line, without what would
// act on a terminal, without the address's query, and without the name of the
// package that it is from, which tells nothing to somebody who has no program.
func plain(err error) string {
	text := err.Error()
	var failed *url.Error
	if errors.As(err, &failed) {
		text = strings.Replace(text, failed.Error(), unreachable(failed.URL, failed.Err).Error(), 1)
	}
	return printable(packageNames.ReplaceAllString(text, ""), false)
}

var packageNames = regexp.MustCompile(`^(?:(?:agent|agui|client|recording|run|server|sqlite|state|thread): )+`)

// unreachable is a server that cannot be talked to.
func unreachable(address string, err error) error {
	return fmt.Errorf("cannot reach %s: %w", recording.Address(address), err)
}

// dialTime is how long a server may take to accept a connection.
const dialTime = 10 * time.Second

// reachable looks whether anybody accepts connections at an address, or at the
// proxy on the way to it. It sends nothing: there is no request that every AG-UI
// server answers without doing something.
func reachable(ctx context.Context, u *url.URL) error {
	at := u
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err == nil && proxy != nil {
		at = proxy
	}
	port := at.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[at.Scheme]
	}
	d := net.Dialer{Timeout: dialTime}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(at.Hostname(), port))
	if err != nil {
		return unreachable(u.String(), err)
	}
	return conn.Close()
}

// notEvents is the error of an answer that is no stream of events; nil for one.
func notEvents(head *recording.Response) error {
	media, _, err := mime.ParseMediaType(head.ContentType)
	if err == nil && media == "text/event-stream" {
		return nil
	}
	return &client.NotEventsError{ContentType: media}
}
