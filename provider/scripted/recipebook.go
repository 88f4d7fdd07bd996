package scripted

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// dishOf is a recipe of the model's own.
type dishOf struct {
	title, skill, time, cuisine string
	preferences                 []string
	ingredients                 []ingredient
	instructions                []string
}

type ingredient struct{ icon, name, amount string }

func (i ingredient) value() jsondoc.Value {
	return jsondoc.Object(text("icon", i.icon), text("name", i.name), text("amount", i.amount))
}

// text is the ingredient in one line, for recipes whose ingredients are texts.
func (i ingredient) text() string {
	amount, rest, _ := strings.Cut(i.amount, ", ")
	if amount == "" || amount[0] < '0' || amount[0] > '9' { // "to taste"
		amount, rest = "", i.amount
	}
	out := strings.TrimSpace(amount + " " + strings.ToLower(i.name))
	if rest != "" {
		out += ", " + rest
	}
	return out
}

// value is the recipe in the state's form. The title comes first, so that something
// readable appears at once.
func (d dishOf) value() jsondoc.Value {
	list := make([]jsondoc.Value, len(d.ingredients))
	for i, in := range d.ingredients {
		list[i] = in.value()
	}
	return jsondoc.Object(
		text("title", d.title),
		text("skill_level", d.skill),
		text("cooking_time", d.time),
		member("special_preferences", texts(d.preferences...)),
		member("ingredients", jsondoc.Array(list...)),
		member("instructions", texts(d.instructions...)),
	)
}

var carbonara = dishOf{
	title: "Classic Pasta Carbonara", skill: "Intermediate", time: "30 min", cuisine: "Italian",
	ingredients: []ingredient{
		{"🍝", "Spaghetti (pasta)", "400 g"},
		{"🥓", "Guanciale", "180 g"},
		{"🥚", "Egg yolks", "5"},
		{"🧀", "Pecorino Romano", "90 g, finely grated"},
		{"🌶️", "Black pepper", "2 tsp, freshly ground"},
		{"🧂", "Salt", "for the water"},
	},
	instructions: []string{
		"Put a large pot of water on and salt it once it boils.",
		"Dice the guanciale and let it render slowly in a dry pan until its edges are golden.",
		"Whisk the yolks with most of the Pecorino and half of the pepper to a thick paste.",
		"Cook the spaghetti until it still has some bite, and keep a cup of its water.",
		"Toast the rest of the pepper in the fat of the guanciale, then take the pan off the heat.",
		"Toss the spaghetti in the pan and wait until it no longer hisses.",
		"Fold in the paste with a splash of the water until the sauce coats every strand.",
		"Plate at once, with the guanciale and the rest of the Pecorino on top.",
	},
}

var pasta = dishOf{
	title: "Weeknight Tomato Pasta", skill: "Beginner", time: "30 min", cuisine: "Italian",
	ingredients: []ingredient{
		{"🍝", "Pasta", "350 g"},
		{"🍅", "Ripe tomatoes", "6"},
		{"🧄", "Garlic", "3 cloves"},
		{"🌿", "Basil", "1 handful"},
		{"🫒", "Olive oil", "4 tbsp"},
		{"🧂", "Salt", "1 tbsp for the water, more to taste"},
	},
	instructions: []string{
		"Boil the pasta in plenty of salted water.",
		"Meanwhile soften the sliced garlic in the oil over a low heat.",
		"Add the chopped tomatoes and let them fall apart for ten minutes.",
		"Drain the pasta, mix it with the sauce and tear the basil over it.",
	},
}

var kinds = map[string]dishOf{
	"soup": {time: "45 min", skill: "Beginner", cuisine: "Home cooking",
		ingredients:  []ingredient{{"🧅", "Onion", "1"}, {"🥕", "Carrots", "2"}, {"🥔", "Potatoes", "3"}, {"🫗", "Vegetable stock", "1 l"}, {"🧂", "Salt", "to taste"}},
		instructions: []string{"Soften the chopped onion and carrots in a little oil.", "Add the potatoes and the stock and simmer for half an hour.", "Blend as smooth as you like it, and season."}},
	"salad": {time: "15 min", skill: "Beginner", cuisine: "Mediterranean",
		ingredients:  []ingredient{{"🥬", "Lettuce leaves", "2 handfuls"}, {"🥒", "Cucumber", "1"}, {"🍅", "Cherry tomatoes", "12"}, {"🫒", "Olive oil", "3 tbsp"}, {"🍋", "Lemon", "1/2"}, {"🧂", "Salt", "1 pinch"}},
		instructions: []string{"Wash and dry the leaves.", "Cut cucumber and tomatoes into bites.", "Stir oil, lemon and salt together and turn everything in it just before you eat."}},
	"cake": {time: "60+ min", skill: "Intermediate", cuisine: "Baking",
		ingredients:  []ingredient{{"🌾", "All-purpose flour", "250 g"}, {"🧈", "Butter", "200 g, soft"}, {"🍚", "Sugar", "180 g"}, {"🥚", "Eggs", "4"}, {"🥛", "Milk", "80 ml"}, {"🧂", "Salt", "1 pinch"}},
		instructions: []string{"Beat butter and sugar until pale, then add the eggs one by one.", "Fold in flour and salt, and the milk.", "Bake in a lined tin at 175 °C for 50 minutes.", "Let it cool in the tin before you turn it out."}},
	"pancakes": {time: "30 min", skill: "Beginner", cuisine: "Baking",
		ingredients:  []ingredient{{"🌾", "All-purpose flour", "200 g"}, {"🥛", "Milk", "300 ml"}, {"🥚", "Eggs", "2"}, {"🍚", "Sugar", "1 tbsp"}, {"🧈", "Butter", "30 g, for the pan"}, {"🧂", "Salt", "1 pinch"}},
		instructions: []string{"Whisk flour, sugar and salt with the milk, then with the eggs.", "Let the batter rest for a quarter of an hour.", "Melt a little butter in a hot pan and pour in a ladle of batter.", "Turn the pancake once its edges come loose, and go on until the batter is used up."}},
	"curry": {time: "45 min", skill: "Intermediate", cuisine: "Indian",
		ingredients:  []ingredient{{"🧅", "Onions", "2"}, {"🫚", "Ginger", "1 thumb"}, {"🍅", "Tomatoes", "3"}, {"🥥", "Coconut milk", "400 ml"}, {"🌶️", "Curry powder", "2 tbsp"}, {"🫘", "Chickpeas", "2 cans"}, {"🧂", "Salt", "to taste"}},
		instructions: []string{"Brown the onions, then add ginger and curry powder for a minute.", "Add tomatoes and coconut milk and let it bubble for ten minutes.", "Stir in the chickpeas and simmer until the sauce is thick."}},
}

