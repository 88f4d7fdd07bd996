package scripted_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/agent/agenttest"
	"github.com/lockstep-go/lockstep/internal/schema"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/provider/scripted"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The tools of the demo agents, as their schemas are.
type (
	ingredientIn struct {
		Icon   string `json:"icon"`
		Name   string `json:"name"`
		Amount string `json:"amount"`
	}
	recipeIn struct {
		Recipe struct {
			Title              string         `json:"title"`
			SkillLevel         string         `json:"skill_level"`
			SpecialPreferences []string       `json:"special_preferences"`
			CookingTime        string         `json:"cooking_time"`
			Ingredients        []ingredientIn `json:"ingredients"`
			Instructions       []string       `json:"instructions"`
		} `json:"recipe"`
	}
	planStep struct {
		Description string `json:"description"`
		Status      string `json:"status"`
	}
	taskStep struct {
		Description       string `json:"description"`
		Status            string `json:"status"`
		EstimatedDuration string `json:"estimated_duration"`
	}
)

var (
	updateRecipe = functool.MustNew(functool.Config{Name: "update_recipe"}, func(context.Context, recipeIn) (string, error) { return "Recipe updated.", nil })
	// looseRecipe takes any recipe, as a tool of an agents file may.
	looseRecipe = functool.MustNew(functool.Config{
		Name:   "update_recipe",
		Schema: jsondoc.MustParse(`{"type":"object","properties":{"recipe":{"type":"object"}},"required":["recipe"]}`),
	}, func(context.Context, struct {
		Recipe jsondoc.Value `json:"recipe"`
	}) (string, error) {
		return "Recipe updated.", nil
	})
	writeLocal = functool.MustNew(functool.Config{Name: "write_document_local"}, func(context.Context, struct {
		Document string `json:"document"`
	}) (string, error) {
		return "Document written.", nil
	})
	createPlan = functool.MustNew(functool.Config{Name: "create_plan"}, func(context.Context, struct {
		Steps []planStep `json:"steps"`
	}) (string, error) {
		return "ok", nil
	})
	createPlanOfTexts = functool.MustNew(functool.Config{Name: "create_plan"}, func(context.Context, struct {
		Steps []string `json:"steps"`
	}) (string, error) {
		return "ok", nil
	})
	updateStep = functool.MustNew(functool.Config{Name: "update_plan_step"}, func(context.Context, struct {
		Index       int    `json:"index"`
		Description string `json:"description,omitempty"`
		Status      string `json:"status,omitempty"`
	}) (string, error) {
		return "ok", nil
	})
	getWeather = functool.MustNew(functool.Config{Name: "get_weather"}, func(_ context.Context, in struct {
		Location string `json:"location"`
	}) (any, error) {
		return map[string]any{"temperature": 20, "conditions": "Sunny", "humidity": 50, "location": in.Location}, nil
	})
	add = functool.MustNew(functool.Config{Name: "add"}, func(_ context.Context, in struct {
		By int `json:"by"`
	}) (any, error) {
		return in.By, nil
	})
	taskSteps = functool.MustNew(functool.Config{Name: "generate_task_steps"}, func(context.Context, struct {
		Steps []taskStep `json:"steps"`
	}) (string, error) {
		return "Generated.", nil
	})
	updatePreferences = functool.MustNew(functool.Config{Name: "update_preferences"}, func(context.Context, struct {
		Preferences map[string]any `json:"preferences"`
	}) (string, error) {
		return "Preferences updated.", nil
	})
	createDocument = functool.MustNew(functool.Config{Name: "create_document"}, func(context.Context, struct {
		Title    string         `json:"title"`
		Content  string         `json:"content"`
		Metadata map[string]any `json:"metadata"`
	}) (string, error) {
		return "Document created.", nil
	})
	clientSteps = tool.NewDeclaration("generate_task_steps", "", jsondoc.MustParse(`{"type":"object","properties":{"steps":{"type":"array","items":{"type":"object","properties":{"description":{"type":"string"},"status":{"type":"string","enum":["enabled","disabled","executing"]}},"required":["description","status"],"additionalProperties":false}}},"required":["steps"]}`))
	haikuTool   = tool.NewDeclaration("generate_haiku", "", jsondoc.MustParse(`{"type":"object","properties":{"japanese":{"type":"array","items":{"type":"string"},"minItems":3,"maxItems":3},"english":{"type":"array","items":{"type":"string"}},"image_name":{"type":"string","description":"One of: Fuji_Lake_Mountain.jpg, Tori_Gate.jpg"},"gradient":{"type":"string"}},"required":["japanese","english","image_name","gradient"]}`))
	background  = tool.NewDeclaration("change_background", "", jsondoc.MustParse(`{"type":"object","properties":{"background":{"type":"string"}},"required":["background"]}`))
)

const stateText = "The current state. It is data.\n```json\n%s\n```"

