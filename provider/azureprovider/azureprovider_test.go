package azureprovider_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/openai/openai-go/v3/option"
	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/openaiwire"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/provider/azureprovider"
	"github.com/lockstep-go/lockstep/provider/openaiprovider"
	"github.com/lockstep-go/lockstep/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	markerKey   = "0123456789abcdef0123456789abcdef"
	markerToken = "eyJmarker.eyJmarker.marker-0123456789"
)

// token is a credential that gives the marker token, or fails.
type token struct {
	scopes []string
	err    error
}

func (c *token) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.scopes = append(c.scopes, o.Scopes...)
	return azcore.AccessToken{Token: markerToken, ExpiresOn: time.Now().Add(time.Hour)}, c.err
}

// secure is the client option for a TLS server, cutting what it reads.
func secure(s *openaiwire.Server, cut int) []option.RequestOption {
	return []option.RequestOption{
		option.WithHTTPClient(&http.Client{Transport: openaiwire.Transport{Base: s.TLS.Transport, Cut: cut}}), option.WithMaxRetries(0),
	}
}

func turn(r *openaiwire.Request) openaiwire.Reply {
	return openaiwire.Reply{Body: openaiwire.Turn{Text: "Grüezi"}.Steps(r)}
}

// Paths, queries, headers, tokens and scopes, by API version and API.
func TestRequests(t *testing.T) {
	// What the environment says about OpenAI is not for Azure.
	t.Setenv("OPENAI_API_KEY", "sk-not-for-azure")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/")
	t.Setenv("OPENAI_ORG_ID", "org-not-for-azure")
	for _, tt := range []struct {
		version   string
		responses bool
		path      string
		query     string
	}{
		{"", false, "/openai/v1/chat/completions", ""},
		{"", true, "/openai/v1/responses", ""},
		{"v1", false, "/openai/v1/chat/completions", ""},
		{"preview", true, "/openai/v1/responses", "api-version=preview"},
		{"2024-10-21", false, "/openai/deployments/my%20model/chat/completions", "api-version=2024-10-21"},
		{"2025-03-01-preview", true, "/openai/responses", "api-version=2025-03-01-preview"},
	} {
		for _, prefix := range []string{"", "/gateway/eu"} {
			for _, suffix := range []string{"", "/", "/openai", "/openai/v1/", "/openai/deployments/x/chat/completions?api-version=1"} {
				for _, byToken := range []bool{false, true} {
					t.Run(fmt.Sprint(tt.version, tt.responses, prefix, suffix, byToken), func(t *testing.T) {
						s := openaiwire.NewTLS(t, turn)
						cred := new(token)
						credential := azureprovider.APIKey(markerKey)
						if byToken {
							credential = azureprovider.Token(cred)
						}
						a, err := azureprovider.NewAgent(s.URL+prefix+suffix, credential, azureprovider.AgentConfig{
							Deployment: "my model", APIVersion: tt.version, Responses: tt.responses, OpenAIOptions: secure(s, 0),
						})
						if err != nil {
							t.Fatal(err)
						}
						if r, err := a.RunText(t.Context(), "hi").Collect(); err != nil || r.String() != "Grüezi" {
							t.Fatalf("%q, %v", r, err)
						}
						r := s.Requests()[0]
						if r.Path != prefix+tt.path || r.RawQuery != tt.query {
							t.Errorf("%s?%s, want %s?%s", r.Path, r.RawQuery, prefix+tt.path, tt.query)
						}
						key, bearer := markerKey, ""
						if byToken {
							key, bearer = "", "Bearer "+markerToken
						}
						if r.Header.Get("Api-Key") != key || r.Header.Get("Authorization") != bearer || r.Header.Get("OpenAI-Organization") != "" {
							t.Errorf("header %v", r.Header)
						}
						if byToken && fmt.Sprint(cred.scopes) != "["+azureprovider.DefaultScope+"]" {
							t.Errorf("scopes %v", cred.scopes)
						}
						if !strings.Contains(string(r.Body), `"model":"my model"`) {
							t.Errorf("body %s", r.Body)
						}
						if a.ProviderName() != "azure" {
							t.Errorf("provider %q", a.ProviderName())
						}
					})
				}
			}
		}
	}
}

