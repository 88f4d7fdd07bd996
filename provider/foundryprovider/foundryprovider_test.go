package foundryprovider_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
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
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/provider/foundryprovider"
	"github.com/lockstep-go/lockstep/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const markerToken = "eyJmarker.eyJmarker.marker-0123456789"

// tokenSource is a credential that gives the marker token.
type tokenSource struct{ scopes []string }

func (c *tokenSource) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.scopes = append(c.scopes, o.Scopes...)
	return azcore.AccessToken{Token: markerToken, ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// The Go snippet of the page that Lockstep implements compiles and runs with only its
// import paths changed. It is the text between the two lines; what it leaves to the
// reader is around it.
func TestPageSnippet(t *testing.T) {
	s := openaiwire.New(t, func(r *openaiwire.Request) openaiwire.Reply {
		return openaiwire.Reply{Body: openaiwire.Turn{Text: "Grüezi", Fragment: 1}.Steps(r)}
	})
	endpoint, model, token := s.URL+"/api/projects/demo", "gpt-5-mini", new(tokenSource)

	// ---
	stateSnapshotMiddleware := agent.MiddlewareFunc(func(next agent.RunFunc, ctx context.Context, messages []*message.Message, opts ...agent.Option) iter.Seq2[*agent.ResponseUpdate, error] {
		return func(yield func(*agent.ResponseUpdate, error) bool) {
			for update, err := range next(ctx, messages, opts...) {
				if err != nil {
					yield(nil, err)
					return
				}
				if update != nil {
					// Inspect update contents and yield DataContent snapshots as
					// needed.
					update = withSnapshot(update)
				}
				if !yield(update, nil) {
					return
				}
			}
		}
	})

	a := foundryprovider.NewAgent(endpoint, token, foundryprovider.ModelDeployment(model), foundryprovider.AgentConfig{
		Config: agent.Config{
			Middlewares: []agent.Middleware{stateSnapshotMiddleware},
		},
	})
	// ---

	snapshots := 0
	text := ""
	for u, err := range a.RunText(t.Context(), "hi") {
		if err != nil {
			t.Fatal(err)
		}
		text += u.String()
		for _, c := range u.Contents {
			if d, ok := c.(*message.DataContent); ok && d.MediaType == message.MediaTypeJSON {
				snapshots++
			}
		}
	}
	if text != "Grüezi" || snapshots != len([]rune("Grüezi")) {
		t.Errorf("%q with %d snapshots", text, snapshots)
	}
	r := s.Requests()[0]
	if r.Path != "/api/projects/demo/openai/v1/responses" || r.RawQuery != "" || r.Header.Get("Authorization") != "Bearer "+markerToken {
		t.Errorf("%s?%s %v", r.Path, r.RawQuery, r.Header)
	}
	if !strings.Contains(string(r.Body), `"model":"gpt-5-mini"`) {
		t.Errorf("body %s", r.Body)
	}
}

// withSnapshot adds a snapshot to every update that has text: a copy, as updates are
// read-only.
func withSnapshot(u *agent.ResponseUpdate) *agent.ResponseUpdate {
	if u.String() == "" {
		return u
	}
	out := *u
	out.Contents = append(append(message.Contents{}, u.Contents...), &message.DataContent{MediaType: message.MediaTypeJSON, Data: []byte(`{"seen":true}`)})
	return &out
}

func secure(s *openaiwire.Server, cut int) []option.RequestOption {
	return []option.RequestOption{
		option.WithHTTPClient(&http.Client{Transport: openaiwire.Transport{Base: s.TLS.Transport, Cut: cut}}), option.WithMaxRetries(0),
	}
}

// Path, token and scope, over both APIs and at every cut, with a call in fragments.
func TestRequests(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-not-for-azure")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/")
	for _, chat := range []bool{false, true} {
		for _, project := range []string{"/api/projects/demo", "/api/projects/a%2Fb/", "/api/projects/demo/openai/v1"} {
			for _, cut := range openaiwire.Cuts {
				t.Run(fmt.Sprint(chat, project, cut), func(t *testing.T) {
					s := openaiwire.NewTLS(t, func(r *openaiwire.Request) openaiwire.Reply {
						return openaiwire.Reply{Cut: cut, Body: openaiwire.Turn{Calls: []openaiwire.Call{{ID: "c1", Name: "save", Arguments: `{"text":"größer 🥕"}`}}, Fragment: 3}.Steps(r)}
					})
					cred := new(tokenSource)
					a, err := foundryprovider.New(s.URL+project, cred, foundryprovider.ModelDeployment("m"), foundryprovider.AgentConfig{
						ChatCompletions: chat, Instructions: "Be brief.", OpenAIOptions: secure(s, cut),
						Config: agent.Config{Tools: []tool.Tool{tool.NewDeclaration("save", "", jsondoc.Value{})}},
					})
					if err != nil {
						t.Fatal(err)
					}
					r, err := a.RunText(t.Context(), "hi").Collect()
					if err != nil {
						t.Fatal(err)
					}
					if p := r.Pending(); len(p) != 1 || p[0].CallID != "c1" || p[0].Arguments != `{"text":"größer 🥕"}` {
						t.Errorf("calls %+v", p)
					}
					req := s.Requests()[0]
					want := strings.TrimSuffix(strings.TrimSuffix(project, "/"), "/openai/v1") + "/openai/v1/responses"
					if chat {
						want = strings.TrimSuffix(want, "responses") + "chat/completions"
					}
					if req.Path != want || req.RawQuery != "" {
						t.Errorf("%s?%s, want %s", req.Path, req.RawQuery, want)
					}
					if req.Header.Get("Authorization") != "Bearer "+markerToken || req.Header.Get("Api-Key") != "" {
						t.Errorf("header %v", req.Header)
					}
					if fmt.Sprint(cred.scopes) != "["+foundryprovider.DefaultScope+"]" {
						t.Errorf("scopes %v", cred.scopes)
					}
					if c, err := req.Conversation(); err != nil || c.System() != "Be brief." || c.Model != "m" {
						t.Errorf("%+v, %v", c, err)
					}
				})
			}
		}
	}
}

