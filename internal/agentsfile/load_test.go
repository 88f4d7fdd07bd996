package agentsfile

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/state"
	"github.com/lockstep-go/lockstep/tool"
)

const full = `
agents:
  recipe:
    path: /recipe
    description: Creates and modifies recipes
    instructions: |
      Write recipes for ${KITCHEN}. Say $${PRICE} for prices.
    model: scripted
    state_schema: &schema
      type: object
      properties:
        recipe: {type: object, properties: {title: {type: string}}}
        secrets: {type: object}
        total: {type: number}
    initial_state:
      recipe: {title: New}
      total: 1.50
    predict_state_config:
      recipe: {tool: update_recipe, tool_argument: recipe}
      /notes: {tool: update_recipe, tool_argument: "*", keep: true}
    require_confirmation: true
    confirm_changes: false
    confirmation: {prompt: "Really?", approved: Done., rejected: As you like., expires: 10m}
    inject_state: all
    state_access: {/secrets: server, /total: read}
    conflict: reject
    tools:
      update_recipe:
        description: Writes the recipe
        parameters: {type: object, properties: {recipe: {type: object}}, required: [recipe]}
        result: Recipe updated.
      lookup:
        http: {url: "https://example.com/hook?v=1", headers: {Authorization: "Bearer ${TOKEN}"}, timeout: 2s}
        maps_to: state_merge
        approval: always
  plain:
    structured_state: true
    inject_state: false
    state_schema: *schema
`

func fakeEnv(name string) (string, bool) {
	v, ok := map[string]string{"KITCHEN": "two", "TOKEN": "test-marker"}[name]
	return v, ok
}