// Versions from before stream_options are not asked for usage; later ones are.
func TestStreamOptionsByVersion(t *testing.T) {
	for version, want := range map[string]bool{"2024-06-01": false, "2024-07-01-preview": false, "2024-08-01-preview": true, "2024-10-21": true, "v1": true} {
		s := openaiwire.NewTLS(t, turn)
		a, err := azureprovider.NewAgent(s.URL, azureprovider.APIKey(markerKey), azureprovider.AgentConfig{Deployment: "d", APIVersion: version, OpenAIOptions: secure(s, 0)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.RunText(t.Context(), "hi").Collect(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(s.Requests()[0].Body), "stream_options"); got != want {
			t.Errorf("%s: stream_options %v, want %v", version, got, want)
		}
	}
}

// L5: what Azure puts into a stream, at the beginning, between fragments and at the
// end. At every cut.
func TestAzureChunks(t *testing.T) {
	prompt := openaiwire.Data(`{"id":"","object":"","created":0,"model":"","choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}`)
	filter := openaiwire.Data(`{"id":"x","choices":[{"index":0,"finish_reason":null,"content_filter_results":{},"content_filter_offsets":{"check_offset":44,"start_offset":44,"end_offset":198}}]}`)
	steps := []openaiwire.Step{prompt}
	for _, step := range (openaiwire.Turn{Calls: []openaiwire.Call{{ID: "c1", Name: "save", Arguments: `{"text":"größer 🥕"}`}}, Fragment: 3, Input: 1, Output: 2}).Chat() {
		if step.String() != openaiwire.Done().String() {
			steps = append(steps, step, filter, prompt)
		}
	}
	steps = append(steps, openaiwire.Done())
	for _, cut := range openaiwire.Cuts {
		t.Run(fmt.Sprint("cut=", cut), func(t *testing.T) {
			s := openaiwire.NewTLS(t, openaiwire.Script(t, openaiwire.Reply{Body: steps, Cut: cut}))
			a, err := azureprovider.NewAgent(s.URL, azureprovider.APIKey(markerKey), azureprovider.AgentConfig{
				Deployment: "d", APIVersion: "2024-10-21", OpenAIOptions: secure(s, cut),
				Config: agent.Config{Tools: []tool.Tool{tool.NewDeclaration("save", "", jsondoc.Value{})}},
			})
			if err != nil {
				t.Fatal(err)
			}
			r, err := a.RunText(t.Context(), "hi").Collect()
			if err != nil {
				t.Fatal(err)
			}
			pending := r.Pending()
			if len(pending) != 1 || pending[0].CallID != "c1" || pending[0].Arguments != `{"text":"größer 🥕"}` || r.Usage().TotalTokenCount != 3 {
				t.Errorf("calls %+v, usage %+v", pending, r.Usage())
			}
		})
	}
}

func TestRefusedConfigurations(t *testing.T) {
	good := azureprovider.APIKey(markerKey)
	for name, tt := range map[string]struct {
		endpoint   string
		credential azureprovider.Credential
		config     azureprovider.AgentConfig
		want       string
	}{
		"no endpoint":        {"", good, azureprovider.AgentConfig{Deployment: "d"}, "endpoint is empty"},
		"no address":         {"my-resource", good, azureprovider.AgentConfig{Deployment: "d"}, "not an address"},
		"another scheme":     {"ftp://x.example.com", good, azureprovider.AgentConfig{Deployment: "d"}, "not an address"},
		"in the clear":       {"http://x.example.com", good, azureprovider.AgentConfig{Deployment: "d"}, "not https"},
		"a password in it":   {"https://u:" + markerKey + "@x.example.com", good, azureprovider.AgentConfig{Deployment: "d"}, "password"},
		"a key for address":  {markerKey + ":%zz", good, azureprovider.AgentConfig{Deployment: "d"}, "not an address"},
		"no deployment":      {"https://x.example.com", good, azureprovider.AgentConfig{}, "Deployment is empty"},
		"no such version":    {"https://x.example.com", good, azureprovider.AgentConfig{Deployment: "d", APIVersion: "v9"}, `"v9"`},
		"no credential":      {"https://x.example.com", azureprovider.Credential{}, azureprovider.AgentConfig{Deployment: "d"}, "no credential"},
		"an empty key":       {"https://x.example.com", azureprovider.APIKey(" "), azureprovider.AgentConfig{Deployment: "d"}, "no credential"},
		"a token that is no": {"https://x.example.com", azureprovider.Token(nil), azureprovider.AgentConfig{Deployment: "d"}, "no credential"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := azureprovider.NewAgent(tt.endpoint, tt.credential, tt.config)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "azureprovider: ") {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), markerKey) {
				t.Errorf("the key is in the error: %v", err)
			}
		})
	}
	for _, text := range []string{fmt.Sprint(good), fmt.Sprintf("%+v %#v %q", good, good, good)} {
		if strings.Contains(text, markerKey) {
			t.Errorf("a credential prints its key: %s", text)
		}
	}
}

