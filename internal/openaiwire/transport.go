package openaiwire

import (
	"io"
	"net/http"
	"testing"
)

// Transport cuts what a client reads into pieces of at most Cut bytes. The server's own
// cut is only a wish, because TCP may join what was flushed apart; with this beside it
// a reader really sees one byte at a time.
type Transport struct {
	Base http.RoundTripper // nil means [http.DefaultTransport]
	Cut  int               // 0 and [Whole] leave reads as they are
}

// RoundTrip does what [http.RoundTripper] says.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	res, err := base.RoundTrip(req)
	if err != nil || t.Cut <= 0 {
		return res, err
	}
	res.Body = cutBody{res.Body, t.Cut}
	return res, nil
}

type cutBody struct {
	io.ReadCloser
	cut int
}

func (b cutBody) Read(p []byte) (int, error) { return b.ReadCloser.Read(p[:min(len(p), b.cut)]) }

// Client is an HTTP client that reads at most cut bytes at a time and leaves no
// connection behind when the test ends.
func Client(t testing.TB, cut int) *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(base.CloseIdleConnections)
	return &http.Client{Transport: Transport{Base: base, Cut: cut}}
}
