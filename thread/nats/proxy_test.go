package nats_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between a store and its server, and decides about each message
// in either direction: that is how a store dies, or misses something, between
// any two steps, without the store having places for that.
type proxy struct {
	listener net.Listener
	server   string
	wg       sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
	judge  func(toServer bool, subject string) verdict
}

type verdict int

const (
	pass   verdict = iota
	drop           // it does not arrive
	cut            // it does not arrive, and the connection is lost
	cutAck         // it arrives, and then the connection is lost
)

// intercept starts a proxy. judge is called for one message at a time.
func intercept(t *testing.T, serverURL string, judge func(toServer bool, subject string) verdict) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: strings.TrimPrefix(serverURL, "nats://"), conns: map[net.Conn]struct{}{}, judge: judge}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		p.mu.Lock()
		p.closed = true
		for c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		_ = l.Close()
		p.wg.Wait()
	})
	return "nats://" + l.Addr().String()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !p.keep(client, server) {
			return
		}
		end := sync.OnceFunc(func() { _, _ = client.Close(), server.Close() })
		var muted atomic.Bool
		p.wg.Go(func() {
			if p.forward(server, client, true, &muted) {
				// The server reads what it has got and then closes.
				_ = server.(*net.TCPConn).CloseWrite()
				return
			}
			end()
		})
		p.wg.Go(func() { defer end(); p.forward(client, server, false, &muted) }) // nothing more, once it is muted
	}
}

func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.closed {
			_ = c.Close()
		}
		p.conns[c] = struct{}{}
	}
	return !p.closed
}

// forward copies the protocol's lines and messages until a connection ends, or
// the judge ends it. It returns true where what was copied is to arrive.
func (p *proxy) forward(to io.Writer, from io.Reader, toServer bool, muted *atomic.Bool) (arrives bool) {
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return false
		}
		fields := strings.Fields(line)
		size := 0
		if len(fields) > 0 {
			switch strings.ToUpper(fields[0]) {
			case "PUB", "HPUB", "MSG", "HMSG":
				n, err := strconv.Atoi(fields[len(fields)-1])
				if err != nil {
					panic(fmt.Sprintf("%q has no size", line))
				}
				size = n + len("\r\n")
			}
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(r, body); err != nil {
			return false
		}
		v := pass
		if size > 0 {
			p.mu.Lock()
			v = p.judge(toServer, fields[1])
			p.mu.Unlock()
		}
		switch v {
		case cut:
			return false
		case cutAck:
			muted.Store(true) // before the server can answer
		}
		if v != drop && (toServer || !muted.Load()) {
			if _, err := io.WriteString(to, line+string(body)); err != nil {
				return false
			}
		}
		if v == cutAck {
			return true
		}
	}
}
