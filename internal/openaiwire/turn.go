package openaiwire

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Call is one tool call that a model makes.
type Call struct {
	ID, Name, Arguments string
}

// Turn is what a well-behaved model says in one answer.
type Turn struct {
	Reasoning string
	Text      string
	Calls     []Call
	// Finish is a Chat Completions finish reason: "stop", "tool_calls", "length",
	// "content_filter". Empty means "tool_calls" where there are calls and "stop" where
	// there are none.
	Finish string
	// Input and Output are token counts; usage is sent if one of them is set.
	Input, Output int
	// Fragment is how many bytes of text or arguments go into one chunk, rounded to
	// whole runes; 0 means 8.
	Fragment int
}

func (t Turn) finish() string {
	switch {
	case t.Finish != "":
		return t.Finish
	case len(t.Calls) > 0:
		return "tool_calls"
	default:
		return "stop"
	}
}

// Fragments cuts text into pieces of about n bytes, never inside a rune: on this wire a
// piece is a JSON string.
func Fragments(text string, n int) []string {
	if n <= 0 {
		n = 8
	}
	var out []string
	for len(text) > 0 {
		end := min(n, len(text))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		out = append(out, text[:end])
		text = text[end:]
	}
	return out
}

// Quote is text as a JSON string.
func Quote(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// Chunk is a Chat Completions chunk with one choice, number 0, that has this delta
// (JSON).
func Chunk(delta string) Step { return Data(chunkJSON(delta, "null")) }

// Finish is the chunk that ends choice 0.
func Finish(reason string) Step { return Data(chunkJSON("{}", Quote(reason))) }

// Usage is the chunk without choices that carries the token counts.
func Usage(input, output int) Step {
	return Data(fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"fake","choices":[],`+
		`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`, input, output, input+output))
}

func chunkJSON(delta, finish string) string {
	return `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"fake",` +
		`"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
}

// Chat is the turn as Chat Completions streams it.
func (t Turn) Chat() []Step {
	steps := []Step{Chunk(`{"role":"assistant","content":""}`)}
	for _, f := range Fragments(t.Reasoning, t.Fragment) {
		steps = append(steps, Chunk(`{"reasoning_content":`+Quote(f)+`}`))
	}
	for _, f := range Fragments(t.Text, t.Fragment) {
		steps = append(steps, Chunk(`{"content":`+Quote(f)+`}`))
	}
	for i, c := range t.Calls {
		steps = append(steps, Chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`, i, Quote(c.ID), Quote(c.Name))))
		for _, f := range Fragments(c.Arguments, t.Fragment) {
			steps = append(steps, Chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, Quote(f))))
		}
	}
	steps = append(steps, Finish(t.finish()))
	if t.Input != 0 || t.Output != 0 {
		steps = append(steps, Usage(t.Input, t.Output))
	}
	return append(steps, Done())
}

// Steps is the turn in the form that the request asked for.
func (t Turn) Steps(r *Request) []Step {
	if r.Responses() {
		return t.Responses()
	}
	return t.Chat()
}
