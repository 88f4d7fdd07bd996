package scripted

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/tool"
)

// plan makes a plan and works through it, a step with each call, so that progress is
// to be seen.
func plan(v *view) []act {
	const create, update = "create_plan", "update_plan_step"
	if !v.has(create) {
		return nil
	}
	total := -1
	for _, s := range v.steps {
		if s.name == create && s.answered {
			steps, _ := s.args.Get("steps")
			total = steps.Len()
		}
	}
	if total >= 0 {
		if done := v.count(update); v.has(update) && done < total {
			return []act{call(update, member("index", jsondoc.Int(int64(done))), text("status", "completed"))}
		}
		return say("Done: all %d steps of the plan are completed.", total)
	}
	if len(v.steps) > 0 || !wantsPlan(v) {
		return nil
	}
	return []act{call(create, member("steps", stepList(v, create, planFor(v))))}
}

// taskSteps plans a task whose steps a person chooses from, or that become state.
func taskSteps(v *view) []act {
	const generate, prefer = "generate_task_steps", "update_preferences"
	if !v.has(generate) {
		return nil
	}
	if s, ok := v.last(); ok && s.answered {
		switch s.name {
		case generate:
			return say("%s", chosen(s))
		case prefer:
			return say("I noted your preferences.")
		}
	}
	if len(v.steps) > 0 {
		return nil
	}
	if acts := planQuestion(v); acts != nil {
		return acts
	}
	if v.has(prefer) && v.asked("prefer", "preference", "preferences", "i like", "i hate") {
		return []act{call(prefer, member("preferences", newPreferences(v)))}
	}
	if !wantsPlan(v) {
		return nil
	}
	return []act{call(generate, member("steps", stepList(v, generate, planFor(v))))}
}

func wantsPlan(v *view) bool {
	return v.asked("plan", "plans", "step", "steps", "mission", "go to", "make", "build", "organize", "organise", "prepare", "bake", "party", "trip", "brownies", "how to", "task", "tasks")
}