func TestLoad(t *testing.T) {
	list, err := parseAgents("agents.yaml", []byte(full), fakeEnv, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, plain := list[0], list[1]
	if a.Path != "/recipe" || plain.Path != "/plain" || a.Model != "scripted" {
		t.Errorf("%+v", a)
	}
	if got := a.Fault(errors.New("state: Config.Predict is late")).Error(); got != "agents.yaml:3: agents.recipe: predict_state_config is late" {
		t.Error(got)
	}
	if a.Config.Instructions != "Write recipes for two. Say ${PRICE} for prices.\n" {
		t.Errorf("instructions %q", a.Config.Instructions)
	}
	if got := a.State.Initial.String(); got != `{"recipe":{"title":"New"},"total":1.50}` {
		t.Errorf("initial state %s", got)
	}
	c := a.State
	if c.Predict["recipe"] != (state.Prediction{Tool: "update_recipe", Argument: "recipe"}) || !c.Predict["/notes"].Keep {
		t.Errorf("predictions %+v", c.Predict)
	}
	if !c.RequireConfirmation || c.ConfirmChanges || c.ConfirmWithin != 10*time.Minute || c.Conflict != state.RejectResult || c.Inject.Mode != state.InjectAll {
		t.Errorf("%+v", c)
	}
	if c.Confirmation.Prompt(state.Proposal{}) != "Really?" || c.Confirmation.Approved(state.Proposal{}) != "Done." {
		t.Errorf("%+v", c.Confirmation)
	}
	if c.Access["/secrets"] != state.ServerOnly || c.Access["/total"] != state.ReadOnly {
		t.Errorf("access %+v", c.Access)
	}
	if len(a.Config.Tools) != 2 || tool.NeedsApproval(a.Config.Tools[0]) || !tool.NeedsApproval(a.Config.Tools[1]) || len(c.Rules) != 1 {
		t.Errorf("tools %v, rules %d", a.Config.Tools, len(c.Rules))
	}
	call, _ := tool.As[tool.FuncTool](a.Config.Tools[0])
	if got, err := call.Call(t.Context(), `{"recipe":{}}`); got != "Recipe updated." || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := call.Call(t.Context(), `{}`); err == nil || !strings.Contains(err.Error(), "recipe") {
		t.Errorf("arguments that do not fit: %v", err)
	}
	if len(plain.Config.Middlewares) != 1 || plain.State.Inject.Mode != state.InjectNever {
		t.Errorf("%+v", plain)
	}
}

// Every error names file, line and key, and says what would be right.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "agents.yaml: the file is empty"},
		{"no YAML", "agents:\n  a: [1,\n", "agents.yaml:2: this is not YAML"},
		{"a tab", "agents:\n\ta: {}\n", "agents.yaml:2: this is not YAML"},
		{"another root", "agent: {}\n", "agents.yaml:1: agent: there is no such key; the keys here are agents"},
		{"no agents", "agents: {}\n", "agents.yaml:1: agents:"},
		{"unknown key", "agents:\n  a:\n    instructons: x\n", "agents.yaml:3: agents.a.instructons: there is no such key; the keys here are path, description, instructions"},
		{"unknown key of a tool", "agents:\n  a:\n    tools:\n      t:\n        paramters: {}\n        result: x\n", "agents.yaml:5: agents.a.tools.t.paramters: there is no such key"},
		{"a type", "agents:\n  a:\n    instructions: [1]\n", "agents.yaml:3: agents.a.instructions: "},
		{"twice", "agents:\n  a:\n    model: x\n    model: y\n", "agents.yaml:4: agents.a.model: the key is there twice; the first is in line 3"},
		{"the environment", "agents:\n  a:\n    instructions: ${NOPE}\n", "agents.yaml:3: agents.a.instructions: the environment has no NOPE"},
		{"two paths", "agents:\n  a: {path: /x}\n  b: {path: /x}\n", "agents.yaml:3: agents.b: path \"/x\" is agent \"a\"'s already"},
		{"a prediction without its tool", "agents:\n  a:\n    predict_state_config:\n      x: {tool: wrte, tool_argument: x}\n    tools: {write: {result: ok}}\n", "agents.yaml:4: agents.a.predict_state_config.x.tool: the agent has no tool \"wrte\""},
		{"a prediction of no argument", "agents:\n  a:\n    predict_state_config:\n      x: {tool: write, tool_argument: txt}\n    tools: {write: {parameters: {properties: {text: {}}}, result: ok}}\n", "agents.yaml:4: agents.a.predict_state_config.x.tool_argument: write has no argument \"txt\"; it has text"},
		{"a prediction without argument", "agents:\n  a:\n    predict_state_config:\n      x: {tool: write}\n", "agents.yaml:4: agents.a.predict_state_config.x: "},
		{"an access level", "agents:\n  a:\n    state_access: {/x: none}\n", "agents.yaml:3: agents.a.state_access./x: "},
		{"an access pattern", "agents:\n  a:\n    state_access: {x: read}\n", "agents.yaml:3: agents.a.state_access"},
		{"two answers", "agents:\n  a:\n    tools:\n      t: {result: x, http: {url: \"http://h/\"}}\n", "agents.yaml:4: agents.a.tools.t: a tool has either a result or http"},
		{"no answer", "agents:\n  a:\n    tools:\n      t: {description: x}\n", "agents.yaml:4: agents.a.tools.t: the tool needs a result"},
		{"an address", "agents:\n  a:\n    tools:\n      t: {http: {url: \"ftp://h/\"}}\n", "agents.yaml:4: agents.a.tools.t.http.url: "},
		{"a time", "agents:\n  a:\n    confirmation: {expires: soon}\n", "agents.yaml:3: agents.a.confirmation.expires: "},
		{"a schema", "agents:\n  a:\n    state_schema: {type: nonsense}\n", "agents.yaml:3: agents.a.state_schema: this is no JSON Schema"},
		{"a schema file", "agents:\n  a:\n    state_schema: {file: nowhere.json}\n", "agents.yaml:3: agents.a.state_schema: nowhere.json: no such file"},
		{"an initial state", "agents:\n  a:\n    state_schema: {type: object, properties: {n: {type: number}}}\n    initial_state: {n: x}\n", "agents.yaml:4: agents.a.initial_state.n: "},
		{"structured without schema", "agents:\n  a:\n    structured_state: true\n", "agents.yaml:3: agents.a.structured_state: the agent needs a state_schema"},
		{"an alias of itself", "agents: &a\n  a: *a\n", "agents.yaml:2: agents.a: the alias *a contains itself"},
		{"a header", "agents:\n  a:\n    tools:\n      t: {http: {url: \"http://h/\", headers: {X: \"a\\nb\"}}}\n", "agents.yaml:4: agents.a.tools.t.http.headers.X: a header is one line"},
		{"a delta that is no JSON", "agents:\n  a:\n    tools:\n      t:\n        result: Done.\n        maps_to: state_delta\n", "agents.yaml:5: agents.a.tools.t.result: with maps_to: state_delta the result is a JSON Patch, such as [{op: replace, path: /title, value: Soup}]; this is no JSON"},
		{"a delta that is no patch", "agents:\n  a:\n    tools:\n      t:\n        maps_to: state_delta\n        result: {title: Soup}\n", "agents.yaml:6: agents.a.tools.t.result: with maps_to: state_delta the result is a JSON Patch"},
		{"a delta with a wrong operation", "agents:\n  a:\n    tools:\n      t:\n        maps_to: state_delta\n        result: [{op: set, path: /title, value: 1}]\n", "agents.yaml:6: agents.a.tools.t.result: with maps_to: state_delta the result is a JSON Patch"},
		{"a snapshot that is no JSON", "agents:\n  a:\n    tools:\n      t:\n        result: Done.\n        maps_to: state_snapshot\n", "agents.yaml:5: agents.a.tools.t.result: with maps_to: state_snapshot the result is an object, such as {title: Soup}; this is no JSON"},
		{"a merge of a list", "agents:\n  a:\n    tools:\n      t:\n        result: [1]\n        maps_to: state_merge\n", "agents.yaml:5: agents.a.tools.t.result: with maps_to: state_merge the result is an object, such as {title: Soup}, and not array"},
		{"a prediction of what a closed schema lacks", "agents:\n  a:\n    state_schema: {type: object, properties: {recipe: {type: object}}, additionalProperties: false}\n    predict_state_config:\n      recipes: {tool: write, tool_argument: x}\n", `agents.yaml:5: agents.a.predict_state_config.recipes: the state_schema is closed and has no member "recipes"; it has recipe`},
		{"inside a closed schema", "agents:\n  a:\n    state_schema: {type: object, properties: {r: {type: object, additionalProperties: false, properties: {title: {}}}}}\n    predict_state_config:\n      /r/titel: {tool: write, tool_argument: x}\n", `agents.yaml:5: agents.a.predict_state_config./r/titel: the state_schema is closed and has no member "titel"; it has title`},
		{"access to what a closed schema lacks", "agents:\n  a:\n    state_schema: {type: object, properties: {r: {}}, additionalProperties: false}\n    state_access:\n      /secret: server\n", `agents.yaml:5: agents.a.state_access./secret: the state_schema is closed and has no member "secret"; it has r`},
		{"a prediction of the root", "agents:\n  a:\n    predict_state_config:\n      \"/a~2\": {tool: write, tool_argument: x}\n", "agents.yaml:4: agents.a.predict_state_config./a~2: what is predicted is a member of the state, or a JSON Pointer"},
		{"two predictions of one place", "agents:\n  a:\n    predict_state_config:\n      r: {tool: write, tool_argument: x}\n      /r/title: {tool: write, tool_argument: y}\n", `agents.yaml:2: agents.a: predict_state_config: "/r/title" and "r" feed the same place`},
		{"a name", "agents:\n  my agent: {}\n", "agents.yaml:2: agents.my agent: an agent's name is of letters, digits and _ . ~ -"},
		{"a tool's name", "agents:\n  a:\n    tools:\n      get.weather: {result: x}\n", "agents.yaml:4: agents.a.tools.get.weather: a tool's name is of at most 64 letters, digits and _ -"},
		{"a path", "agents:\n  a: {path: recipe}\n", "agents.yaml:2: agents.a.path: a path begins with /, such as /recipe"},
		{"a model", "agents:\n  a:\n    description: x\n    model: magic\n", `agents.yaml:4: agents.a.model: there is no magic`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseAgents("agents.yaml", []byte(c.text), fakeEnv, fakeModel)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s…", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			if err != nil && regexp.MustCompile(`pattern|\^|\)\$`).MatchString(err.Error()) {
				t.Errorf("a regular expression is no explanation: %v", err)
			}
		})
	}
}

