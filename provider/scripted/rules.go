package scripted

import (
	"regexp"
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// rule is one thing that the model knows to do. It returns nil if it does not apply.
type rule func(*view) []act

// rules are tried in order.
var rules = []rule{
	structured,
	summary,
	byName,
	rejected,
	hello,
	recipe,
	writeDocument,
	createDocument,
	plan,
	taskSteps,
	haiku,
	weather,
	background,
	smallTalk,
}

// answer is what the model does.
func answer(v view) []act {
	for _, r := range rules {
		if acts := r(&v); acts != nil {
			return acts
		}
	}
	return fallback(&v)
}

var callPattern = regexp.MustCompile(`(?is)^\s*(?:please\s+)?(?:call|use|run)\s+(?:the\s+)?(?:tool\s+)?([a-z0-9_-]+)\s*(?:with\s*)?(\{.*\})?\s*\.?\s*$`)

// byName calls the tool that the user names, or several in one turn: one a line.
func byName(v *view) []act {
	var asked [][]string
	for line := range strings.Lines(v.user) {
		one := v.named(line)
		if one == nil {
			// One call, if it is any, whose arguments have several lines.
			if asked = nil; v.named(v.user) != nil {
				asked = [][]string{v.named(v.user)}
			}
			break
		}
		asked = append(asked, one)
	}
	if len(asked) == 0 {
		return nil
	}
	if s, ok := v.last(); ok && s.name == asked[len(asked)-1][1] {
		var said []string
		for _, s := range v.steps {
			said = append(said, "The tool "+s.name+" answered: "+shorten(s.result))
		}
		return say("%s", strings.Join(said, "\n"))
	}
	var acts []act
	for _, m := range asked {
		args := sample(v.schema(m[1]), "")
		if m[2] != "" {
			var err error
			if args, err = jsondoc.ParseString(m[2]); err != nil {
				return say("I cannot call %s: what you wrote after its name is not JSON (%v). Write it like this: %s", m[1], err, v.example(m[1]))
			}
		}
		acts = append(acts, act{tool: m[1], args: args})
	}
	return acts
}

// named is the tool that a text asks to call, and its arguments; none where it
// asks for nothing of the kind.
func (v *view) named(text string) []string {
	m := callPattern.FindStringSubmatch(text)
	if m == nil || !v.has(m[1]) {
		return nil
	}
	return m
}

// maxExample is how long the arguments in an example may be to be read at a glance.
const maxExample = 200

// example is what to write to have a tool called. It is a message of the form that
// [byName] reads, so that a person can change the values and send it.
func (v *view) example(name string) string {
	args := sample(v.schema(name), "").String()
	if len(args) > maxExample {
		return "call " + name + " (and after it, if you like, the arguments as one JSON object)"
	}
	return "call " + name + " " + args
}

// rejected answers where a person, or an error, stopped what the model wanted.
func rejected(v *view) []act {
	s, ok := v.last()
	if !ok || !s.answered {
		return nil
	}
	switch s.verdict() {
	case refused:
		return say("All right, I leave everything as it was. Tell me what you would like instead.")
	case failed:
		return say("That did not work, and nothing was changed. The tool %s said: %s", s.name, shorten(s.result))
	}
	return nil
}

// shorten keeps a result readable.
func shorten(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

const whoAmI = "I am a scripted model: I answer from fixed rules, without a key and without a network."

// fallback says what the model can do here.
func fallback(v *view) []act {
	if s, ok := v.last(); ok && s.answered {
		return say("The tool %s answered: %s", s.name, shorten(s.result))
	}
	var can []string
	add := func(what string, tools ...string) {
		if _, ok := v.first(tools...); ok {
			can = append(can, what)
		}
	}
	add("write a recipe, improve it, make it vegetarian or answer questions about it", "update_recipe")
	add("write a story and change it", "write_document_local", "write_document", "create_document")
	add("make a plan and work through it", "create_plan")
	add("plan a task in steps", "generate_task_steps")
	add("write a haiku", "generate_haiku")
	add("tell the weather of a city", "get_weather")
	add("change the background", "change_background")
	if len(can) == 0 {
		if len(v.names) > 0 {
			return say("%s I have no rule for that. Name a tool and its arguments, and I call it: %s", whoAmI, v.example(v.names[0]))
		}
		return say("%s I have no rule for that; say hello, or ask me who I am.", whoAmI)
	}
	return say("%s Here I can %s.", whoAmI, join(can))
}

// join lists things as a sentence does.
func join(list []string) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}