// chosen says which steps a person has chosen, as {"accepted": true, "steps": […]}
// tells, or how many there are.
func chosen(s step) string {
	doc, err := jsondoc.ParseString(s.result)
	steps, ok := doc.Get("steps")
	if err != nil || !ok {
		steps, _ = s.args.Get("steps")
		return fmt.Sprintf("The plan has %d steps.", steps.Len())
	}
	var names []string
	for _, st := range steps.Items() {
		if status, _ := st.Get("status"); status.Str() == "disabled" {
			continue
		}
		d, _ := st.Get("description")
		names = append(names, lowerFirst(strings.TrimSuffix(d.Str(), ".")))
	}
	if len(names) == 0 {
		return "You chose no step, so there is nothing to do."
	}
	return fmt.Sprintf("Good, these are the steps you chose: %s. I go ahead with them.", join(names))
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

var includes = regexp.MustCompile(`(?i)\b(?:include|includes|contain|contains|have|has)\s+(?:any\s+|some\s+)?(\p{L}+)`)

// planQuestion answers whether the plan has something in it.
func planQuestion(v *view) []act {
	m := includes.FindStringSubmatch(v.user)
	if m == nil || !strings.HasSuffix(v.lower, "?") {
		return nil
	}
	for _, d := range knownSteps(v) {
		if strings.Contains(strings.ToLower(d), strings.ToLower(m[1])) {
			return say("Yes, the plan includes %s: %s", m[1], d)
		}
	}
	return say("No, no step of the plan has %s in it.", m[1])
}

// knownSteps are the steps of the state, or of the last plan of the conversation.
func knownSteps(v *view) []string {
	steps, ok := v.state.Get("steps")
	if !ok || steps.Len() == 0 {
		for _, s := range v.past {
			if list, ok := s.args.Get("steps"); ok {
				steps = list
			}
		}
	}
	var out []string
	for _, s := range steps.Items() {
		d, _ := s.Get("description")
		out = append(out, d.Str()+s.Str())
	}
	return out
}

func newPreferences(v *view) jsondoc.Value {
	have, _ := v.state.Get("preferences")
	if have.Kind() != jsondoc.KindObject {
		have = jsondoc.Object()
	}
	if what, ok := v.after("i prefer ", "prefer "); ok {
		return have.With("prefers", jsondoc.String(what))
	}
	if what, ok := v.after("i like "); ok {
		return have.With("likes", jsondoc.String(what))
	}
	if what, ok := v.after("i hate "); ok {
		return have.With("dislikes", jsondoc.String(what))
	}
	return have.With("note", jsondoc.String(v.user))
}

// planFor returns the steps of a plan for what the user wants.
func planFor(v *view) []string {
	wishes := wishedSteps(v)
	if len(wishes) > 0 && v.asked("only one step", "only a step") && !v.asked(planTopics...) {
		return granted(topicSteps(v), wishes) // these steps are all that is wanted
	}
	steps := topicSteps(v)
	if first, ok := v.after("first step being ", "first step is ", "first step should be "); ok {
		steps = append([]string{first}, steps...)
	}
	for _, s := range granted(steps, wishes) {
		if !slices.Contains(steps, s) {
			steps = append(steps, s)
		}
	}
	return limit(v, steps)
}

var (
	// planTopics are what people plan who also say how one of the steps should be.
	planTopics = []string{
		"mars", "brownie", "brownies", "cake", "bake", "party", "birthday", "trip", "travel", "vacation", "holiday",
		"plan for", "plan to", "steps to", "steps for", "how to", "tasks for", "task to",
	}
	wish     = regexp.MustCompile(`(?i)\bstep with (?:(?:the|some|an|a) )?`)
	wishEnd  = regexp.MustCompile(`[.!?\n,;]| - `)
	wishNext = regexp.MustCompile(`(?i)\s+and(?:\s+(?:only|one|another|an?|more))*\s*$`) // "eggs and one" of "eggs and one step with"
)

// wishedSteps reads what steps there are to be: eggs and oven of "one step with eggs and
// one step with oven".
func wishedSteps(v *view) []string {
	var out []string
	places := wish.FindAllStringIndex(v.user, -1)
	for i, p := range places {
		rest := v.user[p[1]:]
		if i+1 < len(places) {
			rest = wishNext.ReplaceAllString(v.user[p[1]:places[i+1][0]], "")
		}
		if end := wishEnd.FindStringIndex(rest); end != nil {
			rest = rest[:end[0]]
		}
		if rest = strings.Trim(strings.TrimSpace(rest), `"'“”`); rest != "" {
			out = append(out, rest)
		}
	}
	return out
}

// granted is a step for each wish, each its own: one of the plan's, or a new one.
func granted(steps, wishes []string) []string {
	var out []string
	for _, w := range wishes {
		i := slices.IndexFunc(steps, func(s string) bool {
			return strings.Contains(strings.ToLower(s), strings.ToLower(w)) && !slices.Contains(out, s)
		})
		if i < 0 {
			out = append(out, "Take care of "+w)
			continue
		}
		out = append(out, steps[i])
	}
	return out
}

// topicSteps are the steps that belong to what the user plans.
func topicSteps(v *view) []string {
	var steps []string
	switch {
	case v.asked("mars"):
		steps = []string{"Agree on the goals of the mission", "Choose and train the crew", "Build and test the ship", "Launch in the right window", "Cruise for seven months and keep everybody sane", "Land at Mars and set up the first base"}
	case v.asked("brownie", "brownies", "eggs", "cake", "bake"):
		steps = []string{"Heat the oven to 180 °C and line a tin", "Melt butter and dark chocolate together", "Whisk sugar and eggs until they are light", "Fold in chocolate, flour and cocoa", "Bake for 25 minutes, until the middle just sets", "Let it cool and cut it into squares"}
	case v.asked("party", "birthday"):
		steps = []string{"Fix the date and the guest list", "Send the invitations", "Choose the food and order the cake", "Make a playlist", "Decorate the room", "Welcome the guests"}
	case v.asked("trip", "travel", "vacation", "holiday"):
		steps = []string{"Pick the place and the dates", "Book the journey", "Book a place to stay", "List what you want to see", "Pack, and check the papers twice"}
	default:
		topic, ok := v.after("plan for ", "plan to ", "plan a ", "plan an ", "plan the ", "steps to ", "steps for ", "how to ", "tasks for ", "task to ")
		if !ok {
			topic = "this"
		}
		steps = []string{"Write down what the result should be: " + topic, "Collect what is needed", "Do the part with the most risk first", "Do the rest, and check it as you go", "Look back and tidy up"}
	}
	return steps
}

var stepCount = regexp.MustCompile(`\b(\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten)[ -]steps?\b`)

var numbers = map[string]int{"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}

// limit makes as many steps as the user asks for: "in 3 steps". "One step with eggs" is
// a wish for a step, not for a number.
func limit(v *view, steps []string) []string {
	m := stepCount.FindStringSubmatch(v.lower)
	if m == nil || m[1] == "one" || m[1] == "1" {
		return steps
	}
	n := numbers[m[1]]
	if n == 0 {
		n, _ = strconv.Atoi(m[1])
	}
	for i := len(steps); i < n; i++ {
		steps = append(steps, fmt.Sprintf("Check the result once more (%d)", i+1))
	}
	return steps[:max(n, 1)]
}

// stepList brings steps into the form that the tool's schema wants: texts, or objects
// with the members that it knows.
func stepList(v *view, name string, steps []string) jsondoc.Value {
	root := v.schema(name)
	item := resolve(root, at(root, "properties", "steps", "items"))
	props, _ := item.Get("properties")
	kind, _ := item.Get("type")
	status := "pending"
	if _, runs := v.tools[name].(tool.FuncTool); !runs {
		status = "enabled" // a client shows the steps to choose from
	}
	var known []string
	for _, e := range at(resolve(root, at(props, "status")), "enum").Items() {
		known = append(known, e.Str())
	}
	status = pick(known, status, "enabled", "pending")
	list := make([]jsondoc.Value, len(steps))
	for i, s := range steps {
		if kind.Str() == "string" {
			list[i] = jsondoc.String(s)
			continue
		}
		o := jsondoc.Object(text("description", s), text("status", status))
		if _, ok := props.Get("estimated_duration"); ok {
			o = o.With("estimated_duration", jsondoc.String(fmt.Sprintf("%d min", 5*(1+i%3))))
		}
		if props.Kind() == jsondoc.KindObject {
			if _, ok := props.Get("status"); !ok {
				o = o.Without("status")
			}
		}
		list[i] = o
	}
	return jsondoc.Array(list...)
}

// pick returns the first wanted value that is known, or the first known one, or, if
// none is known, the first wanted one.
func pick(known []string, wanted ...string) string {
	if len(known) == 0 {
		return wanted[0]
	}
	for _, w := range wanted {
		for _, k := range known {
			if k == w {
				return w
			}
		}
	}
	return known[0]
}

// at walks into an object; absent if there is nothing.
func at(v jsondoc.Value, names ...string) jsondoc.Value {
	for _, n := range names {
		v, _ = v.Get(n)
	}
	return v
}

// resolve follows a reference inside the schema.
func resolve(root, s jsondoc.Value) jsondoc.Value {
	ref, ok := s.Get("$ref")
	if !ok {
		return s
	}
	p, err := jsondoc.ParsePointer(strings.TrimPrefix(ref.Str(), "#"))
	if err != nil {
		return s
	}
	target, _ := root.At(p)
	return target
}
