package mcptool_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
	"github.com/lockstep-go/lockstep/tool/mcptool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect starts a server with these tools in this process and returns a session.
func connect(t *testing.T, add func(*mcp.Server)) *mcp.ClientSession {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	add(server)
	one, two := mcp.NewInMemoryTransports()
	serving, err := server.Connect(t.Context(), one, nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := mcptool.Connect(t.Context(), two)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		serving.Wait()
	})
	return session
}

// raw adds a tool that answers with r.
func raw(name, schema string, r *mcp.CallToolResult, err error) func(*mcp.Server) {
	return func(s *mcp.Server) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: jsondoc.MustParse(schema)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return r, err
		})
	}
}

const anything = `{"type":"object"}`

func TestResults(t *testing.T) {
	text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
	tests := []struct {
		name   string
		result *mcp.CallToolResult
		want   string
		kind   string
	}{
		{"text", &mcp.CallToolResult{Content: []mcp.Content{text("a"), text("b")}}, "a\nb", "string"},
		{"nothing", &mcp.CallToolResult{Content: []mcp.Content{}}, "", "string"},
		{"structured, digits kept", &mcp.CallToolResult{Content: []mcp.Content{text(`{"n":9007199254740993,"f":1.0}`)}, StructuredContent: map[string]any{"n": 9007199254740993}}, `{"n":9007199254740993,"f":1.0}`, "document"},
		{"structured only", &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: map[string]any{"a": []int{1}}}, `{"a":[1]}`, "document"},
		{"structured and another text", &mcp.CallToolResult{Content: []mcp.Content{text("It rains.")}, StructuredContent: map[string]any{"a": true}}, `{"a":true}`, "contents"},
		{"an image", &mcp.CallToolResult{Content: []mcp.Content{text("see"), &mcp.ImageContent{Data: []byte{1, 2}, MIMEType: "image/png"}}}, "see\n[image/png]", "contents"},
		{"a link and a file", &mcp.CallToolResult{Content: []mcp.Content{&mcp.ResourceLink{URI: "https://example.com/x", Name: "x"}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Blob: []byte{1}, MIMEType: "application/zip"}}}}, "https://example.com/x\n[application/zip]", "contents"},
		{"an embedded text", &mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Text: "inside"}}}}, "inside", "string"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tools, err := mcptool.ListTools(t.Context(), connect(t, raw("x", anything, tt.result, nil)))
			if err != nil || len(tools) != 1 {
				t.Fatal(tools, err)
			}
			got, err := tools[0].(tool.FuncTool).Call(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if text := (&message.FunctionResultContent{Result: got}).Text(); text != tt.want {
				t.Errorf("got %q, want %q", text, tt.want)
			}
			kind := "contents"
			switch got.(type) {
			case string:
				kind = "string"
			case jsondoc.Value:
				kind = "document"
			}
			if kind != tt.kind {
				t.Errorf("got a %T", got)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	session := connect(t, func(s *mcp.Server) {
		raw("tells", anything, &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such city"}}}, nil)(s)
		raw("silent", anything, &mcp.CallToolResult{IsError: true, Content: []mcp.Content{}}, nil)(s)
		raw("breaks", anything, nil, errors.New("swordfish"))(s)
		raw("large", anything, &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 2000)}}}, nil)(s)
		raw("strict", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, nil)(s)
	})
	tools, err := mcptool.Tools(t.Context(), session, &mcptool.Options{MaxResult: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tool, args, want string
		shown            bool
	}{
		{"tells", "{}", "no such city", true},
		{"silent", "{}", "gave no reason", true},
		{"breaks", "{}", message.FailedText, false},
		{"large", "{}", "2000 bytes", true},
		{"strict", `{"n":"x"}`, "/n", true},
		{"strict", `{`, "not JSON", true},
	} {
		for _, tl := range tools {
			if tl.Name() != tt.tool {
				continue
			}
			v, err := tl.(tool.FuncTool).Call(t.Context(), tt.args)
			text, shown := tool.Shown(err)
			if err == nil || shown != tt.shown || !strings.Contains(text, tt.want) {
				t.Errorf("%s %s: %v %v: the model reads %q", tt.tool, tt.args, v, err, text)
			}
			if strings.Contains(text, "swordfish") {
				t.Errorf("the model is told %q", text)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	yes, no := true, false
	session := connect(t, func(s *mcp.Server) {
		add := func(name string, a *mcp.ToolAnnotations) {
			s.AddTool(&mcp.Tool{Name: name, Annotations: a, InputSchema: jsondoc.MustParse(anything)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil
			})
		}
		add("read.file", &mcp.ToolAnnotations{ReadOnlyHint: true})
		add("append", &mcp.ToolAnnotations{DestructiveHint: &no})
		add("delete", &mcp.ToolAnnotations{DestructiveHint: &yes})
		add("unknown", nil)
		add("hidden", nil)
	})
	tools, err := mcptool.Tools(t.Context(), session, &mcptool.Options{
		Prefix:        "fs_",
		Allow:         func(t *mcp.Tool) bool { return t.Name != "hidden" },
		NeedsApproval: mcptool.Destructive,
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, tl := range tools {
		got[tl.Name()] = tool.NeedsApproval(tl)
	}
	want := map[string]bool{"fs_read_file": false, "fs_append": false, "fs_delete": true, "fs_unknown": true}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for name, approval := range want {
		if a, ok := got[name]; !ok || a != approval {
			t.Errorf("%s: %v %v", name, ok, a)
		}
	}
	// Under a new name the server still gets its own.
	for _, tl := range tools {
		if tl.Name() == "fs_read_file" {
			if v, err := tl.(tool.FuncTool).Call(t.Context(), "{}"); err != nil || v != "read.file" {
				t.Errorf("%v %v", v, err)
			}
		}
	}
	_, err = mcptool.ListTools(t.Context(), connect(t, func(s *mcp.Server) {
		raw("a.b", anything, nil, nil)(s)
		raw("a/b", anything, nil, nil)(s)
	}))
	if err == nil || !strings.Contains(err.Error(), "a_b") {
		t.Errorf("two tools of one name: %v", err)
	}
}

// What our tools answer reaches MCP clients whole, and comes back the same.
func TestThereAndBack(t *testing.T) {
	contents := []message.Content{
		&message.TextContent{Text: "see"},
		&message.DataContent{MediaType: "image/png", Data: []byte{1}},
		&message.DataContent{MediaType: "audio/wav", Data: []byte{2}},
		&message.DataContent{MediaType: "application/pdf", Name: "file:///a.pdf", Data: []byte{3}},
		&message.URIContent{URI: "https://example.com/x", MediaType: "text/html"},
	}
	session := connect(t, func(s *mcp.Server) {
		mcptool.AddTool(s, functool.MustNew(functool.Config{Name: "all", Description: "everything"}, func(context.Context, struct{}) ([]message.Content, error) { return contents, nil }))
		mcptool.AddTool(s, functool.MustNew(functool.Config{Name: "one"}, func(context.Context, struct{}) (*message.TextContent, error) {
			return &message.TextContent{Text: "x"}, nil
		}))
		mcptool.AddTool(s, functool.MustNew(functool.Config{Name: "fails"}, func(context.Context, struct{}) (string, error) { return "", errors.New("swordfish") }))
	})
	tools, err := mcptool.ListTools(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range tools {
		v, err := tl.(tool.FuncTool).Call(t.Context(), "{}")
		switch tl.Name() {
		case "all":
			got, ok := v.(message.Contents)
			if err != nil || !ok || len(got) != len(contents) {
				t.Fatalf("%v %v", v, err)
			}
			for i, c := range got {
				a, b := *new(string), *new(string)
				switch c := c.(type) {
				case *message.DataContent:
					w := contents[i].(*message.DataContent)
					a, b = c.MediaType+c.Name+string(c.Data), w.MediaType+w.Name+string(w.Data)
				case *message.TextContent:
					a, b = c.Text, contents[i].(*message.TextContent).Text
				case *message.URIContent:
					a, b = c.URI, contents[i].(*message.URIContent).URI
				}
				if a != b || a == "" {
					t.Errorf("content %d: %q, want %q", i, a, b)
				}
			}
			if tl.Description() != "everything" || tl.(tool.Declared).Schema().Kind() != jsondoc.KindObject {
				t.Error("the description or the schema is lost")
			}
		case "one":
			if err != nil || v != "x" {
				t.Errorf("%v %v", v, err)
			}
		case "fails":
			if text, _ := tool.Shown(err); err == nil || strings.Contains(text, "swordfish") {
				t.Errorf("%v %v", v, err)
			}
		}
	}
}

// An agent calls a tool at a server, and a stop reaches it there.
func TestAgent(t *testing.T) {
	stopped := make(chan struct{})
	session := connect(t, func(s *mcp.Server) {
		mcptool.AddTool(s, functool.MustNew(functool.Config{Name: "greet", Description: "greets"}, func(_ context.Context, in struct {
			Name string `json:"name"`
		}) (map[string]string, error) {
			if in.Name == "" {
				return nil, tool.Errorf("whom?")
			}
			return map[string]string{"text": "hi " + in.Name}, nil
		}))
		mcptool.AddTool(s, functool.MustNew(functool.Config{Name: "hang"}, func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			close(stopped)
			return "", ctx.Err()
		}))
	})
	tools, err := mcptool.ListTools(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	model := agenttest.New(
		agenttest.Turn(agenttest.Call("c1", "greet", `{"name":"Ada"}`), agenttest.Call("c2", "greet", `{"name":""}`), agenttest.Call("c3", "greet", `{}`)),
		agenttest.Turn(agenttest.Text("ok")),
		agenttest.Turn(agenttest.Call("c4", "hang", `{}`)),
	)
	a := model.Agent(agent.Config{Tools: tools})
	response, err := a.RunText(t.Context(), "hi").Collect()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for c := range response.Contents() {
		if r, ok := c.(*message.FunctionResultContent); ok {
			texts[r.CallID] = r.Text()
		}
	}
	if texts["c1"] != `{"text":"hi Ada"}` || !strings.Contains(texts["c2"], "whom?") || !strings.Contains(texts["c3"], "name") {
		t.Errorf("got %v", texts)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := a.RunText(ctx, "hang").Collect(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	select {
	case <-stopped:
	case <-time.After(5 * time.Second):
		t.Error("the tool at the server was not stopped")
	}
}
