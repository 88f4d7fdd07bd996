package tool_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

type fixed struct{ tool.Declaration }

func (*fixed) Call(context.Context, string) (any, error) { return "ok", nil }
func (*fixed) Extra() string                             { return "extra" }

func TestApproval(t *testing.T) {
	f := &fixed{*tool.NewDeclaration("f", "d", jsondoc.MustParse(`{"type":"object"}`))}
	if tool.NeedsApproval(f) {
		t.Error("nobody asked for approval")
	}
	g := tool.ApprovalRequiredFunc(f)
	if !tool.NeedsApproval(g) || g.Name() != "f" || g.Description() != "d" || g.Schema().String() != `{"type":"object"}` {
		t.Errorf("got %v", g)
	}
	if tool.ApprovalRequiredFunc(g) != g {
		t.Error("the mark is put on twice")
	}
	if e, ok := tool.As[interface{ Extra() string }](g); !ok || e.Extra() != "extra" {
		t.Error("a wrapper hides what it wraps")
	}
	if _, ok := tool.As[interface{ Nothing() }](g); ok {
		t.Error("found what is not there")
	}
	if _, ok := tool.Tool(tool.NewDeclaration("x", "", jsondoc.Value{})).(tool.FuncTool); ok {
		t.Error("a declaration can be called")
	}
}

func TestShown(t *testing.T) {
	secret := errors.New("secret")
	tests := []struct {
		err   error
		text  string
		shown bool
	}{
		{secret, message.FailedText, false},
		{tool.Errorf("no city %q", "x"), `Error: no city "x"`, true},
		{&tool.Error{Message: "try later", Err: secret}, "Error: try later", true},
		{fmt.Errorf("outer: %w", &tool.Error{Message: "try later", Err: secret}), "Error: try later", true},
		{errors.Join(secret, tool.Errorf("m")), "Error: m", true},
	}
	for _, tt := range tests {
		if text, shown := tool.Shown(tt.err); text != tt.text || shown != tt.shown {
			t.Errorf("%v: %q %v", tt.err, text, shown)
		}
	}
	if err := (&tool.Error{Message: "m", Err: secret}); !errors.Is(err, secret) || err.Error() != "m: secret" {
		t.Errorf("the cause is lost: %v", err)
	}
	if err := tool.Errorf("m: %w", secret); !errors.Is(err, secret) || err.Error() != "m: secret" {
		t.Errorf("got %v", err)
	}
}

func TestToolMode(t *testing.T) {
	for _, tt := range []struct {
		in   tool.ToolMode
		mode tool.ToolMode
		name string
		ok   bool
	}{
		{"", tool.ToolModeAuto, "", false},
		{tool.ToolModeNone, tool.ToolModeNone, "", false},
		{tool.ToolModeRequired, tool.ToolModeRequired, "", false},
		{tool.RequireTool("f"), tool.ToolModeRequired, "f", true},
	} {
		name, ok := tt.in.RequiredTool()
		if tt.in.Mode() != tt.mode || name != tt.name || ok != tt.ok {
			t.Errorf("%q: %q %q %v", tt.in, tt.in.Mode(), name, ok)
		}
	}
}

func TestContext(t *testing.T) {
	if _, ok := tool.CallFromContext(t.Context()); ok {
		t.Error("there is no call")
	}
	if _, ok := tool.FromContext(tool.ContextWithCall(t.Context(), &message.FunctionCallContent{}, nil)); ok {
		t.Error("there is no tool")
	}
}
