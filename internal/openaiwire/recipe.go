package openaiwire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Recipe is the state of the recipe demo, in the member order in which the model writes
// it.
type Recipe struct {
	Title              string       `json:"title"`
	SkillLevel         string       `json:"skill_level"`
	CookingTime        string       `json:"cooking_time"`
	SpecialPreferences []string     `json:"special_preferences"`
	Ingredients        []Ingredient `json:"ingredients"`
	Instructions       []string     `json:"instructions"`
}

// Ingredient is one line of a recipe's list.
type Ingredient struct {
	Icon   string `json:"icon"`
	Name   string `json:"name"`
	Amount string `json:"amount"`
}

// Carbonara is the recipe that the model writes when it is asked for a new one.
func Carbonara() Recipe {
	return Recipe{
		Title:       "Classic Pasta Carbonara",
		SkillLevel:  "Intermediate",
		CookingTime: "30 min",
		// Empty and not nil: pages want a list as soon as the member is there.
		SpecialPreferences: []string{},
		Ingredients: []Ingredient{
			{"🍝", "Spaghetti", "400 g"},
			{"🥓", "Guanciale", "150 g"},
			{"🥚", "Egg yolks", "4"},
			{"🧀", "Pecorino Romano", "100 g, grated"},
			{"🧂", "Black pepper", "2 tsp, cracked"},
		},
		Instructions: []string{
			"Boil the spaghetti in salted water until al dente.",
			"Crisp the guanciale in a dry pan over medium heat.",
			"Whisk the yolks with the pecorino and the pepper.",
			"Toss the pasta with the guanciale off the heat, then fold in the sauce with a splash of pasta water.",
		},
	}
}

// Vegetarian is r without meat. Everything that is not meat stays as it is: what a
// person edited must still be there.
func (r Recipe) Vegetarian() Recipe {
	swap := func(text string) string {
		for _, meat := range []string{"Guanciale", "Pancetta", "Bacon", "Chicken", "Beef"} {
			text = strings.ReplaceAll(text, meat, "Smoked tofu")
			text = strings.ReplaceAll(text, strings.ToLower(meat), "smoked tofu")
		}
		return text
	}
	if !strings.HasPrefix(r.Title, "Vegetarian ") {
		r.Title = "Vegetarian " + r.Title
	}
	r.SpecialPreferences = append([]string{}, r.SpecialPreferences...)
	if !slices.Contains(r.SpecialPreferences, "Vegetarian") {
		r.SpecialPreferences = append(r.SpecialPreferences, "Vegetarian")
	}
	r.Ingredients = append([]Ingredient{}, r.Ingredients...)
	for i, in := range r.Ingredients {
		if name := swap(in.Name); name != in.Name {
			r.Ingredients[i] = Ingredient{"🌱", name, in.Amount}
		}
	}
	r.Instructions = append([]string{}, r.Instructions...)
	for i, s := range r.Instructions {
		r.Instructions[i] = swap(s)
	}
	return r
}

// RecipeTool is the function by which the model writes a recipe.
const RecipeTool = "update_recipe"

// RecipeTurn is what the recipe model says next. After a tool's result it closes with a
// sentence. Where it is asked to make something vegetarian it changes the recipe of the
// state that a system message shows; where it is asked to create or improve one it
// writes it; any other question gets an answer in text and no call. n makes the call's
// id unique.
func RecipeTurn(c Conversation, n int) Turn {
	if len(c.Messages) > 0 && c.Messages[len(c.Messages)-1].Role == "tool" {
		return Turn{Text: "Here's your recipe!", Input: 120, Output: 6}
	}
	ask := strings.ToLower(c.LastUser())
	asks := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(ask, w) })
	}
	var recipe Recipe
	switch current, ok := StateRecipe(c.System()); {
	case !c.HasTool(RecipeTool):
		return Turn{Text: "I can only talk about recipes here: nobody gave me a tool to write one.", Input: 40, Output: 16}
	case ok && current.Title != "" && asks("vegetarian", "meat"):
		recipe = current.Vegetarian()
	case asks("vegetarian"):
		recipe = Carbonara().Vegetarian()
	case asks("carbonara", "recipe", "cook", "make me", "create", "improve"):
		recipe = Carbonara()
	default:
		return Turn{Text: "Guanciale is cured pork jowl; it melts into the sauce better than bacon does.", Input: 60, Output: 20}
	}
	var arguments bytes.Buffer
	enc := json.NewEncoder(&arguments)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]Recipe{"recipe": recipe}) // strings and lists always encode
	return Turn{
		Calls: []Call{{ID: fmt.Sprintf("call_%d", n), Name: RecipeTool, Arguments: strings.TrimSpace(arguments.String())}},
		Input: 100, Output: 180, Fragment: 12,
	}
}

// StateRecipe finds the newest JSON object in text that has a recipe with a title. How
// a server writes the state into its prompt is its own business; that it is JSON is all
// that is relied on.
func StateRecipe(text string) (Recipe, bool) {
	var found Recipe
	ok := false
	for i := 0; i < len(text); i++ {
		if text[i] != '{' {
			continue
		}
		var state struct {
			Recipe *Recipe `json:"recipe"`
		}
		dec := json.NewDecoder(strings.NewReader(text[i:]))
		if dec.Decode(&state) != nil {
			continue
		}
		if state.Recipe != nil {
			found, ok = *state.Recipe, true
		}
		i += int(dec.InputOffset()) - 1
	}
	return found, ok
}

// RecipeModel configures the recipe conversation as a server.
type RecipeModel struct {
	// Cut is [Reply.Cut].
	Cut int
	// Pause lies between two chunks.
	Pause time.Duration
	// Check looks at a request first; what it returns with a status other than 0 is the
	// answer.
	Check func(*Request) Reply

	calls atomic.Int64
}

// Answer is a [Handler.Answer].
func (m *RecipeModel) Answer(r *Request) Reply {
	if m.Check != nil {
		if reply := m.Check(r); reply.Status != 0 {
			return reply
		}
	}
	c, err := r.Conversation()
	if err != nil {
		return Reply{Status: http.StatusBadRequest, Body: []Step{Raw(`{"error":{"message":` + Quote(err.Error()) + `,"type":"invalid_request_error"}}`)}}
	}
	if !c.Stream {
		return Reply{Status: http.StatusBadRequest, Body: []Step{Raw(`{"error":{"message":"this server only streams","type":"invalid_request_error"}}`)}}
	}
	steps := RecipeTurn(c, int(m.calls.Add(1))).Steps(r)
	if m.Pause > 0 {
		paused := make([]Step, 0, 2*len(steps))
		for _, s := range steps {
			paused = append(paused, s, Sleep(m.Pause))
		}
		steps = paused
	}
	return Reply{Body: steps, Cut: m.Cut}
}

// RequireKey is a [RecipeModel.Check] that wants this key as a bearer token or as
// Azure's api-key.
func RequireKey(key string) func(*Request) Reply {
	return func(r *Request) Reply {
		if r.Header.Get("Authorization") == "Bearer "+key || r.Header.Get("Api-Key") == key {
			return Reply{}
		}
		return Reply{Status: http.StatusUnauthorized, Body: []Step{Raw(`{"error":{"message":"wrong key","type":"invalid_request_error","code":"invalid_api_key"}}`)}}
	}
}
