package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
)

// A client that has no state, or a part of one, gets a structured recipe with its
// first message; what it asks for later is done to that recipe.
func TestRecipeStructured(t *testing.T) {
	url := demoServer(t) + "/recipe_structured"
	say := func(t *testing.T, thread, message string, more ...string) (state jsondoc.Value, text string) {
		t.Helper()
		var out, errs bytes.Buffer
		args := append([]string{"run", url, "--thread", thread, "--message", message}, more...)
		if code := run(t.Context(), args, std{strings.NewReader(""), &out, &errs}); code != 0 {
			t.Fatalf("%s: code %d\n%s%s", message, code, &out, &errs)
		}
		var all agui.Reducer
		reduce(t, &all, out.String())
		snapshot := 0
		for line := range strings.Lines(out.String()) {
			e, err := agui.DecodeEvent([]byte(line), nil)
			if err != nil {
				t.Fatal(err)
			}
			switch e := e.(type) {
			case *agui.StateSnapshot:
				if text == "" {
					snapshot++
				}
			case *agui.TextMessageContent:
				text += e.Delta
			}
		}
		if snapshot < 2 {
			t.Errorf("%s: no STATE_SNAPSHOT behind the first phase:\n%s", message, &out)
		}
		if strings.Contains(text, "{") || text == "" {
			t.Errorf("%s: it said %q", message, text)
		}
		recipe, _ := all.State().Get("recipe")
		var names []string
		for name := range recipe.Members() {
			names = append(names, name)
		}
		if got := strings.Join(names, " "); got != "title cuisine ingredients steps prep_time_minutes cook_time_minutes skill_level" {
			t.Errorf("%s: the recipe's members are %s", message, got)
		}
		return recipe, text
	}
	title := func(recipe jsondoc.Value) string {
		v, _ := recipe.Get("title")
		return v.Str()
	}
	const first = "I want to make a classic Italian pasta carbonara"
	for name, posted := range map[string][]string{
		"none": nil, "empty": {"--state", "{}"}, "a part": {"--state", `{"recipe":{"title":"x"}}`}, "another member": {"--state", `{"page":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			recipe, text := say(t, name, first, posted...)
			ingredients, _ := recipe.Get("ingredients")
			steps, _ := recipe.Get("steps")
			if title(recipe) != "Classic Pasta Carbonara" || ingredients.Len() < 5 || steps.Len() < 5 {
				t.Errorf("the recipe is %s", recipe)
			}
			if text != "Here's your recipe! Classic Pasta Carbonara has 6 ingredients and 8 steps." {
				t.Errorf("the summary is %q", text)
			}
		})
	}
	t.Run("what comes after it", func(t *testing.T) {
		recipe, _ := say(t, "talk", first)
		better, _ := say(t, "talk", "Improve the recipe")
		for _, list := range []string{"ingredients", "steps"} {
			was, _ := recipe.Get(list)
			is, _ := better.Get(list)
			if is.Len() <= was.Len() {
				t.Errorf("%s: %s", list, is)
			}
			for _, item := range is.Items() {
				if strings.Contains(item.Str(), "example") || item.Str() == "" {
					t.Errorf("%s: %s", list, item)
				}
			}
		}
		same, text := say(t, "talk", "How long does it take?")
		if !jsondoc.Equal(same, better) || !strings.Contains(text, "35 minutes") {
			t.Errorf("it said %q, and the recipe is %s", text, same)
		}
		vegetarian, text := say(t, "talk", "Make it vegetarian")
		if strings.Contains(strings.ToLower(vegetarian.String()), "guanciale") || title(vegetarian) != "Vegetarian Classic Pasta Carbonara" || !strings.Contains(text, "vegetarian") {
			t.Errorf("it said %q, and the recipe is %s", text, vegetarian)
		}
	})
	t.Run("in a chat", func(t *testing.T) {
		said := talk(t, 0, url, first, "How long does it take?", ":q")
		wantIn(t, said, "Here's your recipe!", "CURRENT STATE", "cuisine: Italian", "35 minutes")
	})
}
