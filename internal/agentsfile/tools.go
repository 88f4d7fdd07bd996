package agentsfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/internal/schema"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
)

// tool makes a tool of a file, and the rule for what its result becomes.
func (d *document) tool(at jsondoc.Pointer, name string, v jsondoc.Value) (tool.Tool, []state.Rule) {
	t := &fileTool{name: name, description: text(v, "description")}
	parameters, given := v.Get("parameters")
	if !given {
		parameters = jsondoc.MustParse(`{"type":"object"}`)
	}
	var err error
	if t.schema, err = schema.Compile(parameters); err != nil {
		d.fault(at.Child("parameters"), "this is no JSON Schema: %s", oneLine(err))
	}
	t.parameters = parameters
	result, fixed := v.Get("result")
	web, remote := v.Get("http")
	switch {
	case fixed && remote:
		d.fault(at, "a tool has either a result or http")
	case !fixed && !remote && d.wrong(at): // one of its keys is meant to be that
	case !fixed && !remote:
		d.fault(at, "the tool needs a result (a fixed answer) or http")
	case fixed:
		t.result = result.Str()
		if result.Kind() != jsondoc.KindString {
			t.result = result.String()
		}
		d.mappable(at.Child("result"), t.result, text(v, "maps_to"))
	case remote:
		t.web = d.webhook(at.Child("http"), web)
	}
	var rules []state.Rule
	switch text(v, "maps_to") {
	case "state_snapshot":
		rules = append(rules, state.MapResultAsStateSnapshot(name))
	case "state_merge":
		rules = append(rules, state.MapResultAsStateMerge(name))
	case "state_delta":
		rules = append(rules, state.MapResultAsStateDelta(name))
	}
	if text(v, "approval") == "always" {
		return tool.ApprovalRequiredFunc(t), rules
	}
	return t, rules
}

// mappable checks that a fixed result can become state: it is the same at each
// call, so one that cannot never does.
func (d *document) mappable(at jsondoc.Pointer, result, as string) {
	if as == "" {
		return
	}
	doc, err := jsondoc.ParseString(result)
	switch {
	case as == "state_delta" && err == nil:
		if _, err := jsondoc.PatchFrom(doc); err != nil {
			d.fault(at, `with maps_to: state_delta the result is a JSON Patch, such as [{op: replace, path: /title, value: Soup}]; %s`, err)
		}
	case as == "state_delta":
		d.fault(at, "with maps_to: state_delta the result is a JSON Patch, such as [{op: replace, path: /title, value: Soup}]; this is no JSON: %s", err)
	case err != nil:
		d.fault(at, "with maps_to: %s the result is an object, such as {title: Soup}; this is no JSON: %s", as, err)
	case doc.Kind() != jsondoc.KindObject:
		d.fault(at, "with maps_to: %s the result is an object, such as {title: Soup}, and not %s", as, doc.Kind())
	}
}

// fileTool is a tool that an agents file describes. Its arguments are checked
// before it does anything.
type fileTool struct {
	name, description string
	schema            *schema.Schema
	parameters        jsondoc.Value
	result            string
	web               *webhook // nil: result is the answer
}

func (t *fileTool) Name() string          { return t.name }
func (t *fileTool) Description() string   { return t.description }
func (t *fileTool) Schema() jsondoc.Value { return t.parameters }

// Call implements tool.FuncTool.
func (t *fileTool) Call(ctx context.Context, arguments string) (any, error) {
	args, err := jsondoc.ParseString(arguments)
	if err != nil {
		return nil, tool.Errorf("the arguments are not JSON: %v", err)
	}
	var bad *schema.Error
	if err := t.schema.Validate(args); errors.As(err, &bad) {
		var list []string
		for _, v := range bad.Violations {
			list = append(list, v.String())
		}
		return nil, tool.Errorf("the arguments do not fit: %s", strings.Join(list, "; "))
	} else if err != nil {
		return nil, err
	}
	if t.web == nil {
		return t.result, nil
	}
	return t.web.call(ctx, args)
}

// webhook is a server that answers calls. Its address is the operator's word:
// nothing of a model's or a client's enters it.
type webhook struct {
	url     *url.URL
	method  string
	headers http.Header
	timeout time.Duration
	client  *http.Client
}

// maxAnswer bounds a webhook's answer.
const maxAnswer = 4 << 20

func (d *document) webhook(at jsondoc.Pointer, v jsondoc.Value) *webhook {
	w := &webhook{method: http.MethodPost, headers: http.Header{}}
	var err error
	if w.url, err = url.Parse(text(v, "url")); err != nil || w.url.Host == "" {
		d.fault(at.Child("url"), "this is no address such as https://example.com/hook")
		return nil
	}
	if m := text(v, "method"); m != "" {
		w.method = m
	}
	headers, _ := v.Get("headers")
	for name, value := range headers.Members() {
		if strings.ContainsAny(name+value.Str(), "\r\n\x00") || name == "" {
			d.fault(at.Child("headers").Child(name), "a header is one line")
			continue
		}
		w.headers.Set(name, value.Str())
	}
	w.timeout = d.duration(at.Child("timeout"), text(v, "timeout"), 10*time.Second)
	w.client = &http.Client{CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if next.URL.Host != w.url.Host || next.URL.Scheme != w.url.Scheme {
			return fmt.Errorf("the server redirects to another host, %s", next.URL.Host)
		}
		if len(via) >= 5 {
			return errors.New("the server redirects too often")
		}
		return nil
	}}
	return w
}

// call posts the arguments. What went wrong is for the log; the model is told
// what it can act on: the status, and that it may try again.
func (w *webhook) call(ctx context.Context, args jsondoc.Value) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	target := *w.url
	var body io.Reader
	if w.method == http.MethodGet || w.method == http.MethodDelete {
		// These have no body; the arguments are the query, which cannot reach
		// scheme, host or path.
		query := target.Query()
		for name, v := range args.Members() {
			s := v.Str()
			if v.Kind() != jsondoc.KindString {
				s = v.String()
			}
			query.Set(name, s)
		}
		target.RawQuery = query.Encode()
	} else {
		body = bytes.NewReader(args.AppendJSON(nil))
	}
	req, err := http.NewRequestWithContext(ctx, w.method, target.String(), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/plain;q=0.9")
	for name, values := range w.headers {
		req.Header[name] = values
	}
	res, err := w.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the tool's server: %w", err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the tool's server: %w", err)
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("the tool's server answered more than %d bytes", maxAnswer)
	case res.StatusCode/100 != 2:
		return nil, tool.Errorf("the tool's server answered with status %d", res.StatusCode)
	case !utf8.Valid(answer):
		return nil, errors.New("the tool's server did not answer with text")
	}
	return string(answer), nil
}
