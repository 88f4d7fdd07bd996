package scripted

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// writeDocument writes the document of the state, and changes it.
func writeDocument(v *view) []act {
	tool, ok := v.first("write_document_local", "write_document")
	if !ok {
		return nil
	}
	if s, ok := v.last(); ok && s.answered && (s.name == tool || s.name == "confirm_changes") {
		return say("The document is written. Tell me what you would like to change.")
	}
	if len(v.steps) > 0 {
		return nil
	}
	doc, _ := v.state.Get("document")
	written, done := compose(v, doc.Str())
	if !done {
		return nil
	}
	return []act{call(tool, text("document", written))}
}

// createDocument does the same for a tool that takes a document in three parts.
func createDocument(v *view) []act {
	const tool = "create_document"
	if !v.has(tool) {
		return nil
	}
	if s, ok := v.last(); ok && s.answered && s.name == tool {
		title, _ := s.args.Get("title")
		return say("The document %q is ready.", title.Str())
	}
	if len(v.steps) > 0 {
		return nil
	}
	doc, _ := v.state.Get("document")
	content, _ := doc.Get("content")
	written, done := compose(v, content.Str())
	if !done {
		return nil
	}
	title, _, _ := strings.Cut(written, "\n")
	return []act{call(tool,
		text("title", strings.TrimSpace(strings.TrimLeft(title, "# "))),
		text("content", written),
		member("metadata", jsondoc.Object(
			text("author", "the scripted model"),
			text("language", "en"),
			member("words", jsondoc.Int(int64(len(strings.Fields(written))))),
		)),
	)}
}

// compose returns the document that the user asks for, given the one there is.
func compose(v *view, current string) (string, bool) {
	if current != "" {
		if name, ok := v.after("name to ", "rename it to ", "rename him to ", "rename her to ", "call it ", "call him ", "call her "); ok {
			if old := hero(v, current); old != "" && old != name {
				return replaceName(current, old, name), true
			}
		}
		switch {
		case v.asked("update", "continue", "extend", "longer", "more", "another paragraph", "go on"):
			return strings.TrimRight(current, "\n") + "\n\n" + sequel(current, hero(v, current)), true
		case v.asked("shorter", "shorten", "cut"):
			paragraphs := strings.Split(strings.TrimSpace(current), "\n\n")
			if len(paragraphs) > 2 {
				paragraphs = paragraphs[:len(paragraphs)-1]
			}
			return strings.Join(paragraphs, "\n\n"), true
		}
	}
	if v.asked("story", "tale", "document", "write", "create", "essay", "letter", "draft", "text", "article", "poem") {
		return story(v), true
	}
	return "", false
}

var (
	namePattern = regexp.MustCompile(`(?i)\b(?:called|named)\s+["“']?(\p{L}[\p{L}\d'-]*)`)
	kindPattern = regexp.MustCompile(`(?i)\b(?:for|about|of)\s+(?:a|an|the)\s+(\p{L}+)`)
)

// story writes one about whom the user names.
func story(v *view) string {
	name, kind := "Mira", "fox"
	if m := namePattern.FindStringSubmatch(v.user); m != nil {
		r, n := utf8.DecodeRuneInString(m[1])
		name = string(unicode.ToUpper(r)) + m[1][n:]
	}
	if m := kindPattern.FindStringSubmatch(v.user); m != nil {
		kind = strings.ToLower(m[1])
	}
	return fmt.Sprintf(`# %[1]s and the Lantern Valley

High above the clouds lived a %[2]s called %[1]s, who had never seen the valley below by night. Every evening the lights went on down there, one after the other, as if somebody were writing a letter with lamps.

One winter the lights stayed away. So %[1]s flew, climbed and slid down through the snow, and found the people of the valley in the dark, for their last oil was gone.

"I have no oil," said %[1]s, "but I have a warm breath and a long night." And from chimney to chimney %[1]s lit what could burn and warmed what could not.

Since then one lamp more than there are houses burns in the valley, and whoever asks is told that it belongs to %[1]s.`, name, kind)
}

var sequels = []string{
	"In spring the children of the valley climbed up to return the visit. %s showed them the clouds from above, and nobody wanted to go home before the last lamp was lit.",
	"Years later a stranger asked why there was a lamp without a house. \"It is how we say thank you,\" they told him, and %s, listening from above, pretended to be asleep.",
	"And if the wind comes from the north, you can still hear %s laughing somewhere over the roofs.",
}

// sequel is a paragraph that the document does not have yet.
func sequel(current, name string) string {
	if name == "" {
		name = "our friend"
	}
	for _, s := range sequels {
		p := fmt.Sprintf(s, name)
		if !strings.Contains(current, p) {
			return p
		}
	}
	return fmt.Sprintf("That is all I know about %s.", name)
}

// hero finds the name that a document is about: what the user calls it, or the word
// with a capital that stands most often in the middle of sentences.
func hero(v *view, doc string) string {
	if old, ok := v.after("rename ", "change "); ok {
		old, _, _ = strings.Cut(old, " ")
		if old != "" && wordIndex(doc, old) >= 0 && unicode.IsUpper(firstRune(old)) {
			return old
		}
	}
	counts := make(map[string]int)
	best := ""
	sentence := true // a sentence begins here
	for _, word := range strings.Fields(doc) {
		bare := strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if !sentence && utf8.RuneCountInString(bare) > 1 && unicode.IsUpper(firstRune(bare)) {
			counts[bare]++
			if counts[bare] > counts[best] {
				best = bare
			}
		}
		if word != "#" {
			sentence = strings.ContainsAny(word[len(word)-1:], ".!?:\"")
		}
	}
	return best
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// replaceName replaces a whole word.
func replaceName(s, old, name string) string {
	var b strings.Builder
	for {
		i := wordIndex(s, old)
		if i < 0 {
			return b.String() + s
		}
		b.WriteString(s[:i] + name)
		s = s[i+len(old):]
	}
}
