package agentsfile

import (
	_ "embed"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
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

	file, key string
	line      int
}

// Fault is an error that was found later as one of the file's: it says where the
// agent is.
func (a Agent) Fault(err error) *Error {
	return &Error{File: a.file, Line: a.line, Key: a.key, Reason: reason(err)}
}

// reason is an error's text for somebody who writes a file: without the package
// that it is from, and with the file's names for what Go programs set.
func reason(err error) string {
	text := err.Error()
	for _, room := range []string{"state: ", "server: ", "schema: ", "agent: "} {
		text = strings.TrimPrefix(text, room)
	}
	return fileNames.Replace(text)
}

var fileNames = strings.NewReplacer("Config.Predict", "predict_state_config", "Config.Access", "state_access", "Config.Initial", "initial_state")

// Load reads an agents file. model looks at what an agent has as its model and says
// what is wrong with it; nil accepts anything. The error is an [Errors] of all
// mistakes, each with file, line and key, and what would be right.
func Load(path string, model func(string) error) ([]Agent, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, Errors{{File: path, Reason: strings.TrimPrefix(err.Error(), path+": ")}}
	}
	return parseAgents(path, text, os.LookupEnv, model)
}

func parseAgents(path string, text []byte, env func(string) (string, bool), model func(string) error) ([]Agent, error) {
	d, err := parse(path, text, env)
	if err != nil {
		return nil, err
	}
	d.model = model
	d.names()
	d.check()
	list, _ := d.value.Get("agents")
	var out []Agent
	paths := map[string]string{}
	for name, v := range list.Members() {
		at := jsondoc.Path("agents", name)
		a := d.agent(at, name, v)
		if other, taken := paths[a.Path]; taken && !d.wrong(at.Child("path")) {
			d.fault(at, "path %q is agent %q's already", a.Path, other)
		}
		paths[a.Path] = name
		out = append(out, a)
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return out, nil
}

var (
	agentName = regexp.MustCompile(`^[A-Za-z0-9_.~-]+$`)
	toolName  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

// names checks the keys that are names of the operator's own, which a schema
// library cannot point at.
func (d *document) names() {
	agents, _ := d.value.Get("agents")
	for name, a := range agents.Members() {
		at := jsondoc.Path("agents", name)
		if !agentName.MatchString(name) {
			d.fault(at, "an agent's name is of letters, digits and _ . ~ -")
		}
		tools, _ := a.Get("tools")
		for name := range tools.Members() {
			if !toolName.MatchString(name) {
				d.fault(at.Child("tools").Child(name), "a tool's name is of at most 64 letters, digits and _ -")
			}
		}
		access, _ := a.Get("state_access")
		for place := range access.Members() {
			if p, err := jsondoc.ParsePointer(place); err != nil || p == "" {
				d.fault(at.Child("state_access").Child(place), "a place is a JSON Pointer such as /secrets or /users/*/token")
			}
		}
		predict, _ := a.Get("predict_state_config")
		for place := range predict.Members() {
			if _, err := statePlace(place); err != nil {
				d.fault(at.Child("predict_state_config").Child(place), "what is predicted is a member of the state, or a JSON Pointer such as /recipe/title")
			}
		}
	}
}

// statePlace reads the key of a prediction.
func statePlace(key string) (jsondoc.Pointer, error) {
	if strings.HasPrefix(key, "/") {
		return jsondoc.ParsePointer(key)
	}
	if key == "" {
		return "", errors.New("no name")
	}
	return jsondoc.Path(key), nil
}

// rules are the schema's, without those for names: the library tells them by
// quoting a regular expression, and names has looked at them.
var rules = sync.OnceValue(func() *schema.Schema {
	doc := jsondoc.MustParse(string(schemaText))
	for _, at := range []jsondoc.Pointer{
		"/properties/agents/propertyNames", "/$defs/agent/properties/state_access/propertyNames", "/$defs/agent/properties/tools/propertyNames",
	} {
		var err error
		if doc, err = (jsondoc.Patch{{Op: "remove", Path: at}}).Apply(doc, nil); err != nil {
			panic(err) // the schema is part of this program
		}
	}
	s, err := schema.Compile(doc)
	if err != nil {
		panic(err)
	}
	return s
})

// patterns say in words what the schema's regular expressions want.
var patterns = map[string]string{
	`^/`:                               "a path begins with /, such as /recipe",
	`^https?://`:                       "an address begins with http:// or https://",
	`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`: "a time is a number and ms, s, m or h, such as 10s or 5m",
}

// check validates the file against its schema.
func (d *document) check() {
	var bad *schema.Error
	if !errors.As(rules().Validate(d.value), &bad) {
		return
	}
	mistyped := map[jsondoc.Pointer]bool{} // has keys that are not known
	for _, v := range bad.Violations {
		unknown, known := d.unknownKeys(v)
		for _, key := range unknown {
			mistyped[v.Path] = true
			d.fault(v.Path.Child(key), "there is no such key; the keys here are %s", strings.Join(known, ", "))
		}
	}
	for _, v := range bad.Violations {
		said := v.Reason
		switch {
		case strings.HasPrefix(said, "additional propert"):
			continue
		case strings.HasPrefix(said, "missing propert") && mistyped[v.Path]:
			continue // most likely one of those
		case strings.Contains(said, "does not match pattern"):
			for pattern, words := range patterns {
				if strings.HasSuffix(said, "'"+strings.ReplaceAll(pattern, `\`, `\\`)+"'") {
					said = words
				}
			}
		}
		d.fault(v.Path, "%s", said)
	}
}

// unknownKeys finds the keys that a violation is about, where it is about keys that
// the schema does not have, and those that it has.
func (d *document) unknownKeys(v schema.Violation) (unknown, known []string) {
	if !strings.HasPrefix(v.Reason, "additional propert") {
		return nil, nil
	}
	rules := jsondoc.MustParse(string(schemaText))
	defs, _ := rules.Get("$defs")
	follow := func(v jsondoc.Value) jsondoc.Value {
		if ref, ok := v.Get("$ref"); ok {
			v, _ = defs.Get(strings.TrimPrefix(ref.Str(), "#/$defs/"))
		}
		return v
	}
	for _, token := range v.Path.Tokens() {
		props, _ := rules.Get("properties")
		next, ok := props.Get(token)
		if !ok {
			next, _ = rules.Get("additionalProperties")
		}
		rules = follow(next)
	}
	props, _ := rules.Get("properties")
	for name := range props.Members() {
		known = append(known, name)
	}
	here, _ := d.value.At(v.Path)
	for name := range here.Members() {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	return unknown, known
}

// agent reads one agent. It is read also where the schema has found something in
// it, so that everything is told at once: what has another type than it should is
// read as if it were not there.
func (d *document) agent(at jsondoc.Pointer, name string, v jsondoc.Value) Agent {
	a := Agent{
		Name: name, Path: "/" + name, Model: text(v, "model"), file: d.file, key: strings.Join(at.Tokens(), "."), line: d.line(at),
		Config: agent.Config{Name: name, Description: text(v, "description"), Instructions: text(v, "instructions")},
	}
	if p := text(v, "path"); p != "" {
		a.Path = p
	}
	if a.Model != "" && d.model != nil {
		if err := d.model(a.Model); err != nil {
			d.fault(at.Child("model"), "%s", err)
		}
	}
	d.state(at, v, &a.State)
	tools, _ := v.Get("tools")
	for name, spec := range tools.Members() {
		t, rules := d.tool(at.Child("tools").Child(name), name, spec)
		a.Config.Tools = append(a.Config.Tools, t)
		a.State.Rules = append(a.State.Rules, rules...)
	}
	d.places(at, a)
	d.predictions(at, a, tools)
	if two, _ := v.Get("structured_state"); two.Bool() {
		if a.State.Schema == nil && !d.wrong(at.Child("state_schema")) {
			d.fault(at.Child("structured_state"), "the agent needs a state_schema for that")
		} else if a.State.Schema != nil {
			a.Config.Middlewares = append(a.Config.Middlewares, state.TwoPhaseSchema(a.State.Schema, nil))
		}
	}
	if d.wrong(at) {
		return a
	}
	_, err := state.NewModel(a.State)
	if place := (*state.AccessError)(nil); errors.As(err, &place) {
		d.fault(at.Child("state_access").Child(place.Pattern), "%s", place.Reason)
	} else if err != nil {
		d.fault(at, "%s", reason(err))
	}
	return a
}

// predictions checks that they come from a tool that the agent has, and from an
// argument that the tool takes, where it says what it takes: a wrong name would
// never fill anything. Without tools of its own, the agent calls its clients'.
func (d *document) predictions(at jsondoc.Pointer, a Agent, tools jsondoc.Value) {
	for _, key := range slices.Sorted(maps.Keys(a.State.Predict)) {
		p := a.State.Predict[key]
		at := at.Child("predict_state_config").Child(key)
		if d.wrong(at.Child("tool")) || p.Tool == "" {
			continue
		}
		if !slices.ContainsFunc(a.Config.Tools, func(t tool.Tool) bool { return t.Name() == p.Tool }) && tools.Len() > 0 {
			d.fault(at.Child("tool"), "the agent has no tool %q; it has %s", p.Tool, names(tools))
		}
		properties, ok := tools.At(jsondoc.Path(p.Tool, "parameters", "properties"))
		if !ok || p.Argument == "" || p.Argument == "*" || strings.HasPrefix(p.Argument, "/") {
			continue
		}
		if _, known := properties.Get(p.Argument); !known {
			d.fault(at.Child("tool_argument"), "%s has no argument %q; it has %s", p.Tool, p.Argument, names(properties))
		}
	}
}

func names(object jsondoc.Value) string {
	var list []string
	for name := range object.Members() {
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}

// places checks that what is predicted and what access is given to can be in the
// state: a schema that is closed may not have it.
func (d *document) places(at jsondoc.Pointer, a Agent) {
	if a.State.Schema == nil {
		return
	}
	doc := a.State.Schema.Document()
	for _, key := range slices.Sorted(maps.Keys(a.State.Predict)) {
		if p, err := statePlace(key); err == nil {
			if member, known := refused(doc, p); member != "" {
				d.fault(at.Child("predict_state_config").Child(key), "the state_schema is closed and has no member %q; it has %s", member, known)
			}
		}
	}
	for _, place := range slices.Sorted(maps.Keys(a.State.Access)) {
		if member, known := refused(doc, jsondoc.Pointer(place)); member != "" {
			d.fault(at.Child("state_access").Child(place), "the state_schema is closed and has no member %q; it has %s", member, known)
		}
	}
}

// refused finds the member on the way to a place that a schema does not allow, and
// those that it has there. Only what can be seen at a glance counts: behind a
// reference, an alternative or a * anything may be allowed.
func refused(rules jsondoc.Value, place jsondoc.Pointer) (member, known string) {
	for _, token := range place.Tokens() {
		for _, name := range []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties"} {
			if _, ok := rules.Get(name); ok {
				return "", ""
			}
		}
		properties, _ := rules.Get("properties")
		next, ok := properties.Get(token)
		if !ok {
			closed, _ := rules.Get("additionalProperties")
			if token != "*" && closed.Kind() == jsondoc.KindBool && !closed.Bool() {
				return token, names(properties)
			}
			return "", ""
		}
		rules = next
	}
	return "", ""
}

func text(v jsondoc.Value, name string) string {
	s, _ := v.Get(name)
	return s.Str()
}

func flag(v jsondoc.Value, name string) bool {
	b, _ := v.Get(name)
	return b.Bool()
}

func (d *document) state(at jsondoc.Pointer, v jsondoc.Value, c *state.Config) {
	if s, ok := v.Get("state_schema"); ok {
		c.Schema = d.schema(at.Child("state_schema"), s)
	}
	c.Initial, _ = v.Get("initial_state")
	if !c.Initial.IsAbsent() && c.Schema != nil {
		var bad *schema.Error
		if errors.As(c.Schema.Validate(c.Initial), &bad) {
			for _, v := range bad.Violations {
				if v.Path != "" { // what the root lacks, clients may bring
					d.fault(at.Child("initial_state")+v.Path, "%s", v.Reason)
				}
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
		c.ConfirmWithin = d.duration(at.Child("confirmation").Child("expires"), text(words, "expires"), 0)
	}
	switch inject, _ := v.Get("inject_state"); {
	case inject.Kind() == jsondoc.KindString:
		c.Inject.Mode = state.InjectAll
	case inject.Kind() == jsondoc.KindBool && inject.Bool():
		c.Inject.Mode = state.InjectAlways
	case inject.Kind() == jsondoc.KindBool, c.Schema == nil && len(c.Predict) == 0:
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
}

// schema reads a state schema: inline, or in a file beside the agents file. It is
// nil where there is none.
func (d *document) schema(at jsondoc.Pointer, v jsondoc.Value) *state.Schema {
	if file, ok := v.Get("file"); ok && v.Len() == 1 && file.Kind() == jsondoc.KindString {
		path := file.Str()
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(d.file), path)
		}
		content, err := readFile(path)
		if err != nil {
			d.fault(at, "%s", err)
			return nil
		}
		s, err := state.ParseSchema(content)
		if err != nil {
			d.fault(at, "%s: %s", path, reason(err))
			return nil
		}
		return s
	}
	s, err := state.NewSchema(v)
	if err != nil {
		d.fault(at, "this is no JSON Schema: %s", oneLine(err))
		return nil
	}
	return s
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

func (d *document) duration(at jsondoc.Pointer, s string, standard time.Duration) time.Duration {
	if s == "" {
		return standard
	}
	t, err := time.ParseDuration(s)
	if err != nil || t <= 0 {
		d.fault(at, "%q is no time such as 10s or 5m", s)
		return standard
	}
	return t
}
