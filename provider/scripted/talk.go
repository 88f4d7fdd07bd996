package scripted

import (
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
)

var haikus = []struct {
	words    []string
	japanese []string
	english  []string
	gradient string
}{
	{[]string{"moon", "night", "shine", "star"},
		[]string{"月明かり", "屋根の静けさ", "猫ひとつ"},
		[]string{"Moonlight on the roofs", "a whole town holding its breath", "only the cat walks"},
		"linear-gradient(135deg, #1e3a8a, #94a3b8)"},
	{[]string{"win", "victory", "strong", "always"},
		[]string{"向かい風", "それでも登る", "朝の山"},
		[]string{"Wind against my face", "and still one more step uphill", "the summit at dawn"},
		"linear-gradient(135deg, #f97316, #facc15)"},
	{[]string{"sea", "ocean", "water", "rain"},
		[]string{"波の音", "砂に書いた名", "もう消えた"},
		[]string{"The sound of the waves", "a name written in the sand", "already it is gone"},
		"linear-gradient(135deg, #0ea5e9, #a7f3d0)"},
	{nil,
		[]string{"春の風", "窓をたたいて", "また遊ぶ"},
		[]string{"A breeze of the spring", "knocks twice at my window pane", "and runs off to play"},
		"linear-gradient(135deg, #86efac, #fbcfe8)"},
}

var imageName = regexp.MustCompile(`[A-Za-z0-9_-]+\.(?:jpg|jpeg|png|webp)`)

// haiku writes one for what the user said.
func haiku(v *view) []act {
	const tool = "generate_haiku"
	if !v.has(tool) {
		return nil
	}
	if s, ok := v.last(); ok && s.name == tool {
		if s.answered {
			return say("There it is. Give me another word and I write another one.")
		}
		return nil
	}
	h := haikus[len(haikus)-1]
	for _, candidate := range haikus {
		if slices.ContainsFunc(candidate.words, func(w string) bool { return strings.Contains(v.lower, w) }) {
			h = candidate
			break
		}
	}
	return []act{call(tool,
		member("japanese", texts(h.japanese...)),
		member("english", texts(h.english...)),
		text("image_name", image(v, tool)),
		text("gradient", h.gradient),
	)}
}

// image chooses one of the pictures that the tool's schema names, in an enum or in the
// description.
func image(v *view, tool string) string {
	s := at(v.schema(tool), "properties", "image_name")
	var names []string
	for _, e := range at(s, "enum").Items() {
		names = append(names, e.Str())
	}
	if len(names) == 0 {
		names = imageName.FindAllString(at(s, "description").Str()+" "+v.tools[tool].Description(), -1)
	}
	if len(names) == 0 {
		return "Osaka_Castle_Turret_Stone_Wall_Pine_Trees_Daytime.jpg" // one that the AG-UI dojo has
	}
	h := fnv.New32a()
	h.Write([]byte(v.lower))
	return names[int(h.Sum32()%uint32(len(names)))]
}

// weather asks the tool and reads its answer out.
func weather(v *view) []act {
	const tool = "get_weather"
	if !v.has(tool) {
		return nil
	}
	if s, ok := v.last(); ok && s.name == tool {
		if !s.answered {
			return nil
		}
		return say("%s", weatherReport(s))
	}
	if !v.asked("weather", "temperature", "forecast", "rain", "sunny", "cold", "warm") {
		return nil
	}
	place, ok := v.after("weather like in ", "weather in ", "weather for ", "weather at ", "forecast for ", "forecast in ", "temperature in ", "rain in ", " in ")
	if !ok {
		place = "San Francisco"
	}
	for _, tail := range []string{" today", " tomorrow", " now", " right now", " please"} {
		place = strings.TrimSuffix(place, tail)
	}
	argument := "location"
	props := at(v.schema(tool), "properties")
	for _, n := range []string{"location", "city", "place"} {
		if _, ok := props.Get(n); ok {
			argument = n
			break
		}
	}
	return []act{call(tool, text(argument, place))}
}

func weatherReport(s step) string {
	place := at(s.args, "location").Str() + at(s.args, "city").Str() + at(s.args, "place").Str()
	doc, err := jsondoc.ParseString(s.result)
	if err != nil || doc.Kind() != jsondoc.KindObject {
		return "The weather in " + place + ": " + shorten(s.result)
	}
	out := "The weather in " + place
	if c := at(doc, "conditions"); c.Str() != "" {
		out += ": " + strings.ToLower(c.Str())
	}
	if t := at(doc, "temperature"); t.Kind() == jsondoc.KindNumber {
		out += ", " + t.NumberText() + "°"
	}
	if h := at(doc, "humidity"); h.Kind() == jsondoc.KindNumber {
		out += ", humidity " + h.NumberText() + " %"
	}
	return out + "."
}

