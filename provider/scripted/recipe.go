package scripted

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// change is what is to be done with a recipe.
type change struct {
	// apply returns the changed recipe. It keeps every member and item that it does not
	// mean to change, also those that it does not know.
	apply func(jsondoc.Value) jsondoc.Value
	// done is said when it is done, none when there was nothing to do.
	done, none string
}

// recipe writes, changes and explains the recipe of the state.
func recipe(v *view) []act {
	tool, ok := v.first("update_recipe", "generate_recipe")
	if !ok {
		return recipeTalk(v)
	}
	current := currentRecipe(v)
	if s, ok := v.last(); ok && s.name == tool && s.answered {
		if c := changeOf(v); c != nil {
			return say("%s", c.done)
		}
		return say("Here's your recipe!")
	}
	if len(v.steps) > 0 {
		return nil
	}
	if acts := ingredientsAnswer(v, current); acts != nil {
		return acts
	}
	if c := changeOf(v); c != nil {
		if current.Kind() != jsondoc.KindObject {
			current = dish(dishName(v)).value()
		}
		changed := c.apply(current)
		if jsondoc.Equal(changed, current) {
			return say("%s", c.none)
		}
		return []act{writeRecipe(v, tool, changed)}
	}
	if wantsRecipe(v) {
		return []act{writeRecipe(v, tool, dish(dishName(v)).value())}
	}
	return recipeAnswer(v, current)
}

// dishWords are what people name who want something to eat.
var dishWords = []string{
	"recipe", "make", "cook", "bake", "prepare", "dish", "create", "write", "want to eat", "breakfast", "lunch", "dinner", "something with",
	"carbonara", "pasta", "spaghetti", "soup", "stew", "salad", "cake", "brownies", "curry", "pancakes",
}

// wantsRecipe reports whether the user asks for a new recipe.
func wantsRecipe(v *view) bool {
	if question(v) || v.asked("make it", "make this", "make that") { // what is there is meant
		return false
	}
	return v.asked(dishWords...)
}

// writeRecipe calls the tool: the recipe is its argument "recipe", unless its schema
// says that it takes the recipe's members one by one.
func writeRecipe(v *view, tool string, r jsondoc.Value) act {
	s := v.schema(tool)
	if _, ok := at(s, "properties").Get("title"); ok {
		return act{tool: tool, args: conform(s, r)}
	}
	return act{tool: tool, args: conform(s, jsondoc.Object(member("recipe", r)))}
}

func currentRecipe(v *view) jsondoc.Value {
	r, _ := v.state.Get("recipe")
	return r
}

// recipeTalk is for a recipe that the model sees and cannot change.
func recipeTalk(v *view) []act {
	r := currentRecipe(v)
	if r.Kind() != jsondoc.KindObject || len(v.steps) > 0 {
		return nil
	}
	if acts := ingredientsAnswer(v, r); acts != nil {
		return acts
	}
	return recipeAnswer(v, r)
}

var questionStart = regexp.MustCompile(`^(what|which|who|when|how (long|many|much|hard|difficult)|is|are|does|do i|tell me about|why)\b`)

func question(v *view) bool { return questionStart.MatchString(v.lower) }

// ingredientsAnswer lists the ingredients if that is what was asked for. The state is
// left alone.
func ingredientsAnswer(v *view, r jsondoc.Value) []act {
	if !v.asked("ingredients", "ingredient list", "shopping list") || !v.asked("give", "list", "what", "which", "show", "tell", "all the") ||
		v.asked("add", "remove", "recipe", "replace", "should be") {
		return nil
	}
	list, _ := r.Get("ingredients")
	if list.Len() == 0 {
		return say("There are no ingredients yet. Ask me for a recipe first.")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "These are the ingredients of %s:\n", titleOf(r))
	for _, i := range list.Items() {
		b.WriteString("\n- ")
		if icon, _ := i.Get("icon"); icon.Str() != "" {
			b.WriteString(icon.Str() + " ")
		}
		b.WriteString(label(i))
		if amount, _ := i.Get("amount"); amount.Str() != "" {
			b.WriteString(": " + amount.Str())
		}
	}
	return say("%s", b.String())
}