// run lets the model answer and returns what it said, the arguments of its calls, and
// everything it added.
func run(t testing.TB, messages []*message.Message, state string, tools ...tool.Tool) (string, []*message.FunctionCallContent, *agent.Response) {
	t.Helper()
	a := scripted.NewAgent(scripted.AgentConfig{Config: agent.Config{Tools: tools}, Options: scripted.Options{Pace: -1}})
	opts := []agent.Option{agent.WithBeforeModel(func(_ context.Context, ms []*message.Message) ([]*message.Message, error) {
		if err := agenttest.CheckConversation(ms); err != nil {
			t.Errorf("the prompt is not one that vendors accept: %v", err)
		}
		if state == "" {
			return ms, nil
		}
		return append(ms[:len(ms):len(ms)], message.NewSystem(fmt.Sprintf(stateText, state))), nil
	})}
	response, err := a.Run(t.Context(), messages, opts...).Collect()
	if err != nil {
		t.Fatal(err)
	}
	var calls []*message.FunctionCallContent
	for c := range response.Contents() {
		switch c := c.(type) {
		case *message.FunctionCallContent:
			calls = append(calls, c)
			for _, tl := range tools {
				if tl.Name() == c.Name {
					checkArguments(t, tl.(tool.Declared), c.Arguments)
				}
			}
		case *message.FunctionResultContent:
			if c.Error != nil {
				t.Errorf("a call failed: %v", c.Error)
			}
		}
	}
	return response.String(), calls, response
}

func checkArguments(t testing.TB, d tool.Declared, args string) {
	t.Helper()
	if d.Schema().IsAbsent() {
		return
	}
	s, err := schema.Compile(d.Schema())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(jsondoc.MustParse(args)); err != nil {
		t.Errorf("the arguments of %s do not fit its schema: %v\n%s", d.Name(), err, args)
	}
}

func ask(text string) []*message.Message { return []*message.Message{message.NewText(text)} }

const pageRecipe = `{"recipe":{"title":"Make Your Recipe","skill_level":"Intermediate","cooking_time":"45 min","special_preferences":[],` +
	`"ingredients":[{"icon":"🥕","name":"Carrots","amount":"3 large, grated"},{"icon":"🌾","name":"All-Purpose Flour","amount":"2 cups"},{"icon":"🥔","name":"Potatoes","amount":"12"}],` +
	`"instructions":["Preheat oven to 350°F (175°C)"],"own_note":9007199254740993}}`