var colours = []struct{ word, css string }{
	{"sunset", "linear-gradient(135deg, #f97316, #db2777)"},
	{"ocean", "linear-gradient(135deg, #0ea5e9, #1e3a8a)"},
	{"forest", "linear-gradient(135deg, #166534, #84cc16)"},
	{"rainbow", "linear-gradient(90deg, red, orange, yellow, green, blue, violet)"},
	{"blue", "#3b82f6"}, {"red", "#ef4444"}, {"green", "#22c55e"}, {"yellow", "#facc15"}, {"purple", "#a855f7"},
	{"pink", "#ec4899"}, {"orange", "#f97316"}, {"black", "#111827"}, {"white", "#ffffff"}, {"gray", "#6b7280"}, {"grey", "#6b7280"},
}

// background changes the page's.
func background(v *view) []act {
	const tool = "change_background"
	if !v.has(tool) {
		return nil
	}
	if s, ok := v.last(); ok && s.name == tool {
		if !s.answered {
			return nil
		}
		return say("The background is changed. How do you like it?")
	}
	if !v.asked("background", "colour", "color", "gradient") {
		return nil
	}
	css := "linear-gradient(135deg, #a7f3d0, #3b82f6)"
	for _, c := range colours {
		if v.asked(c.word) {
			css = c.css
			break
		}
	}
	return []act{call(tool, text("background", css))}
}

var (
	greeting = regexp.MustCompile(`^(hi|hello|hey|good (morning|afternoon|evening|day)|greetings)\b`)
	ownName  = regexp.MustCompile(`(?i)\b(?:i am|i'm|my name is|call me)\s+(\p{L}[\p{L}'-]*)`)
	given    = regexp.MustCompile(`(?i)name of the user[^:]*:\s*"?(?:,"value":")?([\p{L}'-]+)`)
	inJSON   = regexp.MustCompile(`(?i)"description":"[^"]*\bname\b[^"]*","value":"([^"]+)"`)
	notNames = []string{"a", "an", "the", "not", "so", "very", "here", "going", "looking", "trying", "sorry", "hungry", "happy", "fine", "good"}
)

// userName returns what the user said to be called, or what the application says.
func userName(v *view) string {
	for _, u := range slices.Backward(v.users) {
		if m := ownName.FindStringSubmatch(u); m != nil && !slices.Contains(notNames, strings.ToLower(m[1])) {
			return m[1]
		}
	}
	for _, p := range []*regexp.Regexp{inJSON, given} {
		if m := p.FindStringSubmatch(v.system); m != nil {
			return m[1]
		}
	}
	return ""
}

// hello greets, and says who it is. It comes before the rules that write something for
// any text.
func hello(v *view) []act {
	if len(v.steps) > 0 {
		return nil
	}
	if v.asked("who are you", "what are you", "are you scripted", "which model", "what model", "are you real", "are you an ai", "are you a bot") {
		return say("%s", whoAmI)
	}
	if !greeting.MatchString(v.lower) || len(strings.Fields(v.lower)) > 6 {
		return nil
	}
	name := userName(v)
	if name != "" {
		name = " " + name
	}
	return say("Hello%s! %s What can I do for you?", name, whoAmI)
}

// smallTalk is for everything that needs no tool.
func smallTalk(v *view) []act {
	if len(v.steps) > 0 {
		return nil
	}
	switch {
	case v.asked("my name", "who am i"):
		if name := userName(v); name != "" {
			return say("Your name is %s.", name)
		}
		return say("You have not told me your name yet.")
	case v.asked("thank you", "thanks"):
		return say("You are welcome!")
	case v.asked("how are you"):
		return say("All my rules are in place, thank you.")
	case v.asked("joke"):
		return say("Two goroutines walk into a bar. The third one is still waiting for a channel that nobody closes.")
	case v.asked("car", "cars") && v.asked("best", "buy"):
		return []act{
			{think: "The question is about cars. The answer depends on use, budget and how long it has to last. For most people reliability counts most, so I name makes that are known for it. "},
			{say: "It depends on what you need. For reliability my recommendations are Toyota and Honda; for driving pleasure have a look at Mazda."},
		}
	}
	return nil
}