// recipeAnswer answers other questions from the recipe.
func recipeAnswer(v *view, r jsondoc.Value) []act {
	if r.Kind() != jsondoc.KindObject || !question(v) {
		return nil
	}
	if blank(r) {
		return say("There is no recipe yet. Tell me what you would like to cook.")
	}
	skill, cuisine := at(r, "skill_level").Str(), at(r, "cuisine").Str()
	steps, _ := r.Get(stepsMember(r))
	switch {
	case v.asked("how long", "time", "minutes") && howLong(r) != "":
		return say("%s takes about %s.", titleOf(r), howLong(r))
	case v.asked("difficult", "hard", "skill", "level") && skill != "":
		return say("%s is for the level %s.", titleOf(r), skill)
	case v.asked("cuisine", "kitchen") && cuisine != "":
		return say("The cuisine of %s: %s.", titleOf(r), cuisine)
	case v.asked("step", "steps", "instructions") && v.draft.IsAbsent(): // a summary has two sentences at most
		var b strings.Builder
		fmt.Fprintf(&b, "%s has %d steps:\n", titleOf(r), steps.Len())
		for i, s := range steps.Items() {
			fmt.Fprintf(&b, "\n%d. %s", i+1, s.Str())
		}
		return say("%s", b.String())
	}
	return say("%s", describe(r))
}

// preferences are what a recipe can be made, by the words people use.
var preferences = []struct {
	word, name string
	extra      ingredient
}{
	{"spicy", "Spicy", ingredient{"🌶️", "Chili flakes", "1 tsp"}},
	{"hot", "Spicy", ingredient{"🌶️", "Chili flakes", "1 tsp"}},
	{"high protein", "High Protein", ingredient{"🫘", "White beans", "1 can"}},
	{"low carb", "Low Carb", ingredient{"🥒", "Zucchini", "2"}},
	{"budget", "Budget-Friendly", ingredient{}},
	{"cheap", "Budget-Friendly", ingredient{}},
	{"one pot", "One-Pot Meal", ingredient{}},
	{"one-pot", "One-Pot Meal", ingredient{}},
}

// changeOf reads what the user wants to have changed; nil if nothing.
func changeOf(v *view) *change {
	switch {
	case v.asked("vegan"):
		return &change{
			apply: func(r jsondoc.Value) jsondoc.Value { return replaced(r, animalFree, "Vegan") },
			done:  "I made the recipe vegan and kept everything else as it was.",
			none:  "The recipe is vegan already.",
		}
	case v.asked("vegetarian", "meatless", "without meat", "veggie"):
		return &change{
			apply: func(r jsondoc.Value) jsondoc.Value { return replaced(r, meatless, "Vegetarian") },
			done:  "I made the recipe vegetarian and kept everything else as it was.",
			none:  "The recipe is vegetarian already.",
		}
	case v.asked("improve", "better", "upgrade", "refine"):
		return &change{
			apply: improved,
			done:  "I added herbs, a finishing touch and two more precise steps.",
			none:  "I have no more ideas for this one: it is as good as I can make it.",
		}
	case v.asked("double", "twice"):
		return scaling(2, "I doubled all amounts.")
	case v.asked("triple"):
		return scaling(3, "I tripled all amounts.")
	case v.asked("halve", "half"):
		return scaling(0.5, "I halved all amounts.")
	}
	if name, ok := v.after("rename it to ", "rename the recipe to ", "call it ", "change the title to ", "set the title to "); ok {
		return &change{
			apply: func(r jsondoc.Value) jsondoc.Value { return r.With("title", jsondoc.String(name)) },
			done:  "The recipe has its new name.", none: "That is its name already.",
		}
	}
	if things, ok := v.after("add "); ok {
		return adding(things)
	}
	if things, ok := v.after("remove ", "leave out ", "without "); ok {
		return removing(things)
	}
	if currentRecipe(v).Kind() == jsondoc.KindObject && v.asked("make it", "make this", "make the recipe") {
		for _, p := range preferences {
			if v.asked(p.word) {
				return &change{
					apply: func(r jsondoc.Value) jsondoc.Value { return preferred(r, p.name, p.extra) },
					done:  "I noted the preference and adapted the recipe.", none: "The recipe says so already.",
				}
			}
		}
	}
	return nil
}

