package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/jsondoc"
)

const (
	briefWidth = 60 // characters of a value on a line with its place
	contextLen = 20 // characters shown in front of where long texts differ
	mostLines  = 12 // of one value
)

// difference says for people what changed between two documents, place by place:
// before and after, never the whole of anything large.
func difference(before, after jsondoc.Value) []string {
	if before.IsAbsent() {
		before = jsondoc.Object()
	}
	var out []string
	doc := before
	for _, op := range jsondoc.Diff(before, after, nil) {
		was, _ := doc.At(op.Path)
		path := printable(string(op.Path), false)
		if path == "" {
			path = "(all)"
		}
		next, err := jsondoc.Patch{op}.Apply(doc, nil)
		if err != nil {
			return append(out, printable(err.Error(), false)) // a difference always applies
		}
		doc = next
		switch op.Op {
		case "add":
			out = append(out, added(path, op.Value)...)
		case "remove":
			out = append(out, fmt.Sprintf("%s: removed (was %s)", path, printable(brief(was), false)))
		case "move":
			out = append(out, fmt.Sprintf("%s: moved to %s", printable(string(op.From), false), path))
		default:
			out = append(out, replacedValue(path, was, op.Value)...)
		}
	}
	return out
}

func added(path string, v jsondoc.Value) []string {
	if !isContainer(v) && !long(v) || v.Len() == 0 && isContainer(v) {
		return []string{path + ": " + printable(brief(v), false) + " (new)"}
	}
	text := outline(v)
	if !isContainer(v) {
		text = printable(v.Str(), true)
	}
	return append([]string{path + ": (new)"}, indented("+ ", strings.Split(strings.TrimRight(text, "\n"), "\n"))...)
}

func replacedValue(path string, was, is jsondoc.Value) []string {
	if was.Kind() == jsondoc.KindString && was.Str() == "" && long(is) {
		return append([]string{path + ": (was empty)"}, indented("+ ", strings.Split(printable(is.Str(), true), "\n"))...)
	}
	if was.Kind() == jsondoc.KindString && is.Kind() == jsondoc.KindString && (long(was) || long(is)) {
		return append([]string{path + ":"}, texts(was.Str(), is.Str())...)
	}
	if isContainer(is) && is.Len() > 0 {
		head := fmt.Sprintf("%s: %s →", path, printable(brief(was), false))
		return append([]string{head}, indented("+ ", strings.Split(strings.TrimRight(outline(is), "\n"), "\n"))...)
	}
	return []string{fmt.Sprintf("%s: %s → %s", path, printable(brief(was), false), printable(brief(is), false))}
}

// texts says how a long text changed: the lines that went and came, or of one
// long line the part around the change.
func texts(was, is string) []string {
	a, b := strings.Split(printable(was, true), "\n"), strings.Split(printable(is, true), "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 1 && len(b) == 1 {
		same := 0
		x, y := []rune(a[0]), []rune(b[0])
		for same < len(x) && same < len(y) && x[same] == y[same] {
			same++
		}
		if from := same - contextLen; from > 0 {
			a, b = []string{"…" + string(x[from:])}, []string{"…" + string(y[from:])}
		}
	}
	return append(indented("- ", a), indented("+ ", b)...)
}

// indented marks lines and shortens them and their number.
func indented(mark string, lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, line := range clipped(lines) {
		out = append(out, "  "+mark+line)
	}
	return out
}

func clipped(lines []string) []string {
	out := make([]string, 0, len(lines))
	for i, line := range lines {
		if i == mostLines-1 && len(lines) > mostLines {
			return append(out, fmt.Sprintf("… and %d more lines", len(lines)-i))
		}
		out = append(out, cut(line, 2*briefWidth))
	}
	return out
}

func long(v jsondoc.Value) bool {
	return v.Kind() == jsondoc.KindString && (utf8.RuneCountInString(v.Str()) > briefWidth || strings.Contains(v.Str(), "\n"))
}

// brief is a value on a part of a line.
func brief(v jsondoc.Value) string {
	switch {
	case v.IsAbsent():
		return "nothing"
	case v.Kind() == jsondoc.KindArray && v.Len() > 0:
		return fmt.Sprintf("a list of %d", v.Len())
	case v.Kind() == jsondoc.KindObject && v.Len() > 0:
		var names []string
		for name := range v.Members() {
			names = append(names, name)
		}
		return cut("{"+strings.Join(names, ", ")+"}", briefWidth)
	}
	return cut(v.String(), briefWidth)
}

// cut shortens a text to n characters.
func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