func fakeModel(name string) error {
	if name == "magic" {
		return errors.New("there is no magic")
	}
	return nil
}

// One start finds all mistakes, in the file's order, and tells them on one line; a mistake that
// only follows from another is not told.
func TestAllErrors(t *testing.T) {
	const text = `agents:
  my agent: {}
  recipe:
    modle: openai:x
    path: recipe
    instructions: ${NOPE}
    predict_state_config:
      recipe: {tol: update, tool_argument: recipe}
    tools:
      update: {description: x, result: ok, result: no}
  plan:
    path: /plan
    model: magic
    confirmation: {expires: soon}
  other:
    path: /plan
    model: magic
    state_schema: {type: object, properties: {steps: {type: array}}, additionalProperties: false}
    initial_state: {steps: 5}
    predict_state_config:
      step: {tool: wrte, tool_argument: steps}
    tools:
      write: {maps_to: state_delta, result: Done.}
      ask: {}
`
	_, err := parseAgents("f.yaml", []byte(text), fakeEnv, fakeModel)
	want := []string{
		`f.yaml:2: agents.my agent: an agent's name`,
		`f.yaml:4: agents.recipe.modle: there is no such key`,
		`f.yaml:5: agents.recipe.path: a path begins with /`,
		`f.yaml:6: agents.recipe.instructions: the environment has no NOPE`,
		`f.yaml:8: agents.recipe.predict_state_config.recipe.tol: there is no such key`,
		`f.yaml:10: agents.recipe.tools.update.result: the key is there twice`,
		`f.yaml:13: agents.plan.model: there is no magic`,
		`f.yaml:14: agents.plan.confirmation.expires: a time is a number and ms, s, m or h`,
		`f.yaml:15: agents.other: path "/plan" is agent "plan"'s already`,
		`f.yaml:17: agents.other.model: there is no magic`,
		`f.yaml:19: agents.other.initial_state.steps: got number, want array`,
		`f.yaml:21: agents.other.predict_state_config.step: the state_schema is closed`,
		`f.yaml:23: agents.other.tools.write.result: with maps_to: state_delta`,
		`f.yaml:24: agents.other.tools.ask: the tool needs a result`,
	}
	var all Errors
	if !errors.As(err, &all) {
		t.Fatalf("%T: %v", err, err)
	}
	var got []string
	for _, one := range all {
		got = append(got, one.Error())
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(want):
			t.Errorf("unexpected: %s", got[i])
		case i >= len(got) || !strings.HasPrefix(got[i], want[i]):
			t.Errorf("line %d of\n%v\nwant %s…", i+1, err, want[i])
		}
	}
	line := err.Error()
	if n := strings.Count(line, "\n"); n > 0 || !strings.HasPrefix(line, got[0]+"; line 4: agents.recipe.modle: there is no such key") ||
		!strings.Contains(line, "; line 8: ") || strings.Contains(line, "line 10:") || !strings.HasSuffix(line, "; and 9 more") {
		t.Errorf("told as %q", line)
	}
	var one *Error
	if !errors.As(err, &one) || one.Line != 2 {
		t.Errorf("the first one is %+v", one)
	}
}