func TestRefusedConfigurations(t *testing.T) {
	good := new(tokenSource)
	for name, tt := range map[string]struct {
		endpoint   string
		credential azcore.TokenCredential
		target     foundryprovider.AgentTarget
		want       string
	}{
		"no endpoint":    {"", good, foundryprovider.ModelDeployment("m"), "endpoint is empty"},
		"in the clear":   {"http://x.example.com/api/projects/p", good, foundryprovider.ModelDeployment("m"), "not https"},
		"no credential":  {"https://x.example.com", nil, foundryprovider.ModelDeployment("m"), "credential is nil"},
		"no target":      {"https://x.example.com", good, nil, "no target"},
		"no model":       {"https://x.example.com", good, foundryprovider.ModelDeployment(" "), "no target"},
		"a key in front": {"https://k:" + markerToken + "@x.example.com", good, foundryprovider.ModelDeployment("m"), "password"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := foundryprovider.New(tt.endpoint, tt.credential, tt.target, foundryprovider.AgentConfig{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "marker") {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			// NewAgent has no error to return: its runs have.
			a := foundryprovider.NewAgent(tt.endpoint, tt.credential, tt.target, foundryprovider.AgentConfig{})
			_, runErr := a.RunText(t.Context(), "hi").Collect()
			if runErr == nil || agui.RunErrorFor(runErr).Code != agui.CodeModelError || !strings.Contains(runErr.Error(), tt.want) {
				t.Errorf("a run says %v", runErr)
			}
		})
	}
}

// A nil credential in an interface is found when the first request is made.
func TestTypedNilCredential(t *testing.T) {
	s := openaiwire.NewTLS(t, openaiwire.Script(t))
	a := foundryprovider.NewAgent(s.URL, (*tokenSource)(nil), foundryprovider.ModelDeployment("m"), foundryprovider.AgentConfig{OpenAIOptions: secure(s, 0)})
	_, err := a.RunText(t.Context(), "hi").Collect()
	var wire *agui.Error
	if !errors.As(err, &wire) || wire.Code != agui.CodeModelError {
		t.Errorf("error %v", err)
	}
}