// withPreference adds a special preference, once. A recipe that has no place for it
// gets it into its title.
func withPreference(r jsondoc.Value, name string) jsondoc.Value {
	if _, ok := r.Get("special_preferences"); !ok && stepsMember(r) == "steps" {
		return withTitle(r, name)
	}
	have := list(r, "special_preferences")
	for _, p := range have {
		if strings.EqualFold(p.Str(), name) {
			return r
		}
	}
	return r.With("special_preferences", jsondoc.Array(append(have, jsondoc.String(name))...))
}

// withTitle puts a word before the recipe's title, once.
func withTitle(r jsondoc.Value, word string) jsondoc.Value {
	t := at(r, "title").Str()
	if t == "" || containsWord(strings.ToLower(t), strings.ToLower(word)) {
		return r
	}
	return r.With("title", jsondoc.String(word+" "+t))
}

func hasIngredient(r jsondoc.Value, name string) bool {
	for _, i := range list(r, "ingredients") {
		if containsWord(strings.ToLower(label(i)), strings.ToLower(name)) {
			return true
		}
	}
	return false
}

// withIngredients adds those that are not there yet.
func withIngredients(r jsondoc.Value, more ...ingredient) jsondoc.Value {
	have := list(r, "ingredients")
	added, asText := false, plain(r)
	for _, m := range more {
		if m.name == "" || hasIngredient(r, m.name) {
			continue
		}
		item := m.value()
		if asText {
			item = jsondoc.String(m.text())
		}
		have, added = append(have, item), true
	}
	if !added {
		return r
	}
	return r.With("ingredients", jsondoc.Array(have...))
}

func withInstructions(r jsondoc.Value, more ...string) jsondoc.Value {
	name := stepsMember(r)
	have := list(r, name)
	added := false
next:
	for _, m := range more {
		for _, h := range have {
			if h.Str() == m {
				continue next
			}
		}
		have, added = append(have, jsondoc.String(m)), true
	}
	if !added {
		return r
	}
	return r.With(name, jsondoc.Array(have...))
}

func preferred(r jsondoc.Value, name string, extra ingredient) jsondoc.Value {
	return withIngredients(withPreference(r, name), extra)
}

// replaced puts something else in the place of what somebody does not eat, in the
// ingredients and in the instructions.
func replaced(r jsondoc.Value, swaps []swap, preference string) jsondoc.Value {
	ingredients := list(r, "ingredients")
	for i, in := range ingredients {
		name := label(in)
		if s, ok := swapFor(swaps, name); ok {
			if in.Kind() == jsondoc.KindString {
				ingredients[i] = jsondoc.String(reworded(in.Str(), []swap{s}))
				continue
			}
			ingredients[i] = in.With("name", jsondoc.String(s.name)).With("icon", jsondoc.String(s.icon))
		}
	}
	if len(ingredients) > 0 {
		r = r.With("ingredients", jsondoc.Array(ingredients...))
	}
	for _, name := range []string{"instructions", "steps"} {
		steps := list(r, name)
		for i, s := range steps {
			if s.Kind() == jsondoc.KindString {
				steps[i] = jsondoc.String(reworded(s.Str(), swaps))
			}
		}
		if len(steps) > 0 {
			r = r.With(name, jsondoc.Array(steps...))
		}
	}
	return withPreference(withTitle(r, preference), preference)
}

func swapFor(swaps []swap, name string) (swap, bool) {
	lower := strings.ToLower(name)
	for _, s := range swaps {
		if strings.EqualFold(s.name, name) {
			return swap{}, false
		}
	}
	for _, s := range swaps {
		for _, w := range s.words {
			if containsWord(lower, w) {
				return s, true
			}
		}
	}
	return swap{}, false
}

