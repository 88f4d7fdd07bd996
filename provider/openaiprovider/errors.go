package openaiprovider

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/provider/openaiprovider/internal/answer"
)

// Failure is why a model did not answer, in detail and for logs only. It is the cause
// behind the error that a run ends with, whose own text is fixed and gives nothing
// away:
//
//	var f *openaiprovider.Failure
//	if errors.As(err, &f) {
//		log.Warn("the model failed", "status", f.Status, "request", f.RequestID, "detail", f)
//	}
//
// Its texts are redacted: the keys and tokens that the request carried, and everything
// that looks like one, are replaced. They may still quote what was sent to the model,
// because services do so.
type Failure struct {
	// Endpoint is where the request went: host and path, without a query.
	Endpoint string
	// Status is the HTTP status, or 0 if there was no answer. It is 200 where an answer
	// broke off.
	Status int
	// Code, Type and Message are the service's own words, if it had any. Message is at
	// most 1 KB.
	Code, Type, Message string
	// RequestID is the service's id of the request, to ask its operators with.
	RequestID string
	// Err is what went wrong on our side of the wire, or nil.
	Err error
}

// Error describes the failure in one line.
func (f *Failure) Error() string {
	var b strings.Builder
	b.WriteString(cmp.Or(f.Endpoint, "model"))
	if f.Status != 0 {
		fmt.Fprintf(&b, ": HTTP %d", f.Status)
	}
	for _, text := range []string{f.Type, f.Code, f.Message} {
		if text != "" {
			b.WriteString(": ")
			b.WriteString(text)
		}
	}
	if f.Err != nil {
		b.WriteString(": ")
		b.WriteString(f.Err.Error())
	}
	if f.RequestID != "" {
		b.WriteString(" (request " + f.RequestID + ")")
	}
	return b.String()
}

// Unwrap returns Err.
func (f *Failure) Unwrap() error { return f.Err }

// Why a call was given up. They are found behind a [Failure].
var (
	// ErrIdle means that the service was silent for [AgentConfig.IdleTimeout].
	ErrIdle = errors.New("the service was silent for too long")
	// ErrTimeout means that the answer was not complete after [AgentConfig.Timeout].
	ErrTimeout = errors.New("the answer took too long")
	// ErrBrokenOff means that the answer ended without saying that it was over: the
	// model is lost, and what it said so far is not an answer.
	ErrBrokenOff = answer.ErrBrokenOff
)

// failure says what went wrong in a call, redacted.
func (x *exchange) failure(err error) *Failure {
	f := &Failure{Endpoint: x.endpoint, Status: x.status, RequestID: x.withoutSecrets(x.requestID)}
	var said *answer.ServiceError
	switch {
	case errors.As(err, &said):
	case x.status >= http.StatusBadRequest:
		said = answer.BodyError(x.errorBody)
	}
	if said != nil {
		f.Code, f.Type, f.Message = x.redact(said.Code), x.redact(said.Type), x.redact(said.Message)
	}
	// What the SDK says about an error status is said already; that our time was over
	// while it waited to try again is not.
	if err != nil && (said == nil || errors.Is(err, ErrIdle) || errors.Is(err, ErrTimeout)) {
		f.Err = x.hide(err)
	}
	return f
}

// refuses reports whether the service does not know a member of the request.
func (f *Failure) refuses(member string) bool {
	return (f.Status == http.StatusBadRequest || f.Status == http.StatusUnprocessableEntity) && strings.Contains(f.Message, member)
}

// timedOut reports whether a failure is one of time: ours, or the service's own.
func (f *Failure) timedOut() bool {
	var network net.Error
	return f.Status == http.StatusRequestTimeout || f.Status == http.StatusGatewayTimeout ||
		errors.Is(f.Err, ErrIdle) || errors.Is(f.Err, ErrTimeout) || errors.As(f.Err, &network) && network.Timeout()
}

// hidden is an error whose text is replaced by a redacted one. It can be matched with
// [errors.Is] but not unwrapped: the text of what is inside may hold a secret.
type hidden struct {
	text  string
	cause error
}

func (h *hidden) Error() string        { return h.text }
func (h *hidden) GoString() string     { return fmt.Sprintf("%q", h.text) }
func (h *hidden) Is(target error) bool { return errors.Is(h.cause, target) }

// Timeout and Temporary make a hidden network error one still.
func (h *hidden) Timeout() bool {
	var network net.Error
	return errors.As(h.cause, &network) && network.Timeout()
}
func (h *hidden) Temporary() bool { return false }

func (x *exchange) hide(err error) error {
	var located *url.Error
	if errors.As(err, &located) {
		err = located.Err // the endpoint is told without its query
	}
	return &hidden{text: x.redact(err.Error()), cause: err}
}

// maxDetail bounds each text of a [Failure] in bytes.
const maxDetail = 1 << 10

const redacted = "[redacted]"

// secretForms finds what looks like a key where it is not known which one it is: after
// a scheme's name, with a vendor's prefix, a JSON web token, a long run of letters and
// digits.
var secretForms = regexp.MustCompile(`(?i)\b(bearer|basic) +[a-z0-9._~+/=*-]{6,}|\b(sk|pk|key|tok)-[a-z0-9_*-]{6,}|\beyJ[a-z0-9_-]+\.[a-z0-9_-]+\.?[a-z0-9_-]*|\b[a-z0-9]{32,}\b`)

// redact is for texts that somebody else wrote.
func (x *exchange) redact(text string) string {
	text = secretForms.ReplaceAllString(x.withoutSecrets(text), redacted)
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail], "") + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// withoutSecrets replaces what is known to be secret.
func (x *exchange) withoutSecrets(text string) string {
	for _, secret := range x.secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}

// remember keeps what in a request is secret: every header and query value whose name
// says so.
func (x *exchange) remember(req *http.Request) {
	if req == nil {
		return
	}
	add := func(value string) {
		if kind, rest, ok := strings.Cut(value, " "); ok && (strings.EqualFold(kind, "Bearer") || strings.EqualFold(kind, "Basic")) {
			value = rest
		}
		if len(value) >= 4 && !slices.Contains(x.secrets, value) {
			x.secrets = append(x.secrets, value)
		}
	}
	for name, values := range req.Header {
		if secretName(name) {
			for _, v := range values {
				add(v)
			}
		}
	}
	for name, values := range req.URL.Query() {
		if secretName(name) {
			for _, v := range values {
				add(v)
			}
		}
	}
	if user := req.URL.User; user != nil {
		if password, ok := user.Password(); ok {
			add(password)
		}
	}
}

func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"auth", "key", "token", "secret", "cookie", "sig", "password"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
