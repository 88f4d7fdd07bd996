package agentsfile

import (
	"os"
	"path/filepath"
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
	list, err := parseAgents("agents.yaml", []byte(full), fakeEnv)
	if err != nil {
		t.Fatal(err)
	}
	a, plain := list[0], list[1]
	if a.Path != "/recipe" || plain.Path != "/plain" || a.Model != "scripted" || a.Line != 3 {
		t.Errorf("%+v", a)
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
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseAgents("agents.yaml", []byte(c.text), fakeEnv)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s…", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

// A few lines of aliases must not become gigabytes.
func TestAliasesAreBounded(t *testing.T) {
	text := "agents:\n  a:\n    initial_state:\n      l0: &l0 {x: 1}\n"
	for i := 1; i < 40; i++ {
		text += strings.ReplaceAll(strings.ReplaceAll("      lN: &lN {a: *lM, b: *lM}\n", "N", jsondoc.Int(int64(i)).String()), "M", jsondoc.Int(int64(i-1)).String())
	}
	if _, err := parseAgents("agents.yaml", []byte(text), fakeEnv); err == nil || !strings.Contains(err.Error(), "aliases") {
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
	list, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := list[0].State.Schema.Validate(jsondoc.MustParse(`{"recipe":1}`)); err == nil {
		t.Error("the schema of the file is not in force")
	}
	if _, err := Load(filepath.Join(dir, "none.yaml")); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("%v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("agents: {a: {tools: {t: {result: 1}}}}"))
	f.Add([]byte("? [a]\n: b\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := parseAgents("f", text, fakeEnv); err != nil && !strings.HasPrefix(err.Error(), "f") {
			t.Errorf("an error without its file: %v", err)
		}
	})
}