// reworded replaces what is swapped in a sentence, capitals as they were.
func reworded(s string, swaps []swap) string {
	for _, sw := range swaps {
		for _, w := range sw.words {
			s = replaceWord(s, w, strings.ToLower(sw.name))
		}
	}
	return s
}

// replaceWord replaces each occurrence of a word that is not part of what the
// replacement itself has put there.
func replaceWord(s, word, with string) string {
	var b strings.Builder
	for {
		lower := strings.ToLower(s)
		if len(lower) != len(s) {
			break // a letter that changes its length: leave the rest alone
		}
		i := wordIndex(lower, word)
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		if r, _ := utf8.DecodeRuneInString(s[i:]); unicode.IsUpper(r) && (i == 0 || strings.HasSuffix(strings.TrimSpace(s[:i]), ".")) {
			b.WriteString(strings.ToUpper(with[:1]) + with[1:])
		} else {
			b.WriteString(with)
		}
		s = s[i+len(word):]
	}
	b.WriteString(s)
	return b.String()
}

func wordIndex(s, word string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], word)
		if i < 0 {
			return -1
		}
		start, end := from+i, from+i+len(word)
		if (start == 0 || !letter(s[start-1])) && (end == len(s) || !letter(s[end])) {
			return start
		}
		from = start + 1
	}
}

// improvements are added one after the other, one with each request.
var improvements = []struct {
	ingredients  []ingredient
	instructions []string
}{
	{
		[]ingredient{{"🌿", "Fresh parsley", "1 handful, chopped"}, {"🍋", "Lemon zest", "of 1/2 lemon"}, {"🧄", "Garlic", "2 cloves, finely sliced"}},
		[]string{"Taste, and balance with salt, pepper and a few drops of lemon.", "Scatter parsley and lemon zest over it right before it goes to the table."},
	},
	{
		[]ingredient{{"🌰", "Pine nuts", "2 tbsp, toasted"}, {"🫒", "Good olive oil", "1 tbsp, to finish"}},
		[]string{"Toast the pine nuts in a dry pan until they smell sweet.", "Finish with a thread of good olive oil and the pine nuts."},
	},
}

func improved(r jsondoc.Value) jsondoc.Value {
	for _, i := range improvements {
		better := withInstructions(withIngredients(r, i.ingredients...), i.instructions...)
		if jsondoc.Equal(better, r) {
			continue
		}
		switch at(r, "skill_level").Str() {
		case "Beginner":
			better = better.With("skill_level", jsondoc.String("Intermediate"))
		case "beginner":
			better = better.With("skill_level", jsondoc.String("intermediate"))
		}
		return better
	}
	return r
}

var amountPattern = regexp.MustCompile(`^(\d+(?:[.,]\d+)?\s*(?:kg|g|ml|l|tbsp|tsp|cups?|cloves?|slices?|cans?|pieces?)?)\s+(.+)$`)

func adding(things string) *change {
	var more []ingredient
	for _, t := range strings.Split(things, " and ") {
		t = strings.TrimSpace(t)
		for _, cut := range []string{" to the recipe", " to it", " as an ingredient", " please"} {
			t = strings.TrimSuffix(t, cut)
		}
		amount := "to taste"
		if m := amountPattern.FindStringSubmatch(t); m != nil {
			amount, t = m[1], strings.TrimPrefix(m[2], "of ")
		}
		for _, article := range []string{"some ", "a little ", "a ", "an ", "more ", "the "} {
			t = strings.TrimPrefix(t, article)
		}
		if t == "" {
			continue
		}
		r, n := utf8.DecodeRuneInString(t)
		more = append(more, ingredient{"🥄", string(unicode.ToUpper(r)) + t[n:], amount})
	}
	return &change{
		apply: func(r jsondoc.Value) jsondoc.Value { return withIngredients(r, more...) },
		done:  "I added it to the ingredients.", none: "That is in the recipe already.",
	}
}

