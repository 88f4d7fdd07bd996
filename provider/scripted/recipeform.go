package scripted

import (
	"fmt"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// The recipes of states have two forms: that of update_recipe, with objects as
// ingredients, "instructions" and a cooking time in words, and that of structured
// output, with texts as ingredients, "steps" and two times in minutes. What is here
// reads both.

// blank reports whether there is nothing to cook in a recipe yet.
func blank(r jsondoc.Value) bool {
	return len(list(r, "ingredients")) == 0 && len(list(r, stepsMember(r))) == 0
}

// stepsMember is the name of the list of steps in a recipe: the recipes that are
// written as structured output call it otherwise.
func stepsMember(r jsondoc.Value) string {
	_, steps := r.Get("steps")
	if _, ok := r.Get("instructions"); !ok && steps {
		return "steps"
	}
	return "instructions"
}

// plain reports whether the recipe's ingredients are texts, not objects.
func plain(r jsondoc.Value) bool {
	have := list(r, "ingredients")
	if len(have) == 0 {
		return stepsMember(r) == "steps"
	}
	return have[0].Kind() == jsondoc.KindString
}

// howLong is the time that a recipe takes: its own words, or minutes.
func howLong(r jsondoc.Value) string {
	if t := at(r, "cooking_time").Str(); t != "" {
		return t
	}
	prep, _ := at(r, "prep_time_minutes").Int64()
	cook, _ := at(r, "cook_time_minutes").Int64()
	switch {
	case prep <= 0 && cook <= 0:
		return ""
	case prep <= 0 || cook <= 0:
		return fmt.Sprintf("%d minutes", max(prep, cook))
	}
	return fmt.Sprintf("%d minutes: %d to prepare and %d to cook", prep+cook, prep, cook)
}

func describe(r jsondoc.Value) string {
	ingredients, _ := r.Get("ingredients")
	steps, _ := r.Get(stepsMember(r))
	return fmt.Sprintf("%s has %s and %s.", titleOf(r), counted(ingredients.Len(), "ingredient"), counted(steps.Len(), "step"))
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func titleOf(r jsondoc.Value) string {
	if t, _ := r.Get("title"); t.Str() != "" {
		return t.Str()
	}
	return "the recipe"
}

// label is an ingredient's name; some states have plain strings.
func label(i jsondoc.Value) string {
	if i.Kind() == jsondoc.KindString {
		return i.Str()
	}
	name, _ := i.Get("name")
	return name.Str()
}

// list returns a member's items, none if it is no array.
func list(r jsondoc.Value, name string) []jsondoc.Value {
	v, _ := r.Get(name)
	var items []jsondoc.Value
	for _, i := range v.Items() {
		items = append(items, i)
	}
	return items
}
