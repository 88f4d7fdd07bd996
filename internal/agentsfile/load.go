package agentsfile

import (
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/internal/schema"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
)

//go:embed agents.schema.json
var schemaText []byte

// Schema is the JSON Schema of an agents file, for editors.
func Schema() []byte { return slices.Clone(schemaText) }

// Agent is one agent of a file.
type Agent struct {
	Name   string
	Path   string // where it is served, such as /recipe
	Model  string // as --model has it; empty: the server's own
	Config agent.Config
	State  state.Config
	// Key and Line say where the file has it, for errors that are found later.
	Key  string
	Line int
}

// Load reads an agents file. The error is an *Error that names file, line and
// key and says what would be right.
func Load(path string) ([]Agent, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, &Error{File: path, Reason: err.Error()}
	}
	return parseAgents(path, text, os.LookupEnv)
}

func parseAgents(path string, text []byte, env func(string) (string, bool)) ([]Agent, error) {
	d, err := parse(path, text, env)
	if err != nil {
		return nil, err
	}
	if err := d.names(); err != nil {
		return nil, err
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	list, _ := d.value.Get("agents")
	var out []Agent
	paths := map[string]string{}
	for name, v := range list.Members() {
		at := jsondoc.Path("agents", name)
		a, err := d.agent(at, name, v)
		if err != nil {
			return nil, err
		}
		if other, taken := paths[a.Path]; taken {
			return nil, d.fault(at, "path %q is agent %q's already", a.Path, other)
		}
		paths[a.Path] = name
		out = append(out, a)
	}
	return out, nil
}

var (
	agentName = regexp.MustCompile(`^[A-Za-z0-9_.~-]+$`)
	toolName  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

// names checks the keys that are names of the operator's own, which a schema
// library cannot point at.
func (d *document) names() error {
	agents, _ := d.value.Get("agents")
	for name, a := range agents.Members() {
		at := jsondoc.Path("agents", name)
		if !agentName.MatchString(name) {
			return d.fault(at, "an agent's name is of letters, digits and _ . ~ -")
		}
		tools, _ := a.Get("tools")
		for name := range tools.Members() {
			if !toolName.MatchString(name) {
				return d.fault(at.Child("tools").Child(name), "a tool's name is of at most 64 letters, digits and _ -")
			}
		}
		access, _ := a.Get("state_access")
		for place := range access.Members() {
			if !strings.HasPrefix(place, "/") {
				return d.fault(at.Child("state_access").Child(place), "a place is a JSON Pointer such as /secrets")
			}
		}
	}
	return nil
}

// check validates the file against its schema: the first thing that is wrong,
// from the top.
func (d *document) check() error {
	s, err := schema.Compile(jsondoc.MustParse(string(schemaText)))
	if err != nil {
		return err
	}
	var bad *schema.Error
	if err := s.Validate(d.value); !errors.As(err, &bad) {
		return err
	}
	first := bad.Violations[0]
	for _, v := range bad.Violations[1:] {
		if d.lines[v.Path] < d.lines[first.Path] && d.lines[v.Path] > 0 {
			first = v
		}
	}
	if key, known := d.unknownKey(first.Path); key != "" {
		return d.fault(first.Path.Child(key), "there is no such key; the keys here are %s", strings.Join(known, ", "))
	}
	return d.fault(first.Path, "%s", first.Reason)
}

// unknownKey finds a key at a place that the schema has no property for.
func (d *document) unknownKey(at jsondoc.Pointer) (key string, known []string) {
	rules := jsondoc.MustParse(string(schemaText))
	defs, _ := rules.Get("$defs")
	follow := func(v jsondoc.Value) jsondoc.Value {
		if ref, ok := v.Get("$ref"); ok {
			v, _ = defs.Get(strings.TrimPrefix(ref.Str(), "#/$defs/"))
		}
		return v
	}
	for _, token := range at.Tokens() {
		props, _ := rules.Get("properties")
		next, ok := props.Get(token)
		if !ok {
			next, _ = rules.Get("additionalProperties")
		}
		rules = follow(next)
	}
	if closed, ok := rules.Get("additionalProperties"); !ok || closed.Kind() != jsondoc.KindBool {
		return "", nil
	}
	props, _ := rules.Get("properties")
	for name := range props.Members() {
		known = append(known, name)
	}
	here, _ := d.value.At(at)
	for name := range here.Members() {
		if !slices.Contains(known, name) {
			return name, known
		}
	}
	return "", nil
}

func (d *document) agent(at jsondoc.Pointer, name string, v jsondoc.Value) (Agent, error) {
	a := Agent{
		Name: name, Path: "/" + name, Model: text(v, "model"), Key: strings.Join(at.Tokens(), "."), Line: d.lines[at],
		Config: agent.Config{Name: name, Description: text(v, "description"), Instructions: text(v, "instructions")},
	}
	if p := text(v, "path"); p != "" {
		a.Path = p
	}
	if err := d.state(at, v, &a.State); err != nil {
		return a, err
	}
	tools, _ := v.Get("tools")
	for tool, spec := range tools.Members() {
		t, rules, err := d.tool(at.Child("tools").Child(tool), tool, spec)
		if err != nil {
			return a, err
		}
		a.Config.Tools = append(a.Config.Tools, t)
		a.State.Rules = append(a.State.Rules, rules...)
	}
	for key, p := range a.State.Predict {
		if err := d.argument(at, key, p, tools); err != nil {
			return a, err
		}
		if !slices.ContainsFunc(a.Config.Tools, func(t tool.Tool) bool { return t.Name() == p.Tool }) && tools.Len() > 0 {
			return a, d.fault(at.Child("predict_state_config").Child(key).Child("tool"), "the agent has no tool %q", p.Tool)
		}
	}
	if two, _ := v.Get("structured_state"); two.Bool() {
		if a.State.Schema == nil {
			return a, d.fault(at.Child("structured_state"), "the agent needs a state_schema for that")
		}
		a.Config.Middlewares = append(a.Config.Middlewares, state.TwoPhaseSchema(a.State.Schema, nil))
	}
	if _, err := state.NewModel(a.State); err != nil {
		return a, d.fault(at, "%s", strings.TrimPrefix(err.Error(), "state: "))
	}
	return a, nil
}

// argument checks that a prediction's argument is one of its tool's, where the
// tool says what it takes: a wrong name would never fill anything.
func (d *document) argument(at jsondoc.Pointer, key string, p state.Prediction, tools jsondoc.Value) error {
	properties, ok := tools.At(jsondoc.Path(p.Tool, "parameters", "properties"))
	if !ok || p.Argument == "*" || strings.HasPrefix(p.Argument, "/") {
		return nil
	}
	if _, known := properties.Get(p.Argument); known {
		return nil
	}
	var names []string
	for name := range properties.Members() {
		names = append(names, name)
	}
	return d.fault(at.Child("predict_state_config").Child(key).Child("tool_argument"), "%s has no argument %q; it has %s", p.Tool, p.Argument, strings.Join(names, ", "))
}

func text(v jsondoc.Value, name string) string {
	s, _ := v.Get(name)
	return s.Str()
}

func flag(v jsondoc.Value, name string) bool {
	b, _ := v.Get(name)
	return b.Bool()
}

func (d *document) state(at jsondoc.Pointer, v jsondoc.Value, c *state.Config) error {
	if s, ok := v.Get("state_schema"); ok {
		var err error
		if c.Schema, err = d.schema(at.Child("state_schema"), s); err != nil {
			return err
		}
	}
	c.Initial, _ = v.Get("initial_state")
	if !c.Initial.IsAbsent() && c.Schema != nil {
		if err := c.Schema.Validate(c.Initial); err != nil {
			var bad *schema.Error
			if errors.As(err, &bad) && slices.ContainsFunc(bad.Violations, func(v schema.Violation) bool { return v.Path != "" }) {
				return d.fault(at.Child("initial_state")+bad.Violations[0].Path, "%s", bad.Violations[0].Reason)
			}
		}
	}
	predict, _ := v.Get("predict_state_config")
	for key, p := range predict.Members() {
		if c.Predict == nil {
			c.Predict = map[string]state.Prediction{}
		}
		c.Predict[key] = state.Prediction{Tool: text(p, "tool"), Argument: text(p, "tool_argument"), Whole: flag(p, "whole"), Keep: flag(p, "keep")}
	}
	c.RequireConfirmation, c.ConfirmChanges = flag(v, "require_confirmation"), flag(v, "confirm_changes")
	if words, ok := v.Get("confirmation"); ok {
		c.Confirmation = state.ConfirmationTexts{Ask: text(words, "prompt"), Yes: text(words, "approved"), No: text(words, "rejected")}
		within, err := d.duration(at.Child("confirmation").Child("expires"), text(words, "expires"), 0)
		if err != nil {
			return err
		}
		c.ConfirmWithin = within
	}
	switch inject, _ := v.Get("inject_state"); {
	case inject.Kind() == jsondoc.KindString:
		c.Inject.Mode = state.InjectAll
	case inject.Kind() == jsondoc.KindBool && inject.Bool():
		c.Inject.Mode = state.InjectAuto
	case inject.Kind() == jsondoc.KindBool:
		c.Inject.Mode = state.InjectNever
	}
	access, _ := v.Get("state_access")
	for place, level := range access.Members() {
		if c.Access == nil {
			c.Access = state.Access{}
		}
		c.Access[place] = map[string]state.AccessLevel{"server": state.ServerOnly, "read": state.ReadOnly, "write": state.ReadWrite}[level.Str()]
	}
	c.Conflict = map[string]state.ConflictPolicy{"": state.ClientWins, "client": state.ClientWins, "server": state.AgentWins, "reject": state.RejectResult}[text(v, "conflict")]
	return nil
}

// schema reads a state schema: inline, or in a file beside the agents file.
func (d *document) schema(at jsondoc.Pointer, v jsondoc.Value) (*state.Schema, error) {
	if file, ok := v.Get("file"); ok && v.Len() == 1 && file.Kind() == jsondoc.KindString {
		path := file.Str()
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(d.file), path)
		}
		content, err := readFile(path)
		if err != nil {
			return nil, d.fault(at, "%s", err)
		}
		s, err := state.ParseSchema(content)
		if err != nil {
			return nil, d.fault(at, "%s: %s", path, strings.TrimPrefix(err.Error(), "state: "))
		}
		return s, nil
	}
	s, err := state.NewSchema(v)
	if err != nil {
		return nil, d.fault(at, "this is no JSON Schema: %s", oneLine(err))
	}
	return s, nil
}

// oneLine is an error's text where a library writes several lines: the last of
// them says what is wrong, those before where it was looked at.
func oneLine(err error) string {
	lines := strings.Split(err.Error(), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	for _, l := range lines { // the first that names what would be right
		if strings.Contains(l, "must be one of") {
			last = strings.TrimSpace(l)
			break
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(last, "- "), "at ")
}

func (d *document) duration(at jsondoc.Pointer, s string, standard time.Duration) (time.Duration, error) {
	if s == "" {
		return standard, nil
	}
	t, err := time.ParseDuration(s)
	if err != nil || t <= 0 {
		return 0, d.fault(at, "%q is no time such as 10s or 5m", s)
	}
	return t, nil
}