func removing(things string) *change {
	var words []string
	for _, t := range strings.Split(strings.ToLower(things), " and ") {
		t = strings.TrimSuffix(strings.TrimSpace(t), " from the recipe")
		for _, article := range []string{"the ", "all ", "any "} {
			t = strings.TrimPrefix(t, article)
		}
		words = append(words, t)
	}
	return &change{
		apply: func(r jsondoc.Value) jsondoc.Value {
			var kept []jsondoc.Value
			have := list(r, "ingredients")
			for _, i := range have {
				gone := false
				for _, w := range words {
					name := strings.ToLower(label(i))
					gone = gone || containsWord(name, w) || containsWord(name, strings.TrimSuffix(w, "s")) || containsWord(name, w+"s")
				}
				if !gone {
					kept = append(kept, i)
				}
			}
			if len(kept) == len(have) {
				return r
			}
			return r.With("ingredients", jsondoc.Array(kept...))
		},
		done: "I took it out of the ingredients.", none: "That is not in the recipe.",
	}
}

func scaling(factor float64, done string) *change {
	return &change{
		apply: func(r jsondoc.Value) jsondoc.Value {
			have := list(r, "ingredients")
			for i, in := range have {
				if in.Kind() == jsondoc.KindString {
					have[i] = jsondoc.String(scaled(in.Str(), factor))
				} else if amount, ok := in.Get("amount"); ok {
					have[i] = in.With("amount", jsondoc.String(scaled(amount.Str(), factor)))
				}
			}
			if len(have) == 0 {
				return r
			}
			return r.With("ingredients", jsondoc.Array(have...))
		},
		done: done, none: "There are no amounts that I could change.",
	}
}

var leadingNumber = regexp.MustCompile(`^(\d+)/(\d+)|^\d+(?:\.\d+)?`)

// scaled multiplies the number that an amount begins with.
func scaled(amount string, factor float64) string {
	m := leadingNumber.FindStringSubmatch(amount)
	if m == nil {
		return amount
	}
	var n float64
	if m[2] != "" {
		a, _ := strconv.ParseFloat(m[1], 64)
		b, _ := strconv.ParseFloat(m[2], 64)
		if b == 0 {
			return amount
		}
		n = a / b
	} else {
		n, _ = strconv.ParseFloat(m[0], 64)
	}
	return strconv.FormatFloat(n*factor, 'g', 4, 64) + amount[len(m[0]):]
}

// dishName reads what somebody wants to eat.
func dishName(v *view) string {
	for _, word := range []string{"carbonara", "pasta", "spaghetti"} {
		if strings.Contains(v.lower, word) {
			return word
		}
	}
	name, ok := v.after("recipe for ", "recipe of ", "make me ", "cook me ", "i want to make ", "i want to cook ", "how to make ", "make ", "cook ", "bake ", "prepare ", "create ", "write ", "give me ", "want ")
	if !ok && wantsRecipe(v) && !v.asked("the recipe", "a recipe", "this recipe") { // "A quick curry with chickpeas"
		name, _, _ = strings.Cut(v.user, "\n")
		name = strings.TrimRight(name, " .!,;")
		name, _ = strings.CutSuffix(name, ", please")
	}
	for trimmed := true; trimmed; {
		trimmed = false
		for _, article := range []string{"a ", "an ", "the ", "some ", "me ", "classic ", "simple ", "quick ", "new ", "recipe for "} {
			if rest, ok := strings.CutPrefix(strings.ToLower(name), article); ok {
				name, trimmed = name[len(name)-len(rest):], true
			}
		}
	}
	name, _, _ = strings.Cut(name, " recipe")
	name, _, _ = strings.Cut(name, " for ")
	if rest, ok := strings.CutPrefix(strings.ToLower(name), "something with "); ok {
		name = "dish with " + rest
	}
	if strings.EqualFold(name, "recipe") {
		return ""
	}
	return strings.TrimSpace(name)
}
