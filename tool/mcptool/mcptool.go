// Package mcptool makes tools of an MCP server's tools, and the other way round. It is
// on the official Go SDK of the Model Context Protocol; a program that does not import
// this package does not get that dependency.
//
//	session, err := mcptool.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: "https://example.com/mcp"})
//	…
//	defer session.Close()
//	tools, err := mcptool.ListTools(ctx, session)
//	a := agent.New(provider, agent.Config{Tools: tools})
//
// # Trust
//
// A server's descriptions and results reach the model as they are, so a server can try
// to talk to it. Connect to servers that you trust, offer only the tools you need
// ([Options.Allow]), and have a person approve what can do damage
// ([Options.NeedsApproval]).
package mcptool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lockstep-go/lockstep/internal/schema"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

// Limits of what a server can make this process hold.
const (
	// MaxTools is how many tools of one server are read.
	MaxTools = 1000
	// DefaultMaxResult is the size of a result in bytes unless configured.
	DefaultMaxResult = 4 << 20
)

// Options says which of a server's tools are offered, and how. The zero value offers
// all.
type Options struct {
	// Prefix is put before every name, so that tools of several servers do not meet:
	// "github_" makes github_search of search.
	Prefix string
	// Allow chooses the tools. nil allows all.
	Allow func(*mcp.Tool) bool
	// NeedsApproval chooses those of which a person has to approve each call. nil is
	// none. [Destructive] is one.
	NeedsApproval func(*mcp.Tool) bool
	// MaxResult bounds the bytes of one result, texts and data together; 0 is
	// [DefaultMaxResult]. A larger one is an error that the model is told.
	MaxResult int
}

// Destructive reports whether a tool may do damage: the server does not say that it
// only reads, nor that it destroys nothing. Servers may lie.
func Destructive(t *mcp.Tool) bool {
	a := t.Annotations
	return a == nil || !a.ReadOnlyHint && (a.DestructiveHint == nil || *a.DestructiveHint)
}

// Connect opens a session with a server. Close it when no tool of it is used any more.
func Connect(ctx context.Context, transport mcp.Transport) (*mcp.ClientSession, error) {
	return mcp.NewClient(&mcp.Implementation{Name: "lockstep", Version: "1"}, nil).Connect(ctx, transport, nil)
}

// ListTools returns all of a server's tools. It is Tools without options.
func ListTools(ctx context.Context, session *mcp.ClientSession) ([]tool.Tool, error) {
	return Tools(ctx, session, nil)
}

// Tools returns a server's tools; o may be nil. Characters of a name that model vendors
// do not accept become "_", and it fails if two tools would then have one name. The
// tools are those of this moment: ask again if the server says that they changed.
func Tools(ctx context.Context, session *mcp.ClientSession, o *Options) ([]tool.Tool, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.MaxResult <= 0 {
		opts.MaxResult = DefaultMaxResult
	}
	var tools []tool.Tool
	names := make(map[string]string)
	seen := 0
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("mcptool: listing the tools: %w", err)
		}
		if seen++; seen > MaxTools {
			return nil, fmt.Errorf("mcptool: the server has more than %d tools", MaxTools)
		}
		if opts.Allow != nil && !opts.Allow(t) {
			continue
		}
		name := vendorName(opts.Prefix + t.Name)
		if other, ok := names[name]; ok {
			return nil, fmt.Errorf("mcptool: the tools %q and %q would both be called %q; leave one out with Options.Allow", other, t.Name, name)
		}
		names[name] = t.Name
		m, err := newTool(session, t, name, opts.MaxResult)
		if err != nil {
			return nil, err
		}
		if opts.NeedsApproval != nil && opts.NeedsApproval(t) {
			tools = append(tools, tool.ApprovalRequiredFunc(m))
			continue
		}
		tools = append(tools, m)
	}
	return tools, nil
}

// vendorName keeps the letters, digits, _ and - of a name, at most 64 of them.
func vendorName(s string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, s)
	return name[:min(len(name), 64)]
}

type remote struct {
	session   *mcp.ClientSession
	tool      *mcp.Tool
	name      string
	doc       jsondoc.Value
	schema    *schema.Schema // nil if it is of a draft that is not understood: the server checks anyway
	maxResult int
}

func newTool(session *mcp.ClientSession, t *mcp.Tool, name string, maxResult int) (*remote, error) {
	r := &remote{session: session, tool: t, name: name, maxResult: maxResult}
	if t.InputSchema != nil {
		doc, err := jsondoc.From(t.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("mcptool: the schema of the tool %q: %w", t.Name, err)
		}
		r.doc = doc
		r.schema, _ = schema.Compile(doc)
	}
	return r, nil
}

func (r *remote) Name() string          { return r.name }
func (r *remote) Description() string   { return r.tool.Description }
func (r *remote) Schema() jsondoc.Value { return r.doc }