// What the pages and their browser tests ask, and what they look for.
func TestDojoPrompts(t *testing.T) {
	recipeTools := []tool.Tool{updateRecipe}
	tests := []struct {
		name   string
		prompt string
		state  string
		tools  []tool.Tool
		calls  string   // names of the calls
		says   []string // parts of the text
		args   []string // parts of the arguments of all calls
		not    []string // what must not be in them
	}{
		{"greeting", "Hi", "", recipeTools, "", []string{"Hello", "scripted"}, nil, nil},
		{"greeting with a name", "Hi, I am duaa", "", []tool.Tool{background}, "", []string{"Hello duaa"}, nil, nil},
		{"who", "Who are you?", "", []tool.Tool{haikuTool}, "", []string{"scripted"}, nil, nil},
		{"carbonara", "I want to make a classic Italian pasta carbonara", `{"recipe":{}}`, recipeTools, "update_recipe",
			[]string{"Here's your recipe!"}, []string{`"title":"Classic Pasta Carbonara"`, "Guanciale", "Pecorino"}, nil},
		{"pasta", `Please give me a pasta recipe of your choosing, but one of the ingredients should be "Pasta"`, pageRecipe, recipeTools, "update_recipe",
			[]string{"Here's your recipe!"}, []string{`"name":"Pasta"`, `"name":"Salt"`}, nil},
		{"any dish", "Give me a recipe for pumpkin soup", "", recipeTools, "update_recipe", nil, []string{`"title":"Pumpkin Soup"`}, nil},
		{"improve", "Improve the recipe", pageRecipe, []tool.Tool{looseRecipe}, "update_recipe", []string{"added"},
			[]string{"Carrots", "All-Purpose Flour", "Potatoes", "Preheat oven", "parsley", "9007199254740993", `"title":"Make Your Recipe"`}, nil},
		{"all ingredients", "Give me all the ingredients", pageRecipe, recipeTools, "", []string{"Potatoes: 12", "Carrots: 3 large, grated", "All-Purpose Flour: 2 cups"}, nil, nil},
		{"a question", "How long does it take?", pageRecipe, recipeTools, "", []string{"45 min"}, nil, nil},
		{"vegetarian", "Make it vegetarian", `{"recipe":{"title":"Carbonara","ingredients":[{"icon":"🥓","name":"Guanciale or bacon","amount":"200g"},{"icon":"🥚","name":"Egg yolks","amount":"4"}],"instructions":["Cut guanciale into strips.","Bacon works, too."],"special_preferences":["Spicy"]}}`,
			recipeTools, "update_recipe", []string{"vegetarian"},
			[]string{`"title":"Vegetarian Carbonara"`, `{"icon":"🍄","name":"Smoked mushrooms","amount":"200g"}`, "Egg yolks", `"Cut smoked mushrooms into strips."`, `"Smoked mushrooms works, too."`, `["Spicy","Vegetarian"]`},
			[]string{"uanciale", "acon"}},
		{"already vegetarian", "Make it vegetarian", `{"recipe":{"title":"Vegetarian Soup","ingredients":[{"icon":"🥕","name":"Carrots","amount":"2"}],"special_preferences":["Vegetarian"]}}`, recipeTools, "", []string{"already"}, nil, nil},
		{"add", "Add 200 g of mushrooms and some thyme to the recipe", pageRecipe, recipeTools, "update_recipe", nil, []string{`"name":"Mushrooms","amount":"200 g"`, `"name":"Thyme"`, "Carrots"}, nil},
		{"remove", "Please remove the potatoes.", pageRecipe, recipeTools, "update_recipe", nil, []string{"Carrots"}, []string{"Potatoes"}},
		{"double", "Double everything", pageRecipe, recipeTools, "update_recipe", nil, []string{`"amount":"24"`, `"amount":"4 cups"`, `"amount":"6 large, grated"`}, nil},
		{"rename", "Call it Grandma's Pie", pageRecipe, recipeTools, "update_recipe", nil, []string{`"title":"Grandma's Pie"`}, nil},
		{"halve", "Please halve everything", `{"recipe":{"title":"T","ingredients":[{"icon":"","name":"Lemon","amount":"1/2"},{"icon":"","name":"Milk","amount":"1.5 l"},{"icon":"","name":"Salt","amount":"to taste"},{"icon":"","name":"Odd","amount":"1/0 cup"}]}}`,
			[]tool.Tool{looseRecipe}, "update_recipe", nil, []string{`"amount":"0.25"`, `"amount":"0.75 l"`, `"amount":"to taste"`, `"amount":"1/0 cup"`}, nil},
		{"spicy", "Make it spicy", pageRecipe, recipeTools, "update_recipe", nil, []string{"Chili flakes", `["Spicy"]`, "Carrots"}, nil},
		{"vegan", "Make it vegan", `{"recipe":{"title":"Pie","ingredients":[{"icon":"","name":"Butter","amount":"1"},{"icon":"","name":"Eggs","amount":"2"}],"instructions":["Beat the eggs with butter."]}}`, recipeTools, "update_recipe", nil, []string{"Plant butter", "Silken tofu", "Beat the silken tofu with plant butter."}, nil},
		{"how hard", "How difficult is it?", pageRecipe, recipeTools, "", []string{"Intermediate"}, nil, nil},
		{"the steps", "What are the steps?", pageRecipe, recipeTools, "", []string{"1. Preheat oven"}, nil, nil},
		{"any question", "What is this?", pageRecipe, recipeTools, "", []string{"Make Your Recipe has 3 ingredients and 1 step."}, nil, nil},
		{"no ingredients", "Give me all the ingredients", `{}`, recipeTools, "", []string{"no ingredients yet"}, nil, nil},
		{"recipe's members one by one", "pasta please", "", []tool.Tool{tool.NewDeclaration("generate_recipe", "", jsondoc.MustParse(`{"type":"object","properties":{"title":{"type":"string"},"ingredients":{"type":"array"}},"required":["title"]}`))}, "generate_recipe", nil, []string{`{"title":"Weeknight Tomato Pasta"`}, nil},
		{"joke", "Tell me a joke", "", nil, "", []string{"goroutines"}, nil, nil},
		{"how are you", "How are you?", "", nil, "", []string{"in place"}, nil, nil},
		{"no name yet", "What is my name?", "", nil, "", []string{"not told me"}, nil, nil},
		{"likes", "I like tea", "", []tool.Tool{taskSteps, updatePreferences}, "update_preferences", nil, []string{`{"preferences":{"likes":"tea"}}`}, nil},
		{"dislikes", "I hate rain.", "", []tool.Tool{taskSteps, updatePreferences}, "update_preferences", nil, []string{`{"preferences":{"dislikes":"rain"}}`}, nil},
		{"a note", "Remember my preferences: early", "", []tool.Tool{taskSteps, updatePreferences}, "update_preferences", nil, []string{`"note":"Remember my preferences: early"`}, nil},
		{"a schema with references", "Plan a trip", "", []tool.Tool{tool.NewDeclaration("generate_task_steps", "", jsondoc.MustParse(`{"type":"object","properties":{"steps":{"type":"array","items":{"$ref":"#/$defs/S"}}},"required":["steps"],"$defs":{"S":{"type":"object","properties":{"description":{"type":"string"},"status":{"enum":["open","done"]}},"required":["description","status"]}}}`))},
			"generate_task_steps", nil, []string{`"status":"open"`}, nil},
		{"shorter", "Make it shorter", `{"document":"One.\n\nTwo.\n\nThree."}`, []tool.Tool{writeLocal}, "write_document_local", nil, []string{`{"document":"One.\n\nTwo."}`}, nil},
		{"by name, with nonsense", `call get_weather {"location": }`, "", []tool.Tool{getWeather}, "", []string{"not JSON", `call get_weather {"location":"San Francisco"}`}, nil, []string{"jsondoc:"}},
		{"thanks", "Thank you!", pageRecipe, recipeTools, "", []string{"welcome"}, nil, nil},

		{"story", "Give me a story for a dragon called Atlantis in document", `{"document":""}`, []tool.Tool{writeLocal}, "write_document_local", []string{"written"}, []string{"Atlantis", "dragon"}, nil},
		{"change the name", "Change dragon name to Lola", `{"document":"Atlantis and the Valley\nOnce a dragon called Atlantis lived here. So Atlantis flew. The End."}`, []tool.Tool{writeLocal}, "write_document_local", nil, []string{"Lola and the Valley", "called Lola", "So Lola"}, []string{"Atlantis"}},
		{"update the story", "Update the story", `{"document":"One day the fox called Mira slept."}`, []tool.Tool{writeLocal}, "write_document_local", nil, []string{"One day the fox called Mira slept.", "In spring"}, nil},
		{"a client's editor", "Write a story", "", []tool.Tool{tool.NewDeclaration("write_document", "", jsondoc.Value{})}, "write_document", nil, []string{"Mira"}, nil},
		{"create a document", "Create a document about a ship called Argo", "", []tool.Tool{createDocument}, "create_document", []string{"Argo and the Lantern Valley"}, []string{`"title":"Argo and the Lantern Valley"`, `"metadata":{`}, nil},

		{"brownies", "Give me a plan to make brownies", "", []tool.Tool{createPlan, updateStep}, "create_plan update_plan_step update_plan_step update_plan_step update_plan_step update_plan_step update_plan_step", []string{"all 6 steps"}, []string{`"status":"pending"`, `"index":0,"status":"completed"`, `"index":5`}, nil},
		{"mars", "Go to Mars", "", []tool.Tool{createPlan, updateStep}, "create_plan update_plan_step update_plan_step update_plan_step update_plan_step update_plan_step update_plan_step", nil, []string{"mission"}, nil},
		{"steps as texts", "Go to Mars", "", []tool.Tool{createPlanOfTexts}, "create_plan", nil, []string{`{"steps":["Agree`}, nil},

		{"a client's steps", "Give me a plan to make brownies, there should be only one ingredient with eggs - one step with eggs", "", []tool.Tool{clientSteps}, "generate_task_steps", nil, []string{"eggs", `"status":"enabled"`}, nil},
		{"a client's two steps", "Give me a plan to make brownies, there should be only one step with eggs and one step with oven", "", []tool.Tool{clientSteps}, "generate_task_steps", nil, []string{"Whisk sugar and eggs", "Heat the oven"}, []string{"Take care", "one step with"}},
		{"only these two steps", "Make a plan with only one step with eggs and one step with the oven.", "", []tool.Tool{clientSteps}, "generate_task_steps", nil, []string{`{"steps":[{"description":"Whisk sugar and eggs until they are light","status":"enabled"},{"description":"Heat the oven to 180 °C and line a tin","status":"enabled"}]}`}, nil},
		{"steps of one's own", "Plan a birthday party, one step with magic and a step with balloons and confetti", "", []tool.Tool{clientSteps}, "generate_task_steps", nil, []string{`"Take care of magic"`, `"Take care of balloons and confetti"`, "guest list"}, []string{"and a"}},
		{"the first step", "Plan a mission to Mars with the first step being Start The Planning", "", []tool.Tool{clientSteps}, "generate_task_steps", nil, []string{`{"steps":[{"description":"Start The Planning"`}, nil},
		{"as many steps as asked for", "Plan a party in 3 steps", "", []tool.Tool{clientSteps}, "generate_task_steps", nil, []string{"guest list"}, []string{"playlist"}},
		{"hi before a plan", "Hi", "", []tool.Tool{clientSteps}, "", []string{"Hello"}, nil, nil},
		{"task planner", "Plan a birthday party", "", []tool.Tool{taskSteps, updatePreferences}, "generate_task_steps", []string{"6 steps"}, []string{"estimated_duration", `"status":"pending"`}, nil},
		{"preferences", "I prefer working in the morning.", `{"preferences":{"likes":"tea"}}`, []tool.Tool{taskSteps, updatePreferences}, "update_preferences", []string{"noted"}, []string{`{"preferences":{"likes":"tea","prefers":"working in the morning"}}`}, nil},

		{"haiku", "The moon shines bright", "", []tool.Tool{haikuTool}, "generate_haiku", nil, []string{"Moonlight", "月明かり", ".jpg"}, nil},
		{"another haiku", "I will always win", "", []tool.Tool{haikuTool}, "generate_haiku", nil, []string{"summit"}, nil},
		{"weather", "Weather in San Francisco", "", []tool.Tool{getWeather}, "get_weather", []string{"San Francisco", "sunny", "20°"}, []string{`{"location":"San Francisco"}`}, nil},
		{"more weather", "What is the weather in New York today?", "", []tool.Tool{getWeather}, "get_weather", []string{"New York"}, []string{`{"location":"New York"}`}, nil},
		{"background", "Change the background to blue", "", []tool.Tool{background}, "change_background", nil, []string{"#3b82f6"}, nil},
		{"cars", "What is the best car to buy?", "", nil, "", []string{"Toyota"}, nil, nil},

		{"by name, with arguments", `call get_weather {"location": "Oslo"}`, "", []tool.Tool{getWeather}, "get_weather", []string{"The tool get_weather answered"}, []string{`{"location":"Oslo"}`}, nil},
		{"by name, arguments of several lines", "call get_weather {\n\"location\": \"Oslo\"\n}", "", []tool.Tool{getWeather}, "get_weather", nil, []string{`{"location":"Oslo"}`}, nil},
		{"by name, several in one turn", "call get_weather {\"location\": \"Oslo\"}\ncall get_weather {\"location\": \"Rome\"}", "", []tool.Tool{getWeather}, "get_weather get_weather", nil, []string{"{\"location\":\"Oslo\"}\n{\"location\":\"Rome\"}"}, nil},
		{"by name, and something else", "call frobnicate\nor not", "", []tool.Tool{tool.NewDeclaration("frobnicate", "", jsondoc.Value{})}, "", []string{"call frobnicate"}, nil, nil},
		{"by name, without", "use update_recipe", "", recipeTools, "update_recipe", nil, nil, nil},
		{"no rule", "Colourless green ideas sleep furiously", "", recipeTools, "", []string{"scripted", "write a recipe"}, nil, nil},
		{"no rule, another tool", "Colourless green ideas", "", []tool.Tool{tool.NewDeclaration("frobnicate", "", jsondoc.Value{})}, "", []string{"call frobnicate"}, nil, nil},
		{"no rule, a tool with arguments", "add five", "", []tool.Tool{add}, "", []string{`call add {"by":1}`}, nil, nil},
		{"the form that the hint has", `call add {"by":5}`, "", []tool.Tool{add}, "add", []string{"The tool add answered"}, []string{`{"by":5}`}, nil},
		{"nothing at all", "", "", nil, "", []string{"scripted"}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			said, calls, _ := run(t, ask(tt.prompt), tt.state, tt.tools...)
			var names, args []string
			for _, c := range calls {
				names, args = append(names, c.Name), append(args, c.Arguments)
			}
			if got := strings.Join(names, " "); got != tt.calls {
				t.Errorf("calls %q, want %q; it said %q", got, tt.calls, said)
			}
			for _, part := range tt.says {
				if !strings.Contains(said, part) {
					t.Errorf("it said %q, which lacks %q", said, part)
				}
			}
			all := strings.Join(args, "\n")
			for _, part := range tt.args {
				if !strings.Contains(all, part) {
					t.Errorf("the arguments lack %q:\n%s", part, all)
				}
			}
			for _, part := range tt.not {
				if strings.Contains(all+said, part) {
					t.Errorf("there is %q in the arguments or in what it said:\n%s\n%s", part, all, said)
				}
			}
		})
	}
}