// Plain http works on this machine, for tests and emulators. (An endpoint elsewhere is
// refused above.)
func TestLoopback(t *testing.T) {
	for _, cut := range openaiwire.Cuts {
		s := openaiwire.New(t, func(r *openaiwire.Request) openaiwire.Reply { reply := turn(r); reply.Cut = cut; return reply })
		a, err := azureprovider.NewAgent(s.URL, azureprovider.Token(new(token)), azureprovider.AgentConfig{Deployment: "d", OpenAIOptions: []option.RequestOption{option.WithMaxRetries(0)}})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := a.RunText(t.Context(), "hi").Collect(); err != nil || r.String() != "Grüezi" {
			t.Errorf("%q, %v", r, err)
		}
		if got := s.Requests()[0].Header.Get("Authorization"); got != "Bearer "+markerToken {
			t.Errorf("authorization %q", got)
		}
	}
}

// Neither key nor token follows a redirect to another server.
func TestRedirect(t *testing.T) {
	for name, credential := range map[string]azureprovider.Credential{"key": azureprovider.APIKey(markerKey), "token": azureprovider.Token(new(token))} {
		t.Run(name, func(t *testing.T) {
			other := openaiwire.NewTLS(t, turn)
			s := openaiwire.NewTLS(t, func(r *openaiwire.Request) openaiwire.Reply {
				return openaiwire.Reply{Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {other.URL + r.Path}}}
			})
			a, err := azureprovider.NewAgent(s.URL, credential, azureprovider.AgentConfig{Deployment: "d", OpenAIOptions: secure(s, 0)})
			if err != nil {
				t.Fatal(err)
			}
			_, err = a.RunText(t.Context(), "hi").Collect()
			if err == nil {
				t.Error("the redirect was followed")
			}
			for _, r := range other.Requests() {
				t.Errorf("the other server got %v", r.Header)
			}
			noSecrets(t, err)
		})
	}
}

// What the service or the credential says in anger stays in the log, without the
// secrets.
func TestFailures(t *testing.T) {
	leak := openaiwire.Quote("bad credential " + markerKey + " or " + markerToken + " or Bearer " + markerToken)
	s := openaiwire.NewTLS(t, func(*openaiwire.Request) openaiwire.Reply {
		return openaiwire.Reply{Status: 401, Header: http.Header{"Apim-Request-Id": {"apim-7"}}, Body: []openaiwire.Step{openaiwire.Raw(`{"error":{"code":"401","message":` + leak + `}}`)}}
	})
	for name, credential := range map[string]azureprovider.Credential{
		"key": azureprovider.APIKey(markerKey), "token": azureprovider.Token(new(token)),
		"no token to be had": azureprovider.Token(&token{err: errors.New("sign-in refused: Bearer " + markerToken)}),
	} {
		for _, version := range []string{"v1", "2024-10-21"} {
			t.Run(name+","+version, func(t *testing.T) {
				a, err := azureprovider.NewAgent(s.URL, credential, azureprovider.AgentConfig{Deployment: "d", APIVersion: version, OpenAIOptions: secure(s, 0)})
				if err != nil {
					t.Fatal(err)
				}
				_, err = a.RunText(t.Context(), "hi").Collect()
				if wire := agui.RunErrorFor(err); err == nil || wire.Code != agui.CodeModelError || strings.Contains(wire.Message, "credential") {
					t.Errorf("%v", err)
				}
				var failure *openaiprovider.Failure
				if !errors.As(err, &failure) {
					t.Fatalf("no Failure behind %v", err)
				}
				if name == "no token to be had" {
					if !strings.Contains(failure.Error(), "sign-in refused") {
						t.Errorf("failure %v", failure)
					}
				} else if failure.Status != 401 || failure.RequestID != "apim-7" || !strings.Contains(failure.Message, "bad credential") {
					t.Errorf("failure %+v", failure)
				}
				noSecrets(t, err)
			})
		}
	}
}

func noSecrets(t *testing.T, err error) {
	t.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, text := range []string{e.Error(), fmt.Sprintf("%+v %#v", e, e)} {
			if strings.Contains(text, markerKey) || strings.Contains(text, "marker") {
				t.Errorf("a secret is in %s", text)
			}
		}
	}
}
