package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// failure is an error in one line.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

// line is an error's text in one line.
func line(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// parse reads a URL. Nothing of it comes back in an error: where it is not well
// formed nobody can tell what in it is the password.
func parse(text string) (*pgxpool.Config, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, strings.Contains(u.EscapedPath()+u.RawQuery+u.EscapedFragment(), "@"):
		// An @ behind the host is the end of a password with a / or the like in it.
		return nil, errors.New("postgres: the store's URL cannot be read; it is postgres://USER:PASSWORD@HOST:PORT/DATABASE, and in a password %, /, ?, #, @ and : are written %25, %2F, %3F, %23, %40 and %3A (an @ elsewhere is %40, too)")
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		return nil, errors.New("postgres: the store's URL begins with neither postgres:// nor postgresql://")
	}
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		why := "its host, port or parameters are not understood"
		if inner := errors.Unwrap(err); inner != nil {
			why = line(inner)
		}
		return nil, fmt.Errorf("postgres: the store's URL for %s cannot be used: %s", u.Host+u.Path, why)
	}
	if !u.Query().Has("pool_max_conns") {
		config.MaxConns = connections
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTime
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "lockstep"
	}
	return config, nil
}

// shown is a server and a database for people.
func shown(c *pgx.ConnConfig) string {
	host := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	if filepath.IsAbs(c.Host) {
		host = fmt.Sprintf("%s (port %d)", c.Host, c.Port) // the directory of a socket
	}
	return host + "/" + c.Database
}

// cannotOpen says what to look at when Open fails.
func (s *Store) cannotOpen(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return &failure{fmt.Sprintf("postgres: %s does not answer: %v", s.shown, ctx.Err()), err}
	}
	hint := ""
	var server *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &server):
		switch server.Code {
		case "28000", "28P01":
			hint = "check the user and password in the URL, and pg_hba.conf on the server"
		case "3D000":
			hint = fmt.Sprintf("check the database's name, or make it: createdb %s", s.config.Database)
		case "42501":
			hint = fmt.Sprintf("the role %s needs CREATE on the schema, or SELECT, INSERT, UPDATE and DELETE on the lockstep_ tables in it", s.config.User)
		case "3F000":
			hint = "check search_path in the URL, or make the schema"
		}
	case errors.As(err, &connect):
		hint = "check the host and port in the URL, that the server runs and listens there, and sslmode"
	}
	if hint != "" {
		hint = "; " + hint
	}
	return &failure{fmt.Sprintf("postgres: cannot open the store on %s: %s%s", s.shown, line(err), hint), err}
}

// code is the SQLSTATE of an error, or nothing.
func code(err error) string {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server.Code
	}
	return ""
}

// undone says that nothing of a transaction was stored and it may well succeed
// when it is done again: the server undid it because of others (class 40), or
// it was never sent.
func undone(err error) bool {
	return err != nil && (strings.HasPrefix(code(err), "40") || pgconn.SafeToRetry(err))
}

// broken says that a connection broke that was there before.
func broken(err error) bool {
	if err == nil {
		return false
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return false
	}
	switch code(err) {
	case "57P01", "57P02", "57P05": // shutdown, crash, idle for too long
		return true
	case "":
	default:
		return false
	}
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.As(err, &network) || undone(err)
}

// away says that the server cannot be reached, for now.
func away(err error) bool {
	if err == nil {
		return false
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) || broken(err) {
		return true
	}
	c := code(err)
	return strings.HasPrefix(c, "08") || strings.HasPrefix(c, "53") || c == "57P03" // connection, resources, starting up
}