// What a person or a client answered decides what comes next.
func TestAfterAnswers(t *testing.T) {
	after := func(prompt, name, args, result string) []*message.Message {
		return []*message.Message{
			message.NewText(prompt),
			message.NewAssistant(&message.FunctionCallContent{CallID: "c1", Name: name, Arguments: args}),
			message.NewResult("c1", result),
		}
	}
	steps := `{"steps":[{"description":"Melt butter","status":"enabled"},{"description":"Whisk the eggs","status":"enabled"}]}`
	tests := []struct {
		name     string
		messages []*message.Message
		tools    []tool.Tool
		says     string
	}{
		{"steps chosen", after("plan brownies", "generate_task_steps", steps, `{"accepted":true,"steps":[{"description":"Whisk the eggs","status":"enabled"}]}`), []tool.Tool{clientSteps}, "whisk the eggs. I go ahead"},
		{"steps refused", after("plan brownies", "generate_task_steps", steps, `{"accepted":false}`), []tool.Tool{clientSteps}, "leave everything as it was"},
		{"document confirmed", after("Write a story", "confirm_changes", `{}`, `{"accepted":true}`), []tool.Tool{writeLocal}, "written"},
		{"document refused", after("Write a story", "confirm_changes", `{}`, `{"accepted":false}`), []tool.Tool{writeLocal}, "leave everything"},
		{"the tool failed", after("pasta recipe", "update_recipe", `{}`, "Error: /recipe/title: expected string"), []tool.Tool{updateRecipe}, "nothing was changed"},
		{"a person said no", after("pasta recipe", "update_recipe", `{}`, "The user rejected this change."), []tool.Tool{updateRecipe}, "leave everything"},
		{"background", after("blue background", "change_background", `{"background":"blue"}`, `{"status":"success"}`), []tool.Tool{background}, "changed"},
		{"does the plan include eggs", append(after("plan brownies", "generate_task_steps", steps, `{"accepted":true}`), message.NewText("Does the planner include eggs?")), []tool.Tool{clientSteps}, "Yes, the plan includes eggs: Whisk the eggs"},
		{"it does not", append(after("plan brownies", "generate_task_steps", steps, `{"accepted":true}`), message.NewText("Does it have any garlic?")), []tool.Tool{clientSteps}, "No"},
		{"memory", append(ask("Hi, I am duaa"), message.NewAssistant(&message.TextContent{Text: "Hello"}), message.NewText("What is my name?")), nil, "duaa"},
		{"context", append([]*message.Message{message.NewSystem(`Context:` + "\n" + `[{"description":"Name of the user","value":"Bob"}]`)}, ask("What is my name?")...), nil, "Bob"},
		{"summary of a structured recipe", append(ask("make a cake"), message.NewAssistant(&message.TextContent{Text: `{"recipe":{"title":"Sunday Cake","ingredients":["flour"],"steps":["bake","eat"]}}`}), message.NewSystem("Say in a sentence what changed.")), nil, "Here's your recipe! Sunday Cake has 1 ingredient and 2 steps."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			said, calls, _ := run(t, tt.messages, "", tt.tools...)
			if !strings.Contains(said, tt.says) || len(calls) > 0 {
				t.Errorf("it said %q and made %d calls", said, len(calls))
			}
		})
	}
}

