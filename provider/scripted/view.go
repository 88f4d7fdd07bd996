package scripted

import (
	"strings"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

// view is what the model knows of a prompt.
type view struct {
	user   string // the last user message
	lower  string // the same in lower case
	users  []string
	state  jsondoc.Value // absent if there is none
	system string        // all system messages
	tools  map[string]tool.Tool
	names  []string // the tools' names in order
	format *agent.ResponseFormat

	draft jsondoc.Value // a document that the model has answered with since the last user message

	calls int    // calls in the whole conversation
	steps []step // calls since the last user message, in order
	past  []step // calls before it
}

// step is a call with its result.
type step struct {
	name     string
	args     jsondoc.Value // absent if they are not JSON
	answered bool
	result   string
}

// read looks at a prompt.
func read(messages []*message.Message, opts []agent.Option) view {
	v := view{tools: make(map[string]tool.Tool)}
	for _, t := range agent.Tools(opts) {
		v.tools[t.Name()] = t
		v.names = append(v.names, t.Name())
	}
	if f, ok := agent.GetOption(opts, agent.WithResponseFormat); ok && f.Kind == "json" {
		v.format = &f
	}
	at := make(map[string]int) // the step of a call id
	for _, m := range messages {
		switch m.Role {
		case message.RoleSystem:
			v.system += m.String() + "\n"
			if doc, ok := fenced(m.String()); ok {
				v.state = doc
			}
			continue
		case message.RoleUser:
			v.user = strings.TrimSpace(m.String())
			v.users = append(v.users, v.user)
			v.past = append(v.past, v.steps...)
			v.steps, v.draft = nil, jsondoc.Value{}
			clear(at)
			continue
		}
		for _, c := range m.Contents {
			switch c := c.(type) {
			case *message.FunctionCallContent:
				args, err := jsondoc.ParseString(c.Arguments)
				if err != nil {
					args = jsondoc.Value{}
				}
				at[c.CallID] = len(v.steps)
				v.steps = append(v.steps, step{name: c.Name, args: args})
				v.calls++
			case *message.TextContent:
				if doc, err := jsondoc.ParseString(c.Text); err == nil && doc.Kind() == jsondoc.KindObject {
					v.draft = doc
				}
			case *message.FunctionResultContent:
				if i, ok := at[c.CallID]; ok {
					v.steps[i].answered, v.steps[i].result = true, c.Text()
				}
			}
		}
	}
	v.lower = strings.ToLower(v.user)
	return v
}

// fenced returns the object in a text's last block that ```json opens.
func fenced(s string) (jsondoc.Value, bool) {
	const open, end = "```json", "```"
	i := strings.LastIndex(s, open)
	if i < 0 {
		return jsondoc.Value{}, false
	}
	body, _, ok := strings.Cut(s[i+len(open):], end)
	if !ok {
		return jsondoc.Value{}, false
	}
	doc, err := jsondoc.ParseString(strings.TrimSpace(body))
	return doc, err == nil && doc.Kind() == jsondoc.KindObject
}

// has reports whether a tool is offered.
func (v *view) has(name string) bool { return v.tools[name] != nil }

// first returns the first of these tools that is offered.
func (v *view) first(names ...string) (string, bool) {
	for _, n := range names {
		if v.has(n) {
			return n, true
		}
	}
	return "", false
}

// schema returns the schema of a tool's arguments, absent if it has none.
func (v *view) schema(name string) jsondoc.Value {
	if d, ok := v.tools[name].(tool.Declared); ok {
		return d.Schema()
	}
	return jsondoc.Value{}
}

// asked reports whether the last user message has one of these words or phrases.
func (v *view) asked(phrases ...string) bool {
	for _, p := range phrases {
		if containsWord(v.lower, p) {
			return true
		}
	}
	return false
}

// last returns the newest step of the turn.
func (v *view) last() (step, bool) {
	if len(v.steps) == 0 {
		return step{}, false
	}
	return v.steps[len(v.steps)-1], true
}

// count returns how many steps of the turn called this tool.
func (v *view) count(name string) int {
	n := 0
	for _, s := range v.steps {
		if s.name == name {
			n++
		}
	}
	return n
}

// verdict is what a result says about the call.
type verdict int

const (
	fine verdict = iota
	refused
	failed
)

// verdict reads a result: {"accepted": false} and plain words of refusal, and errors.
func (s step) verdict() verdict {
	if doc, err := jsondoc.ParseString(s.result); err == nil {
		if a, ok := doc.Get("accepted"); ok {
			if a.Kind() == jsondoc.KindBool && !a.Bool() {
				return refused
			}
			return fine
		}
		if doc.Kind() == jsondoc.KindObject || doc.Kind() == jsondoc.KindArray {
			return fine
		}
	}
	lower := strings.ToLower(s.result)
	for _, word := range []string{"reject", "declin", "denied", "refus", "not approved", "said no", "cancelled", "canceled"} {
		if strings.Contains(lower, word) {
			return refused
		}
	}
	if strings.HasPrefix(lower, "error") {
		return failed
	}
	return fine
}

// containsWord reports whether s has phrase, not as a part of a longer word.
func containsWord(s, phrase string) bool {
	for from := 0; ; {
		i := strings.Index(s[from:], phrase)
		if i < 0 {
			return false
		}
		start := from + i
		end := start + len(phrase)
		if (start == 0 || !letter(s[start-1])) && (end == len(s) || !letter(s[end])) {
			return true
		}
		from = start + 1
	}
}

func letter(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b >= 0x80
}

// after returns what the user's message says after the first of these phrases, up to
// the end of the sentence.
func (v *view) after(phrases ...string) (string, bool) {
	for _, p := range phrases {
		i := strings.Index(v.lower, p)
		if i < 0 || len(v.lower) != len(v.user) {
			continue
		}
		rest := v.user[i+len(p):]
		if end := strings.IndexAny(rest, ".!?\n,;"); end >= 0 {
			rest = rest[:end]
		}
		rest = strings.Trim(strings.TrimSpace(rest), `"'“”`)
		if rest != "" {
			return rest, true
		}
	}
	return "", false
}