var otherDish = dishOf{
	time: "30 min", skill: "Beginner", cuisine: "Home cooking",
	ingredients:  []ingredient{{"🥕", "Carrots", "3"}, {"🧅", "Onion", "1"}, {"🧄", "Garlic", "2 cloves"}, {"🫒", "Olive oil", "2 tbsp"}, {"🧂", "Salt", "to taste"}},
	instructions: []string{"Chop everything into even pieces.", "Cook it in the oil over a medium heat until tender.", "Season, taste, and serve warm."},
}

// dish returns the recipe for what somebody wants to eat.
func dish(topic string) dishOf {
	lower := strings.ToLower(topic)
	if strings.Contains(lower, "carbonara") {
		return carbonara
	}
	for _, word := range []string{"pasta", "spaghetti", "noodle", "lasagn", "penne"} {
		if strings.Contains(lower, word) {
			return pasta
		}
	}
	d := otherDish
	for _, k := range []struct{ word, kind string }{
		{"soup", "soup"}, {"stew", "soup"}, {"salad", "salad"}, {"pancake", "pancakes"}, {"cake", "cake"}, {"brownie", "cake"}, {"cookie", "cake"}, {"muffin", "cake"}, {"bread", "cake"}, {"curry", "curry"}, {"chickpea", "curry"},
	} {
		if strings.Contains(lower, k.word) {
			d = kinds[k.kind]
			break
		}
	}
	d.title = titled(topic)
	if d.title == "" {
		d.title = "Vegetable Pan"
	}
	return d
}

// titled writes a few words with capitals.
func titled(s string) string {
	fields := strings.Fields(s)
	if len(fields) > 6 {
		fields = fields[:6]
	}
	for i, f := range fields {
		r, n := utf8.DecodeRuneInString(f)
		fields[i] = string(unicode.ToUpper(r)) + f[n:]
	}
	return strings.Join(fields, " ")
}

// swap says what takes the place of something that not everybody eats.
type swap struct {
	words []string // what it is called, in lower case
	icon  string
	name  string
}

var meatless = []swap{
	{[]string{"guanciale", "bacon", "pancetta", "ham", "speck", "chorizo", "sausage", "sausages"}, "🍄", "Smoked mushrooms"},
	{[]string{"chicken breast", "chicken", "turkey", "duck"}, "🫘", "Chickpeas"},
	{[]string{"beef", "steak", "minced meat", "mince", "pork", "lamb", "veal", "meat"}, "🫘", "Brown lentils"},
	{[]string{"salmon", "tuna", "cod", "anchovies", "anchovy", "fish", "shrimp", "prawns"}, "🥬", "Artichoke hearts"},
	{[]string{"pecorino romano", "pecorino", "parmesan", "parmigiano reggiano"}, "🧀", "Vegetarian hard cheese"}, // made with animal rennet
	{[]string{"chicken stock", "beef stock", "fish stock"}, "🫗", "Vegetable stock"},
}

var animalFree = append([]swap{
	{[]string{"egg yolks", "egg yolk", "yolks", "eggs", "egg"}, "🥣", "Silken tofu"},
	{[]string{"vegetarian hard cheese", "pecorino romano", "parmesan", "cheese", "pecorino", "feta"}, "🥜", "Cashew crumble"},
	{[]string{"butter"}, "🧈", "Plant butter"},
	{[]string{"milk"}, "🥛", "Oat milk"},
	{[]string{"cream"}, "🥥", "Coconut cream"},
	{[]string{"honey"}, "🍁", "Maple syrup"},
}, meatless...)