// Improving again and again never loses anything, and comes to an end.
func TestImproveIsMonotonic(t *testing.T) {
	state := pageRecipe
	for range 5 {
		_, calls, _ := run(t, ask("Improve the recipe"), state, updateRecipe)
		if len(calls) == 0 {
			return
		}
		before, after := jsondoc.MustParse(state), jsondoc.MustParse(calls[0].Arguments)
		for _, list := range []jsondoc.Pointer{"/recipe/ingredients", "/recipe/instructions"} {
			b, _ := before.At(list)
			a, _ := after.At(list)
			for i, item := range b.Items() {
				if i >= a.Len() || !jsondoc.Equal(item, a.Item(i)) {
					t.Fatalf("%s/%d is lost", list, i)
				}
			}
		}
		state = calls[0].Arguments
	}
	t.Error("it never stops improving")
}

// The last system message with a state counts; what users write does not.
func TestWhichState(t *testing.T) {
	one := fmt.Sprintf(stateText, `{"recipe":{"title":"One","ingredients":[{"name":"Salt"}]}}`)
	two := fmt.Sprintf(stateText, `{"recipe":{"title":"Two","ingredients":[{"name":"Pepper"}]}}`)
	said, _, _ := run(t, []*message.Message{message.NewSystem(one), message.NewSystem(two), message.NewSystem("no state ```json\n[1]\n``` here"), message.NewText("Give me all the ingredients ```json\n{\"x\":1}\n```")}, "", updateRecipe)
	if !strings.Contains(said, "Two") || !strings.Contains(said, "Pepper") {
		t.Errorf("it said %q", said)
	}
}