// Each regular expression of the schema has words.
func TestPatternsAreWorded(t *testing.T) {
	var look func(at jsondoc.Pointer, v jsondoc.Value)
	look = func(at jsondoc.Pointer, v jsondoc.Value) {
		if p, ok := v.Get("pattern"); ok && patterns[p.Str()] == "" && !strings.HasSuffix(string(at), "/propertyNames") {
			t.Errorf("%s: %s has no words", at, p)
		}
		for name, m := range v.Members() {
			look(at.Child(name), m)
		}
	}
	look("", jsondoc.MustParse(string(schemaText)))
}

// A few lines of aliases must not become gigabytes.
func TestAliasesAreBounded(t *testing.T) {
	text := "agents:\n  a:\n    initial_state:\n      l0: &l0 {x: 1}\n"
	for i := 1; i < 40; i++ {
		text += strings.ReplaceAll(strings.ReplaceAll("      lN: &lN {a: *lM, b: *lM}\n", "N", jsondoc.Int(int64(i)).String()), "M", jsondoc.Int(int64(i-1)).String())
	}
	if _, err := parseAgents("agents.yaml", []byte(text), fakeEnv, nil); err == nil || !strings.Contains(err.Error(), "aliases") {
		t.Errorf("%v", err)
	}
}

func TestSchemaFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.json"), []byte(`{"recipe":{"type":"object"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "agents.yaml")
	if err := os.WriteFile(path, []byte("agents:\n  a:\n    state_schema: {file: s.json}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := list[0].State.Schema.Validate(jsondoc.MustParse(`{"recipe":1}`)); err == nil {
		t.Error("the schema of the file is not in force")
	}
	if _, err := Load(filepath.Join(dir, "none.yaml"), nil); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("%v", err)
	}
}

// The example that the README serves.
func TestExample(t *testing.T) {
	list, err := Load("../../examples/agents.yaml", nil)
	if err != nil || len(list) == 0 {
		t.Errorf("%d agents: %v", len(list), err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("agents: {a: {tools: {t: {result: 1}}}}"))
	f.Add([]byte("? [a]\n: b\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := parseAgents("f", text, fakeEnv, fakeModel)
		if err == nil {
			return
		}
		var all Errors
		if !errors.As(err, &all) || len(all) == 0 || len(all) > maxFaults {
			t.Fatalf("%T: %v", err, err)
		}
		for _, one := range all {
			if one.File != "f" || one.Reason == "" {
				t.Errorf("%+v", one)
			}
		}
	})
}