// Call runs the tool at the server. What the server reports as the tool's error is told
// to the model, as the protocol wants it; a failure of the connection is not.
func (r *remote) Call(ctx context.Context, args string) (any, error) {
	doc := jsondoc.Object()
	if strings.TrimSpace(args) != "" {
		var err error
		if doc, err = jsondoc.ParseString(args); err != nil {
			return nil, &tool.Error{Message: "the arguments are not JSON: " + err.Error(), Err: err}
		}
	}
	if r.schema != nil {
		if err := r.schema.Validate(doc); err != nil {
			return nil, &tool.Error{Message: "the arguments do not fit the schema: " + err.Error(), Err: err}
		}
	}
	result, err := r.session.CallTool(ctx, &mcp.CallToolParams{Name: r.tool.Name, Arguments: json.RawMessage(doc.String())})
	if err != nil {
		return nil, fmt.Errorf("mcptool: calling %q: %w", r.tool.Name, err)
	}
	contents, size := convert(result.Content)
	if size > r.maxResult {
		return nil, tool.Errorf("the tool's result has %d bytes; the limit is %d. Ask for less", size, r.maxResult)
	}
	if result.IsError {
		text := (&message.FunctionResultContent{Result: contents}).Text()
		if text == "" {
			text = "the tool failed and gave no reason"
		}
		return nil, &tool.Error{Message: text}
	}
	if result.StructuredContent != nil {
		return structured(result.StructuredContent, contents, r.maxResult)
	}
	return simple(contents), nil
}

// structured is the document that the server answered with. Servers repeat it as text,
// and there numbers still have all their digits: the SDK has decoded the other one.
func structured(v any, contents message.Contents, most int) (any, error) {
	if t, ok := simple(contents).(string); ok {
		if doc, err := jsondoc.ParseString(t); err == nil {
			return doc, nil
		}
	}
	doc, err := jsondoc.From(v)
	if err != nil {
		return nil, fmt.Errorf("mcptool: structured content: %w", err)
	}
	if size := doc.Size(); size > most {
		return nil, tool.Errorf("the tool's result has %d bytes; the limit is %d. Ask for less", size, most)
	}
	if len(contents) == 0 {
		return doc, nil
	}
	return append(message.Contents{&message.TextContent{Text: doc.String()}}, others(contents)...), nil
}

// others leaves texts out.
func others(cs message.Contents) message.Contents {
	var out message.Contents
	for _, c := range cs {
		if _, ok := c.(*message.TextContent); !ok {
			out = append(out, c)
		}
	}
	return out
}

// simple is a string where there are only texts.
func simple(cs message.Contents) any {
	if len(others(cs)) > 0 {
		return cs
	}
	parts := make([]string, len(cs))
	for i, c := range cs {
		parts[i] = c.(*message.TextContent).Text
	}
	return strings.Join(parts, "\n")
}

// convert turns MCP contents into ours, and counts their bytes.
func convert(in []mcp.Content) (out message.Contents, size int) {
	text := func(s string) {
		out = append(out, &message.TextContent{Text: s})
		size += len(s)
	}
	data := func(name, mediaType string, b []byte) {
		out = append(out, &message.DataContent{Name: name, MediaType: mediaType, Data: b})
		size += len(b)
	}
	for _, c := range in {
		switch c := c.(type) {
		case *mcp.TextContent:
			text(c.Text)
		case *mcp.ImageContent:
			data("", c.MIMEType, c.Data)
		case *mcp.AudioContent:
			data("", c.MIMEType, c.Data)
		case *mcp.ResourceLink:
			out = append(out, &message.URIContent{URI: c.URI, MediaType: c.MIMEType})
			size += len(c.URI)
		case *mcp.EmbeddedResource:
			switch r := c.Resource; {
			case r == nil:
			case r.Blob != nil:
				data(r.URI, r.MIMEType, r.Blob)
			default:
				text(r.Text)
			}
		default:
			text(fmt.Sprintf("[a content of the kind %T, which is not understood here]", c))
		}
	}
	return out, size
}

// AddTool offers t to the clients of an MCP server. What t's error shows to a model it
// shows to them, and nothing more.
func AddTool(server *mcp.Server, t tool.FuncTool) {
	input := t.Schema()
	if input.IsAbsent() {
		input = jsondoc.MustParse(`{"type":"object"}`)
	}
	server.AddTool(&mcp.Tool{Name: t.Name(), Description: t.Description(), InputSchema: json.RawMessage(input.String())},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			call := &message.FunctionCallContent{Name: t.Name(), Arguments: string(req.Params.Arguments)}
			v, err := t.Call(tool.ContextWithCall(ctx, call, t), call.Arguments)
			if err != nil {
				text, _ := tool.Shown(err)
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
			}
			return result(v), nil
		})
}

// result turns a tool's result into an MCP one.
func result(v any) *mcp.CallToolResult {
	var cs message.Contents
	switch v := v.(type) {
	case message.Contents:
		cs = v
	case []message.Content:
		cs = v
	default:
		r := &message.FunctionResultContent{Result: v}
		out := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Text()}}}
		if doc, ok := v.(jsondoc.Value); ok && doc.Kind() == jsondoc.KindObject {
			out.StructuredContent = json.RawMessage(doc.String())
		}
		return out
	}
	out := &mcp.CallToolResult{Content: []mcp.Content{}}
	for _, c := range cs {
		switch c := c.(type) {
		case *message.TextContent:
			out.Content = append(out.Content, &mcp.TextContent{Text: c.Text})
		case *message.DataContent:
			switch c.TopLevelMediaType() {
			case "image":
				out.Content = append(out.Content, &mcp.ImageContent{Data: c.Data, MIMEType: c.MediaType})
			case "audio":
				out.Content = append(out.Content, &mcp.AudioContent{Data: c.Data, MIMEType: c.MediaType})
			default:
				out.Content = append(out.Content, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: c.Name, MIMEType: c.MediaType, Blob: c.Data}})
			}
		case *message.URIContent:
			out.Content = append(out.Content, &mcp.ResourceLink{URI: c.URI, MIMEType: c.MediaType, Name: c.URI})
		}
	}
	return out
}