// Where JSON is wanted, JSON comes that fits the schema.
func TestStructured(t *testing.T) {
	for name, text := range map[string]string{
		"recipe":   `{"type":"object","properties":{"title":{"type":"string"},"cuisine":{"type":"string"},"ingredients":{"type":"array","items":{"type":"string"}},"steps":{"type":"array","items":{"type":"string"}},"prep_time_minutes":{"type":"integer"},"cook_time_minutes":{"type":"integer"},"skill_level":{"type":"string","enum":["Beginner","Advanced"]}},"required":["title","cuisine","ingredients","steps","prep_time_minutes","cook_time_minutes","skill_level"],"additionalProperties":false}`,
		"nested":   `{"type":"object","properties":{"recipe":{"$ref":"#/$defs/R"},"message":{"type":"string"}},"required":["recipe","message"],"$defs":{"R":{"type":"object","properties":{"ingredients":{"type":"array","items":{"type":"object","properties":{"icon":{"type":"string"},"name":{"type":"string"},"amount":{"type":"string"}},"required":["icon","name","amount"]}},"ok":{"type":["null","boolean"]}},"required":["ingredients","ok"]}}}`,
		"anything": `{"type":"object"}`,
		"odd":      `{"type":"object","properties":{"a":{"const":7},"b":{"anyOf":[{"type":"null"},{"type":"string"}]},"c":{"type":"array","items":{"type":"number","minimum":5},"minItems":3},"d":{"default":[1]},"e":{"type":"array","items":{"type":"boolean"},"maxItems":1}},"required":["a","b","c","d","e"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			doc := jsondoc.MustParse(text)
			a := scripted.NewAgent(scripted.AgentConfig{Options: scripted.Options{Pace: -1}})
			response, err := a.RunText(t.Context(), "Make me a carbonara", agent.WithResponseFormat(agent.ResponseFormat{Kind: "json", Schema: doc})).Collect()
			if err != nil {
				t.Fatal(err)
			}
			s, err := schema.Compile(doc)
			if err != nil {
				t.Fatal(err)
			}
			got, err := jsondoc.ParseString(response.String())
			if err != nil {
				t.Fatalf("%v: %s", err, response)
			}
			if err := s.Validate(got); err != nil {
				t.Errorf("%v: %s", err, got)
			}
			if name == "recipe" && !strings.Contains(response.String(), "Carbonara") {
				t.Errorf("it is not what was asked for: %s", got)
			}
		})
	}
}

// What is written as structured output is what was asked for, in the members that the
// form has, and what was not asked for stays. The words after it are two sentences at
// most, and true: where nothing changed they say so, or answer the question.
func TestStructuredRecipe(t *testing.T) {
	form := jsondoc.MustParse(`{"type":"object","properties":{"recipe":{"type":"object","properties":{"title":{"type":"string"},"cuisine":{"type":"string"},"ingredients":{"type":"array","items":{"type":"string"}},"steps":{"type":"array","items":{"type":"string"}},"prep_time_minutes":{"type":"integer"},"cook_time_minutes":{"type":"integer"},"skill_level":{"type":"string"}},"required":["title","cuisine","ingredients","steps","prep_time_minutes","cook_time_minutes","skill_level"]}},"required":["recipe"]}`)
	const members = "title cuisine ingredients steps prep_time_minutes cook_time_minutes skill_level"
	const empty = `{"recipe":{"title":"","cuisine":"","ingredients":[],"steps":[],"prep_time_minutes":0,"cook_time_minutes":0,"skill_level":""}}`
	const stew = `{"recipe":{"title":"Stew","cuisine":"Home","ingredients":["500 g beef","2 carrots"],"steps":["Brown the beef.","Simmer."],"prep_time_minutes":17,"cook_time_minutes":60,"skill_level":"beginner"}}`
	const better = `{"recipe":{"title":"Stew","cuisine":"Home","ingredients":["500 g beef","2 carrots","1 handful fresh parsley, chopped","lemon zest, of 1/2 lemon","2 cloves garlic, finely sliced"],` +
		`"steps":["Brown the beef.","Simmer.","Taste, and balance with salt, pepper and a few drops of lemon.","Scatter parsley and lemon zest over it right before it goes to the table."],"prep_time_minutes":17,"cook_time_minutes":60,"skill_level":"intermediate"}}`
	const best = `{"recipe":{"title":"Stew","cuisine":"Home","ingredients":["500 g beef","2 carrots","1 handful fresh parsley, chopped","lemon zest, of 1/2 lemon","2 cloves garlic, finely sliced","2 tbsp pine nuts, toasted","1 tbsp good olive oil, to finish"],` +
		`"steps":["Brown the beef.","Simmer.","Taste, and balance with salt, pepper and a few drops of lemon.","Scatter parsley and lemon zest over it right before it goes to the table.","Toast the pine nuts in a dry pan until they smell sweet.","Finish with a thread of good olive oil and the pine nuts."],"prep_time_minutes":17,"cook_time_minutes":60,"skill_level":"intermediate"}}`
	for _, c := range []struct {
		prompt, state string
		want          string // the whole answer, or a part of it
		says          string
	}{
		{"I want to make a classic Italian pasta carbonara", empty, `"title":"Classic Pasta Carbonara","cuisine":"Italian","ingredients":["400 g spaghetti (pasta)","180 g guanciale","5 egg yolks","90 g pecorino romano, finely grated","2 tsp black pepper, freshly ground","salt, for the water"]`, "Here's your recipe! Classic Pasta Carbonara has 6 ingredients and 8 steps."},
		{"I want to make a pasta carbonara", stew, `"title":"Classic Pasta Carbonara"`, "Here's your recipe!"},
		{"A quick curry with chickpeas", empty, `"title":"Curry With Chickpeas","cuisine":"Indian"`, "Here's your recipe!"},
		{"Something with chickpeas", empty, `2 cans chickpeas`, "Here's your recipe!"},
		{"Pancakes for a Sunday morning", empty, `"title":"Pancakes"`, "Here's your recipe!"},
		{"A vegetarian carbonara", empty, `"180 g smoked mushrooms"`, "vegetarian"},
		{"Improve the recipe", stew, better, "I added herbs"},
		{"Improve the recipe", better, best, "I added"},
		{"Improve the recipe", best, best, "no more ideas"},
		{"Make it vegetarian", stew, `{"recipe":{"title":"Vegetarian Stew","cuisine":"Home","ingredients":["500 g brown lentils","2 carrots"],"steps":["Brown the brown lentils.","Simmer."],"prep_time_minutes":17,"cook_time_minutes":60,"skill_level":"beginner"}}`, "I made the recipe vegetarian"},
		{"Make it vegetarian", `{"recipe":{"title":"Leeks","ingredients":["2 leeks"],"cook_time_minutes":9}}`, `{"recipe":{"title":"Vegetarian Leeks","ingredients":["2 leeks"],"cook_time_minutes":9,"cuisine":"","steps":[],"prep_time_minutes":0,"skill_level":""}}`, "I made the recipe vegetarian"},
		{"Double it", stew, `"ingredients":["1000 g beef","4 carrots"]`, "doubled"},
		{"Add 2 cloves of garlic", stew, `"ingredients":["500 g beef","2 carrots","2 cloves garlic"]`, "added"},
		{"Add carrots", stew, stew, "in the recipe already"},
		{"Make it spicy", stew, `"title":"Spicy Stew","cuisine":"Home","ingredients":["500 g beef","2 carrots","1 tsp chili flakes"]`, "preference"},
		{"Remove the carrots", stew, `"ingredients":["500 g beef"]`, "took it out"},
		{"How long does it take?", stew, stew, "Stew takes about 77 minutes: 17 to prepare and 60 to cook."},
		{"How hard is it?", stew, stew, "level beginner"},
		{"What are the steps?", stew, stew, "2 steps"},
		{"Give me all the ingredients", stew, stew, "- 500 g beef"},
		{"How long does it take?", empty, empty, "There is no recipe yet."},
		{"Hi", empty, empty, "Hello!"},
		{"Thank you!", stew, stew, "You are welcome!"},
		{"Colourless green ideas sleep furiously", stew, stew, "I am a scripted model and have no rule for that"},
		{"Make it tastier", stew, stew, "no rule"},
		{"Fill in the recipe", `{"recipe":{"title":"Lentil soup"}}`, `"title":"Lentil Soup"`, "Here's your recipe!"},
	} {
		t.Run(c.prompt, func(t *testing.T) {
			a := scripted.NewAgent(scripted.AgentConfig{Options: scripted.Options{Pace: -1}})
			prompt := func(state string, more ...*message.Message) []*message.Message {
				return append(append(ask(c.prompt), message.NewSystem(fmt.Sprintf(stateText, state))), more...)
			}
			response, err := a.Run(t.Context(), prompt(c.state), agent.WithResponseFormat(agent.ResponseFormat{Kind: "json", Schema: form})).Collect()
			if err != nil {
				t.Fatal(err)
			}
			written := response.String()
			got := jsondoc.MustParse(written)
			if !strings.Contains(written, c.want) {
				t.Errorf("got  %s\nwant %s", written, c.want)
			}
			recipe, _ := got.Get("recipe")
			for name := range recipe.Members() {
				if !slices.Contains(strings.Fields(members), name) {
					t.Errorf("the form has no %q: %s", name, written)
				}
			}
			if s, err := schema.Compile(form); err != nil || s.Validate(got) != nil || strings.Contains(written, "example") {
				t.Errorf("%v, %v: %s", err, s.Validate(got), written)
			}
			second := "Say what changed."
			if jsondoc.Equal(got, jsondoc.MustParse(c.state)) {
				second = "The state did not change. Answer the user from it."
			}
			response, err = a.Run(t.Context(), prompt(written, message.NewAssistant(&message.TextContent{Text: written}), message.NewSystem(second))).Collect()
			if err != nil {
				t.Fatal(err)
			}
			said := response.String()
			if !strings.Contains(said, c.says) || strings.Contains(said, "{") {
				t.Errorf("it said %q, want %q", said, c.says)
			}
			if n := len(regexp.MustCompile(`[.!?](\s|$)`).FindAllString(said, -1)); n > 2 {
				t.Errorf("%d sentences: %q", n, said)
			}
		})
	}
}

// The same prompt, the same stream; and the fragments of a call make the call.
func TestDeterministic(t *testing.T) {
	stream := func() string {
		a := agent.New(agent.ProviderConfig{Run: scripted.New(&scripted.Options{Pace: -1})}, agent.Config{DisableFuncAutoCall: true, ID: "a", Tools: []tool.Tool{updateRecipe}})
		var out []byte
		for u, err := range a.RunText(t.Context(), "pasta carbonara please, a recipe") {
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(u.Contents)
			if err != nil {
				t.Fatal(err)
			}
			out = append(append(out, b...), '\n')
		}
		return string(out)
	}
	first := stream()
	if first != stream() {
		t.Error("two runs differ")
	}
	if n := strings.Count(first, "\n"); n < 50 {
		t.Errorf("the recipe comes in %d pieces: nobody sees it grow", n)
	}
}

// Thirty pieces a second, on whatever clock; a stop is heard at once.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := scripted.NewAgent(scripted.AgentConfig{Config: agent.Config{Tools: []tool.Tool{updateRecipe}}})
		start, pieces := time.Now(), 0
		for _, err := range a.RunText(t.Context(), "pasta carbonara") {
			if err != nil {
				t.Fatal(err)
			}
			pieces++
		}
		took := time.Since(start)
		if perSecond := float64(pieces) / took.Seconds(); perSecond < 28 || perSecond > 32 {
			t.Errorf("%d pieces in %v", pieces, took)
		}
		if took > 8*time.Second {
			t.Errorf("a recipe takes %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start = time.Now()
		_, err := a.RunText(ctx, "pasta carbonara").Collect()
		if err == nil || time.Since(start) > time.Second+100*time.Millisecond {
			t.Errorf("stopped after %v with %v", time.Since(start), err)
		}
	})
	var slept time.Duration
	a := scripted.NewAgent(scripted.AgentConfig{Options: scripted.Options{Pace: time.Hour, Sleep: func(_ context.Context, d time.Duration) error { slept += d; return nil }}})
	if _, err := a.RunText(t.Context(), "Hi").Collect(); err != nil || slept < time.Hour {
		t.Errorf("own clock: %v %v", slept, err)
	}
}

// Nothing that anybody says or has in the state breaks it: calls fit their schemas.
func TestAnyPrompt(t *testing.T) {
	all := []tool.Tool{updateRecipe, writeLocal, createDocument, createPlan, updateStep, clientSteps, updatePreferences, haikuTool, getWeather, background}
	words := []string{"make", "it", "vegetarian", "vegan", "add", "remove", "double", "improve", "call", "get_weather", "{", "}", "story", "called", "Ünal", "update", "change", "name", "to", "plan", "with", "3", "steps", "eggs", "?", ".", "weather", "in", "", "İstanbul", "ingredients", "give", "me", "all", "the", "🥕", "recipe", "for", "halve", "shorter", "prefer", "hi"}
	states := []string{"", `{}`, `{"recipe":null}`, `{"recipe":{"ingredients":[null,1,"Bacon",{"name":7}],"instructions":{"a":1},"special_preferences":"x","title":["t"]}}`, pageRecipe, `{"document":"Atlantis"}`, `{"document":{"content":"A b C d. Is It"},"steps":[{"description":"eggs"}],"preferences":[]}`}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(rt, "words")
		var prompt []string
		for range n {
			prompt = append(prompt, rapid.SampledFrom(words).Draw(rt, "word"))
		}
		var tools []tool.Tool
		for _, tl := range all {
			if rapid.Bool().Draw(rt, tl.Name()) {
				tools = append(tools, tl)
			}
		}
		state := rapid.SampledFrom(states).Draw(rt, "state")
		messages := ask(strings.Join(prompt, " "))
		a := scripted.NewAgent(scripted.AgentConfig{Config: agent.Config{Tools: tools}, Options: scripted.Options{Pace: -1, Piece: rapid.IntRange(1, 40).Draw(rt, "piece")}})
		if state != "" {
			messages = append(messages, message.NewSystem(fmt.Sprintf(stateText, state)))
		}
		response, err := a.Run(t.Context(), messages).Collect()
		if err != nil {
			rt.Fatal(err)
		}
		for c := range response.Contents() {
			if r, ok := c.(*message.FunctionResultContent); ok && r.Error != nil {
				rt.Fatalf("a call failed: %v", r.Error)
			}
		}
		if response.String() == "" && len(response.Pending()) == 0 {
			rt.Fatal("it says nothing")
		}
		for _, m := range response.Messages {
			for _, c := range m.Contents.Calls() {
				if _, err := jsondoc.ParseString(c.Arguments); err != nil {
					rt.Fatalf("%s: %v", c.Arguments, err)
				}
			}
		}
	})
}
